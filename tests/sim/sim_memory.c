#include "tests/sim/sim_internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 256, GAP = 256, PAGE_BYTES = 4096, POISON_MADE = 0xcd, POISON_FREED = 0xdb };
static const uint64_t MOST_POISON = 4u << 20, WORTH_GIVING_BACK = 64u << 10;

/* --- Wild accesses: says which memory it was, and lets the fault happen. --- */

static struct sigaction old_action;
static bool handler_is_set;

static void wild_access(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    uint64_t address = (uint64_t)(uintptr_t)info->si_addr;
    int device = fr_sim_device_of(address);
    if (device >= 0) {
        /* Not under the lock: the thread that faults may hold it. */
        const fr_sim_memory *memory = fr_sim_memory_find(address);
        char what[160] = "no allocation", text[320];
        if (memory)
            fr_sim_describe_memory(what, sizeof what, memory);
        int length = snprintf(text, sizeof text,
                              "simulated driver: host code touched memory of device %d, %s, at "
                              "%#llx\n",
                              device, what, (unsigned long long)address);
        if (write(STDERR_FILENO, text, (size_t)length) < 0)
            _exit(98);
    }
    sigaction(SIGSEGV, &old_action, NULL);
}

/* Arenas stay mapped from one simulation to the next: it is much work for some sanitizers. */
typedef struct arena {
    char *base, *view;
} arena;

static arena arenas[FR_SIM_MAX_DEVICES];

