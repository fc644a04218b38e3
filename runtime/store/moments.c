#include "runtime/store/store_state.h"

/* With the lock held, after each change. */
static void fr_moments_publish(fr_moments *moments)
{
    const fr_ordinal_node *first = fr_ordinal_tree_first(&moments->tree);
    fr_store_relaxed(&moments->lowest, first ? first->ordinal : UINT64_MAX);
}

void fr_moments_init(fr_moments *moments)
{
    fr_store_relaxed(&moments->lowest, UINT64_MAX);
}

static void fr_moments_hold(fr_moments *moments, fr_ordinal_node *held, uint64_t ordinal)
{
    held->ordinal = ordinal;
    fr_mutex_lock(&moments->lock);
    (void)fr_ordinal_tree_insert(&moments->tree, held);
    fr_moments_publish(moments);
    fr_mutex_unlock(&moments->lock);
}

static void fr_moments_release(fr_moments *moments, fr_ordinal_node *held)
{
    fr_mutex_lock(&moments->lock);
    fr_ordinal_tree_remove(&moments->tree, held);
    fr_moments_publish(moments);
    fr_mutex_unlock(&moments->lock);
}

void fr_store_moment_hold(fr_store *store, fr_ordinal_node *held, uint64_t ordinal)
{
    fr_moments_hold(&store->moments, held, ordinal);
}

void fr_store_moment_release(fr_store *store, fr_ordinal_node *held)
{
    fr_moments_release(&store->moments, held);
}

void fr_store_start_hold(fr_store *store, fr_ordinal_node *held, uint64_t start)
{
    fr_moments_hold(&store->starts, held, start);
}

void fr_store_start_release(fr_store *store, fr_ordinal_node *held)
{
    fr_moments_release(&store->starts, held);
}

uint64_t fr_moments_lowest(fr_moments *moments)
{
    fr_mutex_lock(&moments->lock);
    const fr_ordinal_node *first = fr_ordinal_tree_first(&moments->tree);
    uint64_t lowest = first ? first->ordinal : UINT64_MAX;
    fr_mutex_unlock(&moments->lock);
    return lowest;
}

/* --- snapshots -------------------------------------------------------------------------------- */

ovstage_api_status_t fr_store_snapshot_hold(fr_store *store)
{
    fr_moments *snapshots = &store->snapshots;
    fr_ordinal_node *held = fr_memory_allocate_zero(store->allocator, sizeof(*held), 16);
    if (!held)
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    fr_mutex_lock(&snapshots->lock);
    bool has_room = fr_load_relaxed(&store->counters.snapshots) < FR_STORE_SNAPSHOTS;
    if (has_room) {
        (void)fr_ordinal_tree_insert(&snapshots->tree, held);
        fr_add_relaxed(&store->counters.snapshots, 1);
    }
    fr_mutex_unlock(&snapshots->lock);
    if (has_room)
        return OVSTAGE_OK;
    fr_memory_release(store->allocator, held, sizeof(*held));
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

/* With the lock held: takes one of this ordinal out, whichever. */
static fr_ordinal_node *fr_snapshots_take(fr_moments *snapshots, uint64_t ordinal)
{
    fr_ordinal_node *held = fr_ordinal_tree_at(&snapshots->tree, ordinal);
    fr_ordinal_tree_remove(&snapshots->tree, held);
    return held;
}

void fr_store_snapshot_settle(fr_store *store, uint64_t ordinal)
{
    fr_moments *snapshots = &store->snapshots;
    fr_mutex_lock(&snapshots->lock);
    fr_ordinal_node *held = fr_snapshots_take(snapshots, 0);
    held->ordinal = ordinal;
    (void)fr_ordinal_tree_insert(&snapshots->tree, held);
    fr_mutex_unlock(&snapshots->lock);
}

void fr_store_snapshot_release(fr_store *store, uint64_t ordinal)
{
    fr_mutex_lock(&store->snapshots.lock);
    fr_ordinal_node *held = fr_snapshots_take(&store->snapshots, ordinal);
    fr_sub_relaxed(&store->counters.snapshots, 1);
    fr_mutex_unlock(&store->snapshots.lock);
    fr_memory_release(store->allocator, held, sizeof(*held));
}

void fr_snapshots_destroy(fr_store *store)
{
    while (store->snapshots.tree.root)
        fr_store_snapshot_release(store, store->snapshots.tree.root->ordinal);
}
