// Sessions whose buffer lies on a device: filled there by the client, and committed.
#include "tests/placement/each_fails.h"
#include "tests/placement/rows_fixture.h"
#include "tests/support/maps.h"

namespace
{

class MapOnDevice : public RowsTest
{
  protected:
    static ovstage_enqueue_result_t Map(const client::Stage &stage, ovstage_query_handle_t query,
                                        const ovstage_map_desc_t &desc, uint64_t ordinal,
                                        const ovstage_placement_t &placement,
                                        ovstage_map_handle_t *out)
    {
        return ovstage_map_attribute_on_device(stage.instance, query, &desc, ordinal, nullptr, 0,
                                               &placement, out);
    }

    // A session and its group, as soon as that is there.
    ovstage_map_handle_t Open(const client::Stage &stage, ovstage_query_handle_t query,
                              ovx_token_t attribute, uint64_t ordinal,
                              const ovstage_placement_t &placement, ovstage_map_group_t *group)
    {
        ovstage_map_handle_t map = 0;
        ovstage_enqueue_result_t result =
            Map(stage, query, client::description(attribute), ordinal, placement, &map);
        EXPECT_EQ(result.status, OVSTAGE_OK) << client::last_error();
        EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
        // A poll runs the op where there are no workers, and waits for nothing.
        ovstage_api_status_t status = ovstage_fetch_map_next(stage.instance, map, 0, group);
        if (status == OVSTAGE_ERROR_TIMEOUT)
            status = ovstage_fetch_map_next(stage.instance, map, client::forever, group);
        EXPECT_EQ(status, OVSTAGE_OK) << client::last_error();
        return map;
    }

    static fr_cu_device_ptr Data(const ovstage_map_group_t &group)
    {
        EXPECT_EQ(group.data.tensors->device.device_type, kDLCUDA);
        EXPECT_EQ(group.data.tensors->device.device_id, 0);
        return reinterpret_cast<fr_cu_device_ptr>(group.data.tensors->data);
    }

    // The values at an ordinal, by a consumer that waits for the read's event alone.
    std::vector<float> Values(const client::Stage &stage, ovstage_query_handle_t query,
                              ovx_token_t attribute, uint64_t ordinal)
    {
        ovstage_placement_t placement = Place(nullptr, Event());
        std::vector<Shown> shown =
            ReadGroups(stage, query, attribute, {0, ordinal, false}, &placement);
        return shown.size() == 1 ? shown[0].values : std::vector<float>();
    }

    // By a client's stream that waits for nothing of the stage's.
    std::vector<float> Copy(fr_cu_stream stream, fr_cu_device_ptr from, size_t count)
    {
        std::vector<float> values(count);
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(values.data(), from, count * sizeof(float), stream), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(stream), 0u);
        return values;
    }
};

// The buffer starts with zeros, whatever was there, and a fetch waits for that.
TEST_P(MapOnDevice, AFetchWaitsUntilTheBufferIsCleared)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream client_stream = Stream("client");
    ovstage_placement_t none = Place(nullptr, nullptr);
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        ovstage_map_group_t group = {};
        ovstage_map_handle_t map = Open(stage, query, attribute, ordinal, none, &group);
        EXPECT_EQ(Copy(client_stream, Data(group), 3), (std::vector<float>{0, 0, 0}));
        Produce(client_stream, Data(group), 2, 7); // the last row stays as it was
        stage.finish(ovstage_unmap_attribute(stage.instance, map, {Handle(client_stream), 0}));
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(stage.read(query, attribute, ordinal), (std::vector<float>{7, 8, 0}));
    }
}

// A second session at an ordinal, and writes in between; each is there after the one before.
TEST_P(MapOnDevice, TheLastCommitOfAnOrdinalCounts)
{
    for (bool sealed_before : {false, true}) {
        client::Stage stage(2);
        ovstage_query_handle_t query = stage.query(4);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream producer = Stream("producer");
        ovstage_placement_t placement = Place(nullptr, Event());
        uint64_t ordinal = 1;
        auto commit = [&](float first) {
            ovstage_map_group_t group = {};
            ovstage_map_handle_t map = Open(stage, query, attribute, ordinal, placement, &group);
            Produce(producer, Data(group), 4, first);
            stage.finish(ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0}));
        };
        if (sealed_before) {
            commit(100);
            stage.finish(stage.seal(ordinal++));
        }
        commit(1);
        commit(5);
        fr_cu_device_ptr data = Memory(4 * sizeof(float), "source");
        Produce(producer, data, 4, 20);
        stage.finish(
            Write(stage, query, attribute, ordinal, data, 4, {Handle(producer), 0}, &placement));
        commit(30);
        FR_SIM_OK(cu->cuStreamSynchronize(producer));
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(Values(stage, query, attribute, ordinal), (std::vector<float>{30, 31, 32, 33}));
    }
}

