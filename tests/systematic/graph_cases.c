#include "tests/systematic/graph_cases_bed.h"

#include <string.h>

#include "scheduler/job.h"
#include "tests/support/graph_load.h"
#include "tests/systematic/systematic.h"

/* --- lanes ------------------------------------------------------------------------------------ */

static void submit_to_one_lane(uint32_t thread)
{
    (void)thread;
    uint64_t id = 0;
    for (uint32_t k = 0; k < shape.ops; k++)
        id = submit_at(1, (case_op){0});
    wait_for(id);
}

void body_one_lane(void *argument)
{
    const graph_shape *wanted = argument;
    run_case(wanted, submit_to_one_lane, wanted->threads * wanted->ops);
}

/* A bit of the filter each: what others have pending does not count. */
static void wait_and_look(uint32_t thread)
{
    fr_submission submission = {.has_ordinal = true, .attribute_filter = UINT64_C(1) << thread};
    for (uint32_t k = 0; k < shape.ops; k++) {
        submission.ordinal = 1 + k + thread * OPS_MAX;
        wait_for(submit_as(&op_type, &submission, (case_op){0}));
        uint64_t next_id = 0;
        fr_graph_lock(graph);
        bool settled =
            fr_graph_is_settled(graph, UINT64_MAX, submission.attribute_filter, &next_id);
        fr_graph_unlock(graph);
        fr_systematic_check(settled, "something is pending for who has waited for all of it");
    }
}

void body_settled(void *argument)
{
    const graph_shape *wanted = argument;
    run_case(wanted, wait_and_look, wanted->threads * wanted->ops);
}

static void submit_and_wait_for_another(uint32_t thread)
{
    for (uint32_t k = 0; k < shape.ops; k++)
        fr_store_seq_cst(&ids[thread][k],
                         submit_at(1 + (thread + k) % shape.threads, (case_op){0}));
    for (uint32_t k = 0; k < shape.ops; k++) {
        uint64_t other = fr_load_seq_cst(&ids[(thread + 1) % shape.threads][k]);
        if (other != 0)
            wait_for(other);
    }
    for (uint32_t k = 0; k < shape.ops; k++)
        wait_for(fr_load_seq_cst(&ids[thread][k]));
}

void body_hand_over(void *argument)
{
    const graph_shape *wanted = argument;
    run_case(wanted, submit_and_wait_for_another, wanted->threads * wanted->ops);
}

/* --- seals ------------------------------------------------------------------------------------ */

/* Under admission. */
static uint64_t lane_accepted[ALL], accepted_floor, last_seal;

static ovstage_api_status_t admit_write(fr_submission *submission, void *user)
{
    (void)user;
    return submission->ordinal <= accepted_floor ? OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION : OVSTAGE_OK;
}

static void accept_write(fr_submission *submission, uint64_t id, void *user)
{
    (void)id;
    (void)user;
    lane_accepted[submission->ordinal]++;
}

static ovstage_api_status_t admit_seal(fr_submission *submission, void *user)
{
    (void)user;
    submission->below_ordinal = accepted_floor + 1;
    submission->producer_ids[0] = last_seal;
    submission->producer_count = last_seal != 0;
    return OVSTAGE_OK;
}

static void accept_seal(fr_submission *submission, uint64_t id, void *user)
{
    (void)user;
    accepted_floor = submission->below_ordinal;
    last_seal = id;
}

static void run_seal(fr_op *op, case_op *self)
{
    (void)op;
    (void)self;
    uint64_t ordinal = 1;
    while (ordinal < ALL && lane_sealed[ordinal])
        ordinal++;
    fr_systematic_check(lane_count[ordinal] == lane_accepted[ordinal],
                        "a seal ran before an op that it seals");
    lane_sealed[ordinal] = true;
}

static uint64_t submit_seal(void)
{
    uint64_t producer;
    fr_submission submission = {.takes_lanes_below = true,
                                .covers_lanes = true,
                                .below_filter = UINT64_MAX,
                                .producer_ids = &producer,
                                .producer_capacity = 1,
                                .admit = admit_seal,
                                .accepted = accept_seal};
    return submit_as(&op_type, &submission, (case_op){.run = run_seal});
}

static uint64_t submit_write(uint64_t ordinal)
{
    fr_submission submission = {.has_ordinal = true,
                                .ordinal = ordinal,
                                .attribute_filter = 1,
                                .admit = admit_write,
                                .accepted = accept_write};
    return submit_as(&op_type, &submission, (case_op){0});
}

