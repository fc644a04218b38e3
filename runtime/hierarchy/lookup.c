#include "runtime/hierarchy/lookup.h"

#include <string.h>

#include "runtime/api/handles.h"
#include "runtime/dictionary/dictionary.h"
#include "runtime/floor/floors.h"
#include "runtime/store/judge.h"

#define FR_LOOKUP_FIRST_PATHS 16u
/* Paths that are worth more than a short wait. */
#define FR_LOOKUP_LARGE 1024u

typedef struct fr_lookup {
    fr_stage *stage;
    const fr_path_list *list; /* one reference */
    ovstage_ordinal_t ordinal;
    ovstage_hierarchy_relation_t relation;
    uint64_t op_id;
    _Atomic uint32_t references; /* the handle, the op, each result, each call that uses it */
    _Atomic uint32_t state;
    ovstage_hierarchy_item_t *items; /* of each path of the list */
    ovx_string_or_token_t *paths;
    size_t path_count, path_capacity;
} fr_lookup;

static void fr_lookup_ref(void *object)
{
    fr_lookup *lookup = object;
    fr_add_relaxed(&lookup->references, 1); /* who adds one holds one, or the handle's slot */
}

void fr_lookup_unref(void *object)
{
    fr_lookup *lookup = object;
    /* [lookup.release] pairs [lookup.release] : the last one sees what the others did with it */
    if (fr_sub_acq_rel(&lookup->references, 1) != 1)
        return;
    const fr_allocator *allocator = &lookup->stage->allocator;
    fr_memory_release(allocator, lookup->items, lookup->list->count * sizeof(*lookup->items));
    fr_memory_release(allocator, lookup->paths, lookup->path_capacity * sizeof(*lookup->paths));
    fr_dictionary_list_release(lookup->list);
    fr_memory_release(allocator, lookup, sizeof(*lookup));
}

static uint32_t fr_lookup_state(const fr_lookup *lookup)
{
    /* [lookup.state.look] pairs [lookup.state.set] : the answer */
    return fr_load_acquire(&lookup->state);
}

static void fr_lookup_set_state(fr_lookup *lookup, uint32_t state)
{
    /* [lookup.state.set] pairs [lookup.state.look] : see there */
    fr_store_release(&lookup->state, state);
}

/* --- the answer ------------------------------------------------------------------------------- */

typedef struct fr_looking {
    fr_lookup *lookup;
    const fr_floor_record *record;
} fr_looking;

static bool fr_looking_is_there(const fr_looking *looking, ovx_primpath_t path)
{
    return fr_judge_prim_sealed(looking->lookup->stage->store, (uint32_t)path, looking->record);
}

/* Adds the path if its prim is there. False without memory. */
static bool fr_looking_add(const fr_looking *looking, ovx_primpath_t path)
{
    fr_lookup *lookup = looking->lookup;
    if (!fr_looking_is_there(looking, path))
        return true;
    if (lookup->path_count == lookup->path_capacity) {
        size_t capacity = lookup->path_capacity ? 2 * lookup->path_capacity : FR_LOOKUP_FIRST_PATHS;
        ovx_string_or_token_t *paths =
            fr_memory_grow(&lookup->stage->allocator, lookup->paths,
                           lookup->path_capacity * sizeof(*paths), capacity * sizeof(*paths), 16);
        if (!paths)
            return false;
        lookup->paths = paths;
        lookup->path_capacity = capacity;
    }
    ovx_string_or_token_t *entry = &lookup->paths[lookup->path_count++];
    entry->token = OVX_INVALID_TOKEN;
    entry->string = fr_dictionary_path_text(lookup->stage->dictionary, path);
    return true;
}

/* The children by path text of `parent`, but for one. */
static bool fr_looking_add_children(const fr_looking *looking, ovx_primpath_t parent,
                                    ovx_primpath_t but)
{
    const fr_dictionary *dictionary = looking->lookup->stage->dictionary;
    bool enough = true;
    for (ovx_primpath_t path = fr_dictionary_path_child(dictionary, parent); path && enough;
         path = fr_dictionary_path_sibling(dictionary, path))
        if (path != but)
            enough = fr_looking_add(looking, path);
    return enough;
}

