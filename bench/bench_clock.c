#include "bench/bench_clock.h"

double clock_ticks_per_ns(void)
{
    static double rate;
    if (rate > 0)
        return rate;
    uint64_t start_ns = clock_ns(), start = clock_ticks(), now_ns;
    do
        now_ns = clock_ns();
    while (now_ns - start_ns < 20000000);
    rate = (double)(clock_ticks() - start) / (double)(now_ns - start_ns);
    return rate;
}

uint64_t clock_ticks_overhead(void)
{
    static uint64_t least;
    if (least > 0)
        return least;
    least = UINT64_MAX;
    for (int i = 0; i < 10000; i++) {
        uint64_t start = clock_ticks(), difference = clock_ticks() - start;
        least = difference < least ? difference : least;
    }
    return least;
}

/* A chain of multiplications: as long as it takes, whatever else happens meanwhile, so that time in
 * which the thread did not run does not count as work done. */
static uint64_t multiply(uint64_t value, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        value = value * 0x9e3779b97f4a7c15u + 1;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

static double multiplications_per_ns(void)
{
    enum { COUNT = 100000, TRIES = 20 };
    static double rate;
    for (int i = 0; i < TRIES && (i > 0 || rate == 0); i++) {
        uint64_t start_ns = clock_ns();
        multiply(start_ns, COUNT);
        double found = COUNT / (double)(clock_ns() - start_ns);
        rate = found > rate ? found : rate;
    }
    return rate;
}

void clock_burn_prepare(void)
{
    (void)multiplications_per_ns();
}

void clock_burn(uint64_t duration_ns)
{
    multiply(duration_ns, (uint64_t)((double)duration_ns * multiplications_per_ns()));
}

void clock_sleep_until(uint64_t moment_ns)
{
    struct timespec time = {.tv_sec = (time_t)(moment_ns / 1000000000u),
                            .tv_nsec = (long)(moment_ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}
