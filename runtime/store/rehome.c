#include "runtime/store/rehome.h"

#include "runtime/store/change_log.h"
#include "runtime/store/history.h"
#include "runtime/store/position_sort.h"
#include "runtime/store/seal.h"
#include "runtime/store/store_state.h"

#ifdef FR_SYSTEMATIC
#define FR_REHOME_EAGERLY 1
#endif

#ifdef FR_REHOME_EAGERLY
#define FR_REHOME_SEALS 1u
#define FR_REHOME_SEGMENTS 2u
#define FR_REHOME_PAUSE 0u
#else
#define FR_REHOME_SEALS 8u     /* that wrote a segment in a row */
#define FR_REHOME_SEGMENTS 16u /* that are worth it */
#define FR_REHOME_PAUSE 16u    /* seals, after it could not be done */
#endif
#define FR_REHOME_ROWS 64u /* of a small segment */
#define FR_REHOME_KINDS 64u

void fr_rehome_note(fr_store *store, fr_segment *segment)
{
    fr_column *column = segment->column;
    bool stays = column->of || column->schema.is_array || fr_column_device(column);
#ifndef FR_MUTATE_REHOME_MOVES_WORLDS
    stays = stays || column->attribute->token == store->config.derived_column;
#endif
    if (stays || segment->row_count > FR_REHOME_ROWS)
        return;
    if (segment->written_seal + 1 == column->log_seals)
        segment->written_seals++;
    else if (segment->written_seal != column->log_seals)
        segment->written_seals = 1;
    segment->written_seal = column->log_seals;
    if (segment->written_seals < FR_REHOME_SEALS)
        return;
    segment->rehome_next = column->rehome_segments;
    column->rehome_segments = segment;
    if (column->rehome_count++ > 0)
        return;
    column->rehome_next = store->rehome_columns;
    store->rehome_columns = column;
}

/* --- which ------------------------------------------------------------------------------------ */

/* But for what a writer may just be doing. */
static bool fr_rehome_rests(const fr_segment *segment)
{
    const fr_version *sealed = segment->sealed;
    return sealed && fr_load_relaxed(&segment->head) == sealed &&
           fr_load_relaxed(&segment->lowest_open) == UINT64_MAX && !segment->seal_next &&
           segment->accounted == sealed->ordinal && sealed->ordinal > segment->log_merged &&
           !segment->archive && !segment->whole;
}

/* Those of them that are at rest, by their number in the column: as they came into being. False
 * without memory. */
static bool fr_rehome_list(fr_rehome *rehome, fr_segment *list)
{
    const fr_allocator *allocator = rehome->store->allocator;
    size_t pairs_bytes = 2 * (size_t)rehome->room * sizeof(uint64_t);
    uint64_t *pairs = fr_memory_allocate(allocator, pairs_bytes, 16);
    if (!pairs)
        return false;
    uint32_t count = 0;
    for (fr_segment *segment = list; segment; segment = segment->rehome_next)
        if (count < rehome->room && fr_rehome_rests(segment)) /* some more may, by now */
            pairs[count++] = (uint64_t)segment->index << 32;
    if (count > 0)
        fr_positions_sort(pairs, pairs + count, count);
    for (uint32_t k = 0; k < count; k++)
        rehome->parts[k].segment = rehome->column->segments[pairs[k] >> 32];
    rehome->count = count;
    fr_memory_release(allocator, pairs, pairs_bytes);
    return true;
}

static uint32_t fr_rehome_kind(const fr_segment *segment)
{
    uint64_t hash = segment->oldest->ordinal * UINT64_C(0x9e3779b97f4a7c15) +
                    segment->sealed->ordinal * UINT64_C(0xff51afd7ed558ccd) + segment->sealed_count;
    return (uint32_t)(hash >> 32) % FR_REHOME_KINDS;
}

