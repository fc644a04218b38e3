#include "runtime/api/vtable.h"

#include <string.h>

#include "runtime/api/placement.h"

#include "runtime/api/stage.h"
#include "runtime/dictionary/dictionary.h"
#include "runtime/floor/floors.h"
#include "runtime/map/map.h"
#include "runtime/ops/ops.h"
#include "runtime/query/filter.h"

static fr_stage *fr_stage_of_context(ovstage_context_t *context)
{
    return (fr_stage *)(void *)context;
}

static ovstage_enqueue_result_t fr_refused(ovstage_api_status_t status)
{
    ovstage_enqueue_result_t result = {status, OVSTAGE_INVALID_OP_ID};
    return result;
}

/* --- ops -------------------------------------------------------------------------------------- */

static ovstage_api_status_t fr_slot_wait_op(ovstage_context_t *context, ovstage_op_id_t op_id,
                                            ovstage_timeout_ns_t timeout,
                                            ovstage_op_wait_result_t *out)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_ops_wait(stage, op_id, timeout, out) : status;
}

static ovstage_api_status_t fr_slot_release_op(ovstage_context_t *context, ovstage_op_id_t op_id)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_ops_release(stage, op_id) : status;
}

static ovx_string_t fr_slot_get_last_op_error(ovstage_context_t *context, ovstage_op_id_t op_id)
{
    (void)context; /* ids carry their instance's number */
    return fr_ops_last_error(op_id);
}

/* --- floors ----------------------------------------------------------------------------------- */

static ovstage_enqueue_result_t fr_slot_advance_write_floor(ovstage_context_t *context,
                                                            const ovstage_write_floor_desc_t *desc)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_floor_advance(stage, desc) : fr_refused(status);
}

static ovstage_enqueue_result_t fr_slot_get_oldest_preserved_ordinal(
    ovstage_context_t *context, ovstage_ordinal_query_handle_t *out)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_floor_query_oldest(stage, out) : fr_refused(status);
}

static ovstage_enqueue_result_t fr_slot_get_attribute_write_floor(
    ovstage_context_t *context, ovx_string_or_token_t attribute,
    ovstage_ordinal_query_handle_t *out)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_floor_query(stage, attribute, out) : fr_refused(status);
}

static ovstage_api_status_t fr_slot_fetch_ordinal(ovstage_context_t *context,
                                                  ovstage_ordinal_query_handle_t handle,
                                                  ovstage_timeout_ns_t timeout,
                                                  ovstage_ordinal_t *out)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_floor_query_fetch(stage, handle, timeout, out) : status;
}

static ovstage_enqueue_result_t fr_slot_release_ordinal_query(ovstage_context_t *context,
                                                              ovstage_ordinal_query_handle_t handle)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_floor_query_release(stage, handle) : fr_refused(status);
}

/* --- queries ---------------------------------------------------------------------------------- */

static ovstage_enqueue_result_t fr_slot_query(ovstage_context_t *context,
                                              const ovstage_filter_t *filter,
                                              const ovx_token_t *attrs, size_t n,
                                              ovstage_query_handle_t *out)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK && out)
        *out = OVSTAGE_INVALID_QUERY_HANDLE;
    return status == OVSTAGE_OK ? fr_query_filter(stage, filter, attrs, n, out)
                                : fr_refused(status);
}

static ovstage_api_status_t fr_slot_query_from_path_list(ovstage_context_t *context,
                                                         ovx_primpath_list_t list,
                                                         ovstage_query_handle_t *out)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_query_from_path_list(stage, list, out) : status;
}

static ovstage_api_status_t fr_slot_fetch_query_result(ovstage_context_t *context,
                                                       ovstage_query_handle_t query,
                                                       ovstage_timeout_ns_t timeout,
                                                       ovstage_query_result_t *out)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_query_result_fetch(stage, query, timeout, out) : status;
}

static ovstage_api_status_t fr_slot_release_query_result(ovstage_context_t *context,
                                                         const ovstage_query_result_t *result)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_query_result_release(stage, result) : status;
}

