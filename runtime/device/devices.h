/* The devices that one instance uses: each is opened when it is first needed, never before.
 *
 * Everything that an instance does with a device goes through the table of device/table.h, between
 * fr_opened_enter and fr_opened_leave: outside of these a thread's context is as its owner set it.
 *
 * Threads: all. Invariants: `opened[k]` is set once and stays until destroy. No function of the
 * table is called with a lock held that a submission, a reader or a release may want: `lock` guards
 * lists alone, `opening` is held by who opens a device, and whoever finds `looking` set goes on.
 * Progress: fr_devices_look never waits for the device. Memory: fences, streams and blocks as many
 * as were in use at once (fence.h, streams.h, blocks.h); all of it goes with destroy. */
#ifndef FR_RUNTIME_DEVICE_DEVICES_H
#define FR_RUNTIME_DEVICE_DEVICES_H

#include "runtime/device/blocks.h"
#include "runtime/device/fence.h"
#include "runtime/device/park.h"
#include "runtime/device/staging.h"
#include "runtime/device/streams.h"
#include "runtime/device/table.h"
#include "runtime/write/slabs.h"
#include "scheduler/watch.h"

#define FR_DEVICES_MAX 64u
#define FR_AVAILABLE_BUCKETS 64u

typedef struct fr_devices fr_devices;
typedef struct fr_available fr_available;

/* One device as this instance uses it. */
struct fr_opened {
    fr_devices *devices;
    int32_t place; /* its index */
    fr_device *device;
    fr_mutex lock; /* guards the lists of what follows; no call of the table while it is held */
    _Atomic bool looking; /* one at a time looks at fences; set and cleared by who does */
    fr_fences fences;
    fr_streams streams;
    fr_stream_waits waits;
    fr_blocks blocks;
    fr_staging staging;
    _Atomic uint64_t replica_bytes; /* of payloads of other devices (placed.h) */
    /* Whether `death` is there: what the device does not recover from, of who first met it. */
    _Atomic bool dead;
    _Atomic bool given_up; /* it would answer, but see fr_opened_give_up; set before `dead` */
    fr_device_fault death;
};

struct fr_devices {
    const fr_allocator *allocator;
    const fr_device_table *table;
    uint32_t count;
    fr_mutex opening;
    _Atomic(fr_opened *) opened[FR_DEVICES_MAX];
    _Atomic(fr_opened *) first;          /* that was opened; set once, under `opening` */
    fr_slabs placed;                     /* fr_placed */
    _Atomic(struct fr_placed *) zombies; /* nobody refers to them; their fences may be pending */
    fr_mutex available_lock;
    fr_available *available[FR_AVAILABLE_BUCKETS]; /* available.h */
    fr_slabs available_records;
    fr_pool *pool;
    fr_watch watch; /* one for each fence that is pending */
    /* Calls that may be the client's; and the token of the worker that runs them, which is out. */
    _Atomic(fr_fence_call *) due;
    fr_runnable due_token;
    _Atomic bool due_is_out;
    _Atomic bool is_draining;      /* set by drain, for good: no token goes out any more */
    _Atomic uint64_t pending;      /* fences that are not over, and what is due of others */
    _Atomic uint64_t device_bytes; /* in blocks, free ones included */
    _Atomic uint64_t pinned_bytes; /* in staging, free ones included */
};

/* No call of the table but its count. pool: whose idle threads look at what is under way, and whose
 * workers do what follows from it; NULL: only who calls the functions here. NULL without memory. */
fr_devices *fr_devices_create(const fr_allocator *allocator, const fr_device_table *table,
                              fr_pool *pool);
/* Nothing refers to fences and placed payloads any more. NULL is fine. */
void fr_devices_destroy(fr_devices *devices);

/* Opens it if need be. NULL: the fault says why. */
fr_opened *fr_devices_open(fr_devices *devices, int32_t place, fr_device_fault *fault);
/* The calling thread's context is the device's until leave. False: not entered. */
bool fr_opened_enter(fr_opened *opened, fr_device_entry *entry, fr_device_fault *fault);
void fr_opened_leave(fr_opened *opened, fr_device_entry *entry);
/* After a call of the table has failed: whether the device is of no use from now on. */
void fr_opened_note(fr_opened *opened, const fr_device_fault *fault);
/* The same of a device that answers, but whose work cannot be followed: nobody knows any more when
 * memory is free that it uses. Nothing new is begun; what it holds of its own memory, and of pinned
 * memory, stays where it is. What can be followed ends as always. */
void fr_opened_give_up(fr_opened *opened, const fr_device_fault *fault);
static inline bool fr_opened_is_dead(const fr_opened *opened)
{
    /* [opened.dead.look] pairs [opened.dead.set] : what it died of is there */
    return fr_load_acquire(&opened->dead);
}
/* What a dead one died of; of one that is not "". */
static inline const char *fr_opened_death(const fr_opened *opened)
{
    return fr_opened_is_dead(opened) ? opened->death.text : "";
}

/* Pinned memory that instances which have ended left to the process, of what this one has opened.
 */
uint64_t fr_devices_kept_bytes(const fr_devices *devices);

/* No memory of the host for so many bytes. */
void fr_device_fault_memory(fr_device_fault *fault, size_t size_bytes);

/* Looks once at what is under way on all devices, and does what follows from what is over, but for
 * what may call client code: that is left to the next settle, or to a worker. Returns whether
 * anything was over. */
bool fr_devices_look(fr_devices *devices);
/* The same with all that follows. By an op or a call, without locks, no device entered. */
void fr_devices_settle(fr_devices *devices);
/* What may call client code and is due. Returns whether anything was. As settle. */
bool fr_devices_run_due(fr_devices *devices);
/* One fence more will be under way; so many are not any more. */
void fr_devices_begin(fr_devices *devices);
void fr_devices_end(fr_devices *devices, uint64_t count);
/* Whether anything is under way. */
static inline bool fr_devices_busy(const fr_devices *devices)
{
    return fr_load_relaxed(&devices->pending) > 0;
}
/* Until the fence is over; the thread sleeps now and then. For teardown. */
void fr_devices_wait_for(fr_devices *devices, const fr_fence *fence);
/* Until nothing is under way. For teardown, when nobody adds work. */
void fr_devices_drain(fr_devices *devices);

#endif
