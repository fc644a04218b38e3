#include "runtime/store/keys.h"

#include "runtime/store/reading.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"

/* Records of rows without a place that are counted. */
#define FR_KEYS_RECORDS 16u

/* With the column's lock held: the record that the walk is at, or the next one. */
static fr_unplaced *fr_keys_record(const fr_key_walk *walk)
{
    fr_unplaced *at = fr_column_unplaced_at(walk->column, walk->ordinal);
    if (at && at->ordinal == walk->ordinal)
        return at;
    return at ? at->next : walk->column->unplaced;
}

static uint32_t fr_keys_unplaced(fr_key_walk *walk, uint32_t some[FR_KEYS_SOME])
{
    uint32_t count = 0;
    fr_mutex_lock(&walk->column->lock);
    fr_unplaced *record = fr_keys_record(walk);
    if (record) {
        if (record->ordinal != walk->ordinal)
            walk->row = 0;
        walk->ordinal = record->ordinal;
        fr_mutex_lock(&record->lock);
        for (; walk->row < record->committed && count < FR_KEYS_SOME; walk->row++)
            some[count++] = record->prims.rows[walk->row];
        fr_mutex_unlock(&record->lock);
        if (count == 0 && walk->ordinal < UINT64_MAX) {
            walk->ordinal++; /* behind this one */
            walk->row = 0;
        } else if (count == 0) {
            record = NULL;
        }
    }
    fr_mutex_unlock(&walk->column->lock);
    walk->placed = record == NULL;
    if (walk->placed)
        walk->row = 0;
    return count;
}

static uint32_t fr_keys_placed(fr_key_walk *walk, uint32_t some[FR_KEYS_SOME])
{
    uint32_t count = 0;
    fr_mutex_lock(&walk->column->lock);
    fr_segment *segment =
        walk->segment < walk->column->segment_count ? walk->column->segments[walk->segment] : NULL;
    fr_mutex_unlock(&walk->column->lock);
    if (!segment) {
        *walk = (fr_key_walk){.column = walk->column->next};
        return 0;
    }
    if (fr_load_relaxed(&segment->moved)) /* into one behind; some come twice */
        walk->row = segment->row_count;
    for (; walk->row < segment->row_count && count < FR_KEYS_SOME; walk->row++)
        some[count++] = segment->prims[walk->row];
    if (walk->row == segment->row_count) {
        walk->segment++;
        walk->row = 0;
    }
    return count;
}

uint32_t fr_keys_some(fr_key_walk *walk, uint32_t some[FR_KEYS_SOME])
{
    uint32_t count = 0;
    while (walk->column && count == 0)
        count = walk->placed ? fr_keys_placed(walk, some) : fr_keys_unplaced(walk, some);
    return count;
}

size_t fr_keys_about(const fr_attribute *attribute)
{
    size_t about = 0;
    for (fr_column *column = fr_column_first(attribute); column; column = column->next) {
        uint32_t records = 0;
        fr_mutex_lock(&column->lock);
        about += column->locator.count;
        fr_unplaced *record = column->unplaced;
        for (; record && records < FR_KEYS_RECORDS; record = record->next, records++) {
            fr_mutex_lock(&record->lock);
            about += record->committed;
            fr_mutex_unlock(&record->lock);
        }
        fr_mutex_unlock(&column->lock);
        if (record)
            return SIZE_MAX;
    }
    return about;
}

bool fr_keys_settle(fr_store *store, const fr_attribute *attribute, uint64_t floor)
{
    for (fr_column *column = fr_column_first(attribute); column; column = column->next)
        if (fr_column_has_unplaced(column, floor) && !fr_seal_layout_late(store, column, floor))
            return false;
    return true;
}

bool fr_keys_have_unplaced(const fr_attribute *attribute, uint64_t ordinal)
{
    for (fr_column *column = fr_column_first(attribute); column; column = column->next)
        if (fr_column_has_unplaced(column, ordinal))
            return true;
    return false;
}

bool fr_keys_are_open(fr_store *store, const fr_attribute *attribute, uint64_t ordinal)
{
    if (!fr_marks_none(store->marks) || fr_keys_have_unplaced(attribute, ordinal))
        return true;
    for (fr_column *column = fr_column_first(attribute); column; column = column->next)
        for (uint32_t s = 0;; s++) {
            fr_mutex_lock(&column->lock);
            const fr_segment *segment = s < column->segment_count ? column->segments[s] : NULL;
            fr_mutex_unlock(&column->lock);
            if (!segment)
                break;
            if (fr_reading_may_be_open(segment, ordinal))
                return true;
        }
    return false;
}
