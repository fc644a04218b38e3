#include "runtime/align/align.h"

#include <string.h>

#include "runtime/api/error.h"
#include "scheduler/memory.h"

typedef struct fr_align_block {
    _Alignas(64) size_t size_bytes; /* with this header */
} fr_align_block;

void *fr_align_block_make(size_t size_bytes)
{
    if (size_bytes > SIZE_MAX / 2)
        return NULL;
    fr_align_block *block =
        fr_memory_allocate_zero(&fr_allocator_default, sizeof(*block) + size_bytes, 64);
    if (!block)
        return NULL;
    block->size_bytes = sizeof(*block) + size_bytes;
    return block + 1;
}

void fr_align_block_free(void *block)
{
    if (!block)
        return;
    fr_align_block *header = (fr_align_block *)block - 1;
    fr_memory_release(&fr_allocator_default, header, header->size_bytes);
}

/* --- checks ----------------------------------------------------------------------------------- */

static ovstage_api_status_t fr_align_check_tensor(const DLTensor *tensor, size_t g, size_t t)
{
    int type = (int)tensor->device.device_type;
    if (type == kDLCUDA)
        return fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED,
                            "groups[%zu]: tensor %zu lies on CUDA device %d, and only host memory "
                            "is aligned",
                            g, t, (int)tensor->device.device_id);
    if (type != kDLCPU && type != kDLCUDAHost && type != kDLCUDAManaged)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "groups[%zu]: device type %d of tensor %zu is none of kDLCPU (1), "
                            "kDLCUDA (2), kDLCUDAHost (3), kDLCUDAManaged (13)",
                            g, type, t);
    bool compact = tensor->ndim == 1 && tensor->shape && tensor->shape[0] >= 0 &&
                   (!tensor->strides || tensor->strides[0] == 1 || tensor->shape[0] <= 1);
    if (!compact || tensor->dtype.bits % 8 != 0 || fr_align_element_bytes(tensor->dtype) == 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "groups[%zu]: tensor %zu is not compact and of one dimension, as reads "
                            "hand them out (ndim %d)",
                            g, t, (int)tensor->ndim);
    if (!tensor->data && tensor->shape[0] > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "groups[%zu]: tensor %zu has no data, but %lld elements", g, t,
                            (long long)tensor->shape[0]);
    return OVSTAGE_OK;
}

/* Every row that a prim names is there. */
static ovstage_api_status_t fr_align_check_rows(const ovstage_read_group_t *group, size_t g)
{
    uint64_t rows =
        group->is_array ? group->data.tensor_count : (uint64_t)group->data.tensors[0].shape[0];
    for (uint32_t i = 0; i < group->prims.count; i++)
        if (fr_align_row(group, i) >= rows)
            return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                "groups[%zu]: prim %u has row %u of %llu", g, i,
                                fr_align_row(group, i), (unsigned long long)rows);
    return OVSTAGE_OK;
}

static ovstage_api_status_t fr_align_check_group(const ovalign_request_t *request, size_t g)
{
    const ovstage_read_group_t *group = &request->groups[g];
    if (group->prims.list != request->prim_list)
        return fr_error_set(
            OVSTAGE_ERROR_INVALID_ARGUMENT, "groups[%zu] is of path list %llu, not of %llu", g,
            (unsigned long long)group->prims.list, (unsigned long long)request->prim_list);
    if (!group->prims.index_map && group->prims.offset > UINT32_MAX - group->prims.count)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "groups[%zu]: offset %u and count %u overflow", g, group->prims.offset,
                            group->prims.count);
    if (group->prims.count == 0)
        return OVSTAGE_OK;
    if (!group->data.tensors || group->data.tensor_count == 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "groups[%zu] has no tensors", g);
    if (group->data.index_map && group->data.count < group->prims.count)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "groups[%zu] has %u prims, but data.count = %u: its index_map has less "
                            "entries than prims",
                            g, group->prims.count, group->data.count);
    if (!group->is_array && group->data.tensor_count != 1)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "groups[%zu] is of fixed size and has %u tensors instead of 1", g,
                            group->data.tensor_count);
    for (uint32_t t = 0; t < group->data.tensor_count; t++) {
        ovstage_api_status_t status = fr_align_check_tensor(&group->data.tensors[t], g, t);
        if (status != OVSTAGE_OK)
            return status;
    }
    return fr_align_check_rows(group, g);
}

static bool fr_align_is_wanted(const ovalign_request_t *request, const ovstage_read_group_t *group)
{
    for (size_t a = 0; a < request->attr_count; a++)
        if (request->attributes[a] == group->attribute)
            return true;
    return false;
}

static ovstage_api_status_t fr_align_check_array(const void *array, size_t count, const char *what)
{
    if (array || count == 0)
        return OVSTAGE_OK;
    return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "%s is NULL, its count %zu", what, count);
}

