/* The parts of a graph, for the files that make it up.
 *
 * Which lock guards what: `admission` everything under that name below, and the parts of lanes,
 * records, edges and the table that say so. No file takes admission while it holds another lock of
 * the graph. */
#ifndef FR_SCHEDULER_GRAPH_INTERNAL_H
#define FR_SCHEDULER_GRAPH_INTERNAL_H

#include "scheduler/edge.h"
#include "scheduler/graph.h"
#include "scheduler/lane_front.h"
#include "scheduler/lane_map.h"
#include "scheduler/ledger.h"
#include "scheduler/op_failure.h"
#include "scheduler/op_record.h"
#include "scheduler/op_table.h"
#include "scheduler/wait.h"

/* Ops that a drainer completes between two settlements. */
#ifdef FR_SHRINK
#define FR_DRAIN_BATCH 3u
#else
#define FR_DRAIN_BATCH 64u
#endif
/* Completed ops that a worker retires together, though it counts them out earlier. */
#ifdef FR_SHRINK
#define FR_DONE_BATCH 2u
#else
#define FR_DONE_BATCH 16u
#endif
/* Lanes and solo ops that are looked at between two looks of others at admission. */
#ifdef FR_SHRINK
#define FR_LOOKS_PER_LOCK 2u
#else
#define FR_LOOKS_PER_LOCK 64u
#endif
/* Tokens of no use that may be out before somebody who submits takes them back. */
#ifdef FR_SHRINK
#define FR_STALE_TOKENS_MAX 4
#else
#define FR_STALE_TOKENS_MAX 256
#endif
/* A worker that has nothing else to do stays with a lane in which fewer ops than FEW are left, so
 * that more may join: for LOOKS times PAUSES while there are none, else for PAUSES. */
#ifdef FR_SHRINK
#define FR_DRAIN_LINGER_LOOKS 2u
#define FR_DRAIN_LINGER_PAUSES 1u
#define FR_DRAIN_FEW 2u
#else
#define FR_DRAIN_LINGER_LOOKS 3u
#define FR_DRAIN_LINGER_PAUSES 24u /* 1 us */
#define FR_DRAIN_FEW 16u
#endif
/* A drainer gives the lane back after so many ops or so long, if anything else is runnable. */
#define FR_DRAIN_OPS_MAX 64u
#define FR_DRAIN_NS_MAX 200000u

/* What threads write while they run ops: a slot for each worker index, the last one for all other
 * threads together.
 * Word map of `inside`: how often threads of the slot are between enter and leave. A worker's own
 * slot is written by it alone. Destroy waits for 0. */
typedef struct fr_graph_slot {
    FR_ALIGNED_LINE _Atomic uint64_t inside;
    _Atomic uint64_t completed_by_workers, completed_by_waiters; /* ops, by who counted them out */
    /* Of these, ops that are reported by another one, and those: clients count the two as one. */
    _Atomic uint64_t reported, reports_by_workers, reports_by_waiters;
    _Atomic uint64_t failed, hand_overs, wait_sleeps;
    fr_op *done; /* completed ops that the worker will retire together */
    uint32_t done_count;
} fr_graph_slot;
#define FR_GRAPH_SLOTS 64u
#define FR_GRAPH_SLOT_SHARED (FR_GRAPH_SLOTS - 1)

typedef struct fr_graph_trace {
    void (*function)(void *, const fr_op *, const char *, uint32_t, uint64_t, uint64_t);
    void *user;
} fr_graph_trace;

struct fr_graph {
    fr_pool *pool;
    fr_allocator allocator;
    uint64_t op_limit;
    uint64_t caller_spin_ns;
    bool caller_runs;
    _Atomic(const fr_graph_trace *) trace; /* NULL when off */
    fr_graph_trace traces[2];
    uint32_t trace_next;
    void (*failed)(void *, const fr_op *, const char *, const fr_op_failure *);
    void *failed_user;
    bool (*settle)(void *user);
    void *settle_user;
    _Atomic uint32_t
        dropping; /* 0, or 1 once destroy has begun: ops that have not started are dropped */
    _Atomic uint64_t dropped;

