#include "bench/heap_count.h"

#include <stddef.h>

#include "scheduler/atomic.h"

static _Atomic uint64_t calls;

uint64_t heap_count(void)
{
    return fr_load_relaxed(&calls);
}

static void count_call(void)
{
    (void)fr_add_relaxed(&calls, 1);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
__attribute__((weak)) void *__real_mallocx(size_t size, int flags); /* none without jemalloc */

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_mallocx(size_t size, int flags);

void *__wrap_malloc(size_t size)
{
    count_call();
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    count_call();
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    count_call();
    return __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    count_call();
    return __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    count_call();
    return __real_posix_memalign(out, alignment, size);
}

void *__wrap_mallocx(size_t size, int flags)
{
    count_call();
    return __real_mallocx(size, flags);
}
