/* A burst of clones: one small subtree to very many places, as a learning run begins. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench_clock.h"
#include "bench/stage.h"

enum { PRIMS = 20, ATTRIBUTES = 10, TEXT_BYTES = 32 };

typedef struct clone_state {
    uint32_t worker_count, target_count;
    ovx_string_t *targets;
    char *texts;
    char *rows; /* of the source */
} clone_state;

static void *open_clone(const bench_options *options)
{
    clone_state *self = bench_allocate(sizeof(*self));
    self->worker_count = options->worker_count;
    self->target_count = options->quick ? 64 : 4096;
    self->targets = bench_allocate(self->target_count * sizeof(*self->targets));
    self->texts = bench_allocate((size_t)self->target_count * TEXT_BYTES);
    for (uint32_t t = 0; t < self->target_count; t++) {
        char *text = self->texts + (size_t)t * TEXT_BYTES;
        int length = snprintf(text, TEXT_BYTES, "/World/envs/env_%u", t);
        self->targets[t] = (ovx_string_t){text, (size_t)length};
    }
    self->rows = bench_allocate((size_t)PRIMS * 128);
    return self;
}

static void close_clone(void *state)
{
    clone_state *self = state;
    bench_free(self->targets);
    bench_free(self->texts);
    bench_free(self->rows);
    bench_free(self);
}

/* Scalars, vectors, a matrix, and an array of a few elements. */
static void write_source(clone_state *self, bench_stage *stage)
{
    char text[TEXT_BYTES];
    ovx_primpath_t *paths = stage_paths(stage, "/Source/link_", 0, PRIMS);
    ovx_string_t root = {"/Source", 7};
    path_dictionary_create_paths_from_strings(stage->dictionary, &root, 1, paths);
    ovstage_query_handle_t query = stage_query(stage, paths, PRIMS);
    bench_free(paths);
    for (int a = 0; a < ATTRIBUTES; a++) {
        bench_payload payload;
        bool is_array = a == ATTRIBUTES - 1;
        payload_set(&payload, self->rows, is_array ? (size_t)PRIMS * 4 : PRIMS,
                    is_array ? stage_float1
                    : a == 0 ? stage_double16
                    : a < 6  ? stage_float3
                             : stage_float1);
        payload.data.is_array = is_array; /* packed */
        snprintf(text, sizeof(text), "bench:attribute_%d", a);
        stage_publish(stage, query, stage_token(stage, text), &payload);
    }
    stage_release_query(stage, query);
}

enum { CLONED, SEALED };

/* A stage a round: a burst comes once, into memory that was not used before. */
static double measure_clone(void *state, int variant)
{
    clone_state *self = state;
    bench_stage stage;
    stage_open(&stage, self->worker_count, true);
    write_source(self, &stage);
    ovx_string_t source = {"/Source", 7};
    uint64_t start_ns = clock_ns();
    ovstage_ordinal_t ordinal = ++stage.ordinal;
    ovstage_op_id_t clone = stage_take(
        ovstage_clone(stage.instance, source, self->targets, self->target_count, ordinal), "clone");
    if (variant == SEALED)
        stage_finish(&stage, stage_seal(&stage, ordinal));
    stage_finish(&stage, clone);
    uint64_t duration_ns = clock_ns() - start_ns;
    stage_close(&stage);
    return (double)self->target_count * PRIMS * ATTRIBUTES * 1e3 / (double)duration_ns;
}

static const bench_row rows[] = {
    {
        .name = "clone burst",
        .what = "20 prims x 10 attributes to 4,096 targets at one ordinal, waited for",
        .unit = "M values/s",
        .open = open_clone,
        .close = close_clone,
        .contenders = {BENCH_OURS("clone", measure_clone, CLONED),
                       BENCH_OURS("clone and seal", measure_clone, SEALED)},
        .goals = {{.kind = BENCH_AT_LEAST, .of = 0, .limit = 20}},
    },
};

const bench_theme bench_theme_clone = {"clones", rows, sizeof(rows) / sizeof(rows[0])};
