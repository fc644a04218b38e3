#include "bench/device.h"

#include <string.h>

static bench_device here;

void device_check(fr_cu_result result, const char *what)
{
    const char *name = NULL;
    if (result == FR_CU_SUCCESS)
        return;
    (void)here.cu->cuGetErrorName(result, &name);
    bench_die("%s answers %u, %s", what, (unsigned)result, name ? name : "no name");
}

const bench_device *device_here(void)
{
    if (!here.cu) {
        if (!fr_cuda_library_open(&here.library))
            bench_die("there is no device: %s", here.library.why);
        here.cu = &here.library.driver;
        device_check(here.cu->cuDevicePrimaryCtxRetain(&here.context, 0),
                     "cuDevicePrimaryCtxRetain");
        device_check(here.cu->cuDeviceGetName(here.name, (int)sizeof(here.name), 0),
                     "cuDeviceGetName");
        here.is_simulated = strncmp(here.name, "Simulated", strlen("Simulated")) == 0;
    }
    device_check(here.cu->cuCtxSetCurrent(here.context), "cuCtxSetCurrent");
    return &here;
}

fr_cu_device_ptr device_memory(size_t size_bytes)
{
    fr_cu_device_ptr memory = 0;
    device_check(device_here()->cu->cuMemAlloc(&memory, size_bytes), "cuMemAlloc");
    return memory;
}

void *device_pinned(size_t size_bytes)
{
    void *memory = NULL;
    device_check(
        device_here()->cu->cuMemHostAlloc(&memory, size_bytes, FR_CU_MEMHOSTALLOC_PORTABLE),
        "cuMemHostAlloc");
    memset(memory, 1, size_bytes);
    return memory;
}

void device_free(fr_cu_device_ptr memory)
{
    device_check(device_here()->cu->cuMemFree(memory), "cuMemFree");
}

void device_free_pinned(void *memory)
{
    device_check(device_here()->cu->cuMemFreeHost(memory), "cuMemFreeHost");
}

fr_cu_stream device_stream(void)
{
    fr_cu_stream stream = NULL;
    device_check(
        device_here()->cu->cuStreamCreateWithPriority(&stream, FR_CU_STREAM_NON_BLOCKING, 0),
        "cuStreamCreateWithPriority");
    return stream;
}

fr_cu_event device_event(void)
{
    fr_cu_event event = NULL;
    device_check(device_here()->cu->cuEventCreate(&event, FR_CU_EVENT_DISABLE_TIMING),
                 "cuEventCreate");
    return event;
}

void device_finish(fr_cu_stream stream)
{
    device_check(device_here()->cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
}
