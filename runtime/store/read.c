/* Snapshot reads: latest(N) of one attribute over a query.
 *
 * Threads: any number of readers; they take short locks of columns and segments only off the quick
 * path, which is: a bound query whose rows are one segment in order, the head at the wanted moment,
 * and nothing open at or below N. */
#include <stdio.h>

#include "runtime/device/placed.h"
#include "runtime/store/change_log.h"
#include "runtime/store/derive.h"
#include "runtime/store/gathered.h"
#include "runtime/store/history.h"
#include "runtime/store/range_read.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"
#include "runtime/store/tombstones.h"

/* part->state is a pinned version (tagged), or a snapshot. */
#define FR_PART_VERSION ((uintptr_t)1)

static ovstage_api_status_t fr_reading_refuse(const fr_reading *reading,
                                              ovstage_api_status_t status, uint64_t found)
{
    char *text = reading->result->text;
    size_t size = sizeof(reading->result->text);
    if (status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION)
        snprintf(
            text, size,
            "it has an unsealed change at ordinal %llu, at or below the read's %llu; the write "
            "floor is %llu",
            (unsigned long long)found, (unsigned long long)reading->ordinal,
            (unsigned long long)reading->floor);
    else if (status == OVSTAGE_ERROR_OUT_OF_RANGE)
        snprintf(text, size,
                 "the value at ordinal %llu is no longer kept; the write floor is %llu, and %u "
                 "values (history_versions) before the newest are kept, in %llu bytes "
                 "(history_limit_bytes)",
                 (unsigned long long)reading->at, (unsigned long long)reading->floor,
                 reading->store->config.history_versions,
                 (unsigned long long)reading->store->config.history_limit_bytes);
    else
        snprintf(text, size, "no memory to read it of %u prims at ordinal %llu",
                 reading->query->count, (unsigned long long)reading->at);
    return status;
}

fr_read_part *fr_store_read_part(fr_store *store, fr_read_result *result)
{
    if (result->part_count == result->part_capacity) {
        uint32_t capacity = result->part_capacity ? 2 * result->part_capacity : 4;
        fr_read_part *parts =
            fr_memory_grow(store->allocator, result->parts, result->part_capacity * sizeof(*parts),
                           capacity * sizeof(*parts), 16);
        if (!parts)
            return NULL;
        result->parts = parts;
        result->part_capacity = capacity;
    }
    fr_read_part *part = &result->parts[result->part_count++];
    *part = (fr_read_part){0};
    return part;
}

static fr_read_part *fr_reading_part(const fr_reading *reading, fr_column *column)
{
    fr_read_part *part = fr_store_read_part(reading->store, reading->result);
    if (!part)
        return NULL;
    part->attribute = reading->attribute;
    part->name = reading->name;
    part->schema = column->schema;
    part->floor = reading->floor;
    part->layout_generation = fr_store_layout_generation(reading->attribute);
    return part;
}

/* --- the quick path --------------------------------------------------------------------------- */

/* The head is pinned first and looked at again then: records are type-stable, so a head that was
 * just replaced can be pinned in vain but not misread. */
static bool fr_reading_quick(const fr_reading *reading, const fr_binding *binding,
                             ovstage_api_status_t *status)
{
    if (!binding->whole || !fr_reading_is_alone(reading, binding->column))
        return false;
    fr_segment *segment = binding->groups[0].segment;
    /* In this order: what a seal lays out is a version before it stops to be an unplaced row. */
    if (fr_column_has_unplaced(binding->column, reading->ordinal) ||
        fr_reading_may_be_open(segment, reading->ordinal) || segment->created_last > reading->at)
        return false;
    /* [segment.head.read] pairs [segment.head.publish], [segment.head.move] : see there */
    fr_version *head = fr_load_acquire(&segment->head);
    if (!head || !fr_pin_take(&head->pin))
        return false;
#ifdef FR_MUTATE_READ_NO_RECHECK
    bool still = true;
#else
    /* [segment.head.recheck] pairs [segment.head.publish], [segment.head.move] : pinned, it is the
     * head, and stays as it is */
    bool still = fr_load_acquire(&segment->head) == head;
#endif
    if (!still || head->ordinal > reading->at) {
        fr_version_unpin(&reading->store->versions, head);
        return false;
    }
    fr_read_part *part = fr_reading_part(reading, binding->column);
    if (!part) {
        fr_version_unpin(&reading->store->versions, head);
        *status = fr_reading_refuse(reading, OVSTAGE_ERROR_OUT_OF_MEMORY, 0);
        return true;
    }
    part->ordinal = reading->is_range ? reading->ordinal : head->ordinal;
    part->count = binding->count;
    part->all_prims = true;
    part->data = head->buffer->data;
    part->device = fr_column_device(binding->column);
    part->placed = head->buffer->is_placed ? head->buffer->placed : NULL;
    part->data_bytes = (size_t)binding->count * binding->column->row_bytes;
    part->state = (void *)((uintptr_t)head | FR_PART_VERSION);
    return true;
}

