// A simulation for each test, and short ways to make things in it. C++ only.
#ifndef FR_TESTS_SIM_SIM_FIXTURE_H
#define FR_TESTS_SIM_SIM_FIXTURE_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/kernels/kernels.h"
#include "tests/sim/sim.h"

#define FR_SIM_OK(call) ASSERT_EQ((call), (fr_cu_result)FR_CU_SUCCESS)

// The seeds of a test that runs with many; FR_SIM_SEED picks one, and sanitizers take fewer.
inline std::vector<uint64_t> SimSeeds(uint64_t count)
{
    std::vector<uint64_t> seeds;
    if (const char *one = std::getenv("FR_SIM_SEED")) {
        seeds.push_back(std::strtoull(one, nullptr, 0));
        return seeds;
    }
    if (const char *most = std::getenv("FR_SYSTEMATIC_RUNS"))
        count = std::min<uint64_t>(count, std::strtoull(most, nullptr, 0));
    for (uint64_t seed = 1; seed <= count; seed++)
        seeds.push_back(seed);
    return seeds;
}

// On the driver of a machine (tests/devices/sim_on_driver.cc), where each test has a process of its
// own: the test needs what is not there, and does not count.
enum { NOT_RUN_STATUS = 77 };
[[noreturn]] inline void NotRunHere(const char *what)
{
    std::printf("not run here: it needs %s\n", what);
    std::fflush(stdout);
    std::_Exit(::testing::Test::HasFailure() ? EXIT_FAILURE : NOT_RUN_STATUS);
}

// All reports, for messages.
inline std::string SimReports()
{
    std::string all;
    for (uint64_t i = 0; fr_sim_report(i); i++)
        all += std::string(fr_sim_report(i)) + "\n";
    return all;
}

class Sim : public ::testing::Test
{
  protected:
    const fr_cuda_driver *cu = fr_sim_driver();
    fr_sim_options options = fr_sim_default_options();
    fr_cu_context contexts[8] = {};
    bool reports_are_meant = false; // by the test

    void SetUp() override
    {
        if (const char *seed = std::getenv("FR_SIM_SEED"))
            options.seed = std::strtoull(seed, nullptr, 0);
        Open();
    }

    void TearDown() override
    {
        fr_sim_drain();
        if (!reports_are_meant)
            Quiet();
        fr_sim_close();
    }

    // No report until now.
    void Quiet()
    {
        EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
    }

    // Opens it again, with `options` as they are, and makes the context of device 0 current.
    void Open()
    {
        fr_sim_open(&options);
        ASSERT_EQ(cu->cuInit(0), options.init_result);
        if (options.init_result != FR_CU_SUCCESS)
            return;
        for (uint32_t i = 0; i < options.device_count; i++)
            FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&contexts[i], (int)i));
        FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0]));
    }

    void Use(int device)
    {
        FR_SIM_OK(cu->cuCtxSetCurrent(contexts[device]));
    }

    fr_cu_stream Stream(const char *name = "", unsigned int flags = FR_CU_STREAM_NON_BLOCKING)
    {
        fr_cu_stream stream = nullptr;
        EXPECT_EQ(cu->cuStreamCreateWithPriority(&stream, flags, 0), 0u);
        fr_sim_name_stream(stream, name);
        return stream;
    }

    fr_cu_event Event(unsigned int flags = FR_CU_EVENT_DISABLE_TIMING)
    {
        fr_cu_event event = nullptr;
        EXPECT_EQ(cu->cuEventCreate(&event, flags), 0u);
        return event;
    }

    fr_cu_device_ptr Memory(size_t size_bytes, const char *name = "")
    {
        fr_cu_device_ptr address = 0;
        EXPECT_EQ(cu->cuMemAlloc(&address, size_bytes), 0u);
        fr_sim_name_memory(address, name);
        return address;
    }

    // Pinned.
    void *Pinned(size_t size_bytes)
    {
        void *memory = nullptr;
        EXPECT_EQ(cu->cuMemHostAlloc(&memory, size_bytes, FR_CU_MEMHOSTALLOC_PORTABLE), 0u);
        return memory;
    }

    fr_cu_memory_pool Pool(int device, bool events, bool opportunistic, bool internal)
    {
        fr_cu_pool_properties properties = {};
        properties.allocation_type = FR_CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {FR_CU_MEM_LOCATION_TYPE_DEVICE, device};
        fr_cu_memory_pool pool = nullptr;
        EXPECT_EQ(cu->cuMemPoolCreate(&pool, &properties), 0u);
        int on[3] = {events, opportunistic, internal};
        for (int i = 0; i < 3; i++)
            EXPECT_EQ(
                cu->cuMemPoolSetAttribute(
                    pool, FR_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES + (unsigned)i, &on[i]),
                0u);
        uint64_t threshold = UINT64_MAX;
        EXPECT_EQ(cu->cuMemPoolSetAttribute(pool, FR_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
                  0u);
        return pool;
    }

    fr_cu_function Kernel(const char *name)
    {
        fr_cu_module module = nullptr;
        fr_cu_function function = nullptr;
        EXPECT_EQ(cu->cuModuleLoadDataEx(&module, ".version 7.0\n", 0, nullptr, nullptr), 0u);
        EXPECT_EQ(cu->cuModuleGetFunction(&function, module, name), 0u);
        return function;
    }

    fr_cu_result Launch(fr_cu_function function, fr_cu_stream stream, void **arguments)
    {
        return cu->cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr);
    }

    // Of rows of `parts` words of 4 bytes, compact; to_rows: numbers of 32 bits, or 0.
    fr_cu_result MoveWords(fr_cu_stream stream, fr_cu_device_ptr to, fr_cu_device_ptr from,
                           uint32_t count, uint32_t parts, fr_cu_device_ptr to_rows)
    {
        fr_kernel_rows rows = {};
        rows.to = to;
        rows.from = from;
        rows.to_pitch = rows.from_pitch = 4ull * parts;
        rows.to_rows = to_rows;
        rows.count = count;
        rows.parts = parts;
        void *arguments[] = {&rows};
        return Launch(Kernel("fr_rows_b4"), stream, arguments);
    }

    // What the device has there, whatever is still to run.
    template <class T> T Peek(fr_cu_device_ptr address)
    {
        T value = {};
        const void *view = fr_sim_peek(address, sizeof value);
        EXPECT_NE(view, nullptr);
        if (view)
            std::memcpy(&value, view, sizeof value);
        return value;
    }

    uint64_t Count(fr_sim_kind kind)
    {
        return fr_sim_report_count_of(kind);
    }

    // The reports that the test expects, and only those; they are taken away.
    void ExpectReports(uint64_t count, fr_sim_kind kind, const char *part = "")
    {
        EXPECT_EQ(fr_sim_report_count(), count) << SimReports();
        EXPECT_EQ(Count(kind), count) << SimReports();
        EXPECT_NE(SimReports().find(part), std::string::npos) << part << " not in " << SimReports();
        fr_sim_clear_reports();
    }
};

#endif
