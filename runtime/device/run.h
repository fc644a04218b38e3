/* One op at work on one device: the stream it uses, the waits, and the fence behind its work.
 *
 * begin enters the device and takes a stream; each copy waits for what it must; record puts the
 * fence behind all of it; end gives the stream back and leaves. What was put into the stream before
 * a failure is behind a fence all the same.
 *
 * Threads: one. */
#ifndef FR_RUNTIME_DEVICE_RUN_H
#define FR_RUNTIME_DEVICE_RUN_H

#include "runtime/device/wait_for.h"

typedef struct fr_device_run {
    fr_opened *opened;
    fr_device_entry entry;
    fr_device_stream stream;
    fr_own_stream *own; /* NULL: `stream` is a client's */
    fr_fence *done;     /* what record will record; then it is recorded */
} fr_device_run;

/* client_stream 0: one of ours, for the work of that lane. dep: what comes before all of it, or
 * NULL. False: the fault says why, and nothing is held. */
bool fr_device_run_begin(fr_device_run *run, fr_opened *opened, uintptr_t client_stream,
                         uint64_t lane, const fr_fence *dep, fr_device_fault *fault);
/* All of a payload from memory of the device. */
bool fr_device_run_write(fr_device_run *run, fr_placed *to, uint64_t from, size_t size_bytes,
                         fr_device_fault *fault);
/* The fence behind it, which is the last write of `to`. */
bool fr_device_run_record(fr_device_run *run, fr_placed *to, fr_device_fault *fault);
/* A client's event, behind all that the stream has. */
bool fr_device_run_available(const fr_device_run *run, uintptr_t event, fr_device_fault *fault);
void fr_device_run_end(fr_device_run *run);

#endif
