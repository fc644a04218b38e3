#include "runtime/store/array_write.h"

#include "runtime/device/placed.h"
#include "runtime/store/store_state.h"

#ifdef FR_SHRINK
#define FR_ARRAY_CHUNK_BYTES 64u
#else
#define FR_ARRAY_CHUNK_BYTES (256u << 10)
#endif

static bool fr_array_selected(const fr_row_source *rows, uint32_t element)
{
    return !rows->mask || (rows->mask[element / 64] >> (element % 64) & 1) != 0;
}

static uint32_t fr_array_row(const fr_row_source *rows, uint32_t element)
{
    return rows->index_map ? rows->index_map[element] : element;
}

/* --- slices ----------------------------------------------------------------------------------- */

/* Each row's count, of rows that are written; the others stay empty. */
static void fr_array_count_rows(const fr_array_source *source, const fr_row_source *rows,
                                fr_slice *slices)
{
    for (uint32_t element = 0; element < rows->count; element++) {
        if (!fr_array_selected(rows, element))
            continue;
        uint32_t row = fr_array_row(rows, element);
        slices[row].count = fr_array_source_row_elements(source, row);
    }
}

/* A tensor that may be, becomes a payload; all or none of a packed one. Without memory for the
 * record it is copied like any other. */
static bool fr_array_adopt(fr_store *store, fr_array_source *source, fr_slice *slices)
{
    bool any = false;
    for (uint32_t t = 0; t < source->tensor_count; t++) {
        fr_array_tensor *tensor = &source->tensors[t];
        if (!tensor->adoptable)
            continue;
        fr_buffer *payload = fr_buffer_adopt(store->buffers, tensor->managed, tensor->base,
                                             tensor->count * source->element_bytes);
        if (!payload)
            continue;
        tensor->managed = NULL;
        uint32_t first = source->packed ? 0 : t, end = source->packed ? source->row_count : t + 1;
        fr_buffer_retain_many(payload, end - first); /* one too many, for as long as it takes */
        uint64_t offset_bytes = 0;
        for (uint32_t row = first; row < end; row++) {
            slices[row].payload = payload;
            slices[row].offset_bytes = offset_bytes;
            offset_bytes += slices[row].count * source->element_bytes;
        }
        fr_buffer_release(store->buffers, payload);
        any = true;
    }
    return any;
}

/* Elements of the rows that have no payload yet. */
static uint64_t fr_array_to_copy(const fr_array_source *source, const fr_slice *slices)
{
    uint64_t elements = 0;
    for (uint32_t row = 0; row < source->row_count; row++)
        elements += slices[row].payload ? 0 : slices[row].count;
    return elements;
}

/* The other rows become slices of the payload, which they hold together; and chunks begin. */
static void fr_array_place(fr_array_write *array)
{
    fr_slice *slices = fr_slices_of(array->slices);
    uint32_t element_bytes = array->element_bytes, chunk = 0;
    uint64_t elements = 0, holders = 0;
    for (uint32_t row = 0; row < array->rows.row_count; row++) {
        if (slices[row].payload || slices[row].count == 0)
            continue;
        slices[row].payload = array->payload;
        slices[row].offset_bytes = elements * element_bytes;
        elements += slices[row].count;
        holders++;
        for (; chunk < array->chunk_count && chunk * array->chunk_elements < elements; chunk++)
            array->chunk_rows[chunk] = row;
    }
    fr_buffer_retain_many(array->payload, holders - 1);
}

/* --- life ------------------------------------------------------------------------------------- */

static size_t fr_array_write_bytes(uint32_t chunk_count)
{
    return sizeof(fr_array_write) + chunk_count * sizeof(uint32_t);
}

