/* The advance: seals what its scope covers, up to its ordinal. */
#include "runtime/api/stage.h"
#include "runtime/dictionary/dictionary.h"
#include "runtime/floor/floors.h"

typedef struct fr_advance_payload {
    fr_stage *stage;
    fr_advance *node;
} fr_advance_payload;

_Static_assert(sizeof(fr_advance_payload) <= FR_OP_PAYLOAD_BYTES, "fits the record");

#define FR_INLINE_NAMES 32
#define FR_INLINE_PRODUCERS 8
#define FR_INLINE_RECORDS 4

/* What one submission holds until it is accepted or refused. The arrays are inline until more is
 * needed. */
typedef struct fr_advancing {
    fr_stage *stage;
    fr_advance *node;
    uint64_t ordinal;
    bool all;
    bool excludes;   /* node->indices get every known attribute that `named` does not hold */
    uint32_t *named; /* ascending attribute indices, each once */
    uint32_t named_count, named_capacity;
    uint64_t *producer_ids;
    size_t producer_capacity;
    fr_floor_record *
        *records; /* its own, and larger ones for all pending advances when the capacity grows */
    uint32_t record_count, record_capacity, own_capacity;
    /* what admission found too small, for the next attempt */
    bool again;
    uint32_t need_indices, need_records, need_own;
    size_t need_producers;
    uint32_t inline_names[FR_INLINE_NAMES];
    uint64_t inline_producers[FR_INLINE_PRODUCERS];
    fr_floor_record *inline_records[FR_INLINE_RECORDS];
} fr_advancing;

/* --- running ---------------------------------------------------------------------------------- */

static fr_floor_record *fr_advance_take_record(void *user)
{
    fr_advance *node = user;
    /* [floors.record.take] pairs [floors.record.swap] : whole records only */
    return fr_exchange_acq_rel(&node->record, NULL);
}

static void fr_advance_lay_out(const fr_floor_record *next, void *user)
{
    fr_store_seal_layout(user, next);
}

static fr_run_result fr_advance_run(fr_op *op, const fr_run_context *context)
{
    (void)context;
    const fr_advance_payload *payload = fr_op_payload(op);
    fr_floors *floors = payload->stage->floors;
    fr_advance *node = payload->node;
    if (!node->raises)
        return FR_RUN_DONE;
    fr_floor_change change = {.ordinal = node->ordinal,
                              .indices = node->all ? NULL : node->indices,
                              .count = node->count,
                              .prepare = fr_advance_lay_out,
                              .prepare_user = payload->stage->store};
    fr_floor_fold fold = {NULL, NULL};
    fr_floor_records_publish(floors->records, &change, fr_advance_take_record, node, &fold);
    fr_floor_watches_look(floors);
    for (; fold.published; fr_floor_records_fold_next(floors->records, &fold))
        fr_store_seal(payload->stage->store, fold.published, fold.before);
    return FR_RUN_DONE;
}

static void fr_advance_drop(fr_op *op)
{
    const fr_advance_payload *payload = fr_op_payload(op);
    fr_floor_record *record = fr_advance_take_record(payload->node);
    if (record)
        fr_floor_records_unreserve(payload->stage->floors->records, record);
    /* [floors.done.set] pairs [floors.done.read] : acceptors may use the node again */
    fr_store_release(&payload->node->done, 1);
}

static const fr_op_type fr_advance_type = {
    .name = "seal",
    .run = fr_advance_run,
    .drop = fr_advance_drop,
};

/* --- acceptance ------------------------------------------------------------------------------- */

