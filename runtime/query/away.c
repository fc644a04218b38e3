#include "runtime/query/away.h"

#include "runtime/api/placement.h"
#include "runtime/device/begin.h"
#include "runtime/device/pieces.h"
#include "runtime/store/store_state.h"

#include <stdio.h>

/* Of the payloads that were noted last, so many are looked through for another row of theirs. */
#define FR_AWAY_NEAR 8u

/* --- noting ----------------------------------------------------------------------------------- */

/* Room for one more. */
static bool fr_away_grow(const fr_away *away, void *items, size_t count, size_t *capacity,
                         size_t item_bytes)
{
    void **list = items;
    if (count < *capacity)
        return true;
    size_t larger = *capacity > 0 ? 2 * *capacity : 16;
    void *grown = fr_memory_grow(&away->stage->allocator, *list, *capacity * item_bytes,
                                 larger * item_bytes, 16);
    if (!grown)
        return false;
    *list = grown;
    *capacity = larger;
    return true;
}

/* The device's; UINT32_MAX without memory. */
static uint32_t fr_away_haul_of(fr_away *away, fr_opened *opened)
{
    void *hauls = away->hauls;
    for (uint32_t h = 0; h < away->haul_count; h++)
        if (away->hauls[h].opened == opened)
            return h;
    if (!fr_away_grow(away, &hauls, away->haul_count, &away->haul_capacity, sizeof(*away->hauls)))
        return UINT32_MAX;
    away->hauls = hauls;
    away->hauls[away->haul_count] = (fr_away_haul){.opened = opened};
    return (uint32_t)away->haul_count++;
}

/* The buffer's, which it takes over; UINT32_MAX without memory. */
static uint32_t fr_away_source_of(fr_away *away, fr_buffer *buffer)
{
    size_t first = away->source_count > FR_AWAY_NEAR ? away->source_count - FR_AWAY_NEAR : 0;
    for (size_t s = away->source_count; s-- > first;)
        if (away->sources[s].buffer == buffer) {
            fr_buffer_release(away->stage->store->buffers, buffer);
            return (uint32_t)s;
        }
    void *sources = away->sources;
    uint32_t haul = fr_away_haul_of(away, buffer->placed->opened);
    bool enough =
        haul != UINT32_MAX && fr_away_grow(away, &sources, away->source_count,
                                           &away->source_capacity, sizeof(*away->sources));
    away->sources = sources;
    if (!enough) {
        fr_buffer_release(away->stage->store->buffers, buffer);
        return UINT32_MAX;
    }
    away->sources[away->source_count] = (fr_away_source){.buffer = buffer, .haul = haul};
    return (uint32_t)away->source_count++;
}

bool fr_away_add(fr_away *away, size_t match, const fr_value_test *test, fr_latest *latest)
{
    fr_buffer *buffer = latest->away;
    void *values = away->values;
    latest->away = NULL;
    uint32_t source = fr_away_source_of(away, buffer);
    bool enough = source != UINT32_MAX &&
                  fr_away_grow(away, &values, away->count, &away->capacity, sizeof(*away->values));
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
                                                  .from_bytes = latest->away_bytes,
                                                  .count = latest->count};
    away->sources[source].count++;
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

static uint64_t fr_away_bytes(const fr_away_value *value)
{
    return value->count * value->test->schema.row_bytes;
}

/* Of the haul, and some candidate still hangs on it. */
static bool fr_away_is_of(const fr_away_source *source, uint32_t haul)
{
    return source->haul == haul && source->count > 0;
}

static bool fr_away_is_to_bring(const fr_away *away, uint32_t haul)
{
    bool is_to_bring = false;
    for (size_t s = 0; s < away->source_count && !is_to_bring; s++)
        is_to_bring = fr_away_is_of(&away->sources[s], haul);
    return is_to_bring && !away->hauls[haul].staged;
}

