/* What stays behind: bytes for each op, prim and key. */
#include <stdlib.h>

#include "bench/bench_clock.h"
#include "bench/process.h"
#include "bench/stage.h"

typedef struct memory_state {
    const bench_options *options;
    double by_statistics; /* the other way of counting in the same round */
} memory_state;

static void *open_memory(const bench_options *options)
{
    memory_state *self = bench_allocate(sizeof(*self));
    self->options = options;
    return self;
}

static void close_memory(void *state)
{
    bench_free(state);
}

enum { BY_SYSTEM, BY_STATISTICS };

/* ---- ops ---- */
/* Empty tasks in batches, one in `kept` of them never released. */
static void leave_ops(bench_stage *stage, uint64_t count, uint64_t kept)
{
    enum { BATCH = 1024 };
    ovstage_op_id_t ops[BATCH];
    for (uint64_t done = 0; done < count; done += BATCH) {
        for (int i = 0; i < BATCH; i++)
            ops[i] = stage_task(stage, NULL, NULL);
        stage_wait_all(stage, ops, BATCH);
        for (uint64_t i = 0; i < BATCH; i++)
            if ((done + i) % kept != 0)
                stage_release(stage, ops[i]);
    }
}

static double measure_left_ops(memory_state *self, int variant, uint64_t count, uint64_t kept)
{
    if (variant == BY_STATISTICS)
        return self->by_statistics;
    bench_stage stage;
    stage_open(&stage, self->options->worker_count, true);
    /* Records and tables of the usual size, and each worker has run some. */
    leave_ops(&stage, self->options->quick ? 1 << 16 : 1 << 20, UINT64_MAX);
    process_trim();
    uint64_t resident = process_resident_bytes(), counted = stage_statistics(&stage).op_bytes;
    leave_ops(&stage, count, kept);
    process_trim();
    double left = (double)(count / kept);
    self->by_statistics = (double)(stage_statistics(&stage).op_bytes - counted) / left;
    double figure = ((double)process_resident_bytes() - (double)resident) / left;
    stage_close(&stage);
    return figure;
}

static double measure_never_released(void *state, int variant)
{
    memory_state *self = state;
    return measure_left_ops(self, variant, self->options->quick ? 100000 : 1000000, 1);
}

static double measure_few_unreleased(void *state, int variant)
{
    memory_state *self = state;
    return measure_left_ops(self, variant, self->options->quick ? 300000 : 10000000, 256);
}

/* ---- prims and keys ---- */
/* Prims with `columns` columns of one float each. The bytes of the values do not count. */
static double resident_for(memory_state *self, const char *prefix, uint32_t prims, uint32_t columns)
{
    static const char *const names[] = {"bench:0", "bench:1", "bench:2", "bench:3", "bench:4",
                                        "bench:5", "bench:6", "bench:7", "bench:8", "bench:9"};
    bench_stage stage;
    bench_payload payload;
    float *rows = bench_allocate(prims * sizeof(*rows));
    stage_open(&stage, self->options->worker_count, true);
    process_trim();
    uint64_t resident = process_resident_bytes();
    ovx_primpath_t *paths = stage_paths(&stage, prefix, 0, prims);
    ovstage_query_handle_t query = stage_query(&stage, paths, prims);
    bench_free(paths);
    payload_set(&payload, rows, prims, stage_float1);
    for (uint32_t i = 0; i < columns; i++)
        stage_publish(&stage, query, stage_token(&stage, names[i]), &payload);
    stage_release_query(&stage, query);
    process_trim();
    double grown = (double)process_resident_bytes() - (double)resident;
    stage_close(&stage);
    bench_free(rows);
    return grown - (double)prims * columns * sizeof(*rows);
}

/* Of a prim with its path of about 16 bytes and one column. */
static double measure_prim(void *state, int variant)
{
    (void)variant;
    memory_state *self = state;
    uint32_t prims = self->options->quick ? 20000 : 1000000;
    return resident_for(self, "/Memory/Prims/P", prims, 1) / prims;
}

/* Of one more column on a prim: ten columns less one, over prims whose paths are known already. */
static double measure_key(void *state, int variant)
{
    (void)variant;
    memory_state *self = state;
    uint32_t prims = self->options->quick ? 20000 : 1000000;
    resident_for(self, "/Memory/Keys/P", prims, 1);
    double one = resident_for(self, "/Memory/Keys/P", prims, 1);
    return (resident_for(self, "/Memory/Keys/P", prims, 10) - one) / 9 / prims;
}

static const bench_row rows[] = {
    {
        .name = "ops-kept",
        .what = "bytes for each op of 10^6 that are never released",
        .unit = "B/op",
        .open = open_memory,
        .close = close_memory,
        .contenders = {BENCH_OURS("resident", measure_never_released, BY_SYSTEM),
                       BENCH_OURS("by flyrail_statistics", measure_never_released, BY_STATISTICS)},
        .goals = {{BENCH_AT_MOST, 0, 0, 16, false}},
        .most_rounds = 3,
    },
    {
        .name = "ops-few",
        .what = "bytes for each unreleased op when 1 in 256 of 10^7 is",
        .unit = "B/op",
        .open = open_memory,
        .close = close_memory,
        .contenders = {BENCH_OURS("resident", measure_few_unreleased, BY_SYSTEM),
                       BENCH_OURS("by flyrail_statistics", measure_few_unreleased, BY_STATISTICS)},
        .goals = {{BENCH_AT_MOST, 0, 0, 64, false}},
        .most_rounds = 1,
    },
    {
        .name = "prim",
        .what = "bytes for a prim with one column, its values apart, of 10^6",
        .unit = "B",
        .open = open_memory,
        .close = close_memory,
        .contenders = {BENCH_OURS("prim, path included", measure_prim, 0),
                       BENCH_OURS("one more column on it", measure_key, 0)},
        .goals = {{BENCH_AT_MOST, 0, 0, 256, false}, {BENCH_AT_MOST, 1, 0, 40, false}},
        .most_rounds = 1,
    },
};

const bench_theme bench_theme_memory = {"memory", rows, sizeof(rows) / sizeof(rows[0])};
