/* Queries that nobody uses any more, kept for the next one over the same list: a program that makes
 * a query of the same list each frame finds what the last one had resolved.
 *
 * Threads: any. Invariants: a query lies here only when it has no reference; its list is held, so
 * the address of its paths stands for them and for nothing else. Progress: one short lock. Memory:
 * at most FR_PARKED_PLACES queries of at most FR_PARKED_PRIMS prims, with their bindings. */
#ifndef FR_RUNTIME_QUERY_PARKED_H
#define FR_RUNTIME_QUERY_PARKED_H

#include "runtime/query/query.h"

#define FR_PARKED_PLACES 8u
#define FR_PARKED_PRIMS (1u << 15)

typedef struct fr_parked {
    fr_mutex lock;
    uint32_t next; /* the place that is given away when none is free */
    fr_query *places[FR_PARKED_PLACES];
} fr_parked;

/* Puts a query there. Returns the one that has to go for it: NULL, an older one, or itself. */
fr_query *fr_parked_put(fr_parked *parked, fr_query *query);
/* Takes out one over these paths; NULL when there is none. */
fr_query *fr_parked_take(fr_parked *parked, const ovx_primpath_t *prims, size_t count);
/* Takes out any; NULL when there is none. */
fr_query *fr_parked_take_any(fr_parked *parked);

#endif
