#include "runtime/store/range_read.h"

#include <string.h>

#include "runtime/store/bind_inverse.h"
#include "runtime/store/change_log.h"
#include "runtime/store/history.h"
#include "runtime/store/position_sort.h"
#include "runtime/store/store_state.h"
#include "runtime/write/rows_width.h"

#define FR_RANGE_FEW 16u

/* Which rows of a segment changed in the range. */
typedef struct fr_range_changes {
    bool all;       /* that existed at its end */
    bool is_merged; /* part of it is not known but by each row's newest change */
    uint32_t count, capacity;
    uint64_t rows;                /* of the changes */
    uint64_t below, logged_below; /* what is left to be looked at */
    fr_change **changes;          /* a reference each */
    fr_change *few[FR_RANGE_FEW];
} fr_range_changes;

static void fr_range_changes_release(fr_store *store, fr_range_changes *list)
{
    for (uint32_t c = 0; c < list->count; c++)
        fr_change_release(list->changes[c]);
    if (list->changes != list->few)
        fr_memory_release(store->allocator, list->changes, list->capacity * sizeof(*list->changes));
}

static void fr_range_changes_add(fr_range_changes *list, fr_change *change)
{
    fr_change_retain(change);
    list->changes[list->count++] = change;
    list->rows += change->rows.count;
}

/* With the segment's lock held: of what is accounted for, all rows were last written by one entry
 * in the range, or later in it. Those that were made later were written then. */
static bool fr_range_all_logged(const fr_reading *reading, const fr_segment *segment)
{
    if (segment->log_merged > reading->at)
        return false; /* a row's newest change counts, which may be above */
    const fr_logged *above = fr_change_log_above(segment, reading->at);
    uint64_t full = above ? above->previous_full : segment->full_ordinal;
    return full >= reading->start && full <= reading->at;
}

/* With the segment's lock held: an entry of the range that is sealed but not accounted for, from
 * the newest down; NULL: there is no further one. */
static fr_version *fr_range_unaccounted(const fr_reading *reading, const fr_segment *segment,
                                        uint64_t below)
{
    fr_version *version = fr_segment_state(segment, below);
    bool is_in = version && version->ordinal > segment->accounted &&
                 version->ordinal >= reading->start && version->ordinal <= reading->at;
    return is_in ? version : NULL;
}

/* All rows were last written in the range. The lock is given to others now and then. */
static bool fr_range_all(const fr_reading *reading, fr_segment *segment)
{
    uint64_t below = reading->at;
    bool all = false;
    const fr_version *version;
    do {
        uint32_t left = FR_ROWS_A_LOCK;
        fr_mutex_lock(&segment->lock);
        while ((version = fr_range_unaccounted(reading, segment, below)) != NULL && !all &&
               fr_row_look_step(&left)) {
            below = version->ordinal - 1;
            all = version->kind == FR_VERSION_FULL;
        }
        if (!version)
            all = all || fr_range_all_logged(reading, segment);
        fr_mutex_unlock(&segment->lock);
    } while (version && !all);
    return all;
}

/* With the segment's lock held. False: there is no room or no step left; it goes on from there. */
static bool fr_range_collect(const fr_reading *reading, const fr_segment *segment,
                             fr_range_changes *list)
{
    uint32_t left = FR_ROWS_A_LOCK;
    const fr_version *version;
    while ((version = fr_range_unaccounted(reading, segment, list->below)) != NULL) {
        list->all = version->kind == FR_VERSION_FULL;
        if (list->all)
            return true;
        if (list->count == list->capacity || !fr_row_look_step(&left))
            return false;
        fr_range_changes_add(list, version->change);
        list->below = version->ordinal - 1;
    }
    list->all = fr_range_all_logged(reading, segment);
    list->is_merged = segment->log_merged >= reading->start;
    if (list->all || list->is_merged)
        return true;
    const fr_logged *logged = fr_change_log_above(segment, list->logged_below);
    logged = logged ? logged->older : segment->log_newest;
    for (; logged && logged->place.ordinal >= reading->start; logged = logged->older) {
        if (list->count == list->capacity || !fr_row_look_step(&left))
            return false;
        fr_range_changes_add(list, logged->change);
        list->logged_below = logged->place.ordinal - 1;
    }
    return true;
}

