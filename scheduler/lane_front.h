/* How far seals have looked through the lanes, so that the next one need not look there again.
 *
 * A seal waits for the last ops of all lanes up to its ordinal that touch its attributes. One that
 * is accepted later, at no lower ordinal, gets the same by waiting for that seal, and for what has
 * joined since. So very many seals over very many lanes look at each lane about once.
 *
 * A front is kept for seals of all attributes, and for each bit of the lanes' filters for seals of
 * some. `from` is the lowest ordinal at which there may be ops of the front's attributes that its
 * seal does not wait for: behind the seal's own, until an op joins a lane below.
 *
 * Threads: all under admission. Progress: a few steps, or one for each bit of a filter. Memory
 * bound: none of its own. */
#ifndef FR_SCHEDULER_LANE_FRONT_H
#define FR_SCHEDULER_LANE_FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FR_LANE_FRONT_BITS 64u

typedef struct fr_lane_front {
    uint64_t ordinal, id; /* of the seal; id 0: none so far */
    uint64_t from;
} fr_lane_front;

typedef struct fr_lane_fronts {
    fr_lane_front all, some[FR_LANE_FRONT_BITS];
    uint64_t set;     /* bits of `some` that have a seal */
    uint64_t highest; /* no `from` is above it */
} fr_lane_fronts;

/* The seals that one which is being accepted waits for. */
typedef struct fr_lane_fronts_used {
    uint64_t from; /* lanes below need not be looked at */
    uint64_t ids[FR_LANE_FRONT_BITS + 1];
    uint32_t id_count;
} fr_lane_fronts_used;

void fr_lane_fronts_use(const fr_lane_fronts *fronts, uint64_t ordinal, uint64_t filter,
                        fr_lane_fronts_used *used);
/* A seal was accepted, and waits for what it must. */
void fr_lane_fronts_advance(fr_lane_fronts *fronts, uint64_t ordinal, uint64_t filter, uint64_t id);

void fr_lane_fronts_fall_back(fr_lane_fronts *fronts, uint64_t ordinal, uint64_t filter);
/* An op has joined the lane of that ordinal. */
static inline void fr_lane_fronts_join(fr_lane_fronts *fronts, uint64_t ordinal, uint64_t filter)
{
    if (ordinal < fronts->highest)
        fr_lane_fronts_fall_back(fronts, ordinal, filter);
}

#endif
