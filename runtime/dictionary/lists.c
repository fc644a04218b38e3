#include "runtime/dictionary/lists.h"

#define FR_LIST_REFERENCES ((UINT64_C(1) << FR_LIST_REFERENCE_BITS) - 1)
#define FR_LIST_INDEX ((UINT64_C(1) << FR_LIST_INDEX_BITS) - 1)
#define FR_LIST_SMALLEST_LOG2 7

_Static_assert(
    FR_LIST_INDEX_BITS == FR_LIST_REFERENCE_BITS,
    "handle and word hold the generation at the same place, so they compare as they are");
_Static_assert(sizeof(fr_list_slot) <= 64, "a slot is a line");
_Static_assert(offsetof(fr_list_slot, list) == 0, "a list is its slot");

void fr_lists_init(fr_lists *lists, const fr_allocator *allocator, uint64_t first_generation)
{
    lists->slots.element_bytes = sizeof(fr_list_slot);
    lists->allocator = allocator;
    lists->first_generation = first_generation;
    lists->last_generation = first_generation;
    lists->limit = (uint32_t)FR_LIST_INDEX + 1;
}

void fr_lists_destroy(fr_lists *lists)
{
    const uint32_t count = fr_load_relaxed(&lists->slots.count); /* nobody else is here any more */
    for (uint32_t i = 0; i < count; i++) {
        fr_list_slot *slot = (fr_list_slot *)fr_chunks_at(&lists->slots, i);
        if ((fr_load_relaxed(&slot->word) & FR_LIST_REFERENCES) != 0)
            fr_lists_array_give(lists, slot->array);
    }
    for (uint32_t c = 0; c < FR_LIST_CLASSES; c++)
        while (lists->pool[c]) {
            fr_path_array *array = lists->pool[c];
            lists->pool[c] = array->next;
            fr_memory_release(lists->allocator, array, array->size_bytes);
        }
    for (uint32_t k = 0; k < FR_CHUNKS_MAX; k++)
        if (lists->slots.chunk[k])
            fr_memory_release(lists->allocator, lists->slots.chunk[k],
                              fr_chunks_bytes(&lists->slots, k));
}

/* ---- Arrays ---- */

static fr_list_slot *slot_of(const fr_path_list *list)
{
    return (fr_list_slot *)(uintptr_t)list;
}

fr_path_array *fr_lists_array_of(const fr_path_list *list)
{
    fr_path_array *array = slot_of(list)->array;
    if (array)
        fr_add_relaxed(&array->references,
                       1); /* the caller's list holds one: it cannot go meanwhile */
    return array;
}

static uint32_t log2_of(size_t value)
{
    return 63u - (uint32_t)__builtin_clzll(value);
}

/* The size class that holds `bytes`, which become its size. FR_LIST_CLASSES: as large as asked for.
 */
static uint32_t size_class(size_t *bytes)
{
    if (*bytes < (size_t)1 << FR_LIST_SMALLEST_LOG2)
        *bytes = (size_t)1 << FR_LIST_SMALLEST_LOG2;
    if (*bytes > (size_t)1 << FR_LIST_POOLED_LOG2)
        return FR_LIST_CLASSES;
    const size_t quarter = (size_t)1 << (log2_of(*bytes) - 2);
    *bytes = (*bytes + quarter - 1) & ~(quarter - 1);
    const uint32_t log2 = log2_of(*bytes);
    return (log2 - FR_LIST_SMALLEST_LOG2) * 4 + ((uint32_t)(*bytes >> (log2 - 2)) & 3u);
}

fr_path_array *fr_lists_array_take(fr_lists *lists, size_t count)
{
    if (count > (SIZE_MAX / 2 - sizeof(fr_path_array)) / sizeof(ovx_primpath_t))
        return NULL;
    size_t bytes = sizeof(fr_path_array) + count * sizeof(ovx_primpath_t);
    const uint32_t c = size_class(&bytes);
    fr_path_array *array = NULL;
    if (c < FR_LIST_CLASSES) {
        fr_mutex_lock(&lists->lock);
        array = lists->pool[c];
        if (array) {
            lists->pool[c] = array->next;
            lists->retained_bytes -= bytes;
        }
        fr_mutex_unlock(&lists->lock);
    }
    if (!array) {
        array = (fr_path_array *)fr_memory_allocate(lists->allocator, bytes, 16);
        if (!array)
            return NULL;
        array->pool_class = c;
        array->size_bytes = bytes;
    }
    fr_store_relaxed(&array->references, 1);
    return array;
}

