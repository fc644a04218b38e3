#include "scheduler/worker.h"

/* The pool's or the lending thread's; one word, so that looking at it costs a plain load. */
static _Thread_local fr_worker *fr_worker_here __attribute__((tls_model("initial-exec")));

fr_worker *fr_worker_current(void)
{
    return fr_worker_here;
}

uint32_t fr_worker_index(const fr_worker *worker)
{
    return worker->index;
}

fr_pool *fr_worker_pool(const fr_worker *worker)
{
    return worker->pool;
}

bool fr_worker_has_other_work(const fr_worker *worker)
{
    return fr_deque_size(&worker->deque) > 0 || !fr_intake_looks_empty(&worker->pool->intake) ||
           fr_watch_is_unattended(fr_load_relaxed(&worker->pool->watches.word));
}

void fr_worker_init(fr_worker *worker, fr_pool *pool, uint32_t index)
{
    fr_deque_init(&worker->deque, &pool->allocator);
    worker->pool = pool;
    worker->index = index;
    worker->random = (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

void fr_worker_enter(fr_worker *worker)
{
    worker->outer = fr_worker_here;
    fr_worker_here = worker;
}

void fr_worker_leave(fr_worker *worker)
{
    fr_worker_here = worker->outer;
}

void fr_worker_notify(fr_pool *pool)
{
    if (fr_idle_notify(&pool->idle))
        (void)fr_add_relaxed(&pool->wakes, 1);
}

void fr_worker_run(fr_worker *worker, fr_runnable *token)
{
    fr_count(&worker->counters.tokens_run, 1);
    token->run(token, worker);
}

/* --- where to look -------------------------------------------------------------------------- */

static uint32_t fr_worker_slots_in_use(const fr_pool *pool)
{
    return pool->config.worker_count + fr_load_relaxed(&pool->lent_high);
}

/* A list whose orders do not descend with its age, as most: puts all but the oldest token into the
 * worker's deque in one walk, and returns that one. NULL when it is not so, or there is no memory:
 * nothing has changed. */
static fr_runnable *fr_worker_move_sorted(fr_worker *worker, fr_runnable *list, bool *several)
{
    fr_runnable *token = list;
    int64_t count = 0;
    for (fr_runnable *next; (next = fr_intake_follow(token)) != NULL; token = next) {
        if (token->order < next->order || !fr_deque_put(&worker->deque, count, token))
            return NULL;
        count++;
    }
    *several = count > 0;
    if (count > 0)
        fr_deque_publish(&worker->deque, count);
    return token;
}

/* The same for any list. What the deque has no room for (no memory) goes back to the intake, so
 * tokens run even when no deque can be had. */
static fr_runnable *fr_worker_move(fr_worker *worker, fr_runnable *list)
{
    fr_runnable *token = fr_intake_sort(list);
    for (fr_runnable *next; (next = fr_intake_next(token)) != NULL; token = next)
        if (!fr_deque_push(&worker->deque, token))
            fr_intake_push(&worker->pool->intake, token);
    return token;
}

/* Takes the intake: the lowest order to run now, the rest into the worker's deque so that the
 * lowest is popped first. Between the two places nobody sees the tokens, and a worker that looks
 * then goes to sleep: so they are announced once more. */
static fr_runnable *fr_worker_take_intake(fr_worker *worker)
{
    fr_runnable *list = fr_intake_take(&worker->pool->intake);
    if (!list)
        return NULL;
    fr_count(&worker->counters.intake_takes, 1);
    bool several = true;
    fr_runnable *token = fr_worker_move_sorted(worker, list, &several);
    if (!token)
        token = fr_worker_move(worker, list);
#ifdef FR_MUTATE_POOL_NO_BATCH_WAKE
    several = false;
#endif
    if (several)
        fr_worker_notify(worker->pool);
    return token;
}

static fr_runnable *fr_worker_take_own(fr_worker *worker)
{
    uint32_t phase = worker->tick++ % FR_WORKER_INTAKE_PERIOD;
    fr_runnable *token = NULL;
    if (phase == 0) {
        if (fr_watch_is_unattended(fr_load_relaxed(&worker->pool->watches.word)))
            (void)fr_pool_look(worker->pool);
        token = fr_worker_take_intake(worker);
    } else if (phase == FR_WORKER_INTAKE_PERIOD / 2 &&
               fr_deque_steal(&worker->deque, &token) != FR_DEQUE_SUCCESS)
        token = NULL;
    if (!token)
        token = fr_deque_pop(&worker->deque);
    return token ? token : fr_worker_take_intake(worker);
}

static uint64_t fr_worker_random(fr_worker *worker)
{
    uint64_t x = worker->random; /* xorshift: thieves must only not start all at the same victim */
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    worker->random = x;
    return x;
}

/* One look at every other deque; again when a steal lost to another thread, since there may be
 * more. */
static fr_runnable *fr_worker_steal(fr_worker *worker)
{
    fr_pool *pool = worker->pool;
    uint32_t count = fr_worker_slots_in_use(pool);
    uint32_t first = (uint32_t)(fr_worker_random(worker) % count);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t k = 0; k < count; k++) {
            fr_worker *victim = &pool->slots[(first + k) % count];
            fr_runnable *token = NULL;
            fr_deque_steal_result result =
                victim == worker ? FR_DEQUE_EMPTY : fr_deque_steal(&victim->deque, &token);
            if (result == FR_DEQUE_SUCCESS) {
                fr_count(&worker->counters.steals, 1);
                return token;
            }
            if (result == FR_DEQUE_RETRY) {
                fr_count(&worker->counters.steal_retries, 1);
                again = true;
            }
        }
    }
    return NULL;
}

