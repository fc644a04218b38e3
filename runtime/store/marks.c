#include "runtime/store/marks.h"

#include "runtime/store/mark_record.h"
#include "runtime/store/paged.h"
#include "scheduler/os.h"

/* Marks that are entered or looked at before the lock is given to somebody else. */
#ifdef FR_SHRINK
#define FR_MARKS_A_LOCK 3u
#else
#define FR_MARKS_A_LOCK 256u
#endif

struct fr_marks {
    const fr_allocator *allocator;
    fr_late *late;
    fr_mutex lock;
    fr_ordinal_tree tree;
    fr_mark_record *lowest, *highest; /* list */
    _Atomic uint64_t count;           /* of records, changed under the lock */
    _Atomic uint64_t bytes;
    fr_paged ever; /* a byte a prim; set once, by who reserved the page */
};

fr_marks *fr_marks_create(const fr_allocator *allocator, fr_late *late)
{
    fr_marks *marks = fr_memory_allocate_zero(allocator, sizeof(*marks), 64);
    if (!marks)
        return NULL;
    marks->allocator = allocator;
    marks->late = late;
    fr_paged_init(&marks->ever, allocator, sizeof(_Atomic uint8_t));
    return marks;
}

bool fr_marks_none(const fr_marks *marks)
{
    /* [marks.none.read] pairs [marks.none.write] : without marks their tombstones are there */
    return fr_load_acquire(&marks->count) == 0;
}

uint64_t fr_marks_bytes(const fr_marks *marks)
{
    return fr_load_relaxed(&marks->bytes);
}

uint64_t fr_marks_table_bytes(const fr_marks *marks)
{
    return sizeof(*marks) + fr_paged_bytes(&marks->ever);
}

bool fr_marks_ever(const fr_marks *marks, uint32_t prim)
{
    const _Atomic uint8_t *ever = fr_paged_find(&marks->ever, prim);
    return ever && fr_load_relaxed(ever) != 0;
}

/* Mostly nothing near a prim was ever deleted: from element k on, the first whose prim is in
 * another page than that of k. */
static uint32_t fr_marks_skip(const uint64_t *prims, const uint32_t *elements, uint32_t k,
                              uint32_t count)
{
    uint64_t page = prims[elements ? elements[k] : k] >> FR_PAGED_LEAF_BITS;
    if (elements)
        while (k < count && prims[elements[k]] >> FR_PAGED_LEAF_BITS == page)
            k++;
    else
        while (k < count && prims[k] >> FR_PAGED_LEAF_BITS == page)
            k++;
    return k;
}

uint32_t fr_marks_named(const fr_marks *marks, const uint64_t *prims, const uint32_t *elements,
                        uint32_t *first, uint32_t count, uint32_t *out, uint32_t room)
{
    uint32_t found = 0, k = *first;
    while (k < count && found < room) {
        uint32_t prim = (uint32_t)prims[elements ? elements[k] : k];
        const _Atomic uint8_t *ever = fr_paged_find(&marks->ever, prim);
        if (!ever) {
            k = fr_marks_skip(prims, elements, k, count);
            continue;
        }
        k++;
        if (fr_load_relaxed(ever) != 0)
            out[found++] = prim;
    }
    *first = k;
    return found;
}

static void fr_marks_record_free(fr_marks *marks, fr_mark_record *record)
{
    fr_sub_relaxed(&marks->bytes, fr_mark_record_bytes(record));
    fr_mark_record_free(marks->allocator, record);
}

void fr_marks_destroy(fr_marks *marks)
{
    while (marks->lowest) {
        fr_mark_record *record = marks->lowest;
        marks->lowest = record->higher;
        fr_marks_record_free(marks, record);
    }
    fr_paged_destroy(&marks->ever);
    fr_memory_release(marks->allocator, marks, sizeof(*marks));
}

/* --- with the lock held ----------------------------------------------------------------------- */

static fr_mark_record *fr_marks_at(const fr_marks *marks, uint64_t ordinal)
{
    fr_mark_record *record = (fr_mark_record *)(void *)fr_ordinal_tree_at(&marks->tree, ordinal);
    return record && record->node.ordinal == ordinal ? record : NULL;
}

