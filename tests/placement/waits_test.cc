// Waits of the stage that are made rarely, each where nothing else would be in time: what it waits
// for is in a stream that is held. docs/device-waits.md has them all.
#include "tests/placement/rows_fixture.h"
#include "tests/support/filters.h"
#include "tests/support/maps.h"

namespace
{

class Waits : public RowsTest
{
  protected:
    // A stream that does nothing until it is let go.
    fr_cu_stream Held(const char *name)
    {
        fr_cu_stream held = Stream(name);
        fr_sim_hold(held, true);
        return held;
    }

    // All rows, which the ordinal has alone.
    void Begin(const client::Stage &stage, uint32_t count)
    {
        WriteBoth(stage, stage.query(count), 1, {{count}, {}, 0});
        stage.finish(stage.seal(1));
        EXPECT_TRUE(fr_sim_drain());
    }

    static ovstage_map_handle_t Map(const client::Stage &stage, ovstage_query_handle_t query,
                                    uint64_t ordinal, const ovstage_placement_t &placement,
                                    fr_cu_device_ptr *data)
    {
        ovstage_map_desc_t desc = client::description(OnDevice(stage));
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        stage.finish(ovstage_map_attribute_on_device(stage.instance, query, &desc, ordinal, nullptr,
                                                     0, &placement, &map));
        EXPECT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
        *data = reinterpret_cast<fr_cu_device_ptr>(group.data.tensors->data);
        return map;
    }
};

// What an ordinal has written of some rows is copied when it writes others, behind that write.
TEST_P(Waits, ForWhatTheOrdinalHasWrittenBefore)
{
    client::Stage stage(Keeping(0));
    Begin(stage, 20);
    Rows first = {{2}, {}, 1000}, second = {{3}, {}, 2000};
    first.stream = Held("first writer");
    second.stream = Stream("second writer");
    WriteBoth(stage, stage.query(Paths({9, 15})), 2, first);
    WriteBoth(stage, stage.query(Paths({15, 8, 2})), 2, second);
    fr_sim_hold(first.stream, false);
    stage.finish(stage.seal(2));
    ExpectSameAt(stage, stage.query(20), 2);
}

// Rows over a head, of a producer that stalls: who reads both waits for those, too.
TEST_P(Waits, ForWhatLiesOverAHead)
{
    client::Stage stage(Keeping(0));
    Begin(stage, 20);
    Rows rows = {{2}, {}, 1000};
    rows.stream = Held("writer");
    WriteBoth(stage, stage.query(Paths({9, 15})), 2, rows);
    stage.finish(stage.seal(2));
    fr_cu_event readable = Event();
    fr_cu_stream consumer = Stream("consumer");
    ovstage_placement_t placement = Place(Stream("reader"), readable);
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group = {};
    stage.finish(Read(stage, stage.query(20), OnDevice(stage), 2, &placement, &read));
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK);
    fr_sim_hold(rows.stream, false);
    FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
    auto values = reinterpret_cast<fr_cu_device_ptr>(group.data.tensors->data);
    EXPECT_EQ(Value(consumer, values + 9 * sizeof(float)), 1000);
    EXPECT_EQ(Value(consumer, values + 10 * sizeof(float)), 10);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

// New keys that are written again while a filter is to read them: what it does not write is brought
// over, behind the first write.
TEST_P(Waits, ForNewKeysThatAFilterReads)
{
    client::Stage stage(Keeping(0));
    ovstage_query_handle_t all = stage.query(4), found = 0;
    Rows first = {{4}, {}, 1000}, second = {{4}, {}, 2000};
    first.stream = Held("first writer");
    second.stream = Stream("second writer");
    second.mask = {5}; // rows 0 and 2
    WriteBoth(stage, all, 1, first);
    ovstage_enqueue_result_t filter =
        client::submit(stage, {{"device", OVSTAGE_FILTER_OP_GE, {"1002"}}}, &found);
    EXPECT_FALSE(IsDone(stage, filter));
    WriteBoth(stage, all, 1, second);
    fr_sim_hold(first.stream, false);
    stage.finish(filter);
    EXPECT_EQ(client::found(stage, found).paths.size(), 2u);
    stage.finish(ovstage_release_query(stage.instance, found));
    stage.finish(stage.seal(1));
    ExpectSameAt(stage, all, 1);
}

// A seal gives new keys their places behind what has written them.
TEST_P(Waits, ForNewKeysThatGetTheirPlaces)
{
    client::Stage stage(Keeping(0));
    Rows first = {{4}, {}, 1000};
    first.stream = Held("writer");
    WriteBoth(stage, stage.query(Paths({3, 2, 1, 0})), 1, first);
    WriteBoth(stage, stage.query(Paths({5, 4, 0})), 2, {{3}, {}, 2000});
    stage.finish(stage.seal(2));
    fr_sim_hold(first.stream, false);
    for (uint64_t at : {1u, 2u})
        ExpectSameAt(stage, stage.query(6), at);
}

// A group is let go of that nobody has looked at: its memory is nobody else's before what was to be
// there is written.
TEST_P(Waits, ForTheGatherOfAGroupThatIsLetGoOf)
{
    client::Stage stage(Keeping(0));
    Begin(stage, 4);
    ovstage_placement_t placement = Place(Held("reader"), Event());
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group = {};
    stage.finish(
        Read(stage, stage.query(Paths({3, 1, 2, 0})), OnDevice(stage), 1, &placement, &read));
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
    for (uint64_t ordinal = 2; ordinal < 6; ordinal++)
        WriteBoth(stage, stage.query(4), ordinal, {{4}, {}, static_cast<float>(1000 * ordinal)});
    fr_sim_hold(reinterpret_cast<fr_cu_stream>(placement.stream), false);
    stage.finish(stage.seal(5));
    for (uint64_t ordinal = 1; ordinal < 6; ordinal++)
        ExpectSameAt(stage, stage.query(4), ordinal);
}

// The event of a commit in which nothing is copied is behind what the client fills the buffer by.
TEST_P(Waits, ForWhatFillsABufferThatIsCommitted)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    fr_cu_stream producer = Held("producer"), consumer = Stream("consumer");
    fr_cu_event committed = Event();
    fr_cu_device_ptr data = 0, sum = Memory(sizeof(float), "sum");
    ovstage_map_handle_t map = Map(stage, query, 1, Place(Stream("writer"), committed), &data);
    Produce(producer, data, 3, 4);
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0}));
    FR_SIM_OK(cu->cuStreamWaitEvent(consumer, committed, 0));
    Sum(consumer, data, 3, sum);
    fr_sim_hold(producer, false);
    EXPECT_EQ(Value(consumer, sum), 15);
    stage.finish(stage.seal(1));
}

