/* The memory of op records.
 *
 * A record goes round: a thread's slot -> a submission -> pending -> `retired`, pushed by who
 * completed the op, in batches -> `free`, under admission -> a slot. Whoever holds admission for a
 * submission fills the slot of its thread again, so that the next get takes no lock.
 *
 * Word map of `retired`: 0, or the address of the newest batch's first record. Pushed to by who
 * completed ops, emptied as a whole under admission.
 * Word map of a slot: 0, or the address of a free record. Set under admission, and only from 0;
 * cleared by an exchange of who takes the record.
 *
 * Threads: get and put from any thread; retire by who completed the ops; the others under
 * admission.
 *
 * Invariants:
 *   A record becomes free only under admission: who holds it and saw an op pending may read the
 *   record until it lets go, even if the op completes meanwhile.
 *   A slot is chosen by the thread, so threads rarely meet at one; records do not belong to
 *   threads, so a thread that ends leaves none behind.
 *
 * Progress: get is one exchange when the slot is full; else it takes admission.
 *
 * Memory bound: as many records as were ever pending at once, plus one a slot and the solo ops that
 * workers keep to retire them together; in slabs that are given back at destroy. */
#ifndef FR_SCHEDULER_OP_RECORD_H
#define FR_SCHEDULER_OP_RECORD_H

#include "scheduler/edge.h"

/* A slab starts at a multiple of its size, so a record finds it; its first slots hold this header.
 */
#ifdef FR_SHRINK
#define FR_RECORD_SLAB_BYTES 1024u
#define FR_RECORD_SLOTS \
    1u /* and the same one whatever the thread's number: a run can be replayed */
#else
#define FR_RECORD_SLAB_BYTES 65536u
#define FR_RECORD_SLOTS 32u
#endif
#define FR_RECORDS_PER_SLAB (FR_RECORD_SLAB_BYTES / FR_OP_BYTES - 1)

typedef struct fr_record_slab fr_record_slab;
struct fr_record_slab {
    fr_graph *graph;
    fr_record_slab *next;
    unsigned char unused[FR_OP_BYTES - 2 * sizeof(void *)];
    fr_op ops[FR_RECORDS_PER_SLAB];
};
_Static_assert(sizeof(fr_record_slab) == FR_RECORD_SLAB_BYTES,
               "the header takes one record's place");

typedef struct fr_record_slot {
    FR_ALIGNED_LINE _Atomic(fr_op *) record;
} fr_record_slot;

typedef struct fr_records {
    FR_ALIGNED_LINE _Atomic(fr_op *) retired;
    /* Under admission. */
    FR_ALIGNED_LINE fr_op *free; /* linked by table.next_free */
    fr_op *harvested;            /* batches taken from `retired`, not yet free */
    fr_record_slab *slabs;
    uint64_t slab_count;
    fr_op *solo_first,
        *solo_last; /* pending solo ops, oldest first; completed ones may still be among them */
    fr_record_slot slots[FR_RECORD_SLOTS];
} fr_records;

static inline fr_graph *fr_op_graph(const fr_op *op)
{
    return ((const fr_record_slab *)((uintptr_t)op & ~(uintptr_t)(FR_RECORD_SLAB_BYTES - 1)))
        ->graph;
}
const fr_allocator *fr_op_allocator(const fr_op *op);

/* Completed ops that go back together, linked by table.next_free. What is said of them stands in
 * the first one's payload: nobody reads a payload after the op was dropped. */
typedef struct fr_record_batch {
    fr_op *next_batch;
    bool is_plain; /* no op with edges among them; solo ops leave their list one by one */
} fr_record_batch;
_Static_assert(sizeof(fr_record_batch) <= FR_OP_PAYLOAD_BYTES, "fits a payload");

void fr_records_retire(fr_records *records, fr_op *first, bool is_plain);

/* Under admission: sees to it that the thread's next get finds a record. */
void fr_records_refill(fr_graph *graph);

/* Under admission: a pending solo op enters the list. It leaves when its record is harvested, if
 * not before. */
void fr_records_add_solo(fr_records *records, fr_op *op);
void fr_records_remove_solo(fr_records *records, fr_op *op);

/* Under admission: as fr_graph_op_get, but NULL when no record is free. */
fr_op *fr_records_get(fr_graph *graph, const fr_op_type *type);

void fr_records_destroy(fr_records *records, const fr_allocator *allocator);

#endif
