#include "runtime/device/staging.h"

#include <stdio.h>

#include "runtime/device/devices.h"
#include "runtime/store/buffers_pool.h"

#define FR_STAGED_PER_SLAB 32
/* What is less is a page all the same. */
#define FR_STAGING_LEAST_BYTES ((size_t)4096)

_Static_assert(FR_STAGING_CLASSES == FR_BUFFER_CLASSES, "sizes are those of payloads of the host");

size_t fr_staging_limit_bytes(void)
{
    return FR_STAGING_LIMIT_BYTES;
}

void fr_staging_init(fr_opened *opened, const fr_allocator *allocator)
{
    fr_slabs_open(&opened->staging.records, allocator, sizeof(fr_staged), FR_STAGED_PER_SLAB);
}

void fr_staging_destroy(fr_opened *opened)
{
    fr_staging *staging = &opened->staging;
    bool may_be_used = fr_load_relaxed(&opened->given_up); /* by what nobody can follow */
    for (uint32_t k = 0; k < FR_STAGING_CLASSES && !may_be_used; k++)
        for (fr_staged *staged = staging->free[k]; staged; staged = staged->next)
            opened->devices->table->unpin(opened->device, staged->memory, staged->size_bytes);
    fr_slabs_close(&staging->records, NULL);
}

/* With the lock held: the smallest one that fits, NULL: there is none. */
static fr_staged *fr_staging_find(fr_staging *staging, uint32_t size_class)
{
    uint32_t last = size_class + FR_STAGING_FITS;
    for (uint32_t k = size_class; k <= last && k < FR_STAGING_CLASSES; k++) {
        fr_staged *found = staging->free[k];
        if (!found)
            continue;
        staging->free[k] = found->next;
        return found;
    }
    return NULL;
}

/* Room for so many bytes more, and a free piece if there is one. False: there is no room. */
static bool fr_staging_count(fr_opened *opened, uint32_t size_class, fr_staged **found,
                             fr_device_fault *fault)
{
    fr_staging *staging = &opened->staging;
    size_t size_bytes = fr_buffer_class_bytes(size_class);
    fr_mutex_lock(&opened->lock);
    size_t taken_bytes = staging->taken_bytes;
    bool room =
        size_bytes <= FR_STAGING_LIMIT_BYTES && taken_bytes <= FR_STAGING_LIMIT_BYTES - size_bytes;
    staging->taken_bytes += room ? size_bytes : 0;
    *found = room ? fr_staging_find(staging, size_class) : NULL;
    fr_mutex_unlock(&opened->lock);
    if (room)
        return true;
    fault->kind = FR_DEVICE_MEMORY;
    fault->code = 0;
    (void)snprintf(fault->text, sizeof(fault->text),
                   "%zu bytes of pinned memory beside %zu in use are above the limit of %zu",
                   size_bytes, taken_bytes, FR_STAGING_LIMIT_BYTES);
    return false;
}

static fr_staged *fr_staging_make(fr_opened *opened, uint32_t size_class, fr_device_fault *fault)
{
    fr_staging *staging = &opened->staging;
    size_t size_bytes = fr_buffer_class_bytes(size_class);
    fr_staged *staged = fr_slabs_get(&staging->records);
    void *memory = NULL;
    if (!staged)
        fr_device_fault_memory(fault, sizeof(*staged));
    else if (!opened->devices->table->pin(opened->device, size_bytes, &memory, fault))
        fr_opened_note(opened, fault);
    if (memory) {
        *staged = (fr_staged){
            .opened = opened, .memory = memory, .size_bytes = size_bytes, .size_class = size_class};
        return staged;
    }
    if (staged)
        fr_slabs_put(&staging->records, staged);
    fr_mutex_lock(&opened->lock);
    staging->taken_bytes -= size_bytes;
    fr_mutex_unlock(&opened->lock);
    return NULL;
}

fr_staged *fr_staging_take(fr_opened *opened, size_t size_bytes, fr_device_fault *fault)
{
    uint32_t size_class = fr_buffer_class_of(
        size_bytes > FR_STAGING_LEAST_BYTES ? size_bytes : FR_STAGING_LEAST_BYTES);
    if (size_class == FR_BUFFER_CLASS_NONE) {
        fr_device_fault_memory(fault, size_bytes);
        return NULL;
    }
    fr_staged *staged;
    if (!fr_staging_count(opened, size_class, &staged, fault))
        return NULL;
    if (!staged)
        staged = fr_staging_make(opened, size_class, fault);
    if (staged)
        staged->taken_bytes = fr_buffer_class_bytes(size_class);
    return staged;
}

void fr_staging_give(fr_staged *staged)
{
    fr_opened *opened = staged->opened;
    fr_mutex_lock(&opened->lock);
    opened->staging.taken_bytes -= staged->taken_bytes;
    staged->next = opened->staging.free[staged->size_class];
    opened->staging.free[staged->size_class] = staged;
    fr_mutex_unlock(&opened->lock);
}

static void fr_staging_over(fr_fence_call *call)
{
    fr_staging_give((fr_staged *)(void *)call);
}

void fr_staging_give_after(fr_staged *staged, fr_fence *fence)
{
    staged->call = (fr_fence_call){.run = fr_staging_over};
#ifndef FR_MUTATE_DEVICE_STAGING_EARLY
    if (fr_fence_when_over(fence, &staged->call))
        return;
#endif
    fr_staging_give(staged);
}