// And so is the copy of such a buffer to a column on the host.
TEST_P(Waits, ForWhatFillsABufferThatGoesToTheHost)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    fr_cu_stream producer = Held("producer");
    fr_cu_device_ptr data = 0;
    stage.finish(stage.write(query, OnDevice(stage), 1, std::vector<float>{1, 2, 3}));
    ovstage_map_handle_t map = Map(stage, query, 2, Place(nullptr, nullptr), &data);
    Produce(producer, data, 3, 4);
    ovstage_enqueue_result_t commit =
        ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0});
    for (int look = 0; look < 20; look++)
        EXPECT_FALSE(IsDone(stage, commit));
    fr_sim_hold(producer, false);
    stage.finish(commit);
    stage.finish(stage.seal(2));
    EXPECT_EQ(stage.read(query, OnDevice(stage), 2), (std::vector<float>{4, 5, 6}));
}

// The host takes the buffer of a session when the device has written it.
TEST_P(Waits, ForWhatADeviceWritesToTheHost)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    fr_cu_stream producer = Held("producer");
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "made");
    client::Map map(stage, query, client::description(OnDevice(stage)), 1);
    ASSERT_EQ(map.fetch(), OVSTAGE_OK) << client::last_error();
    FR_SIM_OK(cu->cuMemHostRegister(map.values(), 3 * sizeof(float), 0));
    Produce(producer, data, 3, 4);
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(map.values(), data, 3 * sizeof(float), producer));
    ovstage_enqueue_result_t commit =
        ovstage_unmap_attribute(stage.instance, map.handle, {Handle(producer), 0});
    for (int look = 0; look < 20; look++)
        EXPECT_FALSE(IsDone(stage, commit));
    fr_sim_hold(producer, false);
    stage.finish(commit);
    FR_SIM_OK(cu->cuMemHostUnregister(map.values()));
    stage.finish(stage.seal(1));
    EXPECT_EQ(stage.read(query, OnDevice(stage), 1), (std::vector<float>{4, 5, 6}));
    stage.finish(map.opened);
}

