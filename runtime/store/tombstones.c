#include "runtime/store/tombstones.h"

#include "runtime/store/change_log.h"
#include "runtime/store/history.h"
#include "runtime/store/judge.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"

#define FR_TOMBSTONE 1u /* what a row of a companion holds; nobody reads it */

fr_column *fr_tombstones_of(const fr_column *column)
{
    /* [column.tombstones.read] pairs [column.tombstones.publish] : the companion's fields */
    return fr_load_acquire(&column->tombstones);
}

uint64_t fr_tombstones_judge(fr_column *column, uint32_t prim, uint64_t ordinal, uint64_t op_id)
{
    fr_mark_owner owner = {column->attribute->index, column->number};
    /* In this order: a seal makes the tombstone before it drops the mark. */
    uint64_t marked = fr_marks_find(column->marks, owner, prim, 0, ordinal, op_id);
    fr_column *tombstones = fr_tombstones_of(column);
    uint64_t sealed = tombstones ? fr_judge_written(tombstones, prim, ordinal, op_id) : 0;
#ifdef FR_MUTATE_JUDGE_READS_TOMBSTONES_FIRST
    marked = fr_marks_find(column->marks, owner, prim, 0, ordinal, op_id);
#endif
    return marked > sealed ? marked : sealed;
}

uint64_t fr_tombstones_at(const fr_column *column, uint32_t prim, uint64_t at, bool *known)
{
    fr_column *tombstones = fr_tombstones_of(column);
    fr_place place;
    fr_segment *segment = NULL;
    *known = true;
    if (!tombstones)
        return 0;
    fr_mutex_lock(&tombstones->lock);
    if (fr_locator_get(&tombstones->locator, prim, &place))
        segment = tombstones->segments[place.segment];
    fr_mutex_unlock(&tombstones->lock);
    if (!segment || fr_segment_creation(segment, place.row).ordinal > at)
        return 0;
    uint64_t written = fr_history_row_ordinal(segment, place.row, at);
    if (written == 0)
        written = fr_change_log_row(segment, place.row, at);
    *known = written > 0;
    return written;
}

/* --- making them ------------------------------------------------------------------------------ */

static fr_column *fr_tombstones_enter(fr_store *store, fr_column *column)
{
    fr_column *there = fr_tombstones_of(column);
    if (there)
        return there;
    const fr_schema schema = {.code = kDLUInt, .bits = 8, .lanes = 1, .row_bytes = 1};
    fr_column *made = fr_column_make(store, column->attribute, &schema);
    if (!made)
        return NULL;
    made->of = column;
    /* Made under the seals' lock. [column.tombstones.publish] pairs [column.tombstones.read] : see
     * there */
    fr_store_release(&column->tombstones, made);
    return made;
}

bool fr_tombstones_due(fr_column *column, uint32_t prim, uint64_t ordinal)
{
#ifdef FR_MUTATE_TOMBSTONES_OF_NOTHING
    return true;
#endif
    uint64_t written = fr_judge_written(column, prim, ordinal, UINT64_MAX);
    if (written == 0)
        return false;
    fr_column *tombstones = fr_tombstones_of(column);
    if (tombstones && fr_judge_written(tombstones, prim, ordinal - 1, UINT64_MAX) >= written)
        return false;
    for (fr_column *other = fr_column_first(column->attribute); other; other = other->next)
        if (other != column && fr_judge_written(other, prim, ordinal, UINT64_MAX) > written)
            return false; /* another schema had replaced it */
    return true;
}

bool fr_tombstones_due_open(fr_column *column, uint32_t prim, uint64_t ordinal)
{
    fr_mark_owner owner = {column->attribute->index, column->number};
    uint64_t written = fr_judge_written(column, prim, ordinal, UINT64_MAX);
#ifndef FR_MUTATE_DUE_SEES_NO_OPEN_MARKS
    /* Before the tombstones: a seal makes one before it drops the mark. */
    if (written > 0 &&
        fr_marks_find(column->marks, owner, prim, written - 1, ordinal - 1, UINT64_MAX))
        return false;
#endif
    return written > 0 && fr_tombstones_due(column, prim, ordinal);
}

/* The companion's rows of this ordinal, not placed yet; made if there are none. */
static fr_unplaced *fr_tombstones_record(fr_store *store, fr_column *tombstones, uint64_t ordinal,
                                         bool *made)
{
    fr_mutex_lock(&tombstones->lock);
    fr_unplaced *record = fr_column_unplaced(tombstones, ordinal);
    fr_mutex_unlock(&tombstones->lock);
    *made = !record;
    return record ? record : fr_unplaced_create(store->allocator, ordinal, tombstones);
}

