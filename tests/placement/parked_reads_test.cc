// Reads that move rows which are not written yet: any number of them waits, without a thread, and
// holds up nobody else. And what is brought home lies in the host's own memory when it is there.
#include <thread>

#include "tests/placement/placement_fixture.h"
#include "tests/support/bounded.h"

namespace
{

class ParkedReads : public PlacementTest
{
  protected:
    struct Late {
        ovx_token_t attribute;
        uint64_t ordinal;
        ovstage_enqueue_result_t sent;
        ovstage_read_handle_t read;
        ovstage_placement_t placement; // of the read
        std::vector<float> values;     // that are wanted
    };

    // Where a read is wanted, in turn.
    enum Kind { HOME, APART, APART_AND_TOLD, ELSEWHERE, KINDS };

    // Columns that are sealed, each with rows which a stalled stream of the client's writes.
    std::vector<Late> Columns(const client::Stage &stage, ovstage_query_handle_t query,
                              fr_cu_stream stalled, uint64_t count)
    {
        std::vector<Late> columns;
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "late source");
        fr_sim_hold(stalled, true);
        Produce(stalled, data, 3, 1);
        for (uint64_t k = 0; k < count; k++) {
            Late late = {};
            ovstage_placement_t placement = Place(stalled, Event());
            late.attribute = stage.token("late" + std::to_string(k));
            late.ordinal = 2 + k;
            stage.finish(
                Write(stage, query, late.attribute, late.ordinal, data, 3, {0, 0}, &placement));
            columns.push_back(late);
        }
        stage.finish(stage.seal(1 + count));
        return columns;
    }

    void ReadLate(const client::Stage &stage, ovstage_query_handle_t all,
                  ovstage_query_handle_t turned, Late &late, int kind)
    {
        bool apart = kind != HOME;
        late.placement = Place(nullptr, kind == APART_AND_TOLD ? Event() : nullptr);
        if (kind == ELSEWHERE) {
            MakeCurrent(1);
            late.placement = Place(nullptr, Event(), 1);
            MakeCurrent(0);
        }
        late.values = apart ? std::vector<float>{3, 1} : std::vector<float>{1, 2, 3};
        late.sent = Read(stage, apart ? turned : all, late.attribute, late.ordinal,
                         kind == HOME ? nullptr : &late.placement, &late.read);
        ASSERT_EQ(late.sent.status, OVSTAGE_OK) << client::last_error();
    }

    void ExpectLate(const client::Stage &stage, const Late &late)
    {
        ovstage_read_group_t group = {};
        stage.finish(late.sent);
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, late.read, client::forever, &group),
                  OVSTAGE_OK)
            << client::last_error();
        const DLTensor &shown = group.data.tensors[0];
        std::vector<float> values(late.values.size());
        if (shown.device.device_type == kDLCPU) {
            std::memcpy(values.data(), shown.data, values.size() * sizeof(float));
        } else {
            MakeCurrent(shown.device.device_id);
            fr_cu_stream reader = Stream("reader");
            if (late.placement.availability_event) {
                auto *event = reinterpret_cast<fr_cu_event>(late.placement.availability_event);
                FR_SIM_OK(cu->cuStreamWaitEvent(reader, event, 0));
            }
            FR_SIM_OK(cu->cuMemcpyDtoHAsync(values.data(),
                                            reinterpret_cast<fr_cu_device_ptr>(shown.data),
                                            values.size() * sizeof(float), reader));
            FR_SIM_OK(cu->cuStreamSynchronize(reader));
            MakeCurrent(0);
        }
        EXPECT_EQ(values, late.values);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, late.read));
    }

    // What waits for nobody: written, sealed, read at home and on a device.
    void ExpectOthersGoOn(const client::Stage &stage, ovstage_query_handle_t all,
                          ovstage_query_handle_t turned, uint64_t ordinal)
    {
        fr_cu_event written = Event();
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
        fr_cu_stream producer = Stream("producer");
        ovstage_placement_t placement = Place(nullptr, written);
        Produce(producer, data, 3, 5);
        FR_SIM_OK(cu->cuStreamSynchronize(producer));
        Late other = {};
        other.attribute = stage.token("other");
        other.ordinal = ordinal;
        client::bounded("what waits for nobody", [&] {
            FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0])); // of a thread of its own
            stage.finish(Write(stage, all, other.attribute, ordinal, data, 3, {0, 0}, &placement));
            stage.finish(stage.seal(ordinal));
            FR_SIM_OK(cu->cuEventSynchronize(written));
            for (int kind : {HOME, APART}) {
                ReadLate(stage, all, turned, other, kind);
                for (float &value : other.values)
                    value += 4;
                ExpectLate(stage, other);
            }
        });
    }

    static uint64_t Parked(const client::Stage &stage)
    {
        flyrail_statistics_t out = {};
        out.struct_size = sizeof(out);
        EXPECT_EQ(flyrail_get_statistics(stage.instance, &out), OVSTAGE_OK);
        return out.ops_parked;
    }
};

