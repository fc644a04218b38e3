/* The pool: workers that take tokens from deques and the intake and run them.
 *
 * A token is a pointer to an fr_runnable; who pushes it must keep it alive until run() has been
 * called for that push, and may not push it again before (the lane's "token out" bit, the op's, or
 * the job's invitation slot says so). The pool knows nothing of lanes, ops, prims or devices.
 *
 * Threads: fr_pool_push and fr_pool_kick from any thread; the rest says it.
 *
 * Invariants:
 *   A token that was pushed is in exactly one place: a deque, the intake, or the hands of one
 * thread that will run it. Whenever a token is in a deque or the intake and no worker searches, no
 * worker sleeps, or one is being woken (idle.h). Every token is run: a worker looks at the intake
 * every 32 tokens whatever its deque holds, and at the far end of its deque as often.
 *
 * Progress: push is wait-free but for growing a deque and the waking system call.
 * Memory bound: a deque's ring grows with the tokens out; the intake is intrusive and never full;
 * the slots of workers and of lent threads are made at creation. */
#ifndef FR_SCHEDULER_POOL_H
#define FR_SCHEDULER_POOL_H

#include "scheduler/atomic.h"
#include "scheduler/memory.h"
#include "scheduler/os.h"

typedef struct fr_pool fr_pool;
typedef struct fr_worker fr_worker;
typedef struct fr_runnable fr_runnable;

struct fr_runnable {
    _Atomic(fr_runnable *) next; /* the intake's link */
    /* The token was taken; worker is never NULL. */
    void (*run)(fr_runnable *runnable, fr_worker *worker);
    uint64_t order; /* lower runs first when the intake is taken: the ordinal */
};

/* More workers than this are never started. */
#define FR_POOL_WORKERS_MAX 4096u
/* Threads lent at once. */
#define FR_POOL_LENT_MAX 64u

typedef struct fr_pool_config {
    uint32_t worker_count; /* 0: no threads */
    uint64_t spin_ns;      /* how long a worker searches before it sleeps */
    bool pin_workers;      /* one CPU each */
    /* On the new thread, before it takes tokens. May be NULL. */
    void (*thread_started)(uint32_t worker_index, void *user);
    void *user;
    /* Whether the token calls fr_worker_begin before it does what may take long. May be NULL: none
     * does. */
    bool (*begins)(const fr_runnable *runnable);
    const fr_allocator *allocator;
} fr_pool_config;

typedef struct fr_pool_statistics {
    uint64_t tokens_run, steals, steal_retries, intake_takes, wakes, sleeps;
    /* Always 0: a wait without a deadline must be ended by a wake. */
    uint64_t timed_waits_that_found_work;
    uint32_t worker_count, sleeping_count, searching_count;
} fr_pool_statistics;

/* No thread is started yet. NULL without memory. */
fr_pool *fr_pool_create(const fr_pool_config *config);
/* Starts the workers, once; later calls are cheap, and wait for the first. False when threads were
 * asked for and not even one could be started (the pool then works as one without threads); fewer
 * than asked for is fine. */
bool fr_pool_start(fr_pool *pool);
/* Workers that really run (0 before start). */
uint32_t fr_pool_worker_count(const fr_pool *pool);
/* No thread may be lent, and no push under way. Joins the workers; tokens that are still out are
 * run before it returns, the last ones on the calling thread, which is none of the pool's. */
void fr_pool_destroy(fr_pool *pool);

/* Makes a token runnable: on a worker of this pool into its deque, else into the intake; then wakes
 * a sleeper if nobody searches. */
void fr_pool_push(fr_pool *pool, fr_runnable *runnable);
/* As push, for a token that has just run and must let others run first: always through the intake,
 * behind what the worker's deque holds. */
void fr_pool_give_back(fr_pool *pool, fr_runnable *runnable);

/* True inside thread_started, of whichever pool: destroying that pool would wait for itself. */
bool fr_pool_thread_is_starting(void);

/* The calling thread's worker, of whichever pool, or NULL. */
fr_worker *fr_worker_current(void);
uint32_t fr_worker_index(const fr_worker *worker);
fr_pool *fr_worker_pool(const fr_worker *worker);
/* By a token for which `begins` is true, on the worker that runs it, once it has found out that
 * there is something to do: what it leaves behind may need another worker. So tokens whose work was
 * done by a waiting thread meanwhile wake nobody. */
void fr_worker_begin(fr_worker *worker);
/* True when other tokens wait: in this worker's deque or the intake. Used to decide whether a lane
 * is given back. */
bool fr_worker_has_other_work(const fr_worker *worker);

/* Lends the calling thread until *stop becomes nonzero (fr_pool_kick after setting it) or, if
 * `stop` is NULL, until no token is to be had. Runs at most max_tokens (0: no limit). Returns
 * tokens run. worker_index of a lent thread lies behind the pool's own; when FR_POOL_LENT_MAX
 * threads are lent already it returns UINT64_MAX. Before it returns, its deque is moved to the
 * intake and a sleeper is woken; in a pool without threads the tokens stay in place for the next
 * thread lent, and for other lent ones to steal. Called from a token of the same pool, it runs
 * tokens on top of that one, until none is to be had. */
uint64_t fr_pool_lend(fr_pool *pool, _Atomic uint32_t *stop, uint64_t max_tokens);
/* Wakes every sleeping worker, lent ones too. */
void fr_pool_kick(fr_pool *pool);

void fr_pool_statistics_read(const fr_pool *pool, fr_pool_statistics *out);

#endif
