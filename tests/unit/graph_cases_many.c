/* Very many lanes and seals: what acceptance looks at, counted; and that nothing is left out. */
#include "tests/support/check.h"
#include "tests/unit/graph_cases.h"
#include "tests/unit/graph_cases_bench.h"

#define MANY 400u
#define FOREVER UINT64_MAX

/* When each number ran; 0: not yet. */
static uint64_t ran_at[2 * MANY + 8];
static uint64_t moment;

static void note(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)op;
    (void)context;
    ran_at[self->number] = ++moment;
}

static bool open_bench(test_bench *bench)
{
    moment = 0;
    for (uint64_t k = 0; k < sizeof(ran_at) / sizeof(ran_at[0]); k++)
        ran_at[k] = 0;
    return test_bench_open(bench, 0, 1000000, &fr_allocator_default);
}

static uint64_t submit(test_bench *bench, fr_submission *submission, uint64_t number)
{
    ovstage_api_status_t status;
    return test_submit(bench, &test_type, submission, (test_op){.run = note, .number = number},
                       &status);
}

static uint64_t submit_at(test_bench *bench, uint64_t ordinal, uint64_t filter, uint64_t number)
{
    fr_submission submission = {
        .has_ordinal = true, .ordinal = ordinal, .attribute_filter = filter};
    return submit(bench, &submission, number);
}

static uint64_t submit_seal(test_bench *bench, uint64_t ordinal, uint64_t filter, uint64_t number)
{
    fr_submission submission = {.takes_lanes_below = true,
                                .covers_lanes = true,
                                .below_ordinal = ordinal,
                                .below_filter = filter};
    return submit(bench, &submission, number);
}

static fr_graph_statistics figures(const test_bench *bench)
{
    fr_graph_statistics statistics;
    fr_graph_statistics_read(bench->graph, &statistics);
    return statistics;
}

