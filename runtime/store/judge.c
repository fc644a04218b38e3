#include "runtime/store/judge.h"

#include "runtime/store/change_log.h"
#include "runtime/store/store_state.h"
#include "runtime/store/tombstones.h"

/* What has run: the newest ordinal at or below an ordinal at which a key was written; 0: none. */
typedef struct fr_judged {
    uint64_t ordinal;
    uint64_t op_id; /* that wrote there first, as far as that is told where the rows are */
} fr_judged;

/* Of rows that have no place. The lock is given to others now and then. */
static fr_judged fr_judge_unplaced(fr_column *column, uint32_t prim, uint64_t ordinal)
{
    fr_judged found = {0, 0};
    uint64_t below = ordinal;
    bool more;
    do {
        uint32_t left = FR_ROWS_A_LOCK;
        more = false;
        fr_mutex_lock(&column->lock);
        fr_unplaced *unplaced = fr_column_unplaced_at(column, below);
        for (; unplaced && !found.ordinal && !more; unplaced = unplaced->previous) {
            below = unplaced->ordinal;
            more = !fr_row_look_step(&left);
            if (more)
                continue;
            fr_mutex_lock(&unplaced->lock);
            uint32_t row = fr_row_set_place(&unplaced->prims, prim);
            if (row != FR_ROW_SET_NONE && row < unplaced->committed)
                found = (fr_judged){unplaced->ordinal, fr_unplaced_id(unplaced, row)};
            fr_mutex_unlock(&unplaced->lock);
        }
        fr_mutex_unlock(&column->lock);
    } while (more);
    return found;
}

static fr_segment *fr_judge_place(fr_column *column, uint32_t prim, uint32_t *row)
{
    fr_place place;
    fr_mutex_lock(&column->lock);
    bool placed = fr_locator_get(&column->locator, prim, &place);
    fr_segment *segment = placed ? column->segments[place.segment] : NULL;
    fr_mutex_unlock(&column->lock);
    *row = placed ? place.row : 0;
    return segment;
}

/* Who began the entry of an ordinal; 0: before all that is to be judged. */
static uint64_t fr_judge_began(fr_segment *segment, uint64_t ordinal)
{
    fr_mutex_lock(&segment->lock);
    const fr_version *version = fr_segment_find(segment, ordinal);
    uint64_t began = version ? version->first_id : 0;
    if (ordinal <= segment->accounted) /* which stays when entries go */
        began = fr_change_log_began(segment, ordinal);
    fr_mutex_unlock(&segment->lock);
    return began;
}

static fr_judged fr_judge_row(fr_segment *segment, uint32_t row, uint64_t ordinal, bool asks_who)
{
    fr_creation creation = fr_segment_creation(segment, row);
    if (creation.ordinal > ordinal)
        return (fr_judged){0, 0};
    fr_segment_index(segment); /* so that no judgement walks lists of rows under a lock */
    uint64_t written = fr_change_log_row(segment, row, ordinal);
    if (written == 0)
        written = fr_history_row_ordinal(segment, row, ordinal);
    /* Below its creation a row is room in a FULL entry, and nothing that anybody wrote. Of what is
     * not known any more its creation is what is left. */
    if (written <= creation.ordinal)
        return (fr_judged){creation.ordinal, creation.id};
    return (fr_judged){written, asks_who ? fr_judge_began(segment, written) : 0};
}

static fr_judged fr_judge_newest(fr_column *column, uint32_t prim, uint64_t ordinal, bool asks_who)
{
    /* In this order: what a seal lays out has its place before it stops to be an unplaced row. */
    fr_judged found = fr_judge_unplaced(column, prim, ordinal), placed;
    uint64_t rehomed;
    do {
        uint32_t row;
        rehomed = fr_column_rehomed(column);
        fr_segment *segment = fr_judge_place(column, prim, &row);
        if (!segment)
            return found;
        placed = fr_judge_row(segment, row, ordinal, asks_who);
    } while (fr_column_rehomed(column) != rehomed);
    return placed.ordinal > found.ordinal ? placed : found;
}

uint64_t fr_judge_written(fr_column *column, uint32_t prim, uint64_t ordinal, uint64_t op_id)
{
    for (;;) {
        bool asks_who = op_id != UINT64_MAX && fr_late_any(column->late);
        fr_judged newest = fr_judge_newest(column, prim, ordinal, asks_who);
#ifndef FR_MUTATE_JUDGE_ASKS_TOO_EARLY
        /* The first that came late has come meanwhile, and may be what was found. */
        if (!asks_who && op_id != UINT64_MAX && fr_late_any(column->late))
            continue;
#endif
        if (newest.ordinal == 0 || !asks_who)
            return newest.ordinal;
        uint64_t writer = fr_late_writer(column->late, column, prim, newest.ordinal);
#ifndef FR_MUTATE_JUDGE_SEES_LATE_WRITES
        if ((writer ? writer : newest.op_id) < op_id)
#else
        (void)writer;
#endif
            return newest.ordinal;
        ordinal = newest.ordinal - 1;
    }
}

fr_column *fr_judge_key_written(const fr_attribute *attribute, uint32_t prim, uint64_t ordinal,
                                uint64_t op_id, uint64_t *out_written)
{
    fr_column *found = NULL;
    uint64_t newest = 0;
    for (fr_column *column = fr_column_first(attribute); column; column = column->next) {
        uint64_t written = fr_judge_written(column, prim, ordinal, op_id);
        /* Written, deleted, and written with another schema by one ordinal: the deleted one loses.
         */
        if (written == 0 || written < newest || (written == newest && found))
            continue;
        newest = written;
        bool deleted = fr_tombstones_judge(column, prim, ordinal, op_id) >= written;
        found = deleted ? NULL : column;
    }
    *out_written = newest;
    return found;
}

fr_column *fr_judge_key(const fr_attribute *attribute, uint32_t prim, uint64_t ordinal,
                        uint64_t op_id)
{
    uint64_t written;
    return fr_judge_key_written(attribute, prim, ordinal, op_id, &written);
}

bool fr_judge_prim(fr_store *store, uint32_t prim, uint64_t ordinal, uint64_t op_id)
{
    if (!fr_prims_exists(store->prims, prim, ordinal, op_id))
        return false;
    if (!fr_marks_ever(store->marks, prim))
        return true;
    uint32_t count = fr_attributes_count(store->attributes);
    for (uint32_t k = 0; k < count; k++)
        if (fr_judge_key(fr_attributes_at(store->attributes, k), prim, ordinal, op_id))
            return true;
    return false;
}

bool fr_judge_prim_sealed(fr_store *store, uint32_t prim, const fr_floor_record *record)
{
    if (!fr_prims_exists(store->prims, prim, UINT64_MAX, UINT64_MAX))
        return false; /* nothing was ever written there */
    if (!fr_marks_ever(store->marks, prim) &&
        fr_prims_exists(store->prims, prim, record->base, UINT64_MAX))
        return true;
    uint32_t count = fr_attributes_count(store->attributes);
    for (uint32_t k = 0; k < count; k++)
        if (fr_judge_key(fr_attributes_at(store->attributes, k), prim,
                         fr_floor_effective(record, k), UINT64_MAX))
            return true;
    return false;
}
