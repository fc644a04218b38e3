/* The sleeping protocol alone: workers that only take tokens from one deque. */
#ifndef FR_TESTS_SYSTEMATIC_IDLE_CASES_H
#define FR_TESTS_SYSTEMATIC_IDLE_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct idle_shape {
    uint32_t sleepers; /* at most 3; each ends when it has taken one token */
    uint32_t pauses;   /* the publisher's, between tokens, at most, by the seed */
} idle_shape;

/* The owner of the deque publishes as many tokens as there are sleepers. */
void body_idle(void *shape);

#ifdef __cplusplus
}
#endif

#endif
