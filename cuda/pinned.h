/* Page-locked memory that nobody uses any more, kept for the next who asks for that size.
 *
 * To give some to the driver is to wait until all devices have done all that they were given, by
 * strangers too; and a stranger's stream may stall for as long as it likes. So the process keeps
 * it, when a stage ends as well, until the system takes it at the end of the process.
 *
 * Owns: the pieces of one device. They lie in the memory itself: nothing is allocated here. A
 * process that was forked finds none of them, and comes to no call that looks.
 *
 * Threads: any. Progress: a short lock, under which as many pieces are looked at as there are
 * sizes. Bound: of each size, as many bytes as the stages of the process had of it at the same
 * time. */
#ifndef FR_CUDA_PINNED_H
#define FR_CUDA_PINNED_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/atomic.h"
#include "scheduler/os.h"

/* Less than this is never asked of the driver: a piece has to lie in it. */
#define FR_CUDA_PIECE_BYTES ((size_t)64)

typedef struct fr_cuda_piece fr_cuda_piece;

typedef struct fr_cuda_pinned {
    fr_mutex lock;
    fr_cuda_piece *free; /* one of each size, in no order */
    _Atomic uint64_t kept_bytes;
} fr_cuda_pinned;

/* NULL: there is none of that size. */
void *fr_cuda_pinned_take(fr_cuda_pinned *pinned, size_t size_bytes);
/* The smallest that is larger; it is of the smaller size from then on. NULL: there is none. */
void *fr_cuda_pinned_take_larger(fr_cuda_pinned *pinned, size_t size_bytes);
/* size_bytes is what it was taken or made for. */
void fr_cuda_pinned_put(fr_cuda_pinned *pinned, void *memory, size_t size_bytes);
/* Any; NULL: there is none. */
void *fr_cuda_pinned_take_any(fr_cuda_pinned *pinned);

#endif
