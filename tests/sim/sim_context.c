/* The driver itself, devices, contexts, and who may reach whose memory. */
#include "tests/sim/sim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/error.h"

void fr_sim_contexts_reset(void)
{
    while (fr_sim_state.events)
        fr_sim_events_drop(fr_sim_state.events->context);
    while (fr_sim_state.contexts) {
        fr_sim_context *context = fr_sim_state.contexts;
        fr_sim_state.contexts = context->next;
        fr_sim_clock_free(&context->buried);
        fr_sim_clock_free(&context->buried_blocking);
        free(context);
    }
}

/* --- The driver. --- */

static fr_cu_result init(unsigned int flags)
{
    fr_sim *sim = &fr_sim_state;
    if (flags != 0)
        return FR_CU_ERROR_INVALID_VALUE;
    if (sim->options.init_result != FR_CU_SUCCESS)
        return sim->options.init_result;
    if (sim->options.device_count == 0)
        return FR_CU_ERROR_NO_DEVICE;
    if (!sim->initialized && !fr_sim_devices_open())
        return FR_CU_ERROR_OUT_OF_MEMORY;
    sim->initialized = true;
    if (sim->options.background)
        fr_sim_run_start();
    return FR_CU_SUCCESS;
}

fr_cu_result cuInit(unsigned int flags)
{
    /* A program that knows nothing of the simulator opens it by this. */
    fr_sim_open_if_closed();
    FR_SIM_ENTRY(cuInit, FR_SIM_NEEDS_NOTHING, init(flags));
}

static fr_cu_result get_version(int *version)
{
    if (!version)
        return FR_CU_ERROR_INVALID_VALUE;
    *version = fr_sim_state.options.driver_version;
    return FR_CU_SUCCESS;
}

fr_cu_result cuDriverGetVersion(int *version)
{
    FR_SIM_ENTRY(cuDriverGetVersion, FR_SIM_NEEDS_NOTHING, get_version(version));
}

static fr_cu_result get_error_name(fr_cu_result error, const char **text)
{
    if (!text)
        return FR_CU_ERROR_INVALID_VALUE;
    *text = fr_cuda_error_name(error);
    return *text ? FR_CU_SUCCESS : FR_CU_ERROR_INVALID_VALUE;
}

fr_cu_result cuGetErrorName(fr_cu_result error, const char **text)
{
    FR_SIM_ENTRY(cuGetErrorName, FR_SIM_HOST_OK, get_error_name(error, text));
}

fr_cu_result cuGetErrorString(fr_cu_result error, const char **text)
{
    FR_SIM_ENTRY(cuGetErrorString, FR_SIM_HOST_OK, get_error_name(error, text));
}

/* --- Devices. --- */

static bool is_device(fr_cu_device device)
{
    return device >= 0 && (uint32_t)device < fr_sim_state.options.device_count;
}

static fr_cu_result get_count(int *count)
{
    if (!count)
        return FR_CU_ERROR_INVALID_VALUE;
    *count = (int)fr_sim_state.options.device_count;
    return FR_CU_SUCCESS;
}

fr_cu_result cuDeviceGetCount(int *count)
{
    FR_SIM_ENTRY(cuDeviceGetCount, FR_SIM_NEEDS_INIT, get_count(count));
}

static fr_cu_result get_device(fr_cu_device *device, int ordinal)
{
    if (!device)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!is_device(ordinal))
        return FR_CU_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return FR_CU_SUCCESS;
}

fr_cu_result cuDeviceGet(fr_cu_device *device, int ordinal)
{
    FR_SIM_ENTRY(cuDeviceGet, FR_SIM_NEEDS_INIT, get_device(device, ordinal));
}

static fr_cu_result get_name(char *name, int length, fr_cu_device device)
{
    if (!name || length < 1)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return FR_CU_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)length, "Simulated device %d", device);
    return FR_CU_SUCCESS;
}

fr_cu_result cuDeviceGetName(char *name, int length, fr_cu_device device)
{
    FR_SIM_ENTRY(cuDeviceGetName, FR_SIM_NEEDS_INIT, get_name(name, length, device));
}

static fr_cu_result get_uuid(fr_cu_uuid *uuid, fr_cu_device device)
{
    if (!uuid)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return FR_CU_ERROR_INVALID_DEVICE;
    memset(uuid, 0, sizeof *uuid);
    memcpy(uuid->bytes, "simulated", 9);
    uuid->bytes[15] = (char)device;
    return FR_CU_SUCCESS;
}

fr_cu_result cuDeviceGetUuid_v2(fr_cu_uuid *uuid, fr_cu_device device)
{
    FR_SIM_ENTRY(cuDeviceGetUuid, FR_SIM_NEEDS_INIT, get_uuid(uuid, device));
}

static fr_cu_result get_attribute(int *value, fr_cu_device_attribute attribute, fr_cu_device device)
{
    if (!value || attribute == 0)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return FR_CU_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case FR_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case FR_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 132;
        break;
    case FR_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        break;
    case FR_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case FR_CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case FR_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        *value = 1;
        break;
    default:
        *value = 0;
        break;
    }
    return FR_CU_SUCCESS;
}

