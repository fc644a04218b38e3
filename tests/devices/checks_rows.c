/* Values of columns on a device: what is read of them is what the same writes make of a column of
 * the host. */
#include <stdio.h>
#include <string.h>

#include "tests/devices/checks.h"

enum { PRIMS = 40, WIDTH = 3 };

/* Two columns that get the same writes. */
typedef struct both {
    client *self;
    ovx_token_t on_device, on_host;
    fr_cu_stream producer;
} both;

static both both_of(client *self)
{
    return (both){self, client_token(self, "on a device"), client_token(self, "on the host"),
                  client_stream(self, 0)};
}

/* `rows` rows of WIDTH floats that count up. `data` says how they are spread; its tensor is made
 * here, with that stride. */
static void write_both(const both *to, ovstage_query_handle_t query, uint64_t ordinal,
                       ovstage_write_data_t data, uint32_t rows, int64_t stride, float first)
{
    client *self = to->self;
    float values[PRIMS * WIDTH * 2];
    uint32_t floats = rows * WIDTH * (uint32_t)stride;
    int64_t shape = rows, strides = stride;
    ovstage_placement_t place = client_place(0, NULL, client_event(self, 0));
    client_source source = client_source_make(self, 0, floats);
    for (uint32_t k = 0; k < floats; k++)
        values[k] = first + (float)k;
    DLTensor tensor = client_tensor((DLDevice){kDLCPU, 0}, values, &shape, WIDTH);
    tensor.strides = stride == 1 ? NULL : &strides;
    data.tensors = &tensor;
    data.tensor_count = 1;
    client_finish(self, client_write(self, query, to->on_host, ordinal, data, NULL));
    client_produce(self, to->producer, &source, first);
    tensor.data = (void *)(uintptr_t)source.memory;
    tensor.device = place.device;
    data.cuda_sync.stream = (uintptr_t)to->producer;
    client_finish(self, client_write(self, query, to->on_device, ordinal, data, &place));
}

/* Read on the device, and on the host. */
static void expect_same(const both *of, ovstage_query_handle_t query, ovstage_ordinal_range_t range)
{
    client *self = of->self;
    static client_shown wanted, shown;
    ovstage_placement_t place = client_place(0, NULL, client_event(self, 0));
    client_show(self, query, of->on_host, range, NULL, &wanted);
    client_show(self, query, of->on_device, range, &place, &shown);
    if (!client_same(&wanted, &shown))
        client_fail(self, "ordinals %llu to %llu on the device: not as on the host",
                    (unsigned long long)range.start_ordinal, (unsigned long long)range.end_ordinal);
    client_show(self, query, of->on_device, range, NULL, &shown);
    if (!client_same(&wanted, &shown))
        client_fail(self, "ordinals %llu to %llu brought to the host: not as on the host",
                    (unsigned long long)range.start_ordinal, (unsigned long long)range.end_ordinal);
}

static void expect_same_at(const both *of, ovstage_query_handle_t query, uint64_t ordinal)
{
    expect_same(of, query, (ovstage_ordinal_range_t){.end_ordinal = ordinal});
    expect_same(of, query, (ovstage_ordinal_range_t){ordinal, ordinal, true});
}

/* All rows and some, in any order, masked, mapped, strided, of new keys too. */
void check_rows(client *self)
{
    static const uint32_t few[] = {29, 2, 11}, others[] = {3, 39, 0, 7, 20};
    static const uint32_t map[] = {2, 0, 2};
    static const uint64_t mask[] = {0x8000100105u};
    const both to = both_of(self);
    const ovstage_write_data_t plain = {0}, mapped = {.index_map = map, .count = 3},
                               masked = {.mask = mask, .count = PRIMS};
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS), some = client_query(self, few, 3),
                           mixed = client_query(self, others, 5),
                           more = client_query(self, NULL, PRIMS + 5);
    write_both(&to, all, 1, plain, PRIMS, 1, 1000);
    client_seal(self, 1);
    write_both(&to, some, 2, plain, 3, 1, 2000);
    write_both(&to, all, 3, masked, PRIMS, 1, 3000);
    write_both(&to, some, 3, mapped, 3, 1, 3500);
    write_both(&to, mixed, 4, plain, 5, 2, 4000);
    client_seal(self, 4);
    write_both(&to, more, 5, (ovstage_write_data_t){.index_map = map, .count = 3}, 3, 1, 5000);
    write_both(&to, client_query(self, (const uint32_t[]){41, 5, 43}, 3), 5, plain, 3, 2, 5500);
    client_seal(self, 5);
    for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
        expect_same_at(&to, all, ordinal);
        expect_same_at(&to, mixed, ordinal);
        expect_same_at(&to, more, ordinal);
    }
    expect_same(&to, all, (ovstage_ordinal_range_t){2, 5, true});
}

