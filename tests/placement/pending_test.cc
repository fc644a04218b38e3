// Writes on devices over queries that are not ready: what they meet is looked at when they run.
#include "tests/placement/placement_fixture.h"
#include "tests/support/arrays.h"
#include "tests/support/filters.h"

namespace
{

using client::Stage;
using Values = std::vector<float>;

// One tensor of floats.
struct Floats {
    int64_t count;
    DLTensor tensor;
    ovstage_write_data_t data = {};
    Floats(fr_cu_device_ptr memory, int64_t floats)
        : Floats(reinterpret_cast<void *>(memory), kDLCUDA, floats)
    {
    }
    Floats(void *values, DLDeviceType where, int64_t floats)
        : count(floats), tensor{values, {where, 0}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0}
    {
        data.tensors = &tensor;
        data.tensor_count = 1;
    }
    Floats(const Floats &) = delete; // it points into itself
    Floats &operator=(const Floats &) = delete;
};

class Pending : public PlacementTest
{
  protected:
    // A filter that finds the last four of eight prims when the producer of a write at ordinal 2 is
    // done.
    void Begin(const Stage &stage)
    {
        all = stage.query(8);
        late = Memory(8 * sizeof(float), "late source");
        stalled = Stream("stalled producer");
        ovstage_placement_t placement = Place(nullptr, Event());
        fr_sim_hold(stalled, true);
        Produce(stalled, late, 8, 100);
        stage.finish(
            Write(stage, all, stage.token("late"), 2, late, 8, {Handle(stalled), 0}, &placement));
        filter = client::submit(stage, {{"late", OVSTAGE_FILTER_OP_GE, {"104"}}}, &found);
        EXPECT_FALSE(IsDone(stage, filter));
    }

    static ovstage_enqueue_result_t Send(const Stage &stage, ovstage_query_handle_t query,
                                         ovx_token_t name, const Floats &rows,
                                         const ovstage_placement_t &placement, uint64_t ordinal = 3)
    {
        return ovstage_write_attribute_on_device(stage.instance, query,
                                                 ovx_string_or_token_t{name, {}}, ordinal,
                                                 rows.data, OVSTAGE_PRIM_MODE_UPSERT, &placement);
    }

    void LetGo(const Stage &stage)
    {
        fr_sim_hold(stalled, false);
        stage.finish(filter);
    }

    // Count floats from first on, by a stream of the client's.
    fr_cu_device_ptr Source(uint32_t count, float first)
    {
        fr_cu_device_ptr memory = Memory(count * sizeof(float), "source");
        fr_cu_stream producer = Stream("producer");
        Produce(producer, memory, count, first);
        EXPECT_EQ(cu->cuStreamSynchronize(producer), 0u);
        return memory;
    }

