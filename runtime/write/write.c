#include "runtime/device/report.h"
#include "runtime/write/access.h"
#include "runtime/write/managed.h"
#include "runtime/write/write_device.h"
#include "runtime/write/write_quick.h"
#include "runtime/write/write_sync.h"

#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

/* "entry 3: " in texts about a batch, nothing for a single write. */
#define FR_ENTRY_FORMAT "%s%.0llu%s"
#define FR_ENTRY_ARGUMENTS(call, entry) \
    (call)->count > 1 ? "entry " : "", (unsigned long long)((call)->count > 1 ? (entry) : 0), \
        (call)->count > 1 ? ": " : ""

ovstage_api_status_t fr_write_check_reserved(const fr_stage *stage, ovx_token_t token,
                                             const ovstage_write_data_t *data, fr_payload *payload)
{
    fr_reserved reserved = fr_access_reserved(stage->access, token);
    switch (reserved) {
    case FR_RESERVED_PATH:
    case FR_RESERVED_PARENT:
    case FR_RESERVED_CHILDREN:
        return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED,
                            "%s cannot be written: it follows from which prims there are",
                            fr_reserved_name(reserved));
    case FR_RESERVED_ACTIVE:
        return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED,
                            "%s cannot be written: a stage has no inactive prims",
                            fr_reserved_name(reserved));
    case FR_RESERVED_PRIM_TYPE:
    case FR_RESERVED_SCHEMAS:
        break;
    default:
        return OVSTAGE_OK;
    }
    if (!payload)
        return OVSTAGE_OK;
    bool wants_array = reserved == FR_RESERVED_SCHEMAS;
    if (data->is_array != wants_array)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "%s needs is_array = %s",
                            fr_reserved_name(reserved), wants_array ? "true" : "false");
    const fr_schema *schema = &payload->schema;
    if (schema->code != kDLUInt || schema->bits != 64 || schema->lanes != 1)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "%s needs dtype uint64 x1, got %s",
                            fr_reserved_name(reserved),
                            fr_dtype_tell(schema->code, schema->bits, schema->lanes).text);
    if (data->semantic != OVSTAGE_SEMANTIC_NONE && data->semantic != OVSTAGE_SEMANTIC_TOKEN_ID)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "%s takes semantic NONE or TOKEN_ID, got %d",
                            fr_reserved_name(reserved), (int)data->semantic);
    payload->schema.semantic = OVSTAGE_SEMANTIC_TOKEN_ID;
    return OVSTAGE_OK;
}

/* Distinct columns in one batch, aliases counted as one (R112, D19, D26): one bit for each
 * attribute known so far. */
ovstage_api_status_t fr_write_check_distinct(const fr_write_call *call, fr_write_attribute_at at)
{
    if (call->count < 2)
        return OVSTAGE_OK;
    uint64_t few[64] = {0}, *bits = few;
    size_t words = (size_t)fr_store_attribute_count(call->stage->store) / 64 + 1;
    if (words > sizeof(few) / sizeof(few[0]))
        bits = fr_memory_allocate_zero(&call->stage->allocator, words * sizeof(uint64_t), 16);
    if (!bits)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory to compare %u names",
                            call->count);
    ovstage_api_status_t status = OVSTAGE_OK;
    for (uint32_t e = 0; e < call->count && status == OVSTAGE_OK; e++) {
        uint32_t index = at(call, e)->index;
        if (bits[index / 64] >> (index % 64) & 1)
            status =
                fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                             "entry %u names attribute '%s', which an earlier entry of the batch "
                             "names too",
                             e, fr_write_name(call->stage, at(call, e)));
        bits[index / 64] |= (uint64_t)1 << index % 64;
    }
    if (bits != few)
        fr_memory_release(&call->stage->allocator, bits, words * sizeof(uint64_t));
    return status;
}

static fr_attribute *fr_write_entry_attribute(const fr_write_call *call, uint32_t entry)
{
    return call->write->entries[entry].attribute;
}

/* --- admission -------------------------------------------------------------------------------- */

ovstage_api_status_t fr_write_admit_floor(fr_write_call *call, fr_write_attribute_at at)
{
    for (uint32_t e = 0; e < call->count; e++) {
        uint64_t floor = fr_floors_accepted(call->stage->floors, at(call, e));
        if (call->ordinal <= floor) {
            call->refused_entry = e;
            call->refused_floor = floor;
            return OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
        }
    }
    return OVSTAGE_OK;
}