/* The first of the most that have like states. */
static fr_segment *fr_rehome_leader(const fr_rehome *rehome)
{
    uint32_t counts[FR_REHOME_KINDS] = {0}, most = 0;
    for (uint32_t k = 0; k < rehome->count; k++) {
        uint32_t kind = fr_rehome_kind(rehome->parts[k].segment);
        counts[kind]++;
        most = counts[kind] > counts[most] ? kind : most;
    }
    uint32_t k = 0;
    while (fr_rehome_kind(rehome->parts[k].segment) != most)
        k++;
    return rehome->parts[k].segment;
}

/* Enters an ordinal into the ascending list. False: there is no room. */
static bool fr_rehome_add_state(uint64_t *states, uint32_t *count, uint64_t ordinal)
{
    uint32_t at = 0;
    while (at < *count && states[at] < ordinal)
        at++;
    if (at < *count && states[at] == ordinal)
        return true;
    if (*count == FR_REHOME_STATES)
        return false;
    for (uint32_t k = (*count)++; k > at; k--)
        states[k] = states[k - 1];
    states[at] = ordinal;
    return true;
}

/* Whether its states can lie beside those of the parts so far; they are told then. */
static bool fr_rehome_fits(fr_rehome *rehome, const fr_segment *segment)
{
    const fr_version *oldest = segment->oldest;
    uint64_t second = oldest == segment->sealed ? UINT64_MAX : oldest->newer->ordinal;
    uint64_t lowest = oldest->ordinal > rehome->lowest ? oldest->ordinal : rehome->lowest;
    uint64_t states[FR_REHOME_STATES];
    uint32_t count = 0, own = 1;
    second = second < rehome->second ? second : rehome->second;
#ifdef FR_MUTATE_REHOME_DROPS_STATES
    second = UINT64_MAX;
#endif
    if (lowest >= second || segment->sealed_count > FR_REHOME_STATES)
        return false;
    bool fits = fr_rehome_add_state(states, &count, lowest);
    for (uint32_t k = 0; k < rehome->state_count && fits; k++)
        if (rehome->states[k] > lowest)
            fits = fr_rehome_add_state(states, &count, rehome->states[k]);
    for (const fr_version *version = segment->sealed; version != oldest && fits; own++) {
        fits = fr_rehome_add_state(states, &count, version->ordinal);
        version = version->older;
    }
    uint32_t longest = own > rehome->longest ? own : rehome->longest;
    if (!fits || count > longest)
        return false;
    rehome->lowest = lowest;
    rehome->second = second;
    rehome->longest = longest;
    rehome->state_count = count;
    for (uint32_t k = 0; k < count; k++)
        rehome->states[k] = states[k];
    return true;
}

/* What a writer may just be making is empty, whether it is seen or not. */
static fr_rehome_part fr_rehome_part_of(fr_segment *segment, uint32_t first)
{
    fr_mutex_lock(&segment->lock);
    const uint64_t *row_ordinals = segment->row_ordinals;
    fr_mutex_unlock(&segment->lock);
    return (fr_rehome_part){segment, first, row_ordinals};
}

/* Keeps those parts whose states fit. */
static void fr_rehome_choose(fr_rehome *rehome)
{
    const fr_segment *leader = fr_rehome_leader(rehome);
    uint32_t kept = 0;
    rehome->second = UINT64_MAX;
    (void)fr_rehome_fits(rehome, leader);
    for (uint32_t k = 0; k < rehome->count; k++) {
        fr_segment *segment = rehome->parts[k].segment;
        if (rehome->state_count == 0 || (segment != leader && !fr_rehome_fits(rehome, segment)))
            continue;
        rehome->parts[kept++] = fr_rehome_part_of(segment, rehome->row_count);
        rehome->row_count += segment->row_count;
    }
    rehome->count = kept;
}

/* --- the move --------------------------------------------------------------------------------- */

static void fr_rehome_set_retired(const fr_rehome *rehome, uint32_t count, bool retired)
{
    for (uint32_t k = 0; k < count; k++) {
        fr_segment *segment = rehome->parts[k].segment;
        fr_mutex_lock(&segment->lock);
        segment->retired = retired;
        fr_mutex_unlock(&segment->lock);
    }
}

