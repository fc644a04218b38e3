#include "tests/unit/graph_cases.h"

#include <string.h>

#include "tests/support/check.h"
#include "tests/unit/graph_cases_bench.h"

#define FOREVER FR_TIMEOUT_INFINITE
#define LOG_IS(...) \
    test_log_is(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static bool open_bench(test_bench *bench)
{
    return test_bench_open(bench, 0, 1000, &fr_allocator_default);
}

const char *graph_ids(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    uint64_t first = test_submit_at(&bench, 1, 1), second = test_submit_at(&bench, 1, 2);
    FR_CHECK(first == (TEST_PREFIX << 48 | 1));
    FR_CHECK(second == first + 1);
    FR_CHECK(fr_graph_op_state(bench.graph, first) == FR_OP_PENDING);
    FR_CHECK(fr_graph_op_state(bench.graph, second + 1) == FR_OP_UNKNOWN);
    FR_CHECK(fr_graph_op_state(bench.graph, 0) == FR_OP_UNKNOWN);
    FR_CHECK(fr_graph_op_state(bench.graph, TEST_PREFIX << 48) == FR_OP_UNKNOWN);
    FR_CHECK(fr_graph_op_state(bench.graph, 1) == FR_OP_UNKNOWN); /* another instance's */
    FR_CHECK(fr_graph_op_state(bench.graph, UINT64_MAX) == FR_OP_UNKNOWN);
    FR_CHECK(test_wait(&bench, second, FOREVER) == OVSTAGE_OK);
    FR_CHECK(fr_graph_op_state(bench.graph, first) == FR_OP_DONE);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

static void check_context(fr_op *op, test_op *self, const fr_run_context *context)
{
    test_bench *bench = self->user;
    if (context->graph == bench->graph && context->worker == NULL &&
        context->worker_index == UINT32_MAX && fr_op_running() == op && fr_op_ordinal(op) == 4)
        self->number = 0;
    else
        fr_op_fail(op, OVSTAGE_ERROR_INTERNAL, "the context is wrong");
}

const char *graph_lane_order(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    fr_submission submission = {.has_ordinal = true, .ordinal = 4};
    uint64_t id =
        test_submit(&bench, &test_type, &submission,
                    (test_op){.run = check_context, .user = &bench, .number = 1}, &status);
    for (uint64_t number = 2; number <= 6; number++)
        id = test_submit_at(&bench, 4, number);
    FR_CHECK(test_log_count == 0); /* nothing runs by itself */
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(1, 2, 3, 4, 5, 6));
    FR_CHECK(fr_graph_op_state(bench.graph, id - 5) == FR_OP_DONE);
    FR_CHECK(fr_op_running() == NULL);
    FR_CHECK(test_drops == 6);
    FR_CHECK(fr_graph_pending_count(bench.graph) == 0);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* --- admission -------------------------------------------------------------------------------- */

typedef struct answers {
    ovstage_api_status_t status;
    unsigned asked, undone, accepted;
    uint64_t id;
} answers;

static ovstage_api_status_t admit(fr_submission *submission, void *user)
{
    (void)submission;
    ((answers *)user)->asked++;
    return ((answers *)user)->status;
}

static void undo(fr_submission *submission, void *user)
{
    (void)submission;
    ((answers *)user)->undone++;
}

static void accepted(fr_submission *submission, uint64_t id, void *user)
{
    (void)submission;
    ((answers *)user)->accepted++;
    ((answers *)user)->id = id;
}

const char *graph_refusal(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    answers given = {.status = OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION};
    FR_CHECK(open_bench(&bench));
    fr_submission submission = {.has_ordinal = true,
                                .ordinal = 3,
                                .admit = admit,
                                .undo = undo,
                                .accepted = accepted,
                                .user = &given};
    FR_CHECK(test_submit(&bench, &test_type, &submission, (test_op){0}, &status) == 0);
    FR_CHECK(status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    FR_CHECK(given.asked == 1 && given.accepted == 0 && given.undone == 0);
    given.status = OVSTAGE_OK;
    uint64_t id = test_submit(&bench, &test_type, &submission, (test_op){0}, &status);
    FR_CHECK(id == (TEST_PREFIX << 48 | 1)); /* a refused op uses no id */
    FR_CHECK(given.accepted == 1 && given.id == id);
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_drops == 1); /* and is not dropped */
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

static void submit_inside(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)op;
    (void)context;
    for (uint64_t number = 100; test_submit_at(self->user, 9, number) != 0; number++)
        self->number = number;
    test_log[0] = self->number; /* the last one that was accepted */
}

const char *graph_queue_full(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    FR_CHECK(test_bench_open(&bench, 0, 4, &fr_allocator_default));
    fr_submission plain = {.has_ordinal = true, .ordinal = 1};
    fr_submission never_full = {.has_ordinal = true, .ordinal = 1, .never_full = true};
    uint64_t first = test_submit(&bench, &test_type, &plain,
                                 (test_op){.run = submit_inside, .user = &bench}, &status);
    for (int k = 0; k < 3; k++)
        FR_CHECK(test_submit_at(&bench, 1, 1) != 0);
    FR_CHECK(test_submit(&bench, &test_type, &plain, (test_op){0}, &status) == 0);
    FR_CHECK(status == OVSTAGE_ERROR_QUEUE_FULL);
    FR_CHECK(test_submit(&bench, &test_type, &never_full, (test_op){0}, &status) != 0);
    /* Inside an op there is twice the room: three more than the five that are pending. */
    FR_CHECK(test_wait(&bench, first, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_log[0] == 102);
    FR_CHECK(fr_graph_run_some(bench.graph, 100) == 7);
    FR_CHECK(test_submit_at(&bench, 1, 1) != 0);
    FR_CHECK(test_bench_close(&bench) == 1);
    return NULL;
}

const char *graph_undo(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    for (uint64_t ordinal = 1; ordinal <= 40; ordinal++)
        (void)test_submit_at(&bench, ordinal, ordinal);
    answers given = {.status = OVSTAGE_OK};
    fr_submission submission = {.takes_lanes_below = true,
                                .covers_lanes = true,
                                .below_ordinal = 40,
                                .below_filter = UINT64_MAX,
                                .admit = admit,
                                .undo = undo,
                                .accepted = accepted,
                                .user = &given};
    uint64_t id = test_submit(&bench, &test_type, &submission, (test_op){0}, &status);
    FR_CHECK(status == OVSTAGE_OK && given.accepted == 1);
    FR_CHECK(given.asked == given.undone + 1); /* no room for so many edges at first */
    FR_CHECK(given.undone == 1);
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_log_count == 41);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_complete_at_birth(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    answers given = {.status = OVSTAGE_ERROR_NOT_FOUND};
    FR_CHECK(open_bench(&bench));
    uint64_t id = fr_graph_submit_done(bench.graph, NULL, NULL, &status);
    FR_CHECK(id == (TEST_PREFIX << 48 | 1) && status == OVSTAGE_OK);
    FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_DONE);
    FR_CHECK(fr_graph_submit_done(bench.graph, admit, &given, &status) == 0);
    FR_CHECK(status == OVSTAGE_ERROR_NOT_FOUND);
    FR_CHECK(fr_graph_pending_count(bench.graph) == 0);
    FR_CHECK(test_submit_at(&bench, 1, 1) == id + 1);
    FR_CHECK(fr_graph_release(bench.graph, id) == OVSTAGE_OK);
    FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_UNKNOWN);
    FR_CHECK(test_bench_close(&bench) == 1);
    return NULL;
}

/* --- seals and edges -------------------------------------------------------------------------- */

const char *graph_seal(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    (void)test_submit_at(&bench, 5, 50);
    (void)test_submit_at(&bench, 3, 30);
    (void)test_submit_at(&bench, 7, 70);
    (void)test_submit_at(&bench, 5, 51);
    uint64_t seal = test_submit_seal(&bench, 5, UINT64_MAX, 500);
    uint64_t later = test_submit_at(&bench, 5, 52); /* whether it may is its submitter's to know */
    FR_CHECK(test_wait(&bench, seal, 0) == OVSTAGE_ERROR_TIMEOUT);
    FR_CHECK(test_wait(&bench, seal, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(30, 50, 51, 500));
    FR_CHECK(fr_graph_op_state(bench.graph, later) == FR_OP_PENDING);
    FR_CHECK(test_bench_close(&bench) == 2);
    return NULL;
}

static uint64_t submit_filtered(test_bench *bench, uint64_t ordinal, uint64_t filter,
                                uint64_t number)
{
    ovstage_api_status_t status;
    fr_submission submission = {
        .has_ordinal = true, .ordinal = ordinal, .attribute_filter = filter};
    return test_submit(bench, &test_type, &submission, (test_op){.number = number}, &status);
}

const char *graph_scoped_seal(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    uint64_t other = submit_filtered(&bench, 1, 4, 10);
    (void)submit_filtered(&bench, 2, 1, 20);
    (void)submit_filtered(&bench, 3, 8, 30);
    (void)submit_filtered(&bench, 3, 2, 31);
    uint64_t seal = test_submit_seal(&bench, 9, 3, 900);
    FR_CHECK(test_wait(&bench, seal, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(20, 30, 31, 900));
    FR_CHECK(fr_graph_op_state(bench.graph, other) == FR_OP_PENDING);
    FR_CHECK(test_wait(&bench, other, FOREVER) == OVSTAGE_OK);
    /* The filter of a lane is that of its pending ops. */
    (void)submit_filtered(&bench, 3, 4, 32);
    seal = test_submit_seal(&bench, 9, 3, 901);
    FR_CHECK(test_wait(&bench, seal, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(20, 30, 31, 900, 10, 901));
    FR_CHECK(test_bench_close(&bench) == 1);
    return NULL;
}

const char *graph_producers(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    uint64_t done = test_submit_at(&bench, 1, 1);
    FR_CHECK(test_wait(&bench, done, FOREVER) == OVSTAGE_OK);
    uint64_t pending = test_submit_at(&bench, 2, 2);
    uint64_t released = test_submit_at(&bench, 3, 3);
    FR_CHECK(fr_graph_release(bench.graph, released) == OVSTAGE_OK);
    uint64_t ids[] = {done, pending, 12345, released};
    fr_submission submission = {.has_ordinal = true,
                                .ordinal = 4,
                                .producer_ids = ids,
                                .producer_count = 4,
                                .producer_capacity = 4};
    uint64_t id = test_submit(&bench, &test_type, &submission, (test_op){.number = 4}, &status);
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    /* A pending producer counts though its id is released. */
    FR_CHECK(LOG_IS(1, 2, 3, 4));
    fr_graph_statistics statistics;
    fr_graph_statistics_read(bench.graph, &statistics);
    FR_CHECK(statistics.edges == 2);
    /* Nothing to wait for: runnable at once. */
    id = test_submit_behind(&bench, done, 5, false);
    FR_CHECK(fr_graph_run_some(bench.graph, 10) == 1);
    FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_DONE);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_blocked_lane(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    uint64_t producer = test_submit_at(&bench, 2, 20);
    fr_submission submission = {.has_ordinal = true,
                                .ordinal = 1,
                                .producer_ids = &producer,
                                .producer_count = 1,
                                .producer_capacity = 1};
    (void)test_submit_at(&bench, 1, 10);
    (void)test_submit(&bench, &test_type, &submission, (test_op){.number = 11}, &status);
    uint64_t last = test_submit_at(&bench, 1, 12);
    FR_CHECK(fr_graph_run_some(bench.graph, 1) == 1); /* the lane's first op */
    FR_CHECK(fr_graph_run_some(bench.graph, 1) == 1); /* the lane is blocked: its producer */
    FR_CHECK(LOG_IS(10, 20));
    FR_CHECK(test_wait(&bench, last, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(10, 20, 11, 12));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* --- failures --------------------------------------------------------------------------------- */

static void fail_twice(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)context;
    fr_op_fail(op, OVSTAGE_ERROR_OUT_OF_RANGE, "value %d is above %d", 7, 5);
    fr_op_fail(op, OVSTAGE_ERROR_INTERNAL, "a later failure does not count");
    self->number = fr_op_failed(op);
}

static uint64_t submit_failing(test_bench *bench)
{
    ovstage_api_status_t status;
    fr_submission submission = {.has_ordinal = true, .ordinal = 1, .attribute_filter = 1};
    return test_submit(bench, &test_type, &submission, (test_op){.run = fail_twice}, &status);
}

const char *graph_failures(void)
{
    test_bench bench;
    char text[64], few[6];
    fr_op_failure failure;
    FR_CHECK(open_bench(&bench));
    uint64_t id = submit_failing(&bench), next = test_submit_at(&bench, 1, 2);
    FR_CHECK(!fr_graph_op_failure(bench.graph, id, &failure, text, sizeof(text)));
    FR_CHECK(test_wait(&bench, next, FOREVER) == OVSTAGE_OK);
    FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_FAILED);
    FR_CHECK(fr_graph_op_state(bench.graph, next) == FR_OP_DONE); /* D17 */
    FR_CHECK(fr_graph_op_failure(bench.graph, id, &failure, text, sizeof(text)));
    FR_CHECK(failure.status == OVSTAGE_ERROR_OUT_OF_RANGE && failure.cause_id == 0);
    FR_CHECK(strcmp(text, "value 7 is above 5") == 0 && failure.text.ptr == text);
    FR_CHECK(failure.text.length == strlen(text));
    FR_CHECK(fr_graph_op_failure(bench.graph, id, &failure, few, sizeof(few)));
    FR_CHECK(strcmp(few, "value") == 0 && failure.text.length == 5);
    FR_CHECK(!fr_graph_op_failure(bench.graph, next, &failure, text, sizeof(text)));
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK); /* complete is complete */
    FR_CHECK(fr_graph_release(bench.graph, id) == OVSTAGE_OK);
    FR_CHECK(!fr_graph_op_failure(bench.graph, id, &failure, text, sizeof(text)));
    /* One that nobody can ask about. */
    id = submit_failing(&bench);
    FR_CHECK(fr_graph_release(bench.graph, id) == OVSTAGE_OK);
    FR_CHECK(fr_graph_run_some(bench.graph, 5) == 1);
    fr_graph_statistics statistics;
    fr_graph_statistics_read(bench.graph, &statistics);
    FR_CHECK(statistics.failed == 2 && statistics.completed == 3 && statistics.accepted == 3);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_failure_of_producers(void)
{
    test_bench bench;
    char text[128];
    fr_op_failure failure;
    FR_CHECK(open_bench(&bench));
    uint64_t producer = submit_failing(&bench);
    uint64_t needs = test_submit_behind(&bench, producer, 2, true);
    uint64_t second = test_submit_behind(&bench, needs, 3, true);
    uint64_t only_later = test_submit_behind(&bench, producer, 4, false);
    uint64_t seal = test_submit_seal(&bench, 1, UINT64_MAX, 5);
    for (int k = 0; k < 2; k++) {
        FR_CHECK(test_wait(&bench, second, FOREVER) == OVSTAGE_OK);
        FR_CHECK(fr_graph_op_state(bench.graph, needs) == FR_OP_FAILED);
        FR_CHECK(fr_graph_op_failure(bench.graph, needs, &failure, text, sizeof(text)));
        FR_CHECK(failure.cause_id == producer && failure.text.length > 0);
        FR_CHECK(fr_graph_op_failure(bench.graph, second, &failure, text, sizeof(text)));
        FR_CHECK(failure.cause_id == needs && failure.status == OVSTAGE_ERROR_OP_FAILED);
        /* The second time the producers have failed already. */
        needs = test_submit_behind(&bench, producer, 6, true);
        second = test_submit_behind(&bench, needs, 7, true);
    }
    FR_CHECK(test_wait(&bench, seal, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_wait(&bench, only_later, FOREVER) == OVSTAGE_OK);
    FR_CHECK(fr_graph_op_state(bench.graph, seal) == FR_OP_DONE);
    FR_CHECK(fr_graph_op_state(bench.graph, only_later) == FR_OP_DONE);
    FR_CHECK(test_log_count == 3); /* what failed with its producers did not run */
    FR_CHECK(test_bench_close(&bench) == 2);
    FR_CHECK(test_drops == 9);
    return NULL;
}

const char *graph_release(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    uint64_t first = test_submit_at(&bench, 1, 1), second = test_submit_at(&bench, 1, 2);
    FR_CHECK(fr_graph_release(bench.graph, first) == OVSTAGE_OK);
    FR_CHECK(fr_graph_release(bench.graph, first) == OVSTAGE_ERROR_INVALID_HANDLE);
    FR_CHECK(fr_graph_op_state(bench.graph, first) == FR_OP_UNKNOWN);
    FR_CHECK(test_wait(&bench, first, FOREVER) == OVSTAGE_ERROR_INVALID_HANDLE);
    FR_CHECK(test_wait(&bench, second, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(1, 2)); /* it ran all the same */
    fr_graph_statistics statistics;
    fr_graph_statistics_read(bench.graph, &statistics);
    FR_CHECK(statistics.ids == 2 && statistics.released == 1);
    FR_CHECK(fr_graph_release(bench.graph, second) == OVSTAGE_OK);
    FR_CHECK(fr_graph_release(bench.graph, second) == OVSTAGE_ERROR_INVALID_HANDLE);
    FR_CHECK(fr_graph_release(bench.graph, second + 1) == OVSTAGE_ERROR_INVALID_HANDLE);
    FR_CHECK(fr_graph_release(bench.graph, 0) == OVSTAGE_ERROR_INVALID_HANDLE);
    fr_graph_statistics_read(bench.graph, &statistics);
    FR_CHECK(statistics.released == 2);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}
