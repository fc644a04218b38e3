/* Where the keys of a column lie: prim index -> (segment number, row). Open addressing; grows by
 * doubling; entries are only added (or moved).
 *
 * Threads: guarded by its column's lock; seals alone change it, so a seal may look without.
 * Progress: reserve and prepare allocate, nothing else does. Invariants: at most 2/3 full, so every
 * probe ends. Memory bound: 12 bytes a slot, so 18 to 36 a key once there are 16. */
#ifndef FR_RUNTIME_STORE_LOCATOR_H
#define FR_RUNTIME_STORE_LOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/memory.h"

typedef struct fr_place {
    uint32_t segment, row;
} fr_place;

typedef struct fr_locator {
    const fr_allocator *allocator;
    struct fr_locator_entry *entries;
    uint32_t capacity, count;
} fr_locator;

void fr_locator_init(fr_locator *locator, const fr_allocator *allocator);
void fr_locator_destroy(fr_locator *locator);
/* Room for `more` further keys, so that the puts cannot fail. False without memory: nothing
 * changed. */
bool fr_locator_reserve(fr_locator *locator, uint32_t more);
/* The same in two steps, of which only the second needs the column's lock: makes a larger one with
 * what is in it, or an empty one if that is not needed; then that takes the place of the first, and
 * *larger is what is to be destroyed. */
bool fr_locator_prepare(const fr_locator *locator, uint32_t more, fr_locator *larger);
void fr_locator_install(fr_locator *locator, fr_locator *larger);
/* Reserved before. Replaces an entry that is there. prim is not 0. */
void fr_locator_put(fr_locator *locator, uint32_t prim, fr_place place);
/* False for a prim that is not there; *out is left as it is then. */
bool fr_locator_get(const fr_locator *locator, uint32_t prim, fr_place *out);
/* Each of many; segment UINT32_MAX for those that are not there. Returns how many are not. */
uint32_t fr_locator_get_all(const fr_locator *locator, const uint64_t *prims, uint32_t count,
                            fr_place *places);
size_t fr_locator_bytes(const fr_locator *locator);

#endif
