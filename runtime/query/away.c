#include "runtime/query/away.h"

#include "runtime/api/placement.h"
#include "runtime/device/scatter.h"
#include "runtime/store/store_state.h"

#include <stdio.h>

/* Of the payloads that were noted last, so many are looked through for another row of theirs. */
#define FR_AWAY_NEAR 8u

/* --- noting ----------------------------------------------------------------------------------- */

static bool fr_away_grow(const fr_away *away, void *items, size_t *capacity, size_t item_bytes)
{
    void **list = items;
    size_t larger = *capacity > 0 ? 2 * *capacity : 16;
    void *grown = fr_memory_grow(&away->stage->allocator, *list, *capacity * item_bytes,
                                 larger * item_bytes, 16);
    if (!grown)
        return false;
    *list = grown;
    *capacity = larger;
    return true;
}

/* The buffer's, which it takes over; UINT32_MAX without memory. */
static uint32_t fr_away_source_of(fr_away *away, fr_buffer *buffer, uint32_t row_bytes)
{
    uint32_t first = away->source_count > FR_AWAY_NEAR ? away->source_count - FR_AWAY_NEAR : 0;
    size_t capacity = away->source_capacity;
    for (uint32_t s = away->source_count; s-- > first;)
        if (away->sources[s].buffer == buffer) {
            fr_buffer_release(away->stage->store->buffers, buffer);
            return s;
        }
    void *sources = away->sources;
    if (away->source_count == capacity &&
        !fr_away_grow(away, &sources, &capacity, sizeof(*away->sources))) {
        fr_buffer_release(away->stage->store->buffers, buffer);
        return UINT32_MAX;
    }
    away->sources = sources;
    away->source_capacity = (uint32_t)capacity;
    away->sources[away->source_count] = (fr_away_source){.buffer = buffer, .row_bytes = row_bytes};
    return away->source_count++;
}

bool fr_away_add(fr_away *away, size_t match, const fr_value_test *test, fr_latest *latest)
{
    fr_buffer *buffer = latest->away;
    void *values = away->values;
    latest->away = NULL;
    uint32_t source = fr_away_source_of(away, buffer, test->schema.row_bytes);
    bool enough = source != UINT32_MAX &&
                  (away->count < away->capacity ||
                   fr_away_grow(away, &values, &away->capacity, sizeof(*away->values)));
    away->values = values;
#ifdef FR_MUTATE_DEVICE_AWAY_FORGETS_MEMORY
    away->no_memory = false;
#endif
    away->no_memory = away->no_memory || !enough;
    if (!enough)
        return false;
    away->values[away->count++] = (fr_away_value){.match = match,
                                                  .test = test,
                                                  .source = source,
                                                  .row = latest->away_row,
                                                  .place = away->sources[source].count++};
    return true;
}

void fr_away_cut(fr_away *away, size_t count)
{
    while (away->count > count)
        away->sources[away->values[--away->count].source].count--;
}

/* --- bringing --------------------------------------------------------------------------------- */

static fr_placed *fr_away_placed(const fr_away_source *source)
{
    return source->buffer->placed;
}

static bool fr_away_is_to_bring(const fr_away_source *source)
{
    return source->count > 0 && !source->staged;
}

/* Gathered there, and then to the host. */
static bool fr_away_bring_source(fr_away *away, uint32_t s, fr_device_run *run,
                                 fr_device_fault *fault)
{
    fr_away_source *source = &away->sources[s];
    fr_placed *from = fr_away_placed(source);
    size_t size_bytes = (size_t)source->count * source->row_bytes;
    size_t rows_bytes = source->count * sizeof(uint32_t);
    uint32_t *rows = fr_memory_allocate(&away->stage->allocator, rows_bytes, 16);
    if (!rows) {
        fr_device_fault_memory(fault, rows_bytes);
        return false;
    }
    for (size_t k = 0; k < away->count; k++)
        if (away->values[k].source == s)
            rows[away->values[k].place] = away->values[k].row;
    fr_placed *together = fr_device_run_temporary(run, size_bytes, fault);
    fr_listed_move move = {.from = from->address,
                           .from_pitch = source->row_bytes,
                           .to_pitch = source->row_bytes,
                           .row_bytes = source->row_bytes,
                           .count = source->count,
                           .from_rows = rows};
    bool moved = together && fr_device_run_reads(run, from, fault);
    if (moved) {
        move.to = together->address;
        moved = fr_device_run_move_listed(run, &move, fault);
    }
    fr_memory_release(&away->stage->allocator, rows, rows_bytes);
    fr_staged *staged = moved ? fr_staging_take(run->opened, size_bytes, fault) : NULL;
    if (!staged)
        return false;
    source->staged = staged;
    source->brought = run->done;
    fr_fence_retain(source->brought);
    return fr_device_run_download(run, staged->memory, together->address, size_bytes, fault);
}

/* The write that one of them waits for; a reference, or NULL. */
static fr_fence *fr_away_find_pending(const fr_away *away, const fr_opened *opened)
{
    fr_fence *pending = NULL;
    for (uint32_t s = 0; s < away->source_count && !pending; s++) {
        const fr_away_source *source = &away->sources[s];
        if (!fr_away_is_to_bring(source) || fr_away_placed(source)->opened != opened)
            continue;
        pending = fr_placed_written(fr_away_placed(source));
        if (pending && fr_fence_is_over(pending)) {
            fr_fence_release(pending);
            pending = NULL;
        }
    }
    return pending;
}

