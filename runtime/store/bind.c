#include "runtime/store/bind.h"

#include <string.h>

#include "runtime/store/bind_inverse.h"
#include "runtime/store/bind_order.h"
#include "runtime/store/gathered.h"
#include "runtime/store/store_state.h"

typedef struct fr_bind_kept {
    fr_binding binding; /* first: it is the address of the block */
    fr_gathered gathered;
    uint64_t states[FR_BIND_LOCAL];
} fr_bind_kept;

static uint64_t fr_bind_topology(const fr_column *column)
{
    /* [column.topology.read] pairs [column.topology.publish] : the places that the counter stands
     * for */
    return fr_load_acquire(&column->topology);
}

bool fr_bind_outdated(const fr_binding *binding)
{
    return fr_column_rehomed(binding->column) != binding->rehomed ||
           (binding->placed_count < binding->count &&
            fr_bind_topology(binding->column) != binding->topology);
}

/* Groups and states of each: the binding's own, or one more block. */
static size_t fr_bind_groups_bytes(uint32_t group_count)
{
    return group_count * (sizeof(fr_bind_group) + sizeof(uint64_t));
}

/* Half of the limit is the gathers'. */
bool fr_bind_count(fr_store *store, size_t size_bytes)
{
    fr_store_counters *counters = &store->counters;
    uint64_t others = fr_add_relaxed(&counters->binding_bytes, size_bytes);
    if (others + size_bytes <= store->config.cache_limit_bytes / 2 &&
        fr_gathered_take_room(store, size_bytes))
        return true;
    fr_sub_relaxed(&counters->binding_bytes, size_bytes);
    return false;
}

void fr_bind_uncount(fr_store *store, size_t size_bytes)
{
    fr_sub_relaxed(&store->counters.cache_bytes, size_bytes);
    fr_sub_relaxed(&store->counters.binding_bytes, size_bytes);
}

static void fr_bind_free(fr_binding *binding)
{
    const fr_allocator *allocator = binding->store->allocator;
    fr_gathered_forget(binding->store, binding->gathered);
    fr_bind_inverse_free(binding);
    fr_bind_order_free(binding);
    fr_bind_uncount(binding->store, binding->cached_bytes);
    if (binding->groups && binding->groups != binding->local_groups)
        fr_memory_release(allocator, binding->groups, fr_bind_groups_bytes(binding->group_count));
    fr_memory_release(allocator, binding, binding->size_bytes);
}

void fr_bind_retain(const fr_binding *binding)
{
    fr_binding *mine = (fr_binding *)(uintptr_t)binding;
    (void)fr_add_relaxed(&mine->references, 1);
}

void fr_bind_release(const fr_binding *binding)
{
    fr_binding *mine = (fr_binding *)(uintptr_t)binding;
    if (fr_load_relaxed(&mine->references) == 0) /* the caller's own: nobody else has it */
        return;
    /* [bind.drop] pairs [bind.drop] : the last one sees all uses done */
    if (fr_sub_acq_rel(&mine->references, 1) == 1)
        fr_bind_free(mine);
}

const fr_binding *fr_bind_find(fr_query *query, fr_column *column)
{
    fr_binding *found = NULL;
    fr_mutex_lock(&query->bindings_lock);
    for (fr_binding *binding = query->bindings; binding && !found; binding = binding->next)
        if (binding->column == column && !fr_bind_outdated(binding))
            found = binding;
    if (found)
        fr_add_relaxed(&found->references, 1);
    fr_mutex_unlock(&query->bindings_lock);
    return found;
}

/* Puts a new binding first, if the caches have room for it; an older one of the same column, or the
 * oldest above the limit, goes. */
static void fr_bind_keep(fr_query *query, fr_binding *binding)
{
    fr_binding *gone = NULL;
    uint32_t kept = 1;
    size_t size_bytes = binding->size_bytes;
    if (binding->groups != binding->local_groups)
        size_bytes += fr_bind_groups_bytes(binding->group_count);
    if (!fr_bind_count(binding->store, size_bytes))
        return;
    binding->cached_bytes = size_bytes;
    fr_add_relaxed(&binding->references, 1);
    fr_mutex_lock(&query->bindings_lock);
    for (fr_binding **link = &query->bindings; *link && !gone;) {
        if ((*link)->column == binding->column || kept >= FR_BIND_KEPT) {
            gone = *link;
            *link = gone->next;
        } else {
            kept++;
            link = &(*link)->next;
        }
    }
    binding->next = query->bindings;
    query->bindings = binding;
    fr_mutex_unlock(&query->bindings_lock);
    if (gone)
        fr_bind_release(gone);
}

void fr_bind_forget(fr_query *query)
{
    while (query->bindings) {
        fr_binding *binding = query->bindings;
        query->bindings = binding->next;
        fr_bind_release(binding);
    }
}