/* How large it will be. */
static uint64_t fr_away_haul_bytes(const fr_away *away, uint32_t haul)
{
    uint64_t size_bytes = 0;
    for (size_t k = 0; k < away->count; k++)
        if (away->sources[away->values[k].source].haul == haul)
            size_bytes += fr_away_bytes(&away->values[k]);
    return size_bytes;
}

/* Those that are moved with value k: parts of one size make few calls of many. */
static bool fr_away_goes_with(const fr_away *away, const fr_away_value *value, size_t k)
{
    const fr_away_value *first = &away->values[k];
    return value->test == first->test &&
           (value->source == first->source ||
            (first->test->schema.is_array &&
             away->sources[value->source].haul == away->sources[first->source].haul));
}

/* Value k and those that go with it, from *at_bytes on, which moves on. */
static bool fr_away_put_together(fr_away *away, size_t k, uint64_t to, uint64_t *at_bytes,
                                 fr_device_run *run, fr_device_fault *fault)
{
    fr_pieces pieces;
    bool put = true;
    const uint64_t first_bytes = *at_bytes;
    uint32_t before = UINT32_MAX;
    fr_pieces_open(&pieces, &away->stage->allocator);
    for (size_t n = k; n < away->count && put; n++) {
        fr_away_value *value = &away->values[n];
        if (!fr_away_goes_with(away, value, k))
            continue;
        put = fr_pieces_add(
            &pieces, fr_away_placed(&away->sources[value->source])->address + value->from_bytes,
            fr_away_bytes(value), value->source == before, fault);
        before = value->source;
        value->is_put = true;
        value->at_bytes = *at_bytes;
        *at_bytes += fr_away_bytes(value);
    }
    put = put && fr_pieces_join(&pieces, to + first_bytes, run, fault);
    fr_pieces_close(&pieces);
    return put;
}

/* All of them, to memory of the device. */
static bool fr_away_gather(fr_away *away, uint32_t haul, uint64_t to, fr_device_run *run,
                           fr_device_fault *fault)
{
    bool put = true;
    uint64_t at_bytes = 0;
    for (size_t s = 0; s < away->source_count && put; s++)
        if (fr_away_is_of(&away->sources[s], haul))
            put =
                fr_device_run_reads(run, fr_away_placed(&away->sources[s]), FR_USE_FILTERED, fault);
    for (size_t k = 0; k < away->count && put; k++)
        if (away->sources[away->values[k].source].haul == haul && !away->values[k].is_put)
            put = fr_away_put_together(away, k, to, &at_bytes, run, fault);
    return put;
}

/* Gathered there, and then to the host. */
static bool fr_away_haul_all(fr_away *away, uint32_t haul, fr_device_run *run,
                             fr_device_fault *fault)
{
    fr_away_haul *there = &away->hauls[haul];
    size_t size_bytes = (size_t)fr_away_haul_bytes(away, haul);
    fr_placed *together = fr_device_run_temporary(run, size_bytes, fault);
    bool gathered = together && fr_away_gather(away, haul, together->address, run, fault);
    fr_staged *staged = gathered ? fr_device_run_take_staging(run, size_bytes, fault) : NULL;
    if (!staged)
        return false;
    there->staged = staged;
    there->brought = run->done;
    fr_fence_retain(there->brought);
    return fr_device_run_download(run, staged->memory, together->address, size_bytes, fault);
}

/* The write that one of them waits for; a reference, or NULL. */
static fr_fence *fr_away_find_stalling(const fr_away *away, uint32_t haul)
{
    fr_fence *pending = NULL;
    for (size_t s = 0; s < away->source_count && !pending; s++)
        if (fr_away_is_of(&away->sources[s], haul))
            pending = fr_placed_stalled_by(fr_away_placed(&away->sources[s]));
    return pending;
}

static bool fr_away_has_any(const fr_away *away)
{
    bool has = false;
    for (size_t h = 0; h < away->haul_count && !has; h++)
        has = away->hauls[h].staged != NULL;
    return has;
}

