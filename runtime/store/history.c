#include "runtime/store/history.h"

#include "runtime/store/archive.h"
#include "runtime/store/retire.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"
#include "runtime/store/superseded.h"
#include "runtime/store/whole.h"

/* Segments of which nothing can go, that a seal looks at when it is to make room. */
#ifdef FR_SHRINK
#define FR_HISTORY_VAIN_LOOKS 2u
#else
#define FR_HISTORY_VAIN_LOOKS 64u
#endif

void fr_row_look_begin(fr_row_look *look, uint32_t row, uint64_t ordinal)
{
    *look = (fr_row_look){.row = row, .ordinal = ordinal, .below = ordinal, .above = ordinal};
}

bool fr_row_look_step(uint32_t *left)
{
    if (*left == 0)
        return false;
    --*left;
    fr_look();
    return true;
}

void fr_row_look_end(const fr_segment *segment, fr_row_look *look, const fr_change *change)
{
    uint64_t full = look->is_above ? look->full : segment->full_ordinal, single = 0;
    if (change)
        single = change->previous[fr_row_set_place(&change->rows, look->row)];
    else if (segment->row_ordinals)
        single = segment->row_ordinals[look->row];
    look->written = full > single ? full : single;
    if (look->written > look->ordinal)
        look->written = 0;
}

bool fr_row_look_unaccounted(const fr_segment *segment, fr_row_look *look, uint32_t *left)
{
    const fr_version *version = fr_segment_state(segment, look->below);
    for (; version && version->ordinal > segment->accounted; version = version->older) {
        look->below = version->ordinal;
        if (!fr_row_look_step(left))
            return false;
        if (version->kind == FR_VERSION_FULL ||
            fr_row_set_place(&version->change->rows, look->row) != FR_ROW_SET_NONE) {
            look->written = version->ordinal;
            return true;
        }
    }
    if (look->below > segment->accounted)
        look->below = segment->accounted;
    return true;
}

/* By what is kept of before the list. */
static uint64_t fr_history_off_list(const fr_segment *segment, const fr_row_look *look,
                                    uint32_t *left)
{
    uint64_t from;
    const fr_archived *archived = fr_archive_find(segment, look->row, look->ordinal, left);
    if (archived)
        return archived->from;
    return fr_whole_find(segment, look->row, look->ordinal, &from, left) ? from : 0;
}

/* What an entry above has replaced in the row was in it at the ordinal, if no entry in between has
 * the row. */
static bool fr_history_look(const fr_segment *segment, fr_row_look *look, uint32_t *left)
{
    if (!fr_row_look_unaccounted(segment, look, left))
        return false;
    if (look->written)
        return true;
    const fr_version *version = fr_segment_state(segment, look->above);
    const fr_change *change = NULL;
    version = version ? version->newer : segment->oldest;
    for (; version && version->ordinal <= segment->accounted && !change; version = version->newer) {
        if (!fr_row_look_step(left))
            return false;
        look->above = version->ordinal;
        if (!look->is_above)
            look->full = version->previous_full;
        look->is_above = true;
        if (version->since && fr_row_set_place(&version->since->rows, look->row) != FR_ROW_SET_NONE)
            change = version->since;
    }
    fr_row_look_end(segment, look, change);
    if (!look->written)
        look->written = fr_history_off_list(segment, look, left);
    return true;
}

uint64_t fr_history_row_ordinal(fr_segment *segment, uint32_t row, uint64_t ordinal)
{
    fr_row_look look;
    fr_row_look_begin(&look, row, ordinal);
    bool done;
    do {
        uint32_t left = FR_ROWS_A_LOCK;
        fr_mutex_lock(&segment->lock);
        done = fr_history_look(segment, &look, &left);
        fr_mutex_unlock(&segment->lock);
    } while (!done);
    return look.written;
}

/* What the state itself tells: true when that is the answer for all the rows. */
static bool fr_history_state_tells(const fr_segment *segment, const fr_version *state,
                                   const uint32_t *rows)
{
    bool accounted = state->ordinal <= segment->accounted;
    if (accounted ? !state->since : state->kind == FR_VERSION_FULL)
        return true; /* it wrote all rows */
    const fr_change *change = accounted ? state->since : state->change;
    return !rows && change->rows.count > 0; /* one of them all */
}

static bool fr_history_is_newest(const fr_segment *segment, const fr_version *state)
{
    return state->ordinal == segment->accounted && segment->row_ordinals;
}

/* Of few rows of the newest state. */
static uint64_t fr_history_newest(const fr_segment *segment, const uint32_t *rows, uint32_t first,
                                  uint32_t end)
{
    uint64_t found = segment->full_ordinal;
    for (uint32_t k = first; k < end && found < segment->accounted; k++) {
        uint64_t written = segment->row_ordinals[rows ? rows[k] : k];
        found = written > found ? written : found;
    }
    return found;
}

