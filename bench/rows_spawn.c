/* What it costs later that prims came into being one by one. */
#include "bench/bench_clock.h"
#include "bench/stage.h"

enum { SPAWN_SIZES = 2, SPAWN_KINDS = 2 * SPAWN_SIZES, SPAWN_FRAMES_BEFORE = 100 };

/* Prims that were spawned together, or a seal each. */
typedef struct spawn_prims {
    bench_stage stage;
    ovx_token_t attribute;
    ovstage_query_handle_t query;
    bench_payload all;
    float *rows;
} spawn_prims;

typedef struct spawn_state {
    spawn_prims prims[SPAWN_KINDS];
    uint32_t frames[SPAWN_KINDS];
} spawn_state;

/* All of them are written, sealed and read. */
static void pass_frame(spawn_prims *prims)
{
    stage_publish(&prims->stage, prims->query, prims->attribute, &prims->all);
    ovstage_read_group_t group =
        stage_hold(&prims->stage, prims->query, prims->attribute, prims->stage.ordinal);
    stage_let_go(&prims->stage, &group);
}

static void open_prims(spawn_prims *prims, uint32_t worker_count, uint32_t count, bool one_by_one)
{
    bench_stage *stage = &prims->stage;
    stage_open(stage, worker_count, true);
    prims->attribute = stage_token(stage, "bench:value");
    prims->rows = bench_allocate((size_t)count * 3 * sizeof(*prims->rows));
    ovx_primpath_t *paths = stage_paths(stage, "/Spawned/P", 0, count);
    prims->query = stage_query(stage, paths, count);
    payload_set(&prims->all, prims->rows, count, stage_float3);
    for (uint32_t i = 0; one_by_one && i < count; i++) {
        bench_payload one;
        payload_set(&one, prims->rows, 1, stage_float3);
        ovstage_query_handle_t query = stage_query(stage, &paths[i], 1);
        stage_publish(stage, query, prims->attribute, &one);
        stage_release_query(stage, query);
    }
    bench_free(paths);
    for (uint32_t i = 0; i < SPAWN_FRAMES_BEFORE; i++)
        pass_frame(prims);
}

static void *open_spawned(const bench_options *options)
{
    const uint32_t counts[SPAWN_SIZES] = {1000, options->quick ? 2000 : 10000};
    spawn_state *self = bench_allocate(sizeof(*self));
    for (int kind = 0; kind < SPAWN_KINDS; kind++) {
        uint32_t count = counts[kind / 2];
        self->frames[kind] = (options->quick ? 20000 : 200000) / count;
        open_prims(&self->prims[kind], options->worker_count, count, kind % 2 == 1);
    }
    return self;
}

static void close_spawned(void *state)
{
    spawn_state *self = state;
    for (int kind = 0; kind < SPAWN_KINDS; kind++) {
        stage_release_query(&self->prims[kind].stage, self->prims[kind].query);
        stage_close(&self->prims[kind].stage);
        bench_free(self->prims[kind].rows);
    }
    bench_free(self);
}

static double measure(void *state, int kind)
{
    spawn_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t frame = 0; frame < self->frames[kind]; frame++)
        pass_frame(&self->prims[kind]);
    return (double)(clock_ns() - start_ns) / self->frames[kind] / 1000;
}

static const bench_row rows[] = {
    {
        .name = "spawned",
        .what = "all prims written, sealed and read: spawned together, and by a seal each",
        .unit = "us/frame",
        .open = open_spawned,
        .close = close_spawned,
        .contenders = {BENCH_OURS("1 k together", measure, 0), BENCH_OURS("1 k by one", measure, 1),
                       BENCH_OURS("10 k together", measure, 2),
                       BENCH_OURS("10 k by one", measure, 3)},
        .goals = {{BENCH_RATIO_AT_MOST, 1, 0, 2, false}, {BENCH_RATIO_AT_MOST, 3, 2, 2, false}},
    },
};

const bench_theme bench_theme_spawn = {"spawn", rows, sizeof(rows) / sizeof(rows[0])};
