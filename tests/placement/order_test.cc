// What device work waits for, and what it does not.
#include <thread>

#include "tests/placement/placement_fixture.h"
#include "tests/support/filters.h"

namespace
{

class DeviceOrder : public PlacementTest
{
  protected:
    // The sum of a column's values on the device at an ordinal, by a consumer that waits for the
    // read's event alone.
    float SumAt(const client::Stage &stage, ovstage_query_handle_t query, ovx_token_t attribute,
                uint64_t ordinal, uint32_t count)
    {
        fr_cu_stream reader = Stream("reader"), consumer = Stream("consumer");
        fr_cu_event readable = Event();
        fr_cu_device_ptr sum = Memory(sizeof(float), "sum");
        ovstage_placement_t placement = Place(reader, readable);
        ovstage_read_handle_t read = 0;
        stage.finish(Read(stage, query, attribute, ordinal, &placement, &read));
        ovstage_read_group_t group = {};
        EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK)
            << client::last_error();
        EXPECT_EQ(cu->cuStreamWaitEvent(consumer, readable, 0), 0u);
        Sum(consumer, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), count, sum);
        float value = Value(consumer, sum);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        return value;
    }

    // So many ordinals from 2 on, each behind a producer that is held: every second one behind the
    // second of two, and every third one complete as it is submitted.
    struct Stalled {
        fr_cu_stream producers[2];
        fr_cu_device_ptr data[2];
        std::vector<ovstage_enqueue_result_t> writes;
    };
    Stalled Stall(const client::Stage &stage, ovstage_query_handle_t query, ovx_token_t attribute,
                  uint64_t lanes)
    {
        Stalled made = {};
        for (uint32_t k = 0; k < 2; k++) {
            made.producers[k] = Stream("stalled producer");
            made.data[k] = Memory(3 * sizeof(float), "late source");
            fr_sim_hold(made.producers[k], true);
            Produce(made.producers[k], made.data[k], 3, static_cast<float>(1 + k));
        }
        for (uint64_t k = 0; k < lanes; k++) {
            ovstage_placement_t placement = Place(nullptr, k % 3 == 0 ? Event() : nullptr);
            made.writes.push_back(Write(stage, query, attribute, 2 + k, made.data[k % 2], 3,
                                        {Handle(made.producers[k % 2]), 0}, &placement));
        }
        for (auto write : made.writes)
            (void)IsDone(stage, write);
        return made;
    }

    // One that waits for nobody.
    void Unstalled(const client::Stage &stage, ovstage_query_handle_t query, ovx_token_t attribute)
    {
        fr_cu_stream producer = Stream("producer");
        fr_cu_event written = Event();
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
        ovstage_placement_t placement = Place(nullptr, written);
        Produce(producer, data, 3, 5);
        FR_SIM_OK(cu->cuStreamSynchronize(producer));
        stage.finish(Write(stage, query, attribute, 1, data, 3, {0, 0}, &placement));
        FR_SIM_OK(cu->cuEventSynchronize(written));
    }

    static std::string Explained(const client::Stage &stage, ovstage_enqueue_result_t sent)
    {
        char text[512] = "";
        size_t needed = 0;
        EXPECT_EQ(flyrail_explain(stage.instance, sent.op_index, text, sizeof(text), &needed),
                  OVSTAGE_OK);
        return text;
    }
};

// The producer's event is recorded again before the op runs: it is the first record that counts.
TEST_P(DeviceOrder, TheProducerIsCapturedInTheCall)
{
    client::Stage stage(0); // the op runs in the wait for it
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer"), other = Stream("other"), writer = Stream("writer");
    fr_cu_event produced = Event(), written = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(writer, written);
    Produce(producer, data, 3, 4);
    FR_SIM_OK(cu->cuEventRecord(produced, producer));
    ovstage_enqueue_result_t write =
        Write(stage, query, attribute, 1, data, 3, {0, Handle(produced)}, &placement);
    FR_SIM_OK(cu->cuEventRecord(produced, other));
    stage.finish(write);
    stage.finish(stage.seal(1));
    EXPECT_EQ(SumAt(stage, query, attribute, 1, 3), 15);
}

