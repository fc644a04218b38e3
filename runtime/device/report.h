/* An op that waits for device work and does nothing else: the report of an op whose work goes on
 * when it has left its lane, and the op of a read whose rows are on their way.
 *
 * A report that keeps what is let go of by client code parks: then the op is complete when that has
 * run, and whoever waits for it can run that; a look must not.
 *
 * Threads: told once, before the op runs; then its own. */
#ifndef FR_RUNTIME_DEVICE_REPORT_H
#define FR_RUNTIME_DEVICE_REPORT_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "runtime/device/fence.h"
#include "scheduler/graph.h"

/* For explanations: whose work it is, and where a client would look for what holds it up. */
typedef struct fr_device_told {
    const char *what; /* "a write" */
    int32_t place;
    uintptr_t stream;         /* the client's; 0: one of ours */
    ovstage_cuda_sync_t sync; /* what its source depends on; zeros: nothing */
} fr_device_told;

/* "what CUDA device 0 has to do for a write, ..". */
void fr_device_tell(const fr_device_told *told, char *text, size_t text_bytes);

/* A record for a submission. NULL without memory. */
fr_op *fr_device_report_get(fr_graph *graph);
/* The other way round: an op that others wait for, since the host looks at what devices write. It
 * is over when the fence is, and fails with nothing: who waits looks at the fence. Takes a
 * reference of that; let_go gets `held` when it is over, or was not accepted (put). NULL without
 * memory. */
fr_op *fr_device_wait_get(fr_graph *graph, fr_fence *fence, const fr_device_told *told,
                          void (*let_go)(void *held), void *held);
void fr_device_wait_put(fr_graph *graph, fr_op *wait);
/* Of one that was not accepted. */
void fr_device_report_put(fr_graph *graph, fr_op *report);
/* What it waits for: takes a reference. Never told: for nothing. */
void fr_device_report_tell(fr_op *report, fr_fence *fence, const fr_device_told *told);

/* What is to be let go of when a fence is over, by its call: that ends it, and may call client
 * code. The caller's memory until then. */
typedef struct fr_device_hold fr_device_hold;
struct fr_device_hold {
    fr_fence_call call; /* first */
    fr_device_hold *next;
    fr_fence *fence; /* a reference */
};

/* Before the report is complete; takes a reference of the fence. */
void fr_device_report_hold(fr_op *report, fr_device_hold *hold, fr_fence *fence);

#endif
