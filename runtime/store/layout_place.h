/* Layout of rows that lie on a device: what the host moves by hand (layout.h) is moved there, in a
 * stream, and nobody waits for it; who reads the versions does, as for any payload.
 *
 * Threads: one at a time (seals). Progress: calls of the table, none of which waits for the device.
 * Memory bound: the versions; of the host 16 bytes a row while it works. */
#ifndef FR_RUNTIME_STORE_LAYOUT_PLACE_H
#define FR_RUNTIME_STORE_LAYOUT_PLACE_H

#include "runtime/store/column.h"

/* The record's rows, whose keys all have places, as versions of the segments that they lie in: all
 * of them, and the device has its work; or, without memory of the host or of the device, none. */
bool fr_layout_place(fr_store *store, fr_column *column, const fr_unplaced *unplaced);

#endif
