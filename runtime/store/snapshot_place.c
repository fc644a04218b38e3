/* Gathers of rows that lie on a device, there. */
#include <string.h>

#include "runtime/device/run.h"
#include "runtime/store/snapshot.h"
#include "runtime/store/store_state.h"

/* Up to so many runs of rows are copied one by one; above, a kernel takes lists of rows. */
#ifdef FR_SHRINK
#define FR_GATHER_RUNS 2u
#else
#define FR_GATHER_RUNS 16u
#endif

/* The rows of one source: which, and which rows of the group they become. */
typedef struct fr_gather {
    const uint32_t *rows, *outs; /* NULL: in order */
    uint32_t first_out, count, row_bytes;
    uint64_t to, from;
} fr_gather;

static uint32_t fr_gather_row(const fr_gather *gather, uint32_t k)
{
    return gather->rows ? gather->rows[k] : k;
}

static uint32_t fr_gather_out(const fr_gather *gather, uint32_t k)
{
    return gather->outs ? gather->outs[k] : gather->first_out + k;
}

/* How many rows from k on lie together in both. */
static uint32_t fr_gather_run(const fr_gather *gather, uint32_t k)
{
    uint32_t row = fr_gather_row(gather, k), out = fr_gather_out(gather, k), n = 1;
    while (k + n < gather->count && fr_gather_row(gather, k + n) == row + n &&
           fr_gather_out(gather, k + n) == out + n)
        n++;
    return n;
}

static bool fr_gather_is_few(const fr_gather *gather)
{
    uint32_t runs = 0;
    for (uint32_t k = 0; k < gather->count && runs <= FR_GATHER_RUNS; runs++)
        k += fr_gather_run(gather, k);
    return runs <= FR_GATHER_RUNS;
}

static bool fr_gather_by_copies(const fr_gather *gather, fr_device_run *run, fr_device_fault *fault)
{
    for (uint32_t k = 0; k < gather->count;) {
        uint32_t n = fr_gather_run(gather, k);
        uint64_t to = gather->to + (uint64_t)fr_gather_out(gather, k) * gather->row_bytes;
        uint64_t from = gather->from + (uint64_t)fr_gather_row(gather, k) * gather->row_bytes;
        if (!fr_device_run_copy(run, to, from, (size_t)n * gather->row_bytes, fault))
            return false;
        k += n;
    }
    return true;
}

/* A list of rows on the device; *out 0: there is none to be had of NULL. */
static bool fr_gather_list(fr_device_run *run, const uint32_t *list, uint32_t count, uint64_t *out,
                           fr_device_fault *fault)
{
    size_t size_bytes = count * sizeof(*list);
    *out = 0;
    if (!list)
        return true;
    void *staged = fr_device_run_stage(run, size_bytes, fault);
    fr_placed *there = staged ? fr_device_run_temporary(run, size_bytes, fault) : NULL;
    if (!there)
        return false;
    memcpy(staged, list, size_bytes);
    *out = there->address;
    return fr_device_run_upload(run, there->address, staged, size_bytes, fault);
}

static bool fr_gather_by_lists(const fr_gather *gather, fr_device_run *run, fr_device_fault *fault)
{
    fr_row_move move = {.to = gather->to +
                              (gather->outs ? 0 : (uint64_t)gather->first_out * gather->row_bytes),
                        .from = gather->from,
                        .to_pitch = gather->row_bytes,
                        .from_pitch = gather->row_bytes,
                        .row_bytes = gather->row_bytes,
                        .count = gather->count};
    return fr_gather_list(run, gather->rows, gather->count, &move.from_rows, fault) &&
           fr_gather_list(run, gather->outs, gather->count, &move.to_rows, fault) &&
           fr_device_run_move(run, &move, fault);
}

bool fr_snapshot_gather_placed(const fr_snapshot *snapshot, fr_device_run *run, fr_placed *to,
                               fr_device_fault *fault)
{
    for (uint32_t s = 0; s < snapshot->source_count; s++) {
        const fr_source *source = &snapshot->sources[s];
        const fr_version *base = source->only ? source->only : source->versions[0];
        const fr_gather gather = {.rows = snapshot->rows ? snapshot->rows + source->first : NULL,
                                  .outs = snapshot->outs ? snapshot->outs + source->first : NULL,
                                  .first_out = source->first,
                                  .count = source->count,
                                  .row_bytes = snapshot->column->row_bytes,
                                  .to = to->address,
                                  .from = base->buffer->placed->address};
        if (!fr_device_run_reads(run, base->buffer->placed, fault))
            return false;
        bool moved = fr_gather_is_few(&gather) ? fr_gather_by_copies(&gather, run, fault)
                                               : fr_gather_by_lists(&gather, run, fault);
        if (!moved)
            return false;
    }
    fr_add_relaxed(&snapshot->store->counters.gathers, 1);
    return true;
}
