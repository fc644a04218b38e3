/* Who waits for a later op is not told that an op failed (D17): the log is. */
#include "runtime/log/log.h"
#include "runtime/ops/ops.h"

#include <stdio.h>

void fr_stage_log_failure(void *user, const fr_op *op, const char *type_name,
                          const fr_op_failure *failure)
{
    const fr_stage *stage = user;
    ovstage_log_severity_t severity =
        failure->cause_id == 0 ? OVSTAGE_LOG_ERROR : OVSTAGE_LOG_WARNING;
    if (!fr_log_may_want(severity))
        return;
    const char *name = type_name == fr_task_op_type.name ? fr_task_name(op) : NULL;
    uint64_t ordinal = fr_op_told_ordinal(op);
    char where[32] = "";
    if (ordinal != 0)
        (void)snprintf(where, sizeof(where), ", ordinal %llu", (unsigned long long)ordinal);
    fr_log_write(severity, FR_LOG_CHANNEL,
                 "instance %u: operation 0x%llx (%s%s%.64s%s%s) failed, %s: %.*s",
                 stage->instance_number, (unsigned long long)fr_op_client_id(op), type_name,
                 name ? " '" : "", name ? name : "", name ? "'" : "", where,
                 fr_error_string(failure->status), (int)failure->text.length, failure->text.ptr);
}
