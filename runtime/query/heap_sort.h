/* A sort in place: no memory, which qsort may take, and never more than about 2 * count *
 * log2(count) steps.
 *
 * Threads: pure functions, but for what the callbacks touch. */
#ifndef FR_RUNTIME_QUERY_HEAP_SORT_H
#define FR_RUNTIME_QUERY_HEAP_SORT_H

#include <stddef.h>

typedef struct fr_sorted {
    /* Below 0, 0, above 0: as item a comes before b, is like it, comes behind it. */
    int (*compare)(const void *items, size_t a, size_t b);
    void (*swap)(void *items, size_t a, size_t b);
    void *items;
} fr_sorted;

void fr_heap_sort(const fr_sorted *sorted, size_t count);

#endif
