/* Reports: what is submitted, and what is complete. */
#include "tests/unit/graph_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/op_table.h"
#include "tests/support/check.h"
#include "tests/support/fake_work.h"
#include "tests/support/heap.h"
#include "tests/unit/graph_cases_bench.h"

#define FOREVER FR_TIMEOUT_INFINITE
#define ALL UINT64_MAX
#define LOG_IS(...) \
    test_log_is(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static bool open_bench(test_bench *bench)
{
    return test_bench_open(bench, 0, 1000000, &fr_allocator_default);
}

/* Fills in op and report; 0 when it was refused or there is no memory: nothing is left then. */
static uint64_t submit_with(test_bench *bench, fr_submission *submission, fake_work *work,
                            test_op payload)
{
    ovstage_api_status_t status;
    submission->report = fake_work_report(bench->graph, work);
    if (!submission->report)
        return 0;
    uint64_t id = test_submit(bench, &test_type, submission, payload, &status);
    if (id == 0)
        fr_graph_op_put(bench->graph, submission->report);
    return id;
}

static uint64_t submit_work(test_bench *bench, uint64_t ordinal, uint64_t filter, fake_work *work,
                            uint64_t number)
{
    fr_submission submission = {
        .has_ordinal = ordinal > 0, .ordinal = ordinal, .attribute_filter = filter};
    return submit_with(bench, &submission, work, (test_op){.number = number});
}

static uint64_t submit_filtered(test_bench *bench, uint64_t ordinal, uint64_t filter,
                                uint64_t number)
{
    ovstage_api_status_t status;
    fr_submission submission = {
        .has_ordinal = true, .ordinal = ordinal, .attribute_filter = filter};
    return test_submit(bench, &test_type, &submission, (test_op){.number = number}, &status);
}

/* All that can run has run. */
static bool settle(test_bench *bench)
{
    return fr_graph_run_some(bench->graph, UINT64_MAX) != UINT64_MAX;
}

static bool is_pending(test_bench *bench, uint64_t id)
{
    return settle(bench) && fr_graph_op_state(bench->graph, id) == FR_OP_PENDING;
}

static bool is_done(test_bench *bench, uint64_t id)
{
    return settle(bench) && fr_graph_op_state(bench->graph, id) == FR_OP_DONE;
}

static fr_graph_statistics statistics_of(test_bench *bench)
{
    fr_graph_statistics statistics;
    fr_graph_statistics_read(bench->graph, &statistics);
    return statistics;
}

const char *graph_report_is_what_clients_know(void)
{
    test_bench bench;
    fake_work work;
    fr_wait_outcome outcome;
    FR_CHECK(open_bench(&bench));
    for (uint64_t ordinal = 0; ordinal <= 1; ordinal++) {
        uint64_t id = submit_work(&bench, ordinal, 1, &work, 7);
        uint64_t own = id - 1;
        FR_CHECK(fr_graph_op_state(bench.graph, own) == FR_OP_UNKNOWN);
        FR_CHECK(fr_graph_release(bench.graph, own) == OVSTAGE_ERROR_INVALID_HANDLE);
        FR_CHECK(test_wait(&bench, own, FOREVER) == OVSTAGE_ERROR_INVALID_HANDLE);
        FR_CHECK(work.runs == 0 && test_log_count == ordinal);
        fr_graph_wait(bench.graph, id, 0, &outcome); /* runs the op */
        FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT && outcome.lowest_pending_id == id);
        FR_CHECK(test_log_count == ordinal + 1);
        fr_graph_wait(bench.graph, id, 1000, &outcome);
        FR_CHECK(outcome.status == OVSTAGE_ERROR_TIMEOUT && outcome.lowest_pending_id == id);
        FR_CHECK(work.runs == 1 && work.drops == 0);
        FR_CHECK(fr_graph_op_state(bench.graph, own) == FR_OP_UNKNOWN);
        fake_work_end(bench.graph, &work, NULL);
        FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_DONE);
        FR_CHECK(work.runs == 1 && work.drops == 1 && !work.saw_failure);
        FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
        FR_CHECK(test_submit_at(&bench, 9, 7) == id + 1);
        FR_CHECK(test_wait(&bench, id + 1, FOREVER) == OVSTAGE_OK && test_log_count == 2 + ordinal);
        test_log_count = 1;
    }
    FR_CHECK(fr_graph_pending_count(bench.graph) == 0);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* What is over before the report comes to it. */
