#include "runtime/store/change_log.h"

#include <stddef.h>

#include "runtime/store/rehome.h"
#include "runtime/store/store_state.h"

bool fr_change_log_reserve(fr_store *store, uint32_t count)
{
    fr_change_log *log = &store->change_log;
    while (log->free_count < count) {
        fr_logged *logged = fr_memory_allocate(store->allocator, sizeof(*logged), 16);
        if (!logged)
            return false;
        fr_add_relaxed(&store->counters.table_bytes, sizeof(*logged));
        logged->store_newer = log->free;
        log->free = logged;
        log->free_count++;
    }
    return true;
}

static fr_logged *fr_change_log_get(fr_change_log *log)
{
    fr_logged *logged = log->free;
    if (!logged)
        return NULL;
    log->free = logged->store_newer;
    log->free_count--;
    return logged;
}

static void fr_change_log_put(fr_store *store, fr_logged *logged)
{
    fr_change_log *log = &store->change_log;
    if (log->free_count >= FR_CHANGE_LOG_KEPT) {
        fr_sub_relaxed(&store->counters.table_bytes, sizeof(*logged));
        fr_memory_release(store->allocator, logged, sizeof(*logged));
        return;
    }
    logged->store_newer = log->free;
    log->free = logged;
    log->free_count++;
}

static fr_logged *fr_logged_of_node(fr_ordinal_node *node)
{
    return (fr_logged *)(void *)((unsigned char *)node - offsetof(fr_logged, place));
}

/* With the segment's lock held. */
static void fr_change_log_merge(fr_store *store, fr_segment *segment, uint64_t ordinal)
{
    if (ordinal > segment->log_merged)
        segment->log_merged = ordinal;
    if (ordinal > fr_load_relaxed(&store->change_log.merged)) /* written by seals only */
        fr_store_relaxed(&store->change_log.merged, ordinal);
}

static void fr_change_log_link(fr_change_log *log, fr_segment *segment, fr_logged *logged)
{
    fr_column *column = segment->column;
    logged->older = segment->log_newest;
    logged->newer = NULL;
    *(logged->older ? &logged->older->newer : &segment->log_oldest) = logged;
    segment->log_newest = logged;
    logged->next_in_column = NULL;
    *(column->log_newest ? &column->log_newest->next_in_column : &column->log_oldest) = logged;
    column->log_newest = logged;
    logged->store_older = log->newest;
    logged->store_newer = NULL;
    *(log->newest ? &log->newest->store_newer : &log->oldest) = logged;
    log->newest = logged;
}

static uint64_t fr_change_log_bytes(const fr_change *change)
{
    return sizeof(fr_logged) + (change ? fr_change_bytes(change) : 0);
}

void fr_change_log_add(fr_store *store, fr_segment *segment, const fr_version *version)
{
    fr_change_log *log = &store->change_log;
    fr_column *column = segment->column;
    fr_logged *logged = fr_change_log_get(log);
    if (logged) {
        if (column->log_serial != log->serial) {
            column->log_serial = log->serial;
            column->log_seals++;
        }
        if (version->since)
            fr_change_retain(version->since);
        logged->segment = segment;
        logged->place.ordinal = version->ordinal;
        logged->began = version->first_id;
        logged->seal = column->log_seals;
        logged->change = version->since;
        logged->previous_full = version->previous_full;
        logged->size_bytes = fr_change_log_bytes(version->since);
        fr_add_relaxed(&store->counters.membership_bytes, logged->size_bytes);
        fr_change_log_link(log, segment, logged);
        (void)fr_ordinal_tree_insert(&segment->log_tree, &logged->place);
    } else {
        fr_change_log_merge(store, segment, version->ordinal);
        fr_late_lose(store->late, version->ordinal);
    }
    /* [segment.log.publish] pairs [segment.log.read] : see there */
    fr_store_release(&segment->log_last, version->ordinal);
}

/* Of an entry that is linked as the newest: in the order of ordinals it is not. What it says goes
 * where it belongs, and what the entries above that say goes one up, so that the order of entries
 * is the same in all lists. */
static void fr_change_log_sink(fr_segment *segment, fr_logged *logged)
{
    const fr_logged says = *logged;
    fr_logged *older = logged->older;
    for (; older && older->place.ordinal > says.place.ordinal;
         logged = older, older = older->older) {
        fr_ordinal_tree_remove(&segment->log_tree, &older->place);
        logged->place.ordinal = older->place.ordinal;
        logged->change = older->change;
        logged->previous_full = older->previous_full;
        logged->size_bytes = older->size_bytes;
        (void)fr_ordinal_tree_insert(&segment->log_tree, &logged->place);
    }
    logged->place.ordinal = says.place.ordinal;
    logged->change = says.change;
    logged->previous_full = says.previous_full;
    logged->size_bytes = says.size_bytes;
    (void)fr_ordinal_tree_insert(&segment->log_tree, &logged->place);
}

