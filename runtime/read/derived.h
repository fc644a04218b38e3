/* Columns that nobody writes: usd-path, usd-parent and usd-children, made for one read from the
 * newest structure when the read is judged (R140). A prim that does not exist, or has no value, has
 * no row; children come in path order (D6, D13).
 *
 * Threads: any. Memory: a part's own blocks, 12 bytes a row and, of children, 56 more and 8 for
 * each child; freed with the part. */
#ifndef FR_RUNTIME_READ_DERIVED_H
#define FR_RUNTIME_READ_DERIVED_H

#include "runtime/read/read.h"

/* Adds the part, if it has rows. OUT_OF_MEMORY: nothing is added. */
ovstage_api_status_t fr_derived_read(fr_read *read, const fr_read_name *name,
                                     const fr_floor_record *record);
/* Of a part without an attribute: its ids lie on a device now, one after the other. */
void fr_derived_show(fr_read_part *part);
void fr_derived_release(fr_stage *stage, fr_read_part *part);

#endif
