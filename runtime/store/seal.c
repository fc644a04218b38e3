#include "runtime/store/seal.h"

#include "runtime/store/fold.h"
#include "runtime/store/history.h"
#include "runtime/store/layout.h"
#include "runtime/store/pending.h"
#include "runtime/store/rehome.h"
#include "runtime/store/store_state.h"
#include "runtime/store/tombstones.h"

/* The lists lead through seal_next; the last one points at itself, so that NULL means: in no list.
 */
void fr_seal_want_fold(fr_store *store, fr_segment *segment)
{
    if (segment->seal_next)
        return;
    segment->seal_next = store->seal_segments ? store->seal_segments : segment;
    store->seal_segments = segment;
}

void fr_seal_want_layout(fr_store *store, fr_column *column)
{
    if (column->seal_next)
        return;
    column->seal_next = store->seal_columns ? store->seal_columns : column;
    store->seal_columns = column;
}

static void fr_seal_enter(fr_store *store, fr_touched *touched, uint64_t *pending_bytes)
{
    *pending_bytes += touched->pending_bytes;
    touched->pending_bytes = 0;
    fr_pending_seal(touched->elements);
    fr_pending_release(touched->elements);
    touched->elements = NULL;
    if (touched->segment)
        fr_seal_want_fold(store, touched->segment);
    else
        fr_seal_want_layout(store, touched->column);
}

/* Those that find no memory stay in the list, for the next seal. */
static void fr_seal_layouts(fr_store *store, const fr_floor_record *next)
{
    fr_column *list = store->seal_columns;
    store->seal_columns = NULL;
    while (list) {
        fr_column *column = list;
        list = column->seal_next == column ? NULL : column->seal_next;
        column->seal_next = NULL;
        if (!fr_layout_column(store, column, fr_floor_effective(next, column->attribute->index)))
            fr_seal_want_layout(store, column);
    }
}

void fr_seal_drop(fr_store *store, fr_version *version)
{
    bool last = fr_pin_kill(&version->pin);
#ifdef FR_MUTATE_HISTORY_DROPS_PINNED
    last = true;
#endif
    if (!last)
        return; /* goes with its last pin */
    version->older = store->seal_garbage;
    store->seal_garbage = version;
}

void fr_seal_begin(fr_store *store)
{
    fr_mutex_lock_long(&store->seal_lock);
}

void fr_seal_wait(fr_store *store)
{
    fr_mutex_lock_long(&store->seal_lock);
    fr_mutex_unlock_long(&store->seal_lock);
}

void fr_seal_end(fr_store *store)
{
    fr_unplaced *unplaced = store->seal_unplaced;
    fr_version *version = store->seal_garbage;
    fr_buffer *payloads = store->seal_let_go;
    store->seal_unplaced = NULL;
    store->seal_garbage = NULL;
    store->seal_let_go = NULL;
    fr_mutex_unlock_long(&store->seal_lock);
    while (unplaced) {
        fr_unplaced *next = unplaced->next;
        fr_unplaced_destroy(store->allocator, store->buffers, unplaced);
        unplaced = next;
    }
    while (version) {
        fr_version *next = version->older;
        fr_version_put(&store->versions, version);
        version = next;
    }
    fr_buffers_let_go(store->buffers, payloads);
}

void fr_store_seal_layout(fr_store *store, const fr_floor_record *next)
{
    fr_seal_begin(store);
    fr_touched *touched = fr_touches_take(&store->touches, next);
    uint64_t pending_bytes = 0;
    while (touched) {
        fr_touched *following = touched->next;
        fr_seal_enter(store, touched, &pending_bytes);
        touched = following;
    }
    fr_tally_sub(&store->counters.pending_bytes, pending_bytes);
    fr_tombstones_expand(store, next);
    fr_seal_layouts(store, next);
    fr_tombstones_bury(store);
    for (fr_segment *segment = store->seal_segments; segment;) {
        segment->seal_floor = fr_floor_effective(next, segment->column->attribute->index);
        fr_tombstones_note_returns(store, segment, segment->seal_floor);
        segment = segment->seal_next == segment ? NULL : segment->seal_next;
    }
#ifdef FR_MUTATE_LAYOUT_CALLS_DELETERS
    fr_seal_end(store);
#else
    /* The floor is being published: what is not wanted any more, clients' tensors among it, goes
     * when that is over, with the folding that follows. */
    fr_mutex_unlock_long(&store->seal_lock);
#endif
}

/* The column stays in the list of the next seal, so that nothing of it is folded before. */
bool fr_seal_layout_late(fr_store *store, fr_column *column, uint64_t floor)
{
    fr_seal_begin(store);
#ifdef FR_MUTATE_LAYOUT_NEVER_LATE
    bool enough = false;
    (void)column, (void)floor;
#else
    bool enough = fr_layout_column(store, column, floor);
#endif
    fr_seal_end(store);
    return enough;
}

bool fr_seal_expand_late(fr_store *store, fr_attribute *attribute, uint64_t floor)
{
    fr_seal_begin(store);
    bool enough = fr_tombstones_expand_attribute(store, attribute, floor);
    fr_seal_end(store);
    return enough;
}

void fr_store_seal(fr_store *store, const fr_floor_record *published, const fr_floor_record *before)
{
    (void)before;
    fr_seal_begin(store);
    fr_tombstones_drop_marks(store, published);
    fr_segment *list = store->seal_segments;
    store->seal_segments = NULL;
    store->change_log.serial++;
    while (list) {
        fr_segment *segment = list;
        list = segment->seal_next == segment ? NULL : segment->seal_next;
        segment->seal_next = NULL;
        uint64_t floor = fr_floor_effective(published, segment->column->attribute->index);
        /* Not what a later seal has put in, nor what rows are still to come below. What finds no
         * memory is left to the next seal. */
        bool early = segment->seal_floor > floor || segment->column->seal_next;
#ifdef FR_MUTATE_SEAL_FOLDS_BEFORE_LAYOUT
        early = false;
#endif
        if (early || !fr_fold_segment(store, segment, floor))
            fr_seal_want_fold(store, segment);
        else
            fr_rehome_note(store, segment);
    }
    fr_rehome_noted(store);
    fr_history_limit(store);
    fr_seal_end(store);
}
