// Each driver call of a frame fails once: the call or its op says so, and the stage goes on.
#include <functional>
#include <thread>

#include "tests/placement/each_fails.h"
#include "tests/support/filters.h"
#include "tests/support/maps.h"

namespace
{

// The driver of the simulation, but for records of events behind a copy while `instead` is set:
// those are the test's. Answers 0 to go on with the record.
std::function<fr_cu_result()> instead;
const fr_cuda_driver *simulated;

bool has_copied = false;

fr_cu_result CopyAndTell(fr_cu_device_ptr to, fr_cu_device_ptr from, size_t size_bytes,
                         fr_cu_stream stream)
{
    has_copied = true;
    return simulated->cuMemcpyDtoDAsync(to, from, size_bytes, stream);
}

fr_cu_result RecordInstead(fr_cu_event event, fr_cu_stream stream)
{
    fr_cu_result result = instead && has_copied ? instead() : fr_cu_result{0};
    return result == 0 ? simulated->cuEventRecord(event, stream) : result;
}

class PlacementFaults : public PlacementTest
{
};

TEST_P(PlacementFaults, EachCallFailsOnce)
{
    fr_cu_stream producer = Stream("producer"), consumer = Stream("consumer");
    fr_cu_event written = Event(), readable = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"), sum = Memory(sizeof(float), "sum");
    ovstage_placement_t write_placement = Place(nullptr, written),
                        read_placement = Place(nullptr, readable);
    ovstage_read_handle_t read = 0;
    auto write = [&](const client::Stage &stage, uint64_t ordinal) {
        return Write(stage, stage.query(3), stage.token("values"), ordinal, data, 3,
                     {Handle(producer), 0}, &write_placement);
    };
    Produce(producer, data, 3, 1);
    EachCallFails(
        1, 1,
        // The device is open, and something was written: what follows makes the usual calls, and
        // some of the first ones.
        [&](const client::Stage &stage) {
            ASSERT_TRUE(Succeeds(stage, write(stage, 1)));
            ASSERT_TRUE(Succeeds(stage, stage.seal(1)));
            FR_SIM_OK(cu->cuStreamSynchronize(producer));
        },
        [&](const client::Stage &stage) {
            read = 0;
            bool good = Succeeds(stage, write(stage, 2));
            good = Succeeds(stage, stage.seal(2)) && good;
            return Succeeds(stage, Read(stage, stage.query(3), stage.token("values"), 2,
                                        &read_placement, &read)) &&
                   good;
        },
        [&](const client::Stage &stage) {
            if (read != 0) { // what is read is one of the two, which are the same
                ovstage_read_group_t group = {};
                ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                          OVSTAGE_OK);
                FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
                Sum(consumer, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), 3,
                    sum);
                EXPECT_EQ(Value(consumer, sum), 6);
                EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
                EXPECT_TRUE(Succeeds(stage, ovstage_release_read(stage.instance, read)));
            }
            // And on.
            EXPECT_TRUE(Succeeds(stage, write(stage, 3)));
            EXPECT_TRUE(Succeeds(stage, stage.seal(3)));
        },
        1);
}

// A copy that no fence could be recorded behind goes on when its write has failed: others must not
// get its memory before it is done.
TEST_P(PlacementFaults, AWriteThatIsGivenUpHoldsItsMemory)
{
    fr_cuda_driver driver = *cu;
    driver.cuEventRecord = RecordInstead;
    driver.cuMemcpyDtoDAsync = CopyAndTell;
    simulated = cu;
    ASSERT_TRUE(fr_cuda_use_driver(&driver));
    {
        client::Stage stage(0); // the ops run in the waits for them
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream stalled = Stream("stalled producer"), producer = Stream("producer");
        fr_cu_event written = Event(), readable = Event();
        fr_cu_device_ptr late = Memory(3 * sizeof(float), "late source"),
                         data = Memory(3 * sizeof(float), "source");
        ovstage_placement_t none = Place(nullptr, nullptr), placement = Place(nullptr, written),
                            read_placement = Place(nullptr, readable);
        Produce(producer, data, 3, 1);
        EXPECT_TRUE(Succeeds(
            stage, Write(stage, query, attribute, 1, data, 3, {Handle(producer), 0}, &placement)));
        EXPECT_TRUE(Succeeds(stage, stage.seal(1)));
        fr_sim_hold(stalled, true);
        Produce(stalled, late, 3, 9);
        ovstage_enqueue_result_t given_up =
            Write(stage, query, attribute, 2, late, 3, {Handle(stalled), 0}, &none);
        int records = 0;
        has_copied = false;
        instead = [&]() -> fr_cu_result {
            if (++records != 3)
                return records < 3 ? FR_CU_ERROR_UNKNOWN : 0;
            // The allocation is over, the copy is not: another write gets what is free.
            EXPECT_FALSE(fr_sim_drain());
            std::thread([&] {
                FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0]));
                EXPECT_TRUE(Succeeds(stage, Write(stage, query, attribute, 3, data, 3,
                                                  {Handle(producer), 0}, &placement)));
            }).join();
            return 0;
        };
        ovstage_op_wait_result_t outcome = {};
        while (records < 3)
            EXPECT_EQ(ovstage_wait_op(stage.instance, given_up.op_index, 0, &outcome),
                      OVSTAGE_ERROR_TIMEOUT);
        instead = nullptr;
        fr_sim_hold(stalled, false);
        EXPECT_FALSE(Succeeds(stage, given_up)); // when its copy is done
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_TRUE(Succeeds(stage, stage.seal(3)));
        ovstage_read_handle_t read = 0;
        EXPECT_TRUE(Succeeds(stage, Read(stage, query, attribute, 3, &read_placement, &read)));
        ovstage_read_group_t group = {};
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK);
        FR_SIM_OK(cu->cuEventSynchronize(readable));
        EXPECT_EQ(Value(producer, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data)),
                  1);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        EXPECT_TRUE(Succeeds(stage, ovstage_release_read(stage.instance, read)));
    }
    ASSERT_TRUE(fr_cuda_use_driver(cu));
}

