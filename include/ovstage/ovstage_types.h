/* Types of the stage library itself: instances, configuration, logging, hierarchy. */
#ifndef OVSTAGE_TYPES_H
#define OVSTAGE_TYPES_H

#include "ovstage_api/ovstage_api_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an instance is to be made. NULL in its place means defaults (D8). */
typedef struct {
    const char *name; /* ends with a NUL, copied; may be NULL */
} ovstage_instance_desc_t;

/* ---- Configuration ---- */

typedef enum {
    OVSTAGE_CONFIG_KEY_TYPE_BOOL = 0,
    OVSTAGE_CONFIG_KEY_TYPE_INT64 = 1,
    OVSTAGE_CONFIG_KEY_TYPE_UINT64 = 2,
    OVSTAGE_CONFIG_KEY_TYPE_DOUBLE = 3,
    OVSTAGE_CONFIG_KEY_TYPE_STRING = 4,
    OVSTAGE_CONFIG_KEY_TYPE_BLOB = 5,
    OVSTAGE_CONFIG_KEY_TYPE_COUNT = 6
} ovstage_config_key_type_t;

typedef enum { OVSTAGE_CONFIG_BOOL_COUNT = 0 } ovstage_config_bool_t;

typedef enum { OVSTAGE_CONFIG_INT64_COUNT = 0 } ovstage_config_int64_t;

typedef enum {
    /* ovstage_hierarchy_computation_model_id_t that new instances use for RUNTIME_DEFAULT (R6, R7)
     */
    OVSTAGE_CONFIG_RUNTIME_DEFAULT_HIERARCHY_COMPUTATION_MODEL = 0,
    OVSTAGE_CONFIG_UINT64_COUNT = 1
} ovstage_config_uint64_t;

typedef enum { OVSTAGE_CONFIG_DOUBLE_COUNT = 0 } ovstage_config_double_t;

typedef enum {
    /* where a static loader looks for the library; the library itself accepts and ignores it (R6)
     */
    OVSTAGE_CONFIG_BINARY_PACKAGE_ROOT_PATH = 0,
    OVSTAGE_CONFIG_STRING_COUNT = 1
} ovstage_config_string_t;

typedef enum { OVSTAGE_CONFIG_BLOB_COUNT = 0 } ovstage_config_blob_t;

/* One setting. key_type says which member of both unions counts. */
typedef struct {
    ovstage_config_key_type_t key_type;
    union {
        ovstage_config_bool_t bool_key;
        ovstage_config_int64_t int64_key;
        ovstage_config_uint64_t uint64_key;
        ovstage_config_double_t double_key;
        ovstage_config_string_t string_key;
        ovstage_config_blob_t blob_key;
    } key;
    union {
        bool bool_value;
        int64_t int_value;
        uint64_t uint_value;
        double double_value;
        ovx_string_t string_value;
        struct {
            const void *data;
            size_t size; /* bytes */
        } blob_value;
    } value;
} ovstage_config_entry_t;

/* entry_count settings, each key at most once. Pointers need to live only until the call returns
 * (R6). */
typedef struct {
    const ovstage_config_entry_t *entries;
    size_t entry_count;
} ovstage_config_t;

/* ---- Logging ---- */

typedef enum {
    OVSTAGE_LOG_VERBOSE = -2,
    OVSTAGE_LOG_INFO = -1,
    OVSTAGE_LOG_WARNING = 0,
    OVSTAGE_LOG_ERROR = 1,
    OVSTAGE_LOG_NONE =
        3 /* a threshold that lets nothing through; never the severity of a message */
} ovstage_log_severity_t;

/* Called on one thread of the library, one message at a time. The message is valid only inside the
 * call. The callback must not log (R170). timestamp_seconds: when the message was made. */
typedef void (*ovstage_log_callback_t)(ovstage_log_severity_t severity, double timestamp_seconds,
                                       ovx_string_t message, void *user);

/* ---- Hierarchy ---- */

/* How transforms are composed: a concrete model, or a selector that stands for one. */
typedef enum {
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_INVALID = 0,
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL = 1,
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_INCREMENTAL = 2,
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_GLOBAL = 3,
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT =
        4, /* what the instance took when it was made (R7) */
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_DEFAULT_CPU = 1,
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_DEFAULT_GPU = 3
} ovstage_hierarchy_computation_model_id_t;

#define OVSTAGE_INVALID_HIERARCHY_COMPUTATION_MODEL_ID OVSTAGE_HIERARCHY_COMPUTATION_MODEL_INVALID

typedef enum {
    OVSTAGE_HIERARCHY_PARENT = 0,   /* no or one path; a top-level prim has none (R145, R146) */
    OVSTAGE_HIERARCHY_CHILDREN = 1, /* direct ones */
    OVSTAGE_HIERARCHY_SIBLINGS = 2  /* the parent's other children */
} ovstage_hierarchy_relation_t;

/* The answer for one input path: paths [path_offset, path_offset + path_count) of the result. */
typedef struct {
    ovstage_api_status_t status; /* OK, or NOT_FOUND if that prim is not there (R143) */
    size_t path_offset;
    size_t path_count;
} ovstage_hierarchy_item_t;

/* Lives until ovstage_release_hierarchy_result. */
typedef struct {
    ovstage_hierarchy_result_id_t hierarchy_result_id;
    ovstage_ordinal_t ordinal;             /* as asked */
    const ovstage_hierarchy_item_t *items; /* input_count items, in input order */
    size_t input_count;
    const ovx_string_or_token_t
        *paths; /* path_count paths; token 0, the text is in `string` (R145) */
    size_t path_count;
} ovstage_hierarchy_result_t;

typedef struct {
    ovstage_hierarchy_computation_model_id_t model_id;
    ovx_string_t name;
    ovx_string_t description;
} ovstage_hierarchy_computation_model_desc_t;

#ifdef __cplusplus
}
#endif

#endif
