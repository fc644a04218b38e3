// Events, streams and the order that CUDA gives to work, rule by rule.
#include "tests/sim/sim_fixture.h"

namespace
{

class SimOrder : public Sim
{
};

// Section: an event is a snapshot.

TEST_F(SimOrder, WaitTakesTheRecordAtTheTimeOfTheCall)
{
    fr_cu_stream a = Stream("a"), b = Stream("b"), c = Stream("c");
    fr_cu_event event = Event();
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 7, 64, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    FR_SIM_OK(cu->cuStreamWaitEvent(c, event, 0));
    FR_SIM_OK(cu->cuEventRecord(event, b)); // the wait above is as it was
    char out[64] = {};
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(out, memory, 64, c));
    FR_SIM_OK(cu->cuStreamSynchronize(c));
    EXPECT_EQ(out[0], 7);
    EXPECT_EQ(out[63], 7);
}

TEST_F(SimOrder, WaitAfterASecondRecordMissesTheFirst)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream("a"), b = Stream("b"), c = Stream("c");
    fr_cu_event event = Event();
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 7, 64, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    FR_SIM_OK(cu->cuEventRecord(event, b));
    FR_SIM_OK(cu->cuStreamWaitEvent(c, event, 0)); // too late: it waits for b
    char out[64] = {};
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(out, memory, 64, c));
    FR_SIM_OK(cu->cuStreamSynchronize(c));
    EXPECT_NE(out[0], 7);
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_EQ(Count(FR_SIM_RACE), 1u) << SimReports();
    EXPECT_NE(SimReports().find("stream 'a'"), std::string::npos) << SimReports();
    EXPECT_NE(SimReports().find("stream 'c'"), std::string::npos) << SimReports();
}

TEST_F(SimOrder, WorkAfterTheRecordIsNotWaitedFor)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_event event = Event();
    fr_cu_device_ptr memory = Memory(128);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    FR_SIM_OK(cu->cuMemsetD8Async(memory + 64, 2, 64, a));
    FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 3, 64, b));
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 4, 128, b)); // the host has waited for all
    FR_SIM_OK(cu->cuMemsetD8Async(memory + 64, 5, 1, a));
    EXPECT_TRUE(fr_sim_drain());
    ExpectReports(1, FR_SIM_RACE, "byte 64");
}

TEST_F(SimOrder, NeverRecordedEventIsDoneAndOrdersNothing)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    fr_cu_event event = Event();
    EXPECT_EQ(cu->cuEventQuery(event), 0u);
    EXPECT_EQ(cu->cuEventSynchronize(event), 0u);
    EXPECT_EQ(cu->cuStreamWaitEvent(a, event, 0), 0u);
    ExpectReports(1, FR_SIM_NEVER_RECORDED);
}

TEST_F(SimOrder, NullEventIsAnInvalidHandle)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    EXPECT_EQ(cu->cuStreamWaitEvent(a, nullptr, 0), (fr_cu_result)FR_CU_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cu->cuEventRecord(nullptr, a), (fr_cu_result)FR_CU_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cu->cuEventQuery(nullptr), (fr_cu_result)FR_CU_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cu->cuEventDestroy(nullptr), (fr_cu_result)FR_CU_ERROR_INVALID_HANDLE);
    ExpectReports(4, FR_SIM_BAD_HANDLE, "NULL");
}

TEST_F(SimOrder, RecordNeedsTheSameContextAndWaitDoesNot)
{
    reports_are_meant = true;
    fr_cu_event event = Event();
    fr_cu_stream here = Stream();
    Use(1);
    fr_cu_stream there = Stream();
    EXPECT_EQ(cu->cuEventRecord(event, there), (fr_cu_result)FR_CU_ERROR_INVALID_HANDLE);
    ExpectReports(1, FR_SIM_BAD_HANDLE, "device 1");
    EXPECT_EQ(cu->cuEventRecord(event, here), 0u);
    EXPECT_EQ(cu->cuStreamWaitEvent(there, event, 0), 0u);
    EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
}

TEST_F(SimOrder, EventDestroyedWhilePendingStillOrders)
{
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_event event = Event();
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 7, 64, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
    FR_SIM_OK(cu->cuEventDestroy(event));
    char out[64] = {};
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(out, memory, 64, b));
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    EXPECT_EQ(out[5], 7);
}

TEST_F(SimOrder, StreamDestroyedWhilePendingStillRuns)
{
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_event event = Event();
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 7, 64, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    FR_SIM_OK(cu->cuStreamDestroy(a));
    FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    EXPECT_EQ(Peek<uint8_t>(memory), 7);
    FR_SIM_OK(cu->cuEventSynchronize(event));
}

