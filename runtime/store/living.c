#include "runtime/store/living.h"

#define FR_LIVING_GONE UINT32_MAX /* in place of 0, once there was a key */

void fr_living_init(fr_living *living, const fr_allocator *allocator)
{
    fr_paged_init(&living->keys, allocator, sizeof(uint32_t));
}

void fr_living_destroy(fr_living *living)
{
    fr_paged_destroy(&living->keys);
}

bool fr_living_reserve(fr_living *living, const uint32_t *prims, uint32_t count)
{
    uint32_t last_page = UINT32_MAX;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t page = prims[k] >> FR_PAGED_LEAF_BITS;
        if (page != last_page && !fr_paged_reserve(&living->keys, prims[k]))
            return false;
        last_page = page;
    }
    return true;
}

void fr_living_add(fr_living *living, uint32_t prim)
{
    uint32_t *keys = fr_paged_find(&living->keys, prim);
    if (*keys == FR_LIVING_GONE) {
        *keys = 0;
        (void)fr_sub_relaxed(&living->gone, 1);
    }
    *keys += 1;
}

void fr_living_remove(fr_living *living, uint32_t prim)
{
    uint32_t *keys = fr_paged_find(&living->keys, prim);
    *keys -= 1;
    if (*keys == 0) {
        *keys = FR_LIVING_GONE;
        (void)fr_add_relaxed(&living->gone, 1);
    }
}