fr_runnable *fr_worker_take(fr_worker *worker)
{
    fr_runnable *token = fr_worker_take_own(worker);
    return token ? token : fr_worker_steal(worker);
}

/* Loads only: what decides whether a worker may sleep. */
static bool fr_worker_sees_work(const fr_pool *pool)
{
    if (!fr_intake_looks_empty(&pool->intake))
        return true;
    uint32_t count = fr_worker_slots_in_use(pool);
    for (uint32_t k = 0; k < count; k++)
        if (fr_deque_size(&pool->slots[k].deque) > 0)
            return true;
    return false;
}

/* --- searching and sleeping ------------------------------------------------------------------ */

static bool fr_worker_must_stop(_Atomic uint32_t *stop)
{
    /* [pool.stop.read] pairs [pool.stop.set] : what was written before it was set is seen */
    return fr_load_acquire(stop) != 0;
}

/* Looks everywhere until the spin budget is used up. Whoever is about to publish work may need this
 * CPU: now and then it is offered. */
static fr_runnable *fr_worker_spin(fr_worker *worker, _Atomic uint32_t *stop)
{
    uint64_t spin_ns = worker->pool->config.spin_ns;
    uint64_t start_ns = spin_ns > 0 ? fr_os_current->now_ns() : 0;
    for (uint32_t round = 1;; round++) {
        fr_runnable *token = fr_worker_take(worker);
        if (token || spin_ns == 0 || fr_worker_must_stop(stop))
            return token;
        if (fr_os_current->now_ns() - start_ns >= spin_ns)
            return NULL;
        if (round % FR_WORKER_YIELD_PERIOD != 0) {
            fr_os_current->pause();
            continue;
        }
        if (fr_watch_is_unattended(fr_load_relaxed(&worker->pool->watches.word)))
            (void)fr_pool_look(worker->pool);
        fr_os_current->yield();
    }
}

/* A searcher goes to work or leaves: the last one sees to it that what it does not take itself
 * finds a worker. */
static void fr_worker_end_search(fr_worker *worker)
{
    bool last = fr_idle_search_end(&worker->pool->idle);
#ifdef FR_MUTATE_POOL_NO_CHAIN_WAKE
    last = false;
#endif
    if (last && fr_worker_sees_work(worker->pool))
        fr_worker_notify(worker->pool);
#ifndef FR_MUTATE_WATCH_LEFT_ALONE
    /* [worker.search_end.watches] pairs [watch.attend.fence] : who relied on this search, though
     * nobody else sleeps in the pool, is answered here */
    if (fr_watch_is_unattended(fr_load_seq_cst(&worker->pool->watches.word)))
        fr_watches_attend(worker->pool);
#endif
}

/* Sleeps until there is work, a waker's permit, a reason to stop, or it is time to look at the
 * watches. True when this thread is a searcher now. */
static bool fr_worker_sleep(fr_worker *worker, bool searching, _Atomic uint32_t *stop)
{
    fr_pool *pool = worker->pool;
#ifdef FR_MUTATE_IDLE_CHECK_THEN_ANNOUNCE
    bool seen_work = fr_worker_sees_work(pool);
#endif
    fr_idle_announce(&pool->idle, searching);
    for (;;) {
        uint32_t epoch = fr_idle_epoch(&pool->idle);
#ifndef FR_MUTATE_IDLE_CHECK_THEN_ANNOUNCE
        bool seen_work = fr_worker_sees_work(pool);
#endif
        if (seen_work || fr_worker_must_stop(stop))
            return fr_idle_cancel(&pool->idle);
        if (fr_idle_take_permit(&pool->idle))
            return true;
#ifdef FR_MUTATE_IDLE_LATE_EPOCH
        epoch = fr_idle_epoch(&pool->idle);
#endif
        fr_count(&worker->counters.sleeps, 1);
        uint64_t nap_ns = fr_watches_nap(&pool->watches, &worker->is_looker, FR_TIMEOUT_INFINITE);
        if (!fr_idle_sleep(&pool->idle, epoch, nap_ns))
            return fr_idle_cancel(&pool->idle);
    }
}

void fr_worker_begin(fr_worker *worker)
{
    if (!worker->searches)
        return;
#ifdef FR_MUTATE_POOL_BEGIN_KEEPS_SEARCH
    return;
#endif
    worker->searches = false;
    fr_worker_end_search(worker);
}

/* The search goes on when the token may be without work. */
static void fr_worker_found(fr_worker *worker, const fr_runnable *token)
{
    bool (*begins)(const fr_runnable *) = worker->pool->config.begins;
    worker->searches = true;
    if (!token || !begins || !begins(token))
        fr_worker_begin(worker);
}

fr_runnable *fr_worker_take_or_sleep(fr_worker *worker, _Atomic uint32_t *stop)
{
    fr_runnable *token = fr_worker_take_own(worker);
    bool searching = worker->searches;
    if (token && !searching)
        return token;
    searching = searching || fr_idle_search_begin(&worker->pool->idle);
    while (!token) {
        if (worker->is_looker) /* woken by time, most often: no reason to spin */
            (void)fr_pool_look(worker->pool);
        bool spins = searching && !worker->is_looker;
        token = spins ? fr_worker_spin(worker, stop) : fr_worker_take(worker);
        if (token || fr_worker_must_stop(stop))
            break;
        searching = fr_worker_sleep(worker, searching, stop);
    }
    fr_watches_give_back(worker->pool, &worker->is_looker);
    worker->searches = false;
    if (searching)
        fr_worker_found(worker, token);
    return token;
}
