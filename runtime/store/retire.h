/* An older state goes off the list: the values that it alone holds are entered in the archive.
 *
 * Threads: seals only, one at a time. Takes the segment's lock, in pieces. Progress: in proportion
 * to the rows that the next newer state changed. */
#ifndef FR_RUNTIME_STORE_RETIRE_H
#define FR_RUNTIME_STORE_RETIRE_H

#include "runtime/store/column.h"

/* Whether the segment's oldest entry, of which some values are to be kept, is to go off the list.
 */
bool fr_retire_wants(const fr_store *store, const fr_segment *segment);
/* That entry, or one that is unfolded and stands on it; accounted for, and not the
 * newest. False without memory, or when values would have to go that `moment` needs: it is to stay,
 * and nothing has changed for who reads. */
bool fr_retire(fr_store *store, fr_segment *segment, const fr_version *state, uint64_t moment);

#endif
