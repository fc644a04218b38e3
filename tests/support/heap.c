#include "tests/support/heap.h"

#include "scheduler/atomic.h"

#include <stdlib.h>

#define HEAP_MARK UINT64_C(0x6f70656e68656170)

struct fr_test_heap {
    fr_allocator allocator;
    _Atomic uint64_t calls, fail_at, live_bytes, mistakes;
    _Atomic uint32_t ever_after;
};

/* Lies before each allocation, which begins `offset` bytes into what the C library gave. */
typedef struct heap_header {
    uint64_t mark, size_bytes;
    void *memory;
    const fr_test_heap *heap;
} heap_header;

static void *heap_allocate(size_t size_bytes, size_t alignment_bytes, void *user)
{
    fr_test_heap *heap = (fr_test_heap *)user;
    const uint64_t call = fr_add_relaxed(&heap->calls, 1) + 1;
    const uint64_t fail_at = fr_load_relaxed(&heap->fail_at);
    if (fail_at != 0 && (call == fail_at || (call > fail_at && fr_load_relaxed(&heap->ever_after))))
        return NULL;
    unsigned char *memory =
        (unsigned char *)malloc(size_bytes + alignment_bytes + sizeof(heap_header));
    if (!memory)
        return NULL;
    uintptr_t at = (uintptr_t)memory + sizeof(heap_header);
    at = (at + alignment_bytes - 1) & ~(uintptr_t)(alignment_bytes - 1);
    unsigned char *aligned = memory + (at - (uintptr_t)memory);
    heap_header *header = (heap_header *)(void *)(aligned - sizeof(heap_header));
    *header = (heap_header){HEAP_MARK, size_bytes, memory, heap};
    fr_add_relaxed(&heap->live_bytes, size_bytes);
    return aligned;
}

static void heap_release(void *memory, size_t size_bytes, void *user)
{
    fr_test_heap *heap = (fr_test_heap *)user;
    heap_header *header = (heap_header *)(void *)((unsigned char *)memory - sizeof(heap_header));
    if (header->mark != HEAP_MARK || header->size_bytes != size_bytes || header->heap != heap) {
        fr_add_relaxed(&heap->mistakes, 1);
        return;
    }
    fr_sub_relaxed(&heap->live_bytes, size_bytes);
    header->mark = 0;
    free(header->memory);
}

fr_test_heap *fr_test_heap_create(void)
{
    fr_test_heap *heap = (fr_test_heap *)calloc(1, sizeof(*heap));
    if (heap)
        heap->allocator = (fr_allocator){heap_allocate, heap_release, heap};
    return heap;
}

uint64_t fr_test_heap_destroy(fr_test_heap *heap)
{
    const uint64_t live = fr_load_relaxed(&heap->live_bytes);
    free(heap);
    return live;
}

const fr_allocator *fr_test_heap_allocator(const fr_test_heap *heap)
{
    return &heap->allocator;
}

void fr_test_heap_fail(fr_test_heap *heap, uint64_t k, int ever_after)
{
    fr_store_relaxed(&heap->calls, 0);
    fr_store_relaxed(&heap->ever_after, ever_after != 0);
    fr_store_relaxed(&heap->fail_at, k);
}

uint64_t fr_test_heap_calls(const fr_test_heap *heap)
{
    return fr_load_relaxed(&heap->calls);
}

uint64_t fr_test_heap_live_bytes(const fr_test_heap *heap)
{
    return fr_load_relaxed(&heap->live_bytes);
}

uint64_t fr_test_heap_mistakes(const fr_test_heap *heap)
{
    return fr_load_relaxed(&heap->mistakes);
}