static bool fr_tombstones_add(fr_store *store, fr_column *tombstones, uint64_t ordinal,
                              const fr_marked *marked, uint32_t count)
{
    bool made;
    fr_unplaced *record = fr_tombstones_record(store, tombstones, ordinal, &made);
    if (!record)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        bool added;
        if (!fr_unplaced_reserve(store->allocator, store->buffers, record, 1, marked[k].op_id,
                                 NULL)) {
            if (made)
                fr_unplaced_destroy(store->allocator, store->buffers, record);
            return false;
        }
        fr_mutex_lock(&record->lock);
        uint32_t row = fr_unplaced_add(record, marked[k].prim, marked[k].op_id, &added);
        record->buffer->data[row] = FR_TOMBSTONE;
        record->committed = record->prims.count;
        fr_mutex_unlock(&record->lock);
    }
    if (made) {
        fr_mutex_lock(&tombstones->lock);
        fr_column_unplaced_link(tombstones, record);
        fr_mutex_unlock(&tombstones->lock);
    }
    fr_add_relaxed(&tombstones->moves, 1);
    fr_seal_want_layout(store, tombstones);
    return true;
}

/* Tombstones of one column and one ordinal, kept until all that the seal lays out has its place. */
typedef struct fr_burial fr_burial;
struct fr_burial {
    fr_burial *next;
    fr_column *column;
    uint64_t ordinal;
    fr_marked *marked;
    uint32_t count, capacity;
};

static void fr_burial_free(fr_store *store, fr_burial *burial)
{
    fr_marked_release(store->marks, burial->marked, burial->capacity);
    fr_memory_release(store->allocator, burial, sizeof(*burial));
}

void fr_tombstones_forget_burials(fr_store *store)
{
    while (store->burials) {
        fr_burial *burial = store->burials;
        store->burials = burial->next;
        fr_burial_free(store, burial);
    }
}

/* Whose they are, for those that are still to be judged: a record of rows tells it of the first
 * only. */
static bool fr_tombstones_tell(fr_store *store, const fr_column *tombstones,
                               const fr_burial *burial)
{
    if (fr_late_hold(store->late, burial->ordinal) == 0)
        return true;
    size_t size_bytes = burial->count * sizeof(uint32_t);
    uint32_t *prims = fr_memory_allocate(store->allocator, size_bytes, 16);
    bool enough = prims != NULL;
    for (uint32_t first = 0, end; enough && first < burial->count; first = end) {
        uint64_t op_id = burial->marked[first].op_id;
        for (end = first; end < burial->count && burial->marked[end].op_id == op_id; end++)
            prims[end - first] = burial->marked[end].prim;
        enough = fr_late_enter(store->late, tombstones, burial->ordinal, op_id, prims, end - first);
    }
    fr_memory_release(store->allocator, prims, size_bytes);
    return enough;
}

/* False without memory: nothing that matters has happened. */
static bool fr_tombstones_make(fr_store *store, fr_burial *burial)
{
    fr_column *tombstones = fr_tombstones_enter(store, burial->column);
    if (!tombstones)
        return false;
    size_t before = fr_locator_bytes(&tombstones->dead);
    uint64_t entries = tombstones->burying + burial->count;
    if (entries > UINT32_MAX || !fr_locator_reserve(&tombstones->dead, (uint32_t)entries))
        return false;
    fr_add_relaxed(&store->counters.table_bytes, fr_locator_bytes(&tombstones->dead) - before);
    if (!fr_tombstones_tell(store, tombstones, burial) ||
        !fr_tombstones_add(store, tombstones, burial->ordinal, burial->marked, burial->count))
        return false;
    tombstones->burying = entries;
    return true;
}

/* Of one column, those of one ordinal. */
static bool fr_tombstones_expand_column(fr_store *store, fr_column *column, uint64_t ordinal)
{
    fr_mark_owner owner = {column->attribute->index, column->number};
    fr_burial *burial = fr_memory_allocate_zero(store->allocator, sizeof(*burial), 16);
    if (!burial)
        return false;
    burial->column = column;
    burial->ordinal = ordinal;
    uint32_t count = 0;
    bool enough =
        fr_marks_collect(store->marks, ordinal, owner, &burial->marked, &count, &burial->capacity);
    for (uint32_t k = 0; k < count; k++)
        if (fr_tombstones_due(column, burial->marked[k].prim, ordinal))
            burial->marked[burial->count++] = burial->marked[k];
    if (enough && burial->count > 0 && fr_tombstones_make(store, burial)) {
        burial->next = store->burials;
        store->burials = burial;
        return true;
    }
    enough = enough && burial->count == 0;
    fr_burial_free(store, burial);
    return enough;
}

bool fr_tombstones_expand_attribute(fr_store *store, fr_attribute *attribute, uint64_t floor)
{
    uint64_t done = fr_load_relaxed(&attribute->tombstoned), ordinal;
    while (fr_marks_next(store->marks, done, floor, &ordinal)) {
#ifdef FR_MUTATE_MARKS_GO_BEFORE_TOMBSTONES
        fr_marks_settle(store->marks, ordinal, attribute->index);
#endif
        for (fr_column *column = fr_column_first(attribute); column; column = column->next)
            if (!fr_tombstones_expand_column(store, column, ordinal))
                return false;
        fr_marks_settle(store->marks, ordinal, attribute->index);
        done = ordinal;
        /* [attribute.tombstoned.step] pairs [attribute.tombstoned.read] : as below */
        fr_store_release(&attribute->tombstoned, done);
    }
    /* [attribute.tombstoned.done] pairs [attribute.tombstoned.read] : who sees it sees the
     * tombstones, before the marks go */
    if (done < floor)
        fr_store_release(&attribute->tombstoned, floor);
    return true;
}

