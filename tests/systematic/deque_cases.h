/* Bodies for the deque and the intake. */
#ifndef FR_TESTS_SYSTEMATIC_DEQUE_CASES_H
#define FR_TESTS_SYSTEMATIC_DEQUE_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct deque_shape {
    uint32_t pushes;  /* by the owner, with pops in between by the seed; at most 16 */
    uint32_t thieves; /* at most 3 */
    uint32_t steals;  /* attempts of each */
} deque_shape;

void body_deque(void *shape);

typedef struct intake_shape {
    uint32_t pushers; /* at most 3 */
    uint32_t pushes;  /* of each; at most 4 */
    uint32_t takers;  /* at most 2; each takes twice. What is left is taken at the end. */
} intake_shape;

void body_intake(void *shape);

#ifdef __cplusplus
}
#endif

#endif
