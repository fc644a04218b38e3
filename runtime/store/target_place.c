#include "runtime/store/target_place.h"

#include "runtime/store/partial.h"
#include "runtime/store/placed_rows.h"
#include "runtime/store/store_state.h"

/* --- in place or beside ----------------------------------------------------------------------- */

/* A reserve of so many rows would neither give it another payload nor change where rows lie. */
static bool fr_target_has_room(const fr_version *version, uint32_t more)
{
    const fr_row_set *rows = &version->change->rows;
    size_t places = (size_t)rows->count + more;
    fr_mutex_lock(&version->segment->lock);
    bool indexed = fr_row_set_is_indexed(rows); /* readers may index it */
    fr_mutex_unlock(&version->segment->lock);
    if (fr_row_set_is_bitmap(rows))
        return true;
    return indexed && places <= rows->capacity && !fr_row_set_turns_bitmap(rows, more) &&
           places * version->segment->column->row_bytes <= version->buffer->capacity_bytes;
}

bool fr_target_fits_in_place(const fr_target *target)
{
    const fr_version *version = target->version;
    return fr_buffer_writable(version->buffer) &&
           (version->kind == FR_VERSION_FULL || fr_target_has_room(version, target->count));
}

/* The rows that the other one has, in its order. Nobody sees the new one yet. */
static void fr_target_take_rows(fr_version *made, const fr_row_set *rows)
{
    for (uint32_t k = 0; !fr_row_set_is_bitmap(rows) && k < rows->count; k++)
        (void)fr_partial_add(made, rows->rows[k]);
    for (uint32_t word = 0; fr_row_set_is_bitmap(rows) && word < (rows->universe + 63) / 64; word++)
        for (uint64_t bits = rows->bitmap[word]; bits; bits &= bits - 1)
            (void)fr_partial_add(made, 64 * word + (uint32_t)__builtin_ctzll(bits));
}

static bool fr_target_make_room(fr_store *store, fr_version *made, const fr_version *there,
                                uint32_t more)
{
    if (made->kind == FR_VERSION_FULL) {
        made->buffer =
            fr_column_buffer(made->segment->column, store->buffers, made->segment->row_count);
        return made->buffer != NULL;
    }
    const fr_row_set *rows = &there->change->rows;
    uint64_t room = rows->count + (uint64_t)(more > rows->count ? more : rows->count);
    if (room > UINT32_MAX || !fr_partial_reserve(&store->versions, made, (uint32_t)room))
        return false;
    fr_target_take_rows(made, rows);
    return true;
}

bool fr_target_reserve_beside(fr_store *store, fr_target *target, uint64_t ordinal)
{
    fr_version *there = target->version;
    fr_version *made = fr_version_get(&store->versions, target->segment, ordinal, there->kind);
    if (!made)
        return false;
    if (!fr_target_make_room(store, made, there, target->count)) {
        fr_version_drop(&store->versions, made);
        return false;
    }
    made->first_id = there->first_id;
    target->version = made;
    target->copied = there;
    target->made = target->replaces = true;
    fr_target_end(target); /* what is there stays as it is */
    return true;
}

bool fr_target_reserve_base(fr_store *store, fr_target *target, uint64_t ordinal, uint64_t op_id)
{
    fr_segment *segment = target->segment;
    fr_version *made = fr_version_get(&store->versions, segment, ordinal, FR_VERSION_FULL);
    if (!made)
        return false;
    made->buffer = fr_column_buffer(segment->column, store->buffers, segment->row_count);
    if (!made->buffer) {
        fr_version_drop(&store->versions, made);
        return false;
    }
    made->first_id = op_id;
    target->version = made;
    target->made = true;
    target->cleared = target->count < segment->row_count;
    return true;
}

bool fr_target_may_take(const fr_target *target, const fr_row_source *source)
{
#ifdef FR_MUTATE_DEVICE_MAP_IS_COPIED
    return false;
#endif
    if (target->segment)
        return target->straight && !target->beside;
    return !target->unplaced && target->count == source->count &&
           target->elements[target->count - 1] == target->count - 1;
}

/* --- places ----------------------------------------------------------------------------------- */

/* Of the rows of a set that has room for those of the target: where those are, and where the others
 * will be, in their order. */
