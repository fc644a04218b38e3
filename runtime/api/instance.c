/* Making and destroying an instance. */
#include "runtime/api/callout.h"
#include "runtime/api/config.h"
#include "runtime/api/handles.h"
#include "runtime/api/placement.h"
#include "runtime/api/process.h"
#include "runtime/api/vtable.h"
#include "runtime/dictionary/dictionary.h"
#include "runtime/floor/floors.h"
#include "runtime/hierarchy/compute.h"
#include "runtime/hierarchy/lookup.h"
#include "runtime/log/log.h"
#include "runtime/log/trace.h"
#include "runtime/ops/event.h"
#include "runtime/ops/ops.h"
#include "runtime/write/access.h"

#define FR_QUERIES_PER_SLAB 32
#define FR_ANSWERS_PER_SLAB 64
#define FR_JOBS_PER_SLAB 8

/* --- the allocator: the client's or the heap, counted ----------------------------------------- */

static void *fr_stage_allocate(size_t size_bytes, size_t alignment_bytes, void *user)
{
    fr_stage *stage = user;
    fr_add_relaxed(&stage->allocation_count, 1);
    const flyrail_allocator_t *hooks = &stage->config.allocator;
    if (hooks->allocate)
        return hooks->allocate(size_bytes, alignment_bytes, hooks->user);
    return fr_allocator_default.allocate(size_bytes, alignment_bytes, fr_allocator_default.user);
}

static void fr_stage_release(void *memory, size_t size_bytes, void *user)
{
    fr_stage *stage = user;
    const flyrail_allocator_t *hooks = &stage->config.allocator;
    if (hooks->release)
        hooks->release(memory, size_bytes, hooks->user);
    else
        fr_allocator_default.release(memory, size_bytes, fr_allocator_default.user);
}

/* The stage itself comes from the hooks too, before it can count. */
static fr_allocator fr_config_allocator(const flyrail_config_t *config)
{
    fr_allocator allocator = fr_allocator_default;
    if (config->allocator.allocate) {
        allocator.allocate = config->allocator.allocate;
        allocator.release = config->allocator.release;
        allocator.user = config->allocator.user;
    }
    return allocator;
}

/* --- parts ------------------------------------------------------------------------------------ */

static ovstage_api_status_t fr_stage_open_pool(fr_stage *stage)
{
    fr_pool_config config = {
        .worker_count = stage->config.worker_count,
        .spin_ns = stage->config.spin_ns,
        .pin_workers = stage->config.pin_workers,
        .thread_started = stage->config.worker_started,
        .user = stage->config.worker_started_user,
        .begins = fr_graph_token_begins,
        .allocator = stage->config.own_pool ? &stage->allocator : &fr_allocator_default,
    };
    stage->owns_pool = stage->config.own_pool;
    stage->pool = stage->owns_pool ? fr_pool_create(&config) : fr_process_pool(&config);
    return stage->pool ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
}

/* What became due on devices, where no worker comes for it. */
static bool fr_stage_settle(void *user)
{
    fr_stage *stage = user;
    /* [stage.devices.settle] pairs [stage.devices.publish] : all of it is there */
    fr_devices *devices = fr_load_acquire(&stage->devices);
    return devices && fr_pool_worker_count(stage->pool) == 0 && fr_devices_run_due(devices);
}

static ovstage_api_status_t fr_stage_open_graph(fr_stage *stage)
{
    fr_graph_config config = {
        .pool = stage->pool,
        .allocator = &stage->allocator,
        .op_limit = stage->config.op_limit,
        .caller_spin_ns = stage->config.spin_ns,
        .id_prefix = stage->instance_number,
        .caller_runs = stage->config.caller_runs,
        .failed = fr_stage_log_failure,
        .failed_user = stage,
        .settle = fr_stage_settle,
        .settle_user = stage,
    };
    stage->graph = fr_graph_create(&config);
    return stage->graph ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
}

