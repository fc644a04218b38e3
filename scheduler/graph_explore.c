#include "scheduler/graph_explore.h"

#include <string.h>

#define FR_STEPS_PER_LOCK 64u
/* A search that has found something held looks a while for something better. */
#define FR_STEPS_AFTER_HELD 256u

/* What holds an op up. */
typedef enum fr_obstacle {
    FR_OBSTACLE_NONE,     /* it can be claimed */
    FR_OBSTACLE_SPLIT,    /* it goes on by itself and takes helpers: `op` */
    FR_OBSTACLE_DRAINER,  /* another thread drains its lane, or runs it */
    FR_OBSTACLE_EDGES,    /* `op`, this one or the first of its lane, has producers */
    FR_OBSTACLE_COUNTING, /* all producers have completed; one of them is just counting it down, or
                             it is parked */
    FR_OBSTACLE_NOT_MINE, /* it can run, but not on this thread */
} fr_obstacle;

static bool fr_op_takes_helpers(const fr_op *op)
{
    uint64_t flags = fr_load_relaxed(&op->word) & (FR_OP_SETTLED | FR_OP_ENDED);
    return op->type->help && flags == FR_OP_SETTLED;
}

/* The first pending producer at or behind `from`; count when there is none. */
static uint32_t fr_explore_next_producer(fr_graph *graph, fr_edge_block *block, uint32_t from)
{
    if (from < block->done_prefix)
        from = block->done_prefix;
    uint32_t k = from;
    while (k < block->count && !fr_op_table_pending_op(&graph->table, block->edges[k].producer_id))
        k++;
    if (from == block->done_prefix)
        block->done_prefix = k;
    return k;
}

static fr_obstacle fr_explore_edges(fr_graph *graph, const fr_op *op)
{
    if ((fr_load_relaxed(&op->word) & FR_OP_HAS_EDGES) == 0) /* it is parked: as if one were */
        return FR_OBSTACLE_COUNTING;
    fr_edge_block *block = op->producers;
    return fr_explore_next_producer(graph, block, 0) < block->count ? FR_OBSTACLE_EDGES
                                                                    : FR_OBSTACLE_COUNTING;
}

static fr_obstacle fr_explore_solo(const fr_explorer *explorer, fr_op *op)
{
    /* [explore.op] pairs [op.settle_solo], [op.count_down] : a split op can be helped */
    uint64_t word = fr_load_acquire(&op->word);
    if ((word & FR_OP_CLAIMED) != 0)
        return explorer->helps && op->id != explorer->helped_id && fr_op_takes_helpers(op)
                   ? FR_OBSTACLE_SPLIT
                   : FR_OBSTACLE_DRAINER;
    if ((word & FR_OP_DEPS_MASK) > 0)
        return fr_explore_edges(explorer->graph, op);
    return fr_drain_may_run(explorer->limits, op) ? FR_OBSTACLE_NONE : FR_OBSTACLE_NOT_MINE;
}

/* *op becomes the op that the answer is about. */
static fr_obstacle fr_explore_op(const fr_explorer *explorer, fr_op **op)
{
    if ((fr_load_relaxed(&(*op)->word) & FR_OP_SOLO) != 0)
        return fr_explore_solo(explorer, *op);
    fr_lane *lane = (*op)->place.in_lane.lane;
    /* [explore.lane] pairs [lane.settle] : the first op is one that is not counted out before this
     * moment */
    uint64_t word = fr_load_acquire(&lane->word);
    fr_op *first = fr_load_relaxed(&lane->first);
    if ((word & FR_LANE_DRAINER) != 0) {
        if (!explorer->helps || first->id == explorer->helped_id || !fr_op_takes_helpers(first))
            return FR_OBSTACLE_DRAINER;
        *op = first;
        return FR_OBSTACLE_SPLIT;
    }
    if ((word & FR_LANE_BLOCKED) != 0) {
        *op = first;
        return fr_explore_edges(explorer->graph, first);
    }
    return fr_drain_may_run(explorer->limits, first) ? FR_OBSTACLE_NONE : FR_OBSTACLE_NOT_MINE;
}

/* --- the path --------------------------------------------------------------------------------- */

