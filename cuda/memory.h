/* Memory of a device, in the order of streams, and page-locked memory of the host. The calls of
 * runtime/device/table.h. */
#ifndef FR_CUDA_MEMORY_H
#define FR_CUDA_MEMORY_H

#include "cuda/device.h"

bool fr_cuda_allocate(fr_device_stream stream, size_t size_bytes, uint64_t *out,
                      fr_device_fault *fault);
void fr_cuda_release(fr_device_stream stream, uint64_t address, size_t size_bytes);
bool fr_cuda_pin(fr_device *device, size_t size_bytes, void **out, fr_device_fault *fault);
void fr_cuda_unpin(fr_device *device, void *memory, size_t size_bytes);
uint64_t fr_cuda_kept_bytes(const fr_device *device);
bool fr_cuda_describe(fr_device *device, const void *pointer, fr_pointer *out,
                      fr_device_fault *fault);

#endif
