/* What the cases of ops that wait share: a graph without workers, a device whose work ends when the
 * case says so, and ops that need a stream, or room. */
#ifndef FR_TESTS_DEVICE_CASES_PARKED_H
#define FR_TESTS_DEVICE_CASES_PARKED_H

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
    fr_own_stream *has; /* until end */
    bool brings;        /* it needs room, and then takes a piece */
    bool has_begun;
    bool parks_in_vain; /* the first time, though there is room */
    fr_staged *piece;   /* until end */
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

static inline needs *needs_of(fr_op *op)
{
    return *(needs **)fr_op_payload(op);
}

static inline fr_run_result run_to_bring(needs *self, fr_op *op, fr_graph *graph)
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
                              .brings = self->brings,
                              .has_begun = self->has_begun,
                              .graph = graph,
                              .op = op};
    switch (fr_run_wish_begin(&wish, &self->wait, &run, &it.fault)) {
    case FR_RUN_WAITS:
        return FR_RUN_PARKED;
    case FR_RUN_HAS_BEGUN:
        self->piece = fr_device_run_take_staging(&run, 1000, &it.fault);
        fr_device_run_end(&run);
        break;
    case FR_RUN_HAS_FAILED:
        break;
    }
    return FR_RUN_DONE;
}

static inline fr_run_result run_needs(fr_op *op, const fr_run_context *context)
{
    needs *self = needs_of(op);
    bool busy = false;
    self->runs++;
    if (self->brings)
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

static inline void drop_needs(fr_op *op)
{
    needs_of(op)->drops++;
    fr_stream_wait_let_go(&needs_of(op)->wait);
}

static const fr_op_type needs_type = {.name = "needs", .run = run_needs, .drop = drop_needs};

static inline bool begin(void)
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
static inline uint64_t end(void)
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

static inline bool is_clean(void)
{
    bool once = true;
    for (uint32_t k = 0; k < PARKED_MAX; k++)
        once = once && it.ops[k].drops <= 1;
    return once && fake_backend_alive() == 0 && fake_backend_faults() == 0;
}

/* Work that is not over, of a stalled lane each, in all streams that there may be for such. */
static inline bool stall_all(void)
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
static inline bool take_all(void)
{
    bool busy, enough = true;
    for (uint32_t k = 0; k < FR_STREAMS_MAX + FR_STREAMS_SPARE; k++) {
        it.taken[k] = fr_streams_take(it.opened, FR_STREAM_WORK, k, &busy, &it.fault);
        enough = enough && it.taken[k];
    }
    return enough;
}

static inline void give_all(void)
{
    for (uint32_t k = 0; k < FR_STREAMS_MAX + FR_STREAMS_SPARE; k++)
        fr_streams_give(it.opened, it.taken[k]);
}

static inline uint32_t run_all(void)
{
    (void)fr_graph_run_some(it.graph, UINT64_MAX);
    uint32_t have = 0;
    for (uint32_t k = 0; k < PARKED_MAX; k++)
        have += it.ops[k].has != NULL;
    return have;
}

/* In a stream of nobody's, so that it can be fired alone. */
static inline fr_fence *pending(uintptr_t stream)
{
    fr_fence *fence = fr_fence_get(it.opened, &it.fault);
    fr_device_stream client = {it.opened->device, stream};
    return fr_fence_record(fence, client, NULL, &it.fault) ? fence : NULL;
}

/* Runs until it parks, or has a stream. */
static inline bool submit(uint32_t k, fr_stream_kind kind, fr_fence *dep)
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

static inline fr_own_stream *take(fr_stream_kind kind, uint64_t lane)
{
    bool busy;
    return fr_streams_take(it.opened, kind, lane, &busy, &it.fault);
}

/* Makes a stream wait. */
static inline bool waits_for(fr_own_stream *stream, const fr_fence *fence)
{
    return fr_wait_for(it.opened, stream->stream, stream, fence, FR_WAIT_TARGET, &it.fault);
}

/* One that waits for the fence, and the fence behind that. */
static inline fr_fence *behind(fr_stream_kind kind, uint64_t lane, const fr_fence *before,
                               fr_own_stream **out)
{
    fr_fence *fence = fr_fence_get(it.opened, &it.fault);
    *out = take(kind, lane);
    return waits_for(*out, before) && fr_fence_record(fence, (*out)->stream, *out, &it.fault)
               ? fence
               : NULL;
}

#endif
