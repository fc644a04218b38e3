// What the process keeps of a device for the next who opens it: its context, its kernels and the
// page-locked memory that nobody uses.
#include <set>
#include <thread>

#include "tests/cuda/backend_fixture.h"
#include "tests/support/bounded.h"

namespace
{

enum { SIZE = 4096 };

class Kept : public OrderedBackendTest
{
  protected:
    void Close()
    {
        table->leave(&entry);
        entry.device = nullptr;
        table->close(devices[0]);
        devices[0] = nullptr;
    }

    void Reopen()
    {
        BACKEND_OK(table->open(0, &devices[0], &fault));
        BACKEND_OK(table->enter(devices[0], &entry, &fault));
    }

    // Rows go up, through a kernel, and down again.
    void Use()
    {
        fr_device_stream stream = Stream();
        uint64_t memory = Memory(stream, SIZE);
        uint8_t *pinned = Pinned(SIZE);
        std::memset(pinned, 7, SIZE);
        Upload(stream, memory, pinned, SIZE / 2);
        const fr_row_move move = {memory + SIZE / 2, memory, 16, 16, 16, SIZE / 32, 0, 0, 0};
        BACKEND_OK(table->move_rows(stream, &move, &fault));
        Finish(stream);
        std::memset(pinned, 0, SIZE);
        Download(stream, pinned, memory, SIZE);
        Finish(stream);
        EXPECT_EQ(pinned[0], 7);
        EXPECT_EQ(pinned[SIZE - 1], 7);
        table->unpin(devices[0], pinned, SIZE);
        table->release(stream, memory, SIZE);
        table->stream_end(stream);
    }

