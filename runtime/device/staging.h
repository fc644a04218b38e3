/* Pinned memory of the host, which rows go through on their way to a device, or from one: the
 * device reads or writes it while the host goes on.
 *
 * What is stalled, and what waits for nobody and is soon over, are counted apart, so that the one
 * never waits for room that the other has. An op asks for room before it begins (begin.h), and
 * parks where there is none; once it has begun it gets what it needs, for half of it cannot be put
 * off. So does what cannot park.
 *
 * Threads: all. Invariants: a piece that was given is read by nobody; one whose copy may be pending
 * is given by the fence behind the copy. What was brought home takes no room from that fence on,
 * though its op has still to take it: who waits for room must not wait for an op that nobody may
 * run, as a wait without workers runs no others. As soon as the op has it, it is given: no piece
 * waits for a client. Nothing is unpinned before destroy, and the process keeps it then (table.h):
 * the driver would take it when all work of the device is done, and a client's stream may stall for
 * as long as it likes. Progress: short lock; calls of the table by who takes. Memory bound: of each
 * of the two kinds FR_STAGING_LIMIT_BYTES on a device, and above it what those take that begin just
 * below it, that cannot park, or that have begun on another device; what has come home and is not
 * taken yet; and row numbers. Free are, of each size, as many as were taken at once. */
#ifndef FR_RUNTIME_DEVICE_STAGING_H
#define FR_RUNTIME_DEVICE_STAGING_H

#include "runtime/device/streams.h"

#ifdef FR_SHRINK
#define FR_STAGING_LIMIT_BYTES ((size_t)1 << 20)
#else
#define FR_STAGING_LIMIT_BYTES ((size_t)256 << 20)
#endif
#define FR_STAGING_CLASSES 160u
/* A piece serves for what is of so many classes less: they double in four. */
#define FR_STAGING_FITS 4u

typedef struct fr_staged {
    fr_fence_call call; /* first */
    struct fr_staged *next;
    fr_opened *opened;
    unsigned char *memory;
    size_t size_bytes;
    size_t taken_bytes; /* what it was taken for, which may be less */
    uint32_t size_class;
    fr_stream_kind kind; /* that it counts as: stalled, or work */
    /* With the list lock held. Of what is brought home: its call is to be made. And given, which
     * may be before. */
    bool is_on_its_way, is_given;
} fr_staged;

typedef struct fr_staging {
    fr_slabs records;
    fr_staged *free[FR_STAGING_CLASSES];
    size_t taken_bytes[FR_STREAM_GATE];
} fr_staging;

size_t fr_staging_limit_bytes(void); /* as this was compiled */
void fr_staging_init(fr_opened *opened, const fr_allocator *allocator);
void fr_staging_destroy(fr_opened *opened); /* entered; all are free */

/* With the list lock held: whether an op of that kind, which is no gate, may begin. */
bool fr_staging_has_room(const fr_opened *opened, fr_stream_kind kind);
/* Entered. Contents undefined. NULL: the fault says why; what is above the limit alone is refused.
 */
fr_staged *fr_staging_take(fr_opened *opened, fr_stream_kind kind, size_t size_bytes,
                           fr_device_fault *fault);
/* Without locks: ops that wait for room are resumed. */
void fr_staging_give(fr_staged *staged);
/* It counts as that from now on: what it waits for has come to be stalled. The same. */
void fr_staging_recount(fr_staged *staged, fr_stream_kind kind);
void fr_staging_give_after(fr_staged *staged, fr_fence *fence);
/* The fence is behind the copy into it: it takes room no longer than that. Given at any time. */
void fr_staging_come_home(fr_staged *staged, fr_fence *fence);

#endif