/* --- the general path ------------------------------------------------------------------------- */

/* When a row that existed was last written at or below the moment, by what is kept of its states
 * or, where they are gone, by the log of changes. 0: neither knows. */
static uint64_t fr_row_written(fr_segment *segment, uint32_t row, uint64_t at)
{
    uint64_t written = fr_history_row_ordinal(segment, row, at);
    return written ? written : fr_change_log_row(segment, row, at);
}

bool fr_reading_is_alone(const fr_reading *reading, const fr_column *column)
{
    return !reading->buried && !column->next && fr_column_first(reading->attribute) == column;
}

/* One ordinal has deleted a key of a column and written it to another one: that has it, or its
 * tombstone, if the key was deleted there later. Deleted there by the same ordinal as well, the
 * newer column has it. */
static bool fr_reading_tie_is_others(const fr_reading *reading, const fr_column *tombstones,
                                     const fr_column *other, uint32_t prim, uint64_t written)
{
    bool known;
    if (!tombstones->of || tombstones->of == other)
        return false;
    return fr_tombstones_at(other, prim, reading->at, &known) != written ||
           other->number > tombstones->of->number;
}

fr_owner fr_reading_owner(const fr_reading *reading, const fr_column *column, uint32_t position,
                          uint64_t written)
{
    uint32_t prim = (uint32_t)reading->query->prims[position];
    fr_owner owner = FR_OWNER_HERE;
    if (reading->buried) {
        bool known;
        uint64_t deleted = fr_tombstones_at(column, prim, reading->at, &known);
        if (written && deleted >= written)
            return FR_OWNER_ELSEWHERE;
        if (!known || (deleted && !written))
            owner = FR_OWNER_UNKNOWN;
    }
    for (fr_column *other = fr_column_first(reading->attribute); other; other = other->next) {
        fr_place place;
        fr_segment *segment = NULL;
        if (other == column)
            continue;
        fr_mutex_lock(&other->lock);
        if (fr_locator_get(&other->locator, prim, &place))
            segment = other->segments[place.segment];
        fr_mutex_unlock(&other->lock);
        if (!segment || fr_segment_creation(segment, place.row).ordinal > reading->at)
            continue;
        uint64_t others = fr_row_written(segment, place.row, reading->at);
        if (written &&
            (others > written || (others == written &&
                                  fr_reading_tie_is_others(reading, column, other, prim, written))))
            return FR_OWNER_ELSEWHERE;
        if (!written || !others)
            owner = FR_OWNER_UNKNOWN;
    }
    return owner;
}

static fr_owner fr_reading_row_owner(const fr_reading *reading, const fr_binding *binding,
                                     fr_segment *segment, uint32_t k)
{
    uint32_t row = fr_bind_row(binding, k);
    if (fr_segment_creation(segment, row).ordinal > reading->at)
        return FR_OWNER_ELSEWHERE; /* nowhere yet */
    if (fr_reading_is_alone(reading, binding->column))
        return FR_OWNER_HERE;
    return fr_reading_owner(reading, binding->column, fr_bind_position(binding, k),
                            fr_row_written(segment, row, reading->at));
}

bool fr_reading_has_all(const fr_reading *reading, const fr_binding *binding)
{
    bool all =
        binding->placed_count == binding->count && fr_reading_is_alone(reading, binding->column);
    for (uint32_t g = 0; all && g < binding->group_count; g++)
        all = binding->groups[g].segment->created_last <= reading->at;
    return all;
}

/* From positions to rows of the group to be. False without memory. */
static bool fr_reading_rank(const fr_reading *reading, const fr_binding *binding,
                            fr_snapshot *snapshot)
{
    size_t ranks_bytes = binding->count * sizeof(uint32_t);
    uint32_t *ranks = fr_memory_allocate_zero(reading->store->allocator, ranks_bytes, 16);
    if (!ranks)
        return false;
    for (uint32_t k = 0; k < snapshot->row_count; k++)
        ranks[snapshot->own_outs[k]] = 1;
    uint32_t out = 0;
    for (uint32_t position = 0; position < binding->count; position++)
        if (ranks[position]) {
            snapshot->positions[out] = position;
            ranks[position] = out++;
        }
    for (uint32_t k = 0; k < snapshot->row_count; k++)
        snapshot->own_outs[k] = ranks[snapshot->own_outs[k]];
    fr_memory_release(reading->store->allocator, ranks, ranks_bytes);
    return true;
}

