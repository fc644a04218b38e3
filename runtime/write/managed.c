#include "runtime/write/managed.h"

#include "runtime/api/callout.h"
#include "runtime/query/heap_sort.h"
#include "scheduler/atomic.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef FR_SHRINK
#define FR_MANAGED_INLINE 2
#else
#define FR_MANAGED_INLINE 32
#endif

typedef const struct DLManagedTensorVersioned *fr_managed;

void fr_managed_delete(fr_managed tensor, const fr_allocator *allocator)
{
    if (!tensor || !tensor->deleter)
        return;
    /* The interface hands over ownership through a pointer to const. */
    union {
        fr_managed given;
        struct DLManagedTensorVersioned *owned;
    } managed = {tensor};
    fr_callout callout;
    fr_callout_begin(&callout, allocator->user);
    tensor->deleter(managed.owned);
    fr_callout_end(&callout);
}

/* All pointers of a call in one array: on the stack when they are few. */
typedef struct fr_managed_list {
    fr_managed few[FR_MANAGED_INLINE];
    fr_managed *items;
    size_t count;
} fr_managed_list;

static bool fr_managed_gather(fr_managed_list *list, const ovstage_attribute_write_t *writes,
                              size_t count, const fr_allocator *allocator)
{
    size_t total = 0;
    for (size_t e = 0; e < count; e++)
        total += writes[e].data.managed_tensors ? writes[e].data.tensor_count : 0;
    list->items = list->few;
    list->count = 0;
    if (total > FR_MANAGED_INLINE)
        list->items = fr_memory_allocate(allocator, total * sizeof(fr_managed), 16);
    if (!list->items)
        return false;
    for (size_t e = 0; e < count; e++) {
        for (uint32_t t = 0; writes[e].data.managed_tensors && t < writes[e].data.tensor_count; t++)
            list->items[list->count++] = writes[e].data.managed_tensors[t];
    }
    return true;
}

static void fr_managed_let_go(fr_managed_list *list, const fr_allocator *allocator)
{
    if (list->items != list->few)
        fr_memory_release(allocator, list->items, list->count * sizeof(fr_managed));
}

static int fr_managed_compare(const void *items, size_t a, size_t b)
{
    const fr_managed *managed = items;
    uintptr_t first = (uintptr_t)managed[a], second = (uintptr_t)managed[b];
    return (first > second) - (first < second);
}

static void fr_managed_swap(void *items, size_t a, size_t b)
{
    fr_managed *managed = items;
    fr_managed swapped = managed[a];
    managed[a] = managed[b];
    managed[b] = swapped;
}

ovstage_api_status_t fr_managed_check(const ovstage_attribute_write_t *writes, size_t count,
                                      const fr_allocator *allocator, char *text, size_t text_bytes)
{
    fr_managed_list list;
    if (!fr_managed_gather(&list, writes, count, allocator)) {
        (void)snprintf(text, text_bytes, "no memory to look at the managed tensors of %zu entries",
                       count);
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    }
    ovstage_api_status_t status = OVSTAGE_OK;
    for (size_t i = 0; i < list.count && status == OVSTAGE_OK; i++) {
        if (!list.items[i]) {
            (void)snprintf(text, text_bytes, "managed tensor %zu of the call's %zu is NULL", i,
                           list.count);
            status = OVSTAGE_ERROR_INVALID_ARGUMENT;
        }
    }
    fr_heap_sort(&(fr_sorted){fr_managed_compare, fr_managed_swap, list.items}, list.count);
    for (size_t i = 1; i < list.count && status == OVSTAGE_OK; i++) {
        if (list.items[i] == list.items[i - 1]) {
            (void)snprintf(text, text_bytes,
                           "managed tensor %p occurs more than once in the call's %zu",
                           (const void *)list.items[i], list.count);
            status = OVSTAGE_ERROR_INVALID_ARGUMENT;
        }
    }
    fr_managed_let_go(&list, allocator);
    return status;
}

static bool fr_managed_seen_before(const ovstage_attribute_write_t *writes, size_t entry,
                                   uint32_t tensor)
{
    fr_managed wanted = writes[entry].data.managed_tensors[tensor];
    for (size_t e = 0; e <= entry; e++) {
        uint32_t end = e == entry ? tensor : writes[e].data.tensor_count;
        for (uint32_t t = 0; writes[e].data.managed_tensors && t < end; t++) {
            if (writes[e].data.managed_tensors[t] == wanted)
                return true;
        }
    }
    return false;
}

/* Without memory for a list: slower, but still each exactly once. */
static void fr_managed_delete_slowly(const ovstage_attribute_write_t *writes, size_t count,
                                     const fr_allocator *allocator)
{
    for (size_t e = count; e-- > 0;) {
        for (uint32_t t = writes[e].data.managed_tensors ? writes[e].data.tensor_count : 0;
             t-- > 0;) {
            if (!fr_managed_seen_before(writes, e, t))
                fr_managed_delete(writes[e].data.managed_tensors[t], allocator);
        }
    }
}

void fr_managed_delete_all(const ovstage_attribute_write_t *writes, size_t count,
                           const fr_allocator *allocator)
{
    fr_managed_list list;
    if (count > PTRDIFF_MAX / sizeof(*writes))
        return; /* no array is as long */
    if (!fr_managed_gather(&list, writes, count, allocator)) {
        fr_managed_delete_slowly(writes, count, allocator);
        return;
    }
#ifndef FR_MUTATE_MANAGED_DELETED_TWICE
    fr_heap_sort(&(fr_sorted){fr_managed_compare, fr_managed_swap, list.items}, list.count);
#endif
    for (size_t i = 0; i < list.count; i++) {
        if (i == 0 || list.items[i] != list.items[i - 1])
            fr_managed_delete(list.items[i], allocator);
    }
    fr_managed_let_go(&list, allocator);
}
