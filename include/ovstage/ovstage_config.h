/* Builders for configuration entries. */
#ifndef OVSTAGE_CONFIG_H
#define OVSTAGE_CONFIG_H

#include "ovstage_types.h"

#include <ovx/config_tokens.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A text setting. The text is not copied: it must live until the call that takes the entry returns.
 */
static inline ovstage_config_entry_t ovstage_config_entry_string(ovstage_config_string_t key,
                                                                 ovx_string_t value)
{
    ovstage_config_entry_t entry;
    entry.key_type = OVSTAGE_CONFIG_KEY_TYPE_STRING;
    entry.key.string_key = key;
    entry.value.string_value = value;
    return entry;
}

/* A number setting. */
static inline ovstage_config_entry_t ovstage_config_entry_uint64(ovstage_config_uint64_t key,
                                                                 uint64_t value)
{
    ovstage_config_entry_t entry;
    entry.key_type = OVSTAGE_CONFIG_KEY_TYPE_UINT64;
    entry.key.uint64_key = key;
    /* The unused half of the union is defined too, so that entries can be copied and compared as
     * bytes. */
    entry.value.string_value.ptr = NULL;
    entry.value.string_value.length = 0;
    entry.value.uint_value = value;
    return entry;
}

/* The model that instances made later use for RUNTIME_DEFAULT. A concrete model or a DEFAULT_
 * alias; RUNTIME_DEFAULT itself leaves the setting as it is (R6). */
static inline ovstage_config_entry_t
ovstage_config_entry_runtime_default_hierarchy_computation_model(
    ovstage_hierarchy_computation_model_id_t model)
{
    return ovstage_config_entry_uint64(OVSTAGE_CONFIG_RUNTIME_DEFAULT_HIERARCHY_COMPUTATION_MODEL,
                                       (uint64_t)model);
}

/* The folder that a static loader searches, where OVX_CONFIG_EXECUTABLE_DIR_TOKEN stands for the
 * executable's. */
static inline ovstage_config_entry_t ovstage_config_entry_binary_package_root_path(
    ovx_string_t path)
{
    return ovstage_config_entry_string(OVSTAGE_CONFIG_BINARY_PACKAGE_ROOT_PATH, path);
}

/* The folder of the running executable. Comes with a static loader only; the shared library does
 * not define it. */
ovx_string_t ovstage_executable_dir(void);

#ifdef __cplusplus
}
#endif

#endif
