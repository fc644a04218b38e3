#include "runtime/map/map.h"

#include "runtime/device/report.h"
#include "runtime/floor/floors.h"
#include "runtime/write/access.h"
#include "runtime/write/write_op.h"

#include <string.h>

static ovstage_enqueue_result_t fr_map_refused(ovstage_api_status_t status)
{
    ovstage_enqueue_result_t result = {status, OVSTAGE_INVALID_OP_ID};
    return result;
}

/* --- the session ------------------------------------------------------------------------------ */

void fr_map_ref(void *object)
{
    fr_map *map = object;
    fr_add_relaxed(&map->references, 1);
}

void fr_map_unref(void *object)
{
    fr_map *map = object;
    /* [map.references.drop] pairs [map.references.drop] : the last one sees what the others did
     * with it */
    if (fr_sub_acq_rel(&map->references, 1) != 1)
        return;
    fr_stage *stage = map->stage;
    fr_query *query = map->query;
    fr_store_buffer_release(stage->store, map->buffer);
    fr_store_buffer_release(stage->store, map->tensors_buffer);
    fr_fence_release(map->ready);
    fr_tally_add(&stage->finished_payload_bytes, map->counted_bytes);
    fr_slabs_put(&stage->access->maps, map);
    fr_query_release(query);
}

/* With the references of the caller and the given query's; NULL without memory. */
static fr_map *fr_map_make(fr_stage *stage, fr_query *query, uint64_t ordinal)
{
    fr_map *map = fr_slabs_get(&stage->access->maps);
    if (!map)
        return NULL;
    memset(map, 0, sizeof(*map));
    map->stage = stage;
    map->query = query;
    map->ordinal = ordinal;
    fr_store_relaxed(&map->references, 1);
    return map;
}

/* --- what is mapped --------------------------------------------------------------------------- */

/* More elements than that no address space holds, of whatever type. */
#define FR_MAP_ELEMENTS_MAX ((uint64_t)1 << 48)

static ovstage_api_status_t fr_map_check_sizes(const size_t *element_sizes, size_t element_count,
                                               uint32_t prims)
{
    uint64_t elements = 0;
    if (!element_sizes && element_count > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "element_sizes is NULL, but element_count = %zu", element_count);
    if (element_sizes && element_count != prims)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "element_count = %zu, but the query has %u prims", element_count,
                            prims);
    for (size_t k = 0; k < element_count; k++) {
        if (element_sizes[k] > FR_MAP_ELEMENTS_MAX - elements)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                "element_sizes[%zu] = %zu: %zu rows together have more than the "
                                "limit of %llu elements",
                                k, element_sizes[k], k + 1,
                                (unsigned long long)FR_MAP_ELEMENTS_MAX);
        elements += element_sizes[k];
    }
    return OVSTAGE_OK;
}

/* As a write of one compact tensor, of an array packed: type, width and role. */
static ovstage_api_status_t fr_map_check_storage(fr_map *map, const ovstage_map_desc_t *desc,
                                                 fr_payload *payload)
{
    uint32_t prims = map->meets_query ? 1 : map->query->count; /* how many does not matter here */
    int64_t rows = prims;
    DLTensor tensor = {
        .data = &rows, .device = {kDLCPU, 0}, .ndim = 1, .dtype = desc->dtype, .shape = &rows};
    ovstage_write_data_t data = {.tensors = &tensor,
                                 .tensor_count = 1,
                                 .semantic = desc->semantic,
                                 .is_array = map->schema.is_array};
    ovstage_api_status_t status = fr_payload_check(&data, prims, false, FR_PLACE_HOST, payload);
    return status == OVSTAGE_OK
               ? status
               : fr_error_set(status, "attribute '%s': %s",
                              fr_stage_name_tell(map->stage, desc->attribute).text, payload->text);
}

/* False: it is refused. Else the op says so, if there are prims; the last error tells why. */
static bool fr_map_is_doomed(fr_map *map, ovstage_api_status_t status)
{
    if (!map->meets_query)
        return false;
    ovx_string_t why = fr_error_get();
    size_t length = why.length < sizeof(map->text) ? why.length : sizeof(map->text) - 1;
    memcpy(map->text, why.ptr, length);
    map->doom = status;
    return true;
}

