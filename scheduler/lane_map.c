#include "scheduler/lane_map.h"

#include <string.h>

#ifdef FR_SHRINK
#define FR_LANES_PER_SLAB 2u
#else
#define FR_LANES_PER_SLAB 64u
#endif

typedef struct fr_lane_memory fr_lane_memory;
struct fr_lane_memory {
    FR_ALIGNED_LINE fr_lane_memory *next;
    fr_lane lanes[FR_LANES_PER_SLAB];
};

void fr_lane_map_init(fr_lane_map *map)
{
    map->random = UINT64_C(0x9e3779b97f4a7c15); /* never 0 */
}

void fr_lane_map_destroy(fr_lane_map *map, const fr_allocator *allocator)
{
    fr_lane_memory *memory = map->memory;
    while (memory) {
        fr_lane_memory *next = memory->next;
        fr_memory_release(allocator, memory, sizeof(*memory));
        memory = next;
    }
}

bool fr_lane_map_any(const fr_lane_map *map, bool (*is)(const fr_lane *lane))
{
    for (const fr_lane_memory *memory = map->memory; memory; memory = memory->next)
        for (uint32_t k = 0; k < FR_LANES_PER_SLAB; k++)
            if (is(&memory->lanes[k]))
                return true;
    return false;
}

/* NULL is fine. */
static void fr_lane_prefetch(const fr_lane *lane)
{
    uintptr_t at = (uintptr_t)lane;
    fr_prefetch_write((const void *)at);
    fr_prefetch_write((const void *)(at + FR_CACHE_LINE_BYTES));
}

/* --- the list --------------------------------------------------------------------------------- */

static fr_lane **fr_lane_map_link(fr_lane_map *map, fr_lane *lane, uint32_t level)
{
    return lane ? &lane->links[level].next : &map->heads[level];
}

/* before[k]: the last lane of level k below the ordinal, NULL where there is none. Returns the
 * first lane not below it. */
static fr_lane *fr_lane_map_search(fr_lane_map *map, uint64_t ordinal,
                                   fr_lane *before[FR_LANE_LEVELS])
{
    fr_lane *at = NULL;
    for (uint32_t level = map->height; level-- > 0;) {
        /* Everything of this level may be below: then its last one is known. */
        if (map->tails[level] && map->tails[level]->ordinal < ordinal)
            at = map->tails[level];
        else
            for (fr_lane *next;
                 (next = *fr_lane_map_link(map, at, level)) && next->ordinal < ordinal;)
                at = next;
        before[level] = at; /* whatever is in a higher level is in this one */
    }
    return *fr_lane_map_link(map, at, 0);
}

fr_lane *fr_lane_map_from(fr_lane_map *map, uint64_t ordinal)
{
    fr_lane *before[FR_LANE_LEVELS];
    return ordinal == 0 ? map->heads[0] : fr_lane_map_search(map, ordinal, before);
}

fr_lane *fr_lane_map_find(fr_lane_map *map, uint64_t ordinal)
{
    if (map->latest && map->latest->ordinal == ordinal)
        return map->latest;
    fr_lane *last = map->tails[0];
    if (!last || last->ordinal < ordinal)
        return NULL;
    fr_lane *before[FR_LANE_LEVELS];
    fr_lane *found = fr_lane_map_search(map, ordinal, before);
    if (!found || found->ordinal != ordinal)
        return NULL;
    map->latest = found;
    return found;
}

static uint32_t fr_lane_map_random_levels(fr_lane_map *map)
{
    uint64_t x = map->random; /* xorshift */
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    map->random = x;
    uint32_t levels = 1;
    while (levels < FR_LANE_LEVELS && (x & 3) == 0) {
        levels++;
        x >>= 2;
    }
    return levels;
}

/* before[k]: the lane of level k behind which the ordinal comes; behind all others without a
 * search. */
static void fr_lane_map_place(fr_lane_map *map, uint64_t ordinal, fr_lane *before[FR_LANE_LEVELS])
{
    if (map->tails[0] && map->tails[0]->ordinal > ordinal)
        (void)fr_lane_map_search(map, ordinal, before);
    else
        memcpy(before, map->tails, sizeof(map->tails));
}

/* A free lane may go on the stack again. */
static void fr_lane_map_begin_use(fr_lane *lane)
{
    uint64_t word = fr_load_relaxed(&lane->word);
    if (word == FR_LANE_RETIRED) { /* without a token nobody else has it */
        fr_store_relaxed(&lane->word, 0);
        return;
    }
    /* [lane.use] pairs [lane.token] : who takes the token and sets the flag comes after its link
     * was read */
    while (!fr_cas_release(&lane->word, &word, word & ~FR_LANE_RETIRED)) {
    }
}