/* Rows of the host to a column on a device, from pageable memory that is written over as soon as
 * the operation is complete. */
void check_rows_of_the_host(client *self)
{
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS);
    ovx_token_t attribute = client_token(self, "values");
    ovstage_placement_t place = client_place(0, NULL, NULL);
    int64_t count = PRIMS;
    float values[PRIMS];
    client_shown shown;
    for (uint64_t ordinal = 1; ordinal <= 6; ordinal++) {
        DLTensor tensor = client_tensor((DLDevice){kDLCPU, 0}, values, &count, 1);
        ovstage_write_data_t data = {.tensors = &tensor, .tensor_count = 1};
        for (int k = 0; k < PRIMS; k++)
            values[k] = 100 * (float)ordinal + (float)k;
        /* The first makes the column a device's; of the later ones some are not placed. */
        client_finish(self, client_write(self, all, attribute, ordinal, data,
                                         ordinal % 2 == 1 ? &place : NULL));
        memset(values, 0xff, sizeof(values));
        client_seal(self, ordinal);
        client_show(self, all, attribute, (ovstage_ordinal_range_t){.end_ordinal = ordinal}, &place,
                    &shown);
        CLIENT_CHECK(self, client_counts_up(&shown, PRIMS, 100 * (float)ordinal));
        client_show(self, all, attribute, (ovstage_ordinal_range_t){.end_ordinal = ordinal}, NULL,
                    &shown);
        CLIENT_CHECK(self, client_counts_up(&shown, PRIMS, 100 * (float)ordinal));
    }
}

/* Rows on a device to a column of the host. */
void check_column_of_the_host(client *self)
{
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS);
    ovx_token_t attribute = client_token(self, "values");
    fr_cu_stream producer = client_stream(self, 0);
    client_source data = client_source_make(self, 0, PRIMS);
    ovstage_placement_t place = client_place(0, NULL, NULL);
    int64_t count = PRIMS;
    float values[PRIMS] = {0};
    DLTensor tensor = client_tensor((DLDevice){kDLCPU, 0}, values, &count, 1);
    ovstage_write_data_t plain = {.tensors = &tensor, .tensor_count = 1};
    client_shown shown;
    client_finish(self, client_write(self, all, attribute, 1, plain, NULL));
    client_seal(self, 1);
    DLTensor there = client_tensor(place.device, (const void *)(uintptr_t)data.memory, &count, 1);
    for (uint64_t ordinal = 2; ordinal <= 5; ordinal++) {
        ovstage_write_data_t passed = {
            .tensors = &there, .tensor_count = 1, .cuda_sync = {(uintptr_t)producer, 0}};
        client_produce(self, producer, &data, 7 * (float)ordinal);
        client_finish(self, client_write(self, all, attribute, ordinal, passed, NULL));
        client_seal(self, ordinal);
        for (int on_device = 0; on_device < 2; on_device++) {
            client_show(self, all, attribute, (ovstage_ordinal_range_t){.end_ordinal = ordinal},
                        on_device ? &place : NULL, &shown);
            CLIENT_CHECK(self, client_counts_up(&shown, PRIMS, 7 * (float)ordinal));
        }
    }
}

/* Each moment stays as it was. */
enum { MOMENTS = 12 };

