#include "cuda/launch.h"

#include "cuda/fault.h"
#include "cuda/plan.h"
#include "cuda/stream.h"

enum { THREADS = 256 };

/* `parts`: how many there are, more than 0. Each thread takes those that lie one grid apart. */
static bool launch(fr_device_stream stream, fr_cu_function kernel, uint64_t parts, void *parameter,
                   fr_device_fault *fault)
{
    fr_device *device = stream.device;
    uint64_t blocks = (parts - 1) / THREADS + 1;
    uint32_t grid = blocks < device->most_blocks ? (uint32_t)blocks : device->most_blocks;
    void *parameters[] = {parameter};
    fr_cu_result result = device->driver->cuLaunchKernel(
        kernel, grid, 1, 1, THREADS, 1, 1, 0, fr_cuda_stream_handle(stream), parameters, NULL);
    return fr_cuda_check(device, "cuLaunchKernel", result, fault);
}

bool fr_cuda_move_rows(fr_device_stream stream, const fr_row_move *move, fr_device_fault *fault)
{
    fr_device *device = stream.device;
    if (fr_cuda_is_dead(device, fault))
        return false;
    if (move->count == 0 || move->row_bytes == 0)
        return true;
    fr_kernel_rows rows;
    uint32_t width_log2 = fr_cuda_plan_rows(move, &rows);
    return launch(stream, device->rows[width_log2], (uint64_t)rows.count * rows.parts, &rows,
                  fault);
}

bool fr_cuda_copy_strided(fr_device_stream stream, const fr_strided_copy *copy,
                          fr_device_fault *fault)
{
    fr_device *device = stream.device;
    if (fr_cuda_is_dead(device, fault))
        return false;
    fr_kernel_strided strided;
    uint32_t width_log2 = fr_cuda_plan_strided(copy, &strided);
    return strided.total == 0 ||
           launch(stream, device->strided[width_log2], strided.total, &strided, fault);
}
