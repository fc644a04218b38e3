#include "runtime/dictionary/dictionary.h"
#include "runtime/store/slices.h"
#include "runtime/write/access.h"
#include "runtime/write/managed.h"
#include "runtime/write/write_sync.h"

#include <stdio.h>
#include <string.h>

/* A finite wait starts nothing that moves more than this (L8). */
#define FR_WRITE_LARGE_BYTES (64u << 10)

void fr_write_entry_pack(fr_write_entry *entry, const fr_payload *payload, fr_write_inner *inner)
{
    const fr_row_source *rows = &payload->rows;
    entry->base = rows->base;
    entry->row_stride_bytes = rows->row_stride_bytes;
    entry->has_mask = rows->mask != NULL;
    if (rows->mask)
        entry->mask = rows->mask;
    else
        entry->index_map = rows->index_map;
    entry->row_count = rows->row_count;
    entry->count = rows->count;
    entry->selected_count = rows->selected_count;
    entry->schema = payload->schema;
    entry->compact = rows->compact;
    entry->adoptable = rows->adoptable != NULL;
    if (rows->inner_dims == 0)
        return; /* arrays too */
    inner->dims = rows->inner_dims;
    inner->element_bytes = rows->element_bytes;
    memcpy(inner->shape, rows->inner_shape, sizeof(inner->shape));
    memcpy(inner->stride_bytes, rows->inner_stride_bytes, sizeof(inner->stride_bytes));
    entry->inner = inner;
}

void fr_write_entry_unpack(const fr_write_entry *entry, fr_row_source *rows)
{
    rows->base = entry->base; /* each by itself: most of a row source is for inner dimensions */
    rows->row_bytes = entry->schema.is_array ? (uint32_t)sizeof(fr_slice) : entry->schema.row_bytes;
    rows->row_count = entry->row_count;
    rows->count = entry->count;
    rows->compact = entry->compact;
    rows->index_map = entry->has_mask ? NULL : entry->index_map;
    rows->mask = entry->has_mask ? entry->mask : NULL;
    rows->positions = entry->positions ? entry->positions->rows : NULL;
    rows->selected_count = entry->selected_count;
    rows->row_stride_bytes = entry->row_stride_bytes;
    rows->adoptable = entry->adoptable ? entry->managed : NULL;
    rows->buffer = entry->mapped ? entry->buffer : NULL;
    rows->inner_dims = rows->element_bytes = 0;
    if (entry->schema.is_array || !entry->inner)
        return;
    rows->inner_dims = entry->inner->dims;
    rows->element_bytes = entry->inner->element_bytes;
    memcpy(rows->inner_shape, entry->inner->shape, sizeof(rows->inner_shape));
    memcpy(rows->inner_stride_bytes, entry->inner->stride_bytes, sizeof(rows->inner_stride_bytes));
}

uint64_t fr_write_entry_bytes(const fr_write_entry *entry)
{
    if (!entry->schema.is_array)
        return (uint64_t)entry->selected_count * entry->schema.row_bytes;
    uint64_t element_bytes = entry->mapped ? 0 : entry->array->total_bytes;
    return element_bytes + (uint64_t)entry->selected_count * sizeof(fr_slice);
}

void fr_write_fail(fr_op *op, ovstage_api_status_t status, const fr_stage *stage,
                   const fr_attribute *attribute, const fr_write_plan *plan)
{
    fr_op_fail(op, status, "%s: %s", fr_write_tell_key(stage, attribute, plan->refused_prim).text,
               plan->text);
}

/* Not OK: nothing is left to do of the entry, which is written, or the op has failed. */
static inline ovstage_api_status_t fr_write_prepare(fr_op *op, fr_write_op *write,
                                                    const fr_row_source *rows, fr_write_plan *plan)
{
    const fr_write_entry *entry = &write->entries[write->next_entry];
    bool written = false;
    fr_write what = {
        .attribute = entry->attribute,
        .schema = entry->schema,
        .query = write->query,
        .ordinal = fr_op_ordinal(op),
        .op_id = fr_op_id(op),
        .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
        .judge = entry->judge,
        .any_role = entry->any_role,
        .rows = rows,
        .array = entry->schema.is_array ? entry->array : NULL,
    };
    ovstage_api_status_t status = fr_store_write_prepare(write->stage->store, &what, plan);
    if (status != OVSTAGE_OK)
        status = fr_write_refused_by_store(op, write->stage, &what, status, plan, &written);
    write->next_entry += written;
    return status;
}

