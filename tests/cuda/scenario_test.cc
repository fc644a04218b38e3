// All calls of the table in a row: what they leave of the caller's thread, what is left when any
// driver call fails, and which driver calls a use in a loop makes.
#include <cstdlib>
#include <map>
#include <thread>

#include "cuda/error.h"
#include "tests/cuda/backend_fixture.h"
#include "tests/cuda/scenario.h"

namespace
{

const char *const entry_points[] = {
#define NAME(name, version, symbol) #name,
    FR_CUDA_ENTRY_POINTS(NAME)
#undef NAME
};

class Calls : public ::testing::TestWithParam<Order>
{
  protected:
    const fr_cuda_driver *cu = fr_sim_driver();
    fr_cu_context contexts[2] = {};
    fr_cu_stream stream = nullptr;
    fr_cu_event event = nullptr;
    fr_sim_options options = fr_sim_default_options();

    void SetUp() override
    {
        options.mode = GetParam().mode;
        options.seed = GetParam().seed;
    }

    // A client with contexts, a stream and an event of its own.
    void Open()
    {
        fr_sim_open(&options);
        FR_SIM_OK(cu->cuInit(0));
        for (int i = 0; i < 2; i++)
            FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&contexts[i], i));
        std::thread([this] {
            FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0]));
            FR_SIM_OK(cu->cuStreamCreateWithPriority(&stream, FR_CU_STREAM_NON_BLOCKING, 0));
            FR_SIM_OK(cu->cuEventCreate(&event, FR_CU_EVENT_DISABLE_TIMING));
        }).join();
        ASSERT_TRUE(fr_cuda_use_driver(cu));
    }

    // Until no work is left, which the host then knows.
    void Drain()
    {
        std::thread([this] {
            for (fr_cu_context context : contexts) {
                FR_SIM_OK(cu->cuCtxSetCurrent(context));
                cu->cuCtxSynchronize(); // a failed context answers that
            }
        }).join();
    }

    void Close()
    {
        Drain();
        std::thread([this] {
            FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0]));
            FR_SIM_OK(cu->cuStreamDestroy(stream));
            FR_SIM_OK(cu->cuEventDestroy(event));
        }).join();
        EXPECT_TRUE(fr_sim_drain());
        ASSERT_TRUE(fr_cuda_use_driver(nullptr));
    }

    uint64_t Left()
    {
        for (int i = 0; i < 2; i++)
            EXPECT_EQ(cu->cuDevicePrimaryCtxRelease(i), 0u);
        return fr_sim_check_leaks(false);
    }

    Scenario NewScenario()
    {
        Scenario scenario(fr_device_provider);
        scenario.users_stream = (uintptr_t)stream;
        scenario.users_event = (uintptr_t)event;
        scenario.drain = [this] { Drain(); };
        return scenario;
    }

    fr_cu_context Current()
    {
        fr_cu_context current = nullptr;
        EXPECT_EQ(cu->cuCtxGetCurrent(&current), 0u);
        return current;
    }

    fr_cu_capture_mode CaptureMode()
    {
        fr_cu_capture_mode mode = FR_CU_CAPTURE_MODE_GLOBAL, same = 0;
        EXPECT_EQ(cu->cuThreadExchangeStreamCaptureMode(&mode), 0u);
        same = mode;
        EXPECT_EQ(cu->cuThreadExchangeStreamCaptureMode(&same), 0u);
        return mode;
    }

    // The scenario on a thread that has `context` and that capture mode before each call.
    void Untouched(fr_cu_context context, fr_cu_capture_mode mode)
    {
        std::thread([&] {
            FR_SIM_OK(context ? cu->cuCtxPushCurrent(context) : 0);
            fr_cu_capture_mode own = mode;
            FR_SIM_OK(cu->cuThreadExchangeStreamCaptureMode(&own));
            Scenario scenario = NewScenario();
            int calls = 0;
            scenario.after_leave = [&] {
                calls++;
                EXPECT_EQ(Current(), context);
                EXPECT_EQ(CaptureMode(), mode);
            };
            EXPECT_TRUE(scenario.Run()) << scenario.fault.text;
            EXPECT_TRUE(scenario.right);
            EXPECT_GT(calls, 30);
            // Nothing lies below it.
            fr_cu_context popped = nullptr;
            FR_SIM_OK(context ? cu->cuCtxPopCurrent(&popped) : 0);
            EXPECT_EQ(Current(), nullptr);
        }).join();
    }
};

TEST_P(Calls, LeaveTheThreadAsItWas)
{
    Open();
    for (fr_cu_capture_mode mode :
         {FR_CU_CAPTURE_MODE_GLOBAL, FR_CU_CAPTURE_MODE_THREAD_LOCAL, FR_CU_CAPTURE_MODE_RELAXED}) {
        Untouched(nullptr, mode);
        Untouched(contexts[0], mode);
        Untouched(contexts[1], mode);
    }
    EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
    Close();
    EXPECT_EQ(Left(), 0u);
    fr_sim_close();
}

// What cannot be undone when that one call fails: it was the one that frees.
bool Frees(const std::string &call)
{
    for (const char *name : {
             "cuMemFreeAsync",
             "cuMemFreeHost",
             "cuStreamDestroy",
             "cuEventDestroy",
         })
        if (call == name)
            return true;
    return false;
}