static void write_and_seal(uint32_t thread)
{
    for (uint32_t k = 0; k < shape.ops; k++) {
        uint64_t id =
            thread % 2 == 0 ? submit_seal() : submit_write(k + 1 + fr_systematic_random(2));
        if (id != 0 && fr_systematic_random(2) == 0)
            wait_for(id);
    }
}

void body_seal(void *argument)
{
    set_up(argument);
    memset(lane_accepted, 0, sizeof(lane_accepted));
    accepted_floor = last_seal = 0;
    run_threads(write_and_seal);
    wait_for(submit_seal());
    fr_systematic_check(take_down() == 0 || shape.threads > 0, "ops were dropped");
}

/* --- edges ------------------------------------------------------------------------------------ */

static void check_producer(fr_op *op, case_op *self)
{
    (void)op;
    fr_systematic_check(self->producer == 0 ||
                            fr_graph_op_state(graph, self->producer) != FR_OP_PENDING,
                        "an op ran before its producer had completed");
    if (fr_op_id(op) % 5 == 0)
        fr_op_fail(op, OVSTAGE_ERROR_NOT_FOUND, "by intention");
}

static void submit_with_edges(uint32_t thread)
{
    for (uint32_t k = 0; k < shape.ops; k++) {
        uint64_t producer = fr_load_seq_cst(&ids[(thread + 1) % shape.threads][k > 0 ? k - 1 : 0]);
        fr_submission submission = {.has_ordinal = k % 2 == 0,
                                    .ordinal = thread + 1,
                                    .attribute_filter = 1,
                                    .producer_ids = &producer,
                                    .producer_count = producer != 0,
                                    .producer_capacity = 1,
                                    .fails_with_producers = k % 4 == 3};
        case_op payload = {.run = check_producer, .producer = producer};
        fr_store_seq_cst(&ids[thread][k], submit_as(&op_type, &submission, payload));
    }
    for (uint32_t k = 0; k < shape.ops; k++)
        wait_for(fr_load_seq_cst(&ids[thread][k]));
}

/* Lanes that come to an op with edges as soon as the awaited one is done. */
static void wait_ahead_of_edges(uint32_t thread)
{
    for (uint32_t k = 0; k < shape.ops; k++) {
        uint64_t first = submit_at(1 + thread, (case_op){0});
        uint64_t producer = submit_at(0, (case_op){0});
        fr_submission behind = {.has_ordinal = true,
                                .ordinal = 1 + thread,
                                .attribute_filter = 1,
                                .producer_ids = &producer,
                                .producer_count = 1,
                                .producer_capacity = 1};
        uint64_t last = submit_as(&op_type, &behind, (case_op){0});
        fr_store_seq_cst(&ids[thread][k], first);
        uint64_t other = fr_load_seq_cst(&ids[(thread + 1) % shape.threads][k]);
        if (other != 0)
            wait_for(other);
        wait_for(last);
    }
}

void body_wait_ahead(void *argument)
{
    const graph_shape *wanted = argument;
    run_case(argument, wait_ahead_of_edges, wanted->threads * wanted->ops * 3);
}

void body_edges(void *argument)
{
    run_case(argument, submit_with_edges, UINT32_MAX);
}

/* --- ids -------------------------------------------------------------------------------------- */

static void submit_and_release(uint32_t thread)
{
    for (uint32_t k = 0; k < shape.ops; k++) {
        uint64_t id = submit_at(fr_systematic_random(3), (case_op){0});
        fr_store_seq_cst(&ids[thread][k], id);
        if (fr_systematic_random(2) == 0) {
            wait_for(id);
            fr_systematic_check(fr_graph_op_state(graph, id) == FR_OP_DONE,
                                "a held id is not done");
        }
        fr_systematic_check(fr_graph_release(graph, id) == OVSTAGE_OK,
                            "an id could not be released");
        fr_systematic_check(fr_graph_op_state(graph, id) == FR_OP_UNKNOWN,
                            "a released id is known");
        fr_systematic_check(fr_graph_release(graph, id) == OVSTAGE_ERROR_INVALID_HANDLE,
                            "released twice");
        uint64_t other = fr_load_seq_cst(&ids[(thread + 1) % shape.threads][k]);
        fr_wait_outcome outcome;
        fr_graph_wait(graph, other, FR_TIMEOUT_INFINITE,
                      &outcome); /* it may be released meanwhile */
        fr_systematic_check(outcome.status == OVSTAGE_OK ||
                                outcome.status == OVSTAGE_ERROR_INVALID_HANDLE,
                            "a wait for a released id ended with a wrong status");
    }
}

