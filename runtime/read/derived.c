#include "runtime/read/derived.h"

#include "runtime/device/placed.h"
#include "runtime/query/path_order.h"
#include "runtime/query/predicate.h"

#include <string.h>

/* A part's state. */
typedef struct fr_derived {
    uint64_t *ids; /* of all rows, one after the other */
    size_t id_count, id_capacity;
    uint32_t *children; /* of one prim, while they are sorted, twice as long as there is room */
    size_t child_capacity;
    DLTensor *tensors; /* of children: one a row, then their shapes */
    uint32_t *positions;
    uint32_t row_count, row_capacity;
    bool is_array;
} fr_derived;

static size_t fr_derived_row_bytes(const fr_derived *derived)
{
    size_t array_bytes = derived->is_array ? sizeof(DLTensor) + sizeof(int64_t) : 0;
    return derived->row_capacity * (array_bytes + sizeof(uint32_t));
}

static void fr_derived_free(const fr_allocator *allocator, fr_derived *derived)
{
    void *rows = derived->is_array ? (void *)derived->tensors : (void *)derived->positions;
    fr_memory_release(allocator, derived->ids, derived->id_capacity * sizeof(uint64_t));
    fr_memory_release(allocator, derived->children, 2 * derived->child_capacity * sizeof(uint32_t));
    fr_memory_release(allocator, rows, fr_derived_row_bytes(derived));
    fr_memory_release(allocator, derived, sizeof(*derived));
}

