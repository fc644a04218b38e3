/* The stage's side of a client. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/devices/client.h"

enum { PATH_BYTES = 24 };

ovx_token_t client_token(client *self, const char *name)
{
    ovx_string_t text = {name, strlen(name)};
    ovx_token_t token = 0;
    if (path_dictionary_create_tokens_from_strings(self->dictionary, &text, 1, &token).status !=
        OVX_API_SUCCESS)
        client_fail(self, "no token for %s", name);
    return token;
}

ovstage_query_handle_t client_query(client *self, const uint32_t *numbers, uint32_t count)
{
    ovx_primpath_list_t list = 0;
    ovstage_query_handle_t query = 0;
    char(*texts)[PATH_BYTES] = malloc(count * sizeof(*texts));
    ovx_string_t *paths = malloc(count * sizeof(*paths));
    for (uint32_t k = 0; texts && paths && k < count; k++) {
        int length = snprintf(texts[k], PATH_BYTES, "/P/%u", numbers ? numbers[k] : k);
        paths[k] = (ovx_string_t){texts[k], (size_t)length};
    }
    if (!texts || !paths ||
        path_dictionary_create_path_list_from_strings(self->dictionary, paths, count, &list)
                .status != OVX_API_SUCCESS)
        client_fail(self, "no list of %u paths", count);
    client_accepted(self, ovstage_query_from_path_list(self->stage, list, &query),
                    "ovstage_query_from_path_list");
    (void)path_dictionary_release_path_list_reference(self->dictionary, list);
    free(paths);
    free(texts);
    return query;
}

ovstage_placement_t client_place(int device, fr_cu_stream stream, fr_cu_event event)
{
    ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;
    placement.device = (DLDevice){kDLCUDA, device};
    placement.stream = (uintptr_t)stream;
    placement.availability_event = (uintptr_t)event;
    return placement;
}

DLTensor client_tensor(DLDevice device, const void *memory, int64_t *shape, uint16_t width)
{
    return (DLTensor){
        .data = (void *)(uintptr_t)memory,
        .device = device,
        .ndim = 1,
        .dtype = {kDLFloat, 32, width},
        .shape = shape,
    };
}

ovstage_enqueue_result_t client_write(client *self, ovstage_query_handle_t query,
                                      ovx_token_t attribute, uint64_t ordinal,
                                      ovstage_write_data_t data,
                                      const ovstage_placement_t *placement)
{
    ovstage_enqueue_result_t result = ovstage_write_attribute_on_device(
        self->stage, query, (ovx_string_or_token_t){.token = attribute}, ordinal, data,
        OVSTAGE_PRIM_MODE_UPSERT, placement);
    client_accepted(self, result.status, "a write");
    return result;
}

ovstage_enqueue_result_t client_write_floats(client *self, ovstage_query_handle_t query,
                                             ovx_token_t attribute, uint64_t ordinal,
                                             const client_source *from, ovstage_cuda_sync_t sync,
                                             const ovstage_placement_t *placement)
{
    int64_t count = from->count;
    DLTensor tensor = client_tensor((DLDevice){kDLCUDA, from->device},
                                    (const void *)(uintptr_t)from->memory, &count, 1);
    ovstage_write_data_t data = {.tensors = &tensor, .tensor_count = 1, .cuda_sync = sync};
    return client_write(self, query, attribute, ordinal, data, placement);
}

void client_finish(client *self, ovstage_enqueue_result_t result)
{
    ovstage_op_wait_result_t outcome = {0};
    if (!client_accepted(self, result.status, "a submission"))
        return;
    ovstage_api_status_t status =
        ovstage_wait_op(self->stage, result.op_index, OVSTAGE_TIMEOUT_INFINITE, &outcome);
    client_accepted(self, status, "ovstage_wait_op");
    if (outcome.error_op_id_count > 0) {
        ovx_string_t text = ovstage_get_last_op_error(self->stage, outcome.error_op_ids[0]);
        client_fail(self, "an operation failed: %.*s", (int)text.length, text.ptr ? text.ptr : "");
    }
    client_accepted(self, ovstage_release_op(self->stage, result.op_index), "ovstage_release_op");
}

bool client_is_pending(client *self, ovstage_enqueue_result_t result)
{
    ovstage_op_wait_result_t outcome = {0};
    return ovstage_wait_op(self->stage, result.op_index, 0, &outcome) == OVSTAGE_ERROR_TIMEOUT;
}

void client_seal(client *self, uint64_t ordinal)
{
    const ovstage_write_floor_desc_t floor = {.ordinal = ordinal, .scope = OVSTAGE_SCOPE_ALL};
    client_finish(self, ovstage_advance_write_floor(self->stage, &floor));
}

/* --- Reading. --- */

static bool fetch(client *self, ovstage_read_handle_t read, ovstage_read_group_t *group)
{
    ovstage_api_status_t status =
        ovstage_fetch_read_next(self->stage, read, OVSTAGE_TIMEOUT_INFINITE, group);
    if (status != OVSTAGE_OK && status != OVSTAGE_ERROR_END_OF_ITERATION)
        client_accepted(self, status, "ovstage_fetch_read_next");
    return status == OVSTAGE_OK;
}

