/* A frame's exchange, start to end: what one producer and one reader wait for. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_clock.h"
#include "bench/stage.h"

/* ---- 4,096 x vec3 there and back ---- */
enum { EXCHANGE_ROWS = 4096 };

typedef struct exchange_state {
    bench_stage stage;
    ovx_primpath_t *paths;
    ovx_primpath_list_t list;
    ovstage_query_handle_t kept;
    ovx_token_t attribute;
    bench_payload payload;
    float *rows, *out;
    uint32_t repeats, paced_repeats;
    double *times;
} exchange_state;

static void *open_exchange(const bench_options *options)
{
    exchange_state *self = bench_allocate(sizeof(*self));
    self->repeats = options->quick ? 200 : 5000;
    self->paced_repeats = options->quick ? 20 : 150;
    self->times = bench_allocate(self->repeats * sizeof(*self->times));
    self->rows = bench_allocate(EXCHANGE_ROWS * 3 * sizeof(float));
    self->out = bench_allocate(EXCHANGE_ROWS * 3 * sizeof(float));
    stage_open(&self->stage, options->worker_count, true);
    self->attribute = stage_token(&self->stage, "bench:position");
    self->paths = stage_paths(&self->stage, "/Exchange/P", 0, EXCHANGE_ROWS);
    self->kept = stage_query(&self->stage, self->paths, EXCHANGE_ROWS);
    path_dictionary_create_path_list_from_paths(self->stage.dictionary, self->paths, EXCHANGE_ROWS,
                                                &self->list);
    payload_set(&self->payload, self->rows, EXCHANGE_ROWS, stage_float3);
    stage_publish(&self->stage, self->kept, self->attribute, &self->payload);
    return self;
}

static void close_exchange(void *state)
{
    exchange_state *self = state;
    stage_release_query(&self->stage, self->kept);
    path_dictionary_release_path_list_reference(self->stage.dictionary, self->list);
    stage_close(&self->stage);
    bench_free(self->paths);
    bench_free(self->rows);
    bench_free(self->out);
    bench_free(self->times);
    bench_free(self);
}

/* Write, wait, release, seal, wait, release, read, look, let go. */
static void exchange(exchange_state *self, ovstage_query_handle_t query)
{
    stage_publish(&self->stage, query, self->attribute, &self->payload);
    ovstage_read_group_t group =
        stage_hold(&self->stage, query, self->attribute, self->stage.ordinal);
    self->out[0] = *(const float *)group.data.tensors[0].data;
    stage_let_go(&self->stage, &group);
}

static void exchange_queried(exchange_state *self)
{
    ovstage_query_handle_t query;
    if (ovstage_query_from_path_list(self->stage.instance, self->list, &query) != OVSTAGE_OK)
        bench_die("query_from_path_list failed");
    exchange(self, query);
    stage_release_query(&self->stage, query);
}

enum { KEPT_QUERY, NEW_QUERY };

static double measure_exchange(void *state, int variant)
{
    exchange_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        if (variant == NEW_QUERY)
            exchange_queried(self);
        else
            exchange(self, self->kept);
    }
    return (double)(clock_ns() - start_ns) / 1e3 / self->repeats;
}

/* Every 2 ms, with the pool asleep in between. The median. */
static double measure_paced(void *state, int variant)
{
    enum { PERIOD_NS = 2000000 };
    (void)variant;
    exchange_state *self = state;
    uint64_t next_ns = clock_ns();
    for (uint32_t i = 0; i < self->paced_repeats; i++) {
        next_ns += PERIOD_NS;
        clock_sleep_until(next_ns);
        uint64_t start_ns = clock_ns();
        exchange_queried(self);
        self->times[i] = (double)(clock_ns() - start_ns) / 1e3;
    }
    return bench_median(self->times, self->paced_repeats);
}

static double measure_copy(void *state, int variant)
{
    (void)variant;
    exchange_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        memcpy(self->out, self->rows, EXCHANGE_ROWS * 3 * sizeof(float));
        __asm__ volatile("" : : "r"(self->out) : "memory");
    }
    return (double)(clock_ns() - start_ns) / 1e3 / self->repeats;
}

/* ---- 24 rows beside many others ---- */
enum { FEW_ROWS = 24, BESIDE_KINDS = 3 };

typedef struct beside_state {
    bench_stage stages[BESIDE_KINDS];
    ovx_primpath_t *paths;
    ovstage_query_handle_t kept[BESIDE_KINDS];
    ovx_token_t attribute;
    bench_payload payload;
    float rows[FEW_ROWS][3];
    uint32_t repeats;
} beside_state;

