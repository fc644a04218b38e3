#include "runtime/device/capture.h"

bool fr_capture_check_stream(const fr_opened *opened, uintptr_t stream, fr_device_fault *fault)
{
    fr_device_stream found;
    return stream == 0 ||
           opened->devices->table->stream_of_client(opened->device, stream, &found, fault);
}

/* The stream's work until here. */
static bool fr_capture_stream(fr_opened *opened, fr_own_stream *gate, uintptr_t handle,
                              fr_device_fault *fault)
{
#ifdef FR_MUTATE_DEVICE_FORGETS_SOURCE_STREAM
    (void)opened, (void)gate, (void)handle, (void)fault;
    return true;
#else
    fr_device_stream stream;
#ifdef FR_MUTATE_DEVICE_LEGACY_WITHOUT_EVENT
    if (handle == 1)
        return true; /* our streams do not wait for it by themselves */
#endif
    if (!opened->devices->table->stream_of_client(opened->device, handle, &stream, fault))
        return false;
    fr_fence *fence = fr_fence_get(opened, fault);
    if (!fence)
        return false;
    bool captured = fr_fence_record(fence, stream, NULL, fault) &&
                    opened->devices->table->wait(gate->stream, fence->event, fault);
    fr_fence_release(fence);
    return captured;
#endif
}

static bool fr_capture_event(fr_opened *opened, fr_own_stream *gate, uintptr_t event,
                             fr_device_fault *fault)
{
#ifdef FR_MUTATE_DEVICE_FORGETS_EVENT
    (void)opened, (void)gate, (void)event, (void)fault;
    return true;
#else
    return opened->devices->table->wait_client(gate->stream, event, fault);
#endif
}

static const ovstage_cuda_sync_t *fr_sync_at(const ovstage_cuda_sync_t *first, size_t stride_bytes,
                                             size_t k)
{
    return (const ovstage_cuda_sync_t *)(const void *)((const unsigned char *)first +
                                                       k * stride_bytes);
}

static bool fr_capture_one(fr_opened *opened, fr_own_stream *gate, const ovstage_cuda_sync_t *sync,
                           fr_device_fault *fault)
{
    return (sync->wait_event == 0 || fr_capture_event(opened, gate, sync->wait_event, fault)) &&
           (sync->stream == 0 || fr_capture_stream(opened, gate, sync->stream, fault));
}

static bool fr_capture_end(fr_opened *opened, fr_own_stream *gate, fr_captured *out,
                           fr_device_fault *fault)
{
    out->dep = fr_fence_get(opened, fault);
    if (out->dep && fr_fence_record(out->dep, gate->stream, gate, fault))
        return true;
    fr_captured_release(out);
    return false;
}

static bool fr_capture_all(fr_opened *opened, const fr_fence *before, uint64_t lane,
                           const ovstage_cuda_sync_t *first, size_t stride_bytes, size_t count,
                           fr_captured *out, fr_device_fault *fault)
{
    bool any = before != NULL, captured = true, all_busy;
    out->dep = NULL;
    for (size_t k = 0; k < count; k++)
        any = any || fr_sync_is_given(fr_sync_at(first, stride_bytes, k));
    if (!any)
        return true;
    fr_own_stream *gate = fr_streams_take(opened, FR_STREAM_GATE, lane, &all_busy, fault);
    if (!gate)
        return false;
    captured = fr_wait_for(opened, gate->stream, gate, before, FR_WAIT_MORE_PRODUCERS, fault);
    for (size_t k = 0; k < count && captured; k++)
        captured = fr_capture_one(opened, gate, fr_sync_at(first, stride_bytes, k), fault);
    captured = captured && fr_capture_end(opened, gate, out, fault);
    /* After a wait that was refused the gate may be part of a client's graph. */
    if (captured)
        fr_streams_give(opened, gate);
    else
        fr_streams_discard(opened, gate);
    return captured;
}

bool fr_capture(fr_opened *opened, uint64_t lane, const ovstage_cuda_sync_t *first,
                size_t stride_bytes, size_t count, fr_captured *out, fr_device_fault *fault)
{
#ifdef FR_MUTATE_DEVICE_CAPTURES_LATE
    *out = (fr_captured){.late = *first};
    return true;
#endif
    bool captured = fr_capture_all(opened, NULL, lane, first, stride_bytes, count, out, fault);
    if (!captured)
        fr_opened_note(opened, fault);
    return captured;
}

bool fr_capture_more(fr_opened *opened, uint64_t lane, const ovstage_cuda_sync_t *first,
                     size_t stride_bytes, size_t count, fr_captured *captured,
                     fr_device_fault *fault)
{
    fr_captured more;
    bool any = false;
    for (size_t k = 0; k < count; k++)
        any = any || fr_sync_is_given(fr_sync_at(first, stride_bytes, k));
    if (!any)
        return true;
    if (!captured->dep)
        return fr_capture(opened, lane, first, stride_bytes, count, captured, fault);
    const fr_fence *before = captured->dep;
    if (!fr_capture_all(opened, before, lane, first, stride_bytes, count, &more, fault)) {
        fr_opened_note(opened, fault);
        return false;
    }
    fr_captured_release(captured);
    captured->dep = more.dep;
    return true;
}

#ifdef FR_MUTATE_DEVICE_CAPTURES_LATE
bool fr_capture_now(fr_opened *opened, uint64_t lane, fr_captured *captured, fr_device_fault *fault)
{
    const ovstage_cuda_sync_t sync = captured->late;
    return fr_capture_all(opened, NULL, lane, &sync, sizeof(sync), 1, captured, fault);
}
#endif

void fr_captured_release(fr_captured *captured)
{
    fr_fence_release(captured->dep);
    captured->dep = NULL;
}