/* The relatives of a prim that is there. The root is nobody's parent to be named (R146). */
static bool fr_looking_relatives(const fr_looking *looking, ovx_primpath_t path)
{
    const fr_dictionary *dictionary = looking->lookup->stage->dictionary;
    ovx_primpath_t parent = fr_dictionary_path_parent(dictionary, path);
    switch (looking->lookup->relation) {
    case OVSTAGE_HIERARCHY_PARENT:
        return fr_dictionary_path_parent(dictionary, parent) == 0 ||
               fr_looking_add(looking, parent);
    case OVSTAGE_HIERARCHY_CHILDREN:
        return fr_looking_add_children(looking, path, 0);
    case OVSTAGE_HIERARCHY_SIBLINGS:
        return parent == 0 || fr_looking_add_children(looking, parent, path);
    }
    return true;
}

static bool fr_looking_all(const fr_looking *looking)
{
    fr_lookup *lookup = looking->lookup;
    for (size_t i = 0; i < lookup->list->count; i++) {
        ovstage_hierarchy_item_t *item = &lookup->items[i];
        item->path_offset = lookup->path_count;
        item->status = OVSTAGE_OK;
        if (!fr_looking_is_there(looking, lookup->list->paths[i]))
            item->status = OVSTAGE_ERROR_NOT_FOUND;
        else if (!fr_looking_relatives(looking, lookup->list->paths[i]))
            return false;
        item->path_count = lookup->path_count - item->path_offset;
    }
    return true;
}

static bool fr_lookup_answer(fr_lookup *lookup)
{
    fr_stage *stage = lookup->stage;
    if (lookup->list->count == 0)
        return true;
    lookup->items =
        fr_memory_allocate(&stage->allocator, lookup->list->count * sizeof(*lookup->items), 16);
    if (!lookup->items)
        return false;
    fr_looking looking = {lookup, fr_floors_record_acquire(stage->floors)};
    bool enough = fr_looking_all(&looking);
    fr_floors_record_release(stage->floors, looking.record);
    return enough;
}

/* --- the op ----------------------------------------------------------------------------------- */

typedef struct fr_lookup_op {
    fr_lookup *lookup; /* one reference */
} fr_lookup_op;

static fr_run_result fr_lookup_run(fr_op *op, const fr_run_context *context)
{
    fr_lookup *lookup = ((fr_lookup_op *)fr_op_payload(op))->lookup;
    (void)context;
    bool enough = fr_lookup_answer(lookup);
    if (!enough)
        fr_op_fail(op, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for the relatives of %zu prims",
                   lookup->list->count);
    fr_lookup_set_state(lookup, enough ? FR_LOOKUP_DONE : FR_LOOKUP_FAILED);
    return FR_RUN_DONE;
}

static void fr_lookup_drop(fr_op *op)
{
    fr_lookup *lookup = ((fr_lookup_op *)fr_op_payload(op))->lookup;
    if (fr_load_relaxed(&lookup->state) == FR_LOOKUP_PENDING)
        fr_lookup_set_state(lookup, FR_LOOKUP_FAILED);
    fr_lookup_unref(lookup);
}

static bool fr_lookup_is_large(const fr_op *op)
{
    const fr_lookup_op *payload = fr_op_payload((fr_op *)(uintptr_t)op); /* only read */
    return payload->lookup->list->count > FR_LOOKUP_LARGE;
}

static const fr_op_type fr_lookup_op_type = {
    .name = "hierarchy lookup",
    .run = fr_lookup_run,
    .drop = fr_lookup_drop,
    .is_large = fr_lookup_is_large,
};

/* --- submission ------------------------------------------------------------------------------- */

typedef struct fr_lookup_call {
    fr_lookup *lookup;
    size_t seals_needed;
} fr_lookup_call;