// Nor does work count that the producer's stream gets after the call.
TEST_P(DeviceOrder, TheProducersStreamIsCapturedInTheCall)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer"), writer = Stream("writer"), stalled = Stream("held");
    fr_cu_event written = Event(), never = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(writer, written);
    Produce(producer, data, 3, 4);
    ovstage_enqueue_result_t write =
        Write(stage, query, attribute, 1, data, 3, {Handle(producer), 0}, &placement);
    // From here on the stream waits for what does not come.
    fr_sim_hold(stalled, true);
    fr_cu_device_ptr unused = Memory(3 * sizeof(float), "unused");
    Produce(stalled, unused, 3, 0);
    FR_SIM_OK(cu->cuEventRecord(never, stalled));
    FR_SIM_OK(cu->cuStreamWaitEvent(producer, never, 0));
    stage.finish(write);
    FR_SIM_OK(cu->cuEventSynchronize(written));
    stage.finish(stage.seal(1));
    EXPECT_EQ(SumAt(stage, query, attribute, 1, 3), 15);
    fr_sim_hold(stalled, false);
}

// The second write of an ordinal goes over the first one's, in another stream.
TEST_P(DeviceOrder, ASecondWriteWaitsForTheFirst)
{
    for (bool sealed_before : {false, true}) {
        client::Stage stage(2);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream streams[2] = {Stream("first writer"), Stream("second writer")};
        fr_cu_stream producer = Stream("producer");
        fr_cu_event written = Event();
        fr_cu_device_ptr data[2] = {Memory(3 * sizeof(float), "first source"),
                                    Memory(3 * sizeof(float), "second source")};
        uint64_t ordinal = 1;
        auto write = [&](int k) {
            ovstage_placement_t placement = Place(streams[k], written);
            stage.finish(Write(stage, query, attribute, ordinal, data[k], 3, {Handle(producer), 0},
                               &placement));
        };
        Produce(producer, data[0], 3, 1);
        Produce(producer, data[1], 3, 7);
        if (sealed_before) { // then its keys have their places
            write(0);
            stage.finish(stage.seal(ordinal++));
        }
        write(0);
        write(1);
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(SumAt(stage, query, attribute, ordinal, 3), 24);
    }
}

// Ordinals do not meet: each has rows of its own, sealed together or not.
TEST_P(DeviceOrder, OrdinalsHaveRowsOfTheirOwn)
{
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(4);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    fr_cu_event written = Event();
    std::vector<ovstage_enqueue_result_t> writes;
    for (uint64_t ordinal = 6; ordinal >= 1; ordinal--) {
        fr_cu_device_ptr data = Memory(4 * sizeof(float), "source");
        ovstage_placement_t placement = Place(Stream("writer"), written);
        Produce(producer, data, 4, static_cast<float>(ordinal));
        writes.push_back(
            Write(stage, query, attribute, ordinal, data, 4, {Handle(producer), 0}, &placement));
    }
    for (auto write : writes)
        stage.finish(write);
    stage.finish(stage.seal(4));
    EXPECT_EQ(SumAt(stage, query, attribute, 4, 4), 22);
    EXPECT_EQ(SumAt(stage, query, attribute, 3, 4), 18);
    stage.finish(stage.seal(6));
    EXPECT_EQ(SumAt(stage, query, attribute, 6, 4), 30);
    EXPECT_EQ(SumAt(stage, query, attribute, 5, 4), 26);
}

// A producer that stalls holds up its own ordinal alone: others are written, sealed up to it, read.
TEST_P(DeviceOrder, AStalledProducerHoldsUpItsOrdinalAlone)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream stalled = Stream("stalled producer"), producer = Stream("producer");
    fr_cu_event events[2] = {Event(), Event()};
    fr_cu_device_ptr late = Memory(3 * sizeof(float), "late source"),
                     data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t late_placement = Place(nullptr, events[0]),
                        placement = Place(nullptr, events[1]);
    fr_sim_hold(stalled, true);
    Produce(stalled, late, 3, 1);
    stage.finish(Write(stage, query, attribute, 2, late, 3, {Handle(stalled), 0}, &late_placement));
    Produce(producer, data, 3, 2);
    stage.finish(Write(stage, query, attribute, 1, data, 3, {Handle(producer), 0}, &placement));
    stage.finish(stage.seal(1));
    EXPECT_EQ(SumAt(stage, query, attribute, 1, 3), 9);
    EXPECT_EQ(cu->cuEventQuery(events[0]), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    fr_sim_hold(stalled, false);
    stage.finish(stage.seal(2));
    EXPECT_EQ(SumAt(stage, query, attribute, 2, 3), 6);
}

