/* Names of the driver's results, without a driver. */
#ifndef FR_CUDA_ERROR_H
#define FR_CUDA_ERROR_H

#include <stdbool.h>

#include "cuda/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "CUDA_ERROR_NO_DEVICE"; NULL for a number that has no name here. */
const char *fr_cuda_error_name(fr_cu_result result);

/* True after which everything in the process's use of that device fails, for good: no call may be
 * tried again and nothing can be freed. */
bool fr_cuda_error_is_sticky(fr_cu_result result);

#ifdef __cplusplus
}
#endif

#endif
