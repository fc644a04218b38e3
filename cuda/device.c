#include "cuda/device.h"

#include <stdio.h>

#include "cuda/fault.h"
#include "cuda/image.h"

enum { BLOCKS_PER_PROCESSOR = 8 }; /* of 256 threads: as many as a processor holds */

uint64_t fr_cuda_memory_bytes(const fr_device *device)
{
    return device->memory_bytes;
}

/* --- The way in and out. --- */

/* A failure may be that of earlier work: popped once more only if it is still there. */
static void pop(const fr_device *device)
{
    const fr_cuda_driver *driver = device->driver;
    fr_cu_context popped = NULL, current = NULL;
    if (driver->cuCtxPopCurrent(&popped) != FR_CU_SUCCESS &&
        driver->cuCtxGetCurrent(&current) == FR_CU_SUCCESS && current == device->context)
        driver->cuCtxPopCurrent(&popped);
}

bool fr_cuda_enter(fr_device *device, fr_device_entry *entry, fr_device_fault *fault)
{
    const fr_cuda_driver *driver = device->driver;
    fr_cu_context current = NULL;
    if (fr_cuda_is_dead(device, fault) ||
        !fr_cuda_check(device, "cuCtxGetCurrent", driver->cuCtxGetCurrent(&current), fault))
        return false;
    *entry = (fr_device_entry){.device = device, .pushed = current != device->context};
    if (entry->pushed && !fr_cuda_check(device, "cuCtxPushCurrent",
                                        driver->cuCtxPushCurrent(device->context), fault))
        return false;
        /* A client may capture a graph meanwhile, and in its strictest mode calls of other threads
         * would spoil that. */
#ifndef FR_MUTATE_CUDA_ENTER_STAYS_STRICT
    fr_cu_capture_mode mode = FR_CU_CAPTURE_MODE_RELAXED;
#else
    fr_cu_capture_mode mode = FR_CU_CAPTURE_MODE_GLOBAL;
#endif
    if (!fr_cuda_check(device, "cuThreadExchangeStreamCaptureMode",
                       driver->cuThreadExchangeStreamCaptureMode(&mode), fault)) {
        if (entry->pushed)
            pop(device);
        return false;
    }
    entry->capture_mode = mode;
    return true;
}

void fr_cuda_leave(fr_device_entry *entry)
{
    const fr_cuda_driver *driver = entry->device->driver;
    fr_cu_capture_mode mode = entry->capture_mode;
#ifndef FR_MUTATE_CUDA_LEAVE_KEEPS_MODE
    if (mode != FR_CU_CAPTURE_MODE_RELAXED)
        driver->cuThreadExchangeStreamCaptureMode(&mode);
#endif
#ifndef FR_MUTATE_CUDA_LEAVE_KEEPS_CONTEXT
    if (entry->pushed)
        pop(entry->device);
#endif
}

/* --- Start and stop. --- */

static bool look_at(fr_device *device, fr_device_fault *fault)
{
    const fr_cuda_driver *driver = device->driver;
    int has_pools = 0, is_unified = 0, processors = 0;
    size_t memory_bytes = 0;
    if (!fr_cuda_check(device, "cuDeviceTotalMem",
                       driver->cuDeviceTotalMem(&memory_bytes, device->number), fault))
        return false;
    struct {
        fr_cu_device_attribute attribute;
        int *value;
    } wanted[] = {{FR_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &has_pools},
                  {FR_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, &is_unified},
                  {FR_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &processors}};
    for (uint32_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        fr_cu_result result =
            driver->cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, device->number);
        if (!fr_cuda_check(device, "cuDeviceGetAttribute", result, fault))
            return false;
    }
    if (!has_pools || !is_unified) {
        *fault = (fr_device_fault){.kind = FR_DEVICE_FAILED};
        snprintf(fault->text, sizeof fault->text, "CUDA device %u has no %s", device->index,
                 has_pools ? "unified addresses" : "memory pools");
        return false;
    }
    device->memory_bytes = memory_bytes;
    device->most_blocks = BLOCKS_PER_PROCESSOR * (uint32_t)(processors > 0 ? processors : 1);
    return true;
}

/* Memory is given again where an order that we made allows it, and nowhere else: with the other two
 * kinds of reuse the driver makes streams wait for each other, or gives addresses by chance. What
 * is freed stays in the pool: with the default each synchronization would give it to the system. */
