// Errors: handles, contexts, calls that fail, sticky errors, host functions; kernels and threads.
#include <atomic>
#include <thread>

#include "tests/sim/sim_fixture.h"

namespace
{

const fr_cu_result bad_value = FR_CU_ERROR_INVALID_VALUE;
const fr_cu_result bad_handle = FR_CU_ERROR_INVALID_HANDLE;
const fr_cu_result bad_context = FR_CU_ERROR_INVALID_CONTEXT;
const fr_cu_result illegal = FR_CU_ERROR_ILLEGAL_ADDRESS;

class SimFault : public Sim
{
};

// Section: starting.

TEST_F(SimFault, NothingWorksBeforeInit)
{
    fr_sim_open(&options);
    int count = 0;
    EXPECT_EQ(cu->cuDeviceGetCount(&count), (fr_cu_result)FR_CU_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cu->cuInit(1), bad_value);
    EXPECT_EQ(cu->cuInit(0), 0u);
    EXPECT_EQ(cu->cuDeviceGetCount(&count), 0u);
    EXPECT_EQ(count, 2);
}

TEST_F(SimFault, NoDeviceIsAnAnswerOfInit)
{
    options.device_count = 0;
    fr_sim_open(&options);
    EXPECT_EQ(cu->cuInit(0), (fr_cu_result)FR_CU_ERROR_NO_DEVICE);
}

TEST_F(SimFault, ErrorsHaveNames)
{
    const char *text = nullptr;
    EXPECT_EQ(cu->cuGetErrorName(FR_CU_ERROR_NOT_READY, &text), 0u);
    EXPECT_STREQ(text, "CUDA_ERROR_NOT_READY");
    EXPECT_EQ(cu->cuGetErrorName(12345, &text), bad_value);
}

// Section: contexts.

TEST_F(SimFault, RetainDoesNotPushAndCallsNeedACurrentContext)
{
    reports_are_meant = true;
    fr_sim_open(&options);
    EXPECT_EQ(cu->cuInit(0), 0u);
    fr_cu_context context = nullptr, current = nullptr;
    FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&context, 0));
    FR_SIM_OK(cu->cuCtxGetCurrent(&current));
    EXPECT_EQ(current, nullptr);
    fr_cu_stream stream = nullptr;
    EXPECT_EQ(cu->cuStreamCreateWithPriority(&stream, 1, 0), bad_context);
    ExpectReports(1, FR_SIM_BAD_CALL, "cuStreamCreateWithPriority");
}

TEST_F(SimFault, StacksAreOfTheThread)
{
    FR_SIM_OK(cu->cuCtxPushCurrent(contexts[1]));
    fr_cu_device device = -1;
    FR_SIM_OK(cu->cuCtxGetDevice(&device));
    EXPECT_EQ(device, 1);
    fr_cu_context seen = contexts[0];
    std::thread([&] { cu->cuCtxGetCurrent(&seen); }).join();
    EXPECT_EQ(seen, nullptr);
    FR_SIM_OK(cu->cuCtxPopCurrent(&seen));
    EXPECT_EQ(seen, contexts[1]);
    FR_SIM_OK(cu->cuCtxGetDevice(&device));
    EXPECT_EQ(device, 0);
}

TEST_F(SimFault, TheLastReleaseEndsTheContext)
{
    reports_are_meant = true;
    fr_cu_context again = nullptr;
    unsigned int flags = 0;
    int active = 0;
    FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&again, 0));
    EXPECT_EQ(again, contexts[0]) << "there is one of each device";
    fr_cu_stream stream = Stream();
    fr_cu_event event = Event();
    FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(0));
    FR_SIM_OK(cu->cuStreamSynchronize(stream));
    FR_SIM_OK(cu->cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 1);
    FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(0));
    FR_SIM_OK(cu->cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 0);
    EXPECT_EQ(cu->cuDevicePrimaryCtxRelease(0), bad_context);
    EXPECT_EQ(cu->cuCtxSetCurrent(contexts[0]), bad_context);
    EXPECT_EQ(cu->cuEventDestroy(event), bad_handle);
    EXPECT_GE(Count(FR_SIM_BAD_HANDLE), 2u);
    FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&again, 0));
    EXPECT_NE(again, contexts[0]);
}