static bool fr_named(const fr_advancing *advancing, uint32_t index)
{
    uint32_t low = 0, high = advancing->named_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (advancing->named[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < advancing->named_count && advancing->named[low] == index;
}

static void fr_advance_add(fr_advance *node, uint32_t index)
{
    node->indices[node->count++] = index;
    node->filter |= UINT64_C(1) << index % 64;
}

/* The known attributes that are not named, as of now (D1). False: the node has too little room. */
static bool fr_advance_fill_excluding(fr_advancing *advancing)
{
    fr_store *store = advancing->stage->store;
    fr_advance *node = advancing->node;
    uint32_t attribute_count = fr_store_attribute_count(store);
    node->count = 0;
    node->filter = 0;
    advancing->need_indices = attribute_count;
    if (node->capacity < attribute_count)
        return false;
    for (uint32_t i = 0; i < attribute_count; i++)
        if ((fr_store_attribute_at(store, i)->floor_state & FR_FLOOR_KNOWN) &&
            !fr_named(advancing, i))
            fr_advance_add(node, i);
    return true;
}

/* Whether every pending advance's record will do once this one is accepted. */
static bool fr_advance_records_suffice(fr_advancing *advancing)
{
    fr_floors *floors = advancing->stage->floors;
    advancing->need_own = floors->scoped_count + fr_floors_new_scoped(floors, advancing->node);
    uint32_t record_capacity = fr_load_relaxed(&floors->record_capacity);
    if (advancing->need_own <= record_capacity) {
        advancing->need_own = record_capacity;
        advancing->need_records = 1;
    } else {
        advancing->need_records = floors->pending_count + 1;
    }
    return advancing->own_capacity >= advancing->need_own &&
           advancing->record_count >= advancing->need_records;
}

/* Only looks: it may be called again with more room. What it changes is changed in
 * fr_advance_accepted. */
static ovstage_api_status_t fr_advance_admit(fr_submission *submission, void *user)
{
    fr_advancing *advancing = user;
    fr_floors *floors = advancing->stage->floors;
    fr_advance *node = advancing->node;
    advancing->again = true;
    if (advancing->excludes && !fr_advance_fill_excluding(advancing))
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    if (!fr_advance_records_suffice(advancing))
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    node->raises = fr_floors_would_raise(floors, node);
    submission->takes_lanes_below = submission->covers_lanes = node->raises;
    /* Who waits for a seal waits for all below it, whoever raised the floor there. */
    submission->reports_below = true;
    submission->below_ordinal = node->ordinal;
    submission->below_filter = node->all ? UINT64_MAX : node->filter;
    submission->producer_count = 0;
    if (!node->raises) {
        size_t covering =
            fr_floors_covering(floors, node, advancing->producer_ids, advancing->producer_capacity);
        if (covering == SIZE_MAX) {
            advancing->need_producers = fr_floors_pending_count(floors);
            return OVSTAGE_ERROR_OUT_OF_MEMORY;
        }
        submission->producer_count = covering;
    }
    advancing->again = false;
    return OVSTAGE_OK;
}

/* Gives every pending advance a record of the new capacity; the old ones take their places in
 * advancing->records. */
static void fr_advance_swap_records(fr_advancing *advancing)
{
    fr_floors *floors = advancing->stage->floors;
    if (advancing->need_own <= fr_load_relaxed(&floors->record_capacity))
        return;
    fr_store_relaxed(&floors->record_capacity, advancing->own_capacity);
    uint32_t next = 1; /* the first is this advance's own */
    for (fr_advance *node = floors->first; node; node = node->next, next++) {
        /* [floors.record.swap] pairs [floors.record.take] : whole records only */
        fr_floor_record *old = fr_exchange_acq_rel(&node->record, advancing->records[next]);
        /* NULL: it is being published, or was, with a record that sufficed before */
        advancing->records[next] = old ? old : fr_advance_take_record(node);
    }
}

static void fr_advance_accepted(fr_submission *submission, uint64_t id, void *user)
{
    (void)submission;
    fr_advancing *advancing = user;
    fr_advance_swap_records(advancing);
    fr_store_relaxed(&advancing->node->record, advancing->records[0]);
    advancing->records[0] = NULL;
    fr_floors_enter(advancing->stage->floors, advancing->node, id);
    advancing->node = NULL;
}

/* --- submission ------------------------------------------------------------------------------- */

static void fr_advancing_begin(fr_advancing *advancing, fr_stage *stage, uint64_t ordinal)
{
    advancing->stage = stage;
    advancing->node = NULL;
    advancing->ordinal = ordinal;
    advancing->all = advancing->excludes = advancing->again = false;
    advancing->named = advancing->inline_names;
    advancing->named_count = 0;
    advancing->named_capacity = FR_INLINE_NAMES;
    advancing->producer_ids = advancing->inline_producers;
    advancing->producer_capacity = FR_INLINE_PRODUCERS;
    advancing->records = advancing->inline_records;
    advancing->record_count = 0;
    advancing->record_capacity = FR_INLINE_RECORDS;
    advancing->own_capacity = 0;
    advancing->need_indices = 0;
    advancing->need_own = fr_load_relaxed(&stage->floors->record_capacity); /* a first guess */
    advancing->need_records = 1;
    advancing->need_producers = 0;
}

/* Gives back what was not used. */
static void fr_advancing_end(fr_advancing *advancing)
{
    const fr_allocator *allocator = &advancing->stage->allocator;
    fr_floors *floors = advancing->stage->floors;
    for (uint32_t i = 0; i < advancing->record_count; i++)
        if (advancing->records[i])
            fr_floor_records_unreserve(floors->records, advancing->records[i]);
    if (advancing->node)
        fr_floors_node_put(floors, advancing->node);
    if (advancing->records != advancing->inline_records)
        fr_memory_release(allocator, advancing->records,
                          sizeof(*advancing->records) * advancing->record_capacity);
    if (advancing->producer_ids != advancing->inline_producers)
        fr_memory_release(allocator, advancing->producer_ids,
                          sizeof(uint64_t) * advancing->producer_capacity);
    if (advancing->named != advancing->inline_names)
        fr_memory_release(allocator, advancing->named,
                          sizeof(uint32_t) * advancing->named_capacity);
}

static bool fr_advancing_reserve_node(fr_advancing *advancing)
{
    if (advancing->node && advancing->node->capacity >= advancing->need_indices)
        return true;
    if (advancing->node)
        fr_floors_node_put(advancing->stage->floors, advancing->node);
    advancing->node = fr_floors_node_get(advancing->stage->floors, advancing->need_indices);
    if (!advancing->node)
        return false;
    advancing->node->ordinal = advancing->ordinal;
    advancing->node->all = advancing->all;
    if (!advancing->all && !advancing->excludes)
        for (uint32_t i = 0; i < advancing->named_count; i++)
            fr_advance_add(advancing->node, advancing->named[i]);
    return true;
}

static bool fr_advancing_reserve_producers(fr_advancing *advancing)
{
    if (advancing->producer_capacity >= advancing->need_producers)
        return true;
    const fr_allocator *allocator = &advancing->stage->allocator;
    size_t capacity = advancing->need_producers * 2;
    uint64_t *ids = fr_memory_allocate(allocator, sizeof(uint64_t) * capacity, 16);
    if (!ids)
        return false;
    if (advancing->producer_ids != advancing->inline_producers)
        fr_memory_release(allocator, advancing->producer_ids,
                          sizeof(uint64_t) * advancing->producer_capacity);
    advancing->producer_ids = ids;
    advancing->producer_capacity = capacity;
    return true;
}

static bool fr_advancing_reserve_record_places(fr_advancing *advancing)
{
    if (advancing->record_capacity >= advancing->need_records)
        return true;
    const fr_allocator *allocator = &advancing->stage->allocator;
    uint32_t capacity = advancing->need_records + advancing->need_records / 4;
    fr_floor_record **records = fr_memory_allocate(allocator, sizeof(*records) * capacity, 16);
    if (!records)
        return false;
    for (uint32_t i = 0; i < advancing->record_count; i++)
        records[i] = advancing->records[i];
    if (advancing->records != advancing->inline_records)
        fr_memory_release(allocator, advancing->records,
                          sizeof(*records) * advancing->record_capacity);
    advancing->records = records;
    advancing->record_capacity = capacity;
    return true;
}

static bool fr_advancing_reserve_records(fr_advancing *advancing)
{
    fr_floor_records *pool = advancing->stage->floors->records;
    if (!fr_advancing_reserve_record_places(advancing))
        return false;
    if (advancing->own_capacity < advancing->need_own) {
        for (; advancing->record_count > 0; advancing->record_count--)
            fr_floor_records_unreserve(pool, advancing->records[advancing->record_count - 1]);
        uint32_t own = 4; /* in powers of two, so that growth is seldom */
        while (own < advancing->need_own)
            own *= 2;
        advancing->own_capacity = own;
    }
    for (; advancing->record_count < advancing->need_records; advancing->record_count++) {
        fr_floor_record *record = fr_floor_records_reserve(pool, advancing->own_capacity);
        if (!record)
            return false;
        advancing->records[advancing->record_count] = record;
    }
    return true;
}

/* Submits, as often as admission finds that more must be set aside. */
static ovstage_enqueue_result_t fr_advancing_submit(fr_advancing *advancing)
{
    fr_stage *stage = advancing->stage;
    fr_op *op = fr_graph_op_get(stage->graph, &fr_advance_type);
    if (!op)
        return fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an operation");
    ovstage_enqueue_result_t result;
    do {
        advancing->again = false;
        if (!fr_advancing_reserve_node(advancing) || !fr_advancing_reserve_producers(advancing) ||
            !fr_advancing_reserve_records(advancing)) {
            result = fr_error_refuse(OVSTAGE_ERROR_OUT_OF_MEMORY,
                                     "no memory for advancing the write floor to %llu",
                                     (unsigned long long)advancing->ordinal);
            break;
        }
        fr_advance_payload *payload = fr_op_payload(op);
        payload->stage = stage;
        payload->node = advancing->node;
        fr_submission submission = {
            .op = op,
            .producer_ids = advancing->producer_ids,
            .producer_capacity = advancing->producer_capacity,
            .never_full = true,
            .admit = fr_advance_admit,
            .accepted = fr_advance_accepted,
            .user = advancing,
        };
        result = fr_stage_submit(stage, &submission, 0);
    } while (result.status != OVSTAGE_OK && advancing->again);
    if (result.status != OVSTAGE_OK)
        fr_graph_op_put(stage->graph, op);
    else
        fr_graph_look_at_conditions(stage->graph); /* who waits for the floor may run its chain */
    return result;
}

/* Ascending, each once. In place, without memory: heap sort. */
static void fr_sift_down(uint32_t *values, uint32_t root, uint32_t count)
{
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && values[child + 1] > values[child])
            child++;
        if (values[root] >= values[child])
            return;
        uint32_t value = values[root];
        values[root] = values[child];
        values[child] = value;
    }
}

