/* Calls that write nothing as far as is known: what they name, and its floors, are looked at all
 * the same. */
#include "runtime/query/filter.h"
#include "runtime/write/access.h"
#include "runtime/write/write_call.h"

fr_attribute *fr_write_named_attribute(const fr_write_call *call, uint32_t entry)
{
    return call->attributes[entry];
}

ovstage_api_status_t fr_write_admit_empty(fr_submission *submission, void *user)
{
    fr_write_call *call = user;
    (void)submission;
    ovstage_api_status_t status = fr_write_admit_floor(call, fr_write_named_attribute);
    for (uint32_t e = 0; e < call->count && status == OVSTAGE_OK; e++)
        fr_floors_know(call->stage->floors, call->attributes[e]);
    return status;
}

static ovstage_api_status_t fr_write_admit_doomed(fr_submission *submission, void *user)
{
    fr_write_call *call = user;
    submission->producer_count = fr_query_producer(call->query, call->producers);
    submission->attribute_filter = 0;
    for (uint32_t e = 0; e < call->count; e++)
        submission->attribute_filter |= UINT64_C(1) << call->attributes[e]->index % 64;
    return fr_write_admit_floor(call, fr_write_named_attribute);
}

static void fr_write_accepted_doomed(fr_submission *submission, uint64_t id, void *user)
{
    fr_write_call *call = user;
    (void)submission;
    (void)id;
    for (uint32_t e = 0; e < call->count; e++)
        fr_floors_know(call->stage->floors, call->attributes[e]);
}

/* In place of the write, whose refusal set the last error; its managed tensors are of no use any
 * more. */
static ovstage_enqueue_result_t fr_write_submit_doomed(fr_write_call *call)
{
    fr_op *op = fr_write_doomed(call->stage, call->query, call->doom, fr_error_get());
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_submission submission = {
        .op = op,
        .has_ordinal = true,
        .ordinal = call->ordinal,
        .producer_ids = call->producers,
        .producer_capacity = 1,
        .fails_with_producers = true,
        .admit = fr_write_admit_doomed,
        .accepted = fr_write_accepted_doomed,
        .user = call,
    };
    ovstage_enqueue_result_t result = fr_stage_submit(call->stage, &submission, 0);
    if (result.status == OVSTAGE_OK)
        return result;
    fr_query_release(call->query);
    fr_graph_op_put(call->stage->graph, op);
    return result;
}

static ovstage_enqueue_result_t fr_write_name_all(fr_write_call *call, fr_attribute **attributes)
{
    call->attributes = attributes;
    for (uint32_t e = 0; e < call->count; e++) {
        ovx_token_t token = OVX_INVALID_TOKEN;
        ovstage_api_status_t status = fr_stage_attribute(call->stage, call->writes[e].attribute,
                                                         true, &attributes[e], &token);
        if (status == OVSTAGE_OK)
            status = fr_write_check_reserved(call->stage, token, &call->writes[e].data, NULL);
        if (status != OVSTAGE_OK)
            return fr_write_refused(status);
    }
    ovstage_api_status_t status = fr_write_check_distinct(call, fr_write_named_attribute);
    if (status != OVSTAGE_OK)
        return fr_write_refused(status);
    ovstage_enqueue_result_t result;
    if (call->doom != OVSTAGE_OK)
        result = fr_write_submit_doomed(call);
    else if (call->device)
        result = fr_write_submit_empty_on_device(call);
    else
        result = fr_stage_submit_done(call->stage, fr_write_admit_empty, call);
    if (result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION)
        result = fr_write_refuse_floor(call, attributes[call->refused_entry]);
    return result;
}

/* A query without prims: names and floors are looked at, payloads are not (R101). The same of one
 * that may have none, and whose payload is wrong. */
ovstage_enqueue_result_t fr_write_submit_empty(fr_write_call *call)
{
    size_t size_bytes = call->count * sizeof(fr_attribute *);
    fr_attribute **attributes = fr_access_block_get(call->stage, size_bytes);
    if (!attributes)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %u names", call->count);
    ovstage_enqueue_result_t result = fr_write_name_all(call, attributes);
    fr_access_block_put(call->stage, attributes, size_bytes);
    return result;
}