// Whoever has retained the context has to release it all the same.
TEST_F(SimFault, AResetTakesAwayWhatIsInTheContext)
{
    reports_are_meant = true;
    fr_cu_context again = nullptr;
    unsigned int flags = 0;
    int active = 1;
    fr_cu_stream stream = Stream();
    Pinned(64);
    Memory(64);
    const uint64_t others = 1; // the context of device 1
    fr_sim_reset_device(0);
    EXPECT_EQ(fr_sim_check_leaks(false), others);
    FR_SIM_OK(cu->cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 0);
    EXPECT_EQ(cu->cuCtxSetCurrent(contexts[0]), bad_context);
    FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&again, 0));
    FR_SIM_OK(cu->cuCtxSetCurrent(again));
    EXPECT_EQ(cu->cuStreamSynchronize(stream), bad_handle);
    FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(0)); // of before
    FR_SIM_OK(cu->cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 1);
    FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(0));
    EXPECT_EQ(cu->cuDevicePrimaryCtxRelease(0), bad_context);
}

TEST_F(SimFault, LeaksAreCounted)
{
    reports_are_meant = true;
    FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(1));
    FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(0));
    EXPECT_EQ(fr_sim_check_leaks(true), 0u) << SimReports();
    Open();
    EXPECT_EQ(fr_sim_check_leaks(false), 2u) << "the contexts";
    Stream();
    Event();
    Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(Memory(64), 1, 1, nullptr));
    EXPECT_EQ(fr_sim_check_leaks(true), 6u);
    EXPECT_GE(Count(FR_SIM_LEAK), 4u);
}

// Section: handles.

TEST_F(SimFault, StaleHandlesAreTold)
{
    reports_are_meant = true;
    fr_cu_stream stream = Stream();
    FR_SIM_OK(cu->cuStreamDestroy(stream));
    Stream(); // may have its place, and is another
    EXPECT_EQ(cu->cuStreamSynchronize(stream), bad_handle);
    ExpectReports(1, FR_SIM_BAD_HANDLE, "stale");
    EXPECT_EQ(cu->cuStreamDestroy(stream), bad_handle);
    ExpectReports(1, FR_SIM_BAD_HANDLE, "stale");
}

TEST_F(SimFault, HandlesOfAnotherKindAreTold)
{
    reports_are_meant = true;
    fr_cu_event event = Event();
    EXPECT_EQ(cu->cuStreamSynchronize((fr_cu_stream)event), bad_handle);
    ExpectReports(1, FR_SIM_BAD_HANDLE, "is no stream, but of the kind: event");
    EXPECT_EQ(cu->cuStreamSynchronize((fr_cu_stream)&event), bad_handle);
    ExpectReports(1, FR_SIM_BAD_HANDLE, "is no stream");
}

TEST_F(SimFault, HandlesOfAnEarlierSimulationAreTold)
{
    reports_are_meant = true;
    fr_cu_stream stream = Stream();
    Open();
    Stream();
    EXPECT_EQ(cu->cuStreamQuery(stream), bad_handle);
    EXPECT_EQ(Count(FR_SIM_BAD_HANDLE), 1u);
}

// Section: calls that fail.

TEST_F(SimFault, TheKthCallFailsOnceAndDoesNothing)
{
    const fr_cu_result none = FR_CU_ERROR_OUT_OF_MEMORY;
    ASSERT_TRUE(fr_sim_fail_call("cuMemAlloc", 2, none));
    EXPECT_FALSE(fr_sim_fail_call("cuNoSuchCall", 1, none));
    EXPECT_TRUE(fr_sim_faults_pending());
    fr_cu_device_ptr a = 0, b = 0, c = 0;
    EXPECT_EQ(cu->cuMemAlloc(&a, 64), 0u);
    EXPECT_EQ(cu->cuMemAlloc(&b, 64), none);
    EXPECT_EQ(b, 0u);
    EXPECT_EQ(cu->cuMemAlloc(&c, 64), 0u);
    EXPECT_FALSE(fr_sim_faults_pending());
}

