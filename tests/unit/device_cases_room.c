/* Ops that wait for room in pinned memory: the same. */
#include "tests/unit/device_cases_parked.h"

static bool submit_to_bring(uint32_t k, fr_stream_kind kind, fr_fence *dep)
{
    it.ops[k].brings = true;
    return submit(k, kind, dep);
}

/* All that there is of that kind. */
static bool fill(fr_stream_kind kind, fr_staged *out[2])
{
    for (int k = 0; k < 2; k++)
        out[k] = fr_staging_take(it.opened, kind, FR_STAGING_LIMIT_BYTES / 2, &it.fault);
    return out[0] && out[1];
}

/* What is not stalled has room of its own, and what is given back is told to all. */
const char *device_case_room_is_told_to_all(void)
{
    fr_staged *all[2];
    FR_CHECK(begin() && fill(FR_STREAM_STALLED, all));
    for (uint32_t k = 0; k < 3; k++)
        FR_CHECK(submit_to_bring(k, FR_STREAM_STALLED, pending(77 + k)) && !it.ops[k].piece);
    FR_CHECK(submit_to_bring(3, FR_STREAM_WORK, NULL) && it.ops[3].piece && it.ops[3].runs == 1);
    FR_CHECK(it.ops[3].piece->kind == FR_STREAM_WORK && it.ops[0].runs == 1);
    fr_staging_give(all[0]);
    (void)run_all();
    for (uint32_t k = 0; k < 3; k++)
        FR_CHECK(it.ops[k].piece && it.ops[k].piece->kind == FR_STREAM_STALLED &&
                 it.ops[k].runs == 2);
    fr_staging_give(all[1]);
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* What its lane has put into a stream may have come to be stalled. */
const char *device_case_room_is_that_of_its_lane(void)
{
    fr_staged *all[2];
    fr_own_stream *stream;
    FR_CHECK(begin() && fill(FR_STREAM_STALLED, all));
    fr_fence *late = pending(77), *work = behind(FR_STREAM_WORK, 1000, late, &stream);
    FR_CHECK(work && stream->kind == FR_STREAM_STALLED);
    fr_streams_give(it.opened, stream);
    FR_CHECK(submit_to_bring(0, FR_STREAM_WORK, NULL) && !it.ops[0].piece);
    fr_staging_give(all[0]);
    (void)run_all();
    FR_CHECK(it.ops[0].piece && it.ops[0].piece->kind == FR_STREAM_STALLED);
    FR_CHECK(it.ops[0].runs == 2);
    /* Until its lane is not stalled any more. */
    all[0] = fr_staging_take(it.opened, FR_STREAM_STALLED, FR_STAGING_LIMIT_BYTES, &it.fault);
    FR_CHECK(submit_to_bring(1, FR_STREAM_WORK, NULL) && !it.ops[1].piece);
    fake_backend_fire(0);
    (void)run_all();
    FR_CHECK(it.ops[1].piece && it.ops[1].piece->kind == FR_STREAM_WORK);
    FR_CHECK(it.ops[1].runs == 2);
    fr_staging_give(all[0]);
    fr_staging_give(all[1]);
    fr_fence_release(late);
    fr_fence_release(work);
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* It would wait for others that wait as well. */
const char *device_case_who_has_begun_waits_for_no_room(void)
{
    fr_staged *all[2];
    FR_CHECK(begin() && fill(FR_STREAM_WORK, all));
    it.ops[0].has_begun = true;
    FR_CHECK(submit_to_bring(0, FR_STREAM_WORK, NULL) && it.ops[0].piece && it.ops[0].runs == 1);
    fr_staging_give(all[0]);
    fr_staging_give(all[1]);
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* It waits for room without it. */
const char *device_case_a_stream_is_given_on_for_want_of_room(void)
{
    fr_staged *all[2];
    FR_CHECK(begin() && stall_all());
    FR_CHECK(submit_to_bring(0, FR_STREAM_STALLED, pending(77)) && it.ops[0].runs == 1);
    FR_CHECK(submit(1, FR_STREAM_STALLED, pending(78)) && !it.ops[1].has);
    FR_CHECK(fill(FR_STREAM_STALLED, all));
    fake_backend_fire(it.taken[5]->stream.handle);
    (void)run_all();
    FR_CHECK(it.ops[0].runs == 2 && !it.ops[0].piece && it.ops[1].has == it.taken[5]);
    fr_staging_give(all[0]);
    fr_staging_give(all[1]);
    FR_CHECK(end() == 1 && is_clean());
    return NULL;
}

/* As for streams: then it is none of those any more. */
const char *device_case_what_is_ready_has_other_room(void)
{
    fr_staged *all[2];
    FR_CHECK(begin() && fill(FR_STREAM_STALLED, all));
    FR_CHECK(submit_to_bring(0, FR_STREAM_STALLED, pending(77)) && !it.ops[0].piece);
    FR_CHECK(submit_to_bring(1, FR_STREAM_STALLED, pending(78)) && !it.ops[1].piece);
    fake_backend_fire(78);
    (void)run_all();
    FR_CHECK(it.ops[1].piece && it.ops[1].runs == 2 && it.ops[0].runs == 1);
    FR_CHECK(it.ops[1].piece->kind == FR_STREAM_WORK);
    fr_staging_give(all[0]);
    (void)run_all();
    FR_CHECK(it.ops[0].piece && it.ops[0].runs == 2 && it.ops[1].runs == 2);
    fr_staging_give(all[1]);
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* Between the look that finds no room and the list, room may come. */
const char *device_case_room_comes_before_the_list(void)
{
    fr_staged *all[2];
    FR_CHECK(begin() && fill(FR_STREAM_WORK, all));
    FR_CHECK(submit_to_bring(0, FR_STREAM_WORK, NULL) && it.ops[0].runs == 1);
    fr_staging_give(all[0]);
    FR_CHECK(!it.opened->waits.room[FR_STREAM_WORK].first);
    (void)run_all();
    FR_CHECK(it.ops[0].piece && it.ops[0].runs == 2);
    it.ops[1].wait = (fr_stream_wait){0};
    it.ops[1].brings = true;
    it.ops[1].parks_in_vain = true;
    FR_CHECK(submit(1, FR_STREAM_WORK, NULL));
    (void)run_all();
    FR_CHECK(it.ops[1].piece && it.ops[1].runs == 2);
    fr_staging_give(all[1]);
    FR_CHECK(end() == 0 && is_clean());
    return NULL;
}

/* And with it nothing of what it waits for. */
const char *device_case_who_waits_for_room_is_dropped(void)
{
    fr_staged *all[2];
    FR_CHECK(begin() && fill(FR_STREAM_STALLED, all));
    FR_CHECK(submit_to_bring(0, FR_STREAM_STALLED, pending(77)) && !it.ops[0].piece);
    fr_staging_give(all[0]); /* it is resumed, and has not run */
    fr_staging_give(all[1]);
    FR_CHECK(end() == 1 && is_clean() && it.ops[0].runs == 1 && it.ops[0].drops == 1);
    return NULL;
}
