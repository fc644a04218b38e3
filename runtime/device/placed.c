#include "runtime/device/placed.h"

#include <string.h>

fr_placed *fr_placed_make(fr_opened *opened, size_t size_bytes, fr_device_fault *fault)
{
    fr_devices *devices = opened->devices;
    fr_placed *placed = fr_slabs_get(&devices->placed);
    if (!placed) {
        fr_device_fault_memory(fault, sizeof(*placed));
        return NULL;
    }
    memset(placed, 0, sizeof(*placed));
    placed->block = fr_blocks_take(opened, size_bytes, &placed->written, fault);
    if (!placed->block) {
        fr_slabs_put(&devices->placed, placed);
        return NULL;
    }
    fr_store_relaxed(&placed->references, 1);
    placed->opened = opened;
    placed->address = placed->block->address;
    placed->size_bytes = size_bytes;
    placed->readers = placed->few;
    placed->reader_capacity = FR_PLACED_FEW_READERS;
    return placed;
}

static void fr_placed_put_aside(fr_placed *placed)
{
    fr_devices *devices = placed->opened->devices;
    fr_placed *first = fr_load_relaxed(&devices->zombies);
    do
        placed->next = first;
    /* [zombies.push] pairs [zombies.take] : what was done with the payload comes before its end */
    while (!fr_cas_release(&devices->zombies, &first, placed));
}

static bool fr_placed_is_last(fr_placed *placed)
{
    /* [placed.drop] pairs [placed.drop] : what others did with it comes before its end */
    return fr_sub_acq_rel(&placed->references, 1) == 1;
}

void fr_placed_dispose(fr_placed *placed)
{
    if (fr_placed_is_last(placed))
        fr_placed_put_aside(placed);
}

/* --- replicas --------------------------------------------------------------------------------- */

/* With the lock held. */
static fr_placed *fr_placed_find_replica(const fr_placed *placed, const fr_opened *opened,
                                         size_t size_bytes)
{
    fr_placed *found = placed->replicas;
#ifdef FR_MUTATE_DEVICE_REPLICA_IS_SHORT
    size_bytes = 0;
#endif
    while (found && (found->opened != opened || found->size_bytes < size_bytes))
        found = found->next_replica;
    return found;
}

fr_placed *fr_placed_replica(fr_placed *placed, const fr_opened *opened, size_t size_bytes)
{
    fr_mutex_lock(&placed->lock);
    fr_placed *found = fr_placed_find_replica(placed, opened, size_bytes);
    if (found)
        (void)fr_add_relaxed(&found->references, 1);
    fr_mutex_unlock(&placed->lock);
    return found;
}

static bool fr_placed_has_room(fr_placed *copy)
{
    fr_opened *opened = copy->opened;
    uint64_t limit_bytes = opened->devices->table->memory_bytes(opened->device) / FR_REPLICAS_SHARE;
    uint64_t size_bytes = copy->block->size_bytes;
    if (fr_add_relaxed(&opened->replica_bytes, size_bytes) + size_bytes <= limit_bytes)
        return true;
    (void)fr_sub_relaxed(&opened->replica_bytes, size_bytes);
    return false;
}

void fr_placed_add_replica(fr_placed *placed, fr_placed *copy)
{
    if (!fr_placed_has_room(copy))
        return;
    fr_mutex_lock(&placed->lock);
    bool first = !fr_placed_find_replica(placed, copy->opened, copy->size_bytes);
    if (first) {
        (void)fr_add_relaxed(&copy->references, 1);
        copy->is_replica = true;
        copy->next_replica = placed->replicas;
        placed->replicas = copy;
    }
    fr_mutex_unlock(&placed->lock);
    if (!first)
        (void)fr_sub_relaxed(&copy->opened->replica_bytes, copy->block->size_bytes);
}

/* Those that nobody reads, in front of the list. */
static fr_placed *fr_placed_drop_replicas(fr_placed *replicas, fr_placed *list)
{
    while (replicas) {
        fr_placed *next = replicas->next_replica;
        if (fr_placed_is_last(replicas)) {
            replicas->next = list;
            list = replicas;
        }
        replicas = next;
    }
    return list;
}

/* --- fences ----------------------------------------------------------------------------------- */

/* With the lock held: readers that are over go. */
static void fr_placed_sweep(fr_placed *placed)
{
    uint32_t left = 0;
    for (uint32_t k = 0; k < placed->reader_count; k++) {
        if (fr_fence_is_over(placed->readers[k]))
            fr_fence_release(placed->readers[k]);
        else
            placed->readers[left++] = placed->readers[k];
    }
    placed->reader_count = left;
}

bool fr_placed_reserve_reader(fr_placed *placed)
{
    const fr_allocator *allocator = placed->opened->devices->allocator;
    for (;;) {
        fr_mutex_lock(&placed->lock);
        fr_placed_sweep(placed);
        uint32_t capacity = placed->reader_capacity;
        bool room = placed->reader_count + placed->reserved < capacity;
        placed->reserved += room;
        fr_mutex_unlock(&placed->lock);
        if (room)
            return true;
        fr_fence **more = fr_memory_allocate(allocator, 2 * capacity * sizeof(*more), 16);
        if (!more)
            return false;
        fr_mutex_lock(&placed->lock);
        fr_fence **old = placed->readers;
        uint32_t old_capacity = placed->reader_capacity;
        bool grown = old_capacity < 2 * capacity;
        if (grown) {
            memcpy(more, old, placed->reader_count * sizeof(*more));
            placed->readers = more;
            placed->reader_capacity = 2 * capacity;
        }
        fr_mutex_unlock(&placed->lock);
        if (!grown)
            fr_memory_release(allocator, more, 2 * capacity * sizeof(*more));
        else if (old != placed->few)
            fr_memory_release(allocator, old, old_capacity * sizeof(*old));
    }
}

