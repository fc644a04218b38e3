/* The search of a waiting thread for something of the awaited chain that it can run.
 *
 * A walk in depth from the awaited op to what holds it up: from an op to the first op of its
 * blocked lane, from there to its pending producers, and so on, until something is found that can
 * be claimed, or is in the hands of another thread. The path is kept between steps, so that after
 * an op has run the search goes on from there and not from the awaited op.
 *
 * Threads: one; the search belongs to it. It takes admission by itself, and gives it back every few
 * steps.
 * Memory bound: 16 bytes a level of the chain; without memory the path forgets its older half and
 * finds it again. */
#ifndef FR_SCHEDULER_GRAPH_EXPLORE_H
#define FR_SCHEDULER_GRAPH_EXPLORE_H

#include "scheduler/graph_internal.h"

typedef struct fr_path_node {
    uint64_t id;
    uint32_t next_producer; /* how many were looked at */
} fr_path_node;

#ifdef FR_SHRINK
#define FR_PATH_INLINE 2u
#else
#define FR_PATH_INLINE 32u
#endif

typedef enum fr_find_kind {
    FR_FIND_NOTHING, /* the awaited ids have completed */
    FR_FIND_LANE,    /* claimed */
    FR_FIND_SOLO,    /* claimed */
    FR_FIND_SPLIT,   /* entered as a helper */
    FR_FIND_HELD,    /* all is in the hands of others; `held_id` names one of them */
} fr_find_kind;

typedef struct fr_explorer {
    fr_graph *graph;
    const fr_drain_limits *limits;
    bool helps;
    uint64_t helped_id; /* has no chunks left for this thread */
    fr_path_node inline_nodes[FR_PATH_INLINE];
    fr_path_node *nodes;
    size_t capacity, depth;
    uint64_t held_id;
    uint32_t steps_after_held;
    /* What was found. */
    fr_lane *lane;
    fr_op *op;
    uint64_t id;
} fr_explorer;

void fr_explorer_init(fr_explorer *explorer, fr_graph *graph, const fr_drain_limits *limits,
                      bool helps);
void fr_explorer_destroy(fr_explorer *explorer);

/* Goes on with the search; starts again from ids when the last one has ended. */
fr_find_kind fr_explorer_find(fr_explorer *explorer, const uint64_t *ids, size_t count);

/* Under admission: flags the lane or solo op of held_id, so that who changes it wakes this thread;
 * false when it is not held any more. */
bool fr_explorer_watch(fr_explorer *explorer);

#endif
