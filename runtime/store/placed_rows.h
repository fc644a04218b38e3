/* The rows of a change on a device: their numbers and places as lists, and moving them between
 * payloads there.
 *
 * Threads: a set that nobody changes meanwhile. */
#ifndef FR_RUNTIME_STORE_PLACED_ROWS_H
#define FR_RUNTIME_STORE_PLACED_ROWS_H

#include "runtime/device/scatter.h"
#include "runtime/store/buffers.h"
#include "runtime/store/row_set.h"

typedef struct fr_set_list {
    const uint32_t *rows;   /* count */
    const uint32_t *places; /* of each; NULL: 0, 1, 2, ... */
    uint32_t count;
    uint32_t *own; /* of a bitmap */
} fr_set_list;

/* False without memory. */
bool fr_set_list_open(const fr_allocator *allocator, const fr_row_set *set, fr_set_list *out);
void fr_set_list_close(const fr_allocator *allocator, fr_set_list *list);

/* Rows between two payloads that were named to the run: number to_rows[k] (NULL: k) of one is
 * number from_rows[k] of the other. */
bool fr_placed_rows_move(fr_device_run *run, const fr_buffer *to, const uint32_t *to_rows,
                         const fr_buffer *from, const uint32_t *from_rows, uint32_t count,
                         uint32_t row_bytes, fr_device_fault *fault);

#endif
