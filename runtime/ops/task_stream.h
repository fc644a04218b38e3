/* The stream that a task is handed, where its instance uses a device: for work of the client's,
 * which the task puts there and need not wait for. The op is over when that work is, so that what
 * comes behind the task, in its lane or by its id, comes behind the work; no thread is held
 * meanwhile.
 *
 * Threads: open and close by who runs the task, and no others between the two; then whoever looks
 * at events ends the op. */
#ifndef FR_RUNTIME_OPS_TASK_STREAM_H
#define FR_RUNTIME_OPS_TASK_STREAM_H

#include "runtime/device/devices.h"
#include "scheduler/graph.h"

typedef struct fr_task_stream {
    fr_fence_call call; /* first */
    fr_opened *opened;  /* NULL: none */
    fr_own_stream *own;
    fr_device_stream handed; /* as it was handed out */
    fr_fence *fence;
    fr_graph *graph;
    fr_op *op;
} fr_task_stream;

/* devices: NULL: none. */
void fr_task_stream_open(fr_task_stream *stream, const fr_devices *devices, uint64_t op_id);
/* After SPLIT nothing of the op may be touched. */
fr_run_result fr_task_stream_close(fr_task_stream *stream, fr_graph *graph, fr_op *op);

#endif
