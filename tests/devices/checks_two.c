/* Columns on one device whose rows come from another, or go there. */
#include "tests/devices/checks.h"

enum { PRIMS = 40 };

/* The values, read on each device and on the host. */
static void expect_everywhere(client *self, ovstage_query_handle_t query, ovx_token_t attribute,
                              uint64_t ordinal, uint32_t count, float first)
{
    client_shown shown;
    const ovstage_ordinal_range_t range = {.end_ordinal = ordinal};
    for (int device = 0; device < CLIENT_DEVICES; device++) {
        ovstage_placement_t place = client_place(device, NULL, client_event(self, device));
        client_show(self, query, attribute, range, &place, &shown);
        CLIENT_CHECK(self, client_counts_up(&shown, count, first));
    }
    client_show(self, query, attribute, range, NULL, &shown);
    CLIENT_CHECK(self, client_counts_up(&shown, count, first));
}

/* Rows of `source` to a column that lies on `place`, or will. */
static void write_from(client *self, ovstage_query_handle_t query, ovx_token_t attribute,
                       uint64_t ordinal, int source, int place, float first)
{
    fr_cu_stream producer = client_stream(self, source);
    client_source data = client_source_make(self, source, PRIMS);
    ovstage_placement_t placement = client_place(place, NULL, client_event(self, place));
    client_produce(self, producer, &data, first);
    client_finish(self,
                  client_write_floats(self, query, attribute, ordinal, &data,
                                      (ovstage_cuda_sync_t){(uintptr_t)producer, 0}, &placement));
}

void check_written_here_read_there(client *self)
{
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS);
    ovx_token_t attribute = client_token(self, "values");
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        write_from(self, all, attribute, ordinal, 0, 0, 10 * (float)ordinal);
        client_seal(self, ordinal);
        expect_everywhere(self, all, attribute, ordinal, PRIMS, 10 * (float)ordinal);
        expect_everywhere(self, all, attribute, ordinal, PRIMS, 10 * (float)ordinal);
    }
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++)
        expect_everywhere(self, all, attribute, ordinal, PRIMS, 10 * (float)ordinal);
}

void check_column_on_the_other_device(client *self)
{
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS);
    ovx_token_t attribute = client_token(self, "values");
    for (uint64_t ordinal = 1; ordinal <= 8; ordinal++) {
        write_from(self, all, attribute, ordinal, (int)(ordinal % 2), (int)(ordinal / 2 % 2),
                   10 * (float)ordinal);
        client_seal(self, ordinal);
        expect_everywhere(self, all, attribute, ordinal, PRIMS, 10 * (float)ordinal);
    }
}

/* The session's buffer is on device 1, the column on device 0. */
void check_map_of_another_device(client *self)
{
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS);
    ovx_token_t attribute = client_token(self, "values");
    fr_cu_stream producer = client_stream(self, 1);
    client_source rows = client_source_make(self, 1, PRIMS);
    const ovstage_map_desc_t desc = {.attribute = {.token = attribute}, .dtype = {kDLFloat, 32, 1}};
    ovstage_placement_t place = client_place(1, NULL, NULL);
    ovstage_map_handle_t map = 0;
    ovstage_map_group_t group = {0};
    write_from(self, all, attribute, 1, 0, 0, 1);
    client_seal(self, 1);
    ovstage_enqueue_result_t mapped =
        ovstage_map_attribute_on_device(self->stage, all, &desc, 2, NULL, 0, &place, &map);
    client_accepted(self, mapped.status, "ovstage_map_attribute_on_device");
    ovstage_api_status_t status =
        ovstage_fetch_map_next(self->stage, map, OVSTAGE_TIMEOUT_INFINITE, &group);
    if (!client_accepted(self, status, "ovstage_fetch_map_next"))
        return;
    CLIENT_CHECK(self, group.data.tensors[0].device.device_id == 1);
    client_produce_into(self, producer, (uintptr_t)group.data.tensors[0].data, &rows, 60);
    ovstage_cuda_sync_t done = {(uintptr_t)producer, 0};
    client_finish(self, ovstage_unmap_attribute(self->stage, map, done));
    client_finish(self, mapped);
    client_seal(self, 2);
    expect_everywhere(self, all, attribute, 2, PRIMS, 60);
}

/* Arrays of two elements a row. */
void check_arrays_of_another_device(client *self)
{
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS);
    ovx_token_t attribute = client_token(self, "values");
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        int source = (int)(ordinal % 2), place = (int)(ordinal / 2 % 2);
        fr_cu_stream producer = client_stream(self, source);
        client_source data = client_source_make(self, source, 2 * PRIMS);
        int64_t shape[2] = {PRIMS, 2};
        ovstage_placement_t placement = client_place(place, NULL, client_event(self, place));
        DLTensor tensor = client_tensor((DLDevice){kDLCUDA, source},
                                        (const void *)(uintptr_t)data.memory, shape, 1);
        tensor.ndim = 2;
        ovstage_write_data_t passed = {.tensors = &tensor,
                                       .tensor_count = 1,
                                       .cuda_sync = {(uintptr_t)producer, 0},
                                       .is_array = true};
        client_produce(self, producer, &data, 100 * (float)ordinal);
        client_finish(self, client_write(self, all, attribute, ordinal, passed, &placement));
        client_seal(self, ordinal);
        expect_everywhere(self, all, attribute, ordinal, 2 * PRIMS, 100 * (float)ordinal);
    }
}
