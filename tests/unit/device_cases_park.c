/* Ops that wait for a stream: each is resumed once, whatever gets free, and keeps nothing. */
#include "tests/unit/device_cases_parked.h"

/* One stream gets free: one op has it, the oldest; and the next one when that gives it back. What
 * it does not get is dropped. */
const char *device_case_a_look_gives_streams_away(void)
{
    FR_CHECK(begin() && stall_all());
    for (uint32_t k = 0; k < 3; k++)
        FR_CHECK(submit(k, FR_STREAM_STALLED, pending(77)) && !it.ops[k].has);
    FR_CHECK(run_all() == 0 && it.ops[0].runs == 1);
    fake_backend_fire(it.taken[5]->stream.handle);
    FR_CHECK(run_all() == 1 && it.ops[0].has == it.taken[5] && it.ops[0].runs == 2);
    FR_CHECK(it.ops[1].runs == 1 && it.ops[2].runs == 1);
    fr_streams_give(it.opened, it.ops[0].has); /* it has put nothing into it */
    it.ops[0].has = NULL;
    FR_CHECK(run_all() == 1 && it.ops[1].has == it.taken[5] && it.ops[2].runs == 1);
    FR_CHECK(it.ops[0].runs == 2 && it.ops[1].runs == 2 && it.ops[1].has->lane == 1000);
    FR_CHECK(end() == 1 && is_clean());
    return NULL;
}