static ovstage_enqueue_result_t fr_slot_release_query(ovstage_context_t *context,
                                                      ovstage_query_handle_t query)
{
    fr_stage *stage = fr_stage_of_context(context);
    ovstage_api_status_t status = fr_stage_enter(stage);
    return status == OVSTAGE_OK ? fr_query_release_handle(stage, query) : fr_refused(status);
}

/* --- reading, writing and mapping: these enter the stage themselves --------------------------- */

static ovstage_enqueue_result_t fr_slot_read_attributes(ovstage_context_t *context,
                                                        ovstage_query_handle_t query,
                                                        const ovx_token_t *attrs, size_t n,
                                                        ovstage_ordinal_range_t range,
                                                        ovstage_read_handle_t *out)
{
    return fr_read_attributes(fr_stage_of_context(context), query, attrs, n, range, out);
}

static ovstage_api_status_t fr_slot_fetch_read_next(ovstage_context_t *context,
                                                    ovstage_read_handle_t read,
                                                    ovstage_timeout_ns_t timeout,
                                                    ovstage_read_group_t *out)
{
    return fr_read_fetch_next(fr_stage_of_context(context), read, timeout, out);
}

static ovstage_api_status_t fr_slot_release_group(ovstage_context_t *context,
                                                  const ovstage_read_group_t *group)
{
    return fr_read_release_group(fr_stage_of_context(context), group);
}

static ovstage_enqueue_result_t fr_slot_release_read(ovstage_context_t *context,
                                                     ovstage_read_handle_t read)
{
    return fr_read_release(fr_stage_of_context(context), read);
}

static ovstage_enqueue_result_t fr_slot_write_attribute(
    ovstage_context_t *context, ovstage_query_handle_t query, ovx_string_or_token_t attribute,
    ovstage_ordinal_t ordinal, ovstage_write_data_t data, ovstage_prim_mode_t prim_mode)
{
    return fr_write_attribute(fr_stage_of_context(context), query, attribute, ordinal, data,
                              prim_mode);
}

static ovstage_enqueue_result_t fr_slot_delete_attributes(ovstage_context_t *context,
                                                          ovstage_query_handle_t query,
                                                          const ovx_string_or_token_t *attrs,
                                                          size_t n, ovstage_ordinal_t ordinal)
{
    return fr_delete_attributes(fr_stage_of_context(context), query, attrs, n, ordinal);
}

static ovstage_enqueue_result_t fr_slot_write_attributes(ovstage_context_t *context,
                                                         ovstage_query_handle_t query,
                                                         const ovstage_attribute_write_t *writes,
                                                         size_t n, ovstage_ordinal_t ordinal,
                                                         ovstage_prim_mode_t prim_mode)
{
    return fr_write_attributes(fr_stage_of_context(context), query, writes, n, ordinal, prim_mode);
}

static ovstage_enqueue_result_t fr_slot_map_attribute(
    ovstage_context_t *context, ovstage_query_handle_t query, const ovstage_map_desc_t *desc,
    ovstage_ordinal_t ordinal, const size_t *element_sizes, size_t element_count,
    ovstage_map_handle_t *out)
{
    return fr_map_attribute(fr_stage_of_context(context), query, desc, ordinal, element_sizes,
                            element_count, out);
}

static ovstage_api_status_t fr_slot_fetch_map_next(ovstage_context_t *context,
                                                   ovstage_map_handle_t map,
                                                   ovstage_timeout_ns_t timeout,
                                                   ovstage_map_group_t *out)
{
    return fr_map_fetch_next(fr_stage_of_context(context), map, timeout, out);
}

static ovstage_enqueue_result_t fr_slot_unmap_group(ovstage_context_t *context,
                                                    ovstage_map_handle_t map,
                                                    const ovstage_map_group_t *group,
                                                    ovstage_cuda_sync_t write_done_sync)
{
    return fr_map_unmap_group(fr_stage_of_context(context), map, group, write_done_sync);
}

