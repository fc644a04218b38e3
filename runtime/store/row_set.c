#include "runtime/store/row_set.h"

#include <string.h>

#define FR_ROW_SET_ALIGNMENT_BYTES 16u
/* Rows whose bits fit a near cache. */
#ifdef FR_SHRINK
#define FR_ROW_SET_WINDOW 256u
#else
#define FR_ROW_SET_WINDOW (UINT32_C(1) << 20)
#endif

static size_t fr_row_set_bitmap_bytes(uint32_t universe)
{
    return ((size_t)universe + 63) / 64 * sizeof(uint64_t);
}

void fr_row_set_init(fr_row_set *set, const fr_allocator *allocator, uint32_t universe)
{
    memset(set, 0, sizeof(*set));
    set->allocator = allocator;
    set->universe = universe;
    set->rows = set->few;
    set->capacity = FR_ROW_SET_FEW;
}

static void fr_row_set_release_rows(const fr_row_set *set, uint32_t *rows, uint32_t capacity)
{
    if (rows != set->few)
        fr_memory_release(set->allocator, rows, capacity * sizeof(uint32_t));
}

static void fr_row_set_release_list(fr_row_set *set)
{
    fr_memory_release(set->allocator, set->hash, set->hash_capacity * sizeof(uint32_t));
    set->hash = NULL;
    set->hash_capacity = 0;
    fr_row_set_release_rows(set, set->rows, set->capacity);
    set->rows = NULL;
}

void fr_row_set_destroy(fr_row_set *set)
{
    fr_row_set_release_list(set);
    if (set->bitmap)
        fr_memory_release(set->allocator, set->bitmap, fr_row_set_bitmap_bytes(set->universe));
    fr_row_set_init(set, set->allocator, set->universe);
}

void fr_row_set_release_old(const fr_row_set *set, uint32_t *old_rows)
{
    fr_row_set_release_rows(set, old_rows, set->capacity);
}

/* --- the hash --------------------------------------------------------------------------------- */

/* Rows that follow each other go to slots far apart, so rows with a stride do not cluster. */
static uint32_t fr_row_set_slot(uint32_t row, uint32_t hash_capacity)
{
    return (uint32_t)(((uint64_t)(row * UINT32_C(0x9e3779b1)) * hash_capacity) >> 32);
}

/* The slot that holds the row, or the empty one where it belongs. */
static uint32_t fr_row_set_probe(const uint32_t *hash, uint32_t hash_capacity, const uint32_t *rows,
                                 uint32_t row)
{
    uint32_t slot = fr_row_set_slot(row, hash_capacity);
    while (hash[slot] != 0 && rows[hash[slot] - 1] != row)
        slot = slot + 1 == hash_capacity ? 0 : slot + 1;
    return slot;
}

/* At most half full; 0: without a hash. */
static uint32_t fr_row_set_hash_capacity_for(uint32_t capacity)
{
    return capacity <= FR_ROW_SET_WALKED ? 0 : capacity * 2;
}

/* --- reserve ---------------------------------------------------------------------------------- */

bool fr_row_set_turns_bitmap(const fr_row_set *set, uint32_t more)
{
    return set->universe != 0 && !set->bitmap && (uint64_t)set->count + more > set->universe / 8;
}

static bool fr_row_set_make_bitmap(const fr_row_set *set, fr_row_set_room *room)
{
    room->bitmap = fr_memory_allocate_zero(set->allocator, fr_row_set_bitmap_bytes(set->universe),
                                           FR_ROW_SET_ALIGNMENT_BYTES);
    for (uint32_t k = 0; room->bitmap && k < set->count; k++)
        room->bitmap[set->rows[k] / 64] |= UINT64_C(1) << (set->rows[k] % 64);
    return room->bitmap != NULL;
}

static uint32_t fr_row_set_capacity_for(const fr_row_set *set, uint32_t needed)
{
    uint32_t capacity = set->capacity;
    while (capacity < needed)
        capacity *= 2; /* at most 2^30: the caller looked */
    return capacity;
}

bool fr_row_set_begin_index(const fr_allocator *allocator, uint32_t capacity, fr_row_set_room *room)
{
    uint32_t hash_capacity = fr_row_set_hash_capacity_for(capacity);
    if (hash_capacity == 0)
        return true;
    room->hash = fr_memory_allocate_zero(allocator, hash_capacity * sizeof(uint32_t),
                                         FR_ROW_SET_ALIGNMENT_BYTES);
    if (room->hash)
        room->hash_capacity = hash_capacity;
    return room->hash != NULL;
}

void fr_row_set_add_index(const fr_row_set *set, fr_row_set_room *room, uint32_t first,
                          uint32_t end)
{
    for (uint32_t k = first; room->hash && k < end; k++)
        room->hash[fr_row_set_probe(room->hash, room->hash_capacity, set->rows, set->rows[k])] =
            k + 1;
}

