/* Ops that wait for a stream: each is resumed once, whatever gets free, and keeps nothing. */
#include <string.h>

#include "runtime/device/run.h"
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
    fr_own_stream *has; /* until end */
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

static fr_run_result run_needs(fr_op *op, const fr_run_context *context)
{
    needs *self = needs_of(op);
    bool busy = false;
    self->runs++;
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
