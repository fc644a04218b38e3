#include "scheduler/lane_front.h"

static uint64_t fr_lane_front_from(const fr_lane_front *front, uint64_t ordinal)
{
    /* A seal of a higher ordinal waits for more than this one may. */
    return front->ordinal <= ordinal ? front->from : 0;
}

static void fr_lane_fronts_use_one(fr_lane_fronts_used *used, const fr_lane_front *front,
                                   uint64_t from)
{
    used->from = from < used->from ? from : used->from;
    /* The same one comes for many bits in a row; named twice it does no harm. */
    if (from > 0 && (used->id_count == 0 || used->ids[used->id_count - 1] != front->id))
        used->ids[used->id_count++] = front->id;
}

void fr_lane_fronts_use(const fr_lane_fronts *fronts, uint64_t ordinal, uint64_t filter,
                        fr_lane_fronts_used *used)
{
    uint64_t all = fr_lane_front_from(&fronts->all, ordinal);
    used->from = UINT64_MAX;
    used->id_count = 0;
    if ((filter & ~fronts->set) != 0) { /* for some bits there is nothing else */
        fr_lane_fronts_use_one(used, &fronts->all, all);
        return;
    }
    for (uint64_t bits = filter; bits; bits &= bits - 1) {
        const fr_lane_front *front = &fronts->some[__builtin_ctzll(bits)];
        uint64_t from = fr_lane_front_from(front, ordinal);
        if (from > all)
            fr_lane_fronts_use_one(used, front, from);
        else
            fr_lane_fronts_use_one(used, &fronts->all, all);
    }
}

static void fr_lane_front_advance(fr_lane_front *front, uint64_t ordinal, uint64_t id)
{
    if (ordinal >= front->ordinal)
        *front = (fr_lane_front){ordinal, id, ordinal == UINT64_MAX ? ordinal : ordinal + 1};
}

void fr_lane_fronts_advance(fr_lane_fronts *fronts, uint64_t ordinal, uint64_t filter, uint64_t id)
{
    if (filter == UINT64_MAX) {
        fr_lane_front_advance(&fronts->all, ordinal, id);
    } else {
        for (uint64_t bits = filter; bits; bits &= bits - 1)
            fr_lane_front_advance(&fronts->some[__builtin_ctzll(bits)], ordinal, id);
        fronts->set |= filter;
    }
    if (ordinal >= fronts->highest)
        fronts->highest = ordinal == UINT64_MAX ? ordinal : ordinal + 1;
}

void fr_lane_fronts_fall_back(fr_lane_fronts *fronts, uint64_t ordinal, uint64_t filter)
{
#ifdef FR_MUTATE_FRONT_NO_FALL_BACK
    return;
#endif
    if (filter != 0 && ordinal < fronts->all.from)
        fronts->all.from = ordinal;
    for (uint64_t bits = filter & fronts->set; bits; bits &= bits - 1) {
        fr_lane_front *front = &fronts->some[__builtin_ctzll(bits)];
        if (ordinal < front->from)
            front->from = ordinal;
    }
}
