/* The segment that keys move into: rows, states, and what is logged of them. All of it is read
 * where it lies, without locks: seals alone change what is sealed. */
#include <string.h>

#include "runtime/store/change_log.h"
#include "runtime/store/rehome.h"
#include "runtime/store/store_state.h"

/* --- what is known of one part ---------------------------------------------------------------- */

/* One of its ordinals: as it is logged or, where that is gone, by its state. */
typedef struct fr_rehome_record {
    uint64_t ordinal, previous_full, began;
    const fr_change *change; /* NULL: all rows */
    bool is_logged;
} fr_rehome_record;

/* The next newer state: not the open entry above the newest, which may just come. */
static const fr_version *fr_rehome_newer(const fr_segment *segment, const fr_version *version)
{
    return version == segment->sealed ? NULL : version->newer;
}

/* Ascending. Returns how many; more than there is room for: too many. */
static uint32_t fr_rehome_records(const fr_rehome *rehome, const fr_segment *segment,
                                  fr_rehome_record records[FR_REHOME_ORDINALS])
{
    const fr_logged *logged = segment->log_oldest;
    const fr_version *version = segment->oldest;
    uint32_t count = 0;
    while ((logged || version) && count < FR_REHOME_ORDINALS) {
        if (logged && (!version || version->ordinal >= logged->place.ordinal)) {
            records[count++] = (fr_rehome_record){logged->place.ordinal, logged->previous_full,
                                                  logged->began, logged->change, true};
            if (version && version->ordinal == logged->place.ordinal)
                version = fr_rehome_newer(segment, version);
            logged = logged->newer;
            continue;
        }
        /* What was written below the lowest state is told by what was written since. */
        if (version->ordinal >= rehome->lowest)
            records[count++] = (fr_rehome_record){version->ordinal, version->previous_full,
                                                  version->first_id, version->since, false};
        version = fr_rehome_newer(segment, version);
    }
    return logged || version ? FR_REHOME_ORDINALS + 1 : count;
}

/* Readers may just be making an index of it: the list alone is as it was. */
static uint32_t fr_rehome_place(const fr_row_set *set, uint32_t row)
{
    if (fr_row_set_is_bitmap(set))
        return fr_row_set_place(set, row);
    uint32_t place = 0;
    while (place < set->count && set->rows[place] != row)
        place++;
    return place < set->count ? place : FR_ROW_SET_NONE;
}

static bool fr_rehome_wrote(const fr_rehome_record *record, uint32_t row, uint32_t *place)
{
    *place = record->change ? fr_rehome_place(&record->change->rows, row) : 0;
    return *place != FR_ROW_SET_NONE;
}

/* Runs over the ordinals that wrote the row, from the newest down: body(record, previous), the
 * latter when it was written before, together with others or alone. */
typedef void fr_rehome_visit(fr_rehome *rehome, uint32_t row, const fr_rehome_record *record,
                             uint64_t previous);

static void fr_rehome_each(fr_rehome *rehome, const fr_rehome_part *part,
                           const fr_rehome_record *records, uint32_t count, fr_rehome_visit *visit)
{
    const fr_segment *segment = part->segment;
    for (uint32_t row = 0; row < segment->row_count; row++) {
        uint64_t alone = part->row_ordinals ? part->row_ordinals[row] : 0;
        uint64_t created = fr_segment_creation(segment, row).ordinal;
#ifdef FR_MUTATE_REHOME_WRITES_BEFORE_CREATION
        created = 0;
#endif
        /* What wrote all rows below that had room for this one, and no value. */
        for (uint32_t k = count; k-- > 0 && records[k].ordinal >= created;) {
            uint32_t place;
            if (!fr_rehome_wrote(&records[k], row, &place))
                continue;
            if (records[k].change)
                alone = records[k].change->previous[place];
            uint64_t full = records[k].previous_full, previous = full > alone ? full : alone;
            visit(rehome, part->first + row, &records[k], previous < created ? 0 : previous);
        }
    }
}

/* --- all ordinals ----------------------------------------------------------------------------- */

