/* One inline function per slot of the dictionary's table, with the object in place of the context.
 * The slots are explained in path_dictionary_vtable.h. `dictionary` must not be NULL. */
#ifndef PATH_DICTIONARY_UTILS_H
#define PATH_DICTIONARY_UTILS_H

#include "path_dictionary_vtable.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline ovx_api_result_t path_dictionary_create_tokens_from_strings(
    path_dictionary_instance_t *dictionary, const ovx_string_t *strings, size_t n, ovx_token_t *out)
{
    return dictionary->vtable->create_tokens_from_strings(dictionary->context, strings, n, out);
}

static inline ovx_api_result_t path_dictionary_create_paths_from_tokens(
    path_dictionary_instance_t *dictionary, const ovx_token_t *concatenated,
    const size_t *tokens_per_path, size_t num_paths, ovx_primpath_t *out)
{
    return dictionary->vtable->create_paths_from_tokens(dictionary->context, concatenated,
                                                        tokens_per_path, num_paths, out);
}

static inline ovx_api_result_t path_dictionary_create_paths_from_strings(
    path_dictionary_instance_t *dictionary, const ovx_string_t *strings, size_t n,
    ovx_primpath_t *out)
{
    return dictionary->vtable->create_paths_from_strings(dictionary->context, strings, n, out);
}

static inline ovx_api_result_t path_dictionary_create_path_list_from_paths(
    path_dictionary_instance_t *dictionary, const ovx_primpath_t *paths, size_t n,
    ovx_primpath_list_t *out)
{
    return dictionary->vtable->create_path_list_from_paths(dictionary->context, paths, n, out);
}

static inline ovx_api_result_t path_dictionary_create_path_list_from_strings(
    path_dictionary_instance_t *dictionary, const ovx_string_t *strings, size_t n,
    ovx_primpath_list_t *out)
{
    return dictionary->vtable->create_path_list_from_strings(dictionary->context, strings, n, out);
}

static inline ovx_api_result_t path_dictionary_add_path_list_reference(
    path_dictionary_instance_t *dictionary, ovx_primpath_list_t list)
{
    return dictionary->vtable->add_path_list_reference(dictionary->context, list);
}

static inline ovx_api_result_t path_dictionary_release_path_list_reference(
    path_dictionary_instance_t *dictionary, ovx_primpath_list_t list)
{
    return dictionary->vtable->release_path_list_reference(dictionary->context, list);
}

static inline ovx_api_result_t path_dictionary_get_strings_from_tokens(
    path_dictionary_instance_t *dictionary, const ovx_token_t *tokens, size_t n, ovx_string_t *out)
{
    return dictionary->vtable->get_strings_from_tokens(dictionary->context, tokens, n, out);
}

static inline ovx_api_result_t path_dictionary_get_tokens_from_paths(
    path_dictionary_instance_t *dictionary, const ovx_primpath_t *paths, size_t num_paths,
    ovx_token_t *buffer, size_t buffer_size, ovx_token_t **out_tokens_per_path,
    size_t *out_num_tokens_per_path, size_t *out_num_paths_processed)
{
    return dictionary->vtable->get_tokens_from_paths(
        dictionary->context, paths, num_paths, buffer, buffer_size, out_tokens_per_path,
        out_num_tokens_per_path, out_num_paths_processed);
}

static inline ovx_api_result_t path_dictionary_get_num_paths_from_path_list(
    path_dictionary_instance_t *dictionary, ovx_primpath_list_t list, size_t *out)
{
    return dictionary->vtable->get_num_paths_from_path_list(dictionary->context, list, out);
}

static inline ovx_api_result_t path_dictionary_get_paths_from_path_list(
    path_dictionary_instance_t *dictionary, ovx_primpath_list_t list, size_t start_offset,
    size_t max_paths, ovx_primpath_t *out, size_t *out_num)
{
    return dictionary->vtable->get_paths_from_path_list(dictionary->context, list, start_offset,
                                                        max_paths, out, out_num);
}

static inline void path_dictionary_release_error(path_dictionary_instance_t *dictionary,
                                                 ovx_string_t error)
{
    dictionary->vtable->release_error(dictionary->context, error);
}

#ifdef __cplusplus
}
#endif

#endif
