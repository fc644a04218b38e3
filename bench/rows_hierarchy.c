/* World transforms composed over a tree: all of it, and where little has moved. */
#include <stdio.h>
#include <string.h>

#include "bench/bench_clock.h"
#include "bench/stage.h"

enum { ELEMENTS = 16, LEAVES = 99, LISTS = 8 };
/* What moves. */
enum { ALL, SOME, NOTHING };

typedef struct tree_state {
    bench_stage stage;
    ovx_token_t local, world;
    uint32_t group_count, prim_count, some_count, repeats;
    ovstage_query_handle_t all, some[LISTS];
    double *locals, *worlds; /* of the groups, then of their leaves */
    bench_payload all_rows, some_rows;
} tree_state;

static void set_rows(double *rows, uint32_t count, uint64_t *random)
{
    for (size_t i = 0; i < (size_t)count * ELEMENTS; i++)
        rows[i] = (double)(bench_random(random) % 1000) / 1000;
}

/* Groups below one prim, leaves below each of them. */
static ovx_primpath_t *tree_paths(tree_state *self)
{
    ovx_primpath_t *paths = bench_allocate(self->prim_count * sizeof(*paths));
    ovx_primpath_t *groups = stage_paths(&self->stage, "/Tree/G", 0, self->group_count);
    memcpy(paths, groups, self->group_count * sizeof(*paths));
    bench_free(groups);
    for (uint32_t g = 0; g < self->group_count; g++) {
        char prefix[48];
        snprintf(prefix, sizeof(prefix), "/Tree/G%u/L", g);
        ovx_primpath_t *leaves = stage_paths(&self->stage, prefix, 0, LEAVES);
        memcpy(paths + self->group_count + (size_t)g * LEAVES, leaves, LEAVES * sizeof(*paths));
        bench_free(leaves);
    }
    return paths;
}

static void tree_compose(tree_state *self)
{
    stage_finish(&self->stage, stage_take(ovstage_compute_hierarchy(
                                              self->stage.instance,
                                              OVSTAGE_HIERARCHY_COMPUTATION_MODEL_DEFAULT_CPU,
                                              self->stage.ordinal, self->stage.ordinal),
                                          "compute_hierarchy"));
}

static void choose_leaves(tree_state *self, int list, const ovx_primpath_t *paths, uint64_t *random)
{
    ovx_primpath_t *some = bench_allocate(self->some_count * sizeof(*some));
    uint32_t step = (self->prim_count - self->group_count) / self->some_count;
    for (uint32_t i = 0; i < self->some_count; i++)
        some[i] = paths[self->group_count + i * step + (uint32_t)(bench_random(random) % step)];
    self->some[list] = stage_query(&self->stage, some, self->some_count);
    bench_free(some);
}

static void *open_tree(const bench_options *options)
{
    tree_state *self = bench_allocate(sizeof(*self));
    uint64_t random = 88172645463325252u;
    self->group_count = options->quick ? 50 : 1000;
    self->prim_count = self->group_count * (1 + LEAVES);
    self->some_count = self->prim_count / 100;
    self->repeats = options->quick ? 3 : 8;
    size_t size_bytes = (size_t)self->prim_count * ELEMENTS * sizeof(double);
    self->locals = bench_allocate(size_bytes);
    self->worlds = bench_allocate(size_bytes);
    set_rows(self->locals, self->prim_count, &random);
    stage_open(&self->stage, options->worker_count, true);
    self->local = stage_token(&self->stage, "omni:xform");
    self->world = stage_token(&self->stage, "omni:fabric:worldMatrix");
    ovx_primpath_t *paths = tree_paths(self);
    self->all = stage_query(&self->stage, paths, self->prim_count);
    for (int list = 0; list < LISTS; list++)
        choose_leaves(self, list, paths, &random);
    bench_free(paths);
    payload_set(&self->all_rows, self->locals, self->prim_count, stage_double16);
    payload_set(&self->some_rows, self->locals, self->some_count, stage_double16);
    bench_payload worlds;
    payload_set(&worlds, self->worlds, self->prim_count, stage_double16);
    stage_publish(&self->stage, self->all, self->world, &worlds);
    stage_publish(&self->stage, self->all, self->local, &self->all_rows);
    tree_compose(self);
    return self;
}

static void close_tree(void *state)
{
    tree_state *self = state;
    stage_release_query(&self->stage, self->all);
    for (int list = 0; list < LISTS; list++)
        stage_release_query(&self->stage, self->some[list]);
    stage_close(&self->stage);
    bench_free(self->locals);
    bench_free(self->worlds);
    bench_free(self);
}

/* Only the computations, each of what was written and sealed before it. */
static double measure_compose(void *state, int kind)
{
    tree_state *self = state;
    uint64_t spent_ns = 0;
    for (uint32_t i = 0; i < self->repeats; i++) {
        for (uint32_t row = 0; row < self->prim_count; row++)
            self->locals[(size_t)row * ELEMENTS + 12] += 1;
        if (kind == NOTHING)
            stage_finish(&self->stage, stage_seal(&self->stage, ++self->stage.ordinal));
        else
            stage_publish(&self->stage, kind == ALL ? self->all : self->some[i % LISTS],
                          self->local, kind == ALL ? &self->all_rows : &self->some_rows);
        uint64_t start_ns = clock_ns();
        tree_compose(self);
        spent_ns += clock_ns() - start_ns;
    }
    return (double)spent_ns / 1e3 / self->repeats;
}

static void multiply(double *to, const double *a, const double *b)
{
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            double sum = 0;
            for (int k = 0; k < 4; k++)
                sum += a[4 * row + k] * b[4 * k + column];
            to[4 * row + column] = sum;
        }
}

/* The products alone, in arrays that are in their order. */
static double measure_products(void *state, int variant)
{
    tree_state *self = state;
    uint64_t start_ns = clock_ns();
    (void)variant;
    memcpy(self->worlds, self->locals, self->group_count * ELEMENTS * sizeof(double));
    for (uint32_t i = 0; i < self->prim_count - self->group_count; i++)
        multiply(self->worlds + (size_t)(self->group_count + i) * ELEMENTS,
                 self->locals + (size_t)(self->group_count + i) * ELEMENTS,
                 self->worlds + (size_t)(i / LEAVES) * ELEMENTS);
    __asm__ volatile("" : : "r"(self->worlds) : "memory");
    return (double)(clock_ns() - start_ns) / 1e3;
}

static const bench_row rows[] = {
    {
        .name = "hierarchy",
        .what = "world transforms of 100 k prims, three levels",
        .unit = "us",
        .open = open_tree,
        .close = close_tree,
        .contenders = {BENCH_OURS("all moved", measure_compose, ALL),
                       BENCH_OURS("1 % moved", measure_compose, SOME),
                       BENCH_OURS("none moved", measure_compose, NOTHING),
                       BENCH_YARDSTICK("the products of all, one thread", measure_products, 0)},
        .goals = {{BENCH_RATIO_AT_MOST, 1, 0, 0.05, false}},
    },
};

const bench_theme bench_theme_hierarchy = {"hierarchy", rows, sizeof(rows) / sizeof(rows[0])};
