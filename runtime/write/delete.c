/* delete_attributes: marks keys, or whole prims, as deleted at an ordinal (R128 to R130, L3, D2,
 * D3, D12). */
#include "runtime/floor/floors.h"
#include "runtime/write/access.h"
#include "runtime/write/write_op.h"

/* What an accepted delete keeps. */
typedef struct fr_delete_op {
    fr_stage *stage;
    fr_query *query; /* one reference */
    fr_attribute **attributes;
    uint32_t attribute_count; /* 0: whole prims */
} fr_delete_op;

_Static_assert(sizeof(fr_delete_op) <= FR_OP_PAYLOAD_BYTES, "fits the record");

/* One call on its way to acceptance. */
typedef struct fr_delete_call {
    fr_stage *stage;
    fr_delete_op *delete; /* the op's payload */
    uint64_t ordinal;
    size_t producers_needed;
    /* What admit found. */
    const fr_attribute *refused; /* NULL: whole prims */
    uint64_t refused_floor;
} fr_delete_call;

/* --- running ---------------------------------------------------------------------------------- */

static fr_delete fr_delete_what(fr_op *op, const fr_delete_op *delete)
{
    return (fr_delete){.attributes = delete->attributes,
                       .attribute_count = delete->attribute_count,
                       .query = delete->query,
                       .ordinal = fr_op_ordinal(op),
                       .op_id = fr_op_id(op)};
}

/* D3. Advances accepted before are executed; those accepted later wait for this op. */
static bool fr_delete_judge_prims(fr_op *op, const fr_delete_op *delete)
{
    fr_stage *stage = delete->stage;
    fr_delete what = fr_delete_what(op, delete);
    const fr_floor_record *record = fr_floors_record_acquire(stage->floors);
    const fr_attribute *sealed = fr_store_delete_sealed(stage->store, &what, record);
    uint64_t floor = sealed ? fr_floor_effective(record, sealed->index) : 0;
    fr_floors_record_release(stage->floors, record);
    if (sealed)
        fr_op_fail(op, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                   "ordinal %llu is not above the write floor %llu of attribute '%s', which lives "
                   "on a prim that is deleted",
                   (unsigned long long)what.ordinal, (unsigned long long)floor,
                   fr_write_name(stage, sealed));
    return !sealed;
}

static fr_run_result fr_delete_run(fr_op *op, const fr_run_context *context)
{
    (void)context;
    const fr_delete_op *delete = fr_op_payload(op);
    if (!fr_write_query_ready(op, delete->query) || delete->query->count == 0)
        return FR_RUN_DONE;
    if (delete->attribute_count == 0 && !fr_delete_judge_prims(op, delete))
        return FR_RUN_DONE;
    fr_delete what = fr_delete_what(op, delete);
    if (fr_store_delete(delete->stage->store, &what) != OVSTAGE_OK)
        fr_op_fail(op, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory to delete %u attributes of %u prims",
                   delete->attribute_count, delete->query->count);
    return FR_RUN_DONE;
}

static void fr_delete_let_go(const fr_delete_op *delete)
{
    if (delete->attributes)
        fr_access_block_put(delete->stage, (void *)delete->attributes,
                            delete->attribute_count * sizeof(*delete->attributes));
    fr_query_release(delete->query);
}

static void fr_delete_drop(fr_op *op)
{
    const fr_delete_op *delete = fr_op_payload(op);
    /* [delete.done] pairs [delete.pending] : who sees it counted out sees what it did */
    (void)fr_sub_release(&delete->stage->deletes_pending, 1);
    fr_delete_let_go(delete);
}

static const fr_op_type fr_delete_op_type = {
    .name = "delete",
    .run = fr_delete_run,
    .drop = fr_delete_drop,
};

/* --- admission -------------------------------------------------------------------------------- */

static ovstage_api_status_t fr_delete_admit_named(fr_delete_call *call, fr_submission *submission)
{
    const fr_delete_op *delete = call->delete;
    submission->attribute_filter = 0;
    for (uint32_t k = 0; k < delete->attribute_count; k++) {
        const fr_attribute *attribute = delete->attributes[k];
        uint64_t floor = fr_floors_accepted(call->stage->floors, attribute);
        if (call->ordinal <= floor) {
            call->refused = attribute;
            call->refused_floor = floor;
            return OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
        }
        submission->attribute_filter |= UINT64_C(1) << attribute->index % 64;
    }
#ifndef FR_MUTATE_DELETE_FORGETS_ITS_QUERY
    submission->producer_count = fr_query_producer(delete->query, submission->producer_ids);
#endif
    return OVSTAGE_OK;
}

/* It is in scope of every advance accepted later, and depends on those accepted before that may
 * have sealed what it finds (D2). */
