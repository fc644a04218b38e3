#include "scheduler/job.h"
#include "tests/support/check.h"
#include "tests/support/countdown.h"
#include "tests/unit/pool_cases.h"

#define CHUNKS 1000

static _Atomic uint32_t bodies[CHUNKS];
static _Atomic uint32_t finished, released, wrong_orders;
static fr_countdown countdown;

static void body(fr_job *job, uint32_t chunk, fr_worker *worker)
{
    (void)job;
    if (fr_worker_current() != worker || fr_load_relaxed(&finished) != 0)
        (void)fr_add_relaxed(&wrong_orders, 1);
    (void)fr_add_relaxed(&bodies[chunk], 1);
}

static void on_finished(fr_job *job, fr_worker *worker)
{
    (void)worker;
    for (uint32_t k = 0; k < job->chunk_count; k++)
        if (fr_load_relaxed(&bodies[k]) != 1)
            (void)fr_add_relaxed(&wrong_orders, 1);
    if (fr_load_relaxed(&released) != 0)
        (void)fr_add_relaxed(&wrong_orders, 1);
    (void)fr_add_relaxed(&finished, 1);
}

static void on_released(fr_job *job)
{
    (void)job;
    if (fr_load_relaxed(&finished) != 1)
        (void)fr_add_relaxed(&wrong_orders, 1);
    (void)fr_add_relaxed(&released, 1);
    fr_countdown_arrive(&countdown);
}

static const fr_job_type type = {body, on_finished, on_released};

static const char *run_job(fr_pool *pool, uint32_t chunks)
{
    static fr_job job;
    for (uint32_t k = 0; k < CHUNKS; k++)
        fr_store_relaxed(&bodies[k], 0);
    fr_store_relaxed(&finished, 0);
    fr_store_relaxed(&released, 0);
    fr_countdown_set(&countdown, 1);
    fr_job_init(&job, &type, chunks, 3);
    FR_CHECK(fr_job_has_chunks(&job) == (chunks > 0));
    FR_CHECK(!fr_job_help(&job, NULL)); /* not started */
    fr_job_start(&job, pool, NULL);
    fr_countdown_wait(&countdown);
    FR_CHECK(!fr_job_has_chunks(&job));
    FR_CHECK(!fr_job_help(&job, NULL)); /* released */
    FR_CHECK(fr_load_relaxed(&finished) == 1);
    FR_CHECK(fr_load_relaxed(&released) == 1);
    FR_CHECK(fr_load_relaxed(&wrong_orders) == 0);
    for (uint32_t k = 0; k < CHUNKS; k++)
        FR_CHECK(fr_load_relaxed(&bodies[k]) == (k < chunks));
    return NULL;
}

const char *job_counts(void)
{
    static const uint32_t counts[] = {0, 1, 2, 3, 17, CHUNKS};
    for (uint32_t workers = 0; workers <= 3; workers++) {
        fr_pool_config config = {
            .worker_count = workers, .spin_ns = 1000, .allocator = &fr_allocator_default};
        fr_pool *pool = fr_pool_create(&config);
        FR_CHECK(pool && fr_pool_start(pool));
        for (int turn = 0; turn < 20; turn++)
            for (int k = 0; k < 6; k++) {
                const char *wrong = run_job(pool, counts[k]);
                if (wrong)
                    return wrong;
            }
        fr_pool_destroy(pool);
    }
    return run_job(NULL, CHUNKS);
}

/* A job in a pool without threads: its token may come too late, and only then is the memory free.
 */
const char *job_released_is_left_alone(void)
{
    fr_pool_config config = {.worker_count = 1, .spin_ns = 0, .allocator = &fr_allocator_default};
    fr_pool *pool = fr_pool_create(&config);
    FR_CHECK(pool && fr_pool_start(pool));
    for (int turn = 0; turn < 500; turn++) {
        const char *wrong = run_job(pool, 2);
        if (wrong)
            return wrong;
    }
    fr_pool_destroy(pool);
    return NULL;
}