static ovstage_api_status_t fr_stage_open_store(fr_stage *stage)
{
    fr_store_config config = {
        .allocator = &stage->allocator,
        .history_limit_bytes = stage->config.history_limit_bytes,
        .history_versions = stage->config.history_versions,
        .cache_limit_bytes = stage->config.cache_limit_bytes,
        .pending_limit_bytes = stage->config.pending_limit_bytes,
        .builtin_payload_pool = !stage->config.allocator.allocate,
    };
    ovx_string_t alias = literal_to_ovx_string("omni:xform");
    ovx_string_t canonical = literal_to_ovx_string("omni:fabric:localMatrix");
    ovx_string_t type = literal_to_ovx_string("usd-prim-type");
    ovx_string_t schemas = literal_to_ovx_string("usd-schemas");
    ovx_string_t world = literal_to_ovx_string("omni:fabric:worldMatrix");
    fr_dictionary *dictionary = stage->dictionary;
    if (fr_dictionary_token_intern(dictionary, alias, &config.alias_from) != OVSTAGE_OK ||
        fr_dictionary_token_intern(dictionary, canonical, &config.alias_to) != OVSTAGE_OK ||
        fr_dictionary_token_intern(dictionary, type, &config.token_columns[0]) != OVSTAGE_OK ||
        fr_dictionary_token_intern(dictionary, schemas, &config.token_columns[1]) != OVSTAGE_OK ||
        fr_dictionary_token_intern(dictionary, world, &config.derived_column) != OVSTAGE_OK)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    stage->store = fr_store_create(&config);
    return stage->store ? OVSTAGE_OK : OVSTAGE_ERROR_OUT_OF_MEMORY;
}

/* Everything behind the stage, in the order in which the parts need each other. */
static ovstage_api_status_t fr_stage_open(fr_stage *stage)
{
    const fr_allocator *allocator = &stage->allocator;
    fr_slabs_open(&stage->queries, allocator, (sizeof(fr_query) + 15) / 16 * 16,
                  FR_QUERIES_PER_SLAB);
    fr_slabs_open(&stage->ordinal_answers, allocator, FR_ORDINAL_ANSWER_BYTES, FR_ANSWERS_PER_SLAB);
    fr_slabs_open(&stage->parallel_jobs, allocator, fr_parallel_object_bytes(), FR_JOBS_PER_SLAB);
    stage->handles = fr_handles_create(allocator, stage->instance_number);
    /* The process's, so from the heap: it may outlive this instance and its hooks. */
    stage->dictionary = stage->handles ? fr_dictionary_acquire(&fr_allocator_default) : NULL;
    if (!stage->dictionary)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    ovstage_api_status_t status = fr_stage_open_pool(stage);
    if (status == OVSTAGE_OK)
        status = fr_stage_open_graph(stage);
    if (status == OVSTAGE_OK)
        status = fr_stage_open_store(stage);
    if (status != OVSTAGE_OK)
        return status;
    stage->floors = fr_floors_create(allocator, stage->store);
    status = stage->floors ? fr_access_open(stage) : OVSTAGE_ERROR_OUT_OF_MEMORY;
    return status == OVSTAGE_OK ? fr_hierarchy_open(stage) : status;
}

static void fr_stage_drop_handle(fr_handle_kind kind, void *object, void *user)
{
    (void)user; /* ordinal queries go with their slab, snapshots are but an ordinal */
    if (kind == FR_HANDLE_QUERY)
        fr_query_close(object);
    else if (kind == FR_HANDLE_QUERY_RESULT)
        fr_query_result_drop(object);
    else if (kind == FR_HANDLE_HIERARCHY || kind == FR_HANDLE_HIERARCHY_RESULT)
        fr_lookup_unref(object);
    else if (kind == FR_HANDLE_EVENT)
        fr_event_unref(object);
    else if (kind != FR_HANDLE_ORDINAL_QUERY && kind != FR_HANDLE_SNAPSHOT)
        fr_access_drop_handle(kind, object);
}

/* The other way round; any of it may not be there. Returns the ops that were dropped. */
static uint64_t fr_stage_close(fr_stage *stage)
{
    uint64_t dropped = 0;
    if (stage->graph)
        dropped = fr_graph_destroy(stage->graph);
    fr_parallel_drain(stage); /* no op, and so no range, begins any more */
    fr_handles_destroy(stage->handles, fr_stage_drop_handle, NULL);
    fr_query_forget_parked(stage);
    fr_path_index_destroy(stage);
    fr_hierarchy_close(stage);
    fr_devices *devices = fr_load_relaxed(&stage->devices);
#ifndef FR_MUTATE_DEVICE_DESTROY_FORGETS_WORK
    if (devices)
        fr_devices_drain(devices); /* D20; what follows from it needs what is closed below */
#endif
    if (stage->access)
        fr_access_close(stage);
    fr_floors_destroy(stage->floors);
    if (stage->store)
        fr_store_destroy(stage->store); /* deleters of adopted payloads run last (D20) */
    fr_devices_destroy(devices);
    if (stage->owns_pool && stage->pool)
        fr_pool_destroy(stage->pool);
    fr_dictionary_release(stage->dictionary);
    fr_trace_destroy(stage);
    fr_slabs_close(&stage->parallel_jobs, NULL);
    fr_slabs_close(&stage->ordinal_answers, NULL);
    fr_slabs_close(&stage->queries, NULL);
    return dropped;
}

