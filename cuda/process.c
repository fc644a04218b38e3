#include "cuda/process.h"

#include <stdio.h>

#include "cuda/device.h"
#include "cuda/fault.h"
#include "cuda/loader.h"
#include "scheduler/os.h"

/* Under `lock`: everything but `is_loaded`, which is set once the rest of the first line is there.
 */
static struct {
    fr_mutex lock;
    _Atomic bool is_loaded; /* or was tried */
    fr_cuda_library library;
    uint32_t count;
    const fr_cuda_driver *given;
    fr_device devices[FR_CUDA_MAX_DEVICES];
} process;

static void load(void)
{
    fr_mutex_lock_long(&process.lock);
    if (!fr_load_relaxed(&process.is_loaded)) {
        bool works = process.given ? fr_cuda_library_adopt(&process.library, process.given)
                                   : fr_cuda_library_open(&process.library);
        uint32_t count = works ? (uint32_t)process.library.device_count : 0;
        process.count = count < FR_CUDA_MAX_DEVICES ? count : FR_CUDA_MAX_DEVICES;
        /* [cuda.loaded] pairs [cuda.is_loaded] : the count, and why there is none */
        fr_store_release(&process.is_loaded, true);
    }
    fr_mutex_unlock_long(&process.lock);
}

uint32_t fr_cuda_count(fr_device_fault *fault)
{
    /* [cuda.is_loaded] pairs [cuda.loaded] : sees what loading found */
    if (!fr_load_acquire(&process.is_loaded))
        load();
    if (process.count == 0) {
        *fault = (fr_device_fault){.kind = FR_DEVICE_ABSENT};
        snprintf(fault->text, sizeof fault->text, "there is no CUDA: %.140s", process.library.why);
    }
    return process.count;
}

bool fr_cuda_open(uint32_t index, fr_device **out, fr_device_fault *fault)
{
    uint32_t count = fr_cuda_count(fault);
    if (count == 0)
        return false;
    if (index >= count) {
        *fault = (fr_device_fault){.kind = FR_DEVICE_ABSENT};
        snprintf(fault->text, sizeof fault->text, "there is no CUDA device %u: the process has %u",
                 index, count);
        return false;
    }
    fr_device *device = &process.devices[index];
    fr_mutex_lock_long(&process.lock);
    bool is_open = !fr_cuda_is_dead(device, fault);
    if (is_open && device->references == 0)
        is_open = fr_cuda_device_start(device, &process.library.driver, index, fault);
    if (is_open)
        device->references++;
    fr_mutex_unlock_long(&process.lock);
    if (is_open)
        *out = device;
    return is_open;
}

bool fr_cuda_place_of_client(uintptr_t stream, int32_t *out, fr_device_fault *fault)
{
    *out = FR_PLACE_HOST;
    if (fr_cuda_count(fault) == 0)
        return false;
    const fr_cuda_driver *driver = &process.library.driver;
    fr_cu_stream handle = (fr_cu_stream)stream;
    bool is_name =
        stream == 0 || handle == FR_CU_STREAM_LEGACY || handle == FR_CU_STREAM_PER_THREAD;
    fr_cu_context context = NULL, popped = NULL;
    fr_cu_result result = driver->cuCtxGetCurrent(&context);
    if (result != FR_CU_SUCCESS || !context)
        return true; /* the driver answers no more to a thread without one */
    if (!is_name && driver->cuStreamGetCtx(handle, &context) != FR_CU_SUCCESS) {
        *fault = (fr_device_fault){.kind = FR_DEVICE_REFUSED};
        (void)snprintf(fault->text, sizeof fault->text, "the driver knows no stream %#llx",
                       (unsigned long long)stream);
        return false;
    }
    fr_cu_device number = 0;
    if (driver->cuCtxPushCurrent(context) != FR_CU_SUCCESS)
        return true;
    if (driver->cuCtxGetDevice(&number) == FR_CU_SUCCESS)
        *out = number;
    driver->cuCtxPopCurrent(&popped);
    return true;
}

void fr_cuda_close(fr_device *device)
{
    fr_mutex_lock_long(&process.lock);
    if (--device->references == 0)
#ifdef FR_MUTATE_CUDA_STOPS
        fr_cuda_device_stop(device);
#else
        fr_cuda_device_rest(device);
#endif
    else
        fr_cuda_device_trim(device);
    fr_mutex_unlock_long(&process.lock);
}

fr_device *fr_cuda_open_device(int32_t place)
{
    if (place < 0 || place >= FR_CUDA_MAX_DEVICES)
        return NULL;
    fr_device *device = &process.devices[place];
    return device->context ? device : NULL;
}

/* With the lock held. Whether any is open. */
static bool stop_what_rests(void)
{
    bool is_open = false;
    for (uint32_t i = 0; i < FR_CUDA_MAX_DEVICES; i++) {
        is_open = is_open || process.devices[i].references > 0;
        if (process.devices[i].references == 0)
            fr_cuda_device_stop(&process.devices[i]);
    }
    return is_open;
}

void fr_cuda_give_back(void)
{
    fr_mutex_lock_long(&process.lock);
    (void)stop_what_rests();
    fr_mutex_unlock_long(&process.lock);
}

bool fr_cuda_use_driver(const fr_cuda_driver *driver)
{
    fr_mutex_lock_long(&process.lock);
    bool is_open = stop_what_rests();
    if (!is_open) {
        for (uint32_t i = 0; i < FR_CUDA_MAX_DEVICES; i++)
            process.devices[i] = (fr_device){0};
        fr_cuda_library_close(&process.library);
        process.given = driver;
        fr_store_relaxed(&process.is_loaded, false);
    }
    fr_mutex_unlock_long(&process.lock);
    return !is_open;
}
