/* Placement (experimental): on which device, and on which stream, an operation works, and an event
 * that tells when its result is there. An extension: it may be absent, and its shape may change
 * between releases. Included on request only.
 *
 * Three things are apart (R177): the payload's cuda_sync says what must be done before the source
 * is read; device and stream say where the device work goes (for a read: where the payload must
 * be); availability_event is the caller's event, recorded after the stage submitted that work. Of
 * the first write that is applied to a column, device also says where the column lies from then on
 * (ours).
 *
 * Streams and events belong to the caller. Those of a placement must be there until wait_op has
 * reported the op; of a read, until its last group was fetched; of a session, until its commits
 * were reported, or its end if it commits nothing. Those of a cuda_sync only during the call. The
 * op's work comes behind what the placement's stream has when the op runs.
 *
 * When the event has been recorded: for a write and a commit, once wait_op has reported the op; for
 * a read, once a group was fetched, and it covers all of the read's groups (R178, L9). Waiting on
 * it earlier proves nothing. It may be recorded even if the op failed. Without an event, an op is
 * complete when its device work is finished (R179). If recording fails, the op reports an error
 * though the write may have been applied: do not repeat it at the same ordinal (R180). */
#ifndef OVSTAGE_PLACEMENT_EXTENSION_H
#define OVSTAGE_PLACEMENT_EXTENSION_H

#include "../ovstage_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OVSTAGE_PLACEMENT_EXTENSION_NAME "ovstage.placement"
#define OVSTAGE_PLACEMENT_EXTENSION_VERSION 1u

typedef struct {
    DLDevice device;  /* kDLCUDA and its index, or kDLCPU for host memory */
    uintptr_t stream; /* 0 the stage's own stream on that device (the default stream is not 0 here),
                         1 the legacy default stream, else a cudaStream_t; 2 is refused */
    uintptr_t availability_event; /* 0 none, else a cudaEvent_t */
} ovstage_placement_t;

/* Initializer: host memory, no stream, no event. */
/* clang-format off */
#define OVSTAGE_PLACEMENT_INIT { { kDLCPU, 0 }, 0, 0 }
/* clang-format on */

/* Arguments and statuses as the slots of the same names in ovstage_vtable_t. placement: copied;
 * NULL is the plain call (R176). It covers the whole operation. A bad device, stream or event:
 * INVALID_ARGUMENT; on the host any stream or event: NOT_SUPPORTED; a device that is too old or has
 * failed: OP_FAILED. A payload's memory on a device
 * may be used again when the availability_event, as the op has recorded it, is done; without one,
 * when the op is complete (L9). Over a query that is not ready a payload that fits no number of
 * prims is refused with INVALID_ARGUMENT (ours); what hangs on how many there are is found out when
 * the operation runs. */
typedef struct {
    uint32_t version;    /* OVSTAGE_PLACEMENT_EXTENSION_VERSION */
    uint32_t table_size; /* bytes of this struct as the library knows it */

    ovstage_enqueue_result_t (*write_attribute)(
        ovstage_context_t *context, ovstage_query_handle_t query, ovx_string_or_token_t attribute,
        ovstage_ordinal_t ordinal, ovstage_write_data_t data, ovstage_prim_mode_t prim_mode,
        const ovstage_placement_t *placement);
    ovstage_enqueue_result_t (*write_attributes)(ovstage_context_t *context,
                                                 ovstage_query_handle_t query,
                                                 const ovstage_attribute_write_t *writes, size_t n,
                                                 ovstage_ordinal_t ordinal,
                                                 ovstage_prim_mode_t prim_mode,
                                                 const ovstage_placement_t *placement);
    ovstage_enqueue_result_t (*read_attributes)(ovstage_context_t *context,
                                                ovstage_query_handle_t query,
                                                const ovx_token_t *attrs, size_t n,
                                                ovstage_ordinal_range_t range,
                                                const ovstage_placement_t *placement,
                                                ovstage_read_handle_t *out);
    /* Buffers on that device; the event tells when the committed values are there, not that the
     * buffers are ready (R182). */
    ovstage_enqueue_result_t (*map_attribute)(
        ovstage_context_t *context, ovstage_query_handle_t query, const ovstage_map_desc_t *desc,
        ovstage_ordinal_t ordinal, const size_t *element_sizes, size_t element_count,
        const ovstage_placement_t *placement, ovstage_map_handle_t *out);
} ovstage_placement_extension_v1_t;

/* Looks the extension up. OK: *out is valid as long as the process. NOT_FOUND: no usable device
 * driver or no device, a library without it, or a version or table that this header does not know
 * (R175). How new a device is shows in the first call that names it. INVALID_ARGUMENT: NULL. *out
 * is NULL unless OK. */
