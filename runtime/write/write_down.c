#include "runtime/write/write_down.h"

#include "runtime/hierarchy/compute.h"
#include "runtime/store/array_place.h"
#include "runtime/store/column.h"
#include "runtime/store/store_state.h"
#include "runtime/write/access.h"
#include "runtime/write/write_home.h"

/* The stage itself looks at such values, wherever they come from. */
static bool fr_write_stays_on_host(const fr_stage *stage, const fr_write_entry *entry)
{
    ovx_token_t token = entry->attribute->token;
#ifdef FR_MUTATE_DEVICE_HAS_WHAT_IS_LOOKED_AT
    return false;
#endif
    return fr_access_reserved(stage->access, token) != FR_RESERVED_NONE ||
           token == stage->store->config.alias_to || token == stage->hierarchy->reset ||
           token == stage->hierarchy->world || fr_schema_path_words(&entry->schema) > 0;
}

bool fr_write_goes_down(const fr_write_op *write, const fr_device_write *device)
{
    const fr_write_entry *entry = &write->entries[write->next_entry];
    if (entry->selected_count == 0)
        return false; /* nothing to bring */
    return device->down.staged || fr_write_stays_on_host(write->stage, entry) ||
           (device->stays_on_host && !fr_store_write_home(entry->attribute, &entry->schema)) ||
           fr_store_write_is_on_host(entry->attribute, &entry->schema);
}

