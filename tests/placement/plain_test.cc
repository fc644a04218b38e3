// Writes without a placement: of rows that lie on devices, alone and beside others.
#include "tests/placement/rows_fixture.h"
#include "tests/support/maps.h"

namespace
{

class Plain : public RowsTest
{
  protected:
    DLTensor On(int32_t device, fr_cu_device_ptr memory)
    {
        return {reinterpret_cast<void *>(memory), {kDLCUDA, device}, 1, {kDLFloat, 32, 1},
                const_cast<int64_t *>(&three_),   nullptr,           0};
    }

    static ovstage_write_data_t Data(const DLTensor &tensor, ovstage_cuda_sync_t sync)
    {
        ovstage_write_data_t data = {};
        data.tensors = &tensor;
        data.tensor_count = 1;
        data.cuda_sync = sync;
        return data;
    }

    static ovstage_enqueue_result_t PlainWrite(const client::Stage &stage,
                                               ovstage_query_handle_t query, ovx_token_t attribute,
                                               uint64_t ordinal, const ovstage_write_data_t &data)
    {
        return ovstage_write_attribute(stage.instance, query, ovx_string_or_token_t{attribute, {}},
                                       ordinal, data, OVSTAGE_PRIM_MODE_UPSERT);
    }

    // Where a column's values are read without being moved; -1: on the host.
    int32_t Home(const client::Stage &stage, ovstage_query_handle_t query, ovx_token_t attribute,
                 uint64_t ordinal)
    {
        ovstage_placement_t there = Place(nullptr, nullptr, 1);
        uint64_t copies = fr_sim_calls("cuMemcpyPeerAsync"),
                 uploads = fr_sim_calls("cuMemcpyHtoDAsync");
        ovstage_read_handle_t read = 0;
        ovstage_read_group_t group = {};
        stage.finish(Read(stage, query, attribute, ordinal, &there, &read));
        EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        if (fr_sim_calls("cuMemcpyHtoDAsync") != uploads)
            return -1;
        return fr_sim_calls("cuMemcpyPeerAsync") == copies ? 1 : 0;
    }

    const int64_t three_ = 3;
};

// The column lies where the first rows lie, and a write is complete when they have been read.
TEST_P(Plain, RowsOfADevice)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream producer = Stream("producer");
        fr_cu_event produced = Event();
        fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
        DLTensor tensor = On(0, memory);
        for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
            auto first = static_cast<float>(10 * ordinal);
            Produce(producer, memory, 3, first);
            FR_SIM_OK(cu->cuEventRecord(produced, producer));
            stage.finish(
                PlainWrite(stage, query, attribute, ordinal, Data(tensor, {0, Handle(produced)})));
            // By another stream, which waits for nothing: the source is the client's again.
            fr_cu_stream other = Stream("other");
            Produce(other, memory, 3, -1);
            FR_SIM_OK(cu->cuStreamSynchronize(other));
            stage.finish(stage.seal(ordinal));
            EXPECT_EQ(stage.read(query, attribute, ordinal),
                      (std::vector<float>{first, first + 1, first + 2}));
        }
        auto shown = ReadGroups(stage, query, attribute, {0, 4, false}, nullptr);
        ASSERT_EQ(shown.size(), 1u);
        EXPECT_EQ(shown[0].values, (std::vector<float>{40, 41, 42}));
        EXPECT_EQ(Home(stage, query, attribute, 4), 0);
    }
}

