/* What is there when nothing happens: processor time, code, and allocations of a steady state. */
#include <stdlib.h>

#include "bench/bench_clock.h"
#include "bench/heap_count.h"
#include "bench/process.h"
#include "bench/stage.h"

enum { STEADY_ROWS = 1024, STEADY_COLUMNS = 3 };

typedef struct footprint_state {
    const bench_options *options;
    bench_stage stage;
    ovstage_query_handle_t query;
    ovx_token_t attributes[STEADY_COLUMNS];
    float rows[STEADY_ROWS][3];
    bench_payload payload;
} footprint_state;

static void *open_footprint(const bench_options *options)
{
    static const char *const names[STEADY_COLUMNS] = {"bench:a", "bench:b", "bench:c"};
    footprint_state *self = bench_allocate(sizeof(*self));
    self->options = options;
    stage_open(&self->stage, options->worker_count, true);
    ovx_primpath_t *paths = stage_paths(&self->stage, "/Steady/P", 0, STEADY_ROWS);
    self->query = stage_query(&self->stage, paths, STEADY_ROWS);
    bench_free(paths);
    for (int i = 0; i < STEADY_COLUMNS; i++)
        self->attributes[i] = stage_token(&self->stage, names[i]);
    payload_set(&self->payload, self->rows, STEADY_ROWS, stage_float3);
    return self;
}

static void close_footprint(void *state)
{
    footprint_state *self = state;
    stage_release_query(&self->stage, self->query);
    stage_close(&self->stage);
    bench_free(self);
}

/* Three columns written without waiting, sealed, read with a group each held at the same time. */
static void run_frame(footprint_state *self)
{
    bench_stage *stage = &self->stage;
    ovstage_op_id_t writes[STEADY_COLUMNS];
    ovstage_read_group_t groups[STEADY_COLUMNS];
    ovstage_ordinal_t ordinal = ++stage->ordinal;
    for (int i = 0; i < STEADY_COLUMNS; i++)
        writes[i] = stage_write(stage, self->query, self->attributes[i], ordinal, &self->payload);
    stage_finish(stage, stage_seal(stage, ordinal));
    for (int i = 0; i < STEADY_COLUMNS; i++)
        groups[i] = stage_hold(stage, self->query, self->attributes[i], ordinal);
    for (int i = 0; i < STEADY_COLUMNS; i++)
        stage_let_go(stage, &groups[i]);
    stage_release_all(stage, writes, STEADY_COLUMNS);
}

static void run_frames(footprint_state *self, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        run_frame(self);
}

/* ---- idle ---- */
/* The pool has just worked and has gone to sleep. What the thread that measures spends on its own
 * sleep and clocks is not the library's. */
static double measure_idle(void *state, int variant)
{
    (void)variant;
    footprint_state *self = state;
    run_frames(self, 100);
    uint64_t start_ns = clock_ns();
    clock_sleep_until(start_ns + 50000000);
    uint64_t cpu_ns = process_others_cpu_ns();
    clock_sleep_until(start_ns + 1050000000);
    /* Two clocks, read one after the other: of nothing they may show less than that. */
    double used_ns = (double)process_others_cpu_ns() - (double)cpu_ns;
    return used_ns > 0 ? used_ns / 1e3 : 0;
}

/* ---- allocations ---- */
enum { BY_LIBRARY, BY_PROCESS };

static double measure_allocations(void *state, int variant)
{
    footprint_state *self = state;
    uint32_t frames = self->options->quick ? 200 : 2000;
    run_frames(self, frames);
    uint64_t calls = stage_statistics(&self->stage).heap_allocations;
    uint64_t requests = heap_count();
    run_frames(self, frames);
    if (variant == BY_PROCESS)
        return requests == UINT64_MAX ? NAN : (double)(heap_count() - requests) / frames;
    return (double)(stage_statistics(&self->stage).heap_allocations - calls) / frames;
}

/* ---- code ---- */
static double measure_text(void *state, int variant)
{
    (void)variant;
    const footprint_state *self = state;
    uint64_t bytes = self->options->library ? process_text_bytes(self->options->library) : 0;
    return bytes > 0 ? (double)bytes / 1024 : NAN;
}

static const bench_row rows[] = {
    {
        .name = "idle",
        .what =
            "processor time of all threads but the one that measures, in an idle second after work",
        .unit = "us",
        .open = open_footprint,
        .close = close_footprint,
        .contenders = {BENCH_OURS("flyrail", measure_idle, 0)},
        .goals = {{BENCH_AT_MOST, 0, 0, 100, false}},
        .most_rounds = 3,
    },
    {
        .name = "heap",
        .what = "allocations of a steady frame: three columns written, sealed, read, let go",
        .unit = "calls/frame",
        .open = open_footprint,
        .close = close_footprint,
        .contenders = {BENCH_OURS("the library's", measure_allocations, BY_LIBRARY),
                       BENCH_OURS("the program's", measure_allocations, BY_PROCESS)},
        .goals = {{BENCH_AT_MOST, 0, 0, 0, true}, {BENCH_AT_MOST, 1, 0, 0, true}},
        .most_rounds = 3,
    },
    {
        .name = "text",
        .what = "code and constants of libflyrail.so",
        .unit = "KiB",
        .open = open_footprint,
        .close = close_footprint,
        .contenders = {BENCH_OURS("libflyrail.so", measure_text, 0)},
        .goals = {{BENCH_AT_MOST, 0, 0, 640, false}},
        .most_rounds = 1,
    },
};

const bench_theme bench_theme_footprint = {"footprint", rows, sizeof(rows) / sizeof(rows[0])};