/* Work that waits for nobody is soon over, and comes first. */
const char *device_case_a_given_stream_is_given_on(void)
{
    FR_CHECK(begin() && take_all());
    FR_CHECK(submit(0, FR_STREAM_STALLED, pending(77)) && submit(1, FR_STREAM_WORK, NULL));
    FR_CHECK(run_all() == 0);
    fr_streams_give(it.opened, it.taken[3]);
    FR_CHECK(run_all() == 1 && it.ops[1].has == it.taken[3] && it.ops[0].runs == 1);
    fr_streams_give(it.opened, it.taken[4]);
    FR_CHECK(run_all() == 2 && it.ops[0].has == it.taken[4]);
    FR_CHECK(it.ops[0].has->kind == FR_STREAM_STALLED && it.ops[0].runs == 2);
    it.taken[3] = it.ops[1].has;
    it.taken[4] = it.ops[0].has;
    it.ops[0].has = it.ops[1].has = NULL;
    give_all();
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* Of an op that is dropped the next one has it. */
const char *device_case_a_dropped_op_gives_its_stream_back(void)
{
    FR_CHECK(begin() && stall_all());
    for (uint32_t k = 0; k < PARKED_MAX; k++)
        FR_CHECK(submit(k, FR_STREAM_STALLED, pending(77)));
    fake_backend_fire(it.taken[0]->stream.handle);
    FR_CHECK(fr_devices_look(it.devices)); /* one is resumed, with a stream, and has not run */
    FR_CHECK(it.ops[0].runs == 1 && it.ops[1].runs == 1);
    FR_CHECK(end() == PARKED_MAX && is_clean());
    for (uint32_t k = 0; k < PARKED_MAX; k++)
        FR_CHECK(it.ops[k].runs == 1 && it.ops[k].drops == 1);
    return NULL;
}

/* Its producers are done, and then streams of another kind will do. */
const char *device_case_what_is_ready_waits_no_longer(void)
{
    FR_CHECK(begin() && stall_all());
    FR_CHECK(submit(0, FR_STREAM_STALLED, pending(77)) && !it.ops[0].has);
    FR_CHECK(submit(1, FR_STREAM_STALLED, pending(78)) && !it.ops[1].has);
    fake_backend_fire(77);
    FR_CHECK(run_all() == 1 && it.ops[0].has && it.ops[0].runs == 2 && it.ops[1].runs == 1);
    FR_CHECK(it.ops[0].has->kind == FR_STREAM_WORK);
    fake_backend_fire(78);
    FR_CHECK(run_all() == 2 && it.ops[1].has && it.ops[1].runs == 2);
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* One look finds its producers done, and the stream free in which these were. */
const char *device_case_it_is_resumed_once(void)
{
    FR_CHECK(begin() && stall_all());
    fr_own_stream *stream = it.taken[5];
    fr_fence *dep = fr_fence_get(it.opened, &it.fault);
    FR_CHECK(dep && fr_fence_record(dep, stream->stream, stream, &it.fault));
    FR_CHECK(submit(0, FR_STREAM_STALLED, dep) && !it.ops[0].has);
    FR_CHECK(submit(1, FR_STREAM_STALLED, pending(78)) && !it.ops[1].has);
    fake_backend_fire(stream->stream.handle);
    FR_CHECK(run_all() == 1 && it.ops[0].has == stream && it.ops[0].runs == 2);
    FR_CHECK(it.ops[1].runs == 1);
    fake_backend_fire(78);
    FR_CHECK(run_all() == 2 && it.ops[0].runs == 2);
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* One that was counted and cannot be made: who came meanwhile may make one. */
const char *device_case_no_stream_is_made(void)
{
    bool busy;
    FR_CHECK(begin());
    for (uint32_t k = 0; k + 1 < FR_STREAMS_MAX + FR_STREAMS_SPARE; k++)
        FR_CHECK(fr_streams_take(it.opened, FR_STREAM_WORK, k, &busy, &it.fault));
    it.opened->streams.work_count++; /* by who is about to make one */
    FR_CHECK(submit(0, FR_STREAM_WORK, NULL) && !it.ops[0].has);
    it.opened->streams.work_count--;
    fake_backend_fail(1);
    FR_CHECK(!fr_streams_take(it.opened, FR_STREAM_WORK, 99, &busy, &it.fault) && !busy);
    FR_CHECK(run_all() == 1 && it.ops[0].runs == 2);
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* One that is of no use any more: another may be made. */
const char *device_case_a_stream_is_discarded(void)
{
    FR_CHECK(begin() && take_all());
    FR_CHECK(submit(0, FR_STREAM_WORK, NULL) && !it.ops[0].has);
    fr_streams_discard(it.opened, it.taken[7]);
    FR_CHECK(run_all() == 1 && it.ops[0].runs == 2);
    it.taken[7] = it.ops[0].has;
    it.ops[0].has = NULL;
    give_all();
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* --- streams that turn ------------------------------------------------------------------------ */

/* By work in a client's stream, or in one that waits for such, or in a gate; not by work that waits
 * for nobody, nor for memory. As long as it has work; and of reads it is not in the way of those
 * that are not stalled. */
const char *device_case_who_waits_for_what_is_stalled_is(void)
{
    enum { CLIENTS, OVER, GATES, NOBODYS, STREAMS };
    fr_own_stream *of[2 * STREAMS];
    fr_fence *fences[STREAMS];
    FR_CHECK(begin());
    fr_fence *late = pending(77);
    fences[CLIENTS] = behind(FR_STREAM_WORK, 1, late, &of[CLIENTS]);
    fences[GATES] = behind(FR_STREAM_GATE, 1, late, &of[GATES]);
    fences[NOBODYS] = behind(FR_STREAM_WORK, 2, NULL, &of[NOBODYS]);
    FR_CHECK(fences[CLIENTS] && fences[GATES] && fences[NOBODYS]);
    FR_CHECK(of[CLIENTS]->kind == FR_STREAM_STALLED && of[CLIENTS]->lane == 1);
    FR_CHECK(of[GATES]->kind == FR_STREAM_GATE && of[NOBODYS]->kind == FR_STREAM_WORK);
    fences[OVER] = pending(78);
    fake_backend_fire(78);
    FR_CHECK(fr_devices_look(it.devices));
    static const fr_stream_kind expected[STREAMS] = {[CLIENTS] = FR_STREAM_STALLED,
                                                     [OVER] = FR_STREAM_WORK,
                                                     [GATES] = FR_STREAM_STALLED,
                                                     [NOBODYS] = FR_STREAM_WORK};
    for (uint32_t k = 0; k < STREAMS; k++) {
        of[STREAMS + k] = take(FR_STREAM_WORK, 10 + k);
        FR_CHECK(waits_for(of[STREAMS + k], fences[k]) && of[STREAMS + k]->kind == expected[k]);
    }
    of[OVER] = take(FR_STREAM_WORK, fr_streams_lane_of_reads(5));
    fr_placed *placed = fr_placed_make(it.opened, 64, &it.fault);
    FR_CHECK(fr_wait_to_write(it.opened, of[OVER]->stream, of[OVER], placed, &it.fault));
    FR_CHECK(of[OVER]->kind == FR_STREAM_WORK && of[OVER]->lane == fr_streams_lane_of_reads(5));
    FR_CHECK(waits_for(of[OVER], late) && of[OVER]->kind == FR_STREAM_STALLED);
    FR_CHECK(of[OVER]->lane == fr_streams_lane_of_stalled_reads(5));
    fr_placed_dispose(placed);
    fake_backend_fire(0);
    FR_CHECK(fr_devices_look(it.devices));
    for (uint32_t k = 0; k < 2 * STREAMS; k++)
        fr_streams_give(it.opened, of[k]);
    fr_own_stream *again = take(FR_STREAM_WORK, 1);
    FR_CHECK(again && again->kind == FR_STREAM_WORK);
    fr_streams_give(it.opened, again);
    fr_fence_release(late);
    for (uint32_t k = 0; k < STREAMS; k++)
        fr_fence_release(fences[k]);
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* All streams are in use, so many of them by lanes that have come to be stalled. */
static bool turn(uint32_t from, uint32_t to, const fr_fence *late)
{
    bool turned = true;
    for (uint32_t k = from; k < to && turned; k++)
        turned = waits_for(it.taken[k], late) && it.taken[k]->kind == FR_STREAM_STALLED;
    return turned;
}

/* However many turn, others find a stream; those that are stalled themselves do not. */
const char *device_case_one_more_for_one_that_turns(void)
{
    const uint32_t all = FR_STREAMS_MAX + FR_STREAMS_SPARE;
    FR_CHECK(begin() && take_all());
    fr_fence *late = pending(77);
    FR_CHECK(submit(0, FR_STREAM_WORK, NULL) && submit(1, FR_STREAM_STALLED, pending(78)));
    FR_CHECK(turn(0, FR_STREAMS_MAX, late) && run_all() == 0);
    FR_CHECK(turn(FR_STREAMS_MAX, FR_STREAMS_MAX + 1, late) && run_all() == 1);
    FR_CHECK(it.ops[0].has->kind == FR_STREAM_WORK && it.ops[0].has->lane == 1000);
    FR_CHECK(it.opened->streams.work_count == all + 1 && it.ops[0].runs == 2);
    /* So many are not stalled again. */
    FR_CHECK(submit(2, FR_STREAM_WORK, NULL) && !it.ops[2].has);
    FR_CHECK(turn(FR_STREAMS_MAX + 1, all, late) && run_all() == 2 && it.ops[2].has);
    for (uint32_t k = 2; k < FR_STREAMS_SPARE; k++) { /* the others are made when they are taken */
        fr_own_stream *more = take(FR_STREAM_WORK, 100 + k);
        FR_CHECK(more && !fr_stream_waits_any(it.opened, FR_STREAM_WORK));
        it.taken[k] = more; /* what was there is given back at the end of the device */
    }
    FR_CHECK(!take(FR_STREAM_WORK, 200) && it.ops[1].runs == 1);
    FR_CHECK(it.opened->streams.work_count == all + FR_STREAMS_SPARE);
    fr_fence_release(late);
    give_all();
    FR_CHECK(end() == 1 && is_clean());
    return NULL;
}

/* Then who waits for it tries by himself. */
const char *device_case_one_more_that_cannot_be_made(void)
{
    FR_CHECK(begin() && take_all());
    fr_fence *late = pending(77);
    FR_CHECK(submit(0, FR_STREAM_WORK, NULL) && turn(0, FR_STREAMS_MAX, late) && run_all() == 0);
    fake_backend_fail(2); /* behind the wait */
    FR_CHECK(turn(FR_STREAMS_MAX, FR_STREAMS_MAX + 1, late) && run_all() == 1);
    FR_CHECK(it.ops[0].runs == 2 && it.opened->streams.work_count == FR_STREAMS_MAX + 9);
    fr_fence_release(late);
    give_all();
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

static fr_fence *late_meanwhile;

/* The one that is being made counts as not stalled, so there are enough of those. */
static void fill_meanwhile(void)
{
    for (uint32_t k = FR_STREAMS_MAX; k < FR_STREAMS_MAX + FR_STREAMS_SPARE; k++)
        it.taken[k] = take(FR_STREAM_WORK, k);
    (void)turn(FR_STREAMS_MAX, FR_STREAMS_MAX + 1, late_meanwhile);
    (void)submit(0, FR_STREAM_WORK, NULL);
}

/* But it is for work that is stalled. */
const char *device_case_one_more_for_one_that_is_made(void)
{
    FR_CHECK(begin());
    late_meanwhile = pending(77);
    for (uint32_t k = 0; k + 1 < FR_STREAMS_MAX; k++)
        it.taken[k] = take(FR_STREAM_WORK, k);
    FR_CHECK(turn(0, FR_STREAMS_MAX - 1, late_meanwhile));
    fake_backend_meanwhile(fill_meanwhile);
    it.taken[FR_STREAMS_MAX - 1] = take(FR_STREAM_STALLED, FR_STREAMS_MAX - 1);
    FR_CHECK(it.taken[FR_STREAMS_MAX - 1] && it.ops[0].runs == 1);
    FR_CHECK(run_all() == 1 && it.ops[0].runs == 2);
    fr_fence_release(late_meanwhile);
    give_all();
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* What cannot park goes with the gates. */
const char *device_case_one_more_for_what_cannot_park(void)
{
    fr_device_run run;
    FR_CHECK(begin() && take_all());
    FR_CHECK(fr_device_run_begin_any(&run, it.opened, 1000, NULL, &it.fault));
    FR_CHECK(run.own->kind == FR_STREAM_GATE && run.own->lane != 1000);
    fr_device_run_end(&run);
    give_all();
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}
