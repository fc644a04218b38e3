#include "runtime/api/placement.h"
#include "runtime/device/available.h"
#include "runtime/device/report.h"
#include "runtime/read/read.h"

#include "runtime/floor/floors.h"
#include "runtime/query/filter.h"
#include "runtime/write/access.h"

#include <stdio.h>
#include <string.h>

#define FR_READ_MAX_NAMES UINT16_MAX
/* What an admit answers to have its submission tried again; no call returns it. */
#define FR_READ_OVERTAKEN OVSTAGE_ERROR_INTERNAL

static ovstage_enqueue_result_t fr_read_refused(ovstage_api_status_t status)
{
    ovstage_enqueue_result_t result = {status, OVSTAGE_INVALID_OP_ID};
    return result;
}

/* --- the op of a read that waits -------------------------------------------------------------- */

typedef struct fr_read_op {
    fr_read *read; /* one reference */
    bool holds;    /* the store keeps the read's moment */
    fr_op *report; /* of one whose rows are on their way when it was judged; or NULL */
} fr_read_op;

static void fr_read_let_moment_go(fr_read_op *op)
{
    if (op->holds)
        fr_read_let_go(op->read, &op->read->hold);
    op->holds = false;
}

static void fr_read_fail_with_query(fr_read *read)
{
    const char *text;
    ovstage_api_status_t status = fr_query_failure(read->query, &text);
    fr_read_fail(read, status, text);
}

/* Its rows are on their way. */
static void fr_read_tell(const fr_read *read, fr_op *report)
{
#ifdef FR_MUTATE_DEVICE_READ_REPORTS_EARLY
    return;
#endif
    fr_device_report_tell(report, read->ready,
                          &(fr_device_told){.what = "a read",
                                            .place = read->ready->opened->place,
                                            .stream = read->stream});
}

static fr_run_result fr_read_op_run(fr_op *op, const fr_run_context *context)
{
    fr_read_op *payload = fr_op_payload(op);
    fr_read *read = payload->read;
    bool judged = true;
    if (fr_query_is_ready(read->query))
        judged = fr_read_judge(read, context->graph, op);
    else
        fr_read_fail_with_query(read);
#ifdef FR_MUTATE_READ_PARKED_KEEPS_MOMENT
    if (judged)
#endif
        fr_read_let_moment_go(payload); /* what it selects is pinned */
    if (!judged)
        return FR_RUN_PARKED;
    if (read->status != OVSTAGE_OK)
        fr_op_fail(op, read->status, "%s", read->result.text);
    if (payload->report && read->ready)
        fr_read_tell(read, payload->report);
    return FR_RUN_DONE;
}

/* The client's event is recorded whatever became of the op. */
static void fr_read_make_available(fr_op *op, fr_read *read)
{
    fr_device_fault fault;
    if (!read->turn || read->told)
        return;
    read->told = true;
    if (!fr_available_record(read->turn, read->device, NULL, NULL, &fault))
        fr_op_fail_also(op, fr_placement_status(&fault),
                        "availability_event %#llx was not recorded: %s",
                        (unsigned long long)read->available, fault.text);
}

static void fr_read_op_drop(fr_op *op)
{
    fr_read_op *payload = fr_op_payload(op);
    fr_stream_wait_let_go(&payload->read->wait);
    fr_read_let_moment_go(payload);
    fr_read_make_available(op, payload->read);
    if (fr_load_relaxed(&payload->read->state) == FR_READ_PENDING) {
        if (fr_query_is_ready(payload->read->query))
            fr_read_fail(payload->read, OVSTAGE_ERROR_OP_FAILED,
                         "the read was dropped before it ran");
        else
            fr_read_fail_with_query(payload->read); /* R64: what its producer answered */
    }
    fr_read_unref(payload->read);
}

static void fr_read_op_tell(const fr_op *op, char *text, size_t text_bytes)
{
    (void)op; /* what it has may be another op's by now */
    (void)snprintf(text, text_bytes,
                   "rows on their way from a device, or a stream of a device or pinned memory, "
                   "while others have all");
}

static const fr_op_type fr_read_op_type = {
    .name = "read",
    .run = fr_read_op_run,
    .drop = fr_read_op_drop,
    .tell = fr_read_op_tell,
};

