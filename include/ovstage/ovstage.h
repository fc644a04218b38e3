/* The stage: everything a client includes, but for the functions of the path dictionary
 * (<ovx/path_dictionary/path_dictionary.h>).
 *
 * Here: process and instance life cycle, logging, clones and the hierarchy. The data plane is in
 * ovstage_api/ovstage_api.h, with the rules on execution, statuses, memory and threads that hold
 * here too. Every function may be called from any thread, with the limits that it names. A failing
 * one leaves its text in ovstage_get_last_error. */
#ifndef OVSTAGE_H
#define OVSTAGE_H

#include "ovstage_api/ovstage_api.h"

#include "ovstage_config.h"

#include "ovstage_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Process ---- */

/* Takes a reference to the process-wide state and sets it up if it is the first (R1). Optional:
 * instances do it themselves (R3). config: NULL or no entries for defaults; read during the call
 * only. INVALID_ARGUMENT, and no reference: a malformed, unknown or doubled entry, or one that
 * differs from the setting in use while a reference exists (R5). */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_initialize(const ovstage_config_t *config);

/* Gives one reference of ovstage_initialize back. INVALID_ARGUMENT if none is out, even if
 * instances live (R4). The state goes with the last reference, those of instances included (R2). */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_shutdown(void);

/* ---- Logging ---- */

/* Sets the process's one log callback; NULL delivers what is waiting and then turns logging off
 * (R168). severity: what must be reached where the filter says nothing; OVSTAGE_LOG_NONE drops that
 * all. channel_filter: comma-separated channel=level, or NULL (R169). user: handed to the callback.
 * Nothing is ever printed (R172). OP_FAILED: neither initialized nor an instance alive.
 * INVALID_ARGUMENT: a filter that cannot be read. */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_set_log_callback(ovstage_log_severity_t severity,
                                                             const ovx_string_t *channel_filter,
                                                             ovstage_log_callback_t callback,
                                                             void *user);

/* Waits until the messages made before it are delivered. OK at once without a callback; TIMEOUT if
 * not in time (R171). */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_flush_log(ovstage_timeout_ns_t timeout);

/* ---- Instances ---- */

/* Makes a stage. desc: NULL for defaults. *out: the new instance, NULL on failure; destroyed by
 * ovstage_destroy_instance. OUT_OF_MEMORY, INVALID_ARGUMENT (R8, D8). */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_create_instance(const ovstage_instance_desc_t *desc,
                                                            ovstage_instance_t **out);

/* Destroys a stage; NULL is fine. No other call on it may be under way and none may follow; ops,
 * handles and results should have been released (R9). Work that is left is dropped as failed, after
 * what is running has ended; deleters of managed tensors run last (D20). */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_destroy_instance(ovstage_instance_t *instance);

/* The number of the scene description that populated the stage; NOT_SUPPORTED if there is none
 * (R11). Temporary. */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_get_usd_stage_id(ovstage_instance_t *instance,
                                                             uint64_t *out);

/* ---- Clone ---- */

/* Copies the subtree at path text `source` to n target path texts, as a write at `ordinal` (R131 to
 * R138, D24). Values that hold paths into the source are redirected to each copy (R134). Found by
 * wait_op: NOT_FOUND if the source is absent; PRIM_NOT_FOUND if any target exists, and then nothing
 * is made; WRITE_FLOOR_VIOLATION. */
OVSTAGE_EXPORT ovstage_enqueue_result_t ovstage_clone(ovstage_instance_t *instance,
                                                      ovx_string_t source,
                                                      const ovx_string_t *targets, size_t n,
                                                      ovstage_ordinal_t ordinal);

/* ---- Hierarchy ---- */

/* Looks the relatives of a list's prims up, by path text, one level (R143 to R148, D13): in the
 * newest sealed state, behind the seals at or above `ordinal` that were accepted before. The list
 * is copied. *out: released by ovstage_release_hierarchy. INVALID_ARGUMENT: an unknown relation;
 * INVALID_HANDLE: an unknown list; OUT_OF_MEMORY, QUEUE_FULL; *out is then 0. By wait_op:
 * OUT_OF_MEMORY. */
OVSTAGE_EXPORT ovstage_enqueue_result_t ovstage_get_hierarchy(ovstage_instance_t *instance,
                                                              ovx_primpath_list_t list,
                                                              ovstage_ordinal_t ordinal,
                                                              ovstage_hierarchy_relation_t relation,
                                                              ovstage_hierarchy_handle_t *out);

/* The answer, without waiting: OK, TIMEOUT (not yet) or OP_FAILED (R144); OUT_OF_MEMORY,
 * INVALID_HANDLE. *out: a new result each time, whose memory is the library's until
 * ovstage_release_hierarchy_result, also after the lookup was released. */
OVSTAGE_EXPORT ovstage_api_status_t
ovstage_fetch_hierarchy_result(ovstage_instance_t *instance, ovstage_hierarchy_handle_t handle,
                               ovstage_hierarchy_result_t *out);

/* Gives one result back. INVALID_HANDLE: none, or given back already. */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_release_hierarchy_result(
    ovstage_instance_t *instance, const ovstage_hierarchy_result_t *result);

/* Ends a lookup; ordered after fetches under way. Results that were fetched stay. INVALID_HANDLE.
 */
OVSTAGE_EXPORT ovstage_enqueue_result_t
ovstage_release_hierarchy(ovstage_instance_t *instance, ovstage_hierarchy_handle_t handle);

/* The models that compute_hierarchy knows. *out: *out_count entries that live as long as the
 * instance (R155). */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_get_hierarchy_computation_models(
    ovstage_instance_t *instance, const ovstage_hierarchy_computation_model_desc_t **out,
    size_t *out_count);

/* Composes world transforms from local ones (R149 to R156, L11): world = local x parent's world,
 * row vectors, row-major, along path texts. Reads `omni:xform` (Float 64 x16; an alias: queries and
 * texts name it `omni:fabric:localMatrix`) and `omni:resetXformStack` (Bool 8 x1: the world is the
 * local) as latest(input_ordinal), behind the accepted seals that it needs; what is missing is the
 * identity. Writes those rows of `omni:fabric:worldMatrix` (Float 64 x16) that are there at
 * output_ordinal and differ: at an ordinal that is sealed, or whose seal was accepted, below
 * whatever is newer; else as an op of that ordinal's lane. They are a change at output_ordinal.
 * Runs behind computations that were accepted before. INVALID_ARGUMENT: no model; OUT_OF_MEMORY,
 * QUEUE_FULL. By wait_op: NOT_SUPPORTED (a model that needs a GPU), WRITE_FLOOR_VIOLATION (the
 * input has unsealed changes), OUT_OF_RANGE (a moment is not kept any more), INVALID_ARGUMENT (a
 * row of another type), OUT_OF_MEMORY. */
OVSTAGE_EXPORT ovstage_enqueue_result_t ovstage_compute_hierarchy(
    ovstage_instance_t *instance, ovstage_hierarchy_computation_model_id_t model,
    ovstage_ordinal_t input_ordinal, ovstage_ordinal_t output_ordinal);

#ifdef __cplusplus
}
#endif

#include "ovstage_instancing.h"

#include "ovstage_population.h"

#endif
