/* Waiting for ops: who sleeps, and who wakes them.
 *
 * A waiting thread runs what it can of the awaited chain; what is left is in the hands of other
 * threads. Then it enters itself in the list of waiters, sets a flag where the next change will be
 * made (in the table entries of the awaited ids, and in the word of the lane or solo op that it
 * found in another thread's hands) and sleeps on a word of its own. Whoever makes the change clears
 * the flag in the same atomic step, and wakes those of the list who wait for it.
 *
 * Word map of a waiter's `signal`: bit 0: it was woken. Set under the lock of the list, never
 * cleared. Above: how often it was called to look at what is outstanding (watch.h).
 * Word map of `condition_waiters`: threads between announce and their return. `condition_epoch`:
 * counts wakes and such calls; wraps.
 *
 * Threads: any. A waiter lives on its thread's stack, and leaves the list under its lock before it
 * ends.
 *
 * Invariants:
 *   A waiter is in the list before it sets a flag, so who finds the flag finds the waiter.
 *   A flag is set only by a step that sees the change not yet made. So a change is seen by the
 *   waiter, or the waiter by who makes it.
 *   Hand-over: a waiter needs to watch only one lane or op of its chain. Its holder either works,
 *   or waits itself for something that is watched in the same way; since waits cannot form a cycle
 *   (fr_graph_wait checks), somebody works, and when he lets go of what he holds, whoever watched
 * it
 *   goes on and looks at the whole chain again.
 *   Conditions take two words: who counts ops out fences, then looks for condition waiters; these
 *   announce, fence, then look at the condition. So does who makes something runnable, also when
 *   its token is out already: that may lie with a worker that waits.
 *   A wait inside an op for a condition that only ops can make true (room) is refused when no op of
 *   the graph can complete before such a wait ends. Everything that may make that so looks for
 *   condition waiters afterwards: an op that is counted out, a lane that blocks, a thread that
 *   enters a frame or leaves one. So the last step of those that leave nothing to run is seen by
 *   a waiter.
 *
 * Progress: waking costs nothing but a look at a flag when nobody sleeps.
 *
 * Memory bound: none of its own; see graph_explore.h. */
#ifndef FR_SCHEDULER_WAIT_H
#define FR_SCHEDULER_WAIT_H

#include "scheduler/op.h"
#include "scheduler/watch.h"

typedef struct fr_waiter fr_waiter;
struct fr_waiter {
    fr_waiter *next, *previous;
    const uint64_t *ids;
    size_t id_count;
    const void *place; /* the lane or solo op that it watches, or NULL */
    _Atomic uint32_t signal;
};

#define FR_WAITER_WOKEN 1u
_Static_assert((FR_WAITER_WOKEN & FR_STANDBY_CALL) == 0, "calls leave the bit as it is");

#define FR_RUNNING_JOINED_MAX 32u

/* An op that is running on this thread. One that waits or calls for others to be run may run them
 * on top of itself, and ends after them: all of a thread's ops wait for what the innermost waits
 * for. On the stack of the thread, which does not change while it waits. */
typedef struct fr_running {
    fr_op *op;
    const struct fr_running *outer;
    struct fr_drainer *drainer; /* of its lane; NULL for a solo op (graph_run.c) */
} fr_running;

/* The innermost one of this thread, or NULL. */
const fr_running *fr_running_here(void);

/* A thread may do a part of what the ops of another one do and wait for. What it waits for
 * meanwhile these wait for, so it has them beside its own. */
typedef struct fr_running_joined {
    fr_running copies[FR_RUNNING_JOINED_MAX];
    const fr_running *before;
} fr_running_joined;

/* This thread's innermost one, for others to join: what its ops have completed is counted out. They
 * stay as they are until the others have ended. NULL: there is nothing to join. */
const fr_running *fr_running_offer(void);
/* Of more than FR_RUNNING_JOINED_MAX the outermost are left out: cycles through these are not seen.
 */
void fr_running_join(fr_running_joined *joined, const fr_running *offered);
void fr_running_end_join(const fr_running_joined *joined);

/* A wait inside ops: edges from what is awaited to the running ones. The frames of all graphs are
 * in one list, under one lock of the process (graph_walk.c): ops of two graphs can wait for each
 * other. On the stack of the waiting thread. */
typedef enum fr_frame_kind {
    FR_FRAME_OPS,       /* waits for `ids` of `graph` */
    FR_FRAME_CONDITION, /* waits for `condition`, whatever makes it true */
    FR_FRAME_DROP,      /* destroys `graph`: waits for all of its ops */
} fr_frame_kind;

typedef struct fr_wait_frame fr_wait_frame;
struct fr_wait_frame {
    fr_wait_frame *next, *previous;
    fr_wait_frame *walk_next, *holder_next; /* in a walk; in a search for progress */
    uint64_t walk_stamp;
    fr_frame_kind kind;
    bool ends_by_itself; /* it has a deadline, or polls */
    fr_graph *graph;
    const fr_running *running;
    const uint64_t *ids;
    size_t id_count;
    const fr_condition *condition;
};

typedef enum fr_chain_answer {
    FR_CHAIN_OPEN,      /* the wait can end */
    FR_CHAIN_CLOSED,    /* what is awaited waits itself for the op that would wait */
    FR_CHAIN_NO_MEMORY, /* to find out */
} fr_chain_answer;

/* Enters the frame, unless it closes a cycle: *cycle_id is then the awaited id that does (0 for a
 * graph that is to be destroyed). A condition closes none. */
fr_chain_answer fr_frame_enter(fr_wait_frame *frame, uint64_t *cycle_id);
void fr_frame_leave(fr_wait_frame *frame);
/* For the frame of a condition that only ops can make true: whether none of the graph's ops can
 * complete before one of those that wait for such a condition of the graph does. */
fr_chain_answer fr_frame_look_for_progress(fr_wait_frame *frame);

typedef struct fr_waiters {
    FR_ALIGNED_LINE fr_mutex lock;
    fr_waiter *first;
    FR_ALIGNED_LINE _Atomic uint32_t condition_waiters;
    _Atomic uint32_t condition_epoch;
} fr_waiters;

/* Wakes who waits for the id. */
void fr_waiters_wake_id(fr_waiters *waiters, uint64_t id);
/* Wakes who watches the lane or op. */
void fr_waiters_wake_place(fr_waiters *waiters, const void *place);
void fr_waiters_wake_condition(fr_waiters *waiters);

/* The same as below for who has fenced since. */
static inline void fr_waiters_look_after_fence(fr_waiters *waiters)
{
    if (fr_load_relaxed(&waiters->condition_waiters) != 0)
        fr_waiters_wake_condition(waiters);
}

/* After an op was completed or something became runnable. */
static inline void fr_waiters_look_at_conditions(fr_waiters *waiters)
{
#ifndef FR_MUTATE_WAIT_NO_FENCE
    /* [condition.publish] pairs [condition.announce], [destroy.announce] : it is seen by a waiter
     * that is not seen here */
    fr_fence_seq_cst();
#endif
    fr_waiters_look_after_fence(waiters);
}

void fr_waiters_enter(fr_waiters *waiters, fr_waiter *waiter);
void fr_waiters_leave(fr_waiters *waiters, fr_waiter *waiter);

#endif