static uint32_t fr_sort_unique(uint32_t *values, uint32_t count)
{
    for (uint32_t i = count / 2; i > 0; i--)
        fr_sift_down(values, i - 1, count);
    for (uint32_t end = count; end > 1; end--) {
        uint32_t value = values[0];
        values[0] = values[end - 1];
        values[end - 1] = value;
        fr_sift_down(values, 0, end - 1);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || values[i] != values[kept - 1])
            values[kept++] = values[i];
    return kept;
}

/* The named attributes, each with its record in the store, new ones too: one that is to be left out
 * may become known (D1) before admission looks which are, and is told from the others by its
 * record. */
static ovstage_api_status_t fr_advancing_resolve(fr_advancing *advancing,
                                                 const ovstage_write_floor_desc_t *desc)
{
    fr_stage *stage = advancing->stage;
    size_t count = desc->attribute_count;
    if (!desc->attributes && count > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "attributes is NULL, attribute_count is %zu", count);
    if (count > UINT32_MAX)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_RANGE, "attribute_count %zu is above %u", count,
                            UINT32_MAX);
    if (count > advancing->named_capacity) {
        uint32_t *named = fr_memory_allocate(&stage->allocator, sizeof(uint32_t) * count, 16);
        if (!named)
            return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %zu attributes", count);
        advancing->named = named;
        advancing->named_capacity = (uint32_t)count;
    }
    for (size_t i = 0; i < count; i++) {
        ovx_string_or_token_t name = {desc->attributes[i], {NULL, 0}};
        fr_attribute *attribute = NULL;
        ovx_token_t token;
        bool enters = true;
#ifdef FR_MUTATE_EXCLUDE_SKIPS_UNKNOWN
        enters = !advancing->excludes;
#endif
        ovstage_api_status_t status = fr_stage_attribute(stage, name, enters, &attribute, &token);
        if (status != OVSTAGE_OK)
            return status;
        if (attribute)
            advancing->named[advancing->named_count++] = attribute->index;
    }
    advancing->named_count = fr_sort_unique(advancing->named, advancing->named_count);
    return OVSTAGE_OK;
}

