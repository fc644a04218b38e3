#include "runtime/store/fold_place.h"

#include "runtime/store/head_place.h"
#include "runtime/store/placed_rows.h"
#include "runtime/store/store_state.h"

static bool fr_fold_is_written(const fr_version *version)
{
    return fr_placed_is_written(version->buffer->placed);
}

/* All is written, or too much waits: *waits. */
static bool fr_fold_is_due(const fr_segment *segment, const fr_version *base, bool *waits)
{
    bool written = fr_fold_is_written(base);
    uint32_t changes = 0;
    for (const fr_version *part = base; part != segment->sealed && changes < FR_FOLD_WAITING;
         changes++) {
        part = part->newer;
        written = written && fr_fold_is_written(part);
    }
#ifdef FR_MUTATE_DEVICE_FOLDS_UNWRITTEN
    written = true;
#endif
    *waits = !written;
    return written || changes >= FR_FOLD_WAITING;
}

/* The rows of a change over those of a full payload. */
static bool fr_fold_apply(const fr_store *store, fr_device_run *run, const fr_buffer *full,
                          const fr_version *part, fr_device_fault *fault)
{
    fr_set_list list;
    if (!fr_set_list_open(store->allocator, &part->change->rows, &list))
        return false;
    bool applied = fr_device_run_reads(run, part->buffer->placed, FR_USE_FOLDED, fault) &&
                   fr_placed_rows_move(run, full, list.rows, part->buffer, list.places, list.count,
                                       part->segment->column->row_bytes, fault);
    fr_set_list_close(store->allocator, &list);
    return applied;
}

static bool fr_fold_put(const fr_store *store, fr_device_run *run, const fr_segment *segment,
                        const fr_version *base, const fr_version *made, const fr_head_place *place)
{
    fr_device_fault fault;
    bool put = fr_device_run_writes(run, made->buffer->placed, FR_USE_NEXT_HEAD, &fault) &&
               fr_device_run_reads(run, base->buffer->placed, FR_USE_FOLDED, &fault) &&
               fr_head_place_fill(store, run, segment, base, place, made->buffer, &fault);
    for (const fr_version *part = base; put && part != segment->sealed;) {
        part = part->newer;
        put = fr_fold_apply(store, run, made->buffer, part, &fault);
    }
    return put && fr_device_run_record(run, &fault);
}

static bool fr_fold_begin(fr_device_run *run, const fr_segment *segment, uint64_t ordinal,
                          bool waits, fr_device_fault *fault)
{
    return fr_device_run_begin_in(run, fr_column_device(segment->column),
                                  waits ? FR_STREAM_STALLED : FR_STREAM_WORK, 0,
                                  waits ? ordinal : fr_streams_lane_of_seals(ordinal), NULL, fault);
}

/* False: the device or the host has no memory. */
static bool fr_fold_make(fr_store *store, fr_segment *segment, const fr_version *base, bool waits,
                         fr_version *made)
{
    fr_head_place place;
    fr_device_run run;
    fr_device_fault fault;
    fr_head_place_take(store, segment, base, &place);
    made->buffer = place.buffer;
    bool put = false;
    if (fr_fold_begin(&run, segment, made->ordinal, waits, &fault)) {
        if (!made->buffer)
            made->buffer = fr_column_buffer(segment->column, store->buffers, segment->row_count);
        put = made->buffer && fr_fold_put(store, &run, segment, base, made, &place);
        fr_device_run_end(&run);
    }
    if (put)
        fr_add_relaxed(
            place.buffer ? &store->counters.folds_with_spare : &store->counters.folds_with_copy, 1);
    fr_head_place_release(&place);
    return put;
}

fr_version *fr_fold_place(fr_store *store, fr_segment *segment, const fr_version *base)
{
    const fr_version *newest = segment->sealed;
    bool waits;
    if (!fr_fold_is_due(segment, base, &waits))
        return NULL;
    fr_version *made = fr_version_get(&store->versions, segment, newest->ordinal, FR_VERSION_FULL);
    if (made && !fr_fold_make(store, segment, base, waits, made)) {
        fr_version_drop(&store->versions, made);
        made = NULL;
    }
    if (!made)
        return NULL;
    fr_change_retain(newest->change);
    made->since = newest->change;
    made->previous_full = newest->previous_full;
    made->first_id = newest->first_id;
    return made;
}
