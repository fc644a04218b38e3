/* The rows of a binding in ascending order. A kept query whose list of rows is written again and
 * again is written in this order: then each pass over the rows goes through memory in one direction
 * (folding makes three to six), and a range read need not sort what it finds.
 *
 * Made when the rows were taken FR_BIND_ORDER_TAKEN times, kept with the binding until that goes.
 *
 * Threads: any; of several that make it one wins. Memory bound: 8 bytes a row, counted as bindings
 * are. */
#ifndef FR_RUNTIME_STORE_BIND_ORDER_H
#define FR_RUNTIME_STORE_BIND_ORDER_H

#include "runtime/store/bind.h"

#ifdef FR_SHRINK
#define FR_BIND_ORDER_TAKEN 2u
#define FR_BIND_ORDER_LEAST 5u
#else
#define FR_BIND_ORDER_TAKEN 4u
#define FR_BIND_ORDER_LEAST 256u
#endif

typedef struct fr_bind_order {
    size_t size_bytes;
    uint32_t *rows;     /* ascending */
    uint32_t *elements; /* of the query: element elements[k] goes to rows[k]. Behind the rows */
} fr_bind_order;

/* Of a binding of one group that has its rows in the order of the query, none twice. NULL: not
 * taken often enough, of few rows, ascending as they are, or there is no memory. */
const fr_bind_order *fr_bind_order_take(const fr_binding *binding);
void fr_bind_order_free(fr_binding *binding);

#endif
