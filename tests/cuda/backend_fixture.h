// The backend on a simulated driver, in each order that the simulator has; or, with
// FR_CUDA_LIBRARY, on the driver of that name. C++ only.
#ifndef FR_TESTS_CUDA_BACKEND_FIXTURE_H
#define FR_TESTS_CUDA_BACKEND_FIXTURE_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cuda/loader.h"
#include "cuda/process.h"
#include "runtime/device/provider.h"
#include "tests/sim/sim_fixture.h"

#define BACKEND_OK(call) ASSERT_TRUE(call) << fault.text

struct Order {
    std::string name;
    fr_sim_mode mode;
    uint64_t seed;
};

inline std::ostream &operator<<(std::ostream &stream, const Order &order)
{
    return stream << order.name;
}

inline const char *RealDriver()
{
    return std::getenv("FR_CUDA_LIBRARY");
}

inline std::vector<Order> Orders()
{
    if (RealDriver())
        return {{"driver", FR_SIM_LAZY, 0}};
    std::vector<Order> orders = {{"lazy", FR_SIM_LAZY, 1}, {"eager", FR_SIM_EAGER, 1}};
    for (uint64_t seed : SimSeeds(6))
        orders.push_back({"random" + std::to_string(seed), FR_SIM_RANDOM, seed});
    return orders;
}

inline std::string OrderName(const ::testing::TestParamInfo<Order> &info)
{
    return info.param.name;
}

// FR_CUDA_TEXT_ONLY: the driver takes no fat binary, so that the kernels' text is what runs.
inline fr_cuModuleLoadDataEx_v2010 load_any_image;

inline fr_cu_result LoadText(fr_cu_module *module, const void *image, unsigned int count,
                             fr_cu_jit_option *options, void **values)
{
    if (std::memcmp(image, "\x50\xed\x55\xba", 4) == 0)
        return FR_CU_ERROR_NO_BINARY_FOR_GPU;
    return load_any_image(module, image, count, options, values);
}

// A device of the table, entered, and short ways to use it.
class BackendTest : public ::testing::Test
{
  protected:
    const fr_device_table *table = fr_device_provider;
    const fr_cuda_driver *cu = nullptr;
    fr_sim_options options = fr_sim_default_options();
    fr_cuda_library library = {};
    fr_device *devices[8] = {};
    fr_device_fault fault = {};
    fr_device_entry entry = {};
    bool reports_are_meant = false;

    void UseDriver()
    {
        if (const char *file = RealDriver()) {
            ASSERT_TRUE(fr_cuda_library_open_file(&library, file)) << library.why;
            cu = &library.driver;
            if (std::getenv("FR_CUDA_TEXT_ONLY")) {
                load_any_image = library.driver.cuModuleLoadDataEx;
                library.driver.cuModuleLoadDataEx = LoadText;
            }
        } else {
            fr_sim_open(&options);
            cu = fr_sim_driver();
        }
        ASSERT_TRUE(fr_cuda_use_driver(cu));
    }

    void SetUp() override
    {
        ASSERT_NE(table, nullptr);
        UseDriver();
        BACKEND_OK(table->open(0, &devices[0], &fault));
        BACKEND_OK(table->enter(devices[0], &entry, &fault));
    }

    void TearDown() override
    {
        if (entry.device)
            table->leave(&entry);
        for (fr_device *device : devices)
            if (device)
                table->close(device);
        Forget();
    }

    // The table has closed everything: the driver has nothing left but what is kept, and had no
    // complaint.
    void Forget()
    {
        bool all_ran = RealDriver() || fr_sim_drain();
        EXPECT_TRUE(all_ran);
        fr_cuda_give_back();
        if (!RealDriver()) {
            if (!reports_are_meant) {
                EXPECT_EQ(fr_sim_check_leaks(true), 0u);
                EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
            }
            fr_sim_close();
        }
        EXPECT_TRUE(fr_cuda_use_driver(nullptr));
    }

    fr_device_stream Stream()
    {
        fr_device_stream stream = {};
        EXPECT_TRUE(table->stream_make(devices[0], &stream, &fault)) << fault.text;
        return stream;
    }

    fr_device_event Event()
    {
        fr_device_event event = {};
        EXPECT_TRUE(table->event_make(devices[0], &event, &fault)) << fault.text;
        return event;
    }

    uint64_t Memory(fr_device_stream stream, size_t size_bytes)
    {
        uint64_t address = 0;
        EXPECT_TRUE(table->allocate(stream, size_bytes, &address, &fault)) << fault.text;
        return address;
    }

    uint8_t *Pinned(size_t size_bytes)
    {
        void *memory = nullptr;
        EXPECT_TRUE(table->pin(devices[0], size_bytes, &memory, &fault)) << fault.text;
        return static_cast<uint8_t *>(memory);
    }

    static fr_address On(int32_t place, uint64_t address)
    {
        return {place, address};
    }

    static fr_address Host(const void *memory)
    {
        return {FR_PLACE_HOST, (uintptr_t)memory};
    }

    void Upload(fr_device_stream stream, uint64_t to, const void *from, size_t size_bytes)
    {
        EXPECT_TRUE(table->copy(stream, On(0, to), Host(from), size_bytes, &fault)) << fault.text;
    }

    void Download(fr_device_stream stream, void *to, uint64_t from, size_t size_bytes)
    {
        EXPECT_TRUE(table->copy(stream, Host(to), On(0, from), size_bytes, &fault)) << fault.text;
    }

    // Until all work that is in the stream is done.
    void Finish(fr_device_stream stream)
    {
        fr_device_event event = {};
        ASSERT_TRUE(table->event_make(stream.device, &event, &fault)) << fault.text;
        EXPECT_TRUE(table->record(stream, event, &fault)) << fault.text;
        fr_device_event_state state;
        while ((state = table->look(event, &fault)) == FR_EVENT_PENDING)
            ;
        EXPECT_EQ(state, FR_EVENT_DONE) << fault.text;
        table->event_end(event);
    }

    void ExpectFault(fr_device_fault_kind kind, const std::string &part)
    {
        EXPECT_EQ(fault.kind, kind) << fault.text;
        EXPECT_NE(std::string(fault.text).find(part), std::string::npos) << fault.text;
    }
};

// The same in each order.
class OrderedBackendTest : public BackendTest, public ::testing::WithParamInterface<Order>
{
  protected:
    void SetUp() override
    {
        options.mode = GetParam().mode;
        options.seed = GetParam().seed;
        options.no_peer_access = GetParam().seed % 2 == 0;
        BackendTest::SetUp();
    }
};

#endif
