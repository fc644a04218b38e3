/* Waits: inside ops, for conditions, of several ids. */
#include "scheduler/wait.h"
#include "tests/systematic/graph_cases_bed.h"
#include "tests/systematic/systematic.h"

/* --- waits inside ops ------------------------------------------------------------------------- */

static void wait_inside(fr_op *op, case_op *self)
{
    (void)op;
    uint64_t awaited =
        fr_load_seq_cst(&ids[self->awaited % THREADS_MAX][self->awaited / THREADS_MAX]);
    if (awaited == 0)
        return;
    fr_wait_outcome outcome = wait_until(awaited);
    fr_systematic_check(outcome.status == OVSTAGE_OK ||
                            outcome.status == OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "a wait inside an op ended with a wrong status");
}

static void submit_waiting(uint32_t thread)
{
    for (uint32_t k = 0; k < shape.ops; k++) {
        uint32_t other = (uint32_t)fr_systematic_random(shape.threads);
        uint64_t slot = fr_systematic_random(shape.ops);
        case_op payload = {.run = wait_inside, .awaited = other + slot * THREADS_MAX};
        fr_store_seq_cst(&ids[thread][k], submit_at(k % 2 == 0 ? thread + 1 : 0, payload));
    }
    for (uint32_t k = 0; k < shape.ops; k++)
        wait_for(fr_load_seq_cst(&ids[thread][k]));
}

void body_wait_inside(void *argument)
{
    run_case(argument, submit_waiting, UINT32_MAX);
}

/* --- room ------------------------------------------------------------------------------------- */

static _Atomic uint32_t refused_count;

static bool has_room(void *user)
{
    return fr_graph_pending_count(graph) <= (uintptr_t)user;
}

static bool needs_ops(void *unused)
{
    (void)unused;
    return true;
}

/* Where it is refused, nothing completes before this op does, unless another was refused too. */
static void wait_for_room(fr_op *op, case_op *self)
{
    (void)op;
    uintptr_t most = (uintptr_t)self->awaited;
    fr_wait_outcome outcome;
    fr_condition condition = {.ready = has_room, .needs_ops = needs_ops, .user = (void *)most};
    condition.what = "room";
    uint64_t outer = set_awaited(0); /* it runs what there is */
    fr_graph_wait_condition(graph, &condition, FR_TIMEOUT_INFINITE, &outcome);
    (void)set_awaited(outer);
    if (outcome.status == OVSTAGE_OK)
        return;
    fr_systematic_check(outcome.status == OVSTAGE_ERROR_INVALID_ARGUMENT && most < ALL,
                        "a wait for room ended with a wrong status");
    (void)fr_add_seq_cst(&refused_count, 1);
    bool has = has_room((void *)most);
    fr_systematic_check(!has || fr_load_seq_cst(&refused_count) > 1,
                        "room that came was not waited for");
}

/* Waits for room, waits for ops of others that may wait for it, and ops behind edges, mixed. */
static void submit_room(uint32_t thread)
{
    for (uint32_t k = 0; k < shape.ops; k++) {
        uint64_t other = fr_load_seq_cst(&ids[(thread + 1) % shape.threads][k]);
        fr_submission submission = {.ordinal = fr_systematic_random(3),
                                    .attribute_filter = 1,
                                    .producer_ids = &other,
                                    .producer_count = other != 0 && fr_systematic_random(2) == 0,
                                    .producer_capacity = 1};
        submission.has_ordinal = submission.ordinal > 0;
        case_op payload = {0};
        switch (fr_systematic_random(4)) {
        case 0:
            payload.run = wait_for_room;
            payload.awaited = fr_systematic_random(8) == 0 ? ALL : fr_systematic_random(4);
            break;
        case 1:
            payload.run = wait_inside;
            payload.awaited = fr_systematic_random(ALL);
            break;
        default:
            break;
        }
        fr_store_seq_cst(&ids[thread][k], submit_as(&op_type, &submission, payload));
    }
    for (uint32_t k = 0; k < shape.ops; k++)
        wait_for(fr_load_seq_cst(&ids[thread][k]));
}

void body_room(void *argument)
{
    fr_store_seq_cst(&refused_count, 0);
    run_case(argument, submit_room, UINT32_MAX);
}

/* What the others wait for has no room: each is inside an op that is pending. */
static void help_with_room(void *offered)
{
    fr_running_joined joined;
    fr_condition condition = {.ready = has_room, .needs_ops = needs_ops, .user = NULL};
    condition.what = "room";
    fr_wait_outcome outcome;
    fr_running_join(&joined, offered);
    fr_graph_wait_condition(graph, &condition, FR_TIMEOUT_INFINITE, &outcome);
    fr_running_end_join(&joined);
    fr_systematic_check(outcome.status == OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "a wait for room inside an op ended before that");
}

/* Another thread does a part of it, and waits for room there; this one waits for an op meanwhile,
 * and then for the part, as a fork-join does. */
static void wait_beside_helper(fr_op *op, case_op *self)
{
    fr_os_thread helper;
    const fr_running *offered = fr_running_offer();
    (void)fr_os_current->thread_start(&helper, help_with_room, (void *)(uintptr_t)offered,
                                      "helper");
    wait_inside(op, self);
    fr_os_current->thread_join(&helper);
}

static void submit_helped(uint32_t thread)
{
    fr_store_seq_cst(&ids[thread][0], submit_at(0, (case_op){0}));
    wait_for(submit_at(0, (case_op){.run = wait_beside_helper, .awaited = thread}));
}