TEST_F(SimFault, TheKthOfAllCallsFails)
{
    uint64_t before = fr_sim_calls(nullptr);
    ASSERT_TRUE(fr_sim_fail_call(nullptr, 3, FR_CU_ERROR_UNKNOWN));
    fr_cu_device_ptr memory = 0;
    EXPECT_EQ(cu->cuMemAlloc(&memory, 64), 0u);
    EXPECT_EQ(cu->cuMemsetD8Async(memory, 1, 64, nullptr), 0u);
    EXPECT_EQ(cu->cuStreamSynchronize(nullptr), (fr_cu_result)FR_CU_ERROR_UNKNOWN);
    EXPECT_EQ(cu->cuStreamSynchronize(nullptr), 0u);
    EXPECT_EQ(fr_sim_calls(nullptr) - before, 4u);
    EXPECT_EQ(fr_sim_calls("cuStreamSynchronize"), 2u);
}

TEST_F(SimFault, TheLogHasTheLastCalls)
{
    Stream();
    char text[40000];
    EXPECT_LT(fr_sim_log(text, sizeof text), sizeof text);
    EXPECT_NE(std::string(text).find("cuStreamCreateWithPriority 0 CUDA_SUCCESS"),
              std::string::npos)
        << text;
}

// Section: sticky errors.

TEST_F(SimFault, AnErrorOfTheDeviceIsSticky)
{
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_event event = Event();
    fr_cu_device_ptr memory = Memory(64), more = 0;
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    fr_sim_fail_operation(0, 1, FR_CU_ERROR_LAUNCH_FAILED);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 64, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
    const fr_cu_result failed = FR_CU_ERROR_LAUNCH_FAILED;
    EXPECT_EQ(cu->cuStreamSynchronize(a), failed);
    EXPECT_EQ(cu->cuStreamSynchronize(b), failed);
    EXPECT_EQ(cu->cuEventQuery(event), failed);
    EXPECT_EQ(cu->cuMemAlloc(&more, 64), failed);
    EXPECT_EQ(cu->cuMemcpyDtoHAsync(&more, memory, 8, a), failed);
    EXPECT_EQ(Peek<uint8_t>(memory), 1) << "nothing had an effect";
    Use(1);
    EXPECT_EQ(cu->cuMemAlloc(&more, 64), 0u) << "the other device goes on";
}

TEST_F(SimFault, HostFunctionsAreNotCalledAfterAnError)
{
    static bool called;
    called = false;
    fr_cu_stream a = Stream();
    fr_sim_fail_operation(0, 1, FR_CU_ERROR_LAUNCH_FAILED);
    FR_SIM_OK(cu->cuMemsetD8Async(Memory(64), 2, 64, a));
    FR_SIM_OK(cu->cuLaunchHostFunc(
        a, [](void *) { called = true; }, nullptr));
    EXPECT_EQ(cu->cuStreamSynchronize(a), (fr_cu_result)FR_CU_ERROR_LAUNCH_FAILED);
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_FALSE(called);
}

// Section: host functions.

struct Probe {
    const fr_cuda_driver *cu;
    fr_cu_result result;
    std::thread::id thread;
};

TEST_F(SimFault, HostFunctionsMayNotCallTheDriver)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    Probe probe = {cu, 0, {}};
    FR_SIM_OK(cu->cuLaunchHostFunc(
        a,
        [](void *user) {
            Probe *p = static_cast<Probe *>(user);
            fr_cu_device_ptr memory = 0;
            p->result = p->cu->cuMemAlloc(&memory, 8);
            p->thread = std::this_thread::get_id();
        },
        &probe));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    EXPECT_EQ(probe.result, (fr_cu_result)FR_CU_ERROR_NOT_PERMITTED);
    EXPECT_NE(probe.thread, std::this_thread::get_id());
    ExpectReports(1, FR_SIM_BAD_CALL, "host function");
}

