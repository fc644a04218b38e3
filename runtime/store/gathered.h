/* The gather cache: the compact rows that a kept binding of a query was last read as. A state of a
 * segment changes only when rows are derived (derive.h), so they are good as long as that was not
 * done and each of the binding's segments is read at the state that it was then.
 *
 * Threads: any. Memory bound: one buffer a binding; all together, with the bindings themselves,
 * within the store's cache_limit_bytes: for a new one the least recently used of any query go. Goes
 * with the binding at the latest. */
#ifndef FR_RUNTIME_STORE_GATHERED_H
#define FR_RUNTIME_STORE_GATHERED_H

#include "runtime/store/snapshot.h"

/* Pinned and of a kept binding: sets `gathered` when the same was gathered before. */
void fr_gathered_find(fr_snapshot *snapshot);
/* After a gather: keeps it for the next time. */
void fr_gathered_keep(fr_snapshot *snapshot);
void fr_gathered_forget(fr_store *store, fr_gathered *gathered);
/* Counts bytes of the caches, for which gathers go if need be. False: they do not fit; nothing was
 * counted. */
bool fr_gathered_take_room(fr_store *store, uint64_t size_bytes);

#endif
