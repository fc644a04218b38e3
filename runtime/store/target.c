#include "runtime/store/target.h"

#include "runtime/store/partial.h"
#include "runtime/store/store_state.h"
#include "runtime/store/target_place.h"

/* Rows up to this part of a segment's are kept as a list. */
#define FR_TARGET_LIST_PART 8u

void fr_target_begin(fr_target *target, fr_touched *touched)
{
    target->writing = touched;
    fr_store_relaxed(&touched->writing, true); /* the lock hands it on */
}

void fr_target_end(fr_target *target)
{
    if (!target->writing)
        return;
    /* [touched.writing.end] pairs [touched.writing.look] : who sees nobody write sees the rows */
    fr_store_release(&target->writing->writing, false);
    target->writing = NULL;
}

/* All rows of the segment, in order. A version that the ordinal has already is replaced, or written
 * again where it is. */
static bool fr_target_reserve_full(fr_store *store, fr_target *target, uint64_t ordinal,
                                   uint64_t op_id)
{
    fr_version *there = target->version;
    if (!target->taken && there && there->kind == FR_VERSION_FULL &&
        fr_buffer_writable(there->buffer))
        return true;
    target->version = fr_version_get(&store->versions, target->segment, ordinal, FR_VERSION_FULL);
    if (target->version && target->taken)
        fr_buffer_retain(target->version->buffer = target->taken);
    else if (target->version)
        target->version->buffer =
            fr_column_buffer(target->column, store->buffers, target->segment->row_count);
    if (!target->version || !target->version->buffer) {
        if (target->version)
            fr_version_drop(&store->versions, target->version);
        target->version = there;
        return false;
    }
    target->version->first_id = there ? there->first_id : op_id;
    target->made = true;
    target->replaces = there != NULL;
    fr_target_end(target); /* what is there stays as it is */
    return true;
}

static bool fr_target_reserve_rows(fr_store *store, fr_target *target, uint64_t ordinal,
                                   uint64_t op_id)
{
    if (target->version && target->version->kind == FR_VERSION_FULL)
        return fr_partial_own_full(&store->versions, target->version);
    if (!fr_segment_row_ordinals(store->buffers, target->segment))
        return false;
    if (!target->version) {
        target->version =
            fr_version_get(&store->versions, target->segment, ordinal, FR_VERSION_PARTIAL);
        if (!target->version)
            return false;
        target->version->first_id = op_id;
        target->made = true;
    }
    if (target->bound_rows)
        return fr_partial_assign(&store->versions, target->version, target->bound_rows,
                                 target->count);
    return fr_partial_reserve(&store->versions, target->version, target->count);
}

/* How many elements have no row yet. On the host memory is taken as if none had, which spares the
 * looks; on a device that would be a copy each time that the rows are written again. */
static uint32_t fr_target_count_new(const fr_target *target)
{
    const fr_row_set *prims = &target->unplaced->prims;
    if (target->made || !fr_column_rows_device(target->column))
        return target->count;
    uint32_t count = 0; /* nobody but this lane adds any */
    for (uint32_t k = 0; k < target->count; k++)
        count += fr_row_set_place(prims, target->places[k]) == FR_ROW_SET_NONE;
    return count;
}

static bool fr_target_reserve_unplaced(fr_store *store, fr_target *target, uint64_t ordinal,
                                       uint64_t op_id)
{
    if (!target->unplaced) {
        target->unplaced = fr_unplaced_create(store->allocator, ordinal, target->column);
        if (!target->unplaced)
            return false;
        target->made = true;
    }
    bool enough = target->taken
                      ? fr_unplaced_take(target->unplaced, target->taken, target->count, op_id)
                      : fr_unplaced_reserve(store->allocator, store->buffers, target->unplaced,
                                            fr_target_count_new(target), op_id, &target->renewed);
    if (!enough)
        return false;
    if (!target->enters_prims)
        return true;
    if (!fr_prims_reserve(store->prims, target->places, target->count))
        return false;
    target->prims_reserved = target->count;
    return true;
}

/* A key can have got its place by an op that was accepted later, at a lower ordinal. For INSERTs
 * accepted in between this op has made the prim. */
static bool fr_target_reserve_prims(fr_store *store, fr_target *target, uint64_t op_id)
{
    const fr_segment *segment = target->segment;
    if (!segment || segment->created_id_last < op_id || !target->enters_prims)
        return true;
    target->prims =
        fr_memory_allocate(store->allocator, target->count * sizeof(*target->prims), 16);
    if (!target->prims)
        return false;
    for (uint32_t k = 0; k < target->count; k++)
        target->prims[k] = segment->prims[fr_target_row(target, k)];
    if (!fr_prims_reserve(store->prims, target->prims, target->count))
        return false;
    target->prims_reserved = target->count;
    return true;
}

