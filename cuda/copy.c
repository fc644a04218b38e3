#include "cuda/copy.h"

#include <stdio.h>

#include "cuda/fault.h"
#include "cuda/process.h"
#include "cuda/stream.h"

/* Works with and without access of one device to the other's memory, and names both contexts, so
 * that the current one does not matter. */
static bool copy_between(fr_device_stream stream, fr_address to, fr_address from, size_t size_bytes,
                         fr_device_fault *fault)
{
    fr_device *device = stream.device;
    const fr_cuda_driver *driver = device->driver;
    fr_cu_stream handle = fr_cuda_stream_handle(stream);
    fr_device *other = fr_cuda_open_device(from.place);
    if (!other) {
        *fault = (fr_device_fault){.kind = FR_DEVICE_FAILED};
        snprintf(fault->text, sizeof fault->text,
                 "CUDA device %u: nobody has opened device %d, where a copy is from", device->index,
                 from.place);
        return false;
    }
    if (fr_cuda_other_is_dead(other, fault))
        return false;
    fr_cu_result result = driver->cuMemcpyPeerAsync(to.address, device->context, from.address,
                                                    other->context, size_bytes, handle);
    return fr_cuda_check_with(device, other, "cuMemcpyPeerAsync", result, fault);
}

bool fr_cuda_copy(fr_device_stream stream, fr_address to, fr_address from, size_t size_bytes,
                  fr_device_fault *fault)
{
    fr_device *device = stream.device;
    const fr_cuda_driver *driver = device->driver;
    fr_cu_stream handle = fr_cuda_stream_handle(stream);
    if (fr_cuda_is_dead(device, fault))
        return false;
    if (size_bytes == 0)
        return true;
    if (from.place == FR_PLACE_HOST)
        return fr_cuda_check(device, "cuMemcpyHtoDAsync",
                             driver->cuMemcpyHtoDAsync(to.address,
                                                       (const void *)(uintptr_t)from.address,
                                                       size_bytes, handle),
                             fault);
    if (to.place == FR_PLACE_HOST)
        return fr_cuda_check(device, "cuMemcpyDtoHAsync",
                             driver->cuMemcpyDtoHAsync((void *)(uintptr_t)to.address, from.address,
                                                       size_bytes, handle),
                             fault);
    if (to.place != from.place)
        return copy_between(stream, to, from, size_bytes, fault);
    return fr_cuda_check(device, "cuMemcpyDtoDAsync",
                         driver->cuMemcpyDtoDAsync(to.address, from.address, size_bytes, handle),
                         fault);
}

bool fr_cuda_fill(fr_device_stream stream, uint64_t to, uint8_t value, size_t size_bytes,
                  fr_device_fault *fault)
{
    fr_device *device = stream.device;
    if (fr_cuda_is_dead(device, fault))
        return false;
    if (size_bytes == 0)
        return true;
    return fr_cuda_check(
        device, "cuMemsetD8Async",
        device->driver->cuMemsetD8Async(to, value, size_bytes, fr_cuda_stream_handle(stream)),
        fault);
}