/* --- paths that are listed twice -------------------------------------------------------------- */

/* Up to so many words of a bitmap for each path: what a hash of them would take. */
#define FR_BIND_BITMAP_WORDS 4u

/* A bit for each prim from the lowest on; `bits` are zero. */
static bool fr_bind_marks_twice(const fr_query *query, uint64_t lowest, uint64_t *bits)
{
    uint64_t twice = 0;
    for (uint32_t k = 0; k < query->count; k++) {
        uint64_t prim = query->prims[k] - lowest;
        twice |= bits[prim / 64] >> prim % 64 & 1;
        bits[prim / 64] |= UINT64_C(1) << prim % 64;
    }
    return twice != 0;
}

/* By a hash, where paths lie far apart. False without memory. */
static bool fr_bind_hash_twice(const fr_allocator *allocator, const fr_query *query, bool *twice)
{
    fr_row_set seen;
    fr_row_set_init(&seen, allocator, 0);
    bool added = true;
    bool enough = fr_row_set_reserve(&seen, query->count, NULL, NULL, NULL);
    for (uint32_t k = 0; enough && added && k < query->count; k++)
        (void)fr_row_set_add(&seen, (uint32_t)query->prims[k], &added);
    *twice = !added;
    fr_row_set_destroy(&seen);
    return enough;
}

/* False without memory to tell. Ascending paths, the usual case, need none. */
static bool fr_bind_find_duplicates(const fr_allocator *allocator, const fr_query *query,
                                    bool *has_duplicates)
{
    uint64_t lowest = query->prims[0], highest = query->prims[0];
    bool ascending = true;
    for (uint32_t k = 1; k < query->count; k++) {
        uint64_t prim = query->prims[k];
        ascending &= query->prims[k - 1] < prim;
        lowest = prim < lowest ? prim : lowest;
        highest = prim > highest ? prim : highest;
    }
    *has_duplicates = false;
    if (ascending)
        return true;
    uint64_t words = (highest - lowest) / 64 + 1;
    if (words / FR_BIND_BITMAP_WORDS > query->count)
        return fr_bind_hash_twice(allocator, query, has_duplicates);
    uint64_t *bits = fr_memory_allocate_zero(allocator, words * sizeof(*bits), 16);
    if (bits)
        *has_duplicates = fr_bind_marks_twice(query, lowest, bits);
    fr_memory_release(allocator, bits, words * sizeof(*bits));
    return bits != NULL;
}

static void fr_bind_one_group(fr_binding *binding, fr_segment *segment)
{
    binding->groups = binding->local_groups;
    binding->groups[0] = (fr_bind_group){segment, 0, binding->count};
    binding->group_count = 1;
    binding->placed_count = binding->count;
    binding->order = NULL;
}

/* --- very short queries ----------------------------------------------------------------------- */

static uint32_t fr_bind_local_group(fr_binding *binding, fr_segment *segment)
{
    uint32_t group = 0;
    while (group < binding->group_count && binding->groups[group].segment != segment)
        group++;
    if (group == binding->group_count)
        binding->groups[binding->group_count++] = (fr_bind_group){segment, 0, 0};
    return group;
}

/* With the column's lock held. */
static void fr_bind_local(const fr_query *query, const fr_column *column, fr_binding *binding)
{
    uint32_t count = query->count;
    uint32_t group_of[FR_BIND_LOCAL];
    fr_place places[FR_BIND_LOCAL];
    binding->groups = binding->local_groups;
    binding->order = binding->local_order;
    binding->rows = binding->local_rows;
    for (uint32_t k = 0; k < count; k++) {
        group_of[k] = UINT32_MAX;
        places[k].row = 0;
        if (fr_locator_get(&column->locator, (uint32_t)query->prims[k], &places[k]))
            group_of[k] = fr_bind_local_group(binding, column->segments[places[k].segment]);
        for (uint32_t before = 0; before < k; before++)
            binding->has_duplicates |= query->prims[before] == query->prims[k];
    }
    uint32_t at = 0;
    for (uint32_t group = 0; group <= binding->group_count; group++) {
        bool placed = group < binding->group_count;
        uint32_t first = at;
        for (uint32_t k = 0; k < count; k++) {
            if (group_of[k] != (placed ? group : UINT32_MAX))
                continue;
            binding->order[at] = k;
            binding->rows[at] = places[k].row;
            at += 1;
        }
        if (placed) {
            binding->groups[group].first = first;
            binding->groups[group].count = at - first;
            binding->placed_count = at;
        }
    }
    if (binding->group_count != 1 || binding->placed_count != count)
        return;
    binding->order = NULL;
    bool whole = binding->groups[0].segment->row_count == count;
    for (uint32_t k = 0; whole && k < count; k++)
        whole = binding->rows[k] == k;
    binding->whole = whole;
    if (whole)
        binding->rows = NULL;
}

