#include "runtime/write/write_down.h"

#include "runtime/store/buffers.h"
#include "runtime/write/write_home.h"

bool fr_write_goes_down(const fr_write_op *write, const fr_device_write *device)
{
    const fr_write_entry *entry = &write->entries[write->next_entry];
    if ((entry->schema.is_array && !entry->from_host) || entry->selected_count == 0)
        return false; /* still to come; nothing to bring */
    return device->down.staged || fr_store_write_is_on_host(entry->attribute, &entry->schema);
}

void fr_write_down_let_go(fr_write_down *down)
{
    if (down->staged)
        fr_staging_give_after(down->staged, down->done);
    fr_fence_release(down->done);
    down->staged = NULL;
    down->done = NULL;
}

static fr_write fr_write_down_what(const fr_op *op, const fr_write_op *write,
                                   const fr_row_source *rows)
{
    const fr_write_entry *entry = &write->entries[write->next_entry];
    return (fr_write){.attribute = entry->attribute,
                      .schema = entry->schema,
                      .query = write->query,
                      .ordinal = fr_op_ordinal(op),
                      .op_id = fr_op_id(op),
                      .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
                      .judge = entry->judge,
                      .any_role = entry->any_role,
                      .rows = rows};
}

/* --- to the host ------------------------------------------------------------------------------ */

static bool fr_write_down_copy(const fr_row_source *rows, fr_device_run *run, fr_staged *staged,
                               size_t size_bytes, fr_device_fault *fault)
{
    uint64_t from = (uint64_t)(uintptr_t)rows->base;
    if (rows->buffer && !fr_device_run_reads(run, rows->buffer->placed, fault))
        return false;
    if (!rows->compact) {
        fr_placed *together = fr_device_run_temporary(run, size_bytes, fault);
        if (!together || !fr_store_rows_collect(rows, together->address, run, fault))
            return false;
        from = together->address;
    }
    return fr_device_run_download(run, staged->memory, from, size_bytes, fault) &&
           fr_device_run_record(run, fault);
}

static void fr_write_down_over(fr_fence_call *call)
{
    const fr_write_down *down = (const fr_write_down *)(const void *)call;
    fr_graph_op_resume(down->graph, down->op);
}

static void fr_write_down_park(fr_op *op, fr_graph *graph, fr_device_write *device)
{
    fr_write_down *down = &device->down;
    down->call = (fr_fence_call){.run = fr_write_down_over};
    down->graph = graph;
    down->op = op;
#ifndef FR_MUTATE_DEVICE_WRITES_DOWN_EARLY
    device->is_parked = true;
    fr_op_park(op);
    if (!fr_fence_when_over(down->done, &down->call))
        fr_graph_op_resume(graph, op);
#endif
}

static void fr_write_down_begin(fr_op *op, const fr_write_op *write, fr_device_write *device,
                                const fr_row_source *rows)
{
    fr_write_entry *entry = &write->entries[write->next_entry];
    fr_write what = fr_write_down_what(op, write, rows);
    fr_device_run run;
    fr_device_fault fault;
    what.device = entry->mapped ? device->opened
                                : fr_devices_open(device->opened->devices, entry->source, &fault);
    if (!fr_write_home_begin(op, write->stage->graph, device, &what, &run))
        return;
    size_t size_bytes = (size_t)rows->row_count * rows->row_bytes;
    fr_staged *staged = fr_staging_take(run.opened, size_bytes, &fault);
    bool copied = staged && fr_write_down_copy(rows, &run, staged, size_bytes, &fault);
    if (staged && !copied) { /* what was put into the stream may still write it */
        staged->next = run.staged;
        run.staged = staged;
    }
    fr_fence *done = run.done;
    fr_fence_retain(done);
    fr_device_run_end(&run);
    if (copied) {
        device->down.staged = staged;
        device->down.done = done;
        fr_write_down_park(op, write->stage->graph, device);
        return;
    }
    fr_write_home_fail(op, &fault);
    if (run.recorded) {
        fr_write_device_hold(device, entry, done);
        fr_write_device_failed(device, done, run.opened);
    }
    fr_fence_release(done);
}

/* --- on the host ------------------------------------------------------------------------------ */

static bool fr_write_down_end(fr_op *op, const fr_write_op *write, const fr_write_down *down,
                              fr_row_source *rows)
{
    fr_store *store = write->stage->store;
    fr_write_plan plan;
    bool written;
    if (fr_fence_look(down->done) == FR_FENCE_LOST) {
        fr_op_fail(op, OVSTAGE_ERROR_OP_FAILED,
                   "CUDA device %d failed before its rows were copied: %s",
                   (int)down->done->opened->place, fr_opened_death(down->done->opened));
        return false;
    }
    rows->base = down->staged->memory;
    rows->row_stride_bytes = rows->row_bytes;
    rows->compact = true;
    rows->inner_dims = rows->element_bytes = 0;
    rows->buffer = NULL;
    const fr_write what = fr_write_down_what(op, write, rows);
    ovstage_api_status_t status = fr_store_write_prepare(store, &what, &plan);
    if (status != OVSTAGE_OK)
        status = fr_write_refused_by_store(op, write->stage, &what, status, &plan, &written);
    if (status != OVSTAGE_OK)
        return written;
    for (uint32_t chunk = 0; chunk < plan.chunk_count; chunk++)
        fr_store_write_chunk(&plan, chunk);
    fr_store_write_commit(store, &plan);
    return true;
}

void fr_write_down_one(fr_op *op, fr_write_op *write, fr_device_write *device)
{
    const fr_write_entry *entry = &write->entries[write->next_entry];
    fr_write_down *down = &device->down;
    fr_row_source rows;
    if (entry->from_host) {
        fr_write_one(op, write);
    } else {
        fr_write_entry_unpack(entry, &rows);
        rows.adoptable = NULL;
        if (!down->staged)
            fr_write_down_begin(op, write, device, &rows);
        if (!down->staged || device->is_parked)
            return;
        write->next_entry += fr_write_down_end(op, write, down, &rows);
        fr_write_down_let_go(down);
    }
    if (write->next_entry == write->entry_count && !fr_op_failed(op))
        fr_write_device_last(op, device);
}
