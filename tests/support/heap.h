/* An allocator for tests: counts what is alive, and can make the k-th allocation fail, or all from
 * the k-th on. Passed to GoogleTest bodies as a pointer to fr_allocator. */
#ifndef FR_TESTS_SUPPORT_HEAP_H
#define FR_TESTS_SUPPORT_HEAP_H

#include "scheduler/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_test_heap fr_test_heap;

fr_test_heap *fr_test_heap_create(void);
/* Answers the number of bytes that were never given back. */
uint64_t fr_test_heap_destroy(fr_test_heap *heap);

/* Valid as long as the heap. */
const fr_allocator *fr_test_heap_allocator(const fr_test_heap *heap);

/* From now on the k-th allocation fails (1: the next one), or it and all after it. 0: none. */
void fr_test_heap_fail(fr_test_heap *heap, uint64_t k, int ever_after);
uint64_t fr_test_heap_calls(
    const fr_test_heap *heap); /* allocations asked for since the last fail call */
uint64_t fr_test_heap_live_bytes(const fr_test_heap *heap);
/* Releases with another size than was asked for, or of memory that is not this heap's. */
uint64_t fr_test_heap_mistakes(const fr_test_heap *heap);

#ifdef __cplusplus
}
#endif

#endif
