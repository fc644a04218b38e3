/* Clones: ovstage_clone copies a prim and all that exists below it to other paths, at an ordinal.
 *
 * The folder owns the op behind ovstage_clone: which prims it copies, to which paths, with which
 * values. Rows get to the store as writes do (store.h). It may call the dictionary, the store, the
 * floors, devices, what writes share (write/) and the scheduler. Called by: programs;
 * write/access.c, which keeps its records.
 *
 * What is copied (R131 to R138, D24): each key of the subtree, which is told from path texts
 * element by element, as the ops accepted before leave it at the ordinal. The op waits for those of
 * them that are pending at or below its ordinal, and holds back what is accepted later in lanes
 * below its own: that changes the source only. Fixed rows are copied, those of a device there;
 * arrays share the source's payloads. Only rows with paths that point into the subtree get elements
 * of their own, in which each path is that of the copy, whether a prim exists there or not. Paths
 * to elsewhere stay.
 *
 * What it is judged by, in this order, told through wait_op; nothing is made then:
 *   WRITE_FLOOR_VIOLATION  the ordinal is not above the floor that all attributes have
 *   NOT_FOUND              the source does not exist
 *   WRITE_FLOOR_VIOLATION  the same of an attribute that the subtree has
 *   INVALID_ARGUMENT       a copy's path would be longer than paths may be
 *   PRIM_NOT_FOUND         a prim that it would make exists already, or is made by two of its
 *                          copies. Prims below a target that it would not make do no harm.
 *   NOT_SUPPORTED          rows on a device, beside other new keys of their column
 *   OP_FAILED              a device has failed
 *   OUT_OF_MEMORY
 *
 * Targets: a path named twice, the root, and a text that stands for no path are refused at once,
 * with INVALID_ARGUMENT. One inside the source becomes a copy of what the source was before. One
 * inside another target is fine as long as no prim is made twice. The source itself exists already.
 * Without targets nothing is made, but the source is looked for all the same. A target's parent
 * need not exist.
 *
 * Threads: submitted by any; run by one, whose chunks any worker helps with. Memory while it runs:
 * 16 bytes for each copied prim, 4 for each path of the copies, and what its writes take. */
#ifndef FR_RUNTIME_CLONE_CLONE_H
#define FR_RUNTIME_CLONE_CLONE_H

#include "runtime/api/stage.h"

typedef struct fr_clone_work fr_clone_work; /* clone_work.h */

typedef struct fr_clone_op {
    fr_stage *stage;
    ovx_primpath_t source;
    uint32_t *targets; /* path numbers, each once; NULL: none */
    uint32_t target_count;
    bool nested;           /* some target lies inside another one */
    fr_clone_work *parked; /* of one that is; else NULL */
    /* Set to true by who started the chunks, when it has let go of them, and by who finished the
     * last one: the second one ends the op. */
    _Atomic bool left;
    _Atomic(fr_clone_work *) work; /* set by who runs the op before its chunks start, for helpers */
} fr_clone_op;

_Static_assert(sizeof(fr_clone_op) <= FR_OP_PAYLOAD_BYTES, "fits the record");

extern const fr_op_type fr_clone_op_type;

#endif