void fr_write_down_let_go(fr_write_down *down)
{
    if (down->staged)
        fr_staging_give(down->staged);
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

/* What a session's rows, or their elements, lie in; NULL: nothing. */
static fr_placed *fr_write_down_mapped(const fr_write_entry *entry)
{
    return entry->schema.is_array ? fr_store_slices_placed(entry->buffer, entry->row_count)
                                  : entry->buffer->placed;
}

static uint64_t fr_write_down_bytes(const fr_write_entry *entry)
{
    if (!entry->schema.is_array)
        return (uint64_t)entry->row_count * entry->schema.row_bytes;
    if (!entry->mapped)
        return entry->array->total_bytes;
    return fr_store_slices_elements_bytes(entry->buffer, entry->row_count, entry->schema.row_bytes);
}

/* Where the rows lie one after the other: as they are, or put together. 0: the fault says why. */
static uint64_t fr_write_down_together(const fr_write_entry *entry, const fr_row_source *rows,
                                       fr_device_run *run, size_t size_bytes,
                                       fr_device_fault *fault)
{
    const fr_array_source *array = entry->schema.is_array ? entry->array : NULL;
    if (entry->mapped)
        return fr_write_down_mapped(entry)->address;
    if (array && array->packed && !array->tensors[0].dims)
        return (uint64_t)(uintptr_t)array->tensors[0].base;
    if (!array && rows->compact)
        return (uint64_t)(uintptr_t)rows->base;
    fr_placed *together = fr_device_run_temporary(run, size_bytes, fault);
    bool put = together && (array ? fr_array_source_gather(array, together->address, run, fault)
                                  : fr_store_rows_collect(rows, together->address, run, fault));
    return put ? together->address : 0;
}

static bool fr_write_down_copy(const fr_write_entry *entry, const fr_row_source *rows,
                               fr_device_run *run, fr_staged *staged, fr_device_fault *fault)
{
    size_t size_bytes = (size_t)fr_write_down_bytes(entry);
    if (entry->mapped &&
        !fr_device_run_reads(run, fr_write_down_mapped(entry), FR_USE_MAPPED_TO_HOST, fault))
        return false;
    uint64_t from = fr_write_down_together(entry, rows, run, size_bytes, fault);
    return from != 0 && fr_device_run_download(run, staged->memory, from, size_bytes, fault) &&
           fr_device_run_record(run, fault);
}

static void fr_write_down_park(fr_op *op, fr_graph *graph, fr_device_write *device)
{
#ifndef FR_MUTATE_DEVICE_WRITES_DOWN_EARLY
    device->is_parked = true;
    fr_fence_park(&device->down.over, device->down.done, graph, op);
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
    device->brings = true;
    if (!fr_write_home_begin(op, write->stage->graph, device, &what, &run))
        return;
    fr_staged *staged =
        fr_device_run_take_staging(&run, (size_t)fr_write_down_bytes(entry), &fault);
    bool copied = staged && fr_write_down_copy(entry, rows, &run, staged, &fault);
    fr_fence *done = run.done;
    fr_fence_retain(done);
    fr_device_run_end(&run);
    if (staged && !copied)
        fr_staging_give(staged);
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

static bool fr_write_down_is_there(fr_op *op, const fr_write_down *down)
{
    if (fr_fence_look(down->done) != FR_FENCE_LOST)
        return true;
    fr_op_fail(op, OVSTAGE_ERROR_OP_FAILED, "CUDA device %d failed before its rows were copied: %s",
               (int)down->done->opened->place, fr_opened_death(down->done->opened));
    return false;
}

/* The tensors are those of the host's copy from now on. */
static void fr_write_down_point(fr_array_source *array, const unsigned char *base)
{
    for (uint32_t t = 0; t < array->tensor_count; t++) {
        fr_array_tensor *tensor = &array->tensors[t];
        tensor->base = base;
        tensor->dims = NULL;
        tensor->adoptable = false;
        base += tensor->count * array->element_bytes;
    }
}

static bool fr_write_down_end(fr_op *op, const fr_write_op *write, const fr_write_down *down,
                              fr_row_source *rows)
{
    fr_store *store = write->stage->store;
    fr_write_plan plan;
    bool written;
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

/* The slices of a session are those of the host's copy. */
static bool fr_write_down_take(fr_op *op, fr_store *store, fr_write_entry *entry,
                               const unsigned char *elements)
{
    struct fr_buffer *slices = fr_store_slices_on_host(store, entry->buffer, entry->row_count,
                                                       entry->schema.row_bytes, elements);
    if (!slices) {
        fr_op_fail(op, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %llu bytes of elements",
                   (unsigned long long)fr_write_down_bytes(entry));
        return false;
    }
    fr_store_buffer_release(store, entry->buffer);
    entry->buffer = slices;
    return true;
}

/* Its rows are there, which the device was asked for. */
static void fr_write_down_write(fr_op *op, fr_write_op *write, const fr_write_down *down,
                                fr_row_source *rows)
{
    fr_write_entry *entry = &write->entries[write->next_entry];
    if (!fr_write_down_is_there(op, down))
        return;
    if (!entry->schema.is_array) {
        write->next_entry += fr_write_down_end(op, write, down, rows);
        return;
    }
    bool taken = true;
    if (entry->mapped)
        taken = fr_write_down_take(op, write->stage->store, entry, down->staged->memory);
    else
        fr_write_down_point(entry->array, down->staged->memory);
    if (taken)
        fr_write_one(op, write);
}

/* Of arrays without elements no device knows. */
static bool fr_write_down_is_on_host(const fr_write_entry *entry)
{
    return entry->from_host || (entry->schema.is_array && fr_write_down_bytes(entry) == 0);
}

void fr_write_down_one(fr_op *op, fr_write_op *write, fr_device_write *device)
{
    const fr_write_entry *entry = &write->entries[write->next_entry];
    fr_write_down *down = &device->down;
    fr_row_source rows;
    if (fr_write_down_is_on_host(entry)) {
        fr_write_one(op, write);
    } else {
        fr_write_entry_unpack(entry, &rows);
        rows.adoptable = NULL;
        if (!down->staged)
            fr_write_down_begin(op, write, device, &rows);
        if (!down->staged || device->is_parked)
            return;
        fr_write_down_write(op, write, down, &rows);
        fr_write_down_let_go(down);
    }
    if (write->next_entry == write->entry_count && !fr_op_failed(op))
        fr_write_device_last(op, device);
}