    static uint64_t Pins()
    {
        return fr_sim_calls("cuMemHostAlloc");
    }
};

TEST_P(Kept, WhatIsUnpinnedIsPinnedAgain)
{
    void *first = Pinned(SIZE), *second = Pinned(SIZE), *less = Pinned(SIZE / 2);
    EXPECT_EQ(table->kept_bytes(devices[0]), 0u);
    for (void *memory : {first, second})
        table->unpin(devices[0], memory, SIZE);
    table->unpin(devices[0], less, SIZE / 2);
    EXPECT_EQ(table->kept_bytes(devices[0]), 2u * SIZE + SIZE / 2);
    const uint64_t pins = Pins();
    EXPECT_EQ((std::set<void *>{Pinned(SIZE), Pinned(SIZE)}), (std::set<void *>{first, second}));
    EXPECT_EQ(Pinned(SIZE / 2), less);
    EXPECT_EQ(Pins(), pins);
    EXPECT_EQ(table->kept_bytes(devices[0]), 0u);
    void *third = Pinned(SIZE), *tiny = Pinned(1);
    EXPECT_EQ(Pins(), pins + 2);
    for (void *memory : {first, second, third})
        table->unpin(devices[0], memory, SIZE);
    table->unpin(devices[0], less, SIZE / 2);
    table->unpin(devices[0], tiny, 1);
    EXPECT_EQ(Pinned(1), tiny);
    table->unpin(devices[0], tiny, 1);
    EXPECT_EQ(fr_sim_calls("cuMemFreeHost"), 0u);
}

// Sizes come and go in every order: no piece is lost, and none is given twice.
TEST_P(Kept, OfEachSizeAsManyAsWereInUseAtOnce)
{
    const size_t sizes[] = {64, 4096, 5120, 6144, 8192, 100000};
    uint64_t random = GetParam().seed, pins = Pins();
    std::vector<std::pair<void *, size_t>> held;
    std::vector<size_t> most(6), now(6);
    for (int i = 0; i < 2000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const size_t pick = (random >> 33) % 6, which = (random >> 40) % 20;
        if (which < held.size()) {
            auto gone = held[which];
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
            now[static_cast<size_t>(std::find(sizes, sizes + 6, gone.second) - sizes)]--;
            std::memset(gone.first, 0xee, gone.second);
            table->unpin(devices[0], gone.first, gone.second);
        }
        void *memory = Pinned(sizes[pick]);
        for (const auto &other : held)
            ASSERT_NE(other.first, memory);
        held.emplace_back(memory, sizes[pick]);
        most[pick] = std::max(most[pick], ++now[pick]);
    }
    for (const auto &gone : held)
        table->unpin(devices[0], gone.first, gone.second);
    uint64_t wanted = 0, wanted_bytes = 0;
    for (size_t k = 0; k < 6; k++) {
        wanted += most[k];
        wanted_bytes += most[k] * sizes[k];
    }
    EXPECT_EQ(Pins() - pins, wanted);
    EXPECT_EQ(table->kept_bytes(devices[0]), wanted_bytes);
}

TEST_P(Kept, WhereTheSystemGivesNoMoreALargerPieceServes)
{
    void *small = Pinned(SIZE), *large = Pinned(4 * SIZE), *larger = Pinned(8 * SIZE);
    table->unpin(devices[0], small, SIZE);
    table->unpin(devices[0], larger, 8 * SIZE);
    table->unpin(devices[0], large, 4 * SIZE);
    void *none = nullptr;
    ASSERT_TRUE(fr_sim_fail_call("cuMemHostAlloc", 1, FR_CU_ERROR_UNKNOWN));
    EXPECT_FALSE(table->pin(devices[0], 2 * SIZE, &none, &fault)); // that is no want of memory
    ExpectFault(FR_DEVICE_FAILED, "cuMemHostAlloc");
    for (uint64_t k = 1; k <= 3; k++)
        ASSERT_TRUE(fr_sim_fail_call("cuMemHostAlloc", k, FR_CU_ERROR_OUT_OF_MEMORY));
    EXPECT_EQ(Pinned(2 * SIZE), large);
    EXPECT_EQ(Pinned(2 * SIZE), larger);
    EXPECT_FALSE(table->pin(devices[0], 2 * SIZE, &none, &fault));
    ExpectFault(FR_DEVICE_MEMORY, "8192");
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(Pinned(SIZE), small);
    table->unpin(devices[0], small, SIZE);
    table->unpin(devices[0], large, 2 * SIZE); // of that size from now on
    table->unpin(devices[0], larger, 2 * SIZE);
    EXPECT_EQ(table->kept_bytes(devices[0]), 5u * SIZE);
}

// With the memory of the pool of the last time given back.
TEST_P(Kept, TheNextToOpenADeviceFindsWhatTheLastOneHad)
{
    Use();
    const uint64_t pins = Pins(), loads = fr_sim_calls("cuModuleLoadDataEx");
    for (int i = 0; i < 3; i++) {
        Close();
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(fr_sim_memory_used(0), 0u);
        Reopen();
        Use();
    }
    EXPECT_EQ(Pins(), pins);
    EXPECT_EQ(fr_sim_calls("cuModuleLoadDataEx"), loads);
    EXPECT_EQ(table->kept_bytes(devices[0]), static_cast<uint64_t>(SIZE));
}

// A stranger's stream stalls.
TEST_P(Kept, UnpinningAndClosingWaitForNobody)
{
    uint8_t *pinned = Pinned(SIZE);
    fr_cu_context own = nullptr;
    fr_cu_stream stalled = nullptr;
    fr_cu_event done = nullptr;
    FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&own, 0));
    FR_SIM_OK(cu->cuStreamCreateWithPriority(&stalled, FR_CU_STREAM_NON_BLOCKING, 0));
    FR_SIM_OK(cu->cuEventCreate(&done, FR_CU_EVENT_DISABLE_TIMING));
    fr_sim_hold(stalled, true);
    FR_SIM_OK(cu->cuEventRecord(done, stalled));
    table->leave(&entry);
    entry.device = nullptr;
    client::bounded("closing", [&] {
        fr_device_entry inside = {};
        BACKEND_OK(table->enter(devices[0], &inside, &fault));
        table->unpin(devices[0], pinned, SIZE);
        table->leave(&inside);
        table->close(devices[0]);
        BACKEND_OK(table->open(0, &devices[0], &fault));
        table->close(devices[0]);
    });
    devices[0] = nullptr;
    fr_sim_hold(stalled, false);
    FR_SIM_OK(cu->cuCtxPushCurrent(own));
    FR_SIM_OK(cu->cuStreamDestroy(stalled));
    FR_SIM_OK(cu->cuEventDestroy(done));
    FR_SIM_OK(cu->cuCtxPopCurrent(&own));
    FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(0));
}