fr_change *fr_change_log_amend(fr_store *store, fr_segment *segment, const fr_version *version)
{
    fr_change_log *log = &store->change_log;
    fr_ordinal_node *node = fr_ordinal_tree_at(&segment->log_tree, version->ordinal);
    bool is_there = node && node->ordinal == version->ordinal;
    fr_change *before = NULL;
    if (version->ordinal <= segment->log_merged)
        return NULL; /* of which a row's newest change is known, and nothing else */
    fr_logged *logged = is_there ? fr_logged_of_node(node) : fr_change_log_get(log);
    if (!logged) {
        fr_change_log_merge(store, segment, version->ordinal);
        return NULL;
    }
    if (is_there) {
        before = logged->change;
        fr_sub_relaxed(&store->counters.membership_bytes, logged->size_bytes);
    } else {
        logged->segment = segment;
        logged->place.ordinal = version->ordinal;
        logged->previous_full = version->previous_full;
        logged->seal = segment->column->log_seals;
    }
    fr_change_retain(version->since);
    logged->change = version->since;
    logged->size_bytes = fr_change_log_bytes(version->since);
    fr_add_relaxed(&store->counters.membership_bytes, logged->size_bytes);
    if (is_there)
        return before;
    fr_change_log_link(log, segment, logged);
    fr_change_log_sink(segment, logged);
    return NULL;
}

/* Of the store's list. */
static void fr_change_log_take_out(fr_change_log *log, const fr_logged *logged)
{
    *(logged->store_older ? &logged->store_older->store_newer : &log->oldest) = logged->store_newer;
    *(logged->store_newer ? &logged->store_newer->store_older : &log->newest) = logged->store_older;
}

/* Of an entry that is in no list. */
static void fr_change_log_free(fr_store *store, fr_logged *logged)
{
    fr_sub_relaxed(&store->counters.membership_bytes, logged->size_bytes);
    fr_change_release(logged->change);
    fr_change_log_put(store, logged);
}

/* The column's oldest, which is its segment's oldest, too. */
static void fr_change_log_take(fr_store *store, fr_column *column)
{
    fr_change_log *log = &store->change_log;
    fr_logged *logged = column->log_oldest;
    fr_segment *segment = logged->segment;
    fr_mutex_lock(&segment->lock);
    segment->log_oldest = logged->newer;
    *(logged->newer ? &logged->newer->older : &segment->log_newest) = NULL;
    (void)fr_ordinal_tree_take_first(&segment->log_tree);
#ifndef FR_MUTATE_LOG_FORGETS_WHAT_IT_MERGED
    fr_change_log_merge(store, segment, logged->place.ordinal);
#endif
    fr_mutex_unlock(&segment->lock);
    column->log_oldest = logged->next_in_column;
    if (!column->log_oldest)
        column->log_newest = NULL;
    fr_change_log_take_out(log, logged);
    fr_change_log_free(store, logged);
}

static uint64_t fr_change_log_limit(const fr_store *store)
{
    return store->config.history_limit_bytes / 8 + FR_CHANGE_LOG_LEAST;
}

void fr_change_log_trim(fr_store *store, fr_column *column)
{
    const fr_change_log *log = &store->change_log;
    uint64_t wanted = fr_moments_lowest(&store->starts);
#ifdef FR_MUTATE_LOG_HOLDS_NO_STARTS
    wanted = UINT64_MAX;
#endif
#ifndef FR_MUTATE_LOG_HOLDS_NO_LATE
    uint64_t late = fr_late_lowest(store->late);
    wanted = late < wanted ? late : wanted;
#endif
    while (column->log_oldest && column->log_oldest->place.ordinal < wanted &&
           column->log_oldest->seal + FR_CHANGE_LOG_SEALS <= column->log_seals)
        fr_change_log_take(store, column);
    while (log->oldest && log->oldest->place.ordinal < wanted &&
           fr_load_relaxed(&store->counters.membership_bytes) > fr_change_log_limit(store))
        fr_change_log_take(store, log->oldest->segment->column);
}

/* --- segments that keys move into ------------------------------------------------------------- */

void fr_change_log_enter(fr_store *store, fr_segment *segment, const fr_rehome_ordinal *what)
{
    fr_logged *logged = fr_change_log_get(&store->change_log);
    if (what->change)
        fr_change_retain(what->change);
    *logged = (fr_logged){.segment = segment,
                          .place.ordinal = what->ordinal,
                          .began = what->began,
                          .change = what->change,
                          .previous_full = what->change ? 0 : what->previous,
                          .size_bytes = fr_change_log_bytes(what->change),
                          .older = segment->log_newest};
    fr_add_relaxed(&store->counters.membership_bytes, logged->size_bytes);
    *(logged->older ? &logged->older->newer : &segment->log_oldest) = logged;
    segment->log_newest = logged;
    (void)fr_ordinal_tree_insert(&segment->log_tree, &logged->place);
}

