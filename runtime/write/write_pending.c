/* Writes over queries that are not ready when they are submitted, or that a filter found empty: all
 * is checked that does not need the number of prims, and the rest when the op runs. */
#include "runtime/query/filter.h"
#include "runtime/write/write_op.h"

#include <string.h>

uint32_t fr_write_pending_count(const ovstage_write_data_t *data, fr_write_counted *out_counted)
{
    const DLTensor *tensor = fr_payload_tensor(data, 0);
    *out_counted = data->count > 0 ? FR_WRITE_COUNT_GIVEN : FR_WRITE_COUNT_OWN;
    if (data->count > 0)
        return data->count;
    if (data->is_array && data->tensor_count == 1) {
        *out_counted = FR_WRITE_COUNT_PACKED;
        return 1;
    }
    if (data->is_array)
        return data->tensor_count;
    bool has_rows = tensor && tensor->ndim > 0 && tensor->shape && tensor->shape[0] > 0 &&
                    tensor->shape[0] <= UINT32_MAX;
    return has_rows ? (uint32_t)tensor->shape[0] : 0; /* what is no shape is found out there */
}

bool fr_write_query_ready(fr_op *op, const fr_query *query)
{
    if (fr_query_is_ready(query))
        return true;
    const char *text; /* its op was released, so that no edge has told */
    ovstage_api_status_t status = fr_query_failure(query, &text);
    fr_op_fail(op, status, "%s", text);
    return false;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* How many slices a packed payload gives is known by now: they are in flight too. */
static void fr_write_count_packed(fr_write_op *write, fr_write_entry *entry, uint32_t rows)
{
    fr_stage *stage = write->stage;
    uint64_t counted_bytes = fr_write_entry_bytes(entry);
    entry->count = entry->selected_count = entry->row_count = rows;
    entry->array->row_count = rows;
    uint64_t more_bytes = fr_write_entry_bytes(entry) - counted_bytes;
    write->payload_bytes += more_bytes;
    fr_graph_lock(stage->graph);
    fr_count(&stage->accepted_payload_bytes, more_bytes);
    fr_graph_unlock(stage->graph);
}

static bool fr_write_meet_packed(fr_op *op, fr_write_op *write, fr_write_entry *entry)
{
    uint32_t prims = write->query->count;
    uint64_t elements = entry->array->tensors[0].count;
    if (elements % prims != 0) {
        fr_op_fail(op, OVSTAGE_ERROR_INVALID_ARGUMENT,
                   "attribute '%s': a packed payload of %llu elements does not divide evenly into "
                   "%u rows (the query's prims)",
                   fr_write_name(write->stage, entry->attribute), (unsigned long long)elements,
                   prims);
        return false;
    }
    fr_write_count_packed(write, entry, prims);
    return true;
}

static bool fr_write_meet_positions(fr_op *op, const fr_write_op *write,
                                    const fr_write_entry *entry)
{
    const fr_write_positions *positions = entry->positions;
    for (uint32_t k = 0; k < positions->count; k++) {
        if (positions->rows[k] < write->query->count)
            continue;
        fr_op_fail(op, OVSTAGE_ERROR_INVALID_ARGUMENT,
                   "attribute '%s': rows[%u] = %u is outside the query's %u prims",
                   fr_write_name(write->stage, entry->attribute), k, positions->rows[k],
                   write->query->count);
        return false;
    }
    return true;
}

static bool fr_write_meet_entry(fr_op *op, fr_write_op *write, fr_write_entry *entry)
{
    uint32_t prims = write->query->count;
    if (entry->counted == FR_WRITE_COUNT_PACKED)
        return fr_write_meet_packed(op, write, entry);
    bool given = entry->counted == FR_WRITE_COUNT_GIVEN;
    if (given ? entry->count > prims : entry->count != prims) {
        fr_op_fail(op, OVSTAGE_ERROR_INVALID_ARGUMENT,
                   given ? "attribute '%s': count = %u is above the query's %u prims"
                         : "attribute '%s': %u rows, but %u elements are written (the query's "
                           "prims)",
                   fr_write_name(write->stage, entry->attribute), entry->count, prims);
        return false;
    }
    if (entry->count == prims)
        return true;
    entry->adoptable = false; /* less than the whole (D10) */
    for (uint32_t t = 0; entry->schema.is_array && t < entry->array->tensor_count; t++)
        entry->array->tensors[t].adoptable = false;
    return true;
}

/* All entries before the first one is written (R112). */
bool fr_write_meet_query(fr_op *op, fr_write_op *write)
{
    if (!write->meets_query)
        return true;
    if (!fr_write_query_ready(op, write->query))
        return false;
    if (write->single.positions)
        return fr_write_meet_positions(op, write, &write->single);
    if (write->query->count == 0) { /* R101 */
        write->next_entry = write->entry_count;
        return true;
    }
    for (uint32_t e = 0; e < write->entry_count; e++)
        if (!fr_write_meet_entry(op, write, &write->entries[e]))
            return false;
    return true;
}

/* --- payloads that are wrong ------------------------------------------------------------------ */

typedef struct fr_doomed_op {
    fr_query *query; /* one reference */
    ovstage_api_status_t status;
    char text[FR_OP_PAYLOAD_BYTES - 16];
} fr_doomed_op;

_Static_assert(sizeof(fr_doomed_op) <= FR_OP_PAYLOAD_BYTES, "fits the record");

static fr_run_result fr_doomed_run(fr_op *op, const fr_run_context *context)
{
    (void)context;
    const fr_doomed_op *doomed = fr_op_payload(op);
    if (fr_write_query_ready(op, doomed->query) && doomed->query->count > 0)
        fr_op_fail(op, doomed->status, "%s", doomed->text);
    return FR_RUN_DONE;
}

static void fr_doomed_drop(fr_op *op)
{
    const fr_doomed_op *doomed = fr_op_payload(op);
    fr_query_release(doomed->query);
}

static const fr_op_type fr_doomed_op_type = {
    .name = "write",
    .run = fr_doomed_run,
    .drop = fr_doomed_drop,
};

fr_op *fr_write_doomed(fr_stage *stage, fr_query *query, ovstage_api_status_t status,
                       ovx_string_t text)
{
    fr_op *op = fr_graph_op_get(stage->graph, &fr_doomed_op_type);
    if (!op)
        return NULL;
    fr_doomed_op *doomed = fr_op_payload(op);
    size_t length = text.length < sizeof(doomed->text) ? text.length : sizeof(doomed->text) - 1;
    doomed->query = query;
    doomed->status = status;
    memcpy(doomed->text, text.ptr, length);
    doomed->text[length] = '\0';
    fr_query_acquire(query);
    return op;
}
