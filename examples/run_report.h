/* What is kept of a run after its pipeline is gone, and the table that shows it. */
#ifndef RUN_REPORT_H
#define RUN_REPORT_H

#include "examples/pipeline.h"

typedef struct run_figures {
    uint64_t run_ns;
    uint64_t publish_p50_ns, publish_p99_ns; /* from a frame's last step to its seal */
    double ahead_mean; /* how many frames a step is beyond the first that is not sealed */
    uint32_t ahead_most;
    uint32_t worker_count;
} run_figures;

/* Of a pipeline that has run. False: no memory. */
bool run_figures_take(const pipeline *line, run_figures *out);

void report_heading(void);
/* figures->publish_p50_ns 0: nothing was published, those columns stay empty. */
void report_run(const char *name, const pipeline_options *options, const run_figures *figures);

/* Where two runs differ first; or false, when every row of every frame and the last frame's bytes
 * are the same. */
bool results_differ(const pipeline *a, const pipeline *b, uint32_t *out_frame, uint32_t *out_world);

#endif
