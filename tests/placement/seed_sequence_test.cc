// The frames and maps of docs/placement.md: every wait is the client's or the stage's, and the
// checker reports the one that is missing.
#include "tests/placement/placement_fixture.h"
#include "tests/support/maps.h"

namespace
{

// The sequences themselves, in a thousand random orders beside the two that are not.
class SeedSequences : public PlacementTest
{
  protected:
    template <typename Sequence> void InEachOrder(const Sequence &sequence)
    {
        if (GetParam().mode != FR_SIM_RANDOM) {
            sequence();
            return;
        }
        Close();
        for (uint64_t seed : SimSeeds(1000)) {
            SCOPED_TRACE("FR_SIM_SEED=" + std::to_string(seed));
            options.seed = seed;
            Open();
            sequence();
            Close();
            if (HasFailure())
                break;
        }
        Open(); // for who ends the test
    }

    // Of one read that has one group.
    static ovstage_read_handle_t Fetch(const client::Stage &stage, ovstage_query_handle_t query,
                                       ovx_token_t attribute, uint64_t ordinal,
                                       const ovstage_placement_t &placement,
                                       ovstage_read_group_t *group)
    {
        ovstage_read_handle_t read = 0;
        stage.finish(Read(stage, query, attribute, ordinal, &placement, &read));
        EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, group), OVSTAGE_OK)
            << client::last_error();
        return read;
    }

    static void End(const client::Stage &stage, ovstage_read_handle_t read,
                    ovstage_read_group_t *group)
    {
        EXPECT_EQ(ovstage_release_group(stage.instance, group), OVSTAGE_OK);
        EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, group),
                  OVSTAGE_ERROR_END_OF_ITERATION);
        stage.finish(ovstage_release_read(stage.instance, read));
    }

    static fr_cu_device_ptr Data(const DLTensor *tensors, int32_t device = 0)
    {
        EXPECT_EQ(tensors->device.device_type, kDLCUDA);
        EXPECT_EQ(tensors->device.device_id, device);
        return reinterpret_cast<fr_cu_device_ptr>(tensors->data);
    }
};

// Write with an event, seal, read with an event, consume, release; all streams and events are the
// client's, and one source is used in each frame.
TEST_P(SeedSequences, AFrameGoesThroughTheStage)
{
    InEachOrder([&] {
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
            for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
                float first = static_cast<float>(10 * ordinal);
                Produce(producer, data, 3, first);
                FR_SIM_OK(cu->cuEventRecord(produced, producer));
                stage.finish(Write(stage, query, attribute, ordinal, data, 3, {0, Handle(produced)},
                                   &write_placement));
                stage.finish(stage.seal(ordinal));
                ovstage_read_group_t group = {};
                ovstage_read_handle_t read =
                    Fetch(stage, query, attribute, ordinal, read_placement, &group);
                EXPECT_EQ(group.data.count, 3u);
                FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
                Sum(consumer, Data(group.data.tensors), 3, sum);
                EXPECT_EQ(Value(consumer, sum), 3 * first + 3);
                End(stage, read, &group);
                // The source may be used again.
                FR_SIM_OK(cu->cuEventSynchronize(written));
            }
        }
    });
}

// Each frame has a source of its own, and all streams are waited for in the end, as by a client
// that lets go of everything then.
TEST_P(SeedSequences, AFrameEndsWithAllItsStreams)
{
    InEachOrder([&] {
        for (uint32_t workers : {0u, 2u}) {
            client::Stage stage(workers);
            ovstage_query_handle_t query = stage.query(3);
            ovx_token_t attribute = stage.token("values");
            for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
                fr_cu_stream producer = Stream("producer"), writer = Stream("writer"),
                             reader = Stream("reader"), consumer = Stream("consumer");
                fr_cu_event produced = Event(), written = Event(), readable = Event();
                fr_cu_device_ptr data = 0, sum = Memory(sizeof(float), "sum");
                FR_SIM_OK(cu->cuMemAlloc(&data, 3 * sizeof(float)));
                float first = static_cast<float>(10 * ordinal);
                Produce(producer, data, 3, first);
                FR_SIM_OK(cu->cuEventRecord(produced, producer));
                ovstage_placement_t placement = Place(writer, written);
                stage.finish(Write(stage, query, attribute, ordinal, data, 3, {0, Handle(produced)},
                                   &placement));
                stage.finish(stage.seal(ordinal));
                ovstage_read_group_t group = {};
                ovstage_read_handle_t read =
                    Fetch(stage, query, attribute, ordinal, Place(reader, readable), &group);
                FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
                Sum(consumer, Data(group.data.tensors), 3, sum);
                FR_SIM_OK(cu->cuStreamSynchronize(reader));
                FR_SIM_OK(cu->cuStreamSynchronize(consumer));
                End(stage, read, &group);
                for (fr_cu_stream stream : {producer, writer, reader, consumer})
                    FR_SIM_OK(cu->cuStreamSynchronize(stream));
                FR_SIM_OK(cu->cuMemFree(data));
                EXPECT_EQ(Value(consumer, sum), 3 * first + 3);
            }
        }
    });
}