// What is written without a role keeps that of its keys, also when some prim was deleted and it is
// not certain before that they have one; but keys that have it and new ones lie apart.
TEST_P(Plain, RowsWithoutARoleGoToWhereTheirKeysHaveOne)
{
    for (bool on_device : {true, false}) {
        client::Stage stage(1);
        ovstage_query_handle_t query = stage.query(3), all = stage.query(4);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream producer = Stream("producer");
        fr_cu_device_ptr memory = Memory(4 * sizeof(float), "source");
        std::vector<float> values = {1, 2, 3, 4};
        DLTensor first = On(0, memory), next = first;
        auto write = [&](uint64_t ordinal, DLTensor &tensor,
                         ovstage_attribute_semantic_t semantic) {
            if (tensor.device.device_type == kDLCUDA)
                Produce(producer, memory, 3, static_cast<float>(10 * ordinal));
            ovstage_write_data_t data = Data(tensor, {Handle(producer), 0});
            data.cuda_sync =
                tensor.device.device_type == kDLCUDA ? data.cuda_sync : ovstage_cuda_sync_t{0, 0};
            data.semantic = semantic;
            return PlainWrite(stage, query, attribute, ordinal, data);
        };
        // The other one is of the other side.
        (on_device ? next : first) = On(0, 0);
        (on_device ? next : first).device = {kDLCPU, 0};
        (on_device ? next : first).data = values.data();
        stage.finish(write(1, first, OVSTAGE_SEMANTIC_TIME_CODE));
        stage.finish(stage.seal(1));
        ovstage_query_handle_t gone = stage.query(std::vector<std::string>{"/gone"});
        stage.finish(stage.write(gone, stage.token("other"), 2, std::vector<float>{1}));
        stage.finish(ovstage_delete_attributes(stage.instance, gone, nullptr, 0, 2));
        stage.finish(stage.seal(2));
        stage.finish(write(3, first, OVSTAGE_SEMANTIC_NONE));
        stage.finish(stage.seal(3));
        stage.finish(write(4, next, OVSTAGE_SEMANTIC_NONE));
        stage.finish(stage.seal(4));
        for (uint64_t ordinal : {3, 4}) {
            bool of_device = (ordinal == 3) == on_device;
            auto from = of_device ? static_cast<float>(10 * ordinal) : 1;
            EXPECT_EQ(stage.read(query, attribute, ordinal),
                      (std::vector<float>{from, from + 1, from + 2}));
        }
        EXPECT_EQ(Home(stage, query, attribute, 4), on_device ? 0 : -1);
        // Some keys are new, and have none.
        int64_t four = 4;
        DLTensor more = first;
        more.shape = &four;
        if (on_device)
            Produce(producer, memory, 4, 0);
        ovstage_enqueue_result_t sent =
            PlainWrite(stage, all, attribute, 5, Data(more, {on_device ? Handle(producer) : 0, 0}));
        ASSERT_EQ(sent.status, OVSTAGE_OK) << client::last_error();
        ovstage_op_wait_result_t outcome = {};
        EXPECT_EQ(ovstage_wait_op(stage.instance, sent.op_index, client::forever, &outcome),
                  OVSTAGE_OK);
        std::string text = client::text(ovstage_get_last_op_error(stage.instance, sent.op_index));
        EXPECT_EQ(text.find("have another role") != std::string::npos, on_device) << text;
    }
}

// A batch of rows of two devices and of the host: each column lies where its rows do.
TEST_P(Plain, ABatchFromEverywhere)
{
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t names[3] = {stage.token("zero"), stage.token("one"), stage.token("host")};
    fr_cu_stream producer = Stream("producer");
    fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
    FR_SIM_OK(cu->cuCtxSetCurrent(contexts[1]));
    fr_cu_device_ptr there = Memory(3 * sizeof(float), "source of device 1");
    FR_SIM_OK(cu->cuMemsetD32Async(there, 0, 3, nullptr));
    fr_cu_event made = Event();
    FR_SIM_OK(cu->cuEventRecord(made, nullptr));
    FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0]));
    std::vector<float> values = {7, 8, 9};
    DLTensor tensors[3] = {On(0, memory), On(1, there), On(0, 0)};
    tensors[2].device = {kDLCPU, 0};
    tensors[2].data = values.data();
    ovstage_attribute_write_t writes[3] = {};
    for (int e = 0; e < 3; e++)
        writes[e].attribute = ovx_string_or_token_t{names[e], {}};
    for (uint64_t ordinal = 1; ordinal <= 2; ordinal++) {
        Produce(producer, memory, 3, static_cast<float>(ordinal));
        writes[0].data = Data(tensors[0], {Handle(producer), 0});
        writes[1].data = Data(tensors[1], {0, Handle(made)});
        writes[2].data = Data(tensors[2], {0, 0});
        stage.finish(ovstage_write_attributes(stage.instance, query, writes, 3, ordinal,
                                              OVSTAGE_PRIM_MODE_UPSERT));
        stage.finish(stage.seal(ordinal));
    }
    EXPECT_EQ(stage.read(query, names[0], 2), (std::vector<float>{2, 3, 4}));
    EXPECT_EQ(stage.read(query, names[1], 2), (std::vector<float>{0, 0, 0}));
    EXPECT_EQ(stage.read(query, names[2], 2), values);
    EXPECT_EQ(Home(stage, query, names[0], 2), 0);
    EXPECT_EQ(Home(stage, query, names[1], 2), 1);
    EXPECT_EQ(Home(stage, query, names[2], 2), -1);
}

