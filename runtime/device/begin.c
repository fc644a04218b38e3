#include "runtime/device/begin.h"

/* Whose room it takes: a client's stream may stall for as long as it likes; and where what the lane
 * has put into one of ours is stalled, so is what comes behind that. With the lock held. */
static fr_stream_kind fr_run_wish_room(const fr_run_wish *wish)
{
    if (wish->stream != 0)
        return FR_STREAM_STALLED;
#ifndef FR_MUTATE_DEVICE_ROOM_BESIDE_ITS_LANE
    if (fr_streams_lane_is_stalled(wish->opened, wish->lane))
        return FR_STREAM_STALLED;
#endif
    return wish->kind;
}

/* *kind: of the room. */
static bool fr_run_wish_wants_room(const fr_run_wish *wish, fr_stream_kind *kind)
{
    bool wants = wish->kind != FR_STREAM_GATE && !wish->has_begun;
#ifdef FR_MUTATE_DEVICE_BEGINS_WITHOUT_ROOM
    wants = false;
#endif
    if (!wants)
        return false;
    fr_mutex_lock(&wish->opened->lock);
    *kind = fr_run_wish_room(wish);
    bool has_room = fr_staging_has_room(wish->opened, *kind);
    fr_mutex_unlock(&wish->opened->lock);
    return !has_room;
}

fr_run_outcome fr_run_wish_begin(const fr_run_wish *wish, fr_stream_wait *wait, fr_device_run *run,
                                 fr_device_fault *fault)
{
    fr_opened *opened = wish->opened;
    fr_fence *dep = wish->kind == FR_STREAM_STALLED ? wish->dep : NULL;
    fr_stream_kind room;
    if (fr_run_wish_wants_room(wish, &room)) {
        if (!wait)
            return FR_RUN_WAITS;
        fr_stream_wait_let_go(wait);
        fr_stream_park_for_room(wait, opened, room, dep, wish->graph, wish->op);
        return FR_RUN_WAITS;
    }
    fr_own_stream *given = wait ? fr_stream_wait_take(wait, opened) : NULL;
    bool begun = given ? fr_device_run_begin_given(run, opened, given, wish->comes_before, fault)
                       : fr_device_run_begin_in(run, opened, wish->kind, wish->stream, wish->lane,
                                                wish->comes_before, fault);
    if (begun)
        return FR_RUN_HAS_BEGUN;
    if (!run->all_busy)
        return FR_RUN_HAS_FAILED;
    if (wait)
        fr_stream_park(wait, opened, wish->kind, wish->lane, dep, wish->graph, wish->op);
    return FR_RUN_WAITS;
}

bool fr_run_wish_begin_at_once(const fr_run_wish *wish, fr_device_run *run, fr_device_fault *fault)
{
    bool begun = fr_device_run_begin_in(run, wish->opened, wish->kind, wish->stream, wish->lane,
                                        wish->comes_before, fault);
#ifndef FR_MUTATE_DEVICE_HOST_ROWS_FIND_NO_STREAM
    if (!begun && run->all_busy)
        begun = fr_device_run_begin_more(run, wish->opened, wish->lane, wish->comes_before, fault);
#endif
    return begun;
}
