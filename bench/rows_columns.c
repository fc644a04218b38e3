/* Whole columns: written by copying, taken over without copying, read. */
#include <stdlib.h>

#include "bench/bench_clock.h"
#include "bench/copy_team.h"
#include "bench/stage.h"

/* ---- full writes ---- */
enum { ROTATING = 4 }; /* as many as the stage keeps: the open one, the newest, two before */

typedef struct full_state {
    bench_stage stage;
    ovstage_query_handle_t query;
    ovx_token_t attribute;
    bench_payload payload;
    char *source, *targets[ROTATING];
    size_t size_bytes;
    uint32_t repeats;
    copy_team *team;
    uint32_t thread_count;
} full_state;

static void *open_full(const bench_options *options, uint32_t rows, DLDataType type,
                       uint32_t elements)
{
    full_state *self = bench_allocate(sizeof(*self));
    self->size_bytes = (size_t)rows * elements * type.bits / 8 * type.lanes;
    self->repeats = options->quick ? 4 : (self->size_bytes > 50000000 ? 8 : 40);
    self->thread_count = options->worker_count > 0 ? options->worker_count : 1;
    self->source = bench_allocate_payload(self->size_bytes);
    for (int i = 0; i < ROTATING; i++)
        self->targets[i] = bench_allocate_payload(self->size_bytes);
    stage_open(&self->stage, options->worker_count, true);
    self->attribute = stage_token(&self->stage, "bench:column");
    ovx_primpath_t *paths = stage_paths(&self->stage, "/Full/P", 0, rows);
    self->query = stage_query(&self->stage, paths, rows);
    bench_free(paths);
    payload_set(&self->payload, self->source, (size_t)rows * elements, type);
    self->payload.data.is_array = elements > 1; /* packed */
    for (int i = 0; i < 2 * ROTATING; i++)
        stage_publish(&self->stage, self->query, self->attribute, &self->payload);
    return self;
}

static void *open_full_narrow(const bench_options *options)
{
    return open_full(options, options->quick ? 50000 : 1000000, stage_float3, 1);
}

static void *open_full_wide(const bench_options *options)
{
    return open_full(options, options->quick ? 50000 : 1000000, stage_double16, 1);
}

static void *open_full_array(const bench_options *options)
{
    return open_full(options, options->quick ? 1000 : 20000, stage_float3, 128);
}

static void close_full(void *state)
{
    full_state *self = state;
    stage_release_query(&self->stage, self->query);
    stage_close(&self->stage);
    bench_free_payload(self->source, self->size_bytes);
    for (int i = 0; i < ROTATING; i++)
        bench_free_payload(self->targets[i], self->size_bytes);
    bench_free(self);
}

static double gigabytes_per_second(const full_state *self, uint64_t duration_ns)
{
    return (double)self->size_bytes * self->repeats / (double)duration_ns;
}

static double measure_full(void *state, int variant)
{
    (void)variant;
    full_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++)
        stage_publish(&self->stage, self->query, self->attribute, &self->payload);
    return gigabytes_per_second(self, clock_ns() - start_ns);
}

enum { PLAIN, PAST_CACHES };

/* The team lives for one round, so that it spins in nobody else's. */
static double measure_copy(void *state, int variant)
{
    copy_function *copy = variant == PAST_CACHES ? copy_past_caches : copy_plain;
    full_state *self = state;
    copy_team *team = copy_team_start(self->thread_count, false);
    copy_team_copy(team, copy, self->targets[0], self->source, self->size_bytes);
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++)
        copy_team_copy(team, copy, self->targets[i % ROTATING], self->source, self->size_bytes);
    uint64_t end_ns = clock_ns();
    copy_team_stop(team);
    return gigabytes_per_second(self, end_ns - start_ns);
}

/* ---- constant time, whatever the rows ---- */
enum { SIZE_KINDS = 3 };

typedef struct constant_state {
    bench_stage stage;
    ovstage_query_handle_t queries[SIZE_KINDS];
    ovx_token_t attributes[SIZE_KINDS];
    uint32_t row_counts[SIZE_KINDS];
    char *rows;
    managed_tensors managers;
    uint32_t repeats;
} constant_state;

static void *open_constant(const bench_options *options)
{
    static const char *const names[SIZE_KINDS] = {"bench:small", "bench:middle", "bench:large"};
    const uint32_t counts[SIZE_KINDS] = {1024, 65536, options->quick ? 100000 : 4194304};
    constant_state *self = bench_allocate(sizeof(*self));
    self->repeats = options->quick ? 100 : 2000;
    self->rows = bench_allocate((size_t)counts[SIZE_KINDS - 1] * 12);
    stage_open(&self->stage, options->worker_count, true);
    ovx_primpath_t *paths = stage_paths(&self->stage, "/Constant/P", 0, counts[SIZE_KINDS - 1]);
    for (int i = 0; i < SIZE_KINDS; i++) {
        bench_payload payload;
        self->row_counts[i] = counts[i];
        self->attributes[i] = stage_token(&self->stage, names[i]);
        self->queries[i] = stage_query(&self->stage, paths, counts[i]);
        payload_set(&payload, self->rows, counts[i], stage_float3);
        stage_publish(&self->stage, self->queries[i], self->attributes[i], &payload);
    }
    bench_free(paths);
    return self;
}