/* --- which seals ------------------------------------------------------------------------------ */

/* Admission. Ids of what the read waits for: seals, and the op of a query that is not ready;
 * `capacity` of them means that there may be more. */
static size_t fr_read_seals(const fr_read *read, uint64_t *ids, size_t capacity)
{
    size_t count = fr_query_producer(read->query, ids);
    for (uint32_t n = 0; n < read->name_count && count < capacity; n++) {
        const fr_read_name *name = &read->names[n];
        if (name->attribute)
            count += fr_floors_pending_seals(read->stage->floors, name->attribute, read->bounds.end,
                                             ids + count, capacity - count);
    }
    return count;
}

/* Whether an op that was accepted before is still to record the read's event (D21). */
static bool fr_read_has_turn(fr_read *read)
{
    fr_graph *graph = read->stage->graph;
    if (!read->turn)
        return true;
    fr_graph_lock(graph);
    read->turn_serial = read->turn->serial;
    uint64_t last_id = fr_available_last(read->turn);
    bool pending = last_id != 0 && fr_graph_is_pending(graph, last_id);
    fr_graph_unlock(graph);
    return !pending;
}

/* Whether a seal that the read needs is accepted and has not run, or its query is not ready. Mostly
 * the executed floors are there already, which is seen without the admission lock. */
static bool fr_read_needs_ops(fr_read *read)
{
    fr_stage *stage = read->stage;
    if (!fr_query_is_ready(read->query) || !fr_read_has_turn(read))
        return true;
    if (fr_floors_executed_base(stage->floors) >= read->bounds.end)
        return false; /* of all attributes */
    const fr_floor_record *record = fr_floors_record_acquire(stage->floors);
    bool sealed = true;
    for (uint32_t n = 0; n < read->name_count && sealed; n++) {
        const fr_attribute *attribute = read->names[n].attribute;
        sealed = !attribute || fr_floor_effective(record, attribute->index) >= read->bounds.end;
    }
    fr_floors_record_release(stage->floors, record);
    if (sealed)
        return false;
    uint64_t id = 0;
    fr_graph_lock(stage->graph);
    bool needs = fr_read_seals(read, &id, 1) != 0;
    fr_graph_unlock(stage->graph);
    return needs;
}

typedef struct fr_read_submission {
    fr_read *read;
    size_t producers_needed;
} fr_read_submission;

static ovstage_api_status_t fr_read_admit(fr_submission *submission, void *user)
{
    fr_read_submission *call = user;
    fr_read *read = call->read;
    fr_read_resolve(read);
    submission->behind_id = fr_available_last(read->turn);
    submission->producer_count =
        fr_read_seals(read, submission->producer_ids, submission->producer_capacity);
    if (submission->producer_count < submission->producer_capacity)
        return OVSTAGE_OK;
    size_t seals = (size_t)fr_floors_pending_count(read->stage->floors) + 1;
    call->producers_needed = seals * read->name_count + 2;
    return FR_READ_OVERTAKEN;
}

static void fr_read_accepted(fr_submission *submission, uint64_t id, void *user)
{
    fr_read_submission *call = user;
    (void)submission;
    call->read->op_id = id;
    fr_available_accept(call->read->turn, id);
}

/* --- read_attributes -------------------------------------------------------------------------- */

static ovstage_api_status_t fr_read_check(const ovx_token_t *attributes, size_t count,
                                          ovstage_ordinal_range_t range,
                                          const ovstage_read_handle_t *out)
{
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the out handle is NULL");
    if (!attributes && count > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL, but count = %zu",
                            count);
    if (count > FR_READ_MAX_NAMES)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "count = %zu attributes is above the limit of %u", count,
                            FR_READ_MAX_NAMES);
    if (range.has_start_ordinal && range.start_ordinal > range.end_ordinal)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "the range is reversed: start_ordinal %llu is above end_ordinal %llu",
                            (unsigned long long)range.start_ordinal,
                            (unsigned long long)range.end_ordinal);
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_read_name_all(fr_read *read, const ovx_token_t *attributes)
{
    for (uint32_t n = 0; n < read->name_count; n++) {
        ovx_string_or_token_t name = {attributes[n], {NULL, 0}};
        fr_read_name *to = &read->names[n];
        to->attribute = NULL;
        ovstage_api_status_t status =
            fr_stage_attribute(read->stage, name, false, &to->attribute, &to->token);
        if (status != OVSTAGE_OK)
            return status;
        to->token = attributes[n];
        to->derived = FR_RESERVED_NONE;
        fr_reserved reserved = fr_access_reserved(read->stage->access, to->token);
        if (reserved == FR_RESERVED_ACTIVE)
            return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED, "%s cannot be read",
                                fr_reserved_name(reserved));
        if (reserved >= FR_RESERVED_PATH && reserved <= FR_RESERVED_CHILDREN) {
            to->derived = reserved;
            to->attribute = NULL; /* refused writes may have named it */
        }
    }
    return OVSTAGE_OK;
}

