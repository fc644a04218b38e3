/* What a one-row write costs in stages of different sizes. */
#include <stdio.h>

#include "bench/bench_clock.h"
#include "bench/stage.h"

enum { SCALE_KINDS = 2, WORKING_SET = 64 };

typedef struct scale_state {
    bench_stage stages[SCALE_KINDS];
    ovx_token_t attributes[SCALE_KINDS][WORKING_SET];
    ovx_primpath_t paths[SCALE_KINDS][WORKING_SET];
    ovstage_query_handle_t bound[SCALE_KINDS][WORKING_SET];
    float row[3];
    bench_payload payload;
    uint32_t repeats;
} scale_state;

static scale_state *open_scale(const bench_options *options)
{
    scale_state *self = bench_allocate(sizeof(*self));
    self->repeats = options->quick ? 500 : 5000;
    payload_set(&self->payload, self->row, 1, stage_float3);
    for (int i = 0; i < SCALE_KINDS; i++)
        stage_open(&self->stages[i], options->worker_count, true);
    return self;
}

static void bind_working_set(scale_state *self, int kind)
{
    for (int i = 0; i < WORKING_SET; i++)
        self->bound[kind][i] = stage_query(&self->stages[kind], &self->paths[kind][i], 1);
}

static void close_scale(void *state)
{
    scale_state *self = state;
    for (int kind = 0; kind < SCALE_KINDS; kind++) {
        for (int i = 0; i < WORKING_SET; i++)
            stage_release_query(&self->stages[kind], self->bound[kind][i]);
        stage_close(&self->stages[kind]);
    }
    bench_free(self);
}

/* Many attributes, each on one of a few prims; the writes go to 64 of them. */
static void *open_attributes(const bench_options *options)
{
    const uint32_t counts[SCALE_KINDS] = {100, options->quick ? 1000 : 100000};
    scale_state *self = open_scale(options);
    for (int kind = 0; kind < SCALE_KINDS; kind++) {
        bench_stage *stage = &self->stages[kind];
        ovx_primpath_t *paths = stage_paths(stage, "/Scale/P", 0, 1);
        ovstage_query_handle_t query = stage_query(stage, paths, 1);
        ovstage_ordinal_t ordinal = ++stage->ordinal;
        uint32_t stride = counts[kind] / WORKING_SET;
        for (uint32_t i = 0; i < counts[kind]; i++) {
            char name[32];
            snprintf(name, sizeof(name), "bench:a%u", i);
            ovx_token_t token = stage_token(stage, name);
            if (i % stride == 0 && i / stride < WORKING_SET)
                self->attributes[kind][i / stride] = token;
            stage_release(stage, stage_write(stage, query, token, ordinal, &self->payload));
        }
        stage_finish(stage, stage_seal(stage, ordinal));
        stage_release_query(stage, query);
        for (int i = 0; i < WORKING_SET; i++)
            self->paths[kind][i] = paths[0];
        bench_free(paths);
        bind_working_set(self, kind);
    }
    return self;
}

/* Many prims with one attribute; the writes go to 64 of them. */
static void *open_prims(const bench_options *options)
{
    const uint32_t counts[SCALE_KINDS] = {1000, options->quick ? 10000 : 1000000};
    scale_state *self = open_scale(options);
    for (int kind = 0; kind < SCALE_KINDS; kind++) {
        bench_stage *stage = &self->stages[kind];
        bench_payload all;
        float *rows = bench_allocate((size_t)counts[kind] * 3 * sizeof(*rows));
        ovx_primpath_t *paths = stage_paths(stage, "/Scale/P", 0, counts[kind]);
        ovstage_query_handle_t query = stage_query(stage, paths, counts[kind]);
        ovx_token_t token = stage_token(stage, "bench:a0");
        payload_set(&all, rows, counts[kind], stage_float3);
        stage_publish(stage, query, token, &all);
        stage_release_query(stage, query);
        for (uint32_t i = 0; i < WORKING_SET; i++) {
            self->attributes[kind][i] = token;
            self->paths[kind][i] = paths[i * (counts[kind] / WORKING_SET)];
        }
        bench_free(paths);
        bench_free(rows);
        bind_working_set(self, kind);
    }
    return self;
}

/* A seal for each pass over the working set; a few writes of 64 are nothing beside it otherwise. */
static double measure(scale_state *self, int kind, bool new_query)
{
    bench_stage *stage = &self->stages[kind];
    ovstage_op_id_t ops[WORKING_SET];
    uint32_t passes = self->repeats / WORKING_SET;
    uint64_t start_ns = clock_ns();
    for (uint32_t pass = 0; pass < passes; pass++) {
        ovstage_ordinal_t ordinal = ++stage->ordinal;
        for (int i = 0; i < WORKING_SET; i++) {
            ovstage_query_handle_t query = self->bound[kind][i];
            if (new_query)
                query = stage_query(stage, &self->paths[kind][i], 1);
            ops[i] = stage_write(stage, query, self->attributes[kind][i], ordinal, &self->payload);
            if (new_query)
                stage_release_query(stage, query);
        }
        stage_finish(stage, stage_seal(stage, ordinal));
        stage_release_all(stage, ops, WORKING_SET);
    }
    return (double)(clock_ns() - start_ns) / passes / WORKING_SET;
}

static double measure_bound(void *state, int kind)
{
    return measure(state, kind, false);
}

static double measure_new(void *state, int kind)
{
    return measure(state, kind, true);
}

static const bench_row rows[] = {
    {
        .name = "attributes",
        .what = "one-row writes, a seal every 64, in stages of few and many attributes",
        .unit = "ns/op",
        .open = open_attributes,
        .close = close_scale,
        .contenders = {BENCH_OURS("kept query, 100", measure_bound, 0),
                       BENCH_OURS("kept query, 100 k", measure_bound, 1),
                       BENCH_OURS("new query, 100", measure_new, 0),
                       BENCH_OURS("new query, 100 k", measure_new, 1)},
        .goals = {{BENCH_RATIO_AT_MOST, 1, 0, 2, false}, {BENCH_RATIO_AT_MOST, 3, 2, 3, false}},
    },
    {
        .name = "prims",
        .what = "one-row writes, a seal every 64, in stages of few and many prims",
        .unit = "ns/op",
        .open = open_prims,
        .close = close_scale,
        .contenders = {BENCH_OURS("kept query, 1 k", measure_bound, 0),
                       BENCH_OURS("kept query, 1 M", measure_bound, 1),
                       BENCH_OURS("new query, 1 k", measure_new, 0),
                       BENCH_OURS("new query, 1 M", measure_new, 1)},
        .goals = {{BENCH_RATIO_AT_MOST, 1, 0, 2, false}, {BENCH_RATIO_AT_MOST, 3, 2, 3, false}},
    },
};

const bench_theme bench_theme_scale = {"scale", rows, sizeof(rows) / sizeof(rows[0])};