void check_history(client *self)
{
    const both to = both_of(self);
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS);
    for (uint64_t ordinal = 1; ordinal <= MOMENTS; ordinal++) {
        uint32_t numbers[3] = {(uint32_t)ordinal % PRIMS, (uint32_t)(ordinal * 7) % PRIMS, 39};
        bool whole = ordinal % 4 == 1;
        write_both(&to, whole ? all : client_query(self, numbers, 3), ordinal,
                   (ovstage_write_data_t){0}, whole ? PRIMS : 3, 1, 1000 * (float)ordinal);
        if (ordinal % 3 != 2)
            client_seal(self, ordinal);
    }
    for (uint64_t ordinal = 1; ordinal <= MOMENTS; ordinal++)
        expect_same_at(&to, all, ordinal);
    expect_same(&to, all, (ovstage_ordinal_range_t){4, 11, true});
}

/* The client fills the stage's buffer on the device. */
void check_map(client *self)
{
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS);
    ovx_token_t attribute = client_token(self, "values");
    fr_cu_stream producer = client_stream(self, 0);
    client_source rows = client_source_make(self, 0, PRIMS - 1);
    fr_cu_event produced = client_event(self, 0), committed = client_event(self, 0);
    ovstage_placement_t place = client_place(0, NULL, committed);
    const ovstage_map_desc_t desc = {.attribute = {.token = attribute}, .dtype = {kDLFloat, 32, 1}};
    client_shown shown;
    for (uint64_t ordinal = 1; ordinal <= 4 && self->failure[0] == '\0'; ordinal++) {
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {0};
        ovstage_enqueue_result_t mapped = ovstage_map_attribute_on_device(
            self->stage, all, &desc, ordinal, NULL, 0, &place, &map);
        client_accepted(self, mapped.status, "ovstage_map_attribute_on_device");
        ovstage_api_status_t status =
            ovstage_fetch_map_next(self->stage, map, OVSTAGE_TIMEOUT_INFINITE, &group);
        if (!client_accepted(self, status, "ovstage_fetch_map_next"))
            return;
        client_produce_into(self, producer, (uintptr_t)group.data.tensors[0].data, &rows,
                            50 * (float)ordinal); /* the last row stays cleared */
        client_record(self, produced, producer);
        ovstage_cuda_sync_t done = {0, (uintptr_t)produced};
        client_finish(self, ovstage_unmap_attribute(self->stage, map, done));
        client_finish(self, mapped);
        client_seal(self, ordinal);
        client_show(self, all, attribute, (ovstage_ordinal_range_t){.end_ordinal = ordinal}, NULL,
                    &shown);
        CLIENT_CHECK(self, shown.value_count == PRIMS && shown.values[PRIMS - 1] == 0);
        shown.value_count = PRIMS - 1;
        CLIENT_CHECK(self, client_counts_up(&shown, PRIMS - 1, 50 * (float)ordinal));
    }
}

/* Prims found by values that lie on a device. */
void check_filters(client *self)
{
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS), found = 0;
    ovx_token_t attribute = client_token(self, "values");
    fr_cu_stream producer = client_stream(self, 0);
    client_source data = client_source_make(self, 0, PRIMS);
    ovstage_placement_t place = client_place(0, NULL, client_event(self, 0));
    client_shown shown;
    for (uint64_t ordinal = 1; ordinal <= 3; ordinal++) {
        float first = 100 * (float)ordinal;
        char least[16];
        client_produce(self, producer, &data, first);
        client_finish(self,
                      client_write_floats(self, all, attribute, ordinal, &data,
                                          (ovstage_cuda_sync_t){(uintptr_t)producer, 0}, &place));
        int length = snprintf(least, sizeof(least), "%g", (double)first + 30);
        const ovx_string_t value = {least, (size_t)length};
        const ovstage_predicate_t large = {{.token = attribute}, OVSTAGE_FILTER_OP_GE, &value, 1};
        const ovstage_filter_t filter = {&large, 1};
        client_finish(self, ovstage_query(self->stage, &filter, NULL, 0, &found));
        client_seal(self, ordinal);
        client_show(self, found, attribute, (ovstage_ordinal_range_t){.end_ordinal = ordinal}, NULL,
                    &shown);
        CLIENT_CHECK(self, client_counts_up(&shown, PRIMS - 30, first + 30));
        client_finish(self, ovstage_release_query(self->stage, found));
        CLIENT_CHECK(self, self->cu->cuStreamSynchronize(producer) == FR_CU_SUCCESS);
    }
}

