// Pinned memory, of which there is little: who finds none waits for it, without a thread, and is
// held up by nobody that waits for a client.
#include <thread>

#include "tests/placement/placement_fixture.h"
#include "tests/support/bounded.h"

extern "C" size_t fr_staging_limit_bytes(void); // runtime/device/staging.h, which is C

namespace
{

class Room : public PlacementTest
{
  protected:
    static constexpr size_t lanes = 250, row_bytes = lanes * sizeof(double);

    // What takes its time at the size of the library that users have is run there once.
    static std::vector<uint32_t> Workers()
    {
        return fr_staging_limit_bytes() > 1 << 20 ? std::vector<uint32_t>{2}
                                                  : std::vector<uint32_t>{0, 2};
    }

    // Rows of the host, of so many bytes, each of the value. They may be changed when it is done.
    static ovstage_enqueue_result_t WriteBytes(const client::Stage &stage, const char *attribute,
                                               uint64_t ordinal, std::vector<double> &values,
                                               const ovstage_placement_t &placement)
    {
        size_t rows = values.size() / lanes;
        int64_t shape[] = {static_cast<int64_t>(rows), static_cast<int64_t>(lanes)};
        DLTensor tensor{values.data(), {kDLCPU, 0}, 2, {kDLFloat, 64, 1}, shape, nullptr, 0};
        ovstage_write_data_t data = {};
        data.tensors = &tensor;
        data.tensor_count = 1;
        return ovstage_write_attribute_on_device(
            stage.instance, stage.query(rows), ovx_string_or_token_t{stage.token(attribute), {}},
            ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, &placement);
    }

    static std::vector<double> Values(size_t size_bytes, double value)
    {
        return std::vector<double>(size_bytes / row_bytes * lanes, value);
    }

    static void ExpectValues(const client::Stage &stage, ovstage_read_handle_t read,
                             const std::vector<double> &values, uint64_t timeout)
    {
        ovstage_read_group_t group = {};
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, timeout, &group), OVSTAGE_OK)
            << client::last_error();
        const DLTensor &shown = group.data.tensors[0];
        EXPECT_EQ(shown.device.device_type, kDLCPU);
        EXPECT_EQ(std::memcmp(shown.data, values.data(), values.size() * sizeof(double)), 0);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
    }

    static ovstage_read_handle_t StartRead(const client::Stage &stage, const char *attribute,
                                           size_t rows, uint64_t ordinal)
    {
        ovstage_read_handle_t read = 0;
        stage.finish(
            Read(stage, stage.query(rows), stage.token(attribute), ordinal, nullptr, &read));
        return read;
    }

    // A stalled stream of the client's, into which rows of the host go that take all there is; and
    // one row that then has to wait.
    struct Full {
        fr_cu_stream stalled;
        std::vector<double> large, one;
        std::vector<ovstage_enqueue_result_t> writes;
        ovstage_enqueue_result_t parked;
    };
    Full Fill(const client::Stage &stage)
    {
        Full full = {};
        full.stalled = Stream("a client's");
        full.large = Values(fr_staging_limit_bytes() / 2, 7);
        full.one = Values(row_bytes, 8);
        fr_cu_device_ptr data = Memory(sizeof(float), "the client's own");
        fr_sim_hold(full.stalled, true);
        Produce(full.stalled, data, 1, 1);
        for (uint64_t k = 0; k < 2; k++) {
            ovstage_placement_t placement = Place(full.stalled, Event());
            full.writes.push_back(
                WriteBytes(stage, k ? "second" : "first", 2 + k, full.large, placement));
            stage.finish(full.writes.back());
        }
        ovstage_placement_t placement = Place(full.stalled, Event());
        full.parked = WriteBytes(stage, "parked", 4, full.one, placement);
        EXPECT_FALSE(IsDone(stage, full.parked));
        return full;
    }
};