/* With slices that know their counts, and payloads for those that were adopted. */
static fr_array_write *fr_array_write_create(fr_store *store, const fr_write *write,
                                             fr_buffer *slices)
{
    const fr_array_source *source = write->array;
    uint64_t copied = fr_array_to_copy(source, fr_slices_of(slices));
    uint64_t chunk_elements = FR_ARRAY_CHUNK_BYTES / source->element_bytes;
    chunk_elements = chunk_elements ? chunk_elements : 1;
    uint64_t chunk_count = write->device ? 0 : (copied + chunk_elements - 1) / chunk_elements;
    if (chunk_count > UINT32_MAX / 2) { /* of two each has so many at the most */
        chunk_elements = copied / (UINT32_MAX / 2) + 1;
        chunk_count = (copied + chunk_elements - 1) / chunk_elements;
    }
    fr_array_write *array =
        fr_memory_allocate(store->allocator, fr_array_write_bytes((uint32_t)chunk_count), 16);
    if (!array)
        return NULL;
    *array = (fr_array_write){.rows = *write->rows,
                              .slices = slices,
                              .source = source,
                              .element_bytes = source->element_bytes,
                              .copied = copied,
                              .straight = source->packed && copied == source->tensors[0].count,
                              .chunk_count = (uint32_t)chunk_count,
                              .chunk_elements = chunk_elements};
    array->rows.base = slices->data;
    return array;
}

/* Over slices that were there: nothing is left to copy. payload: of some of them, not counted as
 * unsealed yet; or NULL. NULL without memory. */
static fr_array_write *fr_array_write_take(fr_store *store, const fr_write *write,
                                           fr_buffer *slices, fr_buffer *payload)
{
    fr_array_write *array = fr_memory_allocate(store->allocator, fr_array_write_bytes(0), 16);
    if (!array)
        return NULL;
    *array = (fr_array_write){.rows = *write->rows, .slices = slices, .payload = payload};
    array->rows.base = slices->data;
    fr_buffer_retain(slices);
    array->pending =
        fr_pending_create(store->allocator, fr_tally_part(&store->counters.pending_bytes));
    if (array->pending)
        return array;
    fr_array_write_destroy(store, array);
    return NULL;
}

/* The one payload of the slices that a map has filled. */
static fr_buffer *fr_array_mapped(const fr_row_source *rows)
{
    return fr_slices_payload(fr_slices_of(rows->buffer), rows->row_count);
}

/* It lies where the write goes. */
static bool fr_array_is_mapped_there(const fr_write *write)
{
    const fr_buffer *payload = fr_array_mapped(write->rows);
    if (!write->device)
        return true;
    return payload && payload->is_placed && payload->placed->opened == write->device;
}

static fr_buffer *fr_array_payload(fr_store *store, fr_opened *device, size_t size_bytes)
{
    return device ? fr_column_buffer_on(device, store->buffers, size_bytes)
                  : fr_buffer_get(store->buffers, size_bytes);
}

/* The elements of slices of the host, or of another device, get a payload on the device. NULL
 * without memory. */
static fr_array_write *fr_array_write_bring(fr_store *store, const fr_write *write)
{
    const fr_slice *given = fr_slices_of(write->rows->buffer);
    uint32_t row_count = write->rows->row_count;
    fr_buffer *slices = fr_slices_get(store->buffers, row_count * sizeof(fr_slice));
    if (!slices)
        return NULL;
    fr_array_write *array = fr_array_write_take(store, write, slices, NULL);
    fr_buffer_release(store->buffers, slices);
    if (!array)
        return NULL;
    array->rows.buffer = NULL;
    array->given = given;
    array->element_bytes = write->schema.row_bytes;
    for (uint32_t row = 0; row < row_count; row++) {
        fr_slices_of(slices)[row].count = given[row].count;
        array->copied += given[row].count;
    }
    if (array->copied == 0)
        return array;
    array->payload =
        fr_array_payload(store, write->device, array->copied * write->schema.row_bytes);
    if (array->payload) {
        fr_array_place(array);
        return array;
    }
    fr_array_write_destroy(store, array);
    return NULL;
}

