#include "runtime/store/gathered.h"

#include "runtime/store/store_state.h"

static bool fr_gathered_is(const fr_snapshot *snapshot, const fr_gathered *kept)
{
    if (!kept->buffer || kept->derived != snapshot->derived)
        return false;
    for (uint32_t s = 0; s < snapshot->source_count; s++)
        if (kept->states[s] != snapshot->sources[s].state)
            return false;
    return true;
}

void fr_gathered_find(fr_snapshot *snapshot)
{
    fr_gathered *kept = snapshot->binding->gathered;
    fr_mutex_lock(&kept->lock);
    if (fr_gathered_is(snapshot, kept)) {
        snapshot->gathered = kept->buffer;
        fr_buffer_retain(kept->buffer);
        fr_store_relaxed(&kept->used, true);
    }
    fr_mutex_unlock(&kept->lock);
    if (snapshot->gathered)
        fr_add_relaxed(&snapshot->store->counters.gather_cache_hits, 1);
}

/* --- what goes -------------------------------------------------------------------------------- */

/* Used ones that are spared in one look for one that goes. */
#define FR_GATHERED_SPARED 16u

/* With the cache's lock held. */
static void fr_gathered_list_out(fr_gather_cache *cache, fr_gathered *gathered)
{
    if (!gathered->listed)
        return;
    *(gathered->older ? &gathered->older->newer : &cache->oldest) = gathered->newer;
    *(gathered->newer ? &gathered->newer->older : &cache->newest) = gathered->older;
    gathered->older = gathered->newer = NULL;
    gathered->listed = false;
}

/* With the cache's lock held. */
static void fr_gathered_list_in(fr_gather_cache *cache, fr_gathered *gathered)
{
    gathered->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = gathered;
    cache->newest = gathered;
    gathered->listed = true;
}

static void fr_gathered_let_go(fr_store *store, fr_buffer *buffer)
{
    if (buffer)
        fr_sub_relaxed(&store->counters.cache_bytes, buffer->capacity_bytes);
    fr_buffer_release(store->buffers, buffer);
}

/* With the cache's lock held, as long as which it is alive. */
static fr_buffer *fr_gathered_take_out(fr_gather_cache *cache, fr_gathered *gathered)
{
    fr_gathered_list_out(cache, gathered);
    fr_mutex_lock(&gathered->lock);
    fr_buffer *buffer = gathered->buffer;
    gathered->buffer = NULL;
    fr_mutex_unlock(&gathered->lock);
    return buffer;
}

void fr_gathered_forget(fr_store *store, fr_gathered *gathered)
{
    fr_gather_cache *cache = &store->gather_cache;
    fr_mutex_lock(&cache->lock);
    fr_buffer *buffer = fr_gathered_take_out(cache, gathered);
    fr_mutex_unlock(&cache->lock);
    fr_gathered_let_go(store, buffer);
}

/* The least recently used one goes, or one that was used long ago. False: there is none. */
static bool fr_gathered_evict(fr_store *store)
{
    fr_gather_cache *cache = &store->gather_cache;
    fr_buffer *buffer = NULL;
    fr_mutex_lock(&cache->lock);
    fr_gathered *victim = cache->oldest;
#ifdef FR_MUTATE_GATHERED_NEVER_GOES
    victim = NULL;
#endif
    for (uint32_t k = 0; victim && k < FR_GATHERED_SPARED; k++) {
        if (!fr_load_relaxed(&victim->used))
            break;
        fr_store_relaxed(&victim->used, false);
        fr_gathered_list_out(cache, victim);
        fr_gathered_list_in(cache, victim);
        victim = cache->oldest;
    }
    if (victim)
        buffer = fr_gathered_take_out(cache, victim);
    fr_mutex_unlock(&cache->lock);
    fr_gathered_let_go(store, buffer);
    return victim != NULL;
}

/* Beside the bindings, which do not go for it. */
static bool fr_gathered_could_fit(const fr_store *store, uint64_t size_bytes)
{
    uint64_t limit = store->config.cache_limit_bytes;
    return size_bytes <= limit &&
           fr_load_relaxed(&store->counters.binding_bytes) <= limit - size_bytes;
}

/* The figure is taken up first, so that the limit holds with several at once. */
bool fr_gathered_take_room(fr_store *store, uint64_t size_bytes)
{
    uint64_t limit = store->config.cache_limit_bytes;
    while (fr_gathered_could_fit(store, size_bytes)) {
        uint64_t others = fr_add_relaxed(&store->counters.cache_bytes, size_bytes);
        if (others <= limit - size_bytes)
            return true;
        fr_sub_relaxed(&store->counters.cache_bytes, size_bytes);
        if (!fr_gathered_evict(store))
            return false;
    }
    return false;
}

/* Without a buffer nobody looks at the states. False: another thread writes them, or has. */
static bool fr_gathered_begin(fr_gathered *kept)
{
    fr_mutex_lock(&kept->lock);
    bool begun = !kept->buffer && !kept->is_filled;
    kept->is_filled = kept->is_filled || begun;
    fr_mutex_unlock(&kept->lock);
    return begun;
}

void fr_gathered_keep(fr_snapshot *snapshot)
{
    /* A binding that the caches had no room for goes with this read, and is found by no other. */
    if (!snapshot->binding || snapshot->binding->cached_bytes == 0)
        return;
    fr_store *store = snapshot->store;
    fr_gather_cache *cache = &store->gather_cache;
    fr_gathered *kept = snapshot->binding->gathered;
    fr_gathered_forget(store, kept);
    if (!fr_gathered_begin(kept))
        return;
    bool has_room = fr_gathered_take_room(store, snapshot->gathered->capacity_bytes);
    for (uint32_t s = 0; s < snapshot->source_count && has_room; s++)
        kept->states[s] = snapshot->sources[s].state;
    kept->derived = snapshot->derived;
    if (has_room)
        fr_buffer_retain(snapshot->gathered);
    fr_mutex_lock(&cache->lock);
    if (has_room)
        fr_gathered_list_in(cache, kept);
    fr_mutex_lock(&kept->lock);
    kept->buffer = has_room ? snapshot->gathered : NULL;
    kept->is_filled = false;
    fr_mutex_unlock(&kept->lock);
    fr_mutex_unlock(&cache->lock);
}