static void fr_target_foresee_in(const fr_target *target, const fr_row_set *rows, uint32_t first,
                                 uint32_t end, uint32_t *next, uint32_t *out)
{
    for (uint32_t k = first; k < end; k++) {
        uint32_t row = fr_target_row(target, k);
        out[k] = fr_row_set_place(rows, row);
        if (out[k] == FR_ROW_SET_NONE)
            out[k] = fr_row_set_is_bitmap(rows) ? row : (*next)++;
    }
}

static void fr_target_foresee(const fr_target *target, uint32_t *out)
{
    if (!target->segment) { /* the lane's own */
        uint32_t next = target->unplaced->prims.count;
        fr_target_foresee_in(target, &target->unplaced->prims, 0, target->count, &next, out);
        return;
    }
    if (target->version->kind == FR_VERSION_FULL) {
        for (uint32_t k = 0; k < target->count; k++)
            out[k] = fr_target_row(target, k);
        return;
    }
    const fr_row_set *rows = &target->version->change->rows;
    uint32_t next = rows->count;
    for (uint32_t first = 0; first < target->count; first += FR_ROWS_A_LOCK) {
        uint32_t left = target->count - first;
        fr_mutex_lock(&target->segment->lock); /* readers may index it */
        fr_target_foresee_in(target, rows, first,
                             first + (left < FR_ROWS_A_LOCK ? left : FR_ROWS_A_LOCK), &next, out);
        fr_mutex_unlock(&target->segment->lock);
    }
}

/* Which element goes where: in order where NULL. */
typedef struct fr_target_lists {
    uint32_t *elements, *places;
    size_t size_bytes; /* of both */
} fr_target_lists;

static bool fr_target_lists_open(const fr_allocator *allocator, const fr_target *target,
                                 fr_target_lists *out, fr_device_fault *fault)
{
    *out = (fr_target_lists){0};
    if (target->straight)
        return true;
    out->size_bytes = 2 * (size_t)target->count * sizeof(uint32_t);
    out->elements = fr_memory_allocate(allocator, out->size_bytes, 16);
    if (!out->elements) {
        fr_device_fault_memory(fault, out->size_bytes);
        return false;
    }
    out->places = out->elements + target->count;
    for (uint32_t k = 0; k < target->count; k++)
        out->elements[k] = fr_target_element(target, k);
    if (target->version && target->bound_rows) /* a list that becomes the version's as it is */
        for (uint32_t k = 0; k < target->count; k++)
            out->places[k] = k;
    else
        fr_target_foresee(target, out->places);
    return true;
}

/* --- the device's work ------------------------------------------------------------------------ */

/* What the ordinal had written before, into the copy. */
static bool fr_target_copy(fr_store *store, const fr_target *target, fr_device_run *run,
                           fr_device_fault *fault)
{
    const fr_version *from = target->copied, *to = target->version;
    uint32_t row_bytes = target->column->row_bytes, count = target->segment->row_count;
    if (!fr_device_run_reads(run, from->buffer->placed, FR_USE_WRITTEN_BEFORE, fault))
        return false;
    if (to->kind == FR_VERSION_FULL)
        return fr_placed_rows_move(run, to->buffer, NULL, from->buffer, NULL, count, row_bytes,
                                   fault);
    fr_set_list list;
    if (!fr_set_list_open(store->allocator, &from->change->rows, &list)) {
        fr_device_fault_memory(fault, count * sizeof(uint32_t));
        return false;
    }
    /* Its places: those of a list are in order, those of a bitmap the rows. */
    const uint32_t *places = fr_row_set_is_bitmap(&to->change->rows) ? list.rows : NULL;
    bool copied = fr_placed_rows_move(run, to->buffer, places, from->buffer, list.places,
                                      list.count, row_bytes, fault);
    fr_set_list_close(store->allocator, &list);
    return copied;
}

/* Rows of the host, packed in the order of the target. */
static void fr_target_pack(const fr_target *target, const fr_row_source *rows,
                           const uint32_t *elements, unsigned char *to)
{
    uint32_t numbers[FR_ROWS_A_LOCK];
    if (!elements) {
        fr_rows_copy(rows, 0, target->count, to);
        return;
    }
    for (uint32_t k = 0; k < FR_ROWS_A_LOCK; k++)
        numbers[k] = k;
    for (uint32_t first = 0; first < target->count; first += FR_ROWS_A_LOCK) {
        uint32_t left = target->count - first;
        fr_rows_scatter(rows, elements + first, numbers,
                        left < FR_ROWS_A_LOCK ? left : FR_ROWS_A_LOCK,
                        to + (size_t)first * rows->row_bytes);
    }
}

