#include "runtime/write/slabs.h"

#include <string.h>

#define FR_SLAB_ALIGNMENT_BYTES FR_CACHE_LINE_BYTES

struct fr_slab {
    fr_slab *next;
    FR_ALIGNED_LINE unsigned char objects[];
};

void fr_slabs_open(fr_slabs *slabs, const fr_allocator *allocator, size_t object_bytes,
                   uint32_t objects_per_slab)
{
    memset(slabs, 0, sizeof(*slabs));
    slabs->allocator = allocator;
    slabs->object_bytes = (object_bytes + 15) / 16 * 16;
    slabs->objects_per_slab = objects_per_slab;
}

static size_t fr_slabs_bytes(const fr_slabs *slabs)
{
    return sizeof(fr_slab) + slabs->object_bytes * slabs->objects_per_slab;
}

/* The first object of a new slab; the others go to the free list. */
static void *fr_slabs_extend(fr_slabs *slabs)
{
    fr_slab *slab =
        fr_memory_allocate_zero(slabs->allocator, fr_slabs_bytes(slabs), FR_SLAB_ALIGNMENT_BYTES);
    if (!slab)
        return NULL;
    fr_mutex_lock(&slabs->lock);
    slab->next = slabs->slabs;
    slabs->slabs = slab;
    for (uint32_t i = slabs->objects_per_slab; i-- > 1;) {
        void *object = slab->objects + i * slabs->object_bytes;
        memcpy(object, &slabs->free_list, sizeof(void *));
        slabs->free_list = object;
    }
    fr_mutex_unlock(&slabs->lock);
    return slab->objects;
}

void *fr_slabs_get(fr_slabs *slabs)
{
    fr_mutex_lock(&slabs->lock);
    void *object = slabs->free_list;
    if (object)
        memcpy(&slabs->free_list, object, sizeof(void *));
    fr_mutex_unlock(&slabs->lock);
    return object ? object : fr_slabs_extend(slabs);
}

void fr_slabs_put(fr_slabs *slabs, void *object)
{
    fr_mutex_lock(&slabs->lock);
    memcpy(object, &slabs->free_list, sizeof(void *));
    slabs->free_list = object;
    fr_mutex_unlock(&slabs->lock);
}

void fr_slabs_close(fr_slabs *slabs, void (*dispose)(void *object, const fr_allocator *allocator))
{
    for (fr_slab *slab = slabs->slabs; slab;) {
        fr_slab *next = slab->next;
        for (uint32_t i = 0; dispose && i < slabs->objects_per_slab; i++)
            dispose(slab->objects + i * slabs->object_bytes, slabs->allocator);
        fr_memory_release(slabs->allocator, slab, fr_slabs_bytes(slabs));
        slab = next;
    }
    slabs->slabs = NULL;
    slabs->free_list = NULL;
}