ovstage_enqueue_result_t fr_write_refuse_floor(const fr_write_call *call,
                                               const fr_attribute *attribute)
{
    return fr_error_refuse(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                           "ordinal %llu is not above the write floor %llu of attribute '%s'",
                           (unsigned long long)call->ordinal,
                           (unsigned long long)call->refused_floor,
                           fr_write_name(call->stage, attribute));
}

/* L3: the first accepted schema is entered; a write that agrees with the only one ever entered can
 * meet nothing else and needs no judgement, hence waits for nobody. Any other is judged against
 * what the ops accepted before it leave behind. A NONE joins the column with its role (D11). */
void fr_write_admit_schema(const fr_stage *stage, fr_write_entry *entry)
{
    fr_attribute *attribute = entry->attribute;
    if (!attribute->schema_entered) {
        attribute->schema = entry->schema;
        attribute->schema_entered = attribute->schema_single = entry->enters_schema = true;
        return;
    }
    bool joins = fr_write_joins(entry);
    /* A NONE joins a role that its key has; a deleted key has none. */
    if (joins && entry->any_role && attribute->schema.semantic != OVSTAGE_SEMANTIC_NONE &&
        (attribute->keys_deleted || stage->prims_deleted))
        joins = false;
    if (joins)
        entry->schema.semantic = attribute->schema.semantic;
    else if (attribute->schema_single) {
        attribute->schema_single = false;
        entry->ends_single = true;
    }
#ifndef FR_MUTATE_WRITE_NO_JUDGE
    entry->judge = !attribute->schema_single;
#endif
}

void fr_write_undo_schema(fr_write_entry *entry)
{
    if (entry->enters_schema)
        entry->attribute->schema_entered = entry->attribute->schema_single = false;
    if (entry->ends_single)
        entry->attribute->schema_single = true;
    entry->enters_schema = entry->ends_single = entry->judge = false;
}

static ovstage_api_status_t fr_write_admit(fr_submission *submission, void *user)
{
    fr_write_call *call = user;
    ovstage_api_status_t status = fr_write_admit_floor(call, fr_write_entry_attribute);
    if (status != OVSTAGE_OK)
        return status;
    submission->attribute_filter = 0;
    submission->below_filter = fr_write_demand_filter(call->write);
    for (uint32_t e = 0; e < call->count; e++) {
        fr_write_entry *entry = &call->write->entries[e];
        uint64_t bit = (uint64_t)1 << entry->attribute->index % 64;
        fr_write_admit_schema(call->stage, entry);
        submission->attribute_filter |= bit;
        submission->below_filter |= entry->judge ? bit : 0;
    }
    submission->takes_lanes_below = submission->below_filter != 0;
    submission->producer_count = fr_query_producer(call->query, call->producers);
    const fr_write_sync *sync = fr_write_sync_of(call->write);
#ifdef FR_MUTATE_DEVICE_WRITE_FORGETS_HOST_ROWS
    sync = NULL;
#endif
    if (sync && sync->wait_id != 0)
        call->producers[submission->producer_count++] = sync->wait_id;
    const fr_device_write *device = fr_write_device(call->write);
#ifndef FR_MUTATE_DEVICE_EVENT_TAKES_NO_TURN
    submission->behind_id = device ? fr_available_last(device->turn) : 0;
#else
    (void)device;
#endif
    return OVSTAGE_OK;
}

static void fr_write_undo(fr_submission *submission, void *user)
{
    fr_write_call *call = user;
    (void)submission;
    for (uint32_t e = 0; e < call->count; e++)
        fr_write_undo_schema(&call->write->entries[e]);
}

static void fr_write_accepted(fr_submission *submission, uint64_t id, void *user)
{
    fr_write_call *call = user;
    (void)submission;
    fr_write_judging(call->write, call->ordinal, id);
    fr_count(&call->stage->accepted_payload_bytes, call->write->payload_bytes);
    for (uint32_t e = 0; e < call->count; e++)
        fr_floors_know(call->stage->floors, call->write->entries[e].attribute);
    const fr_device_write *device = fr_write_device(call->write);
    if (device)
        fr_available_accept(device->turn, id);
}

/* --- the entries ------------------------------------------------------------------------------ */