/* Between judgement and acceptance a seal may have been accepted that the read must then show: it
 * is judged again. Seals that leave the floor below its ordinal do not matter, since a read above
 * the floor goes by what has run. */
static ovstage_api_status_t fr_read_admit_seals(fr_submission *submission, void *user)
{
    fr_read *read = user;
    (void)submission;
    fr_read_resolve(read);
    for (uint32_t n = 0; n < read->name_count; n++) {
        const fr_read_name *name = &read->names[n];
        if (name->attribute && !name->sealed &&
            fr_floors_accepted(read->stage->floors, name->attribute) >= read->bounds.end)
            return FR_READ_OVERTAKEN;
    }
    return OVSTAGE_OK;
}

/* The same; and its event was accepted with no other op meanwhile. */
static ovstage_api_status_t fr_read_admit_in_turn(fr_submission *submission, fr_read *read)
{
    if (read->turn && read->turn->serial != read->turn_serial)
        return FR_READ_OVERTAKEN;
    return fr_read_admit_seals(submission, read);
}

static ovstage_api_status_t fr_read_admit_pinned(fr_submission *submission, void *user)
{
    const fr_read_submission *call = user;
    return fr_read_admit_in_turn(submission, call->read);
}

/* Its event is recorded. */
static ovstage_api_status_t fr_read_admit_judged(fr_submission *submission, void *user)
{
    fr_read *read = user;
    ovstage_api_status_t status = fr_read_admit_in_turn(submission, read);
    if (status == OVSTAGE_OK)
        fr_available_accept(read->turn, fr_available_last(read->turn));
    return status;
}

static ovstage_enqueue_result_t fr_read_submit_op(fr_read *read, fr_op *op)
{
    fr_read_submission call = {.read = read};
    fr_submission submission = {
        .op = op,
        .fails_with_producers = true, /* with the query's op: seals do not fail */
        .admit = read->is_pinned ? fr_read_admit_pinned : fr_read_admit,
        .accepted = fr_read_accepted,
        .user = &call,
    };
    fr_read_op *payload = fr_op_payload(op);
    submission.report = payload->report;
    ovstage_enqueue_result_t result =
        fr_stage_submit_after(read->stage, &submission, 0, &call.producers_needed);
    if (result.status == OVSTAGE_OK)
        read->op_id = result.op_index; /* the report's, if there is one */
    return result;
}

/* For seals, its query or its turn; or, pinned, for what a device does first. */
static ovstage_enqueue_result_t fr_read_submit_pending(fr_read *read)
{
    fr_stage *stage = read->stage;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_read_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_read_op *payload = fr_op_payload(op);
    payload->read = read;
    payload->holds = !read->is_pinned;
    payload->report = NULL;
    if (read->device && !read->available) {
        payload->report = fr_device_report_get(stage->graph);
        if (!payload->report) {
            fr_graph_op_put(stage->graph, op);
            return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY,
                                   "no memory for an operation's record");
        }
    }
    fr_read_ref(read);
#ifndef FR_MUTATE_READ_NO_MOMENT
    if (payload->holds)
        fr_read_keep(read, &read->hold, read->bounds.end);
#else
    payload->holds = false;
#endif
    ovstage_enqueue_result_t result = fr_read_submit_op(read, op);
    if (result.status != OVSTAGE_OK) {
        fr_read_let_moment_go(payload);
        if (payload->report)
            fr_device_report_put(stage->graph, payload->report);
        fr_graph_op_put(stage->graph, op);
        fr_read_unref(read);
    }
    return result;
}

