/* What a call that writes nothing does on a device all the same. It is checked as any other, and
 * captures what its source depends on; its availability event is recorded behind that, or it is
 * complete when that is over: who waits for either may reuse the source.
 *
 * Threads: the call's, then whoever runs the op. */
#ifndef FR_RUNTIME_WRITE_NOTHING_H
#define FR_RUNTIME_WRITE_NOTHING_H

#include "runtime/device/available.h"
#include "runtime/device/capture.h"
#include "runtime/device/report.h"

typedef struct fr_nothing {
    fr_opened *opened;
    uintptr_t stream;   /* the client's */
    fr_available *turn; /* a reference, or NULL: no event */
    fr_captured captured;
    bool told; /* the event was recorded, or could not be */
} fr_nothing;

/* In the call; not OK: the text is set. To be let go of in any case. capture, with the device
 * entered: what the source depends on, of such a call. */
ovstage_api_status_t fr_nothing_open(fr_nothing *nothing, fr_opened *opened, uintptr_t stream,
                                     uintptr_t event,
                                     bool (*capture)(fr_nothing *nothing, const void *user,
                                                     fr_device_fault *fault),
                                     const void *user);
/* Whether an op has to follow. */
static inline bool fr_nothing_has_work(const fr_nothing *nothing)
{
    return nothing->turn || nothing->captured.dep;
}
/* Without an event, a record for the submission. *out NULL: it needs none. False without memory. */
bool fr_nothing_report(const fr_nothing *nothing, fr_graph *graph, const fr_device_told *told,
                       fr_op **out);
/* By the op, whatever became of it; at most once it does something. */
void fr_nothing_make_available(fr_op *op, fr_nothing *nothing);
void fr_nothing_let_go(fr_nothing *nothing);

#endif
