/* Runs rows and keeps their figures. */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include "bench/bench.h"

typedef struct bench_figures {
    double median, least, most;
    double rounds[BENCH_MOST_ROUNDS]; /* sorted */
    uint32_t round_count;
} bench_figures;

typedef struct bench_result {
    const bench_theme *theme;
    const bench_row *row;
    bench_figures figures[BENCH_MOST_CONTENDERS];
    int contender_count;
    struct {
        double value; /* what is compared with the limit; NAN: could not be had */
        bool met;
    } goals[BENCH_MOST_GOALS];
    int goal_count;
} bench_result;

/* "chain <= 4 x oneTBB" and the like. */
void bench_goal_text(const bench_row *row, const bench_goal *goal, char *text, size_t size_bytes);
bool bench_row_selected(const bench_theme *theme, const bench_row *row,
                        const bench_options *options);
void bench_row_run(const bench_theme *theme, const bench_row *row, const bench_options *options,
                   bench_result *out);

#endif
