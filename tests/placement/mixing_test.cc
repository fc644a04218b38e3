// Rows that are wanted otherwise than they lie, and rows that go from the host to a device.
#include <thread>

#include "tests/placement/each_fails.h"
#include "tests/placement/rows_fixture.h"
#include "tests/support/bounded.h"
#include "tests/support/filters.h"

extern "C" size_t fr_staging_limit_bytes(void); // runtime/device/staging.h, which is C

namespace
{

class Mixing : public PlacementTest
{
  protected:
    // The values of a column on the device, in query order, by a consumer that waits for the read's
    // event alone.
    std::vector<float> ReadValues(const client::Stage &stage, ovstage_query_handle_t query,
                                  ovx_token_t attribute, uint64_t ordinal)
    {
        fr_cu_stream consumer = Stream("consumer");
        fr_cu_event readable = Event();
        ovstage_placement_t placement = Place(nullptr, readable);
        ovstage_read_handle_t read = 0;
        std::vector<float> values;
        ovstage_enqueue_result_t result = Read(stage, query, attribute, ordinal, &placement, &read);
        stage.finish(result);
        ovstage_read_group_t group = {};
        if (result.status != OVSTAGE_OK ||
            ovstage_fetch_read_next(stage.instance, read, client::forever, &group) != OVSTAGE_OK)
            return values;
        const DLTensor &tensor = group.data.tensors[0];
        EXPECT_EQ(tensor.device.device_type, kDLCUDA);
        values.resize(group.data.count);
        EXPECT_EQ(cu->cuStreamWaitEvent(consumer, readable, 0), 0u);
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(values.data(),
                                        reinterpret_cast<fr_cu_device_ptr>(tensor.data),
                                        values.size() * sizeof(float), consumer),
                  0u);
        EXPECT_EQ(cu->cuStreamSynchronize(consumer), 0u);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        return values;
    }

    // first, first + 1, ... from a producer that is not done.
    void WriteFromDevice(const client::Stage &stage, ovstage_query_handle_t query,
                         ovx_token_t attribute, uint64_t ordinal, uint32_t count, float first)
    {
        fr_cu_stream producer = Stream("producer");
        fr_cu_event written = Event();
        fr_cu_device_ptr data = Memory(count * sizeof(float), "source");
        ovstage_placement_t placement = Place(nullptr, written);
        Produce(producer, data, count, first);
        stage.finish(Write(stage, query, attribute, ordinal, data, count, {Handle(producer), 0},
                           &placement));
    }
};

TEST_P(Mixing, RowsInAnotherOrder)
{
    client::Stage stage(2);
    ovx_token_t attribute = stage.token("values");
    const uint32_t count = 60;
    WriteFromDevice(stage, stage.query(count), attribute, 1, count, 100);
    stage.finish(stage.seal(1));
    std::vector<uint32_t> turned, some, few = {7, 8, 9, 3};
    for (uint32_t k = 0; k < count; k++) {
        turned.push_back(count - 1 - k);
        if (k % 3 != 1)
            some.push_back(k);
    }
    for (const auto &numbers : {turned, some, few}) {
        std::vector<float> wanted;
        for (uint32_t number : numbers)
            wanted.push_back(100 + static_cast<float>(number));
        EXPECT_EQ(ReadValues(stage, stage.query(Paths(numbers)), attribute, 1), wanted);
    }
}

TEST_P(Mixing, RowsOfKeysThatWereMadeApart)
{
    client::Stage stage(2);
    ovx_token_t attribute = stage.token("values");
    const uint32_t count = 40;
    std::vector<uint32_t> all;
    std::vector<std::string> mixed;
    std::vector<float> wanted;
    for (uint32_t k = 0; k < count; k++) {
        all.push_back(k);
        mixed.push_back(Paths({k}, "A")[0]);
        mixed.push_back(Paths({count - 1 - k}, "B")[0]);
        wanted.push_back(static_cast<float>(k));
        wanted.push_back(1000 + static_cast<float>(count - 1 - k));
    }
    WriteFromDevice(stage, stage.query(Paths(all, "A")), attribute, 1, count, 0);
    stage.finish(stage.seal(1));
    WriteFromDevice(stage, stage.query(Paths(all, "B")), attribute, 2, count, 1000);
    stage.finish(stage.seal(2));
    EXPECT_EQ(ReadValues(stage, stage.query(mixed), attribute, 2), wanted);
    ovx_string_or_token_t name = {attribute, {}};
    stage.finish(
        ovstage_delete_attributes(stage.instance, stage.query(Paths({0}, "A")), &name, 1, 3));
    stage.finish(stage.seal(3));
    wanted.erase(wanted.begin());
    EXPECT_EQ(ReadValues(stage, stage.query(mixed), attribute, 3), wanted);
}

