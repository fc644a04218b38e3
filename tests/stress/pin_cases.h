/* The pin word under load, over plain memory: a race shows as a torn payload, or to a sanitizer. */
#ifndef FR_TESTS_STRESS_PIN_CASES_H
#define FR_TESTS_STRESS_PIN_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pin_load {
    uint32_t readers, writers, killers; /* at most 8 threads */
    uint32_t turns; /* of each: reads, writes, kills; readers and writers try until they may */
} pin_load;

typedef struct pin_outcome {
    uint64_t reads, writes, lives;
    uint64_t torn; /* pinned payloads that were not whole, or changed */
    uint64_t used_when_let_go;
    uint64_t word_at_end;
} pin_outcome;

void pin_stress(const pin_load *load, pin_outcome *outcome);

#ifdef __cplusplus
}
#endif

#endif
