#include "cuda/fault.h"

#include <stdio.h>

#include "cuda/error.h"
#include "scheduler/atomic.h"
#include "scheduler/os.h"

/* Besides the sticky ones: the driver is shut down, as at the end of the process, or somebody reset
 * the device. Nothing that was made there can be used or freed. */
static bool is_the_end(fr_cu_result result)
{
    return fr_cuda_error_is_sticky(result) || result == FR_CU_ERROR_DEINITIALIZED ||
           result == FR_CU_ERROR_CONTEXT_IS_DESTROYED;
}

/* What a handle of a client that is stale, foreign or used by a graph's capture makes calls answer.
 */
static bool is_of_a_handle(fr_cu_result result)
{
    return result == FR_CU_ERROR_INVALID_HANDLE || result == FR_CU_ERROR_INVALID_CONTEXT ||
           result == FR_CU_ERROR_INVALID_VALUE ||
           (result >= FR_CU_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
            result <= FR_CU_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

static void describe(const fr_device *device, const char *call, fr_cu_result result,
                     fr_device_fault *fault)
{
    const char *name = fr_cuda_error_name(result);
    fault->code = (int32_t)result;
    snprintf(fault->text, sizeof fault->text, "CUDA device %u: %s answered %u%s%s", device->index,
             call, result, name ? " " : "", name ? name : "");
}

bool fr_cuda_check(fr_device *device, const char *call, fr_cu_result result, fr_device_fault *fault)
{
    if (result == FR_CU_SUCCESS)
        return true;
    describe(device, call, result, fault);
    fault->kind = FR_DEVICE_FAILED;
    if (is_the_end(result)) {
        fr_store_relaxed(&device->end, result);
        fault->kind = FR_DEVICE_DEAD;
    } else if (result == FR_CU_ERROR_OUT_OF_MEMORY) {
        fault->kind = FR_DEVICE_MEMORY;
    }
    return false;
}

/* Asks for something that any context can tell which has not failed. */
static bool has_ended(const fr_device *device)
{
    size_t free_bytes, total_bytes;
    return is_the_end(device->driver->cuMemGetInfo(&free_bytes, &total_bytes));
}

bool fr_cuda_check_with(fr_device *device, fr_device *other, const char *call, fr_cu_result result,
                        fr_device_fault *fault)
{
#ifdef FR_MUTATE_CUDA_BLAMES_ITSELF
    other = device;
#endif
    if (other == device || !is_the_end(result) || has_ended(device))
        return fr_cuda_check(device, call, result, fault);
    fr_cuda_check(other, call, result, fault);
    fault->kind = FR_DEVICE_FAILED;
    return false;
}

bool fr_cuda_check_client(fr_device *device, const char *call, fr_cu_result result,
                          fr_device_fault *fault)
{
    if (!is_of_a_handle(result) && !(is_the_end(result) && !has_ended(device)))
        return fr_cuda_check(device, call, result, fault);
    describe(device, call, result, fault);
    fault->kind = FR_DEVICE_REFUSED;
    return false;
}

bool fr_cuda_is_dead(fr_device *device, fr_device_fault *fault)
{
    fr_cu_result end = fr_load_relaxed(&device->end);
    fr_calls_device(); /* each call of the table comes here first */
#ifdef FR_MUTATE_CUDA_GOES_ON_AFTER_THE_END
    end = FR_CU_SUCCESS;
#endif
    if (end == FR_CU_SUCCESS)
        return false;
    describe(device, "an earlier call", end, fault);
    fault->kind = FR_DEVICE_DEAD;
    return true;
}

bool fr_cuda_other_is_dead(fr_device *other, fr_device_fault *fault)
{
    if (!fr_cuda_is_dead(other, fault))
        return false;
    fault->kind = FR_DEVICE_FAILED;
    return true;
}

void fr_cuda_note(fr_device *device, fr_cu_result result)
{
    if (is_the_end(result))
        fr_store_relaxed(&device->end, result);
}