fr_cu_result cuDeviceGetAttribute(int *value, fr_cu_device_attribute attribute, fr_cu_device device)
{
    FR_SIM_ENTRY(cuDeviceGetAttribute, FR_SIM_NEEDS_INIT, get_attribute(value, attribute, device));
}

static fr_cu_result total_memory(size_t *size_bytes, fr_cu_device device)
{
    if (!size_bytes)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return FR_CU_ERROR_INVALID_DEVICE;
    *size_bytes = fr_sim_state.options.memory_bytes;
    return FR_CU_SUCCESS;
}

fr_cu_result cuDeviceTotalMem_v2(size_t *size_bytes, fr_cu_device device)
{
    FR_SIM_ENTRY(cuDeviceTotalMem, FR_SIM_NEEDS_INIT, total_memory(size_bytes, device));
}

/* --- Primary contexts. --- */

static fr_cu_result retain(fr_cu_context *handle, fr_cu_device number)
{
    if (!handle)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!is_device(number))
        return FR_CU_ERROR_INVALID_DEVICE;
    fr_sim_device *device = &fr_sim_state.devices[number];
    if (!device->context) {
        fr_sim_context *context = fr_sim_allocate(sizeof *context);
        context->handle = fr_sim_handle_new(FR_SIM_CONTEXT, context);
        context->device = number;
        context->next = fr_sim_state.contexts;
        fr_sim_state.contexts = context;
        context->legacy = fr_sim_stream_new(context, FR_CU_STREAM_DEFAULT, 0);
        device->context = context;
    }
    device->references++;
    *handle = (fr_cu_context)device->context->handle;
    return FR_CU_SUCCESS;
}

fr_cu_result cuDevicePrimaryCtxRetain(fr_cu_context *context, fr_cu_device device)
{
    FR_SIM_ENTRY(cuDevicePrimaryCtxRetain, FR_SIM_NEEDS_INIT, retain(context, device));
}

/* The memory of a context goes with it, of the host too; that of pools belongs to the device. */
static void free_plain_memory(fr_sim_device *device)
{
    for (uint32_t i = 0; i < device->memory_count; i++) {
        fr_sim_memory *memory = device->memory[i];
        if (!memory->live || memory->kind != FR_SIM_MEMORY_PLAIN)
            continue;
        fr_sim_check_host(memory, FR_SIM_FREE);
        fr_sim_memory_release(memory);
    }
}

static void end_context(fr_sim_device *device)
{
    fr_sim_context *context = device->context;
    if (!context)
        return;
    fr_sim_run_all(context->device);
    fr_sim_streams_drop(context);
    fr_sim_events_drop(context);
    fr_sim_modules_drop(context);
    free_plain_memory(device);
    fr_sim_host_drop(context);
    fr_sim_handle_drop(context->handle);
    device->context = NULL;
}

void fr_sim_reset_device(fr_cu_device device)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    end_context(&fr_sim_state.devices[device]);
    pthread_mutex_unlock(&fr_sim_state.lock);
}

static fr_cu_result release(fr_cu_device number)
{
    if (!is_device(number))
        return FR_CU_ERROR_INVALID_DEVICE;
    fr_sim_device *device = &fr_sim_state.devices[number];
    if (device->references == 0)
        return FR_CU_ERROR_INVALID_CONTEXT;
    if (--device->references == 0)
        end_context(device);
    return FR_CU_SUCCESS;
}

fr_cu_result cuDevicePrimaryCtxRelease_v2(fr_cu_device device)
{
    FR_SIM_ENTRY(cuDevicePrimaryCtxRelease, FR_SIM_NEEDS_INIT, release(device));
}

static fr_cu_result get_state(fr_cu_device device, unsigned int *flags, int *active)
{
    if (!flags || !active)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return FR_CU_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = fr_sim_state.devices[device].context != NULL;
    return FR_CU_SUCCESS;
}

fr_cu_result cuDevicePrimaryCtxGetState(fr_cu_device device, unsigned int *flags, int *active)
{
    FR_SIM_ENTRY(cuDevicePrimaryCtxGetState, FR_SIM_NEEDS_INIT, get_state(device, flags, active));
}

/* --- The calling thread's stack of contexts. --- */

static fr_cu_result get_current(fr_cu_context *context)
{
    const fr_sim_thread *thread = fr_sim_this_thread();
    if (!context)
        return FR_CU_ERROR_INVALID_VALUE;
    *context = thread->context_count == 0
                   ? NULL
                   : (fr_cu_context)thread->contexts[thread->context_count - 1];
    return FR_CU_SUCCESS;
}

fr_cu_result cuCtxGetCurrent(fr_cu_context *context)
{
    FR_SIM_ENTRY(cuCtxGetCurrent, FR_SIM_NEEDS_INIT, get_current(context));
}

