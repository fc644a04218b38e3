#include "runtime/write/write_quick.h"

#include "runtime/api/handles.h"
#include "runtime/floor/floors.h"
#include "runtime/write/access.h"
#include "runtime/write/write_op.h"

/* The op: one line, the only one of the record's payload that is written and read. */
typedef struct fr_quick_write {
    fr_stage *stage;
    fr_query *query; /* one reference */
    fr_attribute *attribute;
    const unsigned char *base;
    uint64_t ordinal; /* here, since the lane's own is on a line that submissions write */
    fr_schema schema;
    uint32_t count;
} fr_quick_write;

_Static_assert(sizeof(fr_quick_write) <= FR_CACHE_LINE_BYTES, "each further line costs a transfer");

/* Writes that are accepted without a look at the room, at most; each may take so much of it: the
 * payload, dense and with room for more rows. */
#define FR_QUICK_ROOM_OPS 64u
#define FR_QUICK_ROOM_BYTES (16u * FR_WRITE_SPLIT_BYTES)

typedef struct fr_quick {
    ovstage_query_handle_t query;
    fr_quick_write *write; /* the op's payload */
} fr_quick;

static uint64_t fr_quick_bytes(const fr_quick_write *write)
{
    return (uint64_t)write->count * write->schema.row_bytes;
}

/* --- running ---------------------------------------------------------------------------------- */

static fr_run_result fr_quick_run(fr_op *op, const fr_run_context *context)
{
    (void)context;
    const fr_quick_write *write = fr_op_payload(op);
    fr_store *store = write->stage->store;
    fr_row_source rows; /* field by field: most of it is for inner dimensions */
    rows.base = write->base;
    rows.row_bytes = write->schema.row_bytes;
    rows.row_stride_bytes = write->schema.row_bytes;
    rows.row_count = rows.count = rows.selected_count = write->count;
    rows.compact = true;
    rows.index_map = NULL;
    rows.mask = NULL;
    rows.positions = NULL;
    rows.adoptable = NULL;
    rows.buffer = NULL;
    rows.inner_dims = rows.element_bytes = 0;
    const fr_write what = {.attribute = write->attribute,
                           .schema = write->schema,
                           .query = write->query,
                           .ordinal = write->ordinal,
                           .op_id = fr_op_id(op),
                           .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
                           .any_role = true,
                           .rows = &rows};
    fr_write_plan plan;
    ovstage_api_status_t status = fr_store_write_prepare(store, &what, &plan);
    bool written;
    if (status != OVSTAGE_OK &&
        fr_write_refused_by_store(op, write->stage, &what, status, &plan, &written) != OVSTAGE_OK)
        return FR_RUN_DONE;
    for (uint32_t chunk = 0; chunk < plan.chunk_count; chunk++)
        fr_store_write_chunk(&plan, chunk);
    fr_store_write_commit(store, &plan);
    return FR_RUN_DONE;
}

static void fr_quick_drop(fr_op *op)
{
    const fr_quick_write *write = fr_op_payload(op);
    fr_tally_add(&write->stage->finished_payload_bytes, fr_quick_bytes(write));
    fr_query_release(write->query);
}

static const fr_op_type fr_quick_op_type = {
    .name = "write",
    .run = fr_quick_run,
    .drop = fr_quick_drop,
};

/* --- what fits -------------------------------------------------------------------------------- */

static bool fr_quick_data_fits(const ovstage_write_data_t *data)
{
    return data->tensors && data->tensor_count == 1 && !data->managed_tensors && !data->is_array &&
           data->count == 0 && !data->index_map && !data->mask &&
           data->semantic == OVSTAGE_SEMANTIC_NONE && !data->cuda_sync.stream &&
           !data->cuda_sync.wait_event;
}

static uint32_t fr_quick_row_bytes(const DLTensor *tensor)
{
    return (uint32_t)tensor->dtype.lanes * tensor->dtype.bits / 8;
}

static bool fr_quick_tensor_fits(const DLTensor *tensor)
{
    DLDataType dtype = tensor->dtype;
    return tensor->device.device_type == kDLCPU && tensor->ndim == 1 && tensor->shape &&
           tensor->shape[0] > 0 && tensor->shape[0] <= UINT32_MAX && tensor->data &&
           tensor->byte_offset == 0 && (!tensor->strides || tensor->strides[0] == 1) &&
           dtype.code < kDLBool && dtype.bits != 0 && dtype.bits % 8 == 0 && dtype.lanes != 0 &&
           dtype.lanes <= 255 &&
           (uint64_t)tensor->shape[0] * fr_quick_row_bytes(tensor) <= FR_WRITE_SPLIT_BYTES;
}

static void fr_quick_fill(fr_quick_write *write, fr_stage *stage, fr_attribute *attribute,
                          uint64_t ordinal, const DLTensor *tensor)
{
    write->stage = stage;
    write->attribute = attribute;
    write->base = tensor->data;
    write->ordinal = ordinal;
    write->schema = (fr_schema){.code = tensor->dtype.code,
                                .bits = tensor->dtype.bits,
                                .lanes = tensor->dtype.lanes,
                                .row_bytes = fr_quick_row_bytes(tensor),
                                .semantic = OVSTAGE_SEMANTIC_NONE,
                                .is_array = false};
    write->count = (uint32_t)tensor->shape[0];
}