static void fr_marks_unlink(fr_marks *marks, fr_mark_record *record)
{
    fr_ordinal_tree_remove(&marks->tree, &record->node);
    *(record->lower ? &record->lower->higher : &marks->lowest) = record->higher;
    *(record->higher ? &record->higher->lower : &marks->highest) = record->lower;
    /* [marks.none.write] pairs [marks.none.read] : see there */
    fr_sub_release(&marks->count, 1);
}

static void fr_marks_link(fr_marks *marks, fr_mark_record *record)
{
    fr_mark_record *lower =
        (fr_mark_record *)(void *)fr_ordinal_tree_at(&marks->tree, record->node.ordinal);
    (void)fr_ordinal_tree_insert(&marks->tree, &record->node);
    record->lower = lower;
    record->higher = lower ? lower->higher : marks->lowest;
    *(lower ? &lower->higher : &marks->lowest) = record;
    *(record->higher ? &record->higher->lower : &marks->highest) = record;
    fr_add_relaxed(&marks->count, 1);
}

/* --- memory, without the lock ----------------------------------------------------------------- */

/* The ordinal's, with one reservation more, so that it stays: seals take away what is settled. */
static fr_mark_record *fr_marks_hold(fr_marks *marks, uint64_t ordinal)
{
    fr_mutex_lock(&marks->lock);
    fr_mark_record *record = fr_marks_at(marks, ordinal);
#ifndef FR_MUTATE_MARKS_NO_RESERVATION
    if (record)
        record->reservations++;
#endif
    fr_mutex_unlock(&marks->lock);
    return record;
}

static bool fr_marks_room(fr_marks *marks, uint64_t ordinal, uint64_t events, uint32_t names)
{
    fr_mark_record *record = fr_marks_hold(marks, ordinal), *made = NULL;
    if (!record) {
        made = record = fr_memory_allocate_zero(marks->allocator, sizeof(*record), 16);
        if (!record)
            return false;
        made->node.ordinal = ordinal;
        made->reservations = 1;
    }
    fr_mark_room room = {0};
    bool enough = fr_mark_room_take(marks->allocator, record, events, names, &room);
    if (enough) {
        fr_mutex_lock(&marks->lock);
        size_t before = made ? 0 : fr_mark_record_bytes(record);
        fr_mark_room_use(record, &room);
        record->promised += events;
        if (made)
            fr_marks_link(marks, made);
        fr_add_relaxed(&marks->bytes, fr_mark_record_bytes(record) - before);
        fr_mutex_unlock(&marks->lock);
    }
    fr_mark_room_release(marks->allocator, &room);
    if (!enough && made)
        fr_mark_record_free(marks->allocator, made);
    else if (!enough)
        fr_marks_end(marks, ordinal, 0);
    return enough;
}

bool fr_marks_reserve(fr_marks *marks, uint64_t ordinal, uint32_t events)
{
    return fr_marks_room(marks, ordinal, events, 0);
}

bool fr_marks_reserve_delete(fr_marks *marks, uint64_t ordinal, uint32_t attributes,
                             const uint32_t *prims, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (!fr_paged_reserve(&marks->ever, prims[k]))
            return false;
    return fr_marks_room(marks, ordinal, (uint64_t)count * (attributes ? attributes : 1),
                         attributes);
}

/* --- the lane --------------------------------------------------------------------------------- */

uint32_t fr_marks_count(fr_marks *marks, uint64_t ordinal)
{
    if (fr_marks_none(marks))
        return 0;
    fr_mutex_lock(&marks->lock);
    const fr_mark_record *record = fr_marks_at(marks, ordinal);
    uint32_t count = record ? record->event_count : 0;
    fr_mutex_unlock(&marks->lock);
    return count;
}

uint32_t fr_marks_prims(fr_marks *marks, uint64_t ordinal, uint32_t first, uint32_t *out,
                        uint32_t room)
{
    uint32_t count = 0;
    fr_mutex_lock(&marks->lock);
    const fr_mark_record *record = fr_marks_at(marks, ordinal);
    for (uint32_t k = first; record && k < record->event_count && count < room; k++)
        out[count++] = record->events[k].prim;
    fr_mutex_unlock(&marks->lock);
    return count;
}