void body_room_beside(void *argument)
{
    run_case(argument, submit_helped, UINT32_MAX);
}

/* --- tokens out of sight ---------------------------------------------------------------------- */

static bool has_run_enough(void *user)
{
    return fr_load_seq_cst(&ran_count) >= (uint32_t)(uintptr_t)user;
}

static void wait_until_enough_ran(fr_op *op, case_op *self)
{
    (void)op;
    fr_wait_outcome outcome;
    uint64_t outer = set_awaited(0); /* it runs what there is */
    fr_graph_wait_condition(
        graph, &(fr_condition){.ready = has_run_enough, .user = (void *)(uintptr_t)self->awaited},
        FR_TIMEOUT_INFINITE, &outcome);
    (void)set_awaited(outer);
    check_ok(&outcome);
}

/* The last op of the lane is left to the worker, which waits inside an op, perhaps with a token of
 * the lane in its deque. */
static void leave_the_last_op(uint32_t thread)
{
    uint64_t wanted = shape.threads * (uint64_t)(shape.ops + 1);
    uint64_t inside = submit_at(0, (case_op){.run = wait_until_enough_ran, .awaited = wanted});
    for (uint32_t k = 0; k < shape.ops; k++) {
        uint64_t id = submit_at(1 + thread, (case_op){0});
        if (k + 1 < shape.ops)
            wait_for(id);
    }
    wait_for(inside);
}

void body_out_of_sight(void *argument)
{
    const graph_shape *wanted = argument;
    run_case(wanted, leave_the_last_op, wanted->threads * (wanted->ops + 1));
}

/* The same with an op that was blocked: its last edge ends while who waits for it says so, and that
 * wait is over then. */
static void leave_a_blocked_op(uint32_t thread)
{
    if (thread == 0) {
        uint64_t wanted = 2 * (uint64_t)shape.threads - 1;
        wait_for(submit_at(0, (case_op){.run = wait_until_enough_ran, .awaited = wanted}));
        return;
    }
    uint64_t producer = submit_at(0, (case_op){0});
    fr_submission submission = {.has_ordinal = true,
                                .ordinal = thread,
                                .attribute_filter = 1,
                                .producer_ids = &producer,
                                .producer_count = 1,
                                .producer_capacity = 1};
    uint64_t id = submit_as(&op_type, &submission, (case_op){0});
    fr_wait_outcome outcome;
    uint64_t outer = set_awaited(id);
    fr_graph_wait(graph, id, 1 + fr_systematic_random(300), &outcome);
    (void)set_awaited(outer);
    if (outcome.status != OVSTAGE_ERROR_TIMEOUT)
        check_ok(&outcome);
}

void body_blocked_out_of_sight(void *argument)
{
    const graph_shape *wanted = argument;
    run_case(wanted, leave_a_blocked_op, 2 * wanted->threads - 1);
}

/* --- several waits ---------------------------------------------------------------------------- */

static void wait_in_many_ways(uint32_t thread)
{
    uint64_t mine[OPS_MAX];
    for (uint32_t k = 0; k < shape.ops; k++)
        mine[k] = submit_at(1 + (thread + k) % 3, (case_op){0});
    fr_wait_outcome outcome;
    size_t index = 0;
    fr_graph_wait_many(graph, mine, shape.ops, true, FR_TIMEOUT_INFINITE, &index, &outcome);
    check_ok(&outcome);
    fr_systematic_check(fr_graph_op_state(graph, mine[index]) == FR_OP_DONE,
                        "not the one that is complete");
    fr_graph_wait(graph, mine[shape.ops - 1], fr_systematic_random(3) * 300, &outcome);
    if (outcome.status == OVSTAGE_ERROR_TIMEOUT)
        fr_systematic_check(outcome.lowest_pending_id != 0 &&
                                outcome.lowest_pending_id <= mine[shape.ops - 1],
                            "the lowest pending id is wrong");
    else
        check_ok(&outcome);
    for (uint32_t polls = 0; fr_graph_op_state(graph, mine[0]) == FR_OP_PENDING; polls++) {
        fr_graph_wait(graph, mine[0], 0, &outcome);
        fr_os_current->pause();
    }
    fr_graph_wait_many(graph, mine, shape.ops, false, FR_TIMEOUT_INFINITE, NULL, &outcome);
    check_ok(&outcome);
}

void body_wait_many(void *argument)
{
    const graph_shape *wanted = argument;
    run_case(wanted, wait_in_many_ways, wanted->threads * wanted->ops);
}

static void wait_for_count(uint32_t thread)
{
    fr_wait_outcome outcome;
    if (thread % 2 == 0)
        for (uint32_t k = 0; k < shape.ops; k++)
            (void)submit_at(k % 3, (case_op){0});
    uintptr_t wanted = shape.ops * ((shape.threads + 1) / 2);
    fr_graph_wait_condition(graph, &(fr_condition){.ready = has_run_enough, .user = (void *)wanted},
                            FR_TIMEOUT_INFINITE, &outcome);
    check_ok(&outcome);
    fr_graph_wait_condition(graph, &(fr_condition){.ready = has_no_work}, FR_TIMEOUT_INFINITE,
                            &outcome);
    check_ok(&outcome);
}

void body_condition(void *argument)
{
    const graph_shape *wanted = argument;
    run_case(wanted, wait_for_count, wanted->ops * ((wanted->threads + 1) / 2));
}