static ovstage_api_status_t fr_delete_admit_prims(fr_delete_call *call, fr_submission *submission)
{
    const fr_floors *floors = call->stage->floors;
    uint64_t floor = fr_floors_accepted_base(floors);
    if (call->ordinal <= floor) {
        call->refused_floor = floor;
        return OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
    }
    submission->attribute_filter = UINT64_MAX;
    size_t of_query = fr_query_producer(call->delete->query, submission->producer_ids);
    size_t count =
        fr_floors_pending_from(floors, call->ordinal, submission->producer_ids + of_query,
                               submission->producer_capacity - of_query);
    if (count == SIZE_MAX) {
        call->producers_needed = of_query + fr_floors_pending_count(floors);
        return OVSTAGE_ERROR_INTERNAL; /* asked again; nobody sees it */
    }
    submission->producer_count = of_query + count;
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_delete_admit(fr_submission *submission, void *user)
{
    fr_delete_call *call = user;
    return call->delete->attribute_count > 0 ? fr_delete_admit_named(call, submission)
                                             : fr_delete_admit_prims(call, submission);
}

/* A write with semantic NONE takes the role that its key has: from now on that must be looked up,
 * since the key may be gone. */
static void fr_delete_accepted(fr_submission *submission, uint64_t id, void *user)
{
    (void)submission;
    (void)id;
    fr_delete_call *call = user;
    const fr_delete_op *delete = call->delete;
    call->stage->deletes_accepted = true;
    (void)fr_add_relaxed(&call->stage->deletes_pending, 1);
    if (delete->attribute_count == 0)
        call->stage->prims_deleted = true;
    for (uint32_t k = 0; k < delete->attribute_count; k++) {
        delete->attributes[k]->keys_deleted = true;
        fr_floors_know(call->stage->floors, delete->attributes[k]);
    }
}

/* --- the call --------------------------------------------------------------------------------- */

static ovstage_api_status_t fr_delete_name(fr_delete_call *call, const ovx_string_or_token_t *name,
                                           fr_attribute **out)
{
    ovx_token_t token;
    ovstage_api_status_t status = fr_stage_attribute(call->stage, *name, true, out, &token);
    if (status != OVSTAGE_OK)
        return status;
    fr_reserved reserved = fr_access_reserved(call->stage->access, token);
    if (reserved != FR_RESERVED_NONE && reserved < FR_RESERVED_PRIM_TYPE)
        return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED, "%s cannot be deleted",
                            fr_reserved_name(reserved));
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_delete_names(fr_delete_call *call,
                                            const ovx_string_or_token_t *names, size_t count)
{
    fr_delete_op *delete = call->delete;
    if (count > UINT32_MAX / sizeof(fr_attribute *))
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY,
                            "%zu attribute names in one call are above the limit of %zu", count,
                            UINT32_MAX / sizeof(fr_attribute *));
    if (count == 0)
        return OVSTAGE_OK;
    delete->attributes = fr_access_block_get(call->stage, count * sizeof(*delete->attributes));
    if (!delete->attributes)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %zu attribute names",
                            count);
    delete->attribute_count = (uint32_t)count;
    for (size_t k = 0; k < count; k++) {
        ovstage_api_status_t status = fr_delete_name(call, &names[k], &delete->attributes[k]);
        if (status != OVSTAGE_OK)
            return status;
    }
    return OVSTAGE_OK;
}

static ovstage_enqueue_result_t fr_delete_submit(fr_delete_call *call, fr_op *op)
{
    fr_submission submission = {.op = op,
                                .has_ordinal = true,
                                .ordinal = call->ordinal,
                                .fails_with_producers = true, /* with the query's op */
                                .admit = fr_delete_admit,
                                .accepted = fr_delete_accepted,
                                .user = call};
    return fr_stage_submit_after(call->stage, &submission, 0, &call->producers_needed);
}

static ovstage_enqueue_result_t fr_delete_refuse_floor(const fr_delete_call *call)
{
    if (!call->refused)
        return fr_error_refuse(
            OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "ordinal %llu is not above the write floor %llu",
            (unsigned long long)call->ordinal, (unsigned long long)call->refused_floor);
    return fr_error_refuse(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                           "ordinal %llu is not above the write floor %llu of attribute '%s'",
                           (unsigned long long)call->ordinal,
                           (unsigned long long)call->refused_floor,
                           fr_write_name(call->stage, call->refused));
}

ovstage_enqueue_result_t fr_delete_attributes(fr_stage *stage, ovstage_query_handle_t query,
                                              const ovx_string_or_token_t *attributes, size_t count,
                                              ovstage_ordinal_t ordinal)
{
    ovstage_enqueue_result_t result = {fr_stage_enter(stage), OVSTAGE_INVALID_OP_ID};
    if (result.status != OVSTAGE_OK)
        return result;
    if (!attributes && count > 0)
        return fr_error_refuse(OVSTAGE_ERROR_INVALID_ARGUMENT, "attrs is NULL, its count %zu",
                               count);
    fr_op *op = fr_graph_op_get(stage->graph, &fr_delete_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_delete_call call = {.stage = stage, .delete = fr_op_payload(op), .ordinal = ordinal};
    *call.delete = (fr_delete_op){.stage = stage};
    call.delete->query = fr_stage_query_acquire(stage, query);
    result.status = call.delete->query ? fr_delete_names(&call, attributes, count)
                                       : OVSTAGE_ERROR_INVALID_HANDLE;
    if (result.status == OVSTAGE_OK)
        result = fr_delete_submit(&call, op);
    if (result.status == OVSTAGE_OK)
        return result;
    if (result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION)
        result = fr_delete_refuse_floor(&call);
    if (call.delete->query)
        fr_delete_let_go(call.delete);
    fr_graph_op_put(stage->graph, op);
    return result;
}