TEST_P(Room, IsWaitedFor)
{
    if (GetParam().mode != FR_SIM_LAZY)
        return; // what is taken is the same in each order
    for (uint32_t workers : Workers()) {
        client::Stage stage(workers);
        Full full = Fill(stage);
        // What goes into streams of the stage's own, and waits for nobody, has room of its own.
        client::bounded("what is not stalled", [&] {
            std::vector<double> others = Values(3 * row_bytes, 9);
            ovstage_placement_t own = Place(nullptr, nullptr);
            stage.finish(WriteBytes(stage, "other", 1, others, own));
            stage.finish(stage.seal(1));
            ExpectValues(stage, StartRead(stage, "other", 3, 1), others, client::forever);
        });
        // Nor does what takes none wait for it.
        fr_cu_device_ptr source = Memory(3 * sizeof(float), "source");
        fr_cu_stream producer = Stream("producer");
        Produce(producer, source, 3, 1);
        FR_SIM_OK(cu->cuStreamSynchronize(producer));
        ovstage_placement_t idle = Place(Stream("another of the client's"), Event());
        client::bounded("rows of a device", [&] {
            stage.finish(Write(stage, stage.query(3), stage.token("of a device"), 9, source, 3,
                               {0, 0}, &idle));
        });
        EXPECT_FALSE(IsDone(stage, full.parked));
        char text[512] = "";
        size_t bytes = 0;
        if (workers == 0) {
            EXPECT_EQ(
                flyrail_explain(stage.instance, full.parked.op_index, text, sizeof(text), &bytes),
                OVSTAGE_OK);
            EXPECT_NE(std::string(text).find("pinned memory"), std::string::npos) << text;
        }
        fr_sim_hold(full.stalled, false);
        stage.finish(full.parked);
        stage.finish(stage.seal(4));
        ExpectValues(stage, StartRead(stage, "parked", 1, 4), full.one, client::forever);
        ExpectValues(stage, StartRead(stage, "second", full.large.size() / lanes, 4), full.large,
                     client::forever);
    }
}

// Destroying ends those that wait for it.
TEST_P(Room, IsWaitedForUntilTheInstanceEnds)
{
    if (GetParam().mode != FR_SIM_LAZY)
        return; // what is taken is the same in each order
    for (uint32_t workers : Workers()) {
        client::Stage stage(workers);
        Full full = Fill(stage);
        std::thread ends([&] { fr_sim_hold(full.stalled, false); });
        stage.destroy();
        ends.join();
    }
}

// What is read on the host has none as soon as it is there, whoever fetches it, and when.
TEST_P(Room, ReadsThatNobodyFetchesHaveNone)
{
    if (GetParam().mode != FR_SIM_LAZY)
        return; // what is taken is the same in each order
    const size_t parts = 8;
    for (uint32_t workers : Workers()) {
        client::Stage stage(workers);
        std::vector<double> values = Values(fr_staging_limit_bytes() / parts, 7);
        ovstage_placement_t own = Place(nullptr, nullptr);
        stage.finish(WriteBytes(stage, "values", 1, values, own));
        stage.finish(stage.seal(1));
        std::vector<ovstage_read_handle_t> reads;
        uint64_t pinned = fr_sim_calls("cuMemHostAlloc");
        client::bounded("reads that nobody fetches", [&] {
            for (size_t k = 0; k < parts + 2; k++)
                reads.push_back(StartRead(stage, "values", values.size() / lanes, 1));
        });
        EXPECT_LE(fr_sim_calls("cuMemHostAlloc"), pinned + 2); // the same again and again
        std::vector<ovstage_read_group_t> kept(reads.size());
        for (size_t k = 0; k < reads.size(); k++) {
            ASSERT_EQ(ovstage_fetch_read_next(stage.instance, reads[k], 0, &kept[k]), OVSTAGE_OK);
            EXPECT_EQ(std::memcmp(kept[k].data.tensors[0].data, values.data(),
                                  values.size() * sizeof(double)),
                      0);
        }
        ExpectValues(stage, StartRead(stage, "values", values.size() / lanes, 1), values, 0);
        for (size_t k = 0; k < reads.size(); k++) {
            EXPECT_EQ(ovstage_release_group(stage.instance, &kept[k]), OVSTAGE_OK);
            stage.finish(ovstage_release_read(stage.instance, reads[k]));
        }
    }
}

