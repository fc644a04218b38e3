#include "runtime/store/archive.h"

#include <string.h>

#include "runtime/store/slices.h"
#include "runtime/store/store_state.h"

#ifdef FR_SHRINK
#define FR_ARCHIVE_FIRST 2u
#else
#define FR_ARCHIVE_FIRST 16u
#endif

/* --- looking ---------------------------------------------------------------------------------- */

static uint32_t fr_archive_first_slot(const fr_archive *archive, uint32_t row)
{
    return row * UINT32_C(2654435769) >> (32 - archive->index_bits);
}

/* Where the index has the row, or would have it. */
static uint32_t *fr_archive_slot(const fr_archive *archive, uint32_t row)
{
    uint32_t mask = (UINT32_C(1) << archive->index_bits) - 1;
    uint32_t slot = fr_archive_first_slot(archive, row);
    while (archive->index[slot] && archive->entries[archive->index[slot] - 1].row != row)
        slot = (slot + 1) & mask;
    return &archive->index[slot];
}

const fr_archived *fr_archive_find(const fr_segment *segment, uint32_t row, uint64_t ordinal,
                                   uint32_t *left)
{
    const fr_archive *archive = segment->archive;
    uint32_t at = archive ? *fr_archive_slot(archive, row) : 0;
    for (; at; at = archive->entries[at - 1].older) {
        const fr_archived *entry = &archive->entries[at - 1];
        fr_look();
        *left -= *left > 0;
#ifdef FR_MUTATE_ARCHIVE_KNOWS_NO_END
        if (entry->from <= ordinal)
            return entry;
#endif
        if (entry->from <= ordinal)
            return entry->until > ordinal ? entry : NULL;
    }
    return NULL;
}

/* --- making ----------------------------------------------------------------------------------- */

void fr_archive_destroy(const fr_allocator *allocator, fr_buffers *buffers, fr_archive *archive)
{
    if (!archive)
        return;
    fr_buffer_release(buffers, archive->records);
    fr_buffer_release(buffers, archive->values);
    fr_memory_release(allocator, archive, sizeof(*archive));
}

/* NULL without memory. */
static fr_archive *fr_archive_make(fr_store *store, const fr_column *column, uint64_t capacity)
{
    uint32_t index_bits = 2;
    while (UINT64_C(1) << index_bits < 2 * capacity)
        index_bits++;
    if (index_bits > 31)
        return NULL;
    size_t slots = (size_t)1 << index_bits;
    fr_archive *archive = fr_memory_allocate_zero(store->allocator, sizeof(*archive), 16);
    if (!archive)
        return NULL;
    size_t entries_bytes = capacity * sizeof(fr_archived);
    archive->capacity = (uint32_t)capacity;
    archive->index_bits = index_bits;
    archive->records = fr_buffer_get(store->buffers, entries_bytes + slots * sizeof(uint32_t));
    archive->values = fr_column_buffer(column, store->buffers, capacity);
    if (!archive->records || !archive->values) {
        fr_archive_destroy(store->allocator, store->buffers, archive);
        return NULL;
    }
    archive->entries = (fr_archived *)(void *)archive->records->data;
    archive->index = (uint32_t *)(void *)(archive->records->data + entries_bytes);
    memset(archive->index, 0, slots * sizeof(uint32_t));
    return archive;
}

static uint64_t fr_archive_bytes(const fr_archive *archive)
{
    return !archive ? 0
                    : archive->records->capacity_bytes + archive->values->capacity_bytes +
                          archive->element_bytes;
}

static void fr_archive_count(fr_segment *segment)
{
    uint64_t bytes = fr_archive_bytes(segment->archive);
    segment->history_bytes += bytes - segment->archive_bytes;
    segment->archive_bytes = bytes;
}

/* In place of what there is; NULL: of none. What is lost by that ends at or below `until`. False:
 * somebody waits for some of it; the new one is gone. */
static bool fr_archive_put_in(fr_store *store, fr_segment *segment, fr_archive *archive,
                              uint64_t until)
{
    fr_mutex_lock(&segment->lock);
    bool may = until <= fr_moments_seen(&store->moments);
    fr_archive *rest = may ? segment->archive : archive;
    segment->archive = may ? archive : segment->archive;
    fr_mutex_unlock(&segment->lock);
    if (rest && rest->values->holds_slices)
        fr_slices_clear(rest->values, &store->seal_let_go);
    fr_archive_destroy(store->allocator, store->buffers, rest);
    fr_archive_count(segment);
    return may;
}

