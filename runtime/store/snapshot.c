#include "runtime/store/snapshot.h"

#include <string.h>

#include "runtime/store/fold_rows.h"
#include "runtime/store/history.h"
#include "runtime/store/recall.h"
#include "runtime/store/store_state.h"
#include "runtime/write/rows_width.h"

fr_snapshot *fr_snapshot_create(fr_store *store, fr_column *column, uint32_t sources)
{
    fr_snapshot *snapshot = fr_memory_allocate_zero(store->allocator, sizeof(*snapshot), 16);
    if (!snapshot)
        return NULL;
    snapshot->store = store;
    snapshot->column = column;
    snapshot->sources = &snapshot->one_source;
    snapshot->source_capacity = 1;
    if (sources <= 1)
        return snapshot;
    snapshot->sources = fr_memory_allocate(store->allocator, sources * sizeof(fr_source), 16);
    snapshot->source_capacity = sources;
    if (snapshot->sources)
        return snapshot;
    fr_memory_release(store->allocator, snapshot, sizeof(*snapshot));
    return NULL;
}

static void fr_source_release(fr_store *store, fr_source *source)
{
    if (source->only)
        fr_version_unpin(&store->versions, source->only);
    for (uint32_t v = 0; !source->only && v < source->version_count; v++)
        fr_version_unpin(&store->versions, source->versions[v]);
    fr_memory_release(store->allocator, source->versions,
                      source->version_capacity * sizeof(fr_version *));
    source->only = NULL;
    source->versions = NULL;
    source->version_count = source->version_capacity = 0;
}

void fr_snapshot_destroy(fr_snapshot *snapshot)
{
    fr_store *store = snapshot->store;
    const fr_allocator *allocator = store->allocator;
    for (uint32_t s = 0; s < snapshot->source_count; s++)
        fr_source_release(store, &snapshot->sources[s]);
    fr_buffer_release(store->buffers, snapshot->gathered);
    if (snapshot->binding)
        fr_bind_release(snapshot->binding);
    if (snapshot->sources != &snapshot->one_source)
        fr_memory_release(allocator, snapshot->sources,
                          snapshot->source_capacity * sizeof(fr_source));
    size_t own_bytes = snapshot->own_capacity * sizeof(uint32_t);
    fr_memory_release(allocator, snapshot->own_rows, own_bytes);
    fr_memory_release(allocator, snapshot->own_outs, own_bytes);
    fr_memory_release(allocator, snapshot->positions, own_bytes);
    fr_memory_release(allocator, snapshot, sizeof(*snapshot));
}

/* With the segment's lock held: pins entries from the state on, towards the FULL one that it rests
 * on; as many as there is room for, and not too many at a time. True when that one is reached.
 * Linked and under the lock they are neither dead nor exclusive. */
static bool fr_source_pin(fr_version *version, fr_source *source)
{
    uint32_t room = source->version_capacity - source->version_count;
    uint32_t left = room < FR_ROWS_A_LOCK ? room : FR_ROWS_A_LOCK;
    for (; left > 0; left--) {
        fr_look();
        (void)fr_pin_take(&version->pin);
        source->versions[source->version_count++] = version;
        if (version->kind == FR_VERSION_FULL)
            return true;
        version = version->kind == FR_VERSION_PARTIAL ? version->older : version->newer;
    }
    return false;
}

/* The same from the last pinned one on. *lost: since the lock was given to others that is no longer
 * in the list, folded or cut. */
static bool fr_source_pin_more(const fr_segment *segment, fr_source *source, bool *lost)
{
    fr_version *last = source->versions[source->version_count - 1];
    *lost = fr_segment_find(segment, last->ordinal) != last;
    if (*lost)
        return false;
    return fr_source_pin(last->kind == FR_VERSION_PARTIAL ? last->older : last->newer, source);
}

static bool fr_source_grow(fr_store *store, fr_source *source)
{
    uint32_t had = source->version_capacity, capacity = had ? 2 * had : 8;
    if (source->version_count < had)
        return true;
    fr_version **versions =
        fr_memory_grow(store->allocator, source->versions, had * sizeof(fr_version *),
                       capacity * sizeof(fr_version *), 16);
    if (!versions)
        return false;
    source->versions = versions;
    source->version_capacity = capacity;
    return true;
}

/* From the FULL entry on, as they lie over each other. */
static void fr_source_turn(fr_source *source)
{
    for (uint32_t low = 0, high = source->version_count; low + 1 < high; low++) {
        fr_version *version = source->versions[--high];
        source->versions[high] = source->versions[low];
        source->versions[low] = version;
    }
}

/* With the segment's lock held: the state at `ordinal`. *still: it was cut, and this is the oldest
 * that is kept; rows that were not written in between are in that as they were (the newest version
 * of each key stays, L6). */
static fr_version *fr_snapshot_state(const fr_segment *segment, uint64_t ordinal, bool *still)
{
    fr_version *state = fr_segment_state(segment, ordinal);
    fr_version *oldest = segment->oldest;
    *still = !state;
    if (state)
        return state;
    if (!oldest || !segment->sealed || oldest->ordinal > segment->sealed->ordinal)
        return NULL;
    return oldest;
}