static ovstage_api_status_t fr_map_name(fr_map *map, const ovstage_map_desc_t *desc)
{
    fr_payload payload;
    ovx_token_t token = OVX_INVALID_TOKEN;
    ovstage_write_data_t data = {.semantic = desc->semantic, .is_array = map->schema.is_array};
    bool named = desc->dtype.code != 0 || desc->dtype.bits != 0 || desc->dtype.lanes != 0;
    /* Without prims there is nothing to look at (R101). */
    bool looks = map->meets_query || map->query->count > 0;
    ovstage_api_status_t status = OVSTAGE_OK;
    if (looks && !fr_semantic_name(desc->semantic))
        status = fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic = %d is outside 0..%d",
                              (int)desc->semantic, (int)OVSTAGE_SEMANTIC_FRAME);
    if (status == OVSTAGE_OK && looks && named)
        status = fr_map_check_storage(map, desc, &payload);
    if (status != OVSTAGE_OK && fr_map_is_doomed(map, status))
        looks = false;
    else if (status != OVSTAGE_OK)
        return status;
    status = fr_stage_attribute(map->stage, desc->attribute, true, &map->attribute, &token);
    if (status == OVSTAGE_OK)
        status = fr_write_check_reserved(map->stage, token, &data, NULL);
    if (status != OVSTAGE_OK)
        return status;
    if (looks && named)
        status = fr_write_check_reserved(map->stage, token, &data, &payload);
    if (status != OVSTAGE_OK && fr_map_is_doomed(map, status))
        looks = false;
    else if (status != OVSTAGE_OK)
        return status;
    map->inserts = desc->prim_mode == OVSTAGE_PRIM_MODE_INSERT;
    map->finds_schema = looks && !named;
    map->schema.semantic = desc->semantic;
    if (looks && named)
        map->schema = payload.schema;
    map->any_role = map->schema.semantic == OVSTAGE_SEMANTIC_NONE;
    return OVSTAGE_OK;
}

/* --- map_attribute ---------------------------------------------------------------------------- */

typedef struct fr_mapping {
    fr_map *map;
    uint64_t producer;
    uint64_t refused_floor;
} fr_mapping;

static ovstage_api_status_t fr_map_admit(fr_submission *submission, void *user)
{
    fr_mapping *mapping = user;
    fr_map *map = mapping->map;
    mapping->refused_floor = fr_floors_accepted(map->stage->floors, map->attribute);
    if (map->ordinal <= mapping->refused_floor)
        return OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
    uint64_t bit = (uint64_t)1 << map->attribute->index % 64;
    map->judge = fr_map_is_open(map);
    submission->attribute_filter = bit;
    submission->below_filter = map->inserts ? UINT64_MAX : 0;
#ifndef FR_MUTATE_MAP_FINDS_WITHOUT_WAITING
    submission->below_filter |= map->judge || map->finds_schema ? bit : 0;
#endif
    submission->takes_lanes_below = submission->below_filter != 0;
    submission->producer_count = fr_query_producer(map->query, &mapping->producer);
    return OVSTAGE_OK;
}

static void fr_map_accepted(fr_submission *submission, uint64_t id, void *user)
{
    fr_mapping *mapping = user;
    fr_map *map = mapping->map;
    (void)submission;
    map->op_id = id;
    map->live = true;
    uint64_t filter = (uint64_t)1 << map->attribute->index % 64;
    if (map->inserts && map->stage->deletes_accepted)
        filter = UINT64_MAX;
    if (fr_map_is_judged(map))
        fr_store_judgement_begin(map->stage->store, map->ordinal, filter, id);
    map->counted_bytes = map->expected_bytes;
    fr_count(&map->stage->accepted_payload_bytes, map->counted_bytes);
    fr_floors_know(map->stage->floors, map->attribute);
}

