/* Records for the pairs of prims that have several: chunks of records, and the promise that so many
 * are free.
 *
 * Threads: every call but those that allocate or release memory is made under the lock of
 * prims.h's table. Invariants: a chunk with free records is in `open`, others in `full`; free >=
 * promised. Memory bound: see prims.h; a large chunk goes when it is not used and not promised. */
#ifndef FR_RUNTIME_STORE_PRIMS_SIDE_H
#define FR_RUNTIME_STORE_PRIMS_SIDE_H

#include <stdbool.h>

#include "scheduler/atomic.h"
#include "scheduler/memory.h"

typedef struct fr_prims_chunk fr_prims_chunk;

typedef struct fr_prims_pair {
    uint64_t ordinal, op_id;
    struct fr_prims_pair *next;
    fr_prims_chunk *chunk;
} fr_prims_pair;

typedef struct fr_prims_side {
    const fr_allocator *allocator;
    fr_prims_chunk *open, *open_last, *full;
    uint64_t free, promised; /* records */
    size_t bytes;
} fr_prims_side;

void fr_prims_side_init(fr_prims_side *side, const fr_allocator *allocator);
void fr_prims_side_destroy(fr_prims_side *side);

/* False: too few are free, add a chunk first. */
bool fr_prims_side_promise(fr_prims_side *side, uint64_t count);
/* Ends a promise. Returns a chunk that is not needed any more, for fr_prims_chunk_free, or NULL. */
fr_prims_chunk *fr_prims_side_settle(fr_prims_side *side, uint64_t count);

/* Without the lock. NULL without memory. */
fr_prims_chunk *fr_prims_chunk_make(const fr_allocator *allocator, uint64_t count);
void fr_prims_chunk_free(const fr_allocator *allocator, fr_prims_chunk *chunk); /* NULL is fine */
void fr_prims_side_add(fr_prims_side *side, fr_prims_chunk *chunk);

/* Promised before. */
fr_prims_pair *fr_prims_side_take(fr_prims_side *side);
void fr_prims_side_put(fr_prims_side *side, fr_prims_pair *pair);

#endif
