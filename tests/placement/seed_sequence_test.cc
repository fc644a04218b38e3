// A producer and a consumer on one device, with the stage between them: the sequence of the
// placement page, write with an event, seal, read with an event, release.
#include "tests/placement/placement_fixture.h"

namespace
{

class SeedSequence : public PlacementTest
{
};

// One frame: produce into `data`, write, seal, read, sum; all streams and events the client's.
TEST_P(SeedSequence, AFrameGoesThroughTheStage)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream producer = Stream("producer"), writer = Stream("writer"),
                     reader = Stream("reader"), consumer = Stream("consumer");
        fr_cu_event produced = Event(), written = Event(), readable = Event();
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"),
                         sum = Memory(sizeof(float), "sum");
        ovstage_placement_t write_placement = Place(writer, written),
                            read_placement = Place(reader, readable);
        for (uint64_t ordinal = 1; ordinal <= 5; ordinal++) {
            float first = static_cast<float>(10 * ordinal);
            Produce(producer, data, 3, first);
            FR_SIM_OK(cu->cuEventRecord(produced, producer));
            stage.finish(Write(stage, query, attribute, ordinal, data, 3, {0, Handle(produced)},
                               &write_placement));
            stage.finish(stage.seal(ordinal));
            ovstage_read_handle_t read = 0;
            stage.finish(Read(stage, query, attribute, ordinal, &read_placement, &read));
            ovstage_read_group_t group = {};
            ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                      OVSTAGE_OK)
                << client::last_error();
            const DLTensor &tensor = group.data.tensors[0];
            EXPECT_EQ(tensor.device.device_type, kDLCUDA);
            EXPECT_EQ(tensor.device.device_id, 0);
            EXPECT_EQ(group.data.count, 3u);
            FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
            Sum(consumer, reinterpret_cast<fr_cu_device_ptr>(tensor.data), 3, sum);
            EXPECT_EQ(Value(consumer, sum), 3 * first + 3);
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
            EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                      OVSTAGE_ERROR_END_OF_ITERATION);
            stage.finish(ovstage_release_read(stage.instance, read));
            // The source may be used again.
            FR_SIM_OK(cu->cuEventSynchronize(written));
        }
    }
}

// The next frame's write and seal do not change what a group shows that is held.
TEST_P(SeedSequence, AHeldGroupStays)
{
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream stream = Stream("client");
    fr_cu_event written = Event(), readable = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"), sum = Memory(sizeof(float), "sum");
    ovstage_placement_t write_placement = Place(stream, written),
                        read_placement = Place(stream, readable);
    std::vector<ovstage_read_group_t> groups;
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        Produce(stream, data, 3, static_cast<float>(10 * ordinal));
        stage.finish(Write(stage, query, attribute, ordinal, data, 3, {Handle(stream), 0},
                           &write_placement));
        stage.finish(stage.seal(ordinal));
        ovstage_read_handle_t read = 0;
        stage.finish(Read(stage, query, attribute, ordinal, &read_placement, &read));
        ovstage_read_group_t group = {};
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK);
        groups.push_back(group);
        stage.finish(ovstage_release_read(stage.instance, read));
        FR_SIM_OK(cu->cuEventSynchronize(written));
    }
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        ovstage_read_group_t &group = groups[ordinal - 1];
        Sum(stream, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), 3, sum);
        EXPECT_EQ(Value(stream, sum), static_cast<float>(30 * ordinal + 3));
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    }
}

// Nothing of a stream of the client's is used without being told: the stage's own stream does it.
TEST_P(SeedSequence, WithoutAStreamTheStageHasOne)
{
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer"), consumer = Stream("consumer");
    fr_cu_event produced = Event(), written = Event(), readable = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"), sum = Memory(sizeof(float), "sum");
    ovstage_placement_t write_placement = Place(nullptr, written),
                        read_placement = Place(nullptr, readable);
    Produce(producer, data, 3, 5);
    FR_SIM_OK(cu->cuEventRecord(produced, producer));
    stage.finish(
        Write(stage, query, attribute, 1, data, 3, {0, Handle(produced)}, &write_placement));
    stage.finish(stage.seal(1));
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, query, attribute, 1, &read_placement, &read));
    ovstage_read_group_t group = {};
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK);
    FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
    Sum(consumer, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), 3, sum);
    EXPECT_EQ(Value(consumer, sum), 18);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
    FR_SIM_OK(cu->cuEventSynchronize(written));
}

// A read that is accepted before the seal runs when the seal has.
TEST_P(SeedSequence, AReadWaitsForItsSeal)
{
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream stream = Stream("client");
    fr_cu_event written = Event(), readable = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"), sum = Memory(sizeof(float), "sum");
    ovstage_placement_t write_placement = Place(stream, written),
                        read_placement = Place(stream, readable);
    Produce(stream, data, 3, 1);
    ovstage_enqueue_result_t write =
        Write(stage, query, attribute, 1, data, 3, {Handle(stream), 0}, &write_placement);
    ovstage_enqueue_result_t seal = stage.seal(1);
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, query, attribute, 1, &read_placement, &read));
    stage.finish(write);
    stage.finish(seal);
    ovstage_read_group_t group = {};
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK);
    Sum(stream, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), 3, sum);
    EXPECT_EQ(Value(stream, sum), 6);
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

PLACEMENT_ORDERS(SeedSequence);

} // namespace