static const fr_binding *fr_bind_short(const fr_query *query, fr_column *column,
                                       fr_binding *binding)
{
    fr_store_relaxed(&binding->references, 0);
    binding->whole = false;
    binding->has_duplicates = false;
    binding->gathered = NULL;
    binding->column = column;
    binding->count = query->count;
    binding->placed_count = 0;
    binding->group_count = 0;
    fr_mutex_lock(&column->lock);
    binding->topology = fr_load_relaxed(&column->topology); /* changed under the lock only */
    binding->rehomed = fr_column_rehomed(column);
    fr_bind_local(query, column, binding);
    fr_mutex_unlock(&column->lock);
    return binding;
}

/* --- others ----------------------------------------------------------------------------------- */

/* Where the first position lies; NULL: it has no place. */
static fr_segment *fr_bind_first(const fr_query *query, fr_column *column, uint32_t *row)
{
    fr_place place;
    fr_segment *segment = NULL;
    fr_mutex_lock(&column->lock);
    if (fr_locator_get(&column->locator, (uint32_t)query->prims[0], &place)) {
        segment = column->segments[place.segment];
        *row = place.row;
    }
    fr_mutex_unlock(&column->lock);
    return segment;
}

/* The rows in order of the segment are the query. */
static bool fr_bind_is_whole(const fr_query *query, const fr_segment *segment)
{
    if (segment->row_count != query->count)
        return false;
    for (uint32_t k = 0; k < query->count; k++)
        if (segment->prims[k] != (uint32_t)query->prims[k])
            return false;
    return true;
}

/* Without a look at any place, where the prims of a segment follow each other and the query has no
 * others. */
static bool fr_bind_compute(const fr_query *query, const fr_segment *segment, uint32_t *rows)
{
    bool inside = segment->consecutive;
    for (uint32_t k = 0; k < query->count && inside; k++) {
        rows[k] = (uint32_t)query->prims[k] - segment->prims[0];
        inside = rows[k] < segment->row_count;
    }
    return inside;
}

/* Replaces the segments' numbers in places by those of groups: the places in the set, which has
 * room for all of them. */
static void fr_bind_number(uint32_t count, fr_place *places, fr_row_set *segments)
{
    uint32_t last = UINT32_MAX, group = 0;
    for (uint32_t k = 0; k < count; k++) {
        bool added;
        if (places[k].segment == UINT32_MAX)
            continue;
        if (places[k].segment != last)
            group = fr_row_set_add(segments, places[k].segment, &added);
        last = places[k].segment;
        places[k].segment = group;
    }
}

/* Positions and rows, group by group. */
static void fr_bind_fill(fr_binding *binding, const fr_place *places)
{
    for (uint32_t k = 0; k < binding->count; k++)
        if (places[k].segment != UINT32_MAX)
            binding->groups[places[k].segment].count++;
    uint32_t first = 0;
    for (uint32_t group = 0; group < binding->group_count; group++) {
        binding->groups[group].first = first;
        first += binding->groups[group].count;
        binding->groups[group].count = 0;
    }
    uint32_t unplaced = first;
    for (uint32_t k = 0; k < binding->count; k++) {
        uint32_t at = unplaced;
        if (places[k].segment == UINT32_MAX) {
            unplaced++;
        } else {
            fr_bind_group *group = &binding->groups[places[k].segment];
            at = group->first + group->count++;
        }
        binding->order[at] = k;
        binding->rows[at] = places[k].row;
    }
}

/* The lock is given to others now and then: segments stay. */
static void fr_bind_name_groups(fr_column *column, fr_binding *binding, const uint32_t *segments)
{
    for (uint32_t group = 0; group < binding->group_count;) {
        fr_mutex_lock(&column->lock);
        for (uint32_t k = 0; k < FR_ROWS_A_LOCK && group < binding->group_count; k++, group++) {
            fr_look();
            binding->groups[group] = (fr_bind_group){column->segments[segments[group]], 0, 0};
        }
        fr_mutex_unlock(&column->lock);
    }
}