static ovstage_read_handle_t begin_read(client *self, ovstage_query_handle_t query,
                                        ovx_token_t attribute, ovstage_ordinal_range_t range,
                                        const ovstage_placement_t *placement)
{
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t result = ovstage_read_attributes_on_device(
        self->stage, query, &attribute, 1, range, placement, &read);
    client_finish(self, result);
    return result.status == OVSTAGE_OK ? read : 0;
}

/* One tensor: `count` rows of a fixed column, or the elements of one row. */
static void show_tensor(client *self, const DLTensor *tensor, size_t float_count,
                        fr_cu_stream consumer, client_shown *out)
{
    if (out->value_count + float_count > CLIENT_MOST_VALUES) {
        client_fail(self, "a read shows more than %d values", CLIENT_MOST_VALUES);
        return;
    }
    float *to = &out->values[out->value_count];
    const char *from = (const char *)tensor->data + tensor->byte_offset;
    bool on_device = tensor->device.device_type == kDLCUDA;
    if (on_device != (consumer != NULL))
        client_fail(self, "rows are shown on device type %d", (int)tensor->device.device_type);
    else if (on_device && float_count > 0)
        client_download(self, consumer, to, (uintptr_t)from, float_count * sizeof(float));
    else if (float_count > 0)
        memcpy(to, from, float_count * sizeof(float));
    out->value_count += (uint32_t)float_count;
}

static void show_group(client *self, const ovstage_read_group_t *group, fr_cu_stream consumer,
                       client_shown *out)
{
    const ovstage_prim_group_t *prims = &group->prims;
    const DLTensor *tensors = group->data.tensors;
    if (out->prim_count + prims->count > CLIENT_MOST_VALUES || group->data.index_map) {
        client_fail(self, "a group of %u rows cannot be shown", prims->count);
        return;
    }
    for (uint32_t k = 0; k < prims->count; k++) {
        uint32_t at = out->prim_count + k;
        out->positions[at] = prims->index_map ? prims->index_map[k] : prims->offset + k;
        out->lengths[at] = 0;
        if (group->data.tensor_count > 0)
            out->lengths[at] =
                group->is_array ? (uint32_t)tensors[k].shape[0] : tensors[0].dtype.lanes;
    }
    for (uint32_t k = 0; k < group->data.tensor_count; k++)
        show_tensor(self, &tensors[k], (size_t)tensors[k].shape[0] * tensors[k].dtype.lanes,
                    consumer, out);
    out->prim_count += prims->count;
}

static fr_cu_stream consumer_on(client *self, int device)
{
    if (!self->consumers[device])
        self->consumers[device] = client_stream(self, device);
    client_use(self, device);
    return self->consumers[device];
}

void client_show(client *self, ovstage_query_handle_t query, ovx_token_t attribute,
                 ovstage_ordinal_range_t range, const ovstage_placement_t *placement,
                 client_shown *out)
{
    ovstage_read_group_t group = {0};
    fr_cu_stream consumer = NULL;
    out->prim_count = out->value_count = 0;
    ovstage_read_handle_t read = begin_read(self, query, attribute, range, placement);
    if (!read)
        return;
    if (placement)
        consumer = consumer_on(self, placement->device.device_id);
    bool more = fetch(self, read, &group);
    if (more && placement && placement->availability_event)
        client_wait_event(self, consumer, (fr_cu_event)placement->availability_event);
    for (; more; more = fetch(self, read, &group)) {
        show_group(self, &group, consumer, out);
        client_release_group(self, &group);
    }
    client_finish(self, ovstage_release_read(self->stage, read));
}

bool client_same(const client_shown *a, const client_shown *b)
{
    return a->prim_count == b->prim_count && a->value_count == b->value_count &&
           memcmp(a->positions, b->positions, a->prim_count * sizeof(a->positions[0])) == 0 &&
           memcmp(a->lengths, b->lengths, a->prim_count * sizeof(a->lengths[0])) == 0 &&
           memcmp(a->values, b->values, a->value_count * sizeof(a->values[0])) == 0;
}

bool client_counts_up(const client_shown *shown, uint32_t count, float first)
{
    bool right = shown->value_count == count;
    for (uint32_t k = 0; right && k < count; k++)
        right = shown->values[k] == first + (float)k;
    return right;
}

ovstage_read_group_t client_hold_group(client *self, ovstage_query_handle_t query,
                                       ovx_token_t attribute, uint64_t ordinal,
                                       const ovstage_placement_t *placement)
{
    ovstage_read_group_t group = {0};
    ovstage_read_handle_t read = begin_read(
        self, query, attribute, (ovstage_ordinal_range_t){.end_ordinal = ordinal}, placement);
    if (read && !fetch(self, read, &group))
        client_fail(self, "a read at ordinal %llu has no group", (unsigned long long)ordinal);
    if (read)
        client_finish(self, ovstage_release_read(self->stage, read));
    return group;
}

void client_release_group(client *self, const ovstage_read_group_t *group)
{
    if (group->read_group_id != 0)
        client_accepted(self, ovstage_release_group(self->stage, group), "ovstage_release_group");
}