static ovstage_enqueue_result_t fr_slot_unmap_attribute(ovstage_context_t *context,
                                                        ovstage_map_handle_t map,
                                                        ovstage_cuda_sync_t write_done_sync)
{
    return fr_map_unmap(fr_stage_of_context(context), map, write_done_sync);
}

/* --- information ------------------------------------------------------------------------------ */

static void fr_slot_get_version(ovstage_context_t *context, uint32_t *major, uint32_t *minor,
                                uint32_t *patch)
{
    (void)context;
    if (major)
        *major = OVSTAGE_VERSION_MAJOR;
    if (minor)
        *minor = OVSTAGE_VERSION_MINOR;
    if (patch)
        *patch = OVSTAGE_VERSION_PATCH;
}

static const char *fr_slot_get_error_string(ovstage_context_t *context, ovstage_api_status_t status)
{
    (void)context;
    return fr_error_string(status);
}

static path_dictionary_instance_t *fr_slot_get_path_dictionary(ovstage_context_t *context)
{
    fr_stage *stage = fr_stage_of_context(context);
    return fr_stage_enter(stage) == OVSTAGE_OK ? fr_dictionary_instance(stage->dictionary) : NULL;
}

static ovstage_api_status_t fr_slot_query_extension(ovstage_context_t *context, const char *name,
                                                    const void **out)
{
    if (out)
        *out = NULL;
    ovstage_api_status_t status = fr_stage_enter(fr_stage_of_context(context));
    if (status != OVSTAGE_OK)
        return status;
    if (!name || !out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the %s is NULL",
                            name ? "out pointer" : "extension's name");
    if (strcmp(name, OVSTAGE_PLACEMENT_EXTENSION_NAME) != 0)
        return fr_error_set(OVSTAGE_ERROR_NOT_FOUND, "there is no extension \"%.64s\"", name);
    fr_device_fault fault;
    if (!fr_placement_find(&fault))
        return fr_error_set(OVSTAGE_ERROR_NOT_FOUND, "no extension \"%s\" here: %s", name,
                            fault.text);
    *out = &fr_placement_table;
    return OVSTAGE_OK;
}

ovx_string_t ovstage_get_last_error(void)
{
    return fr_error_get();
}

const ovstage_vtable_t fr_vtable = {
    .wait_op = fr_slot_wait_op,
    .release_op = fr_slot_release_op,
    .advance_write_floor = fr_slot_advance_write_floor,
    .get_oldest_preserved_ordinal = fr_slot_get_oldest_preserved_ordinal,
    .get_attribute_write_floor = fr_slot_get_attribute_write_floor,
    .fetch_ordinal = fr_slot_fetch_ordinal,
    .release_ordinal_query = fr_slot_release_ordinal_query,
    .query = fr_slot_query,
    .query_from_path_list = fr_slot_query_from_path_list,
    .fetch_query_result = fr_slot_fetch_query_result,
    .release_query_result = fr_slot_release_query_result,
    .release_query = fr_slot_release_query,
    .read_attributes = fr_slot_read_attributes,
    .fetch_read_next = fr_slot_fetch_read_next,
    .release_group = fr_slot_release_group,
    .release_read = fr_slot_release_read,
    .write_attribute = fr_slot_write_attribute,
    .map_attribute = fr_slot_map_attribute,
    .fetch_map_next = fr_slot_fetch_map_next,
    .unmap_group = fr_slot_unmap_group,
    .unmap_attribute = fr_slot_unmap_attribute,
    .delete_attributes = fr_slot_delete_attributes,
    .get_version = fr_slot_get_version,
    .get_error_string = fr_slot_get_error_string,
    .get_last_op_error = fr_slot_get_last_op_error,
    .get_path_dictionary = fr_slot_get_path_dictionary,
    .write_attributes = fr_slot_write_attributes,
    .query_extension = fr_slot_query_extension,
};
