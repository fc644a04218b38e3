#include "runtime/store/segment.h"

#include <stddef.h>
#include <string.h>

#include "runtime/store/archive.h"

fr_segment *fr_segment_create(const fr_allocator *allocator, fr_column *column)
{
    fr_segment *segment = fr_memory_allocate_zero(allocator, sizeof(*segment), FR_CACHE_LINE_BYTES);
    if (!segment)
        return NULL;
    segment->column = column;
    fr_store_relaxed(&segment->lowest_open, UINT64_MAX);
    return segment;
}

void fr_segment_set_rows(fr_segment *segment, const uint32_t *prims, fr_creation *creations,
                         uint32_t count, uint32_t room, fr_creation uniform)
{
    segment->prims = prims;
    segment->consecutive = true;
    for (uint32_t row = 1; row < count && segment->consecutive; row++)
        segment->consecutive = prims[row] - prims[0] == row;
    segment->creations = creations;
    segment->row_count = count;
    segment->row_room = room;
    segment->created = uniform;
    segment->created_last = uniform.ordinal;
    segment->created_id_last = uniform.id;
    for (uint32_t row = 0; creations && row < count; row++) {
        const fr_creation *creation = &creations[row];
        if (creation->ordinal > segment->created_last)
            segment->created_last = creation->ordinal;
        if (creation->id > segment->created_id_last)
            segment->created_id_last = creation->id;
    }
}

fr_version *fr_segment_spare_take(fr_spare *spare)
{
    fr_version *version = spare->version;
    for (uint32_t c = 0; c < spare->change_count; c++)
        fr_change_release(spare->changes[c]);
    spare->version = NULL;
    spare->change_count = 0;
    fr_segment_count(version->segment, version, 0);
    return version;
}

void fr_segment_count(fr_segment *segment, fr_version *version, uint64_t history_bytes)
{
    segment->history_bytes += history_bytes - version->history_bytes;
    version->history_bytes = history_bytes;
}

void fr_segment_destroy(const fr_allocator *allocator, fr_versions *versions, fr_segment *segment)
{
    while (segment->newest) {
        fr_version *version = segment->newest;
        segment->newest = version->older;
        fr_version_put(versions, version);
    }
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++)
        if (segment->spares[k].version)
            fr_version_put(versions, fr_segment_spare_take(&segment->spares[k]));
    while (segment->whole) {
        fr_version *version = segment->whole;
        segment->whole = version->older;
        fr_version_put(versions, version);
    }
    fr_archive_destroy(allocator, versions->buffers, segment->archive);
    if (segment->creations)
        fr_memory_release(allocator, segment->creations,
                          segment->row_room * sizeof(*segment->creations));
    fr_buffer_release(versions->buffers, segment->row_ordinals_buffer);
    fr_memory_release(allocator, (void *)(uintptr_t)segment->prims,
                      segment->row_room * sizeof(*segment->prims));
    fr_memory_release(allocator, segment, sizeof(*segment));
}

bool fr_segment_row_ordinals(fr_buffers *buffers, fr_segment *segment)
{
    if (fr_load_relaxed(&segment->has_row_ordinals))
        return true;
    size_t size_bytes = segment->row_count * sizeof(*segment->row_ordinals);
    fr_buffer *made = fr_buffer_get(buffers, size_bytes);
    if (!made)
        return false;
    memset(made->data, 0, size_bytes);
    fr_mutex_lock(&segment->lock);
    if (!segment->row_ordinals) {
        segment->row_ordinals = (uint64_t *)(void *)made->data;
        segment->row_ordinals_buffer = made;
        made = NULL;
    }
    fr_mutex_unlock(&segment->lock);
    fr_store_relaxed(&segment->has_row_ordinals, true); /* who uses them holds the lock */
    fr_buffer_release(buffers, made);
    return true;
}

static fr_version *fr_segment_of_node(fr_ordinal_node *node)
{
    return (fr_version *)(void *)((unsigned char *)node - offsetof(fr_version, place));
}

