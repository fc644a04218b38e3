/* What a client's cuda_sync stands for, captured inside the call (D21): the client may record its
 * event again, or give its stream more work, as soon as the call has returned.
 *
 * Threads: the calling thread, since a stream's handle may mean its own (2). */
#ifndef FR_RUNTIME_DEVICE_CAPTURE_H
#define FR_RUNTIME_DEVICE_CAPTURE_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "runtime/device/wait_for.h"

typedef struct fr_captured {
    fr_fence *dep; /* a reference; NULL: nothing to wait for */
#ifdef FR_MUTATE_DEVICE_CAPTURES_LATE
    ovstage_cuda_sync_t late;
#endif
} fr_captured;

static inline bool fr_sync_is_given(const ovstage_cuda_sync_t *sync)
{
    return sync->stream != 0 || sync->wait_event != 0;
}

/* Of the entries of a call, whose syncs lie so many bytes apart: their waits go to one gate of the
 * lane's. Entered. False: the fault says why, and nothing is captured. */
bool fr_capture(fr_opened *opened, uint64_t lane, const ovstage_cuda_sync_t *first,
                size_t stride_bytes, size_t count, fr_captured *out, fr_device_fault *fault);
/* Of entries whose rows lie on another device, behind what is captured. False: that is as it was.
 */
bool fr_capture_more(fr_opened *opened, uint64_t lane, const ovstage_cuda_sync_t *first,
                     size_t stride_bytes, size_t count, fr_captured *captured,
                     fr_device_fault *fault);
#ifdef FR_MUTATE_DEVICE_CAPTURES_LATE
bool fr_capture_now(fr_opened *opened, uint64_t lane, fr_captured *captured,
                    fr_device_fault *fault);
#endif
/* Whether the client's stream, 0: none, can be used: a call refuses one that cannot, before its op
 * runs. Entered. False: the fault says why. */
bool fr_capture_check_stream(const fr_opened *opened, uintptr_t stream, fr_device_fault *fault);
void fr_captured_release(fr_captured *captured);

#endif