/* A stream for what lies on the device. False: the op is parked, or the fault says why not. */
static bool fr_away_begin(fr_away *away, uint32_t haul, fr_device_run *run, fr_device_fault *fault)
{
    fr_fence_release(away->pending);
    away->pending = fr_away_find_stalling(away, haul);
    const fr_run_wish wish = {.opened = away->hauls[haul].opened,
                              .kind = fr_device_run_kind(away->pending),
                              .lane = fr_streams_lane_of_task(fr_op_id(away->op)),
                              .dep = away->pending,
                              .brings = true,
                              .has_begun = fr_away_has_any(away),
                              .graph = away->graph,
                              .op = away->op};
    fr_run_outcome outcome = fr_run_wish_begin(&wish, &away->wait, run, fault);
    away->is_parked = outcome == FR_RUN_WAITS;
    return outcome == FR_RUN_HAS_BEGUN;
}

static bool fr_away_bring_from(fr_away *away, uint32_t haul, fr_device_fault *fault)
{
    fr_device_run run;
    if (!fr_away_begin(away, haul, &run, fault))
        return false;
    bool put = fr_away_haul_all(away, haul, &run, fault) && fr_device_run_record(&run, fault);
    fr_device_run_end(&run);
    return put;
}

static ovstage_api_status_t fr_away_check(const fr_away *away, const fr_away_source *source,
                                          char *text, size_t text_bytes)
{
    const fr_away_haul *haul = &away->hauls[source->haul];
    if (fr_fence_look(haul->brought) != FR_FENCE_LOST &&
        fr_placed_lost(fr_away_placed(source)) == 0)
        return OVSTAGE_OK;
    (void)snprintf(text, text_bytes, "values on CUDA device %d were lost: %s",
                   (int)haul->opened->place, fr_opened_death(haul->opened));
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
    for (uint32_t h = 0; h < away->haul_count && put; h++)
        if (fr_away_is_to_bring(away, h))
            put = fr_away_bring_from(away, h, &fault);
#ifndef FR_MUTATE_DEVICE_HOST_READS_EARLY
    for (size_t h = 0; h < away->haul_count && put && !away->is_parked; h++)
        if (away->hauls[h].staged && !fr_fence_is_over(away->hauls[h].brought)) {
            away->is_parked = true;
            fr_fence_park(&away->over, away->hauls[h].brought, graph, op);
        }
#endif
    *parked = away->is_parked;
    if (!put && !away->is_parked) {
        (void)snprintf(text, text_bytes, "values on a device: %s", fault.text);
        return fr_placement_status(&fault);
    }
    ovstage_api_status_t status = OVSTAGE_OK;
    for (size_t s = 0; s < away->source_count && status == OVSTAGE_OK && !*parked; s++)
        if (away->sources[s].count > 0)
            status = fr_away_check(away, &away->sources[s], text, text_bytes);
    return status;
}

const unsigned char *fr_away_elements(const fr_away *away, const fr_away_value *value)
{
    return away->hauls[away->sources[value->source].haul].staged->memory + value->at_bytes;
}

/* --- the end ---------------------------------------------------------------------------------- */

void fr_away_release(fr_away *away)
{
    const fr_allocator *allocator = &away->stage->allocator;
    fr_stream_wait_let_go(&away->wait);
    fr_fence_release(away->pending);
    for (size_t h = 0; h < away->haul_count; h++) {
        if (away->hauls[h].staged)
            fr_staging_give(away->hauls[h].staged);
        fr_fence_release(away->hauls[h].brought);
    }
    for (size_t s = 0; s < away->source_count; s++)
        fr_buffer_release(away->stage->store->buffers, away->sources[s].buffer);
    fr_memory_release(allocator, away->hauls, away->haul_capacity * sizeof(*away->hauls));
    fr_memory_release(allocator, away->sources, away->source_capacity * sizeof(*away->sources));
    fr_memory_release(allocator, away->values, away->capacity * sizeof(*away->values));
}