// Nor does it hold up reads of what others have written, though they are at its ordinal.
TEST_P(DeviceOrder, AStalledProducerHoldsUpNoOtherReads)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values"), late_attribute = stage.token("late");
    fr_cu_stream stalled = Stream("stalled producer"), producer = Stream("producer");
    fr_cu_event written = Event(), late_written = Event(), readable = Event();
    fr_cu_device_ptr late = Memory(3 * sizeof(float), "late source"),
                     data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, written),
                        late_placement = Place(nullptr, late_written),
                        read_placement = Place(nullptr, readable);
    Produce(producer, data, 3, 2);
    stage.finish(Write(stage, query, attribute, 1, data, 3, {Handle(producer), 0}, &placement));
    fr_sim_hold(stalled, true);
    Produce(stalled, late, 3, 1);
    stage.finish(
        Write(stage, query, late_attribute, 2, late, 3, {Handle(stalled), 0}, &late_placement));
    stage.finish(stage.seal(2));
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, query, attribute, 2, &read_placement, &read));
    EXPECT_FALSE(fr_sim_drain());
    EXPECT_EQ(cu->cuEventQuery(late_written), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    EXPECT_EQ(cu->cuEventQuery(readable), 0u);
    fr_sim_hold(stalled, false);
    stage.finish(ovstage_release_read(stage.instance, read));
}

// Nor does a read of it, which waits itself, hold up others of its ordinal.
TEST_P(DeviceOrder, AReadThatWaitsHoldsUpNoOtherReads)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3),
                           turned = stage.query(std::vector<std::string>{"/P/2", "/P/1", "/P/0"});
    ovx_token_t attribute = stage.token("values"), late_attribute = stage.token("late");
    fr_cu_stream stalled = Stream("stalled producer"), producer = Stream("producer");
    fr_cu_event written = Event(), late_written = Event(), readable = Event(), late = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, written),
                        late_placement = Place(nullptr, late_written),
                        read_placement = Place(nullptr, readable), late_read = Place(nullptr, late);
    Produce(producer, data, 3, 2);
    FR_SIM_OK(cu->cuStreamSynchronize(producer));
    stage.finish(Write(stage, query, attribute, 1, data, 3, {0, 0}, &placement));
    FR_SIM_OK(cu->cuEventSynchronize(written));
    fr_sim_hold(stalled, true);
    fr_cu_device_ptr late_data = Memory(3 * sizeof(float), "late source");
    Produce(stalled, late_data, 3, 1);
    stage.finish(Write(stage, query, late_attribute, 2, late_data, 3, {Handle(stalled), 0},
                       &late_placement));
    stage.finish(stage.seal(2));
    // Both gather rows into memory of their own.
    ovstage_read_handle_t reads[2] = {};
    stage.finish(Read(stage, turned, late_attribute, 2, &late_read, &reads[0]));
    stage.finish(Read(stage, turned, attribute, 2, &read_placement, &reads[1]));
    EXPECT_FALSE(fr_sim_drain());
    EXPECT_EQ(cu->cuEventQuery(late), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    EXPECT_EQ(cu->cuEventQuery(readable), 0u);
    fr_sim_hold(stalled, false);
    for (ovstage_read_handle_t read : reads)
        stage.finish(ovstage_release_read(stage.instance, read));
}

// Who waits for an event that several have recorded has waited for all of them (D21). What each of
// them puts into streams later does not.
TEST_P(DeviceOrder, RecordsOfOneEventComeAfterEachOther)
{
    for (bool own_stream : {false, true}) {
        client::Stage stage(1);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values"), other = stage.token("other");
        fr_cu_stream stalled = Stream("stalled producer"), producer = Stream("producer");
        fr_cu_event both = Event(), alone = Event();
        fr_cu_device_ptr late = Memory(3 * sizeof(float), "late source"),
                         data = Memory(3 * sizeof(float), "source");
        ovstage_placement_t first = Place(nullptr, both), next = Place(nullptr, alone),
                            second = Place(own_stream ? Stream("writer") : nullptr, both);
        Produce(producer, data, 3, 2);
        fr_sim_hold(stalled, true);
        Produce(stalled, late, 3, 1);
        stage.finish(Write(stage, query, attribute, 1, late, 3, {Handle(stalled), 0}, &first));
        stage.finish(Write(stage, query, attribute, 2, data, 3, {Handle(producer), 0}, &second));
        stage.finish(Write(stage, query, other, 2, data, 3, {Handle(producer), 0}, &next));
        EXPECT_FALSE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(both), (fr_cu_result)FR_CU_ERROR_NOT_READY);
        EXPECT_EQ(cu->cuEventQuery(alone), 0u);
        fr_sim_hold(stalled, false);
        FR_SIM_OK(cu->cuEventSynchronize(both));
        stage.finish(stage.seal(2));
        EXPECT_EQ(SumAt(stage, query, attribute, 1, 3), 6);
        EXPECT_EQ(SumAt(stage, query, attribute, 2, 3), 9);
    }
}

