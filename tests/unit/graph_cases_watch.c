/* Work whose end nobody tells: who waits, runs by request, is lent or destroys looks at it. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/fake_device.h"
#include "tests/unit/graph_cases.h"
#include "tests/unit/graph_cases_bench.h"

#define FOREVER FR_TIMEOUT_INFINITE
#define SOON_NS 200000u
#define LOG_IS(...) \
    test_log_is(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

typedef struct watched {
    test_bench bench;
    fake_device device;
    fake_job job;
    uint64_t due_ns; /* of the job, from when it is begun; FAKE_DEVICE_NEVER */
} watched;

static bool open_watched(watched *it, uint32_t workers)
{
    if (!test_bench_open(&it->bench, workers, 1000, &fr_allocator_default))
        return false;
    fake_device_open(&it->device, it->bench.pool, it->bench.graph, &it->job, 1);
    it->due_ns = FAKE_DEVICE_NEVER;
    return true;
}

static uint64_t close_watched(watched *it)
{
    uint64_t dropped = fr_graph_destroy(it->bench.graph);
    while (fr_pool_is_watching(it->bench.pool))
        (void)fr_pool_look(it->bench.pool);
    fake_device_close(&it->device);
    fr_pool_destroy(it->bench.pool);
    return dropped;
}

static void begin_job(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)op;
    (void)context;
    watched *it = self->user;
    bool never = it->due_ns == FAKE_DEVICE_NEVER;
    fake_device_begin(&it->device, &it->job,
                      never ? FAKE_DEVICE_NEVER : fr_os_current->now_ns() + it->due_ns);
}

static uint64_t submit_job(watched *it)
{
    ovstage_api_status_t status;
    fr_submission submission = {.has_ordinal = true, .ordinal = 1, .attribute_filter = 1};
    submission.report = fake_work_report(it->bench.graph, &it->job.work);
    return test_submit(&it->bench, &test_type, &submission,
                       (test_op){.run = begin_job, .user = it, .number = 1}, &status);
}

const char *graph_watch_is_looked_at_by_polls(void)
{
    watched it;
    FR_CHECK(open_watched(&it, 0));
    uint64_t id = submit_job(&it);
    FR_CHECK(!fr_pool_is_watching(it.bench.pool) && fr_load_relaxed(&it.device.looks) == 0);
    FR_CHECK(test_wait(&it.bench, id, 0) == OVSTAGE_ERROR_TIMEOUT); /* runs the op */
    FR_CHECK(fr_pool_is_watching(it.bench.pool));
    FR_CHECK(test_wait(&it.bench, id, 1000) == OVSTAGE_ERROR_TIMEOUT);
    uint64_t looks = fr_load_relaxed(&it.device.looks);
    FR_CHECK(test_wait(&it.bench, id, 0) == OVSTAGE_ERROR_TIMEOUT);
    FR_CHECK(fr_load_relaxed(&it.device.looks) == looks + 1);
    fake_device_let_go(&it.job);
    FR_CHECK(fr_graph_op_state(it.bench.graph, id) == FR_OP_PENDING);
    FR_CHECK(test_wait(&it.bench, id, 0) == OVSTAGE_OK);
    FR_CHECK(!fr_pool_is_watching(it.bench.pool));
    looks = fr_load_relaxed(&it.device.looks);
    FR_CHECK(test_wait(&it.bench, test_submit_at(&it.bench, 1, 2), FOREVER) == OVSTAGE_OK);
    FR_CHECK(fr_load_relaxed(&it.device.looks) == looks); /* nothing to look at */
    FR_CHECK(close_watched(&it) == 0);
    return NULL;
}

static bool has_no_work(void *user)
{
    return fr_graph_pending_count(user) == 0;
}

const char *graph_watch_is_looked_at_by_waits(void)
{
    for (uint32_t workers = 0; workers <= 2; workers++) {
        watched it;
        fr_wait_outcome outcome;
        FR_CHECK(open_watched(&it, workers));
        it.due_ns = SOON_NS;
        FR_CHECK(test_wait(&it.bench, submit_job(&it), FOREVER) == OVSTAGE_OK);
        fr_store_relaxed(&it.job.stage, 0);
        (void)submit_job(&it);
        fr_condition condition = {.ready = has_no_work, .user = it.bench.graph};
        fr_graph_wait_condition(it.bench.graph, &condition, FOREVER, &outcome);
        FR_CHECK(outcome.status == OVSTAGE_OK && LOG_IS(1, 1));
        FR_CHECK(close_watched(&it) == 0);
    }
    return NULL;
}