/* Several segments, of `segment_count` of the column. False without memory. */
static bool fr_bind_groups(fr_column *column, fr_binding *binding, fr_place *places,
                           uint32_t segment_count)
{
    const fr_allocator *allocator = binding->store->allocator;
    uint32_t most = binding->count < segment_count ? binding->count : segment_count;
    fr_row_set segments;
    fr_row_set_init(&segments, allocator, 0);
    if (most == 0 || fr_row_set_reserve(&segments, most, NULL, NULL, NULL)) {
        fr_bind_number(binding->count, places, &segments);
        binding->group_count = segments.count;
        if (binding->group_count <= FR_BIND_LOCAL)
            binding->groups = binding->local_groups;
        else
            binding->groups =
                fr_memory_allocate(allocator, fr_bind_groups_bytes(binding->group_count), 16);
        if (binding->groups && binding->groups != binding->local_groups)
            binding->gathered->states = (uint64_t *)(binding->groups + binding->group_count);
    }
    if (binding->groups) {
        fr_bind_name_groups(column, binding, segments.rows);
        fr_bind_fill(binding, places);
    }
    fr_row_set_destroy(&segments);
    return binding->groups != NULL;
}

/* The places of all positions. The lock is given to others now and then: places do not move, and a
 * key that gets its place meanwhile is told by the counter, which is looked at first. Returns how
 * many have none. */
static uint32_t fr_bind_look_up(const fr_query *query, fr_column *column, fr_binding *binding,
                                fr_place *places, uint32_t *segment_count)
{
    uint32_t unplaced = 0;
    binding->topology = fr_bind_topology(column);
    for (uint32_t first = 0; first < query->count; first += FR_ROWS_A_LOCK) {
        uint32_t left = query->count - first;
        fr_mutex_lock(&column->lock);
        unplaced +=
            fr_locator_get_all(&column->locator, query->prims + first,
                               left < FR_ROWS_A_LOCK ? left : FR_ROWS_A_LOCK, places + first);
        *segment_count = column->segment_count;
        fr_mutex_unlock(&column->lock);
    }
    return unplaced;
}

static bool fr_bind_positions(const fr_query *query, fr_column *column, fr_segment *first,
                              fr_binding *binding)
{
    if (first && fr_bind_compute(query, first, binding->rows)) {
        fr_bind_one_group(binding, first);
        return true;
    }
    size_t places_bytes = query->count * sizeof(fr_place);
    fr_place *places = fr_memory_allocate(binding->store->allocator, places_bytes, 16);
    if (!places)
        return false;
    uint32_t segment_count = 0;
    uint32_t unplaced = fr_bind_look_up(query, column, binding, places, &segment_count);
    bool one = unplaced == 0, enough = true;
    for (uint32_t k = 1; k < query->count && one; k++)
        one = places[k].segment == places[0].segment;
    binding->placed_count = query->count - unplaced;
    if (one) {
        fr_mutex_lock(&column->lock);
        fr_segment *one_segment = column->segments[places[0].segment];
        fr_mutex_unlock(&column->lock);
        fr_bind_one_group(binding, one_segment);
        for (uint32_t k = 0; k < query->count; k++)
            binding->rows[k] = places[k].row;
        /* A seal has placed them since the first look. */
        binding->whole = places[0].row == 0 && fr_bind_is_whole(query, one_segment);
        if (binding->whole)
            binding->rows = NULL;
    } else {
        enough = fr_bind_groups(column, binding, places, segment_count);
    }
    fr_memory_release(binding->store->allocator, places, places_bytes);
    return enough;
}

const fr_binding *fr_bind(fr_store *store, fr_query *query, fr_column *column, fr_binding *local)
{
    if (query->count <= FR_BIND_LOCAL)
        return fr_bind_short(query, column, local);
    const fr_binding *cached = fr_bind_find(query, column);
    if (cached)
        return cached;
    uint32_t first_row = 0;
    uint64_t rehomed = fr_column_rehomed(column); /* before the first look */
    fr_segment *first = fr_bind_first(query, column, &first_row);
    bool whole = first && first_row == 0 && fr_bind_is_whole(query, first);
    size_t size_bytes = sizeof(fr_bind_kept);
    if (!whole)
        size_bytes += 2 * (size_t)query->count * sizeof(uint32_t);
    fr_bind_kept *kept = fr_memory_allocate(store->allocator, size_bytes, 16);
    if (!kept)
        return NULL;
    kept->gathered = (fr_gathered){.states = kept->states};
    fr_binding *binding = &kept->binding;
    *binding = (fr_binding){.column = column,
                            .rehomed = rehomed,
                            .count = query->count,
                            .whole = whole,
                            .store = store,
                            .gathered = &kept->gathered,
                            .size_bytes = size_bytes};
    fr_store_relaxed(&binding->references, 1);
    if (whole) {
        fr_bind_one_group(binding, first);
    } else {
        binding->order = (uint32_t *)(kept + 1);
        binding->rows = binding->order + query->count;
        if (!fr_bind_find_duplicates(store->allocator, query, &binding->has_duplicates) ||
            !fr_bind_positions(query, column, first, binding)) {
            fr_bind_free(binding);
            return NULL;
        }
    }
    fr_bind_keep(query, binding);
    return binding;
}
