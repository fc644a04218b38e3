/* Folding on a device: a new head beside the one that is there, in a stream of ours.
 *
 * Only of payloads that are written, so that no seal puts into a stream what waits for a producer,
 * unless too many changes lie over each other. What is not folded is gathered by who reads it.
 *
 * Threads: seals only, one at a time; no lock of a segment or a column is held. */
#ifndef FR_RUNTIME_STORE_FOLD_PLACE_H
#define FR_RUNTIME_STORE_FOLD_PLACE_H

#include "runtime/store/column.h"

/* So many lie over each other at most while they wait. */
#ifdef FR_SHRINK
#define FR_FOLD_WAITING 3u
#else
#define FR_FOLD_WAITING 8u
#endif

/* A FULL version for the newest sealed state: the base with all changes above it. NULL: not now, or
 * the device or the host has no memory; nothing changed. */
fr_version *fr_fold_place(fr_store *store, fr_segment *segment, const fr_version *base);

#endif
