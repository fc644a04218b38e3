// A column that lies on one device, and readers and sources on another one. In half of the random
// orders the devices cannot reach each other's memory.
#include "tests/placement/rows_fixture.h"

namespace
{

class Devices : public RowsTest
{
  protected:
    void SetUp() override
    {
        options.no_peer_access = GetParam().seed % 2 == 0;
        RowsTest::SetUp();
        read_on = {1, 0};
    }

    static std::vector<std::string> Three(bool turned)
    {
        return Paths(turned ? std::vector<uint32_t>{2, 1, 0} : std::vector<uint32_t>{0, 1, 2});
    }
};

TEST_P(Devices, RowsAreReadOnAnotherDevice)
{
    client::Stage stage(Keeping(2));
    const uint32_t count = 40;
    ovstage_query_handle_t all = stage.query(count);
    std::vector<uint32_t> turned, spread, few = {33, 4, 21};
    for (uint32_t k = 0; k < count; k++) {
        turned.push_back(count - 1 - k);
        if (k % 3 == 1)
            spread.push_back(k * 7 % count);
    }
    WriteBoth(stage, all, 1, {{count}, {}, 1000});
    stage.finish(stage.seal(1));
    uint64_t ordinal = 1;
    for (const auto &numbers : {few, spread, turned}) {
        ExpectSameAt(stage, all, ordinal);
        ExpectSameAt(stage, stage.query(Paths(turned)), ordinal);
        ExpectSameAt(stage, stage.query(Paths(few)), ordinal);
        ordinal++;
        WriteBoth(stage, stage.query(Paths(numbers)), ordinal,
                  {{static_cast<int64_t>(numbers.size())}, {}, static_cast<float>(1000 * ordinal)});
        stage.finish(stage.seal(ordinal));
        ExpectSame(stage, all, {ordinal, ordinal, true});
        ExpectSame(stage, all, {1, ordinal, true});
    }
}

// What is read on another device waits there for its producer, and the memory that it lies in is
// not used again before it is read.
TEST_P(Devices, AReadHoldsWhatItReadsElsewhere)
{
    for (bool apart : {false, true}) {
        client::Stage stage(1);
        ovstage_query_handle_t query = stage.query(3);
        ovstage_query_handle_t read_query = stage.query(Three(apart));
        MakeCurrent(0);
        fr_cu_stream producer = Stream("held producer");
        fr_sim_hold(producer, true);
        stage.finish(WriteOnDevice(stage, query, 1, {{3}, {}, 10}, producer));
        stage.finish(stage.seal(1));
        MakeCurrent(1);
        fr_cu_stream held = Stream("held reader");
        ovstage_placement_t placement = Place(held, Event(), 1);
        fr_sim_hold(held, true);
        ovstage_read_handle_t read = 0;
        ovstage_read_group_t group = {};
        stage.finish(Read(stage, read_query, OnDevice(stage), 1, &placement, &read));
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        fr_sim_hold(producer, false);
        for (uint64_t ordinal = 2; ordinal < 12; ordinal++) {
            auto first = static_cast<float>(100 * ordinal);
            MakeCurrent(0);
            stage.finish(WriteOnDevice(stage, query, ordinal, {{3}, {}, first}, producer));
            stage.finish(stage.seal(ordinal));
            ovstage_placement_t here = Place(nullptr, Event());
            auto shown = ReadGroups(stage, read_query, OnDevice(stage), {0, ordinal, false}, &here);
            EXPECT_EQ(shown[0].values[1], first + 1);
        }
        fr_sim_hold(held, false);
        MakeCurrent(1);
        float values[3];
        auto from = reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data);
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(values, from, sizeof values, held), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(held), 0u);
        EXPECT_EQ(values[0], apart ? 12 : 10);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        MakeCurrent(0);
    }
}

