/* Composing world transforms: world = local x parent's world, with row vectors, row-major (R150). A
 * node without a local has its parent's world; one that resets has its local, or the identity;
 * above the topmost local all is the identity, which is not multiplied with.
 *
 * Threads: fr_compose by one at a time; it shares each level out over the pool. The same bits come
 * out whatever the number of threads, and whichever nodes were dirty besides those that had to be.
 */
#ifndef FR_RUNTIME_HIERARCHY_COMPOSE_H
#define FR_RUNTIME_HIERARCHY_COMPOSE_H

#include "runtime/hierarchy/forest.h"

/* What is dirty, and what follows from it: worlds that come out as other bits are entered in
 * forest->changed. Nothing is dirty afterwards. */
void fr_compose(fr_forest *forest);

#endif
