#include "runtime/store/current_place.h"

#include "runtime/query/heap_sort.h"
#include "runtime/store/placed_rows.h"
#include "runtime/store/store_state.h"

/* --- where they lie --------------------------------------------------------------------------- */

/* By payload, and in each by prims: so neighbours stay neighbours. */
static int fr_current_places_compare(const void *items, size_t a, size_t b)
{
    const fr_current_place *places = items;
    uintptr_t in_a = (uintptr_t)places[a].buffer, in_b = (uintptr_t)places[b].buffer;
    if (in_a != in_b)
        return in_a < in_b ? -1 : 1;
    return (places[a].to > places[b].to) - (places[a].to < places[b].to);
}

static void fr_current_places_swap(void *items, size_t a, size_t b)
{
    fr_current_place *places = items, kept = places[a];
    places[a] = places[b];
    places[b] = kept;
}

static size_t fr_current_places_bytes(const fr_current_places *places)
{
    return places->column->count * sizeof(fr_current_place);
}

bool fr_current_places_open(fr_current *current, fr_current_column *column, fr_current_places *out)
{
    fr_store *store = current->store;
    bool together = true;
    *out = (fr_current_places){.current = current, .column = column};
    out->items = fr_memory_allocate(store->allocator, fr_current_places_bytes(out), 16);
    if (!out->items)
        return false;
    for (uint32_t prim = 0; prim < current->prim_count; prim++) {
        if (!fr_current_has(column, prim))
            continue;
        fr_current_place *place = &out->items[out->count++];
        *place = fr_current_look(store, column->column, current->prims[prim], current->ordinal);
        place->to = prim;
        together = together && place->buffer == out->items->buffer;
    }
    const fr_sorted sorted = {fr_current_places_compare, fr_current_places_swap, out->items};
    if (!together)
        fr_heap_sort(&sorted, out->count);
    return true;
}

void fr_current_places_close(fr_current_places *places)
{
    fr_store *store = places->current->store;
    for (uint32_t k = 0; k < places->count; k++)
        fr_current_let_go(store, &places->items[k]);
    fr_memory_release(store->allocator, places->items, fr_current_places_bytes(places));
    places->items = NULL;
    places->count = 0;
}

/* The end of those that lie in the same payload. */
static uint32_t fr_current_places_next(const fr_current_places *places, uint32_t first)
{
    uint32_t end = first + 1;
    while (end < places->count && places->items[end].buffer == places->items[first].buffer)
        end++;
    return end;
}

fr_fence *fr_current_places_stalled_by(const fr_current_places *places)
{
    fr_fence *pending = NULL;
    for (uint32_t k = 0; k < places->count && !pending; k = fr_current_places_next(places, k))
        pending = fr_placed_stalled_by(places->items[k].buffer->placed);
    return pending;
}

/* --- together --------------------------------------------------------------------------------- */

static bool fr_current_make_rows(const fr_current_places *places, fr_device_run *run,
                                 fr_device_fault *fault)
{
    fr_current_column *entry = places->column;
    uint32_t count = places->current->prim_count;
    fr_column_begin_refusals();
    entry->rows = fr_column_buffer(entry->column, places->current->store->buffers, count);
    if (entry->rows)
        return fr_device_run_writes(run, entry->rows->placed, FR_USE_CLONE_TOGETHER, fault);
    if (!fr_column_end_refusals(fault))
        fr_device_fault_memory(fault, (size_t)count * entry->column->row_bytes);
    return false;
}

/* Those of one payload; from, to: room for their numbers. */
static bool fr_current_gather_from(const fr_current_places *places, uint32_t first, uint32_t end,
                                   uint32_t *from, uint32_t *to, fr_device_run *run,
                                   fr_device_fault *fault)
{
    const fr_current_column *entry = places->column;
    for (uint32_t k = first; k < end; k++) {
        from[k - first] = places->items[k].row;
        to[k - first] = places->items[k].to;
    }
    const fr_current_place *place = &places->items[first];
    return fr_device_run_reads(run, place->buffer->placed, FR_USE_CLONE_SOURCE, fault) &&
           fr_placed_rows_move(run, entry->rows, to, place->buffer, from, end - first,
                               entry->column->row_bytes, fault);
}

bool fr_current_places_gather(const fr_current_places *places, fr_device_run *run,
                              fr_device_fault *fault)
{
    const fr_allocator *allocator = places->current->store->allocator;
    size_t size_bytes = 2 * (size_t)places->count * sizeof(uint32_t);
    if (!fr_current_make_rows(places, run, fault))
        return false;
    uint32_t *numbers = fr_memory_allocate(allocator, size_bytes, 16);
    if (!numbers) {
        fr_device_fault_memory(fault, size_bytes);
        return false;
    }
    bool gathered = true;
    for (uint32_t k = 0, end; k < places->count && gathered; k = end) {
        end = fr_current_places_next(places, k);
        gathered =
            fr_current_gather_from(places, k, end, numbers, numbers + places->count, run, fault);
    }
    fr_memory_release(allocator, numbers, size_bytes);
    return gathered;
}
