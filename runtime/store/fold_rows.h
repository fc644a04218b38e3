/* Moving the rows of a change between a full payload and its own: compact in the order of a list,
 * or dense under a bitmap. Slices that are overwritten let go of payloads: into `let_go`
 * (slices.h). */
#ifndef FR_RUNTIME_STORE_FOLD_ROWS_H
#define FR_RUNTIME_STORE_FOLD_ROWS_H

#include "runtime/store/buffers.h"
#include "runtime/store/row_set.h"

/* The rows trade places. */
void fr_fold_rows_swap(const fr_row_set *set, unsigned char *full, unsigned char *part,
                       uint32_t row_bytes);
/* Into the full payload. */
void fr_fold_rows_apply(const fr_row_set *set, fr_buffer *full, const fr_buffer *part,
                        uint32_t row_bytes, fr_buffer **let_go);
/* Out of the full payload. */
void fr_fold_rows_save(const fr_row_set *set, fr_buffer *part, const fr_buffer *full,
                       uint32_t row_bytes, fr_buffer **let_go);
/* From another full payload. */
void fr_fold_rows_catch_up(const fr_row_set *set, fr_buffer *full, const fr_buffer *from,
                           uint32_t row_bytes, fr_buffer **let_go);

/* Both in one pass over the rows: what they were goes out of the full payload, what they are in the
 * other one into it. */
void fr_fold_rows_relieve(const fr_row_set *set, fr_buffer *saved, fr_buffer *full,
                          const fr_buffer *from, uint32_t row_bytes, fr_buffer **let_go);

/* Of slices: the elements of the set's rows, in a full payload or in its own. */
uint64_t fr_fold_rows_elements(const fr_row_set *set, const fr_buffer *buffer, bool full);

#endif