TEST_F(SimFault, HostFunctionsRunInOrderAndBlockTheirStreamOnly)
{
    options.mode = FR_SIM_RANDOM;
    for (uint64_t seed : SimSeeds(10)) {
        options.seed = seed;
        Open();
        fr_cu_stream a = Stream(), b = Stream();
        std::vector<int> order;
        for (int i = 0; i < 5; i++)
            FR_SIM_OK(cu->cuLaunchHostFunc(
                i % 2 ? a : b,
                [](void *user) {
                    std::vector<int> *list = static_cast<std::vector<int> *>(user);
                    list->push_back((int)list->size());
                },
                &order));
        FR_SIM_OK(cu->cuStreamSynchronize(a));
        FR_SIM_OK(cu->cuStreamSynchronize(b));
        EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
    }
}

void WaitForFlag(void *user)
{
    std::atomic<bool> *open = static_cast<std::atomic<bool> *>(user);
    while (!open->load())
        std::this_thread::yield();
}

TEST_F(SimFault, AHostFunctionThatWaitsForTheProgramStallsItsStreamOnly)
{
    for (fr_sim_mode mode : {FR_SIM_LAZY, FR_SIM_RANDOM, FR_SIM_EAGER}) {
        options.mode = mode;
        Open();
        fr_cu_stream a = Stream(), b = Stream();
        fr_cu_device_ptr memory = Memory(64), stalled = Memory(64);
        std::atomic<bool> open(false);
        FR_SIM_OK(cu->cuLaunchHostFunc(a, WaitForFlag, &open));
        FR_SIM_OK(cu->cuMemsetD8Async(stalled, 1, 64, a));
        for (int i = 0; i < 300; i++)
            FR_SIM_OK(cu->cuMemsetD8Async(memory, (unsigned char)i, 64, b));
        FR_SIM_OK(cu->cuStreamSynchronize(b));
        EXPECT_EQ(Peek<uint8_t>(memory), (uint8_t)299);
        EXPECT_EQ(Peek<uint8_t>(stalled), 0xcd);
        open = true;
        FR_SIM_OK(cu->cuStreamSynchronize(a));
        EXPECT_EQ(Peek<uint8_t>(stalled), 1);
    }
}

// Section: the end of the process.

using SimFaultDeathTest = SimFault;

TEST_F(SimFaultDeathTest, AProcessEndsThoughAHostFunctionWaits)
{
    static std::atomic<bool> never(false);
    options.mode = FR_SIM_EAGER;
    EXPECT_EXIT(
        {
            Open();
            cu->cuLaunchHostFunc(Stream(), WaitForFlag, &never);
            std::exit(3);
        },
        ::testing::ExitedWithCode(3), "");
}

TEST_F(SimFaultDeathTest, AProgramIsJudgedAtItsEndIfItWantsThat)
{
    EXPECT_EXIT(
        {
            setenv("FR_SIM_SUMMARY", "1", 1);
            fr_cu_device_ptr memory = Memory(64);
            cu->cuMemsetD8Async(memory, 1, 64, Stream("first"));
            cu->cuMemsetD8Async(memory, 2, 64, Stream("second"));
            std::exit(0);
        },
        ::testing::ExitedWithCode(99), "1 reports, seed [0-9]+(.|\n)*RACE");
}

// Section: kernels.