void fr_tombstones_expand(fr_store *store, const fr_floor_record *next)
{
    uint32_t count = fr_attributes_count(store->attributes);
    store->marks_missing = false;
    for (uint32_t k = 0; k < count && !fr_marks_none(store->marks); k++) {
        fr_attribute *attribute = fr_attributes_at(store->attributes, k);
        if (!fr_tombstones_expand_attribute(store, attribute, fr_floor_effective(next, k)))
            store->marks_missing = true;
    }
}

/* --- keys that come back ---------------------------------------------------------------------- */

/* The ordinal at which a key was last deleted, or 0, as a place of the locator. */
static fr_place fr_dead_place(uint64_t ordinal)
{
    return (fr_place){(uint32_t)(ordinal >> 32), (uint32_t)ordinal};
}

static uint64_t fr_dead_since(const fr_column *tombstones, uint32_t prim)
{
    fr_place place = {0, 0};
    (void)fr_locator_get(&tombstones->dead, prim, &place);
    return (uint64_t)place.segment << 32 | place.row;
}

/* False: its place is still to come. */
static bool fr_tombstones_bury_key(fr_store *store, fr_column *column, uint32_t prim,
                                   uint64_t ordinal)
{
    fr_column *tombstones = fr_tombstones_of(column);
    fr_place place;
    if (!fr_locator_get(&column->locator, prim, &place)) /* only seals place keys */
        return false;
    uint64_t since = fr_dead_since(tombstones, prim);
    if (since < ordinal)
        fr_locator_put(&tombstones->dead, prim, fr_dead_place(ordinal));
    tombstones->burying--;
    if (since == 0) {
        column->segments[place.segment]->dead_count++;
        fr_add_relaxed(&store->counters.keys_deleted, 1);
        fr_living_remove(&store->living, prim);
    }
    return true;
}

void fr_tombstones_bury(fr_store *store)
{
    for (fr_burial **link = &store->burials; *link;) {
        fr_burial *burial = *link;
        uint32_t left = 0;
        for (uint32_t k = 0; k < burial->count; k++)
            if (!fr_tombstones_bury_key(store, burial->column, burial->marked[k].prim,
                                        burial->ordinal))
                burial->marked[left++] = burial->marked[k];
        burial->count = left;
        if (left > 0) {
            link = &burial->next;
            continue;
        }
        *link = burial->next;
        fr_burial_free(store, burial);
    }
}

static bool fr_tombstones_return(fr_store *store, fr_segment *segment, fr_column *tombstones,
                                 uint32_t row, uint64_t ordinal)
{
    uint64_t since = fr_dead_since(tombstones, segment->prims[row]);
    if (since == 0 || since >= ordinal)
        return false;
    fr_locator_put(&tombstones->dead, segment->prims[row], fr_dead_place(0));
    segment->dead_count--;
    fr_sub_relaxed(&store->counters.keys_deleted, 1);
    fr_living_add(&store->living, segment->prims[row]);
    return true;
}

/* What the version wrote does not change any more: its ordinal is sealed. */
static bool fr_version_brings_back(fr_store *store, fr_segment *segment, fr_column *tombstones,
                                   const fr_version *version)
{
    bool full = version->kind == FR_VERSION_FULL;
    const fr_row_set *set = full ? NULL : &version->change->rows;
    bool list = !full && !fr_row_set_is_bitmap(set), returns = false;
    uint32_t count = list ? set->count : segment->row_count;
    for (uint32_t k = 0; k < count && segment->dead_count > 0; k++) {
        uint32_t row = list ? set->rows[k] : k;
        if (full || list || fr_row_set_place(set, row) != FR_ROW_SET_NONE)
            returns |= fr_tombstones_return(store, segment, tombstones, row, version->ordinal);
    }
    return returns;
}

void fr_tombstones_note_returns(fr_store *store, fr_segment *segment, uint64_t floor)
{
    fr_column *tombstones = fr_tombstones_of(segment->column);
    bool returns = false;
    while (tombstones && segment->dead_count > 0) {
        fr_mutex_lock(&segment->lock);
        const fr_version *version = fr_segment_state(segment, floor);
        bool fresh = version && version->ordinal > segment->accounted;
        fr_mutex_unlock(&segment->lock);
        if (!fresh)
            break;
        returns |= fr_version_brings_back(store, segment, tombstones, version);
        floor = version->ordinal - 1;
    }
    if (returns)
        fr_add_relaxed(&tombstones->moves, 1);
}

void fr_tombstones_drop_marks(fr_store *store, const fr_floor_record *published)
{
#ifndef FR_MUTATE_MARKS_GO_THOUGH_MISSING
    if (!store->marks_missing)
#endif
        fr_marks_drop(store->marks, published->base);
}
