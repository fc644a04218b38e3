#include "runtime/store/attributes.h"

#include "runtime/store/paged.h"

#define FR_ATTRIBUTES_FIRST 32u
/* Each twice the one before: 32 * (2^27 - 1) attributes, more than there are tokens that fit. */
#define FR_ATTRIBUTES_CHUNKS 27u

struct fr_attributes {
    const fr_allocator *allocator;
    ovx_token_t alias_from, alias_to;
    fr_mutex lock; /* of entering */
    _Atomic uint32_t count;
    _Atomic uint64_t chunk_bytes;
    _Atomic(fr_attribute *) chunks[FR_ATTRIBUTES_CHUNKS];
    fr_paged by_token; /* elements: fr_attribute_slot */
};

typedef _Atomic(fr_attribute *) fr_attribute_slot;

/* --- chunks ----------------------------------------------------------------------------------- */

static uint32_t fr_attributes_chunk_of(uint32_t index)
{
    return 31 - (uint32_t)__builtin_clz(index / FR_ATTRIBUTES_FIRST + 1);
}

static size_t fr_attributes_chunk_bytes(uint32_t chunk)
{
    return ((size_t)FR_ATTRIBUTES_FIRST << chunk) * sizeof(fr_attribute);
}

static fr_attribute *fr_attributes_place(const fr_attributes *attributes, uint32_t index)
{
    uint32_t chunk = fr_attributes_chunk_of(index);
    /* [attributes.chunk.read] pairs [attributes.chunk.enter] : the chunk is zeroed when seen */
    fr_attribute *first = fr_load_acquire(&attributes->chunks[chunk]);
    if (!first)
        return NULL;
    return first + (index - FR_ATTRIBUTES_FIRST * ((UINT32_C(1) << chunk) - 1));
}

static bool fr_attributes_reserve(fr_attributes *attributes, uint32_t index)
{
    uint32_t chunk = fr_attributes_chunk_of(index);
    if (chunk >= FR_ATTRIBUTES_CHUNKS)
        return false;
    if (fr_load_relaxed(&attributes->chunks[chunk]))
        return true;
    size_t size_bytes = fr_attributes_chunk_bytes(chunk);
    fr_attribute *fresh =
        fr_memory_allocate_zero(attributes->allocator, size_bytes, FR_CACHE_LINE_BYTES);
    if (!fresh)
        return false;
    fr_attribute *none = NULL;
    /* [attributes.chunk.enter] pairs [attributes.chunk.read] : hands on the zeroed chunk */
    if (fr_cas_release(&attributes->chunks[chunk], &none, fresh))
        (void)fr_add_relaxed(&attributes->chunk_bytes, size_bytes);
    else
        fr_memory_release(attributes->allocator, fresh, size_bytes);
    return true;
}

/* --- life ------------------------------------------------------------------------------------- */

fr_attributes *fr_attributes_create(const fr_allocator *allocator, ovx_token_t alias_from,
                                    ovx_token_t alias_to)
{
    fr_attributes *attributes =
        fr_memory_allocate_zero(allocator, sizeof(*attributes), FR_CACHE_LINE_BYTES);
    if (!attributes)
        return NULL;
    attributes->allocator = allocator;
    attributes->alias_from = alias_from;
    attributes->alias_to = alias_to;
    fr_paged_init(&attributes->by_token, allocator, sizeof(fr_attribute_slot));
    return attributes;
}

void fr_attributes_destroy(fr_attributes *attributes)
{
    if (!attributes)
        return;
    fr_paged_destroy(&attributes->by_token);
    for (uint32_t k = 0; k < FR_ATTRIBUTES_CHUNKS; k++)
        fr_memory_release(attributes->allocator, fr_load_relaxed(&attributes->chunks[k]),
                          fr_attributes_chunk_bytes(k));
    fr_memory_release(attributes->allocator, attributes, sizeof(*attributes));
}

/* --- by token --------------------------------------------------------------------------------- */

static ovx_token_t fr_attributes_canonical(const fr_attributes *attributes, ovx_token_t token)
{
    return token == attributes->alias_from ? attributes->alias_to : token;
}

static fr_attribute_slot *fr_attributes_slot(const fr_attributes *attributes, ovx_token_t canonical)
{
    if (canonical > UINT32_MAX)
        return NULL;
    return fr_paged_find(&attributes->by_token, (uint32_t)canonical);
}

static fr_attribute *fr_attributes_look(fr_attribute_slot *slot)
{
    /* [attributes.find] pairs [attributes.enter] : the attribute is set up when it is found */
    return fr_load_acquire(slot);
}

fr_attribute *fr_attributes_find(const fr_attributes *attributes, ovx_token_t token)
{
    fr_attribute_slot *slot =
        fr_attributes_slot(attributes, fr_attributes_canonical(attributes, token));
    return slot ? fr_attributes_look(slot) : NULL;
}

/* Under the lock. NULL: the chunk for it is not there. */
static fr_attribute *fr_attributes_enter_locked(fr_attributes *attributes, ovx_token_t canonical,
                                                fr_attribute_slot *slot)
{
    fr_attribute *attribute = fr_attributes_look(slot);
    if (attribute)
        return attribute;
    uint32_t index = fr_load_relaxed(&attributes->count);
    attribute = fr_attributes_place(attributes, index);
    if (!attribute)
        return NULL;
    attribute->index = index;
    attribute->token = canonical;
    /* [attributes.enter] pairs [attributes.find] : hands on the attribute's fields */
    fr_store_release(slot, attribute);
    /* [attributes.grown] pairs [attributes.count] : what is below the count can be looked at */
    fr_store_release(&attributes->count, index + 1);
    return attribute;
}

fr_attribute *fr_attributes_enter(fr_attributes *attributes, ovx_token_t token)
{
    ovx_token_t canonical = fr_attributes_canonical(attributes, token);
    if (canonical > UINT32_MAX || !fr_paged_reserve(&attributes->by_token, (uint32_t)canonical))
        return NULL;
    fr_attribute_slot *slot = fr_attributes_slot(attributes, canonical);
    fr_attribute *attribute = fr_attributes_look(slot);
    while (!attribute) {
        if (!fr_attributes_reserve(attributes, fr_load_relaxed(&attributes->count)))
            return NULL;
        fr_mutex_lock(&attributes->lock);
        attribute = fr_attributes_enter_locked(attributes, canonical, slot);
        fr_mutex_unlock(&attributes->lock);
    }
    return attribute;
}

/* --- by index --------------------------------------------------------------------------------- */

uint32_t fr_attributes_count(const fr_attributes *attributes)
{
    /* [attributes.count] pairs [attributes.grown] : attributes below it are set up */
    return fr_load_acquire(&attributes->count);
}

fr_attribute *fr_attributes_at(const fr_attributes *attributes, uint32_t index)
{
    return fr_attributes_place(attributes, index);
}

size_t fr_attributes_bytes(const fr_attributes *attributes)
{
    return sizeof(*attributes) + (size_t)fr_load_relaxed(&attributes->chunk_bytes) +
           fr_paged_bytes(&attributes->by_token);
}
