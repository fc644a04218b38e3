/* A snapshot of rows: pinned versions, and which rows of them make up one group; or the compact
 * rows themselves, when they were gathered before.
 *
 * A source is one segment at one state: a FULL version, and the changes laid over it in order
 * (unfolded PARTIALs upwards, or UNDOs downwards).
 *
 * Threads: made by one reader; released by any, once. Memory: a few blocks a snapshot. */
#ifndef FR_RUNTIME_STORE_SNAPSHOT_H
#define FR_RUNTIME_STORE_SNAPSHOT_H

#include "runtime/store/bind.h"

typedef struct fr_source {
    uint32_t first, count; /* of rows and outs */
    uint32_t version_count;
    fr_version **versions; /* pinned; [0] is FULL, the rest are laid over it in this order */
    uint32_t version_capacity;
    fr_version *only; /* when there is one */
    uint64_t state;   /* the ordinal of the segment's state */
} fr_source;

typedef struct fr_snapshot {
    fr_store *store;
    fr_column *column;
    const fr_binding *binding; /* all of its rows, which are used as they lie there; else NULL */
    uint32_t row_count;
    const uint32_t *rows; /* by source; NULL: 0, 1, 2, ... */
    const uint32_t *outs; /* which row of the group each becomes; NULL: in order */
    uint32_t *own_rows, *own_outs,
        *positions; /* not all: arrays of row_count, positions ascending */
    uint32_t own_capacity;
    uint32_t source_count, source_capacity;
    fr_source *sources;
    fr_source one_source;
    fr_buffer *gathered;
    uint64_t derived; /* fr_derive_look, before anything was pinned */
    uint64_t newest;  /* the newest ordinal among the rows; not when any_ordinal */
    bool any_ordinal;
} fr_snapshot;

/* Without rows. NULL without memory. */
fr_snapshot *fr_snapshot_create(fr_store *store, fr_column *column, uint32_t sources);
void fr_snapshot_destroy(fr_snapshot *snapshot);
/* The segment's state at `ordinal` with rows [first, first + count) of the snapshot, pinned. */
ovstage_api_status_t fr_snapshot_pin(fr_snapshot *snapshot, fr_segment *segment, uint64_t ordinal,
                                     uint32_t first, uint32_t count);
/* Of a column on a device: the payload that has just these rows, in order; NULL: there is none. */
struct fr_placed *fr_snapshot_placed(const fr_snapshot *snapshot);
/* A write of what lies there that may be stalled: a reference, or NULL. */
struct fr_fence *fr_snapshot_stalled_by(const fr_snapshot *snapshot);
/* The rows into `to`, on the device that they lie on. False: the fault says why. */
bool fr_snapshot_gather_placed(const fr_snapshot *snapshot, struct fr_device_run *run,
                               struct fr_placed *to, struct fr_device_fault *fault);
/* The rows into one compact buffer. False without memory. */
bool fr_snapshot_gather(fr_snapshot *snapshot);

#endif
