#include "runtime/store/derive.h"

#include <string.h>

#include "runtime/store/change_log.h"
#include "runtime/store/derive_rewrite.h"
#include "runtime/store/fold.h"
#include "runtime/store/history.h"
#include "runtime/store/layout.h"
#include "runtime/store/partial.h"
#include "runtime/store/reading.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"
#include "runtime/store/tombstones.h"

/* --- readers ---------------------------------------------------------------------------------- */

uint64_t fr_derive_look(fr_store *store, const fr_attribute *attribute)
{
    for (;;) {
        /* [attribute.derived.look] pairs [attribute.derived.end], [attribute.derived.rehome] : all
         * that was derived is seen, and where keys have moved */
        uint64_t seen = fr_load_acquire(&attribute->derived);
        if (seen % 2 == 0)
            return seen;
        fr_seal_wait(store); /* held by who derives */
    }
}

/* Who saw a version that was just linked took a segment's lock, or the head, after who linked it,
 * and so sees the odd number that was set before. */
bool fr_derive_is(const fr_attribute *attribute, uint64_t seen)
{
#ifdef FR_MUTATE_DERIVE_IN_PIECES
    (void)attribute, (void)seen;
    return true;
#else
    return fr_load_relaxed(&attribute->derived) == seen;
#endif
}

/* --- a late write ----------------------------------------------------------------------------- */

static bool fr_derive_fill_list(fr_store *store, const fr_derive_piece *piece, fr_version *version)
{
    size_t rows_bytes = piece->count * sizeof(uint32_t);
    uint32_t *rows = fr_memory_allocate(store->allocator, rows_bytes, 16);
    if (!rows)
        return false;
    for (uint32_t k = 0; k < piece->count; k++)
        rows[k] = fr_derive_row(piece, k);
    bool enough = fr_partial_assign(&store->versions, version, rows, piece->count);
    fr_memory_release(store->allocator, rows, rows_bytes);
    size_t row_bytes = piece->segment->column->row_bytes;
    for (uint32_t k = 0; k < piece->count && enough; k++)
        memcpy(version->buffer->data + k * row_bytes, fr_derive_source(piece, k), row_bytes);
    return enough;
}

static bool fr_derive_fill_bitmap(fr_store *store, const fr_derive_piece *piece,
                                  fr_version *version)
{
    if (!fr_partial_reserve(&store->versions, version, piece->count))
        return false;
    size_t row_bytes = piece->segment->column->row_bytes;
    for (uint32_t k = 0; k < piece->count; k++) {
        size_t place = fr_partial_add(version, fr_derive_row(piece, k));
        memcpy(version->buffer->data + place * row_bytes, fr_derive_source(piece, k), row_bytes);
    }
    return true;
}

static bool fr_derive_fill_all(fr_store *store, const fr_derive_piece *piece, fr_version *version)
{
    fr_segment *segment = piece->segment;
    size_t row_bytes = segment->column->row_bytes;
    version->buffer = fr_column_buffer(segment->column, store->buffers, segment->row_count);
    for (uint32_t k = 0; k < piece->count && version->buffer; k++)
        memcpy(version->buffer->data + fr_derive_row(piece, k) * row_bytes,
               fr_derive_source(piece, k), row_bytes);
    return version->buffer != NULL;
}

/* Lists are a small part of the segment's rows, as those of writes are. */
static bool fr_derive_make(fr_store *store, fr_derive_piece *piece, uint64_t ordinal,
                           uint64_t op_id)
{
    fr_segment *segment = piece->segment;
    bool whole = fr_derive_is_whole(piece);
    if (!whole && !fr_segment_row_ordinals(store->buffers, segment))
        return false;
    fr_version *version = fr_version_get(&store->versions, segment, ordinal,
                                         whole ? FR_VERSION_FULL : FR_VERSION_PARTIAL);
    if (!version)
        return false;
    version->first_id = op_id;
    bool enough;
    if (whole)
        enough = fr_derive_fill_all(store, piece, version);
    else if (piece->count <= segment->row_count / 8)
        enough = fr_derive_fill_list(store, piece, version);
    else
        enough = fr_derive_fill_bitmap(store, piece, version);
    if (!enough)
        fr_version_drop(&store->versions, version);
    else
        piece->made = version;
    return enough;
}

static void fr_derive_link(const fr_derive_piece *piece)
{
    fr_segment *segment = piece->segment;
    fr_mutex_lock(&segment->lock);
    fr_segment_link(segment, piece->made);
    fr_change *change = piece->made->change;
    if (change && !fr_row_set_is_indexed(&change->rows))
        fr_segment_note_unindexed(segment, piece->made);
    fr_mutex_unlock(&segment->lock);
}

/* --- all of them ------------------------------------------------------------------------------ */

typedef struct fr_deriving {
    fr_store *store;
    uint64_t ordinal, op_id, floor;
    const fr_binding **bindings;
    fr_binding *locals;
    uint32_t set_count;
    fr_derive_piece *pieces;
    uint32_t piece_count, piece_room;
} fr_deriving;

/* Nothing sealed may be left to come below what is derived. */
static bool fr_deriving_settle(const fr_deriving *deriving, fr_column *column)
{
    return !fr_column_has_unplaced(column, deriving->floor) ||
           fr_layout_column(deriving->store, column, deriving->floor);
}

