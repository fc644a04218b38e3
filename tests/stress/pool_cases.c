#include "tests/stress/pool_cases.h"

#include "scheduler/job.h"
#include "scheduler/pool.h"
#include "tests/support/check.h"
#include "tests/support/countdown.h"

#ifdef FR_SHRINK
#define TURNS(n) ((n) / 10)
#else
#define TURNS(n) (n)
#endif
#define TOKENS 4096
#define SPIN_NS 20000

static fr_runnable tokens[TOKENS];
static _Atomic uint32_t runs[TOKENS];
static fr_countdown countdown;
static fr_pool *pool;

static const char *make_pool(uint32_t workers, uint64_t spin_ns)
{
    fr_pool_config config = {
        .worker_count = workers, .spin_ns = spin_ns, .allocator = &fr_allocator_default};
    pool = fr_pool_create(&config);
    FR_CHECK(pool && fr_pool_start(pool));
    return NULL;
}

static void run_token(fr_runnable *token, fr_worker *worker)
{
    (void)worker;
    (void)fr_add_relaxed(&runs[token - tokens], 1);
    fr_countdown_arrive(&countdown);
}

static void prepare(uint32_t count, void (*run)(fr_runnable *, fr_worker *))
{
    for (uint32_t k = 0; k < count; k++) {
        tokens[k].run = run;
        tokens[k].order = k;
        fr_store_relaxed(&runs[k], 0);
    }
    fr_countdown_set(&countdown, count);
}

static const char *check_runs(uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        FR_CHECK(fr_load_relaxed(&runs[k]) == 1);
    return NULL;
}

static void wait_until_asleep(uint32_t workers)
{
    fr_pool_statistics statistics;
    do {
        fr_os_current->yield();
        fr_pool_statistics_read(pool, &statistics);
    } while (statistics.sleeping_count < workers);
}

/* --- bursts and single tokens ----------------------------------------------------------------- */

const char *stress_burst(void)
{
    const char *text = make_pool(3, 0);
    for (uint32_t turn = 0; turn < TURNS(1000) && !text; turn++) {
        wait_until_asleep(3);
        prepare(100, run_token);
        for (uint32_t k = 0; k < 100; k++)
            fr_pool_push(pool, &tokens[k]);
        fr_countdown_wait(&countdown);
        text = check_runs(100);
    }
    fr_pool_destroy(pool);
    return text;
}

static const char *push_and_wait(uint64_t spin_ns, uint32_t turns)
{
    const char *text = make_pool(1, spin_ns);
    for (uint32_t turn = 0; turn < turns && !text; turn++) {
        prepare(1, run_token);
        fr_pool_push(pool, &tokens[0]);
        fr_countdown_wait(&countdown);
        text = check_runs(1);
    }
    fr_pool_destroy(pool);
    return text;
}

const char *stress_push_and_wait(void)
{
    return push_and_wait(SPIN_NS, TURNS(100000));
}

/* The worker goes to sleep whenever it has nothing, so every push races with that. */
const char *stress_push_and_wait_asleep(void)
{
    return push_and_wait(0, TURNS(50000));
}

/* --- tokens that push tokens ------------------------------------------------------------------ */

/* Token k pushes 2k + 1 and 2k + 2. */
static void run_tree(fr_runnable *token, fr_worker *worker)
{
    uint64_t child = 2 * (uint64_t)(token - tokens) + 1;
    for (uint64_t k = child; k < child + 2 && k < TOKENS; k++)
        fr_pool_push(fr_worker_pool(worker), &tokens[k]);
    run_token(token, worker);
}

const char *stress_tree(void)
{
    const char *text = make_pool(3, 1000);
    for (uint32_t turn = 0; turn < TURNS(100) && !text; turn++) {
        prepare(TOKENS, run_tree);
        fr_pool_push(pool, &tokens[0]);
        fr_countdown_wait(&countdown);
        text = check_runs(TOKENS);
    }
    fr_pool_destroy(pool);
    return text;
}

/* --- lent threads ----------------------------------------------------------------------------- */

#define LENDERS 3
static _Atomic uint32_t stop, refused;

static void lend_again_and_again(void *argument)
{
    uint64_t most = *(const uint64_t *)argument;
    while (fr_load_acquire(&stop) == 0) {
        if (fr_pool_lend(pool, NULL, most) == UINT64_MAX)
            (void)fr_add_relaxed(&refused, 1);
        fr_os_current->yield();
    }
}

static void lend_until_stopped(void *unused)
{
    (void)unused;
    (void)fr_pool_lend(pool, &stop, 0);
}

