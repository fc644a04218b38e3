/* Array columns at a seal: what older states hold of elements, and the payloads of which the head
 * has less than half.
 *
 * A payload lives as long as one slice of it. Rows that are replaced one by one leave payloads
 * behind of which little is used; when as much was replaced as the head has, its slices of such
 * payloads are copied together into a new one. So each byte written is copied once more at most,
 * and payloads take at most about four times what the head has (history apart).
 *
 * Threads: the seal. Without the segment's lock, but to put copied slices in, which needs a head
 * that nobody reads: else it is tried again at the next seal. Memory bound: a copy is at most
 * FR_COMPACT_BYTES a seal and segment. Without memory nothing happens. */
#ifndef FR_RUNTIME_STORE_COMPACT_H
#define FR_RUNTIME_STORE_COMPACT_H

#include "runtime/store/store_state.h"

#ifdef FR_SHRINK
#define FR_COMPACT_BYTES ((uint64_t)4 << 10)
#else
#define FR_COMPACT_BYTES ((uint64_t)4 << 20)
#endif

/* Elements that each older state has in the rows that a newer one wrote: history bytes. */
void fr_compact_weigh(fr_segment *segment);
void fr_compact_segment(fr_store *store, fr_segment *segment);

#endif
