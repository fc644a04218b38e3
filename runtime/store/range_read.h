/* Range reads: the keys of a query that changed in [S, E], with their newest values at or below E
 * (L5).
 *
 * Which rows changed is told by the log of the segment (change_log.h) and by the sealed versions
 * that are not accounted for yet. The cost follows those rows, not the query's, where it can be
 * told what position a row is; else each position is looked up in them. */
#ifndef FR_RUNTIME_STORE_RANGE_READ_H
#define FR_RUNTIME_STORE_RANGE_READ_H

#include "runtime/store/reading.h"

/* Into the snapshot: what the query has of the binding's column that changed; pinned. OUT_OF_RANGE
 * too when the record of floors that the reading goes by is so old that changes above it were
 * merged. */
ovstage_api_status_t fr_range_take(const fr_reading *reading, const fr_binding *binding,
                                   fr_snapshot *snapshot);
/* All rows of the binding changed. Takes no lock but the segment's. */
bool fr_range_is_whole(const fr_reading *reading, const fr_binding *binding);

#endif
