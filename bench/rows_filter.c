/* What it costs to find a hundred prims by a filter, in stages of different sizes. */
#include <stdio.h>
#include <string.h>

#include "bench/bench_clock.h"
#include "bench/stage.h"

enum { FILTER_STAGES = 2, FILTER_KINDS = 4, FILTER_FOUND = 100 };

typedef struct filter_state {
    bench_stage stages[FILTER_STAGES];
    uint32_t repeats;
    bool quick; /* both are of the same size */
} filter_state;

static const struct {
    const char *attribute, *values[FILTER_STAGES];
    ovstage_filter_op_t op;
    size_t found;
} filter_kinds[FILTER_KINDS] = {
    /* A part of very many siblings: P77, P770, P7700 and so on. */
    {"usd-path", {"/Filter/P77", "/Filter/P7777"}, OVSTAGE_FILTER_OP_PREFIX, FILTER_FOUND + 11},
    {"usd-parent", {"/Filter/P5", "/Filter/P5"}, OVSTAGE_FILTER_OP_IN, FILTER_FOUND},
    {"bench:lamp", {"", ""}, OVSTAGE_FILTER_OP_HAS, FILTER_FOUND},
    {"usd-prim-type", {"Lamp", "Lamp"}, OVSTAGE_FILTER_OP_IN, FILTER_FOUND},
};

static void fill(bench_stage *stage, const char *prefix, uint32_t first, uint32_t count,
                 const char *name, bool tokens)
{
    const DLDataType token_type = {kDLUInt, 64, 1};
    bench_payload payload;
    uint64_t *rows = bench_allocate(count * sizeof(*rows));
    ovx_primpath_t *paths = stage_paths(stage, prefix, first, count);
    ovstage_query_handle_t query = stage_query(stage, paths, count);
    for (uint32_t i = 0; i < count && tokens; i++)
        rows[i] = stage_token(stage, first == 0 ? "Mesh" : "Lamp");
    payload_set(&payload, rows, count, tokens ? token_type : stage_float1);
    stage_publish(stage, query, stage_token(stage, name), &payload);
    stage_release_query(stage, query);
    bench_free(paths);
    bench_free(rows);
}

static void *open_filter(const bench_options *options)
{
    const uint32_t counts[FILTER_STAGES] = {10000, options->quick ? 10000 : 1000000};
    filter_state *self = bench_allocate(sizeof(*self));
    self->repeats = options->quick ? 20 : 300;
    self->quick = options->quick;
    for (int i = 0; i < FILTER_STAGES; i++) {
        bench_stage *stage = &self->stages[i];
        stage_open(stage, options->worker_count, true);
        fill(stage, "/Filter/P", 0, counts[i], "bench:position", false);
        fill(stage, "/Filter/P", 0, counts[i], "usd-prim-type", true);
        fill(stage, "/Filter/P5/Lamp", 1, FILTER_FOUND, "usd-prim-type", true);
        fill(stage, "/Filter/P5/Lamp", 1, FILTER_FOUND, "bench:lamp", false);
    }
    return self;
}

static void close_filter(void *state)
{
    filter_state *self = state;
    for (int i = 0; i < FILTER_STAGES; i++)
        stage_close(&self->stages[i]);
    bench_free(self);
}

static void find(bench_stage *stage, int kind, int which)
{
    const char *text = filter_kinds[kind].values[which];
    ovx_string_t value = {text, strlen(text)};
    const char *name = filter_kinds[kind].attribute;
    ovstage_predicate_t predicate = {.attribute = {.string = {name, strlen(name)}},
                                     .op = filter_kinds[kind].op,
                                     .values = &value,
                                     .value_count = 1};
    ovstage_filter_t filter = {&predicate, 1};
    ovstage_query_handle_t query;
    ovx_token_t none = stage_token(stage, "bench:none");
    stage_finish(stage,
                 stage_take(ovstage_query(stage->instance, &filter, &none, 1, &query), "query"));
    ovstage_query_result_t result;
    if (ovstage_fetch_query_result(stage->instance, query, OVSTAGE_TIMEOUT_INFINITE, &result) !=
        OVSTAGE_OK)
        bench_die("fetch_query_result failed");
    if (result.total_prim_count != filter_kinds[kind].found)
        bench_die("%s found %zu prims", name, result.total_prim_count);
    ovstage_release_query_result(stage->instance, &result);
    stage_release_query(stage, query);
}

/* variant: the kind, and in the last bit which stage. */
static double measure_find(void *state, int variant)
{
    filter_state *self = state;
    bench_stage *stage = &self->stages[variant % FILTER_STAGES];
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++)
        find(stage, variant / FILTER_STAGES, self->quick ? 0 : variant % FILTER_STAGES);
    return (double)(clock_ns() - start_ns) / 1000.0 / self->repeats;
}

static const bench_row rows[] = {
    {
        .name = "filter",
        .what = "about a hundred prims found: query, wait, result, release",
        .unit = "us",
        .open = open_filter,
        .close = close_filter,
        .contenders = {BENCH_OURS("by prefix, 10 k prims", measure_find, 0),
                       BENCH_OURS("by prefix, 1 M prims", measure_find, 1),
                       BENCH_OURS("by parent, 10 k", measure_find, 2),
                       BENCH_OURS("by parent, 1 M", measure_find, 3),
                       BENCH_OURS("by attribute, 10 k", measure_find, 4),
                       BENCH_OURS("by attribute, 1 M", measure_find, 5),
                       BENCH_OURS("by type, 10 k", measure_find, 6),
                       BENCH_OURS("by type, 1 M", measure_find, 7)},
        .goals = {{BENCH_AT_MOST, 1, 0, 50, false},
                  {BENCH_AT_MOST, 3, 0, 50, false},
                  {BENCH_AT_MOST, 5, 0, 50, false},
                  {BENCH_AT_MOST, 7, 0, 50, false}},
    },
};

const bench_theme bench_theme_filter = {"filter", rows, sizeof(rows) / sizeof(rows[0])};
