#include <string.h>

#include "runtime/store/current_place.h"
#include "runtime/store/history.h"
#include "runtime/store/judge.h"
#include "runtime/store/slices.h"
#include "runtime/store/store_state.h"

/* --- one value -------------------------------------------------------------------------------- */

/* The newest rows without a place, at or below N, that have the prim. Returns their ordinal; 0:
 * none, or a seal has just made a version of them. The lock is given to others now and then. */
static uint64_t fr_current_unplaced(fr_column *column, uint32_t prim, uint64_t ordinal,
                                    fr_current_place *place)
{
    uint64_t found = 0, below = ordinal;
    bool more;
    do {
        uint32_t left = FR_ROWS_A_LOCK;
        more = false;
        fr_mutex_lock(&column->lock);
        fr_unplaced *unplaced = fr_column_unplaced_at(column, below);
        for (; unplaced && !found && !more; unplaced = unplaced->previous) {
            below = unplaced->ordinal;
            more = !fr_row_look_step(&left);
            if (more)
                continue;
            fr_mutex_lock(&unplaced->lock);
            uint32_t row = fr_row_set_place(&unplaced->prims, prim);
            if (row != FR_ROW_SET_NONE && row < unplaced->committed) {
                found = unplaced->ordinal;
                *place = (fr_current_place){.buffer = unplaced->buffer, .row = row};
                if (place->buffer)
                    fr_buffer_retain(place->buffer);
            }
            fr_mutex_unlock(&unplaced->lock);
        }
        fr_mutex_unlock(&column->lock);
    } while (more);
    return place->buffer ? found : 0;
}

/* The newest entry at or below N, and above `above`, that has the row. What lies at or below N is
 * open, or was sealed last: going down, changes come first and then a FULL entry. An older state is
 * met only when a seal has folded those that were passed: then it begins again. The lock is given
 * to others now and then. */
static bool fr_current_placed(fr_segment *segment, uint32_t row, uint64_t ordinal, uint64_t above,
                              fr_current_place *place)
{
    uint64_t created = fr_segment_creation(segment, row).ordinal, below = ordinal;
    bool found = false, more;
    do {
        uint32_t left = FR_ROWS_A_LOCK;
        more = false;
        fr_mutex_lock(&segment->lock);
        /* Sealed above N: the clone is refused, and what was there at N is history. */
        fr_version *version =
            segment->accounted > ordinal ? NULL : fr_segment_state(segment, below);
        for (;
             version && version->ordinal > above && version->ordinal >= created && !found && !more;
             version = version->older) {
            bool passed = version->kind == FR_VERSION_UNDO;
            below = passed ? ordinal : version->ordinal;
            more = passed || !fr_row_look_step(&left);
            if (more)
                continue;
            uint32_t at = row;
            if (version->kind == FR_VERSION_PARTIAL)
                at = fr_row_set_place(&version->change->rows, row);
            found = at != FR_ROW_SET_NONE;
            if (found) { /* linked and under the lock it is neither dead nor exclusive */
                (void)fr_pin_take(&version->pin);
#ifndef FR_MUTATE_CURRENT_PINS_ALONE
                fr_buffer_retain(version->buffer);
#endif
                *place = (fr_current_place){version, version->buffer, at, 0};
            }
        }
        fr_mutex_unlock(&segment->lock);
    } while (more);
    return found;
}

void fr_current_let_go(fr_store *store, const fr_current_place *place)
{
#ifdef FR_MUTATE_CURRENT_PINS_ALONE
    if (!place->version)
#endif
        fr_buffer_release(store->buffers, place->buffer);
    if (place->version)
        fr_version_unpin(&store->versions, place->version);
}

/* In this order: what a seal lays out is a version before it stops to be an unplaced row. */
fr_current_place fr_current_look(fr_store *store, fr_column *column, uint32_t prim,
                                 uint64_t ordinal)
{
    fr_current_place unplaced = {0}, placed = {0};
    uint64_t above = fr_current_unplaced(column, prim, ordinal, &unplaced), rehomed;
    bool found = false;
    do {
        fr_place place;
        rehomed = fr_column_rehomed(column);
        fr_mutex_lock(&column->lock);
        fr_segment *segment =
            fr_locator_get(&column->locator, prim, &place) ? column->segments[place.segment] : NULL;
        fr_mutex_unlock(&column->lock);
        found = segment && fr_current_placed(segment, place.row, ordinal, above, &placed);
    } while (!found && fr_column_rehomed(column) != rehomed);
    if (!found)
        return unplaced;
    fr_current_let_go(store, &unplaced);
    return placed;
}

static void fr_current_copy(fr_store *store, fr_column *column, const fr_current_place *place,
                            fr_buffer *rows, uint32_t row)
{
    size_t row_bytes = column->row_bytes;
    fr_buffer *let_go = NULL;
    if (rows->holds_slices)
        fr_slices_copy(rows, &row, place->buffer, &place->row, 1, &let_go);
    else
        memcpy(rows->data + row * row_bytes, place->buffer->data + place->row * row_bytes,
               row_bytes);
    fr_buffers_let_go(store->buffers, let_go);
}