static ovstage_enqueue_result_t fr_map_submit(fr_map *map)
{
    fr_stage *stage = map->stage;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_map_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    fr_mapping mapping = {map, 0, 0};
    fr_submission submission = {
        .op = op,
        .has_ordinal = true,
        .ordinal = map->ordinal,
        .below_ordinal = map->ordinal,
        .producer_ids = &mapping.producer,
        .producer_capacity = 1,
        .fails_with_producers = true,
        .admit = fr_map_admit,
        .accepted = fr_map_accepted,
        .user = &mapping,
    };
    fr_map_op *payload = fr_op_payload(op);
    *payload = (fr_map_op){.map = map};
    if (map->device) {
        submission.report = payload->report = fr_device_report_get(stage->graph);
        if (!submission.report) {
            fr_graph_op_put(stage->graph, op);
            return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY,
                                   "no memory for an operation's record");
        }
    }
    fr_map_ref(map);
    ovstage_enqueue_result_t result = fr_stage_submit(stage, &submission, map->expected_bytes);
    map->client_id = result.op_index;
    if (result.status == OVSTAGE_OK)
        return result;
    if (submission.report)
        fr_device_report_put(stage->graph, submission.report);
    if (result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION)
        fr_error_set(result.status,
                     "ordinal %llu is not above the write floor %llu of attribute '%s'",
                     (unsigned long long)map->ordinal, (unsigned long long)mapping.refused_floor,
                     fr_write_name(stage, map->attribute));
    fr_graph_op_put(stage->graph, op);
    fr_map_unref(map);
    return result;
}

/* Of an array: how many elements each row has is kept in what will be its slice. */
static ovstage_api_status_t fr_map_take_sizes(fr_map *map, const size_t *element_sizes)
{
    map->schema.is_array = element_sizes != NULL;
    if (!element_sizes || map->element_count == 0)
        return OVSTAGE_OK;
    map->buffer = fr_store_slices_get(map->stage->store, element_sizes, map->element_count);
    return map->buffer ? OVSTAGE_OK
                       : fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %u element sizes",
                                      map->element_count);
}

static ovstage_enqueue_result_t fr_map_open(fr_map *map, const ovstage_map_desc_t *desc,
                                            const size_t *element_sizes,
                                            const ovstage_placement_t *placement,
                                            ovstage_map_handle_t *out)
{
    ovstage_api_status_t status = fr_map_take_sizes(map, element_sizes);
    if (status == OVSTAGE_OK)
        status = fr_map_place(map, placement);
    if (status == OVSTAGE_OK)
        status = fr_map_name(map, desc);
    if (status == OVSTAGE_OK && !map->meets_query)
        status = fr_map_judge_submitted(map);
    if (status != OVSTAGE_OK)
        return fr_map_refused(status);
    ovstage_map_handle_t handle = fr_handle_reserve(map->stage, FR_HANDLE_MAP);
    if (handle == OVSTAGE_INVALID_MAP_HANDLE)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a map handle");
    ovstage_enqueue_result_t result = fr_map_submit(map);
    if (fr_handle_settle(map->stage, handle, result.status, map))
        *out = handle;
    return result;
}

static ovstage_api_status_t fr_map_check(const ovstage_map_desc_t *desc,
                                         const ovstage_map_handle_t *out)
{
    if (!desc || !out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the %s is NULL",
                            desc ? "map out pointer" : "map descriptor");
    if (desc->prim_mode != OVSTAGE_PRIM_MODE_UPSERT && desc->prim_mode != OVSTAGE_PRIM_MODE_INSERT)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "prim_mode = %d is neither UPSERT (0) nor INSERT (1)",
                            (int)desc->prim_mode);
    return OVSTAGE_OK;
}

ovstage_enqueue_result_t fr_map_attribute(fr_stage *stage, ovstage_query_handle_t query,
                                          const ovstage_map_desc_t *desc, ovstage_ordinal_t ordinal,
                                          const size_t *element_sizes, size_t element_count,
                                          ovstage_map_handle_t *out)
{
    return fr_map_attribute_placed(stage, query, desc, ordinal, element_sizes, element_count, NULL,
                                   out);
}

ovstage_enqueue_result_t fr_map_attribute_placed(
    fr_stage *stage, ovstage_query_handle_t query_handle, const ovstage_map_desc_t *desc,
    ovstage_ordinal_t ordinal, const size_t *element_sizes, size_t element_count,
    const ovstage_placement_t *placement, ovstage_map_handle_t *out)
{
    if (out)
        *out = OVSTAGE_INVALID_MAP_HANDLE;
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status == OVSTAGE_OK)
        status = fr_map_check(desc, out);
    if (status != OVSTAGE_OK)
        return fr_map_refused(status);
    fr_query *query = fr_stage_query_acquire(stage, query_handle);
    if (!query)
        return fr_map_refused(OVSTAGE_ERROR_INVALID_HANDLE);
    bool pending = !fr_query_is_ready(query);
    uint32_t prims = pending ? (uint32_t)element_count : query->count;
    status = fr_map_check_sizes(element_sizes, element_count, prims);
    fr_map *map = status == OVSTAGE_OK ? fr_map_make(stage, query, ordinal) : NULL;
    if (!map) {
        fr_query_release(query);
        return status == OVSTAGE_OK
                   ? fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a map session")
                   : fr_map_refused(status);
    }
    map->meets_query = pending;
    map->element_count = (uint32_t)element_count;
    ovstage_enqueue_result_t result = fr_map_open(map, desc, element_sizes, placement, out);
    if (result.status != OVSTAGE_OK)
        fr_map_unref(map);
    return result;
}