/* Of a call with one entry. */
static size_t fr_write_positions_bytes(const fr_write_call *call)
{
    size_t size_bytes = sizeof(fr_write_positions) + (size_t)call->elements * sizeof(uint32_t);
    return call->request->some ? (size_bytes + 7) / 8 * 8 : 0;
}

/* Bytes beside the op record: entries of a batch, copies of the maps, inner strides. */
static size_t fr_write_block_bytes(const fr_write_call *call)
{
    size_t size_bytes = call->count > 1 ? call->count * sizeof(fr_write_entry) : 0;
    size_bytes += call->device ? sizeof(fr_device_write) : 0;
    size_bytes += call->syncs ? sizeof(fr_write_sync) : 0;
    size_bytes += fr_write_positions_bytes(call);
    for (uint32_t e = 0; e < call->count; e++) {
        const ovstage_write_data_t *data = &call->writes[e].data;
        const DLTensor *tensor = fr_payload_tensor(data, 0);
        uint32_t count = call->asks_query || data->count <= call->elements ? data->count : 0;
        size_bytes += data->index_map ? ((size_t)count * sizeof(uint32_t) + 7) / 8 * 8 : 0;
        size_bytes += data->mask ? ((size_t)count + 63) / 64 * sizeof(uint64_t) : 0;
        size_bytes += data->is_array              ? fr_payload_array_bytes(data)
                      : tensor && tensor->strides ? sizeof(fr_write_inner)
                                                  : 0;
    }
    return size_bytes;
}

/* That rows of a device may go to. */
static int32_t fr_write_entry_place(const fr_write_call *call, const ovstage_write_data_t *data)
{
    const DLTensor *tensor = fr_payload_tensor(data, 0);
    bool there = tensor && tensor->device.device_type == kDLCUDA;
    return call->device && (call->is_placed || there) ? call->device->place : FR_PLACE_HOST;
}

static ovstage_api_status_t fr_write_fill_entry(fr_write_call *call, uint32_t e,
                                                unsigned char **room)
{
    fr_write_entry *entry = &call->write->entries[e];
    const ovstage_write_data_t *data = &call->writes[e].data;
    fr_payload payload;
    fr_attribute *attribute = NULL;
    ovx_token_t token = OVX_INVALID_TOKEN;
    memset(entry, 0, sizeof(*entry));
    fr_write_counted counted = FR_WRITE_COUNT_GIVEN;
    uint32_t prims = call->asks_query ? fr_write_pending_count(data, &counted) : call->elements;
    ovstage_api_status_t status = fr_payload_check(data, prims, call->stage->config.adopt_managed,
                                                   fr_write_entry_place(call, data), &payload);
    if (status != OVSTAGE_OK)
        return fr_error_set(
            status, FR_ENTRY_FORMAT "attribute '%s': %s", FR_ENTRY_ARGUMENTS(call, e),
            fr_stage_name_tell(call->stage, call->writes[e].attribute).text, payload.text);
    status = fr_stage_attribute(call->stage, call->writes[e].attribute, true, &attribute, &token);
    if (status == OVSTAGE_OK)
        status = fr_write_check_reserved(call->stage, token, data, &payload);
    if (status == OVSTAGE_OK && call->device)
        status = fr_write_device_check_entry(call, e);
    if (status != OVSTAGE_OK)
        return status;
    if (call->request->some) {
        fr_write_positions *positions = (fr_write_positions *)(void *)*room;
        positions->count = call->elements;
        memcpy(positions->rows, call->request->rows, call->elements * sizeof(uint32_t));
        entry->positions = positions;
        *room += fr_write_positions_bytes(call);
    }
    size_t map_bytes = fr_payload_map_bytes(&payload.rows);
    if (map_bytes > 0) { /* without a need for room there is none, and NULL has no neighbours */
        fr_payload_keep_maps(&payload.rows, *room);
        *room += map_bytes;
    }
    fr_write_entry_pack(entry, &payload, (fr_write_inner *)(void *)*room);
    if (payload.rows.inner_dims)
        *room += sizeof(fr_write_inner);
    if (data->is_array) {
        entry->array = fr_payload_array_source(data, prims, call->stage->config.adopt_managed,
                                               &payload, *room);
        *room += fr_payload_array_bytes(data);
    }
    const DLTensor *tensor = fr_payload_tensor(data, 0);
    bool there = tensor->device.device_type == kDLCUDA;
    entry->from_host = call->device && !there && call->is_placed;
    entry->on_host = call->device && !there && !call->is_placed;
    if (call->device && there)
        entry->source = (uint8_t)tensor->device.device_id;
    entry->attribute = attribute;
    entry->counted = (uint8_t)counted;
    entry->any_role = entry->schema.semantic == OVSTAGE_SEMANTIC_NONE;
    call->write->payload_bytes += fr_write_entry_bytes(entry);
    return OVSTAGE_OK;
}