/* False without memory. */
static bool fr_range_changes_room(fr_store *store, fr_range_changes *list)
{
    if (list->count < list->capacity)
        return true;
    uint32_t doubled = 2 * list->capacity;
    fr_change **larger = fr_memory_allocate(store->allocator, doubled * sizeof(*larger), 16);
    if (!larger)
        return false;
    memcpy(larger, list->changes, list->count * sizeof(*larger));
    if (list->changes != list->few)
        fr_memory_release(store->allocator, list->changes, list->capacity * sizeof(*larger));
    list->changes = larger;
    list->capacity = doubled;
    return true;
}

/* The lock is given to others now and then: what is accounted for meanwhile may come twice. False
 * without memory. */
static bool fr_range_changes_get(const fr_reading *reading, fr_segment *segment,
                                 fr_range_changes *list)
{
    bool done;
    list->below = list->logged_below = reading->at;
    do {
        if (!fr_range_changes_room(reading->store, list))
            return false;
        fr_mutex_lock(&segment->lock);
        done = fr_range_collect(reading, segment, list);
        fr_mutex_unlock(&segment->lock);
    } while (!done);
    return true;
}

/* --- which positions ------------------------------------------------------------------------- */

/* Room for so many more rows; false without memory. */
static bool fr_range_room(fr_snapshot *snapshot, uint64_t more)
{
    const fr_allocator *allocator = snapshot->store->allocator;
    uint64_t wanted = snapshot->row_count + more;
    uint32_t had = snapshot->own_capacity;
    if (wanted <= had)
        return true;
    if (wanted < 2 * (uint64_t)had)
        wanted = 2 * (uint64_t)had;
    if (wanted > UINT32_MAX)
        return false;
    size_t had_bytes = had * sizeof(uint32_t), wanted_bytes = (size_t)wanted * sizeof(uint32_t);
    uint32_t *rows = fr_memory_allocate(allocator, wanted_bytes, 16);
    uint32_t *outs = fr_memory_allocate(allocator, wanted_bytes, 16);
    if (!rows || !outs) {
        fr_memory_release(allocator, rows, wanted_bytes);
        fr_memory_release(allocator, outs, wanted_bytes);
        return false;
    }
    if (had > 0) {
        memcpy(rows, snapshot->own_rows, snapshot->row_count * sizeof(*rows));
        memcpy(outs, snapshot->own_outs, snapshot->row_count * sizeof(*outs));
    }
    fr_memory_release(allocator, snapshot->own_rows, had_bytes);
    fr_memory_release(allocator, snapshot->own_outs, had_bytes);
    snapshot->rows = snapshot->own_rows = rows;
    snapshot->own_outs = outs;
    snapshot->own_capacity = (uint32_t)wanted;
    return true;
}

static inline void fr_range_add(fr_snapshot *snapshot, uint32_t row, uint32_t position)
{
    snapshot->own_rows[snapshot->row_count] = row;
    snapshot->own_outs[snapshot->row_count++] = position;
}

/* All that existed. */
static ovstage_api_status_t fr_range_take_existing(const fr_reading *reading,
                                                   const fr_binding *binding,
                                                   const fr_bind_group *group,
                                                   fr_snapshot *snapshot)
{
    if (!fr_range_room(snapshot, group->count))
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = group->first; k < group->first + group->count; k++) {
        uint32_t row = fr_bind_row(binding, k);
        if (fr_segment_creation(group->segment, row).ordinal <= reading->at)
            fr_range_add(snapshot, row, fr_bind_position(binding, k));
    }
    return OVSTAGE_OK;
}

