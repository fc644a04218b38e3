#include "bench/yardsticks.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "bench/bench.h"
#include "bench/bench_clock.h"

static void run_work(uv_work_t *work)
{
    work->data = work;
}

static void after_work(uv_work_t *work, int status)
{
    (void)work;
    (void)status;
}

double yardstick_uv_tasks(uint32_t worker_count, size_t count)
{
    char threads[16];
    snprintf(threads, sizeof(threads), "%u", worker_count > 0 ? worker_count : 1);
    setenv("UV_THREADPOOL_SIZE", threads, 1); /* read when its pool starts, once */
    uv_work_t *works = bench_allocate(count * sizeof(*works));
    uv_loop_t *loop = uv_default_loop();
    uint64_t start_ns = clock_ns();
    for (size_t i = 0; i < count; i++)
        uv_queue_work(loop, &works[i], run_work, after_work);
    uv_run(loop, UV_RUN_DEFAULT);
    double figure = (double)(clock_ns() - start_ns) / (double)count;
    bench_free(works);
    return figure;
}
