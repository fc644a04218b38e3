/* Streams and events of the driver, the library's own and those of clients. The calls of
 * runtime/device/table.h.
 *
 * Handles of clients: the driver is asked only what CUDA answers for any handle. One that was
 * destroyed is an error of the client that CUDA leaves undefined, and nothing here finds it. */
#ifndef FR_CUDA_STREAM_H
#define FR_CUDA_STREAM_H

#include "cuda/device.h"

static inline fr_cu_stream fr_cuda_stream_handle(fr_device_stream stream)
{
    return (fr_cu_stream)stream.handle;
}

bool fr_cuda_stream_make(fr_device *device, fr_device_stream *out, fr_device_fault *fault);
void fr_cuda_stream_end(fr_device_stream stream);
bool fr_cuda_stream_is_idle(fr_device_stream stream);
bool fr_cuda_stream_of_client(fr_device *device, uintptr_t handle, fr_device_stream *out,
                              fr_device_fault *fault);

bool fr_cuda_event_make(fr_device *device, fr_device_event *out, fr_device_fault *fault);
void fr_cuda_event_end(fr_device_event event);
bool fr_cuda_record(fr_device_stream stream, fr_device_event event, fr_device_fault *fault);
bool fr_cuda_wait(fr_device_stream stream, fr_device_event event, fr_device_fault *fault);
fr_device_event_state fr_cuda_look(fr_device_event event, fr_device_fault *fault);
bool fr_cuda_record_client(fr_device_stream stream, uintptr_t event, fr_device_fault *fault);
bool fr_cuda_wait_client(fr_device_stream stream, uintptr_t event, fr_device_fault *fault);
fr_device_event_state fr_cuda_look_client(fr_device *device, uintptr_t event,
                                          fr_device_fault *fault);

#endif
