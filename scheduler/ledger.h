/* Which ordinals have reports that are pending: the last one of each, and of which attributes.
 *
 * An op that goes on elsewhere after it has left its lane has a *report*: a second op that is
 * complete when all of that is, and by whose id clients know the first (graph.h). A later op of the
 * same ordinal, and a seal of such ordinals, must not be reported before: they get reports too,
 * behind those that stand here. As lanes do for ops, so the ledger says where these are; and how
 * far seals have looked through it is kept in the same way (lane_front.h), so that very many seals
 * over very many ordinals look at each about once.
 *
 * Threads: all under admission, but for memory_allocate.
 *
 * Invariants:
 *   The reports of one ordinal wait for each other in the order of acceptance, so when the last one
 *   is complete all are. An entry is of use as long as its report is pending; one that is not goes
 *   when somebody comes to it. An entry's filter has the attributes of all reports of the ordinal
 *   since the entry was made.
 *   A seal's report waits for all that stands here at or below its ordinal and touches its
 *   attributes, directly or through the report of a seal before it.
 *
 * Progress: find and enter as the tree (ordinal_tree.h). A seal looks at the entries behind the
 * last front. Whoever comes by looks at two more, one after the other, so entries of completed
 * reports do not gather.
 *
 * Memory bound: as many entries as there were ordinals with pending reports at once, and as many
 * again until they are looked at; given back at destroy. */
#ifndef FR_SCHEDULER_LEDGER_H
#define FR_SCHEDULER_LEDGER_H

#include "scheduler/edge.h"
#include "scheduler/lane_front.h"
#include "scheduler/ordinal_tree.h"

typedef struct fr_ledger_entry {
    fr_ordinal_node node; /* first; `above` links free ones */
    uint64_t id, filter;
} fr_ledger_entry;

typedef struct fr_ledger {
    fr_ordinal_tree entries;
    fr_lane_fronts fronts; /* of seals that have a report: their ids are those of the reports */
    fr_ledger_entry *free;
    uint64_t swept; /* the ordinal behind which completed entries are looked for next */
    uint64_t entry_count;
    void *memory;
} fr_ledger;

/* What asks the ledger. */
typedef struct fr_ledger_place {
    bool has_ordinal, is_seal;
    uint64_t ordinal, filter; /* of its lane; of a seal, up to which and of what */
} fr_ledger_place;

static inline bool fr_ledger_is_empty(const fr_ledger *ledger)
{
    return ledger->entries.root == NULL;
}

/* How many pending reports an op of that place must not be reported before; no more when it is
 * asked again under the same lock. */
uint64_t fr_ledger_count(fr_ledger *ledger, const fr_op_table *table, const fr_ledger_place *place);
/* Edges from all of them to the report, whose block has room. */
void fr_ledger_link(fr_ledger *ledger, const fr_op_table *table, const fr_ledger_place *place,
                    fr_edge_block *block, fr_op *report);

/* Whether the ordinal has an entry, or there is a free one for it. */
bool fr_ledger_has_room(fr_ledger *ledger, const fr_op_table *table, uint64_t ordinal);
/* The report of an op of that place was accepted, with edges from all that is counted above. There
 * is room. */
void fr_ledger_enter(fr_ledger *ledger, const fr_op_table *table, const fr_ledger_place *place,
                     uint64_t id);

/* Outside of admission: memory for more entries, NULL when there is none; then add. */
void *fr_ledger_memory_allocate(const fr_allocator *allocator);
void fr_ledger_add(fr_ledger *ledger, void *memory);
void fr_ledger_destroy(fr_ledger *ledger, const fr_allocator *allocator);

#endif
