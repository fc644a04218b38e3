#include "runtime/hierarchy/compose.h"

#include <string.h>

#include "runtime/ops/ops.h"

/* Nodes of a level that are worth more threads, and what one of them takes at a time. */
#ifdef FR_SHRINK
#define FR_COMPOSE_SHARED 4u
#define FR_COMPOSE_GRAIN 2u
#else
#define FR_COMPOSE_SHARED 1024u
#define FR_COMPOSE_GRAIN 256u
#endif

/* Nodes whose matrices are asked for before it is their turn. */
#define FR_COMPOSE_AHEAD 8u

static const double fr_identity[FR_MATRIX_ELEMENTS] = {1, 0, 0, 0, 0, 1, 0, 0,
                                                       0, 0, 1, 0, 0, 0, 0, 1};

/* In this order of additions, always. */
static void fr_matrix_multiply(double *to, const double *a, const double *b)
{
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            double sum = a[4 * row] * b[column];
            for (int k = 1; k < 4; k++)
                sum += a[4 * row + k] * b[4 * k + column];
            to[4 * row + column] = sum;
        }
}

/* Enters the node's world. One that is the identity by itself, and not for want of any local, moves
 * what is below: that is multiplied with it then. */
static void fr_compose_enter(fr_forest *forest, uint32_t node, const double *world, uint8_t plain)
{
    double *place = fr_forest_world(forest, node);
    uint8_t flags = forest->flags[node];
    bool same = fr_matrix_is(place, world);
    if ((flags & FR_NODE_PLAIN) == plain && same)
        return;
    flags = (uint8_t)((flags & ~FR_NODE_PLAIN) | plain | FR_NODE_MOVED);
    forest->flags[node] = (uint8_t)(same ? flags : flags | FR_NODE_OTHER);
    memcpy(place, world, FR_MATRIX_BYTES);
}

static void fr_compose_node(fr_forest *forest, uint32_t node)
{
    double product[FR_MATRIX_ELEMENTS];
    uint8_t flags = forest->flags[node];
    uint32_t parent = flags & FR_NODE_RESET ? FR_FOREST_NONE : forest->parent[node];
    bool below_any = parent != FR_FOREST_NONE && !(forest->flags[parent] & FR_NODE_PLAIN);
    if (!(flags & FR_NODE_LOCAL))
        fr_compose_enter(forest, node, below_any ? fr_forest_world(forest, parent) : fr_identity,
                         below_any ? 0 : FR_NODE_PLAIN);
    else if (!below_any)
        fr_compose_enter(forest, node, fr_forest_local(forest, node), 0);
    else {
        fr_matrix_multiply(product, fr_forest_local(forest, node), fr_forest_world(forest, parent));
        fr_compose_enter(forest, node, product, 0);
    }
}

/* Where few nodes moved, their matrices lie anywhere. */
FR_ASKS void fr_compose_ask_for(const fr_forest *forest, uint32_t node)
{
    uint32_t parent = forest->parent[node];
    fr_matrix_ask_for(fr_forest_local(forest, node));
    fr_matrix_ask_for(fr_forest_world(forest, node));
    if (parent != FR_FOREST_NONE)
        fr_matrix_ask_for(fr_forest_world(forest, parent));
}

static void fr_compose_some(uint64_t begin, uint64_t end, void *user)
{
    fr_forest *forest = user;
    for (uint64_t k = begin; k < end; k++) {
        fr_compose_ask_for(forest,
                           forest->list[k + FR_COMPOSE_AHEAD < end ? k + FR_COMPOSE_AHEAD : k]);
        fr_compose_node(forest, forest->list[k]);
    }
}

/* By one thread, since nodes share words. */
static void fr_compose_spread(fr_forest *forest, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        uint32_t node = forest->list[k];
        fr_bit_clear(forest->dirty, node);
        if (!(forest->flags[node] & FR_NODE_MOVED))
            continue;
        if (forest->flags[node] & FR_NODE_OTHER)
            fr_bit_set(forest->changed, node);
        forest->flags[node] &= (uint8_t) ~(FR_NODE_MOVED | FR_NODE_OTHER);
        fr_bits_set(forest->dirty, forest->first_child[node], forest->first_child[node + 1]);
    }
}

void fr_compose(fr_forest *forest)
{
    for (uint32_t level = 0; level < forest->level_count; level++) {
        uint32_t count = fr_bits_list(forest->dirty, forest->level_first[level],
                                      forest->level_first[level + 1], forest->list);
        if (count < FR_COMPOSE_SHARED)
            fr_compose_some(0, count, forest);
        else
            fr_parallel_own(forest->stage, count, FR_COMPOSE_GRAIN, fr_compose_some, forest);
        fr_compose_spread(forest, count);
    }
}
