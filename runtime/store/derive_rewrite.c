#include "runtime/store/derive_rewrite.h"

#include <string.h>

#include "runtime/store/archive.h"
#include "runtime/store/change_log.h"
#include "runtime/store/history.h"
#include "runtime/store/seal.h"
#include "runtime/store/snapshot.h"
#include "runtime/store/store_state.h"

/* An entry and the FULL one in its place; old NULL: the ordinal had none. */
typedef struct fr_rewritten {
    fr_version *old, *made;
} fr_rewritten;

typedef struct fr_rewrite {
    uint64_t ordinal;
    fr_version *base;  /* the entry of the ordinal, or the next older one */
    fr_version *above; /* the next newer sealed one than the ordinal; or NULL */
    fr_change *change; /* what the ordinal has changed by now; NULL: as it was */
    uint32_t count, room;
    fr_rewritten states[];
} fr_rewrite;

static size_t fr_rewrite_bytes(uint32_t room)
{
    return sizeof(fr_rewrite) + room * sizeof(fr_rewritten);
}

void fr_rewrite_undo(fr_store *store, fr_derive_piece *piece)
{
    fr_rewrite *rewrite = piece->rewrite;
    for (uint32_t s = 0; s < rewrite->count; s++)
        fr_version_drop(&store->versions, rewrite->states[s].made);
    fr_change_release(rewrite->change);
    fr_memory_release(store->allocator, rewrite, fr_rewrite_bytes(rewrite->room));
    piece->rewrite = NULL;
}

/* --- payloads --------------------------------------------------------------------------------- */

/* The next newer sealed entry. Above the newest one others link open ones meanwhile, and take them
 * back: that link is theirs. */
static fr_version *fr_rewrite_above(const fr_segment *segment, const fr_version *entry)
{
#ifdef FR_MUTATE_REWRITE_LOOKS_AT_OPEN
    return entry->newer;
#endif
    return entry == segment->sealed ? NULL : entry->newer;
}

/* A copy of the segment's rows at a state. NULL without memory. */
static fr_buffer *fr_rewrite_gather(fr_store *store, fr_segment *segment, uint64_t ordinal)
{
    fr_snapshot *snapshot = fr_snapshot_create(store, segment->column, 1);
    if (!snapshot)
        return NULL;
    snapshot->row_count = segment->row_count;
    snapshot->any_ordinal = true;
    fr_buffer *buffer = NULL;
    if (fr_snapshot_pin(snapshot, segment, ordinal, 0, segment->row_count) == OVSTAGE_OK &&
        fr_snapshot_gather(snapshot)) {
        buffer = snapshot->gathered;
        snapshot->gathered = NULL;
    }
    fr_snapshot_destroy(snapshot);
    return buffer;
}

/* What rows that are about to be derived have had since before the ordinal: where no older state
 * has it, the archive does from now on. False without memory. */
static bool fr_rewrite_save(fr_store *store, const fr_derive_piece *piece, const fr_buffer *now)
{
    const fr_rewrite *rewrite = piece->rewrite;
    fr_segment *segment = piece->segment;
    const fr_version *base = rewrite->base;
    fr_archiving some[FR_ARCHIVE_SOME];
    const uint64_t ordinal = rewrite->ordinal;
    bool is_kept = store->config.history_versions > 0 || fr_history_moment(store) < ordinal;
    bool is_last = base->ordinal == ordinal && base == segment->oldest && base->since && is_kept;
#ifdef FR_MUTATE_REWRITE_SAVES_NOTHING
    is_last = false;
#endif
    bool enough = true;
    for (uint32_t k = 0, count = 0; is_last && enough && k < piece->count; k++) {
        uint32_t row = fr_derive_row(piece, k);
        if (fr_row_set_place(&base->since->rows, row) == FR_ROW_SET_NONE &&
            fr_segment_creation(segment, row).ordinal < ordinal)
            some[count++] = (fr_archiving){.row = row,
                                           .from = fr_history_row_ordinal(segment, row, ordinal),
                                           .until = ordinal,
                                           .source = now,
                                           .place = row};
        if (count < FR_ARCHIVE_SOME && k + 1 < piece->count)
            continue;
        enough = count == 0 || fr_archive_save(store, segment, some, count);
        count = 0;
    }
    return enough;
}

/* Adds a state: what it shows now, with the rows that are `live`; NULL: none. False without memory.
 */