static void fr_target_settle(fr_store *store, fr_target *target)
{
    if (target->prims_reserved > 0)
        fr_prims_settle(store->prims, target->prims_reserved);
    fr_memory_release(store->allocator, target->prims, target->count * sizeof(*target->prims));
    target->prims_reserved = 0;
    target->prims = NULL;
}

/* With the segment's lock held, where the ordinal has no version: a version would keep the rows
 * where they are, and until there is one the claim does. */
static bool fr_target_claim(fr_target *target)
{
    fr_segment *segment = target->segment;
#ifdef FR_MUTATE_REHOME_LETS_WRITERS_IN
    return true;
#endif
    if (target->claimed)
        return true;
    target->claimed = !segment->retired;
    segment->claims += target->claimed;
    return target->claimed;
}

void fr_target_unclaim(fr_target *target)
{
    if (!target->claimed)
        return;
    fr_mutex_lock(&target->segment->lock);
    target->segment->claims--;
    fr_mutex_unlock(&target->segment->lock);
    target->claimed = false;
}

bool fr_target_look_up(fr_target *target, uint64_t ordinal)
{
    bool stays = true;
    if (target->segment) {
        fr_mutex_lock(&target->segment->lock);
        target->version = fr_segment_find(target->segment, ordinal);
        if (target->version)
            fr_target_begin(target, &target->version->touched);
        else
            stays = fr_target_claim(target);
        fr_mutex_unlock(&target->segment->lock);
        return stays;
    }
    fr_mutex_lock(&target->column->lock);
    target->unplaced = fr_column_unplaced(target->column, ordinal);
    if (target->unplaced)
        fr_target_begin(target, &target->unplaced->touched);
    fr_mutex_unlock(&target->column->lock);
    return stays;
}

bool fr_target_reserve(fr_store *store, fr_target *target, uint64_t ordinal, uint64_t op_id)
{
    bool enough;
    if (!target->segment)
        enough = fr_target_reserve_unplaced(store, target, ordinal, op_id);
    else if (target->beside)
        enough = fr_target_reserve_beside(store, target, ordinal);
    else if (target->straight)
        enough = fr_target_reserve_full(store, target, ordinal, op_id);
    else
        enough = fr_target_reserve_rows(store, target, ordinal, op_id);
    enough = enough && fr_target_reserve_prims(store, target, op_id);
    if (!enough)
        fr_target_undo(store, target);
    return enough;
}

/* In the version that the ordinal has; first_place NONE: not as that is. False: the row is moving.
 */
static bool fr_target_place_row(fr_target *target, uint64_t ordinal, uint32_t row)
{
    fr_segment *segment = target->segment;
    bool stays = true;
    target->first_place = FR_ROW_SET_NONE;
    fr_mutex_lock(&segment->lock);
    fr_version *version = target->version = fr_segment_find(segment, ordinal);
    if (version)
        fr_target_begin(target, &version->touched);
    else
        stays = fr_target_claim(target);
    if (version && version->kind == FR_VERSION_PARTIAL)
        target->first_place = fr_partial_place(version, row);
    fr_mutex_unlock(&segment->lock);
    if (version && version->kind == FR_VERSION_FULL && fr_buffer_writable(version->buffer))
        target->first_place = row;
    return stays;
}

bool fr_target_one_row(fr_store *store, fr_target *target, uint64_t ordinal, uint64_t op_id,
                       uint32_t row)
{
    fr_segment *segment = target->segment;
    if (!fr_target_place_row(target, ordinal, row))
        return false;
    if (target->first_place != FR_ROW_SET_NONE)
        return true;
    fr_version *version = target->version;
    if (!version) { /* nobody else sees it before it is linked */
        target->straight = false;
        target->bound_rows = &row;
        bool enough = segment->row_count >= FR_TARGET_LIST_PART &&
                      fr_target_reserve(store, target, ordinal, op_id);
        target->straight = true;
        target->bound_rows = NULL;
        target->first_place = 0;
        if (!enough)
            fr_target_unclaim(target);
        return enough;
    }
    if (version->kind == FR_VERSION_FULL || !fr_partial_reserve(&store->versions, version, 1)) {
        fr_target_end(target);
        return false;
    }
    fr_mutex_lock(&segment->lock);
    target->first_place = fr_partial_add(version, row);
    fr_mutex_unlock(&segment->lock);
    return true;
}

