#include "runtime/store/version.h"

#include <stddef.h>
#include <string.h>

#include "runtime/store/pending.h"

#ifdef FR_SHRINK
#define FR_VERSION_SLAB_RECORDS 4
#else
#define FR_VERSION_SLAB_RECORDS 64
#endif

struct fr_version_slab {
    struct fr_version_slab *next;
    fr_version records[FR_VERSION_SLAB_RECORDS];
};

_Static_assert(FR_VERSION_SLAB_RECORDS % FR_STOCK_BATCH == 0, "a slab is a number of batches");

void fr_versions_init(fr_versions *versions, const fr_allocator *allocator, fr_buffers *buffers)
{
    memset(versions, 0, sizeof(*versions));
    versions->allocator = allocator;
    versions->buffers = buffers;
    fr_changes_init(&versions->changes, allocator);
}

void fr_versions_destroy(fr_versions *versions)
{
    fr_changes_destroy(&versions->changes);
    while (versions->slabs) {
        struct fr_version_slab *slab = versions->slabs;
        versions->slabs = slab->next;
        fr_memory_release(versions->allocator, slab, sizeof(*slab));
    }
}

uint64_t fr_versions_live(const fr_versions *versions)
{
    return fr_stock_taken(&versions->stock);
}

uint64_t fr_versions_pins(fr_versions *versions)
{
    uint64_t pins = 0;
    fr_mutex_lock(&versions->lock);
    for (struct fr_version_slab *slab = versions->slabs; slab; slab = slab->next)
        for (uint32_t k = 0; k < FR_VERSION_SLAB_RECORDS; k++)
            pins += fr_pin_count(&slab->records[k].pin);
    fr_mutex_unlock(&versions->lock);
    return pins;
}

static bool fr_versions_grow(fr_versions *versions)
{
    struct fr_version_slab *slab =
        fr_memory_allocate_zero(versions->allocator, sizeof(*slab), FR_CACHE_LINE_BYTES);
    if (!slab)
        return false;
    for (uint32_t k = 0; k < FR_VERSION_SLAB_RECORDS; k++)
        fr_pin_init(&slab->records[k].pin);
    fr_add_relaxed(&versions->slab_bytes, sizeof(*slab));
    fr_mutex_lock(&versions->lock);
    slab->next = versions->slabs;
    versions->slabs = slab;
    fr_mutex_unlock(&versions->lock);
    fr_stocked *batch = NULL;
    for (uint32_t k = FR_VERSION_SLAB_RECORDS; k-- > 0;) {
        fr_stocked *record = &slab->records[k].free;
        record->next = batch;
        batch = record;
        if (k % FR_STOCK_BATCH != 0)
            continue;
        (void)fr_stock_add(&versions->stock, batch, UINT32_MAX);
        batch = NULL;
    }
    return true;
}

fr_version *fr_version_get(fr_versions *versions, fr_segment *segment, uint64_t ordinal,
                           fr_version_kind kind)
{
    fr_stocked *record;
    do
        record = fr_stock_take(&versions->stock);
    while (!record && fr_versions_grow(versions));
    if (!record)
        return NULL;
    fr_version *version =
        (fr_version *)(void *)((unsigned char *)record - offsetof(fr_version, free));
    version->kind = kind;
    version->ordinal = ordinal;
    version->segment = segment;
    version->older = NULL;
    version->newer = NULL;
    version->place = (fr_ordinal_node){.ordinal = ordinal};
    version->first_id = 0;
    version->buffer = NULL;
    version->change = NULL;
    version->since = NULL;
    version->previous_full = 0;
    version->touched = (fr_touched){0};
    version->weighed = false;
    version->element_bytes = 0;
    version->history_bytes = 0;
    version->until = 0;
    version->froms = NULL;
    fr_pin_init(&version->pin);
    return version;
}

uint64_t fr_version_history_bytes(const fr_version *version)
{
    uint64_t bytes = sizeof(*version) + version->buffer->capacity_bytes + version->element_bytes;
    if (version->froms)
        bytes += version->froms->capacity_bytes;
    return bytes + (version->since ? fr_change_sealed_bytes(version->since) : 0);
}

void fr_version_put(fr_versions *versions, fr_version *version)
{
    fr_buffer_release(versions->buffers, version->buffer);
    if (version->froms) /* hardly ever */
        fr_buffer_release(versions->buffers, version->froms);
    fr_change_release(version->change);
    fr_change_release(version->since);
    fr_pending_release(version->touched.elements);
    version->touched.elements = NULL;
    version->buffer = NULL;
    version->froms = NULL;
    version->change = NULL;
    version->since = NULL;
    fr_stocked *batch = fr_stock_give(&versions->stock, &version->free);
    if (batch)
        (void)fr_stock_add(&versions->stock, batch, UINT32_MAX);
}

void fr_version_unpin(fr_versions *versions, fr_version *version)
{
    if (fr_pin_drop(&version->pin))
        fr_version_put(versions, version);
}

void fr_version_drop(fr_versions *versions, fr_version *version)
{
    if (fr_pin_kill(&version->pin))
        fr_version_put(versions, version);
}
