/* The op behind ovstage_clone: all that can fail, then rows in chunks, then the commit. */
#include <stdio.h>
#include <string.h>

#include "runtime/clone/clone_work.h"
#include "runtime/floor/floors.h"
#include "runtime/write/access.h"
#include "runtime/write/write_op.h"

/* --- the record ------------------------------------------------------------------------------- */

fr_clone_work *fr_clone_work_get(fr_op *op)
{
    fr_clone_op *clone = fr_op_payload(op);
    fr_access *access = clone->stage->access;
    fr_clone_work *work = fr_slabs_get(&access->clones);
    if (!work)
        return NULL;
    fr_add_relaxed(&access->splits_out, 1);
    /* Not the job: a late helper may still look at it. */
    work->stage = clone->stage;
    work->op = op;
    work->clone = clone;
    work->ordinal = fr_op_ordinal(op);
    work->op_id = fr_op_id(op);
    work->prims = NULL;
    work->prim_count = work->prim_capacity = 0;
    memset(&work->paths, 0, sizeof(work->paths));
    fr_row_set_init(&work->paths.known, &work->stage->allocator, 0);
    work->has_current = work->is_found = work->is_parked = false;
    work->gathered_count = 0;
    memset(&work->wait, 0, sizeof(work->wait));
    work->pending = NULL;
    work->copy_count = 0;
    work->copies = work->index_map = NULL;
    work->copy_paths = NULL;
    memset(&work->query, 0, sizeof(work->query));
    work->prims_reserved = false;
    work->columns = NULL;
    work->column_count = work->reserved_count = 0;
    work->chunk_count = 0;
    return work;
}

static void fr_clone_column_clear(fr_clone_work *work, fr_clone_column *column)
{
    fr_store_buffer_release(work->stage->store, column->slices);
    fr_store_buffer_release(work->stage->store, column->elements);
    fr_memory_release(&work->stage->allocator, column->mask,
                      ((size_t)work->copy_count + 63) / 64 * sizeof(uint64_t));
}

void fr_clone_work_clear(fr_clone_work *work)
{
    const fr_allocator *allocator = &work->stage->allocator;
    fr_store *store = work->stage->store;
    uint32_t count = work->copy_count;
    fr_stream_wait_let_go(&work->wait);
    fr_fence_release(work->pending);
    for (uint32_t c = 0; c < work->column_count; c++)
        fr_clone_column_clear(work, &work->columns[c]);
    fr_memory_release(allocator, work->columns,
                      work->columns ? work->current.column_count * sizeof(*work->columns) : 0);
    fr_store_query_forget(store, &work->query);
    if (work->has_current)
        fr_current_release(&work->current);
    fr_memory_release(allocator, work->prims, work->prim_capacity * sizeof(*work->prims));
    fr_row_set_destroy(&work->paths.known);
    fr_memory_release(allocator, work->paths.parents,
                      work->paths.parent_capacity * sizeof(*work->paths.parents));
    fr_memory_release(allocator, work->paths.copies, work->paths.copies_bytes);
    fr_memory_release(allocator, work->copies, count * sizeof(*work->copies));
    fr_memory_release(allocator, work->copy_paths, count * sizeof(*work->copy_paths));
    fr_memory_release(allocator, work->index_map, count * sizeof(*work->index_map));
}

void fr_clone_work_put(fr_clone_work *work)
{
    fr_access *access = work->stage->access;
    fr_slabs_put(&access->clones, work);
    fr_access_split_ended(access);
}

bool fr_clone_no_memory(fr_clone_work *work)
{
    fr_op_fail(work->op, OVSTAGE_ERROR_OUT_OF_MEMORY,
               "no memory to clone %u prims to %u targets at ordinal %llu", work->prim_count,
               work->clone->target_count, (unsigned long long)work->ordinal);
    return false;
}

/* --- all that can fail ------------------------------------------------------------------------ */

/* Advances accepted before are executed; those accepted later wait for this op (D2). */
static bool fr_clone_judge_base(fr_clone_work *work)
{
    uint64_t base = fr_floors_executed_base(work->stage->floors);
    if (work->ordinal > base)
        return true;
    fr_op_fail(work->op, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
               "clone at ordinal %llu, which is not above the write floor %llu",
               (unsigned long long)work->ordinal, (unsigned long long)base);
    return false;
}