static bool fr_rewrite_add(fr_store *store, fr_derive_piece *piece, fr_version *old,
                           uint64_t ordinal, const bool *live)
{
    fr_rewrite *rewrite = piece->rewrite;
    fr_segment *segment = piece->segment;
    size_t row_bytes = segment->column->row_bytes;
    fr_version *made = fr_version_get(&store->versions, segment, ordinal, FR_VERSION_FULL);
    if (!made)
        return false;
    rewrite->states[rewrite->count++] = (fr_rewritten){old, made};
    made->buffer = fr_rewrite_gather(store, segment, ordinal);
    if (!made->buffer)
        return false;
    if (ordinal == rewrite->ordinal && !fr_rewrite_save(store, piece, made->buffer))
        return false;
    for (uint32_t k = 0; live && k < piece->count; k++)
        if (live[k])
            memcpy(made->buffer->data + fr_derive_row(piece, k) * row_bytes,
                   fr_derive_source(piece, k), row_bytes);
    if (!old) { /* before it all rows were last written together as before the next newer one */
        made->previous_full = rewrite->above->previous_full;
        return true;
    }
    made->first_id = old->first_id;
    made->previous_full = old->previous_full;
    made->since = old->since;
    if (made->since)
        fr_change_retain(made->since);
    return true;
}

/* Rows that the entry has written are not seen there, nor above. False: none is. */
static bool fr_rewrite_outlive(const fr_derive_piece *piece, const fr_version *entry, bool *live)
{
    bool any = false;
    for (uint32_t k = 0; k < piece->count && entry->since; k++) {
        uint32_t row = fr_derive_row(piece, k);
        live[k] = live[k] && fr_row_set_place(&entry->since->rows, row) == FR_ROW_SET_NONE;
        any = any || live[k];
    }
    return any;
}

static bool fr_rewrite_states(fr_store *store, fr_derive_piece *piece, bool *live, uint64_t op_id)
{
    fr_rewrite *rewrite = piece->rewrite;
    fr_version *base = rewrite->base;
    bool is_there = base->ordinal == rewrite->ordinal;
    fr_version *below = is_there ? base->older : base;
    if (below && below->kind == FR_VERSION_UNDO &&
        !fr_rewrite_add(store, piece, below, below->ordinal, NULL))
        return false;
    if (!fr_rewrite_add(store, piece, is_there ? base : NULL, rewrite->ordinal, live))
        return false;
    if (!is_there)
        rewrite->states[rewrite->count - 1].made->first_id = op_id;
    for (fr_version *entry = rewrite->above; entry;
         entry = fr_rewrite_above(piece->segment, entry)) {
        if (!fr_rewrite_outlive(piece, entry, live))
            return true; /* independent of what is below */
        if (!fr_rewrite_add(store, piece, entry, entry->ordinal, live))
            return false;
    }
    return true;
}

/* --- which rows changed, and when before ------------------------------------------------------ */

static bool fr_rewrite_change_add(fr_change *change, uint32_t row, uint64_t previous)
{
    bool added;
    uint32_t place = fr_row_set_add(&change->rows, row, &added);
    if (!added)
        return false;
    change->previous[place] = previous;
    change->fingerprint += fr_row_set_fingerprint(row);
    return true;
}

static void fr_rewrite_change_copy(fr_change *change, const fr_change *from)
{
    const fr_row_set *rows = &from->rows;
    for (uint32_t k = 0; !fr_row_set_is_bitmap(rows) && k < rows->count; k++)
        (void)fr_rewrite_change_add(change, rows->rows[k], from->previous[k]);
    for (uint32_t row = 0; fr_row_set_is_bitmap(rows) && row < rows->universe; row++)
        if (fr_row_set_place(rows, row) != FR_ROW_SET_NONE)
            (void)fr_rewrite_change_add(change, row, from->previous[row]);
}

/* What the ordinal has changed already, and what is derived. False without memory. */
static bool fr_rewrite_make_change(fr_store *store, fr_derive_piece *piece)
{
    fr_rewrite *rewrite = piece->rewrite;
    const fr_version *base = rewrite->base;
    bool is_there = base->ordinal == rewrite->ordinal;
    if (is_there && !base->since)
        return true; /* all rows */
    const fr_change *before = is_there ? base->since : NULL;
    uint32_t most = piece->count + (before ? before->rows.count : 0);
    fr_change *change = fr_change_create(&store->versions.changes, piece->segment->row_count, most);
    rewrite->change = change;
    if (!change || !fr_change_reserve(change, most))
        return false;
    if (before)
        fr_rewrite_change_copy(change, before);
    return fr_segment_row_ordinals(store->buffers, piece->segment);
}

/* With the segment's lock held: where it is written down when the row was last written below the
 * entries from `entry` on, by one that did not write all rows. */
static uint64_t *fr_rewrite_holder(const fr_segment *segment, fr_version *entry, uint32_t row)
{
    for (; entry && entry->ordinal <= segment->accounted; entry = entry->newer) {
        uint32_t place =
            entry->since ? fr_row_set_place(&entry->since->rows, row) : FR_ROW_SET_NONE;
        if (place != FR_ROW_SET_NONE)
            return &entry->since->previous[place];
    }
    return &segment->row_ordinals[row];
}

