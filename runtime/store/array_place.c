#include "runtime/store/array_place.h"

#include <string.h>

#include "runtime/device/scatter.h"
#include "runtime/query/heap_sort.h"
#include "runtime/write/payload.h"

/* --- a write ---------------------------------------------------------------------------------- */

static bool fr_array_upload(const fr_array_write *array, fr_device_run *run, fr_device_fault *fault)
{
    size_t size_bytes = array->copied * array->element_bytes;
    unsigned char *staged = fr_device_run_stage(run, size_bytes, fault);
    if (!staged)
        return false;
    if (array->given)
        fr_array_pack(array->given, array->rows.row_count, array->element_bytes, staged);
    else
        fr_array_write_copy(array, 0, 0, array->copied, staged);
    return fr_device_run_upload(run, array->payload->placed->address, staged, size_bytes, fault);
}

/* Elements [first, first + count) of a tensor, piece by piece. */
static bool fr_array_add_pieces(fr_pieces *pieces, const fr_array_tensor *tensor,
                                uint32_t element_bytes, uint64_t first, uint64_t count,
                                fr_device_fault *fault)
{
    if (!tensor->dims)
        return fr_pieces_add(pieces, (uintptr_t)tensor->base + first * element_bytes,
                             count * element_bytes, false, fault);
    uint32_t dims = (uint32_t)tensor->dims[0];
    const int64_t *sizes = tensor->dims + 1, *strides = sizes + dims;
    bool added = true;
    for (uint64_t k = first; k < first + count && added; k++) {
        uint64_t rest = k, from = (uintptr_t)tensor->base;
        for (uint32_t d = dims; d-- > 0; rest /= (uint64_t)sizes[d])
            from += (uint64_t)((int64_t)(rest % (uint64_t)sizes[d]) * strides[d]);
        added = fr_pieces_add(pieces, from, element_bytes, true, fault);
    }
    return added;
}

/* A tensor as a whole whose elements lie apart. */
static bool fr_array_collect(const fr_array_tensor *tensor, uint32_t element_bytes, uint64_t to,
                             fr_device_run *run, fr_device_fault *fault)
{
    uint32_t dims = (uint32_t)tensor->dims[0];
    fr_strided_copy copy = {
        .to = to, .from = (uintptr_t)tensor->base, .dims = dims, .element_bytes = element_bytes};
    int64_t stride_bytes = element_bytes;
    for (uint32_t d = dims; d-- > 0;) {
        copy.shape[d] = tensor->dims[1 + d];
        copy.from_stride[d] = tensor->dims[1 + dims + d];
        copy.to_stride[d] = stride_bytes;
        stride_bytes *= copy.shape[d];
    }
    return fr_device_run_collect(run, &copy, fault);
}

static const fr_array_tensor *fr_array_row_tensor(const fr_array_write *array, uint32_t row,
                                                  uint64_t *out_first)
{
    const fr_array_source *source = array->source;
    *out_first = source->packed ? row * fr_slices_of(array->slices)[row].count : 0;
    return &source->tensors[source->packed ? 0 : row];
}

static bool fr_array_is_copied(const fr_array_write *array, uint32_t row)
{
    return fr_slices_of(array->slices)[row].payload == array->payload;
}

/* Whether each tensor whose elements lie apart gets a call of its own: few do, each as a whole. */
static bool fr_array_collects(const fr_array_write *array)
{
    const fr_array_source *source = array->source;
    uint32_t apart = 0;
    bool collects = array->straight || !source->packed;
    for (uint32_t t = 0; t < source->tensor_count && collects; t++) {
        const fr_array_tensor *tensor = &source->tensors[t];
        if (!tensor->dims || (!source->packed && !fr_array_is_copied(array, t)))
            continue;
        collects = tensor->dims[0] <= FR_STRIDED_DIMS && ++apart <= FR_PIECES_FEW;
    }
    return collects;
}

/* A tensor as a whole, behind the pieces that are there, which end at it. */
static bool fr_array_put_apart(const fr_array_tensor *tensor, uint32_t element_bytes,
                               fr_pieces *pieces, uint64_t *to, fr_device_run *run,
                               fr_device_fault *fault)
{
    bool put = fr_pieces_join(pieces, *to, run, fault);
    *to += pieces->size_bytes;
    pieces->count = 0;
    pieces->size_bytes = 0;
    put = put && fr_array_collect(tensor, element_bytes, *to, run, fault);
    *to += tensor->count * element_bytes;
    return put;
}

/* Those of one row. */
static bool fr_array_put_row(const fr_array_write *array, uint32_t row, bool collects,
                             fr_pieces *pieces, uint64_t *to, fr_device_run *run,
                             fr_device_fault *fault)
{
    uint64_t first, count = fr_slices_of(array->slices)[row].count;
    const fr_array_tensor *tensor = fr_array_row_tensor(array, row, &first);
    if (array->straight)
        count = array->copied;
    if (tensor->dims && collects)
        return fr_array_put_apart(tensor, array->element_bytes, pieces, to, run, fault);
    return fr_array_add_pieces(pieces, tensor, array->element_bytes, first, count, fault);
}