void fr_lists_array_give(fr_lists *lists, fr_path_array *array)
{
    /* [lists.array.give] pairs [lists.array.give] : others have read what is now freed */
    if (!array || fr_sub_acq_rel(&array->references, 1) != 1)
        return;
    bool kept = false;
    if (array->pool_class < FR_LIST_CLASSES) {
        fr_mutex_lock(&lists->lock);
        kept = lists->retained_bytes + array->size_bytes <= FR_LIST_RETAINED_BYTES;
        if (kept) {
            array->next = lists->pool[array->pool_class];
            lists->pool[array->pool_class] = array;
            lists->retained_bytes += array->size_bytes;
        }
        fr_mutex_unlock(&lists->lock);
    }
    if (!kept)
        fr_memory_release(lists->allocator, array, array->size_bytes);
}

/* ---- Slots ---- */

/* Under the lock: a free slot, or a new one; NULL when the chunk `*missing` is needed first, or
 * when there are no more (*missing is FR_CHUNKS_NONE). */
static fr_list_slot *slot_pop(fr_lists *lists, uint32_t *missing)
{
    *missing = FR_CHUNKS_NONE;
    if (lists->free_slot != 0) {
        fr_list_slot *slot = (fr_list_slot *)fr_chunks_at(&lists->slots, lists->free_slot - 1);
        lists->free_slot = slot->next;
        return slot;
    }
    const uint32_t index = fr_load_relaxed(&lists->slots.count);
    if (index >= lists->limit)
        return NULL;
    *missing = fr_chunks_missing(&lists->slots);
    if (*missing != FR_CHUNKS_NONE)
        return NULL;
    fr_list_slot *slot = (fr_list_slot *)fr_chunks_at(&lists->slots, index);
    slot->list = (fr_path_list){NULL, 0, index};
    slot->lists = lists;
    fr_store_relaxed(&slot->word, lists->first_generation << FR_LIST_REFERENCE_BITS);
    fr_chunks_publish(&lists->slots);
    return slot;
}

static fr_list_slot *slot_take(fr_lists *lists, fr_fault *fault)
{
    unsigned char *chunk = NULL;
    uint32_t brought = FR_CHUNKS_NONE, missing;
    for (;;) {
        fr_mutex_lock(&lists->lock);
        if (chunk && fr_chunks_missing(&lists->slots) == brought) {
            lists->slots.chunk[brought] = chunk;
            chunk = NULL;
        }
        fr_list_slot *slot = slot_pop(lists, &missing);
        if (slot) {
            const uint64_t generation =
                (fr_load_relaxed(&slot->word) >> FR_LIST_REFERENCE_BITS) + 1;
            if (generation > lists->last_generation)
                lists->last_generation = generation;
        }
        fr_mutex_unlock(&lists->lock);
        if (chunk)
            fr_memory_release(lists->allocator, chunk, fr_chunks_bytes(&lists->slots, brought));
        chunk = NULL;
        if (slot)
            return slot;
        if (missing == FR_CHUNKS_NONE) {
            fr_fault_set(fault, FR_FAULT_NUMBERS, 0, lists->limit);
            return NULL;
        }
        brought = missing;
        chunk = (unsigned char *)fr_memory_allocate(
            lists->allocator, fr_chunks_bytes(&lists->slots, brought), FR_CACHE_LINE_BYTES);
        if (!chunk) {
            fr_fault_set(fault, FR_FAULT_MEMORY, 0, 0);
            return NULL;
        }
    }
}

