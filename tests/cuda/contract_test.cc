// What CUDA itself promises of devices, contexts, events and streams, and the library builds on.
// Calls go through the table only, and nothing here knows the simulated driver: with
// FR_CUDA_LIBRARY=libcuda.so.1 the same program asks the driver of this machine. A difference is a
// fault of the simulator.
#include "tests/cuda/contract_fixture.h"

namespace
{

// Section: the driver and its devices.

TEST_F(Contract, InitTakesNoFlagsAndMayBeRepeated)
{
    EXPECT_EQ(cu->cuInit(1), bad_value);
    EXPECT_EQ(cu->cuInit(0), 0u);
}

TEST_F(Contract, DevicesAreNumberedFromZero)
{
    fr_cu_device device = -1;
    char name[128] = "";
    int major = 0, pools = 0;
    size_t size_bytes = 0;
    const fr_cu_result bad_device = FR_CU_ERROR_INVALID_DEVICE;
    OK(cu->cuDeviceGet(&device, 0));
    EXPECT_EQ(cu->cuDeviceGet(&device, library.device_count), bad_device);
    EXPECT_EQ(cu->cuDeviceGet(&device, -1), bad_device);
    OK(cu->cuDeviceGetName(name, sizeof name, 0));
    EXPECT_GT(std::strlen(name), 0u);
    OK(cu->cuDeviceGetAttribute(&major, FR_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    EXPECT_GE(major, 7);
    OK(cu->cuDeviceGetAttribute(&pools, FR_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
    EXPECT_EQ(pools, 1);
    OK(cu->cuDeviceTotalMem(&size_bytes, 0));
    EXPECT_GT(size_bytes, 1u << 20);
}

TEST_F(Contract, ResultsHaveNames)
{
    const char *name = nullptr;
    OK(cu->cuGetErrorName(FR_CU_ERROR_ILLEGAL_ADDRESS, &name));
    EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    EXPECT_EQ(cu->cuGetErrorName(123456, &name), bad_value);
}

// Section: contexts.

TEST_F(Contract, APrimaryContextIsOneForTheDeviceAndNotPushed)
{
    fr_cu_context again = nullptr, current = context;
    unsigned int flags = 0;
    int active = 0;
    OK(cu->cuDevicePrimaryCtxRetain(&again, 0));
    EXPECT_EQ(again, context);
    OK(cu->cuDevicePrimaryCtxRelease(0));
    OK(cu->cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 1);
    std::thread([&] { EXPECT_EQ(cu->cuCtxGetCurrent(&current), 0u); }).join();
    EXPECT_EQ(current, nullptr) << "of another thread";
}

TEST_F(Contract, PushAndPopAreBalanced)
{
    fr_cu_context current = nullptr, popped = nullptr;
    OK(cu->cuCtxPushCurrent(context));
    OK(cu->cuCtxPopCurrent(&popped));
    EXPECT_EQ(popped, context);
    OK(cu->cuCtxGetCurrent(&current));
    EXPECT_EQ(current, context);
}

TEST_F(Contract, CallsNeedACurrentContext)
{
    fr_cu_result result = 0;
    std::thread([&] {
        fr_cu_stream stream = nullptr;
        result = cu->cuStreamCreateWithPriority(&stream, FR_CU_STREAM_NON_BLOCKING, 0);
    }).join();
    EXPECT_EQ(result, (fr_cu_result)FR_CU_ERROR_INVALID_CONTEXT);
}

// Section: events.

TEST_F(Contract, AnEventWithoutARecordIsDone)
{
    fr_cu_event event = Event();
    EXPECT_EQ(cu->cuEventQuery(event), 0u);
    EXPECT_EQ(cu->cuEventSynchronize(event), 0u);
    EXPECT_EQ(cu->cuStreamWaitEvent(Stream(), event, 0), 0u);
}

TEST_F(Contract, NullIsNoEvent)
{
    EXPECT_EQ(cu->cuStreamWaitEvent(Stream(), nullptr, 0), bad_handle);
    EXPECT_EQ(cu->cuEventRecord(nullptr, Stream()), bad_handle);
}

TEST_F(Contract, AnEventIsNotReadyBeforeItsWork)
{
    fr_cu_stream a = Stream();
    fr_cu_event event = Event();
    Gate *gate = Hold(a);
    OK(cu->cuEventRecord(event, a));
    EXPECT_EQ(cu->cuEventQuery(event), not_ready);
    EXPECT_EQ(cu->cuStreamQuery(a), not_ready);
    gate->Open();
    OK(cu->cuEventSynchronize(event));
    EXPECT_EQ(cu->cuEventQuery(event), 0u);
}

TEST_F(Contract, AWaitTakesTheRecordThatTheEventHasThen)
{
    fr_cu_stream a = Stream(), b = Stream(), c = Stream();
    fr_cu_event event = Event();
    fr_cu_device_ptr bytes = Memory(4);
    OK(cu->cuMemsetD8Async(bytes, 1, 4, a));
    OK(cu->cuStreamSynchronize(a));
    Gate *first = Hold(a);
    OK(cu->cuMemsetD8Async(bytes, 7, 4, a));
    OK(cu->cuEventRecord(event, a));
    OK(cu->cuStreamWaitEvent(c, event, 0));
    OK(cu->cuEventRecord(event, b)); // done at once
    EXPECT_EQ(cu->cuEventSynchronize(event), 0u);
    EXPECT_EQ(cu->cuStreamQuery(c), not_ready) << "it waits for the first record";
    first->Open();
    EXPECT_EQ(Byte(bytes, c), 7);
}

TEST_F(Contract, ALaterRecordIsNotWaitedFor)
{
    fr_cu_stream a = Stream(), b = Stream(), c = Stream();
    fr_cu_event event = Event();
    OK(cu->cuEventRecord(event, a));
    OK(cu->cuStreamWaitEvent(c, event, 0));
    Hold(b);
    OK(cu->cuEventRecord(event, b));
    EXPECT_EQ(cu->cuStreamSynchronize(c), 0u);
    EXPECT_EQ(cu->cuEventQuery(event), not_ready);
}

TEST_F(Contract, ADestroyedEventStillOrders)
{
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_event event = nullptr;
    fr_cu_device_ptr bytes = Memory(4);
    OK(cu->cuEventCreate(&event, FR_CU_EVENT_DISABLE_TIMING));
    Gate *gate = Hold(a);
    OK(cu->cuMemsetD8Async(bytes, 7, 4, a));
    OK(cu->cuEventRecord(event, a));
    OK(cu->cuStreamWaitEvent(b, event, 0));
    OK(cu->cuEventDestroy(event)); // does not wait
    EXPECT_EQ(cu->cuStreamQuery(b), not_ready);
    gate->Open();
    EXPECT_EQ(Byte(bytes, b), 7);
}

TEST_F(Contract, ADestroyedStreamStillRuns)
{
    fr_cu_stream a = nullptr;
    fr_cu_event event = Event();
    fr_cu_device_ptr bytes = Memory(4);
    OK(cu->cuStreamCreateWithPriority(&a, FR_CU_STREAM_NON_BLOCKING, 0));
    Gate *gate = Hold(a);
    OK(cu->cuMemsetD8Async(bytes, 7, 4, a));
    OK(cu->cuEventRecord(event, a));
    OK(cu->cuStreamDestroy(a)); // does not wait
    gate->Open();
    OK(cu->cuEventSynchronize(event));
    EXPECT_EQ(Byte(bytes, Stream()), 7);
}

TEST_F(Contract, TimesNeedTwoTimedRecords)
{
    fr_cu_stream a = Stream();
    fr_cu_event plain = Event(), first = Event(0), last = Event(0);
    float milliseconds = -1;
    EXPECT_EQ(cu->cuEventElapsedTime(&milliseconds, first, last), bad_handle);
    OK(cu->cuEventRecord(first, a));
    OK(cu->cuEventRecord(plain, a));
    Gate *gate = Hold(a);
    OK(cu->cuEventRecord(last, a));
    EXPECT_EQ(cu->cuEventElapsedTime(&milliseconds, first, last), not_ready);
    gate->Open();
    OK(cu->cuEventSynchronize(last));
    EXPECT_EQ(cu->cuEventElapsedTime(&milliseconds, first, last), 0u);
    EXPECT_GE(milliseconds, 0.0f);
    EXPECT_EQ(cu->cuEventElapsedTime(&milliseconds, first, plain), bad_handle);
}

TEST_F(Contract, ARecordNeedsTheSameContextAndAWaitDoesNot)
{
    fr_cu_event event = Event();
    fr_cu_stream here = Stream(), there = nullptr;
    OK(cu->cuEventRecord(event, here));
    if (other) {
        OK(cu->cuCtxSetCurrent(other));
        OK(cu->cuStreamCreateWithPriority(&there, FR_CU_STREAM_NON_BLOCKING, 0));
        EXPECT_EQ(cu->cuEventRecord(event, there), bad_handle);
        EXPECT_EQ(cu->cuStreamWaitEvent(there, event, 0), 0u);
        OK(cu->cuStreamSynchronize(there));
        OK(cu->cuStreamDestroy(there));
        OK(cu->cuCtxSetCurrent(context));
    }
    OK(cu->cuEventSynchronize(event));
}

// Section: default streams.

TEST_F(Contract, TheLegacyStreamWaitsForBlockingStreams)
{
    fr_cu_stream blocking = Stream(FR_CU_STREAM_DEFAULT), free = Stream();
    fr_cu_event event = Event(), own = Event();
    Gate *gate = Hold(blocking);
    OK(cu->cuEventRecord(event, FR_CU_STREAM_LEGACY));
    OK(cu->cuEventRecord(own, free));
    EXPECT_EQ(cu->cuEventSynchronize(own), 0u) << "a non-blocking stream goes on";
    EXPECT_EQ(cu->cuEventQuery(event), not_ready);
    gate->Open();
    OK(cu->cuEventSynchronize(event));
}

TEST_F(Contract, BlockingStreamsWaitForTheLegacyStream)
{
    fr_cu_stream blocking = Stream(FR_CU_STREAM_DEFAULT), free = Stream();
    fr_cu_event event = Event(), own = Event();
    Gate *gate = Hold(nullptr); // the same stream
    OK(cu->cuEventRecord(event, blocking));
    OK(cu->cuEventRecord(own, free));
    EXPECT_EQ(cu->cuEventSynchronize(own), 0u) << "a non-blocking stream goes on";
    EXPECT_EQ(cu->cuEventQuery(event), not_ready);
    gate->Open();
    OK(cu->cuEventSynchronize(event));
}

TEST_F(Contract, ThePerThreadStreamIsOfItsThread)
{
    fr_cu_event mine = Event(), theirs = Event();
    Gate *gate = Hold(FR_CU_STREAM_PER_THREAD);
    OK(cu->cuEventRecord(mine, FR_CU_STREAM_PER_THREAD));
    std::thread([&] {
        EXPECT_EQ(cu->cuCtxSetCurrent(context), 0u);
        EXPECT_EQ(cu->cuEventRecord(theirs, FR_CU_STREAM_PER_THREAD), 0u);
        EXPECT_EQ(cu->cuEventSynchronize(theirs), 0u);
    }).join();
    EXPECT_EQ(cu->cuEventQuery(mine), not_ready);
    gate->Open();
    OK(cu->cuEventSynchronize(mine));
}

TEST_F(Contract, FlagsOfStreamsAreKept)
{
    unsigned int flags = 9;
    fr_cu_context of = nullptr;
    OK(cu->cuStreamGetFlags(Stream(), &flags));
    EXPECT_EQ(flags & 1, 1u);
    OK(cu->cuStreamGetFlags(Stream(FR_CU_STREAM_DEFAULT), &flags));
    EXPECT_EQ(flags & 1, 0u);
    OK(cu->cuStreamGetCtx(Stream(), &of));
    EXPECT_EQ(of, context);
    OK(cu->cuStreamGetCtx(FR_CU_STREAM_LEGACY, &of));
    EXPECT_EQ(of, context);
}

} // namespace