/* Rows of 0 to 4 elements, some written again, from the device and from the host. */
void check_arrays(client *self)
{
    static const uint32_t few[] = {13, 4, 11};
    ovstage_query_handle_t all = client_query(self, NULL, PRIMS), some = client_query(self, few, 3);
    const both to = both_of(self);
    for (uint64_t ordinal = 1; ordinal <= 6; ordinal++) {
        uint32_t rows = ordinal % 2 == 1 ? PRIMS : 3, floats = 0;
        int64_t lengths[PRIMS];
        float values[4 * PRIMS];
        DLTensor tensors[PRIMS];
        client_source source = client_source_make(self, 0, 4 * PRIMS);
        ovstage_placement_t place = client_place(0, NULL, client_event(self, 0));
        for (uint32_t k = 0; k < 4 * PRIMS; k++)
            values[k] = 1000 * (float)ordinal + (float)k;
        for (uint32_t k = 0; k < rows; k++) {
            lengths[k] = (int64_t)((k * 7 + ordinal) % 5);
            tensors[k] = client_tensor((DLDevice){kDLCPU, 0}, &values[floats], &lengths[k], 1);
            floats += (uint32_t)lengths[k];
        }
        ovstage_write_data_t data = {.tensors = tensors, .tensor_count = rows, .is_array = true};
        ovstage_query_handle_t query = rows == PRIMS ? all : some;
        client_finish(self, client_write(self, query, to.on_host, ordinal, data, NULL));
        client_produce(self, to.producer, &source, 1000 * (float)ordinal);
        for (uint32_t k = 0; k < rows && ordinal != 3; k++) {
            size_t at = (size_t)((float *)tensors[k].data - values) * sizeof(float);
            tensors[k].data = (void *)(uintptr_t)(source.memory + at);
            tensors[k].device = place.device;
            data.cuda_sync.stream = (uintptr_t)to.producer;
        }
        client_finish(self, client_write(self, query, to.on_device, ordinal, data, &place));
        client_seal(self, ordinal);
    }
    for (uint64_t ordinal = 1; ordinal <= 6; ordinal++)
        expect_same_at(&to, all, ordinal);
}

/* Many rows: those that kernels and copies share among many blocks, and staging takes in pieces. */
void check_large_column(client *self)
{
    enum { LARGE_WIDTH = 64 };
    const uint32_t rows = self->driver->is_simulated ? 1024 : 1 << 18, floats = rows * LARGE_WIDTH;
    const size_t size_bytes = floats * sizeof(float);
    ovstage_query_handle_t all = client_query(self, NULL, rows);
    ovx_token_t attribute = client_token(self, "values");
    fr_cu_stream producer = client_stream(self, 0), consumer = client_stream(self, 0);
    client_source data = client_source_make(self, 0, floats);
    fr_cu_event readable = client_event(self, 0);
    ovstage_placement_t to = client_place(0, NULL, client_event(self, 0)),
                        from = client_place(0, NULL, readable);
    float *values = client_pinned(self, size_bytes);
    int64_t shape = rows;
    DLTensor tensor =
        client_tensor(to.device, (const void *)(uintptr_t)data.memory, &shape, LARGE_WIDTH);
    ovstage_write_data_t passed = {
        .tensors = &tensor, .tensor_count = 1, .cuda_sync = {(uintptr_t)producer, 0}};
    for (uint64_t ordinal = 1; ordinal <= 2 && self->failure[0] == '\0'; ordinal++) {
        client_produce(self, producer, &data, (float)ordinal);
        client_finish(self, client_write(self, all, attribute, ordinal, passed, &to));
        client_seal(self, ordinal);
        ovstage_read_group_t group = client_hold_group(self, all, attribute, ordinal, &from),
                             brought = client_hold_group(self, all, attribute, ordinal, NULL);
        if (self->failure[0] != '\0')
            return;
        client_wait_event(self, consumer, readable);
        client_download(self, consumer, values, (uintptr_t)group.data.tensors[0].data, size_bytes);
        for (uint32_t k = 0; k < floats && self->failure[0] == '\0'; k++)
            CLIENT_CHECK(self, values[k] == (float)ordinal + (float)k);
        CLIENT_CHECK(self, memcmp(brought.data.tensors[0].data, values, size_bytes) == 0);
        client_release_group(self, &group);
        client_release_group(self, &brought);
    }
}
