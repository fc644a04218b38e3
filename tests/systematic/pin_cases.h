/* The pin word of versions: readers, one who writes in place, one who kills and uses the record
 * anew. */
#ifndef FR_TESTS_SYSTEMATIC_PIN_CASES_H
#define FR_TESTS_SYSTEMATIC_PIN_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pin_shape {
    uint32_t readers; /* at most 3 */
    uint32_t writers; /* at most 2 */
    uint32_t killers; /* at most 1 */
    uint32_t turns;   /* of each */
} pin_shape;

void body_pin(void *shape);

#ifdef __cplusplus
}
#endif

#endif