void fr_explorer_init(fr_explorer *explorer, fr_graph *graph, const fr_drain_limits *limits,
                      bool helps)
{
    explorer->graph = graph;
    explorer->limits = limits;
    explorer->helps = helps;
    explorer->helped_id = 0;
    explorer->nodes = explorer->inline_nodes;
    explorer->capacity = FR_PATH_INLINE;
    explorer->depth = 0;
    explorer->held_id = 0;
}

void fr_explorer_destroy(fr_explorer *explorer)
{
    if (explorer->nodes != explorer->inline_nodes)
        fr_memory_release(&explorer->graph->allocator, explorer->nodes,
                          explorer->capacity * sizeof(fr_path_node));
}

/* Without admission: room for one more node. False when there is no memory: then the older half is
 * gone. */
static bool fr_path_make_room(fr_explorer *explorer)
{
    size_t capacity = explorer->capacity * 2;
    fr_path_node *nodes = fr_memory_allocate(
        &explorer->graph->allocator, capacity * sizeof(fr_path_node), _Alignof(max_align_t));
    if (!nodes) {
        size_t half = explorer->depth / 2;
        memmove(explorer->nodes, explorer->nodes + half,
                (explorer->depth - half) * sizeof(fr_path_node));
        explorer->depth -= half;
        return false;
    }
    memcpy(nodes, explorer->nodes, explorer->depth * sizeof(fr_path_node));
    fr_explorer_destroy(explorer);
    explorer->nodes = nodes;
    explorer->capacity = capacity;
    return true;
}

static void fr_path_push(fr_explorer *explorer, uint64_t id)
{
    explorer->nodes[explorer->depth++] = (fr_path_node){id, 0};
}

/* --- steps, under admission ------------------------------------------------------------------- */

/* Keeps the op from being completed while this thread is in its help function. */
static bool fr_op_begin_help(fr_op *op)
{
    uint64_t word = fr_load_relaxed(&op->word);
    do {
        if ((word & (FR_OP_SETTLED | FR_OP_ENDED)) != FR_OP_SETTLED ||
            (word & FR_OP_HELPERS_MASK) == FR_OP_HELPERS_MASK)
            return false;
        /* [op.help] pairs [op.settle], [op.settle_solo] : what run prepared is seen */
    } while (!fr_cas_acquire(&op->word, &word, word + FR_OP_HELPER_ONE));
    return true;
}

static fr_find_kind fr_explore_claim(fr_explorer *explorer, fr_op *op)
{
    explorer->op = op;
    if ((fr_load_relaxed(&op->word) & FR_OP_SOLO) != 0)
        return fr_solo_claim(op) ? FR_FIND_SOLO : FR_FIND_NOTHING;
    explorer->lane = op->place.in_lane.lane;
    return fr_lane_claim(explorer->lane) ? FR_FIND_LANE : FR_FIND_NOTHING;
}

/* The node's op waits for `first` of its lane, or for its own producers: goes one deeper, or back.
 */
static void fr_explore_descend(fr_explorer *explorer, const fr_op *first)
{
    fr_path_node *node = &explorer->nodes[explorer->depth - 1];
    if (first->id != node->id) {
        if (node->next_producer++ == 0)
            fr_path_push(explorer, first->id);
        else
            explorer->depth--;
        return;
    }
    fr_edge_block *block = first->producers;
    uint32_t k = fr_explore_next_producer(explorer->graph, block, node->next_producer);
    node->next_producer = k + 1;
    if (k < block->count)
        fr_path_push(explorer, block->edges[k].producer_id);
    else
        explorer->depth--;
}