// What is gathered is read by the device after the group is gone, and its memory is used again.
TEST_P(Mixing, AGatherHoldsWhatItReads)
{
    client::Stage stage(1);
    ovx_token_t attribute = stage.token("values");
    ovstage_query_handle_t query = stage.query(3), turned = stage.query(Paths({2, 1, 0}));
    WriteFromDevice(stage, query, attribute, 1, 3, 1);
    stage.finish(stage.seal(1));
    fr_cu_stream held = Stream("held reader");
    fr_cu_event readable = Event();
    ovstage_placement_t placement = Place(held, readable);
    fr_sim_hold(held, true);
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, turned, attribute, 1, &placement, &read));
    stage.finish(ovstage_release_read(stage.instance, read));
    for (uint64_t ordinal = 2; ordinal < 12; ordinal++) {
        WriteFromDevice(stage, query, attribute, ordinal, 3, static_cast<float>(10 * ordinal));
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(ReadValues(stage, query, attribute, ordinal)[0],
                  static_cast<float>(10 * ordinal));
    }
    fr_sim_hold(held, false);
}

TEST_P(Mixing, RowsOfTheHostGoToADevice)
{
    client::Stage stage(2);
    ovx_token_t attribute = stage.token("values");
    ovstage_query_handle_t query = stage.query(4);
    fr_cu_event written = Event();
    ovstage_placement_t placement = Place(nullptr, written);
    std::vector<float> values = {1, -1, 2, -1, 3, -1, 4, -1};
    int64_t shape = 4, stride = 2;
    const uint32_t map[] = {3, 2, 1, 0};
    DLTensor tensor{values.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &shape, &stride, 0};
    ovstage_write_data_t data = {};
    data.tensors = &tensor;
    data.tensor_count = 1;
    data.count = 4;
    data.index_map = map;
    stage.finish(ovstage_write_attribute_on_device(stage.instance, query,
                                                   ovx_string_or_token_t{attribute, {}}, 1, data,
                                                   OVSTAGE_PRIM_MODE_UPSERT, &placement));
    values.assign(8, 99); // it has been read
    stage.finish(stage.seal(1));
    EXPECT_EQ(ReadValues(stage, query, attribute, 1), (std::vector<float>{4, 3, 2, 1}));
}

// Its deleter has run when the op is complete, whatever the device still has to do (D10).
TEST_P(Mixing, ATensorOfTheHostIsLetGoOfWhenItIsRead)
{
    static int deleted;
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    fr_cu_stream held = Stream("held");
    ovstage_placement_t placement = Place(held, Event());
    std::vector<float> values = {1, 2, 3};
    ManagedSource source(
        0, [](DLManagedTensorVersioned *) { deleted++; }, 0);
    source.managed.dl_tensor.device = {kDLCPU, 0};
    source.managed.dl_tensor.data = values.data();
    fr_sim_hold(held, true);
    deleted = 0;
    stage.finish(ovstage_write_attribute_on_device(
        stage.instance, query, ovx_string_or_token_t{stage.token("values"), {}}, 1, source.data,
        OVSTAGE_PRIM_MODE_UPSERT, &placement));
    EXPECT_EQ(deleted, 1);
    fr_sim_hold(held, false);
}