// A read on the host of columns of two devices is there when both are.
TEST_P(Devices, TheHostReadsFromSeveral)
{
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(3);
    fr_cu_stream producers[2];
    const ovx_token_t names[2] = {stage.token("on 0"), stage.token("on 1")};
    for (int32_t device : {0, 1}) {
        MakeCurrent(device);
        producers[device] = Stream("producer");
        Rows rows = {{3}, {}, static_cast<float>(10 + 10 * device)};
        rows.source = rows.place = device;
        rows.name = names[device];
        stage.finish(WriteOnDevice(stage, query, 1, rows, producers[device]));
    }
    stage.finish(stage.seal(1));
    for (int32_t held : {0, 1}) {
        EXPECT_EQ(cu->cuStreamSynchronize(producers[1 - held]), 0u);
        uint64_t ordinal = 2 + static_cast<uint64_t>(held);
        Rows rows = {{3}, {}, static_cast<float>(100 * ordinal)};
        rows.source = rows.place = held;
        rows.name = names[held];
        MakeCurrent(held);
        fr_sim_hold(producers[held], true);
        stage.finish(WriteOnDevice(stage, query, ordinal, rows, producers[held]));
        stage.finish(stage.seal(ordinal));
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t result =
            ovstage_read_attributes(stage.instance, query, names, 2, {0, ordinal, false}, &read);
        ASSERT_EQ(result.status, OVSTAGE_OK) << client::last_error();
        ovstage_op_wait_result_t outcome = {};
        for (int look = 0; look < 20; look++)
            EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, 0, &outcome),
                      OVSTAGE_ERROR_TIMEOUT);
        fr_sim_hold(producers[held], false);
        stage.finish(result);
        for (int32_t device : {0, 1}) {
            ovstage_read_group_t group = {};
            ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                      OVSTAGE_OK);
            float wanted = device == held ? static_cast<float>(100 * ordinal)
                                          : static_cast<float>(held ? 200 : 20);
            EXPECT_EQ(static_cast<const float *>(group.data.tensors[0].data)[0], wanted);
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        }
        stage.finish(ovstage_release_read(stage.instance, read));
    }
    MakeCurrent(0);
}

// Rows of one device written with a placement on another one, to a column that lies on either.
TEST_P(Devices, RowsComeFromAnotherDevice)
{
    const std::vector<std::vector<int32_t>> places = {{1, 0}, {0, 1}, {1, 1}}; // source, placement
    for (const auto &place : places) {
        client::Stage stage(Keeping(1));
        const uint32_t count = 30;
        uint64_t ordinal = 1;
        ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({29, 2, 11}));
        ovstage_query_handle_t more = stage.query(count + 4);
        WriteBoth(stage, all, 1, {{count, 3}, {}, 1000}); // it lies on device 0
        stage.finish(stage.seal(1));
        std::vector<Rows> writes = {{{3, 3}, {}, 2000},
                                    {{3, 3}, {5, 1}, 3000},      // rows apart
                                    {{3, 3}, {1, 3}, 4000},      // elements apart
                                    {{3, 3}, {-4, 1}, 5000, 8}}; // backwards
        for (Rows rows : writes) {
            rows.source = place[0];
            rows.place = place[1];
            rows.with_event = ordinal % 2 == 0;
            WriteBoth(stage, few, ++ordinal, rows);
            rows.map = {2, 2, 0};
            rows.first += 500;
            WriteBoth(stage, few, ++ordinal, rows);
            rows.map = {};
            rows.mask = {5};
            rows.first += 100;
            WriteBoth(stage, few, ordinal, rows);
        }
        Rows whole = {{count, 3}, {}, 7000};
        whole.source = place[0];
        whole.place = place[1];
        WriteBoth(stage, all, ++ordinal, whole);
        whole.strides = {4, 1};
        WriteBoth(stage, all, ++ordinal, whole);
        whole.from_host = true;
        WriteBoth(stage, all, ++ordinal, whole);
        whole = {{count + 4, 3}, {}, 8000}; // new keys among them
        whole.source = place[0];
        whole.place = place[1];
        WriteBoth(stage, more, ++ordinal, whole);
        stage.finish(stage.seal(ordinal));
        for (uint64_t at = 1; at <= ordinal; at++)
            ExpectSame(stage, more, {at, at, true});
        ExpectSameAt(stage, more, ordinal);
    }
}

