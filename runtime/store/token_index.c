#include "runtime/store/token_index.h"

#include <string.h>

#include "runtime/store/paged.h"
#include "runtime/store/slices.h"
#include "runtime/store/store_state.h"
#include "scheduler/os.h"

/* Tokens that are read at a time. */
#define FR_TOKENS_SOME 64u

typedef struct fr_token_entry {
    uint32_t token, prim;
    uint32_t older_of_token, older_of_prim; /* entries are numbered from 1; 0: none */
} fr_token_entry;

typedef struct fr_token_entries {
    uint32_t newest, count;
} fr_token_entries;

struct fr_token_index {
    const fr_allocator *allocator;
    fr_mutex lock; /* of all that changes */
    uint32_t count;
    fr_paged entries;  /* elements: fr_token_entry */
    fr_paged of_token; /* elements: fr_token_entries */
    fr_paged of_prim;  /* elements: the newest entry as uint32_t */
};

fr_token_index *fr_token_index_create(const fr_allocator *allocator)
{
    fr_token_index *index = fr_memory_allocate_zero(allocator, sizeof(*index), FR_CACHE_LINE_BYTES);
    if (!index)
        return NULL;
    index->allocator = allocator;
    fr_paged_init(&index->entries, allocator, sizeof(fr_token_entry));
    fr_paged_init(&index->of_token, allocator, sizeof(fr_token_entries));
    fr_paged_init(&index->of_prim, allocator, sizeof(uint32_t));
    return index;
}

void fr_token_index_destroy(fr_token_index *index)
{
    if (!index)
        return;
    fr_paged_destroy(&index->entries);
    fr_paged_destroy(&index->of_token);
    fr_paged_destroy(&index->of_prim);
    fr_memory_release(index->allocator, index, sizeof(*index));
}

