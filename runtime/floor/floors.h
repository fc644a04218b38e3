/* Accepted floors, pending advances, and the entry points that deal with floors.
 *
 * Threads: what is marked "admission" is guarded by the graph's admission lock.
 * Invariants:
 *   - accepted effective floor >= executed effective floor, for every attribute.
 *   - A pending advance is in the list, in acceptance order, until an acceptor finds it done.
 *   - An advance that raises something takes the tails of the lanes at or below it that touch its
 * scope, so it may publish its ordinal for its whole scope by itself; one that raises nothing waits
 * for pending ones that cover it. Progress: acceptance of an advance looks at a constant number of
 * pending ones, unless it raises nothing; who looks for one that seals an ordinal begins there.
 * Memory: a node for each pending advance; nodes are kept for re-use until destroy. */
#ifndef FR_RUNTIME_FLOOR_FLOORS_H
#define FR_RUNTIME_FLOOR_FLOORS_H

#include "runtime/api/stage.h"
#include "runtime/floor/records.h"
#include "runtime/floor/watches.h"

/* fr_attribute.floor_state (admission); both bits are set once and never cleared. */
#define FR_FLOOR_KNOWN 1u  /* named by an accepted op; set by fr_floors_know */
#define FR_FLOOR_SCOPED 2u /* some accepted advance sealed it by itself; set by fr_floors_raise */

/* An accepted advance, or one that is being submitted. */
typedef struct fr_advance fr_advance;
struct fr_advance {
    fr_advance *next, *before; /* admission: pending list; `next` also links free nodes */
    fr_ordinal_node place;     /* admission: among the pending ones */
    uint64_t id;               /* admission */
    uint64_t ordinal;
    bool all;          /* raises base; else the attributes of `indices` */
    bool raises;       /* something, by the accepted floors */
    uint32_t count;    /* ascending attribute indices */
    uint32_t capacity; /* of indices */
    uint32_t *indices;
    uint64_t filter;                   /* their bits of the lane filter */
    _Atomic(fr_floor_record *) record; /* for its publication; NULL once taken */
    _Atomic uint32_t done;             /* set when it has run, before it is reported */
};

struct fr_floors {
    const fr_allocator *allocator;
    fr_store *store;
    fr_floor_records *records;
    /* admission: */
    uint64_t accepted_base;
    uint64_t accepted_highest;    /* of all floors */
    _Atomic uint32_t known_count; /* changed under admission only */
    uint32_t scoped_count;
    uint32_t lagging_at; /* where an attribute was found last that held the global floor back */
    _Atomic uint32_t record_capacity; /* what every pending advance's record has room for; changed
                                         under admission only */
    uint32_t pending_count; /* nodes in the list, done ones that nobody found yet included */
    fr_advance *first, *last;
    fr_ordinal_tree pending; /* the same by ordinal */
    fr_advance *cursor;      /* the next node to be looked at for being done */
    fr_mutex free_lock;
    fr_advance *free_nodes;
    fr_floor_watches watches;
};

fr_floors *fr_floors_create(const fr_allocator *allocator, fr_store *store);
void fr_floors_destroy(fr_floors *floors);

/* A node with room for so many indices; NULL without memory. */
fr_advance *fr_floors_node_get(fr_floors *floors, uint32_t capacity);
void fr_floors_node_put(fr_floors *floors, fr_advance *node);

/* Admission. Whether the accepted floors are below the node's ordinal anywhere in its scope. */
bool fr_floors_would_raise(const fr_floors *floors, const fr_advance *node);
/* Admission. Attributes of the node that no accepted advance has sealed by itself so far. */
uint32_t fr_floors_new_scoped(const fr_floors *floors, const fr_advance *node);
/* Admission. Raises the accepted floors and appends the node to the pending ones. */
void fr_floors_enter(fr_floors *floors, fr_advance *node, uint64_t id);
/* Admission. Ids of pending advances that already cover a node that raises nothing; SIZE_MAX when
 * there are more than capacity. */
size_t fr_floors_covering(const fr_floors *floors, const fr_advance *node, uint64_t *ids,
                          size_t capacity);

/* The executed floors: a known attribute that holds the global one (D1) below the ordinal; NULL
 * when it is base itself that does, or nothing. Takes admission, some attributes at a time, and
 * begins where the last one was found: those that were gone past have got there mostly. */
const fr_attribute *fr_floors_lagging(fr_floors *floors, fr_graph *graph, uint64_t ordinal);
/* Admission. As fr_floors_pending_seals, for base: an id, or 0. */
uint64_t fr_floors_pending_base_seal(const fr_floors *floors, uint64_t ordinal);
/* Admission. Ids of the pending advances at or above an ordinal; SIZE_MAX when there are more than
 * capacity. */
size_t fr_floors_pending_from(const fr_floors *floors, uint64_t ordinal, uint64_t *ids,
                              size_t capacity);
/* The executed floor: of an attribute, or (NULL) the global one (D1). */
uint64_t fr_floors_executed(fr_floors *floors, const fr_attribute *attribute);
uint64_t fr_floors_executed_base(fr_floors *floors);

#define FR_ORDINAL_ANSWER_BYTES 32 /* objects of stage->ordinal_answers */

/* Entry points (advance.c, floor_query.c). */
ovstage_enqueue_result_t fr_floor_advance(fr_stage *stage, const ovstage_write_floor_desc_t *desc);
ovstage_enqueue_result_t fr_floor_query_oldest(fr_stage *stage,
                                               ovstage_ordinal_query_handle_t *out);
ovstage_enqueue_result_t fr_floor_query(fr_stage *stage, ovx_string_or_token_t attribute,
                                        ovstage_ordinal_query_handle_t *out);
ovstage_api_status_t fr_floor_query_fetch(fr_stage *stage, ovstage_ordinal_query_handle_t handle,
                                          ovstage_timeout_ns_t timeout, ovstage_ordinal_t *out);
ovstage_enqueue_result_t fr_floor_query_release(fr_stage *stage,
                                                ovstage_ordinal_query_handle_t handle);

#endif
