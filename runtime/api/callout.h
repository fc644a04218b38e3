/* Client code that the library has called on this thread, and on whose account: from inside it its
 * instance cannot be destroyed, since the call that it was made from goes on afterwards.
 *
 * A task may run inside somebody's wait, and a deleter inside a call that was refused. So what such
 * code waits for, and what fails in it, is told there and nowhere else: the call that it interrupts
 * has a text and a list of its own to answer with.
 *
 * Threads: each sees its own. Memory bound: the frames lie on the stacks of the calls, and the list
 * of a frame goes with it. */
#ifndef FR_RUNTIME_API_CALLOUT_H
#define FR_RUNTIME_API_CALLOUT_H

#include <stdbool.h>

#include "runtime/api/error.h"
#include "runtime/ops/wait_errors.h"

/* owner: the stage, which its allocator names as `user` to parts that know no more of it. It is
 * compared, never read. */
typedef struct fr_callout {
    const void *owner;
    struct fr_callout *outer;
    fr_waited waited;
    fr_error_slot error;
} fr_callout;

void fr_callout_begin(fr_callout *callout, const void *owner);
void fr_callout_end(fr_callout *callout);
/* The one that this thread is in, or NULL. */
fr_callout *fr_callout_innermost(void);
bool fr_callout_is_under_way(const void *owner);

#endif