/* A refusal need not have been right at any one moment when seals of what is read were accepted or
 * ran meanwhile: part of it may be from before them, part from after. Each judgement that does not
 * stand is one more such seal's doing. */
static bool fr_read_refusal_stands(fr_read *read)
{
    fr_stage *stage = read->stage;
    fr_graph_lock(stage->graph);
    bool stands = fr_read_admit_seals(NULL, read) == OVSTAGE_OK;
    fr_graph_unlock(stage->graph);
    const fr_floor_record *record = fr_floors_record_acquire(stage->floors);
    for (uint32_t n = 0; n < read->name_count && stands; n++) {
        const fr_read_name *name = &read->names[n];
        stands = !name->attribute || name->floor == UINT64_MAX ||
                 name->floor == fr_floor_effective(record, name->attribute->index);
    }
    fr_floors_record_release(stage->floors, record);
    return stands;
}

/* Judged, and its rows are on their way: complete when they are there. */
static ovstage_enqueue_result_t fr_read_submit_on_its_way(fr_read *read)
{
    fr_stage *stage = read->stage;
    fr_op *op = fr_device_report_get(stage->graph);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_read_tell(read, op);
    fr_submission submission = {.op = op, .admit = fr_read_admit_judged, .user = read};
    ovstage_enqueue_result_t result = fr_stage_submit(stage, &submission, 0);
    if (result.status == OVSTAGE_OK)
        read->op_id = result.op_index;
    else
        fr_device_report_put(stage->graph, op);
    return result;
}

/* With nothing to wait for: judged and pinned now, and mostly complete at birth. */
static ovstage_enqueue_result_t fr_read_submit_judged(fr_read *read)
{
    if (!fr_read_judge(read, NULL, NULL)) {
        ovstage_enqueue_result_t pinned = fr_read_submit_pending(read);
        if (pinned.status == FR_READ_OVERTAKEN)
            fr_read_unjudge(read);
        return pinned;
    }
    if (read->status != OVSTAGE_OK) {
#ifndef FR_MUTATE_READ_REFUSED_AT_ONCE
        if (read->status != OVSTAGE_ERROR_OUT_OF_MEMORY && !fr_read_refusal_stands(read)) {
            fr_read_unjudge(read);
            return fr_read_refused(FR_READ_OVERTAKEN);
        }
#endif
        return fr_error_refuse(read->status, "%s", read->result.text);
    }
    ovstage_enqueue_result_t result =
        read->ready && !fr_fence_is_over(read->ready)
            ? fr_read_submit_on_its_way(read)
            : fr_stage_submit_done(read->stage, fr_read_admit_judged, read);
    if (result.status == FR_READ_OVERTAKEN)
        fr_read_unjudge(read);
    return result;
}

static ovstage_enqueue_result_t fr_read_submit(fr_read *read, const ovx_token_t *attributes,
                                               ovstage_read_handle_t *out)
{
    fr_stage *stage = read->stage;
    ovstage_api_status_t status = fr_read_name_all(read, attributes);
    if (status != OVSTAGE_OK)
        return fr_read_refused(status);
    ovstage_read_handle_t handle = fr_handle_reserve(stage, FR_HANDLE_READ);
    if (handle == OVSTAGE_INVALID_READ_HANDLE)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a read handle");
    ovstage_enqueue_result_t result;
#ifdef FR_MUTATE_READ_LIVE_BEFORE_ACCEPTED
    (void)fr_handle_settle(stage, handle, OVSTAGE_OK, read);
#endif
    do
        result =
            fr_read_needs_ops(read) ? fr_read_submit_pending(read) : fr_read_submit_judged(read);
    while (result.status == FR_READ_OVERTAKEN);
    if (fr_handle_settle(stage, handle, result.status, read))
        *out = handle;
    return result;
}

ovstage_enqueue_result_t fr_read_attributes(fr_stage *stage, ovstage_query_handle_t query,
                                            const ovx_token_t *attributes, size_t count,
                                            ovstage_ordinal_range_t range,
                                            ovstage_read_handle_t *out)
{
    return fr_read_attributes_placed(stage, query, attributes, count, range, NULL, out);
}