static fr_write_demand fr_write_demand_of(int mode)
{
    switch (mode) {
    case FLYRAIL_WRITE_INSERT:
        return FR_DEMAND_NEW_PRIMS;
    case FLYRAIL_WRITE_PRIMS_EXIST:
        return FR_DEMAND_PRIMS;
    case FLYRAIL_WRITE_KEYS_EXIST:
#ifdef FR_MUTATE_DEMAND_LOOKS_AT_PRIMS
        return FR_DEMAND_PRIMS;
#endif
        return FR_DEMAND_KEYS;
    default:
        return FR_DEMAND_NONE;
    }
}

static ovstage_api_status_t fr_write_fill(fr_write_call *call)
{
    fr_write_op *write = call->write;
    memset(write, 0, sizeof(*write));
    write->stage = call->stage;
    write->query = call->query;
    write->entries = &write->single;
    write->entry_count = call->count;
    write->demand = (uint8_t)fr_write_demand_of(call->request->mode);
    write->meets_query = call->pending;
    call->syncs = fr_write_syncs_host(call);
    size_t block_bytes = fr_write_block_bytes(call);
    if (block_bytes > UINT32_MAX)
        return fr_error_set(
            OVSTAGE_ERROR_OUT_OF_MEMORY,
            "%zu bytes of index maps and masks in one call are above the limit of %u", block_bytes,
            UINT32_MAX);
    unsigned char *room = NULL;
    if (block_bytes > 0) {
        write->block = fr_access_block_get(call->stage, block_bytes);
        if (!write->block)
            return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %zu bytes of a write",
                                block_bytes);
        write->block_bytes = (uint32_t)block_bytes;
        room = write->block;
    }
    if (call->device) {
        write->on_device = true;
        *fr_write_device(write) = (fr_device_write){.opened = call->device,
                                                    .stream = call->placement.stream,
                                                    .available = call->placement.availability_event,
                                                    .is_placed = call->is_placed,
                                                    .stays_on_host = call->stays_on_host};
        room += sizeof(fr_device_write);
    }
    if (call->syncs) {
        write->syncs = true;
        *fr_write_sync_of(write) = (fr_write_sync){.wait_id = 0};
        room += sizeof(fr_write_sync);
    }
    if (call->count > 1) {
        write->entries = (fr_write_entry *)(void *)room;
        room += call->count * sizeof(fr_write_entry);
    }
    for (uint32_t e = 0; e < call->count; e++) {
        ovstage_api_status_t status = fr_write_fill_entry(call, e, &room);
        if (status != OVSTAGE_OK)
            return status;
    }
    return fr_write_check_distinct(call, fr_write_entry_attribute);
}

/* --- the call --------------------------------------------------------------------------------- */

