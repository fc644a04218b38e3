#include "scheduler/ledger.h"

#include "scheduler/os.h"

/* Entries that are looked at by whoever comes by. */
#define FR_LEDGER_SWEEP 2u

#ifdef FR_SHRINK
#define FR_LEDGER_ENTRIES_AT_ONCE 2u
#else
#define FR_LEDGER_ENTRIES_AT_ONCE 64u
#endif

typedef struct fr_ledger_memory fr_ledger_memory;
struct fr_ledger_memory {
    fr_ledger_memory *next;
    fr_ledger_entry entries[FR_LEDGER_ENTRIES_AT_ONCE];
};

_Static_assert(offsetof(fr_ledger_entry, node) == 0, "a node is its entry");

static fr_ledger_entry *fr_ledger_entry_of(fr_ordinal_node *node)
{
    return (fr_ledger_entry *)(void *)node;
}

static void fr_ledger_give(fr_ledger *ledger, fr_ledger_entry *entry)
{
    entry->node.above = ledger->free ? &ledger->free->node : NULL;
    ledger->free = entry;
}

/* The entry's report when it is pending; else the entry goes. */
static fr_op *fr_ledger_pending(fr_ledger *ledger, const fr_op_table *table, fr_ledger_entry *entry)
{
    fr_op *report = fr_op_table_pending_op(table, entry->id);
    if (report)
        return report;
    fr_ordinal_tree_remove(&ledger->entries, &entry->node);
    ledger->entry_count--;
    fr_ledger_give(ledger, entry);
    return NULL;
}

static fr_ledger_entry *fr_ledger_find(const fr_ledger *ledger, uint64_t ordinal)
{
    fr_ordinal_node *node = fr_ordinal_tree_from(&ledger->entries, ordinal);
    return node && node->ordinal == ordinal ? fr_ledger_entry_of(node) : NULL;
}

static void fr_ledger_sweep(fr_ledger *ledger, const fr_op_table *table)
{
    for (uint32_t k = 0; k < FR_LEDGER_SWEEP && !fr_ledger_is_empty(ledger); k++) {
        fr_ordinal_node *node = fr_ordinal_tree_from(&ledger->entries, ledger->swept);
        if (!node)
            node = fr_ordinal_tree_first(&ledger->entries);
        ledger->swept = node->ordinal + 1; /* behind the highest: from the first one again */
        (void)fr_ledger_pending(ledger, table, fr_ledger_entry_of(node));
    }
}

/* --- what a report waits for ------------------------------------------------------------------ */

/* A block to link in, or NULL to count alone. */
static void fr_ledger_meet(fr_op *before, const fr_op_table *table, fr_edge_block *block,
                           fr_op *report, uint64_t *count)
{
    if (!before)
        return;
    ++*count;
    if (block)
        (void)fr_edge_link(block, report, before, 0, table);
}

static uint64_t fr_ledger_walk_seal(fr_ledger *ledger, const fr_op_table *table,
                                    const fr_ledger_place *place, fr_edge_block *block,
                                    fr_op *report)
{
    uint64_t count = 0;
#ifdef FR_MUTATE_SEAL_FORGETS_REPORTS
    return count;
#endif
    fr_lane_fronts_used used;
    fr_lane_fronts_use(&ledger->fronts, place->ordinal, place->filter, &used);
    for (uint32_t k = 0; k < used.id_count; k++)
        fr_ledger_meet(fr_op_table_pending_op(table, used.ids[k]), table, block, report, &count);
    fr_ordinal_node *next;
    for (fr_ordinal_node *node = fr_ordinal_tree_from(&ledger->entries, used.from);
         node && node->ordinal <= place->ordinal; node = next) {
        fr_look();
        next = fr_ordinal_tree_next(&ledger->entries, node);
        fr_ledger_entry *entry = fr_ledger_entry_of(node);
        if ((entry->filter & place->filter) != 0)
            fr_ledger_meet(fr_ledger_pending(ledger, table, entry), table, block, report, &count);
    }
    return count;
}

static uint64_t fr_ledger_walk(fr_ledger *ledger, const fr_op_table *table,
                               const fr_ledger_place *place, fr_edge_block *block, fr_op *report)
{
    uint64_t count = 0;
    if (place->is_seal)
        return fr_ledger_walk_seal(ledger, table, place, block, report);
    fr_ledger_entry *entry = place->has_ordinal ? fr_ledger_find(ledger, place->ordinal) : NULL;
    if (entry)
        fr_ledger_meet(fr_ledger_pending(ledger, table, entry), table, block, report, &count);
    return count;
}

uint64_t fr_ledger_count(fr_ledger *ledger, const fr_op_table *table, const fr_ledger_place *place)
{
    fr_ledger_sweep(ledger, table);
    return fr_ledger_walk(ledger, table, place, NULL, NULL);
}

void fr_ledger_link(fr_ledger *ledger, const fr_op_table *table, const fr_ledger_place *place,
                    fr_edge_block *block, fr_op *report)
{
    (void)fr_ledger_walk(ledger, table, place, block, report);
}

/* --- entering --------------------------------------------------------------------------------- */

bool fr_ledger_has_room(fr_ledger *ledger, const fr_op_table *table, uint64_t ordinal)
{
    fr_ledger_sweep(ledger, table);
    return ledger->free || fr_ledger_find(ledger, ordinal);
}

void fr_ledger_enter(fr_ledger *ledger, const fr_op_table *table, const fr_ledger_place *place,
                     uint64_t id)
{
    if (place->is_seal)
        fr_lane_fronts_advance(&ledger->fronts, place->ordinal, place->filter, id);
    if (!place->has_ordinal)
        return;
    fr_ledger_entry *entry = fr_ledger_find(ledger, place->ordinal);
    if (entry && !fr_ledger_pending(ledger, table, entry))
        entry = NULL;
    if (!entry) {
        entry = ledger->free;
        ledger->free = entry->node.above ? fr_ledger_entry_of(entry->node.above) : NULL;
        entry->node.ordinal = place->ordinal;
        entry->filter = 0;
        (void)fr_ordinal_tree_insert(&ledger->entries, &entry->node);
        ledger->entry_count++;
    }
    entry->id = id;
    entry->filter |= place->filter;
    fr_lane_fronts_join(&ledger->fronts, place->ordinal, place->filter);
}

/* --- memory ----------------------------------------------------------------------------------- */

void *fr_ledger_memory_allocate(const fr_allocator *allocator)
{
    return fr_memory_allocate(allocator, sizeof(fr_ledger_memory), FR_CACHE_LINE_BYTES);
}

void fr_ledger_add(fr_ledger *ledger, void *added)
{
    fr_ledger_memory *memory = added;
    memory->next = ledger->memory;
    ledger->memory = memory;
    for (uint32_t k = 0; k < FR_LEDGER_ENTRIES_AT_ONCE; k++)
        fr_ledger_give(ledger, &memory->entries[k]);
}

void fr_ledger_destroy(fr_ledger *ledger, const fr_allocator *allocator)
{
    fr_ledger_memory *memory = ledger->memory;
    while (memory) {
        fr_ledger_memory *next = memory->next;
        fr_memory_release(allocator, memory, sizeof(*memory));
        memory = next;
    }
}