static bool fr_deriving_bind(fr_deriving *deriving, fr_attribute *attribute,
                             const fr_derived *derived)
{
    fr_store *store = deriving->store;
    for (uint32_t d = 0; d < deriving->set_count; d++) {
        fr_column *column = fr_column_enter(store, attribute, &derived[d].schema);
        if (!column || !fr_deriving_settle(deriving, column))
            return false;
        deriving->bindings[d] = fr_bind(store, derived[d].query, column, &deriving->locals[d]);
        if (!deriving->bindings[d])
            return false;
        deriving->piece_room += deriving->bindings[d]->group_count;
    }
    deriving->pieces = fr_memory_allocate_zero(
        store->allocator, deriving->piece_room * sizeof(*deriving->pieces), 16);
    if (!deriving->pieces && deriving->piece_room > 0)
        return false;
    for (uint32_t d = 0; d < deriving->set_count; d++) {
        const fr_binding *binding = deriving->bindings[d];
        for (uint32_t g = 0; g < binding->group_count; g++)
            deriving->pieces[deriving->piece_count++] =
                (fr_derive_piece){.segment = binding->groups[g].segment,
                                  .derived = &derived[d],
                                  .binding = binding,
                                  .first = binding->groups[g].first,
                                  .count = binding->groups[g].count};
    }
    return true;
}

static ovstage_api_status_t fr_deriving_prepare(const fr_deriving *deriving)
{
    fr_store *store = deriving->store;
    for (uint32_t p = 0; p < deriving->piece_count; p++) {
        fr_derive_piece *piece = &deriving->pieces[p];
        fr_segment *segment = piece->segment;
        /* Memory that is missing leaves changes unfolded, over which others may come. */
        fr_tombstones_note_returns(store, segment, deriving->floor);
        (void)fr_fold_segment(store, segment, deriving->floor);
        ovstage_api_status_t status = OVSTAGE_OK;
        if (deriving->ordinal <= segment->accounted)
            status = fr_rewrite_prepare(store, piece, deriving->ordinal, deriving->op_id);
        else if (!fr_derive_make(store, piece, deriving->ordinal, deriving->op_id))
            status = OVSTAGE_ERROR_OUT_OF_MEMORY;
        if (status != OVSTAGE_OK)
            return status;
    }
    /* After the last fold, which takes entries for itself. */
    bool enough = fr_change_log_reserve(store, deriving->piece_count);
    return enough ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
}

static void fr_deriving_commit(const fr_deriving *deriving, fr_attribute *attribute)
{
    fr_store *store = deriving->store;
    (void)fr_add_relaxed(&attribute->derived, 1);
    for (uint32_t p = 0; p < deriving->piece_count; p++) {
        fr_derive_piece *piece = &deriving->pieces[p];
        if (piece->rewrite)
            fr_rewrite_commit(store, piece);
        else
            fr_derive_link(piece);
    }
    /* [attribute.derived.end] pairs [attribute.derived.look] : see there */
    fr_add_release(&attribute->derived, 1);
    for (uint32_t p = 0; p < deriving->piece_count; p++)
        if (!fr_fold_segment(store, deriving->pieces[p].segment, deriving->floor))
            fr_seal_want_fold(store, deriving->pieces[p].segment);
}

static void fr_deriving_undo(const fr_deriving *deriving)
{
    for (uint32_t p = 0; p < deriving->piece_count; p++) {
        fr_derive_piece *piece = &deriving->pieces[p];
        if (piece->rewrite)
            fr_rewrite_undo(deriving->store, piece);
        if (piece->made)
            fr_version_drop(&deriving->store->versions, piece->made);
    }
}

static ovstage_api_status_t fr_deriving_run(fr_deriving *deriving, fr_attribute *attribute,
                                            const fr_derived *derived)
{
    fr_seal_begin(deriving->store);
    ovstage_api_status_t status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (fr_deriving_bind(deriving, attribute, derived))
        status = fr_deriving_prepare(deriving);
    if (status == OVSTAGE_OK) {
        fr_deriving_commit(deriving, attribute);
        fr_history_limit(deriving->store);
    } else
        fr_deriving_undo(deriving);
    fr_seal_end(deriving->store);
    return status;
}

ovstage_api_status_t fr_store_derive(fr_store *store, fr_attribute *attribute,
                                     const fr_derived *derived, uint32_t derived_count,
                                     uint64_t ordinal, uint64_t op_id, uint64_t floor)
{
    const fr_allocator *allocator = store->allocator;
    fr_deriving deriving = {.store = store,
                            .ordinal = ordinal,
                            .op_id = op_id,
                            .floor = floor,
                            .set_count = derived_count};
    size_t bindings_bytes = derived_count * sizeof(*deriving.bindings);
    size_t locals_bytes = derived_count * sizeof(*deriving.locals);
    deriving.bindings = fr_memory_allocate_zero(allocator, bindings_bytes, 16);
    deriving.locals = fr_memory_allocate_zero(allocator, locals_bytes, 16);
    ovstage_api_status_t status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (deriving.bindings && deriving.locals)
        status = fr_deriving_run(&deriving, attribute, derived);
    fr_memory_release(allocator, deriving.pieces, deriving.piece_room * sizeof(*deriving.pieces));
    for (uint32_t d = 0; deriving.bindings && d < derived_count; d++)
        if (deriving.bindings[d])
            fr_bind_release(deriving.bindings[d]);
    fr_memory_release(allocator, deriving.bindings, bindings_bytes);
    fr_memory_release(allocator, deriving.locals, locals_bytes);
    return status;
}