void fr_target_adopt(fr_store *store, fr_target *target, const fr_row_source *source, bool *adopts)
{
    bool fresh_rows = !target->segment && target->made && target->count == source->count &&
                      target->elements[target->count - 1] == target->count - 1;
    if (!fresh_rows && !(target->segment && target->straight && target->made))
        return;
    size_t size_bytes = (size_t)source->count * source->row_bytes;
    fr_buffer *adopted = source->buffer ? source->buffer
                                        : fr_buffer_adopt(store->buffers, source->adoptable,
                                                          source->base, size_bytes);
    if (!adopted)
        return;
    *adopts = true;
    if (fresh_rows) {
        fr_unplaced_adopt(store->buffers, target->unplaced, adopted, target->count);
        return;
    }
    fr_buffer_release(store->buffers, target->version->buffer);
    target->version->buffer = adopted;
}

void fr_target_undo(fr_store *store, fr_target *target)
{
    fr_target_end(target);
    fr_target_settle(store, target);
    fr_buffer_release(store->buffers, target->renewed);
    target->renewed = NULL;
    if (!target->made)
        return;
    if (target->segment)
        fr_version_drop(&store->versions, target->version);
    else
        fr_unplaced_destroy(store->allocator, store->buffers, target->unplaced);
    target->version = NULL;
    target->unplaced = NULL;
    target->made = false;
}

/* Elements are spelled out where some are left out. */
static void fr_target_enter_fresh(fr_target *target, uint64_t op_id)
{
    fr_unplaced *unplaced = target->unplaced;
    target->first_place = unplaced->prims.count;
    for (uint32_t first = 0; first < target->count; first += FR_ROWS_A_LOCK) {
        uint32_t left = target->count - first;
        fr_mutex_lock(&unplaced->lock);
        fr_unplaced_append(unplaced, target->fresh + first,
                           left < FR_ROWS_A_LOCK ? left : FR_ROWS_A_LOCK, op_id);
        fr_mutex_unlock(&unplaced->lock);
    }
    for (uint32_t k = 0; !target->straight && k < target->count; k++)
        target->places[k] = target->first_place + k;
}

void fr_target_enter(fr_target *target, uint64_t op_id)
{
    if (target->fresh) {
        fr_target_enter_fresh(target, op_id);
        return;
    }
    if (target->straight)
        return;
    if (target->bound_rows) {
        target->straight = true;
        target->first_place = 0;
        return;
    }
    bool straight = target->elements[target->count - 1] - target->elements[0] == target->count - 1;
    bool partial = target->segment && target->version->kind == FR_VERSION_PARTIAL;
    fr_mutex *lock = target->segment ? &target->segment->lock : &target->unplaced->lock;
    for (uint32_t first = 0; (partial || !target->segment) && first < target->count;
         first += FR_ROWS_A_LOCK) {
        fr_mutex_lock(lock);
        for (uint32_t k = first; k < target->count && k - first < FR_ROWS_A_LOCK; k++) {
            bool added;
            uint32_t row = target->places[k];
            target->places[k] = partial ? fr_partial_add(target->version, row)
                                        : fr_unplaced_add(target->unplaced, row, op_id, &added);
        }
        fr_mutex_unlock(lock);
    }
    for (uint32_t k = 1; straight && k < target->count; k++)
        straight = target->places[k] == target->places[0] + k;
    target->straight = straight && target->elements[0] == 0;
    target->first_place = target->places[0];
}

void fr_target_link(fr_target *target, fr_versions *versions)
{
    fr_segment *segment = target->segment;
    fr_version *old = NULL;
    fr_mutex_lock(&segment->lock);
    if (target->replaces) {
        old = fr_segment_find(segment, target->version->ordinal);
        fr_buffer *buffer = old->buffer;
        fr_change *change = old->change;
        old->kind = target->version->kind; /* the record stays: the touch list leads through it */
        old->buffer = target->version->buffer;
        old->change = target->version->change;
        target->version->buffer = buffer;
        target->version->change = change;
    } else {
        fr_segment_link(segment, target->version);
        segment->claims -= target->claimed;
        target->claimed = false;
        fr_change *change = target->version->change;
        if (change && !fr_row_set_is_indexed(&change->rows))
            fr_segment_note_unindexed(segment, target->version);
    }
    fr_mutex_unlock(&segment->lock);
    if (old) {
        fr_version_drop(versions, target->version);
        target->version = old;
    }
}

