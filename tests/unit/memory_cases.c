#include "tests/unit/memory_cases.h"

#include "scheduler/memory.h"
#include "tests/support/check.h"
#include "tests/support/heap.h"

#include <string.h>

const char *memory_allocates(void)
{
    FR_CHECK(fr_memory_allocate(&fr_allocator_default, 0, 16) == NULL);
    FR_CHECK(fr_memory_allocate_zero(&fr_allocator_default, 0, 16) == NULL);
    fr_memory_release(&fr_allocator_default, NULL, 10);
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        unsigned char *memory = fr_memory_allocate_zero(&fr_allocator_default, 100, alignment);
        FR_CHECK(memory != NULL);
        FR_CHECK((uintptr_t)memory % (alignment < 16 ? 16 : alignment) == 0);
        for (int k = 0; k < 100; k++)
            FR_CHECK(memory[k] == 0);
        memset(memory, 0xff, 100); /* so that recycled memory would show */
        fr_memory_release(&fr_allocator_default, memory, 100);
    }
    return NULL;
}

const char *memory_grows(void)
{
    fr_test_heap *heap = fr_test_heap_create();
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    unsigned char *memory = fr_memory_grow(allocator, NULL, 0, 10, 16);
    FR_CHECK(memory != NULL);
    memcpy(memory, "0123456789", 10);
    memory = fr_memory_grow(allocator, memory, 10, 1000, 64);
    FR_CHECK(memory != NULL && memcmp(memory, "0123456789", 10) == 0);
    FR_CHECK(fr_test_heap_live_bytes(heap) == 1000);
    fr_memory_release(allocator, memory, 1000);
    FR_CHECK(fr_test_heap_mistakes(heap) == 0);
    FR_CHECK(fr_test_heap_destroy(heap) == 0);
    return NULL;
}

const char *memory_fails(void)
{
    fr_test_heap *heap = fr_test_heap_create();
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    char *memory = fr_memory_allocate(allocator, 4, 16);
    FR_CHECK(memory != NULL);
    memcpy(memory, "abc", 4);
    fr_test_heap_fail(heap, 1, 1);
    FR_CHECK(fr_memory_allocate(allocator, 4, 16) == NULL);
    FR_CHECK(fr_memory_allocate_zero(allocator, 4, 16) == NULL);
    FR_CHECK(fr_memory_grow(allocator, memory, 4, 8, 16) == NULL);
    FR_CHECK(strcmp(memory, "abc") == 0); /* as it was */
    fr_memory_release(allocator, memory, 4);
    FR_CHECK(fr_test_heap_destroy(heap) == 0);
    return NULL;
}