static fr_cu_result set_current(fr_cu_context context)
{
    fr_sim_thread *thread = fr_sim_this_thread();
    if (context && !fr_sim_handle_find(FR_SIM_CONTEXT, context))
        return FR_CU_ERROR_INVALID_CONTEXT;
    if (!context) { /* no current context: the top goes */
        if (thread->context_count > 0)
            thread->context_count--;
        return FR_CU_SUCCESS;
    }
    if (thread->context_count == 0)
        thread->context_count = 1;
    thread->contexts[thread->context_count - 1] = (uintptr_t)context;
    return FR_CU_SUCCESS;
}

fr_cu_result cuCtxSetCurrent(fr_cu_context context)
{
    FR_SIM_ENTRY(cuCtxSetCurrent, FR_SIM_NEEDS_INIT, set_current(context));
}

static fr_cu_result push(fr_cu_context context)
{
    fr_sim_thread *thread = fr_sim_this_thread();
    if (!fr_sim_handle_find(FR_SIM_CONTEXT, context) ||
        thread->context_count == FR_SIM_MAX_CONTEXTS)
        return FR_CU_ERROR_INVALID_CONTEXT;
    thread->contexts[thread->context_count++] = (uintptr_t)context;
    return FR_CU_SUCCESS;
}

fr_cu_result cuCtxPushCurrent_v2(fr_cu_context context)
{
    FR_SIM_ENTRY(cuCtxPushCurrent, FR_SIM_NEEDS_INIT, push(context));
}

static fr_cu_result pop(fr_cu_context *context)
{
    fr_sim_thread *thread = fr_sim_this_thread();
    if (thread->context_count == 0)
        return FR_CU_ERROR_INVALID_CONTEXT;
    thread->context_count--;
    if (context)
        *context = (fr_cu_context)thread->contexts[thread->context_count];
    return FR_CU_SUCCESS;
}

fr_cu_result cuCtxPopCurrent_v2(fr_cu_context *context)
{
    FR_SIM_ENTRY(cuCtxPopCurrent, FR_SIM_NEEDS_INIT, pop(context));
}

static fr_cu_result current_device(fr_cu_device *device)
{
    if (!device)
        return FR_CU_ERROR_INVALID_VALUE;
    *device = fr_sim_current()->device;
    return FR_CU_SUCCESS;
}

fr_cu_result cuCtxGetDevice(fr_cu_device *device)
{
    FR_SIM_ENTRY(cuCtxGetDevice, FR_SIM_NEEDS_CONTEXT, current_device(device));
}

static fr_cu_result synchronize(void)
{
    fr_sim_context *context = fr_sim_current();
    for (const fr_sim_stream *stream = context->streams; stream; stream = stream->next) {
        if (!stream->capture)
            continue;
        fr_sim_capture_invalidate(stream->capture);
        return FR_CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    fr_sim_run_all(context->device);
    fr_sim_pools_synchronized(context->device);
    return context->sticky;
}

fr_cu_result cuCtxSynchronize(void)
{
    FR_SIM_ENTRY(cuCtxSynchronize, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE, synchronize());
}

static fr_cu_result priority_range(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return FR_CU_SUCCESS;
}

fr_cu_result cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    FR_SIM_ENTRY(cuCtxGetStreamPriorityRange, FR_SIM_NEEDS_CONTEXT,
                 priority_range(least, greatest));
}

/* --- Peers. --- */

static fr_cu_result can_access(int *can, fr_cu_device device, fr_cu_device peer)
{
    if (!can)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!is_device(device) || !is_device(peer))
        return FR_CU_ERROR_INVALID_DEVICE;
    *can = device != peer && !fr_sim_state.options.no_peer_access;
    return FR_CU_SUCCESS;
}

fr_cu_result cuDeviceCanAccessPeer(int *can, fr_cu_device device, fr_cu_device peer)
{
    FR_SIM_ENTRY(cuDeviceCanAccessPeer, FR_SIM_NEEDS_INIT, can_access(can, device, peer));
}

static fr_cu_result enable_peer(fr_cu_context handle, unsigned int flags)
{
    fr_sim_context *context = fr_sim_current();
    if (flags != 0)
        return FR_CU_ERROR_INVALID_VALUE;
    const fr_sim_context *peer = fr_sim_handle_find(FR_SIM_CONTEXT, handle);
    if (!peer || peer == context)
        return FR_CU_ERROR_INVALID_CONTEXT;
    if (fr_sim_state.options.no_peer_access)
        return FR_CU_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (context->peers >> peer->device & 1)
        return FR_CU_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    context->peers |= 1u << peer->device;
    return FR_CU_SUCCESS;
}

fr_cu_result cuCtxEnablePeerAccess(fr_cu_context peer, unsigned int flags)
{
    FR_SIM_ENTRY(cuCtxEnablePeerAccess, FR_SIM_NEEDS_CONTEXT, enable_peer(peer, flags));
}
