// Without an availability event an operation is complete when the device is done with it.
#include "tests/placement/placement_fixture.h"

namespace
{

class Complete : public PlacementTest
{
  protected:
    // Three rows without an event, of a producer that is held until the test lets it go.
    ovstage_enqueue_result_t WriteStalled(client::Stage &stage, ovx_token_t attribute,
                                          uint64_t ordinal, fr_cu_stream producer)
    {
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
        ovstage_placement_t placement = Place(nullptr, nullptr);
        fr_sim_hold(producer, true);
        Produce(producer, data, 3, 1);
        return Write(stage, stage.query(3), attribute, ordinal, data, 3, {Handle(producer), 0},
                     &placement);
    }
    // What a group shows, by a consumer that waits for nothing: fetch has waited.
    std::vector<float> Fetch(const client::Stage &stage, ovstage_read_handle_t read)
    {
        std::vector<float> values;
        ovstage_read_group_t group = {};
        EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK)
            << client::last_error();
        values.resize(group.data.count);
        fr_cu_stream consumer = Stream("consumer");
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(
                      values.data(), reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data),
                      values.size() * sizeof(float), consumer),
                  0u);
        EXPECT_EQ(cu->cuStreamSynchronize(consumer), 0u);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        return values;
    }

    static ovstage_api_status_t Poll(const client::Stage &stage, ovstage_op_id_t id)
    {
        ovstage_op_wait_result_t outcome = {};
        return ovstage_wait_op(stage.instance, id, 0, &outcome);
    }
};

TEST_P(Complete, TheSourceMayBeUsedAgainAfterTheWait)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream producer = Stream("producer"), other = Stream("other");
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
        ovstage_placement_t placement = Place(nullptr, nullptr);
        for (uint64_t ordinal = 1; ordinal <= 3; ordinal++) {
            Produce(producer, data, 3, static_cast<float>(ordinal));
            stage.finish(Write(stage, query, attribute, ordinal, data, 3, {Handle(producer), 0},
                               &placement));
            Produce(other, data, 3, 99);
            FR_SIM_OK(cu->cuStreamSynchronize(other));
            stage.finish(stage.seal(ordinal));
            ovstage_read_handle_t read = 0;
            stage.finish(Read(stage, query, attribute, ordinal, &placement, &read));
            float first = static_cast<float>(ordinal);
            EXPECT_EQ(Fetch(stage, read), (std::vector<float>{first, first + 1, first + 2}));
        }
    }
}

// The limit of operations, and what is counted, go by what the client has submitted.
TEST_P(Complete, ClientsCountTheirOwnOperations)
{
    flyrail_config_t config = client::config(0);
    config.op_limit = 4;
    client::Stage stage(config);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("stalled producer");
    std::vector<ovstage_enqueue_result_t> ops;
    for (uint64_t ordinal = 1; ordinal <= 3; ordinal++)
        ops.push_back(WriteStalled(stage, attribute, ordinal, producer));
    ops.push_back(stage.seal(3));
    EXPECT_EQ(WriteStalled(stage, attribute, 4, producer).status, OVSTAGE_ERROR_QUEUE_FULL);
    auto statistics = [&] {
        flyrail_statistics_t out = {};
        out.struct_size = sizeof(out);
        EXPECT_EQ(flyrail_get_statistics(stage.instance, &out), OVSTAGE_OK);
        return out;
    };
    flyrail_statistics_t before = statistics();
    EXPECT_EQ(before.ops_accepted, 4u);
    EXPECT_EQ(before.ops_pending, 4u);
    // They run, and nothing is complete.
    EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK);
    EXPECT_EQ(statistics().ops_pending, 4u);
    EXPECT_EQ(statistics().ops_completed, 0u);
    EXPECT_EQ(statistics().ops_run_by_waiters, 4u);
    EXPECT_EQ(WriteStalled(stage, attribute, 4, producer).status, OVSTAGE_ERROR_QUEUE_FULL);
    fr_sim_hold(producer, false);
    for (const ovstage_enqueue_result_t &op : ops)
        stage.finish(op);
    flyrail_statistics_t after = statistics();
    EXPECT_EQ(after.ops_accepted, 4u);
    EXPECT_EQ(after.ops_pending, 0u);
    EXPECT_EQ(after.ops_completed, 4u);
    EXPECT_EQ(after.ops_run_by_waiters + after.ops_run_by_workers, 4u);
}

