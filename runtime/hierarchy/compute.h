/* Computing world transforms: the op behind ovstage_compute_hierarchy (R149 to R156, L11).
 *
 * A computation waits for the seals that its input needs, as a read does, and for the one that was
 * accepted before it. With an output ordinal above the accepted floor of the world column it is an
 * op of that lane, behind what may write or delete that column at or below it and behind the seals
 * of it that were accepted before; else it waits for the seal that covers the ordinal, and derives
 * rows of what is sealed. Clones that were accepted before it copy what was there without it, and
 * those accepted behind it wait for it (D24).
 *
 * Threads: computations of an instance come one after the other, by their edges; so `forest` is
 * whose turn it is. Memory: computing.h. */
#ifndef FR_RUNTIME_HIERARCHY_COMPUTE_H
#define FR_RUNTIME_HIERARCHY_COMPUTE_H

#include "runtime/hierarchy/forest.h"

struct fr_hierarchy {
    ovx_token_t local, reset, world; /* names of the columns */
    uint64_t last_compute;           /* the newest accepted one (admission) */
    fr_forest *forest;               /* kept for the next one; NULL: none */
};

/* Sets and clears stage->hierarchy; between the opening of the store and its end. OUT_OF_MEMORY. */
ovstage_api_status_t fr_hierarchy_open(fr_stage *stage);
void fr_hierarchy_close(fr_stage *stage); /* never opened is fine */

#endif