// A first write from another device decides for where it is placed.
TEST_P(Devices, TheFirstPlacementDecides)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t query = stage.query(3);
    Rows rows = {{3}, {}, 10};
    rows.source = 1;
    MakeCurrent(1);
    fr_cu_stream producer = Stream("producer");
    fr_sim_hold(producer, true);
    stage.finish(WriteOnDevice(stage, query, 1, rows, producer));
    stage.finish(stage.seal(1));
    for (uint64_t ordinal = 2; ordinal < 6; ordinal++) {
        rows.first = static_cast<float>(100 * ordinal);
        rows.place = ordinal % 2;
        stage.finish(WriteOnDevice(stage, query, ordinal, rows, producer));
        stage.finish(stage.seal(ordinal));
    }
    fr_sim_hold(producer, false);
    for (int32_t device : {1, 0}) {
        MakeCurrent(device);
        ovstage_placement_t placement = Place(nullptr, Event(), device);
        auto shown = ReadGroups(stage, query, OnDevice(stage), {0, 5, false}, &placement);
        EXPECT_EQ(shown[0].values, (std::vector<float>{500, 501, 502}));
    }
}

// A managed tensor that is on another device than the column is the client's again when it has been
// read: the deleter frees it.
TEST_P(Devices, AManagedTensorOfAnotherDevice)
{
    static const fr_cuda_driver *driver;
    static fr_cu_context context;
    static int deleted;
    driver = cu;
    context = contexts[1];
    for (bool apart : {false, true}) {
        client::Stage stage(1);
        ovstage_query_handle_t query = stage.query(3);
        MakeCurrent(1);
        fr_cu_stream producer = Stream("held producer");
        fr_sim_hold(producer, true);
        fr_cu_device_ptr memory = 0;
        FR_SIM_OK(cu->cuMemAlloc(&memory, 5 * sizeof(float)));
        Produce(producer, memory, 5, 1);
        deleted = 0;
        ManagedSource source(
            memory,
            [](DLManagedTensorVersioned *managed) {
                fr_cu_context none = nullptr;
                auto freed = reinterpret_cast<fr_cu_device_ptr>(managed->dl_tensor.data);
                FR_SIM_OK(driver->cuCtxPushCurrent(context));
                FR_SIM_OK(driver->cuMemFree(freed));
                FR_SIM_OK(driver->cuCtxPopCurrent(&none));
                deleted++;
            },
            Handle(producer));
        int64_t stride = 2;
        source.managed.dl_tensor.device.device_id = 1;
        source.managed.dl_tensor.strides = apart ? &stride : nullptr;
        MakeCurrent(0);
        ovstage_placement_t placement = Place(nullptr, Event());
        stage.finish(ovstage_write_attribute_on_device(
            stage.instance, query, ovx_string_or_token_t{OnDevice(stage), {}}, 1, source.data,
            OVSTAGE_PRIM_MODE_UPSERT, &placement));
        stage.finish(stage.seal(1));
        EXPECT_EQ(deleted, 0);
        fr_sim_hold(producer, false);
        auto shown = ReadGroups(stage, query, OnDevice(stage), {0, 1, false}, &placement);
        EXPECT_EQ(shown[0].values[2], apart ? 5 : 3);
        stage.destroy();
        EXPECT_EQ(deleted, 1);
    }
}

