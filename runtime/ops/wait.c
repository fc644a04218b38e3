#include "runtime/ops/ops.h"

#include "runtime/ops/wait_errors.h"

ovstage_api_status_t fr_ops_wait(fr_stage *stage, ovstage_op_id_t op_id,
                                 ovstage_timeout_ns_t timeout, ovstage_op_wait_result_t *out)
{
    fr_wait_outcome outcome;
    fr_wait_errors_forget();
    fr_graph_wait(stage->graph, op_id, timeout, &outcome);
    if (outcome.status == OVSTAGE_OK && fr_graph_op_state(stage->graph, op_id) == FR_OP_FAILED)
        fr_wait_errors_collect(stage->graph, op_id);
    if (out) {
        out->error_op_id_count = fr_wait_errors_ids(&out->error_op_ids);
        out->lowest_pending_op_id = outcome.status == OVSTAGE_ERROR_TIMEOUT
                                        ? outcome.lowest_pending_id
                                        : OVSTAGE_INVALID_OP_ID;
    }
    if (outcome.status != OVSTAGE_OK && outcome.status != OVSTAGE_ERROR_TIMEOUT)
        return fr_error_set(outcome.status, "%s", outcome.text);
    return outcome.status;
}

ovx_string_t fr_ops_last_error(ovstage_op_id_t op_id)
{
    return fr_wait_errors_text(op_id);
}

ovstage_api_status_t fr_ops_release(fr_stage *stage, ovstage_op_id_t op_id)
{
    ovstage_api_status_t status = fr_graph_release(stage->graph, op_id);
    if (status != OVSTAGE_OK)
        return fr_error_set(status, "operation 0x%llx is not known: %s", (unsigned long long)op_id,
                            op_id == 0 ? "0 stands for no operation"
                            : op_id >> 48 != stage->instance_number
                                ? "it is not of this instance"
                                : "released already, or never given out");
    return status;
}
