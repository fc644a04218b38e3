/* Columns of a clone that lie on devices: their rows are put together there, and from there go into
 * the copies, without a way over the host. */
#include <stdio.h>

#include "runtime/api/placement.h"
#include "runtime/clone/clone_work.h"
#include "runtime/device/begin.h"
#include "runtime/store/current_place.h"
#include "runtime/write/write_home.h"

static void fr_clone_fail_device(const fr_clone_work *work, const fr_device_fault *fault)
{
    fr_op_fail(work->op, fr_placement_status(fault), "a clone on a device: %s", fault->text);
}

/* --- the source ------------------------------------------------------------------------------- */

/* A stream for what waits for `pending`, or for nothing. False: the op is parked, or has failed. */
static bool fr_clone_begin(fr_clone_work *work, fr_opened *opened, fr_fence *pending,
                           fr_device_run *run)
{
    fr_device_fault fault;
    const fr_run_wish wish = {.opened = opened,
                              .kind = fr_device_run_kind(pending),
                              .lane = work->ordinal,
                              .dep = pending,
                              .graph = work->graph,
                              .op = work->op};
    fr_run_outcome outcome = fr_run_wish_begin(&wish, &work->wait, run, &fault);
    work->is_parked = outcome == FR_RUN_WAITS;
    if (outcome == FR_RUN_HAS_FAILED)
        fr_clone_fail_device(work, &fault);
    return outcome == FR_RUN_HAS_BEGUN;
}

static bool fr_clone_gather_column(fr_clone_work *work, fr_current_column *entry)
{
    fr_opened *opened = fr_column_device(entry->column);
    fr_current_places places;
    fr_device_run run;
    fr_device_fault fault;
    if (!fr_current_places_open(&work->current, entry, &places))
        return fr_clone_no_memory(work);
    fr_devices_settle(opened->devices);
    fr_fence_release(work->pending);
    work->pending = fr_current_places_stalled_by(&places);
    bool gathered = fr_clone_begin(work, opened, work->pending, &run);
    if (gathered) {
        gathered =
            fr_current_places_gather(&places, &run, &fault) && fr_device_run_record(&run, &fault);
        fr_device_run_end(&run);
        if (!gathered)
            fr_clone_fail_device(work, &fault);
    }
    fr_current_places_close(&places);
    return gathered;
}

bool fr_clone_gather(fr_clone_work *work)
{
    work->is_parked = false;
    bool gathered = true;
    while (gathered && work->gathered_count < work->current.column_count) {
        fr_current_column *entry = &work->current.columns[work->gathered_count];
        if (fr_column_rows_device(entry->column))
            gathered = fr_clone_gather_column(work, entry);
        work->gathered_count += gathered;
    }
    return gathered;
}

/* --- the copies ------------------------------------------------------------------------------- */

/* It does not park: who looks at rows that are being written would wait for it. */
bool fr_clone_place_column(fr_clone_work *work, fr_write *what, fr_clone_column *column,
                           bool *reserved)
{
    fr_opened *home = what->device;
    fr_fence *gathered = fr_placed_written(column->from->rows->placed);
    /* Which kind of stream it is for; the wait comes with the read. */
    fr_device_write device = {.opened = home, .captured.dep = gathered, .dep_is_written = true};
    fr_write_source source = {.device = home};
    fr_device_run run;
    fr_device_fault fault;
    bool begun;
    *reserved =
        fr_write_home_reserve(work->op, work->stage, &device, what, &run, &column->plan, &begun);
    bool placed =
        *reserved && fr_device_run_reads(&run, column->from->rows->placed, FR_USE_CLONED, &fault);
    if (*reserved && !placed)
        fr_clone_fail_device(work, &fault);
    placed = placed && fr_write_home_place(work->op, &source, &run, &column->plan);
    if (begun)
        fr_device_run_end(&run);
    fr_fence_release(gathered);
    return placed;
}
