/* What is kept of an op that failed, until its id is released.
 *
 * A failure is a word of the form of a table entry (op_table.h): FR_ENTRY_TEXT with the address of
 * an fr_failure; FR_ENTRY_STATUS with a status alone, when there was no memory for the text;
 * FR_ENTRY_CAUSE with the sequence of the producer whose failure made it fail. The last two need no
 * memory.
 *
 * Threads: set by any thread that runs a part of the op; the first one counts. */
#ifndef FR_SCHEDULER_OP_FAILURE_H
#define FR_SCHEDULER_OP_FAILURE_H

#include "scheduler/edge.h"

typedef struct fr_failure {
    FR_ALIGNED_LINE ovstage_api_status_t
        status; /* a line of its own: its address leaves room for the flags */
    size_t text_bytes;
    char text[];
} fr_failure;

_Static_assert(_Alignof(fr_failure) >= 1 << FR_ENTRY_VALUE_SHIFT,
               "the address fits beside the flags");

#define FR_FAILURE_TEXT_MAX 1024
#define FR_FAILURE_CAUSE_TEXT_MAX 96 /* of an op that failed because a producer did */

/* Gives back what the word points to, if anything. */
void fr_failure_release(const fr_allocator *allocator, uint64_t word);
/* Writes text, status and cause of a failure word. */
void fr_failure_read(uint64_t word, uint64_t prefix, fr_op_failure *out, char *buffer,
                     size_t buffer_bytes);
/* The op fails with that word; false when it has failed already. */
bool fr_op_set_failure(fr_op *op, uint64_t word);
/* The op has failed: so do the consumer of the edge, because of it, or its report, with its text.
 */
void fr_op_pass_failure(const fr_op *op, const fr_edge *edge);
/* As fr_op_fail, of an op that destroy drops: nobody is told. */
void fr_op_drop_failed(fr_op *op, const char *text);
/* Tells whom the graph's configuration says of it. */
void fr_op_tell_failure(const fr_op *op, const fr_op_failure *failure);
/* The same of an op that failed because a producer did. */
void fr_op_tell_cause(const fr_op *op);
/* The word of an op that fails because a producer did. */
static inline uint64_t fr_failure_of_producer(uint64_t producer_id)
{
    return (producer_id & FR_ID_SEQUENCE_MASK) << FR_ENTRY_VALUE_SHIFT | FR_ENTRY_CAUSE;
}

#endif
