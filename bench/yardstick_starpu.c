#include "bench/yardsticks.h"

#include <math.h>
#include <starpu.h>
#include <stdbool.h>

#include "bench/bench_clock.h"

static uint32_t cell;

static void run_task(void *buffers[], void *argument)
{
    (void)buffers;
    cell = (uint32_t)(uintptr_t)argument;
}

static bool start(uint32_t worker_count)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = (int)(worker_count > 0 ? worker_count : 1);
    conf.ncuda = 0;
    conf.nopencl = 0;
    return starpu_init(&conf) == 0;
}

static bool submit_all(struct starpu_codelet *codelet, starpu_data_handle_t handle, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = codelet;
        task->cl_arg = (void *)(uintptr_t)i;
        if (codelet->nbuffers > 0)
            task->handles[0] = handle;
        if (starpu_task_submit(task) != 0)
            return false;
    }
    return starpu_task_wait_for_all() == 0;
}

/* The first half warms it up. */
static double measure(uint32_t worker_count, size_t count, bool chained)
{
    static struct starpu_codelet codelet = {.cpu_funcs = {run_task}, .modes = {STARPU_RW}};
    codelet.nbuffers = chained ? 1 : 0;
    if (!start(worker_count))
        return NAN;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&cell, sizeof(cell));
    bool fine = submit_all(&codelet, handle, count);
    uint64_t start_ns = clock_ns();
    fine = submit_all(&codelet, handle, count) && fine;
    double figure = (double)(clock_ns() - start_ns) / (double)count;
    starpu_data_unregister(handle);
    starpu_shutdown();
    return fine ? figure : NAN;
}

double yardstick_starpu_chain(uint32_t worker_count, size_t count)
{
    return measure(worker_count, count, true);
}

double yardstick_starpu_tasks(uint32_t worker_count, size_t count)
{
    return measure(worker_count, count, false);
}
