/* A graph for unit tests, in a pool of its own, and what the tests submit to it. */
#ifndef FR_TESTS_UNIT_GRAPH_CASES_BENCH_H
#define FR_TESTS_UNIT_GRAPH_CASES_BENCH_H

#include "scheduler/graph.h"

typedef struct test_bench {
    fr_pool *pool;
    fr_graph *graph;
} test_bench;

/* What an op of the tests carries. */
typedef struct test_op {
    void (*run)(fr_op *op, struct test_op *self, const fr_run_context *context);
    void *user;
    uint64_t number;
    bool is_large;
} test_op;

extern const fr_op_type test_type;
extern const fr_op_type test_task_type;

/* In the order in which ops ran or were dropped: their numbers. */
#define TEST_LOG_MAX 64u
extern uint64_t test_log[TEST_LOG_MAX];
extern size_t test_log_count;
extern size_t test_drops;

#define TEST_PREFIX UINT64_C(9)

/* False without memory. The log starts empty. */
bool test_bench_open(test_bench *bench, uint32_t workers, uint64_t op_limit,
                     const fr_allocator *allocator);
uint64_t test_bench_close(test_bench *bench);

/* Fills in the op; 0 when it was refused, *status says why. */
uint64_t test_submit(test_bench *bench, const fr_op_type *type, fr_submission *submission,
                     test_op payload, ovstage_api_status_t *status);
/* An op that logs its number; ordinal 0: a solo op. */
uint64_t test_submit_at(test_bench *bench, uint64_t ordinal, uint64_t number);
/* A seal of everything up to the ordinal. */
uint64_t test_submit_seal(test_bench *bench, uint64_t ordinal, uint64_t filter, uint64_t number);
/* A solo op behind one producer. */
uint64_t test_submit_behind(test_bench *bench, uint64_t producer, uint64_t number, bool fails);

ovstage_api_status_t test_wait(test_bench *bench, uint64_t id, uint64_t timeout_ns);
/* The log is exactly this. */
bool test_log_is(size_t count, const uint64_t *numbers);

#endif
