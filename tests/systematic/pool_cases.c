#include "tests/systematic/pool_cases.h"

#include "scheduler/job.h"
#include "tests/support/countdown.h"
#include "tests/systematic/systematic.h"

#define TOKENS 32
#define THREADS 4
#define SPIN_NS 300

static fr_runnable tokens[TOKENS];
static _Atomic uint32_t runs[TOKENS];
static fr_countdown countdown;
static fr_pool *pool;
static const pool_shape *shape_now;
static _Atomic uint32_t next_pusher;
static fr_os_thread threads[THREADS];

static bool (*begins)(const fr_runnable *); /* of the next pool */

static fr_pool *make_pool(uint32_t workers)
{
    fr_pool_config config = {.worker_count = workers,
                             .spin_ns = SPIN_NS,
                             .begins = begins,
                             .allocator = &fr_allocator_default};
    return fr_pool_create(&config);
}

static void run_token(fr_runnable *token, fr_worker *worker)
{
    fr_systematic_check(fr_worker_current() == worker, "the token's worker is not the current one");
    (void)fr_add_seq_cst(&runs[token - tokens], 1);
    fr_countdown_arrive(&countdown);
}

static void reset_tokens(void (*run)(fr_runnable *, fr_worker *))
{
    for (uint32_t k = 0; k < TOKENS; k++) {
        tokens[k].run = run;
        tokens[k].order = k;
        fr_store_seq_cst(&runs[k], 0);
    }
    fr_store_seq_cst(&next_pusher, 0);
}

static void push_mine(void *unused)
{
    (void)unused;
    uint32_t first = fr_add_seq_cst(&next_pusher, 1) * shape_now->tokens;
    for (uint32_t k = 0; k < shape_now->tokens; k++)
        fr_pool_push(pool, &tokens[first + k]);
}

static void start_threads(uint32_t count, void (*body)(void *))
{
    for (uint32_t k = 0; k < count; k++)
        (void)fr_os_current->thread_start(&threads[k], body, NULL, "helper");
}

static void join_threads(uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        fr_os_current->thread_join(&threads[k]);
}

void body_push_and_wait(void *argument)
{
    shape_now = argument;
    uint32_t count = (shape_now->pushers + 1) * shape_now->tokens;
    pool = make_pool(shape_now->workers);
    (void)fr_pool_start(pool);
    for (uint32_t round = 0; round < shape_now->rounds; round++) {
        reset_tokens(run_token);
        fr_countdown_set(&countdown, count);
        start_threads(shape_now->pushers, push_mine);
        push_mine(NULL);
        fr_countdown_wait(&countdown);
        join_threads(shape_now->pushers);
        for (uint32_t k = 0; k < count; k++)
            fr_systematic_check(fr_load_relaxed(&runs[k]) == 1, "a token did not run once");
    }
    fr_pool_destroy(pool);
}

/* --- two tokens that need each other ---------------------------------------------------------- */

static _Atomic uint32_t begun;

static void wait_for_both(void)
{
    (void)fr_add_seq_cst(&begun, 1);
    while (fr_load_relaxed(&begun) < 2)
        fr_os_current->pause();
    fr_countdown_arrive(&countdown);
}

static void run_second(fr_runnable *token, fr_worker *worker)
{
    (void)token;
    (void)worker;
    wait_for_both();
}

static void run_first(fr_runnable *token, fr_worker *worker)
{
    token[1].run = run_second;
    fr_pool_push(fr_worker_pool(worker), &token[1]);
    wait_for_both();
}

static void meet(void (*push)(void), uint32_t rounds)
{
    for (uint32_t round = 0; round < rounds; round++) {
        fr_store_seq_cst(&begun, 0);
        fr_countdown_set(&countdown, 2);
        push();
        fr_countdown_wait(&countdown);
    }
}

static void push_first(void)
{
    reset_tokens(run_first);
    fr_pool_push(pool, &tokens[0]);
}

static void push_one(void *unused)
{
    (void)unused;
    fr_pool_push(pool, &tokens[fr_add_seq_cst(&next_pusher, 1)]);
}

static void push_from_outside(void)
{
    reset_tokens(run_second);
    start_threads(1, push_one);
    push_one(NULL);
    join_threads(1);
}

static void meet_on(void *argument, void (*push)(void))
{
    shape_now = argument;
    pool = make_pool(shape_now->workers);
    (void)fr_pool_start(pool);
    meet(push, shape_now->rounds);
    fr_pool_destroy(pool);
}

void body_two_meet(void *argument)
{
    meet_on(argument, push_first);
}

void body_two_meet_from_outside(void *argument)
{
    meet_on(argument, push_from_outside);
}

/* --- tokens without work among those that need each other ------------------------------------- */

static void run_nothing(fr_runnable *token, fr_worker *worker)
{
    (void)token;
    (void)worker;
    fr_countdown_arrive(&countdown);
}

static void begin_and_meet(fr_runnable *token, fr_worker *worker)
{
    (void)token;
    fr_worker_begin(worker);
    wait_for_both();
}

static bool begins_late(const fr_runnable *token)
{
    return token->run == run_nothing || token->run == begin_and_meet;
}

static void push_with_nothing(void)
{
    reset_tokens(begin_and_meet);
    fr_countdown_set(&countdown, 4);
    tokens[0].run = tokens[2].run = run_nothing;
    start_threads(1, push_one);
    for (uint32_t k = 0; k < 3; k++)
        push_one(NULL);
    join_threads(1);
}

