/* Targets of a write to a column on a device.
 *
 * The device's work is put into a stream before a row gets its place, since that is what may fail:
 * so it goes to places that are foreseen. What the ordinal has written before stays as it is until
 * then: either it is written by one call, which is the last one of the write, or a copy of it takes
 * its place at the commit. Rows that have no place yet are written where there is room for them,
 * and else in a larger payload with a copy of those that are there.
 *
 * Threads: who runs the op. */
#ifndef FR_RUNTIME_STORE_TARGET_PLACE_H
#define FR_RUNTIME_STORE_TARGET_PLACE_H

#include "runtime/device/scatter.h"
#include "runtime/store/target.h"

/* Looked up before: whether the rows may be written into the version that the ordinal has. */
bool fr_target_fits_in_place(const fr_target *target);
/* In place of that version: one of its kind with its rows, and room for the target's. */
bool fr_target_reserve_beside(fr_store *store, fr_target *target, uint64_t ordinal);

/* Looked up before, nothing there: a version with all rows, of which those that the target does not
 * write are zero. */
bool fr_target_reserve_base(fr_store *store, fr_target *target, uint64_t ordinal, uint64_t op_id);

/* Looked up before, the only target of a write with a buffer of its own: whether it has all of
 * that, in order, so that it becomes the payload. */
bool fr_target_may_take(const fr_target *target, const fr_row_source *source);

/* Where the rows of a write come from. */
typedef struct fr_placing_source {
    const fr_row_source *rows;
    bool from_host;       /* they are packed, and go up through staging */
    int32_t place;        /* otherwise: the device, which may be another one for all in order; */
    uint64_t from, pitch; /* row 0 there, and how far they lie apart */
} fr_placing_source;

/* Reserved before: the copies and moves into its payload. False: the fault says why. */
bool fr_target_place(fr_store *store, const fr_target *target, const fr_placing_source *source,
                     fr_device_run *run, fr_device_fault *fault);

#endif
