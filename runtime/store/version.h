/* A version: what one ordinal wrote to one segment.
 *
 *   FULL     all rows; the payload is dense.
 *   PARTIAL  the rows of its change; payload compact in the change's order (dense in bitmap form).
 * Other rows: as in the next older entry. UNDO     the values that the rows of its change had at
 * this version's ordinal. Other rows: as in the next newer entry.
 *
 * Records are type-stable: they come from slabs that live as long as the store, so a reader may try
 * to pin a version that is just being dropped; the pin word then says so, or the reader finds that
 * the segment's head is another one by now.
 *
 * Threads: get and put from any; the fields are the segment's (see segment.h). Memory bound: the
 * most versions alive at one time. */
#ifndef FR_RUNTIME_STORE_VERSION_H
#define FR_RUNTIME_STORE_VERSION_H

#include "runtime/store/buffers.h"
#include "runtime/store/change.h"
#include "runtime/store/pin.h"
#include "runtime/store/stock.h"
#include "runtime/store/touch.h"
#include "scheduler/ordinal_tree.h"

typedef struct fr_segment fr_segment;
typedef struct fr_version fr_version;

typedef enum fr_version_kind {
    FR_VERSION_FULL,
    FR_VERSION_PARTIAL,
    FR_VERSION_UNDO,
} fr_version_kind;

struct fr_version {
    fr_pin pin;
    fr_version_kind kind;
    uint64_t ordinal;
    fr_segment *segment;
    union {
        struct {
            fr_version *older, *newer; /* the segment's list */
        };
        fr_stocked free;
    };
    fr_ordinal_node place; /* the segment's tree */
    uint64_t first_id;     /* the op that made it */
    fr_buffer *buffer;
    fr_change *change; /* PARTIAL, UNDO: whose rows it holds */
    /* Once sealed: in which rows it differs from the state before it; NULL: in any. And when before
     * it all rows were last written together. */
    fr_change *since;
    uint64_t previous_full;
    fr_touched touched;     /* while it is open */
    bool weighed;           /* of an array, an older state: element_bytes is known */
    uint64_t element_bytes; /* that it has in rows which a newer state wrote */
    uint64_t history_bytes; /* that its segment counts for it as history */
    /* Off the list, kept whole (whole.h): when all rows were written again, and, if they were not
     * written by it, since when it has what it has in each; NULL: since its ordinal. */
    uint64_t until;
    fr_buffer *froms;
};

typedef struct fr_versions {
    const fr_allocator *allocator;
    fr_buffers *buffers;
    fr_changes changes;
    fr_mutex lock; /* guards the list of slabs */
    struct fr_version_slab *slabs;
    _Atomic uint64_t slab_bytes;
    fr_stock stock;
} fr_versions;

void fr_versions_init(fr_versions *versions, const fr_allocator *allocator, fr_buffers *buffers);
void fr_versions_destroy(fr_versions *versions);
/* For figures. */
uint64_t fr_versions_live(const fr_versions *versions);
uint64_t fr_versions_pins(fr_versions *versions);
/* What an older state takes: payload and elements, the record, and in which rows it differs from
 * the state before it. By seals. */
uint64_t fr_version_history_bytes(const fr_version *version);
/* No pins, no buffer, no change. NULL without memory. */
fr_version *fr_version_get(fr_versions *versions, fr_segment *segment, uint64_t ordinal,
                           fr_version_kind kind);
/* Lets go of the payload and gives the record back. Nobody may hold a pin. */
void fr_version_put(fr_versions *versions, fr_version *version);
/* A reader's pin goes; the last one of a dead version frees it. */
void fr_version_unpin(fr_versions *versions, fr_version *version);
/* Takes an unlinked version out of use: at once, or with its last pin. */
void fr_version_drop(fr_versions *versions, fr_version *version);

#endif
