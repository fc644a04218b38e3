/* One computation: from locals at the input's moment to rows of the world column at the output's.
 *
 * The forest keeps what the last one saw. What changed since then is told by range reads: of locals
 * and resets, which make nodes dirty; of worlds, which somebody else may have written. Where that
 * is not known exactly, all of it is read. So a row is written, and is a change at the output
 * ordinal, if what follows from the locals differs from what the column has there: neither more nor
 * fewer because of what was kept.
 *
 * With an open output ordinal the column is looked at as the seals that were accepted before leave
 * it, and what else was written at or below the ordinal is judged key by key, and written in any
 * case: so what is a change does not depend on what has run besides.
 *
 * Threads: one at a time (compute.h). Memory: the forest, kept within half of the store's
 * cache_limit_bytes; while it runs the rows that are read and written besides. */
#ifndef FR_RUNTIME_HIERARCHY_COMPUTING_H
#define FR_RUNTIME_HIERARCHY_COMPUTING_H

#include "runtime/hierarchy/forest.h"

#define FR_COMPUTING_TEXT_BYTES 256

typedef struct fr_compute {
    fr_stage *stage;
    uint64_t input, output;
    fr_attribute *local, *reset, *world;
    uint64_t floor; /* of the world column, accepted before it */
    bool is_open;   /* the output ordinal is above that */
} fr_compute;

/* Not OK: nothing of the stage changed, and the text says why: WRITE_FLOOR_VIOLATION (the input is
 * not sealed), OUT_OF_RANGE (it, or the output's moment, is not kept any more), INVALID_ARGUMENT (a
 * column has another type), OUT_OF_MEMORY. */
ovstage_api_status_t fr_computing_run(const fr_compute *compute, uint64_t op_id, char *text);

#endif