TEST_F(SimOrder, WorkOfADestroyedStreamIsWaitedForByTheContext)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 7, 64, a));
    FR_SIM_OK(cu->cuStreamDestroy(a));
    FR_SIM_OK(cu->cuCtxSynchronize());
    fr_cu_stream b = Stream();
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 8, 64, b)); // no report: the host waited for a
    FR_SIM_OK(cu->cuStreamSynchronize(b));
}

// Section: what the host has waited for is before what it makes next.

TEST_F(SimOrder, QueryThatAnsweredYesOrders)
{
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_event event = Event();
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 7, 64, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    uint32_t early = 0;
    while (cu->cuEventQuery(event) == FR_CU_ERROR_NOT_READY)
        ASSERT_LT(++early, 100u);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 8, 64, b));
}

TEST_F(SimOrder, QueriesAnswerNotReadySometimes)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Memory(64);
    uint32_t early = 0, rounds = 64;
    for (uint32_t i = 0; i < rounds; i++) {
        FR_SIM_OK(cu->cuMemsetD8Async(memory, 7, 64, a));
        while (cu->cuStreamQuery(a) == FR_CU_ERROR_NOT_READY)
            ASSERT_LT(++early, 1000u);
    }
    EXPECT_GT(early, rounds / 4);
}

// Section: default streams.

TEST_F(SimOrder, LegacyStreamWaitsForBlockingStreamsAndTheyForIt)
{
    fr_cu_stream a = Stream("a", FR_CU_STREAM_DEFAULT), b = Stream("b", FR_CU_STREAM_DEFAULT);
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 64, nullptr));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 3, 64, b));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 4, 64, FR_CU_STREAM_LEGACY));
    FR_SIM_OK(cu->cuStreamSynchronize(nullptr));
    EXPECT_EQ(Peek<uint8_t>(memory), 4);
}

TEST_F(SimOrder, NonBlockingStreamsTakeNoPartInThat)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream("a");
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, nullptr));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 64, a));
    EXPECT_TRUE(fr_sim_drain());
    ExpectReports(1, FR_SIM_RACE, "the legacy stream");
}

TEST_F(SimOrder, TheLegacyStreamOfAnotherDeviceIsAnother)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream("a", FR_CU_STREAM_DEFAULT);
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    Use(1);
    // To pinned memory: a copy that the call waits for would be an order.
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(Pinned(64), memory, 64, nullptr));
    EXPECT_TRUE(fr_sim_drain());
    ExpectReports(1, FR_SIM_RACE, "the legacy stream of device 1");
}

TEST_F(SimOrder, BlockingStreamsDoNotWaitForEachOther)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream("a", FR_CU_STREAM_DEFAULT), b = Stream("b", FR_CU_STREAM_DEFAULT);
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 64, b));
    EXPECT_TRUE(fr_sim_drain());
    ExpectReports(1, FR_SIM_RACE, "stream 'b'");
}

TEST_F(SimOrder, PerThreadStreamIsOfTheThreadAndBlocking)
{
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, FR_CU_STREAM_PER_THREAD));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 64, FR_CU_STREAM_PER_THREAD));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 3, 64, FR_CU_STREAM_LEGACY));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 4, 64, FR_CU_STREAM_PER_THREAD));
    FR_SIM_OK(cu->cuStreamSynchronize(FR_CU_STREAM_PER_THREAD));
    EXPECT_EQ(Peek<uint8_t>(memory), 4);
    unsigned int flags = 9;
    FR_SIM_OK(cu->cuStreamGetFlags(FR_CU_STREAM_PER_THREAD, &flags));
    EXPECT_EQ(flags, 0u);
}

TEST_F(SimOrder, TheLegacyStreamIsDoneWhenTheBlockingStreamsAre)
{
    fr_cu_stream a = Stream("a", FR_CU_STREAM_DEFAULT);
    fr_cu_device_ptr memory = Memory(64);
    fr_sim_hold(a, true);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    for (int i = 0; i < 10; i++)
        EXPECT_EQ(cu->cuStreamQuery(nullptr), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    fr_sim_hold(a, false);
    FR_SIM_OK(cu->cuStreamSynchronize(nullptr));
    EXPECT_EQ(cu->cuStreamQuery(nullptr), 0u);
    EXPECT_EQ(Peek<uint8_t>(memory), 1);
}

TEST_F(SimOrder, ADestroyedBlockingStreamIsBeforeLaterLegacyWork)
{
    fr_cu_stream a = Stream("a", FR_CU_STREAM_DEFAULT);
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    fr_cu_event event = Event();
    FR_SIM_OK(cu->cuEventRecord(event, a));
    FR_SIM_OK(cu->cuStreamDestroy(a));
    fr_cu_stream b = Stream();
    FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
    FR_SIM_OK(cu->cuStreamSynchronize(b)); // a has run, and is gone
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 64, nullptr));
    FR_SIM_OK(cu->cuStreamSynchronize(nullptr));
    EXPECT_EQ(Peek<uint8_t>(memory), 2);
}

