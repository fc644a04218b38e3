#include "runtime/store/fold.h"

#include "runtime/store/change_log.h"
#include "runtime/store/compact.h"
#include "runtime/store/fold_place.h"
#include "runtime/store/fold_rows.h"
#include "runtime/store/head_copy.h"
#include "runtime/store/history.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"
#include "runtime/write/rows_width.h"

/* Each spare has one more change to catch up with; one that has too many is of no use. */
static void fr_fold_tell_spares(fr_store *store, fr_segment *segment, fr_change *change)
{
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++) {
        fr_spare *spare = &segment->spares[k];
        if (!spare->version)
            continue;
        if (change && spare->change_count < FR_SPARE_CHANGES) {
            fr_change_retain(change);
            spare->changes[spare->change_count++] = change;
            continue;
        }
        fr_seal_drop(store, fr_segment_spare_take(spare));
    }
}

/* Nobody reads the head: the rows of the change trade places with the head's, and the two trade
 * their payloads. The change's entry is the head then, and the old head an UNDO with what its rows
 * were. Needs no memory. False when somebody reads one of them. */
static bool fr_fold_in_place(fr_store *store, fr_segment *segment, fr_version *head,
                             fr_version *part)
{
    if (!fr_buffer_writable(head->buffer))
        return false;
#ifndef FR_MUTATE_FOLD_WITHOUT_EXCLUSIVE
    if (!fr_pin_exclusive(&head->pin))
        return false;
    if (!fr_pin_exclusive(&part->pin)) {
        fr_pin_exclusive_end(&head->pin);
        return false;
    }
#endif
    fr_change *change = part->change;
    fr_buffer *saved = part->buffer;
    fr_fold_rows_swap(&change->rows, head->buffer->data, saved->data, segment->column->row_bytes);
    part->kind = FR_VERSION_FULL;
    part->buffer = head->buffer;
    part->change = NULL;
    head->kind = FR_VERSION_UNDO;
    head->buffer = saved;
    head->change = change;
    /* [segment.head.move] pairs [segment.head.read], [segment.head.recheck] : who pins the old head
     * by a pointer of before finds that it is no longer the head */
    fr_store_release(&segment->head, part);
    fr_pin_exclusive_end(&part->pin);
    fr_pin_exclusive_end(&head->pin);
    fr_fold_tell_spares(store, segment, change);
    fr_add_relaxed(&store->counters.folds_in_place, 1);
    return true;
}

/* Somebody reads the head: a new one is made beside it, and the old one is history. Without the
 * lock, since nobody else changes what is sealed. NULL without memory. */
static fr_version *fr_fold_beside(fr_store *store, fr_segment *segment, fr_version *head,
                                  fr_version *part)
{
    fr_version *made = fr_version_get(&store->versions, segment, part->ordinal, FR_VERSION_FULL);
    if (!made)
        return NULL;
    made->buffer = fr_head_copy(store, segment, head);
    if (!made->buffer) {
        fr_version_drop(&store->versions, made);
        return NULL;
    }
    fr_fold_rows_apply(&part->change->rows, made->buffer, part->buffer, segment->column->row_bytes,
                       &store->seal_let_go);
    fr_change_retain(part->change);
    made->since = part->change;
    made->previous_full = part->previous_full;
    made->first_id = part->first_id;
    return made;
}

static void fr_fold_replace(fr_store *store, fr_segment *segment, fr_version *part,
                            fr_version *made)
{
    fr_segment_replace(segment, part, made);
    fr_fold_tell_spares(store, segment, part->change);
    fr_seal_drop(store, part);
}

/* The FULL entry below the oldest sealed change that is not folded, or the newest sealed entry:
 * nothing is to be folded. NULL: nothing can be. The walk is over what this seal folds (and what an
 * earlier one had no memory for); from here the list leads upwards. */
static fr_version *fr_fold_base(fr_store *store, const fr_segment *segment)
{
    fr_version *version = segment->sealed;
    for (; version && version->kind == FR_VERSION_PARTIAL; version = version->older)
        store->seal_steps++;
    return version;
}

/* Of a list, whose fingerprint it returns; the pointers and the ordinal are read once, not again
 * for each row. */
static uint32_t fr_fold_account_list(uint64_t *row_ordinals, uint64_t *previous,
                                     const uint32_t *rows, size_t count, uint64_t ordinal)
{
    uint32_t fingerprint = 0;
    for (size_t k = 0; k < count; k++) {
        fr_row_ask_for(&row_ordinals[fr_rows_ahead(rows, k, count)]);
        previous[k] = row_ordinals[rows[k]];
        row_ordinals[rows[k]] = ordinal;
        fingerprint += fr_row_set_fingerprint(rows[k]);
    }
    return fingerprint;
}

static void fr_fold_account_bitmap(uint64_t *row_ordinals, uint64_t *previous,
                                   const fr_row_set *rows, uint64_t ordinal)
{
    for (uint32_t word = 0; word < (rows->universe + 63) / 64; word++)
        for (uint64_t bits = rows->bitmap[word]; bits; bits &= bits - 1) {
            uint32_t row = 64 * word + (uint32_t)__builtin_ctzll(bits);
            previous[row] = row_ordinals[row];
            row_ordinals[row] = ordinal;
        }
}

