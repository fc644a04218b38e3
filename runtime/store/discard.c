/* What an open ordinal has written and deleted is taken back, as if it had never been.
 *
 * Its lane does it, so nobody adds to it; no seal covers it, so nothing of it has a place or is in
 * a log. Who reads its versions holds pins of them. That it made a prim stays written down, where
 * it may hide who else did: such prims exist if they have keys, which is looked at from now on. */
#include <stddef.h>

#include "runtime/store/pending.h"
#include "runtime/store/store_state.h"

static fr_version *fr_discard_version(fr_touched *touched)
{
    return (fr_version *)(void *)((unsigned char *)touched - offsetof(fr_version, touched));
}

static fr_unplaced *fr_discard_unplaced(fr_touched *touched)
{
    return (fr_unplaced *)(void *)((unsigned char *)touched - offsetof(fr_unplaced, touched));
}

/* --- prims ------------------------------------------------------------------------------------ */

static bool fr_discard_doubt_version(fr_store *store, const fr_version *version)
{
    const fr_segment *segment = version->segment;
    const fr_row_set *rows = version->kind == FR_VERSION_FULL ? NULL : &version->change->rows;
    bool list = rows && !fr_row_set_is_bitmap(rows), enough = true;
    uint32_t count = list ? rows->count : segment->row_count;
    for (uint32_t k = 0; k < count && enough; k++) {
        uint32_t row = list ? rows->rows[k] : k;
        if (!rows || list || fr_row_set_place(rows, row) != FR_ROW_SET_NONE)
            enough = fr_marks_doubt(store->marks, segment->prims[row]);
    }
    return enough;
}

static bool fr_discard_doubt(fr_store *store, fr_touched *touched)
{
#ifdef FR_MUTATE_DISCARD_LEAVES_PRIMS
    (void)fr_discard_doubt_version;
    return store && touched;
#endif
    if (touched->segment)
        return fr_discard_doubt_version(store, fr_discard_version(touched));
    const fr_unplaced *unplaced = fr_discard_unplaced(touched);
    bool enough = true;
    for (uint32_t k = 0; k < unplaced->prims.count && enough; k++)
        enough = fr_marks_doubt(store->marks, unplaced->prims.rows[k]);
    return enough;
}

/* --- what is taken back ----------------------------------------------------------------------- */

static void fr_discard_one(fr_store *store, fr_touched *touched)
{
    fr_tally_sub(&store->counters.pending_bytes, touched->pending_bytes);
    touched->pending_bytes = 0;
    fr_pending_seal(touched->elements);
    fr_pending_release(touched->elements);
    touched->elements = NULL;
    if (touched->segment) {
        fr_version *version = fr_discard_version(touched);
        fr_mutex_lock(&touched->segment->lock);
        fr_segment_take_back(touched->segment, version);
        fr_mutex_unlock(&touched->segment->lock);
        fr_version_drop(&store->versions, version);
        return;
    }
    fr_unplaced *unplaced = fr_discard_unplaced(touched);
    fr_mutex_lock(&touched->column->lock);
    fr_column_unplaced_take_back(touched->column, unplaced);
    fr_mutex_unlock(&touched->column->lock);
    fr_unplaced_destroy(store->allocator, store->buffers, unplaced);
}

static fr_touched *fr_discard_all(fr_store *store, uint64_t ordinal)
{
    fr_touched *taken = NULL;
    uint32_t count = fr_attributes_count(store->attributes);
    for (uint32_t k = 0; k < count; k++)
        for (fr_column *column = fr_column_first(fr_attributes_at(store->attributes, k)); column;
             column = column->next)
            fr_touches_take_back(&store->touches, column, ordinal, &taken);
    return taken;
}

bool fr_store_discard(fr_store *store, uint64_t ordinal)
{
    fr_touched *taken = fr_discard_all(store, ordinal);
    bool enough = true;
    for (fr_touched *touched = taken; touched && enough; touched = touched->next)
        enough = fr_discard_doubt(store, touched);
    while (taken) {
        fr_touched *touched = taken;
        taken = touched->next;
        if (enough)
            fr_discard_one(store, touched);
        else
            fr_touch_add(&store->touches, touched, ordinal);
    }
    if (enough)
        fr_marks_discard(store->marks, ordinal);
    return enough;
}