ovstage_enqueue_result_t fr_read_attributes_placed(fr_stage *stage,
                                                   ovstage_query_handle_t query_handle,
                                                   const ovx_token_t *attributes, size_t count,
                                                   ovstage_ordinal_range_t range,
                                                   const ovstage_placement_t *placement,
                                                   ovstage_read_handle_t *out)
{
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return fr_read_refused(status);
    if (out)
        *out = OVSTAGE_INVALID_READ_HANDLE;
    status = fr_read_check(attributes, count, range, out);
    if (status != OVSTAGE_OK)
        return fr_read_refused(status);
    fr_query *query = fr_stage_query_acquire(stage, query_handle);
    if (!query)
        return fr_read_refused(OVSTAGE_ERROR_INVALID_HANDLE);
    fr_read_bounds bounds = {.is_range = range.has_start_ordinal,
                             .start = range.has_start_ordinal ? range.start_ordinal : 0,
                             .end = range.end_ordinal};
    fr_read *read = fr_read_make(stage, query, &bounds, (uint32_t)count);
    if (!read) {
        fr_query_release(query);
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a read");
    }
    ovstage_enqueue_result_t result = fr_read_refused(fr_read_place(read, placement));
    if (result.status == OVSTAGE_OK)
        result = fr_read_submit(read, attributes, out);
    if (result.status != OVSTAGE_OK)
        fr_read_unref(read);
    return result;
}

/* --- fetch and release ------------------------------------------------------------------------ */

static bool fr_read_is_judged(const fr_read *read)
{
    /* [read.state.look] pairs [read.state.judged] : see there */
    return fr_load_acquire(&read->state) == FR_READ_JUDGED;
}

/* And its rows are there. */
static bool fr_read_is_ready(const fr_read *read)
{
#ifdef FR_MUTATE_DEVICE_FETCH_EARLY
    return fr_read_is_judged(read);
#endif
    return fr_read_is_judged(read) && (!read->ready || fr_fence_is_over(read->ready));
}

/* Until the read is ready. A client that has released the op's id still gets its groups. */
static ovstage_api_status_t fr_read_wait(fr_read *read, uint64_t timeout_ns)
{
    fr_wait_outcome outcome;
    if (fr_read_is_ready(read))
        return OVSTAGE_OK;
    fr_graph_wait_even_released(read->stage->graph, read->op_id, timeout_ns, &outcome);
    if (fr_read_is_ready(read))
        return OVSTAGE_OK;
    if (outcome.status == OVSTAGE_ERROR_TIMEOUT)
        return OVSTAGE_ERROR_TIMEOUT;
    return fr_error_set(outcome.status, "%s", outcome.text);
}

ovstage_api_status_t fr_read_fetch_next(fr_stage *stage, ovstage_read_handle_t handle,
                                        ovstage_timeout_ns_t timeout, ovstage_read_group_t *out)
{
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the out group is NULL");
    fr_read *read = fr_handle_acquire(stage, FR_HANDLE_READ, handle, fr_read_ref);
    if (!read)
        return fr_handle_refuse(stage, FR_HANDLE_READ, handle, "read");
    bool waits = !fr_read_is_judged(read) && timeout != 0;
    status = fr_read_wait(read, timeout);
    if (status == OVSTAGE_OK && read->status != OVSTAGE_OK)
        status =
            fr_error_set(waits ? OVSTAGE_ERROR_OP_FAILED : read->status, "%s", read->result.text);
    else if (status == OVSTAGE_OK && read->ready && fr_fence_look(read->ready) == FR_FENCE_LOST)
        status = fr_error_set(
            OVSTAGE_ERROR_OP_FAILED, "CUDA device %d failed before the values were there: %s",
            (int)read->ready->opened->place, fr_opened_death(read->ready->opened));
    else if (status == OVSTAGE_OK)
        status = fr_group_next(read, out);
    fr_read_unref(read);
    return status;
}

ovstage_enqueue_result_t fr_read_release(fr_stage *stage, ovstage_read_handle_t handle)
{
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return fr_read_refused(status);
    void *read = NULL;
    ovstage_enqueue_result_t result =
        fr_handle_release_op(stage, FR_HANDLE_READ, handle, "read", &read);
    if (result.status == OVSTAGE_OK)
        fr_read_unref(read); /* fetches that are under way hold references of their own (R67) */
    return result;
}
