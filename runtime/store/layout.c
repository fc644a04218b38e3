#include "runtime/store/layout.h"

#include <string.h>

#include "runtime/store/layout_place.h"
#include "runtime/store/partial.h"
#include "runtime/store/seal.h"
#include "runtime/store/slices.h"
#include "runtime/store/store_state.h"

/* A segment to be. */
typedef struct fr_layout {
    fr_segment *segment;
    uint32_t *prims;
    fr_creation *creations; /* of each row; NULL while all are `first` */
    uint32_t count, capacity;
    fr_creation first;
    fr_locator taken; /* the keys of its rows, while records are still to come */
} fr_layout;

static void fr_layout_abandon(const fr_allocator *allocator, fr_layout *layout)
{
    fr_memory_release(allocator, layout->prims, layout->capacity * sizeof(*layout->prims));
    fr_memory_release(allocator, layout->creations,
                      layout->creations ? layout->capacity * sizeof(*layout->creations) : 0);
    fr_memory_release(allocator, layout->segment, sizeof(*layout->segment));
}

/* The key has no place, and gets none by a record before. */
static bool fr_layout_is_new(const fr_column *column, const fr_layout *layout, uint32_t prim)
{
    fr_place place;
    return !fr_locator_get(&column->locator, prim, &place) &&
           (layout->taken.count == 0 || !fr_locator_get(&layout->taken, prim, &place));
}

static uint32_t fr_layout_count_new(const fr_column *column, const fr_layout *layout,
                                    const fr_unplaced *unplaced)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < unplaced->prims.count; row++)
        count += fr_layout_is_new(column, layout, unplaced->prims.rows[row]);
    return count;
}

/* Arrays of another capacity with what is in them. False without memory: nothing changed. */
static bool fr_layout_resize(const fr_allocator *allocator, fr_layout *layout, uint32_t capacity,
                             bool with_creations)
{
    uint32_t *prims = fr_memory_allocate(allocator, capacity * sizeof(*prims), 16);
    fr_creation *creations = NULL;
    if (with_creations)
        creations = fr_memory_allocate(allocator, capacity * sizeof(*creations), 16);
    if (!prims || (with_creations && !creations)) {
        fr_memory_release(allocator, prims, capacity * sizeof(*prims));
        fr_memory_release(allocator, creations, capacity * sizeof(*creations));
        return false;
    }
    if (layout->count > 0)
        memcpy(prims, layout->prims, layout->count * sizeof(*prims));
    for (uint32_t row = 0; creations && row < layout->count; row++)
        creations[row] = layout->creations ? layout->creations[row] : layout->first;
    fr_memory_release(allocator, layout->prims, layout->capacity * sizeof(*prims));
    if (layout->creations)
        fr_memory_release(allocator, layout->creations, layout->capacity * sizeof(*creations));
    layout->prims = prims;
    layout->creations = creations;
    layout->capacity = capacity;
    return true;
}

/* Memory for `more` keys of the record. */
static bool fr_layout_reserve(fr_store *store, fr_column *column, fr_layout *layout,
                              const fr_unplaced *unplaced, uint32_t more)
{
    if (!layout->segment) {
        layout->first = (fr_creation){unplaced->ordinal, unplaced->first_id};
        layout->segment = fr_segment_create(store->allocator, column);
        if (!layout->segment)
            return false;
    }
    bool with_creations = layout->creations || unplaced->ids ||
                          unplaced->ordinal != layout->first.ordinal ||
                          unplaced->first_id != layout->first.id;
    uint32_t needed = layout->count + more;
    if (needed <= layout->capacity && with_creations == (layout->creations != NULL))
        return true;
    uint32_t capacity = layout->capacity;
    if (needed > capacity)
        capacity = needed > 2 * layout->count ? needed : 2 * layout->count;
    return fr_layout_resize(store->allocator, layout, capacity, with_creations);
}

