#include "tests/sim/sim_internal.h"

#include <stdlib.h>

static void unlink_event(fr_sim_event *event)
{
    if (event->previous)
        event->previous->next = event->next;
    else
        fr_sim_state.events = event->next;
    if (event->next)
        event->next->previous = event->previous;
    fr_sim_handle_drop(event->handle);
    fr_sim_clock_free(&event->clock);
    fr_sim_clock_free(&event->capture_clock);
    free(event);
}

void fr_sim_events_drop(fr_sim_context *context)
{
    for (fr_sim_event *event = fr_sim_state.events, *next = NULL; event; event = next) {
        next = event->next;
        if (event->context == context)
            unlink_event(event);
    }
}

static fr_cu_result create(fr_cu_event *handle, unsigned int flags)
{
    if (!handle || flags > 7)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_sim_event *event = fr_sim_allocate(sizeof *event);
    event->handle = fr_sim_handle_new(FR_SIM_EVENT, event);
    event->context = fr_sim_current();
    event->flags = flags;
    event->next = fr_sim_state.events;
    if (event->next)
        event->next->previous = event;
    fr_sim_state.events = event;
    *handle = (fr_cu_event)event->handle;
    return FR_CU_SUCCESS;
}

fr_cu_result cuEventCreate(fr_cu_event *event, unsigned int flags)
{
    FR_SIM_ENTRY(cuEventCreate, FR_SIM_NEEDS_CONTEXT, create(event, flags));
}

/* Waits that were made keep their own points: nothing waits for the event itself. */
static fr_cu_result destroy(fr_cu_event handle)
{
    fr_sim_event *event = fr_sim_handle_find(FR_SIM_EVENT, handle);
    if (!event)
        return FR_CU_ERROR_INVALID_HANDLE;
    unlink_event(event);
    return FR_CU_SUCCESS;
}

fr_cu_result cuEventDestroy_v2(fr_cu_event event)
{
    FR_SIM_ENTRY(cuEventDestroy, FR_SIM_NEEDS_INIT, destroy(event));
}

static fr_cu_result record(fr_cu_event handle, fr_cu_stream stream_handle)
{
    fr_sim_stream *stream = NULL;
    fr_sim_event *event = fr_sim_handle_find(FR_SIM_EVENT, handle);
    if (!event)
        return FR_CU_ERROR_INVALID_HANDLE;
    fr_cu_result result = fr_sim_stream_find(stream_handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    if (stream->context != event->context) {
        fr_sim_tell(FR_SIM_BAD_HANDLE,
                    "cuEventRecord: the event is of device %d, the stream of device %d",
                    event->context->device, stream->context->device);
        return FR_CU_ERROR_INVALID_HANDLE;
    }
    fr_sim_stream *work = NULL;
    result = fr_sim_stream_for_work(stream_handle, &work);
    if (result != FR_CU_SUCCESS)
        return result;
    event->recorded = true;
    event->time = 0;
    event->capture = stream->capture;
    if (!work) {
        fr_sim_clock_copy(&event->capture_clock, &stream->capture_clock);
        return FR_CU_SUCCESS;
    }
    fr_sim_operation *operation = fr_sim_push(work, FR_SIM_DO_RECORD);
    operation->event = handle;
    event->point = (fr_sim_point){work, work->submitted};
    fr_sim_clock_copy(&event->clock, &operation->clock);
    return FR_CU_SUCCESS;
}

fr_cu_result cuEventRecord(fr_cu_event event, fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuEventRecord, FR_SIM_NEEDS_CONTEXT, record(event, stream));
}

void fr_sim_do_record(fr_sim_operation *operation)
{
    fr_sim_event *event = fr_sim_handle_peek(FR_SIM_EVENT, (uintptr_t)operation->event);
    /* It may be destroyed, or recorded again since. */
    if (event && event->point.stream == operation->stream &&
        event->point.number == operation->number)
        event->time = fr_sim_state.ticks;
}

/* A wait for an event of a capture draws the stream into it. */
static fr_cu_result wait_captured(fr_sim_stream *stream, const fr_sim_event *event)
{
    if (event->capture->ended)
        return FR_CU_ERROR_CAPTURED_EVENT;
    if (event->capture->invalid)
        return FR_CU_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream == stream->context->legacy)
        return fr_sim_capture_implicit(stream->context);
    if (stream->capture && stream->capture != event->capture) {
        fr_sim_capture_invalidate(stream->capture);
        fr_sim_capture_invalidate(event->capture);
        return FR_CU_ERROR_STREAM_CAPTURE_MERGE;
    }
    stream->capture = event->capture;
    fr_sim_clock_join(&stream->capture_clock, &event->capture_clock);
    return FR_CU_SUCCESS;
}