void fr_segment_link(fr_segment *segment, fr_version *version)
{
    fr_ordinal_node *before = fr_ordinal_tree_insert(&segment->tree, &version->place);
    fr_version *older = before ? fr_segment_of_node(before) : NULL;
    fr_version *newer = segment->newest;
    if (older)
        newer = older->newer;
    else if (newer)
        newer = segment->oldest;
    version->older = older;
    version->newer = newer;
    *(older ? &older->newer : &segment->oldest) = version;
    *(newer ? &newer->older : &segment->newest) = version;
    if (segment->sealed && segment->sealed->ordinal > version->ordinal)
        segment->sealed_count++;
    if (version->ordinal < fr_load_relaxed(&segment->lowest_open)) /* written under the lock only */
        /* [segment.open.lower] pairs [segment.open.read] : as segment.open.publish */
        fr_store_release(&segment->lowest_open, version->ordinal);
}

void fr_segment_take_back(fr_segment *segment, fr_version *version)
{
    *(version->newer ? &version->newer->older : &segment->newest) = version->older;
    *(version->older ? &version->older->newer : &segment->oldest) = version->newer;
    fr_ordinal_tree_remove(&segment->tree, &version->place);
    version->older = version->newer = NULL;
    fr_segment_refresh(segment);
}

void fr_segment_replace(fr_segment *segment, fr_version *version, fr_version *by)
{
    by->newer = version->newer;
    by->older = version->older;
    *(version->newer ? &version->newer->older : &segment->newest) = by;
    *(version->older ? &version->older->newer : &segment->oldest) = by;
    fr_ordinal_tree_remove(&segment->tree, &version->place);
    (void)fr_ordinal_tree_insert(&segment->tree, &by->place);
    if (segment->sealed == version)
        segment->sealed = by;
    version->older = version->newer = NULL;
}

fr_version *fr_segment_cut(fr_segment *segment, fr_version *last)
{
    fr_version *cut = last->older;
    fr_ordinal_tree_cut(&segment->tree, last->ordinal);
    last->older = NULL;
    segment->oldest = last;
    return cut;
}

fr_version *fr_segment_first_open(const fr_segment *segment)
{
    return segment->sealed ? segment->sealed->newer : segment->oldest;
}

bool fr_segment_close(fr_segment *segment, uint64_t floor)
{
    fr_version *first = fr_segment_first_open(segment);
    uint32_t count = 0;
    for (; first && first->ordinal <= floor && count < FR_ROWS_A_LOCK; count++) {
        fr_look();
        segment->sealed = first;
        first = first->newer;
    }
    segment->sealed_count += count;
    return first && first->ordinal <= floor;
}

fr_version *fr_segment_find(const fr_segment *segment, uint64_t ordinal)
{
    fr_version *version = fr_segment_state(segment, ordinal);
    return version && version->ordinal == ordinal ? version : NULL;
}

fr_version *fr_segment_state(const fr_segment *segment, uint64_t ordinal)
{
    fr_version *version = segment->newest;
    if (!version || version->ordinal <= ordinal)
        return version;
    fr_ordinal_node *node = fr_ordinal_tree_at(&segment->tree, ordinal);
    return node ? fr_segment_of_node(node) : NULL;
}

void fr_segment_refresh(fr_segment *segment)
{
    fr_version *first = fr_segment_first_open(segment);
    fr_version *sealed = segment->sealed;
    bool whole = sealed && sealed->kind == FR_VERSION_FULL;
    /* [segment.head.publish] pairs [segment.head.read], [segment.head.recheck] : the payload and
     * the record's fields */
    fr_store_release(&segment->head, whole ? sealed : NULL);
    /* [segment.open.publish] pairs [segment.open.read] : a reader that knows a write to be complete
     * sees that it is open */
    fr_store_release(&segment->lowest_open, first ? first->ordinal : UINT64_MAX);
}

