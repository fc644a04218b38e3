#include "runtime/ops/task_stream.h"

static bool fr_task_stream_take(fr_task_stream *stream, fr_opened *opened, uint64_t op_id)
{
    fr_device_entry entry;
    fr_device_fault fault;
    bool all_busy;
    if (!fr_opened_enter(opened, &entry, &fault))
        return false;
    stream->own = fr_streams_take(opened, FR_STREAM_STALLED, fr_streams_lane_of_task(op_id),
                                  &all_busy, &fault);
    fr_opened_leave(opened, &entry);
    return stream->own != NULL;
}

void fr_task_stream_open(fr_task_stream *stream, const fr_devices *devices, uint64_t op_id)
{
    stream->opened = NULL;
    stream->fence = NULL;
    /* [devices.first.read] pairs [devices.first.publish] : see there */
    fr_opened *first = devices ? fr_load_acquire(&devices->first) : NULL;
    if (!first || !fr_task_stream_take(stream, first, op_id))
        return;
    stream->opened = first;
    stream->handed = stream->own->stream;
}

/* A fence behind what the stream has got, which it has. False: it cannot be followed. */
static bool fr_task_stream_follow(fr_task_stream *stream, fr_device_fault *fault)
{
    stream->fence = fr_fence_get(stream->opened, fault);
    if (stream->fence && fr_fence_record(stream->fence, stream->own->stream, stream->own, fault))
        return true;
    fr_fence_release(stream->fence);
    stream->fence = NULL;
    return false;
}

/* Gives the stream back, or, where nothing tells when its work is over, to nobody. */
static bool fr_task_stream_end(fr_task_stream *stream, fr_device_fault *fault)
{
    fr_opened *opened = stream->opened;
    fr_device_entry entry;
    bool entered = fr_opened_enter(opened, &entry, fault);
#ifndef FR_MUTATE_DEVICE_TASK_STREAM_LOST
    if (!entered) /* once more, or nobody knows what others would come behind in the stream */
        entered = fr_opened_enter(opened, &entry, fault);
#endif
    if (!entered)
        return false; /* it stays taken */
    bool followed = opened->devices->table->stream_is_idle(stream->own->stream);
#ifdef FR_MUTATE_DEVICE_TASK_STREAM_FORGOTTEN
    followed = true;
#endif
    followed = followed || fr_task_stream_follow(stream, fault);
    if (followed)
        fr_streams_give(opened, stream->own);
    else
        fr_streams_discard(opened, stream->own);
    fr_opened_leave(opened, &entry);
    return followed;
}

static void fr_task_stream_judge(fr_op *op, fr_fence *fence)
{
    if (fr_fence_look(fence) == FR_FENCE_LOST)
        fr_op_fail_also(op, OVSTAGE_ERROR_OP_FAILED,
                        "CUDA device %d failed before the work of the task was done: %s",
                        (int)fence->opened->place, fr_opened_death(fence->opened));
    fr_fence_release(fence);
}

static void fr_task_stream_over(fr_fence_call *call)
{
    fr_task_stream *stream = (fr_task_stream *)(void *)call;
    fr_task_stream_judge(stream->op, stream->fence);
    fr_graph_op_finish(stream->graph, stream->op, NULL);
}

fr_run_result fr_task_stream_close(fr_task_stream *stream, fr_graph *graph, fr_op *op)
{
    fr_device_fault fault;
    if (!stream->opened)
        return FR_RUN_DONE;
    if (!fr_task_stream_end(stream, &fault))
        fr_op_fail_also(op, OVSTAGE_ERROR_OP_FAILED,
                        "what the task has put into its stream cannot be followed: %s", fault.text);
    fr_fence *fence = stream->fence;
    if (!fence)
        return FR_RUN_DONE;
    stream->call = (fr_fence_call){.run = fr_task_stream_over};
    stream->graph = graph;
    stream->op = op;
    if (fr_fence_when_over(fence, &stream->call))
        return FR_RUN_SPLIT; /* it may be finished by now */
    fr_task_stream_judge(op, fence);
    return FR_RUN_DONE;
}