/* The new keys of a record. False without memory. */
static bool fr_layout_add_record(fr_store *store, fr_column *column, fr_layout *layout,
                                 const fr_unplaced *unplaced, bool last)
{
    uint32_t more = fr_layout_count_new(column, layout, unplaced);
    if (more == 0)
        return true;
    if (!fr_layout_reserve(store, column, layout, unplaced, more) ||
        (!last && !fr_locator_reserve(&layout->taken, more)))
        return false;
    uint32_t before = layout->count;
    for (uint32_t row = 0; row < unplaced->prims.count; row++) {
        uint32_t prim = unplaced->prims.rows[row];
        /* A record has a key once; mostly all of them are new. */
        if (more < unplaced->prims.count && !fr_layout_is_new(column, layout, prim))
            continue;
        if (layout->creations)
            layout->creations[layout->count] =
                (fr_creation){unplaced->ordinal, fr_unplaced_id(unplaced, row)};
        layout->prims[layout->count++] = prim;
    }
    for (uint32_t row = before; !last && row < layout->count; row++)
        fr_locator_put(&layout->taken, layout->prims[row], (fr_place){0, row});
    return true;
}

/* --- a new segment ---------------------------------------------------------------------------- */

/* The segment is there before any place in it, and the counter goes up when all are. */
static void fr_layout_publish(fr_column *column, fr_segment *segment)
{
    for (uint32_t first = 0; first < segment->row_count; first += FR_ROWS_A_LOCK) {
        uint32_t left = segment->row_count - first;
        uint32_t end = first + (left < FR_ROWS_A_LOCK ? left : FR_ROWS_A_LOCK);
        fr_mutex_lock(&column->lock);
        for (uint32_t row = first; row < end; row++)
            fr_locator_put(&column->locator, segment->prims[row], (fr_place){segment->index, row});
        fr_mutex_unlock(&column->lock);
    }
    fr_mutex_lock(&column->lock);
    /* [column.topology.publish] pairs [column.topology.read] : see there */
    fr_store_release(&column->topology, fr_load_relaxed(&column->topology) + 1);
    fr_mutex_unlock(&column->lock);
}

static void fr_layout_count_keys(fr_store *store, const fr_segment *segment)
{
    fr_add_relaxed(&store->counters.keys, segment->row_count);
    for (uint32_t row = 0; row < segment->row_count; row++)
        fr_living_add(&store->living, segment->prims[row]);
}

/* False without memory: nothing happened. */
static bool fr_layout_enter_segment(fr_store *store, fr_column *column, fr_segment *segment)
{
    fr_locator larger;
    fr_segment **segments;
    uint32_t capacity;
    if (!fr_locator_prepare(&column->locator, segment->row_count, &larger))
        return false;
    if (!fr_column_longer_list(store, column, &segments, &capacity)) {
        fr_locator_destroy(&larger);
        return false;
    }
    size_t locator_bytes = fr_locator_bytes(&column->locator);
    fr_segment **old = segments ? column->segments : NULL;
    uint32_t old_capacity = column->segment_capacity;
    segment->index = column->segment_count;
    fr_mutex_lock(&column->lock);
    fr_locator_install(&column->locator, &larger);
    if (segments)
        column->segments = segments;
    column->segment_capacity = capacity;
    column->segments[column->segment_count++] = segment;
    fr_mutex_unlock(&column->lock);
    fr_locator_destroy(&larger);
    fr_memory_release(store->allocator, old, old_capacity * sizeof(*old));
    fr_add_relaxed(
        &store->counters.table_bytes,
        fr_locator_bytes(&column->locator) - locator_bytes +
            (capacity - old_capacity) * sizeof(*segments) + sizeof(*segment) +
            segment->row_room *
                (sizeof(*segment->prims) + (segment->creations ? sizeof(*segment->creations) : 0)));
    fr_add_relaxed(&store->counters.segments, 1);
    if (!column->of)
        fr_layout_count_keys(store, segment);
    fr_layout_publish(column, segment);
    return true;
}

/* The new keys of all records from `first` to `last` become one segment; record by record, since
 * further ones mostly have the same keys. False without memory: nothing happened. */
