#include "runtime/write/write_device.h"

#include "runtime/api/placement.h"
#include "runtime/device/run.h"
#include "runtime/hierarchy/compute.h"
#include "runtime/store/store_state.h"
#include "runtime/write/access.h"
#include "runtime/write/managed.h"

#include <stdio.h>

/* A managed tensor that is let go of when the device has read it. */
struct fr_write_hold {
    fr_fence_call call; /* first */
    fr_write_hold *next;
    const fr_allocator *allocator;
    struct DLManagedTensorVersioned *managed;
};

/* --- the call --------------------------------------------------------------------------------- */

static bool fr_write_found_none(const fr_query *query)
{
#ifdef FR_MUTATE_DEVICE_WRITE_REFUSES_NONE
    return false;
#endif
    return fr_query_is_ready(query) && query->count == 0;
}

ovstage_api_status_t fr_write_device_open(fr_write_call *call)
{
    const ovstage_placement_t *placement = call->request->placement;
    ovstage_api_status_t status = fr_placement_check(call->stage, placement, &call->device);
    if (status != OVSTAGE_OK || !call->device)
        return status;
    if (call->pending && !fr_write_found_none(call->query))
        return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED,
                            "a write on a device over a query that is not ready: wait for the "
                            "query's operation first");
    /* No schema hangs on whether a filter has run: until then such a write is refused. */
    call->pending = call->asks_query = false;
    return OVSTAGE_OK;
}

bool fr_write_is_read_on_host(const fr_stage *stage, ovx_token_t token)
{
    const fr_hierarchy *hierarchy = stage->hierarchy;
    const fr_store_config *config = &stage->store->config;
    if (token == config->alias_from)
        token = config->alias_to;
    return fr_access_reserved(stage->access, token) != FR_RESERVED_NONE ||
           token == config->alias_to || token == hierarchy->reset || token == hierarchy->world;
}

ovstage_api_status_t fr_write_device_check_entry(const fr_write_call *call, uint32_t e,
                                                 ovx_token_t token)
{
    const ovstage_write_data_t *data = &call->writes[e].data;
    const char *what = NULL;
    bool from_host = fr_payload_tensor(data, 0)->device.device_type != kDLCUDA;
    if (from_host && fr_sync_is_given(&data->cuda_sync))
        what = "rows of the host with a cuda_sync";
    else if (fr_write_is_read_on_host(call->stage, token))
        what = "an attribute that the stage reads on the host";
    if (!what)
        return OVSTAGE_OK;
    return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED,
                        "entry %u, on device %d: %s: not supported by this library", e,
                        (int)call->device->place, what);
}

/* The pointer is what the tensor says. */
static bool fr_write_describe(const fr_write_call *call, const fr_write_entry *entry,
                              fr_device_fault *fault)
{
    fr_opened *opened = call->device;
    fr_pointer pointer;
    if (!opened->devices->table->describe(opened->device, entry->base, &pointer, fault))
        return false;
    if (pointer.kind == FR_POINTER_DEVICE && pointer.place == opened->place)
        return true;
    *fault = (fr_device_fault){.kind = FR_DEVICE_REFUSED};
    (void)snprintf(fault->text, sizeof(fault->text),
                   "the tensor's data %p is not on CUDA device %d", (const void *)entry->base,
                   (int)opened->place);
    return false;
}

/* For who asks what it waits for: of several entries, the first one's. */
static fr_device_told fr_write_tell_work(const fr_write_call *call)
{
    fr_device_told told = {.what = "a write",
                           .place = call->device->place,
                           .stream = call->request->placement->stream};
    for (uint32_t e = call->count; e > 0; e--)
        if (fr_sync_is_given(&call->writes[e - 1].data.cuda_sync))
            told.sync = call->writes[e - 1].data.cuda_sync;
    return told;
}

/* Entered. */
static bool fr_write_capture_syncs(fr_device_write *device, uint64_t ordinal,
                                   const ovstage_cuda_sync_t *first, size_t stride_bytes,
                                   size_t count, fr_device_fault *fault)
{
    fr_opened *opened = device->opened;
    fr_device_stream stream;
    /* A stream that cannot be used is refused here, not when the op runs. */
    if (device->stream != 0 &&
        !opened->devices->table->stream_of_client(opened->device, device->stream, &stream, fault))
        return false;
    return fr_capture(opened, ordinal, first, stride_bytes, count, &device->captured, fault);
}

static bool fr_write_capture_all(const fr_write_call *call, fr_device_fault *fault)
{
    fr_device_write *device = fr_write_device(call->write);
    device->work = fr_write_tell_work(call);
    for (uint32_t e = 0; e < call->count; e++)
        if (!call->write->entries[e].from_host &&
            !fr_write_describe(call, &call->write->entries[e], fault))
            return false;
    return fr_write_capture_syncs(device, call->ordinal, &call->writes->data.cuda_sync,
                                  sizeof(*call->writes), call->count, fault);
}