void fr_target_count_bytes(fr_store *store, fr_target *target)
{
    fr_touched *touched = fr_target_touched(target);
    uint64_t bytes = fr_target_buffer(target)->capacity_bytes;
    if (bytes == touched->pending_bytes)
        return;
    fr_tally_add(&store->counters.pending_bytes, bytes - touched->pending_bytes);
    touched->pending_bytes = bytes;
}

void fr_target_commit(fr_store *store, fr_target *target, uint64_t ordinal, uint64_t op_id)
{
    fr_touched *touched = fr_target_touched(target);
    bool linked = target->made && !target->replaces;
    fr_target_end(target); /* before anything is let go of, which may run a client's deleter */
    if (!target->segment) {
        fr_unplaced *unplaced = target->unplaced;
        if (target->enters_prims)
            fr_prims_enter_all(store->prims, unplaced->prims.rows + unplaced->committed,
                               unplaced->prims.count - unplaced->committed, ordinal, op_id);
        fr_buffer *old = NULL;
        fr_mutex_lock(&unplaced->lock);
        unplaced->committed = unplaced->prims.count;
        if (target->renewed)
            old = fr_unplaced_renew(unplaced, target->renewed);
        fr_mutex_unlock(&unplaced->lock);
        fr_buffer_release(store->buffers, old);
        target->renewed = NULL;
        if (linked) {
            fr_mutex_lock(&target->column->lock);
            fr_column_unplaced_link(target->column, unplaced);
            fr_mutex_unlock(&target->column->lock);
        }
    } else if (target->made) {
        fr_target_link(target, &store->versions);
        touched = &target->version->touched;
    }
    if (target->prims)
        fr_prims_enter_all(store->prims, target->prims, target->count, ordinal, op_id);
    fr_target_settle(store, target);
    if (linked) {
        touched->column = target->column;
        touched->segment = target->segment;
        fr_touch_add(&store->touches, touched, ordinal);
    }
    fr_target_count_bytes(store, target);
}

/* --- late writes ------------------------------------------------------------------------------ */

/* With the lock of its rows held: whether the ordinal has written what element k goes to. */
static bool fr_target_has_written(const fr_target *target, uint32_t k)
{
    if (target->fresh)
        return false;
    if (!target->segment)
        return target->unplaced &&
               fr_row_set_place(&target->unplaced->prims, target->places[k]) != FR_ROW_SET_NONE;
    return target->version && fr_row_set_place(&target->version->change->rows,
                                               fr_target_row(target, k)) != FR_ROW_SET_NONE;
}

/* A version that the op begins tells by itself whose its rows are, unless unplaced rows of its
 * ordinal may come to it. */
static bool fr_target_tells_writer(const fr_target *target, uint64_t ordinal)
{
    if (!target->segment || target->version)
        return target->version && target->version->kind == FR_VERSION_FULL; /* writes none first */
    fr_mutex_lock(&target->column->lock);
    bool tells = !fr_column_unplaced(target->column, ordinal);
    fr_mutex_unlock(&target->column->lock);
    return tells;
}

bool fr_target_enter_late(fr_store *store, fr_target *target, const fr_query *query,
                          const fr_row_source *rows, uint64_t ordinal, uint64_t op_id)
{
#ifdef FR_MUTATE_LATE_NEVER_ENTERED
    return true;
#endif
    if (fr_target_tells_writer(target, ordinal))
        return true;
    if (target->segment)
        fr_segment_index(target->segment); /* so that no look walks a list */
    size_t size_bytes = target->count * sizeof(uint32_t);
    uint32_t *prims = fr_memory_allocate(store->allocator, size_bytes, 16);
    if (!prims)
        return false;
    uint32_t count = 0;
    fr_mutex *lock = target->segment ? &target->segment->lock : &target->column->lock;
    for (uint32_t first = 0; first < target->count; first += FR_ROWS_A_LOCK) {
        fr_mutex_lock(lock);
        for (uint32_t k = first; k < target->count && k - first < FR_ROWS_A_LOCK; k++)
            if (!fr_target_has_written(target, k))
                prims[count++] = fr_write_prim(query, rows, fr_target_element(target, k));
        fr_mutex_unlock(lock);
    }
    bool enough = fr_late_enter(store->late, target->column, ordinal, op_id, prims, count);
    fr_memory_release(store->allocator, prims, size_bytes);
    return enough;
}