/* --- columns ---------------------------------------------------------------------------------- */

/* Whether some column of the attribute may have one of the prims, whatever it is there: most have
 * none. The lock is given to others now and then. */
static bool fr_current_may_have(const fr_current *current, fr_column *column)
{
    bool may = false;
    for (uint32_t first = 0; first < current->prim_count && !may; first += FR_ROWS_A_LOCK) {
        uint32_t left = current->prim_count - first;
        uint32_t end = first + (left < FR_ROWS_A_LOCK ? left : FR_ROWS_A_LOCK);
        fr_mutex_lock(&column->lock);
        may = column->unplaced != NULL;
        for (uint32_t k = first; k < end && !may && column->locator.count > 0; k++) {
            fr_place place;
            may = fr_locator_get(&column->locator, current->prims[k], &place);
        }
        fr_mutex_unlock(&column->lock);
    }
    return may;
}

static size_t fr_current_present_bytes(const fr_current *current)
{
    return ((size_t)current->prim_count + 63) / 64 * sizeof(uint64_t);
}

/* The column's entry, of those from `first` on, or a new one. NULL without memory. */
static fr_current_column *fr_current_enter(fr_current *current, fr_column *column, uint32_t first)
{
    const fr_allocator *allocator = current->store->allocator;
    for (uint32_t k = first; k < current->column_count; k++)
        if (current->columns[k].column == column)
            return &current->columns[k];
    if (current->column_count == current->column_capacity) {
        uint32_t capacity = current->column_capacity ? 2 * current->column_capacity : 16;
        fr_current_column *columns =
            fr_memory_grow(allocator, current->columns, current->column_capacity * sizeof(*columns),
                           capacity * sizeof(*columns), 16);
        if (!columns)
            return NULL;
        current->columns = columns;
        current->column_capacity = capacity;
    }
    fr_current_column *made = &current->columns[current->column_count];
    *made = (fr_current_column){.column = column};
    made->present = fr_memory_allocate_zero(allocator, fr_current_present_bytes(current), 16);
    if (!made->present)
        return NULL;
    current->column_count++;
    return made;
}

static bool fr_current_attribute(fr_current *current, const fr_attribute *attribute)
{
    uint32_t first = current->column_count;
    bool may = false;
    for (fr_column *column = fr_column_first(attribute); column && !may; column = column->next)
        may = fr_current_may_have(current, column);
    for (uint32_t k = 0; k < current->prim_count && may; k++) {
        fr_column *holder =
            fr_judge_key(attribute, current->prims[k], current->ordinal, current->op_id);
        if (!holder)
            continue;
        fr_current_column *entry = fr_current_enter(current, holder, first);
        if (!entry)
            return false;
        entry->present[k / 64] |= UINT64_C(1) << k % 64;
        entry->count++;
    }
    return true;
}

bool fr_current_find(fr_store *store, const uint32_t *prims, uint32_t count, uint64_t ordinal,
                     uint64_t op_id, fr_current *out)
{
    *out = (fr_current){
        .store = store, .prims = prims, .prim_count = count, .ordinal = ordinal, .op_id = op_id};
    uint32_t attributes = fr_attributes_count(store->attributes);
    bool enough = true;
    for (uint32_t k = 0; k < attributes && enough; k++)
        enough = fr_current_attribute(out, fr_attributes_at(store->attributes, k));
    return enough;
}

static bool fr_current_read_column(fr_current *current, fr_current_column *entry)
{
    fr_store *store = current->store;
    fr_column *column = entry->column;
    entry->rows = fr_column_buffer(column, store->buffers, current->prim_count);
    if (!entry->rows)
        return false;
    if (!entry->rows->holds_slices)
        memset(entry->rows->data, 0, (size_t)current->prim_count * column->row_bytes);
    for (uint32_t k = 0; k < current->prim_count; k++) {
        if (!fr_current_has(entry, k))
            continue;
        fr_current_place place =
            fr_current_look(store, column, current->prims[k], current->ordinal);
        fr_current_copy(store, column, &place, entry->rows, k);
        fr_current_let_go(store, &place);
    }
    return true;
}

bool fr_current_read(fr_current *current)
{
    bool enough = true;
    for (uint32_t k = 0; k < current->column_count && enough; k++)
        enough = fr_column_rows_device(current->columns[k].column) ||
                 fr_current_read_column(current, &current->columns[k]);
    return enough;
}

void fr_current_release(fr_current *current)
{
    fr_store *store = current->store;
    for (uint32_t k = 0; k < current->column_count; k++) {
        fr_buffer_release(store->buffers, current->columns[k].rows);
        fr_memory_release(store->allocator, current->columns[k].present,
                          fr_current_present_bytes(current));
    }
    fr_memory_release(store->allocator, current->columns,
                      current->column_capacity * sizeof(*current->columns));
    current->columns = NULL;
    current->column_count = current->column_capacity = 0;
}
