#include "tests/sim/sim_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- What operations wrote to host memory of late: a source that one of them changed is no fault
 * of the program. --- */

enum { KEPT_WRITES = 256 };

typedef struct host_write {
    uint64_t address, size;
} host_write;

static host_write host_writes[KEPT_WRITES];
static uint64_t host_write_count;

void fr_sim_host_written(uint64_t address, uint64_t size)
{
    host_writes[host_write_count++ % KEPT_WRITES] = (host_write){address, size};
}

static bool was_written_since(uint64_t count, uint64_t address, uint64_t size)
{
    if (host_write_count - count > KEPT_WRITES)
        return true; /* it may be */
    for (uint64_t i = count; i < host_write_count; i++) {
        const host_write *w = &host_writes[i % KEPT_WRITES];
        if (address < w->address + w->size && w->address < address + size)
            return true;
    }
    return false;
}

static uint64_t extent(const fr_sim_copy *copy, uint64_t pitch)
{
    return (copy->height - 1) * pitch + copy->width;
}

static uint64_t checksum_of(const fr_sim_copy *copy)
{
    uint64_t sum = 1469598103934665603u;
    for (uint64_t row = 0; row < copy->height; row++) {
        const unsigned char *bytes =
            (const unsigned char *)(uintptr_t)copy->src + row * copy->src_pitch;
        uint64_t i = 0, word = 0;
        for (; i + 8 <= copy->width; i += 8) {
            memcpy(&word, bytes + i, 8);
            sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
            sum ^= sum >> 29;
        }
        for (; i < copy->width; i++)
            sum = (sum ^ bytes[i]) * 1099511628211u;
    }
    return sum;
}

/* --- When they run. --- */

void fr_sim_do_copy(fr_sim_operation *operation)
{
    const fr_sim_copy *copy = &operation->copy;
    fr_sim_launch reader = {.operation = operation}, writer = {.operation = operation};
    if (copy->check_source && checksum_of(copy) != copy->checksum &&
        !was_written_since(copy->writes, copy->src, extent(copy, copy->src_pitch))) {
        char stream[64];
        fr_sim_describe_stream(stream, sizeof stream, operation->stream);
        fr_sim_tell(FR_SIM_SOURCE_CHANGED,
                    "the host changed %llu bytes at %#llx before operation %llu of %s copied them",
                    (unsigned long long)extent(copy, copy->src_pitch),
                    (unsigned long long)copy->src, (unsigned long long)operation->number, stream);
    }
    for (uint64_t row = 0; row < copy->height; row++) {
        const char *src = copy->staged;
        if (src)
            src += row * copy->width;
        else
            src =
                fr_sim_touch(&reader, copy->src + row * copy->src_pitch, copy->width, FR_SIM_READ);
        char *dst =
            fr_sim_touch(&writer, copy->dst + row * copy->dst_pitch, copy->width, FR_SIM_WRITE);
        if (!src || !dst)
            return;
        memmove(dst, src, copy->width);
    }
}

void fr_sim_do_set(fr_sim_operation *operation)
{
    const fr_sim_copy *copy = &operation->copy;
    fr_sim_launch launch = {.operation = operation};
    for (uint64_t row = 0; row < copy->height; row++) {
        unsigned char *dst =
            fr_sim_touch(&launch, copy->dst + row * copy->dst_pitch, copy->width, FR_SIM_WRITE);
        if (!dst)
            return;
        if (copy->value_bytes == 1) {
            memset(dst, (int)copy->value, copy->width);
            continue;
        }
        for (uint64_t i = 0; i + copy->value_bytes <= copy->width; i += copy->value_bytes)
            memcpy(dst + i, &copy->value, copy->value_bytes); /* little-endian */
    }
}

/* --- The calls. --- */

typedef enum place { PLACE_BAD, PLACE_DEVICE, PLACE_PINNED, PLACE_PAGEABLE } place;

static place place_of(uint64_t address, uint64_t size)
{
    const fr_sim_memory *memory = fr_sim_memory_find(address);
    if (!memory)
        return fr_sim_device_of(address) >= 0 ? PLACE_BAD : PLACE_PAGEABLE;
    if (memory->kind == FR_SIM_MEMORY_PLAIN && !memory->live) {
        char text[160];
        fr_sim_describe_memory(text, sizeof text, memory);
        fr_sim_tell(FR_SIM_USE_AFTER_FREE, "%s: %s is freed", fr_sim_call_name(), text);
        return PLACE_BAD;
    }
    if (address - memory->base + size > memory->size)
        return PLACE_BAD;
    return memory->device >= 0 ? PLACE_DEVICE : PLACE_PINNED;
}