static bool fr_target_bring(const fr_target *target, const fr_row_source *rows,
                            const fr_target_lists *lists, uint64_t to, fr_device_run *run,
                            fr_device_fault *fault)
{
    size_t size_bytes = (size_t)target->count * rows->row_bytes;
    unsigned char *staged = fr_device_run_stage(run, size_bytes, fault);
    if (!staged)
        return false;
    fr_target_pack(target, rows, lists->elements, staged);
    if (fr_rows_are_one_run(lists->places, target->count)) {
        to += lists->places ? (uint64_t)lists->places[0] * rows->row_bytes : 0;
        return fr_device_run_upload(run, to, staged, size_bytes, fault);
    }
    fr_placed *there = fr_device_run_temporary(run, size_bytes, fault);
    const fr_listed_move move = {.to = to,
                                 .from = there ? there->address : 0,
                                 .to_pitch = rows->row_bytes,
                                 .from_pitch = rows->row_bytes,
                                 .row_bytes = rows->row_bytes,
                                 .count = target->count,
                                 .to_rows = lists->places,
                                 .at_once = true};
    return there && fr_device_run_upload(run, there->address, staged, size_bytes, fault) &&
           fr_device_run_move_listed(run, &move, fault);
}

static bool fr_target_move(const fr_target *target, const fr_placing_source *source,
                           const fr_target_lists *lists, uint64_t to, fr_device_run *run,
                           fr_device_fault *fault)
{
    const uint32_t *map = source->rows->index_map;
    if (source->place != run->opened->place)
        return fr_device_run_copy_from(run, to, (fr_address){source->place, source->from},
                                       (size_t)target->count * source->rows->row_bytes, fault);
    for (uint32_t k = 0; map && lists->elements && k < target->count; k++)
        lists->elements[k] = map[lists->elements[k]];
    const fr_listed_move move = {.to = to,
                                 .from = source->from,
                                 .to_pitch = source->rows->row_bytes,
                                 .from_pitch = source->pitch,
                                 .row_bytes = source->rows->row_bytes,
                                 .count = target->count,
                                 .to_rows = lists->places,
                                 .from_rows = lists->elements ? lists->elements : map,
                                 .at_once = true};
    return fr_device_run_move_listed(run, &move, fault);
}

static bool fr_target_clear(const fr_target *target, fr_device_run *run, fr_device_fault *fault)
{
#ifdef FR_MUTATE_DEVICE_BASE_IS_NOT_CLEARED
    return true;
#endif
    return fr_device_run_fill(run, target->version->buffer->placed->address, 0,
                              (size_t)target->segment->row_count * target->column->row_bytes,
                              fault);
}

static bool fr_target_bring_over(const fr_target *target, fr_device_run *run,
                                 fr_device_fault *fault)
{
    const fr_unplaced *unplaced = target->unplaced;
    return fr_device_run_reads(run, unplaced->buffer->placed, FR_USE_NEW_KEYS, fault) &&
           fr_placed_rows_move(run, target->renewed, NULL, unplaced->buffer, NULL,
                               unplaced->prims.count, target->column->row_bytes, fault);
}

bool fr_target_place(fr_store *store, const fr_target *target, const fr_placing_source *source,
                     fr_device_run *run, fr_device_fault *fault)
{
    fr_placed *to = fr_target_buffer(target)->placed;
    fr_target_lists lists;
    if (target->taken) /* it is there when what has written it is over */
        return fr_device_run_writes(run, to, FR_USE_TARGET_MAPPED, fault);
    if (!fr_device_run_writes(run, to, FR_USE_TARGET, fault) ||
        (target->copied && !fr_target_copy(store, target, run, fault)) ||
        (target->cleared && !fr_target_clear(target, run, fault)) ||
        (target->renewed && !fr_target_bring_over(target, run, fault)) ||
        !fr_target_lists_open(store->allocator, target, &lists, fault))
        return false;
    bool moved = source->from_host
                     ? fr_target_bring(target, source->rows, &lists, to->address, run, fault)
                     : fr_target_move(target, source, &lists, to->address, run, fault);
    fr_memory_release(store->allocator, lists.elements, lists.size_bytes);
    return moved;
}
