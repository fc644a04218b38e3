/* The yardstick of the pipeline: the same worlds stepped by plain threads, nothing published. */
#ifndef PLAIN_THREADS_H
#define PLAIN_THREADS_H

#include "examples/pipeline.h"

/* How long thread_count threads take for all steps of all worlds, each thread with worlds of its
 * own. 0: no memory or no thread. */
uint64_t plain_threads_run(const pipeline_options *options, uint32_t thread_count);

#endif
