#include "runtime/store/column.h"

#include <stddef.h>

#include "runtime/device/placed.h"
#include "runtime/store/slices.h"
#include "runtime/store/store_state.h"

bool fr_schema_same_layout(const fr_schema *a, const fr_schema *b)
{
    return a->code == b->code && a->bits == b->bits && a->lanes == b->lanes &&
           a->is_array == b->is_array;
}

bool fr_schema_equal(const fr_schema *a, const fr_schema *b)
{
    return fr_schema_same_layout(a, b) && a->semantic == b->semantic;
}

uint32_t fr_schema_path_words(const fr_schema *schema)
{
    if (!schema->is_array || schema->code != kDLUInt || schema->bits != 64)
        return 0;
    bool paths = schema->semantic == OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID ||
                 schema->semantic == OVSTAGE_SEMANTIC_CONNECTION_PATH_ID;
#ifdef FR_MUTATE_CLONE_REDIRECTS_EXPRESSIONS
    paths |= schema->semantic == OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING;
#endif
    return paths ? schema->lanes : 0;
}

_Static_assert((FR_COLUMN_ON_HOST | FR_COLUMN_SETTLED) < _Alignof(fr_opened),
               "the flags lie below the address of a device");

fr_column_claim fr_column_claim_home(fr_column *column, fr_opened *device)
{
    uintptr_t home = device ? (uintptr_t)device : FR_COLUMN_ON_HOST;
    if (fr_load_relaxed(&column->home) == (home | FR_COLUMN_SETTLED))
        return FR_COLUMN_HELD;
    fr_mutex_lock(&column->lock);
    uintptr_t there = fr_load_relaxed(&column->home); /* changes under the lock */
    bool settled = (there & FR_COLUMN_SETTLED) != 0;
    bool fits = there == 0 || (there & ~FR_COLUMN_SETTLED) == home;
    if (fits && !settled) {
        /* [column.home.claim] pairs [column.home.read] : see there */
        fr_store_release(&column->home, home);
        column->home_claims++;
    }
    fr_mutex_unlock(&column->lock);
    if (!fits)
        return FR_COLUMN_REFUSED;
    return settled ? FR_COLUMN_HELD : FR_COLUMN_CLAIMED;
}

static void fr_column_end_claim(fr_column *column, bool settles)
{
    fr_mutex_lock(&column->lock);
    uintptr_t there = fr_load_relaxed(&column->home);
    column->home_claims--;
    if (settles)
        there |= FR_COLUMN_SETTLED;
    else if ((there & FR_COLUMN_SETTLED) == 0 && column->home_claims == 0)
        there = 0;
    /* [column.home.end] pairs [column.home.read] : see there */
    fr_store_release(&column->home, there);
    fr_mutex_unlock(&column->lock);
}

void fr_column_settle_home(fr_column *column)
{
    fr_column_end_claim(column, true);
}

void fr_column_give_home_up(fr_column *column)
{
#ifdef FR_MUTATE_COLUMN_HOME_BY_ANY
    fr_column_end_claim(column, true);
#else
    fr_column_end_claim(column, false);
#endif
}

static _Thread_local struct {
    bool any;
    fr_device_fault fault;
} fr_column_refused;

void fr_column_begin_refusals(void)
{
    fr_column_refused.any = false;
}

bool fr_column_end_refusals(fr_device_fault *out)
{
    if (fr_column_refused.any)
        *out = fr_column_refused.fault;
    return fr_column_refused.any;
}

fr_buffer *fr_column_buffer_on(fr_opened *device, fr_buffers *buffers, size_t size_bytes)
{
    fr_placed *placed = fr_placed_make(device, size_bytes, &fr_column_refused.fault);
    fr_column_refused.any = fr_column_refused.any || !placed;
    if (!placed)
        return NULL;
    fr_buffer *buffer = fr_buffer_of_placed(buffers, placed, size_bytes);
    if (!buffer)
        fr_placed_dispose(placed);
    return buffer;
}

fr_buffer *fr_column_buffer(const fr_column *column, fr_buffers *buffers, size_t rows)
{
    size_t size_bytes = rows * column->row_bytes;
    fr_opened *device = fr_column_rows_device(column);
    if (device)
        return fr_column_buffer_on(device, buffers, size_bytes);
    return column->schema.is_array ? fr_slices_get(buffers, size_bytes)
                                   : fr_buffer_get(buffers, size_bytes);
}

fr_buffer *fr_column_copy(const fr_column *column, fr_buffers *buffers, const fr_buffer *from,
                          size_t rows)
{
    fr_buffer *copy = fr_column_buffer(column, buffers, rows);
    fr_buffer *none = NULL; /* nothing is overwritten */
    if (copy && copy->holds_slices)
        fr_slices_copy(copy, NULL, from, NULL, rows, &none);
    else if (copy)
        fr_rows_copy_compact(copy->data, from->data, rows * column->row_bytes);
    return copy;
}

fr_column *fr_column_first(const fr_attribute *attribute)
{
    /* [column.list.read] pairs [column.list.publish] : a column's fields */
    return fr_load_acquire(&attribute->columns);
}

static fr_column *fr_column_find(const fr_attribute *attribute, const fr_schema *schema)
{
    for (fr_column *column = fr_column_first(attribute); column; column = column->next)
        if (fr_schema_equal(&column->schema, schema))
            return column;
    return NULL;
}

