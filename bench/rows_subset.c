/* Half a percent of a million rows changed and sealed, with nobody and with somebody reading. */
#include <string.h>

#include "bench/bench_clock.h"
#include "bench/stage.h"

enum { LISTS = 16, ROW_SIZE = 12 };

typedef struct subset_state {
    bench_stage stage;
    ovstage_query_handle_t whole;
    ovx_token_t attribute;
    ovx_primpath_t *paths;
    uint32_t row_count, change_count, repeats;
    uint32_t *rows[LISTS];          /* which rows change, without repeats, in no order */
    ovx_primpath_t *changed[LISTS]; /* their paths */
    ovstage_query_handle_t bound[LISTS];
    bench_payload payload;
    char *source, *head, *other; /* the changed rows' values; what the yardsticks change */
} subset_state;

static void choose_rows(subset_state *self, int list, uint64_t *random)
{
    uint32_t count = self->change_count;
    bool *taken = bench_allocate(self->row_count * sizeof(*taken));
    self->rows[list] = bench_allocate(count * sizeof(uint32_t));
    self->changed[list] = bench_allocate(count * sizeof(ovx_primpath_t));
    for (uint32_t i = 0; i < count;) {
        uint32_t row = (uint32_t)(bench_random(random) % self->row_count);
        if (taken[row])
            continue;
        taken[row] = true;
        self->rows[list][i] = row;
        self->changed[list][i++] = self->paths[row];
    }
    bench_free(taken);
}

static void *open_subset(const bench_options *options)
{
    subset_state *self = bench_allocate(sizeof(*self));
    self->row_count = options->quick ? 50000 : 1000000;
    self->change_count = self->row_count / 200;
    self->repeats = options->quick ? 20 : 200;
    size_t size_bytes = (size_t)self->row_count * ROW_SIZE;
    self->source = bench_allocate((size_t)self->change_count * ROW_SIZE);
    self->head = bench_allocate_payload(size_bytes);
    self->other = bench_allocate_payload(size_bytes);
    stage_open(&self->stage, options->worker_count, true);
    self->attribute = stage_token(&self->stage, "bench:position");
    self->paths = stage_paths(&self->stage, "/Subset/P", 0, self->row_count);
    self->whole = stage_query(&self->stage, self->paths, self->row_count);
    bench_payload all;
    payload_set(&all, self->head, self->row_count, stage_float3);
    for (int i = 0; i < 4; i++)
        stage_publish(&self->stage, self->whole, self->attribute, &all);
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < LISTS; i++) {
        choose_rows(self, i, &random);
        self->bound[i] = stage_query(&self->stage, self->changed[i], self->change_count);
    }
    payload_set(&self->payload, self->source, self->change_count, stage_float3);
    return self;
}

static void close_subset(void *state)
{
    subset_state *self = state;
    for (int i = 0; i < LISTS; i++) {
        stage_release_query(&self->stage, self->bound[i]);
        bench_free(self->rows[i]);
        bench_free(self->changed[i]);
    }
    stage_release_query(&self->stage, self->whole);
    stage_close(&self->stage);
    bench_free(self->paths);
    bench_free(self->source);
    size_t size_bytes = (size_t)self->row_count * ROW_SIZE;
    bench_free_payload(self->head, size_bytes);
    bench_free_payload(self->other, size_bytes);
    bench_free(self);
}

/* One write, waited for, and its seal, waited for. What the stage puts off is paid by the repeats
 * that follow, so it is in the figure. */
static double measure_free(void *state, int variant)
{
    (void)variant;
    subset_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++)
        stage_publish(&self->stage, self->bound[i % LISTS], self->attribute, &self->payload);
    return (double)(clock_ns() - start_ns) / 1e3 / self->repeats;
}

/* The newest moment is always held by a reader while the next is written and sealed. Taking and
 * letting go of it is in the figure: a microsecond. */
static double measure_held(void *state, int variant)
{
    (void)variant;
    subset_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        ovstage_read_group_t held =
            stage_hold(&self->stage, self->whole, self->attribute, self->stage.ordinal);
        stage_publish(&self->stage, self->bound[i % LISTS], self->attribute, &self->payload);
        stage_let_go(&self->stage, &held);
    }
    return (double)(clock_ns() - start_ns) / 1e3 / self->repeats;
}

static double measure_new_list(void *state, int variant)
{
    (void)variant;
    subset_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        ovstage_query_handle_t query =
            stage_query(&self->stage, self->changed[i % LISTS], self->change_count);
        stage_publish(&self->stage, query, self->attribute, &self->payload);
        stage_release_query(&self->stage, query);
    }
    return (double)(clock_ns() - start_ns) / 1e3 / self->repeats;
}

/* ---- yardsticks ---- */
static void scatter(char *to, const char *from, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(to + (size_t)rows[i] * ROW_SIZE, from + (size_t)i * ROW_SIZE, ROW_SIZE);
}

static double measure_scatter(void *state, int variant)
{
    (void)variant;
    subset_state *self = state;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < self->repeats; i++) {
        scatter(self->head, self->source, self->rows[i % LISTS], self->change_count);
        __asm__ volatile("" : : "r"(self->head) : "memory");
    }
    return (double)(clock_ns() - start_ns) / 1e3 / self->repeats;
}

static double measure_full_copy(void *state, int variant)
{
    (void)variant;
    subset_state *self = state;
    uint32_t repeats = self->repeats / 10;
    uint64_t start_ns = clock_ns();
    for (uint32_t i = 0; i < repeats; i++) {
        char *from = i % 2 ? self->other : self->head, *to = i % 2 ? self->head : self->other;
        memcpy(to, from, (size_t)self->row_count * ROW_SIZE);
        scatter(to, self->source, self->rows[i % LISTS], self->change_count);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
    return (double)(clock_ns() - start_ns) / 1e3 / repeats;
}

static const bench_row rows[] = {
    {
        .name = "subset",
        .what = "0.5 % of 1 M x 12 bytes written and sealed",
        .unit = "us",
        .open = open_subset,
        .close = close_subset,
        .contenders = {BENCH_OURS("head free", measure_free, 0),
                       BENCH_OURS("head held by a reader", measure_held, 0),
                       BENCH_OURS("new path list each time", measure_new_list, 0),
                       BENCH_YARDSTICK("plain scatter loop", measure_scatter, 0),
                       BENCH_YARDSTICK("full copy and scatter", measure_full_copy, 0)},
        .goals = {{BENCH_RATIO_AT_MOST, 0, 3, 2, false},
                  {BENCH_RATIO_AT_MOST, 1, 3, 6, false},
                  {BENCH_RATIO_AT_MOST, 2, 3, 6, false}},
    },
};

const bench_theme bench_theme_subset = {"subset", rows, sizeof(rows) / sizeof(rows[0])};
