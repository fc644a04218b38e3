/* The failed ops that a thread's last wait found, with their texts (R19, R20).
 *
 * Threads: each thread has a list of its own, which lives until its next wait or its end; client
 * code that the library calls on it has another, until that code returns (api/callout.h).
 * Memory bound: about 4 KiB for a thread that waited for a failed op, from the C library's heap,
 * given back when the thread ends. It is not thread-local storage itself: what is fast there has to
 * be small, or a program that opens the library while it runs finds no room for it. */
#ifndef FR_RUNTIME_OPS_WAIT_ERRORS_H
#define FR_RUNTIME_OPS_WAIT_ERRORS_H

#include <ovstage/ovstage.h>

#include "scheduler/graph.h"

#define FR_WAIT_SPARE_TEXT_BYTES 128

typedef struct fr_wait_errors fr_wait_errors;

typedef struct fr_waited {
    fr_wait_errors *list; /* NULL until a failed op is found */
    size_t count;         /* in list, or 1 in spare when there is no list */
    ovstage_op_id_t spare_id;
    size_t spare_length;
    char spare_text[FR_WAIT_SPARE_TEXT_BYTES];
} fr_waited;

/* Gives the list back, which is there. */
void fr_waited_free(fr_waited *waited);

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
