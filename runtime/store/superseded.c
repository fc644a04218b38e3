#include "runtime/store/superseded.h"

#include <string.h>

#include "runtime/store/store_state.h"

static bool fr_superseded_list_has(const fr_row_set *set, uint32_t row)
{
    bool has = false;
    for (uint32_t k = 0; k < set->count && !has; k++)
        has = set->rows[k] == row;
    return has;
}

/* Of as many rows. In another order too: a query that is kept is written in ascending order after
 * a while, one that is made anew each time in its own. */
static bool fr_superseded_by_same(fr_store *store, const fr_row_set *by, const fr_row_set *rows)
{
    if (memcmp(by->rows, rows->rows, rows->count * sizeof(*rows->rows)) == 0)
        return true;
#ifdef FR_MUTATE_SUPERSEDED_IN_ORDER_ONLY
    return false;
#endif
    fr_buffer *window = fr_buffer_get(store->buffers, fr_row_set_window_bytes(rows->universe));
    bool same = window && fr_row_set_same_rows(by, rows, (uint64_t *)(void *)window->data);
    fr_buffer_release(store->buffers, window);
    return same;
}

static bool fr_superseded_by_list(fr_store *store, const fr_change *by, const fr_change *change)
{
    const fr_row_set *rows = &change->rows;
    bool as_many = by->rows.count == rows->count;
    if (as_many && by->fingerprint != change->fingerprint)
        return false;
#ifdef FR_MUTATE_SUPERSEDED_BY_FINGERPRINT
    if (as_many)
        return true;
#endif
    if (by->rows.count > FR_HISTORY_FEW)
        return as_many && fr_superseded_by_same(store, &by->rows, rows);
    bool all = true;
    for (uint32_t k = 0; k < rows->count && all; k++)
        all = fr_superseded_list_has(&by->rows, rows->rows[k]);
    return all;
}

static bool fr_superseded_by_bitmap(const fr_row_set *by, const fr_row_set *rows)
{
    bool all = true;
    for (uint32_t word = 0; fr_row_set_is_bitmap(rows) && word < (rows->universe + 63) / 64 && all;
         word++)
        all = (rows->bitmap[word] & ~by->bitmap[word]) == 0;
    for (uint32_t k = 0; !fr_row_set_is_bitmap(rows) && k < rows->count && all; k++)
        all = (by->bitmap[rows->rows[k] / 64] >> rows->rows[k] % 64 & 1) != 0;
    return all;
}

/* NULL: all rows. */
static bool fr_superseded_by(fr_store *store, const fr_segment *segment, const fr_change *by,
                             const fr_change *change)
{
    if (fr_superseded_is_all(segment, by))
        return true;
    if (!change || by->rows.count < change->rows.count)
        return false;
    if (fr_row_set_is_bitmap(&by->rows))
        return fr_superseded_by_bitmap(&by->rows, &change->rows);
    return !fr_row_set_is_bitmap(&change->rows) && fr_superseded_by_list(store, by, change);
}

bool fr_superseded(fr_store *store, fr_segment *segment, const fr_version *state)
{
    uint32_t versions = store->config.history_versions;
    fr_superseding *looked = &segment->superseding;
    const fr_version *next = state->newer;
    uint64_t most = (uint64_t)versions + (fr_superseded_few(state) ? 0 : FR_HISTORY_LISTED);
    if (looked->state != state->ordinal)
        *looked = (fr_superseding){.state = state->ordinal, .looked = next->ordinal};
    for (const fr_version *entry = next;
         entry != segment->sealed && looked->found < versions && looked->entries < most;) {
        entry = entry->newer;
        if (entry->ordinal <= looked->looked)
            continue;
        store->seal_steps++;
        looked->entries++;
        looked->looked = entry->ordinal;
        looked->found += fr_superseded_by(store, segment, entry->since, next->since);
    }
#ifdef FR_MUTATE_SUPERSEDED_BY_ANY
    return versions > 0 ? looked->entries > 0 : true;
#endif
    return looked->found >= versions;
}