// Section: modes.

TEST_F(SimOrder, LazyRunsOnlyWhatIsNeeded)
{
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_device_ptr memory = Memory(128);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuMemsetD8Async(memory + 64, 2, 64, b));
    EXPECT_EQ(fr_sim_operations_run(), 0u);
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    EXPECT_EQ(fr_sim_operations_run(), 1u);
    EXPECT_EQ(Peek<uint8_t>(memory), 0xcd);
    EXPECT_EQ(Peek<uint8_t>(memory + 64), 2);
}

TEST_F(SimOrder, EagerRunsBeforeTheCallReturns)
{
    options.mode = FR_SIM_EAGER;
    Open();
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, Stream()));
    EXPECT_EQ(Peek<uint8_t>(memory), 1);
}

// What ran when, as the number of operations that had run after each call.
std::vector<uint64_t> Trail(const fr_cuda_driver *cu, uint64_t seed)
{
    fr_sim_options options = fr_sim_default_options();
    options.mode = FR_SIM_RANDOM;
    options.seed = seed;
    fr_sim_open(&options);
    fr_cu_context context = nullptr;
    fr_cu_stream streams[3] = {};
    fr_cu_device_ptr memory[3] = {};
    std::vector<uint64_t> trail;
    trail.push_back(cu->cuInit(0));
    trail.push_back(cu->cuDevicePrimaryCtxRetain(&context, 0));
    trail.push_back(cu->cuCtxSetCurrent(context));
    for (int i = 0; i < 3; i++) {
        trail.push_back(cu->cuStreamCreateWithPriority(&streams[i], 1, 0));
        trail.push_back(cu->cuMemAlloc(&memory[i], 64));
    }
    for (int i = 0; i < 60; i++) {
        trail.push_back(cu->cuMemsetD8Async(memory[i % 3], (unsigned char)i, 64, streams[i % 3]));
        trail.push_back(fr_sim_operations_run());
        trail.push_back(*(const uint8_t *)fr_sim_peek(memory[0], 1));
    }
    return trail;
}

TEST_F(SimOrder, ASeedReplaysARun)
{
    const std::vector<uint64_t> first = Trail(cu, 5), again = Trail(cu, 5), other = Trail(cu, 6);
    EXPECT_EQ(first, again);
    EXPECT_NE(first, other);
}

// Section: what blocks.

TEST_F(SimOrder, AHeldStreamDelaysOnlyItself)
{
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_device_ptr memory = Memory(128);
    fr_sim_hold(a, true);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuMemsetD8Async(memory + 64, 2, 64, b));
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    for (int i = 0; i < 10; i++)
        EXPECT_EQ(cu->cuStreamQuery(a), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    EXPECT_FALSE(fr_sim_drain());
    fr_sim_hold(a, false);
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    EXPECT_EQ(Peek<uint8_t>(memory), 1);
}

TEST_F(SimOrder, ElapsedTimeNeedsTwoTimedAndFinishedRecords)
{
    fr_cu_stream a = Stream();
    fr_cu_event plain = Event(), first = Event(0), last = Event(0);
    float milliseconds = -1;
    const fr_cu_result bad = FR_CU_ERROR_INVALID_HANDLE, early = FR_CU_ERROR_NOT_READY;
    EXPECT_EQ(cu->cuEventElapsedTime(&milliseconds, first, last), bad);
    FR_SIM_OK(cu->cuEventRecord(first, a));
    FR_SIM_OK(cu->cuMemsetD8Async(Memory(64), 1, 64, a));
    FR_SIM_OK(cu->cuEventRecord(last, a));
    FR_SIM_OK(cu->cuEventRecord(plain, a));
    EXPECT_EQ(cu->cuEventElapsedTime(&milliseconds, first, last), early);
    FR_SIM_OK(cu->cuEventSynchronize(last));
    FR_SIM_OK(cu->cuEventElapsedTime(&milliseconds, first, last));
    EXPECT_GT(milliseconds, 0.0f);
    EXPECT_EQ(cu->cuEventElapsedTime(&milliseconds, first, plain), bad);
}

} // namespace
