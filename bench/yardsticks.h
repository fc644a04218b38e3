/* The task runtimes beside which flyrail is measured, each through its own interface. All answer
 * the nanoseconds per task of submitting `count` tiny tasks and waiting for all; NAN: cannot be
 * had. */
#ifndef BENCH_YARDSTICKS_H
#define BENCH_YARDSTICKS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* oneTBB: each task spawns the next; and tasks without an order. */
double yardstick_tbb_chain(uint32_t worker_count, size_t count);
double yardstick_tbb_tasks(uint32_t worker_count, size_t count);
/* libuv: uv_queue_work, then the loop until all have come back. */
double yardstick_uv_tasks(uint32_t worker_count, size_t count);

/* These keep threads spinning, or read their settings when the program starts, so they run in a
 * process of their own: by yardstick_in_child, which calls yardstick_child_main there. */
double yardstick_starpu_chain(uint32_t worker_count, size_t count); /* all on one handle */
double yardstick_starpu_tasks(uint32_t worker_count, size_t count); /* no handle */
double yardstick_gomp_chain(uint32_t worker_count, size_t count);   /* depend(inout) on one word */
double yardstick_gomp_tasks(uint32_t worker_count, size_t count);

/* name: "starpu-chain", "starpu-tasks", "gomp-chain", "gomp-tasks". */
double yardstick_in_child(const char *program, const char *name, uint32_t worker_count,
                          size_t count);
/* argv: PROGRAM --yardstick NAME WORKERS COUNT. Gives the exit code. */
int yardstick_child_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
