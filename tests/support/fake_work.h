/* Work that goes on after its op has left its lane, as that of a device does: it is over when the
 * test says so, and its report is complete then.
 *
 * Word map of `state`: OVER set by who ends the work; PARKED by the op, a report most often, that
 * has come to it. Who sets the second of them completes the op. */
#ifndef FR_TESTS_SUPPORT_FAKE_WORK_H
#define FR_TESTS_SUPPORT_FAKE_WORK_H

#include "scheduler/graph.h"

#define FAKE_WORK_OVER 1u
#define FAKE_WORK_PARKED 2u

typedef struct fake_work {
    _Atomic uint32_t state;
    fr_op *parked;
    uint32_t runs, drops; /* of the report */
    bool saw_failure;     /* of its op */
} fake_work;

/* A record for the report of work that begins with this; NULL without memory. */
fr_op *fake_work_report(fr_graph *graph, fake_work *work);
/* What an op's run answers that waits for the work itself. */
fr_run_result fake_work_park(fake_work *work, fr_op *op);
/* The work is over. Once. */
void fake_work_end(fr_graph *graph, fake_work *work, fr_worker *worker_or_null);

#endif
