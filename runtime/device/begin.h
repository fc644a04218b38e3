/* How an op begins a run where it may have to wait: it parks, without a thread, as long as there is
 * no stream for it, or no room for what it brings to the device or home; then it is run again, and
 * begins again.
 *
 * Threads: who runs the op. */
#ifndef FR_RUNTIME_DEVICE_BEGIN_H
#define FR_RUNTIME_DEVICE_BEGIN_H

#include "runtime/device/park.h"
#include "runtime/device/run.h"

typedef struct fr_run_wish {
    fr_opened *opened;
    fr_stream_kind kind;
    uintptr_t stream; /* a client's; 0: one of ours, for the work of that lane */
    uint64_t lane;
    fr_fence *dep; /* of one that is stalled: what it waits for, so that it parks no longer than
                      that; or NULL */
    const fr_fence *comes_before; /* what comes before all of the run; or NULL */
    bool brings; /* rows through pinned memory: it waits for room; what else it takes is little */
    bool has_begun; /* it holds what it was given room for: to wait for more would be to wait for
                       others that hold some, and wait as well */
    fr_graph *graph;
    fr_op *op;
} fr_run_wish;

typedef enum fr_run_outcome {
    FR_RUN_HAS_BEGUN,
    FR_RUN_HAS_FAILED, /* the fault says why */
    FR_RUN_WAITS,      /* the op is parked, if there is one: its run answers that */
} fr_run_outcome;

/* wait: the op's, which its drop lets go of (fr_stream_wait_let_go). NULL: there is no op, and so
 * nothing that parks where it would wait. */
fr_run_outcome fr_run_wish_begin(const fr_run_wish *wish, fr_stream_wait *wait, fr_device_run *run,
                                 fr_device_fault *fault);

#endif
