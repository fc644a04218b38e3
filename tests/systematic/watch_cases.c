#include "tests/systematic/watch_cases.h"

#include <string.h>

#include "tests/support/fake_device.h"
#include "tests/systematic/systematic.h"

#define THREADS 3u
#define OPS 5u
#define JOBS (THREADS * OPS)
#define LATE_NS 300000u

static fr_pool *pool;
static fr_graph *graph;
static fake_device device;
static fake_job jobs[JOBS];
static _Atomic uint64_t ids[JOBS];
static const watch_shape *shape;
static _Atomic uint32_t next_thread, stop;
static fr_os_thread threads[THREADS + 1];

typedef struct watch_op {
    fake_job *job;   /* that it begins, or NULL */
    bool parks;      /* until its job is over */
    uint64_t inside; /* an id + 1 of JOBS that it waits for, or 0 */
    fake_job *spins; /* until that job has ended, or NULL */
} watch_op;

static uint64_t some_time(void)
{
    return fr_os_current->now_ns() + fr_systematic_random(LATE_NS);
}

static fr_run_result run(fr_op *op, const fr_run_context *context)
{
    watch_op *self = fr_op_payload(op);
    if (self->job)
        fake_device_begin(&device, self->job, some_time());
    if (self->inside > 0 && fr_load_seq_cst(&ids[self->inside - 1]) != 0) {
        fr_wait_outcome outcome;
        fr_graph_wait(context->graph, fr_load_seq_cst(&ids[self->inside - 1]), FR_TIMEOUT_INFINITE,
                      &outcome);
    }
    while (self->spins && !fake_job_has_ended(self->spins)) {
        (void)fr_os_current->now_ns();
        fr_os_current->pause();
    }
    return self->parks ? fake_work_park(&self->job->work, op) : FR_RUN_DONE;
}

static const fr_op_type op_type = {.name = "op", .run = run};
static const fr_op_type task_type = {.name = "task", .run = run, .is_task = true};

static uint64_t submit(const fr_op_type *type, uint64_t ordinal, watch_op payload)
{
    uint64_t id = 0;
    fr_submission submission;
    fr_submission_begin(&submission, fr_graph_op_get(graph, type));
    submission.has_ordinal = ordinal > 0;
    submission.ordinal = ordinal;
    submission.attribute_filter = 1;
    memcpy(fr_op_payload(submission.op), &payload, sizeof(payload));
    if (payload.job && !payload.parks)
        submission.report = fake_work_report(graph, &payload.job->work);
    fr_systematic_check(fr_graph_submit(graph, &submission, &id) == OVSTAGE_OK, "refused");
    return id;
}

static void set_up(void *wanted)
{
    shape = wanted;
    fr_pool_config pool_config = {.worker_count = shape->workers,
                                  .spin_ns = fr_systematic_random(2) * 300,
                                  .begins = fr_graph_token_begins,
                                  .allocator = &fr_allocator_default};
    pool = fr_pool_create(&pool_config);
    fr_graph_config config = {.pool = pool,
                              .allocator = &fr_allocator_default,
                              .op_limit = 1000,
                              .caller_spin_ns = fr_systematic_random(2) * 200,
                              .id_prefix = 3,
                              .caller_runs = fr_systematic_random(3) > 0};
    graph = fr_graph_create(&config);
    fake_device_open(&device, pool, graph, jobs, JOBS);
    fr_store_seq_cst(&next_thread, 0);
    fr_store_seq_cst(&stop, 0);
    for (uint32_t k = 0; k < JOBS; k++)
        fr_store_seq_cst(&ids[k], 0);
}

static void start(uint32_t slot, void (*body)(void *))
{
    (void)fr_os_current->thread_start(&threads[slot], body, NULL, "caller");
}

static void lend(void *unused)
{
    (void)unused;
    (void)fr_pool_lend(pool, &stop, 0);
}

static bool has_no_work(void *unused)
{
    (void)unused;
    return fr_graph_pending_count(graph) == 0;
}

/* Nothing is outstanding: once those that are asleep have seen that, nobody looks or wakes. */
static void check_idle(void)
{
    static _Atomic uint32_t nobody;
    fr_pool_statistics before, after;
    while (fr_pool_is_watching(pool)) /* who has looked may be about to say so */
        fr_os_current->pause();
    (void)fr_os_current->futex_wait(&nobody, 0, 10 * FR_WATCH_NAP_NS);
    uint64_t looks = fr_load_relaxed(&device.looks);
    fr_pool_statistics_read(pool, &before);
    for (uint32_t k = 0; k < 8; k++) /* one may return early */
        (void)fr_os_current->futex_wait(&nobody, 0, 10 * FR_WATCH_NAP_NS);
    fr_pool_statistics_read(pool, &after);
    fr_systematic_check(fr_load_relaxed(&device.looks) == looks, "somebody looks at nothing");
    /* A sleep may end for no reason; who is the looker would wake eighty times. */
    fr_systematic_check(after.sleeps - before.sleeps <= 8 + shape->workers,
                        "somebody wakes though nothing is outstanding");
}

static void take_down(void)
{
    (void)fr_graph_destroy(graph);
    fake_device_close(&device);
    fr_pool_destroy(pool);
}

/* --- a load ----------------------------------------------------------------------------------- */

