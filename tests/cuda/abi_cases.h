/* Comparisons that the compiler makes, and how many there were. */
#ifndef FR_TESTS_CUDA_ABI_CASES_H
#define FR_TESTS_CUDA_ABI_CASES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

bool abi_case_has_toolkit(void); /* it was there when this was compiled */
int abi_case_results(void);      /* numbers of results that were compared with it */
int abi_case_functions(void);    /* function types */
int abi_case_toolkit_version(void);

#ifdef __cplusplus
}
#endif

#endif
