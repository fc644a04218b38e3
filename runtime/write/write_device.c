#include "runtime/write/write_device.h"

#include "runtime/api/placement.h"
#include "runtime/device/run.h"
#include "runtime/write/access.h"
#include "runtime/write/managed.h"
#include "runtime/write/write_down.h"
#include "runtime/write/write_home.h"

#include <stdio.h>

/* A managed tensor that is let go of when the device has read it. */
struct fr_write_hold {
    fr_device_hold hold; /* first */
    fr_write_hold *next; /* of those that hold nothing yet */
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

/* Without a placement on a device: what lies on a device is written where its column lies, and as
 * long as that lies nowhere, there. */
static bool fr_write_find_device(fr_write_call *call)
{
    bool looks =
        call->asks_query ? !fr_write_found_none(call->query) : call->elements > 0; /* R101 */
    for (uint32_t e = 0; e < call->count && looks; e++) {
        const DLTensor *tensor = fr_payload_tensor(&call->writes[e].data, 0);
        if (!tensor || tensor->device.device_type != kDLCUDA)
            continue;
        call->placement.device = tensor->device;
        return fr_placement_is_there(); /* asked last: it loads the driver */
    }
    return false;
}

ovstage_api_status_t fr_write_device_open(fr_write_call *call)
{
    const ovstage_placement_t *given = call->request->placement;
    call->placement = given ? *given : (ovstage_placement_t)OVSTAGE_PLACEMENT_INIT;
    ovstage_api_status_t status = fr_placement_check(call->stage, &call->placement, &call->device);
    call->is_placed = call->device != NULL;
    if (status != OVSTAGE_OK || call->is_placed || !fr_write_find_device(call))
        return status;
    call->stays_on_host = given != NULL;
    return fr_placement_check(call->stage, &call->placement, &call->device);
}

void fr_write_device_doom(fr_write_call *call)
{
    call->writes_nothing = fr_write_found_none(call->query);
    if (call->writes_nothing)
        call->pending = call->asks_query = false;
}

ovstage_api_status_t fr_write_device_check_entry(const fr_write_call *call, uint32_t e)
{
    const ovstage_write_data_t *data = &call->writes[e].data;
    const DLDevice from = fr_payload_tensor(data, 0)->device;
    bool from_host = from.device_type != kDLCUDA;
    fr_device_fault fault;
    if (from_host && !call->is_placed)
        return OVSTAGE_OK; /* a write of the host like any other */
    if (!from_host && !fr_devices_open(call->device->devices, from.device_id, &fault))
        return fr_placement_refuse(&fault, "the tensor's device");
    return OVSTAGE_OK;
}

/* The pointer is what the tensor says. */
static bool fr_write_describe_tensor(fr_opened *opened, const unsigned char *base,
                                     fr_device_fault *fault)
{
    fr_pointer pointer;
    if (!opened->devices->table->describe(opened->device, base, &pointer, fault))
        return false;
    if (pointer.kind == FR_POINTER_DEVICE && pointer.place == opened->place)
        return true;
    *fault = (fr_device_fault){.kind = FR_DEVICE_REFUSED};
    (void)snprintf(fault->text, sizeof(fault->text),
                   "the tensor's data %p is not on CUDA device %d", (const void *)base,
                   (int)opened->place);
    return false;
}

/* Of an array without elements there is nothing to look at. */
static bool fr_write_describe(const fr_write_entry *entry, fr_opened *opened,
                              fr_device_fault *fault)
{
    if (!entry->schema.is_array)
        return fr_write_describe_tensor(opened, entry->base, fault);
    bool is_there = true;
    for (uint32_t t = 0; t < entry->array->tensor_count && is_there; t++)
        if (entry->array->tensors[t].count > 0)
            is_there = fr_write_describe_tensor(opened, entry->array->tensors[t].base, fault);
    return is_there;
}

fr_device_told fr_write_tell_work(const fr_write_call *call, const char *what)
{
    fr_device_told told = {
        .what = what, .place = call->device->place, .stream = call->placement.stream};
    for (uint32_t e = call->count; e > 0; e--)
        if (fr_sync_is_given(&call->writes[e - 1].data.cuda_sync))
            told.sync = call->writes[e - 1].data.cuda_sync;
    return told;
}

/* Of entries that follow each other and lie on one device: the streams that they name are that
 * one's, whichever the write is placed on. */
static bool fr_write_capture_from(const fr_write_call *call, uint32_t first, uint32_t count,
                                  fr_opened *source, fr_device_fault *fault)
{
    fr_device_entry entered;
    fr_device_write *device = fr_write_device(call->write);
    bool is_there = source == call->device;
    if (!is_there && !fr_opened_enter(source, &entered, fault))
        return false;
    bool captured = true;
    for (uint32_t e = first; e < first + count && captured; e++)
        captured = call->write->entries[e].from_host ||
                   fr_write_describe(&call->write->entries[e], source, fault);
    captured =
        captured && fr_capture_more(source, call->ordinal, &call->writes[first].data.cuda_sync,
                                    sizeof(*call->writes), count, &device->captured, fault);
    if (!is_there)
        fr_opened_leave(source, &entered);
    return captured;
}

static bool fr_write_capture_all(const fr_write_call *call, fr_device_fault *fault)
{
    fr_device_write *device = fr_write_device(call->write);
    const fr_write_entry *entries = call->write->entries;
    device->work = fr_write_tell_work(call, "a write");
    bool captured = fr_capture_check_stream(device->opened, device->stream, fault);
    for (uint32_t e = 0, end; e < call->count && captured; e = end) {
        fr_opened *source = call->device;
        if (!entries[e].from_host)
            source = fr_devices_open(call->device->devices, entries[e].source, fault);
        end = e + 1;
        while (end < call->count && entries[end].source == entries[e].source &&
               entries[end].from_host == entries[e].from_host &&
               entries[end].on_host == entries[e].on_host)
            end++;
        if (entries[e].on_host || entries[e].from_host)
            continue; /* the host itself waits for what it reads: write_sync.h */
        captured = source && fr_write_capture_from(call, e, end - e, source, fault);
    }
    return captured;
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
    size_t count = 0;
    for (uint32_t e = 0; e < call->count; e++)
        count += call->writes[e].data.managed_tensors ? call->writes[e].data.tensor_count : 0;
    for (; count > 0; count--) {
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
        captured =
            fr_capture_check_stream(device->opened, device->stream, &fault) &&
            fr_capture(device->opened, ordinal, sync, sizeof(*sync), 1, &device->captured, &fault);
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
    fr_stream_wait_let_go(&device->wait);
    fr_write_down_let_go(&device->down);
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
static void fr_write_hold_tensor(fr_device_write *device, struct DLManagedTensorVersioned **managed,
                                 fr_fence *fence)
{
    if (!*managed)
        return;
    fr_write_hold *hold = device->holds;
    device->holds = hold->next;
    hold->managed = *managed;
    hold->hold.call = (fr_fence_call){.run = fr_write_hold_end, .calls_client = true};
    *managed = NULL;
#ifdef FR_MUTATE_DEVICE_HOLD_FORGETS_FENCE
    (void)fence;
#else
#ifndef FR_MUTATE_DEVICE_REPORT_FORGETS_HOLDS
    if (device->report) {
        fr_device_report_hold(device->report, &hold->hold, fence);
        return;
    }
#endif
    if (fr_fence_when_over(fence, &hold->hold.call))
        return;
#endif
    fr_write_hold_end(&hold->hold.call);
}

/* What the host has was read in the op, which lets go of it (D10). */
void fr_write_device_hold(fr_device_write *device, fr_write_entry *entry, fr_fence *fence)
{
    bool was_read = entry->from_host;
#ifdef FR_MUTATE_DEVICE_HOLDS_HOST_ROWS
    was_read = false;
#endif
    if (entry->mapped || was_read)
        return;
    fr_write_hold_tensor(device, &entry->managed, fence);
    for (uint32_t t = 0; entry->schema.is_array && t < entry->array->tensor_count; t++)
        fr_write_hold_tensor(device, &entry->array->tensors[t].managed, fence);
}

static void fr_write_not_available(fr_op *op, const fr_device_write *device,
                                   const fr_device_fault *fault)
{
    fr_op_fail_also(op, fr_placement_status(fault),
                    "availability_event %#llx was not recorded%s: %s",
                    (unsigned long long)device->available,
                    fr_op_failed(op) ? "" : ", though the values may be written", fault->text);
}

/* The client's event is recorded whatever became of the op: who waits for it waits for something,
 * and for all that was to read what the client may then change. run: NULL: it has failed without
 * one. */
static void fr_write_make_available(fr_op *op, fr_device_write *device, fr_device_run *run)
{
    fr_device_fault fault;
#ifndef FR_MUTATE_DEVICE_EVENT_BESIDE_A_FAILED_RUN
    if (run && !run->recorded) /* what it has put into its stream may read the source */
        (void)fr_device_run_record(run, &fault);
#endif
    const fr_fence *after = device->put;
    if (!run && !after)
        after = device->captured.dep;
    device->told = true;
    if (!fr_available_record(device->turn, device->opened, run, after, &fault))
        fr_write_not_available(op, device, &fault);
}

void fr_write_device_end(fr_op *op, const fr_write_op *write)
{
    fr_device_write *device = fr_write_device(write);
    if (device && device->available && !device->told)
        fr_write_make_available(op, device, NULL);
    /* Nothing was written, and so nothing was put behind it; who waits may reuse the source. */
    bool awaits = device && !device->available && !device->put && device->captured.dep;
#ifdef FR_MUTATE_DEVICE_NONE_FORGETS_SYNC
    awaits = false;
#endif
    if (awaits && !fr_op_failed(op))
        fr_device_report_tell(device->report, device->captured.dep, &device->work);
}

/* What is asked of the placement's device, its stream and its event, comes behind what is done on
 * others. */
static bool fr_write_follow(fr_device_write *device, uint64_t ordinal,
                            const fr_fence *const done[2], fr_device_run *run,
                            fr_device_fault *fault)
{
    /* No gate of the lane: the next op's sources would wait for this one. */
    uint64_t lane = device->available ? device->available : fr_streams_lane_of_reads(ordinal);
    if (!fr_device_run_begin_in(run, device->opened, FR_STREAM_GATE, device->stream, lane, NULL,
                                fault))
        return false;
    bool waits =
        fr_wait_for(run->opened, run->stream, run->own, done[0], FR_WAIT_ENTRY, fault) &&
        fr_wait_for(run->opened, run->stream, run->own, done[1], FR_WAIT_ENTRY_SOURCE, fault) &&
        fr_wait_for(run->opened, run->stream, run->own, device->put, FR_WAIT_ENTRIES_BEFORE,
                    fault) &&
        fr_device_run_record(run, fault);
    if (!waits)
        fr_device_run_end(run);
    return waits;
}

static void fr_write_set_put(fr_device_write *device, fr_fence *put)
{
    fr_fence_retain(put);
    fr_fence_release(device->put);
    device->put = put;
}

/* The entry is in a stream of another device, or one before it is. done: behind what it has put
 * into streams, NULL where there is nothing. ends: nothing comes behind it. */
static void fr_write_end_behind(fr_op *op, fr_device_write *device, fr_fence *const done[2],
                                bool ends)
{
    fr_device_run run;
    fr_device_fault fault;
    const fr_fence *const both[2] = {done[0], done[1]};
    if (fr_write_follow(device, fr_op_ordinal(op), both, &run, &fault)) {
        fr_write_set_put(device, run.done);
        device->is_behind = true;
        if (device->available && ends)
            fr_write_make_available(op, device, &run);
        fr_device_run_end(&run);
        return;
    }
    if (done[0] || done[1]) /* the report comes behind that at least */
        fr_write_set_put(device, done[0] ? done[0] : done[1]);
    if (device->available) {
        device->told = true; /* it would say more than is true */
        fr_write_not_available(op, device, &fault);
    } else {
        fr_write_home_fail(op, &fault);
    }
}

static bool fr_write_is_behind(const fr_device_write *device, const fr_device_run *run)
{
    return device->is_behind || (device->available && run->opened != device->opened) ||
           (device->put && device->put->opened != run->opened);
}

/* --- one entry -------------------------------------------------------------------------------- */

/* Into the streams. False: the op has failed, or is parked; *reserved: the plan is to be cancelled.
 */
static bool fr_write_device_put(fr_op *op, fr_write_op *write, fr_device_write *device,
                                fr_write *what, fr_write_plan *plan, bool *reserved)
{
    fr_write_entry *entry = &write->entries[write->next_entry];
    bool last = write->next_entry + 1 == write->entry_count, begun;
    fr_device_run run;
    fr_device_fault fault;
    fr_write_source source = {.from_host = entry->from_host, .dep = device->captured.dep};
    if (entry->mapped)
        source.device = device->opened;
    else if (!entry->from_host) /* it is open, since the call */
        source.device = fr_devices_open(device->opened->devices, entry->source, &fault);
    what->device = device->is_placed ? device->opened : source.device;
#ifdef FR_MUTATE_DEVICE_PLAIN_LIES_ELSEWHERE
    what->device = device->opened;
#endif
    device->brings = entry->from_host;
    *reserved = fr_write_home_reserve(op, write->stage, device, what, &run, plan, &begun);
    entry->schema = what->schema; /* with the role that its keys keep */
    if (!begun)
        return false;
    bool placed = *reserved && fr_write_home_place(op, &source, &run, plan);
    bool ends = last || !placed, behind = fr_write_is_behind(device, &run);
    /* Its home's stream does not wait for what another device may be reading. */
    behind = behind || (!placed && source.read);
    if (device->available && ends && !behind)
        fr_write_make_available(op, device, &run);
    fr_fence *done = run.done;
    fr_fence_retain(done);
#ifdef FR_MUTATE_DEVICE_CANCELS_EARLY
    if (*reserved && !placed)
        fr_store_write_cancel(write->stage->store, plan);
    *reserved = placed;
#endif
    fr_device_run_end(&run);
    /* What was put into the stream before something failed may still read the source. */
#ifdef FR_MUTATE_DEVICE_FAILED_LETS_GO
    if (placed)
#else
    if (*reserved && run.recorded)
#endif
        fr_write_device_hold(device, entry, source.read ? source.read : done);
    if (behind)
        fr_write_end_behind(op, device,
                            (fr_fence *const[2]){run.recorded ? done : NULL, source.read}, ends);
    else if (run.recorded)
        fr_write_set_put(device, done);
    fr_fence_release(source.read);
    fr_fence_release(done);
    return placed;
}

void fr_write_device_last(fr_op *op, fr_device_write *device)
{
    if (device->available)
        fr_write_end_behind(op, device, (fr_fence *const[2]){NULL, NULL}, true);
}

/* Also of an entry that has failed: what it has put into streams may read the source. */
static void fr_write_report(const fr_device_write *device, const fr_opened *home)
{
    fr_device_told work = device->work;
    if (!device->report || !device->put)
        return;
    if (home != device->opened) {
        work.place = home->place;
        work.stream = 0;
    }
    fr_device_report_tell(device->report, device->put, &work);
}

void fr_write_device_failed(fr_device_write *device, fr_fence *done, const fr_opened *there)
{
    fr_write_set_put(device, done);
    fr_write_report(device, there);
}

static void fr_write_device_one(fr_op *op, fr_write_op *write, fr_device_write *device)
{
    const fr_write_entry *entry = &write->entries[write->next_entry];
    fr_row_source rows;
    fr_write_plan plan;
    bool reserved;
    fr_write_entry_unpack(entry, &rows);
    rows.adoptable = NULL;
    fr_write what = {.attribute = entry->attribute,
                     .schema = entry->schema,
                     .query = write->query,
                     .ordinal = fr_op_ordinal(op),
                     .op_id = fr_op_id(op),
                     .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
                     .judge = entry->judge,
                     .any_role = entry->any_role,
                     .rows = &rows,
                     .array = entry->schema.is_array ? entry->array : NULL};
    if (fr_write_device_put(op, write, device, &what, &plan, &reserved)) {
        fr_store_write_enter(write->stage->store, &plan);
        for (uint32_t chunk = 0; chunk < plan.chunk_count; chunk++)
            fr_store_write_chunk(&plan, chunk); /* rows of an array */
        fr_store_write_commit(write->stage->store, &plan);
        fr_write_report(device, what.device);
        write->next_entry++;
    } else if (reserved) {
        /* Not before the end of the run, which enters its fence with the payload: without it the
         * memory would be free while the device writes it, or be gone. */
        fr_store_write_cancel(write->stage->store, &plan);
    }
#ifndef FR_MUTATE_DEVICE_FAILED_REPORTS_EARLY
    if (fr_op_failed(op))
        fr_write_report(device, what.device);
#endif
}

fr_run_result fr_write_device_run(fr_op *op, fr_write_op *write, const fr_run_context *context)
{
    fr_device_write *device = fr_write_device(write);
    (void)context;
    device->may_park = true;
    device->is_parked = false;
    fr_devices_settle(device->opened->devices);
#ifdef FR_MUTATE_DEVICE_CAPTURES_LATE
    fr_device_fault fault;
    fr_device_entry entered;
    (void)fr_opened_enter(device->opened, &entered, &fault);
    (void)fr_capture_now(device->opened, fr_op_ordinal(op), &device->captured, &fault);
    fr_opened_leave(device->opened, &entered);
#endif
    while (write->next_entry < write->entry_count && !fr_op_failed(op) && !device->is_parked)
        if (write->entries[write->next_entry].on_host)
            fr_write_one(op, write);
        else if (fr_write_goes_down(write, device))
            fr_write_down_one(op, write, device);
        else
            fr_write_device_one(op, write, device);
    return device->is_parked ? FR_RUN_PARKED : FR_RUN_DONE;
}