// Rows of the host find a stream, however many ordinals have work of ours that is not done: each of
// these waits for what a client's stream is to write first.
TEST_P(Plain, HostRowsOfManyOrdinals)
{
    enum { LAST = 48 };
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer"), stalled = Stream("stalled");
    fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, Event()), late = Place(stalled, Event());
    Produce(producer, memory, 3, 0);
    FR_SIM_OK(cu->cuStreamSynchronize(producer));
    stage.finish(Write(stage, query, attribute, 1, memory, 3, {0, 0}, &placement));
    stage.finish(stage.seal(1));
    fr_sim_hold(stalled, true);
    for (uint64_t ordinal = 2; ordinal <= LAST; ordinal++) {
        stage.finish(Write(stage, query, attribute, ordinal, memory, 3, {0, 0}, &late));
        stage.finish(stage.write(query, attribute, ordinal, {static_cast<float>(ordinal), 1, 2}));
    }
    fr_sim_hold(stalled, false);
    stage.finish(stage.seal(LAST));
    for (uint64_t ordinal = LAST - 2; ordinal <= LAST; ordinal++)
        EXPECT_EQ(stage.read(query, attribute, ordinal),
                  (std::vector<float>{static_cast<float>(ordinal), 1, 2}));
}

// Rows by their numbers, of a device too.
TEST_P(Plain, RowsByNumber)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(5);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    fr_cu_device_ptr first = Memory(5 * sizeof(float), "first"),
                     some = Memory(3 * sizeof(float), "some");
    int64_t five = 5;
    DLTensor all = On(0, first), three = On(0, some);
    all.shape = &five;
    Produce(producer, first, 5, 1);
    Produce(producer, some, 3, 50);
    stage.finish(PlainWrite(stage, query, attribute, 1, Data(all, {Handle(producer), 0})));
    stage.finish(stage.seal(1));
    const uint32_t rows[3] = {4, 0, 2};
    ovstage_write_data_t data = Data(three, {Handle(producer), 0});
    stage.finish(flyrail_write_rows(stage.instance, query, ovx_string_or_token_t{attribute, {}}, 2,
                                    rows, 3, data, FLYRAIL_WRITE_KEYS_EXIST));
    stage.finish(stage.seal(2));
    EXPECT_EQ(stage.read(query, attribute, 2), (std::vector<float>{51, 2, 52, 4, 50}));
}

int deleted;

void Delete(DLManagedTensorVersioned *)
{
    deleted++;
}

