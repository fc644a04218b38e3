#include "runtime/store/whole.h"

#include "runtime/store/history.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"
#include "runtime/store/superseded.h"

static uint64_t *fr_whole_froms(const fr_version *version)
{
    return version->froms ? (uint64_t *)(void *)version->froms->data : NULL;
}

const fr_version *fr_whole_find(const fr_segment *segment, uint32_t row, uint64_t ordinal,
                                uint64_t *from, uint32_t *left)
{
    for (const fr_version *version = segment->whole; version; version = version->older) {
        fr_look();
        *left -= *left > 0;
        *from = version->froms ? fr_whole_froms(version)[row] : version->ordinal;
        if (*from <= ordinal && ordinal < version->until)
            return version;
    }
    return NULL;
}

static const fr_version *fr_whole_last(const fr_segment *segment)
{
    const fr_version *version = segment->whole;
    while (version && version->older)
        version = version->older;
    return version;
}

uint64_t fr_whole_oldest(const fr_segment *segment)
{
    const fr_version *last = fr_whole_last(segment);
    return last ? last->until : UINT64_MAX;
}

uint64_t fr_whole_bytes(const fr_segment *segment)
{
    uint64_t bytes = 0;
    for (const fr_version *version = segment->whole; version; version = version->older)
        bytes += version->history_bytes;
    return bytes;
}

bool fr_whole_may_keep(const fr_segment *segment)
{
    const fr_version *oldest = segment->oldest;
    return oldest->kind == FR_VERSION_FULL && !oldest->newer->since;
}

bool fr_whole_is_cheap(const fr_segment *segment)
{
    bool looks_at_rows = segment->oldest->since && segment->row_count > FR_HISTORY_FEW;
    return fr_whole_may_keep(segment) && !looks_at_rows;
}

/* Since when the state has what it has in each row. Most were not written since all were. */
static fr_buffer *fr_whole_make_froms(fr_store *store, fr_segment *segment, const fr_version *state)
{
    fr_buffer *froms = fr_buffer_get(store->buffers, segment->row_count * sizeof(uint64_t));
    if (!froms)
        return NULL;
    uint64_t *from = (uint64_t *)(void *)froms->data, full = state->newer->previous_full;
    fr_segment_index(segment);
    for (uint32_t row = 0; row < segment->row_count; row++) {
        uint64_t single = segment->row_ordinals ? segment->row_ordinals[row] : 0;
        if (single > state->ordinal)
            from[row] = fr_history_row_ordinal(segment, row, state->ordinal);
        else
            from[row] = single > full ? single : full;
    }
    return froms;
}

bool fr_whole_keep(fr_store *store, fr_segment *segment)
{
    fr_version *state = segment->oldest, *next = state->newer;
    fr_buffer *froms = NULL;
    if (state->since) {
        froms = fr_whole_make_froms(store, segment, state);
        if (!froms)
            return false;
    }
    fr_mutex_lock(&segment->lock);
    bool may = next->ordinal <= fr_moments_seen(&store->moments);
    if (may) {
        (void)fr_segment_cut(segment, next);
        segment->sealed_count--;
        state->until = next->ordinal;
        state->froms = froms;
        state->older = segment->whole;
        state->newer = NULL;
        segment->whole = state;
        segment->whole_count++;
    }
    fr_mutex_unlock(&segment->lock);
    if (!may) {
        fr_buffer_release(store->buffers, froms);
        return false;
    }
    fr_segment_count(segment, state, fr_version_history_bytes(state));
    while (segment->whole_count > store->config.history_versions &&
           fr_whole_drop(store, segment, UINT64_MAX))
        store->seal_steps++;
    return true;
}

bool fr_whole_drop(fr_store *store, fr_segment *segment, uint64_t moment)
{
    fr_version **link = &segment->whole;
    while (*link && (*link)->older)
        link = &(*link)->older;
    fr_version *last = *link;
    if (!last || last->until > moment)
        return false;
    fr_mutex_lock(&segment->lock);
    bool may = last->until <= fr_moments_seen(&store->moments);
    if (may) {
        *link = NULL;
        segment->whole_count--;
    }
    fr_mutex_unlock(&segment->lock);
    if (!may)
        return false;
    fr_segment_count(segment, last, 0);
    fr_seal_drop(store, last);
    return true;
}