/* Those of one row that end above `above`. Nobody else sees the archive that they go to. */
static void fr_archive_copy_row(fr_archive *archive, const fr_archive *from, uint32_t newest,
                                uint64_t above, size_t row_bytes)
{
    fr_buffer *none = NULL; /* nothing is overwritten */
    uint32_t *link = fr_archive_slot(archive, from->entries[newest - 1].row);
    for (uint32_t at = newest; at; at = from->entries[at - 1].older) {
        uint32_t place = archive->count, source = at - 1;
        if (from->entries[source].until <= above)
            continue;
        fr_archived *entry = &archive->entries[place];
        *entry = from->entries[source];
        entry->older = 0;
        if (archive->values->holds_slices) {
            const fr_buffer *payload = fr_slices_of(from->values)[source].payload;
            archive->element_bytes += payload ? payload->capacity_bytes : 0;
            fr_slices_copy(archive->values, &place, from->values, &source, 1, &none);
        } else {
            memcpy(archive->values->data + place * row_bytes,
                   from->values->data + source * row_bytes, row_bytes);
        }
        *link = ++archive->count;
        link = &entry->older;
    }
}

/* Another archive of that capacity in place of the segment's, with what ends above `above`. False
 * without memory, or when somebody waits for the others. */
static bool fr_archive_remake(fr_store *store, fr_segment *segment, uint64_t capacity,
                              uint64_t above)
{
    const fr_archive *from = segment->archive;
    fr_archive *archive = fr_archive_make(store, segment->column, capacity);
    if (!archive)
        return false;
    for (uint32_t slot = 0; from && slot >> from->index_bits == 0; slot++)
        if (from->index[slot])
            fr_archive_copy_row(archive, from, from->index[slot], above,
                                segment->column->row_bytes);
    return fr_archive_put_in(store, segment, archive, above);
}

/* Room for so many more. False without memory. */
static bool fr_archive_grow(fr_store *store, fr_segment *segment, uint32_t more)
{
    const fr_archive *archive = segment->archive;
    uint64_t needed = (uint64_t)more + (archive ? archive->count : 0);
    uint64_t most = (uint64_t)segment->row_count * store->config.history_versions;
    uint64_t capacity = archive ? 2 * (uint64_t)archive->capacity : FR_ARCHIVE_FIRST;
    if (archive && needed <= archive->capacity)
        return true;
    capacity = capacity > most ? most : capacity;
    return fr_archive_remake(store, segment, capacity > needed ? capacity : needed, 0);
}

/* --- entering --------------------------------------------------------------------------------- */

/* A row's entries: how many, and, from 1, the newest, the oldest, and the one before that. */
typedef struct fr_archive_row {
    uint32_t count, newest, oldest, before_oldest;
} fr_archive_row;

static fr_archive_row fr_archive_row_of(const fr_archive *archive, uint32_t row)
{
    fr_archive_row found = {.newest = archive ? *fr_archive_slot(archive, row) : 0};
    for (uint32_t at = found.newest; at; at = archive->entries[at - 1].older) {
        found.before_oldest = found.oldest;
        found.oldest = at;
        found.count++;
    }
    return found;
}

/* Slots, entries and values lie anywhere, and each leads to the next: for some rows at a time they
 * are asked for step by step, so that there are always many under way. */
static void fr_archive_ask_for(const fr_archive *archive, const fr_archiving *some, uint32_t count,
                               size_t row_bytes)
{
    uint32_t at[FR_ARCHIVE_SOME];
    for (uint32_t k = 0; k < count; k++)
        fr_prefetch_write(&archive->index[fr_archive_first_slot(archive, some[k].row)]);
    for (uint32_t k = 0; k < count; k++) {
        at[k] = archive->index[fr_archive_first_slot(archive, some[k].row)];
        if (at[k])
            fr_prefetch_write(&archive->entries[at[k] - 1]);
    }
    for (uint32_t k = 0; k < count; k++) {
        at[k] = at[k] ? archive->entries[at[k] - 1].older : 0;
        if (!at[k])
            continue;
        fr_prefetch_write(&archive->entries[at[k] - 1]);
        fr_prefetch_write(&archive->values->data[(at[k] - 1) * row_bytes]);
    }
}

static bool fr_archive_has(const fr_archive *archive, const fr_archive_row *row,
                           const fr_archiving *value)
{
    return row->newest && archive->entries[row->newest - 1].until >= value->until;
}

/* How values come in. */
typedef struct fr_archive_entering {
    bool saves; /* in addition to what the rows have */
    uint64_t moment;
} fr_archive_entering;