// The next head is made of the payload of an older state, whose rows are saved first: in memory
// that is made for them.
TEST_P(Waits, ForTheMemoryOfWhatIsSavedOfAnOlderState)
{
    client::Stage stage(Keeping(0));
    const uint32_t count = 200;
    std::vector<uint32_t> numbers;
    for (uint32_t k = 0; k < 80; k++)
        numbers.push_back(2 * k + 1);
    ovstage_query_handle_t all = stage.query(count), some = stage.query(Paths(numbers));
    Begin(stage, count);
    uint64_t spares = stage.statistics().folds_with_spare;
    for (uint64_t ordinal = 2; ordinal <= 3; ordinal++) {
        Rows rows = {{80}, {}, static_cast<float>(1000 * ordinal)};
        rows.with_event = false; // so that it is folded when it is sealed
        stage.finish(WriteOnDevice(stage, some, ordinal, rows, Stream("producer")));
        EXPECT_TRUE(fr_sim_drain());
        stage.finish(stage.seal(ordinal));
    }
    EXPECT_EQ(stage.statistics().folds_with_spare - spares, 1u);
    ovstage_placement_t placement = Place(Stream("reader"), Event());
    EXPECT_EQ(ReadGroups(stage, all, OnDevice(stage), {0, 1, false}, &placement),
              ReadGroups(stage, all, OnHost(stage), {0, 1, false}, nullptr));
}

// A group that shows rows as they lie has an event behind their write.
TEST_P(Waits, ForTheWriteOfWhatIsReadAsItLies)
{
    client::Stage stage(Keeping(0));
    Rows rows = {{4}, {}, 1000};
    rows.stream = Held("writer");
    stage.finish(WriteOnDevice(stage, stage.query(4), 1, rows, Stream("producer")));
    stage.finish(stage.seal(1));
    fr_cu_event readable = Event();
    fr_cu_stream consumer = Stream("consumer");
    fr_cu_device_ptr sum = Memory(sizeof(float), "sum");
    ovstage_placement_t placement = Place(Stream("reader"), readable);
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group = {};
    stage.finish(Read(stage, stage.query(4), OnDevice(stage), 1, &placement, &read));
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK);
    FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
    Sum(consumer, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors->data), 4, sum);
    fr_sim_hold(rows.stream, false);
    EXPECT_EQ(Value(consumer, sum), 4006);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

// A consumer in the stream that a read names waits for nothing else: not in the legacy default
// stream either, whose number is no address.
TEST_P(Waits, ForTheWriteOfWhatIsReadInTheLegacyStream)
{
    client::Stage stage(Keeping(0));
    Rows rows = {{4}, {}, 1000};
    rows.stream = Held("writer");
    stage.finish(WriteOnDevice(stage, stage.query(4), 1, rows, Stream("producer")));
    stage.finish(stage.seal(1));
    fr_cu_device_ptr sum = Memory(sizeof(float), "sum");
    ovstage_placement_t placement = Place(FR_CU_STREAM_LEGACY, Event());
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group = {};
    stage.finish(Read(stage, stage.query(4), OnDevice(stage), 1, &placement, &read));
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK);
    Sum(FR_CU_STREAM_LEGACY, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors->data), 4, sum);
    fr_sim_hold(rows.stream, false);
    EXPECT_EQ(Value(FR_CU_STREAM_LEGACY, sum), 4006);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

// A read on the host is complete when the rows of all devices are there.
TEST_P(Waits, ForColumnsOfSeveralDevices)
{
    client::Stage stage(Keeping(0));
    ovstage_query_handle_t query = stage.query(3);
    const ovx_token_t names[2] = {stage.token("on 0"), stage.token("on 1")};
    fr_cu_stream writers[2];
    for (int32_t device : {0, 1}) {
        Rows rows = {{3}, {}, static_cast<float>(10 * device)};
        rows.source = rows.place = device;
        rows.name = names[device];
        MakeCurrent(device);
        writers[device] = rows.stream = Held("writer");
        stage.finish(WriteOnDevice(stage, query, 1, rows, Stream("producer")));
    }
    MakeCurrent(0);
    stage.finish(stage.seal(1));
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t sent =
        ovstage_read_attributes(stage.instance, query, names, 2, {0, 1, false}, &read);
    fr_sim_hold(writers[1], false);
    EXPECT_FALSE(fr_sim_drain());
    EXPECT_FALSE(IsDone(stage, sent));
    fr_sim_hold(writers[0], false);
    stage.finish(sent);
    stage.finish(ovstage_release_read(stage.instance, read));
}

