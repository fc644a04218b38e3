/* How many keys of each prim are there by what is sealed, so that it is known of which prims
 * deletes have left nothing. For figures.
 *
 * Threads: seals, under their lock; `gone` from any. Progress: a step a key. Memory bound: 4 bytes
 * a prim in touched pages, taken before any key is counted. */
#ifndef FR_RUNTIME_STORE_LIVING_H
#define FR_RUNTIME_STORE_LIVING_H

#include <stdbool.h>

#include "runtime/store/paged.h"

typedef struct fr_living {
    fr_paged keys;         /* elements: uint32_t, of a prim */
    _Atomic uint64_t gone; /* prims that had keys and have none */
} fr_living;

/* living lies in zeroed memory. */
void fr_living_init(fr_living *living, const fr_allocator *allocator);
void fr_living_destroy(fr_living *living);
/* So that keys of these prims can be counted. False without memory. */
bool fr_living_reserve(fr_living *living, const uint32_t *prims, uint32_t count);
/* A key of it is visible from now on, or comes back. */
void fr_living_add(fr_living *living, uint32_t prim);
/* One is deleted. */
void fr_living_remove(fr_living *living, uint32_t prim);

#endif