/* What of the copy's host memory the call itself settles; true: the call waits for the copy. */
static bool settle_host(fr_sim_copy *copy, place dst, place src)
{
    fr_sim_pageable how = fr_sim_state.options.pageable;
    if (dst != PLACE_DEVICE && src != PLACE_DEVICE)
        return true;
    if (how == FR_SIM_PAGEABLE_SEED)
        how = (fr_sim_pageable)(FR_SIM_PAGEABLE_STAGED + fr_sim_random_below(3));
    if (dst == PLACE_PAGEABLE)
        return how == FR_SIM_PAGEABLE_SYNCHRONOUS;
    if (src == PLACE_PAGEABLE && how == FR_SIM_PAGEABLE_SYNCHRONOUS)
        return true;
    if (src == PLACE_PAGEABLE && how == FR_SIM_PAGEABLE_STAGED) {
        copy->staged = fr_sim_allocate(copy->width * copy->height);
        for (uint64_t row = 0; row < copy->height; row++)
            memcpy((char *)copy->staged + row * copy->width,
                   (const char *)(uintptr_t)copy->src + row * copy->src_pitch, copy->width);
        return false;
    }
    if (src != PLACE_DEVICE) {
#ifndef FR_MUTATE_SIM_SOURCE_MAY_CHANGE
        copy->check_source = true;
#endif
        copy->checksum = checksum_of(copy);
        copy->writes = host_write_count;
    }
    return false;
}

static fr_cu_result copy_to(fr_sim_copy copy, fr_cu_stream handle)
{
    fr_sim_stream *stream = NULL;
    if (copy.width == 0 || copy.height == 0)
        return FR_CU_SUCCESS;
    if (copy.dst_pitch == copy.width && copy.src_pitch == copy.width) {
        copy.width *= copy.height;
        copy.height = 1;
    }
    place dst = place_of(copy.dst, extent(&copy, copy.dst_pitch));
    place src = place_of(copy.src, extent(&copy, copy.src_pitch));
    if (dst == PLACE_BAD || src == PLACE_BAD || copy.dst == 0 || copy.src == 0)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_result result = fr_sim_stream_for_work(handle, &stream);
    if (result != FR_CU_SUCCESS || !stream)
        return result;
    bool waits = settle_host(&copy, dst, src);
    fr_sim_operation *operation = fr_sim_push(stream, FR_SIM_DO_COPY);
    operation->copy = copy;
    if (!waits)
        return FR_CU_SUCCESS;
    fr_sim_context *context = stream->context;
    fr_sim_clock clock = {0};
    fr_sim_clock_copy(&clock, &operation->clock);
    fr_sim_run_until((fr_sim_point){stream, stream->submitted});
    fr_sim_host_joins(&clock);
    fr_sim_clock_free(&clock);
    return context->sticky;
}

static fr_cu_result copy_plain(uint64_t dst, uint64_t src, size_t size_bytes, fr_cu_stream stream)
{
    return copy_to((fr_sim_copy){.dst = dst,
                                 .src = src,
                                 .dst_pitch = size_bytes,
                                 .src_pitch = size_bytes,
                                 .width = size_bytes,
                                 .height = 1},
                   stream);
}

static bool is_known(uint64_t address)
{
    return fr_sim_memory_find(address) != NULL;
}

static fr_cu_result copy_known(uint64_t dst, uint64_t src, size_t size_bytes, fr_cu_stream stream,
                               bool dst_known, bool src_known)
{
    if (size_bytes > 0 && ((dst_known && !is_known(dst)) || (src_known && !is_known(src))))
        return FR_CU_ERROR_INVALID_VALUE;
    return copy_plain(dst, src, size_bytes, stream);
}

fr_cu_result cuMemcpyHtoDAsync_v2(fr_cu_device_ptr dst, const void *src, size_t size_bytes,
                                  fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemcpyHtoDAsync, FR_SIM_NEEDS_CONTEXT,
                 copy_known(dst, (uintptr_t)src, size_bytes, stream, true, false));
}

fr_cu_result cuMemcpyDtoHAsync_v2(void *dst, fr_cu_device_ptr src, size_t size_bytes,
                                  fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemcpyDtoHAsync, FR_SIM_NEEDS_CONTEXT,
                 copy_known((uintptr_t)dst, src, size_bytes, stream, false, true));
}

fr_cu_result cuMemcpyDtoDAsync_v2(fr_cu_device_ptr dst, fr_cu_device_ptr src, size_t size_bytes,
                                  fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemcpyDtoDAsync, FR_SIM_NEEDS_CONTEXT,
                 copy_known(dst, src, size_bytes, stream, true, true));
}

fr_cu_result cuMemcpyAsync(fr_cu_device_ptr dst, fr_cu_device_ptr src, size_t size_bytes,
                           fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemcpyAsync, FR_SIM_NEEDS_CONTEXT, copy_plain(dst, src, size_bytes, stream));
}

static bool is_of(uint64_t address, const fr_sim_context *context)
{
    return fr_sim_device_of(address) == context->device;
}

