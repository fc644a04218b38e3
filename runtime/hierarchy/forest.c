#include "runtime/hierarchy/forest.h"

#include <string.h>

#include "runtime/dictionary/dictionary.h"
#include "runtime/store/bind.h"
#include "runtime/store/keys.h"

void fr_bits_set(uint64_t *bits, uint32_t first, uint32_t end)
{
    for (uint32_t word = first / 64; first < end; word++, first = 64 * word) {
        uint64_t mask = ~UINT64_C(0) << first % 64;
        if (end - 64 * word < 64)
            mask &= ~(~UINT64_C(0) << end % 64);
        bits[word] |= mask;
    }
}

uint32_t fr_bits_list(const uint64_t *bits, uint32_t first, uint32_t end, uint32_t *list)
{
    uint32_t count = 0;
    for (uint32_t word = first / 64; 64 * word < end; word++) {
        uint64_t some = bits[word];
        if (first > 64 * word)
            some &= ~UINT64_C(0) << first % 64;
        if (end - 64 * word < 64)
            some &= ~(~UINT64_C(0) << end % 64);
        for (; some; some &= some - 1)
            list[count++] = 64 * word + (uint32_t)__builtin_ctzll(some);
    }
    return count;
}

/* --- which prims ------------------------------------------------------------------------------ */

/* Prims are numbered twice: by rank, in the order of their paths' numbers, in which ancestors come
 * first, since they are interned first; and at last by level. */
typedef struct fr_planting {
    const fr_allocator *allocator;
    const fr_dictionary *dictionary;
    uint32_t *keys; /* some twice */
    size_t key_count, key_capacity;
    uint32_t words;
    uint64_t *marked; /* bit a prim */
    uint32_t *before; /* marked ones below each word */
    uint32_t count;
    uint32_t *memory; /* of the following, count each */
    uint32_t *prim, *parent, *depth, *by_depth, *node_of, *rank_of;
    uint32_t level_count;
} fr_planting;

#define FR_PLANTING_ARRAYS 6u

static void fr_planting_end(fr_planting *planting)
{
    const fr_allocator *allocator = planting->allocator;
    fr_memory_release(allocator, planting->keys, planting->key_capacity * sizeof(uint32_t));
    fr_memory_release(allocator, planting->marked, planting->words * sizeof(uint64_t));
    fr_memory_release(allocator, planting->before, planting->words * sizeof(uint32_t));
    fr_memory_release(allocator, planting->memory,
                      (size_t)FR_PLANTING_ARRAYS * planting->count * sizeof(uint32_t));
}

static bool fr_planting_is_marked(const fr_planting *planting, uint64_t prim)
{
    return planting->marked[prim / 64] >> prim % 64 & 1;
}

/* 0 for a top-level path: the root is no prim's parent (R146). */
static uint32_t fr_planting_parent(const fr_planting *planting, uint32_t prim)
{
    ovx_primpath_t parent = fr_dictionary_path_parent(planting->dictionary, prim);
    return fr_dictionary_path_parent(planting->dictionary, parent) == 0 ? 0 : (uint32_t)parent;
}

static bool fr_planting_room(fr_planting *planting)
{
    if (planting->key_capacity - planting->key_count >= FR_KEYS_SOME)
        return true;
    size_t capacity = 2 * planting->key_capacity + FR_KEYS_SOME;
    uint32_t *keys =
        fr_memory_grow(planting->allocator, planting->keys, planting->key_capacity * sizeof(*keys),
                       capacity * sizeof(*keys), 16);
    if (!keys)
        return false;
    planting->keys = keys;
    planting->key_capacity = capacity;
    return true;
}

/* False without memory. */
static bool fr_planting_collect(fr_planting *planting, const fr_attribute *world)
{
    fr_key_walk walk = {.column = fr_column_first(world)};
    uint32_t some;
    do {
        if (!fr_planting_room(planting))
            return false;
        some = fr_keys_some(&walk, planting->keys + planting->key_count);
        planting->key_count += some;
    } while (some > 0);
    return true;
}

