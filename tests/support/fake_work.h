/* Work that goes on after its op has left its lane, as that of a device does: it is over when the
 * test says so, and its report is complete then.
 *
 * Word map of `state`: OVER set by who ends the work; PARKED by the report that has come to it. Who
 * sets the second of them completes the report. */
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
/* The work is over. Once. */
void fake_work_end(fr_graph *graph, fake_work *work, fr_worker *worker_or_null);

#endif