/* What the query has of the column at the moment, group by group; pinned. */
static ovstage_api_status_t fr_reading_select(const fr_reading *reading, const fr_binding *binding,
                                              fr_snapshot *snapshot)
{
    const fr_allocator *allocator = reading->store->allocator;
    size_t own_bytes = binding->count * sizeof(uint32_t);
    snapshot->own_capacity = binding->count;
    snapshot->own_rows = fr_memory_allocate(allocator, own_bytes, 16);
    snapshot->own_outs = fr_memory_allocate(allocator, own_bytes, 16);
    snapshot->positions = fr_memory_allocate(allocator, own_bytes, 16);
    if (!snapshot->own_rows || !snapshot->own_outs || !snapshot->positions)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    snapshot->rows = snapshot->own_rows;
    snapshot->outs = snapshot->own_outs;
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t g = 0; g < binding->group_count && status == OVSTAGE_OK; g++) {
        const fr_bind_group *group = &binding->groups[g];
        uint32_t first = snapshot->row_count;
        for (uint32_t k = group->first; k < group->first + group->count; k++) {
            fr_owner owner = fr_reading_row_owner(reading, binding, group->segment, k);
            if (owner == FR_OWNER_UNKNOWN) {
                fr_reading_refuse_prim(reading, fr_bind_position(binding, k));
                return OVSTAGE_ERROR_OUT_OF_RANGE;
            }
            if (owner == FR_OWNER_ELSEWHERE)
                continue;
            snapshot->own_rows[snapshot->row_count] = fr_bind_row(binding, k);
            snapshot->own_outs[snapshot->row_count++] = fr_bind_position(binding, k);
        }
        if (snapshot->row_count > first)
            status = fr_snapshot_pin(snapshot, group->segment, reading->at, first,
                                     snapshot->row_count - first);
    }
    if (status == OVSTAGE_OK && !fr_reading_rank(reading, binding, snapshot))
        status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    return status;
}

ovstage_api_status_t fr_reading_take_all(const fr_reading *reading, const fr_binding *binding,
                                         fr_snapshot *snapshot)
{
    fr_bind_retain(binding);
    snapshot->binding = binding;
    snapshot->rows = binding->rows;
    snapshot->outs = binding->order;
    snapshot->row_count = binding->count;
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t g = 0; g < binding->group_count && status == OVSTAGE_OK; g++) {
        const fr_bind_group *group = &binding->groups[g];
        status = fr_snapshot_pin(snapshot, group->segment, reading->at, group->first, group->count);
    }
    if (status == OVSTAGE_OK && !binding->column->schema.is_array)
        fr_gathered_find(snapshot);
    return status;
}

