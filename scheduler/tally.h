/* A sum to which many threads add, and which is read rarely: each thread adds to a part that few
 * others add to, on a line of its own, so that they need not pass one line round.
 *
 * Threads: any. Invariants: what a thread has added is in the sum of whoever comes after it. A sum
 * that is read while others add and take away may have what was taken away already and lacks what
 * was added before, so it may be below zero for the moment. Progress: one atomic step to add.
 * Memory bound: FR_TALLY_PARTS lines. */
#ifndef FR_SCHEDULER_TALLY_H
#define FR_SCHEDULER_TALLY_H

#include "scheduler/atomic.h"
#include "scheduler/thread.h"

#define FR_TALLY_PARTS 8u

typedef struct fr_tally {
    struct {
        FR_ALIGNED_LINE _Atomic uint64_t sum;
    } parts[FR_TALLY_PARTS];
} fr_tally;

/* The calling thread's part: for who keeps an address to add to. */
static inline _Atomic uint64_t *fr_tally_part(fr_tally *tally)
{
    return &tally->parts[fr_thread_number() % FR_TALLY_PARTS].sum;
}

static inline void fr_tally_add(fr_tally *tally, uint64_t value)
{
    (void)fr_add_relaxed(fr_tally_part(tally), value);
}

static inline void fr_tally_sub(fr_tally *tally, uint64_t value)
{
    fr_tally_add(tally, 0 - value);
}

/* Of a sum that is not below zero when nobody adds. */
static inline uint64_t fr_tally_read(const fr_tally *tally)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < FR_TALLY_PARTS; k++)
        sum += fr_load_relaxed(&tally->parts[k].sum);
    return (int64_t)sum < 0 ? 0 : sum;
}

#endif
