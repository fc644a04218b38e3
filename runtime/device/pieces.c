#include "runtime/device/pieces.h"

/* Memory that was allocated begins at a multiple of so many bytes: what begins there may be other
 * memory than what ends there, which no copy may go over. */
#define FR_PIECES_BEGIN 256u
/* Parts of a piece, on average, above which a list of them costs more than a copy each. */
#define FR_PIECES_PARTS 1024u

void fr_pieces_open(fr_pieces *pieces, const fr_allocator *allocator)
{
    *pieces = (fr_pieces){.allocator = allocator};
}

void fr_pieces_close(fr_pieces *pieces)
{
    fr_memory_release(pieces->allocator, pieces->items, pieces->capacity * sizeof(fr_piece));
}

bool fr_pieces_add(fr_pieces *pieces, uint64_t from, uint64_t size_bytes, bool together,
                   fr_device_fault *fault)
{
    fr_piece *last = pieces->count > 0 ? &pieces->items[pieces->count - 1] : NULL;
    if (size_bytes == 0)
        return true;
    pieces->size_bytes += size_bytes;
    if (last && last->from + last->size_bytes == from && (together || from % FR_PIECES_BEGIN)) {
        last->size_bytes += size_bytes;
        return true;
    }
    if (pieces->count == pieces->capacity) {
        size_t capacity = pieces->capacity ? 2 * pieces->capacity : 16;
        fr_piece *items =
            fr_memory_grow(pieces->allocator, pieces->items, pieces->capacity * sizeof(*items),
                           capacity * sizeof(*items), 16);
        if (!items) {
            fr_device_fault_memory(fault, capacity * sizeof(*items));
            return false;
        }
        pieces->items = items;
        pieces->capacity = capacity;
    }
    pieces->items[pieces->count++] = (fr_piece){from, size_bytes};
    return true;
}

/* --- parts ------------------------------------------------------------------------------------ */

static uint64_t fr_pieces_common(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* What all pieces, and the distances between them, are a multiple of. */
static uint64_t fr_pieces_part_bytes(const fr_pieces *pieces, uint64_t low)
{
    uint64_t part_bytes = 0;
    for (size_t k = 0; k < pieces->count && part_bytes != 1; k++) {
        part_bytes = fr_pieces_common(pieces->items[k].size_bytes, part_bytes);
        part_bytes = fr_pieces_common(pieces->items[k].from - low, part_bytes);
    }
    return part_bytes;
}

/* Parts of `low` onwards that a list of 32-bit numbers tells of. 0: a list is not worth it. */
static uint64_t fr_pieces_divide(const fr_pieces *pieces, uint64_t *out_low)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t k = 0; k < pieces->count; k++) {
        const fr_piece *piece = &pieces->items[k];
        low = piece->from < low ? piece->from : low;
        high = piece->from + piece->size_bytes > high ? piece->from + piece->size_bytes : high;
    }
    *out_low = low;
    if (pieces->count <= FR_PIECES_FEW)
        return 0;
    uint64_t part_bytes = fr_pieces_part_bytes(pieces, low);
    bool fits = part_bytes <= UINT32_MAX && (high - low) / part_bytes <= UINT32_MAX &&
                pieces->size_bytes / part_bytes <= UINT32_MAX / sizeof(uint32_t) &&
                pieces->size_bytes / part_bytes <= pieces->count * FR_PIECES_PARTS;
    return fits ? part_bytes : 0;
}

static bool fr_pieces_copy(const fr_pieces *pieces, uint64_t to, fr_device_run *run,
                           fr_device_fault *fault)
{
    bool copied = true;
    for (size_t k = 0; k < pieces->count && copied; k++) {
        const fr_piece *piece = &pieces->items[k];
        copied = fr_device_run_copy(run, to, piece->from, piece->size_bytes, fault);
        to += piece->size_bytes;
    }
    return copied;
}

bool fr_pieces_join(const fr_pieces *pieces, uint64_t to, fr_device_run *run,
                    fr_device_fault *fault)
{
    uint64_t low, part_bytes = fr_pieces_divide(pieces, &low);
    if (part_bytes == 0)
        return fr_pieces_copy(pieces, to, run, fault);
    size_t count = pieces->size_bytes / part_bytes, list_bytes = count * sizeof(uint32_t);
    uint32_t *numbers = fr_device_run_stage(run, list_bytes, fault);
    fr_placed *list = numbers ? fr_device_run_temporary(run, list_bytes, fault) : NULL;
    if (!list)
        return false;
    for (size_t k = 0, next = 0; k < pieces->count; k++) {
        const fr_piece *piece = &pieces->items[k];
        uint32_t number = (uint32_t)((piece->from - low) / part_bytes);
        for (uint64_t part = 0; part < piece->size_bytes / part_bytes; part++)
            numbers[next++] = number++;
    }
    const fr_row_move move = {.to = to,
                              .from = low,
                              .to_pitch = part_bytes,
                              .from_pitch = part_bytes,
                              .row_bytes = (uint32_t)part_bytes,
                              .count = (uint32_t)count,
                              .from_rows = list->address};
    return fr_device_run_upload(run, list->address, numbers, list_bytes, fault) &&
           fr_device_run_move(run, &move, fault);
}
