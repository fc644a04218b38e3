/* The command line of the physics pipeline. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include "examples/pipeline.h"
#include "examples/watchers.h"

typedef struct run_options {
    pipeline_options pipeline;
    watcher_options watchers;
    uint32_t rounds;    /* of the comparison; 0: none */
    const char *folder; /* for the trace files */
} run_options;

/* -1: go on. Else the exit code: 0 after --help, 2 after a line on stderr that says what is wrong.
 */
int run_options_read(int argc, char **argv, run_options *out);

#endif
