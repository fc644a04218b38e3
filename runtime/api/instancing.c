/* Instances and prototypes (R184). Stages here are written by clients, never populated from a scene
 * description, so nothing is an instance or a prototype, and that is what the answers say. */
#include <ovstage/ovstage.h>

#include <ovx/path_dictionary/path_dictionary.h>

#include "runtime/api/stage.h"
#include "runtime/dictionary/dictionary.h"

static ovstage_api_status_t fr_instancing_enter(ovstage_instance_t *instance, uint64_t *out)
{
    if (out)
        *out = 0;
    ovstage_api_status_t status = fr_stage_enter(fr_stage_of(instance));
    if (status == OVSTAGE_OK && !out)
        status = fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the out pointer is NULL");
    return status;
}

static ovstage_api_status_t fr_instancing_check_path(ovstage_instance_t *instance,
                                                     ovx_primpath_t path, const char *what)
{
    if (fr_dictionary_path_known(fr_stage_of(instance)->dictionary, path))
        return OVSTAGE_OK;
    return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "the %s, path %llu, is not known to the dictionary", what,
                        (unsigned long long)path);
}

static ovstage_api_status_t fr_instancing_no_paths(ovstage_instance_t *instance,
                                                   ovx_primpath_list_t *out)
{
    path_dictionary_instance_t *dictionary =
        fr_dictionary_instance(fr_stage_of(instance)->dictionary);
    ovx_api_result_t result = path_dictionary_create_path_list_from_paths(dictionary, NULL, 0, out);
    if (result.status == OVX_API_SUCCESS)
        return OVSTAGE_OK;
    path_dictionary_release_error(dictionary, result.error);
    return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an empty path list");
}

ovstage_api_status_t ovstage_instancing_get_instance_roots(ovstage_instance_t *instance,
                                                           ovx_primpath_t prototype,
                                                           ovx_primpath_list_t *out_instance_roots)
{
    ovstage_api_status_t status = fr_instancing_enter(instance, out_instance_roots);
    if (status == OVSTAGE_OK)
        status = fr_instancing_check_path(instance, prototype, "prototype");
    return status == OVSTAGE_OK ? fr_instancing_no_paths(instance, out_instance_roots) : status;
}

ovstage_api_status_t ovstage_instancing_get_prototype_root(ovstage_instance_t *instance,
                                                           ovx_primpath_t instance_root,
                                                           ovx_primpath_t *out_prototype_root)
{
    ovstage_api_status_t status = fr_instancing_enter(instance, out_prototype_root);
    if (status == OVSTAGE_OK)
        status = fr_instancing_check_path(instance, instance_root, "instance root");
    if (status != OVSTAGE_OK)
        return status;
    ovx_string_t text = fr_dictionary_path_text(fr_stage_of(instance)->dictionary, instance_root);
    return fr_error_set(OVSTAGE_ERROR_NOT_FOUND, "'%.*s' is no instance",
                        (int)(text.length < 200 ? text.length : 200), text.ptr);
}

ovstage_api_status_t ovstage_instancing_get_prototype_roots(
    ovstage_instance_t *instance, ovx_primpath_list_t *out_prototype_roots)
{
    ovstage_api_status_t status = fr_instancing_enter(instance, out_prototype_roots);
    return status == OVSTAGE_OK ? fr_instancing_no_paths(instance, out_prototype_roots) : status;
}