/* Each row by its newest change. The lock is given to others now and then. */
static ovstage_api_status_t fr_range_take_merged(const fr_reading *reading,
                                                 const fr_binding *binding,
                                                 const fr_bind_group *group, fr_snapshot *snapshot)
{
    fr_segment *segment = group->segment;
    if (!fr_range_room(snapshot, group->count))
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    fr_segment_index(segment);
    fr_row_look look;
    uint32_t k = group->first, end = group->first + group->count;
    fr_row_look_begin(&look, fr_bind_row(binding, k), reading->at);
    while (k < end) {
        uint32_t left = FR_ROWS_A_LOCK;
        fr_mutex_lock(&segment->lock);
        bool is_late = segment->log_merged > reading->floor;
        while (k < end && !is_late && fr_row_look_step(&left)) {
            bool existed = fr_segment_creation(segment, look.row).ordinal <= reading->at;
            if (existed && !fr_change_log_look(segment, &look, &left))
                break;
            if (existed && look.written >= reading->start)
                fr_range_add(snapshot, look.row, fr_bind_position(binding, k));
            if (++k < end)
                fr_row_look_begin(&look, fr_bind_row(binding, k), reading->at);
        }
        fr_mutex_unlock(&segment->lock);
        if (is_late)
            return OVSTAGE_ERROR_OUT_OF_RANGE;
    }
    return OVSTAGE_OK;
}

/* --- beginning at the rows -------------------------------------------------------------------- */

/* Above this share of a group's positions those that changed are marked in a bitmap, below they are
 * sorted. */
#define FR_RANGE_SORTED_SHARE 512u

typedef struct fr_range_walk {
    const fr_bind_group *group;
    const uint32_t *inverse; /* NULL: the positions are the segment's rows in order */
    uint64_t *marks;         /* a bit for each position of the group, */
    uint64_t *marked;        /* and one for each of those words that has some */
    uint64_t *ks;            /* or these */
    uint32_t count;
} fr_range_walk;

/* Whether a row is in the query is as good as random, too: no branch. */
static inline void fr_range_mark(fr_range_walk *walk, uint32_t row)
{
    uint32_t k = walk->inverse ? walk->inverse[row] : row + 1;
    uint64_t is_in = k != 0;
    k = is_in ? k - 1 : walk->group->first;
    if (walk->ks) {
        walk->ks[walk->count] = (uint64_t)k << 32;
        walk->count += (uint32_t)is_in;
        return;
    }
    k -= walk->group->first;
    uint32_t word = k / 64;
    walk->marks[word] |= is_in << k % 64;
    walk->marked[word / 64] |= is_in << word % 64;
}

static void fr_range_mark_all(fr_range_walk *walk, const fr_row_set *set)
{
    uint32_t count = fr_row_set_is_bitmap(set) ? 0 : set->count;
    for (uint32_t place = 0; place < count; place++) {
        if (walk->inverse)
            fr_row_ask_for(&walk->inverse[fr_rows_ahead(set->rows, place, count)]);
        fr_range_mark(walk, set->rows[place]);
    }
    uint32_t words = fr_row_set_is_bitmap(set) ? (set->universe + 63) / 64 : 0;
    for (uint32_t word = 0; word < words; word++)
        for (uint64_t bits = set->bitmap[word]; bits; bits &= bits - 1)
            fr_range_mark(walk, 64 * word + (uint32_t)__builtin_ctzll(bits));
}

static inline size_t fr_range_words(uint64_t bits)
{
    return ((size_t)bits + 63) / 64;
}

/* Marked places of the group, ascending, into `ks`, which has room for one more; returns how many.
 * Whether a word has a second mark is as good as random, so it is taken whether it is there or not:
 * a branch that is guessed wrong costs more than several of these. */