static void close_constant(void *state)
{
    constant_state *self = state;
    for (int i = 0; i < SIZE_KINDS; i++)
        stage_release_query(&self->stage, self->queries[i]);
    stage_close(&self->stage); /* runs the deleters of what was adopted */
    bench_free(self->rows);
    bench_free(self);
}

static double measure_adopted(void *state, int variant)
{
    constant_state *self = state;
    bench_stage *stage = &self->stage;
    const ovx_string_or_token_t attribute = {.token = self->attributes[variant]};
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        const struct DLManagedTensorVersioned *tensor =
            managed_take(&self->managers, self->rows, self->row_counts[variant], stage_float3);
        const ovstage_write_data_t data = {.managed_tensors = &tensor, .tensor_count = 1};
        ovstage_ordinal_t ordinal = ++stage->ordinal;
        stage_finish(stage, stage_take(ovstage_write_attribute(
                                           stage->instance, self->queries[variant], attribute,
                                           ordinal, data, OVSTAGE_PRIM_MODE_UPSERT),
                                       "write_attribute"));
        stage_finish(stage, stage_seal(stage, ordinal));
    }
    return (double)(clock_ns() - start_ns) / 1e3 / self->repeats;
}

static double measure_read(void *state, int variant)
{
    constant_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        ovstage_read_group_t group = stage_hold(&self->stage, self->queries[variant],
                                                self->attributes[variant], self->stage.ordinal);
        stage_let_go(&self->stage, &group);
    }
    return (double)(clock_ns() - start_ns) / 1e3 / self->repeats;
}

static const bench_row rows[] = {
    {
        .name = "full12",
        .what = "1 M x 12 bytes written and sealed, beside as many threads that copy",
        .unit = "GB/s",
        .open = open_full_narrow,
        .close = close_full,
        .contenders = {BENCH_OURS("flyrail", measure_full, 0),
                       BENCH_YARDSTICK("memcpy", measure_copy, PLAIN),
                       BENCH_YARDSTICK("stores past the caches", measure_copy, PAST_CACHES)},
        .goals = {{BENCH_RATIO_AT_LEAST, 0, 1, 1, false}},
    },
    {
        .name = "full128",
        .what = "1 M x 128 bytes written and sealed, beside as many threads that copy",
        .unit = "GB/s",
        .open = open_full_wide,
        .close = close_full,
        .contenders = {BENCH_OURS("flyrail", measure_full, 0),
                       BENCH_YARDSTICK("memcpy", measure_copy, PLAIN),
                       BENCH_YARDSTICK("stores past the caches", measure_copy, PAST_CACHES)},
        .goals = {{BENCH_RATIO_AT_LEAST, 0, 1, 1, false}},
    },
    {
        .name = "array",
        .what = "20 k rows of 128 x 12 bytes, packed, written and sealed, beside threads that copy",
        .unit = "GB/s",
        .open = open_full_array,
        .close = close_full,
        .contenders = {BENCH_OURS("flyrail", measure_full, 0),
                       BENCH_YARDSTICK("memcpy", measure_copy, PLAIN),
                       BENCH_YARDSTICK("stores past the caches", measure_copy, PAST_CACHES)},
        .goals = {{BENCH_RATIO_AT_LEAST, 0, 1, 1, false}},
    },
    {
        .name = "adopted",
        .what = "a managed tensor taken over and sealed: the same time for any size",
        .unit = "us",
        .open = open_constant,
        .close = close_constant,
        .contenders = {BENCH_OURS("1 k rows", measure_adopted, 0),
                       BENCH_OURS("64 k rows", measure_adopted, 1),
                       BENCH_OURS("4 M rows", measure_adopted, 2)},
        .goals = {{BENCH_RATIO_AT_MOST, 1, 0, 1.5, false}, {BENCH_RATIO_AT_MOST, 2, 0, 1.5, false}},
    },
    {
        .name = "read",
        .what = "a column read, its group fetched and let go: the same time for any size",
        .unit = "us",
        .open = open_constant,
        .close = close_constant,
        .contenders = {BENCH_OURS("1 k rows", measure_read, 0),
                       BENCH_OURS("64 k rows", measure_read, 1),
                       BENCH_OURS("4 M rows", measure_read, 2)},
        .goals = {{BENCH_RATIO_AT_MOST, 1, 0, 1.5, false}, {BENCH_RATIO_AT_MOST, 2, 0, 1.5, false}},
    },
};

const bench_theme bench_theme_columns = {"columns", rows, sizeof(rows) / sizeof(rows[0])};