static fr_derived *fr_derived_make(const fr_allocator *allocator, uint32_t rows, bool is_array)
{
    fr_derived *derived = fr_memory_allocate_zero(allocator, sizeof(*derived), 16);
    if (!derived)
        return NULL;
    derived->is_array = is_array;
    derived->row_capacity = rows;
    unsigned char *room = fr_memory_allocate(allocator, fr_derived_row_bytes(derived), 16);
    if (!room) {
        derived->row_capacity = 0;
        fr_derived_free(allocator, derived);
        return NULL;
    }
    if (is_array) {
        derived->tensors = (DLTensor *)(void *)room;
        room += rows * (sizeof(DLTensor) + sizeof(int64_t));
    }
    derived->positions = (uint32_t *)(void *)room;
    return derived;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool fr_derived_room(const fr_allocator *allocator, fr_derived *derived, size_t more)
{
    size_t wanted = derived->id_count + more;
    if (wanted <= derived->id_capacity)
        return true;
    size_t capacity = wanted > 2 * derived->id_capacity ? wanted : 2 * derived->id_capacity;
    uint64_t *ids = fr_memory_grow(allocator, derived->ids, derived->id_capacity * sizeof(uint64_t),
                                   capacity * sizeof(uint64_t), 16);
    if (!ids)
        return false;
    derived->ids = ids;
    derived->id_capacity = capacity;
    return true;
}

/* One more child of the prim that is looked at; the second half is for sorting. */
static bool fr_derived_child(const fr_allocator *allocator, fr_derived *derived, size_t count,
                             uint32_t child)
{
    if (count == derived->child_capacity) {
        size_t capacity = count > 0 ? 2 * count : 16;
        uint32_t *larger = fr_memory_allocate(allocator, 2 * capacity * sizeof(uint32_t), 16);
        if (!larger)
            return false;
        if (count > 0)
            memcpy(larger, derived->children, count * sizeof(uint32_t));
        fr_memory_release(allocator, derived->children, 2 * count * sizeof(uint32_t));
        derived->children = larger;
        derived->child_capacity = capacity;
    }
    derived->children[count] = child;
    return true;
}

static bool fr_derived_children(const fr_judged *judged, fr_derived *derived, uint32_t prim)
{
    const fr_allocator *allocator = &judged->stage->allocator;
    const fr_dictionary *dictionary = judged->stage->dictionary;
    size_t count = 0;
    for (ovx_primpath_t child = fr_dictionary_path_child(dictionary, prim); child != 0;
         child = fr_dictionary_path_sibling(dictionary, child))
        if (fr_judged_exists(judged, (uint32_t)child) &&
            !fr_derived_child(allocator, derived, count++, (uint32_t)child))
            return false;
    if (!fr_derived_room(allocator, derived, count))
        return false;
    if (count > 1)
        fr_paths_sort(dictionary, derived->children, count,
                      derived->children + derived->child_capacity);
    for (size_t k = 0; k < count; k++)
        derived->ids[derived->id_count++] = derived->children[k];
    return true;
}

/* The ids of a prim's row; none: it has no row. False without memory. */
static bool fr_derived_row(const fr_judged *judged, fr_derived *derived, fr_reserved reserved,
                           uint32_t prim)
{
    if (!fr_judged_exists(judged, prim))
        return true;
    if (reserved == FR_RESERVED_CHILDREN)
        return fr_derived_children(judged, derived, prim);
    ovx_primpath_t id = prim;
    if (reserved == FR_RESERVED_PARENT) {
        id = fr_judged_parent(judged, prim);
        if (id == OVX_INVALID_PRIMPATH)
            return true;
    }
    if (!fr_derived_room(&judged->stage->allocator, derived, 1))
        return false;
    derived->ids[derived->id_count++] = id;
    return true;
}

static bool fr_derived_fill(fr_derived *derived, const fr_read *read, fr_reserved reserved)
{
    const fr_judged judged = {.stage = read->stage};
    const fr_query *query = read->query;
    int64_t *shapes =
        derived->is_array ? (int64_t *)(void *)(derived->tensors + derived->row_capacity) : NULL;
    for (uint32_t k = 0; k < query->count; k++) {
        size_t before = derived->id_count;
        if (!fr_derived_row(&judged, derived, reserved, (uint32_t)query->prims[k]))
            return false;
        if (derived->id_count == before)
            continue;
        if (derived->is_array)
            shapes[derived->row_count] = (int64_t)(derived->id_count - before);
        derived->positions[derived->row_count++] = k;
    }
    uint64_t *ids = derived->ids; /* where they lie is known now */
    for (uint32_t row = 0; derived->is_array && row < derived->row_count; row++) {
        derived->tensors[row] = (DLTensor){
            .data = ids,
            .device = {kDLCPU, 0},
            .ndim = 1,
            .dtype = {kDLUInt, 64, 1},
            .shape = &shapes[row],
        };
        ids += shapes[row];
    }
    return true;
}

/* --- the part --------------------------------------------------------------------------------- */

ovstage_api_status_t fr_derived_read(fr_read *read, const fr_read_name *name,
                                     const fr_floor_record *record)
{
    fr_stage *stage = read->stage;
    const fr_query *query = read->query;
    if (read->bounds.is_range || query->count == 0)
        return OVSTAGE_OK;
    bool is_array = name->derived == FR_RESERVED_CHILDREN;
    /* The name has a floor, whoever entered it. */
    const fr_attribute *attribute = fr_store_attribute_find(stage->store, name->token);
#ifdef FR_MUTATE_DERIVED_TELLS_BASE
    attribute = NULL;
#endif
    fr_derived *derived = fr_derived_make(&stage->allocator, query->count, is_array);
    fr_read_part *part = NULL;
    bool enough = derived && fr_derived_fill(derived, read, name->derived);
    if (enough && derived->row_count > 0) {
        part = fr_store_read_part(stage->store, &read->result);
        enough = part != NULL;
    }
    if (!part) {
        if (derived)
            fr_derived_free(&stage->allocator, derived);
        return enough ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
    }
    *part = (fr_read_part){
        .name = name->token,
        .schema = {.code = kDLUInt,
                   .bits = 64,
                   .lanes = 1,
                   .row_bytes = sizeof(uint64_t),
                   .semantic =
                       is_array ? OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID : OVSTAGE_SEMANTIC_NONE,
                   .is_array = is_array},
        .ordinal = read->bounds.end,
        .floor = attribute ? fr_floor_effective(record, attribute->index) : record->base,
        .count = derived->row_count,
        .all_prims = derived->row_count == query->count,
        .positions = derived->positions,
        .data = derived->ids,
        .data_bytes = derived->id_count * sizeof(uint64_t),
        .tensors = derived->tensors,
        .state = derived,
    };
    return OVSTAGE_OK;
}

void fr_derived_show(fr_read_part *part)
{
    fr_derived *derived = part->state;
    uint64_t at = part->placed->address;
    for (uint32_t row = 0; derived->is_array && row < derived->row_count; row++) {
        DLTensor *tensor = &derived->tensors[row];
        tensor->data = (void *)(uintptr_t)at;
        tensor->device = (DLDevice){kDLCUDA, part->device->place};
        at += (uint64_t)tensor->shape[0] * sizeof(uint64_t);
    }
}

void fr_derived_release(fr_stage *stage, fr_read_part *part)
{
    fr_derived_free(&stage->allocator, part->state);
    part->state = NULL;
}
