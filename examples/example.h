/* What the short examples share: names become handles, and whatever fails ends the program with its
 * text. */
#ifndef EXAMPLES_EXAMPLE_H
#define EXAMPLES_EXAMPLE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <ovstage/ovstage.h>
#include <ovx/path_dictionary/path_dictionary.h>

static inline void example_must(bool holds, const char *what)
{
    ovx_string_t text = ovstage_get_last_error();
    if (holds)
        return;
    fprintf(stderr, "%s: %.*s\n", what, (int)text.length, text.ptr ? text.ptr : "");
    exit(1);
}

/* The id of an op that was accepted. */
static inline ovstage_op_id_t example_accepted(ovstage_enqueue_result_t result, const char *what)
{
    example_must(result.status == OVSTAGE_OK, what);
    return result.op_index;
}

/* Waits for an op, and for what it depends on; gives its id back. */
static inline void example_finish(ovstage_instance_t *stage, ovstage_op_id_t op)
{
    ovstage_op_wait_result_t waited = {0};
    example_must(ovstage_wait_op(stage, op, OVSTAGE_TIMEOUT_INFINITE, &waited) == OVSTAGE_OK,
                 "wait_op");
    for (size_t i = 0; i < waited.error_op_id_count; i++) {
        ovx_string_t text = ovstage_get_last_op_error(stage, waited.error_op_ids[i]);
        fprintf(stderr, "op %#llx: %.*s\n", (unsigned long long)waited.error_op_ids[i],
                (int)text.length, text.ptr ? text.ptr : "");
    }
    if (waited.error_op_id_count > 0)
        exit(1);
    example_must(ovstage_release_op(stage, op) == OVSTAGE_OK, "release_op");
}

/* Lets go of an op's id: nobody will ask for it, and one that is kept costs some bytes. Releases of
 * reads, queries and lookups are ops too. */
static inline void example_forget(ovstage_instance_t *stage, ovstage_enqueue_result_t result)
{
    ovstage_op_id_t op = example_accepted(result, "an op");
    example_must(ovstage_release_op(stage, op) == OVSTAGE_OK, "release_op");
}

static inline ovx_token_t example_token(ovstage_instance_t *stage, ovx_string_t text)
{
    ovx_token_t token = OVX_INVALID_TOKEN;
    example_must(path_dictionary_create_tokens_from_strings(ovstage_get_path_dictionary(stage),
                                                            &text, 1, &token)
                         .status == OVX_API_SUCCESS,
                 "create_tokens_from_strings");
    return token;
}

/* The prims of these paths, whether they exist or not; at most UINT32_MAX. */
static inline ovstage_query_handle_t example_query(ovstage_instance_t *stage,
                                                   const ovx_string_t *paths, size_t count)
{
    path_dictionary_instance_t *dictionary = ovstage_get_path_dictionary(stage);
    ovx_primpath_list_t list = OVX_INVALID_PRIMPATH_LIST;
    ovstage_query_handle_t query = OVSTAGE_INVALID_QUERY_HANDLE;
    example_must(
        path_dictionary_create_path_list_from_strings(dictionary, paths, count, &list).status ==
                OVX_API_SUCCESS &&
            ovstage_query_from_path_list(stage, list, &query) == OVSTAGE_OK,
        "query_from_path_list");
    (void)path_dictionary_release_path_list_reference(dictionary, list); /* the query has its own */
    return query;
}

/* The text of local prim i of what a read or a map names, in buffer. */
static inline const char *example_path(ovstage_instance_t *stage, const ovstage_prim_group_t *prims,
                                       uint32_t i, char *buffer, size_t buffer_size)
{
    path_dictionary_instance_t *dictionary = ovstage_get_path_dictionary(stage);
    ovx_primpath_t path = OVX_INVALID_PRIMPATH;
    ovx_token_t tokens[16], *path_tokens = NULL;
    ovx_string_t names[16];
    size_t got = 0, count = 0, used = 0;
    size_t index = prims->index_map ? prims->index_map[i] : prims->offset + i;
    example_must(
        path_dictionary_get_paths_from_path_list(dictionary, prims->list, index, 1, &path, &got)
                    .status == OVX_API_SUCCESS &&
            path_dictionary_get_tokens_from_paths(dictionary, &path, 1, tokens, 16, &path_tokens,
                                                  &count, &got)
                    .status == OVX_API_SUCCESS &&
            got == 1 &&
            path_dictionary_get_strings_from_tokens(dictionary, path_tokens, count, names).status ==
                OVX_API_SUCCESS,
        "the text of a path");
    buffer[0] = '\0';
    for (size_t n = 0; n < count && used < buffer_size; n++)
        used += (size_t)snprintf(buffer + used, buffer_size - used, "/%.*s", (int)names[n].length,
                                 names[n].ptr);
    return buffer;
}

/* Writes rows of `lanes` floats each, one for each prim of the query. They must live until the
 * write is complete. */
static inline ovstage_op_id_t example_write(ovstage_instance_t *stage, ovstage_query_handle_t query,
                                            ovx_token_t attribute, ovstage_ordinal_t ordinal,
                                            float *values, int64_t rows, uint16_t lanes)
{
    DLTensor tensor = {values, {kDLCPU, 0}, 1, {kDLFloat, 32, lanes}, &rows, NULL, 0};
    ovstage_write_data_t data = {.tensors = &tensor, .tensor_count = 1};
    return example_accepted(ovstage_write_attribute(stage, query,
                                                    (ovx_string_or_token_t){.token = attribute},
                                                    ordinal, data, OVSTAGE_PRIM_MODE_UPSERT),
                            "write_attribute");
}

static inline ovstage_op_id_t example_seal(ovstage_instance_t *stage, ovstage_ordinal_t ordinal)
{
    ovstage_write_floor_desc_t floor = {.ordinal = ordinal, .scope = OVSTAGE_SCOPE_ALL};
    return example_accepted(ovstage_advance_write_floor(stage, &floor), "advance_write_floor");
}

#endif