static fr_cu_result wait_event(fr_cu_stream stream_handle, fr_cu_event handle, unsigned int flags)
{
    fr_sim_stream *stream = NULL;
    if (flags > 1)
        return FR_CU_ERROR_INVALID_VALUE;
    const fr_sim_event *event = fr_sim_handle_find(FR_SIM_EVENT, handle);
    if (!event)
        return FR_CU_ERROR_INVALID_HANDLE;
    fr_cu_result result = fr_sim_stream_find(stream_handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    if (!event->recorded) {
        char text[64];
        fr_sim_describe_stream(text, sizeof text, stream);
        fr_sim_tell(FR_SIM_NEVER_RECORDED,
                    "cuStreamWaitEvent: the event has no record, so %s waits for nothing", text);
        return FR_CU_SUCCESS;
    }
    if (event->capture)
        return wait_captured(stream, event);
    if (stream->capture) {
        fr_sim_capture_invalidate(stream->capture);
        return FR_CU_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    result = fr_sim_stream_for_work(stream_handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    fr_sim_operation *operation = fr_sim_push(stream, FR_SIM_DO_NOTHING);
#ifdef FR_MUTATE_SIM_WAIT_TAKES_THE_STREAM
    fr_sim_stream *latest = event->point.stream;
    fr_sim_wait_for(operation, (fr_sim_point){latest, latest->submitted}, &latest->clock);
#else
    fr_sim_wait_for(operation, event->point, &event->clock);
#endif
    return FR_CU_SUCCESS;
}

fr_cu_result cuStreamWaitEvent(fr_cu_stream stream, fr_cu_event event, unsigned int flags)
{
    FR_SIM_ENTRY(cuStreamWaitEvent, FR_SIM_NEEDS_CONTEXT, wait_event(stream, event, flags));
}

static fr_cu_result query(fr_cu_event handle)
{
    const fr_sim_event *event = fr_sim_handle_find(FR_SIM_EVENT, handle);
    if (!event)
        return FR_CU_ERROR_INVALID_HANDLE;
    if (event->context->sticky != FR_CU_SUCCESS)
        return event->context->sticky;
    if (event->capture) {
        fr_sim_capture_invalidate(event->capture);
        return FR_CU_ERROR_CAPTURED_EVENT;
    }
    if (!event->recorded)
        return FR_CU_SUCCESS;
    if (!fr_sim_poll(event->point))
        return FR_CU_ERROR_NOT_READY;
#ifndef FR_MUTATE_SIM_QUERY_ORDERS_NOTHING
    fr_sim_host_joins(&event->clock);
#endif
    return event->context->sticky;
}

fr_cu_result cuEventQuery(fr_cu_event event)
{
    FR_SIM_ENTRY(cuEventQuery, FR_SIM_NEEDS_INIT | FR_SIM_NO_CAPTURE, query(event));
}

static fr_cu_result synchronize(fr_cu_event handle)
{
    const fr_sim_event *event = fr_sim_handle_find(FR_SIM_EVENT, handle);
    if (!event)
        return FR_CU_ERROR_INVALID_HANDLE;
    if (event->capture) {
        fr_sim_capture_invalidate(event->capture);
        return FR_CU_ERROR_CAPTURED_EVENT;
    }
    if (!event->recorded)
        return event->context->sticky;
    /* Another thread may record or destroy the event while this one waits. */
    fr_sim_context *context = event->context;
    fr_sim_point point = event->point;
    fr_sim_clock clock = {0};
    fr_sim_clock_copy(&clock, &event->clock);
    fr_sim_run_until(point);
    fr_sim_host_joins(&clock);
    fr_sim_clock_free(&clock);
    fr_sim_pools_synchronized(context->device);
    return context->sticky;
}

fr_cu_result cuEventSynchronize(fr_cu_event event)
{
    FR_SIM_ENTRY(cuEventSynchronize, FR_SIM_NEEDS_INIT | FR_SIM_NO_CAPTURE, synchronize(event));
}

static fr_cu_result elapsed(float *milliseconds, fr_cu_event start, fr_cu_event end)
{
    const fr_sim_event *first = fr_sim_handle_find(FR_SIM_EVENT, start);
    const fr_sim_event *last = fr_sim_handle_find(FR_SIM_EVENT, end);
    if (!milliseconds)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!first || !last || !first->recorded || !last->recorded ||
        ((first->flags | last->flags) & FR_CU_EVENT_DISABLE_TIMING) ||
        first->context != last->context)
        return FR_CU_ERROR_INVALID_HANDLE;
    if (first->time == 0 || last->time == 0)
        return FR_CU_ERROR_NOT_READY;
    *milliseconds = (float)(last->time - first->time) / 1000.0f; /* an operation takes 1 us */
    return FR_CU_SUCCESS;
}

fr_cu_result cuEventElapsedTime(float *milliseconds, fr_cu_event start, fr_cu_event end)
{
    FR_SIM_ENTRY(cuEventElapsedTime, FR_SIM_NEEDS_INIT, elapsed(milliseconds, start, end));
}