bool fr_history_rows_at_once(const fr_segment *segment, const uint32_t *rows, uint32_t count,
                             uint64_t ordinal, uint64_t *newest)
{
    const fr_version *state = fr_segment_state(segment, ordinal);
    *newest = 0;
    if (!state || count == 0)
        return true;
    if (fr_history_state_tells(segment, state, rows)) {
        *newest = state->ordinal;
        return true;
    }
    if (count > FR_ROWS_A_LOCK || !fr_history_is_newest(segment, state))
        return false;
    *newest = fr_history_newest(segment, rows, 0, count);
    return true;
}

/* The newest ordinal of rows from *next on, until the lock was held for long. *told: none has a
 * newer one. */
static uint64_t fr_history_some(const fr_segment *segment, const uint32_t *rows, uint32_t count,
                                fr_row_look *look, uint32_t *next, bool *told)
{
    uint32_t left = FR_ROWS_A_LOCK;
    uint64_t found = 0;
    const fr_version *state = fr_segment_state(segment, look->ordinal);
    *told = !state || fr_history_state_tells(segment, state, rows);
    if (*told)
        return state ? state->ordinal : 0;
    if (fr_history_is_newest(segment, state)) {
        uint32_t first = *next;
        *next = count - first > left ? first + left : count;
        found = fr_history_newest(segment, rows, first, *next);
        if (*next < count)
            fr_row_look_begin(look, rows ? rows[*next] : *next, look->ordinal);
    }
    while (*next < count && found < state->ordinal && fr_row_look_step(&left) &&
           fr_history_look(segment, look, &left)) {
        found = look->written > found ? look->written : found;
        if (++*next < count)
            fr_row_look_begin(look, rows ? rows[*next] : *next, look->ordinal);
    }
    *told = found >= state->ordinal;
    return found;
}

uint64_t fr_history_rows_ordinal(fr_segment *segment, const uint32_t *rows, uint32_t count,
                                 uint64_t ordinal)
{
    uint64_t found = 0;
    uint32_t next = 0;
    bool told = count == 0;
    fr_row_look look;
    fr_segment_index(segment);
    fr_row_look_begin(&look, rows ? rows[0] : 0, ordinal);
    while (next < count && !told) {
        fr_mutex_lock(&segment->lock);
        uint64_t newest = fr_history_some(segment, rows, count, &look, &next, &told);
        fr_mutex_unlock(&segment->lock);
        found = newest > found ? newest : found;
    }
    return found;
}

uint64_t fr_history_moment(fr_store *store)
{
    uint64_t waited = fr_moments_lowest(&store->moments);
    uint64_t shown = fr_moments_lowest(&store->snapshots);
#ifdef FR_MUTATE_SNAPSHOT_KEEPS_NOTHING
    shown = UINT64_MAX;
#endif
    return waited < shown ? waited : shown;
}

/* States below the configured number of them, and below the moment, may go. */
static bool fr_history_may_go(const fr_store *store, const fr_segment *segment,
                              const fr_version *version, uint64_t gone, uint64_t moment)
{
    uint64_t kept = (uint64_t)store->config.history_versions + 1;
    return segment->sealed_count - gone > kept && version->newer->ordinal <= moment;
}

/* The oldest entry that stays, and how many go that hold nothing which is to be kept. */
static fr_version *fr_history_last_kept(fr_store *store, fr_segment *segment, uint64_t moment,
                                        uint64_t *count)
{
    fr_version *last = segment->oldest, *version = last;
    uint64_t seen = 0;
    *count = 0;
    while (fr_history_may_go(store, segment, version, seen, moment) &&
           fr_superseded(store, segment, version)) {
        store->seal_steps++;
        version = version->newer;
        seen++;
        if (version->kind == FR_VERSION_PARTIAL)
            continue; /* it stands on the FULL entry below it */
        last = version;
        *count = seen;
    }
    return last;
}

/* An empty slot; or one whose version somebody reads still, when nobody reads the new one. */
static fr_spare *fr_history_spare_slot(fr_store *store, fr_segment *segment, const fr_version *cut)
{
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++)
        if (!segment->spares[k].version)
            return &segment->spares[k];
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES && fr_pin_count(&cut->pin) == 0; k++) {
        fr_spare *spare = &segment->spares[k];
        if (fr_pin_count(&spare->version->pin) == 0)
            continue;
        fr_seal_drop(store, fr_segment_spare_take(spare));
        return spare;
    }
    return NULL;
}

/* The entry below the oldest kept one becomes a spare if it is whole, our own, and it is known what
 * changed since. */
