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

PLACEMENT_ORDERS(Devices);

} // namespace