static fr_rehome_ordinal *fr_rehome_find(const fr_rehome *rehome, uint64_t ordinal)
{
    uint32_t low = 0, high = rehome->ordinal_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (rehome->ordinals[middle].ordinal < ordinal)
            low = middle + 1;
        else
            high = middle;
    }
    return &rehome->ordinals[low];
}

/* False: there are too many. */
static bool fr_rehome_enter_ordinal(fr_rehome *rehome, fr_segment *segment,
                                    const fr_rehome_record *record)
{
    fr_rehome_ordinal *at = fr_rehome_find(rehome, record->ordinal);
    fr_rehome_ordinal *end = rehome->ordinals + rehome->ordinal_count;
    if (at == end || at->ordinal != record->ordinal) {
        if (rehome->ordinal_count == FR_REHOME_ORDINALS)
            return false;
        memmove(at + 1, at, (size_t)(end - at) * sizeof(*at));
        *at = (fr_rehome_ordinal){.ordinal = record->ordinal};
        rehome->ordinal_count++;
    }
    if (record->is_logged && !at->owner)
        at->owner = segment;
    if (record->began > at->began)
        at->began = record->began;
    return true;
}

static void fr_rehome_count_row(fr_rehome *rehome, uint32_t row, const fr_rehome_record *record,
                                uint64_t previous)
{
    fr_rehome_ordinal *at = fr_rehome_find(rehome, record->ordinal);
    (void)row;
    if (at->rows++ == 0)
        at->previous = previous;
    else if (at->previous != previous)
        rehome->is_uniform = false;
}

static void fr_rehome_add_row(fr_rehome *rehome, uint32_t row, const fr_rehome_record *record,
                              uint64_t previous)
{
    fr_change *change = fr_rehome_find(rehome, record->ordinal)->change;
    bool added;
    uint32_t place = fr_row_set_add(&change->rows, row, &added);
    change->previous[place] = previous;
    change->fingerprint += fr_row_set_fingerprint(row);
}

static bool fr_rehome_survey(fr_rehome *rehome)
{
    fr_rehome_record records[FR_REHOME_ORDINALS];
    for (uint32_t p = 0; p < rehome->count; p++) {
        uint32_t count = fr_rehome_records(rehome, rehome->parts[p].segment, records);
        bool enough = count <= FR_REHOME_ORDINALS;
        for (uint32_t k = 0; k < count && enough; k++)
            enough = fr_rehome_enter_ordinal(rehome, rehome->parts[p].segment, &records[k]);
        if (!enough)
            return false;
    }
    rehome->is_uniform = true;
    for (uint32_t p = 0; p < rehome->count; p++) {
        uint32_t count = fr_rehome_records(rehome, rehome->parts[p].segment, records);
        fr_rehome_each(rehome, &rehome->parts[p], records, count, fr_rehome_count_row);
    }
    for (uint32_t k = 0; k < rehome->ordinal_count; k++)
        if (rehome->ordinals[k].rows < rehome->row_count)
            rehome->is_uniform = false;
#ifdef FR_MUTATE_REHOME_TELLS_ALL_ROWS
    rehome->is_uniform = true;
#endif
    return true;
}

/* The rows of each ordinal, where not all wrote all rows. */
static bool fr_rehome_changes(fr_rehome *rehome)
{
    fr_store *store = rehome->store;
    for (uint32_t k = 0; k < rehome->ordinal_count && !rehome->is_uniform; k++) {
        fr_rehome_ordinal *at = &rehome->ordinals[k];
        at->change = fr_change_create(&store->versions.changes, rehome->row_count, at->rows);
        if (!at->change || !fr_change_reserve(at->change, at->rows))
            return false;
    }
    fr_rehome_record records[FR_REHOME_ORDINALS];
    for (uint32_t p = 0; p < rehome->count && !rehome->is_uniform; p++) {
        uint32_t count = fr_rehome_records(rehome, rehome->parts[p].segment, records);
        fr_rehome_each(rehome, &rehome->parts[p], records, count, fr_rehome_add_row);
    }
    return true;
}