// Map, fill there, commit with the producer handed over, wait for the commit, then for the event;
// seal, read. Nobody copies the rows, so they lie there for good.
TEST_P(SeedSequences, AMapIsFilledInPlace)
{
    InEachOrder([&] {
        for (uint32_t workers : {0u, 2u}) {
            client::Stage stage(workers);
            ovstage_query_handle_t query = stage.query(3);
            ovstage_map_desc_t desc = client::description(stage.token("values"));
            fr_cu_stream producer = Stream("producer"), writer = Stream("writer"),
                         consumer = Stream("consumer");
            fr_cu_event produced = Event(), committed = Event();
            fr_cu_device_ptr sum = Memory(sizeof(float), "sum");
            ovstage_placement_t placement = Place(writer, committed),
                                reading = Place(nullptr, nullptr);
            for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
                float first = static_cast<float>(10 * ordinal);
                ovstage_map_handle_t map = 0;
                ovstage_map_group_t filled = {};
                stage.finish(ovstage_map_attribute_on_device(stage.instance, query, &desc, ordinal,
                                                             nullptr, 0, &placement, &map));
                ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &filled),
                          OVSTAGE_OK);
                EXPECT_EQ(filled.data.count, 3u);
                fr_cu_device_ptr data = Data(filled.data.tensors);
                Produce(producer, data, 3, first);
                FR_SIM_OK(cu->cuEventRecord(produced, producer));
                bool by_group = ordinal % 2 == 0; // each way of committing
                ovstage_cuda_sync_t done = {0, Handle(produced)};
                stage.finish(by_group ? ovstage_unmap_group(stage.instance, map, &filled, done)
                                      : ovstage_unmap_attribute(stage.instance, map, done));
                FR_SIM_OK(cu->cuStreamWaitEvent(consumer, committed, 0));
                Sum(consumer, data, 3, sum);
                EXPECT_EQ(Value(consumer, sum), 3 * first + 3);
                if (by_group)
                    stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
                stage.finish(stage.seal(ordinal));
                ovstage_read_group_t group = {};
                ovstage_read_handle_t read =
                    Fetch(stage, query, desc.attribute.token, ordinal, reading, &group);
                EXPECT_EQ(Data(group.data.tensors), data);
                Sum(consumer, data, 3, sum);
                EXPECT_EQ(Value(consumer, sum), 3 * first + 3);
                End(stage, read, &group);
            }
        }
    });
}

// The same as the first with the consumer on another device, and the source on either.
TEST_P(SeedSequences, WhatOneDeviceWritesIsReadOnAnother)
{
    InEachOrder([&] {
        for (uint32_t workers : {0u, 2u}) {
            client::Stage stage(workers);
            ovstage_query_handle_t query = stage.query(3);
            ovx_token_t attribute = stage.token("values");
            fr_cu_stream producers[2], consumer;
            fr_cu_event produced[2], written, readable;
            fr_cu_device_ptr data[2], sum;
            for (int32_t device : {0, 1}) {
                MakeCurrent(device);
                producers[device] = Stream("producer");
                produced[device] = Event();
                data[device] = Memory(3 * sizeof(float), "source");
            }
            consumer = Stream("consumer");
            readable = Event();
            sum = Memory(sizeof(float), "sum");
            ovstage_placement_t read_placement = Place(Stream("reader"), readable, 1);
            MakeCurrent(0);
            written = Event();
            ovstage_placement_t write_placement = Place(Stream("writer"), written);
            for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
                float first = static_cast<float>(10 * ordinal);
                int32_t source = ordinal % 2 == 0;
                MakeCurrent(source);
                Produce(producers[source], data[source], 3, first);
                FR_SIM_OK(cu->cuEventRecord(produced[source], producers[source]));
                MakeCurrent(0);
                stage.finish(Write(stage, query, attribute, ordinal, data[source], 3,
                                   {0, Handle(produced[source])}, &write_placement, source));
                stage.finish(stage.seal(ordinal));
                ovstage_read_group_t group = {};
                ovstage_read_handle_t read =
                    Fetch(stage, query, attribute, ordinal, read_placement, &group);
                MakeCurrent(1);
                FR_SIM_OK(cu->cuStreamWaitEvent(consumer, readable, 0));
                Sum(consumer, Data(group.data.tensors, 1), 3, sum);
                EXPECT_EQ(Value(consumer, sum), 3 * first + 3);
                MakeCurrent(0);
                End(stage, read, &group);
                FR_SIM_OK(cu->cuEventSynchronize(written));
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Orders, SeedSequences,
                         ::testing::Values(Order{"lazy", FR_SIM_LAZY, 1},
                                           Order{"eager", FR_SIM_EAGER, 1},
                                           Order{"random", FR_SIM_RANDOM, 1}),
                         OrderName);

class SeedSequence : public PlacementTest
{
};

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