    /* Tokens that are out of solo ops which have run without them, and 1 while they are taken back.
     */
    FR_ALIGNED_LINE _Atomic uint64_t stale_tokens;
    _Atomic uint32_t is_sieved;

    FR_ALIGNED_LINE fr_mutex admission;
    _Atomic uint64_t next_sequence; /* written under admission */
    _Atomic uint64_t accepted;      /* the same */
    uint64_t completed_seen;        /* how many had completed when that was asked last */
    uint64_t edges_made;
    fr_lane_map lanes;
    fr_lane_fronts fronts;
    uint64_t lanes_looked_at; /* by seals, and by what else waits for all lanes up to an ordinal */
    uint64_t looks_to_run;    /* at lanes and solo ops, by who runs whatever is runnable */
    fr_edge_pool edges;
    fr_ledger ledger;
    _Atomic uint64_t reports_made; /* the same; and hidden ops */
    _Atomic uint64_t parked;
    /* The last accepted op that holds lanes below it, and the highest ordinal of those that may be
     * pending: all of them are complete when the last one is. */
    uint64_t holder_id, held_below;

    fr_wait_frame drop_frame; /* of the op inside which the graph is destroyed */
    bool has_drop_frame;
    FR_ALIGNED_LINE fr_records records;
    fr_op_table table;
    fr_waiters waiters;
    fr_graph_slot slots[FR_GRAPH_SLOTS];
};

static inline fr_graph_slot *fr_graph_slot_of(fr_graph *graph, const fr_worker *worker)
{
    uint32_t index = worker ? fr_worker_index(worker) : FR_GRAPH_SLOT_SHARED;
    return &graph->slots[index < FR_GRAPH_SLOT_SHARED ? index : FR_GRAPH_SLOT_SHARED];
}
fr_op_state fr_op_state_of_entry(uint64_t word);
uint64_t fr_graph_completed(const fr_graph *graph);
/* The same of what clients have submitted: an op and its report are one. May be too low by what
 * others are just doing, never too high. */
uint64_t fr_graph_completed_for_clients(const fr_graph *graph);
/* Between these, destroy waits. */
fr_graph_slot *fr_graph_enter(fr_graph *graph, const fr_worker *worker);
void fr_graph_leave(fr_graph *graph, fr_graph_slot *slot);

/* Pushes a token; starts the pool's threads at the first one. */
void fr_graph_push(fr_graph *graph, fr_runnable *token);
/* The run function of lanes' and solo ops' tokens. */
void fr_lane_token_run(fr_runnable *token, fr_worker *worker);
void fr_solo_token_run(fr_runnable *token, fr_worker *worker);
/* Waits run ops ahead of their tokens, for which the records of solo ops wait, until a worker comes
 * to them: in a pool without threads none does, and where there are more threads than CPUs it may
 * take long. Takes those back that are of no use any more, when there are many. */
void fr_graph_take_stale_tokens(fr_graph *graph);

static inline bool fr_graph_has_workers(const fr_graph *graph)
{
    return fr_pool_worker_count(graph->pool) > 0;
}

/* How long a drainer goes on. */
typedef struct fr_drain_limits {
    uint64_t until_id;    /* stops behind this op; 0: none */
    uint64_t max_ops;     /* 0: any number */
    uint64_t deadline_ns; /* FR_TIMEOUT_INFINITE: none */
    bool gives_back;      /* when others are waiting for this worker */
    bool runs_tasks;
    bool runs_large;
} fr_drain_limits;

/* The caller has the right to drain; when these return, no longer. Return how many ops were
 * completed. */
uint64_t fr_lane_drain(fr_graph *graph, fr_lane *lane, fr_worker *worker,
                       const fr_drain_limits *limits);
void fr_lane_give_back(fr_graph *graph, fr_lane *lane,
                       fr_worker *worker); /* without running anything */
