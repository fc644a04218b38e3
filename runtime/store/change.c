#include "runtime/store/change.h"

#include <stddef.h>
#include <string.h>

#ifdef FR_SHRINK
#define FR_CHANGE_SLAB_RECORDS 2u
#else
#define FR_CHANGE_SLAB_RECORDS 64u
#endif

typedef struct fr_change_slab {
    FR_ALIGNED_LINE struct fr_change_slab *next;
    fr_change records[FR_CHANGE_SLAB_RECORDS];
} fr_change_slab;

_Static_assert(FR_CHANGE_SLAB_RECORDS % FR_STOCK_BATCH == 0, "a slab is a number of batches");
_Static_assert(sizeof(fr_change) == 2 * (size_t)FR_CACHE_LINE_BYTES, "each costs transfers");

void fr_changes_init(fr_changes *changes, const fr_allocator *allocator)
{
    memset(changes, 0, sizeof(*changes));
    changes->allocator = allocator;
}

static bool fr_change_has_few(const fr_change *change)
{
    return change->previous == change->few_previous;
}

static void fr_change_release_previous(const fr_allocator *allocator, fr_change *change)
{
    if (!fr_change_has_few(change))
        fr_memory_release(allocator, change->previous,
                          change->previous_capacity * sizeof(*change->previous));
}

/* What it holds; the record itself is the slab's. */
static void fr_change_empty(fr_change *change)
{
    const fr_allocator *allocator = change->home->allocator;
    fr_sub_relaxed(&change->home->bytes, change->counted_bytes);
    change->counted_bytes = 0;
    fr_row_set_destroy(&change->rows);
    fr_change_release_previous(allocator, change);
    change->previous = change->few_previous;
    change->previous_capacity = FR_ROW_SET_FEW;
}

void fr_changes_destroy(fr_changes *changes)
{
    for (fr_change *change = changes->kept; change; change = change->next_kept)
        fr_change_empty(change);
    while (changes->slabs) {
        fr_change_slab *slab = changes->slabs;
        changes->slabs = slab->next;
        fr_memory_release(changes->allocator, slab, sizeof(*slab));
    }
}

static size_t fr_change_previous_bytes(const fr_change *change)
{
    return fr_change_has_few(change) ? 0 : change->previous_capacity * sizeof(*change->previous);
}

size_t fr_change_bytes(const fr_change *change)
{
    return sizeof(*change) + fr_row_set_bytes(&change->rows) + fr_change_previous_bytes(change);
}

size_t fr_change_sealed_bytes(const fr_change *change)
{
    return sizeof(*change) + fr_row_set_rows_bytes(&change->rows) +
           fr_change_previous_bytes(change);
}

void fr_change_count(fr_change *change)
{
    size_t bytes = fr_change_bytes(change) - sizeof(*change);
    if (bytes == change->counted_bytes)
        return;
    fr_add_relaxed(&change->home->bytes, bytes - change->counted_bytes);
    change->counted_bytes = bytes;
}

void fr_change_count_more(fr_change *change, size_t more_bytes)
{
    fr_add_relaxed(&change->home->bytes, more_bytes);
    change->counted_bytes += more_bytes;
}

static bool fr_changes_grow(fr_changes *changes)
{
    fr_change_slab *slab =
        fr_memory_allocate_zero(changes->allocator, sizeof(*slab), FR_CACHE_LINE_BYTES);
    if (!slab)
        return false;
    fr_add_relaxed(&changes->bytes, sizeof(*slab));
    fr_mutex_lock(&changes->lock);
    slab->next = changes->slabs;
    changes->slabs = slab;
    fr_mutex_unlock(&changes->lock);
    fr_stocked *batch = NULL;
    for (uint32_t k = FR_CHANGE_SLAB_RECORDS; k-- > 0;) {
        fr_change *change = &slab->records[k];
        fr_row_set_init(&change->rows, changes->allocator, 0);
        change->previous = change->few_previous;
        change->previous_capacity = FR_ROW_SET_FEW;
        change->home = changes;
        change->free.next = batch;
        batch = &change->free;
        if (k % FR_STOCK_BATCH != 0)
            continue;
        (void)fr_stock_add(&changes->stock, batch, UINT32_MAX);
        batch = NULL;
    }
    return true;
}