// Nor does what nobody runs: without workers a wait runs what it waits for, and nothing else.
TEST_P(Room, ReadsThatNobodyRunsHaveNone)
{
    if (GetParam().mode != FR_SIM_LAZY || fr_staging_limit_bytes() > 1 << 20)
        return; // what is taken is the same in each order, and of any size
    const size_t parts = 2;
    client::Stage stage(0);
    std::vector<double> values = Values(fr_staging_limit_bytes() / parts, 7);
    std::vector<double> one = Values(row_bytes, 8);
    ovstage_placement_t own = Place(nullptr, nullptr);
    stage.finish(WriteBytes(stage, "values", 1, values, own));
    stage.finish(stage.seal(1));
    ovstage_query_handle_t query = stage.query(values.size() / lanes);
    std::vector<ovstage_enqueue_result_t> sent(parts + 1);
    std::vector<ovstage_read_handle_t> reads(sent.size());
    for (size_t k = 0; k < sent.size(); k++)
        sent[k] = Read(stage, query, stage.token("values"), 1, nullptr, &reads[k]);
    client::bounded("a write beside them",
                    [&] { stage.finish(WriteBytes(stage, "other", 2, one, own)); });
    for (size_t k = 0; k < sent.size(); k++) {
        stage.finish(sent[k]);
        ExpectValues(stage, reads[k], values, 0);
    }
}

// A read of what lies on two devices, one of which is stalled, holds up nobody on the other.
TEST_P(Room, OfOneDeviceDoesNotWaitForAnother)
{
    if (GetParam().mode != FR_SIM_LAZY || fr_staging_limit_bytes() > 1 << 20)
        return; // what is taken is the same in each order, and of any size
    const size_t parts = 8;
    for (uint32_t workers : Workers()) {
        client::Stage stage(workers);
        std::vector<double> values = Values(fr_staging_limit_bytes() / parts, 7);
        std::vector<double> late = Values(row_bytes, 9);
        ovstage_placement_t own = Place(nullptr, nullptr);
        MakeCurrent(1);
        fr_cu_stream stalled = Stream("a client's");
        fr_cu_device_ptr data = Memory(sizeof(float), "the client's own");
        fr_sim_hold(stalled, true);
        Produce(stalled, data, 1, 1);
        ovstage_placement_t there = Place(stalled, Event(), 1);
        MakeCurrent(0);
        stage.finish(WriteBytes(stage, "late", 1, late, there));
        stage.finish(WriteBytes(stage, "values", 1, values, own));
        stage.finish(stage.seal(1));
        ovstage_query_handle_t query = stage.query(values.size() / lanes);
        const ovx_token_t both[] = {stage.token("late"), stage.token("values")};
        std::vector<ovstage_enqueue_result_t> sent(parts + 1);
        std::vector<ovstage_read_handle_t> reads(sent.size());
        for (size_t k = 0; k < sent.size(); k++) {
            sent[k] =
                ovstage_read_attributes(stage.instance, query, both, 2, {0, 1, false}, &reads[k]);
            EXPECT_FALSE(IsDone(stage, sent[k]));
        }
        client::bounded("a write and a read on the other device", [&] {
            stage.finish(WriteBytes(stage, "other", 2, late, own));
            ExpectValues(stage, StartRead(stage, "values", values.size() / lanes, 1), values, 0);
        });
        fr_sim_hold(stalled, false);
        for (size_t k = 0; k < sent.size(); k++) {
            stage.finish(sent[k]);
            stage.finish(ovstage_release_read(stage.instance, reads[k]));
        }
    }
}

PLACEMENT_ORDERS(Room);

} // namespace
