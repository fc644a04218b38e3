/* Pinned host memory, and what a pointer is. */
#include "tests/sim/sim_internal.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

void fr_sim_host_reset(void)
{
    const fr_sim_device *host = &fr_sim_state.host;
    for (uint32_t i = 0; i < host->memory_count; i++)
        if (host->memory[i]->kind == FR_SIM_MEMORY_HOST)
            free((void *)(uintptr_t)host->memory[i]->base);
}

static void unpin(fr_sim_memory *memory)
{
    void *base = memory->kind == FR_SIM_MEMORY_HOST ? (void *)(uintptr_t)memory->base : NULL;
    fr_sim_memory_remove(&fr_sim_state.host, memory);
    free(base);
}

void fr_sim_host_drop(const fr_sim_context *context)
{
    const fr_sim_device *host = &fr_sim_state.host;
#ifdef FR_MUTATE_SIM_PINNED_OUTLIVES_ITS_CONTEXT
    return;
#endif
    for (uint32_t i = host->memory_count; i > 0; i--)
        if (host->memory[i - 1]->context == context)
            unpin(host->memory[i - 1]);
}

/* Some of [begin, begin + size) is pinned already. */
static bool is_pinned(uint64_t begin, uint64_t size)
{
    const fr_sim_device *host = &fr_sim_state.host;
    for (uint32_t i = 0; i < host->memory_count; i++)
        if (begin < host->memory[i]->base + host->memory[i]->size &&
            host->memory[i]->base < begin + size)
            return true;
    return false;
}

static void pin(void *memory, size_t size_bytes, fr_sim_memory_kind kind)
{
    fr_sim_memory *made = fr_sim_allocate(sizeof *made);
    *made = (fr_sim_memory){.base = (uint64_t)(uintptr_t)memory,
                            .size = size_bytes,
                            .capacity = size_bytes,
                            .kind = kind,
                            .device = -1,
                            .context = fr_sim_current(),
                            .number = ++fr_sim_state.memory_count,
                            .live = true};
    fr_sim_shadow_new(made);
    fr_sim_memory_add(&fr_sim_state.host, made);
}

static fr_sim_memory *find_base(const void *memory, fr_sim_memory_kind kind)
{
    fr_sim_memory *found = fr_sim_memory_find((uint64_t)(uintptr_t)memory);
    if (!found || found->kind != kind || found->base != (uint64_t)(uintptr_t)memory)
        return NULL;
    return found;
}

