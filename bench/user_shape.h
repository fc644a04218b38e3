/* The bench with a shape of the user's own: producers that publish for some seconds. */
#ifndef BENCH_USER_SHAPE_H
#define BENCH_USER_SHAPE_H

#include "bench/bench.h"

typedef struct user_shape {
    const char *workload; /* one of user_workloads */
    uint32_t prim_count, attribute_count;
    uint32_t ordinals_ahead; /* of each producer: not yet complete */
    uint32_t producer_count, worker_count;
    uint32_t seconds;
} user_shape;

extern const char user_workloads[]; /* "full, subset, ...", for messages */

bool user_workload_known(const char *name);
void user_shape_run(const user_shape *shape);

#endif