uint32_t fr_marks_deleted(fr_marks *marks, uint64_t ordinal, fr_mark_owner owner, uint32_t *prims,
                          uint32_t count)
{
    uint32_t deleted = 0;
    if (count == 0)
        return 0;
    fr_mutex_lock(&marks->lock);
    const fr_mark_record *record = fr_marks_at(marks, ordinal);
    for (uint32_t k = 0; record && k < count; k++) {
        const fr_mark_event *event = fr_mark_deciding(record, owner, prims[k], UINT64_MAX);
        if (event && event->kind == FR_MARK_DELETED)
            prims[deleted++] = prims[k];
    }
    fr_mutex_unlock(&marks->lock);
    return deleted;
}

void fr_marks_delete(fr_marks *marks, uint64_t ordinal, uint32_t attribute, const uint32_t *prims,
                     uint32_t count, uint64_t op_id)
{
    for (uint32_t k = 0; k < count; k++)
        fr_store_relaxed((_Atomic uint8_t *)fr_paged_find(&marks->ever, prims[k]), 1);
    for (uint32_t first = 0; first < count; first += FR_MARKS_A_LOCK) {
        fr_mutex_lock(&marks->lock);
        fr_mark_record *record = fr_marks_at(marks, ordinal);
        for (uint32_t k = first; k < count && k - first < FR_MARKS_A_LOCK; k++)
            fr_mark_enter(record, attribute, prims[k], op_id, FR_MARK_DELETED);
        fr_mutex_unlock(&marks->lock);
    }
}

void fr_marks_keep(fr_marks *marks, uint64_t ordinal, fr_mark_owner owner, const uint32_t *prims,
                   uint32_t count, uint64_t op_id)
{
    fr_mutex_lock(&marks->lock);
    fr_mark_record *record = fr_marks_at(marks, ordinal);
    for (uint32_t k = 0; k < count; k++)
        fr_mark_enter(record, FR_MARK_LIMIT + owner.column, prims[k], op_id, FR_MARK_KEPT);
    fr_mutex_unlock(&marks->lock);
}

/* --- judgements and reads --------------------------------------------------------------------- */

bool fr_marks_has(fr_marks *marks, uint64_t ordinal)
{
    return fr_marks_count(marks, ordinal) > 0;
}

uint64_t fr_marks_find(fr_marks *marks, fr_mark_owner owner, uint32_t prim, uint64_t low,
                       uint64_t high, uint64_t op_id)
{
    if (fr_marks_none(marks) || !fr_marks_ever(marks, prim))
        return 0;
    uint64_t found = 0;
    fr_mutex_lock(&marks->lock);
    const fr_mark_record *record =
        (const fr_mark_record *)(const void *)fr_ordinal_tree_at(&marks->tree, high);
    for (; record && record->node.ordinal > low && found == 0; record = record->lower) {
        const fr_mark_event *event = fr_mark_deciding(record, owner, prim, op_id);
        if (event && event->kind == FR_MARK_DELETED)
            found = record->node.ordinal;
    }
    fr_mutex_unlock(&marks->lock);
    return found;
}

/* --- seals ------------------------------------------------------------------------------------ */

bool fr_marks_next(fr_marks *marks, uint64_t ordinal, uint64_t last, uint64_t *out)
{
    if (fr_marks_none(marks))
        return false;
    fr_mutex_lock(&marks->lock);
    const fr_mark_record *at =
        (const fr_mark_record *)(const void *)fr_ordinal_tree_at(&marks->tree, ordinal);
    const fr_mark_record *record = at ? at->higher : marks->lowest;
    bool found = record && record->node.ordinal <= last;
    if (found)
        *out = record->node.ordinal;
    fr_mutex_unlock(&marks->lock);
    return found;
}

bool fr_marks_collect(fr_marks *marks, uint64_t ordinal, fr_mark_owner owner, fr_marked **out,
                      uint32_t *out_count, uint32_t *out_capacity)
{
    /* What its lane may be adding is about other attributes. When the last judgement that held a
     * record ends, it may go meanwhile: then it was settled, and has nothing for this seal; nor has
     * one that the lane makes in its place. */
    uint32_t capacity = fr_marks_count(marks, ordinal);
    fr_marked *marked = NULL;
    *out = NULL;
    *out_count = *out_capacity = 0;
    if (capacity == 0)
        return true;
    marked = fr_memory_allocate(marks->allocator, capacity * sizeof(*marked), 16);
    if (!marked)
        return false;
    for (uint32_t first = 0; first < capacity; first += FR_MARKS_A_LOCK) {
        fr_mutex_lock(&marks->lock);
        const fr_mark_record *record = fr_marks_at(marks, ordinal);
        uint32_t end = record && record->event_count < capacity ? record->event_count : capacity;
        if (end > first + FR_MARKS_A_LOCK)
            end = first + FR_MARKS_A_LOCK;
        if (record)
            fr_mark_collect(record, owner, first, end, marked, out_count);
        fr_mutex_unlock(&marks->lock);
    }
    *out = marked;
    *out_capacity = capacity;
    return true;
}