/* Keys and their ancestors. False without memory. */
static bool fr_planting_mark(fr_planting *planting)
{
    uint32_t last = 0;
    for (size_t k = 0; k < planting->key_count; k++)
        last = planting->keys[k] > last ? planting->keys[k] : last;
    planting->words = last / 64 + 1;
    planting->marked =
        fr_memory_allocate_zero(planting->allocator, planting->words * sizeof(uint64_t), 16);
    planting->before =
        fr_memory_allocate(planting->allocator, planting->words * sizeof(uint32_t), 16);
    if (!planting->marked || !planting->before)
        return false;
    for (size_t k = 0; k < planting->key_count; k++) {
        uint32_t prim = planting->keys[k];
        for (; prim && !fr_planting_is_marked(planting, prim);
             prim = fr_planting_parent(planting, prim))
            fr_bit_set(planting->marked, prim);
    }
    for (uint32_t word = 0; word < planting->words; word++) {
        planting->before[word] = planting->count;
        planting->count += (uint32_t)__builtin_popcountll(planting->marked[word]);
    }
    return true;
}

static uint32_t fr_planting_rank(const fr_planting *planting, uint32_t prim)
{
    uint64_t below = planting->marked[prim / 64] & ((UINT64_C(1) << prim % 64) - 1);
    return planting->before[prim / 64] + (uint32_t)__builtin_popcountll(below);
}

/* Parents and depths, by rank. False without memory. */
static bool fr_planting_rank_all(fr_planting *planting)
{
    uint32_t count = planting->count;
    planting->memory = fr_memory_allocate(
        planting->allocator, (size_t)FR_PLANTING_ARRAYS * count * sizeof(uint32_t), 16);
    if (!planting->memory && count > 0)
        return false;
    planting->prim = planting->memory;
    planting->parent = planting->prim + count;
    planting->depth = planting->parent + count;
    planting->by_depth = planting->depth + count;
    planting->node_of = planting->by_depth + count;
    planting->rank_of = planting->node_of + count;
    (void)fr_bits_list(planting->marked, 0, 64 * planting->words, planting->prim);
    for (uint32_t rank = 0; rank < count; rank++) {
        uint32_t parent = fr_planting_parent(planting, planting->prim[rank]);
        planting->parent[rank] = parent ? fr_planting_rank(planting, parent) : FR_FOREST_NONE;
        planting->depth[rank] = parent ? planting->depth[planting->parent[rank]] + 1 : 0;
        if (planting->depth[rank] >= planting->level_count)
            planting->level_count = planting->depth[rank] + 1;
    }
    return true;
}

/* --- the order -------------------------------------------------------------------------------- */

/* Where each level begins, and the ranks level by level. */
static void fr_forest_level(fr_forest *forest, fr_planting *planting)
{
    uint32_t *first = forest->level_first;
    memset(first, 0, (forest->level_count + 1) * sizeof(*first));
    for (uint32_t rank = 0; rank < planting->count; rank++)
        first[planting->depth[rank] + 1]++;
    for (uint32_t level = 0; level < forest->level_count; level++)
        first[level + 1] += first[level];
    for (uint32_t rank = 0; rank < planting->count; rank++)
        planting->by_depth[first[planting->depth[rank]]++] = rank;
    for (uint32_t level = forest->level_count; level > 0; level--)
        first[level] = first[level - 1];
    first[0] = 0;
}

/* The next level behind this one: each parent's children beside each other. places: by rank, where
 * the next child of it goes. */
static void fr_forest_place_children(fr_forest *forest, const fr_planting *planting, uint32_t level,
                                     uint32_t *places)
{
    uint32_t end = forest->level_first[level + 1];
    uint32_t next = end;
    for (uint32_t node = forest->level_first[level]; node < end; node++) {
        uint32_t rank = planting->rank_of[node], count = places[rank];
        forest->first_child[node] = places[rank] = next;
        next += count;
    }
    for (uint32_t k = end; level + 1 < forest->level_count && k < forest->level_first[level + 2];
         k++) {
        uint32_t rank = planting->by_depth[k], parent = planting->parent[rank];
        uint32_t node = places[parent]++;
        planting->node_of[rank] = node;
        planting->rank_of[node] = rank;
        forest->parent[node] = planting->node_of[parent];
    }
}

static void fr_forest_order(fr_forest *forest, const fr_planting *planting)
{
    uint32_t *places = forest->list; /* first: how many children each has */
    memset(places, 0, planting->count * sizeof(*places));
    for (uint32_t rank = 0; rank < planting->count; rank++)
        if (planting->parent[rank] != FR_FOREST_NONE)
            places[planting->parent[rank]]++;
    for (uint32_t k = 0; forest->level_count > 0 && k < forest->level_first[1]; k++) {
        planting->rank_of[k] = planting->by_depth[k];
        planting->node_of[planting->by_depth[k]] = k;
        forest->parent[k] = FR_FOREST_NONE;
    }
    for (uint32_t level = 0; level < forest->level_count; level++)
        fr_forest_place_children(forest, planting, level, places);
    forest->first_child[planting->count] = planting->count;
}