static bool fr_layout_new_segment(fr_store *store, fr_column *column, const fr_unplaced *first,
                                  const fr_unplaced *last)
{
    fr_layout layout = {0};
    fr_locator_init(&layout.taken, store->allocator);
    bool enough = true;
    for (const fr_unplaced *unplaced = first; enough; unplaced = unplaced->next) {
        enough = fr_layout_add_record(store, column, &layout, unplaced, unplaced == last);
        if (unplaced == last)
            break;
    }
    fr_locator_destroy(&layout.taken);
    if (enough && layout.count > 0) {
        if (layout.count < layout.capacity) /* without memory it stays as it is */
            (void)fr_layout_resize(store->allocator, &layout, layout.count,
                                   layout.creations != NULL);
        fr_segment_set_rows(layout.segment, layout.prims, layout.creations, layout.count,
                            layout.capacity, layout.first);
        enough = (column->of || fr_living_reserve(&store->living, layout.prims, layout.count)) &&
                 fr_layout_enter_segment(store, column, layout.segment);
        if (enough) {
            fr_seal_want_fold(store, layout.segment);
            return true;
        }
    }
    fr_layout_abandon(store->allocator, &layout);
    return enough;
}

/* --- the rows --------------------------------------------------------------------------------- */

/* The segment whose rows in order are those of the record, or NULL. */
static fr_segment *fr_layout_same_order(const fr_column *column, const fr_unplaced *unplaced)
{
    fr_place place;
    if (!fr_locator_get(&column->locator, unplaced->prims.rows[0], &place) || place.row != 0)
        return NULL;
    fr_segment *segment = column->segments[place.segment];
    bool same = segment->row_count == unplaced->prims.count &&
                memcmp(segment->prims, unplaced->prims.rows,
                       segment->row_count * sizeof(*segment->prims)) == 0;
    return same ? segment : NULL;
}

static bool fr_layout_whole(fr_store *store, fr_segment *segment, fr_unplaced *unplaced)
{
    fr_version *version =
        fr_version_get(&store->versions, segment, unplaced->ordinal, FR_VERSION_FULL);
    if (!version)
        return false;
    version->buffer = unplaced->buffer;
    version->first_id = unplaced->first_id;
    fr_mutex_lock(&segment->lock);
    fr_segment_link(segment, version);
    fr_mutex_unlock(&segment->lock);
    fr_mutex_lock(&unplaced->lock); /* who finds no payload here finds the version (current.c) */
    unplaced->buffer = NULL;
    fr_mutex_unlock(&unplaced->lock);
    return true;
}

/* The segment's entry of this ordinal with room for `more` rows, made if there is none (*made). A
 * segment's lowest entry covers all rows, so that there is something to stand on: rows that do not
 * exist yet are zero in it. (A write at a higher ordinal may be there already.) */
static fr_version *fr_layout_entry(fr_store *store, fr_segment *segment, uint64_t ordinal,
                                   uint32_t more, bool *made)
{
    fr_mutex_lock(&segment->lock);
    fr_version *there = fr_segment_find(segment, ordinal);
#ifdef FR_MUTATE_LAYOUT_WITHOUT_BASE
    bool whole = there ? there->kind == FR_VERSION_FULL : !segment->newest;
#else
    bool whole = there ? there->kind == FR_VERSION_FULL : !fr_segment_state(segment, ordinal);
#endif
    fr_mutex_unlock(&segment->lock); /* at or below this ordinal nobody else makes entries */
    *made = !there;
    fr_version *version = there ? there
                                : fr_version_get(&store->versions, segment, ordinal,
                                                 whole ? FR_VERSION_FULL : FR_VERSION_PARTIAL);
    if (!version)
        return NULL;
    bool enough;
    if (whole && !there) {
        version->buffer = fr_column_buffer(segment->column, store->buffers, segment->row_count);
        enough = version->buffer != NULL;
        if (enough)
            memset(version->buffer->data, 0, segment->row_count * segment->column->row_bytes);
    } else if (whole) {
        enough = fr_partial_own_full(&store->versions, version);
    } else {
        enough = fr_partial_reserve(&store->versions, version, more);
    }
    if (!enough && !there)
        fr_version_drop(&store->versions, version); /* what it has is our own */
    return enough ? version : NULL;
}

/* Up to FR_ROWS_A_LOCK rows of the record, from `first` to below `end`, into an entry that has room
 * for them. */