void fr_row_set_install_index(fr_row_set *set, fr_row_set_room *room)
{
    if (set->hash || !room->hash)
        return;
    set->hash = room->hash;
    set->hash_capacity = room->hash_capacity;
    *room = (fr_row_set_room){0};
}

static bool fr_row_set_make_list(const fr_row_set *set, uint32_t needed, fr_row_set_room *room)
{
    room->capacity = fr_row_set_capacity_for(set, needed);
    room->rows = fr_memory_allocate(set->allocator, room->capacity * sizeof(uint32_t),
                                    FR_ROW_SET_ALIGNMENT_BYTES);
    if (!room->rows || !fr_row_set_begin_index(set->allocator, room->capacity, room))
        return false;
    fr_row_set_add_index(set, room, 0, set->count);
    if (set->count > 0)
        memcpy(room->rows, set->rows, set->count * sizeof(uint32_t));
    return true;
}

bool fr_row_set_prepare(const fr_row_set *set, bool indexed, uint32_t more, fr_row_set_room *room)
{
    uint64_t needed = (uint64_t)set->count + more;
    *room = (fr_row_set_room){0};
    if (set->bitmap)
        return true;
    bool enough;
    if (fr_row_set_turns_bitmap(set, more))
        enough = fr_row_set_make_bitmap(set, room);
    else if (needed > UINT32_C(1) << 30)
        return false;
    else if (needed > set->capacity)
        enough = fr_row_set_make_list(set, (uint32_t)needed, room);
    else if (indexed)
        return true;
    else {
        enough = fr_row_set_begin_index(set->allocator, set->capacity, room);
        fr_row_set_add_index(set, room, 0, set->count);
        return enough;
    }
    room->made = enough;
    if (!enough)
        fr_row_set_room_release(set, room);
    return enough;
}

void fr_row_set_install(fr_row_set *set, fr_row_set_room *room)
{
    if (!room->made) {
        fr_row_set_install_index(set, room);
        return;
    }
    fr_row_set_room old = {.rows = set->rows,
                           .hash = set->hash,
                           .capacity = set->capacity,
                           .hash_capacity = set->hash_capacity};
    set->rows = room->rows;
    set->hash = room->hash;
    set->hash_capacity = room->hash_capacity;
    set->bitmap = room->bitmap;
    if (!set->bitmap)
        set->capacity = room->capacity;
    *room = old;
}

void fr_row_set_room_release(const fr_row_set *set, fr_row_set_room *room)
{
    fr_row_set_release_rows(set, room->rows, room->capacity);
    fr_memory_release(set->allocator, room->hash, room->hash_capacity * sizeof(uint32_t));
    if (room->bitmap)
        fr_memory_release(set->allocator, room->bitmap, fr_row_set_bitmap_bytes(set->universe));
    *room = (fr_row_set_room){0};
}

bool fr_row_set_assign(fr_row_set *set, const uint32_t *rows, uint32_t count)
{
    if (count > set->capacity) {
        uint32_t capacity = fr_row_set_capacity_for(set, count);
        uint32_t *list = fr_memory_allocate(set->allocator, capacity * sizeof(uint32_t),
                                            FR_ROW_SET_ALIGNMENT_BYTES);
        if (!list)
            return false;
        fr_row_set_release_list(set);
        set->rows = list;
        set->capacity = capacity;
    }
    fr_memory_release(set->allocator, set->hash, set->hash_capacity * sizeof(uint32_t));
    set->hash = NULL;
    set->hash_capacity = 0;
    memcpy(set->rows, rows, count * sizeof(uint32_t));
    set->count = count;
    return true;
}

void fr_row_set_clear(fr_row_set *set, uint32_t universe)
{
    if (set->bitmap)
        fr_memory_release(set->allocator, set->bitmap, fr_row_set_bitmap_bytes(set->universe));
    if (set->hash)
        memset(set->hash, 0, set->hash_capacity * sizeof(uint32_t));
    if (!set->rows) {
        set->rows = set->few;
        set->capacity = FR_ROW_SET_FEW;
    }
    set->bitmap = NULL;
    set->count = 0;
    set->universe = universe;
}

bool fr_row_set_reserve(fr_row_set *set, uint32_t more, bool *became_bitmap, uint32_t **old_rows,
                        uint32_t *old_count)
{
    fr_row_set_room room;
    uint32_t count = set->count;
    bool was_bitmap = fr_row_set_is_bitmap(set);
    bool enough = fr_row_set_prepare(set, fr_row_set_is_indexed(set), more, &room);
    if (enough)
        fr_row_set_install(set, &room);
    bool became = fr_row_set_is_bitmap(set) && !was_bitmap;
    if (set->universe != 0) {
        *became_bitmap = became;
        *old_rows = became ? room.rows : NULL;
        *old_count = became ? count : 0;
        if (became)
            room.rows = NULL;
    }
    fr_row_set_room_release(set, &room);
    return enough;
}