// Entries of one call that lie on two devices: each waits for its own producer, and the event for
// all of them.
TEST_P(Devices, ABatchFromSeveral)
{
    for (int32_t place : {0, 1}) {
        client::Stage stage(1);
        ovstage_query_handle_t query = stage.query(3);
        const ovx_token_t names[3] = {stage.token("a"), stage.token("b"), stage.token("c")};
        const int32_t sources[3] = {0, 1, 0}, homes[3] = {1, 0, 0};
        fr_cu_stream producers[3];
        int64_t count = 3;
        DLTensor tensors[3];
        ovstage_attribute_write_t writes[3] = {};
        for (int k = 0; k < 3; k++) {
            Rows rows = {{3}, {}, 0};
            rows.source = rows.place = homes[k];
            rows.name = names[k];
            MakeCurrent(homes[k]);
            stage.finish(WriteOnDevice(stage, query, 1, rows, Stream("producer")));
            MakeCurrent(sources[k]);
            producers[k] = Stream("held producer");
            fr_sim_hold(producers[k], true);
            fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
            Produce(producers[k], memory, 3, static_cast<float>(10 * k));
            tensors[k] = {reinterpret_cast<void *>(memory),
                          {kDLCUDA, sources[k]},
                          1,
                          {kDLFloat, 32, 1},
                          &count,
                          nullptr,
                          0};
            writes[k].attribute = {names[k], {}};
            writes[k].data.tensors = &tensors[k];
            writes[k].data.tensor_count = 1;
            writes[k].data.cuda_sync.stream = Handle(producers[k]);
        }
        MakeCurrent(place);
        fr_cu_stream consumer = Stream("consumer"), placed = Stream("placement");
        fr_cu_event available = Event(), others = Event();
        ovstage_placement_t placement = Place(placed, available, place);
        stage.finish(ovstage_write_attributes_on_device(stage.instance, query, writes, 3, 2,
                                                        OVSTAGE_PRIM_MODE_UPSERT, &placement));
        EXPECT_EQ(cu->cuEventRecord(others, placed), 0u);
        stage.finish(stage.seal(2));
        for (int k : {2, 0, 1}) {
            EXPECT_EQ(cu->cuEventQuery(available), static_cast<fr_cu_result>(600)) << k;
            EXPECT_EQ(cu->cuEventQuery(others), static_cast<fr_cu_result>(600)) << k;
            MakeCurrent(sources[k]);
            fr_sim_hold(producers[k], false);
            EXPECT_EQ(cu->cuStreamSynchronize(producers[k]), 0u);
            MakeCurrent(place);
        }
        EXPECT_EQ(cu->cuStreamWaitEvent(consumer, available, 0), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(consumer), 0u);
        for (int k = 0; k < 3; k++)
            EXPECT_EQ(stage.read(query, names[k], 2)[1], static_cast<float>(10 * k + 1));
    }
}

// Nor does who reads all rows take a copy of the first ones.
TEST_P(Devices, ACopyOfSomeRowsIsNoneOfAll)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3), first = stage.query(Paths({0}));
    MakeCurrent(0);
    fr_cu_stream producer = Stream("producer");
    stage.finish(WriteOnDevice(stage, query, 1, {{3}, {}, 10}, producer));
    stage.finish(stage.seal(1));
    MakeCurrent(1);
    for (int k = 0; k < 2; k++) {
        ovstage_placement_t placement = Place(nullptr, Event(), 1);
        auto one = ReadGroups(stage, first, OnDevice(stage), {0, 1, false}, &placement);
        EXPECT_EQ(one[0].values, (std::vector<float>{10}));
        auto all = ReadGroups(stage, query, OnDevice(stage), {0, 1, false}, &placement);
        EXPECT_EQ(all[0].values, (std::vector<float>{10, 11, 12}));
    }
    MakeCurrent(0);
}

