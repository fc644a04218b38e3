#include "runtime/query/heap_sort.h"

/* Item `at` sinks until none below it comes behind it. */
static void fr_heap_sink(const fr_sorted *sorted, size_t at, size_t count)
{
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && sorted->compare(sorted->items, child, child + 1) < 0)
            child++;
        if (sorted->compare(sorted->items, at, child) >= 0)
            return;
        sorted->swap(sorted->items, at, child);
        at = child;
    }
}

void fr_heap_sort(const fr_sorted *sorted, size_t count)
{
    for (size_t at = count / 2; at-- > 0;)
        fr_heap_sink(sorted, at, count);
    for (size_t end = count; end-- > 1;) {
        sorted->swap(sorted->items, 0, end);
        fr_heap_sink(sorted, 0, end);
    }
}