/* --- entry points ----------------------------------------------------------------------------- */

static fr_stage *fr_stage_new(const flyrail_config_t *config)
{
    fr_allocator base = fr_config_allocator(config);
    fr_stage *stage = fr_memory_allocate_zero(&base, sizeof(*stage), 64);
    if (!stage)
        return NULL;
    stage->config = *config;
    stage->allocator.allocate = fr_stage_allocate;
    stage->allocator.release = fr_stage_release;
    stage->allocator.user = stage;
    stage->instance.vtable = &fr_vtable;
    stage->instance.context = (ovstage_context_t *)(void *)stage;
    return stage;
}

static void fr_stage_delete(fr_stage *stage)
{
    fr_allocator base = fr_config_allocator(&stage->config);
    fr_memory_release(&base, stage, sizeof(*stage));
}

ovstage_api_status_t flyrail_create_instance(const ovstage_instance_desc_t *desc,
                                             const flyrail_config_t *config,
                                             ovstage_instance_t **out)
{
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the instance out pointer is NULL");
    *out = NULL;
    flyrail_config_t resolved;
    uint32_t number;
    uint64_t model;
    ovstage_api_status_t status = fr_config_resolve(config, &resolved);
    if (status == OVSTAGE_OK)
        status = fr_process_reserve(&number, &model);
    if (status != OVSTAGE_OK)
        return status;
    fr_stage *stage = fr_stage_new(&resolved);
    if (stage) {
        stage->instance_number = number;
        stage->hierarchy_model = model;
        status = fr_stage_open(stage);
    }
    if (!stage || status != OVSTAGE_OK) {
        if (stage) {
            fr_stage_close(stage);
            fr_stage_delete(stage);
        }
        fr_process_release();
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for an instance");
    }
    fr_process_publish(stage);
    *out = &stage->instance;
    fr_log_write(OVSTAGE_LOG_INFO, FR_LOG_CHANNEL, "instance %u made: '%.64s'", number,
                 desc && desc->name ? desc->name : "");
    return OVSTAGE_OK;
}

ovstage_api_status_t ovstage_create_instance(const ovstage_instance_desc_t *desc,
                                             ovstage_instance_t **out)
{
    return flyrail_create_instance(desc, NULL, out);
}

static ovstage_api_status_t fr_stage_may_go(fr_stage *stage)
{
    if (fr_graph_destroy_begin(stage->graph))
        return OVSTAGE_OK;
    return fr_error_set(
        OVSTAGE_ERROR_INVALID_ARGUMENT,
        "%p cannot be destroyed inside operation 0x%llx of another instance: one of its "
        "own operations waits for that",
        (void *)stage, (unsigned long long)fr_op_client_id(fr_op_running()));
}

ovstage_api_status_t ovstage_destroy_instance(ovstage_instance_t *instance)
{
    if (fr_process_forked())
        return fr_process_forked_error();
    if (!instance)
        return OVSTAGE_OK;
    fr_stage *stage = fr_stage_of(instance);
    if (fr_callout_is_under_way(stage))
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "%p cannot be destroyed from inside one of its operations, deleters or "
                            "callbacks",
                            (void *)instance);
    /* A worker's first call: with the last instance the pool would go, which waits for its workers.
     * An op that the hook runs keeps its own instance alive. */
    if (fr_pool_thread_is_starting() && !fr_op_running())
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "%p cannot be destroyed from inside worker_started", (void *)instance);
    ovstage_api_status_t status = fr_process_retire(stage, fr_stage_may_go);
    if (status != OVSTAGE_OK)
        return status;
    uint32_t number = stage->instance_number;
    uint64_t dropped = fr_stage_close(stage);
    fr_stage_delete(stage);
    if (dropped > 0) /* D20 */
        fr_log_write(OVSTAGE_LOG_WARNING, FR_LOG_CHANNEL,
                     "instance %u destroyed with work left: %llu ops were dropped as failed",
                     number, (unsigned long long)dropped);
    else
        fr_log_write(OVSTAGE_LOG_INFO, FR_LOG_CHANNEL, "instance %u destroyed", number);
    fr_process_release();
    return OVSTAGE_OK;
}
