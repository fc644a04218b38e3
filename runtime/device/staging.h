/* Pinned memory of the host, which rows go through on their way to a device: the device reads it
 * while the host goes on.
 *
 * Threads: all. Invariants: a piece that was given is read by nobody; one whose copy may be pending
 * is given by the fence behind the copy. Nothing is unpinned before destroy: the driver does that
 * when all work of the device is done, and a client's stream may stall for as long as it likes.
 * Progress: short lock; calls of the table by who takes. Memory bound: FR_STAGING_LIMIT_BYTES on a
 * device are taken at once, in pieces up to twice as large; free are, of each size, as many as were
 * taken at once. */
#ifndef FR_RUNTIME_DEVICE_STAGING_H
#define FR_RUNTIME_DEVICE_STAGING_H

#include "runtime/device/fence.h"

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
} fr_staged;

typedef struct fr_staging {
    fr_slabs records;
    fr_staged *free[FR_STAGING_CLASSES];
    size_t taken_bytes;
} fr_staging;

size_t fr_staging_limit_bytes(void); /* as this was compiled */
void fr_staging_init(fr_opened *opened, const fr_allocator *allocator);
void fr_staging_destroy(fr_opened *opened); /* entered; all are free */

/* Entered. Contents undefined. NULL: the fault says why. */
fr_staged *fr_staging_take(fr_opened *opened, size_t size_bytes, fr_device_fault *fault);
void fr_staging_give(fr_staged *staged);
void fr_staging_give_after(fr_staged *staged, fr_fence *fence);

#endif
