#include "tests/sim/sim_internal.h"

#include <stdlib.h>

/* --- Operations. --- */

void fr_sim_wait_for(fr_sim_operation *operation, fr_sim_point point, const fr_sim_clock *clock)
{
    fr_sim_clock_join(&operation->clock, clock);
    fr_sim_clock_join(&operation->stream->clock, clock); /* and all that follow it */
    if (point.stream->done >= point.number || point.stream == operation->stream)
        return;
    if (operation->wait_count == operation->wait_capacity) {
        operation->wait_capacity = operation->wait_capacity ? operation->wait_capacity * 2 : 4;
        operation->waits =
            realloc(operation->waits, operation->wait_capacity * sizeof *operation->waits);
        if (!operation->waits)
            abort();
    }
    operation->waits[operation->wait_count++] = point;
}

/* The legacy stream waits for all that blocking streams of its context have, and they for it. */
static void join_legacy(fr_sim_stream *stream, fr_sim_operation *operation)
{
    fr_sim_stream *legacy = stream->context->legacy;
#ifndef FR_MUTATE_SIM_ALL_STREAMS_BLOCK
    if (stream->flags & FR_CU_STREAM_NON_BLOCKING)
        return;
#endif
    if (stream != legacy) {
#ifdef FR_MUTATE_SIM_LEGACY_IS_NOT_WAITED_FOR
        if (false) {
#else
        if (legacy->submitted > stream->legacy_joined) {
#endif
            stream->legacy_joined = legacy->submitted;
            fr_sim_wait_for(operation, (fr_sim_point){legacy, legacy->submitted}, &legacy->clock);
        }
        return;
    }
    fr_sim_clock_join(&operation->clock, &stream->context->buried_blocking);
    fr_sim_clock_join(&stream->clock, &stream->context->buried_blocking);
    for (fr_sim_stream *other = stream->context->streams; other; other = other->next) {
        if (other == legacy || (other->flags & FR_CU_STREAM_NON_BLOCKING) ||
            other->submitted <= other->joined_by_legacy)
            continue;
        other->joined_by_legacy = other->submitted;
        fr_sim_wait_for(operation, (fr_sim_point){other, other->submitted}, &other->clock);
    }
}

fr_sim_operation *fr_sim_push(fr_sim_stream *stream, fr_sim_operation_kind kind)
{
    fr_sim *sim = &fr_sim_state;
    fr_sim_operation *operation = fr_sim_allocate(sizeof *operation);
    fr_sim_clock_join(&stream->clock, &sim->host_clock);
    fr_sim_clock_set(&stream->clock, stream->slot, ++stream->time);
    /* What the host does from here on is not before this operation. */
    fr_sim_clock_set(&sim->host_clock, FR_SIM_HOST_SLOT, ++sim->host_time);
    fr_sim_clock_copy(&operation->clock, &stream->clock);
    operation->kind = kind;
    operation->stream = stream;
    operation->trace = fr_sim_trace(fr_sim_this_thread()->call, stream, stream->slot, stream->time);
    join_legacy(stream, operation);
    operation->number = ++stream->submitted;
    if (stream->tail)
        stream->tail->next = operation;
    else
        stream->head = operation;
    stream->tail = operation;
    sim->pending++;
    if (sim->options.background)
        pthread_cond_broadcast(&sim->changed);
    return operation;
}

void fr_sim_operation_free(fr_sim_operation *operation)
{
    fr_sim_clock_free(&operation->clock);
    free(operation->waits);
    free(operation->copy.staged);
    free(operation->argument_bytes);
    free(operation);
}

/* --- Streams. --- */

fr_sim_stream *fr_sim_stream_new(fr_sim_context *context, unsigned int flags, int priority)
{
    fr_sim *sim = &fr_sim_state;
    fr_sim_stream *stream = fr_sim_allocate(sizeof *stream);
    stream->handle = fr_sim_handle_new(FR_SIM_STREAM, stream);
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->slot = sim->slot_count++;
    stream->number = ++sim->stream_count;
    stream->next = context->streams;
    context->streams = stream;
    stream->next_all = sim->streams;
    sim->streams = stream;
    return stream;
}

void fr_sim_stream_bury(fr_sim_stream *stream)
{
    fr_sim_stream **link = &fr_sim_state.streams;
    while (*link != stream)
        link = &(*link)->next_all;
    *link = stream->next_all;
    link = &stream->context->streams;
    while (*link && *link != stream)
        link = &(*link)->next;
    if (*link)
        *link = stream->next;
    stream->next_all = fr_sim_state.dead_streams;
    fr_sim_state.dead_streams = stream;
    fr_sim_clock_join(&stream->context->buried, &stream->clock);
    if (!(stream->flags & FR_CU_STREAM_NON_BLOCKING))
        fr_sim_clock_join(&stream->context->buried_blocking, &stream->clock);
    fr_sim_clock_free(&stream->clock);
    fr_sim_clock_free(&stream->capture_clock);
}

static void destroy(fr_sim_stream *stream)
{
    if (stream->capture)
        fr_sim_capture_invalidate(stream->capture);
    stream->destroyed = true;
    stream->held = false; /* what is in it still runs */
    fr_sim_handle_drop(stream->handle);
    if (!stream->head)
        fr_sim_stream_bury(stream);
}

void fr_sim_streams_drop(fr_sim_context *context)
{
    for (fr_sim_stream *stream = context->streams, *next = NULL; stream; stream = next) {
        next = stream->next;
        if (!stream->destroyed)
            destroy(stream);
    }
}

static void free_all(fr_sim_stream *stream)
{
    while (stream) {
        fr_sim_stream *next = stream->next_all;
        while (stream->head) {
            fr_sim_operation *operation = stream->head;
            stream->head = operation->next;
            fr_sim_operation_free(operation);
        }
        fr_sim_clock_free(&stream->clock);
        fr_sim_clock_free(&stream->capture_clock);
        free(stream);
        stream = next;
    }
}

void fr_sim_streams_reset(void)
{
    free_all(fr_sim_state.streams);
    free_all(fr_sim_state.dead_streams);
    fr_sim_state.streams = fr_sim_state.dead_streams = NULL;
}

/* The calling thread's stream of the current context. */
static fr_sim_stream *per_thread(fr_sim_context *context)
{
    uint64_t thread = fr_sim_this_thread()->number;
    for (fr_sim_stream *stream = context->streams; stream; stream = stream->next)
        if (stream->thread == thread)
            return stream;
    fr_sim_stream *made = fr_sim_stream_new(context, FR_CU_STREAM_DEFAULT, 0);
    made->thread = thread;
    return made;
}

fr_cu_result fr_sim_stream_find(fr_cu_stream handle, fr_sim_stream **stream)
{
    *stream = NULL;
    if (!handle || handle == FR_CU_STREAM_LEGACY || handle == FR_CU_STREAM_PER_THREAD) {
        fr_sim_context *context = fr_sim_current();
        if (!context)
            return FR_CU_ERROR_INVALID_CONTEXT;
        *stream = handle == FR_CU_STREAM_PER_THREAD ? per_thread(context) : context->legacy;
    } else {
        *stream = fr_sim_handle_find(FR_SIM_STREAM, handle);
        if (!*stream)
            return FR_CU_ERROR_INVALID_HANDLE;
    }
    return (*stream)->context->sticky;
}

fr_cu_result fr_sim_stream_for_work(fr_cu_stream handle, fr_sim_stream **stream)
{
    fr_cu_result result = fr_sim_stream_find(handle, stream);
    if (result != FR_CU_SUCCESS)
        return result;
    if (*stream == (*stream)->context->legacy)
        return fr_sim_capture_implicit((*stream)->context);
    if (!(*stream)->capture)
        return FR_CU_SUCCESS;
    if ((*stream)->capture->invalid)
        return FR_CU_ERROR_STREAM_CAPTURE_INVALIDATED;
    fr_sim_capture_node(*stream);
    *stream = NULL;
    return FR_CU_SUCCESS;
}

/* --- Entry points. --- */

static fr_cu_result create(fr_cu_stream *stream, unsigned int flags, int priority)
{
    if (!stream || flags > FR_CU_STREAM_NON_BLOCKING)
        return FR_CU_ERROR_INVALID_VALUE;
    *stream = (fr_cu_stream)fr_sim_stream_new(fr_sim_current(), flags, priority)->handle;
    return FR_CU_SUCCESS;
}

fr_cu_result cuStreamCreateWithPriority(fr_cu_stream *stream, unsigned int flags, int priority)
{
    FR_SIM_ENTRY(cuStreamCreateWithPriority, FR_SIM_NEEDS_CONTEXT, create(stream, flags, priority));
}

static fr_cu_result destroy_handle(fr_cu_stream handle)
{
    fr_sim_stream *stream = fr_sim_handle_find(FR_SIM_STREAM, handle);
    if (!stream || stream == stream->context->legacy || stream->thread)
        return FR_CU_ERROR_INVALID_HANDLE;
    destroy(stream);
    return FR_CU_SUCCESS;
}

fr_cu_result cuStreamDestroy_v2(fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuStreamDestroy, FR_SIM_NEEDS_INIT, destroy_handle(stream));
}

