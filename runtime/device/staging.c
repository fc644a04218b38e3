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

bool fr_staging_has_room(const fr_opened *opened, fr_stream_kind kind)
{
    return opened->staging.taken_bytes[kind] < FR_STAGING_LIMIT_BYTES;
}

/* The smallest one of these classes, NULL: there is none. */
static fr_staged *fr_staging_find(fr_opened *opened, uint32_t first, uint32_t last)
{
    fr_staging *staging = &opened->staging;
    fr_staged *found = NULL;
    fr_mutex_lock(&opened->lock);
    for (uint32_t k = first; k <= last && k < FR_STAGING_CLASSES && !found; k++) {
        found = staging->free[k];
        if (found)
            staging->free[k] = found->next;
    }
    fr_mutex_unlock(&opened->lock);
    return found;
}

static fr_staged *fr_staging_make(fr_opened *opened, uint32_t size_class, fr_device_fault *fault)
{
    size_t size_bytes = fr_buffer_class_bytes(size_class);
    fr_staged *staged = fr_slabs_get(&opened->staging.records);
    void *memory = NULL;
    if (!staged) {
        fr_device_fault_memory(fault, sizeof(*staged));
        return NULL;
    }
    if (!opened->devices->table->pin(opened->device, size_bytes, &memory, fault)) {
        fr_opened_note(opened, fault);
        fr_slabs_put(&opened->staging.records, staged);
        return NULL;
    }
    (void)fr_add_relaxed(&opened->devices->pinned_bytes, size_bytes);
    *staged = (fr_staged){
        .opened = opened, .memory = memory, .size_bytes = size_bytes, .size_class = size_class};
    return staged;
}

fr_staged *fr_staging_take(fr_opened *opened, fr_stream_kind kind, size_t size_bytes,
                           fr_device_fault *fault)
{
    uint32_t size_class = fr_buffer_class_of(
        size_bytes > FR_STAGING_LEAST_BYTES ? size_bytes : FR_STAGING_LEAST_BYTES);
    if (size_class == FR_BUFFER_CLASS_NONE ||
        fr_buffer_class_bytes(size_class) > FR_STAGING_LIMIT_BYTES) {
        *fault = (fr_device_fault){.kind = FR_DEVICE_MEMORY};
        (void)snprintf(fault->text, sizeof(fault->text),
                       "%zu bytes of pinned memory for one operation are above the limit of %zu",
                       size_bytes, FR_STAGING_LIMIT_BYTES);
        return NULL;
    }
    fr_staged *staged = fr_staging_find(opened, size_class, size_class + FR_STAGING_FITS);
    if (!staged)
        staged = fr_staging_make(opened, size_class, fault);
    if (!staged) /* what is much too large is better than none */
        staged = fr_staging_find(opened, size_class, FR_STAGING_CLASSES);
    if (!staged)
        return NULL;
    staged->kind = kind;
    staged->is_on_its_way = staged->is_given = false;
    staged->taken_bytes = fr_buffer_class_bytes(size_class);
    fr_mutex_lock(&opened->lock);
    opened->staging.taken_bytes[kind] += staged->taken_bytes;
    fr_mutex_unlock(&opened->lock);
    return staged;
}

/* With the lock held: as soon as nothing is on its way to it, it takes no room; and when it is
 * given as well, others may have it. */
static void fr_staging_leave(fr_staged *staged)
{
    fr_staging *staging = &staged->opened->staging;
#ifndef FR_MUTATE_DEVICE_HOME_TAKES_ROOM
    if (staged->is_on_its_way)
        return;
#else
    if (staged->is_on_its_way || !staged->is_given)
        return;
#endif
    staging->taken_bytes[staged->kind] -= staged->taken_bytes;
    staged->taken_bytes = 0;
    if (!staged->is_given)
        return;
    staged->next = staging->free[staged->size_class];
    staging->free[staged->size_class] = staged;
}

static void fr_staging_tell(fr_opened *opened, fr_stream_kind kind)
{
#ifndef FR_MUTATE_DEVICE_ROOM_TELLS_NOBODY
    fr_stream_waits_wake_room(opened, kind);
#else
    (void)opened;
    (void)kind;
#endif
}

void fr_staging_give(fr_staged *staged)
{
    fr_opened *opened = staged->opened;
    fr_stream_kind kind = staged->kind; /* another op may have it from here on */
    fr_mutex_lock(&opened->lock);
    staged->is_given = true;
    fr_staging_leave(staged);
    fr_mutex_unlock(&opened->lock);
    fr_staging_tell(opened, kind);
}

void fr_staging_recount(fr_staged *staged, fr_stream_kind kind)
{
    fr_opened *opened = staged->opened;
    fr_stream_kind before = staged->kind;
    if (before == kind)
        return;
    fr_mutex_lock(&opened->lock);
    opened->staging.taken_bytes[before] -= staged->taken_bytes;
    opened->staging.taken_bytes[kind] += staged->taken_bytes;
    staged->kind = kind;
    fr_mutex_unlock(&opened->lock);
    fr_staging_tell(opened, before);
}

static void fr_staging_is_there(fr_fence_call *call)
{
    fr_staged *staged = (fr_staged *)(void *)call;
    fr_opened *opened = staged->opened;
    fr_stream_kind kind = staged->kind;
    fr_mutex_lock(&opened->lock);
    staged->is_on_its_way = false;
    fr_staging_leave(staged);
    fr_mutex_unlock(&opened->lock);
    fr_staging_tell(opened, kind);
}

void fr_staging_come_home(fr_staged *staged, fr_fence *fence)
{
    staged->call = (fr_fence_call){.run = fr_staging_is_there};
#ifndef FR_MUTATE_DEVICE_HOME_STAGING_EARLY
    staged->is_on_its_way = true;
    if (fr_fence_when_over(fence, &staged->call))
        return;
#endif
    fr_staging_is_there(&staged->call);
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