static bool fr_array_put_all(const fr_array_write *array, uint64_t to, fr_device_run *run,
                             fr_device_fault *fault)
{
    bool put = true, collects = fr_array_collects(array);
    uint32_t end = array->straight ? 1 : array->source->row_count;
    fr_pieces pieces;
    fr_pieces_open(&pieces, run->opened->devices->allocator);
    for (uint32_t row = 0; row < end && put; row++)
        if (fr_array_is_copied(array, row))
            put = fr_array_put_row(array, row, collects, &pieces, &to, run, fault);
    put = put && fr_pieces_join(&pieces, to, run, fault);
    fr_pieces_close(&pieces);
    return put;
}

bool fr_array_source_gather(const fr_array_source *source, uint64_t to, fr_device_run *run,
                            fr_device_fault *fault)
{
    uint32_t apart = 0;
    bool put = true;
    fr_pieces pieces;
    fr_pieces_open(&pieces, run->opened->devices->allocator);
    for (uint32_t t = 0; t < source->tensor_count && put; t++) {
        const fr_array_tensor *tensor = &source->tensors[t];
        bool collects = tensor->dims && tensor->dims[0] <= FR_STRIDED_DIMS &&
                        (source->packed || ++apart <= FR_PIECES_FEW);
        put = collects ? fr_array_put_apart(tensor, source->element_bytes, &pieces, &to, run, fault)
                       : fr_array_add_pieces(&pieces, tensor, source->element_bytes, 0,
                                             tensor->count, fault);
    }
    put = put && fr_pieces_join(&pieces, to, run, fault);
    fr_pieces_close(&pieces);
    return put;
}

/* Those of another device together, there; NULL: the fault says why. */
static fr_placed *fr_array_put_there(const fr_array_write *array, fr_write_source *from,
                                     uint64_t lane, size_t size_bytes, fr_device_run *run,
                                     fr_device_fault *fault)
{
    fr_device_run there;
    if (!fr_device_run_begin_any(&there, from->device, lane, from->dep, fault))
        return NULL;
    fr_placed *together = fr_placed_make(from->device, size_bytes, fault);
    if (together)
        fr_device_run_dispose(run, together);
    bool put = together &&
               fr_device_run_writes(&there, together, FR_USE_ELEMENTS_TOGETHER, fault) &&
               fr_array_put_all(array, together->address, &there, fault) &&
               fr_device_run_record(&there, fault);
    fr_fence *done = there.done;
    fr_fence_retain(done);
    fr_device_run_end(&there);
    if (there.recorded)
        from->read = done;
    else
        fr_fence_release(done);
    return put ? together : NULL;
}

static bool fr_array_bring(const fr_array_write *array, fr_write_source *from, uint64_t lane,
                           fr_device_run *run, fr_device_fault *fault)
{
    size_t size_bytes = array->copied * array->element_bytes;
    fr_placed *together = fr_array_put_there(array, from, lane, size_bytes, run, fault);
    return together && fr_device_run_bring(run, array->payload->placed->address, together,
                                           FR_USE_ELEMENTS_ELSEWHERE, size_bytes, fault);
}

/* A session's on another device, as they lie there. */
static bool fr_array_bring_given(const fr_array_write *array, fr_device_run *run,
                                 fr_device_fault *fault)
{
    const fr_buffer *given = fr_slices_payload(array->given, array->rows.row_count);
    return fr_device_run_bring(run, array->payload->placed->address, given->placed,
                               FR_USE_ELEMENTS_MAPPED, array->copied * array->element_bytes, fault);
}

bool fr_array_write_place(const fr_array_write *array, fr_write_source *from, uint64_t lane,
                          fr_device_run *run, fr_device_fault *fault)
{
    if (!array->payload)
        return true;
    if (array->copied == 0)
        /* A session's that stays where it is: what the run does comes behind what fills it. */
        return fr_device_run_reads(run, array->payload->placed, FR_USE_TARGET_ELEMENTS_MAPPED,
                                   fault);
    if (!fr_device_run_writes(run, array->payload->placed, FR_USE_TARGET_ELEMENTS, fault))
        return false;
    if (from->from_host)
        return fr_array_upload(array, run, fault);
    if (array->given)
        return fr_array_bring_given(array, run, fault);
    return from->device == run->opened
               ? fr_array_put_all(array, array->payload->placed->address, run, fault)
               : fr_array_bring(array, from, lane, run, fault);
}

/* --- a read ----------------------------------------------------------------------------------- */

/* Payloads on devices that slices refer to. */
typedef struct fr_array_homes {
    fr_placed **items;
    uint32_t count, capacity;
} fr_array_homes;

static int fr_array_homes_compare(const void *items, size_t a, size_t b)
{
    fr_placed *const *homes = items;
    return ((uintptr_t)homes[a] > (uintptr_t)homes[b]) -
           ((uintptr_t)homes[a] < (uintptr_t)homes[b]);
}

static void fr_array_homes_swap(void *items, size_t a, size_t b)
{
    fr_placed **homes = items, *kept = homes[a];
    homes[a] = homes[b];
    homes[b] = kept;
}