/* One with memory, or NULL. */
static fr_change *fr_changes_take_kept(fr_changes *changes)
{
    fr_mutex_lock(&changes->lock);
    fr_change *change = changes->kept;
    if (change) {
        changes->kept = change->next_kept;
        changes->kept_count--;
        changes->kept_bytes -= change->counted_bytes;
    }
    fr_mutex_unlock(&changes->lock);
    return change;
}

/* One of those that have none; NULL without memory. */
static fr_change *fr_changes_take(fr_changes *changes)
{
    fr_stocked *record;
    do
        record = fr_stock_take(&changes->stock);
    while (!record && fr_changes_grow(changes));
    return record ? (fr_change *)(void *)((unsigned char *)record - offsetof(fr_change, free))
                  : NULL;
}

fr_change *fr_change_create(fr_changes *changes, uint32_t universe, uint32_t rows)
{
    fr_change *change = rows > FR_ROW_SET_FEW ? fr_changes_take_kept(changes) : NULL;
    if (!change)
        change = fr_changes_take(changes);
    if (!change)
        return NULL;
    fr_row_set_clear(&change->rows, universe);
    change->fingerprint = 0;
    fr_store_relaxed(&change->references, 1);
    fr_change_count(change);
    return change;
}

bool fr_change_room(fr_change *change, size_t places)
{
    if (places <= change->previous_capacity)
        return true;
    const fr_allocator *allocator = change->home->allocator;
    /* Twice as many, since rows may come one by one. */
    size_t doubled = 2 * change->previous_capacity;
    places = places > doubled ? places : doubled;
    uint64_t *previous = fr_memory_allocate(allocator, places * sizeof(*previous), 16);
    if (!previous)
        return false;
    memcpy(previous, change->previous, change->previous_capacity * sizeof(*previous));
    fr_change_release_previous(allocator, change);
    change->previous = previous;
    change->previous_capacity = places;
    return true;
}

bool fr_change_reserve(fr_change *change, uint32_t rows)
{
    bool dense;
    uint32_t *old_rows, old_count;
    if (!fr_row_set_reserve(&change->rows, rows, &dense, &old_rows, &old_count))
        return false;
    fr_row_set_release_old(&change->rows, old_rows); /* a kept one has memory of a list */
    bool enough = fr_change_room(change, dense ? change->rows.universe : rows);
    fr_change_count(change);
    return enough;
}

void fr_change_retain(fr_change *change)
{
    (void)fr_add_relaxed(&change->references, 1);
}

/* With its memory. False: there is enough of that. */
static bool fr_changes_keep(fr_changes *changes, fr_change *change)
{
    fr_mutex_lock(&changes->lock);
    bool keeps = changes->kept_count < FR_CHANGES_KEPT &&
                 changes->kept_bytes + change->counted_bytes <= FR_CHANGES_KEPT_BYTES;
    if (keeps) {
        changes->kept_bytes += change->counted_bytes;
        change->next_kept = changes->kept;
        changes->kept = change;
        changes->kept_count++;
    }
    fr_mutex_unlock(&changes->lock);
    return keeps;
}

void fr_change_release(fr_change *change)
{
    if (!change)
        return;
    /* [change.drop] pairs [change.drop] : whoever drops the last reference sees all uses of the
     * others done */
    if (fr_sub_acq_rel(&change->references, 1) != 1)
        return;
    fr_changes *home = change->home;
    fr_row_set_clear(&change->rows, 0); /* a bitmap is of one size */
    fr_change_count(change);
    if (change->counted_bytes > 0) {
        if (fr_changes_keep(home, change))
            return;
        fr_change_empty(change);
    }
    fr_stocked *batch = fr_stock_give(&home->stock, &change->free);
    if (batch)
        (void)fr_stock_add(&home->stock, batch, UINT32_MAX);
}