static fr_cu_result host_allocate(void **memory, size_t size_bytes, unsigned int flags)
{
    if (!memory || size_bytes == 0 || flags > 7)
        return FR_CU_ERROR_INVALID_VALUE;
    size_t capacity = (size_bytes + PAGE - 1) / PAGE * PAGE;
    void *made = capacity < size_bytes ? NULL : aligned_alloc(PAGE, capacity);
    if (!made)
        return FR_CU_ERROR_OUT_OF_MEMORY;
    pin(made, size_bytes, FR_SIM_MEMORY_HOST);
    *memory = made;
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemHostAlloc(void **memory, size_t size_bytes, unsigned int flags)
{
    FR_SIM_ENTRY(cuMemHostAlloc, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE,
                 host_allocate(memory, size_bytes, flags));
}

/* Both give memory back that work in any stream may still use. The driver waits for all of it, as
 * was seen; it is not said to, so nothing is in order by that. */
static fr_cu_result host_free(void *memory)
{
    if (!memory)
        return FR_CU_SUCCESS;
    fr_sim_memory *found = find_base(memory, FR_SIM_MEMORY_HOST);
    if (!found)
        return FR_CU_ERROR_INVALID_VALUE;
#ifndef FR_MUTATE_SIM_UNPIN_DOES_NOT_WAIT
    fr_sim_run_work(-1);
#endif
    unpin(found);
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemFreeHost(void *memory)
{
    FR_SIM_ENTRY(cuMemFreeHost, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE, host_free(memory));
}

static fr_cu_result host_register(void *memory, size_t size_bytes, unsigned int flags)
{
    if (!memory || size_bytes == 0 || flags > 15)
        return FR_CU_ERROR_INVALID_VALUE;
    if (is_pinned((uint64_t)(uintptr_t)memory, size_bytes))
        return FR_CU_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    pin(memory, size_bytes, FR_SIM_MEMORY_REGISTERED);
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemHostRegister_v2(void *memory, size_t size_bytes, unsigned int flags)
{
    FR_SIM_ENTRY(cuMemHostRegister, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE,
                 host_register(memory, size_bytes, flags));
}

static fr_cu_result host_unregister(void *memory)
{
    if (!memory)
        return FR_CU_ERROR_INVALID_VALUE;
    fr_sim_memory *found = find_base(memory, FR_SIM_MEMORY_REGISTERED);
    if (!found)
        return FR_CU_ERROR_HOST_MEMORY_NOT_REGISTERED;
    fr_sim_run_work(-1);
    unpin(found);
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemHostUnregister(void *memory)
{
    FR_SIM_ENTRY(cuMemHostUnregister, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE,
                 host_unregister(memory));
}

static fr_cu_result host_address(fr_cu_device_ptr *address, void *memory, unsigned int flags)
{
    if (!address || !memory || flags != 0)
        return FR_CU_ERROR_INVALID_VALUE;
    const fr_sim_memory *found = fr_sim_memory_find((uint64_t)(uintptr_t)memory);
    if (!found || found->device >= 0)
        return FR_CU_ERROR_INVALID_VALUE;
    *address = (fr_cu_device_ptr)(uintptr_t)memory; /* one address space */
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemHostGetDevicePointer_v2(fr_cu_device_ptr *address, void *memory,
                                          unsigned int flags)
{
    FR_SIM_ENTRY(cuMemHostGetDevicePointer, FR_SIM_NEEDS_CONTEXT,
                 host_address(address, memory, flags));
}

/* --- What a pointer is. `found` is NULL for memory that CUDA does not know. --- */

static fr_cu_result attribute_of(void *value, fr_cu_pointer_attribute attribute,
                                 const fr_sim_memory *found, fr_cu_device_ptr address)
{
    bool is_pool = found && found->kind == FR_SIM_MEMORY_POOL;
    const fr_sim_context *context =
        found && found->device >= 0 ? fr_sim_state.devices[found->device].context : NULL;
    switch (attribute) {
    case FR_CU_POINTER_ATTRIBUTE_CONTEXT: /* memory of a pool belongs to no context */
        *(fr_cu_context *)value =
            context && !is_pool ? (fr_cu_context)context->handle : (fr_cu_context)NULL;
        return FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned int *)value = 0;
        if (found)
            *(unsigned int *)value =
                found->device >= 0 ? FR_CU_MEMORYTYPE_DEVICE : FR_CU_MEMORYTYPE_HOST;
        return FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(fr_cu_device_ptr *)value = found ? address : 0;
        return FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)value = found && found->device < 0 ? (void *)(uintptr_t)address : NULL;
        return found && found->device >= 0 ? FR_CU_ERROR_INVALID_VALUE : FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned int *)value = 0;
        return FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = found ? (found->device >= 0 ? found->device : 0) : -2;
        return FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(fr_cu_device_ptr *)value = found ? found->base : 0;
        return FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)value = found ? found->size : 0;
        return FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned int *)value = found ? 1 : 0;
        return FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)value = found ? found->number : 0;
        return FR_CU_SUCCESS;
    case FR_CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(fr_cu_memory_pool *)value =
            is_pool && found->pool ? (fr_cu_memory_pool)found->pool->handle : NULL;
        return FR_CU_SUCCESS;
    default:
        return FR_CU_ERROR_NOT_SUPPORTED;
    }
}

static const fr_sim_memory *find_live(fr_cu_device_ptr address)
{
    const fr_sim_memory *found = fr_sim_memory_find(address);
    return found && found->live ? found : NULL;
}

static fr_cu_result get_attribute(void *value, fr_cu_pointer_attribute attribute,
                                  fr_cu_device_ptr address)
{
    const fr_sim_memory *found = find_live(address);
    if (!value || !found)
        return FR_CU_ERROR_INVALID_VALUE;
    return attribute_of(value, attribute, found, address);
}

fr_cu_result cuPointerGetAttribute(void *value, fr_cu_pointer_attribute attribute,
                                   fr_cu_device_ptr address)
{
    FR_SIM_ENTRY(cuPointerGetAttribute, FR_SIM_NEEDS_INIT,
                 get_attribute(value, attribute, address));
}

/* Unlike the singular form this answers zeros for memory that CUDA does not know. */
static fr_cu_result get_attributes(unsigned int count, const fr_cu_pointer_attribute *attributes,
                                   void **values, fr_cu_device_ptr address)
{
    if (!attributes || !values || count == 0)
        return FR_CU_ERROR_INVALID_VALUE;
    const fr_sim_memory *found = find_live(address);
    for (unsigned int i = 0; i < count; i++) {
        fr_cu_result result = attribute_of(values[i], attributes[i], found, address);
        if (result == FR_CU_ERROR_NOT_SUPPORTED)
            return result;
    }
    return FR_CU_SUCCESS;
}

fr_cu_result cuPointerGetAttributes(unsigned int count, fr_cu_pointer_attribute *attributes,
                                    void **values, fr_cu_device_ptr address)
{
    FR_SIM_ENTRY(cuPointerGetAttributes, FR_SIM_NEEDS_INIT,
                 get_attributes(count, attributes, values, address));
}
