/* Gathers of rows that lie on a device, there: those of the FULL version of a source, and over them
 * those of the changes, in the order in which they lie over each other. */
#include "runtime/store/placed_rows.h"
#include "runtime/store/snapshot.h"
#include "runtime/store/store_state.h"

typedef struct fr_gather {
    const fr_snapshot *snapshot;
    const fr_source *source;
    const uint32_t *rows, *outs; /* of the source; NULL: in order */
    fr_device_run *run;
    uint64_t to;
} fr_gather;

static bool fr_gather_move(const fr_gather *gather, const fr_buffer *from, const uint32_t *outs,
                           const uint32_t *rows, uint32_t count, fr_device_fault *fault)
{
    uint32_t row_bytes = gather->snapshot->column->row_bytes;
    const fr_listed_move move = {.to = gather->to +
                                       (outs ? 0 : (uint64_t)gather->source->first * row_bytes),
                                 .from = from->placed->address,
                                 .to_pitch = row_bytes,
                                 .from_pitch = row_bytes,
                                 .row_bytes = row_bytes,
                                 .count = count,
                                 .to_rows = outs,
                                 .from_rows = rows};
    return fr_device_run_move_listed(gather->run, &move, fault);
}

/* The rows of a change that the source has, as the group has them. */
static uint32_t fr_gather_find(const fr_gather *gather, const fr_version *version, uint32_t *outs,
                               uint32_t *places)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < gather->source->count; k++) {
        uint32_t row = gather->rows ? gather->rows[k] : k;
        places[count] = fr_row_set_place(&version->change->rows, row);
        outs[count] = gather->outs ? gather->outs[k] : gather->source->first + k;
        count += places[count] != FR_ROW_SET_NONE;
    }
    return count;
}

static bool fr_gather_over(const fr_gather *gather, const fr_version *version,
                           fr_device_fault *fault)
{
    const fr_allocator *allocator = gather->snapshot->store->allocator;
    size_t list_bytes = gather->source->count * sizeof(uint32_t);
    uint32_t *outs = fr_memory_allocate(allocator, 2 * list_bytes, 16);
    if (!outs) {
        fr_device_fault_memory(fault, 2 * list_bytes);
        return false;
    }
    uint32_t *places = outs + gather->source->count;
    uint32_t count = fr_gather_find(gather, version, outs, places);
    bool moved =
        count == 0 ||
        (fr_device_run_reads(gather->run, version->buffer->placed, FR_USE_GATHER_CHANGE, fault) &&
         fr_gather_move(gather, version->buffer, outs, places, count, fault));
    fr_memory_release(allocator, outs, 2 * list_bytes);
    return moved;
}

fr_fence *fr_snapshot_stalled_by(const fr_snapshot *snapshot)
{
    fr_fence *pending = NULL;
    for (uint32_t s = 0; s < snapshot->source_count && !pending; s++) {
        const fr_source *source = &snapshot->sources[s];
        if (source->only)
            pending = fr_placed_stalled_by(source->only->buffer->placed);
        for (uint32_t v = 0; !source->only && v < source->version_count && !pending; v++)
            pending = fr_placed_stalled_by(source->versions[v]->buffer->placed);
    }
    return pending;
}

bool fr_snapshot_gather_placed(const fr_snapshot *snapshot, fr_device_run *run, fr_placed *to,
                               fr_device_fault *fault)
{
    for (uint32_t s = 0; s < snapshot->source_count; s++) {
        const fr_source *source = &snapshot->sources[s];
        const fr_version *base = source->only ? source->only : source->versions[0];
        const fr_gather gather = {.snapshot = snapshot,
                                  .source = source,
                                  .rows = snapshot->rows ? snapshot->rows + source->first : NULL,
                                  .outs = snapshot->outs ? snapshot->outs + source->first : NULL,
                                  .run = run,
                                  .to = to->address};
        bool moved =
            fr_device_run_reads(run, base->buffer->placed, FR_USE_GATHER_BASE, fault) &&
            fr_gather_move(&gather, base->buffer, gather.outs, gather.rows, source->count, fault);
        for (uint32_t v = 1; v < source->version_count && moved; v++)
            moved = fr_gather_over(&gather, source->versions[v], fault);
        if (!moved)
            return false;
    }
    fr_add_relaxed(&snapshot->store->counters.gathers, 1);
    return true;
}
