#include "tests/unit/dictionary_cases.h"

#include "runtime/dictionary/hash.h"
#include "runtime/dictionary/state.h"

static const fr_path_list *list_of(const dictionary_list *list)
{
    return (const fr_path_list *)(const void *)list;
}

fr_dictionary *dictionary_open(const fr_test_heap *heap)
{
    return fr_dictionary_acquire(fr_test_heap_allocator(heap));
}

void dictionary_close(fr_dictionary *dictionary)
{
    fr_dictionary_release(dictionary);
}

path_dictionary_instance_t *dictionary_client(fr_dictionary *dictionary)
{
    return fr_dictionary_instance(dictionary);
}

bool dictionary_token_known(const fr_dictionary *dictionary, ovx_token_t token)
{
    return fr_dictionary_token_known(dictionary, token);
}

ovx_string_t dictionary_token_text(const fr_dictionary *dictionary, ovx_token_t token)
{
    return fr_dictionary_token_text(dictionary, token);
}

ovstage_api_status_t dictionary_token_intern(fr_dictionary *dictionary, ovx_string_t text,
                                             ovx_token_t *out)
{
    return fr_dictionary_token_intern(dictionary, text, out);
}

bool dictionary_path_known(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    return fr_dictionary_path_known(dictionary, path);
}

ovx_string_t dictionary_path_text(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    return fr_dictionary_path_text(dictionary, path);
}

ovx_primpath_t dictionary_path_parent(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    return fr_dictionary_path_parent(dictionary, path);
}

ovx_primpath_t dictionary_path_child(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    return fr_dictionary_path_child(dictionary, path);
}

ovx_primpath_t dictionary_path_sibling(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    return fr_dictionary_path_sibling(dictionary, path);
}

ovx_primpath_t dictionary_path_next(const fr_dictionary *dictionary, ovx_primpath_t root,
                                    ovx_primpath_t path)
{
    return fr_dictionary_path_next(dictionary, root, path);
}

uint32_t dictionary_path_depth(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    return fr_dictionary_path_depth(dictionary, path);
}

ovx_token_t dictionary_path_name(const fr_dictionary *dictionary, ovx_primpath_t path)
{
    return fr_dictionary_path_name(dictionary, path);
}

const dictionary_list *dictionary_list_acquire(fr_dictionary *dictionary,
                                               ovx_primpath_list_t handle)
{
    return (const dictionary_list *)(const void *)fr_dictionary_list_acquire(dictionary, handle);
}

void dictionary_list_release(const dictionary_list *list)
{
    fr_dictionary_list_release(list_of(list));
}

ovstage_api_status_t dictionary_list_create(fr_dictionary *dictionary, const ovx_primpath_t *paths,
                                            size_t count, const dictionary_list **out)
{
    const fr_path_list *list = NULL;
    const ovstage_api_status_t status =
        fr_dictionary_list_create_from_paths(dictionary, paths, count, &list);
    *out = (const dictionary_list *)(const void *)list;
    return status;
}

ovstage_api_status_t dictionary_list_share(fr_dictionary *dictionary, const dictionary_list *list,
                                           const dictionary_list **out)
{
    const fr_path_list *shared = NULL;
    const ovstage_api_status_t status =
        fr_dictionary_list_share(dictionary, list_of(list), &shared);
    *out = (const dictionary_list *)(const void *)shared;
    return status;
}

ovx_primpath_list_t dictionary_list_handle(const dictionary_list *list)
{
    return list_of(list)->handle;
}

size_t dictionary_list_count(const dictionary_list *list)
{
    return list_of(list)->count;
}

const ovx_primpath_t *dictionary_list_paths(const dictionary_list *list)
{
    return list_of(list)->paths;
}

void dictionary_limit(fr_dictionary *dictionary, uint32_t more_tokens, uint32_t more_paths,
                      uint32_t more_lists)
{
    fr_intern *tokens = &dictionary->paths.tokens, *paths = &dictionary->paths.paths;
    tokens->limit = fr_chunks_count(&tokens->entries) + more_tokens;
    paths->limit = fr_chunks_count(&paths->entries) + more_paths;
    dictionary->lists.limit = fr_chunks_count(&dictionary->lists.slots) + more_lists;
}

void dictionary_wear_out(fr_dictionary *dictionary, ovx_primpath_list_t handle)
{
    const uint32_t index = (uint32_t)(handle & ((1u << FR_LIST_INDEX_BITS) - 1));
    fr_list_slot *slot = (fr_list_slot *)fr_chunks_at(&dictionary->lists.slots, index);
    fr_store_relaxed(&slot->word, (FR_LIST_GENERATION_MAX - 1) << FR_LIST_REFERENCE_BITS);
}

uint64_t dictionary_generation_of(ovx_primpath_list_t handle)
{
    return handle >> FR_LIST_INDEX_BITS;
}

uint32_t dictionary_hash(const char *text, size_t length)
{
    return fr_hash_text(text, length);
}