TEST_P(Plain, WhatIsRefused)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
    Produce(producer, memory, 3, 1);
    auto refused = [&](const DLTensor &tensor, ovstage_query_handle_t to, const char *part) {
        ovstage_enqueue_result_t result =
            PlainWrite(stage, to, attribute, 1, Data(tensor, {Handle(producer), 0}));
        EXPECT_NE(client::last_error().find(part), std::string::npos) << client::last_error();
        return result.status;
    };
    EXPECT_EQ(refused(On(7, memory), query, "7"), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(refused(On(1, memory), query, "not on CUDA device 1"),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    deleted = 0;
    ManagedSource source(memory, Delete, Handle(producer));
    source.managed.dl_tensor.device.device_id = 7;
    EXPECT_EQ(PlainWrite(stage, query, attribute, 1, source.data).status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(deleted, 1);
    source.managed.dl_tensor.device.device_id = 0;
    stage.finish(PlainWrite(stage, query, attribute, 1, source.data));
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(query, attribute, 1), (std::vector<float>{1, 2, 3}));
    // Of a write of nothing nobody looks at the payload (R101).
    ovstage_query_handle_t none = stage.query(std::vector<std::string>{});
    stage.finish(PlainWrite(stage, none, attribute, 2, Data(On(7, 0), {0, 0})));
    stage.destroy();
    EXPECT_EQ(deleted, 2);
}

PLACEMENT_ORDERS(Plain);

// Rows of the host that a device writes: the host reads them when that is done.
class HostRows : public Plain
{
  protected:
    float *pinned = nullptr;
    fr_cu_device_ptr made = 0;

    void SetUp() override
    {
        Plain::SetUp();
        void *memory = nullptr;
        FR_SIM_OK(cu->cuMemHostAlloc(&memory, 3 * sizeof(float), 0));
        pinned = static_cast<float *>(memory);
        std::fill(pinned, pinned + 3, -1.0f);
        made = Memory(3 * sizeof(float), "made");
    }

    void TearDown() override
    {
        EXPECT_TRUE(fr_sim_drain());
        FR_SIM_OK(cu->cuMemFreeHost(pinned));
        Plain::TearDown();
    }

    // Into memory of the host, when the stream comes to it.
    void Bring(fr_cu_stream stream, float *to, float first)
    {
        Produce(stream, made, 3, first);
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(to, made, 3 * sizeof(float), stream), 0u);
    }

    DLTensor OnHost()
    {
        DLTensor tensor = On(0, 0);
        tensor.device = {kDLCPU, 0};
        tensor.data = pinned;
        return tensor;
    }
};

// What is captured in the call is waited for, and no thread waits.
TEST_P(HostRows, AreReadWhenTheDeviceHasWrittenThem)
{
    const std::vector<float> values = {1, 2, 3};
    for (bool by_event : {false, true}) {
        client::Stage stage(1);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values"), other = stage.token("other");
        fr_cu_stream producer = Stream("producer"), second = Stream("second");
        fr_cu_event produced = Event();
        DLTensor tensor = OnHost();
        tensor.device = {by_event ? kDLCUDAHost : kDLCPU, 0};
        fr_sim_hold(producer, true);
        Bring(producer, pinned, 10);
        FR_SIM_OK(cu->cuEventRecord(produced, producer));
        ovstage_cuda_sync_t sync = {0, 0};
        if (by_event)
            sync.wait_event = Handle(produced);
        else
            sync.stream = Handle(producer);
        ovstage_enqueue_result_t write = PlainWrite(stage, query, attribute, 1, Data(tensor, sync));
        ASSERT_EQ(write.status, OVSTAGE_OK) << client::last_error();
        FR_SIM_OK(cu->cuEventRecord(produced, second)); // which is no matter
        stage.finish(stage.write(query, other, 2, values));
        ovstage_op_wait_result_t outcome = {};
        EXPECT_EQ(ovstage_wait_op(stage.instance, write.op_index, 1000, &outcome),
                  OVSTAGE_ERROR_TIMEOUT);
        fr_sim_hold(producer, false);
        stage.finish(write);
        std::fill(pinned, pinned + 3, -1.0f); // they have been read
        stage.finish(stage.seal(2));
        EXPECT_EQ(stage.read(query, attribute, 1), (std::vector<float>{10, 11, 12}));
        EXPECT_EQ(stage.read(query, other, 2), values);
    }
}

// By each name of a stream, of any device, on a thread with any context.
TEST_P(HostRows, OfEachStream)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    uint64_t ordinal = 0;
    DLTensor tensor = OnHost();
    auto write = [&](fr_cu_stream producer, fr_cu_context context) {
        auto first = static_cast<float>(10 * ++ordinal);
        Bring(producer, pinned, first);
        FR_SIM_OK(cu->cuCtxSetCurrent(context));
        ovstage_enqueue_result_t sent =
            PlainWrite(stage, query, attribute, ordinal, Data(tensor, {Handle(producer), 0}));
        FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0]));
        stage.finish(sent);
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(stage.read(query, attribute, ordinal),
                  (std::vector<float>{first, first + 1, first + 2}));
    };
    for (fr_cu_stream producer : {FR_CU_STREAM_LEGACY, FR_CU_STREAM_PER_THREAD, Stream("handle")})
        write(producer, contexts[0]);
    fr_cu_stream producer = Stream("producer");
    write(producer, contexts[1]);
    write(producer, nullptr);
    // What captures a graph stands for nothing.
    FR_SIM_OK(cu->cuStreamBeginCapture(producer, FR_CU_CAPTURE_MODE_RELAXED));
    EXPECT_EQ(PlainWrite(stage, query, attribute, 90, Data(tensor, {Handle(producer), 0})).status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    fr_cu_graph graph = nullptr;
    FR_SIM_OK(cu->cuStreamEndCapture(producer, &graph));
    FR_SIM_OK(cu->cuGraphDestroy(graph));
}