/* Under admission: takes the right to run a solo op. */
bool fr_solo_claim(fr_op *op);
void fr_solo_run(fr_graph *graph, fr_op *op, fr_worker *worker);
/* By who has run it, when it has parked: whether it may go on by now. If not, it is nobody's any
 * more (graph_park.c). */
bool fr_solo_is_resumed(fr_op *op);
/* Its record is nobody's any more. */
void fr_solo_retire(fr_graph *graph, fr_op *op, fr_graph_slot *slot);
/* A waiter that entered the op as a helper leaves it; completes the op when it is the last. */
void fr_op_end_help(fr_graph *graph, fr_op *op, fr_worker *worker);

/* Counts n edges (or the op's own share) down. Under admission or not; the caller pushes the token
 * when true, for a solo op that became runnable. */
bool fr_op_count_down(fr_graph *graph, fr_op *op, uint64_t n);

/* Whether the thread may run this op now, by the limits; the op need not be runnable. */
bool fr_drain_may_run(const fr_drain_limits *limits, const fr_op *op);

/* Under admission, which others get in between when no look is left of FR_LOOKS_PER_LOCK. A lane:
 * the first one at or above its ordinal then, or NULL. A pending op: itself, or NULL when it has
 * completed meanwhile. */
fr_lane *fr_graph_give_way_at_lane(fr_graph *graph, fr_lane *lane, uint32_t *left);
fr_op *fr_graph_give_way_at_op(fr_graph *graph, fr_op *op, uint32_t *left);

/* Where an op stands: its lane, or itself. What waiters watch. */
static inline const void *fr_op_place(const fr_op *op)
{
    bool is_solo = (fr_load_relaxed(&op->word) & FR_OP_SOLO) != 0;
    return is_solo ? (const void *)op : (const void *)op->place.in_lane.lane;
}

/* The lowest pending id in the chains of these, among the first ones looked at; UINT64_MAX when all
 * are complete (graph_walk.c). */
uint64_t fr_graph_lowest_pending(fr_graph *graph, const uint64_t *ids, size_t count);

/* Under admission: the lane's first op that is pending, or NULL (graph_walk.c). */
const fr_op *fr_lane_first_pending(const fr_graph *graph, fr_lane *lane);

/* What the innermost wait inside an op is for; false: a thread that runs it is in none. */
typedef struct fr_frame_description {
    uint64_t awaited_id; /* 0: no op, but `what` */
    bool same_graph;     /* as that of the op inside which is waited */
    char what[96];
} fr_frame_description;
bool fr_frame_describe(const fr_graph *graph, uint64_t id, fr_frame_description *out);

/* This thread's innermost one is `top` from now on; returns which it was (graph_run.c). */
const fr_running *fr_running_exchange(const fr_running *top);
/* Ops of this thread have begun to wait, or to destroy: that may be what others wait to see. */
void fr_running_tell(void);
/* Leaves the frame of such a wait, and tells: parts of one op may wait on several threads, and what
 * is found out about the op goes by the frame that is met first. */
void fr_running_leave(fr_wait_frame *frame);
/* Counts out what the drainers of this thread's running ops have completed: an op that waits for
 * that to be counted would wait for itself. */
void fr_running_settle(void);

/* Announced as a condition waiter: sleeps until the epoch is another than seen, something was over
 * that it looked at, or the time has run out (graph_condition.c). */
void fr_graph_sleep(fr_graph *graph, uint32_t seen, uint64_t left_ns);

uint64_t fr_wait_deadline(uint64_t timeout_ns);
/* Time that is left; 0: none. */
uint64_t fr_wait_time_left(uint64_t deadline_ns);
/* The calling thread's worker, if it is of the graph's pool. */
static inline fr_worker *fr_graph_worker_here(const fr_graph *graph)
{
    fr_worker *worker = fr_worker_current();
    return worker && fr_worker_pool(worker) == graph->pool ? worker : NULL;
}

/* By a thread that waits, or runs ops: see fr_graph_config. */
static inline bool fr_graph_settle(const fr_graph *graph)
{
    return graph->settle && !fr_op_running() && graph->settle(graph->settle_user);
}

#endif