/* A million prims of one column, which the few are no part of. */
static void fill_others(bench_stage *self, uint32_t count, ovx_token_t attribute)
{
    if (count == 0)
        return;
    float *rows = bench_allocate((size_t)count * 3 * sizeof(float));
    ovx_primpath_t *paths = stage_paths(self, "/Others/P", 0, count);
    ovstage_query_handle_t query = stage_query(self, paths, count);
    bench_payload payload;
    payload_set(&payload, rows, count, stage_float3);
    stage_publish(self, query, attribute, &payload);
    stage_release_query(self, query);
    bench_free(paths);
    bench_free(rows);
}

static void *open_beside(const bench_options *options)
{
    const uint32_t others[BESIDE_KINDS] = {0, options->quick ? 10000 : 100000,
                                           options->quick ? 20000 : 1000000};
    beside_state *self = bench_allocate(sizeof(*self));
    self->repeats = options->quick ? 200 : 5000;
    payload_set(&self->payload, self->rows, FEW_ROWS, stage_float3);
    for (int i = 0; i < BESIDE_KINDS; i++) {
        bench_stage *kind = &self->stages[i];
        stage_open(kind, options->worker_count, true);
        self->attribute = stage_token(kind, "bench:position");
        fill_others(kind, others[i], self->attribute);
        if (i == 0)
            self->paths = stage_paths(kind, "/Few/P", 0, FEW_ROWS);
        self->kept[i] = stage_query(kind, self->paths, FEW_ROWS);
        stage_publish(kind, self->kept[i], self->attribute, &self->payload);
    }
    return self;
}

static void close_beside(void *state)
{
    beside_state *self = state;
    for (int i = 0; i < BESIDE_KINDS; i++) {
        stage_release_query(&self->stages[i], self->kept[i]);
        stage_close(&self->stages[i]);
    }
    bench_free(self->paths);
    bench_free(self);
}

static void exchange_few(beside_state *self, bench_stage *kind, ovstage_query_handle_t query)
{
    stage_publish(kind, query, self->attribute, &self->payload);
    ovstage_read_group_t group = stage_hold(kind, query, self->attribute, kind->ordinal);
    stage_let_go(kind, &group);
}

/* variant: which stage; from BESIDE_KINDS on with a new path list each time. */
static double measure_beside(void *state, int variant)
{
    beside_state *self = state;
    bench_stage *kind = &self->stages[variant % BESIDE_KINDS];
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        if (variant < BESIDE_KINDS) {
            exchange_few(self, kind, self->kept[variant]);
        } else {
            ovstage_query_handle_t query = stage_query(kind, self->paths, FEW_ROWS);
            exchange_few(self, kind, query);
            stage_release_query(kind, query);
        }
    }
    return (double)(clock_ns() - start_ns) / 1e3 / self->repeats;
}

static const bench_row rows[] = {
    {
        .name = "exchange",
        .what = "4,096 x vec3: (query), write, wait, seal, wait, read the newest, releases",
        .unit = "us",
        .open = open_exchange,
        .close = close_exchange,
        .contenders = {BENCH_OURS("new query", measure_exchange, NEW_QUERY),
                       BENCH_OURS("every 2 ms, pool asleep (median)", measure_paced, 0),
                       BENCH_OURS("kept query", measure_exchange, KEPT_QUERY),
                       BENCH_YARDSTICK("memcpy of the rows, once", measure_copy, 0)},
        .goals = {{BENCH_AT_MOST, 0, 0, 5, false}, {BENCH_AT_MOST, 1, 0, 12, false}},
    },
    {
        .name = "beside",
        .what = "24 rows written, sealed and read back beside unrelated prims",
        .unit = "us",
        .open = open_beside,
        .close = close_beside,
        .contenders = {BENCH_OURS("kept query, 0 others", measure_beside, 0),
                       BENCH_OURS("kept query, 100 k", measure_beside, 1),
                       BENCH_OURS("kept query, 1 M", measure_beside, 2),
                       BENCH_OURS("new path list, 0 others", measure_beside, 3),
                       BENCH_OURS("new path list, 100 k", measure_beside, 4),
                       BENCH_OURS("new path list, 1 M", measure_beside, 5)},
        .goals = {{BENCH_RATIO_AT_MOST, 1, 0, 1.2, false},
                  {BENCH_RATIO_AT_MOST, 2, 0, 1.2, false},
                  {BENCH_RATIO_AT_MOST, 4, 3, 1.2, false},
                  {BENCH_RATIO_AT_MOST, 5, 3, 1.2, false}},
    },
};

const bench_theme bench_theme_exchange = {"exchange", rows, sizeof(rows) / sizeof(rows[0])};