static fr_cu_result copy_peer(fr_cu_device_ptr dst, fr_cu_context dst_handle, fr_cu_device_ptr src,
                              fr_cu_context src_handle, size_t size_bytes, fr_cu_stream stream)
{
    const fr_sim_context *dst_context = fr_sim_handle_find(FR_SIM_CONTEXT, dst_handle);
    const fr_sim_context *src_context = fr_sim_handle_find(FR_SIM_CONTEXT, src_handle);
    if (!dst_context || !src_context)
        return FR_CU_ERROR_INVALID_CONTEXT;
    if (size_bytes > 0 && (!is_of(dst, dst_context) || !is_of(src, src_context))) {
        fr_sim_tell(FR_SIM_BAD_HANDLE,
                    "cuMemcpyPeerAsync: %#llx is not of device %d, or %#llx not of device %d",
                    (unsigned long long)dst, dst_context->device, (unsigned long long)src,
                    src_context->device);
        return FR_CU_ERROR_INVALID_VALUE;
    }
    return copy_plain(dst, src, size_bytes, stream);
}

fr_cu_result cuMemcpyPeerAsync(fr_cu_device_ptr dst, fr_cu_context dst_context,
                               fr_cu_device_ptr src, fr_cu_context src_context, size_t size_bytes,
                               fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemcpyPeerAsync, FR_SIM_NEEDS_CONTEXT,
                 copy_peer(dst, dst_context, src, src_context, size_bytes, stream));
}

static bool address_of(fr_cu_memory_type type, const void *host, fr_cu_device_ptr device,
                       uint64_t *address)
{
    switch (type) {
    case FR_CU_MEMORYTYPE_HOST:
        *address = (uintptr_t)host;
        return true;
    case FR_CU_MEMORYTYPE_DEVICE:
        *address = device;
        return is_known(device);
    case FR_CU_MEMORYTYPE_UNIFIED:
        *address = device;
        return true;
    default:
        return false;
    }
}

static fr_cu_result copy_2d(const fr_cu_copy_2d *c, fr_cu_stream stream)
{
    uint64_t dst = 0, src = 0;
    if (!c)
        return FR_CU_ERROR_INVALID_VALUE;
    if (c->dst_type == FR_CU_MEMORYTYPE_ARRAY || c->src_type == FR_CU_MEMORYTYPE_ARRAY)
        return FR_CU_ERROR_NOT_SUPPORTED;
    uint64_t dst_pitch = c->dst_pitch ? c->dst_pitch : c->width_bytes + c->dst_x_bytes;
    uint64_t src_pitch = c->src_pitch ? c->src_pitch : c->width_bytes + c->src_x_bytes;
    if (!address_of(c->dst_type, c->dst_host, c->dst_device, &dst) ||
        !address_of(c->src_type, c->src_host, c->src_device, &src) ||
        dst_pitch < c->width_bytes + c->dst_x_bytes || src_pitch < c->width_bytes + c->src_x_bytes)
        return FR_CU_ERROR_INVALID_VALUE;
    return copy_to((fr_sim_copy){.dst = dst + c->dst_y * dst_pitch + c->dst_x_bytes,
                                 .src = src + c->src_y * src_pitch + c->src_x_bytes,
                                 .dst_pitch = dst_pitch,
                                 .src_pitch = src_pitch,
                                 .width = c->width_bytes,
                                 .height = c->height},
                   stream);
}

fr_cu_result cuMemcpy2DAsync_v2(const fr_cu_copy_2d *copy, fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemcpy2DAsync, FR_SIM_NEEDS_CONTEXT, copy_2d(copy, stream));
}

static fr_cu_result set(fr_cu_device_ptr dst, uint32_t value, uint32_t value_bytes, size_t count,
                        fr_cu_stream handle)
{
    fr_sim_stream *stream = NULL;
    if (count == 0)
        return FR_CU_SUCCESS;
    place where = place_of(dst, (uint64_t)count * value_bytes);
    if (dst % value_bytes != 0 || (where != PLACE_DEVICE && where != PLACE_PINNED))
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_result result = fr_sim_stream_for_work(handle, &stream);
    if (result != FR_CU_SUCCESS || !stream)
        return result;
    fr_sim_operation *operation = fr_sim_push(stream, FR_SIM_DO_SET);
    operation->copy = (fr_sim_copy){.dst = dst,
                                    .dst_pitch = (uint64_t)count * value_bytes,
                                    .width = (uint64_t)count * value_bytes,
                                    .height = 1,
                                    .value = value,
                                    .value_bytes = value_bytes};
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemsetD8Async(fr_cu_device_ptr dst, unsigned char value, size_t count,
                             fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemsetD8Async, FR_SIM_NEEDS_CONTEXT, set(dst, value, 1, count, stream));
}

fr_cu_result cuMemsetD16Async(fr_cu_device_ptr dst, unsigned short value, size_t count,
                              fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemsetD16Async, FR_SIM_NEEDS_CONTEXT, set(dst, value, 2, count, stream));
}

fr_cu_result cuMemsetD32Async(fr_cu_device_ptr dst, unsigned int value, size_t count,
                              fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemsetD32Async, FR_SIM_NEEDS_CONTEXT, set(dst, value, 4, count, stream));
}
