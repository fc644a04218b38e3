/* An array by 32-bit index of which only touched pages are there: two levels of page tables, then
 * pages of 1,024 elements. Pages come zeroed, never move and stay until destroy.
 *
 * Threads: all. Invariants: a page table entry changes once, from NULL. Progress: find is
 * wait-free; reserve is lock-free (who comes second gives its page back). Memory bound: 16 KiB, and
 * 16 KiB for each two million indices and 1,024 elements for each thousand that are touched. */
#ifndef FR_RUNTIME_STORE_PAGED_H
#define FR_RUNTIME_STORE_PAGED_H

#include "scheduler/atomic.h"
#include "scheduler/memory.h"

#define FR_PAGED_LEAF_BITS 10u
#define FR_PAGED_TABLE_BITS 11u
#define FR_PAGED_LEAF_ELEMENTS (UINT32_C(1) << FR_PAGED_LEAF_BITS)
#define FR_PAGED_TABLE_ENTRIES (UINT32_C(1) << FR_PAGED_TABLE_BITS)

_Static_assert(FR_PAGED_LEAF_BITS + 2 * FR_PAGED_TABLE_BITS == 32, "every index has its place");

typedef struct fr_paged_table {
    _Atomic(void *) pages[FR_PAGED_TABLE_ENTRIES];
} fr_paged_table;

typedef struct fr_paged {
    const fr_allocator *allocator;
    size_t element_bytes;
    _Atomic uint64_t bytes; /* of tables and pages */
    fr_paged_table root;
} fr_paged;

/* paged lies in zeroed memory. */
void fr_paged_init(fr_paged *paged, const fr_allocator *allocator, size_t element_bytes);
void fr_paged_destroy(fr_paged *paged);
/* The page of this index exists from now on. False without memory. */
bool fr_paged_reserve(fr_paged *paged, uint32_t index);
/* NULL when its page is not there. */
void *fr_paged_find(const fr_paged *paged, uint32_t index);
size_t fr_paged_bytes(const fr_paged *paged);

#endif
