/* Device memory by size class: what a payload lies in, used again when nothing refers to it.
 *
 * Threads: all. Invariants: a free block has no work that is not over; so who takes it waits for
 * nothing. Who gets a new one waits for `made`, the fence of its allocation, before it is touched.
 * Progress: short lock; calls of the table by who takes, never by who gives. Memory bound: blocks
 * as many as were in use at once in each class; all free ones go when the device has no memory. */
#ifndef FR_RUNTIME_DEVICE_BLOCKS_H
#define FR_RUNTIME_DEVICE_BLOCKS_H

#include "runtime/device/streams.h"

#define FR_BLOCK_CLASSES 160u

typedef struct fr_block {
    struct fr_block *next;
    uint64_t address;
    size_t size_bytes;
    uint32_t size_class;
} fr_block;

typedef struct fr_blocks {
    fr_slabs records;
    fr_block *free[FR_BLOCK_CLASSES];
    fr_own_stream stream; /* allocations and frees, in their order */
    _Atomic bool has_stream;
} fr_blocks;

void fr_blocks_init(fr_opened *opened, const fr_allocator *allocator);
void fr_blocks_destroy(fr_opened *opened); /* entered; all are free */

/* Entered. *made: a reference, or NULL when it was there before. NULL: the fault says why. */
fr_block *fr_blocks_take(fr_opened *opened, size_t size_bytes, fr_fence **made,
                         fr_device_fault *fault);
void fr_blocks_give(fr_opened *opened, fr_block *block);

#endif