/* It ended later than was known: who entered it did not come to the end. */
static bool fr_archive_extend(fr_archive *archive, const fr_archive_row *row,
                              const fr_archiving *value)
{
    fr_archived *newest = row->newest ? &archive->entries[row->newest - 1] : NULL;
    bool is_it = newest && newest->from == value->from;
    if (is_it)
        newest->until = value->until;
    return is_it;
}

/* Room for those that displace none, and what there is of their rows. False as fr_archive_enter. */
static bool fr_archive_room(fr_store *store, fr_segment *segment, const fr_archiving *some,
                            uint32_t count, const fr_archive_entering *entering,
                            fr_archive_row *rows)
{
    const fr_archive *archive = segment->archive;
    uint32_t more = 0;
    if (archive)
        fr_archive_ask_for(archive, some, count, segment->column->row_bytes);
    for (uint32_t k = 0; k < count; k++) {
        rows[k] = fr_archive_row_of(archive, some[k].row);
        bool displaces = rows[k].count >= store->config.history_versions && !entering->saves;
        if (displaces && archive->entries[rows[k].oldest - 1].until > entering->moment)
            return false;
        more += !displaces;
    }
    if (!fr_archive_grow(store, segment, more))
        return false;
    for (uint32_t k = 0; k < count && segment->archive != archive; k++)
        rows[k] = fr_archive_row_of(segment->archive, some[k].row);
    return true;
}

/* Elements of their own. False without memory. */
static bool fr_archive_copy_elements(fr_store *store, const fr_segment *segment,
                                     const fr_archiving *some, uint32_t count, fr_slice *slices)
{
    for (uint32_t k = 0; k < count; k++) {
        const fr_slice *from = &fr_slices_of(some[k].source)[some[k].place];
        size_t size_bytes = from->count * segment->column->schema.row_bytes;
        slices[k] = (fr_slice){.count = from->count};
        if (size_bytes == 0)
            continue;
        slices[k].payload = fr_buffer_get(store->buffers, size_bytes);
        if (!slices[k].payload) {
            while (k-- > 0)
                fr_buffer_release(store->buffers, slices[k].payload);
            return false;
        }
        memcpy(slices[k].payload->data, from->payload->data + from->offset_bytes, size_bytes);
    }
    return true;
}

/* With the segment's lock held: the place of a value that becomes its row's newest.
 * FR_ROW_SET_NONE: somebody waits for the one that it would displace. */
static uint32_t fr_archive_link(const fr_store *store, fr_archive *archive,
                                const fr_archive_row *row, const fr_archiving *value,
                                const fr_archive_entering *entering)
{
    uint32_t at = row->oldest, newest = row->newest;
    if (row->count < store->config.history_versions || entering->saves) {
        at = ++archive->count;
    } else if (archive->entries[at - 1].until > fr_moments_seen(&store->moments)) {
        return FR_ROW_SET_NONE;
    } else {
        if (row->before_oldest)
            archive->entries[row->before_oldest - 1].older = 0;
        newest = newest == at ? 0 : newest;
    }
    uint32_t *slot = fr_archive_slot(archive, value->row);
    archive->entries[at - 1] = (fr_archived){
        .from = value->from, .until = value->until, .row = value->row, .older = newest};
    *slot = at;
    return at - 1;
}

static uint64_t fr_archive_elements(const fr_slice *slice)
{
    return slice->payload ? slice->payload->capacity_bytes : 0;
}

/* The same: all of them, for which there is room. False: as that. */
static bool fr_archive_enter_all(fr_store *store, fr_segment *segment, const fr_archiving *some,
                                 uint32_t count, const fr_archive_row *rows, const fr_slice *slices,
                                 const fr_archive_entering *entering)
{
    fr_archive *archive = segment->archive;
    size_t row_bytes = segment->column->row_bytes;
    fr_slice_copier copier;
    bool enough = true;
    fr_slice_copier_begin(&copier, &store->seal_let_go);
    for (uint32_t k = 0; k < count && enough; k++) {
        fr_look();
        if (fr_archive_has(archive, &rows[k], &some[k]) ||
            fr_archive_extend(archive, &rows[k], &some[k]))
            continue;
        uint32_t place = fr_archive_link(store, archive, &rows[k], &some[k], entering);
        enough = place != FR_ROW_SET_NONE;
        if (!enough)
            continue;
        if (!slices) {
            memcpy(archive->values->data + place * row_bytes,
                   some[k].source->data + some[k].place * row_bytes, row_bytes);
            continue;
        }
        fr_slice *to = &fr_slices_of(archive->values)[place];
        archive->element_bytes += fr_archive_elements(&slices[k]) - fr_archive_elements(to);
        fr_slice_copy(&copier, to, &slices[k]);
    }
    fr_slice_copier_end(&copier);
    return enough;
}

