#include "cuda/stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "cuda/fault.h"

static fr_cu_event handle_of(fr_device_event event)
{
    return (fr_cu_event)event.handle;
}

static bool refuse(const fr_device *device, fr_device_fault *fault, uintptr_t handle,
                   const char *why)
{
    *fault = (fr_device_fault){.kind = FR_DEVICE_REFUSED};
    snprintf(fault->text, sizeof fault->text, "CUDA device %u: stream 0x%" PRIxPTR " %s",
             device->index, handle, why);
    return false;
}

/* --- Streams. --- */

bool fr_cuda_stream_make(fr_device *device, fr_device_stream *out, fr_device_fault *fault)
{
    fr_cu_stream made = NULL;
    if (fr_cuda_is_dead(device, fault))
        return false;
    fr_cu_result result =
        device->driver->cuStreamCreateWithPriority(&made, FR_CU_STREAM_NON_BLOCKING, 0);
    if (!fr_cuda_check(device, "cuStreamCreateWithPriority", result, fault))
        return false;
    *out = (fr_device_stream){device, (uintptr_t)made};
    return true;
}

void fr_cuda_stream_end(fr_device_stream stream)
{
    fr_device_fault fault;
    if (!fr_cuda_is_dead(stream.device, &fault))
        fr_cuda_note(stream.device,
                     stream.device->driver->cuStreamDestroy(fr_cuda_stream_handle(stream)));
}

bool fr_cuda_stream_is_idle(fr_device_stream stream)
{
    fr_device_fault fault;
    if (fr_cuda_is_dead(stream.device, &fault))
        return false;
    fr_cu_result result = stream.device->driver->cuStreamQuery(fr_cuda_stream_handle(stream));
    fr_cuda_note(stream.device, result);
    return result == FR_CU_SUCCESS;
}

/* Work in a stream that captures would not run, but become part of the client's graph. */
static bool check_no_capture(fr_device *device, fr_cu_stream stream, fr_device_fault *fault)
{
    fr_cu_capture_status status = FR_CU_CAPTURE_STATUS_NONE;
    fr_cu_result result = device->driver->cuStreamIsCapturing(stream, &status);
    if (!fr_cuda_check_client(device, "cuStreamIsCapturing", result, fault))
        return false;
    return status == FR_CU_CAPTURE_STATUS_NONE ||
           refuse(device, fault, (uintptr_t)stream, "captures a graph");
}

bool fr_cuda_stream_of_client(fr_device *device, uintptr_t handle, fr_device_stream *out,
                              fr_device_fault *fault)
{
    fr_cu_stream stream = (fr_cu_stream)handle;
    fr_cu_context context = device->context;
    if (fr_cuda_is_dead(device, fault))
        return false;
    if (handle == 0)
        return refuse(device, fault, handle, "is none");
    if (!check_no_capture(device, stream, fault))
        return false;
    /* Names of default streams mean those of the current context. */
    bool is_name = stream == FR_CU_STREAM_LEGACY || stream == FR_CU_STREAM_PER_THREAD;
    if (!is_name && !fr_cuda_check_client(device, "cuStreamGetCtx",
                                          device->driver->cuStreamGetCtx(stream, &context), fault))
        return false;
    if (context != device->context)
        return refuse(device, fault, handle, "is of another device, or not of its primary context");
    *out = (fr_device_stream){device, handle};
    return true;
}

/* --- Events. --- */

bool fr_cuda_event_make(fr_device *device, fr_device_event *out, fr_device_fault *fault)
{
    fr_cu_event made = NULL;
    if (fr_cuda_is_dead(device, fault))
        return false;
    fr_cu_result result = device->driver->cuEventCreate(&made, FR_CU_EVENT_DISABLE_TIMING);
    if (!fr_cuda_check(device, "cuEventCreate", result, fault))
        return false;
    *out = (fr_device_event){device, (uintptr_t)made};
    return true;
}

void fr_cuda_event_end(fr_device_event event)
{
    fr_device_fault fault;
    if (!fr_cuda_is_dead(event.device, &fault))
        fr_cuda_note(event.device, event.device->driver->cuEventDestroy(handle_of(event)));
}

bool fr_cuda_record(fr_device_stream stream, fr_device_event event, fr_device_fault *fault)
{
    fr_device *device = stream.device;
    return !fr_cuda_is_dead(device, fault) &&
           fr_cuda_check(
               device, "cuEventRecord",
               device->driver->cuEventRecord(handle_of(event), fr_cuda_stream_handle(stream)),
               fault);
}

bool fr_cuda_wait(fr_device_stream stream, fr_device_event event, fr_device_fault *fault)
{
    fr_device *device = stream.device;
    if (fr_cuda_is_dead(device, fault) || fr_cuda_other_is_dead(event.device, fault))
        return false;
    fr_cu_result result =
        device->driver->cuStreamWaitEvent(fr_cuda_stream_handle(stream), handle_of(event), 0);
    return fr_cuda_check_with(device, event.device, "cuStreamWaitEvent", result, fault);
}

fr_device_event_state fr_cuda_look(fr_device_event event, fr_device_fault *fault)
{
    fr_device *device = event.device;
    if (fr_cuda_is_dead(device, fault))
        return FR_EVENT_LOST;
    fr_cu_result result = device->driver->cuEventQuery(handle_of(event));
    if (result == FR_CU_SUCCESS)
        return FR_EVENT_DONE;
    fr_cuda_note(device, result);
#ifdef FR_MUTATE_CUDA_LOOK_GIVES_UP
    if (result != FR_CU_ERROR_NOT_READY)
        return FR_EVENT_LOST;
#endif
    /* An answer that is neither says nothing of the work, so that is not given up. */
    return fr_cuda_is_dead(device, fault) ? FR_EVENT_LOST : FR_EVENT_PENDING;
}

/* --- Events of clients. --- */

bool fr_cuda_record_client(fr_device_stream stream, uintptr_t event, fr_device_fault *fault)
{
    fr_device *device = stream.device;
    return !fr_cuda_is_dead(device, fault) &&
           fr_cuda_check_client(
               device, "cuEventRecord",
               device->driver->cuEventRecord((fr_cu_event)event, fr_cuda_stream_handle(stream)),
               fault);
}

/* Waiting for an event that was recorded in a capture makes the stream take part in it. */
bool fr_cuda_wait_client(fr_device_stream stream, uintptr_t event, fr_device_fault *fault)
{
    fr_device *device = stream.device;
    if (fr_cuda_is_dead(device, fault))
        return false;
    fr_cu_result result =
        device->driver->cuStreamWaitEvent(fr_cuda_stream_handle(stream), (fr_cu_event)event, 0);
    if (!fr_cuda_check_client(device, "cuStreamWaitEvent", result, fault))
        return false;
#ifdef FR_MUTATE_CUDA_WAIT_JOINS_CAPTURES
    return true;
#endif
    return check_no_capture(device, fr_cuda_stream_handle(stream), fault);
}

fr_device_event_state fr_cuda_look_client(fr_device *device, uintptr_t event,
                                          fr_device_fault *fault)
{
    if (fr_cuda_is_dead(device, fault))
        return FR_EVENT_LOST;
    fr_cu_result result = device->driver->cuEventQuery((fr_cu_event)event);
    if (result == FR_CU_SUCCESS)
        return FR_EVENT_DONE;
    if (result == FR_CU_ERROR_NOT_READY)
        return FR_EVENT_PENDING;
    fr_cuda_check_client(device, "cuEventQuery", result, fault);
    return FR_EVENT_LOST;
}