static void wait_in_some_way(uint64_t id)
{
    fr_wait_outcome outcome;
    fr_condition condition = {.ready = has_no_work};
    switch (fr_systematic_random(4)) {
    case 0:
        fr_graph_wait(graph, id, fr_systematic_random(2) * 400, &outcome);
        break;
    case 1:
        fr_graph_wait_condition(graph, &condition, fr_systematic_random(2) * 400, &outcome);
        break;
    case 2:
        (void)fr_graph_run_some(graph, 1);
        break;
    default:
        break;
    }
    fr_graph_wait(graph, id, FR_TIMEOUT_INFINITE, &outcome);
    fr_systematic_check(outcome.status == OVSTAGE_OK, "a wait ended with a wrong status");
}

static void load(void *unused)
{
    (void)unused;
    uint32_t first = fr_add_seq_cst(&next_thread, 1) * OPS;
    for (uint32_t k = 0; k < shape->ops; k++) {
        watch_op payload = {.job = fr_systematic_random(3) > 0 ? &jobs[first + k] : NULL};
        payload.parks = payload.job && fr_systematic_random(3) == 0;
        if (fr_systematic_random(4) == 0)
            payload.inside = 1 + fr_systematic_random(JOBS);
        fr_store_seq_cst(&ids[first + k], submit(&op_type, fr_systematic_random(3), payload));
    }
    for (uint32_t k = 0; k < shape->ops; k++)
        wait_in_some_way(fr_load_seq_cst(&ids[first + k]));
}

static void end_lend(void)
{
    fr_store_seq_cst(&stop, 1);
    fr_pool_kick(pool);
    fr_os_current->thread_join(&threads[0]);
}

void body_watch_load(void *argument)
{
    set_up(argument);
    if (shape->lent > 0)
        start(0, lend);
    for (uint32_t k = 1; k < shape->threads; k++)
        start(k, load);
    load(NULL);
    for (uint32_t k = 1; k < shape->threads; k++)
        fr_os_current->thread_join(&threads[k]);
    fr_wait_outcome outcome;
    fr_graph_wait_condition(graph, &(fr_condition){.ready = has_no_work}, FR_TIMEOUT_INFINITE,
                            &outcome);
    check_idle();
    if (shape->lent > 0)
        end_lend();
    take_down();
}

/* --- nobody but one who waits, or another worker ---------------------------------------------- */

void body_watch_blocked(void *argument)
{
    set_up(argument);
    fr_wait_outcome outcome;
    for (uint32_t k = 0; k < shape->ops; k++) {
        (void)submit(&op_type, 1, (watch_op){.job = &jobs[k]});
        uint64_t id = submit(&task_type, 1, (watch_op){.spins = &jobs[k]});
        if (fr_systematic_random(2) == 0)
            fr_graph_wait(graph, id, FR_TIMEOUT_INFINITE, &outcome);
        else
            fr_graph_wait_condition(graph, &(fr_condition){.ready = has_no_work},
                                    FR_TIMEOUT_INFINITE, &outcome);
        fr_systematic_check(outcome.status == OVSTAGE_OK, "a wait ended with a wrong status");
    }
    take_down();
}

/* --- all asleep ------------------------------------------------------------------------------- */

static void wait_for_one_of_two(void *unused)
{
    (void)unused;
    fr_wait_outcome outcome;
    uint32_t which = fr_add_seq_cst(&next_thread, 1) % 2;
    fr_graph_wait(graph, fr_load_seq_cst(&ids[which]), FR_TIMEOUT_INFINITE, &outcome);
    fr_systematic_check(outcome.status == OVSTAGE_OK, "a wait ended with a wrong status");
}

/* The work is begun by a thread that goes away, when all others may sleep already. Who waits for
 * the other op is woken just when it may have been called to look. */
static void begin_and_go(void *unused)
{
    (void)unused;
    fake_device_begin(&device, &jobs[0], some_time());
    fake_work_end(graph, &jobs[1].work, NULL);
}

static fr_run_result run_parked(fr_op *op, const fr_run_context *context)
{
    (void)context;
    return fake_work_park(*(fake_work **)fr_op_payload(op), op);
}

static const fr_op_type parked_type = {.name = "parked", .run = run_parked};

void body_watch_all_asleep(void *argument)
{
    set_up(argument);
    for (uint32_t k = 0; k < 2; k++) {
        fr_submission submission;
        uint64_t id = 0;
        fr_submission_begin(&submission, fr_graph_op_get(graph, &parked_type));
        *(fake_work **)fr_op_payload(submission.op) = &jobs[k].work;
        (void)fr_graph_submit(graph, &submission, &id);
        fr_store_seq_cst(&ids[k], id);
    }
    for (uint32_t k = 1; k < shape->threads; k++)
        start(k, wait_for_one_of_two);
    start(0, begin_and_go);
    wait_for_one_of_two(NULL);
    for (uint32_t k = 0; k < shape->threads; k++)
        fr_os_current->thread_join(&threads[k]);
    check_idle();
    take_down();
}

/* --- the end ---------------------------------------------------------------------------------- */

void body_watch_destroy(void *argument)
{
    set_up(argument);
    for (uint32_t k = 0; k < shape->ops; k++) {
        watch_op payload = {.job = &jobs[k], .parks = fr_systematic_random(2) == 0};
        (void)submit(&op_type, fr_systematic_random(2), payload);
        if (fr_systematic_random(2) == 0)
            (void)fr_graph_run_some(graph, 1);
    }
    (void)fr_graph_destroy(graph);
    /* What was begun is not over because its op was dropped. */
    while (fr_pool_is_watching(pool)) {
        (void)fr_pool_look(pool);
        fr_os_current->pause();
    }
    for (uint32_t k = 0; k < shape->ops; k++)
        fr_systematic_check(fr_load_relaxed(&jobs[k].stage) != FAKE_JOB_UNDER_WAY,
                            "work is under way after the end");
    fake_device_close(&device);
    fr_pool_destroy(pool);
}