static ovstage_enqueue_result_t fr_write_submit_op(fr_write_call *call)
{
    fr_write_op *write = call->write;
    ovstage_api_status_t status = fr_write_fill(call);
    if (call->asks_query && !call->device && status != OVSTAGE_ERROR_OUT_OF_MEMORY)
        call->doom = status;
    if (status == OVSTAGE_OK && !call->pending)
        status = fr_write_judge_submitted(write, call->ordinal);
    if (status == OVSTAGE_OK && call->device)
        status = fr_write_device_capture(call);
    if (call->asks_query && call->device && status != OVSTAGE_OK &&
        status != OVSTAGE_ERROR_OUT_OF_MEMORY)
        fr_write_device_doom(call);
    if (status == OVSTAGE_OK && call->syncs)
        status = fr_write_sync_call(call);
    if (status != OVSTAGE_OK)
        return fr_write_refused(status);
    fr_submission submission = {
        .op = call->op,
        .has_ordinal = true,
        .ordinal = call->ordinal,
        .below_ordinal = call->ordinal,
        .producer_ids = call->producers,
        .producer_capacity = 2,
        .fails_with_producers = true,
        .admit = fr_write_admit,
        .undo = fr_write_undo,
        .accepted = fr_write_accepted,
        .user = call,
    };
    fr_device_write *device = fr_write_device(write);
    if (device && !device->available) {
        submission.report = device->report = fr_device_report_get(call->stage->graph);
        if (!device->report)
            return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY,
                                   "no memory for an operation's record");
    }
    for (uint32_t e = 0; e < call->count; e++) {
        const ovstage_write_data_t *data = &call->writes[e].data;
        union {
            const struct DLManagedTensorVersioned *given;
            struct DLManagedTensorVersioned *owned;
        } managed = {data->managed_tensors && !data->is_array ? data->managed_tensors[0] : NULL};
        write->entries[e].managed = managed.owned;
    }
    ovstage_enqueue_result_t result =
        fr_stage_submit(call->stage, &submission, write->payload_bytes);
    if (result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION)
        result = fr_write_refuse_floor(call, write->entries[call->refused_entry].attribute);
    if (result.status != OVSTAGE_OK && submission.report)
        fr_device_report_put(call->stage->graph, submission.report);
    return result;
}

/* The call's query reference and managed tensors go with the op, if it is accepted. */
static ovstage_enqueue_result_t fr_write_submit(fr_write_call *call)
{
    call->op = fr_graph_op_get(call->stage->graph, &fr_write_op_type);
    if (!call->op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    call->write = fr_op_payload(call->op);
    ovstage_enqueue_result_t result = fr_write_submit_op(call);
    if (result.status != OVSTAGE_OK) {
        fr_write_device_let_go(call->write);
        fr_write_sync_let_go(call->write);
        if (call->write->block)
            fr_access_block_put(call->stage, call->write->block, call->write->block_bytes);
        fr_graph_op_put(call->stage->graph, call->op);
    }
    return result;
}

/* *out_owns: an op has the call's query reference and managed tensors. */
static ovstage_enqueue_result_t fr_write_checked(fr_write_call *call, bool *out_owns)
{
    char text[160];
    ovstage_api_status_t status =
        fr_managed_check(call->writes, call->count, &call->stage->allocator, text, sizeof(text));
    if (status != OVSTAGE_OK)
        return fr_error_refuse(status, "%s", text);
    if (!call->asks_query && call->elements == 0)
        return fr_write_submit_empty(call);
    ovstage_enqueue_result_t result = fr_write_submit(call);
    if (call->doom != OVSTAGE_OK || call->writes_nothing)
        return fr_write_submit_empty(call);
    *out_owns = result.status == OVSTAGE_OK;
    return result;
}

static ovstage_api_status_t fr_write_check_request(const fr_write_request *request)
{
    if (!request->writes || request->count == 0 || request->count > UINT16_MAX)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "writes is%s NULL, its count %zu: 1 to %u entries are needed",
                            request->writes ? " not" : "", request->count, UINT16_MAX);
    if (request->mode < 0 || request->mode >= request->mode_count)
        return fr_error_set(
            OVSTAGE_ERROR_INVALID_ARGUMENT,
            request->mode_count > 2
                ? "mode = %d is none of FLYRAIL_WRITE_UPSERT (0) to .._KEYS_EXIST (3)"
                : "prim_mode = %d is neither UPSERT (0) nor INSERT (1)",
            request->mode);
    if (request->some && request->row_count > UINT32_MAX)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "row_count %zu is above the limit of %u rows", request->row_count,
                            UINT32_MAX);
    if (request->some && !request->rows && request->row_count > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "rows is NULL, but row_count is %zu: so many positions are needed",
                            request->row_count);
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_write_check_rows(const fr_write_request *request,
                                                const fr_query *query)
{
    for (size_t k = 0; request->some && k < request->row_count; k++)
        if (request->rows[k] >= query->count)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                "rows[%zu] = %u is outside the query's %u prims", k,
                                request->rows[k], query->count);
    return OVSTAGE_OK;
}

/* Whether the query's number of prims does not count yet. It does not either when a filter has
 * found none: what schema a write enters (L3) must not depend on whether the filter has run. */
static bool fr_write_is_pending(const fr_write_request *request, const fr_query *query)
{
    if (!fr_query_is_ready(query))
        return true;
#ifdef FR_MUTATE_WRITE_LOOKS_WHETHER_A_FILTER_HAS_RUN
    return false;
#endif
    return query->filter && query->count == 0 && !request->some;
}

