#include "runtime/device/scatter.h"

#include <string.h>

/* Up to so many runs of rows are copied one by one; above, a kernel takes lists of rows. */
#ifdef FR_SHRINK
#define FR_SCATTER_RUNS 2u
#else
#define FR_SCATTER_RUNS 16u
#endif

static uint32_t fr_listed_row(const uint32_t *rows, uint32_t k)
{
    return rows ? rows[k] : k;
}

bool fr_rows_are_one_run(const uint32_t *rows, uint32_t count)
{
    uint32_t k = 1;
    while (rows && k < count && rows[k] == rows[0] + k)
        k++;
    return !rows || k >= count;
}

/* How many rows from k on lie together in both. */
static uint32_t fr_listed_run(const fr_listed_move *move, uint32_t k)
{
    uint32_t to = fr_listed_row(move->to_rows, k), from = fr_listed_row(move->from_rows, k), n = 1;
    while (k + n < move->count && fr_listed_row(move->to_rows, k + n) == to + n &&
           fr_listed_row(move->from_rows, k + n) == from + n)
        n++;
    return n;
}

static bool fr_listed_is_few(const fr_listed_move *move)
{
    uint32_t runs = 0, most = move->at_once ? 1 : FR_SCATTER_RUNS;
    if (move->to_pitch != move->row_bytes || move->from_pitch != move->row_bytes)
        return false;
    for (uint32_t k = 0; k < move->count && runs <= most; runs++)
        k += fr_listed_run(move, k);
    return runs <= most;
}

static bool fr_listed_by_copies(const fr_listed_move *move, fr_device_run *run,
                                fr_device_fault *fault)
{
    for (uint32_t k = 0; k < move->count;) {
        uint32_t n = fr_listed_run(move, k);
        uint64_t to = move->to + (uint64_t)fr_listed_row(move->to_rows, k) * move->row_bytes;
        uint64_t from = move->from + (uint64_t)fr_listed_row(move->from_rows, k) * move->row_bytes;
        if (!fr_device_run_copy(run, to, from, (size_t)n * move->row_bytes, fault))
            return false;
        k += n;
    }
    return true;
}

/* --- lists on the device ---------------------------------------------------------------------- */

static bool fr_list_upload(fr_device_run *run, uint64_t to, const void *staged, size_t size_bytes,
                           fr_device_fault *fault)
{
#ifdef FR_MUTATE_DEVICE_LIST_EARLY
    fr_opened *opened = run->opened;
    const fr_address target = {opened->place, to},
                     source = {FR_PLACE_HOST, (uint64_t)(uintptr_t)staged};
    return opened->devices->table->copy(opened->blocks.stream.stream, target, source, size_bytes,
                                        fault);
#else
    return fr_device_run_upload(run, to, staged, size_bytes, fault);
#endif
}

/* The lists that there are, one behind the other; where they are then. */
static bool fr_list_bring(fr_device_run *run, const uint32_t *lists[2], uint32_t count,
                          uint64_t out[2], fr_device_fault *fault)
{
    size_t list_bytes = count * sizeof(uint32_t), at = 0;
    size_t size_bytes = (lists[0] ? list_bytes : 0) + (lists[1] ? list_bytes : 0);
    out[0] = out[1] = 0;
    if (size_bytes == 0)
        return true;
    unsigned char *staged = fr_device_run_stage(run, size_bytes, fault);
    fr_placed *there = staged ? fr_device_run_temporary(run, size_bytes, fault) : NULL;
    if (!there)
        return false;
    for (int k = 0; k < 2; k++) {
        if (!lists[k])
            continue;
        memcpy(staged + at, lists[k], list_bytes);
        out[k] = there->address + at;
        at += list_bytes;
    }
    return fr_list_upload(run, there->address, staged, size_bytes, fault);
}

/* Rows that follow each other need no list. */
static uint64_t fr_list_drop_run(const uint32_t **rows, uint32_t count, uint64_t at, uint64_t pitch)
{
    if (pitch != 0 && (!*rows || !fr_rows_are_one_run(*rows, count)))
        return at;
    at += *rows ? (*rows)[0] * pitch : 0;
    *rows = NULL;
    return at;
}

static bool fr_listed_by_lists(const fr_listed_move *move, fr_device_run *run,
                               fr_device_fault *fault)
{
    fr_row_move moved = {.to_pitch = move->to_pitch,
                         .from_pitch = move->from_pitch,
                         .row_bytes = move->row_bytes,
                         .count = move->count};
    const uint32_t *lists[2] = {move->to_rows, move->from_rows};
    uint64_t brought[2];
    moved.to = fr_list_drop_run(&lists[0], move->count, move->to, move->to_pitch);
    moved.from = fr_list_drop_run(&lists[1], move->count, move->from, move->from_pitch);
    if (!fr_list_bring(run, lists, move->count, brought, fault))
        return false;
    moved.to_rows = brought[0];
    moved.from_rows = brought[1];
    return fr_device_run_move(run, &moved, fault);
}

bool fr_device_run_move_listed(fr_device_run *run, const fr_listed_move *move,
                               fr_device_fault *fault)
{
    return fr_listed_is_few(move) ? fr_listed_by_copies(move, run, fault)
                                  : fr_listed_by_lists(move, run, fault);
}

bool fr_device_run_collect(fr_device_run *run, const fr_strided_copy *copy, fr_device_fault *fault)
{
    fr_opened *opened = run->opened;
    if (!opened->devices->table->copy_strided(run->stream, copy, fault)) {
        fr_opened_note(opened, fault);
        return false;
    }
    run->put = true;
    return true;
}
