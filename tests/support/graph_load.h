/* A random load for the graph, which checks itself: order in lanes, every op exactly once, a seal
 * after all that was accepted below it and nothing after it, failures that spread, waits that end.
 */
#ifndef FR_TESTS_SUPPORT_GRAPH_LOAD_H
#define FR_TESTS_SUPPORT_GRAPH_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct graph_load_options {
    uint32_t workers;
    uint32_t producers;
    uint32_t ops; /* of each producer */
    uint64_t seed;
    uint64_t caller_spin_ns;
    bool caller_runs;
    bool destroys_early; /* with work left */
    uint32_t op_limit;   /* 0: a million */
} graph_load_options;

/* NULL, or the text of the first check that does not hold. */
const char *graph_load(const graph_load_options *options);

#ifdef __cplusplus
}
#endif

#endif
