/* Where a column lies that is written: on the device that its first applied write has decided for,
 * or, as long as none has, where this one wants it. There the work is done, wherever the rows come
 * from.
 *
 * Threads: who runs the op. */
#ifndef FR_RUNTIME_WRITE_WRITE_HOME_H
#define FR_RUNTIME_WRITE_WRITE_HOME_H

#include "runtime/device/run.h"
#include "runtime/write/write_device.h"

/* A run on what->device. False: the op has failed, or is parked. */
bool fr_write_home_begin(fr_op *op, fr_graph *graph, fr_device_write *device, const fr_write *what,
                         fr_device_run *run);
/* A run there, and memory for what is written. what->device: where it wants it, which becomes where
 * it is. device: what it waits for. False: the op has failed, is parked, or finds the column on the
 * host, and nothing of the plan is left; there may be a run all the same, which *begun says. */
bool fr_write_home_reserve(fr_op *op, const fr_stage *stage, fr_device_write *device,
                           fr_write *what, fr_device_run *run, fr_write_plan *plan, bool *begun);
/* The rows into it; the host's are packed first, so that the client may change them when the op is
 * complete (L9). False: the op has failed, and the plan is to be cancelled. */
bool fr_write_home_place(fr_op *op, fr_write_source *source, fr_device_run *run,
                         fr_write_plan *plan);
void fr_write_home_fail(fr_op *op, const fr_device_fault *fault);

#endif
