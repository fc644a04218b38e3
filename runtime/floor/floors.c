#include "runtime/floor/floors.h"

#include <stddef.h>

/* Looked at between two looks of others at admission. */
#define FR_ATTRIBUTES_PER_LOCK 256u

/* Pending nodes that an acceptance looks at, to take done ones out: more than it adds. */
#define FR_PRUNED_EACH 2

fr_floors *fr_floors_create(const fr_allocator *allocator, fr_store *store)
{
    fr_floors *floors = fr_memory_allocate_zero(allocator, sizeof(*floors), 16);
    if (!floors)
        return NULL;
    floors->allocator = allocator;
    floors->store = store;
    floors->records = fr_floor_records_create(allocator);
    if (!floors->records) {
        fr_memory_release(allocator, floors, sizeof(*floors));
        return NULL;
    }
    return floors;
}

static void fr_node_free(fr_floors *floors, fr_advance *node)
{
    fr_memory_release(floors->allocator, node->indices, sizeof(uint32_t) * node->capacity);
    fr_memory_release(floors->allocator, node, sizeof(*node));
}

static void fr_nodes_free(fr_floors *floors, fr_advance *list)
{
    while (list) {
        fr_advance *node = list;
        list = node->next;
        fr_node_free(floors, node);
    }
}

void fr_floors_destroy(fr_floors *floors)
{
    if (!floors)
        return;
    fr_floor_watches_forget(floors, NULL);
    fr_nodes_free(floors, floors->first);
    fr_nodes_free(floors, floors->free_nodes);
    fr_floor_records_destroy(floors->records);
    fr_memory_release(floors->allocator, floors, sizeof(*floors));
}

fr_advance *fr_floors_node_get(fr_floors *floors, uint32_t capacity)
{
    fr_mutex_lock(&floors->free_lock);
    fr_advance *node = floors->free_nodes;
    if (node)
        floors->free_nodes = node->next;
    fr_mutex_unlock(&floors->free_lock);
    if (!node)
        node = fr_memory_allocate_zero(floors->allocator, sizeof(*node), 16);
    if (!node)
        return NULL;
    if (node->capacity < capacity) {
        fr_memory_release(floors->allocator, node->indices, sizeof(uint32_t) * node->capacity);
        node->capacity = 0;
        node->indices = fr_memory_allocate(floors->allocator, sizeof(uint32_t) * capacity, 16);
        if (!node->indices) {
            fr_floors_node_put(floors, node);
            return NULL;
        }
        node->capacity = capacity;
    }
    node->count = 0;
    node->filter = 0;
    node->all = node->raises = false;
    fr_store_relaxed(&node->record, NULL);
    fr_store_relaxed(&node->done, 0);
    return node;
}

void fr_floors_node_put(fr_floors *floors, fr_advance *node)
{
    fr_mutex_lock(&floors->free_lock);
    node->next = floors->free_nodes;
    floors->free_nodes = node;
    fr_mutex_unlock(&floors->free_lock);
}

/* --- accepted floors, under admission --------------------------------------------------------- */

uint64_t fr_floors_accepted(const fr_floors *floors, const fr_attribute *attribute)
{
    return attribute->accepted_floor > floors->accepted_base ? attribute->accepted_floor
                                                             : floors->accepted_base;
}

uint64_t fr_floors_accepted_base(const fr_floors *floors)
{
    return floors->accepted_base;
}

void fr_floors_know(fr_floors *floors, fr_attribute *attribute)
{
    if (attribute->floor_state & FR_FLOOR_KNOWN)
        return;
    attribute->floor_state |= FR_FLOOR_KNOWN;
    fr_add_relaxed(&floors->known_count, 1);
}

bool fr_floors_would_raise(const fr_floors *floors, const fr_advance *node)
{
    if (node->all)
        return node->ordinal > floors->accepted_base;
    for (uint32_t i = 0; i < node->count; i++) {
        const fr_attribute *attribute = fr_store_attribute_at(floors->store, node->indices[i]);
        if (node->ordinal > fr_floors_accepted(floors, attribute))
            return true;
    }
    return false;
}

