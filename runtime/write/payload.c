#include "runtime/write/payload.h"

#include "runtime/api/placement.h"
#include "runtime/write/payload_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ovstage_api_status_t fr_payload_refuse(fr_payload *out, ovstage_api_status_t status,
                                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out->text, sizeof(out->text), format, arguments);
    va_end(arguments);
    return status;
}

/* --- the arguments around the tensors --------------------------------------------------------- */

static ovstage_api_status_t fr_payload_check_elements(const ovstage_write_data_t *data,
                                                      uint32_t query_count, fr_payload *out)
{
    if (data->index_map && data->mask)
        return fr_payload_refuse(out, FR_INVALID,
                                 "index_map and mask exclude each other, and both are given");
    if (data->count == 0 && (data->index_map || data->mask))
        return fr_payload_refuse(out, FR_INVALID, "%s needs a count, and count is 0",
                                 data->index_map ? "index_map" : "mask");
    if (data->count > query_count)
        return fr_payload_refuse(out, FR_INVALID, "count = %u is above the query's %u prims",
                                 data->count, query_count);
    out->rows.count = out->rows.selected_count = data->count ? data->count : query_count;
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_payload_check_arrays(const ovstage_write_data_t *data,
                                                    fr_payload *out)
{
    if (data->tensors && data->managed_tensors)
        return fr_payload_refuse(
            out, FR_INVALID, "tensors and managed_tensors exclude each other, and both are given");
    if (!data->tensors && !data->managed_tensors)
        return fr_payload_refuse(out, FR_INVALID, "neither tensors nor managed_tensors is given");
    if (data->tensor_count == 0)
        return fr_payload_refuse(out, FR_INVALID, "tensor_count is 0, at least 1 is needed");
    if (!data->is_array && data->tensor_count != 1)
        return fr_payload_refuse(out, FR_INVALID,
                                 "tensor_count = %u, but a fixed-size write takes just 1 tensor",
                                 data->tensor_count);
    for (uint32_t i = 0; data->managed_tensors && i < data->tensor_count; i++) {
        if (!data->managed_tensors[i])
            return fr_payload_refuse(out, FR_INVALID, "managed_tensors[%u] is NULL", i);
        if (data->managed_tensors[i]->version.major != DLPACK_MAJOR_VERSION)
            return fr_payload_refuse(out, FR_INVALID,
                                     "managed_tensors[%u] has DLPack version %u.%u, but major "
                                     "version %d is needed",
                                     i, data->managed_tensors[i]->version.major,
                                     data->managed_tensors[i]->version.minor, DLPACK_MAJOR_VERSION);
    }
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_payload_check_sync(const ovstage_write_data_t *data, fr_payload *out)
{
    if ((data->cuda_sync.stream || data->cuda_sync.wait_event) && !fr_placement_is_there())
        return fr_payload_refuse(
            out, FR_UNSUPPORTED,
            "cuda_sync {stream %#llx, wait_event %#llx}: no CUDA device is in use",
            (unsigned long long)data->cuda_sync.stream,
            (unsigned long long)data->cuda_sync.wait_event);
    return OVSTAGE_OK;
}

/* --- one tensor ------------------------------------------------------------------------------- */

ovstage_api_status_t fr_payload_check_device(const DLTensor *tensor, int32_t place, fr_payload *out)
{
    bool on_cuda = tensor->device.device_type == kDLCUDA;
    if (place != FR_PLACE_HOST && on_cuda)
        return OVSTAGE_OK;
    switch ((int)tensor->device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
    case kDLCUDAManaged:
        return OVSTAGE_OK;
    case kDLCUDA:
        return fr_payload_refuse(out, FR_UNSUPPORTED,
                                 "the tensor lies on CUDA device %d, and the write is not placed "
                                 "there: not supported by this library",
                                 (int)tensor->device.device_id);
    default:
        return fr_payload_refuse(out, FR_INVALID,
                                 "device type %d of the tensor is none of kDLCPU (1), kDLCUDA (2), "
                                 "kDLCUDAHost (3), kDLCUDAManaged (13)",
                                 (int)tensor->device.device_type);
    }
}

ovstage_api_status_t fr_payload_check_dtype(DLDataType dtype, fr_payload *out)
{
    if (dtype.bits == 0 || dtype.lanes == 0)
        return fr_payload_refuse(out, FR_INVALID, "dtype {code %u, bits %u, lanes %u} has no bytes",
                                 dtype.code, dtype.bits, dtype.lanes);
    if (dtype.code > kDLBool)
        return fr_payload_refuse(out, FR_UNSUPPORTED,
                                 "dtype code %u is above the highest known, kDLBool (%d)",
                                 dtype.code, (int)kDLBool);
    if (dtype.bits % 8 != 0 || (dtype.code == kDLBool && dtype.bits != 8))
        return fr_payload_refuse(
            out, FR_UNSUPPORTED, "dtype {code %u, bits %u}: %s", dtype.code, dtype.bits,
            dtype.code == kDLBool ? "a bool has 8 bits" : "bits must be a multiple of 8");
    out->schema.code = dtype.code;
    out->schema.bits = dtype.bits;
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_payload_check_shape(const DLTensor *tensor, fr_payload *out)
{
    if (tensor->ndim <= 0 || tensor->ndim > FR_PAYLOAD_MAX_DIMS)
        return fr_payload_refuse(out, FR_INVALID, "ndim = %d is outside 1..%d", (int)tensor->ndim,
                                 FR_PAYLOAD_MAX_DIMS);
    if (!tensor->shape)
        return fr_payload_refuse(out, FR_INVALID, "shape is NULL, but ndim = %d",
                                 (int)tensor->ndim);
    for (int32_t d = 0; d < tensor->ndim; d++) {
        if (tensor->shape[d] < 0)
            return fr_payload_refuse(out, FR_INVALID, "shape[%d] = %lld is negative", (int)d,
                                     (long long)tensor->shape[d]);
    }
    return OVSTAGE_OK;
}

/* Trailing dimensions fold into the row's width (R90). */
static ovstage_api_status_t fr_payload_fold(const DLTensor *tensor, fr_payload *out)
{
    uint64_t lanes = tensor->dtype.lanes;
    for (int32_t d = 1; d < tensor->ndim; d++) {
        uint64_t size = (uint64_t)tensor->shape[d];
        if (size == 0)
            return fr_payload_refuse(out, FR_INVALID, "shape[%d] = 0: its rows have no bytes",
                                     (int)d);
        if (__builtin_mul_overflow(lanes, size, &lanes))
            lanes = UINT64_MAX;
    }
    if (lanes > 255)
        return fr_payload_refuse(out, FR_UNSUPPORTED,
                                 "a row of %llu lanes (dtype.lanes %u, trailing dimensions folded) "
                                 "is above the limit of 255",
                                 (unsigned long long)lanes, tensor->dtype.lanes);
    out->schema.lanes = (uint16_t)lanes;
    out->schema.row_bytes = (uint32_t)lanes * tensor->dtype.bits / 8;
    return OVSTAGE_OK;
}

/* How far elements lie from row 0, either side: a quarter of the address space is enough for
 * everybody, and keeps the products that follow from overflowing. A dimension of size 1 is never
 * stepped along, so its stride means nothing. */
bool fr_payload_reach(const DLTensor *tensor, int64_t element_bytes)
{
    int64_t low = 0, high = 0;
    for (int32_t d = 0; d < tensor->ndim; d++) {
        int64_t reach = 0;
        if (tensor->shape[d] <= 1)
            continue;
        if (__builtin_mul_overflow(tensor->strides[d], element_bytes, &reach) ||
            __builtin_mul_overflow(reach, tensor->shape[d] - 1, &reach))
            return false;
        if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
    }
    return low >= INT64_MIN / 4 && high <= INT64_MAX / 4;
}

ovstage_api_status_t fr_payload_base(const DLTensor *tensor, bool any,
                                     const unsigned char **out_base, fr_payload *out)
{
    uintptr_t base = 0;
    if (!tensor->data && any)
        return fr_payload_refuse(out, FR_INVALID, "data is NULL, but shape[0] = %lld",
                                 (long long)tensor->shape[0]);
    if (__builtin_add_overflow((uintptr_t)tensor->data, (uintptr_t)tensor->byte_offset, &base))
        return fr_payload_refuse(out, FR_INVALID, "byte_offset = %llu overflows",
                                 (unsigned long long)tensor->byte_offset);
    *out_base = (const unsigned char *)base;
    return OVSTAGE_OK;
}

/* Dimensions 1.. without those of size 1, neighbours joined where one continues the other; none are
 * left when a row is contiguous. */
static void fr_payload_inner_dims(const DLTensor *tensor, fr_row_source *rows)
{
    int64_t element_bytes = rows->element_bytes;
    uint32_t dims = 0;
    for (int32_t d = 1; d < tensor->ndim; d++) {
        int64_t size = tensor->shape[d];
        if (size == 1)
            continue;
        int64_t stride_bytes = tensor->strides[d] * element_bytes;
        if (dims > 0 && rows->inner_stride_bytes[dims - 1] == stride_bytes * size) {
            rows->inner_shape[dims - 1] *= size;
            rows->inner_stride_bytes[dims - 1] = stride_bytes;
        } else {
            /* At most 7 of size 2 or more fit into 255 lanes. */
            rows->inner_shape[dims] = size;
            rows->inner_stride_bytes[dims] = stride_bytes;
            dims++;
        }
    }
    if (dims == 1 && rows->inner_stride_bytes[0] == element_bytes)
        dims = 0;
    rows->inner_dims = dims;
}

static ovstage_api_status_t fr_payload_layout(const DLTensor *tensor, fr_payload *out)
{
    fr_row_source *rows = &out->rows;
    uint32_t row_bytes = out->schema.row_bytes;
    int64_t row_count = tensor->shape[0], size_bytes = 0;
    rows->row_bytes = row_bytes;
    rows->row_count = row_count > UINT32_MAX ? UINT32_MAX : (uint32_t)row_count;
    rows->element_bytes = (uint32_t)tensor->dtype.lanes * tensor->dtype.bits / 8;
    rows->row_stride_bytes = row_bytes;
    rows->compact = true;
    if (__builtin_mul_overflow(row_count, (int64_t)row_bytes, &size_bytes))
        return fr_payload_refuse(out, FR_INVALID, "shape[0] = %lld rows of %u bytes overflow",
                                 (long long)row_count, row_bytes);
    if (tensor->strides) {
        if (!fr_payload_reach(tensor, rows->element_bytes))
            return fr_payload_refuse(out, FR_INVALID,
                                     "shape and strides reach outside the address space");
        fr_payload_inner_dims(tensor, rows);
        if (row_count > 1)
            rows->row_stride_bytes = tensor->strides[0] * (int64_t)rows->element_bytes;
        rows->compact = rows->inner_dims == 0 && rows->row_stride_bytes == (int64_t)row_bytes;
    }
    return fr_payload_base(tensor, row_count > 0, &rows->base, out);
}

/* --- rows against elements -------------------------------------------------------------------- */

static uint32_t fr_payload_selected(const uint64_t *mask, uint32_t count)
{
    uint32_t selected = 0;
    for (uint32_t word = 0; word < count / 64; word++)
        selected += (uint32_t)__builtin_popcountll(mask[word]);
    if (count % 64 != 0)
        selected +=
            (uint32_t)__builtin_popcountll(mask[count / 64] & (((uint64_t)1 << count % 64) - 1));
    return selected;
}

ovstage_api_status_t fr_payload_check_map(const ovstage_write_data_t *data, fr_payload *out)
{
    fr_row_source *rows = &out->rows;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (data->index_map[i] >= rows->row_count)
            return fr_payload_refuse(out, FR_INVALID,
                                     "index_map[%u] = %u is outside the payload's %u rows", i,
                                     data->index_map[i], rows->row_count);
    }
    rows->index_map = data->index_map;
    return OVSTAGE_OK;
}

void fr_payload_take_mask(const ovstage_write_data_t *data, fr_payload *out)
{
    out->rows.mask = data->mask;
    out->rows.selected_count = fr_payload_selected(data->mask, out->rows.count);
}

static ovstage_api_status_t fr_payload_check_rows(const ovstage_write_data_t *data,
                                                  const DLTensor *tensor, fr_payload *out)
{
    const fr_row_source *rows = &out->rows;
    if (data->index_map)
        return fr_payload_check_map(data, out);
    if (tensor->shape[0] != (int64_t)rows->count)
        return fr_payload_refuse(
            out, FR_INVALID, "shape[0] = %lld rows, but %u elements are written (%s)",
            (long long)tensor->shape[0], rows->count, data->count ? "count" : "the query's prims");
    if (data->mask)
        fr_payload_take_mask(data, out);
    return OVSTAGE_OK;
}

/* --- semantics -------------------------------------------------------------------------------- */

/* The storage that a semantic demands (R109). bits 0: any numeric type. */
typedef struct fr_semantic_demand {
    uint8_t code, bits;
    uint16_t lanes;
    bool array_only;
} fr_semantic_demand;

static const fr_semantic_demand fr_semantic_demands[] = {
    [OVSTAGE_SEMANTIC_ASSET_PATH_ID] = {kDLUInt, 64, 2, false},
    [OVSTAGE_SEMANTIC_TOKEN_ID] = {kDLUInt, 64, 1, false},
    [OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING] = {kDLUInt, 64, 1, false},
    [OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID] = {kDLUInt, 64, 1, true},
    [OVSTAGE_SEMANTIC_CONNECTION_PATH_ID] = {kDLUInt, 64, 2, true},
    [OVSTAGE_SEMANTIC_STRING] = {kDLUInt, 8, 1, true},
    [OVSTAGE_SEMANTIC_FRAME] = {0, 0, 0, false}, /* the last of the enum: the table covers it all */
};

ovstage_api_status_t fr_payload_check_semantic(const ovstage_write_data_t *data, fr_payload *out)
{
    const char *name = fr_semantic_name(data->semantic);
    if (!name)
        return fr_payload_refuse(out, FR_INVALID, "semantic = %d is outside 0..%d",
                                 (int)data->semantic, (int)OVSTAGE_SEMANTIC_FRAME);
    const fr_schema *schema = &out->schema;
    const fr_semantic_demand *demand = &fr_semantic_demands[data->semantic];
    out->schema.semantic = data->semantic;
    if (demand->array_only && !data->is_array)
        return fr_payload_refuse(out, FR_INVALID,
                                 "semantic %s needs an array column, and is_array is false", name);
    if (demand->bits != 0 && (schema->code != demand->code || schema->bits != demand->bits ||
                              schema->lanes != demand->lanes))
        return fr_payload_refuse(out, FR_INVALID, "semantic %s needs dtype %s, got %s", name,
                                 fr_dtype_tell(demand->code, demand->bits, demand->lanes).text,
                                 fr_dtype_tell(schema->code, schema->bits, schema->lanes).text);
    if (demand->bits == 0 && data->semantic != OVSTAGE_SEMANTIC_NONE &&
        (schema->code == kDLBool || schema->code == kDLOpaqueHandle))
        return fr_payload_refuse(out, FR_INVALID, "semantic %s needs a numeric dtype, got code %u",
                                 name, schema->code);
    return OVSTAGE_OK;
}

const DLTensor *fr_payload_tensor(const ovstage_write_data_t *data, uint32_t index)
{
    if (index >= data->tensor_count)
        return NULL;
    if (data->tensors)
        return &data->tensors[index];
    if (!data->managed_tensors || !data->managed_tensors[index] ||
        data->managed_tensors[index]->version.major != DLPACK_MAJOR_VERSION)
        return NULL;
    return &data->managed_tensors[index]->dl_tensor;
}

/* --- all together ----------------------------------------------------------------------------- */

bool fr_payload_may_adopt(const ovstage_write_data_t *data, uint32_t query_count,
                          bool adopt_managed, const struct DLManagedTensorVersioned *managed,
                          const unsigned char *base)
{
    bool wanted = adopt_managed || (managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
    bool all = !data->index_map && !data->mask && (data->count == 0 || data->count == query_count);
    return wanted && all && (uintptr_t)base % FR_PAYLOAD_ADOPT_ALIGNMENT == 0 &&
           managed->dl_tensor.device.device_type != kDLCUDAManaged;
}

static void fr_payload_offer_adoption(const ovstage_write_data_t *data, uint32_t query_count,
                                      bool adopt_managed, fr_payload *out)
{
    if (!data->managed_tensors)
        return;
    /* The interface hands over ownership through a pointer to const: the stage is the owner now. */
    union {
        const struct DLManagedTensorVersioned *given;
        struct DLManagedTensorVersioned *owned;
    } managed = {data->managed_tensors[0]};
    if (out->rows.compact &&
        fr_payload_may_adopt(data, query_count, adopt_managed, managed.given, out->rows.base))
        out->rows.adoptable = managed.owned;
}

static ovstage_api_status_t fr_payload_check_tensor(const ovstage_write_data_t *data, int32_t place,
                                                    fr_payload *out)
{
    const DLTensor *tensor = fr_payload_tensor(data, 0);
    ovstage_api_status_t status = fr_payload_check_device(tensor, place, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_check_dtype(tensor->dtype, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_check_shape(tensor, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_fold(tensor, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_check_semantic(data, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_layout(tensor, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_check_rows(data, tensor, out);
    return status;
}

ovstage_api_status_t fr_payload_check(const ovstage_write_data_t *data, uint32_t query_count,
                                      bool adopt_managed, int32_t place, fr_payload *out)
{
    memset(&out->schema, 0, sizeof(out->schema));
    memset(&out->rows, 0, sizeof(out->rows));
    out->array_bytes = 0;
    ovstage_api_status_t status = fr_payload_check_arrays(data, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_check_elements(data, query_count, out);
    if (status == OVSTAGE_OK && place == FR_PLACE_HOST)
        status = fr_payload_check_sync(data, out);
    if (status == OVSTAGE_OK && data->is_array)
        return fr_payload_check_array(data, place, out);
    if (status == OVSTAGE_OK)
        status = fr_payload_check_tensor(data, place, out);
    if (status == OVSTAGE_OK)
        fr_payload_offer_adoption(data, query_count, adopt_managed, out);
    return status;
}

/* --- copies of the maps ----------------------------------------------------------------------- */

size_t fr_payload_map_bytes(const fr_row_source *rows)
{
    if (rows->mask)
        return ((size_t)rows->count + 63) / 64 * sizeof(uint64_t);
    return rows->index_map ? ((size_t)rows->count * sizeof(uint32_t) + 7) / 8 * 8 : 0;
}

void fr_payload_keep_maps(fr_row_source *rows, void *room)
{
    if (rows->mask) {
        uint64_t *mask = room;
        memcpy(mask, rows->mask, fr_payload_map_bytes(rows));
        if (rows->count % 64 != 0)
            mask[rows->count / 64] &= ((uint64_t)1 << rows->count % 64) - 1;
        rows->mask = mask;
    } else if (rows->index_map) {
        memcpy(room, rows->index_map, (size_t)rows->count * sizeof(uint32_t));
        rows->index_map = room;
    }
}
