#include "bench/runner.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void bench_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

void *bench_allocate(size_t size_bytes)
{
    enum { PAGE = 4096 };
    size_t rounded = (size_bytes + PAGE) / PAGE * PAGE;
    void *memory = aligned_alloc(PAGE, rounded);
    if (!memory)
        bench_die("no memory for %zu bytes", size_bytes);
    memset(memory, 0, rounded);
    return memory;
}

void bench_free(void *memory)
{
    free(memory);
}

static size_t payload_bytes(size_t size_bytes)
{
    enum { LARGE_PAGE = 2 << 20 };
    return (size_bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

/* Twice as much address space as is used: a large page begins somewhere in the first half. What is
 * not touched costs nothing. */
void *bench_allocate_payload(size_t size_bytes)
{
    size_t rounded = payload_bytes(size_bytes);
    char *mapped = mmap(NULL, 2 * rounded, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        bench_die("no memory for %zu bytes", size_bytes);
    size_t before = payload_bytes((uintptr_t)mapped) - (uintptr_t)mapped;
    if (before > 0)
        munmap(mapped, before);
    munmap(mapped + before + rounded, rounded - before);
    (void)madvise(mapped + before, rounded,
                  MADV_HUGEPAGE); /* small ones where there are no large */
    memset(mapped + before, 0, rounded);
    return mapped + before;
}

void bench_free_payload(void *memory, size_t size_bytes)
{
    munmap(memory, payload_bytes(size_bytes));
}

static int compare_figures(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double bench_median(double *figures, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(figures, count, sizeof(*figures), compare_figures);
    return figures[count / 2];
}

double bench_percentile(double *sorted, size_t count, double part)
{
    size_t place = (size_t)((double)count * part);
    return count == 0 ? NAN : sorted[place < count ? place : count - 1];
}

/* ---- goals ---- */
static bool goal_given(const bench_goal *goal)
{
    return goal->limit > 0 || goal->none;
}

void bench_goal_text(const bench_row *row, const bench_goal *goal, char *text, size_t size_bytes)
{
    const char *of = row->contenders[goal->of].name, *to = row->contenders[goal->to].name;
    switch (goal->kind) {
    case BENCH_AT_MOST:
        snprintf(text, size_bytes, "%s at most %g %s", of, goal->limit, row->unit);
        break;
    case BENCH_AT_LEAST:
        snprintf(text, size_bytes, "%s at least %g %s", of, goal->limit, row->unit);
        break;
    case BENCH_RATIO_AT_MOST:
        snprintf(text, size_bytes, "%s at most %.3g of %s", of, goal->limit, to);
        break;
    case BENCH_RATIO_AT_LEAST:
        snprintf(text, size_bytes, "%s at least %.3g of %s", of, goal->limit, to);
        break;
    }
}

static void judge(const bench_row *row, bench_result *result)
{
    for (int i = 0; i < BENCH_MOST_GOALS && goal_given(&row->goals[i]); i++) {
        const bench_goal *goal = &row->goals[i];
        double value = result->figures[goal->of].median;
        if (goal->kind == BENCH_RATIO_AT_MOST || goal->kind == BENCH_RATIO_AT_LEAST)
            value /= result->figures[goal->to].median;
        bool most = goal->kind == BENCH_AT_MOST || goal->kind == BENCH_RATIO_AT_MOST;
        result->goals[i].value = value;
        result->goals[i].met = most ? value <= goal->limit : value >= goal->limit; /* NAN: no */
        result->goal_count = i + 1;
    }
}

/* ---- rounds ---- */
bool bench_row_selected(const bench_theme *theme, const bench_row *row,
                        const bench_options *options)
{
    const char *only = options->only;
    if (options->only_exact)
        return strcmp(row->name, only) == 0;
    return !only || strstr(row->name, only) || strstr(theme->name, only);
}

static void add_round(bench_figures *figures, double figure)
{
    if (!isnan(figure))
        figures->rounds[figures->round_count++] = figure;
}

void bench_row_run(const bench_theme *theme, const bench_row *row, const bench_options *options,
                   bench_result *out)
{
    *out = (bench_result){.theme = theme, .row = row};
    while (out->contender_count < BENCH_MOST_CONTENDERS &&
           row->contenders[out->contender_count].name)
        out->contender_count++;
    uint32_t rounds = options->rounds;
    if (row->most_rounds > 0 && rounds > row->most_rounds)
        rounds = row->most_rounds;
    void *state = row->open ? row->open(options) : NULL;
    for (uint32_t round = 0; round < rounds; round++) {
        for (int i = 0; i < out->contender_count; i++) {
            const bench_contender *contender = &row->contenders[i];
            add_round(&out->figures[i], contender->measure(state, contender->variant));
        }
    }
    if (row->close)
        row->close(state);
    for (int i = 0; i < out->contender_count; i++) {
        bench_figures *figures = &out->figures[i];
        figures->median = bench_median(figures->rounds, figures->round_count);
        figures->least = figures->round_count ? figures->rounds[0] : NAN;
        figures->most = figures->round_count ? figures->rounds[figures->round_count - 1] : NAN;
    }
    judge(row, out);
}