const char *graph_report_of_what_is_over(void)
{
    test_bench bench;
    fake_work work;
    FR_CHECK(open_bench(&bench));
    uint64_t id = submit_work(&bench, 1, 1, &work, 1);
    fake_work_end(bench.graph, &work, NULL);
    FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_PENDING);
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(LOG_IS(1) && work.runs == 1 && work.drops == 1);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_reports_of_a_lane(void)
{
    test_bench bench;
    fake_work first, second, elsewhere;
    FR_CHECK(open_bench(&bench));
    uint64_t one = submit_work(&bench, 3, 1, &first, 1);
    uint64_t two = submit_work(&bench, 3, 1, &second, 2);
    uint64_t host = test_submit_at(&bench, 3, 3);
    uint64_t other = test_submit_at(&bench, 4, 4);
    uint64_t apart = submit_work(&bench, 5, 1, &elsewhere, 5);
    FR_CHECK(host == two + 2 && other == host + 1); /* the host op has a report as well */
    FR_CHECK(is_pending(&bench, one) && is_pending(&bench, two) && is_pending(&bench, host));
    FR_CHECK(LOG_IS(1, 2, 3, 4, 5)); /* the lane itself has gone on */
    FR_CHECK(is_done(&bench, other));
    fake_work_end(bench.graph, &second, NULL);
    FR_CHECK(is_pending(&bench, two) && is_pending(&bench, host)); /* not before the first */
    fake_work_end(bench.graph, &first, NULL);
    FR_CHECK(is_done(&bench, one) && is_done(&bench, two) && is_done(&bench, host));
    FR_CHECK(is_pending(&bench, apart));
    fake_work_end(bench.graph, &elsewhere, NULL);
    FR_CHECK(is_done(&bench, apart));
    uint64_t alone = test_submit_at(&bench, 3, 6);
    uint64_t next = test_submit_at(&bench, 5, 7);
    FR_CHECK(next == alone + 1); /* nothing is pending there */
    FR_CHECK(is_done(&bench, alone) && is_done(&bench, next));
    FR_CHECK(statistics_of(&bench).reports == 4 && statistics_of(&bench).ordinals_reported == 0);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_report_of_a_seal(void)
{
    test_bench bench;
    fake_work low, high, other;
    FR_CHECK(open_bench(&bench));
    uint64_t at_two = submit_work(&bench, 2, 1, &low, 20);
    uint64_t at_five = submit_work(&bench, 5, 1, &high, 50);
    (void)submit_work(&bench, 2, 4, &other, 21);
    uint64_t one = test_submit_seal(&bench, 1, ALL, 100);
    uint64_t unrelated = test_submit_seal(&bench, 9, 2, 101);
    FR_CHECK(unrelated == one + 1); /* neither covers anything that is reported */
    uint64_t four = test_submit_seal(&bench, 4, 1, 104);
    uint64_t five = test_submit_seal(&bench, 5, 1, 105);
    uint64_t after = test_submit_behind(&bench, five - 1, 200, false);
    FR_CHECK(settle(&bench) && test_log_count == 8); /* all have run, the seals as well */
    FR_CHECK(is_done(&bench, one) && is_done(&bench, unrelated) && is_done(&bench, after));
    FR_CHECK(is_pending(&bench, four) && is_pending(&bench, five));
    fake_work_end(bench.graph, &high, NULL);
    FR_CHECK(is_done(&bench, at_five) && is_pending(&bench, four) && is_pending(&bench, five));
    fake_work_end(bench.graph, &low, NULL);
    FR_CHECK(is_done(&bench, at_two));
    /* The last report of ordinal 2 is that of another attribute, and stands for both. */
    FR_CHECK(is_pending(&bench, four) && is_pending(&bench, five));
    fake_work_end(bench.graph, &other, NULL);
    FR_CHECK(is_done(&bench, four) && is_done(&bench, five));
    uint64_t last = test_submit_seal(&bench, 7, ALL, 107);
    FR_CHECK(is_done(&bench, last) && last == after + 1);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* It takes no lanes, for there is nothing left to seal; what is below it is not over yet. */
const char *graph_report_of_a_seal_that_raises_nothing(void)
{
    test_bench bench;
    fake_work low, high;
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    (void)submit_work(&bench, 2, 1, &low, 20);
    (void)submit_work(&bench, 5, 2, &high, 50);
    uint64_t first = test_submit_seal(&bench, 5, ALL, 105);
    FR_CHECK(is_pending(&bench, first)); /* the seal itself has run */
    const struct {
        uint64_t ordinal, filter;
    } again[] = {{5, ALL}, {5, 1}, {3, ALL}, {1, ALL}};
    uint64_t ids[4];
    for (uint64_t k = 0; k < 4; k++) {
        fr_submission seal = {.reports_below = true,
                              .below_ordinal = again[k].ordinal,
                              .below_filter = again[k].filter};
        ids[k] = test_submit(&bench, &test_type, &seal, (test_op){.number = 200 + k}, &status);
    }
    for (uint64_t k = 0; k < 3; k++)
        FR_CHECK(is_pending(&bench, ids[k]));
    FR_CHECK(is_done(&bench, ids[3])); /* nothing that is pending is below it */
    fake_work_end(bench.graph, &low, NULL);
    FR_CHECK(is_pending(&bench, first) && is_pending(&bench, ids[0]) && is_done(&bench, ids[2]));
    fake_work_end(bench.graph, &high, NULL);
    FR_CHECK(is_done(&bench, first));
    for (uint64_t k = 0; k < 2; k++)
        FR_CHECK(is_done(&bench, ids[k]));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* Ops that are neither of the ordinal nor seals go on at what is submitted. */
const char *graph_report_concerns_nobody_else(void)
{
    test_bench bench;
    fake_work work;
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    uint64_t id = submit_work(&bench, 2, 1, &work, 1);
    fr_submission looks = {.takes_lanes_below = true, .below_ordinal = 9, .below_filter = ALL};
    uint64_t query = test_submit(&bench, &test_type, &looks, (test_op){.number = 2}, &status);
    fr_submission copies = {.has_ordinal = true,
                            .ordinal = 7,
                            .attribute_filter = 1,
                            .takes_lanes_below = true,
                            .below_ordinal = 7,
                            .below_filter = ALL,
                            .holds_lanes_below = true};
    uint64_t clone = test_submit(&bench, &test_type, &copies, (test_op){.number = 3}, &status);
    uint64_t behind_own = test_submit_behind(&bench, id - 1, 4, true);
    uint64_t behind = test_submit_behind(&bench, id, 5, true);
    FR_CHECK(query == id + 1 && clone == id + 2 && behind_own == id + 3 && behind == id + 4);
    FR_CHECK(is_done(&bench, query) && is_done(&bench, clone) && is_done(&bench, behind_own));
    FR_CHECK(is_pending(&bench, id) && is_pending(&bench, behind));
    fake_work_end(bench.graph, &work, NULL);
    FR_CHECK(is_done(&bench, behind));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_report_has_producers(void)
{
    test_bench bench;
    fake_work works[3];
    FR_CHECK(open_bench(&bench));
    uint64_t before[2] = {submit_work(&bench, 1, 1, &works[0], 1),
                          submit_work(&bench, 2, 1, &works[1], 2)};
    fr_submission submission = {
        .has_ordinal = true, .ordinal = 3, .report_ids = before, .report_count = 2};
    uint64_t id = submit_with(&bench, &submission, &works[2], (test_op){.number = 3});
    FR_CHECK(settle(&bench) && LOG_IS(1, 2, 3)); /* the op waits for neither */
    fake_work_end(bench.graph, &works[2], NULL);
    fake_work_end(bench.graph, &works[1], NULL);
    FR_CHECK(is_done(&bench, before[1]) && is_pending(&bench, id));
    fake_work_end(bench.graph, &works[0], NULL);
    FR_CHECK(is_done(&bench, id));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* --- failures --------------------------------------------------------------------------------- */

static void fail(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)context;
    fr_op_fail(op, OVSTAGE_ERROR_NOT_FOUND, "number %" PRIu64 " is not there", self->number);
}

static bool failed_as(test_bench *bench, uint64_t id, ovstage_api_status_t status, const char *part,
                      uint64_t cause)
{
    char text[128];
    fr_op_failure failure;
    return fr_graph_op_failure(bench->graph, id, &failure, text, sizeof(text)) &&
           failure.status == status && strstr(text, part) && failure.cause_id == cause;
}

const char *graph_report_fails_as_its_op(void)
{
    test_bench bench;
    fake_work work, other;
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    fr_submission submission = {.has_ordinal = true, .ordinal = 1, .attribute_filter = 1};
    uint64_t id = submit_with(&bench, &submission, &work, (test_op){.run = fail, .number = 4});
    submission.report = NULL;
    test_op payload = {.run = fail, .number = 5};
    uint64_t host = test_submit(&bench, &test_type, &submission, payload, &status);
    uint64_t fine = test_submit_at(&bench, 1, 6);
    uint64_t needs = test_submit_behind(&bench, id, 7, true);
    uint64_t needs_own = test_submit_behind(&bench, id - 1, 8, true);
    FR_CHECK(is_pending(&bench, id) && is_pending(&bench, host) && is_pending(&bench, fine));
    FR_CHECK(work.runs == 1 && work.saw_failure); /* what was begun must be over all the same */
    FR_CHECK(failed_as(&bench, needs_own, OVSTAGE_ERROR_OP_FAILED, "did not run", id));
    fake_work_end(bench.graph, &work, NULL);
    FR_CHECK(settle(&bench) && fr_graph_op_state(bench.graph, fine) == FR_OP_DONE);
    FR_CHECK(failed_as(&bench, id, OVSTAGE_ERROR_NOT_FOUND, "number 4 is not there", 0));
    FR_CHECK(failed_as(&bench, host, OVSTAGE_ERROR_NOT_FOUND, "number 5 is not there", 0));
    FR_CHECK(failed_as(&bench, needs, OVSTAGE_ERROR_OP_FAILED, "did not run", id));
    FR_CHECK(statistics_of(&bench).failed == 4);
    /* One that fails by itself; one that was released; one that fails because of a producer. */
    submission.ordinal = 2;
    uint64_t apart = submit_with(&bench, &submission, &other, (test_op){.number = 9});
    FR_CHECK(is_pending(&bench, apart));
    fr_op_fail(other.parked, OVSTAGE_ERROR_INTERNAL, "lost");
    fake_work_end(bench.graph, &other, NULL);
    FR_CHECK(failed_as(&bench, apart, OVSTAGE_ERROR_INTERNAL, "lost", 0));
    submission.ordinal = 3;
    uint64_t released = submit_with(&bench, &submission, &work, (test_op){.run = fail});
    FR_CHECK(fr_graph_release(bench.graph, released) == OVSTAGE_OK);
    submission = (fr_submission){.producer_ids = &id, .producer_count = 1};
    submission.fails_with_producers = true;
    uint64_t behind = submit_with(&bench, &submission, &other, (test_op){.number = 10});
    fake_work_end(bench.graph, &work, NULL);
    fake_work_end(bench.graph, &other, NULL);
    FR_CHECK(settle(&bench) && fr_graph_op_state(bench.graph, released) == FR_OP_UNKNOWN);
    FR_CHECK(failed_as(&bench, behind, OVSTAGE_ERROR_OP_FAILED, "did not run", id));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

static ovstage_api_status_t refuse(fr_submission *submission, void *user)
{
    (void)submission;
    (void)user;
    return OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
}

const char *graph_report_refused(void)
{
    test_bench bench;
    fake_work work;
    FR_CHECK(test_bench_open(&bench, 0, 2, &fr_allocator_default));
    fr_submission submission = {.has_ordinal = true, .ordinal = 1, .admit = refuse};
    FR_CHECK(submit_with(&bench, &submission, &work, (test_op){0}) == 0);
    submission.admit = NULL;
    uint64_t id = submit_with(&bench, &submission, &work, (test_op){0});
    FR_CHECK(id == (TEST_PREFIX << 48 | 2)); /* a refused one uses no id */
    FR_CHECK(test_submit_at(&bench, 1, 1) == id + 2);
    FR_CHECK(test_submit_at(&bench, 1, 2) == 0); /* an op and its report count as one */
    FR_CHECK(work.drops == 0 && test_drops == 0);
    fake_work_end(bench.graph, &work, NULL);
    FR_CHECK(is_done(&bench, id + 2) && test_drops == 2);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* --- inside ops, and what is said of them ----------------------------------------------------- */

typedef struct inside {
    test_bench *bench;
    uint64_t awaited, known;
    fr_wait_outcome outcome;
} inside;

static void wait_inside(fr_op *op, test_op *self, const fr_run_context *context)
{
    inside *mine = self->user;
    mine->known = fr_op_client_id(op);
    fr_graph_wait(context->graph, mine->awaited, FOREVER, &mine->outcome);
}

const char *graph_report_waited_for_inside(void)
{
    test_bench bench;
    fake_work work;
    ovstage_api_status_t status;
    char name[24];
    FR_CHECK(open_bench(&bench));
    inside self = {.bench = &bench};
    fr_submission submission = {.has_ordinal = true, .ordinal = 2, .attribute_filter = 1};
    (void)submit_work(&bench, 2, 1, &work, 1);
    test_op payload = {.run = wait_inside, .user = &self};
    uint64_t id = test_submit(&bench, &test_task_type, &submission, payload, &status);
    self.awaited = id; /* its own report */
    FR_CHECK(is_pending(&bench, id) && self.known == id);
    snprintf(name, sizeof(name), "operation 0x%" PRIx64 ":", id);
    FR_CHECK(self.outcome.status == OVSTAGE_ERROR_INVALID_ARGUMENT);
    FR_CHECK(strstr(self.outcome.text, name));
    fake_work_end(bench.graph, &work, NULL);
    FR_CHECK(is_done(&bench, id));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

static const char *type_name(const fr_op *op, const char *name)
{
    (void)op;
    return name;
}

const char *graph_report_explained(void)
{
    test_bench bench;
    fake_work works[2];
    fr_explanation why;
    FR_CHECK(open_bench(&bench));
    uint64_t first = submit_work(&bench, 2, 1, &works[0], 1);
    uint64_t second = submit_work(&bench, 2, 1, &works[1], 2);
    fr_graph_explain(bench.graph, second, type_name, &why);
    FR_CHECK(why.id == second && why.why == FR_WHY_BEHIND && why.next_id == first);
    FR_CHECK(why.has_ordinal && why.ordinal == 2 && strcmp(why.name, "test") == 0);
    fr_graph_explain(bench.graph, first, type_name, &why);
    FR_CHECK(why.why == FR_WHY_NOBODY && why.ordinal == 2);
    FR_CHECK(settle(&bench));
    fr_graph_explain(bench.graph, second, type_name, &why);
    FR_CHECK(why.why == FR_WHY_PRODUCER && why.next_id == first);
    fr_graph_explain(bench.graph, first, type_name, &why);
    FR_CHECK(why.why == FR_WHY_RUNNING && strcmp(why.name, "work") == 0);
    fake_work_end(bench.graph, &works[0], NULL);
    fake_work_end(bench.graph, &works[1], NULL);
    FR_CHECK(is_done(&bench, second));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* --- many, bounds, the end -------------------------------------------------------------------- */

/* Behind a stalled device: so many ordinals, each with a seal of all and one of an attribute. */
static bool pile_up(test_bench *bench, fake_work *works, uint32_t count, uint64_t *ids)
{
    for (uint32_t k = 0; k < count; k++) {
        ids[0] = submit_work(bench, k + 1, 1, &works[k], 0);
        ids[1] = test_submit_seal(bench, k + 1, 1, 0);
        ids[2] = test_submit_seal(bench, k + 1, ALL, 0);
        if (!ids[0] || !ids[1] || !ids[2] || (k % 30 == 0 && !settle(bench)))
            return false;
    }
    return settle(bench);
}

const char *graph_many_reports(void)
{
    enum { COUNT = 300 };
    static fake_work works[COUNT];
    test_bench bench;
    uint64_t ids[3];
    FR_CHECK(open_bench(&bench));
    FR_CHECK(pile_up(&bench, works, COUNT, ids));
    FR_CHECK(statistics_of(&bench).ordinals_reported == COUNT);
    /* Each seal and its report wait for the seal and the report before, and for what is new. */
    FR_CHECK(statistics_of(&bench).edges < COUNT * 20);
    for (uint32_t k = COUNT; k-- > 0;) {
        FR_CHECK(fr_graph_op_state(bench.graph, ids[2]) == FR_OP_PENDING);
        fake_work_end(bench.graph, &works[k], NULL);
    }
    FR_CHECK(is_done(&bench, ids[0]) && is_done(&bench, ids[1]) && is_done(&bench, ids[2]));
    FR_CHECK(fr_graph_pending_count(bench.graph) == 0);
    /* Nobody asks for those ordinals again, and yet their entries go. */
    for (uint32_t k = 0; k < COUNT; k++)
        FR_CHECK(test_submit_at(&bench, COUNT + 1 + k, 0) != 0);
    FR_CHECK(statistics_of(&bench).ordinals_reported == 0);
    FR_CHECK(settle(&bench));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* A write that comes below the last seal, of an attribute which that left out, is not forgotten. */
const char *graph_report_joined_below_a_seal(void)
{
    test_bench bench;
    fake_work works[2];
    FR_CHECK(open_bench(&bench));
    (void)submit_work(&bench, 4, 1, &works[0], 1);
    uint64_t first = test_submit_seal(&bench, 8, ALL, 2);
    uint64_t low = submit_work(&bench, 3, 2, &works[1], 3);
    uint64_t next = test_submit_seal(&bench, 8, ALL, 4);
    fake_work_end(bench.graph, &works[0], NULL);
    FR_CHECK(is_done(&bench, first) && is_pending(&bench, low) && is_pending(&bench, next));
    fake_work_end(bench.graph, &works[1], NULL);
    FR_CHECK(is_done(&bench, next));
    uint64_t host = submit_filtered(&bench, 3, 4, 5);
    FR_CHECK(is_done(&bench, host));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* Op and report in two blocks of ids, and blocks used again. */
const char *graph_report_ids_cross_blocks(void)
{
    test_bench bench;
    fake_work work;
    FR_CHECK(open_bench(&bench));
    for (uint32_t k = 0; k < 2 * FR_IDS_PER_BLOCK; k++) {
        if (k % 97 == 0)
            FR_CHECK(fr_graph_release(bench.graph, test_submit_at(&bench, 0, 1)) == OVSTAGE_OK);
        uint64_t id = submit_work(&bench, 1 + k, 1, &work, 1);
        FR_CHECK(is_pending(&bench, id));
        fake_work_end(bench.graph, &work, NULL);
        FR_CHECK(fr_graph_op_state(bench.graph, id) == FR_OP_DONE);
        FR_CHECK(fr_graph_release(bench.graph, id) == OVSTAGE_OK);
    }
    fr_graph_statistics statistics = statistics_of(&bench);
    FR_CHECK(statistics.released == statistics.ids);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_report_dropped(void)
{
    test_bench bench;
    fake_work works[3];
    FR_CHECK(open_bench(&bench));
    (void)submit_work(&bench, 1, 1, &works[0], 1);
    FR_CHECK(settle(&bench)); /* one that runs, and is waited for by */
    (void)submit_work(&bench, 1, 1, &works[1], 2);
    FR_CHECK(settle(&bench));
    (void)submit_work(&bench, 2, 1, &works[2], 3);
    (void)test_submit_seal(&bench, 2, ALL, 4);
    fake_work_end(bench.graph, &works[0], NULL);
    FR_CHECK(test_bench_close(&bench) == 3);
    FR_CHECK(LOG_IS(1, 2) && test_drops == 4);
    for (uint32_t k = 0; k < 3; k++)
        FR_CHECK(works[k].drops == 1 && works[k].runs == (k == 0));
    return NULL;
}

static const char *report_without_memory(fr_test_heap *heap, uint64_t k, bool *failed)
{
    enum { COUNT = 60 };
    static fake_work works[COUNT];
    test_bench bench;
    fr_test_heap_fail(heap, k, 0);
    bool opened = test_bench_open(&bench, 0, 1000, fr_test_heap_allocator(heap));
    uint64_t accepted = 0, ids[2] = {0, 0};
    for (uint32_t n = 0; opened && n < COUNT; n++) {
        fr_store_relaxed(&works[n].state, 0);
        works[n].runs = works[n].drops = 0;
        ids[0] = submit_work(&bench, 1 + n, 1, &works[n], 0);
        ids[1] = n % 7 == 6 ? test_submit_seal(&bench, n, 1, 0) : test_submit_at(&bench, 1 + n, 0);
        accepted += (ids[0] != 0 ? 1u : 0u) + (ids[1] != 0 ? 1u : 0u);
    }
    for (uint32_t n = 0; opened && n < COUNT; n++)
        fake_work_end(bench.graph, &works[n], NULL);
    if (opened) {
        FR_CHECK(settle(&bench) && fr_graph_pending_count(bench.graph) == 0);
        FR_CHECK(test_drops == accepted && accepted >= 2 * COUNT - 1);
        FR_CHECK(test_bench_close(&bench) == 0);
    }
    *failed = fr_test_heap_calls(heap) >= k;
    FR_CHECK(opened || *failed);
    FR_CHECK(fr_test_heap_live_bytes(heap) == 0 && fr_test_heap_mistakes(heap) == 0);
    return NULL;
}

const char *graph_report_failing_allocations(void)
{
    fr_test_heap *heap = fr_test_heap_create();
    bool failed = true;
    uint64_t k = 1;
    for (; failed; k++) {
        const char *wrong = report_without_memory(heap, k, &failed);
        if (wrong)
            return wrong;
    }
    FR_CHECK(k > 8);
    (void)fr_test_heap_destroy(heap);
    return NULL;
}
