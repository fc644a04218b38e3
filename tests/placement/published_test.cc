// Faults of order that were published of other libraries, as a client of this one would meet them.
// Those that other tests of this folder have are in the README's table.
#include <thread>

#include "tests/placement/rows_fixture.h"

namespace
{

class Published : public RowsTest
{
  protected:
    void SetUp() override
    {
        options.pageable = FR_SIM_PAGEABLE_LATE;
        RowsTest::SetUp();
    }

    static std::vector<float> Ramp(uint32_t count, float first)
    {
        std::vector<float> values(count);
        for (uint32_t k = 0; k < count; k++)
            values[k] = first + static_cast<float>(k);
        return values;
    }
};

// One event was recorded in several streams in turn, and who waited for it saw the last record
// only. An operation with three producers waits for all, whichever is the slow one.
TEST_P(Published, ThreeProducersOfOneOperation)
{
    for (int slow = 0; slow < 3; slow++) {
        client::Stage stage(2);
        ovstage_query_handle_t query = stage.query(4);
        int64_t count = 4;
        fr_cu_event event = Event();
        std::vector<fr_cu_stream> producers;
        DLTensor tensors[3];
        ovstage_attribute_write_t writes[3] = {};
        ovx_token_t attributes[3];
        for (int k = 0; k < 3; k++) {
            fr_cu_device_ptr memory = Memory(4 * sizeof(float), "source");
            producers.push_back(Stream("producer"));
            fr_sim_hold(producers[k], k == slow);
            Produce(producers[k], memory, 4, static_cast<float>(100 * k));
            tensors[k] = {reinterpret_cast<void *>(memory),
                          {kDLCUDA, 0},
                          1,
                          {kDLFloat, 32, 1},
                          &count,
                          nullptr,
                          0};
            attributes[k] = stage.token("column" + std::to_string(k));
            writes[k].attribute.token = attributes[k];
            writes[k].data.tensors = &tensors[k];
            writes[k].data.tensor_count = 1;
            writes[k].data.cuda_sync.stream = Handle(producers[k]);
        }
        ovstage_placement_t placement = Place(nullptr, nullptr);
        ovstage_enqueue_result_t write = ovstage_write_attributes_on_device(
            stage.instance, query, writes, 3, 1, OVSTAGE_PRIM_MODE_UPSERT, &placement);
        ASSERT_EQ(write.status, OVSTAGE_OK) << client::last_error();
        // The client uses one event for all three, too: none of it is the operation's.
        for (fr_cu_stream producer : producers)
            FR_SIM_OK(cu->cuEventRecord(event, producer));
        for (int k = 0; k < 10; k++)
            EXPECT_FALSE(IsDone(stage, write)) << "without producer " << slow;
        fr_sim_hold(producers[slow], false);
        stage.finish(write);
        stage.finish(stage.seal(1));
        for (int k = 0; k < 3; k++)
            EXPECT_EQ(
                ReadGroups(stage, query, attributes[k], {0, 1, false}, nullptr),
                (std::vector<Shown>{{1, {0, 1, 2, 3}, Ramp(4, static_cast<float>(100 * k))}}));
    }
}

// A copy from pageable memory returned before the data was there, and staging memory was given to
// the next one before its copy had run. Two threads write rows of the host that they change as soon
// as they may.
TEST_P(Published, RowsOfTheHostFromTwoThreads)
{
    enum { ROUNDS = 6, COUNT = 2000 };
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(COUNT);
    const ovx_token_t columns[2] = {stage.token("left"), stage.token("right")};
    auto value = [](int writer, uint64_t ordinal) {
        return static_cast<float>(1000000 * writer + 10000 * static_cast<int>(ordinal));
    };
    auto write = [&](int writer) {
        int64_t count = COUNT;
        std::vector<float> values(COUNT);
        for (uint64_t ordinal = 1; ordinal <= ROUNDS; ordinal++) {
            values = Ramp(COUNT, value(writer, ordinal));
            DLTensor tensor = {values.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1},
                               &count,        nullptr,     0};
            ovstage_write_data_t data = {};
            data.tensors = &tensor;
            data.tensor_count = 1;
            ovstage_placement_t placement = Place(nullptr, nullptr);
            stage.finish(ovstage_write_attribute_on_device(
                stage.instance, query, ovx_string_or_token_t{columns[writer], {}}, ordinal, data,
                OVSTAGE_PRIM_MODE_UPSERT, &placement));
            std::fill(values.begin(), values.end(), -1.0f);
        }
    };
    std::thread other(write, 1);
    write(0);
    other.join();
    stage.finish(stage.seal(ROUNDS));
    std::vector<uint32_t> positions(COUNT);
    for (uint32_t k = 0; k < COUNT; k++)
        positions[k] = k;
    for (int writer = 0; writer < 2; writer++)
        for (uint64_t ordinal = ROUNDS - 1; ordinal <= ROUNDS; ordinal++) {
            ovstage_placement_t placement = Place(Stream("reader"), Event());
            EXPECT_EQ(
                ReadGroups(stage, query, columns[writer], {0, ordinal, false}, &placement),
                (std::vector<Shown>{{ordinal, positions, Ramp(COUNT, value(writer, ordinal))}}));
        }
}