void body_two_meet_without_work(void *argument)
{
    begins = begins_late;
    meet_on(argument, push_with_nothing);
    begins = NULL;
}

/* --- lent threads ----------------------------------------------------------------------------- */

static _Atomic uint32_t stop;

static void lend_twice(void *unused)
{
    (void)unused;
    (void)fr_pool_lend(pool, NULL, 1);
    (void)fr_pool_lend(pool, NULL, 0);
}

static void lend_until_stopped(void *unused)
{
    (void)unused;
    (void)fr_pool_lend(pool, &stop, 0);
}

static void run_and_push(fr_runnable *token, fr_worker *worker)
{
    uint32_t child = (uint32_t)(token - tokens) + TOKENS / 2;
    tokens[child].run = run_token;
    fr_pool_push(fr_worker_pool(worker), &tokens[child]);
    run_token(token, worker);
}

void body_lend(void *argument)
{
    shape_now = argument;
    pool = make_pool(shape_now->workers);
    (void)fr_pool_start(pool);
    fr_store_seq_cst(&stop, 0);
    reset_tokens(run_and_push);
    fr_countdown_set(&countdown, shape_now->tokens * 2);
    start_threads(2, lend_twice);
    (void)fr_os_current->thread_start(&threads[2], lend_until_stopped, NULL, "lent");
    push_mine(NULL);
    fr_countdown_wait(&countdown);
    fr_store_seq_cst(&stop, 1);
    fr_pool_kick(pool);
    join_threads(3);
    for (uint32_t k = 0; k < shape_now->tokens; k++)
        fr_systematic_check(fr_load_relaxed(&runs[k]) == 1 &&
                                fr_load_relaxed(&runs[TOKENS / 2 + k]) == 1,
                            "a token did not run once");
    fr_pool_destroy(pool);
}

/* --- life ------------------------------------------------------------------------------------- */

static void start_pool(void *unused)
{
    (void)unused;
    (void)fr_pool_start(pool);
}

void body_create_and_destroy(void *argument)
{
    shape_now = argument;
    for (uint32_t round = 0; round < shape_now->rounds; round++) {
        pool = make_pool(shape_now->workers);
        if (round % 2 == 0) {
            start_threads(1, start_pool);
            start_pool(NULL);
            join_threads(1);
            reset_tokens(run_token);
            fr_countdown_set(&countdown, 1);
            if (fr_pool_worker_count(pool) > 0) {
                fr_pool_push(pool, &tokens[0]);
                fr_countdown_wait(&countdown);
            }
        }
        fr_pool_destroy(pool);
    }
}

/* --- jobs ------------------------------------------------------------------------------------- */

#define CHUNKS 8

/* The flags of a job live beside it: what the callbacks find tells whether they came too early or
 * too often. */
static struct {
    fr_job job;
    uint32_t chunks;
    _Atomic uint32_t bodies[CHUNKS];
    _Atomic uint32_t finished, released;
} job_now;

static void job_body(fr_job *job, uint32_t chunk, fr_worker *worker)
{
    (void)job;
    (void)worker;
    fr_systematic_check(fr_load_relaxed(&job_now.released) == 0, "a body ran after the release");
    fr_systematic_check(fr_load_relaxed(&job_now.finished) == 0, "a body ran after the finish");
    (void)fr_add_seq_cst(&job_now.bodies[chunk], 1);
}

static void job_finished(fr_job *job, fr_worker *worker)
{
    (void)job;
    (void)worker;
    for (uint32_t k = 0; k < job_now.chunks; k++)
        fr_systematic_check(fr_load_relaxed(&job_now.bodies[k]) == 1, "a chunk did not run once");
    fr_systematic_check(fr_add_seq_cst(&job_now.finished, 1) == 0, "finished twice");
}

static void job_released(fr_job *job)
{
    (void)job;
    fr_systematic_check(fr_load_relaxed(&job_now.finished) == 1, "released before it was finished");
    fr_systematic_check(fr_add_seq_cst(&job_now.released, 1) == 0, "released twice");
    fr_countdown_arrive(&countdown);
}

static const fr_job_type job_type = {job_body, job_finished, job_released};

static void help_some(void *unused)
{
    (void)unused;
    for (int k = 0; k < 4; k++)
        (void)fr_job_help(&job_now.job, NULL);
}

void body_jobs(void *argument)
{
    const job_shape *shape = argument;
    pool = make_pool(shape->workers);
    (void)fr_pool_start(pool);
    fr_job_init(&job_now.job, &job_type, 0, 0);
    start_threads(shape->helpers, help_some);
    for (uint32_t round = 0; round < shape->rounds; round++) {
        job_now.chunks = shape->chunks;
        for (uint32_t k = 0; k < CHUNKS; k++)
            fr_store_seq_cst(&job_now.bodies[k], 0);
        fr_store_seq_cst(&job_now.finished, 0);
        fr_store_seq_cst(&job_now.released, 0);
        fr_countdown_set(&countdown, 1);
        fr_job_init(&job_now.job, &job_type, shape->chunks, 0);
        fr_job_start(&job_now.job, pool, NULL);
        fr_countdown_wait(&countdown);
        fr_systematic_check(fr_load_relaxed(&job_now.job.refs) == 0, "released while it was held");
    }
    join_threads(shape->helpers);
    fr_pool_destroy(pool);
}
