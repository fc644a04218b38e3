/* An op that waits for device work and does nothing else: the report of an op whose work goes on
 * when it has left its lane, and the op of a read whose rows are on their way.
 *
 * Threads: told once, before the op runs; then its own. */
#ifndef FR_RUNTIME_DEVICE_REPORT_H
#define FR_RUNTIME_DEVICE_REPORT_H

#include "runtime/device/fence.h"
#include "scheduler/graph.h"

/* A record for a submission. NULL without memory. */
fr_op *fr_device_report_get(fr_graph *graph);
/* Of one that was not accepted. */
void fr_device_report_put(fr_graph *graph, fr_op *report);
/* What it waits for: takes a reference. Never told: for nothing. */
void fr_device_report_tell(fr_op *report, fr_fence *fence);

#endif