// What a write of no prims waits for lies where its rows would.
TEST_P(Devices, AWriteOfNothingFromAnotherDevice)
{
    client::Stage stage(1);
    MakeCurrent(0);
    fr_cu_event event = Event();
    MakeCurrent(1);
    fr_cu_stream stalled = Stream("stalled producer");
    fr_sim_hold(stalled, true);
    Rows rows = {{3}, {}, 1};
    rows.source = 1;
    rows.event = event;
    stage.finish(WriteOnDevice(stage, stage.query(0), 1, rows, stalled));
    ovstage_placement_t placement = Place(nullptr, nullptr, 0);
    int64_t count = 0;
    DLTensor tensor{nullptr, {kDLCUDA, 1}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0};
    ovstage_write_data_t data = {};
    data.tensors = &tensor;
    data.tensor_count = 1;
    data.cuda_sync.stream = Handle(stalled);
    ovstage_enqueue_result_t without_event = ovstage_write_attribute_on_device(
        stage.instance, stage.query(0), ovx_string_or_token_t{OnDevice(stage), {}}, 1, data,
        OVSTAGE_PRIM_MODE_UPSERT, &placement);
    (void)fr_sim_drain();
    EXPECT_EQ(cu->cuEventQuery(event), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    EXPECT_EQ(ovstage_wait_op(stage.instance, without_event.op_index, 0, nullptr),
              OVSTAGE_ERROR_TIMEOUT);
    fr_sim_hold(stalled, false);
    stage.finish(without_event);
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_EQ(cu->cuEventQuery(event), 0u);
    MakeCurrent(0);
}

// A device that has a copy needs no other one, and who takes it waits until it is there.
TEST_P(Devices, ACopyIsTakenAgain)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    fr_cu_stream producer = Stream("held producer");
    fr_sim_hold(producer, true);
    stage.finish(WriteOnDevice(stage, query, 1, {{3}, {}, 10}, producer));
    stage.finish(stage.seal(1));
    MakeCurrent(1);
    ovstage_read_group_t groups[2] = {};
    fr_cu_stream consumers[2];
    fr_cu_device_ptr copied[2];
    uint64_t copies = fr_sim_calls("cuMemcpyPeerAsync");
    for (int k = 0; k < 2; k++) {
        fr_cu_event readable = Event();
        consumers[k] = Stream("consumer");
        copied[k] = Memory(3 * sizeof(float), "copied");
        ovstage_placement_t placement = Place(Stream("reader"), readable, 1);
        ovstage_read_handle_t read = 0;
        stage.finish(Read(stage, query, OnDevice(stage), 1, &placement, &read));
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &groups[k]),
                  OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        auto from = reinterpret_cast<fr_cu_device_ptr>(groups[k].data.tensors[0].data);
        EXPECT_EQ(cu->cuStreamWaitEvent(consumers[k], readable, 0), 0u);
        EXPECT_EQ(cu->cuMemcpyDtoDAsync(copied[k], from, 3 * sizeof(float), consumers[k]), 0u);
    }
    EXPECT_EQ(fr_sim_calls("cuMemcpyPeerAsync"), copies + 1);
    EXPECT_EQ(groups[0].data.tensors[0].data, groups[1].data.tensors[0].data);
    EXPECT_EQ(ovstage_release_group(stage.instance, &groups[0]), OVSTAGE_OK);
    fr_sim_hold(producer, false);
    for (int k = 0; k < 2; k++)
        EXPECT_EQ(Value(consumers[k], copied[k] + 2 * sizeof(float)), 12);
    EXPECT_EQ(ovstage_release_group(stage.instance, &groups[1]), OVSTAGE_OK);
    MakeCurrent(0);
}

// The payload is used again for a newer head, and then what is copied of it is the newer one.
TEST_P(Devices, ACopyGoesWithTheNextWrite)
{
    client::Stage stage(1);
    read_on = {1};
    const uint32_t count = 20;
    ovstage_query_handle_t all = stage.query(count);
    WriteBoth(stage, all, 1, {{count}, {}, 1000});
    stage.finish(stage.seal(1));
    for (uint64_t ordinal = 2; ordinal < 14; ordinal++) {
        WriteBoth(stage, stage.query(Paths({3, 9, static_cast<uint32_t>(ordinal)})), ordinal,
                  {{3}, {}, static_cast<float>(1000 * ordinal)});
        EXPECT_TRUE(fr_sim_drain());
        stage.finish(stage.seal(ordinal));
        for (int again = 0; again < 2; again++)
            ExpectSameAt(stage, all, ordinal);
    }
}

