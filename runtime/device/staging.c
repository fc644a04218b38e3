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

/* Unpins all free ones. Returns whether there were any. */
static bool fr_staging_trim(fr_opened *opened)
{
    fr_staging *staging = &opened->staging;
    bool any = false;
    if (fr_load_relaxed(&opened->given_up))
        return false; /* something may still use them */
    for (uint32_t k = 0; k < FR_STAGING_CLASSES; k++) {
        fr_mutex_lock(&opened->lock);
        fr_staged *list = staging->free[k];
        staging->free[k] = NULL;
        for (fr_staged *staged = list; staged; staged = staged->next)
            staging->held_bytes -= staged->size_bytes;
        fr_mutex_unlock(&opened->lock);
        while (list) {
            fr_staged *next = list->next;
            opened->devices->table->unpin(opened->device, list->memory, list->size_bytes);
            fr_slabs_put(&staging->records, list);
            list = next;
            any = true;
        }
    }
    return any;
}

void fr_staging_destroy(fr_opened *opened)
{
    (void)fr_staging_trim(opened);
    fr_slabs_close(&opened->staging.records, NULL);
}

/* Room for so many bytes more. *held_bytes: what was held before. */
static bool fr_staging_count(fr_opened *opened, size_t size_bytes, size_t *held_bytes)
{
    fr_staging *staging = &opened->staging;
    fr_mutex_lock(&opened->lock);
    *held_bytes = staging->held_bytes;
    bool room = size_bytes <= FR_STAGING_LIMIT_BYTES &&
                staging->held_bytes <= FR_STAGING_LIMIT_BYTES - size_bytes;
    staging->held_bytes += room ? size_bytes : 0;
    fr_mutex_unlock(&opened->lock);
    return room;
}

static fr_staged *fr_staging_make(fr_opened *opened, uint32_t size_class, fr_device_fault *fault)
{
    fr_staging *staging = &opened->staging;
    size_t size_bytes = fr_buffer_class_bytes(size_class), held_bytes;
    if (!fr_staging_count(opened, size_bytes, &held_bytes) &&
        (!fr_staging_trim(opened) || !fr_staging_count(opened, size_bytes, &held_bytes))) {
        fault->kind = FR_DEVICE_MEMORY;
        fault->code = 0;
        (void)snprintf(fault->text, sizeof(fault->text),
                       "%zu bytes of pinned memory beside %zu in use are above the limit of %zu",
                       size_bytes, held_bytes, FR_STAGING_LIMIT_BYTES);
        return NULL;
    }
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
    staging->held_bytes -= size_bytes;
    fr_mutex_unlock(&opened->lock);
    return NULL;
}

fr_staged *fr_staging_take(fr_opened *opened, size_t size_bytes, fr_device_fault *fault)
{
    fr_staging *staging = &opened->staging;
    uint32_t size_class = fr_buffer_class_of(
        size_bytes > FR_STAGING_LEAST_BYTES ? size_bytes : FR_STAGING_LEAST_BYTES);
    if (size_class == FR_BUFFER_CLASS_NONE) {
        fr_device_fault_memory(fault, size_bytes);
        return NULL;
    }
    fr_mutex_lock(&opened->lock);
    fr_staged *staged = staging->free[size_class];
    if (staged)
        staging->free[size_class] = staged->next;
    fr_mutex_unlock(&opened->lock);
    return staged ? staged : fr_staging_make(opened, size_class, fault);
}

void fr_staging_give(fr_staged *staged)
{
    fr_opened *opened = staged->opened;
    fr_mutex_lock(&opened->lock);
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
