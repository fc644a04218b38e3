#include "tests/unit/graph_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/job.h"
#include "tests/support/check.h"
#include "tests/unit/graph_cases_bench.h"

#define FOREVER FR_TIMEOUT_INFINITE
#define LOG_IS(...) \
    test_log_is(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static bool open_bench(test_bench *bench)
{
    return test_bench_open(bench, 0, 1000000, &fr_allocator_default);
}

static uint64_t submit_run(test_bench *bench, uint64_t ordinal, test_op payload)
{
    ovstage_api_status_t status;
    fr_submission submission = {
        .has_ordinal = ordinal > 0, .ordinal = ordinal, .attribute_filter = 1};
    return test_submit(bench, &test_type, &submission, payload, &status);
}

const char *graph_wait_runs_the_chain_only(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    (void)test_submit_at(&bench, 3, 1);
    uint64_t awaited = test_submit_at(&bench, 3, 2);
    uint64_t behind = test_submit_at(&bench, 3, 3);
    uint64_t lower = test_submit_at(&bench, 1, 4);
    uint64_t solo = test_submit_at(&bench, 0, 5);
    FR_CHECK(test_wait(&bench, awaited, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(1, 2));
    FR_CHECK(fr_graph_op_state(bench.graph, behind) == FR_OP_PENDING);
    FR_CHECK(test_wait(&bench, solo, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(1, 2, 5));
    FR_CHECK(fr_graph_op_state(bench.graph, lower) == FR_OP_PENDING);
    fr_graph_statistics statistics;
    fr_graph_statistics_read(bench.graph, &statistics);
    FR_CHECK(statistics.run_by_waiters == 3 && statistics.run_by_workers == 0);
    FR_CHECK(test_bench_close(&bench) == 2);
    return NULL;
}

const char *graph_poll_runs_one_op(void)
{
    test_bench bench;
    fr_wait_outcome outcome;
    FR_CHECK(open_bench(&bench));
    uint64_t first = test_submit_at(&bench, 3, 1);
    uint64_t other = test_submit_at(&bench, 1, 2);
    uint64_t second = test_submit_at(&bench, 3, 3);
    uint64_t seal = test_submit_behind(&bench, second, 4, false);
    for (uint64_t polls = 1; polls <= 2; polls++) {
        fr_graph_wait(bench.graph, seal, 0, &outcome);
        FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT);
        FR_CHECK(test_log_count == polls);
        FR_CHECK(outcome.lowest_pending_id == (polls == 1 ? second : seal));
    }
    fr_graph_wait(bench.graph, seal, 0, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_OK);
    FR_CHECK(LOG_IS(1, 3, 4));
    FR_CHECK(fr_graph_op_state(bench.graph, other) == FR_OP_PENDING && first < other);
    FR_CHECK(test_bench_close(&bench) == 1);
    return NULL;
}

const char *graph_finite_wait(void)
{
    test_bench bench;
    fr_wait_outcome outcome;
    FR_CHECK(open_bench(&bench));
    uint64_t small = submit_run(&bench, 1, (test_op){.number = 1});
    uint64_t large = submit_run(&bench, 1, (test_op){.number = 2, .is_large = true});
    uint64_t last = submit_run(&bench, 1, (test_op){.number = 3});
    fr_graph_wait(bench.graph, last, 1000000, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT);
    FR_CHECK(LOG_IS(1)); /* up to the large one, which a finite wait does not start */
    FR_CHECK(outcome.lowest_pending_id == large);
    FR_CHECK(fr_graph_op_state(bench.graph, small) == FR_OP_DONE);
    fr_graph_wait(bench.graph, large, 0, &outcome); /* a poll starts any */
    FR_CHECK(outcome.status == OVSTAGE_OK);
    fr_graph_wait(bench.graph, last, UINT64_MAX - 1, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_OK);
    uint64_t solo = submit_run(&bench, 0, (test_op){.number = 4, .is_large = true});
    fr_graph_wait(bench.graph, solo, 1000, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT && outcome.lowest_pending_id == solo);
    FR_CHECK(test_wait(&bench, solo, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(1, 2, 3, 4));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_wait_many(void)
{
    test_bench bench;
    fr_wait_outcome outcome;
    size_t index = 99;
    FR_CHECK(open_bench(&bench));
    uint64_t ids[100];
    for (uint64_t k = 0; k < 100; k++)
        ids[k] = test_submit_at(&bench, 1 + k % 7, k);
    fr_graph_wait_many(bench.graph, ids, 100, true, 0, &index, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_OK && index < 100);
    FR_CHECK(fr_graph_op_state(bench.graph, ids[index]) == FR_OP_DONE && test_log_count == 1);
    fr_graph_wait_many(bench.graph, ids, 100, false, 0, NULL, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT && test_log_count == 2);
    fr_graph_wait_many(bench.graph, ids, 100, false, FOREVER, NULL, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_OK && test_log_count == 100);
    fr_graph_wait_many(bench.graph, ids, 0, false, FOREVER, NULL, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_OK);
    fr_graph_wait_many(bench.graph, ids, 0, true, FOREVER, NULL, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_OK);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_wait_unknown(void)
{
    test_bench bench;
    fr_wait_outcome outcome;
    FR_CHECK(open_bench(&bench));
    uint64_t ids[] = {test_submit_at(&bench, 1, 1), 77};
    fr_graph_wait_many(bench.graph, ids, 2, false, FOREVER, NULL, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_ERROR_INVALID_HANDLE);
    FR_CHECK(strstr(outcome.text, "operation 0x4d") != NULL);
    FR_CHECK(test_log_count == 0);
    FR_CHECK(test_bench_close(&bench) == 1);
    return NULL;
}

static bool has_run_three(void *unused)
{
    (void)unused;
    return test_log_count >= 3;
}

const char *graph_wait_condition(void)
{
    test_bench bench;
    fr_wait_outcome outcome;
    FR_CHECK(open_bench(&bench));
    fr_graph_wait_condition(bench.graph, &(fr_condition){.ready = has_run_three}, 0, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT);
    fr_graph_wait_condition(bench.graph, &(fr_condition){.ready = has_run_three}, 1000, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT);
    for (uint64_t k = 5; k > 0; k--)
        (void)test_submit_at(&bench, k, k);
    fr_graph_wait_condition(bench.graph, &(fr_condition){.ready = has_run_three}, 0, &outcome);
    FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT);
    FR_CHECK(LOG_IS(1));
    fr_graph_wait_condition(bench.graph, &(fr_condition){.ready = has_run_three}, FOREVER,
                            &outcome);
    FR_CHECK(outcome.status == OVSTAGE_OK);
    FR_CHECK(LOG_IS(1, 2, 3));
    FR_CHECK(test_bench_close(&bench) == 2);
    return NULL;
}

/* --- waits inside ops ------------------------------------------------------------------------- */

typedef struct inner {
    test_bench *bench;
    uint64_t awaited;
    fr_wait_outcome outcome;
    size_t log_before, log_after;
} inner;

static void wait_inside(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)op;
    (void)context;
    inner *mine = self->user;
    mine->log_before = test_log_count;
    fr_graph_wait(mine->bench->graph, mine->awaited, FOREVER, &mine->outcome);
    mine->log_after = test_log_count;
}

static bool names_both(const inner *wait, uint64_t running)
{
    char first[24], second[24];
    snprintf(first, sizeof(first), "0x%" PRIx64, wait->awaited);
    snprintf(second, sizeof(second), "0x%" PRIx64, running);
    return wait->outcome.status == OVSTAGE_ERROR_INVALID_ARGUMENT &&
           strstr(wait->outcome.text, first) && strstr(wait->outcome.text, second);
}

const char *graph_wait_cycle(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    inner waits[4] = {{.bench = &bench}, {.bench = &bench}, {.bench = &bench}, {.bench = &bench}};
    uint64_t ids[4];
    /* For itself; for one behind it in its lane; for one that needs it. */
    for (uint64_t k = 0; k < 3; k++)
        ids[k] = submit_run(&bench, k + 1,
                            (test_op){.run = wait_inside, .user = &waits[k], .number = k});
    waits[0].awaited = ids[0];
    waits[1].awaited = test_submit_at(&bench, 2, 21);
    uint64_t between = test_submit_behind(&bench, ids[2], 31, false);
    waits[2].awaited = test_submit_behind(&bench, between, 32, false);
    /* For an op that waits, from inside, for one that needs it. */
    ids[3] = submit_run(&bench, 4, (test_op){.run = wait_inside, .user = &waits[3], .number = 3});
    inner other = {.bench = &bench, .awaited = test_submit_at(&bench, 4, 41)};
    waits[3].awaited = submit_run(&bench, 5, (test_op){.run = wait_inside, .user = &other});
    for (uint64_t k = 0; k < 3; k++) {
        FR_CHECK(test_wait(&bench, ids[k], FOREVER) == OVSTAGE_OK);
        FR_CHECK(names_both(&waits[k], ids[k]));
        FR_CHECK(fr_graph_op_state(bench.graph, ids[k]) == FR_OP_DONE);
    }
    FR_CHECK(test_wait(&bench, ids[3], FOREVER) == OVSTAGE_OK);
    FR_CHECK(waits[3].outcome.status == OVSTAGE_OK);
    FR_CHECK(names_both(&other, waits[3].awaited));
    FR_CHECK(test_wait(&bench, waits[2].awaited, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_bench_close(&bench) == 2);
    return NULL;
}

static void run_some_inside(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)op;
    (void)fr_graph_run_some(context->graph, 1);
    (void)self;
}

const char *graph_wait_beneath(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    inner wait = {.bench = &bench};
    /* The wait runs the chain on top of the op, and nothing else. */
    uint64_t outer =
        submit_run(&bench, 1, (test_op){.run = wait_inside, .user = &wait, .number = 1});
    (void)test_submit_at(&bench, 2, 2);
    wait.awaited = test_submit_at(&bench, 2, 3);
    (void)test_submit_at(&bench, 2, 4);
    FR_CHECK(test_wait(&bench, outer, FOREVER) == OVSTAGE_OK);
    FR_CHECK(wait.outcome.status == OVSTAGE_OK);
    FR_CHECK(wait.log_before == 1 && wait.log_after == 3);
    FR_CHECK(LOG_IS(1, 2, 3));
    FR_CHECK(fr_graph_run_some(bench.graph, 9) == 1);
    /* An op that runs on top of another by request cannot wait for what waits for that one. */
    outer = submit_run(&bench, 1, (test_op){.run = run_some_inside, .number = 5});
    wait.awaited = test_submit_at(&bench, 1, 6);
    uint64_t on_top =
        submit_run(&bench, 3, (test_op){.run = wait_inside, .user = &wait, .number = 7});
    FR_CHECK(test_wait(&bench, outer, FOREVER) == OVSTAGE_OK);
    FR_CHECK(names_both(&wait, on_top));
    FR_CHECK(test_bench_close(&bench) == 1);
    return NULL;
}

const char *graph_deep_chain(void)
{
    enum { DEPTH = 20000 };
    test_bench bench;
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    uint64_t id = test_submit_at(&bench, 1, 0);
    for (uint64_t k = 1; k < DEPTH; k++) {
        fr_submission submission = {.has_ordinal = k % 2 == 0,
                                    .ordinal = k,
                                    .producer_ids = &id,
                                    .producer_count = 1,
                                    .producer_capacity = 1};
        uint64_t next =
            test_submit(&bench, &test_type, &submission, (test_op){.number = k}, &status);
        FR_CHECK(next != 0);
        id = next;
    }
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_log_count == DEPTH);
    for (uint64_t k = 0; k < TEST_LOG_MAX; k++)
        FR_CHECK(test_log[k] == k);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* --- running ---------------------------------------------------------------------------------- */

const char *graph_run_some(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    FR_CHECK(fr_graph_run_some(bench.graph, 10) == 0);
    for (uint64_t k = 3; k > 0; k--) {
        (void)test_submit_at(&bench, k, 10 * k);
        (void)test_submit_at(&bench, k, 10 * k + 1);
    }
    (void)test_submit_seal(&bench, 1, UINT64_MAX, 1);
    FR_CHECK(fr_graph_run_some(bench.graph, 0) == 0);
    FR_CHECK(fr_graph_run_some(bench.graph, 3) == 3);
    FR_CHECK(LOG_IS(10, 11, 1)); /* the seal as soon as it can */
    FR_CHECK(fr_graph_run_some(bench.graph, 1) == 1);
    FR_CHECK(fr_graph_run_some(bench.graph, 100) == 3);
    FR_CHECK(LOG_IS(10, 11, 1, 20, 21, 30, 31));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

static void note_worker(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)op;
    *(uint32_t *)self->user = context->worker_index;
}

/* A waiting thread runs tasks only when there are no workers. */
const char *graph_tasks(void)
{
    for (uint32_t workers = 0; workers <= 1; workers++) {
        test_bench bench;
        ovstage_api_status_t status;
        uint32_t index = 12345;
        FR_CHECK(test_bench_open(&bench, workers, 1000, &fr_allocator_default));
        for (uint64_t ordinal = 0; ordinal <= 1; ordinal++) {
            fr_submission submission = {.has_ordinal = ordinal > 0, .ordinal = ordinal};
            uint64_t id = test_submit(&bench, &test_task_type, &submission,
                                      (test_op){.run = note_worker, .user = &index}, &status);
            FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
            FR_CHECK(index == (workers > 0 ? 0 : UINT32_MAX));
        }
        FR_CHECK(test_bench_close(&bench) == 0);
    }
    return NULL;
}

static fr_op *split_op;
static uint32_t split_helps;

static fr_run_result run_split(fr_op *op, const fr_run_context *context)
{
    (void)context;
    split_op = op;
    return FR_RUN_SPLIT;
}

static void help_split(fr_op *op, const fr_run_context *context)
{
    if (split_helps++ == 0)
        fr_graph_op_finish(context->graph, op, NULL);
}

static const fr_op_type split_type = {.name = "split", .run = run_split, .help = help_split};
static const fr_op_type split_alone_type = {.name = "split", .run = run_split};

const char *graph_split(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    fr_wait_outcome outcome;
    FR_CHECK(open_bench(&bench));
    for (uint64_t ordinal = 0; ordinal <= 1; ordinal++) {
        fr_submission submission = {.has_ordinal = ordinal > 0, .ordinal = ordinal};
        split_helps = 0;
        uint64_t id = test_submit(&bench, &split_type, &submission, (test_op){0}, &status);
        FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK); /* the helper finishes it */
        FR_CHECK(split_helps == 1);
        /* One that nobody helps, and the lane behind it. */
        id = test_submit(&bench, &split_alone_type, &submission, (test_op){0}, &status);
        uint64_t behind = ordinal > 0 ? test_submit_at(&bench, ordinal, 1)
                                      : test_submit_behind(&bench, id, 1, false);
        fr_graph_wait(bench.graph, behind, 1000, &outcome);
        FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT && outcome.lowest_pending_id == id);
        fr_op_fail(split_op, OVSTAGE_ERROR_NOT_FOUND, "not there");
        fr_graph_op_finish(bench.graph, split_op, NULL);
        FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_FAILED);
        FR_CHECK(test_wait(&bench, behind, FOREVER) == OVSTAGE_OK);
    }
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

typedef struct traced {
    unsigned count;
    uint64_t id;
    bool right;
} traced;

static void trace(void *user, const fr_op *op, const char *name, uint32_t worker_index,
                  uint64_t start_ns, uint64_t end_ns)
{
    traced *seen = user;
    seen->count++;
    seen->id = fr_op_id(op);
    seen->right = strcmp(name, "test") == 0 && worker_index == UINT32_MAX && start_ns <= end_ns;
}

const char *graph_trace(void)
{
    test_bench bench;
    traced seen = {0};
    FR_CHECK(open_bench(&bench));
    uint64_t id = test_submit_at(&bench, 1, 1);
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    fr_graph_set_trace(bench.graph, trace, &seen);
    id = test_submit_at(&bench, 1, 2);
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(seen.count == 1 && seen.id == id && seen.right);
    fr_graph_set_trace(bench.graph, NULL, NULL);
    id = test_submit_at(&bench, 1, 3);
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(seen.count == 1);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_destroy(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    FR_CHECK(test_bench_close(&bench) == 0); /* one that was never used */
    FR_CHECK(open_bench(&bench));
    uint64_t id = test_submit_at(&bench, 1, 1);
    for (uint64_t k = 0; k < 10; k++)
        id = test_submit_behind(&bench, id, k, false);
    (void)test_submit_seal(&bench, 4, UINT64_MAX, 2);
    FR_CHECK(test_wait(&bench, id - 9, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_log_count == 2 && test_drops == 2);
    FR_CHECK(test_bench_close(&bench) == 10);
    FR_CHECK(test_log_count == 2 && test_drops == 12);
    return NULL;
}
