/* Ops that park: they keep their place and no thread, and run again when they are resumed. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/unit/graph_cases.h"
#include "tests/unit/graph_cases_bench.h"

#define FOREVER FR_TIMEOUT_INFINITE
#define LOG_IS(...) \
    test_log_is(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

/* What a parking op is about; one at a time. */
typedef struct parking {
    fr_op *op;
    uint32_t parks; /* that are left */
    bool at_once;   /* resumed before run returns */
    uint32_t drops;
} parking;

static fr_run_result run_parking(fr_op *op, const fr_run_context *context)
{
    test_op *self = fr_op_payload(op);
    parking *it = self->user;
    it->op = op;
    test_log[test_log_count++] = self->number;
    if (it->parks == 0)
        return FR_RUN_DONE;
    it->parks--;
    fr_op_park(op);
    if (it->at_once)
        fr_graph_op_resume(context->graph, op);
    return FR_RUN_PARKED;
}

static void drop_parking(fr_op *op)
{
    const test_op *self = fr_op_payload(op);
    ((parking *)self->user)->drops++;
}

static void tell_parking(const fr_op *op, char *text, size_t text_bytes)
{
    (void)op;
    strncpy(text, "a test", text_bytes);
}

static const fr_op_type parking_type = {
    .name = "parking", .run = run_parking, .drop = drop_parking, .tell = tell_parking};

static uint64_t submit_parking(test_bench *bench, parking *it, uint64_t ordinal, uint64_t number)
{
    ovstage_api_status_t status;
    fr_submission submission = {
        .has_ordinal = ordinal > 0, .ordinal = ordinal, .attribute_filter = 1};
    return test_submit(bench, &parking_type, &submission, (test_op){.user = it, .number = number},
                       &status);
}

static bool open_bench(test_bench *bench)
{
    return test_bench_open(bench, 0, 1000, &fr_allocator_default);
}

/* In a lane, and by itself; without a thread, and seen by each way to run what is runnable. */
const char *graph_parked_runs_again(void)
{
    for (uint64_t ordinal = 0; ordinal <= 1; ordinal++)
        for (int way = 0; way < 4; way++) {
            test_bench bench;
            parking it = {.parks = 2};
            FR_CHECK(open_bench(&bench));
            uint64_t id = submit_parking(&bench, &it, ordinal, 1);
            uint64_t behind = test_submit_at(&bench, 1, 2);
            uint64_t other = test_submit_at(&bench, 2, 3);
            for (uint64_t k = 0; k < 2; k++) {
                FR_CHECK(test_wait(&bench, id, 0) == OVSTAGE_ERROR_TIMEOUT);
                FR_CHECK(test_wait(&bench, id, 1000) == OVSTAGE_ERROR_TIMEOUT);
                FR_CHECK(test_log_count == k + 1 && it.drops == 0); /* not run in vain */
                fr_graph_op_resume(bench.graph, it.op);
                FR_CHECK(test_log_count == k + 1);
            }
            if (way == 0)
                FR_CHECK(test_wait(&bench, id, 0) == OVSTAGE_OK);
            else if (way == 1)
                FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
            else if (way == 2)
                FR_CHECK(fr_graph_run_some(bench.graph, 1) == 1);
            else
                FR_CHECK(fr_pool_lend(bench.pool, NULL, 0) > 0);
            FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_DONE);
            FR_CHECK(test_wait(&bench, behind, FOREVER) == OVSTAGE_OK && it.drops == 1);
            FR_CHECK(test_wait(&bench, other, FOREVER) == OVSTAGE_OK && test_log_count == 5);
            FR_CHECK(test_bench_close(&bench) == 0);
        }
    return NULL;
}

const char *graph_parked_is_resumed_at_once(void)
{
    for (uint64_t ordinal = 0; ordinal <= 1; ordinal++) {
        test_bench bench;
        parking it = {.parks = 3, .at_once = true};
        FR_CHECK(open_bench(&bench));
        uint64_t id = submit_parking(&bench, &it, ordinal, 1);
        FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK && LOG_IS(1, 1, 1, 1));
        FR_CHECK(it.drops == 1 && test_bench_close(&bench) == 0);
    }
    return NULL;
}

/* Its lane is held, and so is a seal of it; others go on. With edges of its own, too. */
const char *graph_parked_holds_its_lane(void)
{
    test_bench bench;
    parking it = {.parks = 1};
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    uint64_t first = test_submit_at(&bench, 7, 1);
    fr_submission submission = {.has_ordinal = true,
                                .ordinal = 1,
                                .attribute_filter = 1,
                                .producer_ids = &first,
                                .producer_count = 1,
                                .producer_capacity = 1};
    uint64_t id = test_submit(&bench, &parking_type, &submission,
                              (test_op){.user = &it, .number = 2}, &status);
    uint64_t behind = test_submit_at(&bench, 1, 3);
    uint64_t seal = test_submit_seal(&bench, 1, UINT64_MAX, 4);
    uint64_t other = test_submit_at(&bench, 2, 5);
    for (uint32_t k = 0; k < 3; k++) {
        FR_CHECK(test_wait(&bench, behind, 0) == OVSTAGE_ERROR_TIMEOUT);
        FR_CHECK(test_wait(&bench, seal, 0) == OVSTAGE_ERROR_TIMEOUT);
    }
    FR_CHECK(LOG_IS(1, 2));
    FR_CHECK(test_wait(&bench, other, FOREVER) == OVSTAGE_OK && LOG_IS(1, 2, 5));
    FR_CHECK(fr_graph_run_some(bench.graph, 100) == 0);
    fr_graph_op_resume(bench.graph, it.op);
    FR_CHECK(test_wait(&bench, seal, FOREVER) == OVSTAGE_OK && LOG_IS(1, 2, 5, 2, 3, 4));
    FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_DONE);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

