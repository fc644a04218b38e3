/* Time: a nanosecond clock for whole rounds, and a cheaper one for single calls. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint64_t clock_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* A counter read in a few nanoseconds. Differences are turned into time with ticks_per_ns. */
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return clock_ns();
#endif
}

/* Measured once. */
double clock_ticks_per_ns(void);
/* What two readings of clock_ticks in a row differ by: belongs to no call measured between them. */
uint64_t clock_ticks_overhead(void);

/* Sleeps until a moment of clock_ns. */
void clock_sleep_until(uint64_t moment_ns);
/* Computes, touching no memory, as much as takes so long on an undisturbed processor. Prepare once
 * before, on one thread. */
void clock_burn_prepare(void);
void clock_burn(uint64_t duration_ns);

#ifdef __cplusplus
}
#endif

#endif
