/* Moves of rows and strided copies, by kernels. The calls of runtime/device/table.h. */
#ifndef FR_CUDA_LAUNCH_H
#define FR_CUDA_LAUNCH_H

#include "cuda/device.h"

bool fr_cuda_move_rows(fr_device_stream stream, const fr_row_move *move, fr_device_fault *fault);
bool fr_cuda_copy_strided(fr_device_stream stream, const fr_strided_copy *copy,
                          fr_device_fault *fault);

#endif
