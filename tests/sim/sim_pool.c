/* Stream-ordered memory. A place is given again where the pool's settings give an order between the
 * free and the new use, and then always: so that code which still uses it is found. */
#include "tests/sim/sim_internal.h"

#include <stdlib.h>
#include <string.h>

enum { POISON_MADE = 0xcd, POISON_FREED = 0xdb, MOST_POISON = 65536 };

void fr_sim_pools_reset(void)
{
    while (fr_sim_state.pools) {
        fr_sim_pool *next = fr_sim_state.pools->next;
        free(fr_sim_state.pools);
        fr_sim_state.pools = next;
    }
}

static void high_water(fr_sim_pool *pool)
{
    if (pool->used_bytes > pool->used_high)
        pool->used_high = pool->used_bytes;
    if (pool->reserved_bytes > pool->reserved_high)
        pool->reserved_high = pool->reserved_bytes;
}

static void give_back(fr_sim_memory *memory)
{
    memory->pool->reserved_bytes -= memory->capacity;
    memory->pool = NULL;
    fr_sim_memory_release(memory);
}

/* Down to `keep_bytes`, as far as what is free is free on the device, too. */
static void trim(fr_sim_pool *pool, uint64_t keep_bytes)
{
    const fr_sim_device *device = &fr_sim_state.devices[pool->device];
    for (uint32_t i = 0; i < device->memory_count && pool->reserved_bytes > keep_bytes; i++) {
        fr_sim_memory *memory = device->memory[i];
        if (memory->pool == pool && memory->reserved &&
            memory->freed.stream->done >= memory->freed.number)
            give_back(memory);
    }
}

void fr_sim_pools_synchronized(int device)
{
    for (fr_sim_pool *pool = fr_sim_state.pools; pool; pool = pool->next)
        if (pool->device == device && pool->reserved_bytes > pool->release_threshold)
            trim(pool, pool->release_threshold);
}

/* --- Allocating and freeing. --- */

/* Whether the place may be given to new work of that stream. */
static bool may_reuse(const fr_sim_pool *pool, const fr_sim_memory *memory,
                      const fr_sim_stream *stream)
{
    if (memory->freed.stream == stream)
        return true;
#ifdef FR_MUTATE_SIM_POOL_GIVES_AT_ONCE
    return true;
#endif
    /* By events, default streams, or the host, which waited for the free before this call. */
    if (pool->reuse_events &&
        (fr_sim_clock_at(&stream->clock, memory->freed_slot) >= memory->freed_time ||
         fr_sim_clock_at(&fr_sim_state.host_clock, memory->freed_slot) >= memory->freed_time))
        return true;
    if (pool->reuse_opportunistic && memory->freed.stream->done >= memory->freed.number)
        return true;
    return pool->reuse_internal;
}

static fr_sim_memory *find_reusable(const fr_sim_pool *pool, uint64_t size,
                                    const fr_sim_stream *stream)
{
    const fr_sim_device *device = &fr_sim_state.devices[pool->device];
    for (uint32_t i = device->memory_count; i > 0; i--) {
        fr_sim_memory *memory = device->memory[i - 1];
        if (memory->pool == pool && memory->reserved && memory->capacity >= size &&
            memory->capacity - size < 256 && may_reuse(pool, memory, stream))
            return memory;
    }
    return NULL;
}