static ovstage_api_status_t fr_write_take_turn(fr_device_write *device)
{
    if (!device->available)
        return OVSTAGE_OK;
    device->turn = fr_available_get(device->opened->devices, device->available);
    return device->turn ? OVSTAGE_OK
                        : fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY,
                                       "no memory for what is kept of an availability_event");
}

/* What lets go of managed tensors, with memory while memory may be missing. */
static ovstage_api_status_t fr_write_make_holds(const fr_write_call *call)
{
    const fr_allocator *allocator = &call->stage->allocator;
    fr_device_write *device = fr_write_device(call->write);
    for (uint32_t e = 0; e < call->count; e++) {
        if (!call->writes[e].data.managed_tensors)
            continue;
        fr_write_hold *hold = fr_memory_allocate(allocator, sizeof(*hold), 16);
        if (!hold)
            return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %zu bytes of a write",
                                sizeof(*hold));
        hold->allocator = allocator;
        hold->next = device->holds;
        device->holds = hold;
    }
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_write_device_capture(fr_write_call *call)
{
    fr_device_fault fault;
    fr_device_entry entry;
    ovstage_api_status_t status = fr_write_make_holds(call);
    if (status == OVSTAGE_OK)
        status = fr_write_take_turn(fr_write_device(call->write));
    if (status != OVSTAGE_OK)
        return status;
    /* What is over needs no stream of its own any more. */
    fr_devices_settle(call->device->devices);
    bool captured = fr_opened_enter(call->device, &entry, &fault);
    if (captured) {
        captured = fr_write_capture_all(call, &fault);
        fr_opened_leave(call->device, &entry);
    }
    return captured ? OVSTAGE_OK : fr_placement_refuse(&fault, "a write on a device");
}

ovstage_api_status_t fr_write_device_capture_sync(fr_device_write *device, fr_graph *graph,
                                                  uint64_t ordinal, const ovstage_cuda_sync_t *sync)
{
    fr_device_fault fault;
    fr_device_entry entry;
    ovstage_api_status_t status = fr_write_take_turn(device);
    if (status == OVSTAGE_OK && !device->available) {
        device->report = fr_device_report_get(graph);
        if (!device->report)
            status =
                fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    }
    if (status != OVSTAGE_OK)
        return status;
    fr_devices_settle(device->opened->devices);
    bool captured = fr_opened_enter(device->opened, &entry, &fault);
    if (captured) {
        captured = fr_write_capture_syncs(device, ordinal, sync, sizeof(*sync), 1, &fault);
        fr_opened_leave(device->opened, &entry);
    }
    return captured ? OVSTAGE_OK : fr_placement_refuse(&fault, device->work.what);
}

void fr_write_device_let_go(const fr_write_op *write)
{
    fr_device_write *device = fr_write_device(write);
    if (!device)
        return;
    while (device->holds) {
        fr_write_hold *hold = device->holds;
        device->holds = hold->next;
        fr_memory_release(hold->allocator, hold, sizeof(*hold));
    }
    fr_captured_release(&device->captured);
    fr_fence_release(device->put);
    device->put = NULL;
    fr_available_put(device->turn);
    device->turn = NULL;
}

/* --- the op ----------------------------------------------------------------------------------- */

static void fr_write_hold_end(fr_fence_call *call)
{
    fr_write_hold *hold = (fr_write_hold *)(void *)call;
    const fr_allocator *allocator = hold->allocator;
    struct DLManagedTensorVersioned *managed = hold->managed;
    fr_memory_release(allocator, hold, sizeof(*hold));
    fr_managed_delete(managed, allocator);
}

/* Until the fence is over, the tensor is not the client's again. */
static void fr_write_hold_source(fr_device_write *device, fr_write_entry *entry, fr_fence *fence)
{
    if (entry->mapped || !entry->managed)
        return;
    fr_write_hold *hold = device->holds;
    device->holds = hold->next;
    hold->managed = entry->managed;
    hold->call = (fr_fence_call){.run = fr_write_hold_end, .calls_client = true};
    entry->managed = NULL;
#ifdef FR_MUTATE_DEVICE_HOLD_FORGETS_FENCE
    (void)fence;
#else
    if (fr_fence_when_over(fence, &hold->call))
        return;
#endif
    fr_write_hold_end(&hold->call);
}

static void fr_write_device_fail(fr_op *op, const fr_device_fault *fault)
{
    fr_op_fail(op, fr_placement_status(fault), "a write on a device: %s", fault->text);
}

/* Memory for what the entry writes. False: the op has failed, and nothing of the plan is left. */
static bool fr_write_reserve(fr_op *op, fr_write_op *write, const fr_write *what,
                             fr_write_plan *plan)
{
    fr_device_fault fault;
    fr_column_begin_refusals();
    ovstage_api_status_t status = fr_store_write_reserve(write->stage->store, what, plan);
    if (status == OVSTAGE_ERROR_OUT_OF_MEMORY && fr_column_end_refusals(&fault))
        fr_write_device_fail(op, &fault);
    else if (status != OVSTAGE_OK)
        fr_write_fail(op, status, write->stage, what->attribute, plan);
    return status == OVSTAGE_OK;
}

