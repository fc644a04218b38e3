/* Client code that the library has called on this thread, and on whose account: from inside it its
 * instance cannot be destroyed, since the call that it was made from goes on afterwards.
 *
 * Threads: each sees its own. Memory bound: none; the frames lie on the stacks of the calls. */
#ifndef FR_RUNTIME_API_CALLOUT_H
#define FR_RUNTIME_API_CALLOUT_H

#include <stdbool.h>

/* owner: the stage, which its allocator names as `user` to parts that know no more of it. It is
 * compared, never read. */
typedef struct fr_callout {
    const void *owner;
    const struct fr_callout *outer;
} fr_callout;

void fr_callout_begin(fr_callout *callout, const void *owner);
void fr_callout_end(const fr_callout *callout);
bool fr_callout_is_under_way(const void *owner);

#endif