/* --- admission -------------------------------------------------------------------------------- */

/* What is pending is counted on lines that all who run ops write: where much room was found, the
 * next few writes are accepted without a look, as long as what was accepted since is little of it.
 */
static bool fr_quick_has_room(fr_stage *stage, uint64_t payload_bytes)
{
    uint64_t accepted_bytes = fr_load_relaxed(&stage->accepted_payload_bytes) + payload_bytes;
    if (stage->room_ops > 0 && accepted_bytes <= stage->room_accepted_bytes) {
        stage->room_ops--;
        return true;
    }
    uint64_t limit = stage->config.pending_limit_bytes;
    uint64_t pending = fr_stage_pending_bytes(stage);
    if (pending > limit || payload_bytes > limit - pending)
        return false;
    uint64_t room_bytes = limit - pending - payload_bytes;
    stage->room_ops = room_bytes / FR_QUICK_ROOM_BYTES;
    if (stage->room_ops > FR_QUICK_ROOM_OPS)
        stage->room_ops = FR_QUICK_ROOM_OPS;
    stage->room_accepted_bytes = accepted_bytes + stage->room_ops * FR_WRITE_SPLIT_BYTES;
    return true;
}

/* The attribute's only schema so far, in any role: it is met without a judgement (L3, D11). */
static bool fr_quick_meets_schema(const fr_attribute *attribute, const fr_schema *schema)
{
    const fr_schema *entered = &attribute->schema;
    return attribute->schema_single && entered->code == schema->code &&
           entered->bits == schema->bits && entered->lanes == schema->lanes && !entered->is_array;
}

static ovstage_api_status_t fr_quick_admit(fr_submission *submission, void *user)
{
    const fr_quick *quick = user;
    fr_quick_write *write = quick->write;
    fr_stage *stage = write->stage;
    const fr_attribute *attribute = write->attribute;
    (void)submission;
    fr_query *query = fr_handles_peek(stage->handles, FR_HANDLE_QUERY, quick->query);
    if (!query || !fr_query_is_ready(query) || query->count != write->count ||
        !(attribute->floor_state & FR_FLOOR_KNOWN) ||
        write->ordinal <= fr_floors_accepted(stage->floors, attribute) ||
        !fr_quick_meets_schema(attribute, &write->schema) ||
        (attribute->schema.semantic != OVSTAGE_SEMANTIC_NONE &&
         (attribute->keys_deleted || stage->prims_deleted)) ||
        !fr_quick_has_room(stage, fr_quick_bytes(write)))
        return OVSTAGE_ERROR_INTERNAL; /* shown to nobody: the long way says what is wrong */
    write->schema.semantic = attribute->schema.semantic;
    write->query = query;
    fr_query_admit(query);
    fr_count(&stage->accepted_payload_bytes, fr_quick_bytes(write));
    return OVSTAGE_OK;
}

static void fr_quick_undo(fr_submission *submission, void *user)
{
    const fr_quick *quick = user;
    (void)submission;
    fr_query_undo_admit(quick->write->query);
    fr_count(&quick->write->stage->accepted_payload_bytes,
             (uint64_t)0 - fr_quick_bytes(quick->write));
}

static void fr_quick_describe(fr_submission *submission, fr_op *op, fr_quick *quick)
{
    fr_submission_begin(submission, op);
    submission->has_ordinal = true;
    submission->ordinal = quick->write->ordinal;
    submission->attribute_filter = (uint64_t)1 << quick->write->attribute->index % 64;
    submission->admit = fr_quick_admit;
    submission->undo = fr_quick_undo;
    submission->user = quick;
}

bool fr_write_quick(fr_stage *stage, ovstage_query_handle_t query, ovx_token_t token,
                    const ovstage_write_data_t *data, ovstage_ordinal_t ordinal,
                    ovstage_op_id_t *out_id)
{
    if (token == OVX_INVALID_TOKEN || !fr_quick_data_fits(data) ||
        !fr_quick_tensor_fits(data->tensors))
        return false;
    fr_attribute *attribute = fr_store_attribute_find(stage->store, token);
    if (!attribute || fr_access_reserved(stage->access, token) != FR_RESERVED_NONE)
        return false;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_quick_op_type);
    if (!op)
        return false;
    fr_quick quick = {query, fr_op_payload(op)};
    fr_quick_fill(quick.write, stage, attribute, ordinal, data->tensors);
    fr_submission submission;
    fr_quick_describe(&submission, op, &quick);
    /* A full queue is seen here too, and waited for on the long way. */
    if (fr_graph_submit(stage->graph, &submission, out_id) == OVSTAGE_OK)
        return true;
    fr_graph_op_put(stage->graph, op);
    return false;
}
