/* A payload that lies on a device.
 *
 * Who reads it waits, on the device, for `written`, and enters the fence of its read in `readers`;
 * who writes it in place waits for both. When nobody refers to it any more it waits for neither:
 * it is given to whoever looks at events, and its memory is free when its fences are over.
 *
 * Replicas: copies on other devices, which readers there have made and the next ones take; the next
 * write lets go of them. They are of no use to who writes, and what they take is limited.
 *
 * Threads: all. Invariants: home and size are fixed; `written` and `readers` change under `lock`,
 * a few loads and stores; who reads them takes references there and waits outside. A payload is
 * written in place by one op at a time, and only as long as nobody else refers to it. Progress:
 * short lock. Memory: a list of readers as long as there were unfinished ones at once. */
#ifndef FR_RUNTIME_DEVICE_PLACED_H
#define FR_RUNTIME_DEVICE_PLACED_H

#include "runtime/device/devices.h"

#define FR_PLACED_FEW_READERS 4u

/* Replicas of one device take at most this part of its memory. */
#define FR_REPLICAS_SHARE 8u

typedef struct fr_placed {
    struct fr_placed *next;                    /* of those that nobody refers to */
    _Atomic uint32_t references;               /* its owner's; of a replica also those of reads */
    bool is_replica;                           /* or was one */
    struct fr_placed *replicas, *next_replica; /* a reference each; guarded by the home's lock */
    fr_opened *opened;
    fr_block *block;
    uint64_t address;
    size_t size_bytes; /* that were asked for */
    fr_mutex lock;
    fr_fence *written;
    fr_fence **readers; /* few, or a block of the allocator's */
    uint32_t reader_count, reader_capacity, reserved;
    fr_fence *few[FR_PLACED_FEW_READERS];
} fr_placed;

/* Contents undefined; `written` is what the first write must wait for, if anything. Entered. NULL:
 * the fault says why. */
fr_placed *fr_placed_make(fr_opened *opened, size_t size_bytes, fr_device_fault *fault);
/* One reference less. No call of the table. */
void fr_placed_dispose(fr_placed *placed);
/* Of a payload that is written, its leading bytes on that device: a reference, or NULL: there is no
 * copy of as many. */
fr_placed *fr_placed_replica(fr_placed *placed, const fr_opened *opened, size_t size_bytes);
/* Such a copy, whose write is recorded, for the next readers, if there is room for one more, and
 * none as long. */
void fr_placed_add_replica(fr_placed *placed, fr_placed *copy);

/* Room for one more reader. False without memory. */
bool fr_placed_reserve_reader(fr_placed *placed);
/* After a reserve, once. Takes a reference of the fence; NULL: there is no reader after all. */
void fr_placed_enter_reader(fr_placed *placed, fr_fence *fence);
/* The same for a write, which has waited for all others. */
void fr_placed_enter_write(fr_placed *placed, fr_fence *fence);
/* The last write; a reference, or NULL when there is none to wait for. */
fr_fence *fr_placed_written(fr_placed *placed);
bool fr_placed_is_written(fr_placed *placed);
/* The last write as long as it is not over, done or lost, if it may be stalled; a reference, or
 * NULL: who waits for it, if anybody does, is soon over. */
fr_fence *fr_placed_stalled_by(fr_placed *placed);
/* A reader that is not over, from the index on, which moves on; a reference, or NULL: no more. */
fr_fence *fr_placed_next_reader(fr_placed *placed, uint32_t *index);
/* Neither of them is there. */
bool fr_placed_is_idle(fr_placed *placed);
/* The code of the device's fault for which what is here is not what was written; 0: none. */
int32_t fr_placed_lost(fr_placed *placed);

/* Of those that nobody refers to: frees what no fence holds. Whether any is left. */
bool fr_placed_bury(fr_devices *devices);

#endif