static bool fr_archive_take(fr_store *store, fr_segment *segment, const fr_archiving *some,
                            uint32_t count, const fr_archive_entering *entering)
{
    fr_slice elements[FR_ARCHIVE_SOME];
    fr_archive_row rows[FR_ARCHIVE_SOME];
    bool is_array = segment->column->schema.is_array;
    if (!fr_archive_room(store, segment, some, count, entering, rows) ||
        (is_array && !fr_archive_copy_elements(store, segment, some, count, elements)))
        return false;
    fr_mutex_lock(&segment->lock);
    bool all = fr_archive_enter_all(store, segment, some, count, rows, is_array ? elements : NULL,
                                    entering);
    fr_mutex_unlock(&segment->lock);
    for (uint32_t k = 0; is_array && k < count; k++)
        if (elements[k].payload)
            fr_buffer_drop_many(elements[k].payload, 1, &store->seal_let_go);
    fr_archive_count(segment);
    return all;
}

bool fr_archive_enter(fr_store *store, fr_segment *segment, const fr_archiving *some,
                      uint32_t count, uint64_t moment)
{
    fr_archive_entering entering = {.moment = moment};
    return fr_archive_take(store, segment, some, count, &entering);
}

bool fr_archive_save(fr_store *store, fr_segment *segment, const fr_archiving *some, uint32_t count)
{
    fr_archive_entering entering = {.saves = true};
    return fr_archive_take(store, segment, some, count, &entering);
}

/* --- what goes -------------------------------------------------------------------------------- */

/* The places of what is unlinked come back when the archive is made anew. */
void fr_archive_withdraw(fr_segment *segment, uint32_t row, uint64_t ordinal)
{
    fr_archive *archive = segment->archive;
#ifdef FR_MUTATE_ARCHIVE_NEVER_WITHDRAWS
    archive = NULL;
#endif
    uint32_t *slot = archive ? fr_archive_slot(archive, row) : NULL;
    if (!slot || !*slot)
        return;
    fr_archived *entry = &archive->entries[*slot - 1];
    while (entry->from >= ordinal && entry->older) {
        *slot = entry->older;
        entry = &archive->entries[*slot - 1];
    }
    /* Nothing leaves the index, or looking others up would end there: the last one stays, as one of
     * no time at all, older than all that may be entered. */
    if (entry->from >= ordinal)
        entry->from = entry->until = 0;
    else if (entry->until > ordinal)
        entry->until = ordinal;
}

void fr_archive_settle(const fr_store *store, fr_segment *segment, uint32_t row, uint64_t moment)
{
    fr_archive *archive = segment->archive;
    fr_archive_row found = fr_archive_row_of(archive, row);
    while (found.before_oldest && found.count > store->config.history_versions &&
           archive->entries[found.oldest - 1].until <= moment &&
           archive->entries[found.oldest - 1].until <= fr_moments_seen(&store->moments)) {
        archive->entries[found.before_oldest - 1].older = 0;
        found = fr_archive_row_of(archive, row);
    }
}

void fr_archive_drop(fr_store *store, fr_segment *segment, uint64_t until)
{
    if (segment->archive)
        (void)fr_archive_put_in(store, segment, NULL, until);
}

uint64_t fr_archive_oldest(const fr_segment *segment)
{
    const fr_archive *archive = segment->archive;
    uint64_t lowest = UINT64_MAX;
    for (uint32_t e = 0; archive && e < archive->count; e++)
        if (archive->entries[e].until < lowest && archive->entries[e].until > 0)
            lowest = archive->entries[e].until;
    return lowest;
}

bool fr_archive_shorten(fr_store *store, fr_segment *segment, uint64_t moment)
{
    const fr_archive *archive = segment->archive;
    uint64_t lowest = UINT64_MAX, highest = 0, last = 0, stay = 0;
    for (uint32_t e = 0; archive && e < archive->count; e++) {
        uint64_t until = archive->entries[e].until;
        last = until > last ? until : last;
        if (until > moment)
            continue;
        lowest = until < lowest ? until : lowest;
        highest = until > highest ? until : highest;
    }
    if (lowest == UINT64_MAX)
        return false;
    uint64_t above = lowest + (highest - lowest) / 2;
    for (uint32_t e = 0; e < archive->count; e++)
        stay += archive->entries[e].until > above;
    if (stay > 0 && fr_archive_remake(store, segment, stay, above))
        return true;
    /* Nothing is to stay, or there is no memory for it. */
    return last <= moment && fr_archive_put_in(store, segment, NULL, last);
}