/* Waiting for a stream, or asking for its state, cannot be part of a graph. */
static fr_cu_result find_to_wait(fr_cu_stream handle, fr_sim_stream **stream)
{
    fr_cu_result result = fr_sim_stream_find(handle, stream);
    if (result == FR_CU_SUCCESS && (*stream)->capture) {
        fr_sim_capture_invalidate((*stream)->capture);
        return FR_CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (result == FR_CU_SUCCESS && *stream == (*stream)->context->legacy)
        return fr_sim_capture_implicit((*stream)->context);
    return result;
}

static fr_cu_result synchronize(fr_cu_stream handle)
{
    fr_sim_stream *stream = NULL;
    fr_cu_result result = find_to_wait(handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    if (stream == stream->context->legacy)
        fr_sim_push(stream, FR_SIM_DO_NOTHING); /* so that it waits for the blocking ones */
    fr_sim_clock clock = {0}; /* another thread may add to it, or destroy the stream */
    fr_sim_clock_copy(&clock, &stream->clock);
    fr_sim_run_until((fr_sim_point){stream, stream->submitted});
    fr_sim_host_joins(&clock);
    fr_sim_clock_free(&clock);
    fr_sim_pools_synchronized(stream->context->device);
    return stream->context->sticky;
}

fr_cu_result cuStreamSynchronize(fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuStreamSynchronize, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE,
                 synchronize(stream));
}

static fr_cu_result query(fr_cu_stream handle)
{
    fr_sim_stream *stream = NULL;
    fr_cu_result result = find_to_wait(handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    if (stream == stream->context->legacy)
        for (fr_sim_stream *other = stream->context->streams; other; other = other->next)
            if (!(other->flags & FR_CU_STREAM_NON_BLOCKING) &&
                !fr_sim_poll((fr_sim_point){other, other->submitted}))
                return FR_CU_ERROR_NOT_READY;
    if (!fr_sim_poll((fr_sim_point){stream, stream->submitted}))
        return FR_CU_ERROR_NOT_READY;
    fr_sim_host_joins(&stream->clock);
    return stream->context->sticky;
}

fr_cu_result cuStreamQuery(fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuStreamQuery, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE, query(stream));
}

static fr_cu_result get_context(fr_cu_stream handle, fr_cu_context *context)
{
    fr_sim_stream *stream = NULL;
    if (!context)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_result result = fr_sim_stream_find(handle, &stream);
    if (result == FR_CU_SUCCESS)
        *context = (fr_cu_context)stream->context->handle;
    return result;
}

fr_cu_result cuStreamGetCtx(fr_cu_stream stream, fr_cu_context *context)
{
    FR_SIM_ENTRY(cuStreamGetCtx, FR_SIM_NEEDS_CONTEXT, get_context(stream, context));
}

static fr_cu_result get_flags(fr_cu_stream handle, unsigned int *flags)
{
    fr_sim_stream *stream = NULL;
    if (!flags)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_result result = fr_sim_stream_find(handle, &stream);
    if (result == FR_CU_SUCCESS)
        *flags = stream->flags;
    return result;
}

fr_cu_result cuStreamGetFlags(fr_cu_stream stream, unsigned int *flags)
{
    FR_SIM_ENTRY(cuStreamGetFlags, FR_SIM_NEEDS_CONTEXT, get_flags(stream, flags));
}

static fr_cu_result launch_host_function(fr_cu_stream handle, fr_cu_host_function function,
                                         void *user)
{
    fr_sim_stream *stream = NULL;
    if (!function)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_result result = fr_sim_stream_for_work(handle, &stream);
    if (result != FR_CU_SUCCESS || !stream)
        return result;
    fr_sim_operation *operation = fr_sim_push(stream, FR_SIM_DO_HOST_FUNCTION);
    operation->host_function = function;
    operation->user = user;
    fr_sim_run_start();
    return FR_CU_SUCCESS;
}

fr_cu_result cuLaunchHostFunc(fr_cu_stream stream, fr_cu_host_function function, void *user)
{
    FR_SIM_ENTRY(cuLaunchHostFunc, FR_SIM_NEEDS_CONTEXT,
                 launch_host_function(stream, function, user));
}

static fr_cu_result write_value(fr_cu_stream handle, fr_cu_device_ptr address, uint32_t value,
                                unsigned int flags)
{
    fr_sim_stream *stream = NULL;
    const fr_sim_memory *memory = fr_sim_memory_find(address);
    if (!memory || address % 4 != 0 || flags > 1)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_result result = fr_sim_stream_for_work(handle, &stream);
    if (result != FR_CU_SUCCESS || !stream)
        return result;
    fr_sim_operation *operation = fr_sim_push(stream, FR_SIM_DO_SET);
    operation->copy = (fr_sim_copy){
        .dst = address, .dst_pitch = 4, .width = 4, .height = 1, .value = value, .value_bytes = 4};
    return FR_CU_SUCCESS;
}

fr_cu_result cuStreamWriteValue32_v2(fr_cu_stream stream, fr_cu_device_ptr address, uint32_t value,
                                     unsigned int flags)
{
    FR_SIM_ENTRY(cuStreamWriteValue32, FR_SIM_NEEDS_CONTEXT,
                 write_value(stream, address, value, flags));
}
