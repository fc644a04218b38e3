#include "scheduler/op_record.h"

#include "scheduler/graph_internal.h"
#include "scheduler/thread.h"

const fr_allocator *fr_op_allocator(const fr_op *op)
{
    return &fr_op_graph(op)->allocator;
}

static fr_record_batch *fr_record_batch_of(fr_op *first)
{
    return (fr_record_batch *)(void *)first->payload;
}

void fr_records_retire(fr_records *records, fr_op *first, bool is_plain)
{
    fr_record_batch *batch = fr_record_batch_of(first);
    *batch = (fr_record_batch){NULL, is_plain};
    fr_op *newest = fr_load_relaxed(&records->retired);
    do {
        batch->next_batch = newest;
        /* [record.retire] pairs [record.harvest] : the links, and all that was done with the
         * records */
    } while (!fr_cas_release(&records->retired, &newest, first));
}

void fr_records_add_solo(fr_records *records, fr_op *op)
{
    op->solo_next = NULL;
    op->solo_previous = records->solo_last;
    *(op->solo_previous ? &op->solo_previous->solo_next : &records->solo_first) = op;
    records->solo_last = op;
}

/* An op that is in no list is its own neighbour. */
void fr_records_remove_solo(fr_records *records, fr_op *op)
{
    if (op->solo_next == op)
        return;
    *(op->solo_previous ? &op->solo_previous->solo_next : &records->solo_first) = op->solo_next;
    *(op->solo_next ? &op->solo_next->solo_previous : &records->solo_last) = op->solo_previous;
    op->solo_next = op;
}

/* Under admission: takes what the ops had off their records. */
static void fr_records_strip(fr_graph *graph, fr_op *op)
{
    for (; op; op = op->table.next_free) {
        uint64_t word = fr_load_relaxed(&op->word);
        if ((word & FR_OP_HAS_EDGES) != 0)
            fr_edge_pool_give(&graph->edges, op->producers);
        if ((word & FR_OP_SOLO) != 0)
            fr_records_remove_solo(&graph->records, op);
    }
}

/* The next batch, or NULL. Its last record's link ends it. */
static fr_op *fr_records_next_batch(fr_records *records)
{
    if (!records->harvested && fr_load_relaxed(&records->retired))
        /* [record.harvest] pairs [record.retire] : see there */
        records->harvested = fr_exchange_acquire(&records->retired, NULL);
    fr_op *first = records->harvested;
    if (first) {
        records->harvested = fr_record_batch_of(first)->next_batch;
        fr_op_prefetch(records->harvested);
    }
    return first;
}

/* A record that nobody can know any more, or NULL. */
static fr_op *fr_records_take(fr_graph *graph)
{
    fr_records *records = &graph->records;
    if (!records->free) {
        records->free = fr_records_next_batch(records);
        if (records->free && !fr_record_batch_of(records->free)->is_plain)
            fr_records_strip(graph, records->free);
    }
    fr_op *op = records->free;
    if (!op)
        return NULL;
    records->free = op->table.next_free;
    fr_op_prefetch(records->free);
    if ((fr_load_relaxed(&op->word) & FR_OP_SOLO) != 0)
        fr_records_remove_solo(records, op);
    return op;
}

static fr_record_slot *fr_records_slot(fr_records *records)
{
    return &records->slots[fr_thread_number() % FR_RECORD_SLOTS];
}

void fr_records_refill(fr_graph *graph)
{
    fr_record_slot *slot = fr_records_slot(&graph->records);
    if (fr_load_relaxed(&slot->record))
        return;
    fr_op *op = fr_records_take(graph);
    if (op)
        /* [record.slot.fill] pairs [record.slot.take] : the record's last use is over */
        fr_store_release(&slot->record, op);
}

static bool fr_records_add_slab(fr_graph *graph)
{
    fr_record_slab *slab =
        fr_memory_allocate(&graph->allocator, sizeof(*slab), FR_RECORD_SLAB_BYTES);
    if (!slab)
        return false;
    fr_records *records = &graph->records;
    slab->graph = graph;
    fr_mutex_lock(&graph->admission);
    for (uint32_t k = FR_RECORDS_PER_SLAB; k-- > 0;) {
        fr_store_relaxed(&slab->ops[k].word, 0);
        slab->ops[k].table.next_free = records->free;
        records->free = &slab->ops[k];
    }
    slab->next = records->slabs;
    records->slabs = slab;
    records->slab_count++;
    fr_mutex_unlock(&graph->admission);
    return true;
}

static fr_op *fr_records_take_locked(fr_graph *graph)
{
#ifndef FR_MUTATE_RECORD_EARLY_REUSE
    fr_mutex_lock(&graph->admission);
#endif
    fr_op *op = fr_records_take(graph);
#ifndef FR_MUTATE_RECORD_EARLY_REUSE
    fr_mutex_unlock(&graph->admission);
#endif
    return op;
}

static fr_op *fr_record_begin(fr_op *op, const fr_op_type *type)
{
    op->type = type;
    op->id = 0;
    fr_store_relaxed(&op->word, 0);
    return op;
}

fr_op *fr_records_get(fr_graph *graph, const fr_op_type *type)
{
    fr_op *op = fr_records_take(graph);
    return op ? fr_record_begin(op, type) : NULL;
}

fr_op *fr_graph_op_get(fr_graph *graph, const fr_op_type *type)
{
    fr_record_slot *slot = fr_records_slot(&graph->records);
    /* [record.slot.take] pairs [record.slot.fill] : see there */
    fr_op *op = fr_load_relaxed(&slot->record) ? fr_exchange_acquire(&slot->record, NULL) : NULL;
    while (!op && !(op = fr_records_take_locked(graph)))
        if (!fr_records_add_slab(graph))
            return NULL;
    return fr_record_begin(op, type);
}

void fr_graph_op_put(fr_graph *graph, fr_op *op)
{
    fr_mutex_lock(&graph->admission);
    op->table.next_free = graph->records.free;
    graph->records.free = op;
    fr_mutex_unlock(&graph->admission);
}

void fr_records_destroy(fr_records *records, const fr_allocator *allocator)
{
    fr_record_slab *slab = records->slabs;
    while (slab) {
        fr_record_slab *next = slab->next;
        fr_memory_release(allocator, slab, sizeof(*slab));
        slab = next;
    }
}

void *fr_op_payload(fr_op *op)
{
    return op->payload;
}

uint64_t fr_op_id(const fr_op *op)
{
    return op->id;
}

uint64_t fr_op_client_id(const fr_op *op)
{
    return fr_op_known_id(op);
}

uint64_t fr_op_ordinal(const fr_op *op)
{
    bool is_solo = (fr_load_relaxed(&op->word) & FR_OP_SOLO) != 0;
    return is_solo || op->id == 0 ? 0 : op->place.in_lane.lane->ordinal;
}

uint64_t fr_op_told_ordinal(const fr_op *op)
{
    bool is_solo = (fr_load_relaxed(&op->word) & FR_OP_SOLO) != 0;
    return is_solo ? op->place.token.order : fr_op_ordinal(op);
}
