/* The facts of abi_cases_facts.h as the C compiler sees them, and the inline helpers used from C.
 */
#include "tests/unit/abi_cases.h"

#include <ovx/config_tokens.h>
#include <ovx/path_dictionary/path_dictionary_helper.h>

#include <string.h>

static const abi_fact facts[] = {
#include "tests/unit/abi_cases_facts.h"
};

const abi_fact *abi_facts_of_c(size_t *count)
{
    *count = sizeof(facts) / sizeof(facts[0]);
    return facts;
}

static int text_helpers_hold(void)
{
    const ovx_string_t literal = literal_to_ovx_string("omni:xform");
    const ovx_string_t empty = {"x", 0}, null = {NULL, 0}, null_with_length = {NULL, 3};
    const ovx_string_t with_nul = {"a\0b", 3}, nul_behind = {"ab\0", 2};
    if (literal.length != 10 || strcmp(literal.ptr, "omni:xform") != 0)
        return 0;
    if (!is_ovx_string_empty(NULL) || !is_ovx_string_empty(&empty) || !is_ovx_string_empty(&null))
        return 0;
    if (!is_ovx_string_empty(&null_with_length) || is_ovx_string_empty(&literal))
        return 0;
    if (!ovx_string_contains_embedded_nul(&with_nul) || ovx_string_contains_embedded_nul(NULL))
        return 0;
    if (ovx_string_contains_embedded_nul(&nul_behind) || ovx_string_contains_embedded_nul(&empty))
        return 0;
    if (ovx_string_contains_embedded_nul(&null_with_length))
        return 0;
    return ovx_string_has_null_data(&null_with_length) && !ovx_string_has_null_data(&null) &&
           !ovx_string_has_null_data(&literal) && !ovx_string_has_null_data(NULL);
}

static int config_builders_hold(void)
{
    const ovstage_config_entry_t model =
        ovstage_config_entry_runtime_default_hierarchy_computation_model(
            OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_GLOBAL);
    const ovstage_config_entry_t root = ovstage_config_entry_binary_package_root_path(
        literal_to_ovx_string(OVX_CONFIG_EXECUTABLE_DIR_TOKEN "/x"));
    const ovstage_config_entry_t number = ovstage_config_entry_uint64(
        OVSTAGE_CONFIG_RUNTIME_DEFAULT_HIERARCHY_COMPUTATION_MODEL, UINT64_MAX);
    const ovstage_config_entry_t text = ovstage_config_entry_string(
        OVSTAGE_CONFIG_BINARY_PACKAGE_ROOT_PATH, literal_to_ovx_string("/y"));
    return model.key_type == OVSTAGE_CONFIG_KEY_TYPE_UINT64 &&
           model.key.uint64_key == OVSTAGE_CONFIG_RUNTIME_DEFAULT_HIERARCHY_COMPUTATION_MODEL &&
           model.value.uint_value == 3 && root.key_type == OVSTAGE_CONFIG_KEY_TYPE_STRING &&
           root.key.string_key == OVSTAGE_CONFIG_BINARY_PACKAGE_ROOT_PATH &&
           strcmp(root.value.string_value.ptr, "${executable_dir}/x") == 0 &&
           number.value.uint_value == UINT64_MAX && text.value.string_value.length == 2;
}

int abi_helpers_hold_in_c(void)
{
    const ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;
    return text_helpers_hold() && config_builders_hold() &&
           placement.device.device_type == kDLCPU && placement.device.device_id == 0 &&
           placement.stream == 0 && placement.availability_event == 0;
}