// What waits for a cuda_sync in front of rows of the host is a part of their write.
TEST_P(Complete, AHostSyncIsCountedWithItsWrite)
{
    flyrail_config_t config = client::config(0);
    config.op_limit = 2;
    client::Stage stage(config);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("stalled producer");
    std::vector<float> values = {1, 2, 3};
    int64_t count = 3;
    DLTensor tensor{values.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0};
    ovstage_write_data_t data = {};
    data.tensors = &tensor;
    data.tensor_count = 1;
    data.cuda_sync.stream = Handle(producer);
    fr_sim_hold(producer, true);
    FR_SIM_OK(cu->cuEventRecord(Event(), producer));
    ovstage_enqueue_result_t ops[2];
    for (uint64_t ordinal = 1; ordinal <= 2; ordinal++)
        ops[ordinal - 1] = ovstage_write_attribute(stage.instance, query, {attribute, {}}, ordinal,
                                                   data, OVSTAGE_PRIM_MODE_UPSERT);
    flyrail_statistics_t before = stage.statistics();
    EXPECT_EQ(before.ops_accepted, 2u);
    EXPECT_EQ(before.ops_pending, 2u);
    EXPECT_EQ(before.ops_unreleased, 2u);
    EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK);
    EXPECT_EQ(stage.statistics().ops_completed, 0u);
    fr_sim_hold(producer, false);
    for (const ovstage_enqueue_result_t &op : ops)
        stage.finish(op);
    flyrail_statistics_t after = stage.statistics();
    EXPECT_EQ(after.ops_accepted, 2u);
    EXPECT_EQ(after.ops_pending, 0u);
    EXPECT_EQ(after.ops_completed, 2u);
    EXPECT_EQ(after.ops_failed, 0u);
    EXPECT_EQ(after.ops_run_by_waiters, 2u);
    EXPECT_EQ(after.ops_parked, 0u);
}

// Of an operation that waits for a device it is told so, and where a client may look for the cause.
TEST_P(Complete, WhatIsWaitedForIsTold)
{
    client::Stage stage(2);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("stalled producer");
    ovstage_enqueue_result_t write = WriteStalled(stage, attribute, 1, producer);
    ovstage_enqueue_result_t seal = stage.seal(1);
    char stream[32];
    (void)snprintf(stream, sizeof stream, "stream %#llx",
                   static_cast<unsigned long long>(Handle(producer)));
    for (ovstage_op_id_t id : {write.op_index, seal.op_index}) {
        std::string text;
        do { // as long as the write has not run, it is told of a thread
            text.resize(4096);
            size_t needed = 0;
            ASSERT_EQ(flyrail_explain(stage.instance, id, &text[0], text.size(), &needed),
                      OVSTAGE_OK);
            text.resize(std::strlen(text.c_str()));
        } while (text.find("a thread is running it") != std::string::npos ||
                 text.find("no thread has come to it") != std::string::npos);
        EXPECT_NE(text.find("what CUDA device 0 has to do for a write"), std::string::npos) << text;
        EXPECT_NE(text.find(stream), std::string::npos) << text;
    }
    fr_sim_hold(producer, false);
    stage.finish(seal);
    stage.finish(write);
}

// Lanes and seals go on; what clients wait for waits.
TEST_P(Complete, WhatIsWaitedForCoversWhatIsBelow)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream producer = Stream("stalled producer");
        ovstage_enqueue_result_t write = WriteStalled(stage, attribute, 1, producer);
        ovstage_enqueue_result_t seal = stage.seal(1);
        for (int k = 0; k < 100; k++) {
            EXPECT_EQ(Poll(stage, write.op_index), OVSTAGE_ERROR_TIMEOUT);
            EXPECT_EQ(Poll(stage, seal.op_index), OVSTAGE_ERROR_TIMEOUT);
        }
        fr_sim_hold(producer, false);
        stage.finish(seal);
        EXPECT_EQ(Poll(stage, write.op_index), OVSTAGE_OK);
        stage.finish(write);
    }
}