const char *graph_watch_is_looked_at_by_who_runs(void)
{
    watched it;
    FR_CHECK(open_watched(&it, 0));
    uint64_t id = submit_job(&it);
    FR_CHECK(fr_graph_run_some(it.bench.graph, 100) ==
             2); /* the op, and its report up to a point */
    FR_CHECK(fr_graph_op_state(it.bench.graph, id) == FR_OP_PENDING);
    fake_device_let_go(&it.job);
    FR_CHECK(fr_graph_run_some(it.bench.graph, 100) == 0);
    FR_CHECK(fr_graph_op_state(it.bench.graph, id) == FR_OP_DONE);
    FR_CHECK(close_watched(&it) == 0);
    return NULL;
}

/* --- parked ops ------------------------------------------------------------------------------- */

static fr_run_result run_parked(fr_op *op, const fr_run_context *context)
{
    test_op *self = fr_op_payload(op);
    begin_job(op, self, context);
    return fake_work_park(&((watched *)self->user)->job.work, op);
}

static const fr_op_type parked_type = {.name = "parked", .run = run_parked};

static uint64_t submit_parked(watched *it)
{
    ovstage_api_status_t status;
    fr_submission submission = {.has_ordinal = true, .ordinal = 1, .attribute_filter = 1};
    return test_submit(&it->bench, &parked_type, &submission, (test_op){.user = it}, &status);
}

/* Its lane is held, no thread is; and it goes on behind it. */
const char *graph_watch_parked(void)
{
    watched it;
    FR_CHECK(open_watched(&it, 0));
    uint64_t id = submit_parked(&it);
    uint64_t behind = test_submit_at(&it.bench, 1, 2);
    uint64_t seal = test_submit_seal(&it.bench, 1, UINT64_MAX, 3);
    uint64_t other = test_submit_at(&it.bench, 2, 4);
    FR_CHECK(test_wait(&it.bench, id, 1000) == OVSTAGE_ERROR_TIMEOUT);
    FR_CHECK(test_wait(&it.bench, seal, 1000) == OVSTAGE_ERROR_TIMEOUT);
    FR_CHECK(test_wait(&it.bench, other, FOREVER) == OVSTAGE_OK && LOG_IS(4));
    fake_device_let_go(&it.job);
    FR_CHECK(test_wait(&it.bench, seal, FOREVER) == OVSTAGE_OK && LOG_IS(4, 2, 3));
    FR_CHECK(fr_graph_op_state(it.bench.graph, id) == FR_OP_DONE);
    FR_CHECK(fr_graph_op_state(it.bench.graph, behind) == FR_OP_DONE);
    FR_CHECK(close_watched(&it) == 0);
    return NULL;
}

const char *graph_watch_parked_with_workers(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        watched it;
        FR_CHECK(open_watched(&it, workers));
        it.due_ns = SOON_NS;
        (void)submit_parked(&it);
        uint64_t behind = test_submit_at(&it.bench, 1, 2);
        FR_CHECK(test_wait(&it.bench, behind, FOREVER) == OVSTAGE_OK && LOG_IS(2));
        FR_CHECK(close_watched(&it) == 0);
    }
    return NULL;
}

const char *graph_watch_is_looked_at_by_lent_threads(void)
{
    watched it;
    FR_CHECK(open_watched(&it, 0));
    uint64_t id = submit_parked(&it);
    uint64_t behind = test_submit_at(&it.bench, 1, 2);
    FR_CHECK(fr_pool_lend(it.bench.pool, NULL, 0) > 0);
    FR_CHECK(fr_graph_op_state(it.bench.graph, id) == FR_OP_PENDING);
    fake_device_let_go(&it.job);
    FR_CHECK(fr_pool_lend(it.bench.pool, NULL, 0) > 0);
    FR_CHECK(fr_graph_op_state(it.bench.graph, behind) == FR_OP_DONE && LOG_IS(2));
    FR_CHECK(close_watched(&it) == 0);
    return NULL;
}

/* What has run is waited for; what has not is dropped, and its work with it. */
const char *graph_watch_destroyed(void)
{
    for (uint32_t workers = 0; workers <= 1; workers++) {
        watched it;
        FR_CHECK(open_watched(&it, workers));
        it.due_ns = SOON_NS;
        (void)submit_parked(&it);
        if (workers == 0)
            FR_CHECK(fr_graph_run_some(it.bench.graph, 1) == 0); /* none is complete */
        uint64_t dropped = close_watched(&it);
        FR_CHECK(workers > 0 ? dropped <= 1 : dropped == 0);
        FR_CHECK(dropped > 0 || fake_job_has_ended(&it.job));
    }
    return NULL;
}