// However many producers stall, others' work goes on, and what is read of the stalled ones waits by
// itself.
TEST_P(DeviceOrder, ManyStalledProducersHoldUpNoOthers)
{
    for (uint32_t workers : {0u, 1u, 4u}) {
        const uint64_t lanes = 32; // as many as may stall
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream stalled = Stream("stalled producer"), producer = Stream("producer");
        fr_cu_event written = Event(), readable = Event(), late_readable = Event();
        fr_cu_device_ptr late = Memory(3 * sizeof(float), "late source"),
                         data = Memory(3 * sizeof(float), "source");
        ovstage_placement_t placement = Place(nullptr, written),
                            read_placement = Place(nullptr, readable),
                            late_placement = Place(nullptr, late_readable);
        Produce(producer, data, 3, 2);
        FR_SIM_OK(cu->cuStreamSynchronize(producer));
        ovstage_placement_t in_own = Place(producer, written); // takes none of the stage's
        stage.finish(Write(stage, query, attribute, 1, data, 3, {0, 0}, &in_own));
        fr_sim_hold(stalled, true);
        Produce(stalled, late, 3, 1);
        for (uint64_t k = 0; k < lanes; k++) {
            ovstage_placement_t late_write = Place(nullptr, Event());
            stage.finish(
                Write(stage, query, attribute, 2 + k, late, 3, {Handle(stalled), 0}, &late_write));
        }
        stage.finish(stage.seal(1 + lanes));
        for (uint64_t k = 0; k < lanes; k++) {
            ovstage_read_handle_t read = 0;
            stage.finish(Read(stage, query, attribute, 1 + lanes - k % 2, &late_placement, &read));
            stage.finish(ovstage_release_read(stage.instance, read));
        }
        stage.finish(Write(stage, query, attribute, 2 + lanes, data, 3, {0, 0}, &placement));
        stage.finish(stage.seal(2 + lanes));
        ovstage_read_handle_t read = 0;
        stage.finish(Read(stage, query, attribute, 2 + lanes, &read_placement, &read));
        EXPECT_FALSE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(readable), 0u);
        EXPECT_EQ(cu->cuEventQuery(late_readable), (fr_cu_result)FR_CU_ERROR_NOT_READY);
        fr_sim_hold(stalled, false);
        stage.finish(ovstage_release_read(stage.instance, read));
    }
}

// Nor do those that come when others have used the streams above what may stall.
TEST_P(DeviceOrder, StalledProducersLeaveSpareStreamsFree)
{
    const uint64_t may_stall = 32, spare = 8;
    client::Stage stage(0); // so that what is done is seen by the next op
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream stalled = Stream("stalled producer"), producer = Stream("producer");
    fr_cu_event written = Event();
    fr_cu_device_ptr late = Memory(3 * sizeof(float), "late source"),
                     data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, written);
    Produce(producer, data, 3, 2);
    FR_SIM_OK(cu->cuStreamSynchronize(producer));
    ovx_token_t other = stage.token("other");
    ovstage_placement_t in_own = Place(producer, written);
    stage.finish(Write(stage, query, other, 1, data, 3, {0, 0}, &in_own));
    stage.finish(stage.seal(1));
    FR_SIM_OK(cu->cuEventSynchronize(written));
    fr_sim_hold(stalled, true);
    Produce(stalled, late, 3, 1);
    for (uint64_t k = 0; k < may_stall + spare; k++) {
        ovstage_placement_t late_placement = Place(nullptr, Event());
        if (k >= may_stall) {
            stage.finish(Write(stage, query, attribute, 100 + k, data, 3, {0, 0}, &placement));
            FR_SIM_OK(cu->cuEventSynchronize(written));
        }
        ovstage_enqueue_result_t sent =
            Write(stage, query, attribute, 2 + k, late, 3, {Handle(stalled), 0}, &late_placement);
        EXPECT_EQ(IsDone(stage, sent), k < may_stall) << k;
    }
    stage.finish(Write(stage, query, attribute, 99, data, 3, {0, 0}, &placement));
    ovstage_read_handle_t read = 0;
    stage.finish(Read(stage, query, other, 1, nullptr, &read)); // it moves what is written
    stage.finish(ovstage_release_read(stage.instance, read));
    fr_sim_hold(stalled, false);
}

