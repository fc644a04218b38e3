/* Capture of graphs: what it forbids to others, and what it does to streams and events. The work
 * that a stream captures is counted, not kept: there is no way here to launch a graph. */
#include "tests/sim/sim_internal.h"

#include <stdlib.h>

void fr_sim_captures_reset(void)
{
    while (fr_sim_state.captures) {
        fr_sim_capture *next = fr_sim_state.captures->next;
        free(fr_sim_state.captures);
        fr_sim_state.captures = next;
    }
}

void fr_sim_capture_invalidate(fr_sim_capture *capture)
{
    capture->invalid = true;
}

fr_cu_result fr_sim_capture_forbids(void)
{
    const fr_sim_thread *thread = fr_sim_this_thread();
    fr_cu_result result = FR_CU_SUCCESS;
#ifdef FR_MUTATE_SIM_CAPTURE_FORBIDS_NOTHING
    return result;
#endif
    if (thread->capture_mode == FR_CU_CAPTURE_MODE_RELAXED)
        return FR_CU_SUCCESS;
    for (fr_sim_capture *capture = fr_sim_state.captures; capture; capture = capture->next) {
        bool own = capture->thread == thread->number;
        if (capture->ended || capture->mode == FR_CU_CAPTURE_MODE_RELAXED)
            continue;
        if (own || (capture->mode == FR_CU_CAPTURE_MODE_GLOBAL &&
                    thread->capture_mode == FR_CU_CAPTURE_MODE_GLOBAL)) {
            fr_sim_capture_invalidate(capture);
            result = FR_CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return result;
}

fr_cu_result fr_sim_capture_implicit(fr_sim_context *context)
{
    for (const fr_sim_stream *stream = context->streams; stream; stream = stream->next) {
        if (!stream->capture || (stream->flags & FR_CU_STREAM_NON_BLOCKING))
            continue;
        fr_sim_capture_invalidate(stream->capture);
        return FR_CU_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return FR_CU_SUCCESS;
}

void fr_sim_capture_node(fr_sim_stream *stream)
{
    uint32_t time = fr_sim_clock_at(&stream->capture_clock, stream->slot);
    fr_sim_clock_set(&stream->capture_clock, stream->slot, time + 1);
}

static fr_cu_result begin(fr_cu_stream handle, fr_cu_capture_mode mode)
{
    fr_sim_stream *stream = NULL;
    if (mode > FR_CU_CAPTURE_MODE_RELAXED)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_result result = fr_sim_stream_find(handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    if (stream == stream->context->legacy)
        return FR_CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_sim_capture *capture = fr_sim_allocate(sizeof *capture);
    *capture = (fr_sim_capture){.next = fr_sim_state.captures,
                                .origin = stream,
                                .mode = mode,
                                .thread = fr_sim_this_thread()->number};
    fr_sim_state.captures = capture;
    stream->capture = capture;
    fr_sim_clock_free(&stream->capture_clock);
    return FR_CU_SUCCESS;
}

fr_cu_result cuStreamBeginCapture_v2(fr_cu_stream stream, fr_cu_capture_mode mode)
{
    FR_SIM_ENTRY(cuStreamBeginCapture, FR_SIM_NEEDS_CONTEXT, begin(stream, mode));
}

/* Every stream that was drawn in must have come back: its last node is known to the origin. */
static bool is_joined(const fr_sim_capture *capture)
{
    const fr_sim_clock *known = &capture->origin->capture_clock;
    for (const fr_sim_stream *stream = fr_sim_state.streams; stream; stream = stream->next_all)
        if (stream->capture == capture && stream != capture->origin &&
            fr_sim_clock_at(&stream->capture_clock, stream->slot) >
                fr_sim_clock_at(known, stream->slot))
            return false;
    return true;
}

static fr_cu_result end(fr_cu_stream handle, fr_cu_graph *graph)
{
    fr_sim_stream *stream = NULL;
    if (!graph)
        return FR_CU_ERROR_INVALID_VALUE;
    *graph = NULL;
    fr_cu_result result = fr_sim_stream_find(handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    fr_sim_capture *capture = stream->capture;
    if (!capture)
        return FR_CU_ERROR_INVALID_VALUE; /* "illegal state" in some versions */
    if (capture->origin != stream) {
        fr_sim_capture_invalidate(capture);
        return FR_CU_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != FR_CU_CAPTURE_MODE_RELAXED &&
        capture->thread != fr_sim_this_thread()->number)
        return FR_CU_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (capture->invalid)
        result = FR_CU_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        result = FR_CU_ERROR_STREAM_CAPTURE_UNJOINED;
    capture->ended = true;
    for (fr_sim_stream *s = fr_sim_state.streams; s; s = s->next_all)
        if (s->capture == capture)
            s->capture = NULL;
    if (result == FR_CU_SUCCESS)
        *graph = (fr_cu_graph)fr_sim_handle_new(FR_SIM_GRAPH, capture);
    return result;
}

fr_cu_result cuStreamEndCapture(fr_cu_stream stream, fr_cu_graph *graph)
{
    FR_SIM_ENTRY(cuStreamEndCapture, FR_SIM_NEEDS_CONTEXT, end(stream, graph));
}

static fr_cu_result destroy_graph(fr_cu_graph graph)
{
    if (!fr_sim_handle_find(FR_SIM_GRAPH, graph))
        return FR_CU_ERROR_INVALID_VALUE;
    fr_sim_handle_drop((uintptr_t)graph);
    return FR_CU_SUCCESS;
}

fr_cu_result cuGraphDestroy(fr_cu_graph graph)
{
    FR_SIM_ENTRY(cuGraphDestroy, FR_SIM_NEEDS_INIT, destroy_graph(graph));
}

static fr_cu_result is_capturing(fr_cu_stream handle, fr_cu_capture_status *status)
{
    fr_sim_stream *stream = NULL;
    if (!status)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_result result = fr_sim_stream_find(handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    *status = FR_CU_CAPTURE_STATUS_NONE;
    if (stream->capture)
        *status = stream->capture->invalid ? FR_CU_CAPTURE_STATUS_INVALIDATED
                                           : FR_CU_CAPTURE_STATUS_ACTIVE;
    /* For the legacy stream the question itself is refused while a blocking stream captures; it
     * does no harm to the capture. */
    if (stream == stream->context->legacy)
        for (const fr_sim_stream *s = stream->context->streams; s; s = s->next)
            if (s->capture && !(s->flags & FR_CU_STREAM_NON_BLOCKING))
                return FR_CU_ERROR_STREAM_CAPTURE_IMPLICIT;
    return FR_CU_SUCCESS;
}

fr_cu_result cuStreamIsCapturing(fr_cu_stream stream, fr_cu_capture_status *status)
{
    FR_SIM_ENTRY(cuStreamIsCapturing, FR_SIM_NEEDS_CONTEXT, is_capturing(stream, status));
}

static fr_cu_result exchange_mode(fr_cu_capture_mode *mode)
{
    fr_sim_thread *thread = fr_sim_this_thread();
    if (!mode || *mode > FR_CU_CAPTURE_MODE_RELAXED)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_capture_mode old = thread->capture_mode;
    thread->capture_mode = *mode;
    *mode = old;
    return FR_CU_SUCCESS;
}

fr_cu_result cuThreadExchangeStreamCaptureMode(fr_cu_capture_mode *mode)
{
    FR_SIM_ENTRY(cuThreadExchangeStreamCaptureMode, FR_SIM_NEEDS_INIT, exchange_mode(mode));
}
