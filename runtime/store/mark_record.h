/* The marks of one ordinal (marks.h): events in the order entered, and a hash from whom they name
 * to the last one.
 *
 * Threads: all but what takes memory under the marks' lock; the ordinal's lane alone adds events
 * and changes the arrays, so it may look without. Invariants: of one key events are ascending by op
 * id. Memory bound: see marks.h. */
#ifndef FR_RUNTIME_STORE_MARK_RECORD_H
#define FR_RUNTIME_STORE_MARK_RECORD_H

#include "runtime/store/marks.h"
#include "scheduler/ordinal_tree.h"

typedef enum fr_mark_kind {
    FR_MARK_DELETED,
    FR_MARK_KEPT,
} fr_mark_kind;

/* whom: an attribute, a column (FR_MARK_LIMIT + its number), or FR_MARK_ALL. */
typedef struct fr_mark_event {
    uint64_t op_id;
    uint32_t whom, prim;
    uint32_t previous; /* of the same key, + 1; 0: none */
    fr_mark_kind kind;
} fr_mark_event;

/* Open addressing, at most 2/3 full. last: event + 1; 0: the slot is free. */
typedef struct fr_mark_slot {
    uint32_t whom, prim, last;
} fr_mark_slot;

/* An attribute that deletes name, and whether its tombstones are still to be made. */
typedef struct fr_mark_named {
    uint32_t attribute;
    bool settled;
} fr_mark_named;

typedef struct fr_mark_record fr_mark_record;
struct fr_mark_record {
    fr_ordinal_node node; /* first, so that the node is the record */
    fr_mark_record *lower, *higher;
    fr_mark_event *events;
    uint32_t event_count, event_capacity;
    fr_mark_slot *slots;
    uint32_t slot_count, slot_capacity;
    fr_mark_named *named;
    uint32_t named_count, named_capacity;
    uint32_t reservations; /* that have not ended: it stays */
    uint64_t promised;     /* events that these may enter */
    bool has_all;          /* an event is about FR_MARK_ALL: any attribute may be concerned */
    bool has_kept;         /* an event is about a column */
    bool is_sealed;        /* for all that it concerns: it stays for judgements only */
    uint64_t hold;         /* of these (late.h) */
};

/* Larger arrays for a record; NULL where the old one stays. Then what is to be given back. */
typedef struct fr_mark_room {
    fr_mark_event *events;
    fr_mark_slot *slots;
    fr_mark_named *named;
    uint32_t event_capacity, slot_capacity, named_capacity;
} fr_mark_room;

size_t fr_mark_record_bytes(const fr_mark_record *record);
void fr_mark_record_free(const fr_allocator *allocator, fr_mark_record *record);

/* Without the lock, of a record that has a reservation: arrays with what is in it and room for
 * `events` more and `names` more attributes. The room is empty before; false without memory, and it
 * is to be given back in either case. */
bool fr_mark_room_take(const fr_allocator *allocator, const fr_mark_record *record, uint64_t events,
                       uint32_t names, fr_mark_room *room);
void fr_mark_room_use(fr_mark_record *record, fr_mark_room *room);
void fr_mark_room_release(const fr_allocator *allocator, fr_mark_room *room);

/* Room was made before. */
void fr_mark_enter(fr_mark_record *record, uint32_t whom, uint32_t prim, uint64_t op_id,
                   fr_mark_kind kind);
/* The event below op_id that decides about a key of a column, or NULL. */
const fr_mark_event *fr_mark_deciding(const fr_mark_record *record, fr_mark_owner owner,
                                      uint32_t prim, uint64_t op_id);
fr_mark_named *fr_mark_named_find(const fr_mark_record *record, uint32_t attribute);
/* Whether the tombstones of all attributes that it names are made. */
bool fr_mark_is_settled(const fr_mark_record *record);
/* Of the events [first, end): the keys that stay deleted; `out` has room for all of the record. */
void fr_mark_collect(const fr_mark_record *record, fr_mark_owner owner, uint32_t first,
                     uint32_t end, fr_marked *out, uint32_t *count);

#endif