// Each holds up its own ordinal: with a stream, or, where none is left for it, without a thread.
TEST_P(DeviceOrder, AnyNumberOfLanesMayStall)
{
    for (uint32_t workers : {0u, 1u, 4u})
        for (uint64_t lanes : {1u, 8u, 32u, 33u, 64u}) {
            if (GetParam().mode == FR_SIM_RANDOM && lanes != 33)
                continue; // it takes its time
            client::Stage stage(workers);
            ovstage_query_handle_t query = stage.query(3);
            ovx_token_t attribute = stage.token("values");
            Stalled late = Stall(stage, query, attribute, lanes);
            Unstalled(stage, query, attribute);
            stage.finish(stage.seal(1));
            EXPECT_EQ(SumAt(stage, query, attribute, 1, 3), 18);
            fr_sim_hold(late.producers[1], false);
            for (uint64_t k = 1; k < lanes; k += 2)
                stage.finish(late.writes[k]);
            for (uint64_t k = 2; k < lanes; k += 6) { // the others have streams
                EXPECT_FALSE(IsDone(stage, late.writes[k]));
            }
            fr_sim_hold(late.producers[0], false);
            for (uint64_t k = 0; k < lanes; k += 2)
                stage.finish(late.writes[k]);
            stage.finish(stage.seal(1 + lanes));
            EXPECT_EQ(SumAt(stage, query, attribute, 1 + lanes, 3), lanes % 2 == 0 ? 9 : 6);
        }
}

// What a lane without a stream waits for is told, and it is resumed by looks alone.
TEST_P(DeviceOrder, AParkedLaneGoesOnWithPolls)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    Stalled late = Stall(stage, query, attribute, 36);
    EXPECT_EQ(stage.statistics().ops_parked, 4u);
    EXPECT_FALSE(IsDone(stage, late.writes[31])); // runs its report
    EXPECT_NE(Explained(stage, late.writes[31]).find("what CUDA device 0 has to do for a write"),
              std::string::npos);
    EXPECT_NE(Explained(stage, late.writes[35]).find("a stream of a device"), std::string::npos);
    // The last ones have no streams; of their own producers.
    fr_sim_hold(late.producers[1], false);
    EXPECT_FALSE(fr_sim_drain());
    EXPECT_FALSE(IsDone(stage, late.writes[35])); // sees that they are done
    EXPECT_FALSE(IsDone(stage, late.writes[35])); // runs it
    EXPECT_FALSE(fr_sim_drain());
    (void)IsDone(stage, late.writes[35]); // looks
    EXPECT_TRUE(IsDone(stage, late.writes[35]));
    // The streams of others are free by now, and theirs.
    for (uint32_t k : {32u, 34u}) {
        for (uint32_t look = 0; look < 3; look++)
            EXPECT_FALSE(IsDone(stage, late.writes[k]));
        EXPECT_EQ(Explained(stage, late.writes[k]).find("a stream of"), std::string::npos);
    }
    fr_sim_hold(late.producers[0], false);
    uint64_t ran = 0;
    do {
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(flyrail_run(stage.instance, 0, &ran), OVSTAGE_OK);
    } while (ran > 0);
    for (auto write : late.writes)
        EXPECT_TRUE(IsDone(stage, write));
}

