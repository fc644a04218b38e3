/* Calls that write nothing, on a device. */
#include "runtime/write/nothing.h"
#include "runtime/write/write_call.h"
#include "runtime/write/write_device.h"

_Static_assert(sizeof(fr_nothing) <= FR_OP_PAYLOAD_BYTES, "fits the record");

typedef struct fr_empty_submission {
    fr_write_call *call;
    fr_nothing *nothing;
} fr_empty_submission;

/* --- the op ----------------------------------------------------------------------------------- */

static fr_run_result fr_empty_write_run(fr_op *op, const fr_run_context *context)
{
    (void)context;
    fr_nothing_make_available(op, fr_op_payload(op));
    return FR_RUN_DONE;
}

static void fr_empty_write_drop(fr_op *op)
{
    fr_nothing *nothing = fr_op_payload(op);
    fr_nothing_make_available(op, nothing);
    fr_nothing_let_go(nothing);
}

static const fr_op_type fr_empty_write_type = {
    .name = "write",
    .run = fr_empty_write_run,
    .drop = fr_empty_write_drop,
};

/* --- the call --------------------------------------------------------------------------------- */

/* Whose streams an entry's cuda_sync names; NULL: the payload names no device that is there, for
 * which nobody is refused (R101), and so it is not known. Rows of the host wait in the
 * placement's. */
static fr_opened *fr_empty_write_source(const fr_write_call *call, uint32_t e)
{
    const DLTensor *tensor = fr_payload_tensor(&call->writes[e].data, 0);
    fr_device_fault none;
    if (!tensor)
        return NULL;
#ifdef FR_MUTATE_DEVICE_NOTHING_LIES_ELSEWHERE
    (void)none;
    return call->device;
#endif
    switch ((int)tensor->device.device_type) {
    case kDLCUDA:
        return fr_devices_open(call->device->devices, tensor->device.device_id, &none);
    case kDLCPU:
    case kDLCUDAHost:
    case kDLCUDAManaged:
        return call->device;
    default:
        return NULL;
    }
}

static bool fr_empty_write_capture_from(const fr_write_call *call, uint32_t e,
                                        fr_captured *captured, fr_device_fault *fault)
{
    fr_opened *source = fr_empty_write_source(call, e);
    fr_device_entry entry;
    bool is_there = source == call->device;
    if (!source)
        return true;
    if (!is_there && !fr_opened_enter(source, &entry, fault))
        return false;
    bool done = fr_capture_more(source, call->ordinal, &call->writes[e].data.cuda_sync,
                                sizeof(*call->writes), 1, captured, fault);
    if (!is_there)
        fr_opened_leave(source, &entry);
    return done;
}

static bool fr_empty_write_capture(fr_nothing *nothing, const void *user, fr_device_fault *fault)
{
    const fr_write_call *call = user;
    bool captured = true;
    for (uint32_t e = 0; e < call->count && captured; e++)
        captured = fr_empty_write_capture_from(call, e, &nothing->captured, fault);
    return captured;
}

static ovstage_api_status_t fr_empty_write_admit(fr_submission *submission, void *user)
{
    const fr_empty_submission *own = user;
    submission->behind_id = fr_available_last(own->nothing->turn);
    return fr_write_admit_floor(own->call, fr_write_named_attribute);
}

static void fr_empty_write_accepted(fr_submission *submission, uint64_t id, void *user)
{
    const fr_empty_submission *own = user;
    (void)submission;
    for (uint32_t e = 0; e < own->call->count; e++)
        fr_floors_know(own->call->stage->floors, own->call->attributes[e]);
    fr_available_accept(own->nothing->turn, id);
}

/* It goes on where there is something to record, or to wait for. */
static ovstage_enqueue_result_t fr_empty_write_submit(fr_write_call *call, fr_op *op)
{
    fr_nothing *nothing = fr_op_payload(op);
    fr_empty_submission own = {call, nothing};
    const fr_device_told told = fr_write_tell_work(call, "a write of nothing");
    fr_submission submission = {
        .op = op,
        .admit = fr_empty_write_admit,
        .accepted = fr_empty_write_accepted,
        .user = &own,
    };
    if (!fr_nothing_report(nothing, call->stage->graph, &told, &submission.report))
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    ovstage_enqueue_result_t result = fr_stage_submit(call->stage, &submission, 0);
    if (result.status != OVSTAGE_OK && submission.report)
        fr_device_report_put(call->stage->graph, submission.report);
    return result;
}

ovstage_enqueue_result_t fr_write_submit_empty_on_device(fr_write_call *call)
{
    fr_graph *graph = call->stage->graph;
    const ovstage_placement_t *placement = &call->placement;
    fr_op *op = fr_graph_op_get(graph, &fr_empty_write_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_nothing *nothing = fr_op_payload(op);
    ovstage_enqueue_result_t result = fr_write_refused(
        fr_nothing_open(nothing, call->device, placement->stream, placement->availability_event,
                        fr_empty_write_capture, call));
    bool has_work = result.status == OVSTAGE_OK && fr_nothing_has_work(nothing);
    if (has_work)
        result = fr_empty_write_submit(call, op);
    else if (result.status == OVSTAGE_OK)
        result = fr_stage_submit_done(call->stage, fr_write_admit_empty, call);
    if (!has_work || result.status != OVSTAGE_OK) {
        fr_nothing_let_go(nothing);
        fr_graph_op_put(graph, op);
    }
    return result;
}