/* --- the forest ------------------------------------------------------------------------------- */

static size_t fr_forest_words(uint32_t count)
{
    return ((size_t)count + 63) / 64;
}

/* In this order, so that each array is aligned as it must be. */
static size_t fr_forest_block_bytes(uint32_t count)
{
    size_t words = fr_forest_words(count);
    return 2 * count * FR_MATRIX_BYTES + count * sizeof(ovx_primpath_t) +
           2 * words * sizeof(uint64_t) + (3 * (size_t)count + 1) * sizeof(uint32_t) +
           2 * (size_t)count;
}

static bool fr_forest_allocate(fr_forest *forest, const fr_planting *planting)
{
    const fr_allocator *allocator = planting->allocator;
    uint32_t count = planting->count;
    size_t words = fr_forest_words(count);
    forest->count = count;
    forest->level_count = planting->level_count;
    forest->level_first = fr_memory_allocate(
        allocator, (planting->level_count + 1) * sizeof(*forest->level_first), 16);
    forest->block_bytes = fr_forest_block_bytes(count);
    forest->local = fr_memory_allocate_zero(allocator, forest->block_bytes, FR_CACHE_LINE_BYTES);
    if (!forest->level_first || !forest->local)
        return false;
    forest->world = forest->local + (size_t)count * FR_MATRIX_ELEMENTS;
    ovx_primpath_t *prims = (ovx_primpath_t *)(forest->world + (size_t)count * FR_MATRIX_ELEMENTS);
    forest->nodes.prims = prims;
    forest->nodes.count = count;
    forest->dirty = prims + count;
    forest->changed = forest->dirty + words;
    forest->parent = (uint32_t *)(forest->changed + words);
    forest->first_child = forest->parent + count;
    forest->list = forest->first_child + count + 1;
    forest->flags = (uint8_t *)(forest->list + count);
    forest->role = forest->flags + count;
    return true;
}

static void fr_forest_plant(fr_forest *forest, fr_planting *planting)
{
    fr_forest_level(forest, planting);
    fr_forest_order(forest, planting);
    ovx_primpath_t *prims = (ovx_primpath_t *)(uintptr_t)forest->nodes.prims; /* the block's */
    for (uint32_t node = 0; node < forest->count; node++)
        prims[node] = planting->prim[planting->rank_of[node]];
    fr_bits_set(forest->dirty, 0, forest->count);
}

void fr_forest_destroy(fr_forest *forest)
{
    if (!forest)
        return;
    const fr_allocator *allocator = &forest->stage->allocator;
    fr_store_query_forget(forest->stage->store, &forest->nodes);
    if (forest->kept_bytes > 0)
        fr_bind_uncount(forest->stage->store, forest->kept_bytes);
    fr_memory_release(allocator, forest->local, forest->block_bytes);
    fr_memory_release(allocator, forest->level_first,
                      (forest->level_count + 1) * sizeof(*forest->level_first));
    fr_memory_release(allocator, forest, sizeof(*forest));
}

/* Without keys: no node, and nothing to do. */
static bool fr_planting_run(fr_planting *planting, fr_forest *forest, const fr_attribute *world)
{
    forest->generation = fr_store_layout_generation(world);
    if (!fr_planting_collect(planting, world))
        return false;
    if (planting->key_count > 0 && (!fr_planting_mark(planting) || !fr_planting_rank_all(planting)))
        return false;
    if (!fr_forest_allocate(forest, planting))
        return false;
    fr_forest_plant(forest, planting);
    return true;
}

fr_forest *fr_forest_make(fr_stage *stage, fr_attribute *world)
{
    fr_forest *forest =
        fr_memory_allocate_zero(&stage->allocator, sizeof(*forest), FR_CACHE_LINE_BYTES);
    if (!forest)
        return NULL;
    forest->stage = stage;
    fr_planting planting = {.allocator = &stage->allocator, .dictionary = stage->dictionary};
    bool enough = fr_planting_run(&planting, forest, world);
    fr_planting_end(&planting);
    if (enough)
        return forest;
    fr_forest_destroy(forest);
    return NULL;
}