static void fr_write_commit(fr_write_op *write, fr_write_plan *plan)
{
    fr_write_entry *entry = &write->entries[write->next_entry++];
    bool adopts = plan->adopts;
    fr_store_write_commit(write->stage->store, plan);
    if (adopts && entry->mapped)
        entry->buffer = NULL;
    else if (adopts)
        entry->managed = NULL;
}

/* --- cut into chunks -------------------------------------------------------------------------- */

static fr_run_result fr_write_go_on(fr_op *op, fr_worker *worker);

static fr_write_split *fr_write_split_of(fr_job *job)
{
    return (fr_write_split *)(void *)((unsigned char *)job - offsetof(fr_write_split, job));
}

static void fr_write_split_body(fr_job *job, uint32_t chunk, fr_worker *worker)
{
    (void)worker;
    fr_store_write_chunk(&fr_write_split_of(job)->plan, chunk);
}

/* Both who started the chunks and who finished the last one come here, in any order; true for the
 * second. So a thread that does both goes on in its loop, and no stack grows with the entries. */
static bool fr_write_comes_second(fr_write_op *write)
{
    /* [write.left] pairs [write.left] : the second one sees what the first did to the op */
    return fr_exchange_acq_rel(&write->left, true);
}

/* The last chunk is done. */
static void fr_write_split_finished(fr_job *job, fr_worker *worker)
{
    fr_write_split *split = fr_write_split_of(job);
    fr_op *op = split->op;
    fr_write_op *write = fr_op_payload(op);
    fr_graph *graph = split->stage->graph;
    fr_write_commit(write, &split->plan);
    if (fr_write_comes_second(write) && fr_write_go_on(op, worker) == FR_RUN_DONE)
        fr_graph_op_finish(graph, op, worker);
}

static void fr_write_split_put(fr_write_split *split)
{
    fr_access *access = split->stage->access;
    fr_slabs_put(&access->splits, split);
    fr_access_split_ended(access);
}

static void fr_write_split_released(fr_job *job)
{
    fr_write_split_put(fr_write_split_of(job));
}

static const fr_job_type fr_write_split_type = {
    .body = fr_write_split_body,
    .finished = fr_write_split_finished,
    .released = fr_write_split_released,
};

/* A place for the plan that outlives run; NULL when helpers are not to be had: then the op is done
 * at one go. */
static fr_write_split *fr_write_split_get(fr_write_op *write, fr_op *op)
{
    const fr_write_entry *entry = &write->entries[write->next_entry];
    if (fr_write_entry_bytes(entry) <= FR_WRITE_SPLIT_BYTES ||
        fr_pool_worker_count(write->stage->pool) == 0)
        return NULL;
    fr_write_split *split = fr_slabs_get(&write->stage->access->splits);
    if (split) {
        fr_add_relaxed(&write->stage->access->splits_out, 1);
        split->stage = write->stage;
        split->op = op;
    }
    return split;
}

static fr_run_result fr_write_one_split(fr_op *op, fr_write_op *write, fr_write_split *split,
                                        fr_worker *worker)
{
    fr_pool *pool = write->stage->pool;
    fr_write_entry_unpack(&write->entries[write->next_entry], &split->rows);
    bool prepared = fr_write_prepare(op, write, &split->rows, &split->plan) == OVSTAGE_OK;
    if (!prepared || split->plan.chunk_count < 2) {
        for (uint32_t chunk = 0; prepared && chunk < split->plan.chunk_count; chunk++)
            fr_store_write_chunk(&split->plan, chunk);
        if (prepared)
            fr_write_commit(write, &split->plan);
        fr_write_split_put(split);
        return FR_RUN_DONE;
    }
    fr_job_init(&split->job, &fr_write_split_type, split->plan.chunk_count, fr_op_ordinal(op));
    fr_store_relaxed(&write->left, false); /* whoever sees the job begun sees this */
    /* [write.split.publish] pairs [write.split.read] : a helper must see a job that was begun */
    fr_store_release(&write->split, split);
    fr_job_start(&split->job, pool, worker);
    return fr_write_comes_second(write) ? FR_RUN_DONE : FR_RUN_SPLIT;
}