// Several are on their way at one time.
TEST_P(Mixing, RowsThatAreStagedStayUntilTheyAreThere)
{
    client::Stage stage(1);
    ovx_token_t attribute = stage.token("values");
    ovstage_query_handle_t query = stage.query(2);
    fr_cu_event written = Event();
    ovstage_placement_t placement = Place(nullptr, written);
    std::vector<float> values(2);
    int64_t shape = 2;
    DLTensor tensor{values.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &shape, nullptr, 0};
    ovstage_write_data_t data = {};
    data.tensors = &tensor;
    data.tensor_count = 1;
    for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
        values = {static_cast<float>(ordinal), static_cast<float>(10 * ordinal)};
        stage.finish(ovstage_write_attribute_on_device(
            stage.instance, query, ovx_string_or_token_t{attribute, {}}, ordinal, data,
            OVSTAGE_PRIM_MODE_UPSERT, &placement));
    }
    stage.finish(stage.seal(5));
    for (uint64_t ordinal = 3; ordinal <= 5; ordinal++)
        EXPECT_EQ(
            ReadValues(stage, query, attribute, ordinal),
            (std::vector<float>{static_cast<float>(ordinal), static_cast<float>(10 * ordinal)}));
}

TEST_P(Mixing, AColumnOfTheHostIsReadOnADevice)
{
    client::Stage stage(2);
    ovx_token_t attribute = stage.token("values");
    ovstage_query_handle_t query = stage.query(5);
    const std::vector<float> values = {1, 2, 3, 4, 5};
    stage.finish(stage.write(query, attribute, 1, values));
    stage.finish(stage.seal(1));
    EXPECT_EQ(ReadValues(stage, query, attribute, 1), values);
    EXPECT_EQ(ReadValues(stage, stage.query(Paths({4, 0})), attribute, 1),
              (std::vector<float>{5, 1}));
    EXPECT_EQ(stage.read(query, attribute, 1), values);
}

// So many bytes of the host to a column on a device, and what is left in its streams is done.
static void WriteBytesAndWait(const client::Stage &stage, ovx_token_t attribute, uint64_t ordinal,
                              size_t size_bytes, ovstage_placement_t placement)
{
    const size_t lanes = 250, rows = size_bytes / (lanes * sizeof(double));
    std::vector<double> values(rows * lanes, 7);
    int64_t shape[] = {static_cast<int64_t>(rows), static_cast<int64_t>(lanes)};
    DLTensor tensor{values.data(), {kDLCPU, 0}, 2, {kDLFloat, 64, 1}, shape, nullptr, 0};
    ovstage_write_data_t data = {};
    data.tensors = &tensor;
    data.tensor_count = 1;
    stage.finish(ovstage_write_attribute_on_device(stage.instance, stage.query(rows),
                                                   ovx_string_or_token_t{attribute, {}}, ordinal,
                                                   data, OVSTAGE_PRIM_MODE_UPSERT, &placement));
}

// To take pinned memory back the driver waits for all that its devices have to do, a stranger's
// too: what was used for other sizes stays as it is.
TEST_P(Mixing, PinnedMemoryOfOtherSizesWaitsForNobody)
{
    if (GetParam().mode != FR_SIM_LAZY)
        return; // what is pinned is the same in each order
    const size_t limit_bytes = fr_staging_limit_bytes(), large = limit_bytes / 16 * 11;
    client::Stage stage(1);
    fr_cu_stream stalled = Stream("a stranger's");
    fr_cu_device_ptr data = Memory(sizeof(float), "a stranger's");
    ovstage_placement_t none = Place(nullptr, nullptr); // it is complete when all is done
    WriteBytesAndWait(stage, stage.token("large"), 1, large, none);
    fr_sim_hold(stalled, true);
    Produce(stalled, data, 1, 1);
    client::bounded("a write beside one of another size", [&] {
        WriteBytesAndWait(stage, stage.token("small"), 1, limit_bytes / 16 * 5, none);
    });
    // A size that differs a little takes what is there.
    uint64_t pinned = fr_sim_calls("cuMemHostAlloc");
    WriteBytesAndWait(stage, stage.token("less"), 1, large / 5 * 4, none);
    EXPECT_EQ(fr_sim_calls("cuMemHostAlloc"), pinned);
    fr_sim_hold(stalled, false);
}

