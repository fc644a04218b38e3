#include "runtime/write/write_home.h"

#include "runtime/api/placement.h"
#include "runtime/device/begin.h"
#include "runtime/store/store_state.h"

void fr_write_home_fail(fr_op *op, const fr_device_fault *fault)
{
    fr_op_fail(op, fr_placement_status(fault), "a write on a device: %s", fault->text);
}

static fr_opened *fr_write_home(const fr_write *what, fr_opened *placed)
{
    fr_opened *home = fr_store_write_home(what->attribute, &what->schema);
    return home ? home : placed;
}

bool fr_write_home_begin(fr_op *op, fr_graph *graph, fr_device_write *device, const fr_write *what,
                         fr_device_run *run)
{
    fr_device_fault fault;
    fr_fence *dep = device->captured.dep;
    const fr_run_wish wish = {.opened = what->device,
                              .kind = fr_device_run_kind(dep),
                              .stream = what->device == device->opened ? device->stream : 0,
                              .lane = what->ordinal,
                              .dep = dep,
                              .comes_before = device->dep_is_written ? NULL : dep,
                              .brings = device->brings,
                              .graph = graph,
                              .op = op};
    fr_run_outcome outcome;
    if (device->may_park)
        outcome = fr_run_wish_begin(&wish, &device->wait, run, &fault);
    else
        outcome = fr_device_run_begin_any_in(run, wish.opened, wish.kind, wish.stream, wish.lane,
                                             wish.comes_before, &fault)
                      ? FR_RUN_HAS_BEGUN
                      : FR_RUN_HAS_FAILED;
    device->is_parked = outcome == FR_RUN_WAITS;
    if (outcome == FR_RUN_HAS_FAILED)
        fr_write_home_fail(op, &fault);
    return outcome == FR_RUN_HAS_BEGUN;
}

bool fr_write_home_reserve(fr_op *op, const fr_stage *stage, fr_device_write *device,
                           fr_write *what, fr_device_run *run, fr_write_plan *plan, bool *begun)
{
    fr_opened *wanted = what->device;
    for (;;) {
        fr_device_fault fault;
        what->device = fr_write_home(what, wanted);
        *begun = fr_write_home_begin(op, stage->graph, device, what, run);
        if (!*begun)
            return false;
        fr_column_begin_refusals();
        ovstage_api_status_t status = fr_store_write_reserve(stage->store, what, plan);
        if (status == OVSTAGE_OK)
            return true;
        if (plan->as) { /* it lies where those do */
            what->schema = *plan->as;
            fr_device_run_end(run);
            continue;
        }
        /* Another write, of another lane, has decided meanwhile. */
        if (plan->elsewhere && fr_write_home(what, wanted) != what->device) {
            fr_device_run_end(run);
            continue;
        }
        if (plan->elsewhere && fr_store_write_is_on_host(what->attribute, &what->schema)) {
            fr_device_run_end(run);
            *begun = false;
            return false;
        }
        if (status == OVSTAGE_ERROR_OUT_OF_MEMORY && fr_column_end_refusals(&fault))
            fr_write_home_fail(op, &fault);
        else
            fr_write_fail(op, status, stage, what->attribute, plan);
        return false;
    }
}

bool fr_write_home_place(fr_op *op, fr_write_source *source, fr_device_run *run,
                         fr_write_plan *plan)
{
    fr_device_fault fault;
    if (fr_store_write_place(plan, source, run, &fault) && fr_device_run_record(run, &fault))
        return true;
    fr_write_home_fail(op, &fault);
    return false;
}

/* --- rows of the host for a column that lies on a device -------------------------------------- */

/* What they were placed on is not said: no stream, no event, and nothing that is complete later, as
 * the rows have been read, and who reads the column waits for the device. */
static bool fr_write_bring_up(fr_op *op, const fr_stage *stage, const fr_write *what,
                              fr_opened *home)
{
    fr_device_write device = {.opened = home};
    fr_write_source source = {.from_host = true};
    fr_row_source rows = *what->rows;
    fr_write up = *what;
    fr_write_plan plan;
    fr_device_run run;
    bool begun;
    rows.adoptable = NULL;
    rows.buffer = what->schema.is_array ? rows.buffer : NULL; /* of slices: they say where */
    up.rows = &rows;
    up.device = home;
    fr_devices_settle(home->devices);
    bool reserved = fr_write_home_reserve(op, stage, &device, &up, &run, &plan, &begun);
    bool placed = reserved && fr_write_home_place(op, &source, &run, &plan);
    if (begun)
        fr_device_run_end(&run);
    if (placed) {
        fr_store_write_enter(stage->store, &plan);
        for (uint32_t chunk = 0; chunk < plan.chunk_count; chunk++)
            fr_store_write_chunk(&plan, chunk); /* rows of an array */
        fr_store_write_commit(stage->store, &plan);
    } else if (reserved) {
        fr_store_write_cancel(stage->store, &plan);
    }
    return placed;
}

ovstage_api_status_t fr_write_refused_by_store(fr_op *op, const fr_stage *stage,
                                               const fr_write *what, ovstage_api_status_t refusal,
                                               fr_write_plan *plan, bool *written)
{
    ovstage_api_status_t status = refusal;
    fr_write own = *what;
    *written = false;
    while (status != OVSTAGE_OK && (plan->elsewhere || plan->as)) {
        own.schema = plan->as ? *plan->as : own.schema;
        fr_opened *home = fr_store_write_home(own.attribute, &own.schema);
        if (home)
            *written = fr_write_bring_up(op, stage, &own, home);
        if (*written || fr_op_failed(op))
            return status;
        /* Who was to bring it there has failed. */
        status = fr_store_write_prepare(stage->store, &own, plan);
    }
    if (status != OVSTAGE_OK)
        fr_write_fail(op, status, stage, what->attribute, plan);
    return status;
}
