#include "scheduler/memory.h"

#include "scheduler/os.h"

#include <stdlib.h>
#include <string.h>

/* What malloc aligns to on every platform that the library runs on. */
#define FR_HEAP_ALIGNMENT_BYTES 16u

static void *fr_heap_allocate(size_t size_bytes, size_t alignment_bytes, void *user)
{
    (void)user;
    if (alignment_bytes <= FR_HEAP_ALIGNMENT_BYTES)
        return malloc(size_bytes);
    void *memory = NULL;
    return posix_memalign(&memory, alignment_bytes, size_bytes) == 0 ? memory : NULL;
}

static void fr_heap_release(void *memory, size_t size_bytes, void *user)
{
    (void)size_bytes;
    (void)user;
    free(memory);
}

const fr_allocator fr_allocator_default = {fr_heap_allocate, fr_heap_release, NULL};

#ifdef FR_CHECK_LOCKS
static _Atomic uint64_t fr_memory_locked_calls;

uint64_t fr_memory_under_locks(void)
{
    return fr_load_relaxed(&fr_memory_locked_calls);
}
#endif

void *fr_memory_allocate(const fr_allocator *allocator, size_t size_bytes, size_t alignment_bytes)
{
    if (size_bytes == 0)
        return NULL;
#ifdef FR_CHECK_LOCKS
    if (fr_mutex_held > 0)
        fr_add_relaxed(&fr_memory_locked_calls, 1);
#endif
    if (alignment_bytes < FR_HEAP_ALIGNMENT_BYTES)
        alignment_bytes = FR_HEAP_ALIGNMENT_BYTES;
    return allocator->allocate(size_bytes, alignment_bytes, allocator->user);
}

void *fr_memory_allocate_zero(const fr_allocator *allocator, size_t size_bytes,
                              size_t alignment_bytes)
{
    void *memory = fr_memory_allocate(allocator, size_bytes, alignment_bytes);
    if (memory)
        memset(memory, 0, size_bytes);
    return memory;
}

void fr_memory_release(const fr_allocator *allocator, void *memory, size_t size_bytes)
{
    if (!memory)
        return;
#ifdef FR_SYSTEMATIC
    fr_systematic_fence(); /* a buffered store must not land in memory that was given back */
#endif
    allocator->release(memory, size_bytes, allocator->user);
}

void *fr_memory_grow(const fr_allocator *allocator, void *memory, size_t old_bytes,
                     size_t new_bytes, size_t alignment_bytes)
{
    void *larger = fr_memory_allocate(allocator, new_bytes, alignment_bytes);
    if (!larger)
        return NULL;
    if (memory) {
        memcpy(larger, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
        fr_memory_release(allocator, memory, old_bytes);
    }
    return larger;
}
