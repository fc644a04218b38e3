#include "bench/yardsticks.h"

#include <stdbool.h>

#include "bench/bench_clock.h"

static volatile uint32_t cell;

static void submit_tasks(size_t count)
{
    for (size_t i = 0; i < count; i++) {
#pragma omp task firstprivate(i)
        cell = (uint32_t)i;
    }
#pragma omp taskwait
}

static void submit_chain(size_t count)
{
    static uint32_t link;
    for (size_t i = 0; i < count; i++) {
#pragma omp task firstprivate(i) depend(inout : link)
        cell = link = (uint32_t)i;
    }
#pragma omp taskwait
}

/* The team waits inside the single; the first half warms it up. */
static double measure(uint32_t worker_count, size_t count, bool chained)
{
    int threads = (int)(worker_count > 0 ? worker_count : 1);
    void (*submit)(size_t) = chained ? submit_chain : submit_tasks;
    double figure = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        submit(count);
        uint64_t start_ns = clock_ns();
        submit(count);
        figure = (double)(clock_ns() - start_ns) / (double)count;
    }
    return figure;
}

double yardstick_gomp_chain(uint32_t worker_count, size_t count)
{
    return measure(worker_count, count, true);
}

double yardstick_gomp_tasks(uint32_t worker_count, size_t count)
{
    return measure(worker_count, count, false);
}
