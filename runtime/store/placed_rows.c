#include "runtime/store/placed_rows.h"

bool fr_set_list_open(const fr_allocator *allocator, const fr_row_set *set, fr_set_list *out)
{
    *out = (fr_set_list){.rows = set->rows, .count = set->count};
    if (!fr_row_set_is_bitmap(set))
        return true;
    out->own = fr_memory_allocate(allocator, set->count * sizeof(*out->own), 16);
    if (!out->own)
        return false;
    uint32_t count = 0;
    for (uint32_t word = 0; word < (set->universe + 63) / 64; word++)
        for (uint64_t bits = set->bitmap[word]; bits; bits &= bits - 1)
            out->own[count++] = 64 * word + (uint32_t)__builtin_ctzll(bits);
    out->rows = out->places = out->own;
    return true;
}

void fr_set_list_close(const fr_allocator *allocator, fr_set_list *list)
{
    fr_memory_release(allocator, list->own, list->own ? list->count * sizeof(*list->own) : 0);
}

bool fr_placed_rows_move(fr_device_run *run, const fr_buffer *to, const uint32_t *to_rows,
                         const fr_buffer *from, const uint32_t *from_rows, uint32_t count,
                         uint32_t row_bytes, fr_device_fault *fault)
{
    const fr_listed_move move = {.to = to->placed->address,
                                 .from = from->placed->address,
                                 .to_pitch = row_bytes,
                                 .from_pitch = row_bytes,
                                 .row_bytes = row_bytes,
                                 .count = count,
                                 .to_rows = to_rows,
                                 .from_rows = from_rows};
    return fr_device_run_move_listed(run, &move, fault);
}