// By waits inside tasks, too.
TEST_P(DeviceOrder, AParkedLaneGoesOnWithinATask)
{
    for (uint32_t workers : {0u, 1u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        Stalled late = Stall(stage, query, attribute, 35);
        struct Task {
            const client::Stage *stage;
            Stalled *late;
        } task = {&stage, &late};
        ovstage_enqueue_result_t waits = client::task(
            stage, 0,
            [](const flyrail_task_context_t *, void *user) {
                auto *self = static_cast<Task *>(user);
                for (auto *producer : self->late->producers)
                    fr_sim_hold(producer, false);
                for (auto write : self->late->writes)
                    self->stage->finish(write);
                return OVSTAGE_OK;
            },
            &task);
        stage.finish(waits);
    }
}

// And while a thread looks that waits for another instance: without workers they share a pool.
TEST_P(DeviceOrder, AParkedLaneGoesOnBesideAnotherInstance)
{
    flyrail_config_t config = client::config(0);
    config.own_pool = false;
    client::Stage stage(config), other(config);
    ovstage_query_handle_t query = stage.query(3), other_query = other.query(3);
    Stalled late = Stall(stage, query, stage.token("values"), 35),
            others = Stall(other, other_query, other.token("values"), 35);
    std::thread waits([&] {
        for (auto write : others.writes)
            other.finish(write);
    });
    for (auto *producer :
         {late.producers[0], others.producers[1], others.producers[0], late.producers[1]})
        fr_sim_hold(producer, false);
    for (auto write : late.writes)
        stage.finish(write);
    waits.join();
}

// What a filter looks at is brought in a stream as well.
TEST_P(DeviceOrder, AFilterParksForAStream)
{
    for (uint32_t workers : {0u, 1u}) {
        client::Stage stage(workers);
        Stalled late = Stall(stage, stage.query(3), stage.token("values"), 32);
        ovstage_query_handle_t found = 0;
        ovstage_enqueue_result_t sent =
            client::submit(stage, {{"values", OVSTAGE_FILTER_OP_GT, {"3"}}}, &found);
        for (uint32_t look = 0; look < 4; look++)
            EXPECT_FALSE(IsDone(stage, sent));
        fr_sim_hold(late.producers[0], false); // not what it looks at
        for (uint64_t k = 0; k < 32; k += 2)
            stage.finish(late.writes[k]);
        for (uint32_t look = 0; look < 4; look++)
            EXPECT_FALSE(IsDone(stage, sent));
        fr_sim_hold(late.producers[1], false);
        stage.finish(sent);
        EXPECT_EQ(client::found(stage, found).paths, std::vector<std::string>{"/P/2"});
        for (uint64_t k = 1; k < 32; k += 2)
            stage.finish(late.writes[k]);
        stage.finish(ovstage_release_query(stage.instance, found));
    }
}

// Destroying ends those that are parked as well.
TEST_P(DeviceOrder, ParkedLanesEndWithTheirInstance)
{
    for (uint32_t workers : {0u, 1u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        Stalled late = Stall(stage, query, stage.token("values"), 40);
        std::thread ends([&] {
            for (auto *producer : late.producers)
                fr_sim_hold(producer, false);
        });
        stage.destroy();
        ends.join();
    }
}

// They do it in the order of acceptance, whatever their ordinals.
TEST_P(DeviceOrder, OneEventIsRecordedInTheOrderOfAcceptance)
{
    client::Stage stage(0); // ops run in waits, for what these wait for
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    fr_cu_event event = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, event);
    auto completed = [&] {
        flyrail_statistics_t out = {};
        out.struct_size = sizeof(out);
        EXPECT_EQ(flyrail_get_statistics(stage.instance, &out), OVSTAGE_OK);
        return out.ops_completed;
    };
    Produce(producer, data, 3, 2);
    ovstage_cuda_sync_t sync = {Handle(producer), 0};
    ovstage_enqueue_result_t first = Write(stage, query, attribute, 7, data, 3, sync, &placement),
                             second = Write(stage, query, attribute, 1, data, 3, sync, &placement);
    stage.finish(second);
    EXPECT_EQ(completed(), 2u);
    stage.finish(first);
    stage.finish(stage.seal(1));
    // A read too, though it could be answered in its call.
    uint64_t before = completed();
    ovstage_enqueue_result_t third = Write(stage, query, attribute, 8, data, 3, sync, &placement);
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t fourth = Read(stage, query, attribute, 1, &placement, &read);
    EXPECT_EQ(completed(), before);
    stage.finish(fourth);
    EXPECT_EQ(completed(), before + 2);
    stage.finish(third);
    stage.finish(ovstage_release_read(stage.instance, read));
    FR_SIM_OK(cu->cuEventSynchronize(event));
}

PLACEMENT_ORDERS(DeviceOrder);

} // namespace
