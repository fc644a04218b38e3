/* Payloads of array columns: one tensor a row, or one that is all rows (R97-R99). */
#include "runtime/device/table.h"
#include "runtime/write/payload_parts.h"

/* Lanes do not fold (R99); all tensors are of one type. */
static ovstage_api_status_t fr_payload_array_dtype(DLDataType dtype, uint32_t index,
                                                   fr_payload *out)
{
    fr_schema *schema = &out->schema;
    if (index > 0) {
        if (dtype.code == schema->code && dtype.bits == schema->bits &&
            dtype.lanes == schema->lanes)
            return OVSTAGE_OK;
        return fr_payload_refuse(out, FR_INVALID, "tensor %u has dtype %s, the first one has %s",
                                 index, fr_dtype_tell(dtype.code, dtype.bits, dtype.lanes).text,
                                 fr_dtype_tell(schema->code, schema->bits, schema->lanes).text);
    }
    ovstage_api_status_t status = fr_payload_check_dtype(dtype, out);
    if (status != OVSTAGE_OK)
        return status;
    if (dtype.lanes > 255)
        return fr_payload_refuse(out, FR_UNSUPPORTED,
                                 "an element of %u lanes is above the limit of 255", dtype.lanes);
    schema->lanes = dtype.lanes;
    schema->row_bytes = (uint32_t)dtype.lanes * dtype.bits / 8;
    schema->is_array = true;
    return OVSTAGE_OK;
}

/* False: more than fit into the address space. */
static bool fr_payload_array_count(const DLTensor *tensor, uint32_t element_bytes,
                                   uint64_t *out_count)
{
    uint64_t count = 1, size_bytes = 0;
    for (int32_t d = 0; d < tensor->ndim; d++)
        if (tensor->shape[d] == 0) {
            *out_count = 0;
            return true;
        }
    for (int32_t d = 0; d < tensor->ndim; d++)
        if (__builtin_mul_overflow(count, (uint64_t)tensor->shape[d], &count))
            return false;
    *out_count = count;
    return !__builtin_mul_overflow(count, (uint64_t)element_bytes, &size_bytes) &&
           size_bytes <= INT64_MAX / 4;
}

/* All of them lie on one device, or on the host. */
static ovstage_api_status_t fr_payload_array_device(const ovstage_write_data_t *data,
                                                    uint32_t index, int32_t place, fr_payload *out)
{
    const DLTensor *tensor = fr_payload_tensor(data, index), *first = fr_payload_tensor(data, 0);
    ovstage_api_status_t status = fr_payload_check_device(tensor, place, out);
    bool on_cuda = tensor->device.device_type == kDLCUDA;
    if (status != OVSTAGE_OK || index == 0)
        return status;
    if (on_cuda == (first->device.device_type == kDLCUDA) &&
        (!on_cuda || tensor->device.device_id == first->device.device_id))
        return OVSTAGE_OK;
    return fr_payload_refuse(out, FR_UNSUPPORTED,
                             "tensor %u lies on device {type %d, id %d}, the first one on {type "
                             "%d, id %d}: rows of several devices in one write are not supported "
                             "by this library",
                             index, (int)tensor->device.device_type, (int)tensor->device.device_id,
                             (int)first->device.device_type, (int)first->device.device_id);
}