// The numbers of rows were still on their way when the kernel read them, or were overwritten by the
// next ones. Each write has other numbers, and two ordinals are written at the same time.
TEST_P(Published, ANewIndexMapEachTime)
{
    client::Stage stage(Keeping(2));
    const uint32_t count = 48;
    ovstage_query_handle_t all = stage.query(count);
    WriteBoth(stage, all, 1, {{count}, {}, 0});
    stage.finish(stage.seal(1));
    for (uint64_t ordinal = 2; ordinal <= 12; ordinal++) {
        Rows rows = {{count}, {}, static_cast<float>(1000 * ordinal)};
        for (uint32_t k = 0; k < count; k++)
            rows.map.push_back((k * 5 + static_cast<uint32_t>(ordinal) * 7) % count);
        rows.with_event = ordinal % 2 == 0;
        WriteBoth(stage, all, ordinal, rows);
        if (ordinal % 2 == 1)
            stage.finish(stage.seal(ordinal));
    }
    for (uint64_t ordinal = 8; ordinal <= 11; ordinal++)
        ExpectSameAt(stage, all, ordinal);
}

// An operation was said to be complete while its copy was under way, and its change was not marked.
TEST_P(Published, TheSourceIsUsedAgainAndTheChangeIsTold)
{
    client::Stage stage(Keeping(2));
    ovstage_query_handle_t all = stage.query(8), some = stage.query(Paths({6, 1}));
    ovx_token_t column = OnDevice(stage);
    WriteBoth(stage, all, 1, {{8}, {}, 0});
    stage.finish(stage.seal(1));
    fr_cu_stream producer = Stream("producer"), other = Stream("other");
    fr_cu_device_ptr memory = Memory(2 * sizeof(float), "source");
    Produce(producer, memory, 2, 50);
    Rows rows = {{2}, {}};
    rows.memory = memory;
    rows.with_event = false;
    stage.finish(WriteOnDevice(stage, some, 2, rows, producer));
    Produce(other, memory, 2, -1);
    FR_SIM_OK(cu->cuStreamSynchronize(other));
    stage.finish(stage.seal(2));
    EXPECT_EQ(ReadGroups(stage, all, column, {2, 2, true}, nullptr),
              (std::vector<Shown>{{2, {1, 6}, {51, 50}}}));
}

// The same of an operation that fails when a part of its work is in a stream: there is no memory
// for the numbers of its rows, behind a kernel that puts their elements together.
TEST_P(Published, TheSourceOfAFailedOperation)
{
    for (uint32_t workers : {0u, 1u}) {
        fr_cuda_give_back(); // else there is a piece that another stage had
        client::Stage stage(Keeping(workers));
        ovstage_query_handle_t all = stage.query(20), some = stage.query(Paths({17, 4, 9, 2}));
        WriteBoth(stage, all, 1, {{20, 2}, {}, 0});
        stage.finish(stage.seal(1));
        fr_cu_stream producer = Stream("producer"), other = Stream("other");
        Rows rows = {{4, 2}, {6, 2}, 50};
        rows.memory = Memory(32 * sizeof(float), "source");
        rows.with_event = false;
        fr_sim_hold(producer, true);
        Produce(producer, rows.memory, 32, 50);
        ASSERT_TRUE(fr_sim_fail_call("cuMemHostAlloc", 1, FR_CU_ERROR_OUT_OF_MEMORY));
        ovstage_enqueue_result_t write = WriteOnDevice(stage, some, 2, rows, producer);
        ASSERT_EQ(write.status, OVSTAGE_OK) << client::last_error();
        while (fr_sim_faults_pending())
            EXPECT_FALSE(IsDone(stage, write));
        for (int k = 0; k < 10; k++)
            EXPECT_FALSE(IsDone(stage, write));
        fr_sim_hold(producer, false);
        ovstage_op_wait_result_t outcome = {};
        EXPECT_EQ(ovstage_wait_op(stage.instance, write.op_index, client::forever, &outcome),
                  OVSTAGE_OK);
        EXPECT_EQ(outcome.error_op_id_count, 1u);
        Produce(other, rows.memory, 32, -1);
        stage.finish(stage.seal(2));
        ExpectSameAt(stage, all, 2); // as it was
    }
}

// Memory was used again while another stream was reading it. A consumer that stalls keeps its
// group, while as many versions come and go as would have taken its memory.
TEST_P(Published, AGroupIsReadWhileVersionsGo)
{
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(16);
    ovx_token_t column = OnDevice(stage);
    fr_cu_stream reader = Stream("reader"), consumer = Stream("consumer");
    fr_cu_event readable = Event();
    fr_cu_device_ptr sum = Memory(sizeof(float), "sum");
    ovstage_placement_t placement = Place(reader, readable);
    WriteBoth(stage, query, 1, {{16}, {}, 1});
    stage.finish(stage.seal(1));
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, query, column, 1, &placement, &read));
    ovstage_read_group_t group = {};
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK)
        << client::last_error();
    fr_sim_hold(consumer, true);
    FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
    Sum(consumer, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), 16, sum);
    for (uint64_t ordinal = 2; ordinal <= 12; ordinal++) {
        WriteBoth(stage, query, ordinal, {{16}, {}, static_cast<float>(1000 * ordinal)});
        stage.finish(stage.seal(ordinal));
    }
    fr_sim_hold(consumer, false);
    EXPECT_EQ(Value(consumer, sum), 136);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

PLACEMENT_ORDERS(Published);

} // namespace