/* With the segment's lock held. */
static void fr_rewrite_account(const fr_derive_piece *piece)
{
    const fr_rewrite *rewrite = piece->rewrite;
    for (uint32_t k = 0; k < piece->count; k++) {
        uint32_t row = fr_derive_row(piece, k);
        uint64_t *holder = fr_rewrite_holder(piece->segment, rewrite->above, row);
        if (fr_rewrite_change_add(rewrite->change, row, *holder))
            *holder = rewrite->ordinal;
    }
}

/* --- both steps ------------------------------------------------------------------------------- */

/* The entry of the ordinal or next below it, and how many are above. NULL: it is not kept. */
static fr_version *fr_rewrite_base(const fr_segment *segment, uint64_t ordinal, uint32_t *newer)
{
    fr_version *entry = segment->sealed;
    *newer = 0;
    for (; entry && entry->ordinal > ordinal; entry = entry->older)
        *newer += 1;
    return entry;
}

ovstage_api_status_t fr_rewrite_prepare(fr_store *store, fr_derive_piece *piece, uint64_t ordinal,
                                        uint64_t op_id)
{
    fr_segment *segment = piece->segment;
    uint32_t newer;
    fr_version *base = fr_rewrite_base(segment, ordinal, &newer);
    if (!base)
        return OVSTAGE_ERROR_OUT_OF_RANGE;
    uint32_t room = newer + 2;
    fr_rewrite *rewrite = fr_memory_allocate_zero(store->allocator, fr_rewrite_bytes(room), 16);
    bool *live = fr_memory_allocate(store->allocator, piece->count * sizeof(*live), 16);
    bool enough = rewrite && live;
    if (rewrite) {
        rewrite->ordinal = ordinal;
        rewrite->base = base;
        rewrite->above = fr_rewrite_above(segment, base);
        rewrite->room = room;
        piece->rewrite = rewrite;
    }
    fr_segment_index(segment);
    for (uint32_t k = 0; enough && k < piece->count; k++)
        live[k] = true;
    enough = enough && fr_rewrite_states(store, piece, live, op_id) &&
             fr_rewrite_make_change(store, piece);
    fr_memory_release(store->allocator, live, piece->count * sizeof(*live));
    if (!enough && rewrite)
        fr_rewrite_undo(store, piece);
    return enough ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
}

/* With the segment's lock held. */
static void fr_rewrite_put(const fr_rewrite *rewrite, fr_segment *segment, fr_rewritten *state)
{
    fr_version *old = state->old, *made = state->made;
    if (rewrite->change && made->ordinal == rewrite->ordinal) {
        fr_change_release(made->since); /* not the last: the old one has it */
        fr_change_retain(rewrite->change);
        made->since = rewrite->change;
    }
    if (old)
        fr_segment_replace(segment, old, made);
    else
        fr_segment_link(segment, made);
    if (!old || old->history_bytes > 0)
        fr_segment_count(segment, made, fr_version_history_bytes(made));
    if (old)
        fr_segment_count(segment, old, 0);
}

void fr_rewrite_commit(fr_store *store, fr_derive_piece *piece)
{
    fr_rewrite *rewrite = piece->rewrite;
    fr_segment *segment = piece->segment;
    fr_change *logged = NULL;
    uint64_t moment = fr_history_moment(store);
    fr_mutex_lock(&segment->lock);
    segment->superseding = (fr_superseding){0};
    for (uint32_t k = 0; k < piece->count; k++) {
        fr_archive_withdraw(segment, fr_derive_row(piece, k), rewrite->ordinal);
        fr_archive_settle(store, segment, fr_derive_row(piece, k), moment);
    }
    if (rewrite->change)
        fr_rewrite_account(piece);
    for (uint32_t s = 0; s < rewrite->count; s++)
        fr_rewrite_put(rewrite, segment, &rewrite->states[s]);
    if (rewrite->change)
        logged = fr_change_log_amend(store, segment, fr_segment_find(segment, rewrite->ordinal));
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++) /* which do not know what changed in between */
        if (segment->spares[k].version)
            fr_seal_drop(store, fr_segment_spare_take(&segment->spares[k]));
    fr_segment_refresh(segment);
    fr_mutex_unlock(&segment->lock);
    fr_change_release(logged);
    for (uint32_t s = 0; s < rewrite->count; s++)
        if (rewrite->states[s].old)
            fr_seal_drop(store, rewrite->states[s].old);
    fr_change_release(rewrite->change);
    fr_memory_release(store->allocator, rewrite, fr_rewrite_bytes(rewrite->room));
    piece->rewrite = NULL;
}