/* --- add and look ----------------------------------------------------------------------------- */

uint32_t fr_row_set_add(fr_row_set *set, uint32_t row, bool *added)
{
    if (set->bitmap) {
        uint64_t bit = UINT64_C(1) << (row % 64);
        *added = (set->bitmap[row / 64] & bit) == 0;
        set->bitmap[row / 64] |= bit;
        set->count += *added;
        return row;
    }
    uint32_t slot = 0;
    uint32_t place;
    if (set->hash) {
        slot = fr_row_set_probe(set->hash, set->hash_capacity, set->rows, row);
        place = set->hash[slot] ? set->hash[slot] - 1 : FR_ROW_SET_NONE;
    } else {
        place = fr_row_set_place(set, row);
    }
    *added = place == FR_ROW_SET_NONE;
    if (!*added)
        return place;
    place = set->count++;
    set->rows[place] = row;
    if (set->hash)
        set->hash[slot] = place + 1;
    return place;
}

void fr_row_set_append(fr_row_set *set, const uint32_t *rows, uint32_t count)
{
    memcpy(set->rows + set->count, rows, count * sizeof(*rows));
    uint32_t *hash = set->hash, capacity = set->hash_capacity;
    for (uint32_t k = 0; hash && k < count; k++) {
        uint32_t slot = fr_row_set_slot(rows[k], capacity);
        while (hash[slot] != 0)
            slot = slot + 1 == capacity ? 0 : slot + 1;
        hash[slot] = set->count + k + 1;
    }
    set->count += count;
}

uint32_t fr_row_set_place(const fr_row_set *set, uint32_t row)
{
    if (set->bitmap) {
        if (row >= set->universe)
            return FR_ROW_SET_NONE;
        return (set->bitmap[row / 64] >> (row % 64) & 1) != 0 ? row : FR_ROW_SET_NONE;
    }
    if (set->hash) {
        uint32_t slot = fr_row_set_probe(set->hash, set->hash_capacity, set->rows, row);
        return set->hash[slot] ? set->hash[slot] - 1 : FR_ROW_SET_NONE;
    }
    for (uint32_t k = 0; k < set->count; k++)
        if (set->rows[k] == row)
            return k;
    return FR_ROW_SET_NONE;
}

size_t fr_row_set_window_bytes(uint32_t universe)
{
    return fr_row_set_bitmap_bytes(universe < FR_ROW_SET_WINDOW ? universe : FR_ROW_SET_WINDOW);
}

/* Of the rows from `first` on that have a bit in the window. Without a branch that depends on a
 * row: where rows come in no order each would be mispredicted half of the time. */
static bool fr_row_set_same_in_window(const fr_row_set *set, const fr_row_set *other,
                                      uint64_t *window, size_t window_bytes, uint32_t first)
{
    uint32_t last_word = (uint32_t)(window_bytes / sizeof(*window)) - 1;
    uint64_t missing = 0;
    memset(window, 0, window_bytes);
    for (uint32_t k = 0; k < set->count; k++) {
        uint32_t row = set->rows[k] - first, word = row / 64;
        window[word <= last_word ? word : 0] |= (uint64_t)(word <= last_word) << row % 64;
    }
    for (uint32_t k = 0; k < other->count; k++) {
        uint32_t row = other->rows[k] - first, word = row / 64;
        missing |= (~window[word <= last_word ? word : 0] >> row % 64) & (word <= last_word);
    }
    return missing == 0;
}

bool fr_row_set_same_rows(const fr_row_set *set, const fr_row_set *other, uint64_t *window)
{
    size_t window_bytes = fr_row_set_window_bytes(set->universe);
    bool same = set->count == other->count;
    for (uint64_t first = 0; first < set->universe && same; first += FR_ROW_SET_WINDOW)
        same = fr_row_set_same_in_window(set, other, window, window_bytes, (uint32_t)first);
    return same;
}

size_t fr_row_set_rows_bytes(const fr_row_set *set)
{
    if (set->bitmap)
        return fr_row_set_bitmap_bytes(set->universe);
    return set->rows == set->few ? 0 : set->capacity * sizeof(uint32_t);
}

size_t fr_row_set_bytes(const fr_row_set *set)
{
    size_t index = set->bitmap ? 0 : set->hash_capacity * sizeof(uint32_t);
    return fr_row_set_rows_bytes(set) + index;
}