// With streams for 32 of them, all are accepted, wait, and are answered.
TEST_P(ParkedReads, AnyNumberMayStall)
{
    for (uint32_t workers : {0u, 4u}) {
        const uint64_t count = GetParam().mode == FR_SIM_RANDOM ? 34 : 66;
        client::Stage stage(workers);
        ovstage_query_handle_t all = stage.query(3), turned = stage.query(Paths({2, 0}));
        fr_cu_stream stalled = Stream("a client's");
        std::vector<Late> columns = Columns(stage, all, stalled, count);
        for (size_t k = 0; k < count; k++)
            ReadLate(stage, all, turned, columns[k],
                     devices_here > 1 ? static_cast<int>(k % KINDS) : static_cast<int>(k % 3));
        for (const Late &late : columns)
            if (!late.placement.availability_event) {
                EXPECT_FALSE(IsDone(stage, late.sent));
            }
        EXPECT_FALSE(IsDone(stage, columns[count - 1].sent));
        ExpectOthersGoOn(stage, all, turned, 10 + count);
        fr_sim_hold(stalled, false);
        for (const Late &late : columns)
            ExpectLate(stage, late);
    }
}

// What is handed out as it lies is waited for alone; what is written already is there at once, also
// at the same ordinal.
TEST_P(ParkedReads, WaitForNoOthersRows)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t all = stage.query(3);
        fr_cu_stream stalled = Stream("a client's"), producer = Stream("producer");
        std::vector<Late> columns = Columns(stage, all, stalled, 1);
        ovx_token_t other = stage.token("other");
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
        fr_cu_event written = Event();
        ovstage_placement_t placement = Place(nullptr, written);
        Produce(producer, data, 3, 5);
        FR_SIM_OK(cu->cuStreamSynchronize(producer));
        stage.finish(Write(stage, all, other, 3, data, 3, {0, 0}, &placement));
        stage.finish(stage.seal(3));
        FR_SIM_OK(cu->cuEventSynchronize(written));
        fr_cu_event late_readable = Event(), readable = Event();
        ovstage_read_handle_t reads[2] = {};
        placement = Place(nullptr, late_readable);
        stage.finish(Read(stage, all, columns[0].attribute, 3, &placement, &reads[0]));
        placement = Place(nullptr, readable);
        stage.finish(Read(stage, all, other, 3, &placement, &reads[1]));
        EXPECT_FALSE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(readable), 0u);
        EXPECT_EQ(cu->cuEventQuery(late_readable), (fr_cu_result)FR_CU_ERROR_NOT_READY);
        fr_sim_hold(stalled, false);
        for (ovstage_read_handle_t read : reads)
            stage.finish(ovstage_release_read(stage.instance, read));
    }
}

