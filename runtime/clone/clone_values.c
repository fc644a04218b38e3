/* Values of a clone: rows that the copies take as they are, and arrays in which paths are
 * redirected (R134). */
#include <string.h>

#include "runtime/clone/clone_work.h"
#include "runtime/device/placed.h"
#include "runtime/dictionary/dictionary.h"
#include "runtime/store/slices.h"
#include "runtime/store/store_state.h"

static const uint64_t *fr_clone_elements(const fr_slice *slice)
{
    return slice->payload
               ? (const uint64_t *)(const void *)(slice->payload->data + slice->offset_bytes)
               : NULL;
}

/* A path number that the dictionary does not know is a value like any other. */
static bool fr_clone_redirects(const fr_clone_work *work, uint64_t path)
{
    return fr_dictionary_path_known(work->stage->dictionary, path) &&
           fr_clone_is_inside(work, path);
}

/* Whether some path of the row points into the source. */
static bool fr_clone_row_redirects(const fr_clone_work *work, const fr_slice *slice, uint32_t words)
{
    const uint64_t *paths = fr_clone_elements(slice);
    for (uint64_t k = 0; paths && k < slice->count; k++)
        if (fr_clone_redirects(work, paths[k * words]))
            return true;
    return false;
}

bool fr_clone_find_references(fr_clone_work *work)
{
    for (uint32_t c = 0; c < work->current.column_count; c++) {
        const fr_current_column *from = &work->current.columns[c];
        uint32_t words = fr_schema_path_words(&from->column->schema);
        for (uint32_t row = 0; words > 0 && row < work->prim_count; row++) {
            const fr_slice *slice = &fr_slices_of(from->rows)[row];
            const uint64_t *paths = fr_clone_elements(slice);
            for (uint64_t k = 0; paths && k < slice->count; k++) {
                uint32_t place;
                if (fr_clone_redirects(work, paths[k * words]) &&
                    !fr_clone_need_path(work, (uint32_t)paths[k * words], &place))
                    return false;
            }
        }
    }
    return true;
}

/* --- redirected arrays ------------------------------------------------------------------------ */

static void fr_clone_redirect_row(const fr_clone_work *work, const fr_slice *from, uint32_t words,
                                  uint32_t target, uint64_t *to)
{
    const uint64_t *paths = fr_clone_elements(from);
    memcpy(to, paths, from->count * words * sizeof(*to));
    for (uint64_t k = 0; k < from->count; k++)
        if (fr_clone_redirects(work, to[k * words])) {
            uint32_t place = fr_row_set_place(&work->paths.known, (uint32_t)to[k * words]);
            to[k * words] = fr_clone_copy_of(work, target, place);
        }
}

/* Fills slices of rows that are redirected, and the elements. */
static void fr_clone_redirect(const fr_clone_work *work, fr_clone_column *column, uint32_t words,
                              const bool *redirects)
{
    const fr_slice *from = fr_slices_of(column->from->rows);
    fr_slice *to = fr_slices_of(column->slices);
    uint64_t offset_bytes = 0, holders = 0;
    fr_buffer *none = NULL; /* nothing is overwritten */
    fr_slice_copier copier;
    fr_slice_copier_begin(&copier, &none);
    for (uint32_t copy = 0; copy < work->copy_count; copy++) {
        uint32_t row = copy % work->prim_count;
        if (!redirects[row]) {
            fr_slice_copy(&copier, &to[copy], &from[row]);
            continue;
        }
        to[copy] = (fr_slice){column->elements, offset_bytes, from[row].count};
        fr_clone_redirect_row(work, &from[row], words, copy / work->prim_count,
                              (uint64_t *)(void *)(column->elements->data + offset_bytes));
        offset_bytes += from[row].count * words * sizeof(uint64_t);
        holders++;
    }
    fr_slice_copier_end(&copier);
    fr_buffer_retain_many(column->elements, holders);
}

/* A slice for each copy, where some row has a path that points into the source. False without
 * memory. */