void fr_marked_release(fr_marks *marks, fr_marked *marked, uint32_t capacity)
{
    fr_memory_release(marks->allocator, marked, capacity * sizeof(*marked));
}

/* Whether a record is wanted for nothing any more. Once it is sealed, those that are to be judged
 * and were accepted before need it as it is: what became of it depends on others. */
static bool fr_mark_is_over(const fr_marks *marks, fr_mark_record *record, uint64_t base)
{
    if (record->reservations > 0)
        return false;
    if (record->event_count == 0)
        return true;
    if (!record->is_sealed) {
        record->is_sealed = record->node.ordinal <= base || fr_mark_is_settled(record);
        record->hold = fr_late_hold(marks->late, record->node.ordinal);
    }
#ifdef FR_MUTATE_MARKS_HELD_FOR_NOBODY
    return record->is_sealed;
#else
    return record->is_sealed && !fr_late_is_held(marks->late, record->hold);
#endif
}

/* Takes the lowest records up to `base` and those that are not wanted any more out of the list and
 * the tree; a list through `higher`. Ends at the first that is wanted, so that it looks at no more
 * than it takes: a settled record behind an open one stays until it is the lowest. */
static fr_mark_record *fr_marks_take_locked(fr_marks *marks, uint64_t base)
{
    fr_mark_record *taken = NULL;
    for (fr_mark_record *record = marks->lowest; record; record = marks->lowest) {
        if (!fr_mark_is_over(marks, record, base))
            break;
        fr_marks_unlink(marks, record);
        record->higher = taken;
        taken = record;
    }
    return taken;
}

static void fr_marks_free(fr_marks *marks, fr_mark_record *taken)
{
    while (taken) {
        fr_mark_record *next = taken->higher;
        fr_marks_record_free(marks, taken);
        taken = next;
    }
}

void fr_marks_discard(fr_marks *marks, uint64_t ordinal)
{
    if (fr_marks_none(marks))
        return;
    fr_mutex_lock(&marks->lock);
    fr_mark_record *record = fr_marks_at(marks, ordinal);
    if (record) {
        fr_marks_unlink(marks, record);
        record->higher = NULL;
    }
    fr_mutex_unlock(&marks->lock);
    fr_marks_free(marks, record);
}

bool fr_marks_doubt(fr_marks *marks, uint32_t prim)
{
    if (!fr_paged_reserve(&marks->ever, prim))
        return false;
    fr_store_relaxed((_Atomic uint8_t *)fr_paged_find(&marks->ever, prim), 1);
    return true;
}

void fr_marks_end(fr_marks *marks, uint64_t ordinal, uint64_t events)
{
    fr_mutex_lock(&marks->lock);
    fr_mark_record *record = fr_marks_at(marks, ordinal);
    record->reservations--;
    record->promised -= events;
    bool is_empty = record->reservations == 0 && record->event_count == 0;
    if (is_empty) {
        fr_marks_unlink(marks, record);
        record->higher = NULL;
    }
    fr_mutex_unlock(&marks->lock);
    fr_marks_free(marks, is_empty ? record : NULL);
}

void fr_marks_settle(fr_marks *marks, uint64_t ordinal, uint32_t attribute)
{
    fr_mutex_lock(&marks->lock);
    fr_mark_record *record = fr_marks_at(marks, ordinal);
    fr_mark_named *named = record ? fr_mark_named_find(record, attribute) : NULL;
    if (named)
        named->settled = true;
    fr_mark_record *taken = named ? fr_marks_take_locked(marks, 0) : NULL;
    fr_mutex_unlock(&marks->lock);
    fr_marks_free(marks, taken);
}

void fr_marks_drop(fr_marks *marks, uint64_t base)
{
    if (fr_marks_none(marks))
        return;
    fr_mutex_lock(&marks->lock);
    fr_mark_record *taken = fr_marks_take_locked(marks, base);
    fr_mutex_unlock(&marks->lock);
    fr_marks_free(marks, taken);
}