/* --- states ----------------------------------------------------------------------------------- */

static void fr_rehome_lay_over(const fr_version *version, uint32_t row_bytes, unsigned char *rows)
{
    const fr_row_set *set = &version->change->rows;
    bool is_list = !fr_row_set_is_bitmap(set);
    uint32_t count = is_list ? set->count : set->universe;
    for (uint32_t k = 0; k < count; k++) {
        if (!is_list && fr_row_set_place(set, k) == FR_ROW_SET_NONE)
            continue;
        size_t row = is_list ? set->rows[k] : k;
        memcpy(rows + row * row_bytes, version->buffer->data + (size_t)k * row_bytes, row_bytes);
    }
}

/* The segment's rows as they were at the ordinal, at or above its oldest state. */
static void fr_rehome_copy_state(const fr_segment *segment, uint64_t ordinal, unsigned char *rows)
{
    uint32_t row_bytes = segment->column->row_bytes;
    const fr_version *state = segment->sealed;
    while (state->ordinal > ordinal)
        state = state->older;
    const fr_version *full = state;
    /* A loop each way: one that chooses the link may look at both, and the newest state's other one
     * is changed by who writes. */
    if (state->kind == FR_VERSION_UNDO)
        while (full->kind != FR_VERSION_FULL)
            full = full->newer;
    else
        while (full->kind != FR_VERSION_FULL)
            full = full->older;
    memcpy(rows, full->buffer->data, (size_t)segment->row_count * row_bytes);
    if (state->kind == FR_VERSION_UNDO)
        for (const fr_version *version = full; version != state;) {
            version = version->older;
            fr_rehome_lay_over(version, row_bytes, rows);
        }
    else
        for (const fr_version *version = full; version != state;) {
            version = version->newer;
            fr_rehome_lay_over(version, row_bytes, rows);
        }
}

/* As the newest of the new segment's. False without memory. */
static bool fr_rehome_make_state(fr_rehome *rehome, uint64_t ordinal)
{
    fr_store *store = rehome->store;
    fr_segment *segment = rehome->segment;
    const fr_rehome_ordinal *at = fr_rehome_find(rehome, ordinal);
    fr_version *version = fr_version_get(&store->versions, segment, ordinal, FR_VERSION_FULL);
    if (!version)
        return false;
    fr_segment_link(segment, version); /* nobody sees it */
    version->buffer = fr_column_buffer(rehome->column, store->buffers, segment->row_count);
    if (!version->buffer)
        return false;
    for (uint32_t p = 0; p < rehome->count; p++)
        fr_rehome_copy_state(rehome->parts[p].segment, ordinal,
                             version->buffer->data +
                                 (size_t)rehome->parts[p].first * rehome->column->row_bytes);
    version->first_id = at->began;
    version->since = at->change;
    if (version->since)
        fr_change_retain(version->since);
    else
        version->previous_full = at->previous;
    return true;
}

static bool fr_rehome_states(fr_rehome *rehome)
{
    fr_segment *segment = rehome->segment;
    bool enough = true;
    for (uint32_t k = 0; k < rehome->state_count && enough; k++)
        enough = fr_rehome_make_state(rehome, rehome->states[k]);
    if (!enough)
        return false;
    segment->accounted = segment->newest->ordinal;
    while (fr_segment_close(segment, segment->accounted)) {
    }
    fr_segment_refresh(segment);
    return true;
}

/* --- when rows were written ------------------------------------------------------------------- */

static bool fr_rehome_row_ordinals(fr_rehome *rehome)
{
    fr_segment *segment = rehome->segment;
    if (rehome->is_uniform) {
        segment->full_ordinal = segment->accounted;
        return true;
    }
    if (!fr_segment_row_ordinals(rehome->store->buffers, segment))
        return false;
    for (uint32_t p = 0; p < rehome->count; p++) {
        const fr_rehome_part *part = &rehome->parts[p];
        for (uint32_t row = 0; row < part->segment->row_count; row++) {
            uint64_t full = part->segment->full_ordinal, alone = 0;
            if (part->row_ordinals)
                alone = part->row_ordinals[row];
            segment->row_ordinals[part->first + row] = full > alone ? full : alone;
        }
    }
    return true;
}

