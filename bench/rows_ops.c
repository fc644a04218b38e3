/* What an op costs: chains, tasks, ordinals, and the submitting call itself. */
#include <stdlib.h>

#include "bench/bench_clock.h"
#include "bench/stage.h"
#include "bench/yardsticks.h"

typedef struct ops_state {
    const bench_options *options;
    bench_stage stage;
    ovstage_query_handle_t query;
    ovx_token_t attribute;
    float rows[64][3];
    bench_payload one, block; /* the first row; all rows */
    ovstage_query_handle_t block_query;
    size_t count;
    ovstage_op_id_t *ops;
    double p999; /* of the submitting call, from the round that gave its median */
} ops_state;

enum { BLOCK_ROWS = 64 };

static void *open_ops(const bench_options *options)
{
    ops_state *self = bench_allocate(sizeof(*self));
    clock_burn_prepare();
    self->options = options;
    self->count = options->quick ? 2000 : 50000;
    self->ops = bench_allocate(self->count * sizeof(*self->ops));
    stage_open(&self->stage, options->worker_count, true);
    self->attribute = stage_token(&self->stage, "bench:value");
    ovx_primpath_t *paths = stage_paths(&self->stage, "/Ops/P", 0, BLOCK_ROWS);
    self->query = stage_query(&self->stage, paths, 1);
    self->block_query = stage_query(&self->stage, paths, BLOCK_ROWS);
    bench_free(paths);
    payload_set(&self->one, self->rows, 1, stage_float3);
    payload_set(&self->block, self->rows, BLOCK_ROWS, stage_float3);
    stage_publish(&self->stage, self->block_query, self->attribute, &self->block);
    return self;
}

static void close_ops(void *state)
{
    ops_state *self = state;
    stage_release_query(&self->stage, self->query);
    stage_release_query(&self->stage, self->block_query);
    stage_close(&self->stage);
    bench_free(self->ops);
    bench_free(self);
}

/* ---- chained writes of one ordinal ---- */
static double measure_chain(void *state, int variant)
{
    (void)variant;
    ops_state *self = state;
    ovstage_ordinal_t ordinal = ++self->stage.ordinal;
    uint64_t start_ns = clock_ns();
    for (size_t i = 0; i < self->count; i++)
        self->ops[i] = stage_write(&self->stage, self->query, self->attribute, ordinal, &self->one);
    stage_wait(&self->stage, self->ops[self->count - 1]);
    uint64_t end_ns = clock_ns();
    stage_release_all(&self->stage, self->ops, self->count);
    stage_finish(&self->stage, stage_seal(&self->stage, ordinal));
    return (double)(end_ns - start_ns) / (double)self->count;
}

static double measure_tbb_chain(void *state, int variant)
{
    (void)variant;
    const ops_state *self = state;
    return yardstick_tbb_chain(self->options->worker_count, self->count);
}

/* ---- tasks without an order ---- */
static ovstage_api_status_t run_nothing(const flyrail_task_context_t *context, void *user)
{
    (void)context;
    (void)user;
    return OVSTAGE_OK;
}

static double measure_tasks(void *state, int variant)
{
    (void)variant;
    ops_state *self = state;
    uint64_t start_ns = clock_ns();
    for (size_t i = 0; i < self->count; i++)
        self->ops[i] = stage_task(&self->stage, run_nothing, NULL);
    stage_wait_all(&self->stage, self->ops, self->count);
    uint64_t end_ns = clock_ns();
    stage_release_all(&self->stage, self->ops, self->count);
    return (double)(end_ns - start_ns) / (double)self->count;
}

static double measure_tbb_tasks(void *state, int variant)
{
    (void)variant;
    const ops_state *self = state;
    return yardstick_tbb_tasks(self->options->worker_count, self->count);
}

static double measure_uv_tasks(void *state, int variant)
{
    (void)variant;
    const ops_state *self = state;
    return yardstick_uv_tasks(self->options->worker_count, self->count);
}

/* ---- one row at an ordinal each ---- */
enum { WITHOUT_SEAL, WITH_SEAL };

static double measure_ordinals(void *state, int variant)
{
    ops_state *self = state;
    size_t count = self->count / 2;
    ovstage_ordinal_t first = self->stage.ordinal + 1;
    uint64_t start_ns = clock_ns();
    for (size_t i = 0; i < count; i++)
        self->ops[i] =
            stage_write(&self->stage, self->query, self->attribute, first + i, &self->one);
    stage_wait_all(&self->stage, self->ops, count);
    uint64_t written_ns = clock_ns();
    self->stage.ordinal += count;
    stage_finish(&self->stage, stage_seal(&self->stage, self->stage.ordinal));
    uint64_t sealed_ns = clock_ns();
    stage_release_all(&self->stage, self->ops, count);
    return (double)((variant == WITH_SEAL ? sealed_ns : written_ns) - start_ns) / (double)count;
}

/* ---- yardsticks in processes of their own ---- */
enum { STARPU_CHAIN, STARPU_TASKS, GOMP_CHAIN, GOMP_TASKS };

static double measure_child(void *state, int variant)
{
    static const char *const names[] = {"starpu-chain", "starpu-tasks", "gomp-chain", "gomp-tasks"};
    const ops_state *self = state;
    size_t count = variant == GOMP_TASKS ? self->count : self->count / 10;
    return yardstick_in_child(self->options->program, names[variant], self->options->worker_count,
                              count);
}

