/* Whether an older state still holds a value that is among the newest of its key (L6).
 *
 * A state holds, of the rows that the next newer one changed, what they were before. Each further
 * state that has changed all of those rows makes their values one older. This looks at whole sets
 * of rows only, in whatever order, and errs towards keeping: the sets of a stream of like writes
 * are found equal in a fraction of a step a row.
 *
 * Threads: seals only, without the segment's lock: reads nothing of a set that others may add to it
 * (an index). Progress: FR_HISTORY_LISTED entries for each state that is looked at, each once. */
#ifndef FR_RUNTIME_STORE_SUPERSEDED_H
#define FR_RUNTIME_STORE_SUPERSEDED_H

#include "runtime/store/column.h"

/* States that are kept besides those that are by configuration, before their rows are archived one
 * by one; and changes of so few rows, or fewer, that are archived at once. As long as that the log
 * keeps what they changed in any case. */
#ifdef FR_SHRINK
#define FR_HISTORY_LISTED 3u
#define FR_HISTORY_FEW 2u
#else
#define FR_HISTORY_LISTED 64u
#define FR_HISTORY_FEW 16u
#endif

/* The state is not the newest, and is accounted for. False too without memory to compare. */
bool fr_superseded(fr_store *store, fr_segment *segment, const fr_version *state);
/* Whether a change is of all rows; NULL is. */
static inline bool fr_superseded_is_all(const fr_segment *segment, const fr_change *change)
{
#ifdef FR_MUTATE_SUPERSEDED_BY_NO_LIST_OF_ALL
    (void)segment;
    return !change;
#endif
    return !change || change->rows.count == segment->row_count;
}
/* Whether the next newer entry changed that few rows. */
static inline bool fr_superseded_few(const fr_version *state)
{
    const fr_change *since = state->newer->since;
    return since && since->rows.count <= FR_HISTORY_FEW;
}

#endif
