/* What waits for what: producers, writes, seals, reads, consumers. */
#include "tests/devices/checks.h"

enum { ROWS = 3, FRAMES = 5, STALLED = 40 };

static client_source rows_of(client *self)
{
    return client_source_make(self, 0, ROWS);
}

/* What a consumer sees of a group that waits for `event`, where there is one. */
static bool consumes(client *self, const ovstage_read_group_t *group, fr_cu_event event,
                     float first)
{
    float values[ROWS] = {0};
    fr_cu_stream consumer = client_stream(self, 0);
    if (!CLIENT_CHECK(self, group->data.count == ROWS) ||
        !CLIENT_CHECK(self, group->data.tensors[0].device.device_type == kDLCUDA))
        return false;
    if (event)
        client_wait_event(self, consumer, event);
    client_download(self, consumer, values, (uintptr_t)group->data.tensors[0].data, sizeof(values));
    for (int k = 0; k < ROWS; k++)
        if (!CLIENT_CHECK(self, values[k] == first + (float)k))
            return false;
    return true;
}

/* The frame of docs/placement.md. The producer stalls until everything is submitted: nothing
 * here waits for values but the consumer. */
static void frames(client *self, fr_cu_stream writer, fr_cu_stream reader)
{
    ovstage_query_handle_t query = client_query(self, NULL, ROWS);
    ovx_token_t attribute = client_token(self, "values");
    fr_cu_stream producer = client_stream(self, 0);
    fr_cu_event produced = client_event(self, 0), written = client_event(self, 0),
                readable = client_event(self, 0);
    client_source data = rows_of(self);
    ovstage_placement_t to = client_place(0, writer, written),
                        from = client_place(0, reader, readable);
    for (uint64_t ordinal = 1; ordinal <= FRAMES; ordinal++) {
        float first = 10 * (float)ordinal;
        client_gate *gate = client_can_hold(self) ? client_hold(self, producer) : NULL;
        client_produce(self, producer, &data, first);
        client_record(self, produced, producer);
        client_finish(self,
                      client_write_floats(self, query, attribute, ordinal, &data,
                                          (ovstage_cuda_sync_t){0, (uintptr_t)produced}, &to));
        client_seal(self, ordinal);
        ovstage_read_group_t group = client_hold_group(self, query, attribute, ordinal, &from);
        if (gate && self->failure[0] == '\0')
            CLIENT_CHECK(self, self->cu->cuEventQuery(readable) == FR_CU_ERROR_NOT_READY);
        client_let_go(gate);
        consumes(self, &group, readable, first);
        client_release_group(self, &group);
        /* The source may be used again. */
        CLIENT_CHECK(self, self->cu->cuEventSynchronize(written) == FR_CU_SUCCESS);
    }
}

void check_frame(client *self)
{
    frames(self, client_stream(self, 0), client_stream(self, 0));
}

void check_frame_on_the_stages_streams(client *self)
{
    frames(self, NULL, NULL);
}

/* What is written later does not change what a group shows. */
void check_held_groups(client *self)
{
    ovstage_query_handle_t query = client_query(self, NULL, ROWS);
    ovx_token_t attribute = client_token(self, "values");
    fr_cu_stream stream = client_stream(self, 0);
    ovstage_read_group_t groups[FRAMES];
    fr_cu_event readable[FRAMES];
    for (uint64_t ordinal = 1; ordinal <= FRAMES; ordinal++) {
        client_source data = rows_of(self);
        ovstage_placement_t to = client_place(0, NULL, client_event(self, 0));
        readable[ordinal - 1] = client_event(self, 0);
        ovstage_placement_t from = client_place(0, NULL, readable[ordinal - 1]);
        client_produce(self, stream, &data, 100 * (float)ordinal);
        client_finish(self, client_write_floats(self, query, attribute, ordinal, &data,
                                                (ovstage_cuda_sync_t){(uintptr_t)stream, 0}, &to));
        client_seal(self, ordinal);
        groups[ordinal - 1] = client_hold_group(self, query, attribute, ordinal, &from);
    }
    for (int k = 0; k < FRAMES; k++) {
        consumes(self, &groups[k], readable[k], 100 * (float)(k + 1));
        client_release_group(self, &groups[k]);
    }
}