static void fr_layout_move(fr_store *store, const fr_column *column, fr_version *version,
                           const fr_unplaced *unplaced, uint32_t first, uint32_t end)
{
    size_t row_bytes = column->row_bytes;
    uint32_t rows[FR_ROWS_A_LOCK];
    for (uint32_t row = first; row < end; row++) {
        fr_place place = {0, 0};
        (void)fr_locator_get(&column->locator, unplaced->prims.rows[row], &place);
        rows[row - first] = place.row;
    }
    if (version->kind == FR_VERSION_PARTIAL) {
        fr_mutex_lock(&version->segment->lock); /* it may be linked */
        for (uint32_t k = 0; k < end - first; k++)
            rows[k] = fr_partial_add(version, rows[k]);
        fr_mutex_unlock(&version->segment->lock);
    }
    uint32_t sources[FR_ROWS_A_LOCK];
    for (uint32_t k = 0; k < end - first; k++)
        sources[k] = first + k;
    if (version->buffer->holds_slices)
        fr_slices_copy(version->buffer, rows, unplaced->buffer, sources, end - first,
                       &store->seal_let_go);
    for (uint32_t k = 0; !version->buffer->holds_slices && k < end - first; k++)
        memcpy(version->buffer->data + rows[k] * row_bytes,
               unplaced->buffer->data + (first + k) * row_bytes, row_bytes);
}

/* Moves the record's rows [first, end), which lie in this segment. */
static bool fr_layout_part(fr_store *store, fr_column *column, fr_segment *segment,
                           fr_unplaced *unplaced, uint32_t first, uint32_t end)
{
    bool made;
    if (!fr_segment_row_ordinals(store->buffers, segment))
        return false;
    fr_version *version = fr_layout_entry(store, segment, unplaced->ordinal, end - first, &made);
    if (!version)
        return false;
    for (uint32_t row = first; row < end;) {
        uint32_t next = end - row > FR_ROWS_A_LOCK ? row + FR_ROWS_A_LOCK : end;
        fr_layout_move(store, column, version, unplaced, row, next);
        row = next;
    }
    fr_mutex_lock(&segment->lock);
    /* Of two ops that began it the first; a late one's rows are known (late.h). */
    if (made || unplaced->first_id < version->first_id)
        version->first_id = unplaced->first_id;
    if (made)
        fr_segment_link(segment, version);
    fr_mutex_unlock(&segment->lock);
    return true;
}

/* The record's rows as changes of the segments that they lie in, run by run. Done again after a
 * failure it does the same. */
static bool fr_layout_parts(fr_store *store, fr_column *column, fr_unplaced *unplaced)
{
    uint32_t count = unplaced->prims.count;
    for (uint32_t first = 0, end; first < count; first = end) {
        fr_place place = {0, 0}, next = {0, 0};
        (void)fr_locator_get(&column->locator, unplaced->prims.rows[first], &place);
        for (end = first + 1; end < count; end++) {
            (void)fr_locator_get(&column->locator, unplaced->prims.rows[end], &next);
            if (next.segment != place.segment)
                break;
        }
        fr_segment *segment = column->segments[place.segment];
        bool enough = fr_layout_part(store, column, segment, unplaced, first, end);
        fr_seal_want_fold(store, segment);
        if (!enough)
            return false;
    }
    return true;
}

static bool fr_layout_record(fr_store *store, fr_column *column, fr_unplaced *unplaced)
{
    fr_segment *segment = fr_layout_same_order(column, unplaced);
    if (!segment && fr_column_rows_device(column))
        return fr_layout_place(store, column, unplaced);
    if (!segment)
        return fr_layout_parts(store, column, unplaced);
    fr_seal_want_fold(store, segment);
    return fr_layout_whole(store, segment, unplaced);
}

bool fr_layout_column(fr_store *store, fr_column *column, uint64_t floor)
{
    fr_mutex_lock(&column->lock);
    fr_unplaced *unplaced = column->unplaced;
    const fr_unplaced *last = fr_column_unplaced_at(column, floor);
    fr_mutex_unlock(&column->lock);
    /* What is linked meanwhile comes behind the last: ops at or below the floor are done. */
    if (!last)
        return true;
    if (!fr_layout_new_segment(store, column, unplaced, last))
        return false;
    for (bool done = false; !done;) {
        if (!fr_layout_record(store, column, unplaced))
            return false;
        done = unplaced == last;
        fr_mutex_lock(&column->lock);
        fr_unplaced *taken = fr_column_unplaced_take(column);
        unplaced = column->unplaced;
        fr_mutex_unlock(&column->lock);
        taken->next = store->seal_unplaced;
        store->seal_unplaced = taken;
    }
    return true;
}
