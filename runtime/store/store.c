#include <string.h>

#include "runtime/store/bind.h"
#include "runtime/store/change_log.h"
#include "runtime/store/store_state.h"
#include "runtime/store/tombstones.h"

static bool fr_store_parts_create(fr_store *store)
{
    const fr_store_config *config = &store->config;
    store->attributes =
        fr_attributes_create(store->allocator, config->alias_from, config->alias_to);
    store->buffers = fr_buffers_create(store->allocator, config->builtin_payload_pool);
    store->prims = fr_prims_create(store->allocator);
    store->late = fr_late_create(store->allocator);
    store->marks = store->late ? fr_marks_create(store->allocator, store->late) : NULL;
    return store->attributes && store->buffers && store->prims && store->marks;
}

fr_store *fr_store_create(const fr_store_config *config)
{
    fr_store *store =
        fr_memory_allocate_zero(config->allocator, sizeof(*store), FR_CACHE_LINE_BYTES);
    if (!store)
        return NULL;
    store->config = *config;
    store->allocator_copy = *config->allocator;
    store->allocator = &store->allocator_copy;
    fr_living_init(&store->living, store->allocator);
    fr_moments_init(&store->moments);
    fr_moments_init(&store->snapshots);
    fr_moments_init(&store->starts);
    bool made = fr_store_parts_create(store);
    fr_versions_init(&store->versions, store->allocator, store->buffers);
    if (made)
        return store;
    fr_store_destroy(store);
    return NULL;
}

static void fr_store_columns_destroy(fr_store *store)
{
    uint32_t count = fr_attributes_count(store->attributes);
    for (uint32_t k = 0; k < count; k++) {
        fr_column *column = fr_column_first(fr_attributes_at(store->attributes, k));
        while (column) {
            fr_column *next = column->next;
            fr_column_destroy(store, column);
            column = next;
        }
    }
}

void fr_store_destroy(fr_store *store)
{
    fr_allocator allocator = store->allocator_copy;
    fr_change_log_destroy(store);
    if (store->attributes) {
        fr_store_columns_destroy(store);
        fr_attributes_destroy(store->attributes);
    }
    fr_versions_destroy(&store->versions);
    if (store->buffers)
        fr_buffers_destroy(store->buffers);
    if (store->prims)
        fr_prims_destroy(store->prims);
    fr_token_index_destroy(fr_load_relaxed(&store->token_index));
    fr_snapshots_destroy(store);
    if (store->marks) {
        fr_tombstones_forget_burials(store);
        fr_marks_destroy(store->marks);
    }
    fr_late_destroy(store->late);
    fr_living_destroy(&store->living);
    fr_memory_release(&allocator, store, sizeof(*store));
}

fr_attribute *fr_store_attribute_find(const fr_store *store, ovx_token_t token)
{
    return fr_attributes_find(store->attributes, token);
}

fr_attribute *fr_store_attribute_enter(fr_store *store, ovx_token_t token)
{
    return fr_attributes_enter(store->attributes, token);
}

uint32_t fr_store_attribute_count(const fr_store *store)
{
    return fr_attributes_count(store->attributes);
}

fr_attribute *fr_store_attribute_at(const fr_store *store, uint32_t index)
{
    return fr_attributes_at(store->attributes, index);
}

void fr_store_judgement_begin(fr_store *store, uint64_t ordinal, uint64_t filter, uint64_t op_id)
{
    fr_late_begin(store->late, ordinal, filter, op_id);
}

void fr_store_judgement_end(fr_store *store, uint64_t op_id)
{
    if (fr_late_end(store->late, op_id))
        fr_marks_drop(store->marks, 0);
}

bool fr_store_judgement_lost(const fr_store *store, uint64_t op_id)
{
    return fr_late_is_lost(store->late, op_id);
}

uint64_t fr_store_pending_bytes(const fr_store *store)
{
    return fr_tally_read(&store->counters.pending_bytes) + fr_marks_bytes(store->marks);
}

void fr_store_query_forget(fr_store *store, fr_query *query)
{
    (void)store;
    fr_bind_forget(query);
}

void fr_store_statistics_read(fr_store *store, fr_store_statistics *out)
{
    /* Open ones are counted where seals find them. */
    uint64_t open = fr_tally_read(&store->touches.versions);
    uint64_t live = fr_versions_live(&store->versions);
    const fr_store_counters *counters = &store->counters;
    /* [store.tokens.figures] pairs [store.tokens.enter] : it is set up */
    const fr_token_index *tokens = fr_load_acquire(&store->token_index);
    fr_buffers_statistics buffers;
    fr_buffers_statistics_read(store->buffers, &buffers);
    *out = (fr_store_statistics){
        .prims = fr_prims_count(store->prims) - fr_load_relaxed(&store->living.gone),
        .keys = fr_load_relaxed(&counters->keys) - fr_load_relaxed(&counters->keys_deleted),
        .columns = fr_load_relaxed(&counters->columns),
        .segments = fr_load_relaxed(&counters->segments),
        .versions_open = open + fr_tally_read(&store->touches.unplaced),
        .versions_sealed = live > open ? live - open : 0, /* read while others come and go */
        .pins = fr_versions_pins(&store->versions),
        .payload_bytes = buffers.payload_bytes,
        .pooled_bytes = buffers.pooled_bytes,
        .pending_bytes = fr_store_pending_bytes(store),
        .history_bytes = fr_load_relaxed(&counters->history_bytes),
        .membership_bytes = fr_load_relaxed(&counters->membership_bytes),
        .cache_bytes = fr_load_relaxed(&counters->cache_bytes),
        .table_bytes = fr_prims_bytes(store->prims) + fr_paged_bytes(&store->living.keys) +
                       fr_late_bytes(store->late) + fr_marks_table_bytes(store->marks) +
                       fr_attributes_bytes(store->attributes) + fr_token_index_bytes(tokens) +
                       fr_load_relaxed(&store->versions.slab_bytes) +
                       fr_load_relaxed(&store->versions.changes.bytes) +
                       fr_load_relaxed(&counters->table_bytes),
        .folds_in_place = fr_load_relaxed(&counters->folds_in_place),
        .folds_with_spare = fr_load_relaxed(&counters->folds_with_spare),
        .folds_with_copy = fr_load_relaxed(&counters->folds_with_copy),
        .heads_replaced = fr_load_relaxed(&counters->heads_replaced),
        .gathers = fr_load_relaxed(&counters->gathers),
        .gather_cache_hits = fr_load_relaxed(&counters->gather_cache_hits),
        .history_drops = fr_load_relaxed(&counters->history_drops),
        .snapshots_open = fr_load_relaxed(&counters->snapshots),
        .compactions = fr_load_relaxed(&counters->compactions),
        .seal_steps = fr_load_relaxed(&counters->seal_steps),
    };
}

bool fr_store_prims_reserve(fr_store *store, const uint32_t *prims, uint32_t count)
{
    return fr_prims_reserve(store->prims, prims, count);
}

void fr_store_prims_enter(fr_store *store, const uint32_t *prims, uint32_t count, uint64_t ordinal,
                          uint64_t op_id)
{
    fr_prims_enter_all(store->prims, prims, count, ordinal, op_id);
    fr_prims_settle(store->prims, count);
}

void fr_store_prims_cancel(fr_store *store, uint32_t count)
{
    fr_prims_settle(store->prims, count);
}

bool fr_store_prims_are_fresh(const fr_store *store, const uint32_t *prims, uint32_t count)
{
    return !fr_prims_any(store->prims, prims, count);
}