static bool fr_clone_judge_floors(fr_clone_work *work)
{
    fr_floors *floors = work->stage->floors;
    const fr_attribute *sealed = NULL;
    uint64_t floor = 0;
    const fr_floor_record *record = fr_floors_record_acquire(floors);
    for (uint32_t c = 0; c < work->current.column_count && !sealed; c++) {
        const fr_attribute *attribute = work->current.columns[c].column->attribute;
        floor = fr_floor_effective(record, attribute->index);
        sealed = floor >= work->ordinal ? attribute : NULL;
    }
    fr_floors_record_release(floors, record);
    if (sealed)
        fr_op_fail(work->op, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                   "clone at ordinal %llu, which is not above the write floor %llu of attribute "
                   "'%s', which lives on the source",
                   (unsigned long long)work->ordinal, (unsigned long long)floor,
                   fr_write_name(work->stage, sealed));
    return !sealed;
}

static bool fr_clone_find_keys(fr_clone_work *work)
{
    work->has_current = true;
    return fr_current_find(work->stage->store, work->prims, work->prim_count, work->ordinal,
                           work->op_id, &work->current) ||
           fr_clone_no_memory(work);
}

/* Once it is certain that none of them is sealed. */
static bool fr_clone_read_source(fr_clone_work *work)
{
    return fr_current_read(&work->current) || fr_clone_no_memory(work);
}

/* What was accepted later keeps what was found as it is: of a parked op it still holds. */
static bool fr_clone_find(fr_clone_work *work)
{
    if (work->is_found)
        return true;
    work->is_found = fr_clone_judge_base(work) && fr_clone_find_source(work) &&
                     fr_clone_find_keys(work) && fr_clone_judge_floors(work) &&
                     (work->clone->target_count == 0 || fr_clone_read_source(work));
    return work->is_found;
}

/* False: the op has failed, or is parked. */
static bool fr_clone_prepare(fr_clone_work *work)
{
    if (!fr_clone_find(work))
        return false;
    if (work->clone->target_count == 0)
        return true;
    if (!fr_clone_gather(work) || !fr_clone_find_references(work) || !fr_clone_make_paths(work))
        return false;
    work->query.stage = work->stage;
    work->query.count = work->copy_count;
    work->query.prims = work->copy_paths;
    return fr_clone_make_columns(work);
}

static void fr_clone_cancel(fr_clone_work *work)
{
    for (uint32_t c = 0; c < work->reserved_count; c++)
        fr_store_write_cancel(work->stage->store, &work->columns[c].plan);
    if (work->prims_reserved)
        fr_store_prims_cancel(work->stage->store, work->copy_count);
    fr_clone_work_clear(work);
}

/* --- what cannot ------------------------------------------------------------------------------ */

static void fr_clone_enter(fr_clone_work *work)
{
    for (uint32_t c = 0; c < work->column_count; c++) {
        fr_clone_column *column = &work->columns[c];
        fr_store_write_enter(work->stage->store, &column->plan);
        column->first_chunk = work->chunk_count;
        work->chunk_count += column->plan.chunk_count;
    }
}

static void fr_clone_commit(fr_clone_work *work)
{
    fr_store *store = work->stage->store;
    if (work->prims_reserved)
        fr_store_prims_enter(store, work->copies, work->copy_count, work->ordinal, work->op_id);
    for (uint32_t c = 0; c < work->column_count; c++)
        fr_store_write_commit(store, &work->columns[c].plan);
    fr_clone_work_clear(work);
}

/* The last column that begins at or before the chunk. */
static void fr_clone_chunk(fr_clone_work *work, uint64_t chunk)
{
    uint32_t low = 0, high = work->column_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (work->columns[middle].first_chunk <= chunk)
            low = middle;
        else
            high = middle;
    }
    fr_clone_column *column = &work->columns[low];
    fr_store_write_chunk(&column->plan, (uint32_t)(chunk - column->first_chunk));
}

static fr_clone_work *fr_clone_work_of(fr_job *job)
{
    return (fr_clone_work *)(void *)((unsigned char *)job - offsetof(fr_clone_work, job));
}

static void fr_clone_job_body(fr_job *job, uint32_t chunk, fr_worker *worker)
{
    (void)worker;
    fr_clone_chunk(fr_clone_work_of(job), chunk);
}