/* A part of the column's, from a snapshot that goes with it. *part NULL: there are no rows. */
static ovstage_api_status_t fr_reading_enter(const fr_reading *reading, const fr_binding *binding,
                                             fr_snapshot *snapshot, ovstage_api_status_t status,
                                             fr_column *column)
{
    fr_read_part *part = NULL;
    if (status == OVSTAGE_OK && snapshot->row_count > 0) {
        part = fr_reading_part(reading, column);
        status = part ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
    }
    if (!part) {
        fr_snapshot_destroy(snapshot);
        return status == OVSTAGE_OK ? status : fr_reading_refuse(reading, status, 0);
    }
    part->ordinal = reading->is_range ? reading->ordinal : snapshot->newest;
    part->is_delete = binding->column != column;
    part->count = snapshot->row_count;
    part->all_prims = part->count == binding->count;
    part->positions = part->all_prims ? NULL : snapshot->positions;
    part->data_bytes = (size_t)part->count * binding->column->row_bytes;
    part->data = snapshot->gathered ? snapshot->gathered->data : NULL;
    part->device = fr_column_device(binding->column);
    part->placed = part->device ? fr_snapshot_placed(snapshot) : NULL;
    part->state = snapshot;
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_reading_snapshot(const fr_reading *reading,
                                                const fr_binding *binding)
{
    fr_snapshot *snapshot =
        fr_snapshot_create(reading->store, binding->column, binding->group_count);
    if (!snapshot)
        return fr_reading_refuse(reading, OVSTAGE_ERROR_OUT_OF_MEMORY, 0);
    snapshot->derived = reading->derived;
    ovstage_api_status_t status;
    if (reading->is_range)
        status = fr_range_take(reading, binding, snapshot);
    else if (fr_bind_is_kept(binding) && fr_reading_has_all(reading, binding))
        status = fr_reading_take_all(reading, binding, snapshot);
    else
        status = fr_reading_select(reading, binding, snapshot);
    return fr_reading_enter(reading, binding, snapshot, status, binding->column);
}

/* The tombstone group of a range: a delete is a write to the column of tombstones, and what was
 * written again since is elsewhere. */
static ovstage_api_status_t fr_reading_tombstones(const fr_reading *reading, fr_column *column)
{
    fr_binding local;
    const fr_binding *binding =
        fr_bind(reading->store, reading->query, fr_tombstones_of(column), &local);
    fr_snapshot *snapshot =
        binding ? fr_snapshot_create(reading->store, binding->column, binding->group_count) : NULL;
    ovstage_api_status_t status;
    if (snapshot) {
        fr_reading of_tombstones = *reading;
        of_tombstones.buried = false;
        status = fr_range_take(&of_tombstones, binding, snapshot);
        status = fr_reading_enter(reading, binding, snapshot, status, column);
    } else {
        status = fr_reading_refuse(reading, OVSTAGE_ERROR_OUT_OF_MEMORY, 0);
    }
    if (binding)
        fr_bind_release(binding);
    return status;
}

/* *again: keys got a place while it was judged by a binding in which they have none. */
static ovstage_api_status_t fr_reading_judge(const fr_reading *reading, const fr_binding *binding,
                                             bool *again)
{
    ovstage_api_status_t status = OVSTAGE_OK;
    *again = false;
    if ((!reading->is_range || fr_range_is_whole(reading, binding)) &&
        fr_reading_quick(reading, binding, &status))
        return status;
    /* In this order, as above. */
    uint64_t open = fr_reading_open_unplaced(reading, binding->column);
    if (!open)
        open = fr_reading_open_versions(reading, binding);
    if (open)
        return fr_reading_refuse(reading, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, open);
    *again = fr_bind_outdated(binding);
    if (*again || binding->placed_count == 0)
        return OVSTAGE_OK;
    return fr_reading_snapshot(reading, binding);
}

/* NULL without memory: for the binding, or for sealed rows that have no place yet. */
static const fr_binding *fr_reading_bind(const fr_reading *reading, fr_column *column,
                                         fr_binding *local)
{
    if (fr_column_has_unplaced(column, reading->at) &&
        !fr_seal_layout_late(reading->store, column, reading->floor))
        return NULL;
    return fr_bind(reading->store, reading->query, column, local);
}

/* The newest unsealed delete that takes the key away; 0: none. */
static uint64_t fr_reading_open_mark_of(const fr_reading *reading, fr_column *column, uint32_t prim)
{
    fr_mark_owner owner = {column->attribute->index, column->number};
    uint64_t ordinal = reading->ordinal;
    while (ordinal > reading->above) {
        ordinal = fr_marks_find(column->marks, owner, prim, reading->above, ordinal, UINT64_MAX);
        if (ordinal == 0 || fr_tombstones_due_open(column, prim, ordinal))
            return ordinal;
        ordinal--;
    }
    return 0;
}

/* An unsealed delete at or below N of a key that is there; 0: none. */
static uint64_t fr_reading_open_mark(const fr_reading *reading, fr_column *column)
{
    const fr_query *query = reading->query;
    uint64_t ordinal;
    if (reading->ordinal <= reading->above ||
        !fr_marks_next(column->marks, reading->above, reading->ordinal, &ordinal))
        return 0;
    uint32_t prims[FR_ROWS_A_LOCK], first = 0;
    while (first < query->count) {
        uint32_t count = fr_marks_named(column->marks, query->prims, NULL, &first, query->count,
                                        prims, FR_ROWS_A_LOCK);
        for (uint32_t k = 0; k < count; k++) {
            ordinal = fr_reading_open_mark_of(reading, column, prims[k]);
            if (ordinal) {
                reading->result->refused_prim = prims[k];
                return ordinal;
            }
        }
    }
    return 0;
}

/* Marks, then tombstones of the column: in this order, since a seal makes the one of the other.
 * *again: as fr_reading_judge. */
static ovstage_api_status_t fr_reading_judge_deletes(fr_reading *reading, fr_column *column,
                                                     bool *again)
{
    *again = false;
    reading->buried = false;
    uint64_t open = fr_reading_open_mark(reading, column);
    fr_column *tombstones = fr_tombstones_of(column);
    fr_binding local;
    const fr_binding *binding = NULL;
    if (!open && tombstones) {
        binding = fr_reading_bind(reading, tombstones, &local);
        if (!binding)
            return fr_reading_refuse(reading, OVSTAGE_ERROR_OUT_OF_MEMORY, 0);
        open = fr_reading_open_unplaced(reading, tombstones);
        if (!open)
            open = fr_reading_open_versions(reading, binding);
        *again = fr_bind_outdated(binding);
        reading->buried = binding->placed_count > 0;
        fr_bind_release(binding);
    }
    return open ? fr_reading_refuse(reading, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, open)
                : OVSTAGE_OK;
}

static ovstage_api_status_t fr_reading_column(fr_reading *reading, fr_column *column)
{
    bool again;
    ovstage_api_status_t status;
    do {
        status = fr_reading_judge_deletes(reading, column, &again);
        if (status != OVSTAGE_OK || again)
            continue;
        fr_binding local;
        const fr_binding *binding = fr_reading_bind(reading, column, &local);
        if (!binding)
            return fr_reading_refuse(reading, OVSTAGE_ERROR_OUT_OF_MEMORY, 0);
        status = fr_reading_judge(reading, binding, &again);
        fr_bind_release(binding);
    } while (again && status == OVSTAGE_OK);
    if (status == OVSTAGE_OK && reading->is_range && reading->buried)
        status = fr_reading_tombstones(reading, column);
    return status;
}

/* Deletes that are sealed are tombstones, unless there was no memory. */
static bool fr_reading_settle_deletes(const fr_reading *reading)
{
    fr_store *store = reading->store;
    uint64_t ordinal;
    /* [attribute.tombstoned.read] pairs [attribute.tombstoned.step], [attribute.tombstoned.done] :
     * the tombstones */
    uint64_t done = fr_load_acquire(&reading->attribute->tombstoned);
    if (done >= reading->at || !fr_marks_next(store->marks, done, reading->at, &ordinal))
        return true;
    return fr_seal_expand_late(store, reading->attribute, reading->floor);
}

/* Of one moment: again, when rows were derived meanwhile, some of which may be among what is
 * pinned.
 * */
static ovstage_api_status_t fr_reading_run(fr_reading *reading)
{
    fr_read_result *result = reading->result;
    uint32_t before = result->part_count;
    ovstage_api_status_t status;
    bool is_one;
    do {
        result->refused_prim = OVX_INVALID_PRIMPATH;
        reading->derived = fr_derive_look(reading->store, reading->attribute);
        if (!fr_reading_settle_deletes(reading))
            return fr_reading_refuse(reading, OVSTAGE_ERROR_OUT_OF_MEMORY, 0);
        status = OVSTAGE_OK;
        for (fr_column *column = fr_column_first(reading->attribute);
             column && status == OVSTAGE_OK; column = column->next)
            status = fr_reading_column(reading, column);
        is_one = fr_derive_is(reading->attribute, reading->derived);
        while ((status != OVSTAGE_OK || !is_one) && result->part_count > before)
            fr_store_read_release(reading->store, &result->parts[--result->part_count]);
    } while (!is_one);
    return status;
}

ovstage_api_status_t fr_store_read_pin(fr_store *store, fr_attribute *attribute, ovx_token_t name,
                                       fr_query *query, const fr_read_bounds *bounds,
                                       const fr_floor_record *record, fr_read_result *result)
{
    uint64_t floor = fr_floor_effective(record, attribute->index);
    fr_reading reading = {.store = store,
                          .attribute = attribute,
                          .name = name,
                          .query = query,
                          .is_range = bounds->is_range,
                          .start = bounds->start,
                          .ordinal = bounds->end,
                          .floor = floor,
                          .at = bounds->end < floor ? bounds->end : floor,
                          .above = floor,
                          .result = result};
    if (reading.is_range && reading.start == 0)
        reading.start = 1; /* nothing is written at 0 */
    if (reading.is_range && reading.start > floor)
        reading.above = reading.start - 1;
    if (query->count == 0)
        return OVSTAGE_OK;
    return fr_reading_run(&reading);
}

void fr_store_read_release(fr_store *store, fr_read_part *part)
{
    uintptr_t state = (uintptr_t)part->state;
    fr_buffer_release(store->buffers, part->tensors_buffer);
    if (state & FR_PART_VERSION)
        fr_version_unpin(&store->versions, (fr_version *)(state & ~FR_PART_VERSION));
    else
        fr_snapshot_destroy(part->state);
    part->state = NULL;
}
