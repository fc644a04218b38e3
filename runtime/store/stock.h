/* Free records of one kind at hand. Each thread takes from a shelf and puts back there, which few
 * others do; whole batches go between the shelves and what all have in common, since records are
 * mostly given back by another thread than the one that took them.
 *
 * Threads: all functions from any. Invariants: a record is with whoever took it, on one shelf or in
 * one batch. Progress: one short lock of a shelf, and of the common batches once for each of them.
 * Memory bound: none of its own; less than three batches lie on a shelf. */
#ifndef FR_RUNTIME_STORE_STOCK_H
#define FR_RUNTIME_STORE_STOCK_H

#include "scheduler/os.h"

#ifdef FR_SHRINK
#define FR_STOCK_SHELVES \
    1u /* and the same one whatever the thread's number: a run can be replayed */
#define FR_STOCK_BATCH 2u
#else
#define FR_STOCK_SHELVES 16u
#define FR_STOCK_BATCH 16u
#endif

/* Where a record is linked while it is free. */
typedef struct fr_stocked {
    struct fr_stocked *next;
    struct fr_stocked *next_batch; /* of a batch's first */
} fr_stocked;

typedef struct fr_shelf {
    FR_ALIGNED_LINE fr_mutex lock;
    uint32_t count; /* put back, on top of what came with a batch */
    fr_stocked *first;
    _Atomic uint64_t taken; /* here, without those given back here: written under the lock */
} fr_shelf;

typedef struct fr_stock {
    FR_ALIGNED_LINE fr_mutex lock; /* comes after that of a shelf */
    uint32_t batch_count;
    fr_stocked *batches;
    fr_shelf shelves[FR_STOCK_SHELVES];
} fr_stock;

/* A stock of zeros is an empty one. NULL: there is no free record. */
fr_stocked *fr_stock_take(fr_stock *stock);
/* NULL; or a batch that the caller adds or does away with. */
fr_stocked *fr_stock_give(fr_stock *stock, fr_stocked *record);
/* Records linked by next, at most a batch. False, and nothing changed, when all have so many
 * batches in common already. */
bool fr_stock_add(fr_stock *stock, fr_stocked *batch, uint32_t batches_most);
/* When nobody else is here: all free records, linked by next. */
fr_stocked *fr_stock_clear(fr_stock *stock);
/* How many are taken: for figures, while others come and go. */
uint64_t fr_stock_taken(const fr_stock *stock);

#endif