void fr_change_log_leave(fr_store *store, fr_segment *segment)
{
    while (segment->log_oldest) {
        fr_logged *logged = segment->log_oldest;
        segment->log_oldest = logged->newer;
        fr_change_log_free(store, logged);
    }
    segment->log_newest = NULL;
}

static fr_segment *fr_change_log_owner(const fr_rehome_ordinal *ordinals, uint32_t count,
                                       uint64_t ordinal)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ordinals[middle].ordinal < ordinal)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ordinals[low].ordinal == ordinal ? ordinals[low].owner : NULL;
}

/* In the column's list `made` has the place of `logged` already. */
static void fr_change_log_substitute(fr_change_log *log, const fr_logged *logged, fr_logged *made)
{
    made->seal = logged->seal;
    made->store_older = logged->store_older;
    made->store_newer = logged->store_newer;
    *(made->store_older ? &made->store_older->store_newer : &log->oldest) = made;
    *(made->store_newer ? &made->store_newer->store_older : &log->newest) = made;
}

void fr_change_log_take_places(fr_store *store, fr_segment *segment,
                               const fr_rehome_ordinal *ordinals, uint32_t count)
{
    fr_change_log *log = &store->change_log;
    fr_column *column = segment->column;
    fr_logged **link = &column->log_oldest, *last = NULL, *made = segment->log_oldest;
    while (*link) {
        fr_logged *logged = *link, *kept = logged;
        if (fr_load_relaxed(&logged->segment->moved)) {
            kept = NULL;
            if (fr_change_log_owner(ordinals, count, logged->place.ordinal) == logged->segment) {
                kept = made; /* ascending, whatever the order of the places */
                made = made->newer;
                fr_change_log_substitute(log, logged, kept);
                kept->next_in_column = logged->next_in_column;
            } else {
                fr_change_log_take_out(log, logged);
            }
            *link = kept ? kept : logged->next_in_column;
            fr_change_log_free(store, logged);
        }
        if (!kept)
            continue;
        last = kept;
        link = &kept->next_in_column;
    }
    column->log_newest = last;
}

void fr_change_log_destroy(fr_store *store)
{
    fr_change_log *log = &store->change_log;
    while (log->oldest)
        fr_change_log_take(store, log->oldest->segment->column);
    while (log->free)
        fr_memory_release(store->allocator, fr_change_log_get(log), sizeof(fr_logged));
}

/* --- by readers ------------------------------------------------------------------------------- */

bool fr_change_log_may_have(const fr_segment *segment, uint64_t start)
{
    /* [segment.log.read] pairs [segment.log.publish] : a reader by a floor whose seal has entered
     * what it sealed sees that */
    return fr_load_acquire(&segment->log_last) >= start;
}

fr_logged *fr_change_log_above(const fr_segment *segment, uint64_t ordinal)
{
    fr_ordinal_node *node = fr_ordinal_tree_at(&segment->log_tree, ordinal);
    return node ? fr_logged_of_node(node)->newer : segment->log_oldest;
}

bool fr_change_log_look(const fr_segment *segment, fr_row_look *look, uint32_t *left)
{
    if (!fr_row_look_unaccounted(segment, look, left))
        return false;
    if (look->written)
        return true;
    const fr_change *change = NULL;
    const fr_logged *logged = fr_change_log_above(segment, look->above);
    for (; logged && !change; logged = logged->newer) {
        if (!fr_row_look_step(left))
            return false;
        look->above = logged->place.ordinal;
        if (!look->is_above)
            look->full = logged->previous_full;
        look->is_above = true;
        if (logged->change && fr_row_set_place(&logged->change->rows, look->row) != FR_ROW_SET_NONE)
            change = logged->change;
    }
    fr_row_look_end(segment, look, change);
    return true;
}

uint64_t fr_change_log_row(fr_segment *segment, uint32_t row, uint64_t at)
{
    fr_row_look look;
    fr_row_look_begin(&look, row, at);
    bool done;
    do {
        uint32_t left = FR_ROWS_A_LOCK;
        fr_mutex_lock(&segment->lock);
        done = fr_change_log_look(segment, &look, &left);
        fr_mutex_unlock(&segment->lock);
    } while (!done);
    return look.written;
}

uint64_t fr_change_log_began(const fr_segment *segment, uint64_t ordinal)
{
    fr_ordinal_node *node = fr_ordinal_tree_at(&segment->log_tree, ordinal);
    return node && node->ordinal == ordinal ? fr_logged_of_node(node)->began : 0;
}

uint64_t fr_store_merged(const fr_store *store)
{
    return fr_load_relaxed(&store->change_log.merged);
}
