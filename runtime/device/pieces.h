/* Pieces of memory of a device that are put one behind the other: what the rows of an array are,
 * which have lengths of their own.
 *
 * Few are copied one by one. Of many a kernel takes parts of one size, the greatest that all pieces
 * are made of, by a list of where they lie: one call, however many pieces there are.
 *
 * Threads: one. Memory: 16 bytes a piece. */
#ifndef FR_RUNTIME_DEVICE_PIECES_H
#define FR_RUNTIME_DEVICE_PIECES_H

#include "runtime/device/run.h"

/* Up to so many are copied one by one. */
#ifdef FR_SHRINK
#define FR_PIECES_FEW 2u
#else
#define FR_PIECES_FEW 16u
#endif

typedef struct fr_piece {
    uint64_t from, size_bytes;
} fr_piece;

typedef struct fr_pieces {
    const fr_allocator *allocator;
    fr_piece *items;
    size_t count, capacity;
    uint64_t size_bytes; /* of all */
} fr_pieces;

void fr_pieces_open(fr_pieces *pieces, const fr_allocator *allocator);
void fr_pieces_close(fr_pieces *pieces);
/* One more. together: it is of the same memory as the one before it, if it follows that. False:
 * the fault says why. */
bool fr_pieces_add(fr_pieces *pieces, uint64_t from, uint64_t size_bytes, bool together,
                   fr_device_fault *fault);
/* All of them to `to`. What they lie in, and what `to` lies in, was named to the run. */
bool fr_pieces_join(const fr_pieces *pieces, uint64_t to, fr_device_run *run,
                    fr_device_fault *fault);

#endif
