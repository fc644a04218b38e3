/* Calls that write nothing, on a device: who waits for their event waits for what it would have
 * waited for, so that it may reuse the source. */
#include "runtime/api/placement.h"
#include "runtime/write/write_device.h"

typedef struct fr_empty_write {
    fr_opened *opened;
    uintptr_t stream;   /* the client's */
    fr_available *turn; /* a reference */
    fr_captured captured;
    bool told; /* the event was recorded, or could not be */
} fr_empty_write;

_Static_assert(sizeof(fr_empty_write) <= FR_OP_PAYLOAD_BYTES, "fits the record");

typedef struct fr_empty_submission {
    fr_write_call *call;
    fr_empty_write *write;
} fr_empty_submission;

/* --- the op ----------------------------------------------------------------------------------- */

/* In the client's stream, if it has named one. */
static bool fr_empty_write_record(const fr_empty_write *write, fr_device_fault *fault)
{
    fr_device_run run;
    const fr_fence *dep = write->captured.dep;
    bool begun = fr_device_run_begin_in(&run, write->opened, FR_STREAM_GATE, write->stream,
                                        write->turn->event, dep, fault);
    bool recorded =
        (!begun || fr_device_run_record(&run, fault)) &&
        fr_available_record(write->turn, write->opened, begun ? &run : NULL, dep, fault);
    if (begun)
        fr_device_run_end(&run);
    return recorded;
}

static void fr_empty_write_make_available(fr_op *op, fr_empty_write *write)
{
    fr_device_fault fault;
    if (write->told)
        return;
    write->told = true;
    if (!fr_empty_write_record(write, &fault))
        fr_op_fail_also(op, fr_placement_status(&fault),
                        "availability_event %#llx was not recorded: %s",
                        (unsigned long long)write->turn->event, fault.text);
}

static fr_run_result fr_empty_write_run(fr_op *op, const fr_run_context *context)
{
    (void)context;
    fr_empty_write_make_available(op, fr_op_payload(op));
    return FR_RUN_DONE;
}

static void fr_empty_write_let_go(fr_empty_write *write)
{
    fr_captured_release(&write->captured);
    fr_available_put(write->turn);
}

static void fr_empty_write_drop(fr_op *op)
{
    fr_empty_write *write = fr_op_payload(op);
    fr_empty_write_make_available(op, write);
    fr_empty_write_let_go(write);
}

static const fr_op_type fr_empty_write_type = {
    .name = "write",
    .run = fr_empty_write_run,
    .drop = fr_empty_write_drop,
};

/* --- the call --------------------------------------------------------------------------------- */

/* Whose streams an entry's cuda_sync names. The payload is not judged (R101): where it names no
 * device that is there, it is the placement's. */
static fr_opened *fr_empty_write_source(const fr_write_call *call, uint32_t e)
{
    const DLTensor *tensor = fr_payload_tensor(&call->writes[e].data, 0);
    fr_device_fault none;
    fr_opened *source = NULL;
#ifndef FR_MUTATE_DEVICE_NOTHING_LIES_ELSEWHERE
    if (tensor && tensor->device.device_type == kDLCUDA)
        source = fr_devices_open(call->device->devices, tensor->device.device_id, &none);
#else
    (void)tensor;
    (void)none;
#endif
    return source ? source : call->device;
}

static bool fr_empty_write_capture_from(const fr_write_call *call, uint32_t e,
                                        fr_captured *captured, fr_device_fault *fault)
{
    fr_opened *source = fr_empty_write_source(call, e);
    fr_device_entry entry;
    bool is_there = source == call->device;
    if (!is_there && !fr_opened_enter(source, &entry, fault))
        return false;
    bool done = fr_capture_more(source, call->ordinal, &call->writes[e].data.cuda_sync,
                                sizeof(*call->writes), 1, captured, fault);
    if (!is_there)
        fr_opened_leave(source, &entry);
    return done;
}

/* As of any other write: a stream that cannot be used is refused. */
static bool fr_empty_write_capture(const fr_write_call *call, fr_empty_write *write,
                                   fr_device_fault *fault)
{
    fr_opened *opened = call->device;
    fr_device_stream stream;
    bool captured = write->stream == 0 || opened->devices->table->stream_of_client(
                                              opened->device, write->stream, &stream, fault);
    for (uint32_t e = 0; e < call->count && captured; e++)
        captured = fr_empty_write_capture_from(call, e, &write->captured, fault);
    return captured;
}

static ovstage_api_status_t fr_empty_write_open(const fr_write_call *call, fr_empty_write *write)
{
    const ovstage_placement_t *placement = &call->placement;
    fr_device_fault fault;
    fr_device_entry entry;
    *write = (fr_empty_write){.opened = call->device, .stream = placement->stream};
    fr_devices_settle(call->device->devices);
    write->turn = fr_available_get(call->device->devices, placement->availability_event);
    if (!write->turn)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY,
                            "no memory for what is kept of an availability_event");
    bool captured = fr_opened_enter(call->device, &entry, &fault);
    if (captured) {
        captured = fr_empty_write_capture(call, write, &fault);
        fr_opened_leave(call->device, &entry);
    }
    return captured ? OVSTAGE_OK : fr_placement_refuse(&fault, "a write on a device");
}

static ovstage_api_status_t fr_empty_write_admit(fr_submission *submission, void *user)
{
    const fr_empty_submission *own = user;
    submission->behind_id = fr_available_last(own->write->turn);
    return fr_write_admit_floor(own->call, fr_write_named_attribute);
}

static void fr_empty_write_accepted(fr_submission *submission, uint64_t id, void *user)
{
    const fr_empty_submission *own = user;
    (void)submission;
    for (uint32_t e = 0; e < own->call->count; e++)
        fr_floors_know(own->call->stage->floors, own->call->attributes[e]);
    fr_available_accept(own->write->turn, id);
}

ovstage_enqueue_result_t fr_write_submit_empty_on_device(fr_write_call *call)
{
    fr_graph *graph = call->stage->graph;
    fr_op *op = fr_graph_op_get(graph, &fr_empty_write_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_empty_submission own = {call, fr_op_payload(op)};
    ovstage_enqueue_result_t result = fr_write_refused(fr_empty_write_open(call, own.write));
    fr_submission submission = {
        .op = op,
        .admit = fr_empty_write_admit,
        .accepted = fr_empty_write_accepted,
        .user = &own,
    };
    if (result.status == OVSTAGE_OK)
        result = fr_stage_submit(call->stage, &submission, 0);
    if (result.status != OVSTAGE_OK) {
        fr_empty_write_let_go(own.write);
        fr_graph_op_put(graph, op);
    }
    return result;
}