// The event of a write is on the placement's device, and behind what is done for it where the
// column lies; also behind that of an entry before it, which lies here.
TEST_P(Waits, ForWhatEntriesPutElsewhere)
{
    for (bool both : {false, true}) {
        client::Stage stage(Keeping(0));
        ovstage_query_handle_t query = stage.query(3);
        const ovx_token_t names[2] = {stage.token("there"), stage.token("here")};
        fr_cu_stream held = nullptr;
        for (int32_t device : {1, 0}) {
            Rows rows = {{3}, {}, 10};
            rows.name = names[1 - device];
            rows.source = rows.place = device;
            MakeCurrent(device);
            rows.stream = Stream("writer");
            if (device == (both ? 0 : 1)) { // what the ordinal writes there next waits for it
                held = rows.stream;
                fr_sim_hold(held, true);
            }
            stage.finish(WriteOnDevice(stage, query, 1, rows, Stream("producer")));
        }
        fr_cu_stream producer = Stream("producer");
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
        Produce(producer, data, 3, 20);
        int64_t count = 3;
        DLTensor tensor{
            reinterpret_cast<void *>(data), {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0};
        ovstage_attribute_write_t writes[2] = {};
        for (uint32_t e = 0; e < 2; e++) {
            writes[e].attribute.token = names[both ? 1 - e : e];
            writes[e].data.tensors = &tensor;
            writes[e].data.tensor_count = 1;
            writes[e].data.cuda_sync.stream = Handle(producer);
        }
        fr_cu_event written = Event();
        ovstage_placement_t placement = Place(nullptr, written);
        stage.finish(ovstage_write_attributes_on_device(stage.instance, query, writes, both ? 2 : 1,
                                                        1, OVSTAGE_PRIM_MODE_UPSERT, &placement));
        EXPECT_FALSE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(written), (fr_cu_result)FR_CU_ERROR_NOT_READY) << both;
        fr_sim_hold(held, false);
        FR_SIM_OK(cu->cuEventSynchronize(written));
        stage.finish(stage.seal(1));
        EXPECT_EQ(stage.read(query, names[0], 1), (std::vector<float>{20, 21, 22}));
    }
}

// A write may fail at each of its waits, one of which comes when its rows have been put together on
// their device: the event says when that has read them.
TEST_P(Waits, ForTheSourceOfAWriteThatFailed)
{
    uint32_t failed = 0;
    for (uint64_t k = 1; k <= 6; k++) {
        client::Stage stage(Keeping(0));
        Begin(stage, 3);
        Rows rows = {{3}, {2}, 10};
        rows.source = 1;
        MakeCurrent(1);
        fr_cu_stream producer = Stream("producer"), other = Stream("other");
        rows.memory = Source(rows, producer);
        MakeCurrent(0);
        rows.event = Event();
        ovstage_enqueue_result_t sent = WriteOnDevice(stage, stage.query(3), 2, rows, producer);
        ASSERT_TRUE(fr_sim_fail_call("cuStreamWaitEvent", k, FR_CU_ERROR_UNKNOWN));
        ovstage_op_wait_result_t outcome = {};
        EXPECT_EQ(ovstage_wait_op(stage.instance, sent.op_index, client::forever, &outcome),
                  OVSTAGE_OK);
        fr_sim_clear_faults();
        failed += outcome.error_op_id_count;
        std::string text = client::text(ovstage_get_last_op_error(stage.instance, sent.op_index));
        if (text.find("availability_event") != std::string::npos) {
            EXPECT_TRUE(fr_sim_drain()); // the event tells nothing
        }
        MakeCurrent(1);
        FR_SIM_OK(cu->cuStreamWaitEvent(other, rows.event, 0));
        Produce(other, rows.memory, 5, -1);
        MakeCurrent(0);
    }
    EXPECT_GT(failed, 1u);
}

// A record of an event that waits for an earlier one is behind its own operation's work, too.
TEST_P(Waits, ForItsOwnWorkBehindAnEarlierRecord)
{
    client::Stage stage(Keeping(0));
    Rows first = {{3}, {}, 10}, second = {{3}, {}, 20};
    first.event = second.event = Event();
    fr_cu_stream producers[2] = {Held("first producer"), Held("second producer")};
    stage.finish(WriteOnDevice(stage, stage.query(3), 1, first, producers[0]));
    stage.finish(WriteOnDevice(stage, stage.query(3), 2, second, producers[1]));
    fr_sim_hold(producers[0], false);
    EXPECT_FALSE(fr_sim_drain());
    EXPECT_EQ(cu->cuEventQuery(first.event), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    fr_sim_hold(producers[1], false);
    FR_SIM_OK(cu->cuEventSynchronize(first.event));
    stage.finish(stage.seal(2));
    EXPECT_EQ(stage.read(stage.query(3), OnDevice(stage), 2), (std::vector<float>{20, 21, 22}));
}

PLACEMENT_ORDERS(Waits);

} // namespace
