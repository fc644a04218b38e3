/* Ops that wait for a stream or for room: each is resumed once, whatever gets free, and keeps
 * nothing. */
#include <string.h>

#include "runtime/device/begin.h"
#include "tests/support/check.h"
#include "tests/support/fake_backend.h"
#include "tests/unit/device_cases.h"

#define PARKED_MAX 4u

/* An op that needs a stream of a kind for its lane. */
typedef struct needs {
    fr_stream_wait wait;
    fr_stream_kind kind;
    fr_fence *dep;
    uint32_t runs, drops;
    fr_own_stream *has;  /* until end */
    size_t brings_bytes; /* it needs room, and then such a piece */
    bool parks_in_vain;  /* the first time, though there is room */
    fr_staged *piece;    /* until end */
} needs;

static struct {
    fr_pool *pool;
    fr_graph *graph;
    fr_devices *devices;
    fr_opened *opened;
    fr_device_entry entry;
    fr_device_fault fault;
    needs ops[PARKED_MAX];
    fr_own_stream *taken[FR_STREAMS_MAX + FR_STREAMS_SPARE];
} it;

static needs *needs_of(fr_op *op)
{
    return *(needs **)fr_op_payload(op);
}

static fr_run_result run_to_bring(needs *self, fr_op *op, fr_graph *graph)
{
    fr_device_run run;
    if (self->parks_in_vain) {
        self->parks_in_vain = false;
        fr_stream_park_for_room(&self->wait, it.opened, FR_STREAM_WORK, NULL, graph, op);
        return FR_RUN_PARKED;
    }
    const fr_run_wish wish = {.opened = it.opened,
                              .kind = fr_device_run_kind(self->dep),
                              .lane = 1000,
                              .dep = self->dep,
                              .graph = graph,
                              .op = op};
    switch (fr_run_wish_begin(&wish, &self->wait, &run, &it.fault)) {
    case FR_RUN_WAITS:
        return FR_RUN_PARKED;
    case FR_RUN_HAS_BEGUN:
        self->piece = fr_device_run_take_staging(&run, self->brings_bytes, &it.fault);
        fr_device_run_end(&run);
        break;
    case FR_RUN_HAS_FAILED:
        break;
    }
    return FR_RUN_DONE;
}

static fr_run_result run_needs(fr_op *op, const fr_run_context *context)
{
    needs *self = needs_of(op);
    bool busy = false;
    self->runs++;
    if (self->brings_bytes > 0)
        return run_to_bring(self, op, context->graph);
    self->has = fr_stream_wait_take(&self->wait, it.opened);
    if (self->dep && fr_fence_is_over(self->dep))
        self->kind = FR_STREAM_WORK;
    if (!self->has)
        self->has = fr_streams_take(it.opened, self->kind, 1000, &busy, &it.fault);
    if (busy)
        fr_stream_park(&self->wait, it.opened, self->kind, 1000, self->dep, context->graph, op);
    return busy ? FR_RUN_PARKED : FR_RUN_DONE;
}

static void drop_needs(fr_op *op)
{
    needs_of(op)->drops++;
    fr_stream_wait_let_go(&needs_of(op)->wait);
}

static const fr_op_type needs_type = {.name = "needs", .run = run_needs, .drop = drop_needs};

static bool begin(void)
{
    const fr_pool_config config = {.allocator = &fr_allocator_default};
    memset(&it, 0, sizeof(it));
    it.pool = fr_pool_create(&config);
    const fr_graph_config graph = {
        .pool = it.pool, .allocator = &fr_allocator_default, .op_limit = 100, .caller_runs = true};
    it.graph = fr_graph_create(&graph);
    it.devices = fr_devices_create(&fr_allocator_default, fake_backend_open(1), it.pool);
    it.opened = fr_devices_open(it.devices, 0, &it.fault);
    return it.opened && fr_opened_enter(it.opened, &it.entry, &it.fault);
}

/* Nothing is left; returns how many ops were dropped. */
static uint64_t end(void)
{
    for (uint32_t k = 0; k < PARKED_MAX; k++)
        if (it.ops[k].has)
            fr_streams_give(it.opened, it.ops[k].has);
    for (uint32_t k = 0; k < PARKED_MAX; k++)
        if (it.ops[k].piece)
            fr_staging_give(it.ops[k].piece);
    uint64_t dropped = fr_graph_destroy(it.graph);
    fr_opened_leave(it.opened, &it.entry);
    fake_backend_fire(0);
    fr_devices_drain(it.devices);
    for (uint32_t k = 0; k < PARKED_MAX; k++)
        fr_fence_release(it.ops[k].dep);
    fr_devices_destroy(it.devices);
    fr_pool_destroy(it.pool);
    return dropped;
}

