// Capture of graphs elsewhere in the process, rule by rule.
#include <thread>

#include "tests/sim/sim_fixture.h"

namespace
{

const fr_cu_result unsupported = FR_CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
const fr_cu_result invalidated = FR_CU_ERROR_STREAM_CAPTURE_INVALIDATED;

class SimCapture : public Sim
{
  protected:
    fr_cu_stream a = nullptr, b = nullptr;
    fr_cu_graph graph = nullptr;

    void SetUp() override
    {
        Sim::SetUp();
        a = Stream("a");
        b = Stream("b");
    }

    void Begin(fr_cu_capture_mode mode)
    {
        EXPECT_EQ(cu->cuStreamBeginCapture(a, mode), 0u);
    }

    fr_cu_capture_status Status(fr_cu_stream stream)
    {
        fr_cu_capture_status status = 9;
        EXPECT_EQ(cu->cuStreamIsCapturing(stream, &status), 0u);
        return status;
    }

    fr_cu_result OnAnotherThread(fr_cu_capture_mode mode)
    {
        fr_cu_result result = 0;
        std::thread([&] {
            fr_cu_device_ptr memory = 0;
            EXPECT_EQ(cu->cuCtxSetCurrent(contexts[0]), 0u);
            EXPECT_EQ(cu->cuThreadExchangeStreamCaptureMode(&mode), 0u);
            result = cu->cuMemAlloc(&memory, 64);
        }).join();
        return result;
    }
};

TEST_F(SimCapture, CapturedWorkDoesNotRun)
{
    fr_cu_device_ptr memory = Memory(64);
    Begin(FR_CU_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(Status(a), (unsigned)FR_CU_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(Status(b), (unsigned)FR_CU_CAPTURE_STATUS_NONE);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuStreamEndCapture(a, &graph));
    EXPECT_EQ(Status(a), (unsigned)FR_CU_CAPTURE_STATUS_NONE);
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_EQ(Peek<uint8_t>(memory), 0xcd);
    FR_SIM_OK(cu->cuGraphDestroy(graph));
}

TEST_F(SimCapture, GlobalModeForbidsUnsafeCallsOfAllThreads)
{
    Begin(FR_CU_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(OnAnotherThread(FR_CU_CAPTURE_MODE_GLOBAL), unsupported);
    EXPECT_EQ(Status(a), (unsigned)FR_CU_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
}

TEST_F(SimCapture, ThreadsInOtherModesMayCall)
{
    Begin(FR_CU_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(OnAnotherThread(FR_CU_CAPTURE_MODE_RELAXED), 0u);
    EXPECT_EQ(OnAnotherThread(FR_CU_CAPTURE_MODE_THREAD_LOCAL), 0u);
    FR_SIM_OK(cu->cuStreamEndCapture(a, &graph));
}

TEST_F(SimCapture, ThreadLocalModeForbidsItsOwnThreadOnly)
{
    Begin(FR_CU_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT_EQ(OnAnotherThread(FR_CU_CAPTURE_MODE_GLOBAL), 0u);
    fr_cu_device_ptr memory = 0;
    EXPECT_EQ(cu->cuMemAlloc(&memory, 64), unsupported);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
}

TEST_F(SimCapture, QueryOfAnEventIsUnsafeAndOfACapturedOneNeverAllowed)
{
    fr_cu_event event = Event(), captured = Event();
    FR_SIM_OK(cu->cuEventRecord(event, b));
    Begin(FR_CU_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(cu->cuEventQuery(event), unsupported);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
    Begin(FR_CU_CAPTURE_MODE_RELAXED);
    FR_SIM_OK(cu->cuEventRecord(captured, a));
    EXPECT_EQ(cu->cuEventQuery(captured), (fr_cu_result)FR_CU_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
}

TEST_F(SimCapture, AWaitForACapturedEventDrawsTheStreamIn)
{
    fr_cu_event event = Event();
    fr_cu_device_ptr memory = Memory(64);
    Begin(FR_CU_CAPTURE_MODE_RELAXED);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
    EXPECT_EQ(Status(b), (unsigned)FR_CU_CAPTURE_STATUS_ACTIVE);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, b));
    EXPECT_EQ(cu->cuStreamEndCapture(b, &graph),
              (fr_cu_result)FR_CU_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
    EXPECT_EQ(Status(b), (unsigned)FR_CU_CAPTURE_STATUS_NONE);
}

TEST_F(SimCapture, StreamsThatWereDrawnInMustComeBack)
{
    for (bool back : {false, true}) {
        fr_cu_event out = Event(), home = Event();
        fr_cu_device_ptr memory = Memory(64);
        Begin(FR_CU_CAPTURE_MODE_RELAXED);
        FR_SIM_OK(cu->cuEventRecord(out, a));
        FR_SIM_OK(cu->cuStreamWaitEvent(b, out, 0));
        FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, b));
        FR_SIM_OK(cu->cuEventRecord(home, b));
        EXPECT_EQ(back ? cu->cuStreamWaitEvent(a, home, 0) : 0, 0u);
        EXPECT_EQ(cu->cuStreamEndCapture(a, &graph),
                  back ? 0u : (fr_cu_result)FR_CU_ERROR_STREAM_CAPTURE_UNJOINED);
    }
}

TEST_F(SimCapture, WorkOutsideCannotBeWaitedForInside)
{
    fr_cu_event event = Event();
    FR_SIM_OK(cu->cuEventRecord(event, b));
    Begin(FR_CU_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(cu->cuStreamWaitEvent(a, event, 0),
              (fr_cu_result)FR_CU_ERROR_STREAM_CAPTURE_ISOLATION);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
}

TEST_F(SimCapture, TwoCapturesDoNotMerge)
{
    fr_cu_event event = Event();
    Begin(FR_CU_CAPTURE_MODE_RELAXED);
    FR_SIM_OK(cu->cuStreamBeginCapture(b, FR_CU_CAPTURE_MODE_RELAXED));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    EXPECT_EQ(cu->cuStreamWaitEvent(b, event, 0), (fr_cu_result)FR_CU_ERROR_STREAM_CAPTURE_MERGE);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
    EXPECT_EQ(cu->cuStreamEndCapture(b, &graph), invalidated);
}

TEST_F(SimCapture, ACapturingStreamCannotBeWaitedFor)
{
    Begin(FR_CU_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(cu->cuStreamSynchronize(a), unsupported);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
    Begin(FR_CU_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(cu->cuStreamQuery(a), unsupported);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
}

TEST_F(SimCapture, TheLegacyStreamCannotBeUsedBesideABlockingOneThatCaptures)
{
    const fr_cu_result implicit = FR_CU_ERROR_STREAM_CAPTURE_IMPLICIT;
    fr_cu_device_ptr memory = Memory(64);
    Begin(FR_CU_CAPTURE_MODE_RELAXED); // not blocking
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, nullptr));
    FR_SIM_OK(cu->cuStreamEndCapture(a, &graph));
    a = Stream("a", FR_CU_STREAM_DEFAULT);
    Begin(FR_CU_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(cu->cuMemsetD8Async(memory, 1, 64, nullptr), implicit);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph), invalidated);
    EXPECT_EQ(cu->cuStreamBeginCapture(nullptr, FR_CU_CAPTURE_MODE_RELAXED), unsupported);
}

TEST_F(SimCapture, TheThreadThatBeganEndsIt)
{
    fr_cu_result result = 0;
    Begin(FR_CU_CAPTURE_MODE_GLOBAL);
    std::thread([&] {
        EXPECT_EQ(cu->cuCtxSetCurrent(contexts[0]), 0u);
        result = cu->cuStreamEndCapture(a, &graph);
    }).join();
    EXPECT_EQ(result, (fr_cu_result)FR_CU_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    FR_SIM_OK(cu->cuStreamEndCapture(a, &graph));
}

TEST_F(SimCapture, StreamOrderedMemoryInACaptureIsNotSimulated)
{
    fr_cu_device_ptr memory = 0;
    fr_cu_memory_pool pool = Pool(0, false, false, false);
    Begin(FR_CU_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(cu->cuMemAllocFromPoolAsync(&memory, 64, pool, a),
              (fr_cu_result)FR_CU_ERROR_NOT_SUPPORTED);
    FR_SIM_OK(cu->cuStreamEndCapture(a, &graph));
}

} // namespace