/* --- fetch_map_next --------------------------------------------------------------------------- */

bool fr_map_is_known(const fr_map *map)
{
    /* [map.state.look] pairs [map.state.known] : see there */
    return fr_load_acquire(&map->state) == FR_MAP_KNOWN;
}

/* And its buffer, if there is one, is cleared. */
static bool fr_map_is_ready(const fr_map *map)
{
#ifdef FR_MUTATE_DEVICE_MAP_NOT_CLEARED_YET
    return fr_map_is_known(map);
#endif
    return fr_map_is_known(map) && (!map->ready || fr_fence_is_over(map->ready));
}

/* Until it is ready. A client that has released the op's id still gets its group. */
static ovstage_api_status_t fr_map_wait(const fr_map *map, uint64_t timeout_ns)
{
    fr_wait_outcome outcome;
    if (fr_map_is_ready(map))
        return OVSTAGE_OK;
    /* A report tells of the clearing; that of a host's may tell of what others do to devices. */
    uint64_t id = map->device ? map->client_id : map->op_id;
    fr_graph_wait_even_released(map->stage->graph, id, timeout_ns, &outcome);
    if (fr_map_is_ready(map))
        return OVSTAGE_OK;
    if (outcome.status == OVSTAGE_ERROR_TIMEOUT)
        return OVSTAGE_ERROR_TIMEOUT;
    return fr_error_set(outcome.status, "%s", outcome.text);
}

static void fr_map_describe(const fr_map *map, ovstage_map_group_t *out)
{
    memset(out, 0, sizeof(*out));
    out->prims.list = map->query->list;
    out->prims.count = map->query->count;
    out->data.tensors = map->tensors;
    out->data.tensor_count = map->schema.is_array ? map->query->count : 1;
    out->data.count = map->query->count;
    out->meta.attribute_write_floor_ordinal =
        fr_floors_executed(map->stage->floors, map->attribute);
    out->meta.layout_generation = fr_store_layout_generation(map->attribute);
}

static ovstage_api_status_t fr_map_take_group(fr_map *map, ovstage_map_handle_t handle,
                                              ovstage_map_group_t *out)
{
    fr_graph_lock(map->stage->graph);
    bool live = map->live;
    bool takes = live && map->phase == FR_MAP_OPEN && map->query->count > 0;
    if (takes)
        map->phase = FR_MAP_FETCHED;
    fr_graph_unlock(map->stage->graph);
    if (!live)
        return fr_handle_refuse(map->stage, FR_HANDLE_MAP, handle, "map");
    if (!takes)
        return OVSTAGE_ERROR_END_OF_ITERATION;
    fr_map_describe(map, out);
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_map_fetch_next(fr_stage *stage, ovstage_map_handle_t handle,
                                       ovstage_timeout_ns_t timeout, ovstage_map_group_t *out)
{
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the group out pointer is NULL");
    fr_map *map = fr_handle_acquire(stage, FR_HANDLE_MAP, handle, fr_map_ref);
    if (!map)
        return fr_handle_refuse(stage, FR_HANDLE_MAP, handle, "map");
    bool waits = !fr_map_is_known(map) && timeout != 0;
    status = fr_map_wait(map, timeout);
    if (status == OVSTAGE_OK && map->status != OVSTAGE_OK)
        status = fr_error_set(waits ? OVSTAGE_ERROR_OP_FAILED : map->status, "%s", map->text);
    else if (status == OVSTAGE_OK && map->ready && fr_fence_look(map->ready) == FR_FENCE_LOST)
        status = fr_error_set(OVSTAGE_ERROR_OP_FAILED,
                              "CUDA device %d failed before the buffer was cleared: %s",
                              (int)map->device->place, fr_opened_death(map->device));
    else if (status == OVSTAGE_OK)
        status = fr_map_take_group(map, handle, out);
    fr_map_unref(map);
    return status;
}
