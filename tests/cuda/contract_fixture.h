// The program that asks a driver for its promises, and what it is asked through. C++ only.
#ifndef FR_TESTS_CUDA_CONTRACT_FIXTURE_H
#define FR_TESTS_CUDA_CONTRACT_FIXTURE_H

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cuda/loader.h"

#define OK(call) ASSERT_EQ((call), (fr_cu_result)FR_CU_SUCCESS)

const fr_cu_result bad_value = FR_CU_ERROR_INVALID_VALUE;
const fr_cu_result bad_handle = FR_CU_ERROR_INVALID_HANDLE;
const fr_cu_result not_ready = FR_CU_ERROR_NOT_READY;

inline fr_cuda_library library;

// A host function that lets its stream go on when it is told to: work that stalls, on any driver.
class Gate
{
  public:
    static void Function(void *user)
    {
        Gate *gate = static_cast<Gate *>(user);
        std::unique_lock<std::mutex> lock(gate->mutex_);
        gate->entered_ = true;
        gate->changed_.notify_all();
        gate->changed_.wait(lock, [gate] { return gate->open_; });
    }

    void Open()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

    // False: the call has not returned before it was opened, which happens after a long time.
    bool IsClosedAfter(const std::function<void()> &call)
    {
        bool has_returned = false, is_closed = true;
        std::thread guard([&] {
            std::unique_lock<std::mutex> lock(mutex_);
            if (!changed_.wait_for(lock, std::chrono::seconds(10), [&] { return has_returned; })) {
                is_closed = false;
                open_ = true;
                changed_.notify_all();
            }
        });
        call();
        {
            std::unique_lock<std::mutex> lock(mutex_);
            has_returned = true;
            changed_.notify_all();
        }
        guard.join();
        return is_closed;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false, entered_ = false;
};

class Contract : public ::testing::Test
{
  protected:
    const fr_cuda_driver *cu = &library.driver;
    fr_cu_context context = nullptr, other = nullptr; // `other`: of device 1, if there is one
    std::vector<fr_cu_stream> streams;
    std::vector<fr_cu_event> events;
    std::vector<fr_cu_device_ptr> memory;
    std::vector<Gate *> gates;

    static void SetUpTestSuite()
    {
        const char *file = std::getenv("FR_CUDA_LIBRARY");
        ASSERT_TRUE(fr_cuda_library_open_file(&library, file ? file : "tests/sim/libcuda.so.1"))
            << library.why;
        std::printf("driver %d, %d devices\n", library.version, library.device_count);
    }

    void SetUp() override
    {
        ASSERT_NE(cu->cuInit, nullptr);
        OK(cu->cuDevicePrimaryCtxRetain(&context, 0));
        OK(library.device_count < 2 ? 0 : cu->cuDevicePrimaryCtxRetain(&other, 1));
        OK(cu->cuCtxSetCurrent(context));
    }

    void TearDown() override
    {
        for (Gate *gate : gates)
            gate->Open();
        EXPECT_EQ(cu->cuCtxSetCurrent(context), 0u);
        EXPECT_EQ(cu->cuCtxSynchronize(), 0u);
        for (fr_cu_event event : events)
            EXPECT_EQ(cu->cuEventDestroy(event), 0u);
        for (fr_cu_stream stream : streams)
            EXPECT_EQ(cu->cuStreamDestroy(stream), 0u);
        for (fr_cu_device_ptr address : memory)
            EXPECT_EQ(cu->cuMemFree(address), 0u);
        EXPECT_EQ(cu->cuCtxSetCurrent(nullptr), 0u);
        EXPECT_EQ(cu->cuDevicePrimaryCtxRelease(0), 0u);
        EXPECT_EQ(other ? cu->cuDevicePrimaryCtxRelease(1) : 0, 0u) << "of device 1";
        for (Gate *gate : gates)
            delete gate;
    }

    fr_cu_stream Stream(unsigned int flags = FR_CU_STREAM_NON_BLOCKING)
    {
        fr_cu_stream stream = nullptr;
        EXPECT_EQ(cu->cuStreamCreateWithPriority(&stream, flags, 0), 0u);
        streams.push_back(stream);
        return stream;
    }

    fr_cu_event Event(unsigned int flags = FR_CU_EVENT_DISABLE_TIMING)
    {
        fr_cu_event event = nullptr;
        EXPECT_EQ(cu->cuEventCreate(&event, flags), 0u);
        events.push_back(event);
        return event;
    }

    fr_cu_device_ptr Memory(size_t size_bytes)
    {
        fr_cu_device_ptr address = 0;
        EXPECT_EQ(cu->cuMemAlloc(&address, size_bytes), 0u);
        memory.push_back(address);
        return address;
    }

    // Work on the stream stalls from here on, until the gate is opened.
    Gate *Hold(fr_cu_stream stream)
    {
        Gate *gate = new Gate;
        gates.push_back(gate);
        EXPECT_EQ(cu->cuLaunchHostFunc(stream, Gate::Function, gate), 0u);
        return gate;
    }

    // One byte of the device, read on a stream that waits for nothing.
    uint8_t Byte(fr_cu_device_ptr address, fr_cu_stream stream)
    {
        uint8_t value = 0;
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(&value, address, 1, stream), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(stream), 0u);
        return value;
    }
};

#endif