// Rows that are not a version's by themselves are copied, and the buffer stays until they are.
TEST_P(MapOnDevice, SomeRowsAreCopied)
{
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(6);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    ovstage_placement_t placement = Place(nullptr, Event());
    ovstage_map_group_t group = {};
    ovstage_map_handle_t map = Open(stage, query, attribute, 1, placement, &group);
    Produce(producer, Data(group), 6, 1);
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0}));
    stage.finish(stage.seal(1));
    ovstage_query_handle_t some = stage.query(Paths({4, 1}));
    map = Open(stage, some, attribute, 2, placement, &group);
    fr_cu_device_ptr data = Data(group);
    fr_sim_hold(producer, true);
    Produce(producer, data, 2, 50);
    ovstage_enqueue_result_t commit =
        ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0});
    stage.finish(commit);
    // The session is gone, and its memory not: another one has its own.
    ovstage_map_group_t other = {};
    ovstage_map_handle_t next = Open(stage, some, attribute, 3, placement, &other);
    EXPECT_NE(Data(other), data);
    fr_sim_hold(producer, false);
    stage.finish(ovstage_unmap_attribute(stage.instance, next, {0, 0}));
    stage.finish(stage.seal(3));
    EXPECT_EQ(Values(stage, stage.query(6), attribute, 2),
              (std::vector<float>{1, 51, 3, 4, 50, 6}));
    EXPECT_EQ(Values(stage, stage.query(6), attribute, 3), (std::vector<float>{1, 0, 3, 4, 0, 6}));
}

// The column lies on another device than the session: the rows go there.
TEST_P(MapOnDevice, TheColumnLiesOnAnotherDevice)
{
    for (bool with_event : {true, false}) {
        client::Stage stage(2);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream producer = Stream("producer");
        fr_cu_event committed = Event();
        ovstage_placement_t placement = Place(nullptr, with_event ? committed : nullptr),
                            other = Place(nullptr, nullptr, 1);
        ovstage_map_desc_t desc = client::description(attribute);
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        stage.finish(Map(stage, query, desc, 1, other, &map)); // zeros
        ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
        EXPECT_EQ(group.data.tensors->device.device_id, 1);
        stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
        stage.finish(stage.seal(1));
        map = Open(stage, query, attribute, 2, placement, &group);
        fr_sim_hold(producer, true);
        Produce(producer, Data(group), 3, 5);
        ovstage_enqueue_result_t commit =
            ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0});
        ovstage_op_wait_result_t outcome = {};
        EXPECT_EQ(ovstage_wait_op(stage.instance, commit.op_index,
                                  with_event ? client::forever : 1000, &outcome),
                  with_event ? OVSTAGE_OK : OVSTAGE_ERROR_TIMEOUT);
        if (with_event) { // recorded where the session is, behind the copy on the other device
            (void)fr_sim_drain();
            EXPECT_EQ(cu->cuEventQuery(committed), (fr_cu_result)FR_CU_ERROR_NOT_READY);
        }
        fr_sim_hold(producer, false);
        stage.finish(commit);
        stage.finish(stage.seal(2));
        // A consumer that waits for the commit's event alone, or for nothing when that is complete.
        MakeCurrent(1);
        fr_cu_stream consumer = Stream("consumer");
        ovstage_placement_t there = Place(Stream("reader"), Event(), 1);
        ovstage_read_handle_t read = 0;
        ovstage_read_group_t shown = {};
        stage.finish(Read(stage, query, attribute, 2, &there, &read));
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &shown),
                  OVSTAGE_OK);
        if (with_event) {
            FR_SIM_OK(cu->cuStreamWaitEvent(consumer, committed, 0));
        }
        EXPECT_EQ(Copy(consumer, reinterpret_cast<fr_cu_device_ptr>(shown.data.tensors->data), 3),
                  (std::vector<float>{5, 6, 7}));
        MakeCurrent(0);
        EXPECT_EQ(ovstage_release_group(stage.instance, &shown), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        EXPECT_EQ(stage.read(query, attribute, 1), (std::vector<float>{0, 0, 0}));
        EXPECT_EQ(stage.read(query, attribute, 2), (std::vector<float>{5, 6, 7}));
    }
}

