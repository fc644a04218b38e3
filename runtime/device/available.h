/* Clients' availability events. Ops that name the same one record it in the order of acceptance,
 * and each record comes, on the device, behind the one before it (D21): so who waits for the event
 * has waited for all of them.
 *
 * An event that ops name has an entry here. It says which op was accepted last, which the next one
 * waits for (fr_submission.behind_id), and keeps a fence behind the last record, which the next
 * record waits for. A read that is judged in its call records before it is accepted, beside ops
 * that may record meanwhile: so each of them has `recording` from the look for the last record to
 * its own, or who waits for the event could go by one that knows nothing of the other. When an op
 * was accepted before the read after all, the read is judged, and records, once more.
 *
 * Threads: all. Invariants: last_id and serial are guarded by admission, the rest by the list's
 * lock. Progress: short lock, no call of the table while it is held; `recording` is held for a few
 * calls, by who records the same event, without another lock. Memory: as many entries as there were
 * events at once that an op was to record, or whose record was pending. */
#ifndef FR_RUNTIME_DEVICE_AVAILABLE_H
#define FR_RUNTIME_DEVICE_AVAILABLE_H

#include "runtime/device/run.h"

struct fr_available {
    fr_available *next; /* of its bucket */
    fr_devices *devices;
    uintptr_t event;
    uint32_t references;
    fr_fence *recorded; /* behind the last record; or NULL */
    uint64_t last_id;   /* of the op that was accepted last; 0: none */
    uint64_t serial;    /* up with each that is accepted */
    fr_mutex recording;
};

/* For an op that is to be submitted: a reference. NULL without memory. */
fr_available *fr_available_get(fr_devices *devices, uintptr_t event);
void fr_available_put(fr_available *available); /* NULL is fine */

/* Under admission, in admit: the op that it comes behind, 0: none; then, in accepted. */
static inline uint64_t fr_available_last(const fr_available *available)
{
    return available ? available->last_id : 0;
}
static inline void fr_available_accept(fr_available *available, uint64_t id)
{
    if (!available)
        return;
    available->last_id = id;
    available->serial++;
}
/* At destroy, when all fences are over. */
void fr_available_forget_all(fr_devices *devices);

/* The op has one reference. run: what it is putting into a stream; NULL: nothing, since it failed
 * before. after: what it has put into one of the same before, or NULL. Who waits for the event must
 * not wait for a record that never comes, nor go by an older one. The device entered exactly if
 * there is a run. False: the fault says why. */
bool fr_available_record(fr_available *available, fr_opened *opened, const fr_device_run *run,
                         const fr_fence *after, fr_device_fault *fault);

#endif
