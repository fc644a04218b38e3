/* Objects of one size, used again and again: what reads, groups and writes need beside their op
 * record, without a heap allocation in steady state.
 *
 * Threads: get and put from any thread. Invariants: an object is either handed out or in the free
 * list, whose links lie in the objects' first word. Progress: one short lock; a new slab is
 * allocated outside of it. Memory: as many objects as were ever handed out at one time, rounded up
 * to slabs; given back by close only. */
#ifndef FR_RUNTIME_WRITE_SLABS_H
#define FR_RUNTIME_WRITE_SLABS_H

#include "scheduler/memory.h"
#include "scheduler/os.h"

typedef struct fr_slab fr_slab;

typedef struct fr_slabs {
    const fr_allocator *allocator;
    size_t object_bytes; /* a multiple of 16 */
    uint32_t objects_per_slab;
    fr_mutex lock;
    void *free_list;
    fr_slab *slabs;
} fr_slabs;

void fr_slabs_open(fr_slabs *slabs, const fr_allocator *allocator, size_t object_bytes,
                   uint32_t objects_per_slab);
/* Zeroed when it is new; else as it was put back, but for the first word. Aligned to 16. NULL
 * without memory. */
void *fr_slabs_get(fr_slabs *slabs);
void fr_slabs_put(fr_slabs *slabs, void *object);
/* Gives everything back. `dispose` (may be NULL) is called for each object, handed out or not: what
 * it keeps beside itself. */
void fr_slabs_close(fr_slabs *slabs, void (*dispose)(void *object, const fr_allocator *allocator));

#endif