// They go to a device, by a placement.
TEST_P(HostRows, GoToADevice)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    fr_cu_event written = Event();
    ovstage_placement_t placement = Place(nullptr, written);
    DLTensor tensor = OnHost();
    for (uint64_t ordinal = 1; ordinal <= 3; ordinal++) {
        auto first = static_cast<float>(10 * ordinal);
        Bring(producer, pinned, first);
        stage.finish(ovstage_write_attribute_on_device(
            stage.instance, query, ovx_string_or_token_t{attribute, {}}, ordinal,
            Data(tensor, {Handle(producer), 0}), OVSTAGE_PRIM_MODE_UPSERT, &placement));
        std::fill(pinned, pinned + 3, -1.0f); // they have been read (L9)
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(stage.read(query, attribute, ordinal),
                  (std::vector<float>{first, first + 1, first + 2}));
    }
}

// A session of the host, whose buffer a device fills; also one that a seal has overtaken.
TEST_P(HostRows, AreMapped)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    ovstage_map_desc_t desc = client::description(attribute);
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        bool overtaken = ordinal == 4;
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        stage.finish(
            ovstage_map_attribute(stage.instance, query, &desc, ordinal, nullptr, 0, &map));
        ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
        auto *buffer = static_cast<float *>(group.data.tensors->data);
        FR_SIM_OK(cu->cuMemHostRegister(buffer, 3 * sizeof(float), 0));
        Bring(producer, buffer, static_cast<float>(10 * ordinal));
        if (overtaken)
            stage.finish(stage.seal(ordinal));
        ovstage_enqueue_result_t commit =
            ordinal == 2 ? ovstage_unmap_group(stage.instance, map, &group, {Handle(producer), 0})
                         : ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0});
        if (overtaken) {
            EXPECT_EQ(commit.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
            // Another one has memory of its own as long as that goes on.
            ovstage_map_group_t next = {};
            stage.finish(ovstage_map_attribute(stage.instance, query, &desc, 5, nullptr, 0, &map));
            ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &next),
                      OVSTAGE_OK);
            auto *own = static_cast<float *>(next.data.tensors->data);
            EXPECT_TRUE(fr_sim_drain());
            EXPECT_EQ(std::vector<float>(own, own + 3), (std::vector<float>{0, 0, 0}));
            FR_SIM_OK(cu->cuMemHostUnregister(buffer));
            stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
            continue;
        }
        stage.finish(commit);
        FR_SIM_OK(cu->cuMemHostUnregister(buffer));
        if (ordinal == 2)
            stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
        stage.finish(stage.seal(ordinal));
        auto first = static_cast<float>(10 * ordinal);
        EXPECT_EQ(stage.read(query, attribute, ordinal),
                  (std::vector<float>{first, first + 1, first + 2}));
    }
}

// What destroy drops is not the client's again, nor anybody's, before the device is done (D20).
TEST_P(HostRows, DestroyWaitsForTheirDevice)
{
    static float *rows, seen;
    client::Stage stage(0);
    fr_cu_stream producer = Stream("producer");
    Bring(producer, pinned, 5);
    rows = pinned;
    seen = 0;
    ManagedSource source(
        0, [](DLManagedTensorVersioned *) { seen = rows[2]; }, Handle(producer));
    source.managed.dl_tensor.device = {kDLCPU, 0};
    source.managed.dl_tensor.data = pinned;
    ovstage_enqueue_result_t sent =
        PlainWrite(stage, stage.query(3), stage.token("values"), 1, source.data);
    ASSERT_EQ(sent.status, OVSTAGE_OK) << client::last_error();
    stage.destroy();
    EXPECT_EQ(seen, 7);
}

PLACEMENT_ORDERS(HostRows);

} // namespace
