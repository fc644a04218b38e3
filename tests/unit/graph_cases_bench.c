#include "tests/unit/graph_cases_bench.h"

#include <string.h>

uint64_t test_log[TEST_LOG_MAX];
size_t test_log_count;
size_t test_drops;

static void log_number(uint64_t number)
{
    if (test_log_count < TEST_LOG_MAX)
        test_log[test_log_count] = number;
    test_log_count++;
}

static fr_run_result run(fr_op *op, const fr_run_context *context)
{
    test_op *self = fr_op_payload(op);
    log_number(self->number);
    if (self->run)
        self->run(op, self, context);
    return FR_RUN_DONE;
}

static void drop(fr_op *op)
{
    (void)op;
    test_drops++;
}

static bool is_large(const fr_op *op)
{
    return ((const test_op *)fr_op_payload((fr_op *)op))->is_large;
}

const fr_op_type test_type = {.name = "test", .run = run, .drop = drop, .is_large = is_large};
const fr_op_type test_task_type = {.name = "task", .run = run, .drop = drop, .is_task = true};

bool test_bench_open(test_bench *bench, uint32_t workers, uint64_t op_limit,
                     const fr_allocator *allocator)
{
    test_log_count = 0;
    test_drops = 0;
    bench->graph = NULL;
    fr_pool_config pool = {.worker_count = workers, .spin_ns = 1000, .allocator = allocator};
    bench->pool = fr_pool_create(&pool);
    if (!bench->pool)
        return false;
    fr_graph_config config = {.pool = bench->pool,
                              .allocator = allocator,
                              .op_limit = op_limit,
                              .id_prefix = TEST_PREFIX,
                              .caller_runs = true};
    bench->graph = fr_graph_create(&config);
    if (!bench->graph)
        fr_pool_destroy(bench->pool);
    return bench->graph != NULL;
}

uint64_t test_bench_close(test_bench *bench)
{
    uint64_t dropped = fr_graph_destroy(bench->graph);
    fr_pool_destroy(bench->pool);
    return dropped;
}

uint64_t test_submit(test_bench *bench, const fr_op_type *type, fr_submission *submission,
                     test_op payload, ovstage_api_status_t *status)
{
    uint64_t id = 0;
    submission->op = fr_graph_op_get(bench->graph, type);
    *status = OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (!submission->op)
        return 0;
    memcpy(fr_op_payload(submission->op), &payload, sizeof(payload));
    *status = fr_graph_submit(bench->graph, submission, &id);
    if (*status != OVSTAGE_OK)
        fr_graph_op_put(bench->graph, submission->op);
    return id;
}

uint64_t test_submit_at(test_bench *bench, uint64_t ordinal, uint64_t number)
{
    ovstage_api_status_t status;
    fr_submission submission = {
        .has_ordinal = ordinal > 0, .ordinal = ordinal, .attribute_filter = 1};
    return test_submit(bench, &test_type, &submission, (test_op){.number = number}, &status);
}

uint64_t test_submit_seal(test_bench *bench, uint64_t ordinal, uint64_t filter, uint64_t number)
{
    ovstage_api_status_t status;
    fr_submission submission = {.takes_lanes_below = true,
                                .covers_lanes = true,
                                .below_ordinal = ordinal,
                                .below_filter = filter};
    return test_submit(bench, &test_type, &submission, (test_op){.number = number}, &status);
}

uint64_t test_submit_behind(test_bench *bench, uint64_t producer, uint64_t number, bool fails)
{
    ovstage_api_status_t status;
    fr_submission submission = {.producer_ids = &producer,
                                .producer_count = 1,
                                .producer_capacity = 1,
                                .fails_with_producers = fails};
    return test_submit(bench, &test_type, &submission, (test_op){.number = number}, &status);
}

ovstage_api_status_t test_wait(test_bench *bench, uint64_t id, uint64_t timeout_ns)
{
    fr_wait_outcome outcome;
    fr_graph_wait(bench->graph, id, timeout_ns, &outcome);
    return outcome.status;
}

bool test_log_is(size_t count, const uint64_t *numbers)
{
    return test_log_count == count && memcmp(test_log, numbers, count * sizeof(*numbers)) == 0;
}