static fr_cu_result allocate(fr_cu_device_ptr *address, size_t size_bytes, fr_cu_memory_pool handle,
                             fr_cu_stream stream_handle)
{
    fr_sim_stream *stream = NULL;
    if (!address || size_bytes == 0)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_sim_pool *pool = fr_sim_handle_find(FR_SIM_POOL, handle);
    if (!pool)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_cu_result result = fr_sim_stream_for_work(stream_handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    if (!stream) /* memory nodes of graphs are not simulated */
        return FR_CU_ERROR_NOT_SUPPORTED;
    fr_sim_memory *memory = find_reusable(pool, size_bytes, stream);
    bool again = memory != NULL;
    if (!memory)
        memory = fr_sim_memory_new(pool->device, size_bytes, FR_SIM_MEMORY_POOL);
    if (!memory) {
        trim(pool, 0);
        memory = fr_sim_memory_new(pool->device, size_bytes, FR_SIM_MEMORY_POOL);
    }
    if (!memory)
        return FR_CU_ERROR_OUT_OF_MEMORY;
    fr_sim_operation *operation = fr_sim_push(stream, FR_SIM_DO_ALLOCATE);
    if (again)
        fr_sim_wait_for(operation, memory->freed, &memory->freed_clock);
    else
        pool->reserved_bytes += memory->capacity;
    if (again)
        memory->number = ++fr_sim_state.memory_count;
    memory->name[0] = 0;
    memory->pool = pool;
    memory->size = size_bytes;
    memory->live = true;
    memory->reserved = false;
    operation->memory = memory;
    operation->memory_bytes = size_bytes;
    pool->used_bytes += memory->capacity;
    high_water(pool);
    *address = memory->base;
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemAllocFromPoolAsync(fr_cu_device_ptr *address, size_t size_bytes,
                                     fr_cu_memory_pool pool, fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemAllocFromPoolAsync, FR_SIM_NEEDS_CONTEXT,
                 allocate(address, size_bytes, pool, stream));
}

void fr_sim_do_allocate(fr_sim_operation *operation)
{
    fr_sim_memory *memory = operation->memory;
    fr_sim_launch whole = {.operation = operation}, rest = {.operation = operation};
    fr_sim_check(&whole, memory, 0, memory->capacity, FR_SIM_MAKE);
    if (operation->memory_bytes < memory->capacity) /* nobody's, up to the end of the place */
        fr_sim_check(&rest, memory, operation->memory_bytes,
                     memory->capacity - operation->memory_bytes, FR_SIM_FREE);
    memset(fr_sim_memory_view(memory, memory->base), POISON_MADE,
           operation->memory_bytes < MOST_POISON ? operation->memory_bytes : MOST_POISON);
}

static fr_cu_result release(fr_cu_device_ptr address, fr_cu_stream stream_handle)
{
    fr_sim_stream *stream = NULL;
    fr_sim_memory *memory = fr_sim_memory_find(address);
    if (!memory || memory->base != address || memory->kind != FR_SIM_MEMORY_POOL)
        return FR_CU_ERROR_INVALID_VALUE;
    if (!memory->live) {
        char text[160];
        fr_sim_describe_memory(text, sizeof text, memory);
        fr_sim_tell(FR_SIM_USE_AFTER_FREE, "cuMemFreeAsync: %s is freed already", text);
        return FR_CU_ERROR_INVALID_VALUE;
    }
    fr_cu_result result = fr_sim_stream_for_work(stream_handle, &stream);
    if (result != FR_CU_SUCCESS)
        return result;
    if (!stream)
        return FR_CU_ERROR_NOT_SUPPORTED;
    fr_sim_operation *operation = fr_sim_push(stream, FR_SIM_DO_FREE);
    operation->memory = memory;
    operation->memory_bytes = memory->size;
    memory->live = false;
    memory->reserved = true;
    memory->freed = (fr_sim_point){stream, stream->submitted};
    memory->freed_slot = stream->slot;
    memory->freed_time = stream->time;
    fr_sim_clock_copy(&memory->freed_clock, &operation->clock);
    memory->pool->used_bytes -= memory->capacity;
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemFreeAsync(fr_cu_device_ptr address, fr_cu_stream stream)
{
    FR_SIM_ENTRY(cuMemFreeAsync, FR_SIM_NEEDS_CONTEXT, release(address, stream));
}

void fr_sim_do_free(fr_sim_operation *operation)
{
    fr_sim_memory *memory = operation->memory;
    fr_sim_launch launch = {.operation = operation};
    /* What is beyond the size that was asked for is free already. */
    fr_sim_check(&launch, memory, 0, operation->memory_bytes, FR_SIM_FREE);
    memset(fr_sim_memory_view(memory, memory->base), POISON_FREED,
           operation->memory_bytes < MOST_POISON ? operation->memory_bytes : MOST_POISON);
    if (memory->reserved && memory->pool->destroyed && memory->freed.number == operation->number)
        give_back(memory);
}

/* --- Pools. --- */

static fr_cu_result create(fr_cu_memory_pool *handle, const fr_cu_pool_properties *properties)
{
    if (!handle || !properties || properties->allocation_type != FR_CU_MEM_ALLOCATION_TYPE_PINNED)
        return FR_CU_ERROR_INVALID_VALUE;
    int device = properties->location.id;
    if (properties->location.type != FR_CU_MEM_LOCATION_TYPE_DEVICE || device < 0 ||
        (uint32_t)device >= fr_sim_state.options.device_count)
        return FR_CU_ERROR_INVALID_VALUE;
    if (properties->handle_types != 0)
        return FR_CU_ERROR_NOT_SUPPORTED;
    fr_sim_pool *pool = fr_sim_allocate(sizeof *pool);
    pool->handle = fr_sim_handle_new(FR_SIM_POOL, pool);
    pool->device = device;
    pool->access = 1u << device;
    pool->reuse_events = pool->reuse_opportunistic = pool->reuse_internal = true;
    pool->next = fr_sim_state.pools;
    fr_sim_state.pools = pool;
    *handle = (fr_cu_memory_pool)pool->handle;
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemPoolCreate(fr_cu_memory_pool *pool, const fr_cu_pool_properties *properties)
{
    FR_SIM_ENTRY(cuMemPoolCreate, FR_SIM_NEEDS_INIT, create(pool, properties));
}

/* Allocations that are alive stay so; their places go when they are freed. */
static fr_cu_result destroy(fr_cu_memory_pool handle)
{
    fr_sim_pool *pool = fr_sim_handle_find(FR_SIM_POOL, handle);
    if (!pool)
        return FR_CU_ERROR_INVALID_VALUE;
    pool->destroyed = true;
    fr_sim_handle_drop(pool->handle);
    trim(pool, 0);
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemPoolDestroy(fr_cu_memory_pool pool)
{
    FR_SIM_ENTRY(cuMemPoolDestroy, FR_SIM_NEEDS_INIT, destroy(pool));
}

static fr_cu_result set_attribute(fr_cu_memory_pool handle, fr_cu_pool_attribute attribute,
                                  const void *value)
{
    fr_sim_pool *pool = fr_sim_handle_find(FR_SIM_POOL, handle);
    if (!pool || !value)
        return FR_CU_ERROR_INVALID_VALUE;
    switch (attribute) {
    case FR_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        pool->reuse_events = *(const int *)value != 0;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        pool->reuse_opportunistic = *(const int *)value != 0;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool->reuse_internal = *(const int *)value != 0;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool->release_threshold = *(const uint64_t *)value;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: /* the marks can be set to 0 only */
    case FR_CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (*(const uint64_t *)value != 0)
            return FR_CU_ERROR_INVALID_VALUE;
        if (attribute == FR_CU_MEMPOOL_ATTR_USED_MEM_HIGH)
            pool->used_high = pool->used_bytes;
        else
            pool->reserved_high = pool->reserved_bytes;
        return FR_CU_SUCCESS;
    default:
        return FR_CU_ERROR_INVALID_VALUE;
    }
}

fr_cu_result cuMemPoolSetAttribute(fr_cu_memory_pool pool, fr_cu_pool_attribute attribute,
                                   void *value)
{
    FR_SIM_ENTRY(cuMemPoolSetAttribute, FR_SIM_NEEDS_INIT, set_attribute(pool, attribute, value));
}

static fr_cu_result get_attribute(fr_cu_memory_pool handle, fr_cu_pool_attribute attribute,
                                  void *value)
{
    const fr_sim_pool *pool = fr_sim_handle_find(FR_SIM_POOL, handle);
    if (!pool || !value)
        return FR_CU_ERROR_INVALID_VALUE;
    switch (attribute) {
    case FR_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        *(int *)value = pool->reuse_events;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        *(int *)value = pool->reuse_opportunistic;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = pool->reuse_internal;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(uint64_t *)value = pool->release_threshold;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *(uint64_t *)value = pool->reserved_bytes;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *(uint64_t *)value = pool->reserved_high;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *(uint64_t *)value = pool->used_bytes;
        return FR_CU_SUCCESS;
    case FR_CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *(uint64_t *)value = pool->used_high;
        return FR_CU_SUCCESS;
    default:
        return FR_CU_ERROR_INVALID_VALUE;
    }
}

fr_cu_result cuMemPoolGetAttribute(fr_cu_memory_pool pool, fr_cu_pool_attribute attribute,
                                   void *value)
{
    FR_SIM_ENTRY(cuMemPoolGetAttribute, FR_SIM_NEEDS_INIT, get_attribute(pool, attribute, value));
}

static fr_cu_result trim_to(fr_cu_memory_pool handle, size_t keep_bytes)
{
    fr_sim_pool *pool = fr_sim_handle_find(FR_SIM_POOL, handle);
    if (!pool)
        return FR_CU_ERROR_INVALID_VALUE;
    trim(pool, keep_bytes);
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemPoolTrimTo(fr_cu_memory_pool pool, size_t keep_bytes)
{
    FR_SIM_ENTRY(cuMemPoolTrimTo, FR_SIM_NEEDS_INIT, trim_to(pool, keep_bytes));
}

static fr_cu_result set_access(fr_cu_memory_pool handle, const fr_cu_memory_access *access,
                               size_t count)
{
    fr_sim_pool *pool = fr_sim_handle_find(FR_SIM_POOL, handle);
    if (!pool || (!access && count > 0))
        return FR_CU_ERROR_INVALID_VALUE;
    uint32_t bits = pool->access;
    for (size_t i = 0; i < count; i++) {
        int device = access[i].location.id;
        bool gives = access[i].flags == FR_CU_MEM_ACCESS_READWRITE;
        if (access[i].location.type != FR_CU_MEM_LOCATION_TYPE_DEVICE ||
            (!gives && access[i].flags != FR_CU_MEM_ACCESS_NONE))
            return FR_CU_ERROR_INVALID_VALUE;
        if (device < 0 || (uint32_t)device >= fr_sim_state.options.device_count)
            return FR_CU_ERROR_INVALID_DEVICE;
        if (device == pool->device && !gives)
            return FR_CU_ERROR_INVALID_VALUE;
        if (device != pool->device && gives && fr_sim_state.options.no_peer_access)
            return FR_CU_ERROR_INVALID_DEVICE;
        bits = gives ? bits | 1u << device : bits & ~(1u << device);
    }
    pool->access = bits;
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemPoolSetAccess(fr_cu_memory_pool pool, const fr_cu_memory_access *access,
                                size_t count)
{
    FR_SIM_ENTRY(cuMemPoolSetAccess, FR_SIM_NEEDS_INIT, set_access(pool, access, count));
}