/* *out_owns_managed: managed tensors have gone with the op, and so has the query's reference. */
static ovstage_enqueue_result_t fr_write_call_run(fr_stage *stage, const fr_write_request *request,
                                                  bool *out_owns_managed)
{
    ovstage_enqueue_result_t result = fr_write_refused(fr_write_check_request(request));
    if (result.status != OVSTAGE_OK)
        return result;
    fr_write_call call = {.stage = stage,
                          .request = request,
                          .writes = request->writes,
                          .count = (uint32_t)request->count,
                          .ordinal = request->ordinal};
    call.query = fr_stage_query_acquire(stage, request->query);
    if (!call.query)
        return fr_write_refused(OVSTAGE_ERROR_INVALID_HANDLE);
    call.pending = fr_write_is_pending(request, call.query);
    call.asks_query = call.pending && !request->some;
    if (request->some)
        call.elements = (uint32_t)request->row_count;
    else if (!call.pending) /* else it may just be found out, and is looked at when the op runs */
        call.elements = call.query->count;
    if (!call.pending)
        result.status = fr_write_check_rows(request, call.query);
    if (result.status == OVSTAGE_OK)
        result.status = fr_write_device_open(&call);
    if (result.status == OVSTAGE_OK)
        result = fr_write_checked(&call, out_owns_managed);
    if (!*out_owns_managed)
        fr_query_release(call.query);
    return result;
}

ovstage_enqueue_result_t fr_write_enter(fr_stage *stage, const fr_write_request *request)
{
    /* Of a stage that may not be entered nothing may be read. */
    ovstage_enqueue_result_t result = fr_write_refused(fr_stage_enter(stage));
    const fr_allocator *allocator =
        result.status == OVSTAGE_OK ? &stage->allocator : &fr_allocator_default;
    bool owns_managed = false;
    if (result.status == OVSTAGE_OK)
        result = fr_write_call_run(stage, request, &owns_managed);
    if (!owns_managed && request->writes)
        fr_managed_delete_all(request->writes, request->count, allocator);
    return result;
}

static ovstage_enqueue_result_t fr_write_the_long_way(fr_stage *stage, ovstage_query_handle_t query,
                                                      const ovstage_attribute_write_t *writes,
                                                      size_t count, ovstage_ordinal_t ordinal,
                                                      ovstage_prim_mode_t mode)
{
    const fr_write_request request = {.query = query,
                                      .writes = writes,
                                      .count = count,
                                      .ordinal = ordinal,
                                      .mode = (int)mode,
                                      .mode_count = FR_WRITE_PRIM_MODES};
    return fr_write_enter(stage, &request);
}

ovstage_enqueue_result_t fr_write_attributes(fr_stage *stage, ovstage_query_handle_t query,
                                             const ovstage_attribute_write_t *writes, size_t count,
                                             ovstage_ordinal_t ordinal, ovstage_prim_mode_t mode)
{
    ovstage_enqueue_result_t result = {OVSTAGE_OK, OVSTAGE_INVALID_OP_ID};
    if (count == 1 && writes && mode == OVSTAGE_PRIM_MODE_UPSERT &&
        fr_stage_enter(stage) == OVSTAGE_OK &&
        fr_write_quick(stage, query, writes->attribute.token, &writes->data, ordinal,
                       &result.op_index))
        return result;
    return fr_write_the_long_way(stage, query, writes, count, ordinal, mode);
}

ovstage_enqueue_result_t fr_write_attribute(fr_stage *stage, ovstage_query_handle_t query,
                                            ovx_string_or_token_t attribute,
                                            ovstage_ordinal_t ordinal, ovstage_write_data_t data,
                                            ovstage_prim_mode_t mode)
{
    ovstage_enqueue_result_t result = {OVSTAGE_OK, OVSTAGE_INVALID_OP_ID};
    if (mode == OVSTAGE_PRIM_MODE_UPSERT && fr_stage_enter(stage) == OVSTAGE_OK &&
        fr_write_quick(stage, query, attribute.token, &data, ordinal, &result.op_index))
        return result;
    ovstage_attribute_write_t write = {attribute, data};
    return fr_write_the_long_way(stage, query, &write, 1, ordinal, mode);
}
