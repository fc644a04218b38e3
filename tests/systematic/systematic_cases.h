/* Bodies for the scheduler's own tests. */
#ifndef FR_TESTS_SYSTEMATIC_CASES_H
#define FR_TESTS_SYSTEMATIC_CASES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a litmus test observed. */
typedef struct litmus {
    bool ordered; /* with the fences or the release that forbid the outcome */
    uint32_t first, second;
} litmus;

void litmus_store_buffer(void *litmus_argument);    /* forbidden: first == 0 and second == 0 */
void litmus_message_passing(void *litmus_argument); /* forbidden: first == 1 and second == 0 */

void body_counts(void *counter); /* two threads add to a uint32_t with a load and a store */
void body_deadlocks(void *unused);
void body_never_ends(void *unused);
void body_times_out(void *elapsed_ns); /* uint64_t: how long a wait of 5 ms took */
void body_starts(void *started);       /* uint32_t: how many of 3 threads could be started */
void body_checks(void *unused);        /* fails a check */
void body_mutex(
    void *counter); /* three threads add to a plain uint32_t under a mutex, 2 times each */

#ifdef __cplusplus
}
#endif

#endif