static uint32_t fr_range_list_marks(const fr_range_walk *walk, uint32_t *ks)
{
    uint32_t count = 0;
    size_t words = fr_range_words(fr_range_words(walk->group->count));
    for (size_t of = 0; of < words; of++)
        for (uint64_t left = walk->marked[of]; left; left &= left - 1) {
            size_t word = 64 * of + (size_t)__builtin_ctzll(left);
            uint64_t bits = walk->marks[word];
            uint32_t first = walk->group->first + 64 * (uint32_t)word;
            ks[count++] = first + (uint32_t)__builtin_ctzll(bits);
            bits &= bits - 1;
            ks[count] = first + (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
            count += bits != 0;
            for (bits &= bits - (bits != 0); bits; bits &= bits - 1)
                ks[count++] = first + (uint32_t)__builtin_ctzll(bits);
        }
    return count;
}

/* The same of those that are not marked. */
static uint32_t fr_range_list_sorted(const fr_range_walk *walk, uint64_t *room, uint32_t *ks)
{
    uint32_t count = 0;
    fr_positions_sort(walk->ks, room, walk->count);
    for (uint32_t n = 0; n < walk->count; n++)
        if (n == 0 || walk->ks[n] != walk->ks[n - 1]) /* it may have changed more than once */
            ks[count++] = (uint32_t)(walk->ks[n] >> 32);
    return count;
}

/* From places of the binding that lie behind the snapshot's rows. */
static void fr_range_take_listed(const fr_binding *binding, fr_snapshot *snapshot, uint32_t count)
{
    uint32_t *rows = snapshot->own_rows + snapshot->row_count;
    uint32_t *outs = snapshot->own_outs + snapshot->row_count;
    if (binding->whole)
        memcpy(rows, outs, count * sizeof(*rows)); /* which they are themselves */
    for (uint32_t n = 0; n < count && !binding->whole; n++) {
        uint32_t k = outs[n];
        fr_row_ask_for(&binding->rows[fr_rows_ahead(outs, n, count)]);
        rows[n] = fr_bind_row(binding, k);
        outs[n] = fr_bind_position(binding, k);
    }
    snapshot->row_count += count;
}

static void fr_range_turn_round(uint32_t *list, uint32_t count)
{
    for (uint32_t n = 0; n < count / 2; n++) {
        uint32_t last = list[count - 1 - n];
        list[count - 1 - n] = list[n];
        list[n] = last;
    }
}

/* Of one change that lists its rows in ascending order: those of the group, if their places come
 * out ascending, too, or the other way round. False: nothing was taken; there is room for one more
 * than it lists. */
static bool fr_range_take_ordered(const fr_binding *binding, const fr_range_walk *walk,
                                  const fr_range_changes *list, fr_snapshot *snapshot)
{
    const fr_row_set *set = &list->changes[0]->rows;
    if (list->count != 1 || fr_row_set_is_bitmap(set) ||
        !fr_positions_ascend(set->rows, set->count))
        return false;
    uint32_t *rows = snapshot->own_rows + snapshot->row_count;
    uint32_t *outs = snapshot->own_outs + snapshot->row_count;
    uint32_t count = walk->inverse ? 0 : set->count;
    for (uint32_t place = 0; walk->inverse && place < set->count; place++) {
        uint32_t row = set->rows[place];
        fr_row_ask_for(&walk->inverse[fr_rows_ahead(set->rows, place, set->count)]);
        uint32_t k = walk->inverse[row];
        rows[count] = row; /* over it comes the next one if it is none */
        outs[count] = k - 1;
        count += k != 0;
    }
    if (count > 1 && walk->inverse && outs[0] > outs[count - 1]) {
        fr_range_turn_round(rows, count);
        fr_range_turn_round(outs, count);
    }
    if (walk->inverse && !fr_positions_ascend(outs, count))
        return false;
    if (!walk->inverse) {
        memcpy(rows, set->rows, count * sizeof(*rows));
        memcpy(outs, set->rows, count * sizeof(*outs));
    }
    for (uint32_t n = 0; binding->order && n < count; n++)
        outs[n] = binding->order[outs[n]];
    snapshot->row_count += count;
    return true;
}

static ovstage_api_status_t fr_range_walk_changes(const fr_binding *binding, fr_range_walk *walk,
                                                  const fr_range_changes *list,
                                                  fr_snapshot *snapshot)
{
    fr_buffers *buffers = snapshot->store->buffers;
    uint32_t count = walk->group->count;
    uint64_t most = list->rows < count ? list->rows : count;
    if (!fr_range_room(snapshot, most + 1))
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (fr_range_take_ordered(binding, walk, list, snapshot))
        return OVSTAGE_OK;
    bool sorts = list->rows < count / FR_RANGE_SORTED_SHARE + 1;
    size_t words = sorts ? 2 * (size_t)list->rows + 1 : fr_range_words(count);
    size_t memory_bytes = (words + fr_range_words(words)) * sizeof(uint64_t);
    /* A payload's buffer, since those are kept: fresh pages cost more than what is done with them.
     */
    fr_buffer *buffer = fr_buffer_get(buffers, memory_bytes);
    if (!buffer)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    uint64_t *memory = (uint64_t *)(void *)buffer->data;
    if (!sorts)
        memset(memory, 0, memory_bytes);
    *(sorts ? &walk->ks : &walk->marks) = memory;
    walk->marked = memory + words;
    for (uint32_t c = 0; c < list->count; c++)
        fr_range_mark_all(walk, &list->changes[c]->rows);
    uint32_t *ks = snapshot->own_outs + snapshot->row_count;
    uint32_t found = sorts ? fr_range_list_sorted(walk, memory + list->rows + 1, ks)
                           : fr_range_list_marks(walk, ks);
    fr_range_take_listed(binding, snapshot, found);
    fr_buffer_release(buffers, buffer);
    return OVSTAGE_OK;
}

/* --- or at the positions ---------------------------------------------------------------------- */

static bool fr_range_changed(const fr_range_changes *list, uint32_t row)
{
    bool changed = false;
    for (uint32_t c = 0; c < list->count && !changed; c++)
        changed = fr_row_set_place(&list->changes[c]->rows, row) != FR_ROW_SET_NONE;
    return changed;
}

static ovstage_api_status_t fr_range_take_changed(const fr_binding *binding,
                                                  const fr_bind_group *group,
                                                  const fr_range_changes *list,
                                                  fr_snapshot *snapshot)
{
    fr_range_walk walk = {.group = group};
    if (list->rows == 0)
        return OVSTAGE_OK;
    if (!binding->whole && list->rows < group->count / 2)
        walk.inverse = fr_bind_inverse_of(binding, group);
    if (binding->whole || walk.inverse)
        return fr_range_walk_changes(binding, &walk, list, snapshot);
    if (!fr_range_room(snapshot, group->count))
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    for (uint32_t c = 0; c < list->count; c++)
        if (!fr_segment_index_change(group->segment, list->changes[c]))
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = group->first; k < group->first + group->count; k++) {
        uint32_t row = fr_bind_row(binding, k);
        if (fr_range_changed(list, row))
            fr_range_add(snapshot, row, fr_bind_position(binding, k));
    }
    return OVSTAGE_OK;
}