/* The state is one in which what was accepted is sealed: seals up to the asked ordinal first. */
static ovstage_api_status_t fr_lookup_admit(fr_submission *submission, void *user)
{
    fr_lookup_call *call = user;
    const fr_floors *floors = call->lookup->stage->floors;
    size_t count = fr_floors_pending_from(floors, call->lookup->ordinal, submission->producer_ids,
                                          submission->producer_capacity);
    if (count == SIZE_MAX) {
        call->seals_needed = fr_floors_pending_count(floors);
        return OVSTAGE_ERROR_INTERNAL; /* asked again; nobody sees it */
    }
    submission->producer_count = count;
    return OVSTAGE_OK;
}

static void fr_lookup_accepted(fr_submission *submission, uint64_t id, void *user)
{
    (void)submission;
    ((fr_lookup_call *)user)->lookup->op_id = id;
}

static ovstage_enqueue_result_t fr_lookup_submit_op(fr_lookup *lookup, fr_op *op)
{
    fr_lookup_call call = {lookup, 0};
    fr_submission submission = {
        .op = op, .admit = fr_lookup_admit, .accepted = fr_lookup_accepted, .user = &call};
    return fr_stage_submit_after(lookup->stage, &submission, 0, &call.seals_needed);
}

static ovstage_enqueue_result_t fr_lookup_submit(fr_lookup *lookup, ovstage_hierarchy_handle_t *out)
{
    fr_stage *stage = lookup->stage;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_lookup_op_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation's record");
    ((fr_lookup_op *)fr_op_payload(op))->lookup = lookup;
    fr_lookup_ref(lookup); /* the op's */
    fr_lookup_ref(lookup); /* the handle's */
    uint64_t handle = fr_handle_reserve(stage, FR_HANDLE_HIERARCHY);
    ovstage_enqueue_result_t result;
    if (handle != 0)
        result = fr_lookup_submit_op(lookup, op);
    else
        result = fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a hierarchy handle");
    if (fr_handle_settle(stage, handle, result.status, lookup)) {
        *out = handle;
        return result;
    }
    fr_graph_op_put(stage->graph, op);
    fr_lookup_unref(lookup);
    fr_lookup_unref(lookup);
    return result;
}

/* NULL without memory: the list is still the caller's. */
static fr_lookup *fr_lookup_make(fr_stage *stage, const fr_path_list *list,
                                 ovstage_ordinal_t ordinal, ovstage_hierarchy_relation_t relation)
{
    fr_lookup *lookup = fr_memory_allocate_zero(&stage->allocator, sizeof(*lookup), 16);
    if (!lookup)
        return NULL;
    lookup->stage = stage;
    lookup->list = list;
    lookup->ordinal = ordinal;
    lookup->relation = relation;
    fr_store_relaxed(&lookup->references, 1);
    return lookup;
}

ovstage_enqueue_result_t ovstage_get_hierarchy(ovstage_instance_t *instance,
                                               ovx_primpath_list_t list, ovstage_ordinal_t ordinal,
                                               ovstage_hierarchy_relation_t relation,
                                               ovstage_hierarchy_handle_t *out)
{
    fr_stage *stage = fr_stage_of(instance);
    if (out)
        *out = OVSTAGE_INVALID_HIERARCHY_HANDLE;
    ovstage_enqueue_result_t refused = {fr_stage_enter(stage), OVSTAGE_INVALID_OP_ID};
    if (refused.status != OVSTAGE_OK)
        return refused;
    if (!out)
        return fr_error_refuse(OVSTAGE_ERROR_INVALID_ARGUMENT, "the handle's out pointer is NULL");
    if ((unsigned)relation > OVSTAGE_HIERARCHY_SIBLINGS)
        return fr_error_refuse(OVSTAGE_ERROR_INVALID_ARGUMENT, "relation %u is not one of 0 to %d",
                               (unsigned)relation, OVSTAGE_HIERARCHY_SIBLINGS);
    const fr_path_list *paths = fr_dictionary_list_acquire(stage->dictionary, list);
    if (!paths)
        return fr_error_refuse(OVSTAGE_ERROR_INVALID_HANDLE,
                               "path list 0x%llx is not known to the dictionary",
                               (unsigned long long)list);
    fr_lookup *lookup = fr_lookup_make(stage, paths, ordinal, relation);
    if (!lookup) {
        fr_dictionary_list_release(paths);
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a hierarchy lookup");
    }
    ovstage_enqueue_result_t result = fr_lookup_submit(lookup, out);
    fr_lookup_unref(lookup);
    return result;
}

