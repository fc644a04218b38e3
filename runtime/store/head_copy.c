#include "runtime/store/head_copy.h"

#include "runtime/store/fold_rows.h"
#include "runtime/store/history.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"

static void fr_head_copy_catch_up(fr_store *store, const fr_segment *segment,
                                  const fr_change *change, fr_buffer *buffer,
                                  const fr_version *head)
{
    fr_fold_rows_catch_up(&change->rows, buffer, head->buffer, segment->column->row_bytes,
                          &store->seal_let_go);
}

/* --- an older state --------------------------------------------------------------------------- */

fr_version *fr_head_copy_older(const fr_version *head)
{
    uint32_t changes = 0;
    fr_version *version = head->older;
    for (; version && version->kind != FR_VERSION_PARTIAL; version = version->older) {
        if (!version->newer->since || ++changes > FR_SPARE_CHANGES)
            return NULL;
        if (version->kind == FR_VERSION_FULL && fr_pin_count(&version->pin) == 0 &&
            fr_buffer_writable(version->buffer))
            return version;
    }
    return NULL;
}

bool fr_head_copy_begin_undo(fr_version *version)
{
#ifdef FR_MUTATE_HEAD_COPY_WITHOUT_EXCLUSIVE
    (void)version;
    return true;
#else
    return fr_pin_exclusive(&version->pin);
#endif
}

void fr_head_copy_end_undo(fr_segment *segment, fr_version *version, fr_buffer *saved)
{
    fr_change *change = version->newer->since;
    fr_change_retain(change);
    version->kind = FR_VERSION_UNDO;
    version->change = change;
    version->buffer = saved;
    fr_history_recount(segment, version);
    (void)fr_pin_exclusive_end(&version->pin); /* seals alone kill it */
}

/* The rows of an older state that the next newer one changed go into `saved`; its payload then has
 * those rows as the head has them. NULL when somebody reads it. */
static fr_buffer *fr_head_copy_detach(fr_store *store, fr_segment *segment, fr_version *version,
                                      const fr_version *head, fr_buffer *saved)
{
    fr_buffer *whole = NULL;
    fr_mutex_lock(&segment->lock);
    if (fr_head_copy_begin_undo(version)) {
        whole = version->buffer;
        fr_fold_rows_relieve(&version->newer->since->rows, saved, whole, head->buffer,
                             segment->column->row_bytes, &store->seal_let_go);
        fr_head_copy_end_undo(segment, version, saved);
    }
    fr_mutex_unlock(&segment->lock);
    return whole;
}

static fr_buffer *fr_head_copy_of_older(fr_store *store, fr_segment *segment,
                                        const fr_version *head)
{
    fr_version *older = fr_head_copy_older(head);
    if (!older)
        return NULL;
    const fr_row_set *rows = &older->newer->since->rows;
    size_t places = fr_row_set_is_bitmap(rows) ? rows->universe : rows->count;
    fr_buffer *saved = fr_column_buffer(segment->column, store->buffers, places);
    if (!saved)
        return NULL;
    fr_buffer *whole = fr_head_copy_detach(store, segment, older, head, saved);
    if (!whole) {
        fr_buffer_release(store->buffers, saved);
        return NULL;
    }
    for (const fr_version *version = older->newer; version != head;) {
        version = version->newer;
        fr_head_copy_catch_up(store, segment, version->since, whole, head);
    }
    return whole;
}

/* --- a spare ---------------------------------------------------------------------------------- */

fr_spare *fr_head_copy_spare(fr_segment *segment)
{
    fr_spare *best = NULL;
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++) {
        fr_spare *spare = &segment->spares[k];
        if (!spare->version || (best && spare->change_count >= best->change_count) ||
            !fr_pin_exclusive(&spare->version->pin))
            continue;
        if (best)
            (void)fr_pin_exclusive_end(&best->version->pin); /* seals alone kill it */
        best = spare;
    }
    return best;
}

fr_buffer *fr_head_copy_take_spare(fr_store *store, fr_spare *spare)
{
    fr_version *version = fr_segment_spare_take(spare);
    fr_buffer *buffer = version->buffer;
    version->buffer = NULL;
    (void)fr_pin_exclusive_end(&version->pin);
    fr_seal_drop(store, version);
    return buffer;
}

static fr_buffer *fr_head_copy_of_spare(fr_store *store, fr_segment *segment,
                                        const fr_version *head)
{
    fr_spare *spare = fr_head_copy_spare(segment);
    if (!spare)
        return NULL;
    fr_buffer *buffer = spare->version->buffer;
    for (uint32_t c = 0; c < spare->change_count; c++)
        fr_head_copy_catch_up(store, segment, spare->changes[c], buffer, head);
    return fr_head_copy_take_spare(store, spare);
}

fr_buffer *fr_head_copy(fr_store *store, fr_segment *segment, const fr_version *head)
{
    fr_buffer *buffer = fr_head_copy_of_older(store, segment, head);
    if (!buffer)
        buffer = fr_head_copy_of_spare(store, segment, head);
    if (buffer) {
        fr_add_relaxed(&store->counters.folds_with_spare, 1);
        return buffer;
    }
    buffer = fr_column_copy(segment->column, store->buffers, head->buffer, segment->row_count);
    if (buffer)
        fr_add_relaxed(&store->counters.folds_with_copy, 1);
    return buffer;
}
