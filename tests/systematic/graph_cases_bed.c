#include "tests/systematic/graph_cases_bed.h"

#include <string.h>

#include "tests/systematic/systematic.h"

fr_pool *pool;
fr_graph *graph;
graph_shape shape;
static void (*case_now)(uint32_t thread);
_Atomic uint32_t ran_count;
static _Atomic uint32_t next_thread;
_Atomic uint64_t ids[THREADS_MAX][OPS_MAX];
uint64_t lane_count[ALL];
bool lane_sealed[ALL];
static uint64_t lane_last[ALL];

static _Thread_local uint64_t awaited_now;

uint64_t set_awaited(uint64_t id)
{
    uint64_t outer = awaited_now;
    awaited_now = id;
    return outer;
}

fr_wait_outcome wait_until(uint64_t id)
{
    fr_wait_outcome outcome;
    uint64_t outer = set_awaited(id);
    fr_graph_wait(graph, id, FR_TIMEOUT_INFINITE, &outcome);
    (void)set_awaited(outer);
    return outcome;
}

void check_ok(const fr_wait_outcome *outcome)
{
    fr_systematic_check(outcome->status == OVSTAGE_OK, "a wait ended with a wrong status");
}

fr_run_result run(fr_op *op, const fr_run_context *context)
{
    case_op *self = fr_op_payload(op);
    fr_systematic_check(context->worker || awaited_now == 0 || fr_op_id(op) <= awaited_now,
                        "a wait ran an op that is not of its chain");
    bool is_split = self->is_split;
    (void)fr_add_relaxed(&ran_count, 1);
    if (self->ordinal > 0 && self->ordinal < ALL) {
        fr_systematic_check(!lane_sealed[self->ordinal], "an op ran after its seal");
        fr_systematic_check(lane_last[self->ordinal] < fr_op_id(op),
                            "ops of a lane ran in a wrong order");
        lane_last[self->ordinal] = fr_op_id(op);
        lane_count[self->ordinal]++;
    }
    if (self->run)
        self->run(op, self);
    return is_split ? FR_RUN_SPLIT : FR_RUN_DONE;
}

const fr_op_type op_type = {.name = "op", .run = run};

uint64_t submit_as(const fr_op_type *type, fr_submission *submission, case_op payload)
{
    uint64_t id = 0;
    submission->op = fr_graph_op_get(graph, type);
    payload.ordinal = submission->has_ordinal ? submission->ordinal : 0;
    memcpy(fr_op_payload(submission->op), &payload, sizeof(payload));
    if (fr_graph_submit(graph, submission, &id) != OVSTAGE_OK)
        fr_graph_op_put(graph, submission->op);
    return id;
}

uint64_t submit_at(uint64_t ordinal, case_op payload)
{
    fr_submission submission = {
        .has_ordinal = ordinal > 0, .ordinal = ordinal, .attribute_filter = 1};
    return submit_as(&op_type, &submission, payload);
}

void wait_for(uint64_t id)
{
    fr_wait_outcome outcome = wait_until(id);
    check_ok(&outcome);
    fr_op_state state = fr_graph_op_state(graph, id);
    fr_systematic_check(state == FR_OP_DONE || state == FR_OP_FAILED,
                        "an op is not complete after the wait");
}

bool has_no_work(void *unused)
{
    (void)unused;
    return fr_graph_pending_count(graph) == 0;
}

static void thread_main(void *unused)
{
    (void)unused;
    case_now(fr_add_relaxed(&next_thread, 1));
}

void set_up(const graph_shape *wanted)
{
    shape = *wanted;
    memset(lane_last, 0, sizeof(lane_last));
    memset(lane_count, 0, sizeof(lane_count));
    memset(lane_sealed, 0, sizeof(lane_sealed));
    fr_store_seq_cst(&next_thread, 0);
    fr_store_seq_cst(&ran_count, 0);
    for (uint32_t k = 0; k < THREADS_MAX; k++)
        for (uint32_t i = 0; i < OPS_MAX; i++)
            fr_store_seq_cst(&ids[k][i], 0);
    fr_pool_config pool_config = {.worker_count = shape.workers,
                                  .spin_ns = 100,
                                  .begins = fr_graph_token_begins,
                                  .allocator = &fr_allocator_default};
    pool = fr_pool_create(&pool_config);
    fr_graph_config config = {.pool = pool,
                              .allocator = &fr_allocator_default,
                              .op_limit = 1000,
                              .caller_spin_ns = fr_systematic_random(2) * 200,
                              .id_prefix = 3,
                              .caller_runs = fr_systematic_random(4) > 0};
    graph = fr_graph_create(&config);
}

uint64_t take_down(void)
{
    uint64_t dropped = fr_graph_destroy(graph);
    fr_pool_destroy(pool);
    return dropped;
}

void run_threads(void (*body)(uint32_t thread))
{
    static fr_os_thread threads[THREADS_MAX];
    case_now = body;
    for (uint32_t k = 1; k < shape.threads; k++)
        (void)fr_os_current->thread_start(&threads[k], thread_main, NULL, "caller");
    thread_main(NULL);
    for (uint32_t k = 1; k < shape.threads; k++)
        fr_os_current->thread_join(&threads[k]);
}

void run_case(const void *wanted, void (*body)(uint32_t thread), uint32_t ran)
{
    set_up(wanted);
    run_threads(body);
    fr_systematic_check(take_down() == 0, "ops were dropped");
    fr_systematic_check(ran == UINT32_MAX || fr_load_relaxed(&ran_count) == ran,
                        "not every op ran once");
}
