/* The bytes of elements that one open version, or one record of unplaced rows, has had written to
 * its array column: unsealed as long as it is open, and as they are freed.
 *
 * Threads: added to by the ordinal's lane, dropped from by who frees a payload, sealed once by a
 * seal. Memory: one small block for each such version, until its last payload goes.
 *
 * Word `word`: bytes of the payloads that are alive, added by the lane and taken off by who frees
 * one; bit 63, set once by the seal, says that they are not counted as unsealed any more. Each
 * change takes the store's figure along by what the same atomic step found, so bytes leave it once.
 */
#ifndef FR_RUNTIME_STORE_PENDING_H
#define FR_RUNTIME_STORE_PENDING_H

#include "runtime/store/buffers.h"

typedef struct fr_pending fr_pending;

/* One reference. total: a part of the store's figure. NULL without memory. */
fr_pending *fr_pending_create(const fr_allocator *allocator, _Atomic uint64_t *total);
void fr_pending_retain(fr_pending *pending);
void fr_pending_release(fr_pending *pending); /* NULL is fine */
/* Before a seal: counts a payload, which holds a reference from then on. */
void fr_pending_add(fr_pending *pending, fr_buffer *payload);
/* The payload is freed; its reference goes. */
void fr_pending_drop(fr_pending *pending, const fr_buffer *payload);
void fr_pending_seal(fr_pending *pending); /* NULL is fine */

#endif
