/* Transfers and fills. The calls of runtime/device/table.h. */
#ifndef FR_CUDA_COPY_H
#define FR_CUDA_COPY_H

#include "cuda/device.h"

bool fr_cuda_copy(fr_device_stream stream, fr_address to, fr_address from, size_t size_bytes,
                  fr_device_fault *fault);
bool fr_cuda_fill(fr_device_stream stream, uint64_t to, uint8_t value, size_t size_bytes,
                  fr_device_fault *fault);

#endif
