#include "cuda/memory.h"

#include <inttypes.h>
#include <stdio.h>

#include "cuda/fault.h"
#include "cuda/stream.h"

static void tell_what_is_left(fr_device *device, size_t size_bytes, fr_device_fault *fault)
{
    size_t free_bytes = 0, total_bytes = 0;
    if (fault->kind != FR_DEVICE_MEMORY ||
        device->driver->cuMemGetInfo(&free_bytes, &total_bytes) != FR_CU_SUCCESS)
        return;
    snprintf(fault->text, sizeof fault->text,
             "CUDA device %u has no %zu bytes for the stage: %zu of %zu are free", device->index,
             size_bytes, free_bytes, total_bytes);
}

bool fr_cuda_allocate(fr_device_stream stream, size_t size_bytes, uint64_t *out,
                      fr_device_fault *fault)
{
    fr_device *device = stream.device;
    const fr_cuda_driver *driver = device->driver;
    fr_cu_device_ptr address = 0;
    if (fr_cuda_is_dead(device, fault))
        return false;
    fr_cu_result result = driver->cuMemAllocFromPoolAsync(&address, size_bytes, device->pool,
                                                          fr_cuda_stream_handle(stream));
    /* Pieces that are too small each may be enough for the system to make one of. */
    if (result == FR_CU_ERROR_OUT_OF_MEMORY &&
        driver->cuMemPoolTrimTo(device->pool, 0) == FR_CU_SUCCESS)
        result = driver->cuMemAllocFromPoolAsync(&address, size_bytes, device->pool,
                                                 fr_cuda_stream_handle(stream));
    if (!fr_cuda_check(device, "cuMemAllocFromPoolAsync", result, fault)) {
        tell_what_is_left(device, size_bytes, fault);
        return false;
    }
    *out = address;
    return true;
}

/* A call that frees and fails is not made again: the failure may be of earlier work, and the memory
 * freed. */
void fr_cuda_release(fr_device_stream stream, uint64_t address, size_t size_bytes)
{
    fr_device *device = stream.device;
    fr_device_fault fault;
    (void)size_bytes;
    if (!fr_cuda_is_dead(device, &fault))
        fr_cuda_note(device,
                     device->driver->cuMemFreeAsync(address, fr_cuda_stream_handle(stream)));
}

bool fr_cuda_pin(fr_device *device, size_t size_bytes, void **out, fr_device_fault *fault)
{
    if (fr_cuda_is_dead(device, fault))
        return false;
    void *memory = fr_cuda_pinned_take(&device->pinned, size_bytes);
    if (memory) {
        *out = memory;
        return true;
    }
    fr_device_fault refusal = {0};
    fr_cu_result result = device->driver->cuMemHostAlloc(
        &memory, size_bytes > FR_CUDA_PIECE_BYTES ? size_bytes : FR_CUDA_PIECE_BYTES,
        FR_CU_MEMHOSTALLOC_PORTABLE);
    if (!fr_cuda_check(device, "cuMemHostAlloc", result, &refusal))
        memory = refusal.kind == FR_DEVICE_MEMORY
                     ? fr_cuda_pinned_take_larger(&device->pinned, size_bytes)
                     : NULL;
    if (memory) {
        *out = memory;
        return true;
    }
    *fault = refusal;
    if (fault->kind == FR_DEVICE_MEMORY)
        snprintf(fault->text, sizeof fault->text,
                 "the system gives no %zu bytes of page-locked memory", size_bytes);
    return false;
}

/* Of a device that has ended it stays where it is: nobody asks for it any more. */
void fr_cuda_unpin(fr_device *device, void *memory, size_t size_bytes)
{
    fr_device_fault fault;
    if (fr_cuda_is_dead(device, &fault))
        return;
#ifdef FR_MUTATE_CUDA_UNPINS
    fr_cuda_note(device, device->driver->cuMemFreeHost(memory));
    return;
#endif
    fr_cuda_pinned_put(&device->pinned, memory, size_bytes);
}

uint64_t fr_cuda_kept_bytes(const fr_device *device)
{
    return fr_load_relaxed(&device->pinned.kept_bytes);
}

/* The plural form: the other one takes a pointer that the driver does not know for an error. Not
 * the context's attribute: memory of pools has none. */
bool fr_cuda_describe(fr_device *device, const void *pointer, fr_pointer *out,
                      fr_device_fault *fault)
{
    fr_cu_memory_type type = 0;
    unsigned int is_managed = 0;
    int number = 0;
    fr_cu_pointer_attribute attributes[] = {FR_CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                            FR_CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                            FR_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &is_managed, &number};
    if (fr_cuda_is_dead(device, fault))
        return false;
    fr_cu_result result =
        device->driver->cuPointerGetAttributes(3, attributes, values, (uintptr_t)pointer);
    if (!fr_cuda_check_client(device, "cuPointerGetAttributes", result, fault))
        return false;
    *out = (fr_pointer){.kind = FR_POINTER_HOST, .place = FR_PLACE_HOST};
    if (is_managed)
        *out = (fr_pointer){.kind = FR_POINTER_MANAGED, .place = number};
    else if (type == FR_CU_MEMORYTYPE_DEVICE)
        *out = (fr_pointer){.kind = FR_POINTER_DEVICE, .place = number};
    else if (type == FR_CU_MEMORYTYPE_HOST)
        out->kind = FR_POINTER_PINNED;
    return true;
}
