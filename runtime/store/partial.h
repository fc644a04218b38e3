/* Growing a version that an open ordinal writes: coverage and payload together. */
#ifndef FR_RUNTIME_STORE_PARTIAL_H
#define FR_RUNTIME_STORE_PARTIAL_H

#include "runtime/store/segment.h"

/* Makes room for `more` rows in a PARTIAL version (its change is made if it has none): coverage,
 * and a payload of our own that nobody else reads. May turn into the dense form. Everything is made
 * beside what is there, and put in under the segment's lock, which it takes: others may look for
 * rows of a version that is linked. False without memory: what is readable in it is unchanged. */
bool fr_partial_reserve(fr_versions *versions, fr_version *version, uint32_t more);
/* Gives a new PARTIAL version distinct rows all at once, fewer than make it dense: row k of the
 * list has place k. False without memory: the version goes back as it is. */
bool fr_partial_assign(fr_versions *versions, fr_version *version, const uint32_t *rows,
                       uint32_t count);
/* Reserved before: the place of a row in the payload. With the segment's lock held, if linked. */
uint32_t fr_partial_add(fr_version *version, uint32_t row);
/* With the segment's lock held: the place of a row that is in it, or for which there is room.
 * FR_ROW_SET_NONE: to be reserved. */
uint32_t fr_partial_place(fr_version *version, uint32_t row);
/* A FULL version gets a payload that may be written in place: what it has, or a copy. Takes the
 * segment's lock. False without memory. */
bool fr_partial_own_full(fr_versions *versions, fr_version *version);

#endif