// Without an event a commit is complete when the client's work is done and the rows are there.
TEST_P(MapOnDevice, WithoutAnEventTheCommitIsCompleteWithTheRows)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    ovstage_placement_t none = Place(nullptr, nullptr);
    ovstage_map_group_t group = {};
    ovstage_map_handle_t map = Open(stage, query, attribute, 1, none, &group);
    fr_sim_hold(producer, true);
    Produce(producer, Data(group), 3, 4);
    ovstage_enqueue_result_t commit =
        ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0});
    ovstage_op_wait_result_t outcome = {};
    EXPECT_EQ(ovstage_wait_op(stage.instance, commit.op_index, 1000, &outcome),
              OVSTAGE_ERROR_TIMEOUT);
    fr_sim_hold(producer, false);
    stage.finish(commit);
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(query, attribute, 1), (std::vector<float>{4, 5, 6}));
}

// One that commits nothing records its event all the same, behind what the client was to hand over;
// without an event its end is complete then. That of a commit is not recorded again.
TEST_P(MapOnDevice, ASessionThatCommitsNothing)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3), none = stage.query(0);
    ovstage_map_desc_t desc = client::description(stage.token("values"));
    fr_cu_stream stalled = Stream("stalled"), named = Stream("named");
    fr_cu_event event = Event();
    ovstage_op_wait_result_t outcome = {};
    for (ovstage_query_handle_t prims : {query, none}) {
        for (fr_cu_stream stream : {static_cast<fr_cu_stream>(nullptr), named}) {
            ovstage_map_handle_t map = 0;
            stage.finish(Map(stage, prims, desc, 1, Place(stream, event), &map));
            fr_sim_hold(stalled, true);
            FR_SIM_OK(cu->cuEventRecord(event, stalled));
            stage.finish(ovstage_unmap_attribute(stage.instance, map, {Handle(stalled), 0}));
            (void)fr_sim_drain();
            EXPECT_EQ(cu->cuEventQuery(event), (fr_cu_result)FR_CU_ERROR_NOT_READY);
            fr_sim_hold(stalled, false);
            EXPECT_TRUE(fr_sim_drain());
            EXPECT_EQ(cu->cuEventQuery(event), 0u);
        }
        for (bool on_device : {true, false}) {
            ovstage_map_handle_t map = 0;
            ovstage_placement_t placement = Place(nullptr, nullptr);
            stage.finish(ovstage_map_attribute_on_device(stage.instance, prims, &desc, 1, nullptr,
                                                         0, on_device ? &placement : nullptr,
                                                         &map));
            fr_sim_hold(stalled, true);
            FR_SIM_OK(cu->cuEventRecord(event, stalled));
            ovstage_enqueue_result_t end =
                ovstage_unmap_attribute(stage.instance, map, {0, Handle(event)});
            EXPECT_EQ(ovstage_wait_op(stage.instance, end.op_index, 1000, &outcome),
                      OVSTAGE_ERROR_TIMEOUT);
            fr_sim_hold(stalled, false);
            stage.finish(end);
        }
    }
    // After a commit the event is the client's again, and so is the stream.
    ovstage_map_group_t group = {};
    fr_cu_stream gone = nullptr;
    FR_SIM_OK(cu->cuStreamCreateWithPriority(&gone, FR_CU_STREAM_NON_BLOCKING, 0));
    ovstage_map_handle_t map =
        Open(stage, query, stage.token("values"), 1, Place(gone, event), &group);
    stage.finish(ovstage_unmap_group(stage.instance, map, &group, {0, 0}));
    EXPECT_TRUE(fr_sim_drain());
    FR_SIM_OK(cu->cuStreamDestroy(gone));
    fr_sim_hold(stalled, true);
    FR_SIM_OK(cu->cuEventRecord(event, stalled));
    ovstage_enqueue_result_t end = ovstage_unmap_attribute(stage.instance, map, {0, 0});
    stage.finish(end);
    (void)fr_sim_drain();
    EXPECT_EQ(cu->cuEventQuery(event), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    fr_sim_hold(stalled, false);
}

// A commit that a seal has overtaken ends the session. What the client's streams still do to the
// buffer is over before it is anybody else's.
TEST_P(MapOnDevice, AnOvertakenSessionKeepsItsMemoryUntilItIsWritten)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer"), consumer = Stream("consumer");
    ovstage_placement_t placement = Place(nullptr, Event());
    ovstage_map_group_t group = {};
    ovstage_map_handle_t map = Open(stage, query, attribute, 1, placement, &group);
    fr_cu_device_ptr data = Data(group);
    fr_sim_hold(producer, true);
    Produce(producer, data, 3, 4);
    stage.finish(stage.seal(1));
    ovstage_enqueue_result_t commit =
        ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0});
    EXPECT_EQ(commit.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(ovstage_unmap_attribute(stage.instance, map, {0, 0}).status,
              OVSTAGE_ERROR_INVALID_HANDLE);
    ovstage_map_group_t other = {};
    ovstage_map_handle_t next = Open(stage, query, attribute, 2, placement, &other);
    EXPECT_NE(Data(other), data);
    EXPECT_EQ(Copy(consumer, Data(other), 3), (std::vector<float>{0, 0, 0}));
    fr_sim_hold(producer, false);
    stage.finish(ovstage_unmap_attribute(stage.instance, next, {0, 0}));
}