static bool arena_map(arena *made)
{
    if (made->base)
        return true;
    int file = memfd_create("simulated device", MFD_CLOEXEC);
    if (file < 0)
        return false;
    void *view = MAP_FAILED, *base = MAP_FAILED;
    if (ftruncate(file, (off_t)FR_SIM_ARENA_BYTES) == 0) {
        view = mmap(NULL, FR_SIM_ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    file, 0);
        base = mmap(NULL, FR_SIM_ARENA_BYTES, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    }
    close(file);
    if (view == MAP_FAILED || base == MAP_FAILED)
        return false;
    madvise(view, FR_SIM_ARENA_BYTES, MADV_DONTDUMP);
    madvise(base, FR_SIM_ARENA_BYTES, MADV_DONTDUMP);
    *made = (arena){base, view};
    return true;
}

bool fr_sim_devices_open(void)
{
    fr_sim *sim = &fr_sim_state;
    for (uint32_t i = 0; i < sim->options.device_count; i++) {
        fr_sim_device *device = &sim->devices[i];
        if (!arena_map(&arenas[i]))
            return false;
        device->view = arenas[i].view;
        device->base = arenas[i].base;
        device->brk = GAP; /* no allocation begins at the arena's own address */
    }
    if (!handler_is_set) {
        struct sigaction action = {.sa_sigaction = wild_access, .sa_flags = SA_SIGINFO};
        handler_is_set = sigaction(SIGSEGV, &action, &old_action) == 0;
    }
    return true;
}

static uint64_t whole_pages(uint64_t size)
{
    return (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

void fr_sim_devices_close(void)
{
    for (int i = 0; i <= FR_SIM_MAX_DEVICES; i++) {
        fr_sim_device *device =
            i < FR_SIM_MAX_DEVICES ? &fr_sim_state.devices[i] : &fr_sim_state.host;
        for (uint32_t k = 0; k < device->memory_count; k++) {
            fr_sim_shadow_free(device->memory[k]);
            fr_sim_clock_free(&device->memory[k]->freed_clock);
            free(device->memory[k]);
        }
        free(device->memory);
        if (device->view)
            madvise(device->view, whole_pages(device->brk), MADV_REMOVE);
        *device = (fr_sim_device){0};
    }
}

/* --- By address. --- */

int fr_sim_device_of(uint64_t address)
{
    for (uint32_t i = 0; i < fr_sim_state.options.device_count; i++) {
        uint64_t base = (uint64_t)(uintptr_t)fr_sim_state.devices[i].base;
        if (base && address - base < FR_SIM_ARENA_BYTES)
            return (int)i;
    }
    return -1;
}

/* How many allocations begin at or before the address. */
static uint32_t place_of(const fr_sim_device *device, uint64_t address)
{
    uint32_t low = 0, high = device->memory_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (device->memory[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

fr_sim_memory *fr_sim_memory_find(uint64_t address)
{
    int number = fr_sim_device_of(address);
    const fr_sim_device *device = number >= 0 ? &fr_sim_state.devices[number] : &fr_sim_state.host;
    uint32_t place = place_of(device, address);
    if (place == 0)
        return NULL;
    fr_sim_memory *found = device->memory[place - 1];
    return address - found->base < found->capacity ? found : NULL;
}

bool fr_sim_memory_add(fr_sim_device *device, fr_sim_memory *memory)
{
    uint32_t place = place_of(device, memory->base);
    if (device->memory_count == device->memory_capacity) {
        device->memory_capacity = device->memory_capacity ? device->memory_capacity * 2 : 64;
        device->memory = realloc(device->memory, device->memory_capacity * sizeof(void *));
        if (!device->memory)
            abort();
    }
    memmove(device->memory + place + 1, device->memory + place,
            (device->memory_count - place) * sizeof(void *));
    device->memory[place] = memory;
    device->memory_count++;
    return true;
}

void fr_sim_memory_remove(fr_sim_device *device, fr_sim_memory *memory)
{
    uint32_t place = place_of(device, memory->base) - 1;
    memmove(device->memory + place, device->memory + place + 1,
            (device->memory_count - place - 1) * sizeof(void *));
    device->memory_count--;
    fr_sim_shadow_free(memory);
    fr_sim_clock_free(&memory->freed_clock);
    free(memory);
}

void *fr_sim_memory_view(const fr_sim_memory *memory, uint64_t address)
{
    if (memory->device < 0)
        return (void *)(uintptr_t)address;
    const fr_sim_device *device = &fr_sim_state.devices[memory->device];
    return device->view + (address - (uint64_t)(uintptr_t)device->base);
}

/* --- Places in an arena: new ones as long as there are any, so that stale addresses stay stale;
 * then those of freed allocations. --- */

static uint64_t take_place(fr_sim_device *device, uint64_t *capacity)
{
    uint64_t base = (uint64_t)(uintptr_t)device->base;
    if (device->brk + *capacity + GAP <= FR_SIM_ARENA_BYTES) {
        uint64_t place = base + device->brk;
        device->brk += *capacity + GAP;
        return place;
    }
    for (uint32_t i = 0; i < device->memory_count; i++) {
        fr_sim_memory *memory = device->memory[i];
        if (memory->live || memory->reserved || memory->capacity < *capacity)
            continue;
        uint64_t place = memory->base;
        *capacity = memory->capacity;
        fr_sim_memory_remove(device, memory);
        return place;
    }
    return 0;
}

static void poison(const fr_sim_memory *memory, int value)
{
    uint64_t size = memory->capacity < MOST_POISON ? memory->capacity : MOST_POISON;
    memset(fr_sim_memory_view(memory, memory->base), value, size);
}

fr_sim_memory *fr_sim_memory_new(int device_number, uint64_t size, fr_sim_memory_kind kind)
{
    fr_sim_device *device = &fr_sim_state.devices[device_number];
    uint64_t capacity = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > FR_SIM_ARENA_BYTES ||
        device->used_bytes + capacity > fr_sim_state.options.memory_bytes)
        return NULL;
    uint64_t base = take_place(device, &capacity);
    if (base == 0)
        return NULL;
    fr_sim_memory *memory = fr_sim_allocate(sizeof *memory);
    *memory = (fr_sim_memory){.base = base,
                              .size = size,
                              .capacity = capacity,
                              .kind = kind,
                              .device = device_number,
                              .number = ++fr_sim_state.memory_count,
                              .live = true};
    device->used_bytes += capacity;
    fr_sim_shadow_new(memory);
    fr_sim_memory_add(device, memory);
    poison(memory, POISON_MADE);
    return memory;
}

void fr_sim_memory_release(fr_sim_memory *memory)
{
    memory->live = memory->reserved = false;
    fr_sim_state.devices[memory->device].used_bytes -= memory->capacity;
    if (memory->capacity < WORTH_GIVING_BACK) {
        poison(memory, POISON_FREED);
        return;
    }
    uintptr_t begin = (uintptr_t)fr_sim_memory_view(memory, memory->base);
    uintptr_t first = whole_pages(begin), end = (begin + memory->capacity) & ~(PAGE_BYTES - 1ul);
    madvise((void *)first, end - first, MADV_REMOVE);
}

/* --- What operations do with memory. --- */

void fr_sim_context_fail(fr_sim_context *context, fr_cu_result result)
{
    if (context->sticky == FR_CU_SUCCESS)
        context->sticky = result;
}

static bool may_touch(const fr_sim_operation *operation, const fr_sim_memory *memory)
{
    const fr_sim_context *context = operation->stream->context;
    if (memory->device < 0 || memory->device == context->device)
        return true;
    if (operation->kind == FR_SIM_DO_COPY)
        return true; /* the driver goes through host memory where there is no other way */
    if (memory->kind == FR_SIM_MEMORY_POOL)
        return memory->pool && (memory->pool->access >> context->device & 1);
    return context->peers >> memory->device & 1;
}

void *fr_sim_touch(fr_sim_launch *launch, uint64_t address, uint64_t size, fr_sim_access access)
{
    fr_sim_operation *operation = launch->operation;
    fr_sim_memory *memory = launch->last;
    if (!memory || address - memory->base >= memory->capacity)
        memory = launch->last = fr_sim_memory_find(address);
    if (access == FR_SIM_WRITE && (!memory || memory->device < 0))
        fr_sim_host_written(address, size);
    if (!memory && operation->kind == FR_SIM_DO_COPY && fr_sim_device_of(address) < 0)
        return (void *)(uintptr_t)address; /* pageable */
    /* A pool may have given the place again, for another size, which operations of its last life
     * do not know; the checker knows where each of them ends. */
    uint64_t end = 0;
    if (memory)
        end = memory->kind == FR_SIM_MEMORY_POOL ? memory->capacity : memory->size;
    const char *why = NULL;
    if (!memory)
        why = "no memory that it may use";
    else if (size > end || address - memory->base > end - size)
        why = "beyond the end of";
    else if (!may_touch(operation, memory))
        why = "without access to a peer,";
    if (why) {
        char stream[64], what[160] = "";
        fr_sim_describe_stream(stream, sizeof stream, operation->stream);
        if (memory)
            fr_sim_describe_memory(what, sizeof what, memory);
        fr_sim_tell(FR_SIM_OUT_OF_BOUNDS, "%s, operation %llu of %s: %llu bytes at %#llx: %s %s",
                    operation->function ? operation->function->name : "a copy or fill",
                    (unsigned long long)operation->number, stream, (unsigned long long)size,
                    (unsigned long long)address, why, what);
        fr_sim_context_fail(operation->stream->context, FR_CU_ERROR_ILLEGAL_ADDRESS);
        return NULL;
    }
    fr_sim_check(launch, memory, address - memory->base, size, access);
    return fr_sim_memory_view(memory, address);
}

void *fr_sim_peek(fr_cu_device_ptr address, size_t size_bytes)
{
    void *view = NULL;
    pthread_mutex_lock(&fr_sim_state.lock);
    const fr_sim_memory *memory = fr_sim_memory_find(address);
    if (memory && address - memory->base + size_bytes <= memory->size)
        view = fr_sim_memory_view(memory, address);
    pthread_mutex_unlock(&fr_sim_state.lock);
    return view;
}

uint64_t fr_sim_memory_used(fr_cu_device device)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    uint64_t used =
        device >= 0 && device < FR_SIM_MAX_DEVICES ? fr_sim_state.devices[device].used_bytes : 0;
    pthread_mutex_unlock(&fr_sim_state.lock);
    return used;
}

/* --- Entry points. --- */

static fr_cu_result allocate(fr_cu_device_ptr *address, size_t size_bytes)
{
    if (!address || size_bytes == 0)
        return FR_CU_ERROR_INVALID_VALUE;
    const fr_sim_context *context = fr_sim_current();
    fr_sim_memory *memory = fr_sim_memory_new(context->device, size_bytes, FR_SIM_MEMORY_PLAIN);
    if (!memory)
        return FR_CU_ERROR_OUT_OF_MEMORY;
    fr_sim_check_host(memory, FR_SIM_MAKE);
    *address = memory->base;
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemAlloc_v2(fr_cu_device_ptr *address, size_t size_bytes)
{
    FR_SIM_ENTRY(cuMemAlloc, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE,
                 allocate(address, size_bytes));
}

static fr_cu_result release(fr_cu_device_ptr address)
{
    if (address == 0)
        return FR_CU_SUCCESS;
    fr_sim_memory *memory = fr_sim_memory_find(address);
    if (!memory || memory->base != address || !memory->live || memory->device < 0)
        return FR_CU_ERROR_INVALID_VALUE;
#ifndef FR_MUTATE_SIM_FREE_DOES_NOT_WAIT
    if (memory->kind != FR_SIM_MEMORY_POOL)
        fr_sim_run_all(memory->device);
#endif
    if (memory->kind == FR_SIM_MEMORY_POOL) {
        fr_sim_run_work(memory->device); /* which gives no order: the driver does not wait */
        memory->pool->used_bytes -= memory->capacity;
        memory->pool->reserved_bytes -= memory->capacity;
        memory->pool = NULL;
    }
    fr_sim_check_host(memory, FR_SIM_FREE);
    fr_sim_memory_release(memory);
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemFree_v2(fr_cu_device_ptr address)
{
    FR_SIM_ENTRY(cuMemFree, FR_SIM_NEEDS_CONTEXT | FR_SIM_NO_CAPTURE, release(address));
}

static fr_cu_result get_info(size_t *free_bytes, size_t *total_bytes)
{
    if (!free_bytes || !total_bytes)
        return FR_CU_ERROR_INVALID_VALUE;
    const fr_sim_device *device = &fr_sim_state.devices[fr_sim_current()->device];
    *total_bytes = fr_sim_state.options.memory_bytes;
    *free_bytes = *total_bytes - device->used_bytes;
    return FR_CU_SUCCESS;
}

fr_cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    FR_SIM_ENTRY(cuMemGetInfo, FR_SIM_NEEDS_CONTEXT, get_info(free_bytes, total_bytes));
}