/* MANY pending lanes, then a seal of each. */
static const char *seal_each(uint64_t filter)
{
    test_bench bench;
    uint64_t last = 0;
    FR_CHECK(open_bench(&bench));
    for (uint64_t k = 1; k <= MANY; k++)
        FR_CHECK(submit_at(&bench, k, 1, k) != 0);
    for (uint64_t k = 1; k <= MANY; k++)
        FR_CHECK((last = submit_seal(&bench, k, filter, MANY + k)) != 0);
    fr_graph_statistics statistics = figures(&bench);
    FR_CHECK(statistics.edges >= MANY && statistics.edges <= 2 * MANY);
    FR_CHECK(statistics.lanes_looked_at <= 4 * MANY);
    FR_CHECK(test_wait(&bench, last, FOREVER) == OVSTAGE_OK);
    for (uint64_t k = 1; k <= MANY; k++) {
        FR_CHECK(ran_at[MANY + k] > ran_at[k] && ran_at[k] > 0);
        FR_CHECK(k == 1 || ran_at[MANY + k] > ran_at[MANY + k - 1]);
    }
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_many_seals(void)
{
    return seal_each(UINT64_MAX);
}

const char *graph_many_scoped_seals(void)
{
    return seal_each(3);
}

const char *graph_many_idle_lanes(void)
{
    test_bench bench;
    uint64_t last = 0, ids[MANY + 1];
    FR_CHECK(open_bench(&bench));
    for (uint64_t k = 1; k <= MANY; k++)
        FR_CHECK((ids[k] = submit_at(&bench, k, 1, k)) != 0);
    for (uint64_t k = 1; k <= MANY; k++)
        FR_CHECK(test_wait(&bench, ids[k], FOREVER) == OVSTAGE_OK);
    /* Of an attribute that none of them has: no front stands before them. */
    for (uint64_t k = 1; k <= MANY; k++)
        FR_CHECK((last = submit_seal(&bench, MANY, UINT64_C(1) << k % 64, MANY + 1)) != 0);
    FR_CHECK(figures(&bench).lanes_looked_at <= 2 * MANY);
    FR_CHECK(test_wait(&bench, last, FOREVER) == OVSTAGE_OK);
    /* They can be had again, and are waited for. */
    FR_CHECK(submit_at(&bench, 7, 1, 7) != 0);
    last = submit_seal(&bench, MANY + 1, 1, MANY + 2);
    FR_CHECK(test_wait(&bench, last, FOREVER) == OVSTAGE_OK);
    FR_CHECK(ran_at[MANY + 2] > ran_at[7] && ran_at[7] > ran_at[MANY]);
    (void)fr_graph_run_some(bench.graph, 2 * MANY);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* Who runs whatever there is comes past what has run about once, lanes and ops without one. */
const char *graph_many_run_by_request(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    for (uint64_t k = 1; k <= MANY; k++)
        FR_CHECK(submit_at(&bench, k, 1, k) != 0);
    FR_CHECK(fr_graph_run_some(bench.graph, UINT64_MAX) == MANY);
    FR_CHECK(figures(&bench).looks_to_run <= 4 * MANY);
    for (uint64_t k = 1; k <= MANY; k++)
        FR_CHECK(submit_seal(&bench, MANY + k, 1, MANY + 1) != 0);
    uint64_t before = figures(&bench).looks_to_run;
    FR_CHECK(fr_graph_run_some(bench.graph, UINT64_MAX) == MANY);
    FR_CHECK(figures(&bench).looks_to_run - before <= 4 * MANY);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

static bool last_has_run(void *user)
{
    (void)user;
    return ran_at[MANY] > 0;
}

static bool is_never(void *user)
{
    (void)user;
    return false;
}

static bool needs_ops(void *user)
{
    (void)user;
    return true;
}

static uint64_t submit_behind(test_bench *bench, uint64_t ordinal, uint64_t producer,
                              uint64_t number)
{
    fr_submission submission = {.has_ordinal = ordinal > 0,
                                .ordinal = ordinal,
                                .attribute_filter = 1,
                                .producer_ids = &producer,
                                .producer_count = 1};
    return submit(bench, &submission, number);
}

static ovstage_api_status_t in_vain;

/* All but the last lane wait for this op. */
static void wait_among_blocked(fr_op *op, test_op *self, const fr_run_context *context)
{
    test_bench *bench = self->user;
    fr_wait_outcome outcome;
    fr_condition condition = {
        .ready = last_has_run, .needs_ops = needs_ops, .what = "the last lane"};
    (void)context;
    for (uint64_t k = 2; k < MANY; k++) {
        in_vain |= submit_behind(bench, k, fr_op_id(op), k) == 0;
        in_vain |= submit_behind(bench, 0, fr_op_id(op), MANY + k) == 0;
    }
    in_vain |= submit_at(bench, MANY, 1, MANY) == 0;
    fr_graph_wait_condition(bench->graph, &condition, FOREVER, &outcome);
    in_vain |= outcome.status != OVSTAGE_OK;
    condition.ready = is_never;
    fr_graph_wait_condition(bench->graph, &condition, FOREVER, &outcome);
    in_vain |= outcome.status != OVSTAGE_ERROR_INVALID_ARGUMENT;
}

/* Between very many lanes and ops that are blocked the one that can be run is found; then, that
 * none can. */
const char *graph_many_blocked(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    FR_CHECK(open_bench(&bench));
    in_vain = OVSTAGE_OK;
    fr_submission submission = {.has_ordinal = true, .ordinal = 1, .attribute_filter = 1};
    uint64_t id = test_submit(&bench, &test_type, &submission,
                              (test_op){.run = wait_among_blocked, .user = &bench}, &status);
    FR_CHECK(id != 0 && test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(in_vain == OVSTAGE_OK);
    FR_CHECK(ran_at[MANY] == 1);
    FR_CHECK(fr_graph_run_some(bench.graph, UINT64_MAX) == 2 * (MANY - 2));
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

static _Atomic uint32_t worker_state; /* 1: it is in the op below; 2: it may go on */

static void keep_worker(fr_op *op, test_op *self, const fr_run_context *context)
{
    (void)op;
    (void)self;
    (void)context;
    fr_store_release(&worker_state, 1);
    while (fr_load_acquire(&worker_state) != 2)
        fr_os_current->yield();
}

/* The only worker is busy, so that waits run all ops ahead of their tokens. */
const char *graph_many_late_tokens(void)
{
    test_bench bench;
    ovstage_api_status_t status;
    FR_CHECK(test_bench_open(&bench, 1, 1000000, &fr_allocator_default));
    fr_store_relaxed(&worker_state, 0);
    uint64_t kept = test_submit(&bench, &test_type, &(fr_submission){0},
                                (test_op){.run = keep_worker}, &status);
    FR_CHECK(kept != 0);
    while (fr_load_acquire(&worker_state) != 1)
        fr_os_current->yield();
    for (uint64_t k = 1; k <= 10 * MANY; k++) {
        FR_CHECK(test_wait(&bench, test_submit_at(&bench, 0, k), FOREVER) == OVSTAGE_OK);
        FR_CHECK(test_wait(&bench, test_submit_at(&bench, k, k), FOREVER) == OVSTAGE_OK);
    }
    fr_graph_statistics now = figures(&bench);
    FR_CHECK(now.op_records <= 2 * MANY);
    FR_CHECK(now.lanes_made <= MANY);
    fr_store_release(&worker_state, 2);
    FR_CHECK(test_wait(&bench, kept, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

/* An op below a seal that is accepted already is one that the next seal waits for. */
static const char *join_below(uint64_t filter, uint64_t next_filter)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    FR_CHECK(submit_at(&bench, 5, 1, 1) != 0);
    FR_CHECK(submit_seal(&bench, 10, filter, 2) != 0);
    FR_CHECK(submit_at(&bench, 5, 1, 3) != 0);
    FR_CHECK(submit_at(&bench, 6, 1, 4) != 0);
    uint64_t seal = submit_seal(&bench, 11, next_filter, 5);
    FR_CHECK(test_wait(&bench, seal, FOREVER) == OVSTAGE_OK);
    FR_CHECK(ran_at[1] > 0 && ran_at[3] > 0 && ran_at[4] > 0);
    FR_CHECK(ran_at[1] < ran_at[3] && ran_at[3] < ran_at[5] && ran_at[4] < ran_at[5]);
    (void)fr_graph_run_some(bench.graph, 1); /* the first seal, if its scope does not meet that */
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}

const char *graph_join_below_seal(void)
{
    static const uint64_t filters[] = {UINT64_MAX, 1, 3};
    for (uint32_t first = 0; first < 3; first++)
        for (uint32_t next = 0; next < 3; next++) {
            const char *wrong = join_below(filters[first], filters[next]);
            if (wrong)
                return wrong;
        }
    return NULL;
}

/* What goes on in its own lane waits for no seal, and a seal for none above it. */
const char *graph_seals_hold_up_seals_only(void)
{
    test_bench bench;
    FR_CHECK(open_bench(&bench));
    FR_CHECK(submit_at(&bench, 1, 1, 1) != 0);
    FR_CHECK(submit_at(&bench, 2, 2, 2) != 0);
    uint64_t high = submit_seal(&bench, 8, UINT64_MAX, 3);
    fr_submission judged = {.has_ordinal = true,
                            .ordinal = 9,
                            .attribute_filter = 1,
                            .takes_lanes_below = true,
                            .below_ordinal = 9,
                            .below_filter = 1};
    uint64_t id = submit(&bench, &judged, 4);
    FR_CHECK(test_wait(&bench, id, FOREVER) == OVSTAGE_OK);
    FR_CHECK(ran_at[1] > 0 && ran_at[2] == 0 && ran_at[3] == 0 && ran_at[4] > 0);
    uint64_t low = submit_seal(&bench, 1, UINT64_MAX, 5);
    FR_CHECK(test_wait(&bench, low, FOREVER) == OVSTAGE_OK);
    FR_CHECK(ran_at[2] == 0 && ran_at[3] == 0);
    FR_CHECK(test_wait(&bench, high, FOREVER) == OVSTAGE_OK);
    FR_CHECK(test_bench_close(&bench) == 0);
    return NULL;
}