uint32_t fr_floors_new_scoped(const fr_floors *floors, const fr_advance *node)
{
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < node->count; i++)
        if (!(fr_store_attribute_at(floors->store, node->indices[i])->floor_state &
              FR_FLOOR_SCOPED))
            fresh++;
    return fresh;
}

static void fr_floors_raise(fr_floors *floors, const fr_advance *node)
{
    if (node->all && node->ordinal > floors->accepted_base)
        floors->accepted_base = node->ordinal;
    if ((node->all || node->count > 0) && node->ordinal > floors->accepted_highest)
        floors->accepted_highest = node->ordinal;
    for (uint32_t i = 0; i < node->count; i++) {
        fr_attribute *attribute = fr_store_attribute_at(floors->store, node->indices[i]);
        fr_floors_know(floors, attribute);
        if (!(attribute->floor_state & FR_FLOOR_SCOPED)) {
            attribute->floor_state |= FR_FLOOR_SCOPED;
            floors->scoped_count++;
        }
        if (node->ordinal > attribute->accepted_floor)
            attribute->accepted_floor = node->ordinal;
    }
}

/* --- pending advances, under admission -------------------------------------------------------- */

static bool fr_advance_done(const fr_advance *node)
{
    /* [floors.done.read] pairs [floors.done.set] : its record is published, the node is no longer
     * used */
    return fr_load_acquire(&node->done) != 0;
}

static void fr_floors_unlink(fr_floors *floors, fr_advance *node)
{
    if (node->before)
        node->before->next = node->next;
    else
        floors->first = node->next;
    if (node->next)
        node->next->before = node->before;
    else
        floors->last = node->before;
    fr_ordinal_tree_remove(&floors->pending, &node->place);
    floors->pending_count--;
    fr_floors_node_put(floors, node);
}

static void fr_floors_prune(fr_floors *floors)
{
    for (int i = 0; i < FR_PRUNED_EACH && floors->pending_count > 0; i++) {
        fr_advance *node = floors->cursor ? floors->cursor : floors->first;
        floors->cursor = node->next;
        if (fr_advance_done(node))
            fr_floors_unlink(floors, node);
    }
}

void fr_floors_enter(fr_floors *floors, fr_advance *node, uint64_t id)
{
    fr_floors_raise(floors, node);
    fr_floors_prune(floors);
    node->id = id;
    node->next = NULL;
    node->before = floors->last;
    if (floors->last)
        floors->last->next = node;
    else
        floors->first = node;
    floors->last = node;
    node->place.ordinal = node->ordinal;
    (void)fr_ordinal_tree_insert(&floors->pending, &node->place);
    floors->pending_count++;
}