/* What counts is the record that the event had when the call was made. */
void check_event_recorded_again(client *self)
{
    ovstage_query_handle_t query = client_query(self, NULL, ROWS);
    ovx_token_t attribute = client_token(self, "values");
    fr_cu_stream producer = client_stream(self, 0), other = client_stream(self, 0);
    fr_cu_event produced = client_event(self, 0), written = client_event(self, 0);
    client_source data = rows_of(self);
    ovstage_placement_t to = client_place(0, NULL, written);
    client_produce(self, producer, &data, 1);
    CLIENT_CHECK(self, self->cu->cuStreamSynchronize(producer) == FR_CU_SUCCESS);
    client_gate *gate = client_hold(self, producer);
    client_produce(self, producer, &data, 7);
    client_record(self, produced, producer);
    ovstage_enqueue_result_t write = client_write_floats(
        self, query, attribute, 1, &data, (ovstage_cuda_sync_t){0, (uintptr_t)produced}, &to);
    client_record(self, produced, other); /* done at once */
    client_finish(self, write);
    client_let_go(gate);
    client_seal(self, 1);
    ovstage_placement_t from = client_place(0, NULL, client_event(self, 0));
    client_shown shown;
    client_show(self, query, attribute, (ovstage_ordinal_range_t){.end_ordinal = 1}, &from, &shown);
    CLIENT_CHECK(self, client_counts_up(&shown, ROWS, 7));
}

/* Without an event an operation is complete when the device is done with it: the source may be
 * written over, and a consumer waits for nothing. */
void check_complete_without_an_event(client *self)
{
    ovstage_query_handle_t query = client_query(self, NULL, ROWS);
    ovx_token_t attribute = client_token(self, "values");
    fr_cu_stream producer = client_stream(self, 0), other = client_stream(self, 0);
    client_source data = rows_of(self);
    ovstage_placement_t place = client_place(0, NULL, NULL);
    client_shown shown;
    for (uint64_t ordinal = 1; ordinal <= FRAMES; ordinal++) {
        client_produce(self, producer, &data, (float)ordinal);
        client_finish(self,
                      client_write_floats(self, query, attribute, ordinal, &data,
                                          (ovstage_cuda_sync_t){(uintptr_t)producer, 0}, &place));
        client_produce(self, other, &data, 99);
        CLIENT_CHECK(self, self->cu->cuStreamSynchronize(other) == FR_CU_SUCCESS);
        client_seal(self, ordinal);
        client_show(self, query, attribute, (ovstage_ordinal_range_t){.end_ordinal = ordinal},
                    &place, &shown);
        CLIENT_CHECK(self, client_counts_up(&shown, ROWS, (float)ordinal));
    }
}

/* It delays its own ordinal, and no other one. */
void check_stalled_producer(client *self)
{
    ovstage_query_handle_t query = client_query(self, NULL, ROWS);
    ovx_token_t late = client_token(self, "late"), values = client_token(self, "values");
    fr_cu_stream stalled = client_stream(self, 0), producer = client_stream(self, 0);
    client_source data = rows_of(self), more = rows_of(self);
    ovstage_placement_t place = client_place(0, NULL, NULL);
    client_gate *gate = client_hold(self, stalled);
    client_produce(self, stalled, &data, 5);
    client_produce(self, producer, &more, 50);
    ovstage_enqueue_result_t waits = client_write_floats(
        self, query, late, 1, &data, (ovstage_cuda_sync_t){(uintptr_t)stalled, 0}, &place);
    client_finish(self, client_write_floats(self, query, values, 2, &more,
                                            (ovstage_cuda_sync_t){(uintptr_t)producer, 0}, &place));
    CLIENT_CHECK(self, client_is_pending(self, waits));
    client_let_go(gate);
    client_finish(self, waits);
    client_seal(self, 2);
    client_shown shown;
    client_show(self, query, late, (ovstage_ordinal_range_t){.end_ordinal = 2}, &place, &shown);
    CLIENT_CHECK(self, client_counts_up(&shown, ROWS, 5));
    client_show(self, query, values, (ovstage_ordinal_range_t){.end_ordinal = 2}, &place, &shown);
    CLIENT_CHECK(self, client_counts_up(&shown, ROWS, 50));
}

