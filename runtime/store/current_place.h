/* Rows of what keys are for an op (current.h) that lie on a device: put together there, in order.
 *
 * Threads: as current.h. Invariants: from open to close what they lie in is pinned and held, so
 * that nothing else comes to lie there; what is written in place of it later waits for the gather,
 * on the device. Memory: 40 bytes for each prim that is there. */
#ifndef FR_RUNTIME_STORE_CURRENT_PLACE_H
#define FR_RUNTIME_STORE_CURRENT_PLACE_H

#include "runtime/device/run.h"
#include "runtime/store/current.h"

/* Where a value lies, and what keeps it there. */
typedef struct fr_current_place {
    fr_version
        *version;      /* pinned, so that no fold trades its rows; NULL: of rows without a place */
    fr_buffer *buffer; /* a reference: a layout may give the version a larger one. NULL: none */
    uint32_t row, to;  /* there; of the prim's */
} fr_current_place;

/* The value of one key; ended by let_go. */
fr_current_place fr_current_look(fr_store *store, fr_column *column, uint32_t prim,
                                 uint64_t ordinal);
void fr_current_let_go(fr_store *store, const fr_current_place *place);

typedef struct fr_current_places {
    fr_current *current;
    fr_current_column *column;
    fr_current_place *items; /* by the payload that they lie in */
    uint32_t count;
} fr_current_places;

/* Of a column whose rows lie on a device. False without memory, and nothing is held. */
bool fr_current_places_open(fr_current *current, fr_current_column *column, fr_current_places *out);
void fr_current_places_close(fr_current_places *places);
/* A write that one of them waits for: a reference; NULL: none. */
fr_fence *fr_current_places_stalled_by(const fr_current_places *places);
/* The column's rows, in a payload of their own, which is behind the run's fence when that is
 * recorded. False: the fault says why; there may be such a payload all the same. */
bool fr_current_places_gather(const fr_current_places *places, fr_device_run *run,
                              fr_device_fault *fault);

#endif