static bool fr_advance_names(const fr_advance *node, uint32_t index)
{
    uint32_t low = 0, high = node->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (node->indices[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < node->count && node->indices[low] == index;
}

static bool fr_advances_overlap(const fr_advance *a, const fr_advance *b)
{
    if (a->all || b->all)
        return true;
    if ((a->filter & b->filter) == 0)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (fr_advance_names(b, a->indices[i]))
            return true;
    return false;
}

/* The pending advances at or above an ordinal: the lowest, and the one behind another. */
static fr_advance *fr_advance_of_node(fr_ordinal_node *node)
{
    return node ? (fr_advance *)(void *)((unsigned char *)node - offsetof(fr_advance, place))
                : NULL;
}

static fr_advance *fr_floors_pending_first(const fr_floors *floors, uint64_t ordinal)
{
    return fr_advance_of_node(fr_ordinal_tree_from(&floors->pending, ordinal));
}

static fr_advance *fr_floors_pending_next(const fr_floors *floors, const fr_advance *node)
{
    return fr_advance_of_node(fr_ordinal_tree_next(&floors->pending, &node->place));
}

size_t fr_floors_covering(const fr_floors *floors, const fr_advance *node, uint64_t *ids,
                          size_t capacity)
{
    size_t found = 0;
    for (const fr_advance *other = fr_floors_pending_first(floors, node->ordinal); other;
         other = fr_floors_pending_next(floors, other)) {
        if (!other->raises || fr_advance_done(other) || !fr_advances_overlap(other, node))
            continue;
        if (found == capacity)
            return SIZE_MAX;
        ids[found++] = other->id;
        if (other->all)
            break; /* it covers everything; others are not needed */
    }
    return found;
}

size_t fr_floors_pending_seals(const fr_floors *floors, const fr_attribute *attribute,
                               uint64_t ordinal, uint64_t *ids, size_t capacity)
{
    if (capacity == 0 || fr_floors_accepted(floors, attribute) < ordinal)
        return 0;
    if (fr_floors_executed((fr_floors *)(uintptr_t)floors, attribute) >= ordinal)
        return 0;
    for (const fr_advance *node = fr_floors_pending_first(floors, ordinal); node;
         node = fr_floors_pending_next(floors, node)) {
        if (!node->raises || fr_advance_done(node))
            continue;
        if (!node->all && !fr_advance_names(node, attribute->index))
            continue;
        ids[0] = node->id; /* which brings it there: nothing else is needed */
        return 1;
    }
    return 0;
}

size_t fr_floors_pending_from(const fr_floors *floors, uint64_t ordinal, uint64_t *ids,
                              size_t capacity)
{
    size_t found = 0;
    for (const fr_advance *node = fr_floors_pending_first(floors, ordinal); node;
         node = fr_floors_pending_next(floors, node)) {
        if (fr_advance_done(node))
            continue;
        if (found == capacity)
            return SIZE_MAX;
        ids[found++] = node->id;
    }
    return found;
}

uint64_t fr_floors_pending_base_seal(const fr_floors *floors, uint64_t ordinal)
{
    if (floors->accepted_base < ordinal)
        return 0;
    for (const fr_advance *node = fr_floors_pending_first(floors, ordinal); node;
         node = fr_floors_pending_next(floors, node))
        if (node->all && node->raises && !fr_advance_done(node))
            return node->id;
    return 0;
}

size_t fr_floors_pending_count(const fr_floors *floors)
{
    return floors->pending_count;
}

/* --- executed floors -------------------------------------------------------------------------- */

const fr_floor_record *fr_floors_record_acquire(fr_floors *floors)
{
    return fr_floor_records_acquire(floors->records);
}

void fr_floors_record_release(fr_floors *floors, const fr_floor_record *record)
{
    fr_floor_records_release(floors->records, record);
}

uint64_t fr_floors_executed(fr_floors *floors, const fr_attribute *attribute)
{
    const fr_floor_record *record = fr_floor_records_acquire(floors->records);
    uint64_t floor;
    if (attribute)
        floor = fr_floor_effective(record, attribute->index);
    else if (record->count > 0 && record->count >= fr_load_relaxed(&floors->known_count))
        floor = record->least_own; /* every known attribute has a floor of its own above base */
    else
        floor = record->base;
    fr_floor_records_release(floors->records, record);
    return floor;
}

const fr_attribute *fr_floors_lagging(fr_floors *floors, fr_graph *graph, uint64_t ordinal)
{
    uint32_t count = fr_store_attribute_count(floors->store);
    const fr_floor_record *record = fr_floor_records_acquire(floors->records);
    const fr_attribute *lagging = NULL;
    uint32_t at = UINT32_MAX;
    for (uint32_t looked = 0; looked < count && !lagging; looked += FR_ATTRIBUTES_PER_LOCK) {
        fr_graph_lock(graph);
        if (looked == 0)
            at = floors->lagging_at;
        for (uint32_t k = 0; k < FR_ATTRIBUTES_PER_LOCK && looked + k < count && !lagging; k++) {
            fr_look();
            at = at < count ? at : 0;
            const fr_attribute *attribute = fr_store_attribute_at(floors->store, at);
            if ((attribute->floor_state & FR_FLOOR_KNOWN) != 0 &&
                fr_floor_effective(record, at) < ordinal)
                lagging = attribute;
            else
                at++;
        }
        if (lagging)
            floors->lagging_at = at;
        fr_graph_unlock(graph);
    }
    fr_floor_records_release(floors->records, record);
    return lagging;
}

uint64_t fr_floors_executed_base(fr_floors *floors)
{
    return fr_floor_records_base(floors->records);
}
