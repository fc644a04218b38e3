/* Two ordinals at the same time: what a second worker gains, beside what a second thread gains. */
#include <string.h>

#include "bench/bench_clock.h"
#include "bench/copy_team.h"
#include "bench/stage.h"

enum { LANES = 2, TASKS = 1000, TASK_NS = 20000, ROTATING = 4 };

typedef struct parallel_state {
    bench_stage one, two; /* with one worker, with two, pinned; waits run nothing themselves */
    ovstage_query_handle_t query_one, query_two;
    ovx_token_t attributes[LANES];
    bench_payload payloads[LANES];
    size_t size_bytes;
    char *sources[LANES], *targets[LANES][ROTATING];
    uint32_t turn, repeats;
} parallel_state;

static void *open_parallel(const bench_options *options)
{
    clock_burn_prepare();
    parallel_state *self = bench_allocate(sizeof(*self));
    uint32_t rows = options->quick ? 50000 : 1000000;
    self->size_bytes = (size_t)rows * 12;
    self->repeats = options->quick ? 2 : 20;
    stage_open_pinned(&self->one, 1);
    stage_open_pinned(&self->two, 2);
    for (int lane = 0; lane < LANES; lane++) {
        self->attributes[lane] = stage_token(&self->two, lane ? "bench:b" : "bench:a");
        /* Two cores together remember the places of twice as many small pages as one, which is no
         * gain in copying. */
        self->sources[lane] = bench_allocate_payload(self->size_bytes);
        for (int i = 0; i < ROTATING; i++)
            self->targets[lane][i] = bench_allocate_payload(self->size_bytes);
        payload_set(&self->payloads[lane], self->sources[lane], rows, stage_float3);
    }
    ovx_primpath_t *paths = stage_paths(&self->two, "/Parallel/P", 0, rows);
    self->query_one = stage_query(&self->one, paths, rows);
    self->query_two = stage_query(&self->two, paths, rows);
    bench_free(paths);
    return self;
}

static void close_parallel(void *state)
{
    parallel_state *self = state;
    stage_release_query(&self->one, self->query_one);
    stage_release_query(&self->two, self->query_two);
    stage_close(&self->one);
    stage_close(&self->two);
    for (int lane = 0; lane < LANES; lane++) {
        bench_free_payload(self->sources[lane], self->size_bytes);
        for (int i = 0; i < ROTATING; i++)
            bench_free_payload(self->targets[lane][i], self->size_bytes);
    }
    bench_free(self);
}

/* ---- memory-bound: a full column at each of two ordinals ---- */
static uint64_t time_columns(parallel_state *self, bench_stage *stage, ovstage_query_handle_t query)
{
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        ovstage_op_id_t ops[LANES];
        for (int lane = 0; lane < LANES; lane++)
            ops[lane] = stage_write(stage, query, self->attributes[lane], ++stage->ordinal,
                                    &self->payloads[lane]);
        for (int lane = 0; lane < LANES; lane++)
            stage_finish(stage, ops[lane]);
        stage_finish(stage, stage_seal(stage, stage->ordinal));
    }
    return clock_ns() - start_ns;
}

static double measure_columns(void *state, int variant)
{
    (void)variant;
    parallel_state *self = state;
    uint64_t one_ns = time_columns(self, &self->one, self->query_one);
    uint64_t two_ns = time_columns(self, &self->two, self->query_two);
    return (double)one_ns / (double)two_ns;
}

static void copy_lane(void *user, uint32_t lane)
{
    const parallel_state *self = user;
    copy_past_caches(self->targets[lane][self->turn % ROTATING], self->sources[lane],
                     self->size_bytes);
}