/* The rows into it; the host's are packed first, so that the client may change them when the op is
 * complete (L9). False: the op has failed, and the plan is to be cancelled. */
static bool fr_write_place(fr_op *op, const fr_write_op *write, fr_device_run *run,
                           fr_write_plan *plan)
{
    fr_device_fault fault;
    const fr_write_entry *entry = &write->entries[write->next_entry];
    if (fr_store_write_place(plan, entry->from_host, run, &fault) &&
        fr_device_run_record(run, &fault))
        return true;
    fr_write_device_fail(op, &fault);
    return false;
}

/* The client's event is recorded whatever became of the op: who waits for it waits for something,
 * and for all that was to read what the client may then change. run: NULL: it has failed without
 * one. */
static void fr_write_make_available(fr_op *op, fr_device_write *device, const fr_device_run *run)
{
    fr_device_fault fault;
    const fr_fence *after = device->put;
    if (!run && !after)
        after = device->captured.dep;
    device->told = true;
    if (!fr_available_record(device->turn, device->opened, run, after, &fault))
        fr_op_fail_also(op, fr_placement_status(&fault),
                        "availability_event %#llx was not recorded%s: %s",
                        (unsigned long long)device->available,
                        fr_op_failed(op) ? "" : ", though the values may be written", fault.text);
}

void fr_write_device_end(fr_op *op, const fr_write_op *write)
{
    fr_device_write *device = fr_write_device(write);
    if (device && device->available && !device->told)
        fr_write_make_available(op, device, NULL);
}

static bool fr_write_device_begin(const fr_device_write *device, uint64_t ordinal,
                                  fr_device_run *run, fr_device_fault *fault)
{
    const fr_fence *dep = device->captured.dep;
    fr_stream_kind kind = dep && !fr_fence_is_over(dep) ? FR_STREAM_STALLED : FR_STREAM_WORK;
    return fr_device_run_begin_in(run, device->opened, kind, device->stream, ordinal,
                                  device->dep_is_written ? NULL : dep, fault);
}

static void fr_write_device_one(fr_op *op, fr_write_op *write, fr_device_write *device)
{
    fr_write_entry *entry = &write->entries[write->next_entry];
    bool last = write->next_entry + 1 == write->entry_count;
    fr_row_source rows;
    fr_write_plan plan;
    fr_device_run run;
    fr_device_fault fault;
    fr_write_entry_unpack(entry, &rows);
    rows.adoptable = NULL;
    const fr_write what = {.attribute = entry->attribute,
                           .schema = entry->schema,
                           .query = write->query,
                           .ordinal = fr_op_ordinal(op),
                           .op_id = fr_op_id(op),
                           .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
                           .judge = entry->judge,
                           .any_role = entry->any_role,
                           .rows = &rows,
                           .device = device->opened};
    if (!fr_write_device_begin(device, what.ordinal, &run, &fault)) {
        fr_write_device_fail(op, &fault);
        return;
    }
    bool reserved = fr_write_reserve(op, write, &what, &plan);
    bool placed = reserved && fr_write_place(op, write, &run, &plan);
    if (device->available && (last || !placed))
        fr_write_make_available(op, device, &run);
    fr_fence *done = run.done;
    fr_fence_retain(done);
#ifdef FR_MUTATE_DEVICE_CANCELS_EARLY
    if (reserved && !placed)
        fr_store_write_cancel(write->stage->store, &plan);
    reserved = placed;
#endif
    fr_device_run_end(&run);
    /* What was put into the stream before something failed may still read the source. */
#ifdef FR_MUTATE_DEVICE_FAILED_LETS_GO
    if (placed)
#else
    if (reserved && run.recorded)
#endif
        fr_write_hold_source(device, entry, done);
    if (placed) {
        fr_store_write_enter(write->stage->store, &plan);
        fr_store_write_commit(write->stage->store, &plan);
        if (device->report)
            fr_device_report_tell(device->report, done, &device->work);
        fr_fence_retain(done);
        fr_fence_release(device->put);
        device->put = done;
        write->next_entry++;
    } else if (reserved) {
        /* Not before the end of the run, which enters its fence with the payload: without it the
         * memory would be free while the device writes it, or be gone. */
        fr_store_write_cancel(write->stage->store, &plan);
    }
    fr_fence_release(done);
}

fr_run_result fr_write_device_run(fr_op *op, fr_write_op *write, const fr_run_context *context)
{
    fr_device_write *device = fr_write_device(write);
    (void)context;
    fr_devices_settle(device->opened->devices);
#ifdef FR_MUTATE_DEVICE_CAPTURES_LATE
    fr_device_fault fault;
    fr_device_entry entered;
    (void)fr_opened_enter(device->opened, &entered, &fault);
    (void)fr_capture_now(device->opened, fr_op_ordinal(op), &device->captured, &fault);
    fr_opened_leave(device->opened, &entered);
#endif
    while (write->next_entry < write->entry_count && !fr_op_failed(op))
        fr_write_device_one(op, write, device);
    return FR_RUN_DONE;
}
