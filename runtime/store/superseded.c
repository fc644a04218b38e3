#include "runtime/store/superseded.h"

#include <string.h>

static bool fr_superseded_list_has(const fr_row_set *set, uint32_t row)
{
    bool has = false;
    for (uint32_t k = 0; k < set->count && !has; k++)
        has = set->rows[k] == row;
    return has;
}

static bool fr_superseded_by_list(const fr_row_set *by, const fr_row_set *rows)
{
    if (by->count == rows->count && by->rows[0] == rows->rows[0] &&
        memcmp(by->rows, rows->rows, rows->count * sizeof(*rows->rows)) == 0)
        return true;
    bool all = by->count <= FR_HISTORY_FEW;
    for (uint32_t k = 0; k < rows->count && all; k++)
        all = fr_superseded_list_has(by, rows->rows[k]);
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
static bool fr_superseded_by(const fr_change *by, const fr_change *change)
{
    if (!by || !change)
        return !by;
    if (by->rows.count < change->rows.count)
        return false;
    if (fr_row_set_is_bitmap(&by->rows))
        return fr_superseded_by_bitmap(&by->rows, &change->rows);
    return !fr_row_set_is_bitmap(&change->rows) && fr_superseded_by_list(&by->rows, &change->rows);
}

bool fr_superseded(fr_segment *segment, const fr_version *state, uint32_t versions, uint64_t *steps)
{
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
        ++*steps;
        looked->entries++;
        looked->looked = entry->ordinal;
        looked->found += fr_superseded_by(entry->since, next->since);
    }
#ifdef FR_MUTATE_SUPERSEDED_BY_ANY
    return versions > 0 ? looked->entries > 0 : true;
#endif
    return looked->found >= versions;
}