/* False: one of them is about to be written, and none is retired. */
static bool fr_rehome_retire(const fr_rehome *rehome)
{
    for (uint32_t k = 0; k < rehome->count; k++) {
        fr_segment *segment = rehome->parts[k].segment;
        fr_mutex_lock(&segment->lock);
        bool rests = segment->newest == segment->sealed && segment->claims == 0;
        segment->retired = rests;
        fr_mutex_unlock(&segment->lock);
        if (rests)
            continue;
        fr_rehome_set_retired(rehome, k, false);
        return false;
    }
    return true;
}

static void fr_rehome_enter(const fr_rehome *rehome, fr_segment **segments, uint32_t capacity)
{
    fr_store *store = rehome->store;
    fr_column *column = rehome->column;
    fr_segment *segment = rehome->segment, **old = segments ? column->segments : NULL;
    uint32_t old_capacity = column->segment_capacity;
    segment->index = column->segment_count;
#ifndef FR_MUTATE_REHOME_OPENS_TOO_EARLY
    segment->retired = true; /* until the counters are up: see fr_rehome_tell */
#endif
    fr_mutex_lock(&column->lock);
    if (segments)
        column->segments = segments;
    column->segment_capacity = capacity;
    column->segments[column->segment_count++] = segment;
    fr_mutex_unlock(&column->lock);
    fr_memory_release(store->allocator, old, old_capacity * sizeof(*old));
    fr_add_relaxed(
        &store->counters.table_bytes,
        (capacity - old_capacity) * sizeof(*segments) + sizeof(*segment) +
            segment->row_room *
                (sizeof(*segment->prims) + (segment->creations ? sizeof(*segment->creations) : 0)));
    fr_sub_relaxed(&store->counters.segments, rehome->count - 1);
}

static void fr_rehome_change_places(fr_column *column, const fr_segment *segment)
{
    for (uint32_t first = 0; first < segment->row_count; first += FR_ROWS_A_LOCK) {
        uint32_t left = segment->row_count - first;
        uint32_t end = first + (left < FR_ROWS_A_LOCK ? left : FR_ROWS_A_LOCK);
        fr_mutex_lock(&column->lock);
        for (uint32_t row = first; row < end; row++)
            fr_locator_put(&column->locator, segment->prims[row], (fr_place){segment->index, row});
        fr_mutex_unlock(&column->lock);
    }
}

/* Until all are told, a reader may look at the old segments alone: so nobody writes to the new one
 * before, or that reader would not see a write that was complete when it began. */
static void fr_rehome_tell(fr_column *column, fr_segment *segment)
{
#ifndef FR_MUTATE_REHOME_KEEPS_BINDINGS
    /* [column.rehomed.publish] pairs [column.rehomed.read] : see there */
    fr_add_release(&column->rehomed, 1);
#endif
#ifndef FR_MUTATE_REHOME_TELLS_NO_READER
    /* [attribute.derived.rehome] pairs [attribute.derived.look] : the places and the counter above,
     * so that who looks again finds no old binding */
    fr_add_release(&column->attribute->derived, 2);
#endif
    fr_mutex_lock(&segment->lock);
    segment->retired = false;
    fr_mutex_unlock(&segment->lock);
}

static void fr_rehome_empty(fr_store *store, fr_segment *segment)
{
    fr_version *version = segment->sealed;
    fr_buffer *row_ordinals = segment->row_ordinals_buffer;
    for (fr_version *counted = version; counted; counted = counted->older)
        fr_segment_count(segment, counted, 0);
    fr_mutex_lock(&segment->lock);
    segment->newest = segment->oldest = segment->sealed = NULL;
    segment->sealed_count = 0;
    segment->tree = (fr_ordinal_tree){0};
    segment->log_newest = segment->log_oldest = NULL;
    segment->log_tree = (fr_ordinal_tree){0};
    segment->row_ordinals = NULL;
    segment->row_ordinals_buffer = NULL;
    segment->dead_count = 0;
    for (uint32_t k = 0; k < FR_SEGMENT_SPARES; k++)
        if (segment->spares[k].version)
            fr_seal_drop(store, fr_segment_spare_take(&segment->spares[k]));
    fr_segment_refresh(segment);
    fr_store_relaxed(&segment->moved, true);
    fr_mutex_unlock(&segment->lock);
    while (version) {
        fr_version *older = version->older;
        fr_seal_drop(store, version);
        version = older;
    }
    fr_buffer_release(store->buffers, row_ordinals);
    fr_history_forget(store, segment);
}

