/* What changed at one ordinal, read among a million rows. */
#include <string.h>

#include "bench/bench_clock.h"
#include "bench/stage.h"

enum { LISTS = 16, ROW_SIZE = 12, KINDS = 3 };
/* What is asked for of which changes. */
enum { ALL_OF_MANY, HALF_OF_MANY, ALL_OF_FEW };

typedef struct range_state {
    bench_stage stage;
    ovstage_query_handle_t whole, half; /* every other path, backwards */
    ovx_token_t attribute;
    uint32_t row_count, repeats;
    uint32_t change_count[KINDS];
    uint32_t
        *rows[LISTS]; /* that change, without repeats, in no order; the first ones when few do */
    ovstage_query_handle_t many[LISTS], few[LISTS];
    bench_payload many_rows, few_rows;
    char *source, *head, *gathered;
} range_state;

static void choose_rows(range_state *self, int list, const ovx_primpath_t *paths, uint64_t *random)
{
    uint32_t count = self->change_count[ALL_OF_MANY];
    bool *taken = bench_allocate(self->row_count * sizeof(*taken));
    ovx_primpath_t *changed = bench_allocate(count * sizeof(*changed));
    self->rows[list] = bench_allocate(count * sizeof(uint32_t));
    for (uint32_t i = 0; i < count;) {
        uint32_t row = (uint32_t)(bench_random(random) % self->row_count);
        if (taken[row])
            continue;
        taken[row] = true;
        self->rows[list][i] = row;
        changed[i++] = paths[row];
    }
    self->many[list] = stage_query(&self->stage, changed, count);
    self->few[list] = stage_query(&self->stage, changed, self->change_count[ALL_OF_FEW]);
    bench_free(changed);
    bench_free(taken);
}

static void *open_range(const bench_options *options)
{
    range_state *self = bench_allocate(sizeof(*self));
    self->row_count = options->quick ? 50000 : 1000000;
    self->change_count[ALL_OF_MANY] = self->change_count[HALF_OF_MANY] = self->row_count / 200;
    self->change_count[ALL_OF_FEW] = 24;
    self->repeats = options->quick ? 20 : 100;
    size_t size_bytes = (size_t)self->row_count * ROW_SIZE;
    self->source = bench_allocate((size_t)self->change_count[ALL_OF_MANY] * ROW_SIZE);
    self->gathered = bench_allocate((size_t)self->change_count[ALL_OF_MANY] * ROW_SIZE);
    self->head = bench_allocate_payload(size_bytes);
    stage_open(&self->stage, options->worker_count, true);
    self->attribute = stage_token(&self->stage, "bench:position");
    ovx_primpath_t *paths = stage_paths(&self->stage, "/Range/P", 0, self->row_count);
    self->whole = stage_query(&self->stage, paths, self->row_count);
    bench_payload all;
    payload_set(&all, self->head, self->row_count, stage_float3);
    stage_publish(&self->stage, self->whole, self->attribute, &all);
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < LISTS; i++)
        choose_rows(self, i, paths, &random);
    for (uint32_t i = 0; i < self->row_count / 2; i++)
        paths[i] = paths[2 * i];
    for (uint32_t i = 0, j = self->row_count / 2 - 1; i < j; i++, j--) {
        ovx_primpath_t path = paths[i];
        paths[i] = paths[j];
        paths[j] = path;
    }
    self->half = stage_query(&self->stage, paths, self->row_count / 2);
    bench_free(paths);
    payload_set(&self->many_rows, self->source, self->change_count[ALL_OF_MANY], stage_float3);
    payload_set(&self->few_rows, self->source, self->change_count[ALL_OF_FEW], stage_float3);
    return self;
}

static void close_range(void *state)
{
    range_state *self = state;
    for (int i = 0; i < LISTS; i++) {
        stage_release_query(&self->stage, self->many[i]);
        stage_release_query(&self->stage, self->few[i]);
        bench_free(self->rows[i]);
    }
    stage_release_query(&self->stage, self->whole);
    stage_release_query(&self->stage, self->half);
    stage_close(&self->stage);
    bench_free(self->source);
    bench_free(self->gathered);
    bench_free_payload(self->head, (size_t)self->row_count * ROW_SIZE);
    bench_free(self);
}