static ovstage_api_status_t fr_align_check(const ovalign_request_t *request)
{
    ovstage_api_status_t status =
        fr_align_check_array(request->groups, request->group_count, "groups");
    if (status == OVSTAGE_OK)
        status = fr_align_check_array(request->attributes, request->attr_count, "attributes");
    if (status == OVSTAGE_OK)
        status = fr_align_check_array(request->prim_order, request->prim_order_count, "prim_order");
    if (status == OVSTAGE_OK && request->device != OVALIGN_DEVICE_CPU)
        status = fr_error_set(OVSTAGE_ERROR_NOT_SUPPORTED,
                              "device %d: only host memory (0) is aligned", (int)request->device);
    for (size_t a = 0; a < request->attr_count && status == OVSTAGE_OK; a++)
        for (size_t b = 0; b < a && status == OVSTAGE_OK; b++)
            if (request->attributes[a] == request->attributes[b])
                status = fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                                      "attributes[%zu] and attributes[%zu] are the same", b, a);
    for (size_t g = 0; g < request->group_count && status == OVSTAGE_OK; g++)
        if (!request->groups[g].is_delete && fr_align_is_wanted(request, &request->groups[g]))
            status = fr_align_check_group(request, g);
    return status;
}

/* --- already aligned -------------------------------------------------------------------------- */

static bool fr_align_same_prims(const ovstage_read_group_t *a, const ovstage_read_group_t *b)
{
    if (a->prims.count != b->prims.count)
        return false;
    if (!a->prims.index_map && !b->prims.index_map)
        return a->prims.offset == b->prims.offset;
    if (!a->prims.index_map || !b->prims.index_map)
        return false;
    return a->prims.index_map == b->prims.index_map ||
           memcmp(a->prims.index_map, b->prims.index_map,
                  a->prims.count * sizeof(*a->prims.index_map)) == 0;
}

/* The groups of one attribute, if they lie together in the request. */
static bool fr_align_run(const ovalign_request_t *request, ovx_token_t attribute,
                         ovalign_attr_result_t *out)
{
    size_t first = 0, count = 0;
    for (size_t g = 0; g < request->group_count; g++) {
        if (request->groups[g].attribute != attribute)
            continue;
        if (request->groups[g].is_delete || (count > 0 && g != first + count))
            return false;
        first = count == 0 ? g : first;
        count++;
    }
    *out = (ovalign_attr_result_t){count > 0 ? &request->groups[first] : NULL, count};
    return true;
}

static bool fr_align_in_order(const ovalign_request_t *request, const ovalign_attr_result_t *attr)
{
    if (!request->prim_order)
        return true;
    size_t next = 0;
    for (size_t g = 0; g < attr->group_count; g++)
        for (uint32_t i = 0; i < attr->groups[g].prims.count; i++, next++)
            if (next >= request->prim_order_count ||
                request->prim_order[next] != fr_align_position(&attr->groups[g], i))
                return false;
    return next == request->prim_order_count;
}

static bool fr_align_is_done(const ovalign_request_t *request, ovalign_attr_result_t *attrs)
{
    for (size_t a = 0; a < request->attr_count; a++) {
        if (!fr_align_run(request, request->attributes[a], &attrs[a]) ||
            attrs[a].group_count != attrs[0].group_count)
            return false;
        for (size_t g = 0; a > 0 && g < attrs[0].group_count; g++)
            if (!fr_align_same_prims(&attrs[0].groups[g], &attrs[a].groups[g]))
                return false;
    }
    return request->attr_count == 0 || fr_align_in_order(request, &attrs[0]);
}

static ovstage_api_status_t fr_align(const ovalign_request_t *request, ovalign_result_t *out)
{
    ovstage_api_status_t status = fr_align_check(request);
    if (status != OVSTAGE_OK)
        return status;
    if (request->attr_count == 0) {
        out->skipped = true;
        return OVSTAGE_OK;
    }
    ovalign_attr_result_t *attrs = NULL;
    if (request->attr_count <= SIZE_MAX / 2 / sizeof(*attrs))
        attrs = fr_align_block_make(request->attr_count * sizeof(*attrs));
    if (!attrs)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory to align %zu attributes",
                            request->attr_count);
    if (!fr_align_is_done(request, attrs)) {
        fr_align_block_free(attrs);
        return fr_align_gather(request, out);
    }
    *out = (ovalign_result_t){attrs, request->attr_count, attrs[0].group_count, true};
    return OVSTAGE_OK;
}

int ovalign_align(const ovalign_request_t *request, ovalign_result_t *out)
{
    if (out)
        memset(out, 0, sizeof(*out));
    if (!request || !out)
        return (int)fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "%s is NULL",
                                 request ? "out" : "request");
    return (int)fr_align(request, out);
}

void ovalign_release(ovalign_result_t *result)
{
    if (!result)
        return;
    fr_align_block_free((void *)(uintptr_t)result->attrs);
    memset(result, 0, sizeof(*result));
}