void body_release(void *argument)
{
    set_up(argument);
    run_threads(submit_and_release);
    fr_wait_outcome outcome;
    fr_graph_wait_condition(graph, &(fr_condition){.ready = has_no_work}, FR_TIMEOUT_INFINITE,
                            &outcome);
    check_ok(&outcome);
    fr_systematic_check(take_down() == 0, "ops were dropped");
}

/* --- split ops -------------------------------------------------------------------------------- */

#define CHUNKS 3u

typedef struct split_job {
    fr_job job;
    fr_op *op;
    _Atomic uint32_t bodies;
} split_job;

static split_job jobs[ALL]; /* one for each op */

static void job_body(fr_job *job, uint32_t chunk, fr_worker *worker)
{
    (void)chunk;
    (void)worker;
    (void)fr_add_relaxed(&((split_job *)(void *)job)->bodies, 1);
}

static void job_finished(fr_job *job, fr_worker *worker)
{
    split_job *mine = (split_job *)(void *)job;
    fr_systematic_check(fr_load_relaxed(&mine->bodies) == CHUNKS,
                        "a split op ended before its chunks");
    fr_graph_op_finish(graph, mine->op, worker);
}

static void job_released(fr_job *job)
{
    (void)job;
}

static const fr_job_type job_type = {job_body, job_finished, job_released};

static void run_split(fr_op *op, case_op *self)
{
    split_job *mine = &jobs[self->job];
    mine->op = op;
    fr_store_seq_cst(&mine->bodies, 0);
    fr_job_init(&mine->job, &job_type, CHUNKS, 0);
    fr_job_start(&mine->job, pool, fr_worker_current());
}

static void help_split(fr_op *op, const fr_run_context *context)
{
    const case_op *self = fr_op_payload(op);
    (void)fr_job_help(&jobs[self->job].job, context->worker);
}

static const fr_op_type split_type = {.name = "split", .run = run, .help = help_split};

static void submit_split(uint32_t thread)
{
    uint64_t mine[OPS_MAX];
    fr_submission submission = {.ordinal = 1, .attribute_filter = 1};
    for (uint32_t k = 0; k < shape.ops; k++) {
        submission.has_ordinal = k % 3 != 0;
        case_op payload = {.run = run_split, .is_split = true, .job = thread * OPS_MAX + k};
        mine[k] = k % 2 == thread % 2 ? submit_as(&split_type, &submission, payload)
                                      : submit_at(1, (case_op){0});
        for (uint32_t i = 0; i < ALL; i++)
            (void)fr_job_help(&jobs[i].job, NULL);
    }
    for (uint32_t k = shape.ops; k-- > 0;)
        wait_for(mine[k]);
}

void body_split(void *argument)
{
    const graph_shape *wanted = argument;
    memset(jobs, 0, sizeof(jobs));
    run_case(wanted, submit_split, wanted->threads * wanted->ops);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void submit_only(uint32_t thread)
{
    for (uint32_t k = 0; k < shape.ops; k++)
        (void)submit_at(fr_systematic_random(3), (case_op){.awaited = thread});
}

void body_destroy(void *argument)
{
    set_up(argument);
    run_threads(submit_only);
    uint64_t dropped = take_down();
    fr_systematic_check(dropped + fr_load_relaxed(&ran_count) ==
                            (uint64_t)shape.threads * shape.ops,
                        "an op neither ran nor was dropped");
}

void body_load(void *argument)
{
    const graph_shape *wanted = argument;
    graph_load_options options = {.workers = wanted->workers,
                                  .producers = wanted->threads,
                                  .ops = wanted->ops,
                                  .seed = fr_systematic_random(UINT64_C(1) << 40),
                                  .caller_spin_ns = fr_systematic_random(2) * 200,
                                  .caller_runs = fr_systematic_random(4) > 0,
                                  .destroys_early = fr_systematic_random(4) == 0,
                                  .op_limit = fr_systematic_random(3) == 0 ? 6 : 0};
    const char *wrong = graph_load(&options);
    fr_systematic_check(!wrong, wrong ? wrong : "");
}
