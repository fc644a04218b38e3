#include "runtime/write/write_sync.h"

#include "runtime/api/placement.h"
#include "runtime/device/provider.h"

static bool fr_write_entry_syncs_host(const ovstage_write_data_t *data)
{
    const DLTensor *tensor = fr_payload_tensor(data, 0);
    return fr_sync_is_given(&data->cuda_sync) && tensor && tensor->device.device_type != kDLCUDA;
}

bool fr_write_syncs_host(const fr_write_call *call)
{
    bool any = false;
    for (uint32_t e = 0; e < call->count; e++)
        any = any || fr_write_entry_syncs_host(&call->writes[e].data);
    return any && fr_placement_is_there(); /* else the payload is refused */
}

/* --- the call --------------------------------------------------------------------------------- */

/* An event is waited for on any device; a stream is of one. */
static ovstage_api_status_t fr_write_sync_open(fr_stage *stage, fr_opened *preferred,
                                               const ovstage_cuda_sync_t *given, fr_opened **out)
{
    ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;
    fr_device_fault fault;
    int32_t place = FR_PLACE_HOST;
    *out = preferred;
    if (given->stream == 0 && preferred)
        return OVSTAGE_OK;
    if (!fr_device_provider->place_of_client(given->stream, &place, &fault))
        return fr_placement_refuse(&fault, "cuda_sync");
    if (place == FR_PLACE_HOST && preferred)
        return OVSTAGE_OK;
    placement.device = (DLDevice){kDLCUDA, place == FR_PLACE_HOST ? 0 : place};
    return fr_placement_check(stage, &placement, out);
}

ovstage_api_status_t fr_write_sync_capture(fr_write_sync *sync, fr_stage *stage,
                                           fr_opened *preferred, uint64_t ordinal,
                                           const ovstage_cuda_sync_t *given)
{
    fr_opened *opened;
    fr_device_entry entry;
    fr_device_fault fault;
    ovstage_api_status_t status = fr_write_sync_open(stage, preferred, given, &opened);
    if (status != OVSTAGE_OK)
        return status;
    fr_devices_settle(opened->devices);
    bool captured = fr_opened_enter(opened, &entry, &fault);
    if (captured) {
        captured =
            fr_capture_more(opened, ordinal, given, sizeof(*given), 1, &sync->captured, &fault);
        fr_opened_leave(opened, &entry);
    }
    return captured ? OVSTAGE_OK : fr_placement_refuse(&fault, "cuda_sync");
}

ovstage_api_status_t fr_write_sync_submit(fr_write_sync *sync, fr_stage *stage,
                                          const ovstage_cuda_sync_t *told,
                                          void (*let_go)(void *held), void *held)
{
    fr_fence *dep = sync->captured.dep;
    if (!dep) {
        if (let_go)
            let_go(held);
        return OVSTAGE_OK;
    }
    const fr_device_told work = {
        .what = "rows of the host", .place = dep->opened->place, .sync = *told};
    fr_op *wait = fr_device_wait_get(stage->graph, dep, &work, let_go, held);
    if (!wait) {
        if (let_go)
            let_go(held);
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    }
    fr_submission submission;
    fr_submission_begin(&submission, wait);
    submission.never_full = submission.hidden = true; /* the write is counted */
    ovstage_enqueue_result_t result = fr_stage_submit(stage, &submission, 0);
    if (result.status != OVSTAGE_OK) {
        fr_device_wait_put(stage->graph, wait);
        return result.status;
    }
    sync->wait_id = result.op_index;
    (void)fr_graph_release(stage->graph, sync->wait_id); /* nobody else knows it */
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_write_sync_call(const fr_write_call *call)
{
    fr_write_sync *sync = fr_write_sync_of(call->write);
    const ovstage_cuda_sync_t *told = NULL;
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t e = 0; e < call->count && status == OVSTAGE_OK; e++) {
        const ovstage_write_data_t *data = &call->writes[e].data;
        if (!fr_write_entry_syncs_host(data))
            continue;
        told = told ? told : &data->cuda_sync;
        status =
            fr_write_sync_capture(sync, call->stage, call->device, call->ordinal, &data->cuda_sync);
    }
    return status == OVSTAGE_OK ? fr_write_sync_submit(sync, call->stage, told, NULL, NULL)
                                : status;
}

/* --- the op ----------------------------------------------------------------------------------- */

bool fr_write_sync_judge(fr_op *op, const fr_write_op *write)
{
    const fr_write_sync *sync = fr_write_sync_of(write);
    const fr_fence *dep = sync ? sync->captured.dep : NULL;
    if (!dep || fr_fence_look(dep) != FR_FENCE_LOST)
        return true;
    fr_op_fail(op, OVSTAGE_ERROR_OP_FAILED, "CUDA device %d failed before the rows were there: %s",
               (int)dep->opened->place, fr_opened_death(dep->opened));
    return false;
}

void fr_write_sync_let_go(const fr_write_op *write)
{
    fr_write_sync *sync = fr_write_sync_of(write);
    if (sync)
        fr_captured_release(&sync->captured);
}