/* Enters one newly sealed entry in the ordinals of the rows. A client's FULL entry replaces the
 * head without a byte moved; spares then know nothing of what changed. */
static void fr_fold_account_entry(fr_store *store, fr_segment *segment, fr_version *version)
{
    version->previous_full = segment->full_ordinal;
    if (version->kind == FR_VERSION_FULL) {
        segment->full_ordinal = version->ordinal;
        fr_fold_tell_spares(store, segment, NULL);
        fr_add_relaxed(&store->counters.heads_replaced, 1);
        return;
    }
    fr_change_retain(version->change);
    version->since = version->change;
    const fr_row_set *rows = &version->change->rows;
    uint64_t *previous = version->change->previous;
    if (fr_row_set_is_bitmap(rows))
        fr_fold_account_bitmap(segment->row_ordinals, previous, rows, version->ordinal);
    else
        version->change->fingerprint = fr_fold_account_list(
            segment->row_ordinals, previous, rows->rows, rows->count, version->ordinal);
}

/* Others get the segment's lock when it was held for so many rows and entries. */
static void fr_fold_give_way(fr_segment *segment, uint64_t *held, uint64_t more)
{
    *held += more;
    if (*held < FR_ROWS_A_LOCK)
        return;
    *held = 0;
    fr_mutex_unlock(&segment->lock);
    fr_mutex_lock(&segment->lock);
}

static uint64_t fr_fold_rows(const fr_version *version)
{
    return 1 + (version->change ? version->change->rows.count : 0);
}

/* All newly sealed entries, ascending. The lock is taken when there is memory for the log of them.
 */
static void fr_fold_account(fr_store *store, fr_segment *segment)
{
    fr_version *version = segment->sealed;
    if (!version || version->ordinal <= segment->accounted)
        return;
    uint32_t count = 1;
    for (; version->older && version->older->ordinal > segment->accounted; version = version->older)
        count++;
    store->seal_steps += 2 * count - 1;
    (void)fr_change_log_reserve(store, count); /* what has no memory is merged */
    uint64_t held = 0;
    fr_mutex_lock(&segment->lock);
    for (;; version = version->newer) {
        fr_look();
        fr_fold_account_entry(store, segment, version);
        fr_change_log_add(store, segment, version);
        segment->accounted = version->ordinal;
        if (version == segment->sealed)
            break;
        fr_fold_give_way(segment, &held, fr_fold_rows(version));
    }
    fr_mutex_unlock(&segment->lock);
}

/* False without memory. */
static bool fr_fold_all(fr_store *store, fr_segment *segment)
{
    fr_version *base = fr_fold_base(store, segment), *made = NULL;
    uint64_t held = 0;
    bool enough = true;
    fr_mutex_lock(&segment->lock);
    while (enough && base && base != segment->sealed) {
        fr_version *part = base->newer;
        store->seal_steps++;
        fr_look();
        fr_fold_give_way(segment, &held, fr_fold_rows(part));
        if (fr_fold_in_place(store, segment, base, part)) {
            base = part;
            continue;
        }
        fr_mutex_unlock(&segment->lock);
        made = fr_fold_beside(store, segment, base, part);
        fr_mutex_lock(&segment->lock);
        enough = made != NULL;
        if (made)
            fr_fold_replace(store, segment, part, made);
        base = made;
    }
    fr_segment_refresh(segment);
    fr_mutex_unlock(&segment->lock);
    return enough;
}

/* The same of a column on a device: all changes at once, and those below the newest stay as they
 * are, on the head that was. False: a later seal does it. */
static bool fr_fold_all_placed(fr_store *store, fr_segment *segment)
{
    fr_version *base = fr_fold_base(store, segment), *last = segment->sealed, *made = NULL;
    bool folds = base && base != last;
    if (folds)
        made = fr_fold_place(store, segment, base);
    fr_mutex_lock(&segment->lock);
    for (fr_version *part = base; made && part != last;) {
        part = part->newer;
        store->seal_steps++;
        if (part != last)
            fr_fold_tell_spares(store, segment, part->change);
        else
            fr_fold_replace(store, segment, part, made);
    }
    fr_segment_refresh(segment);
    fr_mutex_unlock(&segment->lock);
    return !folds || made;
}

static void fr_fold_close(fr_segment *segment, uint64_t floor)
{
    bool more;
    do {
        fr_mutex_lock(&segment->lock);
        more = fr_segment_close(segment, floor);
        fr_mutex_unlock(&segment->lock);
    } while (more);
}

bool fr_fold_segment(fr_store *store, fr_segment *segment, uint64_t floor)
{
    fr_fold_close(segment, floor);
    fr_fold_account(store, segment);
    bool enough = fr_column_rows_device(segment->column) ? fr_fold_all_placed(store, segment)
                                                         : fr_fold_all(store, segment);
    bool is_array = segment->column->schema.is_array;
    if (is_array)
        fr_compact_weigh(segment);
    fr_history_trim(store, segment);
    fr_change_log_trim(store, segment->column);
    bool compacts = is_array && !fr_column_device(segment->column); /* no elements move there */
#ifdef FR_MUTATE_DEVICE_ARRAYS_ARE_COMPACTED
    compacts = is_array;
#endif
    if (compacts)
        fr_compact_segment(store, segment);
    fr_store_relaxed(&store->counters.seal_steps, store->seal_steps);
    return enough;
}
