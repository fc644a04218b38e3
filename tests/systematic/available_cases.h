/* Threads that record the same event of a client, each behind work of its own. */
#ifndef FR_TESTS_SYSTEMATIC_AVAILABLE_CASES_H
#define FR_TESTS_SYSTEMATIC_AVAILABLE_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct available_shape {
    uint32_t threads; /* at most 3 */
    uint32_t turns;   /* of each; at most 3 */
} available_shape;

void body_available(void *argument);

#ifdef __cplusplus
}
#endif

#endif