static bool make_pool(fr_device *device, fr_device_fault *fault)
{
    const fr_cuda_driver *driver = device->driver;
    fr_cu_pool_properties properties = {.allocation_type = FR_CU_MEM_ALLOCATION_TYPE_PINNED};
    properties.location = (fr_cu_memory_location){FR_CU_MEM_LOCATION_TYPE_DEVICE, device->number};
    if (!fr_cuda_check(device, "cuMemPoolCreate",
                       driver->cuMemPoolCreate(&device->pool, &properties), fault))
        return false;
    int yes = 1, no = 0;
    uint64_t all = UINT64_MAX;
    struct {
        fr_cu_pool_attribute attribute;
        void *value;
    } settings[] = {{FR_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &yes},
                    {FR_CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &no},
                    {FR_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &no},
                    {FR_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all}};
#ifdef FR_MUTATE_CUDA_POOL_AS_IT_COMES
    return true;
#endif
    for (uint32_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        fr_cu_result result =
            driver->cuMemPoolSetAttribute(device->pool, settings[i].attribute, settings[i].value);
        if (!fr_cuda_check(device, "cuMemPoolSetAttribute", result, fault)) {
            fr_cuda_note(device, driver->cuMemPoolDestroy(device->pool));
            device->pool = NULL;
            return false;
        }
    }
    return true;
}

/* An image that this driver or device cannot use leaves it to the next one. */
static bool is_unusable(fr_cu_result result)
{
    return result == FR_CU_ERROR_INVALID_IMAGE || result == FR_CU_ERROR_NO_BINARY_FOR_GPU ||
           result == FR_CU_ERROR_INVALID_PTX || result == FR_CU_ERROR_UNSUPPORTED_PTX_VERSION;
}

static bool load_module(fr_device *device, fr_device_fault *fault)
{
    fr_cu_result result = FR_CU_ERROR_INVALID_IMAGE;
    for (uint32_t i = 0; i < fr_cuda_image_count && is_unusable(result); i++)
        result = device->driver->cuModuleLoadDataEx(&device->module, fr_cuda_images[i].bytes, 0,
                                                    NULL, NULL);
    return fr_cuda_check(device, "cuModuleLoadDataEx", result, fault);
}

/* All of them at once: a driver that loads lazily may synchronize with the first use of each. */
static bool find_kernels(fr_device *device, fr_device_fault *fault)
{
    static const struct {
        const char *rows, *strided;
    } names[FR_KERNEL_WIDTH_COUNT] = {
#define FR_CUDA_NAMES(width) {"fr_rows_b" #width, "fr_strided_b" #width},
        FR_KERNEL_WIDTHS(FR_CUDA_NAMES)
#undef FR_CUDA_NAMES
    };
    const fr_cuda_driver *driver = device->driver;
    for (uint32_t i = 0; i < FR_KERNEL_WIDTH_COUNT; i++) {
        fr_cu_result result =
            driver->cuModuleGetFunction(&device->rows[i], device->module, names[i].rows);
        if (result == FR_CU_SUCCESS)
            result =
                driver->cuModuleGetFunction(&device->strided[i], device->module, names[i].strided);
        if (!fr_cuda_check(device, "cuModuleGetFunction", result, fault))
            return false;
    }
    return true;
}

static bool number_of_mark(fr_device *device, uint64_t *out, fr_device_fault *fault)
{
    unsigned long long number = 0; /* of memory that the driver does not know */
    fr_cu_pointer_attribute attribute = FR_CU_POINTER_ATTRIBUTE_BUFFER_ID;
    void *value = &number;
    fr_cu_result result =
        device->driver->cuPointerGetAttributes(1, &attribute, &value, (uintptr_t)device->mark);
    *out = number;
    return fr_cuda_check(device, "cuPointerGetAttributes", result, fault);
}

static bool make_mark(fr_device *device, fr_device_fault *fault)
{
    fr_cu_result result = device->driver->cuMemHostAlloc(&device->mark, FR_CUDA_PIECE_BYTES,
                                                         FR_CU_MEMHOSTALLOC_PORTABLE);
    return fr_cuda_check(device, "cuMemHostAlloc", result, fault) &&
           number_of_mark(device, &device->mark_number, fault);
}