/* --- in order --------------------------------------------------------------------------------- */

/* From positions to rows of the group to be. False without memory. */
static bool fr_range_rank(fr_snapshot *snapshot)
{
    const fr_allocator *allocator = snapshot->store->allocator;
    uint32_t count = snapshot->row_count;
    if (snapshot->source_count == 1 || fr_positions_ascend(snapshot->own_outs, count)) {
        snapshot->positions = snapshot->own_outs;
        snapshot->own_outs = NULL;
        return true;
    }
    size_t pairs_bytes = 2 * (size_t)count * sizeof(uint64_t);
    uint64_t *pairs = fr_memory_allocate(allocator, pairs_bytes, 16);
    snapshot->positions =
        fr_memory_allocate(allocator, snapshot->own_capacity * sizeof(uint32_t), 16);
    if (pairs && snapshot->positions) {
        for (uint32_t k = 0; k < count; k++)
            pairs[k] = (uint64_t)snapshot->own_outs[k] << 32 | k;
        fr_positions_sort(pairs, pairs + count, count);
        for (uint32_t k = 0; k < count; k++) {
            snapshot->positions[k] = (uint32_t)(pairs[k] >> 32);
            snapshot->own_outs[(uint32_t)pairs[k]] = k;
        }
        snapshot->outs = snapshot->own_outs;
    }
    fr_memory_release(allocator, pairs, pairs_bytes);
    return pairs && snapshot->positions;
}