/* A stream for what lies on the device. False: the op is parked, or the fault says why not. */
static bool fr_away_begin(fr_away *away, fr_opened *opened, fr_device_run *run,
                          fr_device_fault *fault)
{
    uint64_t lane = fr_streams_lane_of_task(fr_op_id(away->op));
    fr_own_stream *given = fr_stream_wait_take(&away->wait, opened);
    fr_fence_release(away->pending);
    away->pending = fr_away_find_pending(away, opened);
    fr_stream_kind kind = fr_device_run_kind(away->pending);
    bool begun = given ? fr_device_run_begin_given(run, opened, given, NULL, fault)
                       : fr_device_run_begin_in(run, opened, kind, 0, lane, NULL, fault);
    away->is_parked = !begun && run->all_busy;
    if (away->is_parked)
        fr_stream_park(&away->wait, opened, kind, lane, away->pending, away->graph, away->op);
    return begun;
}

static bool fr_away_bring_from(fr_away *away, fr_opened *opened, fr_device_fault *fault)
{
    fr_device_run run;
    if (!fr_away_begin(away, opened, &run, fault))
        return false;
    bool put = true;
    for (uint32_t s = 0; s < away->source_count && put; s++)
        if (fr_away_is_to_bring(&away->sources[s]) &&
            fr_away_placed(&away->sources[s])->opened == opened)
            put = fr_away_bring_source(away, s, &run, fault);
    put = put && fr_device_run_record(&run, fault);
    fr_device_run_end(&run);
    return put;
}

static void fr_away_is_over(fr_fence_call *call)
{
    fr_away *away = (fr_away *)(void *)((unsigned char *)call - offsetof(fr_away, over));
#ifdef FR_MUTATE_DEVICE_AWAY_IS_LEFT
    (void)away;
#else
    fr_graph_op_resume(away->graph, away->op);
#endif
}

static void fr_away_park(fr_away *away, fr_fence *fence)
{
    away->is_parked = true;
    away->over = (fr_fence_call){.run = fr_away_is_over};
    fr_op_park(away->op);
    if (!fr_fence_when_over(fence, &away->over))
        fr_graph_op_resume(away->graph, away->op);
}

static ovstage_api_status_t fr_away_check(const fr_away_source *source, char *text,
                                          size_t text_bytes)
{
    fr_placed *placed = fr_away_placed(source);
    if (fr_fence_look(source->brought) != FR_FENCE_LOST && fr_placed_lost(placed) == 0)
        return OVSTAGE_OK;
    (void)snprintf(text, text_bytes, "values on CUDA device %d were lost: %s",
                   (int)placed->opened->place, fr_opened_death(placed->opened));
    return OVSTAGE_ERROR_OP_FAILED;
}

ovstage_api_status_t fr_away_bring(fr_away *away, fr_op *op, fr_graph *graph, bool *parked,
                                   char *text, size_t text_bytes)
{
    fr_device_fault fault;
    away->op = op;
    away->graph = graph;
    away->is_parked = false;
    bool put = true;
    for (uint32_t s = 0; s < away->source_count && put; s++)
        if (fr_away_is_to_bring(&away->sources[s]))
            put = fr_away_bring_from(away, fr_away_placed(&away->sources[s])->opened, &fault);
#ifndef FR_MUTATE_DEVICE_HOST_READS_EARLY
    for (uint32_t s = 0; s < away->source_count && put && !away->is_parked; s++)
        if (away->sources[s].staged && !fr_fence_is_over(away->sources[s].brought))
            fr_away_park(away, away->sources[s].brought);
#endif
    *parked = away->is_parked;
    if (!put && !away->is_parked) {
        (void)snprintf(text, text_bytes, "values on a device: %s", fault.text);
        return fr_placement_status(&fault);
    }
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t s = 0; s < away->source_count && status == OVSTAGE_OK && !*parked; s++)
        if (away->sources[s].staged)
            status = fr_away_check(&away->sources[s], text, text_bytes);
    return status;
}

const unsigned char *fr_away_row(const fr_away *away, const fr_away_value *value)
{
    const fr_away_source *source = &away->sources[value->source];
    return source->staged->memory + (size_t)value->place * source->row_bytes;
}

/* --- the end ---------------------------------------------------------------------------------- */

void fr_away_release(fr_away *away)
{
    const fr_allocator *allocator = &away->stage->allocator;
    fr_stream_wait_let_go(&away->wait);
    fr_fence_release(away->pending);
    for (uint32_t s = 0; s < away->source_count; s++) {
        fr_away_source *source = &away->sources[s];
        if (source->staged)
            fr_staging_give_after(source->staged, source->brought);
        fr_fence_release(source->brought);
        fr_buffer_release(away->stage->store->buffers, source->buffer);
    }
    fr_memory_release(allocator, away->sources, away->source_capacity * sizeof(*away->sources));
    fr_memory_release(allocator, away->values, away->capacity * sizeof(*away->values));
}
