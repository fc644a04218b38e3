/* The tensors of an array group: one a row, over the payloads that its slices refer to.
 *
 * Threads: as the slices are read. Memory: 56 bytes a row, as long as the group. */
#ifndef FR_RUNTIME_STORE_ARRAY_READ_H
#define FR_RUNTIME_STORE_ARRAY_READ_H

#include "runtime/store/slices.h"
#include "runtime/store/store.h"

/* Of `count` rows; they lie first in the buffer. NULL without memory. */
fr_buffer *fr_array_tensors(fr_buffers *buffers, const fr_schema *schema, const fr_slice *slices,
                            uint32_t count);
/* part->data is there, and what it refers to is held by the part's pinned versions, or was brought
 * to where it is shown. False without memory. */
bool fr_array_read_tensors(fr_buffers *buffers, fr_read_part *part);

#endif
