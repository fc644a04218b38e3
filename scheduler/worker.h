/* A worker: a thread that takes tokens from its deque, the intake and other workers, and runs them.
 * And the pool's parts that workers share. Internal to the pool: others see pool.h.
 *
 * Threads: a worker's fields belong to its thread, but for the deque's top and what is marked
 * shared.
 *
 * Where a worker looks, in this order: the intake on every 32nd token, so that the oldest ordinal
 * is not starved by what its own deque goes on producing; the far end of its deque half way
 * between, so that the oldest token there is not starved either; its deque; the intake; other
 * deques from a random one on. On every 32nd token, and now and then while it searches, it looks at
 * the watches, if nobody does.
 *
 * Progress: see pool.h. A worker blocks only asleep (idle.h), and in what a token does. */
#ifndef FR_SCHEDULER_WORKER_H
#define FR_SCHEDULER_WORKER_H

#include "scheduler/deque.h"
#include "scheduler/idle.h"
#include "scheduler/intake.h"
#include "scheduler/pool.h"
#include "scheduler/watch.h"

/* A power of two. Under sanitizers so few that a short test meets both rare looks. */
#ifdef FR_SHRINK
#define FR_WORKER_INTAKE_PERIOD 4u
#else
#define FR_WORKER_INTAKE_PERIOD 32u
#endif

/* Rounds of a search before the CPU is offered to others. */
#define FR_WORKER_YIELD_PERIOD 8u

/* Written by the worker alone, read by anyone, relaxed. */
typedef struct fr_worker_counters {
    _Atomic uint64_t tokens_run, steals, steal_retries, intake_takes, sleeps;
} fr_worker_counters;

struct fr_worker {
    fr_deque deque; /* shared: other workers steal */
    FR_ALIGNED_LINE fr_pool *pool;
    uint32_t index;
    uint32_t tick;    /* tokens taken; decides where to look first */
    uint64_t random;  /* never 0 */
    bool searches;    /* still, while it runs a token that may turn out to be without work */
    bool is_looker;   /* sleeps by time, to look at what is outstanding (watch.h) */
    fr_worker *outer; /* of another pool, that this thread also works for */
    fr_os_thread thread;
    FR_ALIGNED_LINE fr_worker_counters counters; /* shared */
};

_Static_assert(_Alignof(fr_worker) == FR_CACHE_LINE_BYTES, "workers do not share cache lines");

/* Word map of `start`: 0 nobody has started the threads (initial); 1 somebody is at it (set by the
 * first fr_pool_start); 2 done, started_count holds (set by the same). Never cleared. Word map of
 * `lent`: bit k: slot k of the lent ones is taken. Set by the thread that comes, cleared by it when
 * it leaves. Word map of `stop`: 0 or 1; set by destroy. */
struct fr_pool {
    fr_intake intake;
    fr_idle idle;
    fr_watches watches;
    FR_ALIGNED_LINE _Atomic uint64_t wakes; /* on a line that only wakers write */
    FR_ALIGNED_LINE _Atomic uint32_t start; /* from here on: read by all, hardly ever written */
    _Atomic uint32_t started_count;
    _Atomic uint32_t stop;
    _Atomic uint32_t lent_high; /* slots of lent threads that were ever used: only grows */
    _Atomic uint64_t lent;
    fr_pool_config config;
    fr_allocator allocator;
    uint32_t slot_count;
    fr_worker
        slots[]; /* config.worker_count of the pool's own, then FR_POOL_LENT_MAX for lent threads */
};

_Static_assert(offsetof(fr_pool, idle) >= FR_CACHE_LINE_BYTES &&
                   offsetof(fr_pool, wakes) >= 2 * FR_CACHE_LINE_BYTES &&
                   offsetof(fr_pool, start) >= 3 * FR_CACHE_LINE_BYTES,
               "the intake's head, the counts and what everybody reads do not share a line");
_Static_assert(offsetof(fr_worker, pool) - offsetof(fr_worker, deque.bottom) >=
                       FR_CACHE_LINE_BYTES &&
                   offsetof(fr_worker, counters) - offsetof(fr_worker, pool) >= FR_CACHE_LINE_BYTES,
               "what thieves read stays apart from what the owner writes with each token");
_Static_assert(FR_POOL_LENT_MAX <= 64, "a bit for each lent thread");
_Static_assert(FR_POOL_WORKERS_MAX + FR_POOL_LENT_MAX <= FR_IDLE_THREADS_MAX,
               "idle.h counts them all");

void fr_worker_init(fr_worker *worker, fr_pool *pool, uint32_t index);

/* Wakes a sleeper if nobody searches; call after publishing a token. */
void fr_worker_notify(fr_pool *pool);

/* A token, or NULL when none was found in one look everywhere. */
fr_runnable *fr_worker_take(fr_worker *worker);
/* The same, but searches for the spin budget and then sleeps; NULL only when *stop is set. */
fr_runnable *fr_worker_take_or_sleep(fr_worker *worker, _Atomic uint32_t *stop);
void fr_worker_run(fr_worker *worker, fr_runnable *token);
/* Makes `worker` the current one of this thread, or its outer one again. */
void fr_worker_enter(fr_worker *worker);
void fr_worker_leave(fr_worker *worker);

#endif