static bool fr_clone_redirect_column(fr_clone_work *work, fr_clone_column *column)
{
    fr_buffers *buffers = work->stage->store->buffers;
    const fr_allocator *allocator = &work->stage->allocator;
    uint32_t words = fr_schema_path_words(&column->from->column->schema);
    if (words == 0)
        return true;
    bool *redirects = fr_memory_allocate(allocator, work->prim_count * sizeof(*redirects), 16);
    if (!redirects)
        return false;
    uint64_t elements = 0;
    for (uint32_t row = 0; row < work->prim_count; row++) {
        const fr_slice *slice = &fr_slices_of(column->from->rows)[row];
        redirects[row] = fr_clone_row_redirects(work, slice, words);
        elements += redirects[row] ? slice->count : 0;
    }
    bool enough = true;
    if (elements > 0) {
        size_t copies = work->clone->target_count;
        column->slices = fr_slices_get(buffers, work->copy_count * sizeof(fr_slice));
        column->elements = fr_buffer_get(buffers, copies * elements * words * sizeof(uint64_t));
        enough = column->slices && column->elements;
        if (enough)
            fr_clone_redirect(work, column, words, redirects);
    }
    fr_memory_release(allocator, redirects, work->prim_count * sizeof(*redirects));
    return enough;
}

/* --- columns ---------------------------------------------------------------------------------- */

static size_t fr_clone_mask_words(const fr_clone_work *work)
{
    return ((size_t)work->copy_count + 63) / 64;
}

static bool fr_clone_mask(fr_clone_work *work, fr_clone_column *column)
{
    if (column->from->count == work->prim_count)
        return true;
    column->mask = fr_memory_allocate_zero(&work->stage->allocator,
                                           fr_clone_mask_words(work) * sizeof(uint64_t), 16);
    for (uint32_t copy = 0; column->mask && copy < work->copy_count; copy++)
        if (fr_current_has(column->from, copy % work->prim_count))
            column->mask[copy / 64] |= UINT64_C(1) << copy % 64;
    return column->mask != NULL;
}

static bool fr_clone_fill_column(fr_clone_work *work, fr_clone_column *column)
{
    if (!fr_clone_mask(work, column) || !fr_clone_redirect_column(work, column))
        return false;
    bool own = column->slices != NULL;
    const fr_buffer *rows = own ? column->slices : column->from->rows;
    column->rows = (fr_row_source){
        .base =
            rows->is_placed ? (const unsigned char *)(uintptr_t)rows->placed->address : rows->data,
        .row_bytes = column->from->column->row_bytes,
        .row_count = own ? work->copy_count : work->prim_count,
        .count = work->copy_count,
        .compact = true,
        .index_map = own ? NULL : work->index_map,
        .mask = column->mask,
        .selected_count = work->clone->target_count * column->from->count,
        .row_stride_bytes = column->from->column->row_bytes};
    return true;
}

static bool fr_clone_reserve_column(fr_clone_work *work, fr_clone_column *column)
{
    fr_column *store_column = column->from->column;
    bool is_array = store_column->schema.is_array;
    bool on_device = fr_column_rows_device(store_column) != NULL, reserved;
    fr_write what = {.attribute = store_column->attribute,
                     .schema = store_column->schema,
                     .query = &work->query,
                     .ordinal = work->ordinal,
                     .op_id = work->op_id,
                     .prim_mode = OVSTAGE_PRIM_MODE_UPSERT,
                     .prims_entered = true,
                     .fresh = work->fresh && !on_device ? work->copies : NULL,
                     .rows = &column->rows,
                     .slices = column->slices ? column->slices
                               : is_array     ? column->from->rows
                                              : NULL,
                     .elements = column->elements,
                     .device = fr_column_device(store_column)};
    bool enough =
        on_device ? fr_clone_place_column(work, &what, column, &reserved)
                  : fr_store_write_reserve(work->stage->store, &what, &column->plan) == OVSTAGE_OK;
    work->reserved_count += on_device ? reserved : enough;
    return enough;
}

bool fr_clone_make_columns(fr_clone_work *work)
{
    uint32_t count = work->current.column_count;
    work->columns =
        fr_memory_allocate_zero(&work->stage->allocator, count * sizeof(*work->columns), 16);
    if (!work->columns)
        return fr_clone_no_memory(work);
    for (; work->column_count < count; work->column_count++)
        work->columns[work->column_count].from = &work->current.columns[work->column_count];
    work->prims_reserved =
        fr_store_prims_reserve(work->stage->store, work->copies, work->copy_count);
    bool enough = work->prims_reserved;
    for (uint32_t c = 0; c < count && enough; c++)
        enough = fr_clone_fill_column(work, &work->columns[c]);
    while (work->reserved_count < count && enough)
        enough = fr_clone_reserve_column(work, &work->columns[work->reserved_count]);
    return enough || fr_clone_no_memory(work);
}
