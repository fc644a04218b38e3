/* The vocabulary of the bench: a row is one thing measured, its contenders are flyrail and the
 * yardsticks beside it, its goals compare their figures.
 *
 * Contenders take turns, one round each, so that whatever else the machine does hits all alike; a
 * figure is the median of its rounds. A program that measures may end itself: what cannot go on
 * calls bench_die. */
#ifndef BENCH_H
#define BENCH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MOST_CONTENDERS = 8, BENCH_MOST_GOALS = 6, BENCH_MOST_ROUNDS = 99 };

typedef struct bench_options {
    uint32_t worker_count; /* of flyrail and of every yardstick with threads */
    uint32_t rounds;
    bool quick;          /* smaller sizes: to see that it runs, not for figures */
    const char *only;    /* part of the names of the rows to run, or NULL */
    bool only_exact;     /* or the name of one */
    const char *folder;  /* for the results */
    const char *library; /* libflyrail.so, for its size, or NULL */
    const char *program; /* this program, to run yardsticks in processes of their own */
} bench_options;

typedef struct bench_contender {
    const char *name; /* NULL ends the list */
    /* One round: the figure in the row's unit; NAN when it cannot be had. */
    double (*measure)(void *state, int variant);
    int variant;    /* handed to measure, which may serve several contenders */
    bool yardstick; /* not flyrail */
} bench_contender;

#define BENCH_OURS(name, measure, variant) \
    { \
        name, measure, variant, false \
    }
#define BENCH_YARDSTICK(name, measure, variant) \
    { \
        name, measure, variant, true \
    }

typedef enum bench_goal_kind {
    BENCH_AT_MOST,        /* figures[of] <= limit */
    BENCH_AT_LEAST,       /* figures[of] >= limit */
    BENCH_RATIO_AT_MOST,  /* figures[of] / figures[to] <= limit */
    BENCH_RATIO_AT_LEAST, /* figures[of] / figures[to] >= limit */
} bench_goal_kind;

typedef struct bench_goal {
    bench_goal_kind kind;
    int of, to;
    double limit; /* 0 ends the list, unless kind is BENCH_AT_MOST and `none` is set */
    bool none;    /* the limit really is 0 */
} bench_goal;

typedef struct bench_row {
    const char *name; /* short, for --only */
    const char *what; /* a sentence */
    const char *unit;
    void *(*open)(const bench_options *options);
    void (*close)(void *state);
    bench_contender contenders[BENCH_MOST_CONTENDERS];
    bench_goal goals[BENCH_MOST_GOALS];
    uint32_t most_rounds; /* 0: as many as asked for */
} bench_row;

/* One theme: the rows of one file. */
typedef struct bench_theme {
    const char *name;
    const bench_row *rows;
    size_t row_count;
} bench_theme;

extern const bench_theme bench_theme_ops, bench_theme_exchange, bench_theme_columns,
    bench_theme_subset, bench_theme_range, bench_theme_parallel, bench_theme_rows,
    bench_theme_scale, bench_theme_clone, bench_theme_filter, bench_theme_hierarchy,
    bench_theme_memory, bench_theme_flat, bench_theme_footprint, bench_theme_spawn;

/* Ends the program with a line on stderr. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Memory, zeroed, aligned to a page, touched; ends the program when there is none. */
void *bench_allocate(size_t size_bytes);
void bench_free(void *memory);
/* The same in the kind of pages that the stage has for large payloads, so that a yardstick which
 * moves the same bytes has them no better and no worse. */
void *bench_allocate_payload(size_t size_bytes);
void bench_free_payload(void *memory, size_t size_bytes);
/* NAN for none. Sorts the figures. */
double bench_median(double *figures, size_t count);
double bench_percentile(double *sorted, size_t count, double part);

/* Random numbers that are the same in each run. */
static inline uint64_t bench_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