static bool fr_rehome_log(fr_rehome *rehome)
{
    fr_store *store = rehome->store;
    if (!fr_change_log_reserve(store, rehome->ordinal_count))
        return false;
    for (uint32_t k = 0; k < rehome->ordinal_count; k++) {
        const fr_rehome_ordinal *at = &rehome->ordinals[k];
        if (at->owner)
            fr_change_log_enter(store, rehome->segment, at);
    }
    return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool fr_rehome_is_one_creation(const fr_rehome *rehome)
{
    fr_creation first = fr_segment_creation(rehome->parts[0].segment, 0);
    bool one = true;
    for (uint32_t p = 0; p < rehome->count && one; p++) {
        const fr_segment *segment = rehome->parts[p].segment;
        one = !segment->creations && segment->created.ordinal == first.ordinal &&
              segment->created.id == first.id;
    }
    return one;
}

static bool fr_rehome_rows(fr_rehome *rehome)
{
    const fr_allocator *allocator = rehome->store->allocator;
    uint32_t total = rehome->row_count;
    bool one = fr_rehome_is_one_creation(rehome);
    fr_segment *segment = rehome->segment;
    uint32_t *prims = fr_memory_allocate(allocator, total * sizeof(*prims), 16);
    fr_creation *creations = NULL;
    if (!one)
        creations = fr_memory_allocate(allocator, total * sizeof(*creations), 16);
    if (!prims || (!one && !creations)) {
        fr_memory_release(allocator, prims, total * sizeof(*prims));
        fr_memory_release(allocator, creations, total * sizeof(*creations));
        return false;
    }
    for (uint32_t p = 0; p < rehome->count; p++) {
        const fr_rehome_part *part = &rehome->parts[p];
        const fr_segment *from = part->segment;
        memcpy(prims + part->first, from->prims, from->row_count * sizeof(*prims));
        for (uint32_t row = 0; creations && row < from->row_count; row++)
            creations[part->first + row] = fr_segment_creation(from, row);
        segment->dead_count += from->dead_count;
        if (from->log_merged > segment->log_merged)
            segment->log_merged = from->log_merged;
        if (fr_load_relaxed(&from->log_last) > fr_load_relaxed(&segment->log_last))
            fr_store_relaxed(&segment->log_last, fr_load_relaxed(&from->log_last));
    }
    fr_segment_set_rows(segment, prims, creations, total, total,
                        fr_segment_creation(rehome->parts[0].segment, 0));
    return true;
}

bool fr_rehome_make(fr_rehome *rehome)
{
    const fr_allocator *allocator = rehome->store->allocator;
    size_t ordinals_bytes = FR_REHOME_ORDINALS * sizeof(*rehome->ordinals);
    rehome->ordinals = fr_memory_allocate(allocator, ordinals_bytes, 16);
    if (!rehome->ordinals || !fr_rehome_survey(rehome) || !fr_rehome_changes(rehome))
        return false;
    rehome->segment = fr_segment_create(allocator, rehome->column);
    return rehome->segment && fr_rehome_rows(rehome) && fr_rehome_states(rehome) &&
           fr_rehome_row_ordinals(rehome) && fr_rehome_log(rehome);
}

void fr_rehome_release(fr_rehome *rehome, bool made)
{
    fr_store *store = rehome->store;
    if (!made && rehome->segment) {
        fr_change_log_leave(store, rehome->segment);
        fr_segment_destroy(store->allocator, &store->versions, rehome->segment);
    }
    for (uint32_t k = 0; k < rehome->ordinal_count; k++)
        fr_change_release(rehome->ordinals[k].change);
    fr_memory_release(store->allocator, rehome->ordinals,
                      rehome->ordinals ? FR_REHOME_ORDINALS * sizeof(*rehome->ordinals) : 0);
}
