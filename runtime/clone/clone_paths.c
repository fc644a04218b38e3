/* Paths of a clone: the source's subtree, and where it goes. */
#include "runtime/clone/clone_work.h"
#include "runtime/dictionary/dictionary.h"
#include "runtime/query/path_order.h"
#include "runtime/store/judge.h"

/* --- the source ------------------------------------------------------------------------------- */

static bool fr_clone_add_prim(fr_clone_work *work, ovx_primpath_t path)
{
    if (work->prim_count == work->prim_capacity) {
        uint32_t capacity = work->prim_capacity ? 2 * work->prim_capacity : 16;
        uint32_t *prims = fr_memory_grow(&work->stage->allocator, work->prims,
                                         work->prim_capacity * sizeof(*prims),
                                         (size_t)capacity * sizeof(*prims), 16);
        if (!prims)
            return fr_clone_no_memory(work);
        work->prims = prims;
        work->prim_capacity = capacity;
    }
    work->prims[work->prim_count++] = (uint32_t)path;
    return true;
}

/* So that the copies' rows lie in an order that follows from paths alone. */
static bool fr_clone_sort(fr_clone_work *work)
{
    const fr_allocator *allocator = &work->stage->allocator;
    size_t size_bytes = work->prim_count * sizeof(*work->prims);
    uint32_t *scratch = fr_memory_allocate(allocator, size_bytes, 16);
    if (!scratch)
        return fr_clone_no_memory(work);
    fr_paths_sort(work->stage->dictionary, work->prims, work->prim_count, scratch);
    fr_memory_release(allocator, scratch, size_bytes);
    return true;
}

bool fr_clone_find_source(fr_clone_work *work)
{
    const fr_dictionary *dictionary = work->stage->dictionary;
    fr_store *store = work->stage->store;
    ovx_primpath_t source = work->clone->source;
    if (!fr_judge_prim(store, (uint32_t)source, work->ordinal, work->op_id)) {
        fr_op_fail(work->op, OVSTAGE_ERROR_NOT_FOUND,
                   "clone at ordinal %llu: the source prim '%s' does not exist",
                   (unsigned long long)work->ordinal,
                   fr_dictionary_path_text(dictionary, source).ptr);
        return false;
    }
    for (ovx_primpath_t path = source; path != 0;
         path = fr_dictionary_path_next(dictionary, source, path))
        if (fr_judge_prim(store, (uint32_t)path, work->ordinal, work->op_id) &&
            !fr_clone_add_prim(work, path))
            return false;
    if (!fr_clone_sort(work))
        return false;
    uint32_t place;
    for (uint32_t k = 0; k < work->prim_count; k++)
        if (!fr_clone_need_path(work, work->prims[k], &place))
            return false;
    return true;
}

bool fr_clone_is_inside(const fr_clone_work *work, ovx_primpath_t path)
{
    const fr_dictionary *dictionary = work->stage->dictionary;
    ovx_primpath_t source = work->clone->source;
    uint32_t depth = fr_dictionary_path_depth(dictionary, path);
    uint32_t source_depth = fr_dictionary_path_depth(dictionary, source);
    for (; depth > source_depth; depth--)
        path = fr_dictionary_path_parent(dictionary, path);
    return path == source;
}

static bool fr_clone_room_for_path(fr_clone_work *work)
{
    fr_clone_paths *paths = &work->paths;
    bool dense;
    uint32_t *old_rows, old_count;
    if (!fr_row_set_reserve(&paths->known, 1, &dense, &old_rows, &old_count))
        return fr_clone_no_memory(work);
    if (paths->known.count < paths->parent_capacity)
        return true;
    uint32_t capacity = paths->parent_capacity ? 2 * paths->parent_capacity : 16;
    uint32_t *parents = fr_memory_grow(&work->stage->allocator, paths->parents,
                                       paths->parent_capacity * sizeof(*parents),
                                       (size_t)capacity * sizeof(*parents), 16);
    if (!parents)
        return fr_clone_no_memory(work);
    paths->parents = parents;
    paths->parent_capacity = capacity;
    return true;
}

bool fr_clone_need_path(fr_clone_work *work, uint32_t path, uint32_t *place)
{
    const fr_dictionary *dictionary = work->stage->dictionary;
    fr_clone_paths *paths = &work->paths;
    while ((*place = fr_row_set_place(&paths->known, path)) == FR_ROW_SET_NONE) {
        /* The uppermost that is missing comes first. */
        uint32_t next = path, parent_place = FR_ROW_SET_NONE;
        while (next != work->clone->source && parent_place == FR_ROW_SET_NONE) {
            uint32_t parent = (uint32_t)fr_dictionary_path_parent(dictionary, next);
            parent_place = fr_row_set_place(&paths->known, parent);
            if (parent_place == FR_ROW_SET_NONE)
                next = parent;
        }
        bool added;
        if (!fr_clone_room_for_path(work))
            return false;
        paths->parents[fr_row_set_add(&paths->known, next, &added)] = parent_place;
    }
    return true;
}