static const char *lend(uint32_t workers)
{
    static const uint64_t most[] = {1, 7, 0};
    fr_os_thread threads[LENDERS + 1];
    const char *text = make_pool(workers, 1000);
    if (text)
        return text;
    fr_store_relaxed(&stop, 0);
    for (int k = 0; k < LENDERS; k++)
        FR_CHECK(fr_os_current->thread_start(&threads[k], lend_again_and_again,
                                             (void *)(uintptr_t)&most[k], "lent"));
    FR_CHECK(fr_os_current->thread_start(&threads[LENDERS], lend_until_stopped, NULL, "lent"));
    for (uint32_t turn = 0; turn < TURNS(50) && !text; turn++) {
        prepare(TOKENS, run_token);
        for (uint32_t k = 0; k < TOKENS; k++)
            fr_pool_push(pool, &tokens[k]);
        fr_countdown_wait(&countdown);
        text = check_runs(TOKENS);
        prepare(TOKENS, run_tree);
        fr_pool_push(pool, &tokens[0]);
        fr_countdown_wait(&countdown);
    }
    fr_store_release(&stop, 1);
    fr_pool_kick(pool);
    for (int k = 0; k <= LENDERS; k++)
        fr_os_current->thread_join(&threads[k]);
    fr_pool_destroy(pool);
    FR_CHECK(fr_load_relaxed(&refused) == 0);
    return text;
}

const char *stress_lent(void)
{
    for (uint32_t workers = 0; workers <= 2; workers++) {
        const char *text = lend(workers);
        if (text)
            return text;
    }
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

const char *stress_lives(void)
{
    const char *text = NULL;
    for (uint32_t turn = 0; turn < TURNS(500) && !text; turn++) {
        text = make_pool(1 + turn % 3, turn % 2 ? 0 : 10000);
        if (text)
            return text;
        uint32_t count = turn % 5;
        prepare(count, run_token);
        for (uint32_t k = 0; k < count; k++)
            fr_pool_push(pool, &tokens[k]);
        fr_countdown_wait(&countdown);
        text = check_runs(count);
        fr_pool_destroy(pool); /* at once: workers are in any state */
    }
    return text;
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* One fr_job for ever, as op records are: helpers that come too late meet the next job in it. */
static struct {
    fr_job job;
    _Atomic uint64_t sum;
    uint64_t plain; /* written by bodies of one chunk, read at the finish */
    _Atomic uint32_t wrong;
} work;

static void work_body(fr_job *job, uint32_t chunk, fr_worker *worker)
{
    (void)job;
    (void)worker;
    if (chunk == 0)
        work.plain++;
    (void)fr_add_relaxed(&work.sum, (uint64_t)chunk + 1);
}

static void work_finished(fr_job *job, fr_worker *worker)
{
    (void)worker;
    uint64_t chunks = job->chunk_count;
    if (fr_load_relaxed(&work.sum) != chunks * (chunks + 1) / 2)
        (void)fr_add_relaxed(&work.wrong, 1);
    work.plain++;
}

static void work_released(fr_job *job)
{
    (void)job;
    fr_countdown_arrive(&countdown);
}

static const fr_job_type work_type = {work_body, work_finished, work_released};

static void help_again_and_again(void *unused)
{
    (void)unused;
    while (fr_load_acquire(&stop) == 0)
        if (!fr_job_help(&work.job, NULL))
            fr_os_current->yield();
}

const char *stress_jobs(void)
{
    fr_os_thread helper;
    const char *text = make_pool(2, 1000);
    if (text)
        return text;
    fr_store_relaxed(&stop, 0);
    fr_store_relaxed(&work.wrong, 0);
    work.plain = 0;
    fr_job_init(&work.job, &work_type, 0, 0);
    FR_CHECK(fr_os_current->thread_start(&helper, help_again_and_again, NULL, "helper"));
    for (uint32_t turn = 0; turn < TURNS(20000); turn++) {
        fr_store_relaxed(&work.sum, 0);
        fr_countdown_set(&countdown, 1);
        fr_job_init(&work.job, &work_type, 1 + turn % 40, 0);
        fr_job_start(&work.job, pool, NULL);
        fr_countdown_wait(&countdown);
        FR_CHECK(work.plain == 2 * ((uint64_t)turn + 1));
        FR_CHECK(fr_load_relaxed(&work.wrong) == 0);
    }
    fr_store_release(&stop, 1);
    fr_os_current->thread_join(&helper);
    fr_pool_destroy(pool);
    return NULL;
}
