#include "scheduler/worker.h"

#include <stdio.h>
#include <string.h>

enum { FR_POOL_NOT_STARTED, FR_POOL_STARTING, FR_POOL_STARTED };

static size_t fr_pool_bytes(uint32_t slot_count)
{
    return sizeof(fr_pool) + slot_count * sizeof(fr_worker);
}

fr_pool *fr_pool_create(const fr_pool_config *config)
{
    uint32_t workers = config->worker_count;
    if (workers > FR_POOL_WORKERS_MAX)
        workers = FR_POOL_WORKERS_MAX;
    uint32_t slot_count = workers + FR_POOL_LENT_MAX;
    fr_pool *pool =
        fr_memory_allocate_zero(config->allocator, fr_pool_bytes(slot_count), FR_CACHE_LINE_BYTES);
    if (!pool)
        return NULL;
    pool->config = *config;
    pool->config.worker_count = workers;
    pool->allocator = *config->allocator;
    pool->slot_count = slot_count;
    fr_intake_init(&pool->intake);
    fr_idle_init(&pool->idle, workers);
    for (uint32_t k = 0; k < slot_count; k++)
        fr_worker_init(&pool->slots[k], pool, k);
    return pool;
}

static _Thread_local bool fr_pool_thread_starts __attribute__((tls_model("initial-exec")));

bool fr_pool_thread_is_starting(void)
{
    return fr_pool_thread_starts;
}

static void fr_pool_worker_main(void *argument)
{
    fr_worker *worker = argument;
    fr_pool *pool = worker->pool;
    fr_worker_enter(worker);
    if (pool->config.pin_workers)
        (void)fr_os_current->thread_pin(worker->index); /* a refusal costs speed alone */
    if (pool->config.thread_started) {
        fr_pool_thread_starts = true;
        pool->config.thread_started(worker->index, pool->config.user);
        fr_pool_thread_starts = false;
    }
    fr_runnable *token;
    while ((token = fr_worker_take_or_sleep(worker, &pool->stop)) != NULL)
        fr_worker_run(worker, token);
    fr_worker_leave(worker);
}

/* Starts threads until one cannot be had. */
static uint32_t fr_pool_start_threads(fr_pool *pool)
{
    for (uint32_t k = 0; k < pool->config.worker_count; k++) {
        fr_worker *worker = &pool->slots[k];
        char name[sizeof(worker->thread.name)];
        snprintf(name, sizeof(name), "flyrail-%u", k % (FR_POOL_WORKERS_MAX + 1));
        if (!fr_os_current->thread_start(&worker->thread, fr_pool_worker_main, worker, name))
            return k;
    }
    return pool->config.worker_count;
}

bool fr_pool_start(fr_pool *pool)
{
    /* [pool.start.read] pairs [pool.start.done] : started_count is final */
    uint32_t state = fr_load_acquire(&pool->start);
    if (state == FR_POOL_NOT_STARTED && fr_cas_relaxed(&pool->start, &state, FR_POOL_STARTING)) {
        fr_store_relaxed(&pool->started_count, fr_pool_start_threads(pool));
        /* [pool.start.done] pairs [pool.start.read], [pool.start.wait] : see there */
        fr_store_release(&pool->start, FR_POOL_STARTED);
        fr_os_current->futex_wake(&pool->start, UINT32_MAX);
    }
    /* [pool.start.wait] pairs [pool.start.done] : as pool.start.read */
    while (fr_load_acquire(&pool->start) != FR_POOL_STARTED)
        (void)fr_os_current->futex_wait(&pool->start, FR_POOL_STARTING, FR_TIMEOUT_INFINITE);
    return pool->config.worker_count == 0 || fr_pool_worker_count(pool) > 0;
}

uint32_t fr_pool_worker_count(const fr_pool *pool)
{
    return fr_load_relaxed(&pool->started_count);
}

void fr_pool_destroy(fr_pool *pool)
{
    /* [pool.stop.set] pairs [pool.stop.read], [pool.lend.stop] : see there; the kick wakes who
     * would not see it */
    fr_store_release(&pool->stop, 1);
#ifndef FR_MUTATE_POOL_STOP_WITHOUT_KICK
    fr_pool_kick(pool);
#endif
    uint32_t started = fr_pool_worker_count(pool);
    for (uint32_t k = 0; k < started; k++)
        fr_os_current->thread_join(&pool->slots[k].thread);
    /* A job's token may come too late, and its memory waits for that; without threads nobody has
     * run it. */
    (void)fr_pool_lend(pool, NULL, 0);
    for (uint32_t k = 0; k < pool->slot_count; k++)
        fr_deque_destroy(&pool->slots[k].deque);
    fr_allocator allocator = pool->allocator;
    fr_memory_release(&allocator, pool, fr_pool_bytes(pool->slot_count));
}

void fr_pool_kick(fr_pool *pool)
{
    fr_idle_kick(&pool->idle);
}

/* --- pushing -------------------------------------------------------------------------------- */