fr_lane *fr_lane_map_insert(fr_lane_map *map, uint64_t ordinal)
{
    fr_lane *lane = map->free_lanes;
    map->free_lanes = lane->next_retired;
    fr_lane_prefetch(map->free_lanes);
    fr_lane_map_begin_use(lane);
    lane->ordinal = ordinal;
    lane->filter = 0;
    lane->last_dependent = 0;
    lane->level_count = fr_lane_map_random_levels(map);
    if (map->height < lane->level_count)
        map->height = lane->level_count;
    fr_lane *before[FR_LANE_LEVELS];
    fr_lane_map_place(map, ordinal, before);
    for (uint32_t level = 0; level < lane->level_count; level++) {
        fr_lane **link = fr_lane_map_link(map, before[level], level);
        fr_lane *next = *link;
        lane->links[level].next = next;
        lane->links[level].previous = before[level];
        *(next ? &next->links[level].previous : &map->tails[level]) = lane;
        *link = lane;
    }
    map->latest = lane;
    map->lanes_open++;
    return lane;
}

static void fr_lane_map_unlist(fr_lane_map *map, fr_lane *lane)
{
    for (uint32_t level = 0; level < lane->level_count; level++) {
        fr_lane *next = lane->links[level].next, *previous = lane->links[level].previous;
        *fr_lane_map_link(map, previous, level) = next;
        *(next ? &next->links[level].previous : &map->tails[level]) = previous;
    }
    if (map->latest == lane)
        map->latest = NULL;
    lane->level_count = 0;
    map->lanes_open--;
}

bool fr_lane_map_drop_idle(fr_lane_map *map, fr_lane *lane)
{
    /* [lane.drop] pairs [lane.settle] : who need not wait for the lane comes after all of its ops.
     * It stays idle as long as admission is held. */
    if (!fr_lane_is_idle(fr_load_acquire(&lane->word)))
        return false;
    fr_lane_map_unlist(map, lane);
    return true;
}

/* --- lanes come and go ------------------------------------------------------------------------ */

/* True when the lane, just off the stack, is idle; else it was used again and loses the flag. */
static bool fr_lane_map_take_back(fr_lane *lane)
{
    /* [lane.recycle] pairs [lane.token], [lane.settle] : what the lane was used for is over */
    uint64_t word = fr_load_acquire(&lane->word);
    /* [lane.recycle.used] pairs [lane.token], [lane.settle] : who sets the flag again comes after
     * its link was read */
#ifdef FR_MUTATE_LANE_FREE_LOSES_FLAG
    if (fr_lane_is_idle(word))
        (void)fr_and_acq_rel(&lane->word, ~FR_LANE_RETIRED);
#endif
    while (!fr_lane_is_idle(word) &&
           !fr_cas_acq_rel_seen(&lane->word, &word, word & ~FR_LANE_RETIRED)) {
    }
    return fr_lane_is_idle(word);
}

void fr_lane_map_reuse(fr_lane_map *map, uint32_t limit)
{
    while (limit-- > 0) {
        if (!map->retiring) {
            if (!fr_load_relaxed(&map->idle))
                return;
            /* [lane.idle.take] pairs [lane.idle.push] : the links of the stack */
            map->retiring = fr_exchange_acquire(&map->idle, NULL);
        }
        fr_lane *lane = map->retiring;
        map->retiring = lane->next_retired;
        fr_lane_prefetch(map->retiring); /* for the next look: who drained it wrote to it last */
        if (!fr_lane_map_take_back(lane))
            continue;
        if (lane->level_count > 0)
            fr_lane_map_unlist(map, lane);
        lane->next_retired = map->free_lanes;
        map->free_lanes = lane;
        map->lanes_recycled++;
    }
}

void fr_lane_map_retire(fr_lane_map *map, fr_lane *lane)
{
    fr_lane *newest = fr_load_relaxed(&map->idle);
    do {
        lane->next_retired = newest;
        /* [lane.idle.push] pairs [lane.idle.take] : see there */
    } while (!fr_cas_release(&map->idle, &newest, lane));
}

void *fr_lane_memory_allocate(const fr_allocator *allocator, fr_graph *graph,
                              void (*run)(fr_runnable *token, fr_worker *worker))
{
    fr_lane_memory *memory =
        fr_memory_allocate_zero(allocator, sizeof(*memory), FR_CACHE_LINE_BYTES);
    for (uint32_t k = 0; memory && k < FR_LANES_PER_SLAB; k++) {
        memory->lanes[k].graph = graph;
        memory->lanes[k].token.run = run;
    }
    return memory;
}

void fr_lane_map_add(fr_lane_map *map, void *added)
{
    fr_lane_memory *memory = added;
    memory->next = map->memory;
    map->memory = memory;
    map->memory_bytes += sizeof(*memory);
    map->lanes_made += FR_LANES_PER_SLAB;
    for (uint32_t k = 0; k < FR_LANES_PER_SLAB; k++) {
        memory->lanes[k].next_retired = map->free_lanes;
        map->free_lanes = &memory->lanes[k];
    }
}
