/* Hierarchy lookups (R143 to R148): one answer for each path of a list, by path text, one level,
 * naming prims of the newest sealed state only.
 *
 * A lookup keeps the client's list, which never changes, and runs as an op of its own. Its answer
 * does not change either once it is there, so every result that is fetched shows the same memory.
 *
 * Threads: every function from any thread. Invariants: the answer is written by who runs the op,
 * before `state` says so, and by nobody afterwards. Progress: a lookup waits for seals that were
 * accepted before it, and for nothing else; a fetch never waits. Memory: the answer's size.
 *
 * Word `state`: FR_LOOKUP_PENDING until the op has run; one of the others, set once by who runs or
 * drops the op. */
#ifndef FR_RUNTIME_HIERARCHY_LOOKUP_H
#define FR_RUNTIME_HIERARCHY_LOOKUP_H

#include "runtime/api/stage.h"

enum { FR_LOOKUP_PENDING = 0, FR_LOOKUP_DONE = 1, FR_LOOKUP_FAILED = 2 };

/* The object behind a handle of a lookup, and of each result of it. */
void fr_lookup_unref(void *lookup);

#endif