fr_array_write *fr_array_write_make(fr_store *store, const fr_write *write)
{
    if (write->slices)
        return fr_array_write_take(store, write, write->slices, write->elements);
    if (write->rows->buffer && !fr_array_is_mapped_there(write))
        return fr_array_write_bring(store, write);
    if (write->rows->buffer)
        return fr_array_write_take(store, write, write->rows->buffer, fr_array_mapped(write->rows));
    fr_array_source *source = write->array;
    fr_buffer *slices = fr_slices_get(store->buffers, (size_t)source->row_count * sizeof(fr_slice));
    if (!slices)
        return NULL;
    fr_array_count_rows(source, write->rows, fr_slices_of(slices));
    bool adopted = !write->device && fr_array_adopt(store, source, fr_slices_of(slices));
    fr_array_write *array = fr_array_write_create(store, write, slices);
    if (!array) {
        fr_buffer_release(store->buffers, slices);
        return NULL;
    }
    array->adopted = adopted;
    array->pending =
        fr_pending_create(store->allocator, fr_tally_part(&store->counters.pending_bytes));
    if (array->copied > 0)
        array->payload =
            fr_array_payload(store, write->device, array->copied * source->element_bytes);
    if (!array->pending || (array->copied > 0 && !array->payload)) {
        fr_buffer_release(store->buffers, array->payload);
        fr_array_write_destroy(store, array);
        return NULL;
    }
    if (array->payload)
        fr_array_place(array);
    return array;
}

void fr_array_write_destroy(fr_store *store, fr_array_write *array)
{
    if (!array)
        return;
    fr_buffer_release(store->buffers, array->slices);
    fr_pending_release(array->pending);
    fr_memory_release(store->allocator, array, fr_array_write_bytes(array->chunk_count));
}

void fr_array_write_count(fr_array_write *array, fr_touched *touched)
{
    const fr_slice *slices = fr_slices_of(array->slices);
    if (!touched->elements && array->pending) {
        touched->elements = array->pending;
        array->pending = NULL;
    }
    if (array->payload)
        fr_pending_add(touched->elements, array->payload);
    for (uint32_t row = 0; array->adopted && row < array->source->row_count; row++)
        if (slices[row].payload && !slices[row].payload->pending)
            fr_pending_add(touched->elements, slices[row].payload);
}

/* --- chunks ----------------------------------------------------------------------------------- */

void fr_array_write_copy(const fr_array_write *array, uint32_t row, uint64_t first, uint64_t end,
                         unsigned char *to)
{
    const fr_array_source *source = array->source;
    const fr_slice *slices = fr_slices_of(array->slices);
    uint32_t element_bytes = source->element_bytes;
    size_t whole_bytes = array->copied * element_bytes;
    if (array->straight) {
        fr_array_tensor_copy(source->tensors, element_bytes, first, end - first,
                             to + first * element_bytes, whole_bytes);
        return;
    }
    for (; first < end; row++) {
        if (slices[row].payload != array->payload)
            continue;
        uint64_t begin = slices[row].offset_bytes / element_bytes;
        uint64_t last = begin + slices[row].count < end ? begin + slices[row].count : end;
        const fr_array_tensor *tensor = &source->tensors[source->packed ? 0 : row];
        uint64_t before = source->packed ? row * slices[row].count : 0;
        fr_array_tensor_copy(tensor, element_bytes, before + (first - begin), last - first,
                             to + first * element_bytes, whole_bytes);
        first = last;
    }
}

void fr_array_write_chunk(const fr_array_write *array, uint32_t chunk)
{
    uint64_t first = chunk * array->chunk_elements, end = first + array->chunk_elements;
    fr_array_write_copy(array, array->chunk_rows[chunk], first,
                        end < array->copied ? end : array->copied, array->payload->data);
}

void fr_array_write_rows(fr_store *store, const fr_array_write *array, uint32_t first,
                         const uint32_t *elements, uint32_t first_target, const uint32_t *targets,
                         uint32_t count, fr_buffer *to)
{
    const fr_row_source *rows = &array->rows;
    const fr_slice *from = fr_slices_of(array->slices);
    fr_buffer *let_go = NULL;
    fr_slice_copier copier;
    fr_slice_copier_begin(&copier, &let_go);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t element = elements ? elements[k] : first + k;
        if (fr_array_selected(rows, element))
            fr_slice_copy(&copier, &fr_slices_of(to)[targets ? targets[k] : first_target + k],
                          &from[fr_array_row(rows, element)]);
    }
    fr_slice_copier_end(&copier);
    fr_buffers_let_go(store->buffers, let_go);
}