static bool is_clean(void)
{
    bool once = true;
    for (uint32_t k = 0; k < PARKED_MAX; k++)
        once = once && it.ops[k].drops <= 1;
    return once && fake_backend_alive() == 0 && fake_backend_faults() == 0;
}

/* Work that is not over, of a stalled lane each, in all streams that there may be for such. */
static bool stall_all(void)
{
    for (uint32_t k = 0; k < FR_STREAMS_MAX; k++) {
        bool busy;
        it.taken[k] = fr_streams_take(it.opened, FR_STREAM_STALLED, k, &busy, &it.fault);
        fr_fence *fence = fr_fence_get(it.opened, &it.fault);
        if (!it.taken[k] || !fr_fence_record(fence, it.taken[k]->stream, it.taken[k], &it.fault))
            return false;
        fr_fence_release(fence);
        fr_streams_give(it.opened, it.taken[k]);
    }
    return true;
}

/* All that there may be at all are in use by threads. */
static bool take_all(void)
{
    bool busy, enough = true;
    for (uint32_t k = 0; k < FR_STREAMS_MAX + FR_STREAMS_SPARE; k++) {
        it.taken[k] = fr_streams_take(it.opened, FR_STREAM_WORK, k, &busy, &it.fault);
        enough = enough && it.taken[k];
    }
    return enough;
}

static void give_all(void)
{
    for (uint32_t k = 0; k < FR_STREAMS_MAX + FR_STREAMS_SPARE; k++)
        fr_streams_give(it.opened, it.taken[k]);
}

static uint32_t run_all(void)
{
    (void)fr_graph_run_some(it.graph, UINT64_MAX);
    uint32_t have = 0;
    for (uint32_t k = 0; k < PARKED_MAX; k++)
        have += it.ops[k].has != NULL;
    return have;
}

/* In a stream of nobody's, so that it can be fired alone. */
static fr_fence *pending(uintptr_t stream)
{
    fr_fence *fence = fr_fence_get(it.opened, &it.fault);
    fr_device_stream client = {it.opened->device, stream};
    return fr_fence_record(fence, client, NULL, &it.fault) ? fence : NULL;
}

/* Runs until it parks, or has a stream. */
static bool submit(uint32_t k, fr_stream_kind kind, fr_fence *dep)
{
    uint64_t id = 0;
    needs *self = &it.ops[k];
    self->kind = kind;
    self->dep = dep;
    fr_submission submission;
    fr_submission_begin(&submission, fr_graph_op_get(it.graph, &needs_type));
    submission.has_ordinal = true;
    submission.ordinal = 1 + k;
    *(needs **)fr_op_payload(submission.op) = self;
    if (fr_graph_submit(it.graph, &submission, &id) != OVSTAGE_OK)
        return false;
    (void)run_all();
    return self->runs > 0;
}

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

static fr_own_stream *take(fr_stream_kind kind, uint64_t lane)
{
    bool busy;
    return fr_streams_take(it.opened, kind, lane, &busy, &it.fault);
}

/* Makes a stream wait. */
static bool waits_for(fr_own_stream *stream, const fr_fence *fence)
{
    return fr_wait_for(it.opened, stream->stream, stream, fence, FR_WAIT_TARGET, &it.fault);
}

/* One that waits for the fence, and the fence behind that. */
static fr_fence *behind(fr_stream_kind kind, uint64_t lane, const fr_fence *before,
                        fr_own_stream **out)
{
    fr_fence *fence = fr_fence_get(it.opened, &it.fault);
    *out = take(kind, lane);
    return waits_for(*out, before) && fr_fence_record(fence, (*out)->stream, *out, &it.fault)
               ? fence
               : NULL;
}

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

/* --- room ------------------------------------------------------------------------------------- */

static bool submit_to_bring(uint32_t k, fr_stream_kind kind, fr_fence *dep)
{
    it.ops[k].brings_bytes = 1000;
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
    fr_staging_give(all[1]);
    fr_fence_release(late);
    fr_fence_release(work);
    FR_CHECK(end() == 0 && is_clean());
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
    it.ops[1].brings_bytes = 1000;
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