// What is refused leaves the session as it was, or nothing of it.
TEST_P(MapOnDevice, RefusalsLeaveNothingBehind)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    ovstage_placement_t placement = Place(nullptr, Event());
    ovstage_map_handle_t map = 1;
    ovstage_map_desc_t desc = client::description(attribute);
    auto says = [&](ovstage_enqueue_result_t result, ovstage_api_status_t status,
                    const char *part) {
        EXPECT_EQ(result.status, status) << part;
        EXPECT_EQ(result.op_index, OVSTAGE_INVALID_OP_ID) << part;
        EXPECT_NE(client::last_error().find(part), std::string::npos) << client::last_error();
    };
    flyrail_statistics_t before = stage.statistics();
    auto refused = [&](ovstage_enqueue_result_t result, ovstage_api_status_t status,
                       const char *part) {
        says(result, status, part);
        EXPECT_EQ(map, OVSTAGE_INVALID_MAP_HANDLE) << part;
        map = 1;
        flyrail_statistics_t after = stage.statistics();
        EXPECT_EQ(after.ops_accepted, before.ops_accepted) << part;
        EXPECT_EQ(after.prims, before.prims) << part;
        EXPECT_EQ(after.pending_bytes, before.pending_bytes) << part;
    };
    ovstage_placement_t wrong = placement;
    wrong.device.device_id = 7;
    refused(Map(stage, query, desc, 1, wrong, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "7");
    wrong = placement;
    wrong.stream = 2;
    refused(Map(stage, query, desc, 1, wrong, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "stream 2");
    fr_cu_stream capturing = Stream("capturing"), producer = Stream("producer");
    FR_SIM_OK(cu->cuStreamBeginCapture(capturing, FR_CU_CAPTURE_MODE_RELAXED));
    refused(Map(stage, query, desc, 1, Place(capturing, nullptr), &map),
            OVSTAGE_ERROR_INVALID_ARGUMENT, "captures a graph");
    ovstage_map_group_t group = {};
    map = Open(stage, query, attribute, 1, placement, &group);
    says(ovstage_unmap_group(stage.instance, map, &group, {Handle(capturing), 0}),
         OVSTAGE_ERROR_INVALID_ARGUMENT, "captures a graph");
    fr_cu_graph graph = nullptr;
    FR_SIM_OK(cu->cuStreamEndCapture(capturing, &graph));
    FR_SIM_OK(cu->cuGraphDestroy(graph));
    Produce(producer, Data(group), 3, 1);
    stage.finish(ovstage_unmap_group(stage.instance, map, &group, {Handle(producer), 0}));
    says(ovstage_unmap_group(stage.instance, map, &group, {0, 0}), OVSTAGE_ERROR_INVALID_HANDLE,
         "group");
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
    says(ovstage_unmap_attribute(stage.instance, map, {0, 0}), OVSTAGE_ERROR_INVALID_HANDLE, "map");
    EXPECT_EQ(ovstage_fetch_map_next(stage.instance, map, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE);
    stage.finish(stage.seal(1));
    EXPECT_EQ(Values(stage, query, attribute, 1), (std::vector<float>{1, 2, 3}));
}

// A session that nobody fetches commits nothing, and one that is left open is dropped.
TEST_P(MapOnDevice, WhatIsNotCommittedIsNotThere)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    ovstage_placement_t placement = Place(nullptr, Event());
    ovstage_map_group_t group = {};
    ovstage_map_handle_t map = Open(stage, query, attribute, 1, placement, &group);
    Produce(producer, Data(group), 3, 1);
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0}));
    stage.finish(Map(stage, query, client::description(attribute), 2, placement, &map));
    fr_cu_graph graph = nullptr;
    fr_cu_stream capturing = Stream("capturing");
    FR_SIM_OK(cu->cuStreamBeginCapture(capturing, FR_CU_CAPTURE_MODE_RELAXED));
    EXPECT_EQ(ovstage_unmap_attribute(stage.instance, map, {Handle(capturing), 0}).status,
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(client::last_error().find("captures a graph"), std::string::npos);
    FR_SIM_OK(cu->cuStreamEndCapture(capturing, &graph));
    FR_SIM_OK(cu->cuGraphDestroy(graph));
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
    (void)Open(stage, query, attribute, 3, placement, &group);
    stage.finish(stage.seal(3));
    EXPECT_EQ(Values(stage, query, attribute, 3), (std::vector<float>{1, 2, 3}));
}

