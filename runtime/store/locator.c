#include "runtime/store/locator.h"

#include <string.h>

#define FR_LOCATOR_FIRST_CAPACITY 16u
#define FR_LOCATOR_MOST_CAPACITY (UINT32_C(1) << 31)
#define FR_LOCATOR_ALIGNMENT_BYTES 64u
/* Prims that follow each other, as made together, share cache lines. */
#define FR_LOCATOR_RUN_BITS 3u
#define FR_LOCATOR_RUN_MASK ((UINT32_C(1) << FR_LOCATOR_RUN_BITS) - 1)
/* Of many prims each is a miss: asked for so many places before it is looked at. */
#define FR_LOCATOR_AHEAD 16u

typedef struct fr_locator_entry {
    uint32_t prim; /* 0: empty */
    fr_place place;
} fr_locator_entry;

void fr_locator_init(fr_locator *locator, const fr_allocator *allocator)
{
    memset(locator, 0, sizeof(*locator));
    locator->allocator = allocator;
}

void fr_locator_destroy(fr_locator *locator)
{
    fr_memory_release(locator->allocator, locator->entries, fr_locator_bytes(locator));
    fr_locator_init(locator, locator->allocator);
}

/* capacity is a power of two, at least 16. Runs of 8 prims are spread, prims in a run stay
 * neighbours. */
static uint32_t fr_locator_slot(uint32_t prim, uint32_t capacity)
{
    uint32_t run = (prim >> FR_LOCATOR_RUN_BITS) * UINT32_C(0x9e3779b1);
    uint64_t runs = capacity >> FR_LOCATOR_RUN_BITS;
    return (uint32_t)((run * runs) >> 32 << FR_LOCATOR_RUN_BITS) | (prim & FR_LOCATOR_RUN_MASK);
}

/* The entry that holds the prim, or the empty one where it belongs. At least one is empty. */
static fr_locator_entry *fr_locator_probe(fr_locator_entry *entries, uint32_t capacity,
                                          uint32_t prim)
{
    uint32_t slot = fr_locator_slot(prim, capacity);
    while (entries[slot].prim != prim && entries[slot].prim != 0)
        slot = (slot + 1) & (capacity - 1);
    return &entries[slot];
}

static bool fr_locator_fits(uint64_t count, uint64_t capacity)
{
    return count * 3 <= capacity * 2;
}

bool fr_locator_prepare(const fr_locator *locator, uint32_t more, fr_locator *larger)
{
    fr_locator_init(larger, locator->allocator);
    uint64_t needed = (uint64_t)locator->count + more;
    if (more == 0 || fr_locator_fits(needed, locator->capacity))
        return true;
    uint64_t capacity = locator->capacity ? locator->capacity : FR_LOCATOR_FIRST_CAPACITY;
    while (!fr_locator_fits(needed, capacity))
        capacity *= 2;
    if (capacity > FR_LOCATOR_MOST_CAPACITY)
        return false;
    larger->entries =
        fr_memory_allocate_zero(locator->allocator, (size_t)capacity * sizeof(*larger->entries),
                                FR_LOCATOR_ALIGNMENT_BYTES);
    if (!larger->entries)
        return false;
    larger->capacity = (uint32_t)capacity;
    larger->count = locator->count;
    for (uint32_t k = 0; k < locator->capacity; k++) {
        const fr_locator_entry *old = &locator->entries[k];
        if (old->prim != 0)
            *fr_locator_probe(larger->entries, larger->capacity, old->prim) = *old;
    }
    return true;
}

void fr_locator_install(fr_locator *locator, fr_locator *larger)
{
    if (!larger->entries)
        return;
    fr_locator old = *locator;
    *locator = *larger;
    *larger = old;
}

bool fr_locator_reserve(fr_locator *locator, uint32_t more)
{
    fr_locator larger;
    if (!fr_locator_prepare(locator, more, &larger))
        return false;
    fr_locator_install(locator, &larger);
    fr_locator_destroy(&larger);
    return true;
}

void fr_locator_put(fr_locator *locator, uint32_t prim, fr_place place)
{
    fr_locator_entry *entry = fr_locator_probe(locator->entries, locator->capacity, prim);
    locator->count += entry->prim == 0;
    entry->prim = prim;
    entry->place = place;
}

bool fr_locator_get(const fr_locator *locator, uint32_t prim, fr_place *out)
{
    if (locator->count == 0)
        return false;
    const fr_locator_entry *entry = fr_locator_probe(locator->entries, locator->capacity, prim);
    if (entry->prim == 0)
        return false;
    *out = entry->place;
    return true;
}

uint32_t fr_locator_get_all(const fr_locator *locator, const uint64_t *prims, uint32_t count,
                            fr_place *places)
{
    uint32_t missing = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (k + FR_LOCATOR_AHEAD < count && locator->count > 0)
            __builtin_prefetch(&locator->entries[fr_locator_slot(
                (uint32_t)prims[k + FR_LOCATOR_AHEAD], locator->capacity)]);
        if (fr_locator_get(locator, (uint32_t)prims[k], &places[k]))
            continue;
        places[k] = (fr_place){UINT32_MAX, 0};
        missing++;
    }
    return missing;
}

size_t fr_locator_bytes(const fr_locator *locator)
{
    return locator->capacity * sizeof(fr_locator_entry);
}
