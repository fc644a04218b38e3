#include "runtime/device/begin.h"

/* Whose room it takes: a client's stream may stall for as long as it likes; and where what the lane
 * has put into one of ours is stalled, so is what comes behind that. *until: as long as that fence
 * is pending; a reference, or NULL. With the lock held. */
static fr_stream_kind fr_run_wish_room(const fr_run_wish *wish, fr_fence **until)
{
    *until = NULL;
    if (wish->stream != 0)
        return FR_STREAM_STALLED;
#ifndef FR_MUTATE_DEVICE_ROOM_BESIDE_ITS_LANE
    if (wish->kind == FR_STREAM_WORK)
        *until = fr_streams_lane_stalled_by(wish->opened, wish->lane);
#endif
    if (*until)
        return FR_STREAM_STALLED;
    *until = wish->dep;
    if (*until)
        fr_fence_retain(*until);
    return wish->kind;
}

/* It is parked, if there is an op. */
static bool fr_run_wish_waits_for_room(const fr_run_wish *wish, fr_stream_wait *wait)
{
    fr_opened *opened = wish->opened;
    fr_fence *until;
    bool wants = wish->brings && wish->kind != FR_STREAM_GATE;
#ifndef FR_MUTATE_DEVICE_BEGUN_WAITS_FOR_ROOM
    wants = wants && !wish->has_begun;
#endif
#ifdef FR_MUTATE_DEVICE_BEGINS_WITHOUT_ROOM
    wants = false;
#endif
    if (!wants)
        return false;
    fr_mutex_lock(&opened->lock);
    fr_stream_kind kind = fr_run_wish_room(wish, &until);
    bool has_room = fr_staging_has_room(opened, kind);
    fr_mutex_unlock(&opened->lock);
    if (!has_room && wait) {
#ifndef FR_MUTATE_DEVICE_WAITS_FOR_ROOM_WITH_STREAM
        fr_stream_wait_let_go(wait);
#endif
        fr_stream_park_for_room(wait, opened, kind, until, wish->graph, wish->op);
    }
    fr_fence_release(until);
    return !has_room;
}

static bool fr_run_wish_begin_there(const fr_run_wish *wish, fr_stream_wait *wait,
                                    fr_device_run *run, fr_device_fault *fault)
{
    fr_own_stream *given = wait ? fr_stream_wait_take(wait, wish->opened) : NULL;
    return given ? fr_device_run_begin_given(run, wish->opened, given, wish->comes_before, fault)
                 : fr_device_run_begin_in(run, wish->opened, wish->kind, wish->stream, wish->lane,
                                          wish->comes_before, fault);
}

fr_run_outcome fr_run_wish_begin(const fr_run_wish *wish, fr_stream_wait *wait, fr_device_run *run,
                                 fr_device_fault *fault)
{
    if (fr_run_wish_waits_for_room(wish, wait))
        return FR_RUN_WAITS;
    if (fr_run_wish_begin_there(wish, wait, run, fault))
        return FR_RUN_HAS_BEGUN;
    if (!run->all_busy)
        return FR_RUN_HAS_FAILED;
    if (wait)
        fr_stream_park(wait, wish->opened, wish->kind, wish->lane, wish->dep, wish->graph,
                       wish->op);
    return FR_RUN_WAITS;
}
