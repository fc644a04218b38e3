/* Rows as they were at a moment below the oldest state of their segment, from its archive.
 *
 * Threads: readers, which hold the moment (fr_store_moment_hold), so that what they find stays.
 * Takes the segment's lock, in pieces. Memory: a copy of the rows that differ, until the read is
 * let go of; of an array, their payloads are shared. */
#ifndef FR_RUNTIME_STORE_RECALL_H
#define FR_RUNTIME_STORE_RECALL_H

#include "runtime/store/column.h"

typedef struct fr_recall {
    fr_segment *segment;
    const uint32_t *rows; /* NULL: 0, 1, 2, ... */
    uint32_t count;
    uint64_t ordinal; /* the moment */
    uint64_t state;   /* the oldest state */
    /* What comes of it: */
    uint64_t newest; /* the newest ordinal at or below the moment at which a row was written */
    fr_version
        *made; /* those that were written since, as they were; in no list, and pinned: it goes
                         with the pin. NULL: none was, or it failed */
} fr_recall;

/* OUT_OF_RANGE: a row's value of then is not kept. OUT_OF_MEMORY. */
ovstage_api_status_t fr_recall_run(fr_store *store, fr_recall *recall);

#endif