static bool fr_rehome_move(fr_rehome *rehome)
{
    fr_segment **segments;
    uint32_t capacity;
    if (!fr_rehome_make(rehome))
        return false;
    if (!fr_column_longer_list(rehome->store, rehome->column, &segments, &capacity))
        return false;
    if (!fr_rehome_retire(rehome)) {
        fr_memory_release(rehome->store->allocator, segments, capacity * sizeof(*segments));
        return false;
    }
    fr_rehome_enter(rehome, segments, capacity);
    fr_rehome_change_places(rehome->column, rehome->segment);
    fr_rehome_tell(rehome->column, rehome->segment);
    for (uint32_t k = 0; k < rehome->count; k++)
        fr_rehome_empty(rehome->store, rehome->parts[k].segment);
    fr_change_log_take_places(rehome->store, rehome->segment, rehome->ordinals,
                              rehome->ordinal_count);
    fr_history_trim(rehome->store, rehome->segment);
    return true;
}

#ifdef FR_REHOME_EAGERLY
/* All of the column. */
static fr_segment *fr_rehome_candidates(fr_column *column, uint32_t *count)
{
    fr_segment *list = NULL;
    *count = 0;
    for (uint32_t k = 0; k < column->segment_count; k++) {
        fr_segment *segment = column->segments[k];
        if (fr_load_relaxed(&segment->moved) || segment->row_count > FR_REHOME_ROWS)
            continue;
        segment->rehome_next = list;
        list = segment;
        *count += 1;
    }
    return list;
}
#else
static fr_segment *fr_rehome_candidates(fr_column *column, uint32_t *count)
{
    *count = column->rehome_count;
    return column->rehome_segments;
}
#endif

/* --- a seal's --------------------------------------------------------------------------------- */

static uint32_t fr_rehome_resting(const fr_segment *list)
{
    uint32_t count = 0;
    for (const fr_segment *segment = list; segment; segment = segment->rehome_next)
        count += fr_rehome_rests(segment);
    return count;
}

/* False: it was in vain. */
static bool fr_rehome_column(fr_store *store, fr_column *column, fr_segment *list)
{
    fr_rehome rehome = {.store = store, .column = column, .room = fr_rehome_resting(list)};
    if (rehome.room < FR_REHOME_SEGMENTS)
        return true;
    size_t parts_bytes = rehome.room * sizeof(*rehome.parts);
    rehome.parts = fr_memory_allocate(store->allocator, parts_bytes, 16);
    bool moved = false;
    if (rehome.parts && fr_rehome_list(&rehome, list) && rehome.count >= FR_REHOME_SEGMENTS) {
        fr_rehome_choose(&rehome);
        if (rehome.count >= FR_REHOME_SEGMENTS)
            moved = fr_rehome_move(&rehome);
        fr_rehome_release(&rehome, moved);
    }
    fr_memory_release(store->allocator, rehome.parts, parts_bytes);
    return moved;
}

void fr_rehome_noted(fr_store *store)
{
    fr_column *next;
    for (fr_column *column = store->rehome_columns; column; column = next) {
        uint32_t count;
        fr_segment *list = fr_rehome_candidates(column, &count);
        next = column->rehome_next;
        column->rehome_segments = NULL;
        column->rehome_count = 0;
        /* Not what rows are still to come to, nor what somebody is to be judged by who must not see
         * all of it. */
        if (count < FR_REHOME_SEGMENTS || column->log_seals < column->rehome_after ||
            column->seal_next || fr_late_any(store->late))
            continue;
        if (!fr_rehome_column(store, column, list))
            column->rehome_after = column->log_seals + FR_REHOME_PAUSE;
    }
    store->rehome_columns = NULL;
}
