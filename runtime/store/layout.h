/* Layout: gives the unplaced rows of sealed ordinals their place. On a device it has them moved
 * (layout_place.h).
 *
 * The new keys of one seal become one segment, in the order of the lowest ordinal's rows, further
 * keys behind. The rows themselves become versions: all rows of one segment in its order without a
 * byte moved, else a change of each segment they are in.
 *
 * May stop for want of memory and be called again: what is not laid out stays in the column's list.
 *
 * Threads: one at a time (seals). Everything is made beside what there is, without a lock; writers
 * and readers meet it piece by piece: first the segment, then places in it, then the topology
 * counter, then the rows. Progress: the locks of the column and of its segments, each for a bounded
 * number of rows. Memory bound: while it works, up to the size of what it lays out, twice. */
#ifndef FR_RUNTIME_STORE_LAYOUT_H
#define FR_RUNTIME_STORE_LAYOUT_H

#include "runtime/store/column.h"

/* Lays out everything at or below `floor`; the seal that calls it folds what that made. False
 * without memory. */
bool fr_layout_column(fr_store *store, fr_column *column, uint64_t floor);

#endif