const fr_path_list *fr_lists_open(fr_lists *lists, fr_path_array *array, size_t count, bool client,
                                  fr_fault *fault)
{
    fr_list_slot *slot = slot_take(lists, fault);
    if (!slot)
        return NULL;
    const uint64_t generation = (fr_load_relaxed(&slot->word) >> FR_LIST_REFERENCE_BITS) + 1;
    const uint64_t index = slot->list.handle & FR_LIST_INDEX;
    slot->array = array;
    slot->list.paths = array ? array->paths : NULL;
    slot->list.count = count;
    slot->list.handle = generation << FR_LIST_INDEX_BITS | index;
    fr_store_relaxed(&slot->clients, client ? 1 : 0);
#ifdef FR_MUTATE_DICTIONARY_RELAXED_OPEN
    fr_store_relaxed(&slot->word, generation << FR_LIST_REFERENCE_BITS | 1);
#else
    /* [lists.word.open] pairs [lists.word.acquire] : who gets a reference sees the fields */
    fr_store_release(&slot->word, generation << FR_LIST_REFERENCE_BITS | 1);
#endif
    return &slot->list;
}

/* The last reference is gone: nobody else can come to the slot until it is opened again. */
static void slot_close(fr_list_slot *slot)
{
    fr_lists *lists = slot->lists;
    fr_lists_array_give(lists, slot->array);
    slot->array = NULL;
    if (fr_load_relaxed(&slot->word) >> FR_LIST_REFERENCE_BITS == FR_LIST_GENERATION_MAX)
        return; /* no generation is left: the slot stays closed */
    const uint32_t index = (uint32_t)(slot->list.handle & FR_LIST_INDEX);
    fr_mutex_lock(&lists->lock);
    slot->next = lists->free_slot;
    lists->free_slot = index + 1;
    fr_mutex_unlock(&lists->lock);
}

static void slot_release(fr_list_slot *slot, uint32_t references)
{
    /* [lists.word.release] pairs [lists.word.release] : who closes the slot comes after all use */
    const uint64_t before = fr_sub_acq_rel(&slot->word, (uint64_t)references);
    if ((before & FR_LIST_REFERENCES) == references)
        slot_close(slot);
}

const fr_path_list *fr_lists_acquire(fr_lists *lists, ovx_primpath_list_t handle)
{
    const uint64_t index = handle & FR_LIST_INDEX;
    if (index >= fr_chunks_count(&lists->slots))
        return NULL;
    fr_list_slot *slot = (fr_list_slot *)fr_chunks_at(&lists->slots, (uint32_t)index);
    uint64_t word = fr_load_relaxed(&slot->word);
    for (;;) {
        const uint64_t references = word & FR_LIST_REFERENCES;
#ifdef FR_MUTATE_DICTIONARY_STALE_HANDLE
        if (references == 0)
            return NULL;
#else
        if (word - references != handle - index || references == 0)
            return NULL;
#endif
        if (references == FR_LIST_REFERENCES)
            return NULL; /* 16 million hold it: one more would run into the generation */
        /* [lists.word.acquire] pairs [lists.word.open] : the fields are those of this generation */
        if (fr_cas_acquire(&slot->word, &word, word + 1))
            return &slot->list;
    }
}

void fr_lists_release(const fr_path_list *list)
{
    if (list)
        slot_release(slot_of(list), 1);
}

bool fr_lists_client_add(fr_lists *lists, ovx_primpath_list_t handle)
{
    const fr_path_list *list = fr_lists_acquire(lists, handle);
    if (!list)
        return false;
    fr_list_slot *slot = slot_of(list);
    uint32_t clients = fr_load_relaxed(&slot->clients);
    do {
        if (clients == UINT32_MAX) {
            slot_release(slot, 1);
            return false;
        }
    } while (!fr_cas_relaxed(&slot->clients, &clients, clients + 1));
    if (clients != 0)
        slot_release(slot, 1); /* the clients have theirs already */
    return true;
}

bool fr_lists_client_release(fr_lists *lists, ovx_primpath_list_t handle)
{
    const fr_path_list *list = fr_lists_acquire(lists, handle);
    if (!list)
        return false;
    fr_list_slot *slot = slot_of(list);
    uint32_t clients = fr_load_relaxed(&slot->clients);
    do {
        if (clients == 0) {
            slot_release(slot, 1);
            return false;
        }
    } while (!fr_cas_relaxed(&slot->clients, &clients, clients - 1));
#ifdef FR_MUTATE_DICTIONARY_RELEASE_FIRST
    slot_release(slot, 2); /* takes one that the other clients still need */
#else
    slot_release(slot, clients == 1 ? 2 : 1);
#endif
    return true;
}
