#include "runtime/store/recall.h"

#include <string.h>

#include "runtime/store/archive.h"
#include "runtime/store/column.h"
#include "runtime/store/history.h"
#include "runtime/store/partial.h"
#include "runtime/store/slices.h"
#include "runtime/store/store_state.h"
#include "runtime/store/whole.h"

/* The rows that were written between the moment and the state; their number. */
static uint32_t fr_recall_differing(fr_recall *recall, uint32_t *differing)
{
    uint32_t count = 0;
    fr_segment_index(recall->segment);
    for (uint32_t k = 0; k < recall->count; k++) {
        uint32_t row = recall->rows ? recall->rows[k] : k;
        uint64_t written = fr_history_row_ordinal(recall->segment, row, recall->state);
        if (written > recall->ordinal)
            differing[count++] = row;
        else if (written > recall->newest)
            recall->newest = written;
    }
    return count;
}

/* Where a row's value of then lies, and since when it was that. */
typedef struct fr_recalled {
    const fr_buffer *buffer; /* NULL: it is not kept */
    uint32_t place;
    uint64_t from;
} fr_recalled;

/* With the segment's lock held. */
static fr_recalled fr_recall_find(const fr_recall *recall, uint32_t row, uint32_t *left)
{
    const fr_segment *segment = recall->segment;
    const fr_archived *entry = fr_archive_find(segment, row, recall->ordinal, left);
    if (entry)
        return (fr_recalled){segment->archive->values, fr_archive_place(segment->archive, entry),
                             entry->from};
    uint64_t from;
    const fr_version *whole = fr_whole_find(segment, row, recall->ordinal, &from, left);
    if (whole)
        return (fr_recalled){whole->buffer, row, from};
    return (fr_recalled){NULL, 0, 0};
}

/* The same. The version is nobody else's. */
static void fr_recall_copy(const fr_recall *recall, uint32_t row, const fr_recalled *found)
{
    size_t row_bytes = recall->segment->column->row_bytes;
    fr_buffer *to = recall->made->buffer;
    uint32_t place = fr_partial_add(recall->made, row);
    fr_buffer *none = NULL; /* a row may come twice, and is the same then */
    if (to->holds_slices)
        fr_slices_copy(to, &place, found->buffer, &found->place, 1, &none);
    else
        memcpy(to->data + place * row_bytes, found->buffer->data + found->place * row_bytes,
               row_bytes);
}

/* The lock is given to others now and then. */
static ovstage_api_status_t fr_recall_rows(fr_recall *recall, const uint32_t *rows, uint32_t count)
{
    fr_segment *segment = recall->segment;
    for (uint32_t k = 0; k < count;) {
        uint32_t left = FR_ROWS_A_LOCK;
        bool is_kept = true;
        fr_mutex_lock(&segment->lock);
        while (k < count && fr_row_look_step(&left)) {
            fr_recalled found = fr_recall_find(recall, rows[k], &left);
            is_kept = found.buffer != NULL;
            if (!is_kept)
                break;
            fr_recall_copy(recall, rows[k], &found);
            if (found.from > recall->newest)
                recall->newest = found.from;
            k++;
        }
        fr_mutex_unlock(&segment->lock);
        if (!is_kept)
            return OVSTAGE_ERROR_OUT_OF_RANGE;
    }
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_recall_make(fr_store *store, fr_recall *recall, const uint32_t *rows,
                                           uint32_t count)
{
    fr_versions *versions = &store->versions;
    fr_version *made = fr_version_get(versions, recall->segment, recall->ordinal, FR_VERSION_UNDO);
    if (!made)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    ovstage_api_status_t status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    recall->made = made;
    (void)fr_pin_take(&made->pin);
    fr_version_drop(versions, made); /* with the pin */
    if (fr_partial_reserve(versions, made, count))
        status = fr_recall_rows(recall, rows, count);
    if (status == OVSTAGE_OK)
        return status;
    recall->made = NULL;
    fr_version_unpin(versions, made);
    return status;
}

/* With the segment's lock held: the oldest of the states that were kept whole and end after the
 * moment. It has what a row had then, if it has had it since then at the latest: newer ones have it
 * since the same ordinal, or since a later one. */
static const fr_version *fr_recall_find_whole(const fr_recall *recall)
{
    const fr_version *found = NULL;
    for (const fr_version *version = recall->segment->whole;
         version && version->until > recall->ordinal; version = version->older)
        found = version;
    return found;
}

/* Since when it has its values: goes by the newest of the rows. False: one of them is newer than
 * the moment. */
static bool fr_recall_is_in(fr_recall *recall, const fr_buffer *froms, uint64_t state)
{
    const uint64_t *from = froms ? (const uint64_t *)(const void *)froms->data : NULL;
    bool is_in = true;
    for (uint32_t k = 0; k < recall->count && is_in; k++) {
        uint64_t written = from ? from[recall->rows ? recall->rows[k] : k] : state;
        is_in = written <= recall->ordinal;
        if (written > recall->newest)
            recall->newest = written;
    }
    return is_in;
}

/* On a device nothing is archived row by row: what is recalled is the payload of a whole state. */
static ovstage_api_status_t fr_recall_whole(fr_store *store, fr_recall *recall)
{
    fr_segment *segment = recall->segment;
    fr_version *made = fr_version_get(&store->versions, segment, recall->ordinal, FR_VERSION_FULL);
    if (!made)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    uint64_t state = 0;
    fr_buffer *froms = NULL;
    fr_mutex_lock(&segment->lock);
    const fr_version *whole = fr_recall_find_whole(recall);
    if (whole) {
        state = whole->ordinal;
        made->buffer = whole->buffer;
        fr_buffer_retain(made->buffer);
        froms = whole->froms;
        if (froms)
            fr_buffer_retain(froms);
    }
    fr_mutex_unlock(&segment->lock);
    bool is_kept = made->buffer && fr_recall_is_in(recall, froms, state);
    fr_buffer_release(store->buffers, froms);
    (void)fr_pin_take(&made->pin);
    fr_version_drop(&store->versions, made); /* with the pin */
    if (is_kept) {
        recall->made = made;
        return OVSTAGE_OK;
    }
    fr_version_unpin(&store->versions, made);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

ovstage_api_status_t fr_recall_run(fr_store *store, fr_recall *recall)
{
    if (fr_column_device(recall->segment->column))
        return fr_recall_whole(store, recall);
    size_t rows_bytes = recall->count * sizeof(uint32_t);
    uint32_t *rows = fr_memory_allocate(store->allocator, rows_bytes, 16);
    if (!rows)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    uint32_t count = fr_recall_differing(recall, rows);
    ovstage_api_status_t status = OVSTAGE_OK;
    if (count > 0)
        status = fr_recall_make(store, recall, rows, count);
    fr_memory_release(store->allocator, rows, rows_bytes);
    return status;
}
