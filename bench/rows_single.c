/* Thousands of one-row writes and one seal, for prims that are new and for ones that exist. */
#include <stdio.h>

#include "bench/bench_clock.h"
#include "bench/stage.h"

enum { SIZE_KINDS = 2 };

typedef struct single_state {
    const bench_options *options;
    uint32_t column_count;
    uint32_t write_counts[SIZE_KINDS];
    struct {
        bench_stage stage;
        ovx_token_t *attributes;
        ovstage_query_handle_t *queries; /* one prim each */
        uint32_t prim_count;
        bool open;
    } sizes[SIZE_KINDS];
    float row[3];
    bench_payload payload;
    ovstage_op_id_t *ops;
} single_state;

static void *open_single(const bench_options *options, uint32_t column_count)
{
    single_state *self = bench_allocate(sizeof(*self));
    self->options = options;
    self->column_count = column_count;
    self->write_counts[0] = options->quick ? 4000 : 6000;
    self->write_counts[1] = options->quick ? 8000 : 60000;
    self->ops = bench_allocate(self->write_counts[1] * sizeof(*self->ops));
    payload_set(&self->payload, self->row, 1, stage_float3);
    return self;
}

static void *open_single_1(const bench_options *options)
{
    return open_single(options, 1);
}

static void *open_single_20(const bench_options *options)
{
    return open_single(options, 20);
}

static void *open_single_2000(const bench_options *options)
{
    return open_single(options, 2000);
}

static void close_size(single_state *self, int size)
{
    if (!self->sizes[size].open)
        return;
    bench_stage *stage = &self->sizes[size].stage;
    for (uint32_t i = 0; i < self->sizes[size].prim_count; i++)
        stage_release_query(stage, self->sizes[size].queries[i]);
    stage_close(stage);
    bench_free(self->sizes[size].attributes);
    bench_free(self->sizes[size].queries);
    self->sizes[size].open = false;
}

static void close_single(void *state)
{
    single_state *self = state;
    for (int i = 0; i < SIZE_KINDS; i++)
        close_size(self, i);
    bench_free(self->ops);
    bench_free(self);
}

/* A stage without a prim, and the names and queries for what will be written. */
static void renew_size(single_state *self, int size)
{
    close_size(self, size);
    bench_stage *stage = &self->sizes[size].stage;
    stage_open(stage, self->options->worker_count, true);
    self->sizes[size].open = true;
    self->sizes[size].attributes =
        bench_allocate(self->column_count * sizeof(*self->sizes[size].attributes));
    for (uint32_t i = 0; i < self->column_count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "bench:c%u", i);
        self->sizes[size].attributes[i] = stage_token(stage, name);
    }
    uint32_t prims = self->write_counts[size] / self->column_count;
    self->sizes[size].prim_count = prims;
    self->sizes[size].queries = bench_allocate(prims * sizeof(*self->sizes[size].queries));
    ovx_primpath_t *paths = stage_paths(stage, "/Single/P", 0, prims);
    for (uint32_t i = 0; i < prims; i++)
        self->sizes[size].queries[i] = stage_query(stage, &paths[i], 1);
    bench_free(paths);
}

/* Every prim in every column, all at one ordinal, and the seal, waited for. Per write. */
static double measure_writes(single_state *self, int size)
{
    bench_stage *stage = &self->sizes[size].stage;
    ovstage_ordinal_t ordinal = ++stage->ordinal;
    uint32_t count = 0;
    uint64_t start_ns = clock_ns();
    for (uint32_t prim = 0; prim < self->sizes[size].prim_count; prim++)
        for (uint32_t column = 0; column < self->column_count; column++)
            self->ops[count++] =
                stage_write(stage, self->sizes[size].queries[prim],
                            self->sizes[size].attributes[column], ordinal, &self->payload);
    ovstage_op_id_t seal = stage_seal(stage, ordinal);
    stage_wait(stage, seal);
    uint64_t end_ns = clock_ns();
    stage_release(stage, seal);
    stage_release_all(stage, self->ops, count);
    return (double)(end_ns - start_ns) / count;
}

static double measure_new(void *state, int size)
{
    renew_size(state, size);
    return measure_writes(state, size);
}

static double measure_existing(void *state, int size)
{
    return measure_writes(state, size);
}

#define SINGLE_CONTENDERS \
    { \
        BENCH_OURS("new, 6,000", measure_new, 0), BENCH_OURS("new, 60,000", measure_new, 1), \
            BENCH_OURS("existing, 6,000", measure_existing, 0), \
            BENCH_OURS("existing, 60,000", measure_existing, 1), \
    }
#define SINGLE_GOALS \
    { \
        {BENCH_AT_MOST, 0, 0, 1000, false}, {BENCH_RATIO_AT_MOST, 1, 0, 1.2, false}, \
            {BENCH_AT_MOST, 2, 0, 500, false}, {BENCH_RATIO_AT_MOST, 3, 2, 1.2, false}, \
    }

static const bench_row rows[] = {
    {
        .name = "single1",
        .what = "one-row writes at one ordinal and its seal, over 1 column",
        .unit = "ns/op",
        .open = open_single_1,
        .close = close_single,
        .contenders = SINGLE_CONTENDERS,
        .goals = SINGLE_GOALS,
    },
    {
        .name = "single20",
        .what = "one-row writes at one ordinal and its seal, over 20 columns",
        .unit = "ns/op",
        .open = open_single_20,
        .close = close_single,
        .contenders = SINGLE_CONTENDERS,
        .goals = SINGLE_GOALS,
    },
    {
        .name = "single2000",
        .what = "one-row writes at one ordinal and its seal, over 2,000 columns",
        .unit = "ns/op",
        .open = open_single_2000,
        .close = close_single,
        .contenders = SINGLE_CONTENDERS,
        .goals = SINGLE_GOALS,
    },
};

const bench_theme bench_theme_rows = {"rows", rows, sizeof(rows) / sizeof(rows[0])};