fr_column *fr_column_make(fr_store *store, fr_attribute *attribute, const fr_schema *schema)
{
    fr_column *column =
        fr_memory_allocate_zero(store->allocator, sizeof(*column), FR_CACHE_LINE_BYTES);
    if (!column)
        return NULL;
    column->attribute = attribute;
    column->schema = *schema;
    column->row_bytes = schema->is_array ? (uint32_t)sizeof(fr_slice) : schema->row_bytes;
    column->marks = store->marks;
    column->late = store->late;
    fr_locator_init(&column->locator, store->allocator);
    fr_locator_init(&column->dead, store->allocator);
    fr_store_relaxed(&column->topology, 1);
    fr_store_relaxed(&column->lowest_unplaced, UINT64_MAX);
    return column;
}

fr_column *fr_column_enter(fr_store *store, fr_attribute *attribute, const fr_schema *schema)
{
    fr_column *column = fr_column_find(attribute, schema);
    if (column)
        return column;
    fr_column *fresh = fr_column_make(store, attribute, schema);
    if (!fresh)
        return NULL;
    fr_mutex_lock(&store->columns_lock);
    column = fr_column_find(attribute, schema);
    if (!column) {
        fresh->next = fr_load_relaxed(&attribute->columns); /* written under columns_lock only */
        fresh->number = store->column_numbers++;
        /* [column.list.publish] pairs [column.list.read] : see there */
        fr_store_release(&attribute->columns, fresh);
        fr_add_relaxed(&store->counters.columns, 1);
    }
    fr_mutex_unlock(&store->columns_lock);
    if (!column)
        return fresh;
    fr_column_destroy(store, fresh);
    return column;
}

bool fr_column_longer_list(fr_store *store, const fr_column *column, fr_segment ***segments,
                           uint32_t *capacity)
{
    *segments = NULL;
    *capacity = column->segment_capacity;
    if (column->segment_count < *capacity)
        return true;
    *capacity = *capacity ? 2 * *capacity : 4;
    *segments = fr_memory_allocate(store->allocator, *capacity * sizeof(**segments), 16);
    for (uint32_t k = 0; *segments && k < column->segment_count; k++)
        (*segments)[k] = column->segments[k];
    return *segments != NULL;
}

void fr_column_destroy(fr_store *store, fr_column *column)
{
    const fr_allocator *allocator = store->allocator;
    fr_column *tombstones = fr_load_relaxed(&column->tombstones); /* nobody else is here */
    if (tombstones)
        fr_column_destroy(store, tombstones);
    while (column->unplaced) {
        fr_unplaced *unplaced = column->unplaced;
        column->unplaced = unplaced->next;
        fr_unplaced_destroy(allocator, store->buffers, unplaced);
    }
    for (uint32_t k = 0; k < column->segment_count; k++)
        fr_segment_destroy(allocator, &store->versions, column->segments[k]);
    fr_memory_release(allocator, column->segments, column->segment_capacity * sizeof(fr_segment *));
    fr_locator_destroy(&column->locator);
    fr_locator_destroy(&column->dead);
    fr_memory_release(allocator, column, sizeof(*column));
}

static fr_unplaced *fr_column_unplaced_of(fr_ordinal_node *node) /* NULL is fine */
{
    return node ? (fr_unplaced *)(void *)((unsigned char *)node - offsetof(fr_unplaced, in_column))
                : NULL;
}

fr_unplaced *fr_column_unplaced_at(const fr_column *column, uint64_t ordinal)
{
    fr_unplaced *last = column->unplaced_last;
    if (!last || last->ordinal <= ordinal)
        return last;
    return fr_column_unplaced_of(fr_ordinal_tree_at(&column->unplaced_tree, ordinal));
}

fr_unplaced *fr_column_unplaced(const fr_column *column, uint64_t ordinal)
{
    fr_unplaced *unplaced = fr_column_unplaced_at(column, ordinal);
    return unplaced && unplaced->ordinal == ordinal ? unplaced : NULL;
}

static void fr_column_unplaced_refresh(fr_column *column)
{
    uint64_t lowest = column->unplaced ? column->unplaced->ordinal : UINT64_MAX;
    /* [column.unplaced.publish] pairs [column.unplaced.read] : a reader that knows a write to be
     * complete sees that it is open */
    fr_store_release(&column->lowest_unplaced, lowest);
}

void fr_column_unplaced_link(fr_column *column, fr_unplaced *unplaced)
{
    fr_unplaced *previous =
        fr_column_unplaced_of(fr_ordinal_tree_insert(&column->unplaced_tree, &unplaced->in_column));
    unplaced->previous = previous;
    unplaced->next = previous ? previous->next : column->unplaced;
    *(previous ? &previous->next : &column->unplaced) = unplaced;
    *(unplaced->next ? &unplaced->next->previous : &column->unplaced_last) = unplaced;
    fr_column_unplaced_refresh(column);
}

void fr_column_unplaced_take_back(fr_column *column, fr_unplaced *unplaced)
{
    *(unplaced->previous ? &unplaced->previous->next : &column->unplaced) = unplaced->next;
    *(unplaced->next ? &unplaced->next->previous : &column->unplaced_last) = unplaced->previous;
    fr_ordinal_tree_remove(&column->unplaced_tree, &unplaced->in_column);
    unplaced->next = unplaced->previous = NULL;
    fr_column_unplaced_refresh(column);
}

fr_unplaced *fr_column_unplaced_take(fr_column *column)
{
    fr_unplaced *first = column->unplaced;
    fr_column_unplaced_take_back(column, first);
    return first;
}
