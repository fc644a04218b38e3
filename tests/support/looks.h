/* Steps of walks through what may grow without bound. */
#ifndef FR_TESTS_SUPPORT_LOOKS_H
#define FR_TESTS_SUPPORT_LOOKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* So many has the calling thread taken, where they are counted (tests/locks); else 0. */
uint64_t fr_test_looks(void);

#ifdef __cplusplus
}
#endif

#endif
