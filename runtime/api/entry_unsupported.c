/* Exported functions without an implementation: they link, look for the caller's mistake first, and
 * say what the library lacks. Where nothing can ever have been made, a handle is unknown. */
#include <ovstage/ovstage.h>

#include <string.h>

#include "runtime/api/error.h"
#include "runtime/api/process.h"

/* The instance is the stage's first member; a pointer that is no live instance is not read. */
static ovstage_api_status_t enter(ovstage_instance_t *instance)
{
    return fr_stage_enter((fr_stage *)(void *)instance);
}

static ovstage_api_status_t enter_process(void)
{
    return fr_process_forked() ? fr_process_forked_error() : OVSTAGE_OK;
}

static ovstage_api_status_t null_argument(const char *name)
{
    return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "%s is NULL", name);
}

static ovstage_api_status_t unsupported(const char *what)
{
    return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED, "%s: not supported by this library", what);
}

/* ---- Scene descriptions ---- */

ovstage_api_status_t ovstage_get_usd_stage_id(ovstage_instance_t *instance, uint64_t *out)
{
    if (out)
        *out = 0;
    const ovstage_api_status_t status = enter(instance);
    if (status != OVSTAGE_OK)
        return status;
    return out ? unsupported("a stage populated from a scene description") : null_argument("out");
}

static ovstage_population_enqueue_result_t population(ovstage_instance_t *instance)
{
    const ovstage_api_status_t status = enter(instance);
    return (ovstage_population_enqueue_result_t){
        status == OVSTAGE_OK ? unsupported("population from a scene description") : status,
        OVSTAGE_INVALID_OP_ID};
}

ovstage_population_enqueue_result_t ovstage_population_open_usd_from_file(
    ovstage_instance_t *instance, ovx_string_t file, ovstage_ordinal_t ordinal)
{
    (void)file;
    (void)ordinal;
    return population(instance);
}

ovstage_population_enqueue_result_t ovstage_population_open_usd_from_string(
    ovstage_instance_t *instance, ovx_string_t text, ovstage_ordinal_t ordinal)
{
    (void)text;
    (void)ordinal;
    return population(instance);
}

ovstage_population_enqueue_result_t ovstage_population_open_usd_from_file_with_desc(
    ovstage_instance_t *instance, ovx_string_t file, ovstage_ordinal_t ordinal,
    const ovstage_population_open_desc_t *desc)
{
    (void)file;
    (void)ordinal;
    (void)desc;
    return population(instance);
}

ovstage_population_enqueue_result_t ovstage_population_open_usd_from_string_with_desc(
    ovstage_instance_t *instance, ovx_string_t text, ovstage_ordinal_t ordinal,
    const ovstage_population_open_desc_t *desc)
{
    (void)text;
    (void)ordinal;
    (void)desc;
    return population(instance);
}

ovstage_population_enqueue_result_t ovstage_population_add_usd_reference_from_file(
    ovstage_instance_t *instance, ovx_string_t file, ovx_string_t prim_path,
    ovstage_ordinal_t ordinal)
{
    (void)file;
    (void)prim_path;
    (void)ordinal;
    return population(instance);
}

ovstage_population_enqueue_result_t ovstage_population_add_usd_reference_from_string(
    ovstage_instance_t *instance, ovx_string_t text, ovx_string_t prim_path,
    ovstage_ordinal_t ordinal)
{
    (void)text;
    (void)prim_path;
    (void)ordinal;
    return population(instance);
}

ovstage_population_enqueue_result_t ovstage_population_remove_usd_reference(
    ovstage_instance_t *instance, ovx_string_t prim_path, ovstage_ordinal_t ordinal)
{
    (void)prim_path;
    (void)ordinal;
    return population(instance);
}

ovstage_population_enqueue_result_t ovstage_population_reset_usd(ovstage_instance_t *instance,
                                                                 ovstage_ordinal_t ordinal)
{
    (void)ordinal;
    return population(instance);
}

ovstage_population_enqueue_result_t ovstage_population_apply_usd_time(ovstage_instance_t *instance,
                                                                      double time,
                                                                      ovstage_ordinal_t ordinal)
{
    (void)time;
    (void)ordinal;
    return population(instance);
}

ovstage_population_enqueue_result_t ovstage_population_apply_usd_changes(
    ovstage_instance_t *instance, ovstage_ordinal_t ordinal)
{
    (void)ordinal;
    return population(instance);
}

ovstage_api_status_t ovstage_population_wait_op(ovstage_instance_t *instance, ovstage_op_id_t op_id,
                                                ovstage_timeout_ns_t timeout,
                                                ovstage_op_wait_result_t *out)
{
    (void)op_id;
    (void)timeout;
    if (out)
        memset(out, 0, sizeof(*out));
    return population(instance).status;
}

ovx_string_t ovstage_population_get_last_error(void)
{
    return fr_error_get();
}

ovx_string_t ovstage_population_get_last_op_error(ovstage_op_id_t op_id)
{
    (void)op_id;
    return (ovx_string_t){NULL, 0}; /* none was ever accepted */
}

ovstage_api_status_t ovstage_population_register_usd_schemas(const ovx_string_t *folders, size_t n)
{
    const ovstage_api_status_t status = enter_process();
    if (status != OVSTAGE_OK)
        return status;
    if (!folders && n != 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "folders is NULL, its count %zu", n);
    return unsupported("schemas of scene descriptions");
}

ovx_string_t ovstage_population_untyped_type_name(void)
{
    return (ovx_string_t){NULL, 0};
}
