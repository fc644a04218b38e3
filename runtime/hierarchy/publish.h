/* The rows of a computation that differ from what the world column has: written at its output
 * ordinal, by the lane of an open one, or derived at a sealed one (store/derive.h).
 *
 * Threads: as the forest. Memory: 12 bytes a row besides what the store takes. */
#ifndef FR_RUNTIME_HIERARCHY_PUBLISH_H
#define FR_RUNTIME_HIERARCHY_PUBLISH_H

#include "runtime/hierarchy/forest.h"

typedef struct fr_publication {
    fr_forest *forest;
    fr_attribute *world;
    uint64_t ordinal, op_id;
    uint64_t floor; /* up to which the forest has seen the world column */
    bool is_open;
    char *text;
} fr_publication;

/* Clears forest->changed, but at an open ordinal. Not OK: nothing was written, but that columns of
 * several roles at an open ordinal are written one after the other. */
ovstage_api_status_t fr_publish(const fr_publication *publication);

#endif