static const char *type_name(const fr_op *op, const char *name)
{
    (void)op;
    return name;
}

const char *graph_parked_explained(void)
{
    for (uint64_t ordinal = 0; ordinal <= 1; ordinal++) {
        test_bench bench;
        parking it = {.parks = 1};
        fr_explanation why;
        FR_CHECK(open_bench(&bench));
        uint64_t id = submit_parking(&bench, &it, ordinal, 1);
        fr_graph_explain(bench.graph, id, type_name, &why);
        FR_CHECK(why.why == FR_WHY_NOBODY);
        FR_CHECK(test_wait(&bench, id, 0) == OVSTAGE_ERROR_TIMEOUT);
        fr_graph_explain(bench.graph, id, type_name, &why);
        FR_CHECK(why.why == FR_WHY_ELSEWHERE && strcmp(why.what, "a test") == 0);
        fr_graph_op_resume(bench.graph, it.op);
        fr_graph_explain(bench.graph, id, type_name, &why);
        FR_CHECK(why.why == FR_WHY_NOBODY);
        FR_CHECK(test_bench_close(&bench) == 1);
    }
    return NULL;
}

typedef struct outer {
    test_bench *bench;
    parking *parked;
    uint64_t id, room_below;
    fr_wait_outcome outcome;
} outer;

static bool has_room(void *user)
{
    const outer *it = user;
    return fr_graph_pending_count(it->bench->graph) < it->room_below;
}

static bool needs_ops(void *user)
{
    (void)user;
    return true;
}

/* An op that waits: for the parked one, which its own wait runs again; then for room, which only
 * that can make. */
static void wait_inside(fr_op *op, test_op *self, const fr_run_context *context)
{
    outer *it = self->user;
    (void)op;
    fr_graph_wait(context->graph, it->id, 0, &it->outcome); /* runs it */
    if (it->outcome.status != OVSTAGE_ERROR_TIMEOUT)
        return;
    fr_condition room = {.ready = has_room, .needs_ops = needs_ops, .user = it, .what = "room"};
    fr_graph_wait_condition(context->graph, &room, 0, &it->outcome);
    if (it->outcome.status != OVSTAGE_ERROR_TIMEOUT)
        return;
    fr_graph_op_resume(context->graph, it->parked->op);
    if (it->room_below > 0)
        fr_graph_wait_condition(context->graph, &room, FOREVER, &it->outcome);
    else
        fr_graph_wait(context->graph, it->id, FOREVER, &it->outcome);
}

const char *graph_parked_is_waited_for_inside(void)
{
    for (uint64_t ordinal = 0; ordinal <= 1; ordinal++)
        for (uint64_t room_below = 0; room_below <= 2; room_below += 2) {
            test_bench bench;
            parking it = {.parks = 1};
            ovstage_api_status_t status;
            FR_CHECK(open_bench(&bench));
            outer waits = {.bench = &bench, .parked = &it, .room_below = room_below};
            waits.id = submit_parking(&bench, &it, ordinal, 1);
            fr_submission submission = {.has_ordinal = true, .ordinal = 5};
            uint64_t id =
                test_submit(&bench, &test_task_type, &submission,
                            (test_op){.run = wait_inside, .user = &waits, .number = 9}, &status);
            FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
            FR_CHECK(waits.outcome.status == OVSTAGE_OK);
            FR_CHECK(fr_graph_op_state(bench.graph, waits.id) == FR_OP_DONE);
            FR_CHECK(test_bench_close(&bench) == 0);
        }
    return NULL;
}

static void resume_other(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)op;
    fr_graph_op_resume(context->graph, ((parking *)self->user)->op);
}

static uint64_t submit_resume(test_bench *bench, parking *it)
{
    ovstage_api_status_t status;
    fr_submission submission = {.has_ordinal = true, .ordinal = 9};
    return test_submit(bench, &test_type, &submission,
                       (test_op){.run = resume_other, .user = it, .number = 2}, &status);
}

/* What was resumed and has not run again is dropped like what has not run at all. */

const char *graph_parked_is_dropped(void)
{
    for (uint64_t ordinal = 0; ordinal <= 1; ordinal++) {
        test_bench bench;
        parking it = {.parks = 1};
        FR_CHECK(open_bench(&bench));
        uint64_t id = submit_parking(&bench, &it, ordinal, 1);
        FR_CHECK(test_wait(&bench, id, 0) == OVSTAGE_ERROR_TIMEOUT);
        uint64_t next = submit_resume(&bench, &it);
        FR_CHECK(test_wait(&bench, next, FOREVER) == OVSTAGE_OK);
        FR_CHECK(test_bench_close(&bench) == 1 && it.drops == 1 && LOG_IS(1, 2));
    }
    return NULL;
}