static bool fr_history_keep_spare(fr_store *store, fr_segment *segment, const fr_version *last,
                                  fr_version *cut)
{
    fr_change *changes[FR_SPARE_CHANGES];
    uint32_t count = 0;
    fr_version *head = fr_load_relaxed(&segment->head);
    if (!head || cut->kind != FR_VERSION_FULL || !fr_buffer_writable(cut->buffer))
        return false;
    fr_version *version = head;
    while (version && version->since && count < FR_SPARE_CHANGES) {
        fr_look();
        changes[count++] = version->since;
        version = version == last ? NULL : version->older;
    }
    if (version) /* everything changed, or too much */
        return false;
    fr_spare *spare = fr_history_spare_slot(store, segment, cut);
    if (!spare)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        fr_change_retain(changes[k]);
        spare->changes[k] = changes[k];
    }
    spare->change_count = count;
    spare->version = cut;
    fr_segment_count(segment, cut, fr_version_history_bytes(cut));
    return true;
}

/* --- the limit -------------------------------------------------------------------------------- */

static void fr_history_list_out(fr_store *store, fr_segment *segment)
{
    fr_segment *older = segment->history_older, *newer = segment->history_newer;
    if (!older && store->history_oldest != segment)
        return; /* in no list */
    *(older ? &older->history_newer : &store->history_oldest) = newer;
    *(newer ? &newer->history_older : &store->history_newest) = older;
    segment->history_older = segment->history_newer = NULL;
}

static void fr_history_list_in(fr_store *store, fr_segment *segment)
{
    segment->history_older = store->history_newest;
    *(store->history_newest ? &store->history_newest->history_newer : &store->history_oldest) =
        segment;
    store->history_newest = segment;
}

/* The newest entry that unfolded changes stand on, or which is the newest itself. */
static fr_version *fr_history_base(const fr_segment *segment)
{
    fr_version *version = segment->sealed;
    while (version && version->kind == FR_VERSION_PARTIAL)
        version = version->older;
    return version;
}

void fr_history_recount(fr_segment *segment, fr_version *version)
{
    if (version->history_bytes > 0)
        fr_segment_count(segment, version, fr_version_history_bytes(version));
}

static void fr_history_tell(fr_store *store, fr_segment *segment)
{
    fr_add_relaxed(&store->counters.history_bytes,
                   segment->history_bytes - segment->history_counted);
    segment->history_counted = segment->history_bytes;
}

/* What has become history since it was counted last, which is the newest of it. */
static void fr_history_count(fr_store *store, fr_segment *segment)
{
    const fr_version *base = fr_history_base(segment);
    for (fr_version *version = base ? base->older : NULL; version && version->history_bytes == 0;
         version = version->older) {
        store->seal_steps++;
        fr_segment_count(segment, version, fr_version_history_bytes(version));
    }
    fr_history_tell(store, segment);
}

/* What is below `last` goes, `count` of them. False: somebody waits for it since. */
static bool fr_history_cut(fr_store *store, fr_segment *segment, fr_version *last, uint64_t count,
                           bool may_be_spare)
{
    fr_mutex_lock(&segment->lock);
    if (last->ordinal > fr_moments_seen(&store->moments)) {
        fr_mutex_unlock(&segment->lock);
        return false;
    }
    fr_version *cut = fr_segment_cut(segment, last);
    segment->sealed_count -= count;
    fr_version *rest =
        may_be_spare && fr_history_keep_spare(store, segment, last, cut) ? cut->older : cut;
    fr_mutex_unlock(&segment->lock);
    while (rest) {
        fr_version *older = rest->older;
        store->seal_steps++;
        fr_segment_count(segment, rest, 0);
        fr_seal_drop(store, rest);
        rest = older;
    }
    return true;
}

/* The next newer entry than the oldest that does not stand on it, and how many are below. */
static fr_version *fr_history_above_oldest(const fr_segment *segment, uint64_t *count)
{
    fr_version *last = segment->oldest->newer;
    for (*count = 1; last != segment->sealed && last->kind == FR_VERSION_PARTIAL; ++*count)
        last = last->newer;
    return last;
}

/* Cuts the oldest state off, if nobody reads or waits for it and the newest does not stand on it.
 */
static bool fr_history_cut_oldest(fr_store *store, fr_segment *segment, uint64_t moment)
{
    const fr_version *base = fr_history_base(segment);
    if (!base || base == segment->oldest || fr_pin_count(&segment->oldest->pin) > 0)
        return false;
    uint64_t count;
    fr_version *last = fr_history_above_oldest(segment, &count);
    if (last->ordinal > moment)
        return false;
    return fr_history_cut(store, segment, last, count, false);
}

/* --- single rows ------------------------------------------------------------------------------ */

