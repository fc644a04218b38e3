#include "runtime/store/kept.h"

#include <string.h>

#include "runtime/store/store_state.h"

#define FR_KEPT_FIRST 8u
/* Rows, or marks, that are looked at in one go. */
#define FR_KEPT_LOOKS 64u

static bool fr_kept_add(fr_store *store, fr_kept *kept, const fr_column *column, uint32_t prim)
{
    if (kept->count == kept->capacity) {
        uint32_t capacity = kept->capacity ? 2 * kept->capacity : FR_KEPT_FIRST;
        fr_kept_key *keys = fr_memory_allocate(store->allocator, capacity * sizeof(*keys), 16);
        if (!keys)
            return false;
        if (kept->count > 0)
            memcpy(keys, kept->keys, kept->count * sizeof(*keys));
        fr_memory_release(store->allocator, kept->keys, kept->capacity * sizeof(*keys));
        kept->keys = keys;
        kept->capacity = capacity;
    }
    kept->keys[kept->count++] = (fr_kept_key){column, prim};
    return true;
}

static void fr_kept_free(fr_store *store, fr_kept *kept)
{
    fr_memory_release(store->allocator, kept->keys, kept->capacity * sizeof(*kept->keys));
    *kept = (fr_kept){0};
}

/* Of these prims, whose keys are all written: those that are deleted. */
static bool fr_kept_look(fr_store *store, fr_kept *kept, const fr_column *column, uint64_t ordinal,
                         uint32_t *prims, uint32_t count)
{
    fr_mark_owner owner = {column->attribute->index, column->number};
    bool enough = true;
    count = fr_marks_deleted(store->marks, ordinal, owner, prims, count);
    for (uint32_t k = 0; enough && k < count; k++)
        enough = fr_kept_add(store, kept, column, prims[k]);
    return enough;
}

/* fr_marks_named, of the elements of a write. */
static uint32_t fr_kept_named(const fr_marks *marks, const fr_query *query,
                              const fr_row_source *rows, const uint32_t *elements, uint32_t *first,
                              uint32_t count, uint32_t *out)
{
    if (!rows->positions)
        return fr_marks_named(marks, query->prims, elements, first, count, out, FR_KEPT_LOOKS);
    uint32_t at[FR_KEPT_LOOKS], some = count - *first, from = 0;
    some = some < FR_KEPT_LOOKS ? some : FR_KEPT_LOOKS;
    for (uint32_t k = 0; k < some; k++)
        at[k] = rows->positions[elements ? elements[*first + k] : *first + k];
    uint32_t named = fr_marks_named(marks, query->prims, at, &from, some, out, FR_KEPT_LOOKS);
    *first += some;
    return named;
}

static bool fr_kept_of_rows(fr_store *store, fr_kept *kept, const fr_target *target,
                            const fr_query *query, const fr_row_source *rows, uint64_t ordinal)
{
    bool all = target->straight || target->bound_rows, enough = true;
    uint32_t some[FR_KEPT_LOOKS];
    for (uint32_t first = 0; enough && first < target->count;) {
        uint32_t count = fr_kept_named(store->marks, query, rows, all ? NULL : target->elements,
                                       &first, target->count, some);
        enough = fr_kept_look(store, kept, target->column, ordinal, some, count);
    }
    return enough;
}

/* All rows of a segment: of the prims that have marks those that lie there. */
static bool fr_kept_of_marks(fr_store *store, fr_kept *kept, const fr_target *target,
                             uint64_t ordinal)
{
    fr_column *column = target->column;
    bool enough = true;
    uint32_t some[FR_KEPT_LOOKS];
    for (uint32_t first = 0, looked; enough; first += looked) {
        looked = fr_marks_prims(store->marks, ordinal, first, some, FR_KEPT_LOOKS);
        if (looked == 0)
            break;
        uint32_t count = 0;
        fr_mutex_lock(&column->lock);
        for (uint32_t k = 0; k < looked; k++) {
            fr_place place;
            if (fr_locator_get(&column->locator, some[k], &place) &&
                column->segments[place.segment] == target->segment)
                some[count++] = some[k];
        }
        fr_mutex_unlock(&column->lock);
        enough = fr_kept_look(store, kept, column, ordinal, some, count);
    }
    return enough;
}

bool fr_kept_find(fr_store *store, fr_kept *kept, const fr_target *targets, uint32_t target_count,
                  const fr_query *query, const fr_row_source *rows, uint64_t ordinal)
{
    *kept = (fr_kept){0};
    uint32_t marks = fr_marks_count(store->marks, ordinal);
    bool enough = true;
    for (uint32_t k = 0; marks > 0 && enough && k < target_count; k++) {
        const fr_target *target = &targets[k];
        if (target->segment && target->straight && marks < target->count)
            enough = fr_kept_of_marks(store, kept, target, ordinal);
        else
            enough = fr_kept_of_rows(store, kept, target, query, rows, ordinal);
    }
    if (kept->count > 0 && enough)
        enough = fr_marks_reserve(store->marks, ordinal, kept->count);
    if (!enough)
        fr_kept_free(store, kept);
    return enough;
}

void fr_kept_enter(fr_store *store, fr_kept *kept, uint64_t ordinal, uint64_t op_id)
{
    if (!kept->keys)
        return;
    for (uint32_t first = 0, end; first < kept->count; first = end) {
        const fr_column *column = kept->keys[first].column;
        fr_mark_owner owner = {column->attribute->index, column->number};
        uint32_t some[FR_KEPT_LOOKS];
        for (end = first;
             end < kept->count && end - first < FR_KEPT_LOOKS && kept->keys[end].column == column;
             end++)
            some[end - first] = kept->keys[end].prim;
#ifndef FR_MUTATE_KEPT_NEVER_ENTERED
        fr_marks_keep(store->marks, ordinal, owner, some, end - first, op_id);
#endif
    }
    fr_kept_drop(store, kept, ordinal);
}

void fr_kept_drop(fr_store *store, fr_kept *kept, uint64_t ordinal)
{
    if (!kept->keys)
        return;
    fr_marks_end(store->marks, ordinal, kept->count);
    fr_kept_free(store, kept);
}