/* What was in the context is gone with it. */
static void forget(fr_device *device)
{
    device->is_whole = false;
    device->pool = NULL;
    device->module = NULL;
    device->mark = NULL;
    device->pinned = (fr_cuda_pinned){0};
}

/* Of what a device that rested has kept, nothing is there if a client has reset it meanwhile. */
static bool look_for_mark(fr_device *device, fr_device_fault *fault)
{
    uint64_t number = 0;
    if (!device->is_whole)
        return true;
    if (!number_of_mark(device, &number, fault))
        return false;
#ifndef FR_MUTATE_CUDA_KEEPS_WHAT_IS_GONE
    if (number != device->mark_number)
        forget(device);
#endif
    return true;
}

static bool make_whole(fr_device *device, fr_device_fault *fault)
{
    if (!device->is_whole)
        device->is_whole =
            load_module(device, fault) && find_kernels(device, fault) && make_mark(device, fault);
    return device->is_whole;
}

bool fr_cuda_device_start(fr_device *device, const fr_cuda_driver *driver, uint32_t index,
                          fr_device_fault *fault)
{
    fr_cu_context context = NULL;
    device->driver = driver;
    device->index = index;
    if (!fr_cuda_check(device, "cuDeviceGet", driver->cuDeviceGet(&device->number, (int)index),
                       fault) ||
        !look_at(device, fault) ||
        !fr_cuda_check(device, "cuDevicePrimaryCtxRetain",
                       driver->cuDevicePrimaryCtxRetain(&context, device->number), fault))
        return false;
    if (device
            ->context) /* it rested, and has a reference from before: to one that was reset, too */
        driver->cuDevicePrimaryCtxRelease(device->number);
    device->context = context;
    fr_device_entry entry;
    bool entered = fr_cuda_enter(device, &entry, fault);
    bool started = entered && look_for_mark(device, fault) &&
                   (device->pool || make_pool(device, fault)) && make_whole(device, fault);
    if (entered)
        fr_cuda_leave(&entry);
    if (!started && device->is_whole)
        fr_cuda_device_rest(device);
    else if (!started)
        fr_cuda_device_stop(device);
    return started;
}

void fr_cuda_device_trim(fr_device *device)
{
    fr_device_fault fault;
    fr_device_entry entry;
    if (!device->pool || !fr_cuda_enter(device, &entry, &fault))
        return;
    fr_cuda_note(device, device->driver->cuMemPoolTrimTo(device->pool, 0));
    fr_cuda_leave(&entry);
}

/* Once more, since only one call may have failed. After the end of a device never. */
static bool enter_at_last(fr_device *device, fr_device_entry *entry)
{
    fr_device_fault fault;
    bool entered = false;
    for (int turn = 0; turn < 2 && !entered; turn++)
        entered = fr_cuda_enter(device, entry, &fault);
    return entered;
}

/* A pool of which something is in use, or still to be freed, is ended at once, and goes when that
 * does. */
void fr_cuda_device_rest(fr_device *device)
{
    fr_device_entry entry;
    if (!device->pool || !enter_at_last(device, &entry))
        return;
    fr_cuda_note(device, device->driver->cuMemPoolDestroy(device->pool));
    device->pool = NULL;
    fr_cuda_leave(&entry);
}

/* The last reference to a context takes along what is left in it: so a call that fails on the way
 * is no reason to stop. It need not be ours. After the end of a device its context stays: nothing
 * of it can be freed. */
void fr_cuda_device_stop(fr_device *device)
{
    fr_device_fault fault;
    fr_device_entry entry;
    const fr_cuda_driver *driver = device->driver;
    if (!device->context)
        return;
    if (enter_at_last(device, &entry)) {
        for (void *memory = fr_cuda_pinned_take_any(&device->pinned); memory;
             memory = fr_cuda_pinned_take_any(&device->pinned))
            fr_cuda_note(device, driver->cuMemFreeHost(memory));
        if (device->mark)
            fr_cuda_note(device, driver->cuMemFreeHost(device->mark));
        if (device->module)
            fr_cuda_note(device, driver->cuModuleUnload(device->module));
        if (device->pool)
            fr_cuda_note(device, driver->cuMemPoolDestroy(device->pool));
        fr_cuda_leave(&entry);
    }
    if (!fr_cuda_is_dead(device, &fault))
        driver->cuDevicePrimaryCtxRelease(device->number);
    forget(device);
    device->context = NULL;
}