uint64_t fr_token_index_bytes(const fr_token_index *index)
{
    return index ? sizeof(*index) + fr_paged_bytes(&index->entries) +
                       fr_paged_bytes(&index->of_token) + fr_paged_bytes(&index->of_prim)
                 : 0;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* With the lock held. False: the page for it is not there. */
static bool fr_token_index_enter(fr_token_index *index, uint32_t prim, uint32_t token)
{
    uint32_t *of_prim = fr_paged_find(&index->of_prim, prim);
    for (uint32_t entry = *of_prim; entry != 0;) {
        const fr_token_entry *there = fr_paged_find(&index->entries, entry);
        if (there->token == token)
            return true;
        entry = there->older_of_prim;
    }
    fr_token_entry *made = fr_paged_find(&index->entries, index->count + 1);
    if (!made)
        return false;
    fr_token_entries *of_token = fr_paged_find(&index->of_token, token);
    *made = (fr_token_entry){token, prim, of_token->newest, *of_prim};
    of_token->newest = *of_prim = ++index->count;
    of_token->count++;
    return true;
}

static bool fr_token_index_add_some(fr_token_index *index, uint32_t prim, const uint64_t *tokens,
                                    uint32_t count)
{
    uint32_t done = 0, next = 0;
    if (count > 0 && !fr_paged_reserve(&index->of_prim, prim))
        return false;
    for (uint32_t k = 0; k < count; k++) /* what no dictionary has is nobody's type */
        if (tokens[k] != 0 && tokens[k] <= UINT32_MAX &&
            !fr_paged_reserve(&index->of_token, (uint32_t)tokens[k]))
            return false;
    while (done < count) {
        if (next != 0 && !fr_paged_reserve(&index->entries, next))
            return false;
        fr_mutex_lock(&index->lock);
        for (; done < count; done++)
            if (tokens[done] != 0 && tokens[done] <= UINT32_MAX &&
                !fr_token_index_enter(index, prim, (uint32_t)tokens[done]))
                break;
        next = index->count + 1;
        fr_mutex_unlock(&index->lock);
    }
    return true;
}

/* --- where tokens come from ------------------------------------------------------------------- */

static uint32_t fr_token_row_count(const fr_write *write, uint32_t row)
{
    const fr_buffer *slices = write->slices ? write->slices : write->rows->buffer;
    if (!write->schema.is_array)
        return 1;
    if (write->array)
        return (uint32_t)fr_array_source_row_elements(write->array, row);
    return slices ? (uint32_t)fr_slices_of(slices)[row].count : 0;
}

/* Tokens [first, first + count) of a transported row. */
static void fr_token_row_read(const fr_write *write, uint32_t row, uint32_t first, uint32_t count,
                              uint64_t *out)
{
    const fr_row_source *rows = write->rows;
    const fr_array_source *array = write->array;
    size_t size_bytes = count * sizeof(uint64_t);
    if (!write->schema.is_array) {
        int64_t stride_bytes = rows->compact ? (int64_t)rows->row_bytes : rows->row_stride_bytes;
        memcpy(out, rows->base + (int64_t)row * stride_bytes, size_bytes);
    } else if (array) {
        uint64_t skipped = array->packed ? row * fr_array_source_row_elements(array, row) : 0;
        fr_array_tensor_copy(&array->tensors[array->packed ? 0 : row], sizeof(uint64_t),
                             skipped + first, count, out, size_bytes);
    } else {
        const fr_buffer *slices = write->slices ? write->slices : rows->buffer;
        const fr_slice *slice = &fr_slices_of(slices)[row];
        memcpy(out, slice->payload->data + slice->offset_bytes + first * sizeof(uint64_t),
               size_bytes);
    }
}

static bool fr_token_index_add(fr_token_index *index, const fr_write *write)
{
    const fr_row_source *rows = write->rows;
    uint64_t some[FR_TOKENS_SOME];
    for (uint32_t element = 0; element < rows->count; element++) {
        if (!fr_row_selected(rows, element))
            continue;
        uint32_t row = rows->index_map ? rows->index_map[element] : element;
        uint32_t count = fr_token_row_count(write, row);
        for (uint32_t first = 0; first < count; first += FR_TOKENS_SOME) {
            uint32_t more = count - first < FR_TOKENS_SOME ? count - first : FR_TOKENS_SOME;
            fr_token_row_read(write, row, first, more, some);
            if (!fr_token_index_add_some(index, fr_write_prim(write->query, rows, element), some,
                                         more))
                return false;
        }
    }
    return true;
}

/* The store's; made when it is needed. NULL without memory. */
static fr_token_index *fr_token_index_of(fr_store *store)
{
    /* [store.tokens.read] pairs [store.tokens.enter] : it is set up */
    fr_token_index *index = fr_load_acquire(&store->token_index);
    if (index)
        return index;
    fr_token_index *made = fr_token_index_create(store->allocator);
    /* [store.tokens.enter] pairs [store.tokens.read], [store.tokens.look],
     * [store.tokens.figures], [store.tokens.enter] : hands it on */
    if (made && fr_cas_acq_rel_seen(&store->token_index, &index, made))
        return made;
    fr_token_index_destroy(made);
    return index;
}

bool fr_token_index_write(fr_store *store, const fr_write *write)
{
    ovx_token_t name = write->attribute->token;
    if (name != store->config.token_columns[0] && name != store->config.token_columns[1])
        return true;
#ifdef FR_MUTATE_TOKENS_FORGET_COPIES
    if (write->prims_entered)
        return true;
#endif
    fr_token_index *index = fr_token_index_of(store);
    return index && fr_token_index_add(index, write);
}

/* --- walks ------------------------------------------------------------------------------------ */

uint32_t fr_token_index_first(fr_token_index *index, uint64_t token, uint32_t *out_count)
{
    const fr_token_entries *of_token =
        index && token <= UINT32_MAX ? fr_paged_find(&index->of_token, (uint32_t)token) : NULL;
    *out_count = 0;
    if (!of_token)
        return 0;
    fr_mutex_lock(&index->lock);
    uint32_t newest = of_token->newest;
    *out_count = of_token->count;
    fr_mutex_unlock(&index->lock);
    return newest;
}

uint32_t fr_token_index_next(const fr_token_index *index, uint32_t entry, uint32_t *out_prim)
{
    const fr_token_entry *there = fr_paged_find(&index->entries, entry);
    *out_prim = there->prim;
    return there->older_of_token;
}