// The moment of a read is that of its acceptance, also where it had to wait for a stream.
TEST_P(ParkedReads, ShowTheMomentOfTheirAcceptance)
{
    for (uint32_t workers : {0u, 2u}) {
        const uint64_t count = 33;
        client::Stage stage(workers);
        ovstage_query_handle_t all = stage.query(3), turned = stage.query(Paths({2, 0}));
        fr_cu_stream stalled = Stream("a client's");
        std::vector<Late> columns = Columns(stage, all, stalled, count);
        for (Late &late : columns)
            ReadLate(stage, all, turned, late, HOME);
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "later source");
        Produce(stalled, data, 3, 100);
        for (uint64_t ordinal = 2 + count; ordinal < 10 + count; ordinal++) {
            ovstage_placement_t placement = Place(stalled, Event());
            stage.finish(
                Write(stage, all, columns[32].attribute, ordinal, data, 3, {0, 0}, &placement));
            stage.finish(stage.seal(ordinal));
        }
        fr_sim_hold(stalled, false);
        for (const Late &late : columns)
            ExpectLate(stage, late);
    }
}

// What it shows is pinned then, and nothing else is kept for it, though it had to wait for a seal.
TEST_P(ParkedReads, KeepNoHistoryOfOthers)
{
    client::Stage stage(0);
    ovstage_query_handle_t all = stage.query(3), turned = stage.query(Paths({2, 0}));
    fr_cu_stream stalled = Stream("a client's");
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "late source");
    ovstage_placement_t placement = Place(stalled, Event());
    Late late = {};
    late.attribute = stage.token("late");
    late.ordinal = 2;
    fr_sim_hold(stalled, true);
    Produce(stalled, data, 3, 1);
    stage.finish(Write(stage, all, late.attribute, 2, data, 3, {0, 0}, &placement));
    ovstage_enqueue_result_t seal = stage.seal(2);
    ReadLate(stage, all, turned, late, HOME);
    stage.finish(seal);
    EXPECT_FALSE(IsDone(stage, late.sent)); // it runs in the poll, and is parked
    EXPECT_EQ(Parked(stage), 1u);
    auto history_bytes = [&] {
        flyrail_statistics_t out = {};
        out.struct_size = sizeof(out);
        EXPECT_EQ(flyrail_get_statistics(stage.instance, &out), OVSTAGE_OK);
        return out.history_bytes;
    };
    uint64_t before = 0;
    for (uint64_t ordinal = 3; ordinal < 60; ordinal++) {
        stage.finish(stage.write(all, stage.token("other"), ordinal, std::vector<float>{1, 2, 3}));
        stage.finish(stage.seal(ordinal));
        before = ordinal == 20 ? history_bytes() : before;
    }
    EXPECT_LE(history_bytes(), before);
    fr_sim_hold(stalled, false);
    ExpectLate(stage, late);
}

// Who asks why learns it, and the instance may end meanwhile.
TEST_P(ParkedReads, EndWithTheirInstance)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t all = stage.query(3), turned = stage.query(Paths({2, 0}));
        fr_cu_stream stalled = Stream("a client's");
        std::vector<Late> columns = Columns(stage, all, stalled, 40);
        for (Late &late : columns)
            ReadLate(stage, all, turned, late, HOME);
        for (const Late &late : columns)
            EXPECT_FALSE(IsDone(stage, late.sent));
        if (workers == 0) { // else they run when they like
            char text[512] = "";
            size_t bytes = 0;
            EXPECT_EQ(Parked(stage), columns.size());
            EXPECT_EQ(flyrail_explain(stage.instance, columns[39].sent.op_index, text, sizeof(text),
                                      &bytes),
                      OVSTAGE_OK);
            EXPECT_NE(std::string(text).find("a stream of a device"), std::string::npos) << text;
        }
        std::thread ends([&] { fr_sim_hold(stalled, false); });
        stage.destroy();
        ends.join();
    }
}

PLACEMENT_ORDERS(ParkedReads);

} // namespace