/* What was looked at and pinned in one piece. */
typedef struct fr_pinning {
    bool any_ordinal; /* nobody asks for `written`, but where the state was cut */
    bool still;
    bool told; /* `written` is known */
    uint64_t written;
} fr_pinning;

/* With the segment's lock held: the state, or more of it. True when it is pinned. *gone: it is not
 * kept. */
static bool fr_snapshot_take_some(fr_segment *segment, const uint32_t *rows, uint64_t ordinal,
                                  fr_source *source, fr_pinning *pinning, bool *gone, bool *lost)
{
    bool pinned = false;
    *gone = *lost = false;
    if (source->version_count == 0) {
        fr_version *state = fr_snapshot_state(segment, ordinal, &pinning->still);
        *gone = !state;
        source->state = state ? state->ordinal : 0;
        pinned = state && state->kind == FR_VERSION_FULL;
        if (pinned) {
            source->only = state;
            source->version_count = 1;
            (void)fr_pin_take(&state->pin);
        } else if (state) {
            pinned = fr_source_pin(state, source);
        }
    } else {
        pinned = fr_source_pin_more(segment, source, lost);
    }
    pinning->told = pinned && !pinning->still &&
                    (pinning->any_ordinal || fr_history_rows_at_once(segment, rows, source->count,
                                                                     ordinal, &pinning->written));
    return pinned;
}

/* Pins the state, taking memory for its versions without the lock. */
static ovstage_api_status_t fr_snapshot_take(fr_store *store, fr_segment *segment,
                                             const uint32_t *rows, uint64_t ordinal,
                                             fr_source *source, fr_pinning *pinning)
{
    bool gone, lost;
    for (;;) {
        fr_mutex_lock(&segment->lock);
        bool pinned = fr_snapshot_take_some(segment, rows, ordinal, source, pinning, &gone, &lost);
        fr_mutex_unlock(&segment->lock);
        if (pinned) {
            if (!source->only)
                fr_source_turn(source);
            return OVSTAGE_OK;
        }
        if (gone || lost)
            fr_source_release(store, source);
        if (gone)
            return OVSTAGE_ERROR_OUT_OF_RANGE; /* the rows existed then, so it was cut */
        if (!fr_source_grow(store, source)) {
            fr_source_release(store, source);
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
        }
    }
}

/* Lays rows over what the source has, which become its own. False without memory. */
static bool fr_source_add(fr_store *store, fr_source *source, fr_version *rows)
{
    if (rows->kind == FR_VERSION_FULL) {
        fr_source_release(store, source);
        source->only = rows;
        source->version_count = 1;
        return true;
    }
    fr_version *only = source->only;
    if (!fr_source_grow(store, source))
        return false;
    if (only)
        source->versions[0] = only;
    source->only = NULL;
    if (!fr_source_grow(store, source))
        return false;
    source->versions[source->version_count++] = rows;
    return true;
}

/* Of the oldest state: rows that were written since the ordinal are as they were then. */
static ovstage_api_status_t fr_source_recall(fr_store *store, fr_segment *segment,
                                             const uint32_t *rows, uint64_t ordinal,
                                             fr_source *source, fr_pinning *pinning)
{
    fr_recall recall = {.segment = segment,
                        .rows = rows,
                        .count = source->count,
                        .ordinal = ordinal,
                        .state = source->state};
    ovstage_api_status_t status = fr_recall_run(store, &recall);
    pinning->written = recall.newest;
    source->state = ordinal;
    if (recall.made && !fr_source_add(store, source, recall.made)) {
        fr_version_unpin(&store->versions, recall.made);
        status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    }
    return status;
}

/* The state is pinned: tells `written`, and finds what is not in it. */
static ovstage_api_status_t fr_snapshot_settle(fr_store *store, fr_segment *segment,
                                               const uint32_t *rows, uint64_t ordinal,
                                               fr_source *source, fr_pinning *pinning)
{
    uint64_t at = pinning->still ? source->state : ordinal;
    pinning->written = fr_history_rows_ordinal(segment, rows, source->count, at);
    bool recalls = pinning->still && pinning->written > ordinal;
#ifdef FR_MUTATE_SNAPSHOT_TAKES_THE_OLDEST
    recalls = false;
#endif
    return recalls ? fr_source_recall(store, segment, rows, ordinal, source, pinning) : OVSTAGE_OK;
}

/* Where the lock would be held too long for all of it: the moment is held instead. */
static ovstage_api_status_t fr_snapshot_take_slowly(fr_store *store, fr_segment *segment,
                                                    const uint32_t *rows, uint64_t ordinal,
                                                    fr_source *source, fr_pinning *pinning)
{
    fr_ordinal_node held;
    fr_store_moment_hold(store, &held, ordinal);
    ovstage_api_status_t status = fr_snapshot_take(store, segment, rows, ordinal, source, pinning);
    if (status == OVSTAGE_OK && !pinning->told)
        status = fr_snapshot_settle(store, segment, rows, ordinal, source, pinning);
    fr_store_moment_release(store, &held);
    return status;
}

