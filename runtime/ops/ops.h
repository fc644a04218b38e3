/* Waiting for ops, their errors, their release: the entry points of contract 4.2. */
#ifndef FR_RUNTIME_OPS_OPS_H
#define FR_RUNTIME_OPS_OPS_H

#include "runtime/api/stage.h"

ovstage_api_status_t fr_ops_wait(fr_stage *stage, ovstage_op_id_t op_id,
                                 ovstage_timeout_ns_t timeout, ovstage_op_wait_result_t *out);
ovstage_api_status_t fr_ops_release(fr_stage *stage, ovstage_op_id_t op_id);
/* Of the calling thread's last wait. */
ovx_string_t fr_ops_last_error(ovstage_op_id_t op_id);

/* Logs that an op failed, for the graph of the stage that is `user`. Of one that failed by itself
 * an error, of one that did not run since another failed a warning. */
void fr_stage_log_failure(void *user, const fr_op *op, const char *type_name,
                          const fr_op_failure *failure);

/* What tasks appear as in traces when they have no name of their own. */
extern const fr_op_type fr_task_op_type;
/* The name that the client gave a task, or NULL. Only for an op of that type. */
const char *fr_task_name(const fr_op *op);

/* flyrail_parallel_for for the library's own work; in one piece when there is no memory for more. A
 * body takes no lock and waits for nobody, so the caller, who may run an op, waits for the ends of
 * pieces only. */
void fr_parallel_own(fr_stage *stage, uint64_t count, uint64_t grain,
                     void (*body)(uint64_t begin, uint64_t end, void *user), void *user);
/* Jobs of flyrail_parallel_for whose invitations the pool may still hold: takes them back. When no
 * range can begin any more. */
void fr_parallel_drain(fr_stage *stage);
size_t fr_parallel_object_bytes(void);

#endif