// Rows of the host to a column on a device.
static void WriteFromHost(const client::Stage &stage, ovstage_query_handle_t query,
                          ovx_token_t attribute, uint64_t ordinal, std::vector<float> values,
                          ovstage_placement_t placement)
{
    int64_t count = static_cast<int64_t>(values.size());
    DLTensor tensor{values.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0};
    ovstage_write_data_t data = {};
    data.tensors = &tensor;
    data.tensor_count = 1;
    stage.finish(ovstage_write_attribute_on_device(stage.instance, query,
                                                   ovx_string_or_token_t{attribute, {}}, ordinal,
                                                   data, OVSTAGE_PRIM_MODE_UPSERT, &placement));
}

static std::vector<std::string> FoundBy(const client::Stage &stage, ovstage_query_handle_t query)
{
    std::vector<std::string> paths = client::found(stage, query).paths;
    stage.finish(ovstage_release_query(stage.instance, query));
    return paths;
}

// A filter sees the newest values that lie on devices, sealed or not, when they are written.
TEST_P(Mixing, FiltersByValuesOnDevices)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        const std::vector<uint32_t> some = {3, 4, 11, 17};
        ovstage_query_handle_t query = stage.query(20), part = stage.query(Paths(some));
        ovx_token_t values = stage.token("values"), host = stage.token("host"),
                    other = stage.token("other");
        WriteFromDevice(stage, query, values, 1, 20, 100);
        std::vector<float> on_host;
        for (uint32_t k = 0; k < 20; k++)
            on_host.push_back(static_cast<float>(k % 2));
        stage.finish(stage.write(query, host, 1, on_host));
        WriteFromHost(stage, query, other, 1, on_host, Place(nullptr, nullptr, 1));
        stage.finish(stage.seal(1));
        fr_cu_stream stalled = Stream("stalled producer");
        fr_cu_device_ptr data = Memory(4 * sizeof(float), "late source");
        ovstage_placement_t late = Place(nullptr, Event());
        fr_sim_hold(stalled, true);
        Produce(stalled, data, 4, 500);
        stage.finish(Write(stage, part, values, 2, data, 4, {Handle(stalled), 0}, &late));
        ovstage_query_handle_t large = 0, both = 0;
        ovstage_enqueue_result_t first = client::submit(
                                     stage, {{"values", OVSTAGE_FILTER_OP_GE, {"501"}}}, &large),
                                 second = client::submit(stage,
                                                         {{"values", OVSTAGE_FILTER_OP_LT, {"104"}},
                                                          {"host", OVSTAGE_FILTER_OP_IN, {"0"}},
                                                          {"other", OVSTAGE_FILTER_OP_LE, {"0.5"}}},
                                                         &both);
        for (uint32_t look = 0; look < 4; look++)
            EXPECT_FALSE(IsDone(stage, first));
        EXPECT_FALSE(IsDone(stage, second));
        // It holds up nobody: other ordinals, and filters by what is written.
        WriteFromDevice(stage, query, stage.token("more"), 7, 20, 0);
        EXPECT_EQ(client::find(stage, {{"other", OVSTAGE_FILTER_OP_GT, {"0"}}}).size(), 10u);
        EXPECT_EQ(client::find(stage, {{"more", OVSTAGE_FILTER_OP_LT, {"2"}}}), Paths({0, 1}));
        fr_sim_hold(stalled, false);
        stage.finish(second);
        stage.finish(first);
        EXPECT_EQ(FoundBy(stage, large), Paths({11, 17, 4})); // in path order
        EXPECT_EQ(FoundBy(stage, both), Paths({0, 2}));
        stage.finish(stage.seal(2));
        EXPECT_EQ(client::find(stage, {{"values", OVSTAGE_FILTER_OP_IN, {"500", "119", "103"}}}),
                  Paths({19, 3}));
    }
}