/* More ordinals wait than the stage has streams: no thread waits with them, and all are right. */
void check_many_stalled_ordinals(client *self)
{
    ovstage_query_handle_t query = client_query(self, NULL, ROWS);
    ovx_token_t attribute = client_token(self, "values"), other = client_token(self, "other");
    fr_cu_stream stalled = client_stream(self, 0), producer = client_stream(self, 0);
    ovstage_placement_t place = client_place(0, NULL, NULL);
    ovstage_enqueue_result_t writes[STALLED];
    client_shown shown;
    client_source sources[STALLED], more = rows_of(self);
    for (int k = 0; k < STALLED; k++)
        sources[k] = rows_of(self);
    client_gate *gate = client_hold(self, stalled);
    for (int k = 0; k < STALLED; k++) {
        client_produce(self, stalled, &sources[k], 10 * (float)k);
        writes[k] = client_write_floats(self, query, attribute, (uint64_t)k + 1, &sources[k],
                                        (ovstage_cuda_sync_t){(uintptr_t)stalled, 0}, &place);
    }
    client_produce(self, producer, &more, 1000);
    client_finish(self, client_write_floats(self, query, other, STALLED + 1, &more,
                                            (ovstage_cuda_sync_t){(uintptr_t)producer, 0}, &place));
    for (int k = 0; k < STALLED; k++)
        CLIENT_CHECK(self, client_is_pending(self, writes[k]));
    client_let_go(gate);
    for (int k = 0; k < STALLED; k++)
        client_finish(self, writes[k]);
    client_seal(self, STALLED + 1);
    for (int k = 0; k < STALLED; k++) {
        client_show(self, query, attribute,
                    (ovstage_ordinal_range_t){.end_ordinal = (uint64_t)k + 1}, &place, &shown);
        CLIENT_CHECK(self, client_counts_up(&shown, ROWS, 10 * (float)k));
    }
}

static int deletions;

static void count_deletion(struct DLManagedTensorVersioned *managed)
{
    (void)managed;
    deletions++;
}

/* One is let go of once, and not before the device has read it. */
void check_managed_tensors(client *self)
{
    ovstage_query_handle_t query = client_query(self, NULL, ROWS);
    fr_cu_stream producer = client_stream(self, 0);
    fr_cu_event written = client_event(self, 0);
    int64_t count = ROWS;
    struct DLManagedTensorVersioned managed = {
        .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
        .deleter = count_deletion,
    };
    const struct DLManagedTensorVersioned *list[1] = {&managed};
    ovstage_placement_t place = client_place(0, NULL, written);
    client_source data = rows_of(self);
    managed.dl_tensor =
        client_tensor(place.device, (const void *)(uintptr_t)data.memory, &count, 1);
    deletions = 0;
    client_gate *gate = client_hold(self, producer);
    client_produce(self, producer, &data, 3);
    ovstage_write_data_t passed = {
        .managed_tensors = list,
        .tensor_count = 1,
        .cuda_sync = {(uintptr_t)producer, 0},
    };
    client_finish(self, client_write(self, query, client_token(self, "values"), 1, passed, &place));
    CLIENT_CHECK(self, deletions == 0);
    client_let_go(gate);
    /* The end of an instance finishes what is under way. */
    client_accepted(self, ovstage_destroy_instance(self->stage), "ovstage_destroy_instance");
    self->stage = NULL;
    CLIENT_CHECK(self, deletions == 1);
}

/* What is wrong is refused in the call, with a text, and changes nothing. */
void check_refusals(client *self)
{
    ovstage_query_handle_t query = client_query(self, NULL, ROWS);
    ovx_token_t attribute = client_token(self, "values");
    client_source data = rows_of(self);
    fr_cu_stream stream = client_stream(self, 0);
    float on_host[ROWS] = {0};
    int64_t count = ROWS;
    ovstage_placement_t place = client_place(0, NULL, NULL);
    const struct {
        ovstage_placement_t placement;
        const void *memory;
    } wrong[] = {
        {client_place(0, FR_CU_STREAM_PER_THREAD, NULL), (const void *)(uintptr_t)data.memory},
        {client_place(99, NULL, NULL), (const void *)(uintptr_t)data.memory},
        {place, on_host},
    };
    client_produce(self, stream, &data, 1);
    CLIENT_CHECK(self, self->cu->cuStreamSynchronize(stream) == FR_CU_SUCCESS);
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        DLTensor tensor = client_tensor(place.device, wrong[k].memory, &count, 1);
        ovstage_write_data_t passed = {.tensors = &tensor, .tensor_count = 1};
        ovstage_enqueue_result_t result = ovstage_write_attribute_on_device(
            self->stage, query, (ovx_string_or_token_t){.token = attribute}, 1, passed,
            OVSTAGE_PRIM_MODE_UPSERT, &wrong[k].placement);
        CLIENT_CHECK(self, result.status == OVSTAGE_ERROR_INVALID_ARGUMENT);
        CLIENT_CHECK(self, ovstage_get_last_error().length > 0);
    }
    client_finish(self, client_write_floats(self, query, attribute, 1, &data,
                                            (ovstage_cuda_sync_t){0, 0}, &place));
}