// Between two stages, by a client, who may then use the device again: what was kept is gone.
TEST_P(Kept, AResetDeviceIsStartedAnew)
{
    for (bool is_used_again : {false, true}) {
        Use();
        Close();
        fr_sim_reset_device(0);
        fr_cu_context users = nullptr;
        void *memory = nullptr;
        if (is_used_again) {
            FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&users, 0));
            FR_SIM_OK(cu->cuCtxPushCurrent(users));
            FR_SIM_OK(cu->cuMemHostAlloc(&memory, SIZE, 0));
        }
        const uint64_t loads = fr_sim_calls("cuModuleLoadDataEx");
        Reopen();
        EXPECT_EQ(table->kept_bytes(devices[0]), 0u);
        EXPECT_EQ(fr_sim_calls("cuModuleLoadDataEx"), loads + 1);
        Use();
        if (is_used_again) {
            FR_SIM_OK(cu->cuMemFreeHost(memory));
            Close();
            FR_SIM_OK(cu->cuCtxPopCurrent(&users));
            FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(0));
            Reopen();
            Use();
        }
    }
}

TEST_P(Kept, AFailureToOpenAgainLosesNothing)
{
    void *pinned = Pinned(SIZE);
    table->unpin(devices[0], pinned, SIZE);
    Close();
    const uint64_t loads = fr_sim_calls("cuModuleLoadDataEx");
    for (const char *name :
         {"cuDeviceGet", "cuDeviceTotalMem", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain",
          "cuCtxGetCurrent", "cuCtxPushCurrent", "cuThreadExchangeStreamCaptureMode",
          "cuPointerGetAttributes", "cuMemPoolCreate", "cuMemPoolSetAttribute"}) {
        SCOPED_TRACE(name);
        ASSERT_TRUE(fr_sim_fail_call(name, 1, FR_CU_ERROR_UNKNOWN));
        EXPECT_FALSE(table->open(0, &devices[0], &fault));
        ExpectFault(FR_DEVICE_FAILED, name);
        EXPECT_EQ(devices[0], nullptr);
    }
    Reopen();
    EXPECT_EQ(fr_sim_calls("cuModuleLoadDataEx"), loads);
    EXPECT_EQ(Pinned(SIZE), pinned);
    Use();
    table->unpin(devices[0], pinned, SIZE);
}

TEST_P(Kept, ThreadsPinTogether)
{
    enum { THREADS = 4, TURNS = 50 };
    const uint64_t pins = Pins();
    std::vector<std::thread> threads;
    for (uint8_t t = 0; t < THREADS; t++)
        threads.emplace_back([this, t] {
            for (int i = 0; i < TURNS; i++) {
                fr_device *device = nullptr;
                fr_device_entry inside = {};
                fr_device_fault own = {};
                ASSERT_TRUE(table->open(0, &device, &own)) << own.text;
                ASSERT_TRUE(table->enter(device, &inside, &own)) << own.text;
                void *memory[2] = {};
                for (size_t k = 0; k < 2; k++) {
                    ASSERT_TRUE(table->pin(device, SIZE << k, &memory[k], &own)) << own.text;
                    std::memset(memory[k], t, SIZE);
                }
                for (size_t k = 0; k < 2; k++) {
                    EXPECT_EQ(static_cast<uint8_t *>(memory[k])[SIZE - 1], t);
                    table->unpin(device, memory[k], SIZE << k);
                }
                table->leave(&inside);
                table->close(device);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_LE(Pins() - pins, 2u * THREADS);
    EXPECT_EQ(table->kept_bytes(devices[0]) % SIZE, 0u);
    EXPECT_LE(table->kept_bytes(devices[0]), 3u * THREADS * SIZE);
}

INSTANTIATE_TEST_SUITE_P(Order, Kept, ::testing::ValuesIn(Orders()), OrderName);

} // namespace
