/* Edges: a consumer waits for producers that were accepted before it.
 *
 * A consumer that has producers owns a block of edges, one for each. An edge stands in its
 * producer's list of users until the producer completes; the block itself, with the producers' ids,
 * stays with the consumer until its record is used again: for waiters, for the lowest pending id,
 * for explanations.
 *
 * Word map of an op's `users`: 0 none; else the address of the newest edge. Pushed to under
 * admission; emptied by who completed the op, or by the linker that takes its edge back.
 *
 * Threads: link and the pool under admission; take_users by who completed the producer.
 *
 * Invariants:
 *   The linker pushes its edge, fences, then looks whether the producer is still pending. Who
 *   completes the producer ends the pending entry first, then looks at the users, both sequentially
 *   consistent. So an edge is seen by one of them: when the linker finds the producer complete, it
 *   takes the edge back, unless it was taken already and counts. (A list that is closed by an
 *   exchange would do as well, but costs every op without users an atomic step more.)
 *   Who takes the users reads an edge's link before it counts the consumer down: after the last
 *   count the consumer may run, complete and lend its block to another op.
 *
 * Progress: link is one compare-and-swap, since all others are under admission, and a second one
 * when the producer has just completed; take_users is a load, and an exchange when there are users.
 *
 * Memory bound: blocks of power-of-two capacity, as many as were ever in use at once; given back at
 * destroy. */
#ifndef FR_SCHEDULER_EDGE_H
#define FR_SCHEDULER_EDGE_H

#include "scheduler/op_table.h"

typedef struct fr_edge fr_edge;
struct fr_edge {
    fr_edge *next;      /* in the producer's list */
    uintptr_t consumer; /* fr_op, with FR_EDGE_FAILS where the producer's failure makes it fail */
    uint64_t producer_id;
};

#define FR_EDGE_FAILS ((uintptr_t)1)
/* The consumer is the producer's report, and has its failure from it. */
#define FR_EDGE_REPORTS ((uintptr_t)2)
#define FR_EDGE_FLAGS (FR_EDGE_FAILS | FR_EDGE_REPORTS)
_Static_assert(_Alignof(fr_op) > FR_EDGE_FLAGS, "an op's address leaves room for the flags");

struct fr_edge_block {
    fr_edge_block *next; /* free ones; or in a walk's list (graph_walk.c) */
    uint64_t walk_stamp; /* of the last walk that has been here, under admission */
    uint32_t capacity_class;
    uint32_t count;
    uint32_t done_prefix; /* under admission: producers before this one have completed */
    fr_edge edges[];
};

#define FR_EDGE_CLASS_FIRST_BITS 2 /* the smallest block has four edges */
#define FR_EDGE_CLASSES 26
#define FR_EDGES_MAX ((uint64_t)1 << (FR_EDGE_CLASS_FIRST_BITS + FR_EDGE_CLASSES - 1))
_Static_assert(FR_EDGES_MAX < FR_OP_DEPS_MASK, "an op's count holds all its edges");

/* Free blocks. Under admission, but for add's allocation. */
typedef struct fr_edge_pool {
    fr_edge_block *free[FR_EDGE_CLASSES];
    void *memory;
    uint64_t memory_bytes;
} fr_edge_pool;

/* An empty block for at least `count` edges, or NULL when there is none. */
fr_edge_block *fr_edge_pool_take(fr_edge_pool *pool, uint64_t count);
void fr_edge_pool_give(fr_edge_pool *pool, fr_edge_block *block);
/* Outside of admission: memory for blocks of that size. NULL without memory, or for more than
 * FR_EDGES_MAX. */
void *fr_edge_memory_allocate(const fr_allocator *allocator, uint64_t count);
/* Under admission: makes blocks of that memory. */
void fr_edge_pool_add(fr_edge_pool *pool, void *memory);
void fr_edge_pool_destroy(fr_edge_pool *pool, const fr_allocator *allocator);

/* Appends an edge from producer, which is or was pending while admission is held, to the block's
 * owner; false when the producer has completed. */
bool fr_edge_link(fr_edge_block *block, fr_op *consumer, fr_op *producer, uintptr_t flags,
                  const fr_op_table *table);
/* After the producer's entry says that it is complete: the edges to count down. */
static inline fr_edge *fr_edge_take_users(fr_op *producer)
{
    /* [edge.users.look] pairs [edge.link.fence] : sees the edge, or the linker sees the entry */
    if (fr_load_seq_cst(&producer->users) == 0)
        return NULL;
    /* [edge.users.take] pairs [edge.link] : the edge and its consumer's count are complete */
    return (fr_edge *)fr_exchange_acq_rel(&producer->users, 0);
}

static inline fr_op *fr_edge_consumer(const fr_edge *edge)
{
    return (fr_op *)(edge->consumer & ~FR_EDGE_FLAGS);
}

#endif