/* --- indexes ---------------------------------------------------------------------------------- */

/* Found at one time. */
#define FR_SEGMENT_UNINDEXED 16u

bool fr_segment_index_change(fr_segment *segment, fr_change *change)
{
    fr_row_set *rows = &change->rows;
    fr_row_set_room room = {0};
    fr_mutex_lock(&segment->lock);
    bool done = fr_row_set_is_indexed(rows);
    uint32_t capacity = rows->capacity;
    fr_mutex_unlock(&segment->lock);
    if (!done && !fr_row_set_begin_index(change->home->allocator, capacity, &room))
        return false;
    for (uint32_t first = 0; !done; first += FR_ROWS_A_LOCK) {
        fr_mutex_lock(&segment->lock);
        /* A list that has no index is not added to; its lane may have made one by now. */
        done = fr_row_set_is_indexed(rows);
        uint32_t left = done ? 0 : rows->count - first;
        uint32_t more = left < FR_ROWS_A_LOCK ? left : FR_ROWS_A_LOCK;
        fr_row_set_add_index(rows, &room, first, first + more);
        if (!done && more == left) {
            fr_row_set_install_index(rows, &room);
            fr_change_count_more(change, rows->hash_capacity * sizeof(uint32_t));
            done = true;
        }
        fr_mutex_unlock(&segment->lock);
    }
    fr_row_set_room_release(rows, &room);
    return true;
}

void fr_segment_note_unindexed(fr_segment *segment, const fr_version *version)
{
    bool first = !fr_load_relaxed(&segment->has_unindexed); /* changed under the lock only */
    if (first || version->ordinal < segment->unindexed_lowest)
        segment->unindexed_lowest = version->ordinal;
    if (first || version->ordinal > segment->unindexed_highest)
        segment->unindexed_highest = version->ordinal;
    segment->unindexed_links++;
    fr_store_relaxed(&segment->has_unindexed, true);
}

/* With the lock held: some changes of versions at or below *below whose lists are not indexed, with
 * a reference each. *more: there may be others, from the new *below on. */
static uint32_t fr_segment_unindexed(const fr_segment *segment, uint64_t *below, bool *more,
                                     fr_change **changes)
{
    uint32_t count = 0, left = FR_ROWS_A_LOCK;
    const fr_version *version = fr_segment_state(segment, *below);
    *more = false;
    for (; version && version->ordinal >= segment->unindexed_lowest; version = version->older) {
        *below = version->ordinal;
        *more = count + 2 > FR_SEGMENT_UNINDEXED || left == 0;
        if (*more)
            break;
        left--;
        fr_look();
        fr_change *both[2] = {version->change, version->since};
        for (uint32_t k = 0; k < 2; k++)
            if (both[k] && !fr_row_set_is_indexed(&both[k]->rows)) {
                fr_change_retain(both[k]);
                changes[count++] = both[k];
            }
    }
    return count;
}

void fr_segment_index(fr_segment *segment)
{
    fr_change *changes[FR_SEGMENT_UNINDEXED];
    bool enough = true, more = fr_load_relaxed(&segment->has_unindexed);
    uint64_t below = UINT64_MAX, links = 0;
    while (more) {
        fr_mutex_lock(&segment->lock);
        if (below == UINT64_MAX) {
            links = segment->unindexed_links;
            below = segment->unindexed_highest;
        }
        uint32_t count = fr_segment_unindexed(segment, &below, &more, changes);
        /* What was linked meanwhile was not looked at. */
        if (count == 0 && !more && enough && links == segment->unindexed_links)
            fr_store_relaxed(&segment->has_unindexed, false);
        fr_mutex_unlock(&segment->lock);
        for (uint32_t k = 0; k < count; k++) {
            enough = enough && fr_segment_index_change(segment, changes[k]);
            fr_change_release(changes[k]);
        }
        more = enough && (more || count > 0); /* once more for the end of it */
    }
}