TEST_F(SimFault, ModulesAndFunctionsAreChecked)
{
    fr_cu_module module = nullptr;
    fr_cu_function function = nullptr;
    EXPECT_EQ(cu->cuModuleLoadDataEx(&module, "no image", 0, nullptr, nullptr),
              (fr_cu_result)FR_CU_ERROR_INVALID_IMAGE);
    // No image says how long it is: nothing beyond its end is looked at.
    std::vector<char> shortest = {'/', '/', 0}, none = {0};
    EXPECT_EQ(cu->cuModuleLoadDataEx(&module, none.data(), 0, nullptr, nullptr),
              (fr_cu_result)FR_CU_ERROR_INVALID_IMAGE);
    FR_SIM_OK(cu->cuModuleLoadDataEx(&module, shortest.data(), 0, nullptr, nullptr));
    EXPECT_EQ(cu->cuModuleGetFunction(&function, module, "fr_no_such_kernel"),
              (fr_cu_result)FR_CU_ERROR_NOT_FOUND);
    FR_SIM_OK(cu->cuModuleGetFunction(&function, module, "fr_rows_b16"));
    int threads = 0;
    FR_SIM_OK(
        cu->cuFuncGetAttribute(&threads, FR_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    EXPECT_EQ(threads, 1024);
    FR_SIM_OK(cu->cuModuleUnload(module));
}

TEST_F(SimFault, UnloadingWaitsForAllWorkOfTheDevice)
{
    fr_cu_module module = nullptr;
    FR_SIM_OK(cu->cuModuleLoadDataEx(&module, ".version 7.0\n", 0, nullptr, nullptr));
    FR_SIM_OK(cu->cuMemsetD8Async(Memory(64), 1, 64, Stream()));
    FR_SIM_OK(cu->cuModuleUnload(module));
    EXPECT_EQ(fr_sim_operations_run(), 1u);
}

TEST_F(SimFault, BadGridsAreRefused)
{
    fr_cu_function kernel = Kernel("fr_spin");
    uint64_t flag = 0, ns = 0;
    void *arguments[] = {&flag, &ns};
    const unsigned int grids[][6] = {
        {0, 1, 1, 1, 1, 1},     {1, 0, 1, 1, 1, 1},     {1, 1, 1, 0, 1, 1},
        {1, 65536, 1, 1, 1, 1}, {1, 1, 65536, 1, 1, 1}, {1, 1, 1, 1025, 1, 1},
        {1, 1, 1, 512, 4, 1},   {1, 1, 1, 1, 1, 65},    {1u << 31, 1, 1, 1, 1, 1}};
    for (const unsigned int *g : grids)
        EXPECT_EQ(cu->cuLaunchKernel(kernel, g[0], g[1], g[2], g[3], g[4], g[5], 0, nullptr,
                                     arguments, nullptr),
                  bad_value);
    EXPECT_EQ(cu->cuLaunchKernel(kernel, 65536, 1, 1, 1024, 1, 1, 0, nullptr, arguments, nullptr),
              0u);
}

TEST_F(SimFault, ArgumentsAreTakenAtTheCall)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr dst = Memory(64), row = Memory(16);
    FR_SIM_OK(cu->cuMemsetD32Async(row, 9, 4, a));
    FR_SIM_OK(cu->cuMemsetD32Async(dst, 0, 16, a));
    fr_kernel_rows rows = {dst, row, 16, 0, 0, 0, 0, 4, 4};
    void *arguments[] = {&rows};
    FR_SIM_OK(Launch(Kernel("fr_rows_b4"), a, arguments));
    rows.count = 1000000;
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    EXPECT_EQ(Peek<uint32_t>(dst + 60), 9u);
}

TEST_F(SimFault, AKernelBeyondItsMemoryFailsTheContext)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    fr_cu_device_ptr dst = Memory(64), row = Memory(16);
    FR_SIM_OK(cu->cuMemsetD32Async(row, 9, 4, a));
    fr_kernel_rows rows = {dst, row, 16, 0, 0, 0, 0, 5, 4};
    void *arguments[] = {&rows};
    FR_SIM_OK(Launch(Kernel("fr_rows_b4"), a, arguments));
    EXPECT_EQ(cu->cuStreamSynchronize(a), illegal);
    EXPECT_EQ(cu->cuMemFree(dst), illegal);
    ExpectReports(1, FR_SIM_OUT_OF_BOUNDS, "fr_rows_b4");
}

