/* Deletes leave marks; what they are good for is told by marks.h and tombstones.h. */
#include "runtime/store/judge.h"
#include "runtime/store/store_state.h"

#define FR_DELETE_LOCAL_PRIMS 64u

static bool fr_delete_mark(fr_store *store, const fr_delete *what, const uint32_t *prims)
{
    uint32_t count = what->query->count;
    /* Its marks tell who left them; what was before its tombstones must stay known. */
    (void)fr_late_is(store->late, what->ordinal, FR_LATE_ALL, what->op_id);
    if (!fr_marks_reserve_delete(store->marks, what->ordinal, what->attribute_count, prims, count))
        return false;
    if (what->attribute_count == 0)
        fr_marks_delete(store->marks, what->ordinal, FR_MARK_ALL, prims, count, what->op_id);
    for (uint32_t k = 0; k < what->attribute_count; k++)
        fr_marks_delete(store->marks, what->ordinal, what->attributes[k]->index, prims, count,
                        what->op_id);
    fr_marks_end(store->marks, what->ordinal,
                 (uint64_t)count * (what->attribute_count ? what->attribute_count : 1));
    return true;
}

ovstage_api_status_t fr_store_delete(fr_store *store, const fr_delete *what)
{
    uint32_t few[FR_DELETE_LOCAL_PRIMS], *prims = few, count = what->query->count;
    if (count > FR_DELETE_LOCAL_PRIMS)
        prims = fr_memory_allocate(store->allocator, count * sizeof(*prims), 16);
    if (!prims)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < count; k++)
        prims[k] = (uint32_t)what->query->prims[k];
    bool enough = fr_delete_mark(store, what, prims);
    if (prims != few)
        fr_memory_release(store->allocator, prims, count * sizeof(*prims));
    return enough ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
}

/* Then, or at the last moment that is sealed: what was there stays as it was. */
static bool fr_delete_finds_sealed(const fr_attribute *attribute, const fr_delete *what,
                                   uint64_t floor)
{
    for (uint32_t p = 0; p < what->query->count; p++) {
        uint32_t prim = (uint32_t)what->query->prims[p];
        if (fr_judge_key(attribute, prim, what->ordinal, UINT64_MAX) ||
            fr_judge_key(attribute, prim, floor, UINT64_MAX))
            return true;
    }
    return false;
}

const fr_attribute *fr_store_delete_sealed(fr_store *store, const fr_delete *what,
                                           const fr_floor_record *record)
{
    uint32_t count = fr_attributes_count(store->attributes);
    for (uint32_t k = 0; k < count; k++) {
        const fr_attribute *attribute = fr_attributes_at(store->attributes, k);
        uint64_t floor = fr_floor_effective(record, k);
        if (floor >= what->ordinal && fr_delete_finds_sealed(attribute, what, floor))
            return attribute;
    }
    return NULL;
}
