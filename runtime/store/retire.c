#include "runtime/store/retire.h"

#include "runtime/store/archive.h"
#include "runtime/store/history.h"
#include "runtime/store/store_state.h"
#include "runtime/store/superseded.h"
#include "runtime/store/whole.h"

/* What the states of the list may take in any case. */
#ifdef FR_SHRINK
#define FR_RETIRE_LEAST ((uint64_t)1 << 10)
#else
#define FR_RETIRE_LEAST ((uint64_t)64 << 10)
#endif
/* And how often what all values of all rows take, since one by one they take more. */
#define FR_RETIRE_TIMES 4u

static bool fr_retire_list_is_large(const fr_store *store, const fr_segment *segment)
{
    uint64_t bytes = segment->history_bytes - segment->archive_bytes - fr_whole_bytes(segment);
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++)
        if (segment->spares[k].version)
            bytes -= segment->spares[k].version->history_bytes;
    uint64_t all = (uint64_t)segment->row_count * segment->column->row_bytes + segment->live_bytes;
    return bytes > FR_RETIRE_LEAST + FR_RETIRE_TIMES * all * (store->config.history_versions + 1);
}

bool fr_retire_wants(const fr_store *store, const fr_segment *segment)
{
    const fr_version *oldest = segment->oldest;
    uint64_t most = (uint64_t)store->config.history_versions + 1 + FR_HISTORY_LISTED;
    bool holds_others = oldest->kind == FR_VERSION_FULL && oldest->newer->since;
    return segment->sealed_count > most || fr_superseded_few(oldest) || holds_others ||
           fr_whole_is_uniform(segment) || fr_retire_list_is_large(store, segment);
}

typedef struct fr_retiring {
    fr_store *store;
    fr_segment *segment;
    const fr_version *state;
    const fr_row_set *rows; /* that the next newer one changed; NULL: all */
    uint32_t next;          /* to be looked at: of a list a place, else a row */
    fr_archiving some[FR_ARCHIVE_SOME];
} fr_retiring;

/* The next of the rows and its place in their set; false: there is none. */
static bool fr_retiring_row(fr_retiring *retiring, uint32_t *row, uint32_t *place)
{
    const fr_row_set *rows = retiring->rows;
    uint32_t next = retiring->next;
    if (rows && fr_row_set_is_bitmap(rows)) {
        uint64_t bits = 0;
        while (next < rows->universe && bits == 0) {
            bits = rows->bitmap[next / 64] >> next % 64;
            next = bits ? next + (uint32_t)__builtin_ctzll(bits) : (next / 64 + 1) * 64;
        }
        if (bits == 0)
            return false;
    } else if (next >= (rows ? rows->count : retiring->segment->row_count)) {
        return false;
    }
    *place = next;
    *row = rows && !fr_row_set_is_bitmap(rows) ? rows->rows[next] : next;
    retiring->next = next + 1;
    return true;
}

/* When what the state has in the row was written. */
static uint64_t fr_retiring_from(const fr_retiring *retiring, uint32_t row, uint32_t place)
{
    const fr_version *state = retiring->state, *next = state->newer;
    if (next->since) {
        uint64_t single = next->since->previous[place];
        return single > next->previous_full ? single : next->previous_full;
    }
    if (!state->since)
        return state->ordinal; /* it wrote all of them */
    return fr_history_row_ordinal(retiring->segment, row, state->ordinal);
}

/* Where it lies, when the state's rows are not those that the next one changed. */
static void fr_retiring_find(fr_segment *segment, const fr_version *state, fr_archiving *value)
{
    fr_mutex_lock(&segment->lock);
    for (; state->kind != FR_VERSION_FULL;
         state = state->kind == FR_VERSION_PARTIAL ? state->older : state->newer) {
        fr_look();
        value->place = fr_row_set_place(&state->change->rows, value->row);
        if (value->place != FR_ROW_SET_NONE)
            break;
        value->place = value->row;
    }
    value->source = state->buffer;
    fr_mutex_unlock(&segment->lock);
}

/* Whether the above look into lists of rows: not where the state has just those that the next newer
 * one changed, or all. */
static bool fr_retire_looks_up(const fr_version *state)
{
    const fr_change *since = state->newer->since;
    if (!since)
        return state->since || state->kind != FR_VERSION_FULL;
    return state->kind != FR_VERSION_FULL &&
           (state->kind != FR_VERSION_UNDO || state->change != since);
}

/* False: there is no further one. */
static bool fr_retiring_next(fr_retiring *retiring, fr_archiving *value)
{
    fr_segment *segment = retiring->segment;
    const fr_version *state = retiring->state;
    uint32_t row, place;
    do
        if (!fr_retiring_row(retiring, &row, &place))
            return false;
    while (fr_segment_creation(segment, row).ordinal > state->ordinal); /* room, and no value */
    *value = (fr_archiving){
        .row = row, .until = state->newer->ordinal, .source = state->buffer, .place = row};
    value->from = fr_retiring_from(retiring, row, place);
    if (state->kind == FR_VERSION_UNDO && state->change == state->newer->since)
        value->place = place;
    else if (state->kind != FR_VERSION_FULL)
        fr_retiring_find(segment, state, value);
    return true;
}

bool fr_retire(fr_store *store, fr_segment *segment, const fr_version *state, uint64_t moment)
{
    const fr_change *since = state->newer->since;
    fr_retiring retiring = {
        .store = store, .segment = segment, .state = state, .rows = since ? &since->rows : NULL};
    const uint32_t most = FR_ARCHIVE_SOME;
    uint32_t count = most;
    bool enough = true;
    if (fr_retire_looks_up(state))
        fr_segment_index(segment);
    while (enough && count == most) {
        for (count = 0; count < most && fr_retiring_next(&retiring, &retiring.some[count]); count++)
            store->seal_steps++;
        enough = count == 0 || fr_archive_enter(store, segment, retiring.some, count, moment);
    }
    return enough;
}