// Also a seal of what another one has sealed already.
TEST_P(Complete, ASealThatRaisesNothingCoversWhatIsBelow)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream producer = Stream("stalled producer");
        ovstage_enqueue_result_t write = WriteStalled(stage, attribute, 5, producer);
        ovstage_enqueue_result_t seals[] = {stage.seal(5), stage.seal(5),
                                            stage.seal(5, OVSTAGE_SCOPE_INCLUDE, {attribute})};
        for (int k = 0; k < 100; k++)
            for (const ovstage_enqueue_result_t &seal : seals)
                EXPECT_EQ(Poll(stage, seal.op_index), OVSTAGE_ERROR_TIMEOUT);
        stage.finish(stage.seal(4));
        stage.finish(stage.seal(4, OVSTAGE_SCOPE_INCLUDE, {attribute}));
        fr_sim_hold(producer, false);
        for (const ovstage_enqueue_result_t &seal : seals)
            stage.finish(seal);
        EXPECT_EQ(Poll(stage, write.op_index), OVSTAGE_OK);
        stage.finish(write);
    }
}

// A fetch waits for the rows, of a read that was judged in its call and of one that waits for a
// seal.
TEST_P(Complete, AFetchWaitsForTheRows)
{
    for (uint32_t workers : {0u, 2u})
        for (bool sealed : {false, true}) {
            client::Stage stage(workers);
            ovstage_query_handle_t query = stage.query(3);
            ovstage_query_handle_t turned =
                stage.query(std::vector<std::string>{"/P/2", "/P/1", "/P/0"});
            ovx_token_t attribute = stage.token("values");
            fr_cu_stream producer = Stream("producer");
            fr_cu_event written = Event();
            fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
            ovstage_placement_t write_placement = Place(nullptr, written),
                                placement = Place(nullptr, nullptr);
            Produce(producer, data, 3, 1);
            ovstage_enqueue_result_t write =
                Write(stage, query, attribute, 1, data, 3, {Handle(producer), 0}, &write_placement);
            ovstage_enqueue_result_t seal = stage.seal(1);
            if (sealed)
                stage.finish(seal);
            ovstage_read_handle_t reads[2] = {};
            ovstage_enqueue_result_t results[2] = {
                Read(stage, query, attribute, 1, &placement, &reads[0]),
                Read(stage, turned, attribute, 1, &placement, &reads[1])};
            EXPECT_EQ(Fetch(stage, reads[0]), (std::vector<float>{1, 2, 3}));
            EXPECT_EQ(Fetch(stage, reads[1]), (std::vector<float>{3, 2, 1}));
            stage.finish(results[0]);
            stage.finish(results[1]);
            stage.finish(write);
            if (!sealed)
                stage.finish(seal);
        }
}

TEST_P(Complete, RowsOfTheHostWithoutAnEvent)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    ovstage_placement_t placement = Place(nullptr, nullptr);
    float values[3] = {1, 2, 3};
    int64_t count = 3;
    DLTensor tensor{values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0};
    ovstage_write_data_t data = {};
    data.tensors = &tensor;
    data.tensor_count = 1;
    stage.finish(ovstage_write_attribute_on_device(stage.instance, query,
                                                   ovx_string_or_token_t{attribute, {}}, 1, data,
                                                   OVSTAGE_PRIM_MODE_UPSERT, &placement));
    values[0] = 99;
    stage.finish(stage.seal(1));
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, query, attribute, 1, &placement, &read));
    EXPECT_EQ(Fetch(stage, read), (std::vector<float>{1, 2, 3}));
}

PLACEMENT_ORDERS(Complete);

} // namespace