// Each driver call of the scenario fails once.
TEST_P(Calls, FailWithoutALossWhenTheDriverDoes)
{
    Open();
    Scenario clean = NewScenario();
    std::map<std::string, uint64_t> calls;
    for (const char *name : entry_points)
        calls[name] = fr_sim_calls(name);
    ASSERT_TRUE(clean.Run()) << clean.fault.text;
    for (const char *name : entry_points)
        calls[name] = fr_sim_calls(name) - calls[name];
    for (const char *name : {"cuCtxSetCurrent", "cuCtxSynchronize"}) // the test's own
        calls[name] = 0;
    Close();
    EXPECT_EQ(Left(), 0u);
    // A sanitizer makes threads slow: each order then takes another quarter of the calls.
    const uint64_t step = std::getenv("FR_SYSTEMATIC_RUNS") ? 4 : 1;
    uint64_t failures = 0, turn = options.seed + static_cast<uint64_t>(options.mode);
    for (const auto &call : calls)
        for (uint64_t k = 1; k <= call.second; k++) {
            if (turn++ % step != 0)
                continue;
            for (fr_cu_result result : {FR_CU_ERROR_UNKNOWN, FR_CU_ERROR_OUT_OF_MEMORY}) {
                SCOPED_TRACE(call.first + ", call " + std::to_string(k) + " answers " +
                             std::to_string(result));
                Open();
                Scenario scenario = NewScenario();
                fr_sim_clear_faults();
                ASSERT_TRUE(fr_sim_fail_call(call.first.c_str(), k, result));
                bool ran = false, strikes_close = false;
                scenario.before_close = [&] { strikes_close = fr_sim_faults_pending(); };
                std::thread([&] { ran = scenario.Run(); }).join();
                bool struck = !fr_sim_faults_pending();
                fr_sim_clear_faults();
                EXPECT_TRUE(ran || struck) << scenario.fault.text;
                EXPECT_TRUE(scenario.right);
                if (!ran) {
                    failures++;
                    EXPECT_NE(std::string(scenario.fault.text), "");
                    EXPECT_NE(scenario.fault.kind, FR_DEVICE_DEAD);
                }
                // And the next one works, unless there was no CUDA: that is found out once.
                bool is_absent = !ran && scenario.fault.kind == FR_DEVICE_ABSENT;
                Scenario again = NewScenario();
                std::thread([&] { EXPECT_NE(again.Run(), is_absent) << again.fault.text; }).join();
                Close();
                uint64_t left = Left();
                // Closing has nobody to tell, and undoes the rest.
                EXPECT_TRUE(left == 0 || (struck && (strikes_close || Frees(call.first)))) << left;
                ASSERT_FALSE(HasFailure());
            }
        }
    EXPECT_GT(failures, 50 / step);
    fr_sim_close();
}

// Streams, events, memory and pinned memory come and go only where the table's caller says so.
TEST_P(Calls, MakeNothingInALoopOfWork)
{
    const fr_device_table *table = fr_device_provider;
    fr_device_fault fault = {};
    fr_device *device = nullptr;
    fr_device_entry entry = {};
    fr_device_stream streams[2] = {};
    fr_device_event done = {};
    uint64_t memory[3] = {};
    void *pinned = nullptr;
    Open();
    BACKEND_OK(table->open(0, &device, &fault));
    BACKEND_OK(table->enter(device, &entry, &fault));
    for (fr_device_stream &made : streams)
        BACKEND_OK(table->stream_make(device, &made, &fault));
    BACKEND_OK(table->event_make(device, &done, &fault));
    for (uint64_t &address : memory)
        BACKEND_OK(table->allocate(streams[0], 1024, &address, &fault));
    BACKEND_OK(table->pin(device, 1024, &pinned, &fault));
    std::memset(pinned, 0, 1024);
    table->leave(&entry);
    std::map<std::string, uint64_t> before;
    for (const char *name : entry_points)
        before[name] = fr_sim_calls(name);
    enum { TIMES = 100 };
    for (int i = 0; i < TIMES; i++) {
        BACKEND_OK(table->enter(device, &entry, &fault));
        BACKEND_OK(table->copy(streams[0], {0, memory[0]}, {FR_PLACE_HOST, (uintptr_t)pinned}, 1024,
                               &fault));
        BACKEND_OK(table->copy(streams[0], {0, memory[1]}, {0, memory[0]}, 1024, &fault));
        fr_row_move move = {memory[2], memory[1], 16, 16, 16, 64, memory[0], 0, 0};
        BACKEND_OK(table->move_rows(streams[0], &move, &fault));
        BACKEND_OK(table->record(streams[0], done, &fault));
        BACKEND_OK(table->wait(streams[1], done, &fault));
        while (table->look(done, &fault) == FR_EVENT_PENDING)
            ;
        table->leave(&entry);
    }
    const std::map<std::string, uint64_t> of_each = {
        {"cuCtxGetCurrent", 1},   {"cuCtxPushCurrent", 1},
        {"cuCtxPopCurrent", 1},   {"cuThreadExchangeStreamCaptureMode", 2},
        {"cuMemcpyHtoDAsync", 1}, {"cuMemcpyDtoDAsync", 1},
        {"cuLaunchKernel", 1},    {"cuEventRecord", 1},
        {"cuStreamWaitEvent", 1}};
    for (const char *name : entry_points) {
        uint64_t made = fr_sim_calls(name) - before[name];
        if (std::string(name) == "cuEventQuery")
            EXPECT_GE(made, (uint64_t)TIMES);
        else
            EXPECT_EQ(made, of_each.count(name) ? of_each.at(name) * TIMES : 0) << name;
    }
    BACKEND_OK(table->enter(device, &entry, &fault));
    table->unpin(device, pinned, 1024);
    for (uint64_t address : memory)
        table->release(streams[0], address, 1024);
    table->event_end(done);
    for (fr_device_stream made : streams)
        table->stream_end(made);
    table->leave(&entry);
    table->close(device);
    Close();
    EXPECT_EQ(Left(), 0u);
    EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
    fr_sim_close();
}

INSTANTIATE_TEST_SUITE_P(Order, Calls, ::testing::ValuesIn(Orders()), OrderName);

} // namespace