// What a filter is to read is not written in place: who writes it again does not wait for what else
// the filter waits for.
TEST_P(Mixing, RowsThatAFilterReadsAreWrittenAgain)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3), found = 0;
    ovx_token_t left = stage.token("left"), right = stage.token("right");
    fr_cu_stream producer = Stream("producer"), stalled = Stream("stalled producer");
    fr_cu_event again = Event();
    fr_cu_device_ptr data[3] = {Memory(3 * sizeof(float), "first"),
                                Memory(3 * sizeof(float), "second"),
                                Memory(3 * sizeof(float), "late")};
    fr_sim_hold(stalled, true);
    Produce(producer, data[0], 3, 10);
    Produce(producer, data[1], 3, 20);
    Produce(stalled, data[2], 3, 0);
    ovstage_placement_t first = Place(nullptr, Event()), second = Place(nullptr, again);
    stage.finish(Write(stage, query, left, 1, data[0], 3, {Handle(producer), 0}, &first));
    stage.finish(Write(stage, query, right, 2, data[2], 3, {Handle(stalled), 0}, &first));
    ovstage_enqueue_result_t filter = client::submit(
        stage, {{"left", OVSTAGE_FILTER_OP_LT, {"12"}}, {"right", OVSTAGE_FILTER_OP_GE, {"1"}}},
        &found);
    for (uint32_t look = 0; look < 4; look++)
        EXPECT_FALSE(IsDone(stage, filter));
    stage.finish(Write(stage, query, left, 1, data[1], 3, {Handle(producer), 0}, &second));
    EXPECT_FALSE(fr_sim_drain());
    EXPECT_EQ(cu->cuEventQuery(again), 0u);
    fr_sim_hold(stalled, false);
    stage.finish(filter);
    EXPECT_EQ(FoundBy(stage, found), Paths({1}));
    stage.finish(stage.seal(2));
    EXPECT_EQ(stage.read(query, left, 1), (std::vector<float>{20, 21, 22}));
}

// One that waits for values is dropped with its instance.
TEST_P(Mixing, AFilterThatWaitsIsDropped)
{
    for (uint32_t workers : {0u, 1u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3), found = 0;
        ovx_token_t values = stage.token("values");
        fr_cu_stream stalled = Stream("stalled producer");
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "late source");
        ovstage_placement_t late = Place(nullptr, Event());
        fr_sim_hold(stalled, true);
        Produce(stalled, data, 3, 500);
        stage.finish(Write(stage, query, values, 2, data, 3, {Handle(stalled), 0}, &late));
        EXPECT_FALSE(IsDone(
            stage, client::submit(stage, {{"values", OVSTAGE_FILTER_OP_GE, {"1"}}}, &found)));
        std::thread ends([&] { fr_sim_hold(stalled, false); });
        stage.destroy();
        ends.join();
    }
}

PLACEMENT_ORDERS(Mixing);

class MixingFaults : public Mixing
{
};

// Of a candidate with two values to look at, one is noted, and there is no memory for the other:
// the filter fails, or it goes by both.
TEST_P(MixingFaults, EachAllocationOfAFilterFailsOnce)
{
    const uint32_t count = 12; // of twice as many values a list does not have room at first
    ovstage_query_handle_t found = 0;
    fr_cu_stream producer = Stream("producer");
    fr_cu_device_ptr data = Memory(count * sizeof(float), "source");
    Produce(producer, data, count, 0);
    FR_SIM_OK(cu->cuStreamSynchronize(producer));
    bool good = false;
    EachAllocationFails(
        1, 1,
        [&](const client::Stage &stage) {
            ovstage_placement_t placement = Place(nullptr, nullptr);
            for (const char *name : {"left", "right"})
                stage.finish(Write(stage, stage.query(count), stage.token(name), 1, data, count,
                                   {0, 0}, &placement));
            stage.finish(stage.seal(1));
        },
        [&](const client::Stage &stage) {
            found = 0;
            good = Succeeds(stage, client::submit(stage,
                                                  {{"left", OVSTAGE_FILTER_OP_LT, {"0"}},
                                                   {"right", OVSTAGE_FILTER_OP_GE, {"0"}}},
                                                  &found));
            return good;
        },
        [&](const client::Stage &stage) {
            if (good) {
                EXPECT_EQ(client::found(stage, found).paths, std::vector<std::string>());
            }
        });
}

INSTANTIATE_TEST_SUITE_P(Orders, MixingFaults, ::testing::Values(Orders()[0]), OrderName);

} // namespace
