/* The failed ops that a thread's last wait found, with their texts (R19, R20).
 *
 * Threads: each thread has a list of its own, which lives until its next wait or its end.
 * Memory bound: about 4 KiB for a thread that waited for a failed op, from the C library's heap,
 * given back when the thread ends. It is not thread-local storage itself: what is fast there has to
 * be small, or a program that opens the library while it runs finds no room for it. */
#ifndef FR_RUNTIME_OPS_WAIT_ERRORS_H
#define FR_RUNTIME_OPS_WAIT_ERRORS_H

#include <ovstage/ovstage.h>

#include "scheduler/graph.h"

/* Empties the list: a new wait begins. */
void fr_wait_errors_forget(void);

/* Fills it: the root cause first, then those nearest to the awaited op, which is last. Without
 * memory for a list it holds the root cause alone, with a shorter text. */
void fr_wait_errors_collect(fr_graph *graph, ovstage_op_id_t awaited);

/* *out_ids: NULL when there are none; valid until the next wait of this thread. */
size_t fr_wait_errors_ids(const ovstage_op_id_t **out_ids);

/* {NULL, 0} when the op is not in the list. */
ovx_string_t fr_wait_errors_text(ovstage_op_id_t op_id);

#endif