ovstage_enqueue_result_t fr_floor_advance(fr_stage *stage, const ovstage_write_floor_desc_t *desc)
{
    if (!desc)
        return fr_error_refuse(OVSTAGE_ERROR_INVALID_ARGUMENT, "the floor descriptor is NULL");
    fr_advancing advancing;
    fr_advancing_begin(&advancing, stage, desc->ordinal);
    ovstage_enqueue_result_t result = {OVSTAGE_OK, OVSTAGE_INVALID_OP_ID};
    switch (desc->scope) {
    case OVSTAGE_SCOPE_ALL:
        advancing.all = true;
        break;
    case OVSTAGE_SCOPE_EXCLUDE:
        advancing.excludes = desc->attribute_count > 0;
        advancing.all = !advancing.excludes;
        break;
    case OVSTAGE_SCOPE_INCLUDE:
        break;
    default:
        return fr_error_refuse(OVSTAGE_ERROR_INVALID_ARGUMENT, "scope %u is none of 0 to 2",
                               (unsigned)desc->scope);
    }
    if (!advancing.all)
        result.status = fr_advancing_resolve(&advancing, desc);
    advancing.need_indices = advancing.excludes ? 0 : advancing.named_count;
    if (result.status == OVSTAGE_OK)
        result = fr_advancing_submit(&advancing);
    fr_advancing_end(&advancing);
    return result;
}