void fr_placed_enter_reader(fr_placed *placed, fr_fence *fence)
{
    if (fence)
        fr_fence_retain(fence);
    fr_mutex_lock(&placed->lock);
    placed->reserved--;
    if (fence)
        placed->readers[placed->reader_count++] = fence;
    fr_mutex_unlock(&placed->lock);
}

void fr_placed_enter_write(fr_placed *placed, fr_fence *fence)
{
    fr_fence_retain(fence);
    fr_mutex_lock(&placed->lock);
    fr_fence *before = placed->written;
    fr_placed *replicas = placed->replicas;
    placed->written = fence;
#ifdef FR_MUTATE_DEVICE_REPLICA_STAYS
    replicas = NULL;
#else
    placed->replicas = NULL;
#endif
    fr_mutex_unlock(&placed->lock);
    fr_fence_release(before);
    replicas = fr_placed_drop_replicas(replicas, NULL);
    while (replicas) {
        fr_placed *next = replicas->next;
        fr_placed_put_aside(replicas);
        replicas = next;
    }
}

fr_fence *fr_placed_written(fr_placed *placed)
{
    fr_mutex_lock(&placed->lock);
    fr_fence *written = placed->written;
    if (written && fr_fence_look(written) == FR_FENCE_DONE)
        written = NULL;
    if (written)
        fr_fence_retain(written);
    fr_mutex_unlock(&placed->lock);
    return written;
}

bool fr_placed_is_written(fr_placed *placed)
{
    fr_fence *written = fr_placed_written(placed);
    fr_fence_release(written);
    return !written;
}

fr_fence *fr_placed_stalled_by(fr_placed *placed)
{
    fr_fence *written = fr_placed_written(placed);
    if (!written || fr_fence_may_stall(written))
        return written;
    fr_fence_release(written);
    return NULL;
}

fr_fence *fr_placed_next_reader(fr_placed *placed, uint32_t *index)
{
    fr_fence *reader = NULL;
    fr_mutex_lock(&placed->lock);
    while (!reader && *index < placed->reader_count) {
        reader = placed->readers[(*index)++];
        if (fr_fence_is_over(reader))
            reader = NULL;
    }
    if (reader)
        fr_fence_retain(reader);
    fr_mutex_unlock(&placed->lock);
    return reader;
}

bool fr_placed_is_idle(fr_placed *placed)
{
    fr_mutex_lock(&placed->lock);
    bool idle = placed->reserved == 0 && (!placed->written || fr_fence_is_over(placed->written));
    for (uint32_t k = 0; k < placed->reader_count && idle; k++)
        idle = fr_fence_is_over(placed->readers[k]);
    fr_mutex_unlock(&placed->lock);
    return idle;
}

int32_t fr_placed_lost(fr_placed *placed)
{
    fr_mutex_lock(&placed->lock);
    const fr_fence *written = placed->written;
    int32_t code = written && fr_fence_look(written) == FR_FENCE_LOST ? written->code : 0;
    fr_mutex_unlock(&placed->lock);
    return code;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Nobody else refers to it. */
static bool fr_placed_is_free(fr_placed *placed)
{
    bool free = true;
#ifndef FR_MUTATE_DEVICE_FREE_FORGETS_WRITE
    free = !placed->written || fr_fence_is_over(placed->written);
#endif
#ifndef FR_MUTATE_DEVICE_FREE_FORGETS_READERS
    for (uint32_t k = 0; k < placed->reader_count && free; k++)
        free = fr_fence_is_over(placed->readers[k]);
#endif
    return free;
}

static void fr_placed_free(fr_placed *placed)
{
    fr_opened *opened = placed->opened;
    fr_devices *devices = opened->devices;
    fr_fence_release(placed->written);
    for (uint32_t k = 0; k < placed->reader_count; k++)
        fr_fence_release(placed->readers[k]);
    if (placed->readers != placed->few)
        fr_memory_release(devices->allocator, placed->readers,
                          placed->reader_capacity * sizeof(fr_fence *));
    if (placed->is_replica)
        (void)fr_sub_relaxed(&opened->replica_bytes, placed->block->size_bytes);
    fr_blocks_give(opened, placed->block);
    fr_slabs_put(&devices->placed, placed);
}

bool fr_placed_bury(fr_devices *devices)
{
    if (!fr_load_relaxed(&devices->zombies))
        return false;
    /* [zombies.take] pairs [zombies.push] : see there */
    fr_placed *list = fr_exchange_acquire(&devices->zombies, NULL);
    bool left = false;
    while (list) {
        fr_placed *next = list->next;
        if (fr_placed_is_free(list)) {
            next = fr_placed_drop_replicas(list->replicas, next);
            fr_placed_free(list);
        } else {
            fr_placed_put_aside(list);
            left = true;
        }
        list = next;
    }
    return left;
}
