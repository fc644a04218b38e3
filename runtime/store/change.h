/* Which rows one state of a segment differs in from the state before it. Shared by the version that
 * made the change, by the undo version that remembers the old values, and by spares that must catch
 * up; frozen once its ordinal is sealed, but for the previous ordinals and the fingerprint, which
 * the seal fills in.
 *
 * Records come from slabs. Those of many rows are kept with their memory for the next such change,
 * so that a steady stream of them takes none.
 *
 * Threads: create and release from any. Memory bound: the most records in use at one time; of what
 * those hold that are not, FR_CHANGES_KEPT times and FR_CHANGES_KEPT_BYTES. All is counted in
 * `bytes`. */
#ifndef FR_RUNTIME_STORE_CHANGE_H
#define FR_RUNTIME_STORE_CHANGE_H

#include "runtime/store/row_set.h"
#include "runtime/store/stock.h"

#define FR_CHANGES_KEPT 64u
#define FR_CHANGES_KEPT_BYTES ((size_t)8 << 20)

typedef struct fr_change fr_change;

typedef struct fr_changes {
    const fr_allocator *allocator;
    fr_mutex lock;
    fr_change *kept; /* free, with memory */
    uint32_t kept_count;
    size_t kept_bytes;
    struct fr_change_slab *slabs;
    _Atomic uint64_t bytes; /* of all records with what they hold */
    fr_stock stock;
} fr_changes;

struct fr_change {
    _Atomic uint32_t references;
    uint32_t fingerprint; /* of its list of rows, in whatever order */
    fr_row_set rows;
    uint64_t *previous; /* by place: when the row was last written before this change */
    size_t previous_capacity;
    fr_changes *home;
    union {
        fr_change *next_kept;
        fr_stocked free;
    };
    size_t counted_bytes; /* of what it holds, in home->bytes */
    uint64_t few_previous[FR_ROW_SET_FEW];
};

void fr_changes_init(fr_changes *changes, const fr_allocator *allocator);
void fr_changes_destroy(fr_changes *changes);
/* One reference, empty; about so many rows will be entered. NULL without memory. */
fr_change *fr_change_create(fr_changes *changes, uint32_t universe, uint32_t rows);
/* Room for the previous ordinals of so many places; what is there is kept. False without memory. */
bool fr_change_room(fr_change *change, size_t places);
/* Of one that is empty, and nobody else's: room for so many rows, and for the ordinals of their
 * places. Counted. False without memory. */
bool fr_change_reserve(fr_change *change, uint32_t rows);
/* What it and its rows and previous ordinals take. */
size_t fr_change_bytes(const fr_change *change);
/* The same of a sealed one, by a seal: without an index, which readers may be making. */
size_t fr_change_sealed_bytes(const fr_change *change);
/* Counts the memory that its rows and previous ordinals were given; by who may give it such, under
 * the segment's lock, when others see the change. */
void fr_change_count(fr_change *change);
/* By others, under that lock: its rows were given so much more. What else it has may be changing.
 */
void fr_change_count_more(fr_change *change, size_t more_bytes);
void fr_change_retain(fr_change *change);
void fr_change_release(fr_change *change); /* NULL is fine */

#endif
