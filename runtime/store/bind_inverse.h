/* The other way round of a binding: which of the query's positions a row of a segment is. For range
 * reads, that begin at the rows.
 *
 * Made when it is first asked for, kept with the binding until that goes.
 *
 * Threads: any; of several that make it one wins. Memory bound: 4 bytes a row of segments of which
 * the query has at least one row in FR_BIND_INVERSE_SHARE; counted as bindings are. */
#ifndef FR_RUNTIME_STORE_BIND_INVERSE_H
#define FR_RUNTIME_STORE_BIND_INVERSE_H

#include "runtime/store/bind.h"

#define FR_BIND_INVERSE_SHARE 16u

/* Of a group of a kept binding, by row: k + 1 of the binding's order and rows; 0: none is. NULL:
 * the query has few of the segment's rows, or some twice, or there is no memory. */
const uint32_t *fr_bind_inverse_of(const fr_binding *binding, const fr_bind_group *group);
void fr_bind_inverse_free(fr_binding *binding);

#endif