static void fr_pool_place(fr_pool *pool, fr_runnable *runnable)
{
    fr_worker *worker = fr_worker_current();
    if (!worker || worker->pool != pool || !fr_deque_push(&worker->deque, runnable))
        fr_intake_push(&pool->intake, runnable);
}

void fr_pool_push(fr_pool *pool, fr_runnable *runnable)
{
    fr_pool_place(pool, runnable);
    fr_worker_notify(pool);
}

void fr_pool_give_back(fr_pool *pool, fr_runnable *runnable)
{
    fr_intake_push(&pool->intake, runnable);
    fr_worker_notify(pool);
}

/* --- lent threads --------------------------------------------------------------------------- */

/* A slot of the lent ones; NULL when all are taken. */
static fr_worker *fr_pool_slot_take(fr_pool *pool)
{
    uint64_t taken = fr_load_relaxed(&pool->lent);
    uint32_t slot;
    do {
        if (taken == UINT64_MAX)
            return NULL;
        slot = (uint32_t)__builtin_ctzll(~taken);
        /* [pool.lent.take] pairs [pool.lent.give] : the slot's fields as its last thread left them
         */
    } while (!fr_cas_acquire(&pool->lent, &taken, taken | UINT64_C(1) << slot));
    uint32_t high = fr_load_relaxed(&pool->lent_high);
    /* Relaxed: a push to the slot's deque comes later and is followed by a fence before it relies
     * on being seen. */
    while (high <= slot && !fr_cas_relaxed(&pool->lent_high, &high, slot + 1)) {
    }
    return &pool->slots[pool->config.worker_count + slot];
}

static void fr_pool_slot_give(fr_pool *pool, fr_worker *worker)
{
    uint32_t slot = worker->index - pool->config.worker_count;
    /* [pool.lent.give] pairs [pool.lent.take] : see there */
    (void)fr_and_release(&pool->lent, ~(UINT64_C(1) << slot));
}

/* The far end first, so that equals keep their sequence. */
static void fr_pool_empty_deque(fr_pool *pool, fr_worker *worker)
{
    bool moved = false;
    fr_deque_steal_result result;
    do {
        fr_runnable *token = NULL;
        result = fr_deque_steal(&worker->deque, &token);
        if (result == FR_DEQUE_SUCCESS) {
            fr_intake_push(&pool->intake, token);
            moved = true;
        }
    } while (result != FR_DEQUE_EMPTY);
    if (moved)
        fr_worker_notify(pool);
}

static uint64_t fr_pool_lend_loop(fr_worker *worker, _Atomic uint32_t *stop, uint64_t max_tokens)
{
    uint64_t run = 0;
    /* [pool.lend.stop] pairs [pool.stop.set], [worker.stop] : as pool.stop.read, where the caller
     * has set its own word */
    while ((max_tokens == 0 || run < max_tokens) && !(stop && fr_load_acquire(stop) != 0)) {
        fr_runnable *token = stop ? fr_worker_take_or_sleep(worker, stop) : fr_worker_take(worker);
        if (!token && !stop && fr_pool_look(worker->pool))
            token = fr_worker_take(worker);
        if (!token)
            break;
        fr_worker_run(worker, token);
        run++;
    }
    return run;
}

uint64_t fr_pool_lend(fr_pool *pool, _Atomic uint32_t *stop, uint64_t max_tokens)
{
    fr_worker *worker = fr_worker_current();
    if (worker && worker->pool == pool)
        return fr_pool_lend_loop(worker, NULL, max_tokens);
    worker = fr_pool_slot_take(pool);
    if (!worker)
        return UINT64_MAX;
    fr_worker_enter(worker);
    uint64_t run = fr_pool_lend_loop(worker, stop, max_tokens);
    fr_worker_begin(worker); /* if it searches still, it does no longer */
    fr_worker_leave(worker);
    if (fr_pool_worker_count(pool) > 0)
        fr_pool_empty_deque(pool, worker);
    else if (fr_deque_size(&worker->deque) > 0)
        fr_worker_notify(pool);
    fr_pool_slot_give(pool, worker);
    return run;
}

/* --- statistics ------------------------------------------------------------------------------ */

void fr_pool_statistics_read(const fr_pool *pool, fr_pool_statistics *out)
{
    memset(out, 0, sizeof(*out));
    for (uint32_t k = 0; k < pool->slot_count; k++) {
        const fr_worker_counters *counters = &pool->slots[k].counters;
        out->tokens_run += fr_load_relaxed(&counters->tokens_run);
        out->steals += fr_load_relaxed(&counters->steals);
        out->steal_retries += fr_load_relaxed(&counters->steal_retries);
        out->intake_takes += fr_load_relaxed(&counters->intake_takes);
        out->sleeps += fr_load_relaxed(&counters->sleeps);
    }
    out->wakes = fr_load_relaxed(&pool->wakes);
    out->worker_count = fr_pool_worker_count(pool);
    uint64_t state = fr_load_relaxed(&pool->idle.state);
    out->sleeping_count = fr_idle_sleeping(state);
    out->searching_count = fr_idle_searching(state);
}