void fr_write_one(fr_op *op, fr_write_op *write)
{
    fr_row_source rows;
    fr_write_plan plan;
    fr_write_entry_unpack(&write->entries[write->next_entry], &rows);
    if (fr_write_prepare(op, write, &rows, &plan) != OVSTAGE_OK)
        return;
    for (uint32_t chunk = 0; chunk < plan.chunk_count; chunk++)
        fr_store_write_chunk(&plan, chunk);
    fr_write_commit(write, &plan);
}

/* The entries that are left, in order, until one fails or is cut into chunks. After SPLIT nothing
 * of the op may be touched. */
static fr_run_result fr_write_go_on(fr_op *op, fr_worker *worker)
{
    fr_write_op *write = fr_op_payload(op);
    while (write->next_entry < write->entry_count) {
        fr_write_split *split = fr_write_split_get(write, op);
        if (split && fr_write_one_split(op, write, split, worker) == FR_RUN_SPLIT)
            return FR_RUN_SPLIT;
        if (!split)
            fr_write_one(op, write);
        if (write->next_entry < write->entry_count && fr_op_failed(op))
            break;
    }
    return FR_RUN_DONE;
}

/* --- the op's functions ----------------------------------------------------------------------- */

static fr_run_result fr_write_run(fr_op *op, const fr_run_context *context)
{
    fr_write_op *write = fr_op_payload(op);
    if (!fr_write_meet_query(op, write) || write->next_entry == write->entry_count ||
        !fr_write_sync_judge(op, write))
        return FR_RUN_DONE;
    if (write->demand != FR_DEMAND_NONE && !fr_write_judge_demand(op, write))
        return FR_RUN_DONE;
    if (write->on_device)
        return fr_write_device_run(op, write, context);
    if (write->entry_count > 1 || write->payload_bytes > FR_WRITE_SPLIT_BYTES)
        return fr_write_go_on(op, context->worker);
    fr_write_one(op, write);
    return FR_RUN_DONE;
}

static void fr_write_help(fr_op *op, const fr_run_context *context)
{
    fr_write_op *write = fr_op_payload(op);
    /* [write.split.read] pairs [write.split.publish] : see there */
    fr_write_split *split = fr_load_acquire(&write->split);
    if (split)
        (void)fr_job_help(&split->job, context->worker);
}

static void fr_write_entry_let_go(const fr_write_op *write, const fr_write_entry *entry)
{
    if (entry->mapped) {
        fr_store_buffer_release(write->stage->store, entry->buffer);
        return;
    }
    fr_managed_delete(entry->managed, &write->stage->allocator);
    for (uint32_t t = 0; entry->schema.is_array && t < entry->array->tensor_count; t++)
        fr_managed_delete(entry->array->tensors[t].managed, &write->stage->allocator);
}

void fr_write_op_let_go(fr_write_op *write)
{
    for (uint32_t e = 0; e < write->entry_count; e++)
        fr_write_entry_let_go(write, &write->entries[e]);
    fr_write_device_let_go(write);
    fr_write_sync_let_go(write);
    if (write->block)
        fr_access_block_put(write->stage, write->block, write->block_bytes);
    fr_query_release(write->query);
}

static void fr_write_drop(fr_op *op)
{
    fr_write_op *write = fr_op_payload(op);
    fr_tally_add(&write->stage->finished_payload_bytes, write->payload_bytes);
    if (write->judged)
        fr_store_judgement_end(write->stage->store, fr_op_id(op));
    fr_write_device_end(op, write);
    fr_write_op_let_go(write);
}

/* The payload is only read: the record is handed out as one that may be written. */
static const fr_write_op *fr_write_payload(const fr_op *op)
{
    union {
        const fr_op *given;
        fr_op *same;
    } record = {op};
    return fr_op_payload(record.same);
}

static bool fr_write_is_large(const fr_op *op)
{
    return fr_write_payload(op)->payload_bytes > FR_WRITE_LARGE_BYTES;
}

/* Those alone that go to a device park. What the block says may be another op's by now. */
static void fr_write_tell(const fr_op *op, char *text, size_t text_bytes)
{
    (void)op;
    (void)snprintf(text, text_bytes,
                   "a stream of a device or pinned memory, while others have all, or rows on their "
                   "way to the host");
}

const fr_op_type fr_write_op_type = {
    .name = "write",
    .run = fr_write_run,
    .help = fr_write_help,
    .drop = fr_write_drop,
    .tell = fr_write_tell,
    .is_large = fr_write_is_large,
};
