// The end of an instance: it waits for what it was given, and for nobody else; and what the process
// keeps is what the next instance takes.
#include "tests/placement/rows_fixture.h"
#include "tests/support/bounded.h"

namespace
{

class Ends : public RowsTest
{
  protected:
    // Rows of the host to a device, some of them by number, and read on the host.
    void Use(const client::Stage &stage)
    {
        ovstage_query_handle_t all = stage.query(20);
        Rows rows = {{20}, {}, 0}, some = {{4}, {}, 50};
        rows.from_host = some.from_host = true;
        rows.with_event = some.with_event = false;
        stage.finish(WriteOnDevice(stage, all, 1, rows, nullptr));
        stage.finish(WriteOnDevice(stage, stage.query(Paths({17, 4, 9, 2})), 1, some, nullptr));
        stage.finish(stage.seal(1));
        std::vector<float> wanted(20);
        for (size_t k = 0; k < wanted.size(); k++)
            wanted[k] = static_cast<float>(k);
        wanted[17] = 50, wanted[4] = 51, wanted[9] = 52, wanted[2] = 53;
        EXPECT_EQ(stage.read(all, OnDevice(stage), 1), wanted);
        stage.finish(ovstage_release_query(stage.instance, all));
    }
};

TEST_P(Ends, DestroyWaitsForNoStranger)
{
    for (uint32_t workers : {0u, 2u}) {
        for (bool is_last : {true, false}) {
            SCOPED_TRACE(std::to_string(workers) + (is_last ? ", the last" : ""));
            client::Stage stage(workers), beside(0u);
            Use(stage);
            if (!is_last)
                Use(beside);
            fr_cu_stream stalled = Stream("a stranger's"), blocking = nullptr;
            FR_SIM_OK(cu->cuStreamCreateWithPriority(&blocking, FR_CU_STREAM_DEFAULT, 0));
            for (fr_cu_stream stream : {stalled, blocking}) {
                fr_sim_hold(stream, true);
                Produce(stream, Memory(sizeof(float), "a stranger's"), 1, 1);
            }
            client::bounded("destroying an instance", [&] { stage.destroy(); });
            client::bounded("making the next", [&] {
                client::Stage next(workers);
                Use(next);
            });
            fr_sim_hold(stalled, false);
            FR_SIM_OK(cu->cuStreamSynchronize(stalled));
            fr_sim_hold(blocking, false);
            FR_SIM_OK(cu->cuStreamSynchronize(blocking));
            FR_SIM_OK(cu->cuStreamDestroy(blocking));
        }
    }
}

// However many there were, one after the other: that is no leak.
TEST_P(Ends, TheNextInstanceTakesWhatTheLastOneHad)
{
    if (GetParam().mode != FR_SIM_LAZY)
        return; // what is pinned is the same in each order
    for (uint32_t workers : {0u, 2u}) {
        uint64_t pinned = 0, alive = 0;
        for (int i = 0; i < 6; i++) {
            {
                client::Stage stage(workers);
                Use(stage);
            }
            EXPECT_TRUE(fr_sim_drain());
            pinned = i < 2 ? fr_sim_calls("cuMemHostAlloc") : pinned;
            alive = i < 2 ? fr_sim_check_leaks(false) : alive;
        }
        EXPECT_EQ(fr_sim_calls("cuMemHostAlloc"), pinned);
        EXPECT_EQ(fr_sim_check_leaks(false), alive);
        EXPECT_EQ(fr_sim_calls("cuMemFreeHost"), 0u);
        EXPECT_EQ(fr_sim_memory_used(0), 0u);
    }
}

// In the instance that has it, or, when that has ended, in all that have the device open.
TEST_P(Ends, PinnedMemoryIsCounted)
{
    if (GetParam().mode != FR_SIM_LAZY)
        return; // as above
    client::Stage stage(0u), other(0u);
    uint64_t pinned = 0;
    EXPECT_EQ(stage.statistics().pinned_bytes, 0u);
    Use(stage);
    pinned = stage.statistics().pinned_bytes;
    EXPECT_GE(pinned, 20 * sizeof(float));
    EXPECT_EQ(stage.statistics().pinned_kept_bytes, 0u);
    Use(other);
    EXPECT_EQ(other.statistics().pinned_bytes, pinned);
    EXPECT_EQ(stage.statistics().pinned_bytes, pinned);
    stage.destroy();
    EXPECT_EQ(other.statistics().pinned_kept_bytes, pinned);
    client::Stage next(0u);
    EXPECT_EQ(next.statistics().pinned_kept_bytes, 0u); // it has opened none
    Use(next);
    EXPECT_EQ(next.statistics().pinned_bytes, pinned);
    EXPECT_EQ(next.statistics().pinned_kept_bytes, 0u);
    EXPECT_EQ(other.statistics().pinned_kept_bytes, 0u);
}

PLACEMENT_ORDERS(Ends);

} // namespace
