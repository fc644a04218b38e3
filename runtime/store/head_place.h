/* A payload for the next head on a device, brought up to date from the one that is there.
 *
 * As head_copy.h: an older state that nobody reads gives its payload away, or a spare does; then
 * what has changed since is copied, else all. The device's work that uses such a payload is over.
 *
 * Threads: seals only, one at a time; the lock of the segment is taken for the change of an older
 * state, and not while the device is asked for something. */
#ifndef FR_RUNTIME_STORE_HEAD_PLACE_H
#define FR_RUNTIME_STORE_HEAD_PLACE_H

#include "runtime/device/run.h"
#include "runtime/store/column.h"

typedef struct fr_head_place {
    fr_buffer *buffer; /* one reference; NULL: there is none, and all is to be copied */
    uint32_t change_count;
    fr_change *changes[FR_SPARE_CHANGES]; /* that it has to catch up with, a reference each */
} fr_head_place;

/* The device is not entered. */
void fr_head_place_take(fr_store *store, fr_segment *segment, const fr_version *head,
                        fr_head_place *out);
/* Into the payload, by the run, to which both were named. False: the fault says why. */
bool fr_head_place_fill(const fr_store *store, fr_device_run *run, const fr_segment *segment,
                        const fr_version *head, const fr_head_place *place, const fr_buffer *to,
                        fr_device_fault *fault);
/* But for the payload. */
void fr_head_place_release(fr_head_place *place);

#endif
