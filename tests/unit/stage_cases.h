/* An operating system that starts only so many threads. */
#ifndef FR_TESTS_UNIT_STAGE_CASES_H
#define FR_TESTS_UNIT_STAGE_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on `count` more threads start, further ones do not. */
void stage_case_threads_begin(uint32_t count);
/* Back to the real one. Returns how many starts were refused. */
uint32_t stage_case_threads_end(void);

#ifdef __cplusplus
}
#endif

#endif