static double measure_columns_plain(void *state, int variant)
{
    (void)variant;
    parallel_state *self = state;
    uint64_t one_ns = 0, two_ns = 0;
    copy_team *team = copy_team_start(LANES, true);
    copy_team_run(team, copy_lane, self);
    for (uint32_t i = 0; i < self->repeats; i++) {
        self->turn = i;
        uint64_t start_ns = clock_ns();
        copy_team_run(team, copy_lane, self);
        two_ns += clock_ns() - start_ns;
    }
    copy_team_stop(team);
    team = copy_team_start(1, true);
    for (uint32_t i = 0; i < self->repeats; i++) {
        self->turn = i;
        uint64_t start_ns = clock_ns();
        for (uint32_t lane = 0; lane < LANES; lane++)
            copy_lane(self, lane);
        one_ns += clock_ns() - start_ns;
    }
    copy_team_stop(team);
    return (double)one_ns / (double)two_ns;
}

/* ---- compute-bound: a chain of ordered tasks at each of two ordinals ---- */
static ovstage_api_status_t run_burn(const flyrail_task_context_t *context, void *user)
{
    (void)context;
    (void)user;
    clock_burn(TASK_NS);
    return OVSTAGE_OK;
}

static uint64_t time_chains(bench_stage *stage)
{
    ovstage_op_id_t ops[LANES * TASKS];
    ovstage_ordinal_t first = stage->ordinal + 1;
    stage->ordinal += LANES;
    uint64_t start_ns = clock_ns();
    for (int i = 0; i < LANES * TASKS; i++) {
        const flyrail_task_desc_t task = {.struct_size = sizeof(task),
                                          .ordered = true,
                                          .ordinal = first + (ovstage_ordinal_t)(i % LANES),
                                          .fn = run_burn};
        ops[i] = stage_take(flyrail_submit_task(stage->instance, &task), "submit_task");
    }
    stage_wait_all(stage, ops, LANES * TASKS);
    uint64_t duration_ns = clock_ns() - start_ns;
    stage_release_all(stage, ops, LANES * TASKS);
    stage_finish(stage, stage_seal(stage, stage->ordinal));
    return duration_ns;
}

static double measure_chains(void *state, int variant)
{
    (void)variant;
    parallel_state *self = state;
    uint64_t one_ns = time_chains(&self->one);
    return (double)one_ns / (double)time_chains(&self->two);
}

static void burn_lane(void *user, uint32_t lane)
{
    (void)user;
    (void)lane;
    for (int i = 0; i < TASKS; i++)
        clock_burn(TASK_NS);
}

static double measure_chains_plain(void *state, int variant)
{
    (void)variant;
    copy_team *team = copy_team_start(LANES, true);
    uint64_t start_ns = clock_ns();
    copy_team_run(team, burn_lane, state);
    uint64_t two_ns = clock_ns() - start_ns;
    copy_team_stop(team);
    team = copy_team_start(1, true);
    start_ns = clock_ns();
    for (uint32_t lane = 0; lane < LANES; lane++)
        burn_lane(state, lane);
    uint64_t one_ns = clock_ns() - start_ns;
    copy_team_stop(team);
    return (double)one_ns / (double)two_ns;
}

static const bench_row rows[] = {
    {
        .name = "two-memory",
        .what = "a full column (1 M x 12 bytes) at each of two ordinals: gain of the second "
                "worker; all pinned",
        .unit = "x",
        .open = open_parallel,
        .close = close_parallel,
        .contenders = {BENCH_OURS("flyrail", measure_columns, 0),
                       BENCH_YARDSTICK("plain threads, stores past the caches",
                                       measure_columns_plain, 0)},
        .goals = {{BENCH_RATIO_AT_LEAST, 0, 1, 0.9, false}},
    },
    {
        .name = "two-compute",
        .what =
            "1,000 tasks of 20 us at each of two ordinals: gain of the second worker; all pinned",
        .unit = "x",
        .open = open_parallel,
        .close = close_parallel,
        .contenders = {BENCH_OURS("flyrail", measure_chains, 0),
                       BENCH_YARDSTICK("plain threads", measure_chains_plain, 0)},
        .goals = {{BENCH_AT_LEAST, 0, 0, 1.8, false}},
    },
};

const bench_theme bench_theme_parallel = {"parallel", rows, sizeof(rows) / sizeof(rows[0])};