static inline ovstage_api_status_t ovstage_query_placement_extension(
    ovstage_instance_t *instance, const ovstage_placement_extension_v1_t **out)
{
    const void *found = NULL;
    const ovstage_placement_extension_v1_t *table;
    ovstage_api_status_t status;
    if (out == NULL)
        return OVSTAGE_ERROR_INVALID_ARGUMENT;
    *out = NULL;
    if (instance == NULL)
        return OVSTAGE_ERROR_INVALID_ARGUMENT;
    status = instance->vtable->query_extension(instance->context, OVSTAGE_PLACEMENT_EXTENSION_NAME,
                                               &found);
    if (status != OVSTAGE_OK)
        return status;
    table = (const ovstage_placement_extension_v1_t *)found;
    if (table == NULL || table->version != OVSTAGE_PLACEMENT_EXTENSION_VERSION ||
        table->table_size < sizeof(ovstage_placement_extension_v1_t))
        return OVSTAGE_ERROR_NOT_FOUND;
    *out = table;
    return OVSTAGE_OK;
}

/* The functions below look the table up in each call and answer the lookup's status if there is
 * none. Handles are then 0, and managed tensors are consumed as by any refused write (R88): a plain
 * call that cannot be accepted, on query 0, does that. */

static inline ovstage_enqueue_result_t ovstage_write_attribute_on_device(
    ovstage_instance_t *instance, ovstage_query_handle_t query, ovx_string_or_token_t attribute,
    ovstage_ordinal_t ordinal, ovstage_write_data_t data, ovstage_prim_mode_t prim_mode,
    const ovstage_placement_t *placement)
{
    const ovstage_placement_extension_v1_t *table;
    ovstage_enqueue_result_t result;
    if (placement == NULL)
        return ovstage_write_attribute(instance, query, attribute, ordinal, data, prim_mode);
    if (ovstage_query_placement_extension(instance, &table) == OVSTAGE_OK)
        return table->write_attribute(instance->context, query, attribute, ordinal, data, prim_mode,
                                      placement);
    if (instance != NULL && data.managed_tensors != NULL)
        (void)ovstage_write_attribute(instance, OVSTAGE_INVALID_QUERY_HANDLE, attribute, ordinal,
                                      data, prim_mode);
    result.status = ovstage_query_placement_extension(
        instance, &table); /* again: its text is to be the last error */
    result.op_index = OVSTAGE_INVALID_OP_ID;
    return result;
}

static inline ovstage_enqueue_result_t ovstage_write_attributes_on_device(
    ovstage_instance_t *instance, ovstage_query_handle_t query,
    const ovstage_attribute_write_t *writes, size_t n, ovstage_ordinal_t ordinal,
    ovstage_prim_mode_t prim_mode, const ovstage_placement_t *placement)
{
    const ovstage_placement_extension_v1_t *table;
    ovstage_enqueue_result_t result;
    if (placement == NULL)
        return ovstage_write_attributes(instance, query, writes, n, ordinal, prim_mode);
    if (ovstage_query_placement_extension(instance, &table) == OVSTAGE_OK)
        return table->write_attributes(instance->context, query, writes, n, ordinal, prim_mode,
                                       placement);
    if (instance != NULL)
        (void)ovstage_write_attributes(instance, OVSTAGE_INVALID_QUERY_HANDLE, writes, n, ordinal,
                                       prim_mode);
    result.status = ovstage_query_placement_extension(instance, &table);
    result.op_index = OVSTAGE_INVALID_OP_ID;
    return result;
}

static inline ovstage_enqueue_result_t ovstage_read_attributes_on_device(
    ovstage_instance_t *instance, ovstage_query_handle_t query, const ovx_token_t *attrs, size_t n,
    ovstage_ordinal_range_t range, const ovstage_placement_t *placement, ovstage_read_handle_t *out)
{
    const ovstage_placement_extension_v1_t *table;
    ovstage_enqueue_result_t result;
    if (placement == NULL)
        return ovstage_read_attributes(instance, query, attrs, n, range, out);
    result.status = ovstage_query_placement_extension(instance, &table);
    result.op_index = OVSTAGE_INVALID_OP_ID;
    if (result.status == OVSTAGE_OK)
        return table->read_attributes(instance->context, query, attrs, n, range, placement, out);
    if (out != NULL)
        *out = OVSTAGE_INVALID_READ_HANDLE;
    return result;
}

static inline ovstage_enqueue_result_t ovstage_map_attribute_on_device(
    ovstage_instance_t *instance, ovstage_query_handle_t query, const ovstage_map_desc_t *desc,
    ovstage_ordinal_t ordinal, const size_t *element_sizes, size_t element_count,
    const ovstage_placement_t *placement, ovstage_map_handle_t *out)
{
    const ovstage_placement_extension_v1_t *table;
    ovstage_enqueue_result_t result;
    if (placement == NULL)
        return ovstage_map_attribute(instance, query, desc, ordinal, element_sizes, element_count,
                                     out);
    result.status = ovstage_query_placement_extension(instance, &table);
    result.op_index = OVSTAGE_INVALID_OP_ID;
    if (result.status == OVSTAGE_OK)
        return table->map_attribute(instance->context, query, desc, ordinal, element_sizes,
                                    element_count, placement, out);
    if (out != NULL)
        *out = OVSTAGE_INVALID_MAP_HANDLE;
    return result;
}

#ifdef __cplusplus
}
#endif

#endif
