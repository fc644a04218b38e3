/* Tables of fakes with the exact signature of each slot, and a call through each inline function:
 * an argument that is swapped, dropped or sent to another slot changes what the fake saw. */
#include "tests/unit/abi_cases.h"

static uint64_t seen; /* digest of the last call: slot, context, arguments in order */

static uint64_t digest(const uint64_t *values, size_t n)
{
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ values[i]) * 1099511628211u;
    return sum;
}

/* Slot, context, arguments. */
#define DIGEST(...) \
    digest((const uint64_t[]){__VA_ARGS__}, \
           sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static char place[16]; /* addresses to tell pointers apart; nothing is read through them */
static path_dictionary_instance_t dictionary;

static ovstage_api_status_t fake_wait_op(ovstage_context_t *context, ovstage_op_id_t op_id,
                                         ovstage_timeout_ns_t timeout,
                                         ovstage_op_wait_result_t *out)
{
    seen = DIGEST(0, (uintptr_t)context, (uint64_t)op_id, (uint64_t)timeout, (uintptr_t)out);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static ovstage_api_status_t fake_release_op(ovstage_context_t *context, ovstage_op_id_t op_id)
{
    seen = DIGEST(1, (uintptr_t)context, (uint64_t)op_id);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static ovstage_enqueue_result_t fake_advance_write_floor(ovstage_context_t *context,
                                                         const ovstage_write_floor_desc_t *desc)
{
    seen = DIGEST(2, (uintptr_t)context, (uintptr_t)desc);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_enqueue_result_t fake_get_oldest_preserved_ordinal(
    ovstage_context_t *context, ovstage_ordinal_query_handle_t *out)
{
    seen = DIGEST(3, (uintptr_t)context, (uintptr_t)out);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_enqueue_result_t fake_get_attribute_write_floor(ovstage_context_t *context,
                                                               ovx_string_or_token_t attribute,
                                                               ovstage_ordinal_query_handle_t *out)
{
    seen = DIGEST(4, (uintptr_t)context, attribute.token, (uintptr_t)out);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_api_status_t fake_fetch_ordinal(ovstage_context_t *context,
                                               ovstage_ordinal_query_handle_t handle,
                                               ovstage_timeout_ns_t timeout, ovstage_ordinal_t *out)
{
    seen = DIGEST(5, (uintptr_t)context, (uint64_t)handle, (uint64_t)timeout, (uintptr_t)out);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static ovstage_enqueue_result_t fake_release_ordinal_query(ovstage_context_t *context,
                                                           ovstage_ordinal_query_handle_t handle)
{
    seen = DIGEST(6, (uintptr_t)context, (uint64_t)handle);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_enqueue_result_t fake_query(ovstage_context_t *context,
                                           const ovstage_filter_t *filter, const ovx_token_t *attrs,
                                           size_t n, ovstage_query_handle_t *out)
{
    seen = DIGEST(7, (uintptr_t)context, (uintptr_t)filter, (uintptr_t)attrs, (uint64_t)n,
                  (uintptr_t)out);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_api_status_t fake_query_from_path_list(ovstage_context_t *context,
                                                      ovx_primpath_list_t list,
                                                      ovstage_query_handle_t *out)
{
    seen = DIGEST(8, (uintptr_t)context, (uint64_t)list, (uintptr_t)out);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static ovstage_api_status_t fake_fetch_query_result(ovstage_context_t *context,
                                                    ovstage_query_handle_t query,
                                                    ovstage_timeout_ns_t timeout,
                                                    ovstage_query_result_t *out)
{
    seen = DIGEST(9, (uintptr_t)context, (uint64_t)query, (uint64_t)timeout, (uintptr_t)out);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static ovstage_api_status_t fake_release_query_result(ovstage_context_t *context,
                                                      const ovstage_query_result_t *result)
{
    seen = DIGEST(10, (uintptr_t)context, (uintptr_t)result);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static ovstage_enqueue_result_t fake_release_query(ovstage_context_t *context,
                                                   ovstage_query_handle_t query)
{
    seen = DIGEST(11, (uintptr_t)context, (uint64_t)query);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_enqueue_result_t fake_read_attributes(ovstage_context_t *context,
                                                     ovstage_query_handle_t query,
                                                     const ovx_token_t *attrs, size_t n,
                                                     ovstage_ordinal_range_t range,
                                                     ovstage_read_handle_t *out)
{
    seen = DIGEST(12, (uintptr_t)context, (uint64_t)query, (uintptr_t)attrs, (uint64_t)n,
                  range.end_ordinal, (uintptr_t)out);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_api_status_t fake_fetch_read_next(ovstage_context_t *context,
                                                 ovstage_read_handle_t read,
                                                 ovstage_timeout_ns_t timeout,
                                                 ovstage_read_group_t *out)
{
    seen = DIGEST(13, (uintptr_t)context, (uint64_t)read, (uint64_t)timeout, (uintptr_t)out);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static ovstage_api_status_t fake_release_group(ovstage_context_t *context,
                                               const ovstage_read_group_t *group)
{
    seen = DIGEST(14, (uintptr_t)context, (uintptr_t)group);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static ovstage_enqueue_result_t fake_release_read(ovstage_context_t *context,
                                                  ovstage_read_handle_t read)
{
    seen = DIGEST(15, (uintptr_t)context, (uint64_t)read);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_enqueue_result_t fake_write_attribute(
    ovstage_context_t *context, ovstage_query_handle_t query, ovx_string_or_token_t attribute,
    ovstage_ordinal_t ordinal, ovstage_write_data_t data, ovstage_prim_mode_t mode)
{
    seen = DIGEST(16, (uintptr_t)context, (uint64_t)query, attribute.token, (uint64_t)ordinal,
                  data.tensor_count, (uint64_t)mode);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_enqueue_result_t fake_map_attribute(ovstage_context_t *context,
                                                   ovstage_query_handle_t query,
                                                   const ovstage_map_desc_t *desc,
                                                   ovstage_ordinal_t ordinal, const size_t *sizes,
                                                   size_t n, ovstage_map_handle_t *out)
{
    seen = DIGEST(17, (uintptr_t)context, (uint64_t)query, (uintptr_t)desc, (uint64_t)ordinal,
                  (uintptr_t)sizes, (uint64_t)n, (uintptr_t)out);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_api_status_t fake_fetch_map_next(ovstage_context_t *context,
                                                ovstage_map_handle_t map,
                                                ovstage_timeout_ns_t timeout,
                                                ovstage_map_group_t *out)
{
    seen = DIGEST(18, (uintptr_t)context, (uint64_t)map, (uint64_t)timeout, (uintptr_t)out);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static ovstage_enqueue_result_t fake_unmap_group(ovstage_context_t *context,
                                                 ovstage_map_handle_t map,
                                                 const ovstage_map_group_t *group,
                                                 ovstage_cuda_sync_t done)
{
    seen = DIGEST(19, (uintptr_t)context, (uint64_t)map, (uintptr_t)group, done.wait_event);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_enqueue_result_t fake_unmap_attribute(ovstage_context_t *context,
                                                     ovstage_map_handle_t map,
                                                     ovstage_cuda_sync_t done)
{
    seen = DIGEST(20, (uintptr_t)context, (uint64_t)map, done.wait_event);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_enqueue_result_t fake_delete_attributes(ovstage_context_t *context,
                                                       ovstage_query_handle_t query,
                                                       const ovx_string_or_token_t *attrs, size_t n,
                                                       ovstage_ordinal_t ordinal)
{
    seen = DIGEST(21, (uintptr_t)context, (uint64_t)query, (uintptr_t)attrs, (uint64_t)n,
                  (uint64_t)ordinal);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static void fake_get_version(ovstage_context_t *context, uint32_t *major, uint32_t *minor,
                             uint32_t *patch)
{
    seen = DIGEST(22, (uintptr_t)context, (uintptr_t)major, (uintptr_t)minor, (uintptr_t)patch);
}

static const char *fake_get_error_string(ovstage_context_t *context, ovstage_api_status_t status)
{
    seen = DIGEST(23, (uintptr_t)context, (uint64_t)status);
    return "text";
}

static ovx_string_t fake_get_last_op_error(ovstage_context_t *context, ovstage_op_id_t op_id)
{
    seen = DIGEST(24, (uintptr_t)context, (uint64_t)op_id);
    return (ovx_string_t){"err", 3};
}

static path_dictionary_instance_t *fake_get_path_dictionary(ovstage_context_t *context)
{
    seen = DIGEST(25, (uintptr_t)context);
    return &dictionary;
}

static ovstage_enqueue_result_t fake_write_attributes(ovstage_context_t *context,
                                                      ovstage_query_handle_t query,
                                                      const ovstage_attribute_write_t *writes,
                                                      size_t n, ovstage_ordinal_t ordinal,
                                                      ovstage_prim_mode_t mode)
{
    seen = DIGEST(26, (uintptr_t)context, (uint64_t)query, (uintptr_t)writes, (uint64_t)n,
                  (uint64_t)ordinal, (uint64_t)mode);
    return (ovstage_enqueue_result_t){OVSTAGE_ERROR_QUEUE_FULL, 77};
}

static ovstage_api_status_t fake_query_extension(ovstage_context_t *context, const char *name,
                                                 const void **out)
{
    seen = DIGEST(27, (uintptr_t)context, (uintptr_t)name, (uintptr_t)out);
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

static const ovstage_vtable_t table = {
    .wait_op = fake_wait_op,
    .release_op = fake_release_op,
    .advance_write_floor = fake_advance_write_floor,
    .get_oldest_preserved_ordinal = fake_get_oldest_preserved_ordinal,
    .get_attribute_write_floor = fake_get_attribute_write_floor,
    .fetch_ordinal = fake_fetch_ordinal,
    .release_ordinal_query = fake_release_ordinal_query,
    .query = fake_query,
    .query_from_path_list = fake_query_from_path_list,
    .fetch_query_result = fake_fetch_query_result,
    .release_query_result = fake_release_query_result,
    .release_query = fake_release_query,
    .read_attributes = fake_read_attributes,
    .fetch_read_next = fake_fetch_read_next,
    .release_group = fake_release_group,
    .release_read = fake_release_read,
    .write_attribute = fake_write_attribute,
    .map_attribute = fake_map_attribute,
    .fetch_map_next = fake_fetch_map_next,
    .unmap_group = fake_unmap_group,
    .unmap_attribute = fake_unmap_attribute,
    .delete_attributes = fake_delete_attributes,
    .get_version = fake_get_version,
    .get_error_string = fake_get_error_string,
    .get_last_op_error = fake_get_last_op_error,
    .get_path_dictionary = fake_get_path_dictionary,
    .write_attributes = fake_write_attributes,
    .query_extension = fake_query_extension,
};

static ovx_api_result_t fake_dictionary_create_tokens_from_strings(
    path_dictionary_context_t *context, const ovx_string_t *strings, size_t n, ovx_token_t *out)
{
    seen = DIGEST(0, (uintptr_t)context, (uintptr_t)strings, (uint64_t)n, (uintptr_t)out);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_create_paths_from_tokens(path_dictionary_context_t *context,
                                                                 const ovx_token_t *tokens,
                                                                 const size_t *counts, size_t n,
                                                                 ovx_primpath_t *out)
{
    seen = DIGEST(1, (uintptr_t)context, (uintptr_t)tokens, (uintptr_t)counts, (uint64_t)n,
                  (uintptr_t)out);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_create_paths_from_strings(
    path_dictionary_context_t *context, const ovx_string_t *strings, size_t n, ovx_primpath_t *out)
{
    seen = DIGEST(2, (uintptr_t)context, (uintptr_t)strings, (uint64_t)n, (uintptr_t)out);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_create_path_list_from_paths(
    path_dictionary_context_t *context, const ovx_primpath_t *paths, size_t n,
    ovx_primpath_list_t *out)
{
    seen = DIGEST(3, (uintptr_t)context, (uintptr_t)paths, (uint64_t)n, (uintptr_t)out);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_create_path_list_from_strings(
    path_dictionary_context_t *context, const ovx_string_t *strings, size_t n,
    ovx_primpath_list_t *out)
{
    seen = DIGEST(4, (uintptr_t)context, (uintptr_t)strings, (uint64_t)n, (uintptr_t)out);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_add_path_list_reference(path_dictionary_context_t *context,
                                                                ovx_primpath_list_t list)
{
    seen = DIGEST(5, (uintptr_t)context, (uint64_t)list);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_release_path_list_reference(
    path_dictionary_context_t *context, ovx_primpath_list_t list)
{
    seen = DIGEST(6, (uintptr_t)context, (uint64_t)list);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_get_strings_from_tokens(path_dictionary_context_t *context,
                                                                const ovx_token_t *tokens, size_t n,
                                                                ovx_string_t *out)
{
    seen = DIGEST(7, (uintptr_t)context, (uintptr_t)tokens, (uint64_t)n, (uintptr_t)out);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_get_tokens_from_paths(path_dictionary_context_t *context,
                                                              const ovx_primpath_t *paths, size_t n,
                                                              ovx_token_t *buffer, size_t size,
                                                              ovx_token_t **starts, size_t *counts,
                                                              size_t *out)
{
    seen = DIGEST(8, (uintptr_t)context, (uintptr_t)paths, (uint64_t)n, (uintptr_t)buffer,
                  (uint64_t)size, (uintptr_t)starts, (uintptr_t)counts, (uintptr_t)out);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_get_num_paths_from_path_list(
    path_dictionary_context_t *context, ovx_primpath_list_t list, size_t *out)
{
    seen = DIGEST(9, (uintptr_t)context, (uint64_t)list, (uintptr_t)out);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static ovx_api_result_t fake_dictionary_get_paths_from_path_list(path_dictionary_context_t *context,
                                                                 ovx_primpath_list_t list,
                                                                 size_t start, size_t n,
                                                                 ovx_primpath_t *out, size_t *out_n)
{
    seen = DIGEST(10, (uintptr_t)context, (uint64_t)list, (uint64_t)start, (uint64_t)n,
                  (uintptr_t)out, (uintptr_t)out_n);
    return (ovx_api_result_t){OVX_API_ERROR, {"err", 3}};
}

static void fake_dictionary_release_error(path_dictionary_context_t *context, ovx_string_t error)
{
    seen = DIGEST(11, (uintptr_t)context, error.length);
}

static path_dictionary_vtable_t dictionary_table = {
    .create_tokens_from_strings = fake_dictionary_create_tokens_from_strings,
    .create_paths_from_tokens = fake_dictionary_create_paths_from_tokens,
    .create_paths_from_strings = fake_dictionary_create_paths_from_strings,
    .create_path_list_from_paths = fake_dictionary_create_path_list_from_paths,
    .create_path_list_from_strings = fake_dictionary_create_path_list_from_strings,
    .add_path_list_reference = fake_dictionary_add_path_list_reference,
    .release_path_list_reference = fake_dictionary_release_path_list_reference,
    .get_strings_from_tokens = fake_dictionary_get_strings_from_tokens,
    .get_tokens_from_paths = fake_dictionary_get_tokens_from_paths,
    .get_num_paths_from_path_list = fake_dictionary_get_num_paths_from_path_list,
    .get_paths_from_path_list = fake_dictionary_get_paths_from_path_list,
    .release_error = fake_dictionary_release_error,
};

static ovstage_instance_t instance = {&table, (ovstage_context_t *)(void *)(place + 15)};

static bool stage_calls_0(void)
{
    const ovx_string_or_token_t attribute = {31, {NULL, 0}};
    bool held = true;
    held = held &&
           ovstage_wait_op(&instance, 40, 41, (void *)(place + 2)) == OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(0, (uintptr_t)instance.context, 40, 41, (uintptr_t)(place + 2));
    held = held && ovstage_release_op(&instance, 40) == OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(1, (uintptr_t)instance.context, 40);
    held = held && ovstage_advance_write_floor(&instance, (void *)(place + 0)).op_index == 77 &&
           seen == DIGEST(2, (uintptr_t)instance.context, (uintptr_t)(place + 0));
    held = held &&
           ovstage_get_oldest_preserved_ordinal(&instance, (void *)(place + 0)).op_index == 77 &&
           seen == DIGEST(3, (uintptr_t)instance.context, (uintptr_t)(place + 0));
    held = held &&
           ovstage_get_attribute_write_floor(&instance, attribute, (void *)(place + 1)).op_index ==
               77 &&
           seen == DIGEST(4, (uintptr_t)instance.context, 31, (uintptr_t)(place + 1));
    held = held &&
           ovstage_fetch_ordinal(&instance, 40, 41, (void *)(place + 2)) ==
               OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(5, (uintptr_t)instance.context, 40, 41, (uintptr_t)(place + 2));
    held = held && ovstage_release_ordinal_query(&instance, 40).op_index == 77 &&
           seen == DIGEST(6, (uintptr_t)instance.context, 40);
    held =
        held &&
        ovstage_query(&instance, (void *)(place + 0), (void *)(place + 1), 42, (void *)(place + 3))
                .op_index == 77 &&
        seen == DIGEST(7, (uintptr_t)instance.context, (uintptr_t)(place + 0),
                       (uintptr_t)(place + 1), 42, (uintptr_t)(place + 3));
    held = held &&
           ovstage_query_from_path_list(&instance, 40, (void *)(place + 1)) ==
               OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(8, (uintptr_t)instance.context, 40, (uintptr_t)(place + 1));
    held = held &&
           ovstage_fetch_query_result(&instance, 40, 41, (void *)(place + 2)) ==
               OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(9, (uintptr_t)instance.context, 40, 41, (uintptr_t)(place + 2));
    return held;
}

static bool stage_calls_1(void)
{
    const ovx_string_or_token_t attribute = {31, {NULL, 0}};
    const ovstage_ordinal_range_t range = {0, 32, false};
    const ovstage_write_data_t data = {.tensor_count = 33};
    const ovstage_cuda_sync_t sync = {0, 34};
    bool held = true;
    held = held &&
           ovstage_release_query_result(&instance, (void *)(place + 0)) ==
               OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(10, (uintptr_t)instance.context, (uintptr_t)(place + 0));
    held = held && ovstage_release_query(&instance, 40).op_index == 77 &&
           seen == DIGEST(11, (uintptr_t)instance.context, 40);
    held =
        held &&
        ovstage_read_attributes(&instance, 40, (void *)(place + 1), 42, range, (void *)(place + 4))
                .op_index == 77 &&
        seen == DIGEST(12, (uintptr_t)instance.context, 40, (uintptr_t)(place + 1), 42, 32,
                       (uintptr_t)(place + 4));
    held = held &&
           ovstage_fetch_read_next(&instance, 40, 41, (void *)(place + 2)) ==
               OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(13, (uintptr_t)instance.context, 40, 41, (uintptr_t)(place + 2));
    held = held &&
           ovstage_release_group(&instance, (void *)(place + 0)) == OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(14, (uintptr_t)instance.context, (uintptr_t)(place + 0));
    held = held && ovstage_release_read(&instance, 40).op_index == 77 &&
           seen == DIGEST(15, (uintptr_t)instance.context, 40);
    held = held &&
           ovstage_write_attribute(&instance, 40, attribute, 42, data, OVSTAGE_PRIM_MODE_INSERT)
                   .op_index == 77 &&
           seen == DIGEST(16, (uintptr_t)instance.context, 40, 31, 42, 33, 1);
    held = held &&
           ovstage_map_attribute(&instance, 40, (void *)(place + 1), 42, (void *)(place + 3), 44,
                                 (void *)(place + 5))
                   .op_index == 77 &&
           seen == DIGEST(17, (uintptr_t)instance.context, 40, (uintptr_t)(place + 1), 42,
                          (uintptr_t)(place + 3), 44, (uintptr_t)(place + 5));
    held = held &&
           ovstage_fetch_map_next(&instance, 40, 41, (void *)(place + 2)) ==
               OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(18, (uintptr_t)instance.context, 40, 41, (uintptr_t)(place + 2));
    held = held && ovstage_unmap_group(&instance, 40, (void *)(place + 1), sync).op_index == 77 &&
           seen == DIGEST(19, (uintptr_t)instance.context, 40, (uintptr_t)(place + 1), 34);
    return held;
}

static bool stage_calls_2(void)
{
    const ovstage_cuda_sync_t sync = {0, 34};
    bool held = true;
    held = held && ovstage_unmap_attribute(&instance, 40, sync).op_index == 77 &&
           seen == DIGEST(20, (uintptr_t)instance.context, 40, 34);
    held = held &&
           ovstage_delete_attributes(&instance, 40, (void *)(place + 1), 42, 43).op_index == 77 &&
           seen == DIGEST(21, (uintptr_t)instance.context, 40, (uintptr_t)(place + 1), 42, 43);
    ovstage_get_version(&instance, (void *)(place + 0), (void *)(place + 1), (void *)(place + 2));
    held = held && seen == DIGEST(22, (uintptr_t)instance.context, (uintptr_t)(place + 0),
                                  (uintptr_t)(place + 1), (uintptr_t)(place + 2));
    held = held && ovstage_get_error_string(&instance, OVSTAGE_ERROR_TIMEOUT) != NULL &&
           seen == DIGEST(23, (uintptr_t)instance.context, 11);
    held = held && ovstage_get_last_op_error(&instance, 40).length == 3 &&
           seen == DIGEST(24, (uintptr_t)instance.context, 40);
    held = held && ovstage_get_path_dictionary(&instance) == &dictionary &&
           seen == DIGEST(25, (uintptr_t)instance.context);
    held = held &&
           ovstage_write_attributes(&instance, 40, (void *)(place + 1), 42, 43,
                                    OVSTAGE_PRIM_MODE_INSERT)
                   .op_index == 77 &&
           seen == DIGEST(26, (uintptr_t)instance.context, 40, (uintptr_t)(place + 1), 42, 43, 1);
    held = held &&
           ovstage_query_extension(&instance, (void *)(place + 0), (void *)(place + 1)) ==
               OVSTAGE_ERROR_OUT_OF_RANGE &&
           seen == DIGEST(27, (uintptr_t)instance.context, (uintptr_t)(place + 0),
                          (uintptr_t)(place + 1));
    return held;
}

static bool dictionary_calls_0(void)
{
    bool held = true;
    held = held &&
           path_dictionary_create_tokens_from_strings(&dictionary, (void *)(place + 0), 41,
                                                      (void *)(place + 2))
                   .error.length == 3 &&
           seen == DIGEST(0, (uintptr_t)dictionary.context, (uintptr_t)(place + 0), 41,
                          (uintptr_t)(place + 2));
    held = held &&
           path_dictionary_create_paths_from_tokens(&dictionary, (void *)(place + 0),
                                                    (void *)(place + 1), 42, (void *)(place + 3))
                   .error.length == 3 &&
           seen == DIGEST(1, (uintptr_t)dictionary.context, (uintptr_t)(place + 0),
                          (uintptr_t)(place + 1), 42, (uintptr_t)(place + 3));
    held = held &&
           path_dictionary_create_paths_from_strings(&dictionary, (void *)(place + 0), 41,
                                                     (void *)(place + 2))
                   .error.length == 3 &&
           seen == DIGEST(2, (uintptr_t)dictionary.context, (uintptr_t)(place + 0), 41,
                          (uintptr_t)(place + 2));
    held = held &&
           path_dictionary_create_path_list_from_paths(&dictionary, (void *)(place + 0), 41,
                                                       (void *)(place + 2))
                   .error.length == 3 &&
           seen == DIGEST(3, (uintptr_t)dictionary.context, (uintptr_t)(place + 0), 41,
                          (uintptr_t)(place + 2));
    held = held &&
           path_dictionary_create_path_list_from_strings(&dictionary, (void *)(place + 0), 41,
                                                         (void *)(place + 2))
                   .error.length == 3 &&
           seen == DIGEST(4, (uintptr_t)dictionary.context, (uintptr_t)(place + 0), 41,
                          (uintptr_t)(place + 2));
    held = held && path_dictionary_add_path_list_reference(&dictionary, 40).error.length == 3 &&
           seen == DIGEST(5, (uintptr_t)dictionary.context, 40);
    held = held && path_dictionary_release_path_list_reference(&dictionary, 40).error.length == 3 &&
           seen == DIGEST(6, (uintptr_t)dictionary.context, 40);
    held = held &&
           path_dictionary_get_strings_from_tokens(&dictionary, (void *)(place + 0), 41,
                                                   (void *)(place + 2))
                   .error.length == 3 &&
           seen == DIGEST(7, (uintptr_t)dictionary.context, (uintptr_t)(place + 0), 41,
                          (uintptr_t)(place + 2));
    held = held &&
           path_dictionary_get_tokens_from_paths(&dictionary, (void *)(place + 0), 41,
                                                 (void *)(place + 2), 43, (void *)(place + 4),
                                                 (void *)(place + 5), (void *)(place + 6))
                   .error.length == 3 &&
           seen == DIGEST(8, (uintptr_t)dictionary.context, (uintptr_t)(place + 0), 41,
                          (uintptr_t)(place + 2), 43, (uintptr_t)(place + 4),
                          (uintptr_t)(place + 5), (uintptr_t)(place + 6));
    held = held &&
           path_dictionary_get_num_paths_from_path_list(&dictionary, 40, (void *)(place + 1))
                   .error.length == 3 &&
           seen == DIGEST(9, (uintptr_t)dictionary.context, 40, (uintptr_t)(place + 1));
    return held;
}

static bool dictionary_calls_1(void)
{
    const ovx_string_t text = {NULL, 35};
    bool held = true;
    held = held &&
           path_dictionary_get_paths_from_path_list(&dictionary, 40, 41, 42, (void *)(place + 3),
                                                    (void *)(place + 4))
                   .error.length == 3 &&
           seen == DIGEST(10, (uintptr_t)dictionary.context, 40, 41, 42, (uintptr_t)(place + 3),
                          (uintptr_t)(place + 4));
    path_dictionary_release_error(&dictionary, text);
    held = held && seen == DIGEST(11, (uintptr_t)dictionary.context, 35);
    return held;
}

int abi_wrappers_call_their_slots(void)
{
    dictionary.vtable = &dictionary_table;
    dictionary.context = (path_dictionary_context_t *)(void *)(place + 14);
    return stage_calls_0() && stage_calls_1() && stage_calls_2() && dictionary_calls_0() &&
           dictionary_calls_1() && ovstage_get_path_dictionary(NULL) == NULL;
}