/* --- the copies ------------------------------------------------------------------------------- */

static bool fr_clone_intern(fr_clone_work *work)
{
    fr_dictionary *dictionary = work->stage->dictionary;
    fr_clone_paths *paths = &work->paths;
    uint32_t count = paths->known.count;
    for (uint32_t t = 0; t < work->clone->target_count; t++) {
        uint32_t *copies = paths->copies + (size_t)t * count;
        copies[0] = work->clone->targets[t];
        for (uint32_t k = 1; k < count; k++) {
            fr_fault fault;
            char why[128];
            ovx_primpath_t path;
            ovx_primpath_t parent = copies[paths->parents[k]];
            ovx_token_t name = fr_dictionary_path_name(dictionary, paths->known.rows[k]);
            if (!fr_dictionary_path_below(dictionary, parent, name, &path, &fault)) {
                fr_fault_describe(&fault, why, sizeof(why));
                fr_op_fail(work->op, fr_fault_status(&fault),
                           "clone: the path of a copy below targets[%u] %s", t, why);
                return false;
            }
            copies[k] = (uint32_t)path;
        }
    }
    return true;
}

static bool fr_clone_refuse_existing(fr_clone_work *work, ovx_primpath_t path)
{
    fr_op_fail(work->op, OVSTAGE_ERROR_PRIM_NOT_FOUND,
               "clone at ordinal %llu: the target prim '%s' already exists",
               (unsigned long long)work->ordinal,
               fr_dictionary_path_text(work->stage->dictionary, path).ptr);
    return false;
}

/* No prim is there already, nor made by two copies. */
static bool fr_clone_judge_targets(fr_clone_work *work)
{
    work->fresh = fr_store_prims_are_fresh(work->stage->store, work->copies, work->copy_count);
    for (uint32_t k = 0; k < work->copy_count && !work->fresh; k++)
        if (fr_judge_prim(work->stage->store, work->copies[k], work->ordinal, work->op_id))
            return fr_clone_refuse_existing(work, work->copies[k]);
    if (!work->clone->nested)
        return true;
    fr_row_set made;
    bool dense, added = true;
    uint32_t *old_rows, old_count;
    fr_row_set_init(&made, &work->stage->allocator, 0);
    bool enough = fr_row_set_reserve(&made, work->copy_count, &dense, &old_rows, &old_count);
    uint32_t k = 0;
    for (; enough && k < work->copy_count; k++) {
        (void)fr_row_set_add(&made, work->copies[k], &added);
        if (!added)
            break;
    }
    fr_row_set_destroy(&made);
    if (!enough)
        return fr_clone_no_memory(work);
    return added || fr_clone_refuse_existing(work, work->copies[k]);
}

static void fr_clone_list_copies(fr_clone_work *work)
{
    for (uint32_t k = 0; k < work->prim_count; k++) {
        uint32_t place = fr_row_set_place(&work->paths.known, work->prims[k]);
        uint32_t at = k;
        for (uint32_t t = 0; t < work->clone->target_count; t++, at += work->prim_count) {
            work->copies[at] = fr_clone_copy_of(work, t, place);
            work->copy_paths[at] = work->copies[at];
            work->index_map[at] = k;
        }
    }
}

bool fr_clone_make_paths(fr_clone_work *work)
{
    const fr_allocator *allocator = &work->stage->allocator;
    size_t targets = work->clone->target_count;
    if (work->prim_count > UINT32_MAX / 2 / targets) {
        fr_op_fail(work->op, OVSTAGE_ERROR_OUT_OF_MEMORY,
                   "clone: %u prims to %zu targets are more than %u prims", work->prim_count,
                   targets, UINT32_MAX / 2);
        return false;
    }
    work->paths.copies_bytes = targets * work->paths.known.count * sizeof(uint32_t);
    work->paths.copies = fr_memory_allocate(allocator, work->paths.copies_bytes, 16);
    uint32_t count = work->copy_count = (uint32_t)targets * work->prim_count;
    work->copies = fr_memory_allocate(allocator, count * sizeof(*work->copies), 16);
    work->copy_paths = fr_memory_allocate(allocator, count * sizeof(*work->copy_paths), 16);
    work->index_map = fr_memory_allocate(allocator, count * sizeof(*work->index_map), 16);
    if (!work->paths.copies || !work->copies || !work->copy_paths || !work->index_map)
        return fr_clone_no_memory(work);
    if (!fr_clone_intern(work))
        return false;
    fr_clone_list_copies(work);
    return fr_clone_judge_targets(work);
}