static bool fr_clone_comes_second(fr_clone_op *clone)
{
    /* [clone.left] pairs [clone.left] : the second one sees what the first did to the op */
    return fr_exchange_acq_rel(&clone->left, true);
}

/* The last chunk is done. */
static void fr_clone_job_finished(fr_job *job, fr_worker *worker)
{
    fr_clone_work *work = fr_clone_work_of(job);
    fr_op *op = work->op;
    fr_graph *graph = work->stage->graph;
    fr_clone_op *clone = work->clone;
    fr_clone_commit(work);
    if (fr_clone_comes_second(clone))
        fr_graph_op_finish(graph, op, worker);
}

static void fr_clone_job_released(fr_job *job)
{
    fr_clone_work_put(fr_clone_work_of(job));
}

static const fr_job_type fr_clone_job_type = {
    .body = fr_clone_job_body,
    .finished = fr_clone_job_finished,
    .released = fr_clone_job_released,
};

static fr_run_result fr_clone_start(fr_clone_work *work, fr_worker *worker)
{
    fr_clone_op *clone = work->clone;
    fr_pool *pool = work->stage->pool;
    fr_job_init(&work->job, &fr_clone_job_type, (uint32_t)work->chunk_count, work->ordinal);
    fr_store_relaxed(&clone->left, false); /* whoever sees the job begun sees this */
    /* [clone.work.publish] pairs [clone.work.read] : a helper must see a job that was begun */
    fr_store_release(&clone->work, work);
    fr_job_start(&work->job, pool, worker);
    return fr_clone_comes_second(clone) ? FR_RUN_DONE : FR_RUN_SPLIT;
}

/* --- the op's functions ----------------------------------------------------------------------- */

static fr_run_result fr_clone_run(fr_op *op, const fr_run_context *context)
{
    fr_clone_op *clone = fr_op_payload(op);
    fr_clone_work *work = clone->parked ? clone->parked : fr_clone_work_get(op);
    if (!work) {
        fr_op_fail(op, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory to clone to %u targets",
                   clone->target_count);
        return FR_RUN_DONE;
    }
    work->graph = context->graph;
    bool prepared = fr_clone_prepare(work);
    clone->parked = work->is_parked ? work : NULL;
    if (work->is_parked)
        return FR_RUN_PARKED;
    if (!prepared) {
        fr_clone_cancel(work);
        fr_clone_work_put(work);
        return FR_RUN_DONE;
    }
    fr_clone_enter(work);
    if (work->chunk_count > 1 && work->chunk_count <= FR_JOB_CHUNKS_MAX &&
        fr_pool_worker_count(work->stage->pool) > 0)
        return fr_clone_start(work, context->worker);
    for (uint64_t chunk = 0; chunk < work->chunk_count; chunk++)
        fr_clone_chunk(work, chunk);
    fr_clone_commit(work);
    fr_clone_work_put(work);
    return FR_RUN_DONE;
}

static void fr_clone_help(fr_op *op, const fr_run_context *context)
{
    fr_clone_op *clone = fr_op_payload(op);
    /* [clone.work.read] pairs [clone.work.publish] : see there */
    fr_clone_work *work = fr_load_acquire(&clone->work);
    if (work)
        (void)fr_job_help(&work->job, context->worker);
}

static void fr_clone_drop(fr_op *op)
{
    fr_clone_op *clone = fr_op_payload(op);
    if (clone->parked) {
        fr_clone_cancel(clone->parked);
        fr_clone_work_put(clone->parked);
    }
    if (clone->targets)
        fr_access_block_put(clone->stage, clone->targets,
                            clone->target_count * sizeof(*clone->targets));
}

static bool fr_clone_is_large(const fr_op *op)
{
    (void)op;
    return true;
}

static void fr_clone_tell(const fr_op *op, char *text, size_t text_bytes)
{
    (void)op;
    (void)snprintf(text, text_bytes, "a stream of a device, while others have all");
}

const fr_op_type fr_clone_op_type = {
    .name = "clone",
    .run = fr_clone_run,
    .help = fr_clone_help,
    .drop = fr_clone_drop,
    .tell = fr_clone_tell,
    .is_large = fr_clone_is_large,
};