/* ---- the submitting call, while the pool works ---- */
static int compare_ticks(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static ovstage_api_status_t run_long(const flyrail_task_context_t *context, void *user)
{
    (void)context;
    (void)user;
    clock_burn(20000);
    return OVSTAGE_OK;
}

/* Bursts of writes while each worker has tasks of 20 us before it; what the bursts add is worked
 * off between them. */
static void sample_submissions(ops_state *self, uint64_t *ticks, size_t count)
{
    enum { BURST = 50, TASKS = 16 };
    uint32_t tasks = TASKS * (self->options->worker_count > 0 ? self->options->worker_count : 1);
    ovstage_op_id_t ops[BURST];
    for (size_t done = 0; done + BURST <= count; done += BURST) {
        ovstage_ordinal_t ordinal = ++self->stage.ordinal;
        for (uint32_t i = 0; i < tasks; i++)
            self->ops[i] = stage_task(&self->stage, run_long, NULL);
        for (size_t i = 0; i < BURST; i++) {
            uint64_t start = clock_ticks();
            ops[i] = stage_write(&self->stage, self->block_query, self->attribute, ordinal,
                                 &self->block);
            ticks[done + i] = clock_ticks() - start;
        }
        ovstage_op_id_t seal = stage_seal(&self->stage, ordinal);
        stage_wait_all(&self->stage, self->ops, tasks);
        stage_finish(&self->stage, seal);
        stage_release_all(&self->stage, self->ops, tasks);
        stage_release_all(&self->stage, ops, BURST);
    }
}

enum { SUBMIT_P50, SUBMIT_P999 };

static double measure_submission(void *state, int variant)
{
    ops_state *self = state;
    if (variant == SUBMIT_P999)
        return self->p999;
    size_t count = self->options->quick ? 2000 : 20000;
    uint64_t *ticks = bench_allocate(count * sizeof(*ticks));
    sample_submissions(self, ticks, count);
    qsort(ticks, count, sizeof(*ticks), compare_ticks);
    double rate = clock_ticks_per_ns(), overhead = (double)clock_ticks_overhead();
    double p50 = ((double)ticks[count / 2] - overhead) / rate;
    self->p999 = ((double)ticks[count - 1 - count / 1000] - overhead) / rate;
    bench_free(ticks);
    return p50;
}

static const bench_row rows[] = {
    {
        .name = "chain",
        .what = "one-row writes at one ordinal, all submitted, then waited for",
        .unit = "ns/op",
        .open = open_ops,
        .close = close_ops,
        .contenders = {BENCH_OURS("flyrail", measure_chain, 0),
                       BENCH_YARDSTICK("oneTBB, chained spawn", measure_tbb_chain, 0),
                       BENCH_YARDSTICK("StarPU, one handle", measure_child, STARPU_CHAIN),
                       BENCH_YARDSTICK("libgomp, depend(inout)", measure_child, GOMP_CHAIN)},
        .goals = {{BENCH_AT_MOST, 0, 0, 120, false},
                  {BENCH_RATIO_AT_MOST, 0, 1, 4, false},
                  {BENCH_RATIO_AT_MOST, 0, 2, 1.0 / 15, false}},
    },
    {
        .name = "tasks",
        .what = "empty free tasks, all submitted, then waited for",
        .unit = "ns/op",
        .open = open_ops,
        .close = close_ops,
        .contenders = {BENCH_OURS("flyrail", measure_tasks, 0),
                       BENCH_YARDSTICK("libuv, uv_queue_work", measure_uv_tasks, 0),
                       BENCH_YARDSTICK("StarPU", measure_child, STARPU_TASKS),
                       BENCH_YARDSTICK("oneTBB, task_group", measure_tbb_tasks, 0),
                       BENCH_YARDSTICK("libgomp, task", measure_child, GOMP_TASKS)},
        .goals = {{BENCH_AT_MOST, 0, 0, 80, false},
                  {BENCH_RATIO_AT_MOST, 0, 1, 1, false},
                  {BENCH_RATIO_AT_MOST, 0, 2, 0.1, false}},
    },
    {
        .name = "ordinals",
        .what = "one-row writes at an ordinal each, all submitted, then waited for",
        .unit = "ns/op",
        .open = open_ops,
        .close = close_ops,
        .contenders = {BENCH_OURS("flyrail", measure_ordinals, WITHOUT_SEAL),
                       BENCH_OURS("flyrail, with one seal of all", measure_ordinals, WITH_SEAL),
                       BENCH_YARDSTICK("libuv, uv_queue_work", measure_uv_tasks, 0),
                       BENCH_YARDSTICK("StarPU", measure_child, STARPU_TASKS)},
        .goals = {{BENCH_AT_MOST, 0, 0, 250, false},
                  {BENCH_RATIO_AT_MOST, 0, 2, 1, false},
                  {BENCH_RATIO_AT_MOST, 0, 3, 0.1, false}},
    },
    {
        .name = "submit",
        .what = "one call of write_attribute (64 x vec3, host) while all workers are busy",
        .unit = "ns",
        .open = open_ops,
        .close = close_ops,
        .contenders = {BENCH_OURS("median", measure_submission, SUBMIT_P50),
                       BENCH_OURS("99.9 %", measure_submission, SUBMIT_P999)},
        .goals = {{BENCH_AT_MOST, 0, 0, 100, false}, {BENCH_AT_MOST, 1, 0, 10000, false}},
    },
};

const bench_theme bench_theme_ops = {"ops", rows, sizeof(rows) / sizeof(rows[0])};
