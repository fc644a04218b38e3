/* Filling a stage from a scene description. flyrail reads none: the functions link, check nothing
 * but their instance (NULL: INVALID_ARGUMENT) and answer NOT_SUPPORTED with a text in
 * ovstage_population_get_last_error. */
#ifndef OVSTAGE_POPULATION_H
#define OVSTAGE_POPULATION_H

#include "ovstage_api/ovstage_api.h"

#include "ovstage_population_predicate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which parts of a description are taken over; bits. */
typedef enum {
    OVSTAGE_POPULATION_DOMAIN_NONE = 0,
    OVSTAGE_POPULATION_DOMAIN_RENDERING = 1,
    OVSTAGE_POPULATION_DOMAIN_PHYSICS = 2,
    OVSTAGE_POPULATION_DOMAIN_ALL = 3
} ovstage_population_domain_t;

/* As ovstage_enqueue_result_t, for ids that only ovstage_population_wait_op knows. */
typedef struct {
    ovstage_api_status_t status;
    ovstage_op_id_t op_index;
} ovstage_population_enqueue_result_t;

typedef struct ovstage_population_open_desc_t ovstage_population_open_desc_t;

/* Fills the stage from a file, or from text. */
OVSTAGE_EXPORT ovstage_population_enqueue_result_t ovstage_population_open_usd_from_file(
    ovstage_instance_t *instance, ovx_string_t file, ovstage_ordinal_t ordinal);
OVSTAGE_EXPORT ovstage_population_enqueue_result_t ovstage_population_open_usd_from_string(
    ovstage_instance_t *instance, ovx_string_t text, ovstage_ordinal_t ordinal);
OVSTAGE_EXPORT ovstage_population_enqueue_result_t ovstage_population_open_usd_from_file_with_desc(
    ovstage_instance_t *instance, ovx_string_t file, ovstage_ordinal_t ordinal,
    const ovstage_population_open_desc_t *desc);
OVSTAGE_EXPORT ovstage_population_enqueue_result_t
ovstage_population_open_usd_from_string_with_desc(ovstage_instance_t *instance, ovx_string_t text,
                                                  ovstage_ordinal_t ordinal,
                                                  const ovstage_population_open_desc_t *desc);

/* Adds a description below a prim path, and takes it away again. */
OVSTAGE_EXPORT ovstage_population_enqueue_result_t
ovstage_population_add_usd_reference_from_file(ovstage_instance_t *instance, ovx_string_t file,
                                               ovx_string_t prim_path, ovstage_ordinal_t ordinal);
OVSTAGE_EXPORT ovstage_population_enqueue_result_t
ovstage_population_add_usd_reference_from_string(ovstage_instance_t *instance, ovx_string_t text,
                                                 ovx_string_t prim_path, ovstage_ordinal_t ordinal);
OVSTAGE_EXPORT ovstage_population_enqueue_result_t ovstage_population_remove_usd_reference(
    ovstage_instance_t *instance, ovx_string_t prim_path, ovstage_ordinal_t ordinal);

/* Empties the stage; brings it to a time; takes over what was edited. */
OVSTAGE_EXPORT ovstage_population_enqueue_result_t
ovstage_population_reset_usd(ovstage_instance_t *instance, ovstage_ordinal_t ordinal);
OVSTAGE_EXPORT ovstage_population_enqueue_result_t ovstage_population_apply_usd_time(
    ovstage_instance_t *instance, double time, ovstage_ordinal_t ordinal);
OVSTAGE_EXPORT ovstage_population_enqueue_result_t
ovstage_population_apply_usd_changes(ovstage_instance_t *instance, ovstage_ordinal_t ordinal);

/* Waits for an operation of this header. */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_population_wait_op(ovstage_instance_t *instance,
                                                               ovstage_op_id_t op_id,
                                                               ovstage_timeout_ns_t timeout,
                                                               ovstage_op_wait_result_t *out);

/* As ovstage_get_last_error and get_last_op_error, for this header. */
OVSTAGE_EXPORT ovx_string_t ovstage_population_get_last_error(void);
OVSTAGE_EXPORT ovx_string_t ovstage_population_get_last_op_error(ovstage_op_id_t op_id);

/* Makes schemas known, given as n folder names. */
OVSTAGE_EXPORT ovstage_api_status_t
ovstage_population_register_usd_schemas(const ovx_string_t *folders, size_t n);

/* The prim type of prims without one: {NULL, 0} here. */
OVSTAGE_EXPORT ovx_string_t ovstage_population_untyped_type_name(void);

#ifdef __cplusplus
}
#endif

#endif