PLACEMENT_ORDERS(MapOnDevice);

// Whole rows and some of them, while something fails once: a session that failed has committed
// nothing, and one that was refused can be committed again.
class MapFaults : public MapOnDevice
{
  protected:
    void Prepare(const client::Stage &stage)
    {
        if (!producer_) {
            producer_ = Stream("producer");
            event_ = Event();
        }
        all_ = stage.query(6);
        some_ = stage.query(Paths({4, 1}));
        wanted_ = {1, 2, 3, 4, 5, 6};
        last_ = 1;
        placement_ = Place(nullptr, event_);
        (void)Session(stage, all_, 1, {0, 1, 2, 3, 4, 5}, 1);
        stage.finish(stage.seal(1));
        FR_SIM_OK(cu->cuStreamSynchronize(producer_));
    }

    // Two ordinals. True when nothing of it failed.
    bool Frame(const client::Stage &stage)
    {
        placement_ = Place(nullptr, event_);
        bool good = Session(stage, some_, ++last_, {4, 1}, 20);
        good = Succeeds(stage, stage.seal(last_)) && good;
        good = Session(stage, all_, ++last_, {0, 1, 2, 3, 4, 5}, 30) && good;
        placement_ = Place(nullptr, nullptr);
        good = Session(stage, some_, last_, {4, 1}, 40) && good;
        return Succeeds(stage, stage.seal(last_)) && good;
    }

    void ExpectWanted(const client::Stage &stage)
    {
        EXPECT_EQ(stage.read(all_, stage.token("values"), last_), wanted_);
    }

  private:
    void Fill(fr_cu_device_ptr to, uint32_t count, float first)
    {
        void *arguments[] = {&to, &count, &first};
        fr_cu_result result = 1;
        while (result != 0) // the call that fails may be this one
            result = cu->cuLaunchKernel(produce_[0], 1, 1, 1, 64, 1, 1, 0, producer_, arguments,
                                        nullptr);
    }

    bool Session(const client::Stage &stage, ovstage_query_handle_t query, uint64_t ordinal,
                 const std::vector<uint32_t> &numbers, float first)
    {
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        if (!Succeeds(stage, Map(stage, query, client::description(stage.token("values")), ordinal,
                                 placement_, &map)) &&
            map == 0)
            return false;
        bool fetched =
            ovstage_fetch_map_next(stage.instance, map, client::forever, &group) == OVSTAGE_OK;
        if (fetched)
            Fill(Data(group), group.data.count, first);
        ovstage_enqueue_result_t commit =
            ovstage_unmap_attribute(stage.instance, map, {Handle(producer_), 0});
        bool at_once = commit.status == OVSTAGE_OK;
        if (!at_once) // nothing has changed
            commit = ovstage_unmap_attribute(stage.instance, map, {Handle(producer_), 0});
        EXPECT_EQ(commit.status, OVSTAGE_OK) << client::last_error();
        bool applied = false, good = Succeeds(stage, commit, &applied);
        if (applied && fetched)
            for (size_t k = 0; k < numbers.size(); k++)
                wanted_[numbers[k]] = first + static_cast<float>(k);
        return good && fetched && at_once;
    }

    fr_cu_stream producer_ = nullptr;
    fr_cu_event event_ = nullptr;
    ovstage_query_handle_t all_ = 0, some_ = 0;
    ovstage_placement_t placement_ = {};
    std::vector<float> wanted_;
    uint64_t last_ = 1; // ordinal
};

TEST_P(MapFaults, EachCallFailsOnce)
{
    EachCallFails(
        1, 1, [&](const client::Stage &stage) { Prepare(stage); },
        [&](const client::Stage &stage) { return Frame(stage); },
        [&](const client::Stage &stage) { ExpectWanted(stage); });
}

TEST_P(MapFaults, EachAllocationFailsOnce)
{
    EachAllocationFails(
        1, 1, [&](const client::Stage &stage) { Prepare(stage); },
        [&](const client::Stage &stage) { return Frame(stage); },
        [&](const client::Stage &stage) { ExpectWanted(stage); });
}

// Each of them some hundred times: in one order.
INSTANTIATE_TEST_SUITE_P(Orders, MapFaults, ::testing::Values(Orders()[0]), OrderName);

} // namespace
