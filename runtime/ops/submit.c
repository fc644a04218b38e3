/* The way in for every op: limits before acceptance (D25), texts for refusals. */
#include "runtime/api/stage.h"

/* Producers that an op names before memory is taken for their ids. */
#ifdef FR_SHRINK
#define FR_SUBMIT_FEW_PRODUCERS 2u
#else
#define FR_SUBMIT_FEW_PRODUCERS 32u
#endif

/* A queue limit for the calling thread: what an op submits may go to twice. */
static uint64_t fr_limit_here(uint64_t limit)
{
    return fr_op_running() && limit <= UINT64_MAX / 2 ? 2 * limit : limit;
}

/* Without workers nobody else makes room: runs the next op of the lowest ordinal. Never inside an
 * op. */
static bool fr_stage_make_room(fr_stage *stage)
{
    if (fr_op_running() || fr_pool_worker_count(stage->pool) > 0)
        return false;
    return fr_graph_run_some(stage->graph, 1) > 0;
}

uint64_t fr_stage_payload_bytes(const fr_stage *stage)
{
    uint64_t finished = fr_tally_read(&stage->finished_payload_bytes);
    uint64_t accepted = fr_load_relaxed(&stage->accepted_payload_bytes);
    /* Seen one after the other, and not in this order for sure. */
    return accepted > finished ? accepted - finished : 0;
}

uint64_t fr_stage_pending_bytes(const fr_stage *stage)
{
    return fr_stage_payload_bytes(stage) + fr_store_pending_bytes(stage->store);
}

ovstage_api_status_t fr_stage_room(fr_stage *stage, uint64_t payload_bytes)
{
    uint64_t limit = fr_limit_here(stage->config.pending_limit_bytes);
    for (;;) {
        uint64_t pending = fr_stage_pending_bytes(stage);
        if (pending <= limit && payload_bytes <= limit - pending)
            return OVSTAGE_OK;
        if (fr_stage_make_room(stage))
            continue;
        fr_add_relaxed(&stage->queue_full_count, 1);
        return fr_error_set(OVSTAGE_ERROR_QUEUE_FULL,
                            "%llu bytes are unsealed or pending and %llu more are submitted: the "
                            "limit is %llu (pending_limit_bytes); %s",
                            (unsigned long long)pending, (unsigned long long)payload_bytes,
                            (unsigned long long)limit,
                            payload_bytes > limit ? "they never fit"
                                                  : "seals and discards make room, time does not");
    }
}

ovstage_enqueue_result_t fr_stage_submit(fr_stage *stage, fr_submission *submission,
                                         uint64_t payload_bytes)
{
    ovstage_enqueue_result_t result = {OVSTAGE_OK, OVSTAGE_INVALID_OP_ID};
    if (!submission->never_full && payload_bytes > 0)
        result.status = fr_stage_room(stage, payload_bytes);
    if (result.status != OVSTAGE_OK)
        return result;
    do
        result.status = fr_graph_submit(stage->graph, submission, &result.op_index);
    while (result.status == OVSTAGE_ERROR_QUEUE_FULL && fr_stage_make_room(stage));
    if (result.status == OVSTAGE_OK)
        return result;
    result.op_index = OVSTAGE_INVALID_OP_ID;
    if (result.status == OVSTAGE_ERROR_QUEUE_FULL) {
        fr_add_relaxed(&stage->queue_full_count, 1);
        fr_error_set(result.status, "%llu operations are pending: the limit is %llu (op_limit)",
                     (unsigned long long)fr_graph_pending_count(stage->graph),
                     (unsigned long long)fr_limit_here(stage->config.op_limit));
    } else if (result.status == OVSTAGE_ERROR_OUT_OF_MEMORY) {
        fr_error_set(result.status, "no memory for another operation beside %llu pending ones",
                     (unsigned long long)fr_graph_pending_count(stage->graph));
    } else if (result.status == OVSTAGE_ERROR_INVALID_ARGUMENT &&
               fr_graph_is_ending(stage->graph)) {
        /* From an op that ran on: it was let in before. */
        fr_error_set(result.status, "%p is being destroyed", (void *)stage);
    }
    return result;
}

ovstage_enqueue_result_t fr_stage_submit_after(fr_stage *stage, const fr_submission *submission,
                                               uint64_t payload_bytes, size_t *needed)
{
    uint64_t few[FR_SUBMIT_FEW_PRODUCERS];
    size_t capacity = FR_SUBMIT_FEW_PRODUCERS;
    for (;;) {
        uint64_t *ids = few;
        if (capacity > FR_SUBMIT_FEW_PRODUCERS)
            ids = fr_memory_allocate(&stage->allocator, capacity * sizeof(*ids), 16);
        if (!ids)
            return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY,
                                   "no memory for the ids of %zu pending advances", capacity);
        fr_submission attempt = *submission;
        attempt.producer_ids = ids;
        attempt.producer_capacity = capacity;
        *needed = 0;
        ovstage_enqueue_result_t result = fr_stage_submit(stage, &attempt, payload_bytes);
        if (ids != few)
            fr_memory_release(&stage->allocator, ids, capacity * sizeof(*ids));
        if (result.status == OVSTAGE_OK || *needed == 0)
            return result;
        capacity = 2 * *needed; /* more may come in between */
    }
}

ovstage_enqueue_result_t fr_stage_submit_done(
    fr_stage *stage, ovstage_api_status_t (*admit)(fr_submission *, void *), void *user)
{
    ovstage_enqueue_result_t result = {OVSTAGE_OK, OVSTAGE_INVALID_OP_ID};
    result.op_index = fr_graph_submit_done(stage->graph, admit, user, &result.status);
    if (result.status == OVSTAGE_ERROR_OUT_OF_MEMORY)
        fr_error_set(result.status, "no memory for the id of an operation");
    return result;
}

/* --- releases --------------------------------------------------------------------------------- */

typedef struct fr_releasing {
    fr_stage *stage;
    fr_handle_kind kind;
    uint64_t handle;
    void *object;
} fr_releasing;

static ovstage_api_status_t fr_release_admit(fr_submission *submission, void *user)
{
    (void)submission;
    fr_releasing *releasing = user;
    releasing->object = fr_handle_remove(releasing->stage, releasing->kind, releasing->handle);
    return releasing->object ? OVSTAGE_OK : OVSTAGE_ERROR_INVALID_HANDLE;
}

ovstage_enqueue_result_t fr_handle_release_op(fr_stage *stage, fr_handle_kind kind, uint64_t handle,
                                              const char *what, void **out_object)
{
    fr_releasing releasing = {stage, kind, handle, NULL};
    ovstage_enqueue_result_t result = fr_stage_submit_done(stage, fr_release_admit, &releasing);
    if (result.status == OVSTAGE_ERROR_INVALID_HANDLE)
        fr_handle_refuse(stage, kind, handle, what);
    *out_object = releasing.object;
    return result;
}