// The device fails for good: ops fail, seals complete, and what is read of it says so.
TEST_P(PlacementFaults, ADeviceThatFailsIsDeadAndTheStageIsNot)
{
    reports_are_meant = true;
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values"), other = stage.token("host");
    fr_cu_stream producer = Stream("producer");
    fr_cu_event written = Event(), readable = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t write_placement = Place(nullptr, written),
                        read_placement = Place(nullptr, readable);
    fr_sim_fail_operation(0, 1, FR_CU_ERROR_ILLEGAL_ADDRESS);
    Produce(producer, data, 3, 1);
    (void)Succeeds(
        stage, Write(stage, query, attribute, 1, data, 3, {Handle(producer), 0}, &write_placement));
    (void)fr_sim_drain();
    EXPECT_TRUE(Succeeds(stage, stage.seal(1)));
    EXPECT_FALSE(Succeeds(stage, Write(stage, query, attribute, 2, data, 3, {Handle(producer), 0},
                                       &write_placement)));
    ovstage_read_handle_t read = 0;
    EXPECT_FALSE(Succeeds(stage, Read(stage, query, attribute, 1, &read_placement, &read)));
    const std::vector<float> values = {1, 2, 3};
    stage.finish(stage.write(query, other, 2, values));
    EXPECT_TRUE(Succeeds(stage, stage.seal(2)));
    EXPECT_EQ(stage.read(query, other, 2), values);
}

// Sessions of it end: opened, fetched, and committed in part.
TEST_P(PlacementFaults, SessionsEndWithTheirDevice)
{
    reports_are_meant = true;
    for (const bool with_event : {true, false}) {
        client::Stage stage(1);
        ovstage_query_handle_t query = stage.query(3);
        fr_cu_event event = Event();
        ovstage_placement_t placement = Place(nullptr, with_event ? event : nullptr);
        const ovstage_map_desc_t desc = client::description(stage.token("values"));
        ovstage_map_handle_t maps[3] = {};
        ovstage_map_group_t group = {};
        for (uint64_t k = 0; k < 3; k++) {
            stage.finish(ovstage_map_attribute_on_device(stage.instance, query, &desc, 1 + k,
                                                         nullptr, 0, &placement, &maps[k]));
            if (k > 0) {
                ASSERT_EQ(ovstage_fetch_map_next(stage.instance, maps[k], client::forever, &group),
                          OVSTAGE_OK);
            }
        }
        stage.finish(ovstage_unmap_group(stage.instance, maps[2], &group, {0, 0}));
        fr_cu_stream last = Stream("last");
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "data");
        EXPECT_TRUE(fr_sim_drain());
        fr_sim_fail_operation(0, 1, FR_CU_ERROR_ILLEGAL_ADDRESS);
        Produce(last, data, 3, 1);
        (void)fr_sim_drain();
        const ovstage_placement_t silent = Place(nullptr, nullptr);
        (void)Succeeds(stage, Write(stage, query, stage.token("other"), 9, data, 3,
                                    {Handle(last), 0}, &silent)); // it is found dead
        for (uint64_t k = 0; k < 3; k++) {
            const ovstage_enqueue_result_t end =
                ovstage_unmap_attribute(stage.instance, maps[k], {0, 0});
            ASSERT_EQ(end.status, OVSTAGE_OK) << "session " << k << ": " << client::last_error();
            EXPECT_EQ(Succeeds(stage, end), k == 2 || (k == 0 && !with_event)) << "session " << k;
            EXPECT_EQ(ovstage_unmap_attribute(stage.instance, maps[k], {0, 0}).status,
                      OVSTAGE_ERROR_INVALID_HANDLE);
        }
        stage.destroy();
        Close();
        Open();
    }
}

// So do ops that are parked: lanes without a stream, and a filter whose values are not written yet.
TEST_P(PlacementFaults, WhatIsParkedEndsWithItsDevice)
{
    reports_are_meant = true;
    const uint32_t lanes = GetParam().seed % 2 == 0 ? 3 : 36;
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3), found = 0;
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream stalled = Stream("stalled producer");
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    fr_sim_hold(stalled, true);
    Produce(stalled, data, 3, 1);
    std::vector<ovstage_enqueue_result_t> sent;
    for (uint32_t k = 0; k < lanes; k++) {
        ovstage_placement_t placement = Place(nullptr, nullptr);
        sent.push_back(
            Write(stage, query, attribute, 1 + k, data, 3, {Handle(stalled), 0}, &placement));
    }
    sent.push_back(client::submit(stage, {{"values", OVSTAGE_FILTER_OP_GE, {"1"}}}, &found));
    fr_sim_fail_operation(0, 1, FR_CU_ERROR_ILLEGAL_ADDRESS);
    fr_sim_hold(stalled, false);
    for (auto op : sent)
        (void)Succeeds(stage, op);
    const std::vector<float> values = {1, 2, 3};
    stage.finish(stage.write(query, stage.token("host"), 100, values));
    EXPECT_TRUE(Succeeds(stage, stage.seal(100)));
}

PLACEMENT_ORDERS(PlacementFaults);

} // namespace