    ovstage_query_handle_t all = 0, found = 0;
    ovstage_enqueue_result_t filter = {};
    fr_cu_stream stalled = nullptr;
    fr_cu_device_ptr late = 0;
};

TEST_P(Pending, RowsOfDevicesAndOfTheHost)
{
    for (uint32_t workers : {0u, 2u}) {
        Stage stage(workers);
        Begin(stage);
        const ovx_token_t event = stage.token("with an event"), report = stage.token("without"),
                          plain = stage.token("plain"), host = stage.token("of the host"),
                          elsewhere = stage.token("elsewhere");
        fr_cu_event available = Event();
        ovstage_placement_t told = Place(nullptr, available), silent = Place(nullptr, nullptr),
                            other = Place(nullptr, nullptr, 1);
        const Values rows = {30, 31, 32, 33};
        const fr_cu_device_ptr first = Source(4, 0), second = Source(4, 10), third = Source(4, 20),
                               fourth = Source(4, 40);
        const Floats on_host(const_cast<float *>(rows.data()), kDLCPU, 4);
        const std::vector<ovstage_enqueue_result_t> sent = {
            Write(stage, found, event, 3, first, 4, {0, 0}, &told),
            Write(stage, found, report, 3, second, 4, {0, 0}, &silent),
            Write(stage, found, plain, 3, third, 4, {0, 0}, nullptr),
            Send(stage, found, host, on_host, silent),
            Write(stage, found, elsewhere, 4, fourth, 4, {0, 0}, &other)};
        for (const ovstage_enqueue_result_t &one : sent)
            EXPECT_FALSE(IsDone(stage, one));
        // It holds up nobody.
        stage.finish(stage.write(all, stage.token("more"), 7, Values(8)));
        LetGo(stage);
        for (const ovstage_enqueue_result_t &one : sent)
            stage.finish(one);
        EXPECT_EQ(cu->cuEventSynchronize(available), 0u);
        stage.finish(stage.seal(4));
        EXPECT_EQ(stage.read(found, event, 3), (Values{0, 1, 2, 3}));
        EXPECT_EQ(stage.read(found, report, 3), (Values{10, 11, 12, 13}));
        EXPECT_EQ(stage.read(found, plain, 3), (Values{20, 21, 22, 23}));
        EXPECT_EQ(stage.read(found, host, 3), rows);
        EXPECT_EQ(stage.read(found, elsewhere, 4), (Values{40, 41, 42, 43}));
        EXPECT_EQ(client::find(stage, {{"plain", OVSTAGE_FILTER_OP_LE, {"21"}}}), Paths({4, 5}));
    }
}

// Each row of an array gets as many elements as there turn out to be.
TEST_P(Pending, APackedArray)
{
    for (uint32_t workers : {0u, 2u}) {
        Stage stage(workers);
        Begin(stage);
        const ovx_token_t name = stage.token("array");
        Floats elements(Source(8, 0), 8);
        elements.data.is_array = true;
        const ovstage_placement_t placement = Place(nullptr, nullptr);
        const ovstage_enqueue_result_t even = Send(stage, found, name, elements, placement);
        elements.count = 7;
        const ovstage_enqueue_result_t odd = Send(stage, found, name, elements, placement, 4);
        EXPECT_FALSE(IsDone(stage, even));
        LetGo(stage);
        stage.finish(even);
        const std::string why = client::failed(stage, odd);
        EXPECT_NE(why.find("7 elements"), std::string::npos) << why;
        stage.finish(stage.seal(4));
        const client::Snapshot snapshot(stage, found, {name}, 3);
        ASSERT_EQ(snapshot.groups.size(), 1u);
        EXPECT_EQ(client::array_rows<float>(snapshot.groups[0]),
                  (std::map<uint32_t, Values>{{0, {0, 1}}, {1, {2, 3}}, {2, {4, 5}}, {3, {6, 7}}}));
    }
}

// Who waits for the event of a write that fails waits for its source.
TEST_P(Pending, WhatDoesNotFit)
{
    for (uint32_t workers : {0u, 2u}) {
        Stage stage(workers);
        Begin(stage);
        const ovx_token_t name = stage.token("fits");
        const fr_cu_event available = Event();
        fr_cu_stream busy = Stream("busy producer");
        const fr_cu_device_ptr five = Memory(5 * sizeof(float), "five rows");
        ovstage_placement_t placement = Place(nullptr, available);
        fr_sim_hold(busy, true);
        Produce(busy, five, 5, 1);
        const ovstage_enqueue_result_t wrong =
            Write(stage, found, name, 3, five, 5, {Handle(busy), 0}, &placement);
        // What is wrong with any number of prims is refused at once.
        float host = 0;
        const ovstage_enqueue_result_t refused =
            Write(stage, found, name, 3, reinterpret_cast<fr_cu_device_ptr>(&host), 4, {0, 0},
                  &placement);
        EXPECT_EQ(refused.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_NE(client::last_error().find("not on CUDA device 0"), std::string::npos);
        EXPECT_FALSE(IsDone(stage, wrong));
        LetGo(stage);
        const std::string why = client::failed(stage, wrong);
        EXPECT_NE(why.find("5 rows, but 4 elements"), std::string::npos) << why;
        (void)fr_sim_drain();
        EXPECT_EQ(cu->cuEventQuery(available), (fr_cu_result)FR_CU_ERROR_NOT_READY);
        fr_sim_hold(busy, false);
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(available), 0u);
    }
}

// Who waits for it may use the source again, whether there are prims or not.
TEST_P(Pending, AFilterThatFindsNoneAndAnEarlierProducer)
{
    for (uint32_t workers : {0u, 2u}) {
        Stage stage(workers);
        Begin(stage);
        ovstage_query_handle_t none = 0;
        const ovstage_enqueue_result_t looks =
            client::submit(stage, {{"late", OVSTAGE_FILTER_OP_LT, {"0"}}}, &none);
        fr_cu_stream busy = Stream("busy producer");
        const fr_cu_device_ptr rows = Memory(3 * sizeof(float), "rows");
        const ovstage_placement_t silent = Place(nullptr, nullptr);
        fr_sim_hold(busy, true);
        Produce(busy, rows, 3, 1);
        const ovstage_enqueue_result_t nothing =
            Write(stage, none, stage.token("nothing"), 3, rows, 3, {Handle(busy), 0}, &silent);
        LetGo(stage);
        stage.finish(looks);
        for (uint32_t look = 0; look < 4; look++)
            EXPECT_FALSE(IsDone(stage, nothing));
        fr_sim_hold(busy, false);
        stage.finish(nothing);
    }
}

// Of no rows nothing is looked at but the name and the floor.
TEST_P(Pending, NoRows)
{
    Stage stage(2);
    Begin(stage);
    Floats rows(Source(1, 0), 1);
    rows.tensor.device.device_id = 77;
    const ovx_string_or_token_t name = {stage.token("name"), {}};
    for (const bool is_ready : {false, true}) {
        stage.finish(flyrail_write_rows(stage.instance, found, name, 3, nullptr, 0, rows.data,
                                        FLYRAIL_WRITE_UPSERT));
        if (!is_ready)
            LetGo(stage);
    }
}

// Whether a filter has run by then makes no difference to what a write of nothing leaves.
TEST_P(Pending, L3_AFilterThatFindsNone)
{
    for (const bool with_event : {false, true}) {
        for (const bool has_run : {false, true}) {
            Stage stage(2);
            Begin(stage);
            ovstage_query_handle_t none = 0;
            const ovstage_enqueue_result_t looks =
                client::submit(stage, {{"late", OVSTAGE_FILTER_OP_LT, {"0"}}}, &none);
            const ovx_token_t name = stage.token("of nobody");
            const fr_cu_event available = Event();
            ovstage_placement_t placement = Place(nullptr, with_event ? available : nullptr);
            Floats rows(Source(3, 0), 3);
            rows.data.semantic = OVSTAGE_SEMANTIC_VECTOR;
            if (has_run) {
                LetGo(stage);
                stage.finish(looks);
            }
            const ovstage_enqueue_result_t nothing = Send(stage, none, name, rows, placement);
            // Of as many prims, what is wrong with a payload is none.
            rows.tensor.dtype.lanes = 0;
            const ovstage_enqueue_result_t wrong = Send(stage, none, name, rows, placement);
            EXPECT_EQ(wrong.status, has_run ? OVSTAGE_OK : OVSTAGE_ERROR_INVALID_ARGUMENT);
            if (!has_run) {
                LetGo(stage);
                stage.finish(looks);
            } else {
                stage.finish(wrong);
            }
            stage.finish(nothing);
            if (with_event) {
                EXPECT_EQ(cu->cuEventSynchronize(available), 0u);
            }
            stage.finish(stage.write(all, name, 3, Values(8)));
            stage.finish(stage.seal(3));
            const client::Snapshot snapshot(stage, all, {name}, 3);
            ASSERT_EQ(snapshot.groups.size(), 1u);
            EXPECT_EQ(snapshot.groups[0].semantic, OVSTAGE_SEMANTIC_VECTOR);
        }
    }
}

PLACEMENT_ORDERS(Pending);

} // namespace