/* --- results ---------------------------------------------------------------------------------- */

static void fr_lookup_poll(fr_lookup *lookup)
{
    fr_wait_outcome outcome;
    if (fr_lookup_state(lookup) == FR_LOOKUP_PENDING)
        fr_graph_wait_even_released(lookup->stage->graph, lookup->op_id, 0, &outcome);
}

static ovstage_api_status_t fr_lookup_show(fr_lookup *lookup, ovstage_hierarchy_result_t *out)
{
    fr_lookup_poll(lookup);
    uint32_t state = fr_lookup_state(lookup);
    if (state == FR_LOOKUP_PENDING)
        return OVSTAGE_ERROR_TIMEOUT;
    if (state == FR_LOOKUP_FAILED)
        return fr_error_set(OVSTAGE_ERROR_OP_FAILED,
                            "the hierarchy lookup, operation 0x%llx, failed",
                            (unsigned long long)lookup->op_id);
    fr_lookup_ref(lookup);
    out->hierarchy_result_id = fr_handle_create(lookup->stage, FR_HANDLE_HIERARCHY_RESULT, lookup);
    if (out->hierarchy_result_id == OVSTAGE_INVALID_HIERARCHY_RESULT_ID) {
        fr_lookup_unref(lookup);
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a hierarchy result");
    }
    out->ordinal = lookup->ordinal;
    out->items = lookup->items;
    out->input_count = lookup->list->count;
    out->paths = lookup->paths;
    out->path_count = lookup->path_count;
    return OVSTAGE_OK;
}

ovstage_api_status_t ovstage_fetch_hierarchy_result(ovstage_instance_t *instance,
                                                    ovstage_hierarchy_handle_t handle,
                                                    ovstage_hierarchy_result_t *out)
{
    fr_stage *stage = fr_stage_of(instance);
    if (out)
        memset(out, 0, sizeof(*out));
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the result's out pointer is NULL");
    fr_lookup *lookup = fr_handle_acquire(stage, FR_HANDLE_HIERARCHY, handle, fr_lookup_ref);
    if (!lookup)
        return fr_handle_refuse(stage, FR_HANDLE_HIERARCHY, handle, "hierarchy");
    status = fr_lookup_show(lookup, out);
    fr_lookup_unref(lookup);
    return status;
}

ovstage_api_status_t ovstage_release_hierarchy_result(ovstage_instance_t *instance,
                                                      const ovstage_hierarchy_result_t *result)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!result)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the result is NULL");
    uint64_t id = result->hierarchy_result_id;
    void *lookup = fr_handle_remove(stage, FR_HANDLE_HIERARCHY_RESULT, id);
    if (!lookup)
        return fr_handle_refuse(stage, FR_HANDLE_HIERARCHY_RESULT, id, "hierarchy result");
    fr_lookup_unref(lookup);
    return OVSTAGE_OK;
}

ovstage_enqueue_result_t ovstage_release_hierarchy(ovstage_instance_t *instance,
                                                   ovstage_hierarchy_handle_t handle)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_enqueue_result_t refused = {fr_stage_enter(stage), OVSTAGE_INVALID_OP_ID};
    if (refused.status != OVSTAGE_OK)
        return refused;
    void *lookup = NULL;
    ovstage_enqueue_result_t result =
        fr_handle_release_op(stage, FR_HANDLE_HIERARCHY, handle, "hierarchy", &lookup);
    if (result.status == OVSTAGE_OK)
        fr_lookup_unref(lookup);
    return result;
}
