/* The intake: where tokens wait that no worker's deque holds, pushed by any thread, taken as a
 * whole by one.
 *
 * An intrusive list, newest first. The head word holds the newest token; each token's `next` holds
 * the one before it.
 *
 * Threads: every function from any thread.
 *
 * Invariants:
 *   A token is in at most one list at a time (its owner's "token out" bit, see pool.h).
 *   Between a push's exchange and its link store the token's `next` is fr_intake_unlinked; a taker
 * waits that out, so a pusher never writes to a token that somebody else may already run or free.
 *
 * Progress: push is wait-free (one exchange, one store), needs no memory and is never full. A take
 * waits for the link stores of pushes whose exchange it has seen: one instruction each, unless the
 * pusher was preempted between the two.
 *
 * Memory bound: none of its own. */
#ifndef FR_SCHEDULER_INTAKE_H
#define FR_SCHEDULER_INTAKE_H

#include "scheduler/pool.h"

typedef struct fr_intake {
    /* Word map: a pointer. Set by push (the newest token), cleared by take. */
    FR_ALIGNED_LINE _Atomic(fr_runnable *) newest;
} fr_intake;

/* What `next` of a token holds while its push is under way. */
extern fr_runnable fr_intake_unlinked;

void fr_intake_init(fr_intake *intake);
void fr_intake_push(fr_intake *intake, fr_runnable *token);

/* Takes all tokens, newest first; NULL when there was none. The next one by fr_intake_follow alone,
 * until fr_intake_sort has seen the list. */
fr_runnable *fr_intake_take(fr_intake *intake);
/* The next token of a taken list, NULL behind the last. Waits for a push under way. */
fr_runnable *fr_intake_follow(fr_runnable *token);
/* Makes of a taken list one that is linked by fr_intake_next, highest `order` first, and newest
 * first among equals: pushed in this sequence onto the bottom of a deque, they are popped lowest
 * order first, and among equals in the order in which they came. */
fr_runnable *fr_intake_sort(fr_runnable *list);

/* A hint: true when it was empty at some moment during the call. */
static inline bool fr_intake_looks_empty(const fr_intake *intake)
{
    return fr_load_relaxed(&intake->newest) == NULL;
}

/* The next token of a sorted list; read it before the token is handed on. */
static inline fr_runnable *fr_intake_next(const fr_runnable *token)
{
    return fr_load_relaxed(&token->next);
}

#endif
