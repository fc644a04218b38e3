/* Unsealed changes of the keys that a read selects: they refuse it (R59, L4). */
#include "runtime/store/reading.h"

#include "runtime/store/history.h"
#include "runtime/store/store_state.h"

/* With the segment's lock held: whether an entry changes a row against the state before it; once
 * accounted it may hold others as well. */
static bool fr_reading_changes(const fr_segment *segment, const fr_version *version, uint32_t row)
{
    const fr_change *change = version->kind == FR_VERSION_FULL ? NULL : version->change;
    /* Below its creation a row is room in a FULL entry, and no change. */
    if (fr_segment_creation(segment, row).ordinal > version->ordinal)
        return false;
    if (version->ordinal <= segment->accounted)
        change = version->since;
    return !change || fr_row_set_place(&change->rows, row) != FR_ROW_SET_NONE;
}

/* With the segment's lock held: whether an open version at or below *below, and so at or below N,
 * has the row; then *found is its ordinal. False: there is no step left, and it goes on from there.
 */
static bool fr_reading_open_row(const fr_reading *reading, const fr_segment *segment, uint32_t row,
                                uint64_t *below, uint32_t *left, uint64_t *found)
{
    const fr_version *version = fr_segment_state(segment, *below);
    for (; version && version->ordinal > reading->above; version = version->older) {
        *below = version->ordinal;
        if (!fr_row_look_step(left))
            return false;
        if (!fr_reading_changes(segment, version, row))
            continue;
        *found = version->ordinal;
        return true;
    }
    return true;
}

/* The same of any of the group's rows. The lock is given to others now and then. */
static uint64_t fr_reading_open_version(const fr_reading *reading, const fr_binding *binding,
                                        const fr_bind_group *group)
{
    uint64_t found = 0, below = reading->ordinal;
    uint32_t k = group->first, end = group->first + group->count;
    fr_segment *segment = group->segment;
    bool none = false;
    fr_segment_index(segment);
    while (k < end && !found && !none) {
        uint32_t left = FR_ROWS_A_LOCK;
        fr_mutex_lock(&segment->lock);
        const fr_version *newest = fr_segment_state(segment, reading->ordinal);
        none = !newest || newest->ordinal <= reading->above; /* open at all */
        while (
            k < end && !found && !none && fr_row_look_step(&left) &&
            fr_reading_open_row(reading, segment, fr_bind_row(binding, k), &below, &left, &found)) {
            below = reading->ordinal;
            k++;
        }
        fr_mutex_unlock(&segment->lock);
    }
    if (found)
        fr_reading_refuse_prim(reading, fr_bind_position(binding, k - 1));
    return found;
}

bool fr_reading_may_be_open(const fr_segment *segment, uint64_t ordinal)
{
    /* [segment.open.read] pairs [segment.open.publish], [segment.open.lower] : see there */
    return fr_load_acquire(&segment->lowest_open) <= ordinal;
}

uint64_t fr_reading_open_versions(const fr_reading *reading, const fr_binding *binding)
{
    uint64_t found = 0;
    for (uint32_t g = 0; g < binding->group_count && !found; g++)
        if (fr_reading_may_be_open(binding->groups[g].segment, reading->ordinal))
            found = fr_reading_open_version(reading, binding, &binding->groups[g]);
    return found;
}

static uint64_t fr_column_lowest_unplaced(const fr_column *column)
{
    /* [column.unplaced.read] pairs [column.unplaced.publish] : see there */
    return fr_load_acquire(&column->lowest_unplaced);
}

bool fr_column_has_unplaced(fr_column *column, uint64_t ordinal)
{
    if (fr_column_lowest_unplaced(column) > ordinal)
        return false;
    if (ordinal < UINT64_MAX)
        return true;
    fr_mutex_lock(&column->lock); /* the highest ordinal, or none */
    bool has = column->unplaced != NULL;
    fr_mutex_unlock(&column->lock);
    return has;
}

/* How far a search through unplaced rows has come: behind so many keys in the record of an ordinal.
 */
typedef struct fr_unplaced_look {
    uint64_t ordinal;
    uint32_t key;
} fr_unplaced_look;

/* With the column's lock held: unplaced rows at or below N with one of the query's keys; 0: none.
 * *more: there was no step left. */
static uint64_t fr_reading_open_unplaced_some(const fr_reading *reading, const fr_column *column,
                                              fr_unplaced_look *look, bool *more)
{
    const ovx_primpath_t *prims = reading->query->prims;
    uint32_t count = reading->query->count, left = FR_ROWS_A_LOCK;
    uint64_t found = 0;
    fr_unplaced *unplaced = fr_column_unplaced_at(column, look->ordinal);
    if (!unplaced || unplaced->ordinal != look->ordinal || look->key == count)
        unplaced = unplaced ? unplaced->next : column->unplaced;
    for (; unplaced && unplaced->ordinal <= reading->ordinal; unplaced = unplaced->next) {
        if (unplaced->ordinal != look->ordinal)
            *look = (fr_unplaced_look){unplaced->ordinal, 0};
        fr_mutex_lock(&unplaced->lock);
        for (; look->key < count && !found && fr_row_look_step(&left); look->key++) {
            uint32_t row = fr_row_set_place(&unplaced->prims, (uint32_t)prims[look->key]);
            if (row == FR_ROW_SET_NONE || row >= unplaced->committed)
                continue;
            found = unplaced->ordinal;
            fr_reading_refuse_prim(reading, look->key);
        }
        fr_mutex_unlock(&unplaced->lock);
        *more = !found && left == 0;
        if (found || *more)
            return found;
    }
    *more = false;
    return 0;
}

/* The same of all. The lock is given to others now and then: a key that gets its place meanwhile
 * has an open version then, for which its segment is looked at next. */
uint64_t fr_reading_open_unplaced(const fr_reading *reading, fr_column *column)
{
    uint64_t found = 0;
    fr_unplaced_look look = {reading->above, reading->query->count};
    bool more = true;
    while (more && !found && fr_column_lowest_unplaced(column) <= reading->ordinal) {
        fr_mutex_lock(&column->lock);
        found = fr_reading_open_unplaced_some(reading, column, &look, &more);
        fr_mutex_unlock(&column->lock);
    }
    return found;
}