/* One node; FR_FIND_NOTHING: go on. */
static fr_find_kind fr_explore_step(fr_explorer *explorer)
{
    fr_path_node *node = &explorer->nodes[explorer->depth - 1];
    fr_op *op = fr_op_table_pending_op(&explorer->graph->table, node->id);
    if (!op) {
        explorer->depth--;
        return FR_FIND_NOTHING;
    }
    explorer->id = node->id;
    fr_op *about = op;
    fr_obstacle obstacle = fr_explore_op(explorer, &about);
#ifndef FR_MUTATE_EXPLORE_LOOKS_BEHIND
    /* The op has completed meanwhile, and its lane is at a later one: what that waits for is not of
     * this chain. */
    if (about->id > op->id) {
        explorer->depth--;
        return FR_FIND_NOTHING;
    }
#endif
    switch (obstacle) {
    case FR_OBSTACLE_NONE:
        return fr_explore_claim(explorer, op);
    case FR_OBSTACLE_SPLIT:
        explorer->op = about;
        return fr_op_begin_help(about) ? FR_FIND_SPLIT : FR_FIND_NOTHING;
    case FR_OBSTACLE_EDGES:
        fr_explore_descend(explorer, about);
        return FR_FIND_NOTHING;
    default:
        if (explorer->held_id == 0)
            explorer->held_id = node->id;
        explorer->depth--;
        return FR_FIND_NOTHING;
    }
}

static fr_find_kind fr_explore_slice(fr_explorer *explorer)
{
    fr_find_kind found = FR_FIND_NOTHING;
    fr_mutex_lock(&explorer->graph->admission);
    for (uint32_t k = 0; k < FR_STEPS_PER_LOCK && found == FR_FIND_NOTHING; k++) {
        if (explorer->depth == 0 || explorer->depth == explorer->capacity)
            break;
        if (explorer->held_id != 0 && explorer->steps_after_held++ >= FR_STEPS_AFTER_HELD)
            explorer->depth = 0;
        else
            found = fr_explore_step(explorer);
    }
    fr_mutex_unlock(&explorer->graph->admission);
    return found;
}

fr_find_kind fr_explorer_find(fr_explorer *explorer, const uint64_t *ids, size_t count)
{
    explorer->held_id = 0;
    explorer->steps_after_held = 0;
    bool from_start = explorer->depth == 0;
    for (;;) {
        if (from_start) {
            while (explorer->capacity <= count && fr_path_make_room(explorer)) {
            }
            size_t room =
                explorer->capacity - 1; /* without memory not all of several are looked at */
            for (size_t k = count < room ? count : room; k-- > 0;)
                fr_path_push(explorer, ids[k]);
        }
        while (explorer->depth > 0) {
            if (explorer->depth == explorer->capacity)
                (void)fr_path_make_room(explorer);
            fr_find_kind found = fr_explore_slice(explorer);
            if (found != FR_FIND_NOTHING)
                return found;
        }
        if (explorer->held_id != 0)
            return FR_FIND_HELD;
        if (from_start)
            return FR_FIND_NOTHING;
        from_start = true; /* the rest of the path is done: is there more? */
    }
}

/* --- watching --------------------------------------------------------------------------------- */

static bool fr_solo_announce(fr_op *op, fr_obstacle obstacle)
{
    uint64_t word = fr_load_relaxed(&op->word);
    do {
        if ((word & FR_OP_FINISHED) != 0)
            return false;
        if (obstacle == FR_OBSTACLE_COUNTING && (word & FR_OP_DEPS_MASK) == 0)
            return false;
        /* [op.announce] pairs [op.finish], [op.count_down] : who clears the flag sees the waiter
         * that set it */
    } while (!fr_cas_release(&op->word, &word, word | FR_OP_WAITERS));
    return true;
}

bool fr_explorer_watch(fr_explorer *explorer)
{
    fr_op *op = fr_op_table_pending_op(&explorer->graph->table, explorer->held_id);
    if (!op)
        return false;
    fr_op *about = op;
    fr_obstacle obstacle = fr_explore_op(explorer, &about);
    if (obstacle != FR_OBSTACLE_DRAINER && obstacle != FR_OBSTACLE_COUNTING &&
        obstacle != FR_OBSTACLE_NOT_MINE)
        return false;
    if ((fr_load_relaxed(&op->word) & FR_OP_SOLO) != 0)
        return fr_solo_announce(op, obstacle);
    fr_lane *lane = op->place.in_lane.lane;
    uint64_t held = obstacle == FR_OBSTACLE_DRAINER    ? FR_LANE_DRAINER
                    : obstacle == FR_OBSTACLE_COUNTING ? FR_LANE_BLOCKED
                                                       : 0;
    return fr_lane_announce(lane, held);
}