/* Looking rows up in it needs no walk. */
static bool fr_source_index(fr_segment *segment, const fr_source *source)
{
    for (uint32_t v = 1; !source->only && v < source->version_count; v++)
        if (!fr_segment_index_change(segment, source->versions[v]->change))
            return false;
    return true;
}

ovstage_api_status_t fr_snapshot_pin(fr_snapshot *snapshot, fr_segment *segment, uint64_t ordinal,
                                     uint32_t first, uint32_t count)
{
    fr_store *store = snapshot->store;
    fr_source *source = &snapshot->sources[snapshot->source_count];
    *source = (fr_source){.first = first, .count = count};
    const uint32_t *rows = snapshot->rows ? snapshot->rows + first : NULL;
    fr_pinning pinning = {.any_ordinal = snapshot->any_ordinal};
    ovstage_api_status_t status = fr_snapshot_take(store, segment, rows, ordinal, source, &pinning);
    if (status == OVSTAGE_OK && !pinning.told) {
        fr_source_release(store, source);
        status = fr_snapshot_take_slowly(store, segment, rows, ordinal, source, &pinning);
    }
    if (status == OVSTAGE_OK && !fr_source_index(segment, source))
        status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (status != OVSTAGE_OK) {
        fr_source_release(store, source);
        return status;
    }
    snapshot->source_count++;
    snapshot->newest = pinning.written > snapshot->newest ? pinning.written : snapshot->newest;
    return OVSTAGE_OK;
}

/* --- gathering -------------------------------------------------------------------------------- */

static void fr_gather_base(const fr_snapshot *snapshot, const fr_source *source,
                           const unsigned char *from, unsigned char *to)
{
    uint32_t row_bytes = snapshot->column->row_bytes;
    const uint32_t *rows = snapshot->rows ? snapshot->rows + source->first : NULL;
    const uint32_t *outs = snapshot->outs ? snapshot->outs + source->first : NULL;
    uint32_t count = source->count;
    if (!outs)
        to += (size_t)source->first * row_bytes;
    if (!rows) {
        fr_rows_copy_compact(to, from, (size_t)count * row_bytes);
        return;
    }
    if (!outs) {
        fr_rows_gather_indexed(to, from, rows, count, row_bytes);
        return;
    }
#define FR_GATHER_ORDERED(w) \
    for (uint32_t k = 0; k < count; k++) \
    fr_row_copy(to + (size_t)outs[k] * (w), from + (size_t)rows[k] * (w), (w))
    FR_ROWS_BY_WIDTH(row_bytes, FR_GATHER_ORDERED);
#undef FR_GATHER_ORDERED
}

/* The rows of a change, over what is there. */
static void fr_gather_over(const fr_snapshot *snapshot, const fr_source *source,
                           const fr_version *version, fr_buffer *gathered)
{
    size_t row_bytes = snapshot->column->row_bytes;
    const unsigned char *from = version->buffer->data;
    unsigned char *to = gathered->data;
    if (!snapshot->rows) {
        fr_fold_rows_apply(&version->change->rows, gathered, version->buffer, (uint32_t)row_bytes,
                           NULL);
        return;
    }
    for (uint32_t k = source->first; k < source->first + source->count; k++) {
        uint32_t place = fr_row_set_place(&version->change->rows, snapshot->rows[k]);
        if (place != FR_ROW_SET_NONE)
            memcpy(to + (snapshot->outs ? snapshot->outs[k] : k) * row_bytes,
                   from + place * row_bytes, row_bytes);
    }
}

struct fr_placed *fr_snapshot_placed(const fr_snapshot *snapshot)
{
    const fr_source *source = snapshot->sources;
    bool in_place = snapshot->source_count == 1 && source->only && source->only->buffer->is_placed;
    for (uint32_t k = 0; k < snapshot->row_count && in_place; k++)
        in_place = (!snapshot->rows || snapshot->rows[k] == k) &&
                   (!snapshot->outs || snapshot->outs[k] == k);
    return in_place ? source->only->buffer->placed : NULL;
}

bool fr_snapshot_gather(fr_snapshot *snapshot)
{
    fr_store *store = snapshot->store;
    uint32_t row_bytes = snapshot->column->row_bytes;
    fr_buffer *buffer = fr_buffer_get(store->buffers, (size_t)snapshot->row_count * row_bytes);
    if (!buffer)
        return false;
    for (uint32_t s = 0; s < snapshot->source_count; s++) {
        const fr_source *source = &snapshot->sources[s];
        const fr_version *base = source->only ? source->only : source->versions[0];
        fr_gather_base(snapshot, source, base->buffer->data, buffer->data);
        for (uint32_t v = 1; v < source->version_count; v++)
            fr_gather_over(snapshot, source, source->versions[v], buffer);
    }
    snapshot->gathered = buffer;
    fr_add_relaxed(&store->counters.gathers, 1);
    return true;
}
