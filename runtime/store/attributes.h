/* The attribute table: token -> attribute. Entries never move and never go before destroy. Also the
 * store's and the stage's view through store.h (fr_store_attribute_*). Tokens are dense small
 * numbers, so a paged array by token finds the entry.
 *
 * Two names can be one attribute: the alias pair of create. Its canonical name is alias_to.
 *
 * Threads: all. Invariants: indices are dense; an attribute is found by token and index with all
 * that enter set. Progress: find, count and at are wait-free; enter takes a short lock, memory
 * outside of it. Memory bound: the attributes ever entered, chunks at most double. */
#ifndef FR_RUNTIME_STORE_ATTRIBUTES_H
#define FR_RUNTIME_STORE_ATTRIBUTES_H

#include "runtime/store/store.h"

typedef struct fr_attributes fr_attributes;

/* alias_from and alias_to may be OVX_INVALID_TOKEN: no alias. NULL without memory. */
fr_attributes *fr_attributes_create(const fr_allocator *allocator, ovx_token_t alias_from,
                                    ovx_token_t alias_to);
void fr_attributes_destroy(fr_attributes *attributes);
/* NULL when it was never entered. */
fr_attribute *fr_attributes_find(const fr_attributes *attributes, ovx_token_t token);
/* The same one each time. NULL without memory, or for a token of more than 32 bits. */
fr_attribute *fr_attributes_enter(fr_attributes *attributes, ovx_token_t token);
uint32_t fr_attributes_count(const fr_attributes *attributes);
/* index is below the count. */
fr_attribute *fr_attributes_at(const fr_attributes *attributes, uint32_t index);
size_t fr_attributes_bytes(const fr_attributes *attributes);

#endif