/* False: it stays. */
static bool fr_history_retire_oldest(fr_store *store, fr_segment *segment, uint64_t moment)
{
    if (!fr_history_may_go(store, segment, segment->oldest, 0, moment) ||
        !fr_retire_wants(store, segment))
        return false;
    if (fr_whole_may_keep(segment))
        return fr_whole_keep(store, segment);
    uint64_t count;
    fr_version *last = fr_history_above_oldest(segment, &count);
    if (last->kind == FR_VERSION_PARTIAL ||
        !fr_history_may_go(store, segment, last->older, count - 1, moment))
        return false;
    for (const fr_version *state = segment->oldest; state != last; state = state->newer)
        if (!fr_retire(store, segment, state, moment))
            return false;
    return fr_history_cut(store, segment, last, count, true);
}

/* All rows were written together as often in the states of the list: nothing of before is wanted.
 */
static bool fr_history_outdates_archive(fr_store *store, const fr_segment *segment)
{
    uint32_t full = 0;
    if (!segment->archive && !segment->whole)
        return false;
    for (const fr_version *version = segment->sealed;
         version != segment->oldest && full < store->config.history_versions;
         version = version->older) {
        store->seal_steps++;
        full += fr_superseded_is_all(segment, version->since);
    }
    return full >= store->config.history_versions;
}

static bool fr_history_drop_spare(fr_store *store, fr_segment *segment)
{
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++) {
        fr_spare *spare = &segment->spares[k];
        if (!spare->version || fr_pin_count(&spare->version->pin) > 0)
            continue;
        fr_mutex_lock(&segment->lock);
        fr_seal_drop(store, fr_segment_spare_take(spare));
        fr_mutex_unlock(&segment->lock);
        return true;
    }
    return false;
}

/* What is off the list: the oldest of it goes. */
static bool fr_history_shorten(fr_store *store, fr_segment *segment, uint64_t moment)
{
    if (segment->whole && fr_whole_oldest(segment) <= fr_archive_oldest(segment))
        return fr_whole_drop(store, segment, moment);
    return fr_archive_shorten(store, segment, moment);
}

static bool fr_history_is_above(const fr_store *store)
{
    return fr_load_relaxed(&store->counters.history_bytes) > store->config.history_limit_bytes;
}

/* What may go of states before `moment`, until there is not too much any more, or many segments had
 * nothing. */
static void fr_history_limit_before(fr_store *store, uint64_t moment)
{
    uint32_t vain = 0;
    const fr_segment *first_vain = NULL; /* when it is the oldest again all were looked at */
    while (store->history_oldest && store->history_oldest != first_vain &&
           fr_history_is_above(store) && vain < FR_HISTORY_VAIN_LOOKS) {
        fr_segment *segment = store->history_oldest;
        store->seal_steps++;
        while (fr_history_is_above(store) && (fr_history_drop_spare(store, segment) ||
                                              fr_history_shorten(store, segment, moment) ||
                                              fr_history_cut_oldest(store, segment, moment))) {
            fr_history_tell(store, segment);
            fr_add_relaxed(&store->counters.history_drops, 1);
        }
        if (segment->history_bytes > 0 && !fr_history_is_above(store))
            break;
        fr_history_list_out(store, segment);
        if (segment->history_bytes == 0)
            continue;
        fr_history_list_in(store, segment); /* others are looked at before it is again */
        first_vain = first_vain ? first_vain : segment;
        vain++;
    }
}

void fr_history_limit(fr_store *store)
{
    uint64_t moment = fr_history_moment(store), waited = fr_moments_lowest(&store->moments);
    if (fr_history_is_above(store))
        fr_history_limit_before(store, moment);
    if (moment < waited && fr_history_is_above(store))
        fr_history_limit_before(store, waited); /* what only snapshots show goes too */
}

void fr_history_forget(fr_store *store, fr_segment *segment)
{
    fr_history_tell(store, segment);
    fr_history_list_out(store, segment);
}

void fr_history_trim(fr_store *store, fr_segment *segment)
{
    uint64_t count, moment = fr_history_moment(store);
    bool more;
    do {
        fr_version *last = fr_history_last_kept(store, segment, moment, &count);
        more = count == 0 || fr_history_cut(store, segment, last, count, true);
    } while (more && fr_history_retire_oldest(store, segment, moment));
    if (fr_history_outdates_archive(store, segment) && segment->oldest->ordinal <= moment) {
        fr_archive_drop(store, segment, segment->oldest->ordinal);
        while (fr_whole_drop(store, segment, moment))
            store->seal_steps++;
    }
    fr_history_count(store, segment);
    fr_history_list_out(store, segment);
    if (segment->history_bytes > 0)
        fr_history_list_in(store, segment);
}