TEST_F(SimFault, APartBetweenTwoIsMisaligned)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    fr_cu_device_ptr dst = Memory(64), row = Memory(16);
    FR_SIM_OK(cu->cuMemsetD32Async(row, 9, 4, a));
    fr_kernel_rows rows = {dst, row, 6, 0, 0, 0, 0, 2, 1};
    void *arguments[] = {&rows};
    FR_SIM_OK(Launch(Kernel("fr_rows_b4"), a, arguments));
    EXPECT_EQ(cu->cuStreamSynchronize(a), (fr_cu_result)FR_CU_ERROR_MISALIGNED_ADDRESS);
}

TEST_F(SimFault, FunctionAndStreamAreOfOneContext)
{
    reports_are_meant = true;
    fr_cu_function kernel = Kernel("fr_spin");
    uint64_t flag = 0, ns = 0;
    void *arguments[] = {&flag, &ns};
    Use(1);
    EXPECT_EQ(Launch(kernel, Stream(), arguments), bad_handle);
    ExpectReports(1, FR_SIM_BAD_HANDLE, "device 1");
}

TEST_F(SimFault, ASpinKernelHoldsItsStreamUntilTheFlag)
{
    fr_cu_stream a = Stream(), b = Stream();
    uint32_t *flag = static_cast<uint32_t *>(Pinned(4));
    *flag = 0;
    uint64_t address = (uintptr_t)flag, ns = UINT64_MAX;
    void *arguments[] = {&address, &ns};
    FR_SIM_OK(Launch(Kernel("fr_spin"), a, arguments));
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, b));
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    for (int i = 0; i < 10; i++)
        EXPECT_EQ(cu->cuStreamQuery(a), (fr_cu_result)FR_CU_ERROR_NOT_READY);
    std::thread other([&] { reinterpret_cast<std::atomic<uint32_t> *>(flag)->store(1); });
    EXPECT_EQ(cu->cuStreamSynchronize(a), 0u);
    other.join();
}

TEST_F(SimFault, AValueCanBeWrittenByAStream)
{
    fr_cu_stream a = Stream();
    uint32_t *flag = static_cast<uint32_t *>(Pinned(4));
    FR_SIM_OK(cu->cuStreamWriteValue32(a, (uintptr_t)flag, 77, 0));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    EXPECT_EQ(*flag, 77u);
}

// Section: threads.

TEST_F(SimFault, ManyThreadsAndNoReport)
{
    options.mode = FR_SIM_RANDOM;
    Open();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            EXPECT_EQ(cu->cuCtxSetCurrent(contexts[t % 2]), 0u);
            fr_cu_stream stream = Stream();
            fr_cu_event event = Event();
            fr_cu_device_ptr memory = Memory(256);
            for (int i = 0; i < 200; i++) {
                uint8_t out = 0;
                EXPECT_EQ(cu->cuMemsetD8Async(memory, (unsigned char)i, 256, stream), 0u);
                EXPECT_EQ(cu->cuEventRecord(event, stream), 0u);
                EXPECT_EQ(cu->cuMemcpyDtoHAsync(&out, memory + (size_t)(i % 256), 1, stream), 0u);
                EXPECT_EQ(cu->cuStreamSynchronize(stream), 0u);
                EXPECT_EQ(out, (uint8_t)i);
                EXPECT_EQ(cu->cuEventQuery(event), 0u);
            }
            EXPECT_EQ(cu->cuMemFree(memory), 0u);
        });
    for (std::thread &thread : threads)
        thread.join();
}

TEST_F(SimFault, InTheBackgroundWorkGoesOnWithoutCalls)
{
    options.background = true;
    Open();
    uint32_t *flag = static_cast<uint32_t *>(Pinned(4));
    *flag = 0;
    FR_SIM_OK(cu->cuStreamWriteValue32(Stream(), (uintptr_t)flag, 1, 0));
    while (fr_sim_operations_run() == 0)
        std::this_thread::yield();
    EXPECT_EQ(*flag, 1u);
}

} // namespace