/* Those that another column has, or that were deleted since. */
static void fr_range_leave_others(const fr_reading *reading, const fr_binding *binding,
                                  fr_segment *segment, fr_snapshot *snapshot, uint32_t first)
{
    uint32_t kept = first;
    for (uint32_t k = first; k < snapshot->row_count; k++) {
        uint32_t row = snapshot->own_rows[k], position = snapshot->own_outs[k];
        uint64_t written = fr_change_log_row(segment, row, reading->at);
        /* What another column was last written at may be merged: that is above the moment then, and
         * the key's newest change. */
        if (fr_reading_owner(reading, binding->column, position, written) != FR_OWNER_HERE)
            continue;
        snapshot->own_rows[kept] = row;
        snapshot->own_outs[kept++] = position;
    }
    snapshot->row_count = kept;
}

/* --- a range ---------------------------------------------------------------------------------- */

static bool fr_range_may_have(const fr_reading *reading, const fr_segment *segment)
{
    /* In this order: what a seal accounts for is in the log before it stops to be open. */
    return fr_reading_may_be_open(segment, reading->at) ||
           fr_change_log_may_have(segment, reading->start);
}

static ovstage_api_status_t fr_range_take_group(const fr_reading *reading,
                                                const fr_binding *binding,
                                                const fr_bind_group *group, fr_snapshot *snapshot)
{
    if (!fr_range_may_have(reading, group->segment))
        return OVSTAGE_OK;
    uint32_t first = snapshot->row_count;
    fr_range_changes list = {.capacity = FR_RANGE_FEW};
    list.changes = list.few;
    ovstage_api_status_t status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (fr_range_changes_get(reading, group->segment, &list)) {
        if (list.all)
            status = fr_range_take_existing(reading, binding, group, snapshot);
        else if (list.is_merged)
            status = fr_range_take_merged(reading, binding, group, snapshot);
        else
            status = fr_range_take_changed(binding, group, &list, snapshot);
    }
    fr_range_changes_release(reading->store, &list);
    if (status != OVSTAGE_OK)
        return status;
    if (!fr_reading_is_alone(reading, binding->column))
        fr_range_leave_others(reading, binding, group->segment, snapshot, first);
    if (snapshot->row_count == first)
        return OVSTAGE_OK;
    return fr_snapshot_pin(snapshot, group->segment, reading->at, first,
                           snapshot->row_count - first);
}

/* All rows of each of its segments changed. */
static bool fr_range_is_full(const fr_reading *reading, const fr_binding *binding)
{
    bool all = fr_reading_has_all(reading, binding);
    for (uint32_t g = 0; g < binding->group_count && all; g++)
        all = fr_range_all(reading, binding->groups[g].segment);
    return all;
}

bool fr_range_is_whole(const fr_reading *reading, const fr_binding *binding)
{
    return binding->whole && reading->start <= reading->at && fr_range_is_full(reading, binding);
}

ovstage_api_status_t fr_range_take(const fr_reading *reading, const fr_binding *binding,
                                   fr_snapshot *snapshot)
{
    if (reading->start > reading->at)
        return OVSTAGE_OK;
    if (fr_bind_is_kept(binding) && fr_range_is_full(reading, binding))
        return fr_reading_take_all(reading, binding, snapshot);
    snapshot->any_ordinal = true;
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t g = 0; g < binding->group_count && status == OVSTAGE_OK; g++)
        status = fr_range_take_group(reading, binding, &binding->groups[g], snapshot);
    if (status == OVSTAGE_OK && snapshot->row_count > 0 && !fr_range_rank(snapshot))
        status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    return status;
}
