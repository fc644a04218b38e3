#include "runtime/store/retire.h"

#include <string.h>

#include "runtime/store/archive.h"
#include "runtime/store/history.h"
#include "runtime/store/store_state.h"
#include "runtime/store/superseded.h"
#include "runtime/store/whole.h"

/* What the states of the list may take: so many times what all values of all rows would take in the
 * archive, where one of a state's rows costs more. */
#define FR_RETIRE_TIMES 4u

static bool fr_retire_list_is_large(const fr_store *store, const fr_segment *segment)
{
    uint64_t bytes = segment->history_bytes - segment->archive_bytes - fr_whole_bytes(segment);
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++)
        if (segment->spares[k].version)
            bytes -= segment->spares[k].version->history_bytes;
    uint64_t row_bytes = segment->column->row_bytes + sizeof(fr_archived);
    uint64_t all = segment->row_count * row_bytes + segment->live_bytes;
    return bytes > FR_RETIRE_TIMES * all * (store->config.history_versions + 1);
}

bool fr_retire_wants(const fr_store *store, const fr_segment *segment)
{
    const fr_version *oldest = segment->oldest;
    uint64_t most = (uint64_t)store->config.history_versions + 1 + FR_HISTORY_LISTED;
    bool holds_others = oldest->kind == FR_VERSION_FULL && oldest->newer->since;
    return segment->sealed_count > most || fr_superseded_few(oldest) || holds_others ||
           fr_whole_is_cheap(segment) || fr_retire_list_is_large(store, segment);
}

/* The newest entries that are asked which rows nobody wants of an older state. */
#define FR_RETIRE_ASKED 2u
/* And for how many rows of the segment one must be in question: there is a bit for each. */
#define FR_RETIRE_ROWS_A_BIT 1024u

typedef struct fr_retiring {
    fr_store *store;
    fr_segment *segment;
    const fr_version *state;
    const fr_row_set *rows; /* that the next newer one changed; NULL: all */
    const uint64_t *gone;   /* of which these are not wanted any more; NULL: not known of any */
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

/* --- rows that nobody wants ------------------------------------------------------------------- */

static void fr_retire_mark(uint64_t *gone, uint32_t row, bool is_gone)
{
    gone[row / 64] |= (uint64_t)is_gone << row % 64;
}

/* What the entry has written, and what an entry above `above` wrote before it. */
static void fr_retire_mark_twice(uint64_t *gone, const fr_version *entry, uint64_t above)
{
    const fr_row_set *rows = &entry->since->rows;
    const uint64_t *previous = entry->since->previous;
    bool all = entry->previous_full > above;
#ifdef FR_MUTATE_RETIRE_FORGETS
    all = true;
#endif
    if (!fr_row_set_is_bitmap(rows)) {
        for (uint32_t k = 0; k < rows->count; k++)
            fr_retire_mark(gone, rows->rows[k], all || previous[k] > above);
        return;
    }
    for (uint32_t word = 0; word < (rows->universe + 63) / 64; word++)
        for (uint64_t bits = rows->bitmap[word]; bits; bits &= bits - 1) {
            uint32_t row = 64 * word + (uint32_t)__builtin_ctzll(bits);
            fr_retire_mark(gone, row, all || previous[row] > above);
        }
}

/* Of a set that changes a little from one state to the next, most rows were written twice since,
 * which is as often as values are kept by default. A bit for each row of the segment; NULL: it
 * would not be worth while, or there is no memory. */
static fr_buffer *fr_retire_find_gone(fr_store *store, fr_segment *segment, const fr_version *state)
{
    const fr_version *next = state->newer, *entry = segment->sealed;
    uint32_t in_question = next->since ? next->since->rows.count : 0;
    if (store->config.history_versions > 2 || fr_superseded_few(state) ||
        in_question < segment->row_count / FR_RETIRE_ROWS_A_BIT)
        return NULL;
    size_t size_bytes = ((size_t)segment->row_count + 63) / 64 * sizeof(uint64_t);
    fr_buffer *gone = fr_buffer_get(store->buffers, size_bytes);
    if (!gone)
        return NULL;
    memset(gone->data, 0, size_bytes);
    for (uint32_t k = 0; k < FR_RETIRE_ASKED && entry != next && entry->since; k++) {
        fr_retire_mark_twice((uint64_t *)(void *)gone->data, entry, next->ordinal);
        store->seal_steps++;
        entry = entry->older;
    }
    return gone;
}

/* --- rows that go to the archive -------------------------------------------------------------- */

static bool fr_retiring_is_gone(const fr_retiring *retiring, uint32_t row)
{
    return retiring->gone && (retiring->gone[row / 64] >> row % 64 & 1) != 0;
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
    while (fr_retiring_is_gone(retiring, row) ||
           fr_segment_creation(segment, row).ordinal > state->ordinal); /* room, and no value */
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
    fr_buffer *gone = fr_retire_find_gone(store, segment, state);
    retiring.gone = gone ? (const uint64_t *)(const void *)gone->data : NULL;
    if (fr_retire_looks_up(state))
        fr_segment_index(segment);
    while (enough && count == most) {
        for (count = 0; count < most && fr_retiring_next(&retiring, &retiring.some[count]); count++)
            store->seal_steps++;
        /* The archive copies rows on the host: what lies on a device stays where it is. */
        enough = count == 0 || (!fr_column_device(segment->column) &&
                                fr_archive_enter(store, segment, retiring.some, count, moment));
    }
    fr_buffer_release(store->buffers, gone);
    return enough;
}