// Two devices take turns: each computes from what the other one has written.
TEST_P(Devices, TheyTakeTurns)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t sum = stage.token("sum"), values = stage.token("values");
        ovstage_query_handle_t one = stage.query(Paths({0}));
        fr_cu_stream streams[2];
        fr_cu_event written[2], readable[2];
        fr_cu_device_ptr source = 0, summed = 0;
        for (int32_t device : {1, 0}) {
            MakeCurrent(device);
            streams[device] = Stream(device ? "device 1" : "device 0");
            written[device] = Event();
            readable[device] = Event();
            (device ? summed : source) = Memory(3 * sizeof(float), "source");
        }
        for (uint64_t ordinal = 1; ordinal < 6; ordinal++) {
            Rows rows = {{3}, {}, static_cast<float>(10 * ordinal)};
            rows.name = values;
            rows.memory = source;
            rows.event = written[0];
            MakeCurrent(0);
            if (ordinal > 1) {
                EXPECT_EQ(cu->cuStreamWaitEvent(streams[0], written[0], 0), 0u);
            }
            Produce(streams[0], source, 3, rows.first);
            stage.finish(WriteOnDevice(stage, query, ordinal, rows, streams[0]));
            stage.finish(stage.seal(ordinal, OVSTAGE_SCOPE_INCLUDE, {values}));
            MakeCurrent(1);
            ovstage_placement_t placement = Place(nullptr, readable[1], 1);
            ovstage_read_handle_t read = 0;
            ovstage_read_group_t group = {};
            stage.finish(Read(stage, query, values, ordinal, &placement, &read));
            ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                      OVSTAGE_OK);
            stage.finish(ovstage_release_read(stage.instance, read));
            if (ordinal > 1) {
                EXPECT_EQ(cu->cuStreamWaitEvent(streams[1], written[1], 0), 0u);
            }
            EXPECT_EQ(cu->cuStreamWaitEvent(streams[1], readable[1], 0), 0u);
            Sum(streams[1], reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), 3,
                summed);
            rows = {{1}, {}, 0};
            rows.source = rows.place = 1;
            rows.name = sum;
            rows.memory = summed;
            rows.event = written[1];
            stage.finish(WriteOnDevice(stage, one, ordinal, rows, streams[1]));
            EXPECT_EQ(cu->cuStreamSynchronize(streams[1]), 0u); // before the group goes
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
            stage.finish(stage.seal(ordinal));
            MakeCurrent(0);
            ovstage_placement_t back = Place(nullptr, readable[0]);
            auto shown = ReadGroups(stage, one, sum, {0, ordinal, false}, &back);
            EXPECT_EQ(shown[0].values[0], static_cast<float>(30 * ordinal + 3));
        }
    }
}

// The device is the tensor's and the placement's, whatever the calling thread has as its current
// one, which stays that (T10).
TEST_P(Devices, TheCurrentDeviceDoesNotMatter)
{
    for (uint32_t workers : {0u, 2u}) {
        for (int32_t current : {1, 0, -1}) {
            client::Stage stage(workers);
            ovstage_query_handle_t query = stage.query(3);
            fr_cu_stream producers[2];
            fr_cu_event written[2], readable[2];
            fr_cu_device_ptr memory[2];
            for (int32_t device : {1, 0}) {
                MakeCurrent(device);
                producers[device] = Stream("producer");
                written[device] = Event();
                readable[device] = Event();
                Rows rows = {{3}, {}, static_cast<float>(10 * device)};
                rows.source = device;
                memory[device] = Source(rows, producers[device]);
            }
            fr_cu_context wanted = current < 0 ? nullptr : contexts[current], now = nullptr;
            FR_SIM_OK(cu->cuCtxSetCurrent(wanted));
            auto same = [&] {
                EXPECT_EQ(cu->cuCtxGetCurrent(&now), 0u);
                EXPECT_EQ(now, wanted);
            };
            uint64_t ordinal = 0;
            for (int32_t device : {0, 1}) {
                for (int32_t place : {0, 1}) {
                    Rows rows = {{3}, {}, static_cast<float>(10 * device)};
                    rows.source = device;
                    rows.place = place;
                    rows.memory = memory[device];
                    rows.event = written[place];
                    stage.finish(WriteOnDevice(stage, query, ++ordinal, rows, producers[device]));
                    same();
                    stage.finish(stage.seal(ordinal));
                    same();
                    for (int32_t reader : {0, 1}) {
                        ovstage_placement_t placement = Place(nullptr, readable[reader], reader);
                        ovstage_read_handle_t read = 0;
                        ovstage_read_group_t group = {};
                        stage.finish(
                            Read(stage, query, OnDevice(stage), ordinal, &placement, &read));
                        ASSERT_EQ(
                            ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                            OVSTAGE_OK);
                        EXPECT_EQ(group.data.tensors[0].device.device_id, reader);
                        EXPECT_EQ(cu->cuEventSynchronize(readable[reader]), 0u);
                        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
                        stage.finish(ovstage_release_read(stage.instance, read));
                        same();
                    }
                    EXPECT_EQ(stage.read(query, OnDevice(stage), ordinal)[1], rows.first + 1);
                    same();
                }
            }
            stage.destroy();
            same();
            FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0]));
        }
    }
}

PLACEMENT_ORDERS(Devices);

} // namespace