static ovstage_api_status_t fr_payload_array_tensor(const ovstage_write_data_t *data,
                                                    uint32_t index, int32_t place, fr_payload *out,
                                                    uint64_t *out_count)
{
    const unsigned char *base = NULL;
    const DLTensor *tensor = fr_payload_tensor(data, index);
    ovstage_api_status_t status = fr_payload_array_device(data, index, place, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_array_dtype(tensor->dtype, index, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_check_shape(tensor, out);
    if (status != OVSTAGE_OK)
        return status;
    uint32_t element_bytes = out->schema.row_bytes;
    if (!fr_payload_array_count(tensor, element_bytes, out_count) ||
        (*out_count > 0 && tensor->strides && !fr_payload_reach(tensor, element_bytes)))
        return fr_payload_refuse(out, FR_INVALID,
                                 "shape and strides of tensor %u reach outside the address space",
                                 index);
    return fr_payload_base(tensor, *out_count > 0, &base, out);
}

/* Packed: as many rows as the index_map names, or one for each element that is written (R98). */
static ovstage_api_status_t fr_payload_array_packed(const ovstage_write_data_t *data,
                                                    uint64_t elements, fr_payload *out)
{
    fr_row_source *rows = &out->rows;
    uint64_t row_count = rows->count;
    if (data->index_map && elements > 0) {
        row_count = 0;
        for (uint32_t i = 0; i < rows->count; i++)
            row_count =
                data->index_map[i] >= row_count ? (uint64_t)data->index_map[i] + 1 : row_count;
    }
    if (row_count == 0 || elements % row_count != 0)
        return fr_payload_refuse(out, FR_INVALID,
                                 "a packed payload of %llu elements does not divide evenly into "
                                 "%llu rows (%s)",
                                 (unsigned long long)elements, (unsigned long long)row_count,
                                 data->index_map ? "the highest index_map entry + 1"
                                 : data->count   ? "count"
                                                 : "the query's prims");
    if (row_count > UINT32_MAX)
        return fr_payload_refuse(out, FR_UNSUPPORTED, "%llu rows are above the limit of %u",
                                 (unsigned long long)row_count, UINT32_MAX);
    rows->row_count = (uint32_t)row_count;
    if (data->index_map && elements > 0) /* else all rows are empty, whichever it names */
        return fr_payload_check_map(data, out);
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_payload_array_rows(const ovstage_write_data_t *data,
                                                  uint64_t elements, fr_payload *out)
{
    fr_row_source *rows = &out->rows;
    if (data->mask)
        fr_payload_take_mask(data, out);
    if (data->tensor_count == 1)
        return fr_payload_array_packed(data, elements, out);
    rows->row_count = data->tensor_count;
    if (data->index_map)
        return fr_payload_check_map(data, out);
    if (rows->row_count != rows->count)
        return fr_payload_refuse(
            out, FR_INVALID, "tensor_count = %u rows, but %u elements are written (%s)",
            rows->row_count, rows->count, data->count ? "count" : "the query's prims");
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_payload_check_array(const ovstage_write_data_t *data, int32_t place,
                                            fr_payload *out)
{
    uint64_t elements = 0;
    for (uint32_t t = 0; t < data->tensor_count; t++) {
        uint64_t count = 0, size_bytes = 0;
        ovstage_api_status_t status = fr_payload_array_tensor(data, t, place, out, &count);
        if (status != OVSTAGE_OK)
            return status;
        size_bytes = count * out->schema.row_bytes;
        if (out->array_bytes > INT64_MAX / 4 - size_bytes)
            return fr_payload_refuse(out, FR_INVALID,
                                     "%u tensors together are larger than the address space",
                                     data->tensor_count);
        out->array_bytes += size_bytes;
        elements += count;
    }
    ovstage_api_status_t status = fr_payload_check_semantic(data, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_array_rows(data, elements, out);
    out->rows.compact = true; /* the rows that the store moves are slices */
    return status;
}

/* --- the source ------------------------------------------------------------------------------- */

static size_t fr_payload_dims_words(const DLTensor *tensor)
{
    bool any = tensor && tensor->strides && tensor->ndim > 0 && tensor->ndim <= FR_PAYLOAD_MAX_DIMS;
    return any ? 1 + 2 * (size_t)tensor->ndim : 0;
}

size_t fr_payload_array_bytes(const ovstage_write_data_t *data)
{
    size_t size_bytes = sizeof(fr_array_source) + data->tensor_count * sizeof(fr_array_tensor);
    for (uint32_t t = 0; t < data->tensor_count; t++)
        size_bytes += fr_payload_dims_words(fr_payload_tensor(data, t)) * sizeof(int64_t);
    return size_bytes;
}

/* Without dimensions of size 1, neighbours joined where one continues the other; 0 when elements
 * lie one after the other. Returns the words that it took. */
static size_t fr_payload_array_dims(const DLTensor *tensor, uint32_t element_bytes, int64_t *words)
{
    int64_t sizes[FR_PAYLOAD_MAX_DIMS], strides[FR_PAYLOAD_MAX_DIMS];
    uint32_t dims = 0;
    for (int32_t d = 0; d < tensor->ndim; d++) {
        int64_t size = tensor->shape[d];
        if (size == 1)
            continue; /* never stepped along: its stride means nothing */
        int64_t stride = tensor->strides[d] * (int64_t)element_bytes;
        if (dims > 0 && strides[dims - 1] == stride * size) {
            sizes[dims - 1] *= size;
            strides[dims - 1] = stride;
        } else {
            sizes[dims] = size;
            strides[dims++] = stride;
        }
    }
    if (dims == 0 || (dims == 1 && strides[0] == (int64_t)element_bytes))
        return 0;
    words[0] = dims;
    for (uint32_t d = 0; d < dims; d++) {
        words[1 + d] = sizes[d];
        words[1 + dims + d] = strides[d];
    }
    return 1 + 2 * (size_t)dims;
}

fr_array_source *fr_payload_array_source(const ovstage_write_data_t *data, uint32_t query_count,
                                         bool adopt_managed, const fr_payload *payload, void *room)
{
    fr_array_source *source = room;
    *source = (fr_array_source){.tensor_count = data->tensor_count,
                                .row_count = payload->rows.row_count,
                                .element_bytes = payload->schema.row_bytes,
                                .packed = data->tensor_count == 1,
                                .total_bytes = payload->array_bytes};
    int64_t *words = (int64_t *)(void *)&source->tensors[data->tensor_count];
    for (uint32_t t = 0; t < data->tensor_count; t++) {
        const DLTensor *tensor = fr_payload_tensor(data, t);
        fr_array_tensor *made = &source->tensors[t];
        *made = (fr_array_tensor){0};
        (void)fr_payload_array_count(tensor, source->element_bytes, &made->count);
        if (made->count > 0)
            made->base = (const unsigned char *)tensor->data + tensor->byte_offset;
        if (made->count > 1 && tensor->strides) {
            size_t taken = fr_payload_array_dims(tensor, source->element_bytes, words);
            made->dims = taken > 0 ? words : NULL;
            words += taken;
        }
        if (!data->managed_tensors)
            continue;
        /* The interface hands over ownership through a pointer to const. */
        union {
            const struct DLManagedTensorVersioned *given;
            struct DLManagedTensorVersioned *owned;
        } managed = {data->managed_tensors[t]};
        made->managed = managed.owned;
        made->adoptable =
            made->count > 0 && !made->dims &&
            fr_payload_may_adopt(data, query_count, adopt_managed, managed.given, made->base);
    }
    return source;
}
