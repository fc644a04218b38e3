#include "runtime/api/handles.h"

#include <string.h>

#include "runtime/device/devices.h"

static ovstage_api_status_t fr_statistics_check(const flyrail_statistics_t *out)
{
    if (!out)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the statistics are NULL");
    if (out->struct_size != sizeof(*out))
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "struct_size %u is not that of a flyrail_statistics_t (%zu)",
                            out->struct_size, sizeof(*out));
    return OVSTAGE_OK;
}

static void fr_statistics_ops(const fr_stage *stage, flyrail_statistics_t *out)
{
    fr_graph_statistics graph;
    fr_graph_statistics_read(stage->graph, &graph);
    out->ops_accepted = graph.accepted;
    out->ops_completed = graph.completed;
    out->ops_failed = graph.failed;
    out->ops_pending = fr_graph_pending_count(stage->graph);
    out->ops_parked = graph.parked;
    out->ops_unreleased = graph.ids - graph.released;
    out->ops_run_by_workers = graph.run_by_workers;
    out->ops_run_by_waiters = graph.run_by_waiters;
    out->hand_overs = graph.hand_overs;
    out->lanes_open = graph.lanes_open;
    out->op_bytes = graph.op_record_bytes + graph.id_table_bytes;
}

static void fr_statistics_pool(const fr_stage *stage, flyrail_statistics_t *out)
{
    fr_pool_statistics pool;
    fr_pool_statistics_read(stage->pool, &pool);
    out->worker_count = pool.worker_count;
    out->workers_sleeping = pool.sleeping_count;
    out->steals = pool.steals;
    out->wakes = pool.wakes;
    out->sleeps = pool.sleeps;
}

static void fr_statistics_store(const fr_stage *stage, flyrail_statistics_t *out)
{
    fr_store_statistics store;
    fr_store_statistics_read(stage->store, &store);
    out->prims = store.prims;
    out->keys = store.keys;
    out->columns = store.columns;
    out->segments = store.segments;
    out->versions_open = store.versions_open;
    out->versions_sealed = store.versions_sealed;
    out->pins = store.pins;
    out->payload_bytes = store.payload_bytes;
    out->pending_bytes = fr_stage_pending_bytes(stage);
    out->history_bytes = store.history_bytes;
    out->membership_bytes = store.membership_bytes;
    out->cache_bytes = store.cache_bytes;
    out->pooled_bytes = store.pooled_bytes;
    out->table_bytes = store.table_bytes + fr_load_relaxed(&stage->path_index.bytes);
    out->folds_in_place = store.folds_in_place;
    out->folds_with_spare = store.folds_with_spare;
    out->folds_with_copy = store.folds_with_copy;
    out->heads_replaced = store.heads_replaced;
    out->gathers = store.gathers;
    out->gather_cache_hits = store.gather_cache_hits;
    out->history_drops = store.history_drops;
    out->snapshots_open = store.snapshots_open;
}

static void fr_statistics_devices(const fr_stage *stage, flyrail_statistics_t *out)
{
    /* [stage.devices.count] pairs [stage.devices.publish] : all of it is there */
    const fr_devices *devices = fr_load_acquire(&stage->devices);
    if (!devices)
        return;
    out->pinned_bytes = fr_load_relaxed(&devices->pinned_bytes);
    out->pinned_kept_bytes = fr_devices_kept_bytes(devices);
}

ovstage_api_status_t flyrail_get_statistics(ovstage_instance_t *instance, flyrail_statistics_t *out)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status == OVSTAGE_OK)
        status = fr_statistics_check(out);
    if (status != OVSTAGE_OK)
        return status;
    memset(out, 0, sizeof(*out));
    out->struct_size = sizeof(*out);
    fr_statistics_ops(stage, out);
    fr_statistics_pool(stage, out);
    fr_statistics_store(stage, out);
    fr_statistics_devices(stage, out);
    out->queue_full_count = fr_load_relaxed(&stage->queue_full_count);
    out->heap_allocations = fr_load_relaxed(&stage->allocation_count);
    return OVSTAGE_OK;
}
