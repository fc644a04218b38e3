#include "runtime/store/paged.h"

#define FR_PAGED_TABLE_MASK (FR_PAGED_TABLE_ENTRIES - 1)
#define FR_PAGED_LEAF_MASK (FR_PAGED_LEAF_ELEMENTS - 1)

void fr_paged_init(fr_paged *paged, const fr_allocator *allocator, size_t element_bytes)
{
    paged->allocator = allocator;
    paged->element_bytes = element_bytes;
}

static size_t fr_paged_leaf_bytes(const fr_paged *paged)
{
    return FR_PAGED_LEAF_ELEMENTS * paged->element_bytes;
}

void fr_paged_destroy(fr_paged *paged)
{
    for (uint32_t k = 0; k < FR_PAGED_TABLE_ENTRIES; k++) {
        fr_paged_table *table = fr_load_relaxed(&paged->root.pages[k]);
        if (!table)
            continue;
        for (uint32_t l = 0; l < FR_PAGED_TABLE_ENTRIES; l++)
            fr_memory_release(paged->allocator, fr_load_relaxed(&table->pages[l]),
                              fr_paged_leaf_bytes(paged));
        fr_memory_release(paged->allocator, table, sizeof(*table));
    }
}

static void *fr_paged_step(const fr_paged_table *table, uint32_t entry)
{
    /* [paged.read] pairs [paged.enter] : the page is zeroed when it is seen */
    return fr_load_acquire(&table->pages[entry]);
}

static void *fr_paged_enter(fr_paged *paged, fr_paged_table *table, uint32_t entry,
                            size_t size_bytes)
{
    void *page = fr_paged_step(table, entry);
    if (page)
        return page;
    void *fresh = fr_memory_allocate_zero(paged->allocator, size_bytes, FR_CACHE_LINE_BYTES);
    if (!fresh)
        return NULL;
    /* [paged.enter] pairs [paged.read], [paged.enter] : hands on the zeroed page */
    if (fr_cas_acq_rel_seen(&table->pages[entry], &page, fresh)) {
        (void)fr_add_relaxed(&paged->bytes, size_bytes);
        return fresh;
    }
    fr_memory_release(paged->allocator, fresh, size_bytes);
    return page;
}

bool fr_paged_reserve(fr_paged *paged, uint32_t index)
{
    uint32_t page = index >> FR_PAGED_LEAF_BITS;
    fr_paged_table *table =
        fr_paged_enter(paged, &paged->root, page >> FR_PAGED_TABLE_BITS, sizeof(fr_paged_table));
    return table &&
           fr_paged_enter(paged, table, page & FR_PAGED_TABLE_MASK, fr_paged_leaf_bytes(paged));
}

void *fr_paged_find(const fr_paged *paged, uint32_t index)
{
    uint32_t page = index >> FR_PAGED_LEAF_BITS;
    const fr_paged_table *table = fr_paged_step(&paged->root, page >> FR_PAGED_TABLE_BITS);
    if (!table)
        return NULL;
    unsigned char *leaf = fr_paged_step(table, page & FR_PAGED_TABLE_MASK);
    return leaf ? leaf + (index & FR_PAGED_LEAF_MASK) * paged->element_bytes : NULL;
}

size_t fr_paged_bytes(const fr_paged *paged)
{
    return (size_t)fr_load_relaxed(&paged->bytes);
}