/* Only the reads, each of the ordinal that was sealed before it. */
static double measure_read(void *state, int kind)
{
    range_state *self = state;
    uint64_t spent_ns = 0;
    for (uint32_t i = 0; i < self->repeats; i++) {
        bool few = kind == ALL_OF_FEW;
        stage_publish(&self->stage, few ? self->few[i % LISTS] : self->many[i % LISTS],
                      self->attribute, few ? &self->few_rows : &self->many_rows);
        ovstage_ordinal_range_t range = {self->stage.ordinal, self->stage.ordinal, true};
        uint64_t start_ns = clock_ns();
        ovstage_read_group_t group = stage_hold_range(
            &self->stage, kind == HALF_OF_MANY ? self->half : self->whole, self->attribute, range);
        stage_let_go(&self->stage, &group);
        spent_ns += clock_ns() - start_ns;
    }
    return (double)spent_ns / 1e3 / self->repeats;
}

/* ---- yardsticks ---- */

static void gather(char *to, const char *from, const uint32_t *rows, uint32_t count, bool half)
{
    for (uint32_t i = 0; i < count; i++) {
        if (half && rows[i] % 2)
            continue;
        memcpy(to, from + (size_t)rows[i] * ROW_SIZE, ROW_SIZE);
        to += ROW_SIZE;
    }
}

static void scatter(char *to, const char *from, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(to + (size_t)rows[i] * ROW_SIZE, from + (size_t)i * ROW_SIZE, ROW_SIZE);
}

/* Of rows that were just written, as those of the reads are. */
static double measure_gather(void *state, int kind)
{
    range_state *self = state;
    uint64_t spent_ns = 0;
    for (uint32_t i = 0; i < self->repeats; i++) {
        const uint32_t *changed = self->rows[i % LISTS];
        scatter(self->head, self->source, changed, self->change_count[kind]);
        __asm__ volatile("" : : "r"(self->head) : "memory");
        uint64_t start_ns = clock_ns();
        gather(self->gathered, self->head, changed, self->change_count[kind], kind == HALF_OF_MANY);
        __asm__ volatile("" : : "r"(self->gathered) : "memory");
        spent_ns += clock_ns() - start_ns;
    }
    return (double)spent_ns / 1e3 / self->repeats;
}

/* What a read may take. */
static double measure_thrice(void *state, int kind)
{
    return 3 * measure_gather(state, kind) + 3;
}

static const bench_row rows[] = {
    {
        .name = "range",
        .what = "which rows changed at an ordinal, 0.5 % or 24 of 1 M x 12 bytes",
        .unit = "us",
        .open = open_range,
        .close = close_range,
        .contenders = {BENCH_OURS("0.5 %, all in order", measure_read, ALL_OF_MANY),
                       BENCH_OURS("0.5 %, half of them backwards", measure_read, HALF_OF_MANY),
                       BENCH_OURS("24, all in order", measure_read, ALL_OF_FEW),
                       BENCH_YARDSTICK("a plain gather of 0.5 %", measure_gather, ALL_OF_MANY),
                       BENCH_YARDSTICK("3 x that and 3 us", measure_thrice, ALL_OF_MANY),
                       BENCH_YARDSTICK("3 x a gather of half and 3 us", measure_thrice,
                                       HALF_OF_MANY),
                       BENCH_YARDSTICK("3 x a gather of 24 and 3 us", measure_thrice, ALL_OF_FEW)},
        .goals = {{BENCH_RATIO_AT_MOST, 0, 4, 1, false},
                  {BENCH_RATIO_AT_MOST, 1, 5, 1, false},
                  {BENCH_RATIO_AT_MOST, 2, 6, 1, false}},
    },
};

const bench_theme bench_theme_range = {"range", rows, sizeof(rows) / sizeof(rows[0])};