/* From the row on, which moves on; rows that follow each other have mostly one. NULL: no more. */
static fr_placed *fr_array_next_home(const fr_slice *slices, uint32_t count, uint32_t *row,
                                     const fr_placed *before)
{
    while (*row < count) {
        const fr_buffer *payload = slices[(*row)++].payload;
        if (payload && payload->is_placed && payload->placed != before)
            return payload->placed;
    }
    return NULL;
}

/* Each once. */
static bool fr_array_homes_open(const fr_allocator *allocator, const fr_slice *slices,
                                uint32_t count, fr_array_homes *out, fr_device_fault *fault)
{
    fr_placed *home = NULL;
    uint32_t row = 0, found = 0;
    *out = (fr_array_homes){0};
    while ((home = fr_array_next_home(slices, count, &row, home)) != NULL)
        out->capacity++;
    if (out->capacity == 0)
        return true;
    out->items = fr_memory_allocate(allocator, out->capacity * sizeof(fr_placed *), 16);
    if (!out->items) {
        fr_device_fault_memory(fault, out->capacity * sizeof(fr_placed *));
        return false;
    }
    row = 0;
    while ((home = fr_array_next_home(slices, count, &row, home)) != NULL)
        out->items[found++] = home;
    const fr_sorted sorted = {fr_array_homes_compare, fr_array_homes_swap, out->items};
    fr_heap_sort(&sorted, found);
    for (uint32_t k = 0; k < found; k++)
        if (k == 0 || out->items[k] != out->items[out->count - 1])
            out->items[out->count++] = out->items[k];
    return true;
}

static void fr_array_homes_close(const fr_allocator *allocator, fr_array_homes *homes)
{
    fr_memory_release(allocator, homes->items, homes->capacity * sizeof(fr_placed *));
}

/* as_they_lie: nothing of the run's reads them. */
static bool fr_array_reads(const fr_slice *slices, uint32_t count, bool as_they_lie,
                           fr_device_run *run, fr_device_fault *fault)
{
    const fr_allocator *allocator = run->opened->devices->allocator;
    fr_array_homes homes;
    bool reads = fr_array_homes_open(allocator, slices, count, &homes, fault);
    for (uint32_t k = 0; k < homes.count && reads; k++)
        reads = as_they_lie
                    ? fr_wait_to_read(run->opened, run->stream, run->own, homes.items[k], fault)
                    : fr_device_run_reads(run, homes.items[k], FR_USE_ELEMENTS, fault);
    fr_array_homes_close(allocator, &homes);
    return reads;
}

bool fr_array_wait_to_read(const fr_slice *slices, uint32_t count, fr_device_run *run,
                           fr_device_fault *fault)
{
#ifdef FR_MUTATE_DEVICE_ARRAYS_SHOWN_EARLY
    return true;
#endif
    return fr_array_reads(slices, count, true, run, fault);
}

bool fr_array_gather(const fr_slice *slices, uint32_t count, uint32_t element_bytes, uint64_t to,
                     fr_device_run *run, fr_device_fault *fault)
{
    const fr_buffer *before = NULL;
    fr_pieces pieces;
    bool put = fr_array_reads(slices, count, false, run, fault);
    fr_pieces_open(&pieces, run->opened->devices->allocator);
    for (uint32_t row = 0; row < count && put; row++) {
        const fr_slice *slice = &slices[row];
        if (!slice->payload)
            continue;
        put = fr_pieces_add(&pieces, slice->payload->placed->address + slice->offset_bytes,
                            slice->count * element_bytes, slice->payload == before, fault);
        before = slice->payload;
    }
    put = put && fr_pieces_join(&pieces, to, run, fault);
    fr_pieces_close(&pieces);
    return put;
}

fr_fence *fr_array_stalled_by(const fr_slice *slices, uint32_t count)
{
    fr_placed *home = NULL;
    fr_fence *pending = NULL;
    uint32_t row = 0;
    while (!pending && (home = fr_array_next_home(slices, count, &row, home)) != NULL)
        pending = fr_placed_stalled_by(home);
    return pending;
}

int32_t fr_array_lost(const fr_slice *slices, uint32_t count)
{
    fr_placed *home = NULL;
    uint32_t row = 0;
    int32_t code = 0;
    while (code == 0 && (home = fr_array_next_home(slices, count, &row, home)) != NULL)
        code = fr_placed_lost(home);
    return code;
}

/* --- on the host ------------------------------------------------------------------------------ */

void fr_array_pack(const fr_slice *slices, uint32_t count, uint32_t element_bytes,
                   unsigned char *to)
{
    for (uint32_t row = 0; row < count; row++) {
        const fr_slice *slice = &slices[row];
        size_t size_bytes = slice->count * element_bytes;
        if (slice->payload)
            memcpy(to, slice->payload->data + slice->offset_bytes, size_bytes);
        to += slice->payload ? size_bytes : 0;
    }
}

uint64_t fr_array_bytes(const fr_slice *slices, uint32_t count, uint32_t element_bytes)
{
    uint64_t elements = 0;
    for (uint32_t row = 0; row < count; row++)
        elements += slices[row].count;
    return elements * element_bytes;
}
