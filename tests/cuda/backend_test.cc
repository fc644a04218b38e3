// The entries of runtime/device/table.h, as CUDA answers them, in each order of the simulator.
#include <thread>

#include "cuda/image.h"
#include "cuda/table.h"
#include "tests/cuda/backend_fixture.h"

namespace
{

class Backend : public OrderedBackendTest
{
  protected:
    enum { SIZE = 1000 };

    bool IsActive(int device)
    {
        unsigned int flags = 0;
        int active = 0;
        EXPECT_EQ(cu->cuDevicePrimaryCtxGetState(device, &flags, &active), 0u);
        return active != 0;
    }

    fr_cu_context Current()
    {
        fr_cu_context current = nullptr;
        EXPECT_EQ(cu->cuCtxGetCurrent(&current), 0u);
        return current;
    }

    // Bytes of the device, by whomever.
    uint64_t Taken()
    {
        size_t free_bytes = 0, total_bytes = 0;
        EXPECT_EQ(cu->cuMemGetInfo(&free_bytes, &total_bytes), 0u);
        return total_bytes - free_bytes;
    }

    // Device 1, where there is one. Its context is left to be entered.
    bool OpenSecond()
    {
        if (table->count(&fault) < 2) {
            std::printf("one device only: the rest of this test was not run\n");
            return false;
        }
        EXPECT_TRUE(table->open(1, &devices[1], &fault)) << fault.text;
        return true;
    }
};

TEST_P(Backend, IsTheProviderOfThisProgram)
{
    EXPECT_EQ(fr_device_provider, &fr_cuda_table);
}

TEST_P(Backend, EachImageHasTheKernels)
{
    for (uint32_t i = 0; i < fr_cuda_image_count; i++) {
        SCOPED_TRACE(fr_cuda_images[i].name);
        fr_cu_module module = nullptr;
        fr_cu_function function = nullptr;
        FR_SIM_OK(cu->cuModuleLoadDataEx(&module, fr_cuda_images[i].bytes, 0, nullptr, nullptr));
#define LOOK(width) \
    FR_SIM_OK(cu->cuModuleGetFunction(&function, module, "fr_rows_b" #width)); \
    FR_SIM_OK(cu->cuModuleGetFunction(&function, module, "fr_strided_b" #width));
        FR_KERNEL_WIDTHS(LOOK)
#undef LOOK
        FR_SIM_OK(cu->cuModuleUnload(module));
    }
}

TEST_P(Backend, ADeviceIsStartedWithTheFirstAndStaysWithTheProcess)
{
    fr_device *again = nullptr;
    BACKEND_OK(table->open(0, &again, &fault));
    EXPECT_EQ(again, devices[0]);
    table->close(again);
    EXPECT_TRUE(IsActive(0));
    EXPECT_GT(table->memory_bytes(devices[0]), 1u << 20);
    table->leave(&entry);
    entry.device = nullptr;
    fr_cuda_give_back(); // what is open is no matter of that
    EXPECT_TRUE(IsActive(0));
    table->close(devices[0]);
    devices[0] = nullptr;
    EXPECT_TRUE(IsActive(0));
    fr_cuda_give_back();
    EXPECT_FALSE(IsActive(0));
    BACKEND_OK(table->open(0, &devices[0], &fault));
    EXPECT_TRUE(IsActive(0));
}

TEST_P(Backend, ADeviceThatIsNotThereIsAbsent)
{
    fr_device *none = nullptr;
    uint32_t count = table->count(&fault);
    EXPECT_FALSE(table->open(count, &none, &fault));
    ExpectFault(FR_DEVICE_ABSENT, "device " + std::to_string(count));
    EXPECT_FALSE(table->open(UINT32_MAX, &none, &fault));
    ExpectFault(FR_DEVICE_ABSENT, "4294967295");
    EXPECT_EQ(none, nullptr);
}

TEST_P(Backend, TheDriverIsNotTakenAwayFromAnOpenDevice)
{
    EXPECT_FALSE(fr_cuda_use_driver(cu));
}

TEST_P(Backend, EnteringNestsAndLeavesWhatWasThere)
{
    bool has_second = OpenSecond();
    fr_device_entry second = {}, third = {};
    fr_cu_context first_context = Current();
    BACKEND_OK(table->enter(devices[has_second ? 1 : 0], &second, &fault));
    EXPECT_EQ(Current() == first_context, !has_second);
    BACKEND_OK(table->enter(devices[0], &third, &fault));
    EXPECT_EQ(Current(), first_context);
    table->leave(&third);
    table->leave(&second);
    EXPECT_EQ(Current(), first_context);
    table->leave(&entry);
    entry.device = nullptr;
    EXPECT_EQ(Current(), nullptr);
}

TEST_P(Backend, MemoryIsMadeAndFreedInTheOrderOfAStream)
{
    fr_device_stream stream = Stream();
    uint64_t first = Memory(stream, SIZE), second = Memory(stream, SIZE);
    EXPECT_EQ(first % 256, 0u);
    EXPECT_EQ(second % 256, 0u);
    EXPECT_TRUE(first + SIZE <= second || second + SIZE <= first);
    BACKEND_OK(table->fill(stream, first, 1, SIZE, &fault));
    table->release(stream, first, SIZE);
    table->release(stream, second, SIZE);
    // Of the same stream, so that it may be the same place.
    uint64_t third = Memory(stream, SIZE);
    BACKEND_OK(table->fill(stream, third, 2, SIZE, &fault));
    table->release(stream, third, SIZE);
    table->stream_end(stream);
}

// Neither by chance nor by a wait that nobody asked for.
TEST_P(Backend, MemoryIsGivenAgainOnlyInAnOrderThatWeMade)
{
    fr_device_stream first = Stream(), second = Stream();
    fr_device_event freed = Event();
    uint64_t memory = Memory(first, SIZE);
    BACKEND_OK(table->fill(first, memory, 1, SIZE, &fault));
    Finish(first);
    table->release(first, memory, SIZE); // done, as far as the driver may see
    BACKEND_OK(table->record(first, freed, &fault));
    while (table->look(freed, &fault) == FR_EVENT_PENDING)
        ;
    uint64_t held = Memory(first, SIZE);
    if (!RealDriver())
        fr_sim_hold((fr_cu_stream)first.handle, true);
    table->release(first, held, SIZE);
    uint64_t other = Memory(second, SIZE);
    EXPECT_NE(other, held);
    if (other == held) // the second would wait for ever
        fr_sim_hold((fr_cu_stream)first.handle, false);
    BACKEND_OK(table->fill(second, other, 1, SIZE, &fault));
    Finish(second); // does not wait for the first
    if (!RealDriver())
        fr_sim_hold((fr_cu_stream)first.handle, false);
    table->release(second, other, SIZE);
    table->event_end(freed);
    table->stream_end(first);
    table->stream_end(second);
}

TEST_P(Backend, FreedMemoryStaysInThePoolUntilSomebodyCloses)
{
    enum { LARGE = 1 << 28 };
    const uint64_t before = Taken();
    fr_device *again = nullptr;
    fr_device_stream stream = Stream();
    uint64_t memory = Memory(stream, LARGE);
    table->release(stream, memory, LARGE);
    FR_SIM_OK(cu->cuStreamSynchronize((fr_cu_stream)stream.handle));
    EXPECT_GE(Taken(), before + LARGE);
    BACKEND_OK(table->open(0, &again, &fault));
    table->close(again);
    EXPECT_LT(Taken(), before + LARGE);
    table->stream_end(stream);
}

TEST_P(Backend, MoreMemoryThanThereIsIsRefused)
{
    fr_device_stream stream = Stream();
    uint64_t none = 0;
    size_t too_much = (size_t)table->memory_bytes(devices[0]) * 2;
    EXPECT_FALSE(table->allocate(stream, too_much, &none, &fault));
    ExpectFault(FR_DEVICE_MEMORY, std::to_string(too_much));
    uint64_t some = Memory(stream, SIZE);
    table->release(stream, some, SIZE);
    table->stream_end(stream);
}

TEST_P(Backend, PointersAreToldApart)
{
    fr_device_stream stream = Stream();
    uint64_t pool = Memory(stream, SIZE);
    uint8_t *pinned = Pinned(SIZE);
    fr_cu_device_ptr plain = 0;
    int on_the_stack = 0;
    FR_SIM_OK(cu->cuMemAlloc(&plain, SIZE));
    const struct {
        const void *pointer;
        fr_pointer_kind kind;
        int32_t place;
    } expected[] = {{(const void *)(uintptr_t)pool, FR_POINTER_DEVICE, 0},
                    {(const void *)(uintptr_t)(pool + 7), FR_POINTER_DEVICE, 0},
                    {(const void *)(uintptr_t)plain, FR_POINTER_DEVICE, 0},
                    {pinned, FR_POINTER_PINNED, FR_PLACE_HOST},
                    {pinned + SIZE - 1, FR_POINTER_PINNED, FR_PLACE_HOST},
                    {&on_the_stack, FR_POINTER_HOST, FR_PLACE_HOST}};
    for (const auto &e : expected) {
        fr_pointer got = {};
        BACKEND_OK(table->describe(devices[0], e.pointer, &got, &fault));
        EXPECT_EQ(got.kind, e.kind);
        EXPECT_EQ(got.place, e.place);
    }
    FR_SIM_OK(cu->cuMemFree(plain));
    table->unpin(devices[0], pinned, SIZE);
    table->release(stream, pool, SIZE);
    table->stream_end(stream);
}

TEST_P(Backend, PointersOfOtherDevicesSayWhere)
{
    if (!OpenSecond())
        return;
    fr_device_entry second = {};
    fr_device_stream stream = {};
    uint64_t there = 0;
    fr_pointer got = {};
    BACKEND_OK(table->enter(devices[1], &second, &fault));
    BACKEND_OK(table->stream_make(devices[1], &stream, &fault));
    BACKEND_OK(table->allocate(stream, SIZE, &there, &fault));
    table->leave(&second);
    BACKEND_OK(table->describe(devices[0], (const void *)(uintptr_t)there, &got, &fault));
    EXPECT_EQ(got.kind, FR_POINTER_DEVICE);
    EXPECT_EQ(got.place, 1);
    BACKEND_OK(table->enter(devices[1], &second, &fault));
    table->release(stream, there, SIZE);
    table->stream_end(stream);
    table->leave(&second);
}

TEST_P(Backend, BytesComeBackAsTheyWent)
{
    fr_device_stream stream = Stream();
    uint64_t memory = Memory(stream, SIZE), other = Memory(stream, SIZE);
    uint8_t *out = Pinned(SIZE), *back = Pinned(SIZE);
    for (int i = 0; i < SIZE; i++)
        out[i] = (uint8_t)(i * 7);
    BACKEND_OK(table->copy(stream, On(0, memory), Host(out), SIZE, &fault));
    BACKEND_OK(table->copy(stream, On(0, other), On(0, memory), SIZE, &fault));
    BACKEND_OK(table->fill(stream, other + 10, 77, 20, &fault));
    BACKEND_OK(table->copy(stream, Host(back), On(0, other), SIZE, &fault));
    BACKEND_OK(table->copy(stream, Host(back), On(0, other), 0, &fault));
    BACKEND_OK(table->fill(stream, other, 1, 0, &fault));
    Finish(stream);
    for (int i = 0; i < SIZE; i++)
        ASSERT_EQ(back[i], i >= 10 && i < 30 ? 77 : (uint8_t)(i * 7));
    table->unpin(devices[0], out, SIZE);
    table->unpin(devices[0], back, SIZE);
    table->release(stream, memory, SIZE);
    table->release(stream, other, SIZE);
    table->stream_end(stream);
}

TEST_P(Backend, BytesGoFromDeviceToDevice)
{
    if (!OpenSecond())
        return;
    fr_device_stream here = Stream(), there = {};
    fr_device_event filled = Event();
    fr_device_entry second = {};
    uint64_t source = Memory(here, SIZE), target = 0;
    uint8_t *back = Pinned(SIZE);
    BACKEND_OK(table->fill(here, source, 9, SIZE, &fault));
    BACKEND_OK(table->record(here, filled, &fault));
    BACKEND_OK(table->enter(devices[1], &second, &fault));
    BACKEND_OK(table->stream_make(devices[1], &there, &fault));
    BACKEND_OK(table->allocate(there, SIZE, &target, &fault));
    BACKEND_OK(table->wait(there, filled, &fault)); // of the other device
    BACKEND_OK(table->copy(there, On(1, target), On(0, source), SIZE, &fault));
    BACKEND_OK(table->copy(there, Host(back), On(1, target), SIZE, &fault));
    Finish(there);
    for (int i = 0; i < SIZE; i++)
        ASSERT_EQ(back[i], 9);
    table->release(there, target, SIZE);
    table->stream_end(there);
    table->leave(&second);
    table->event_end(filled);
    table->unpin(devices[0], back, SIZE);
    table->release(here, source, SIZE);
    table->stream_end(here);
}

TEST_P(Backend, NothingIsCopiedFromADeviceThatIsNotOpen)
{
    fr_device_stream stream = Stream();
    uint64_t memory = Memory(stream, SIZE);
    for (int32_t place : {1, 63, 64, INT32_MAX}) {
        EXPECT_FALSE(table->copy(stream, On(0, memory), On(place, memory), SIZE, &fault));
        ExpectFault(FR_DEVICE_FAILED, "device " + std::to_string(place));
    }
    table->release(stream, memory, SIZE);
    table->stream_end(stream);
}

TEST_P(Backend, EventsArePendingUntilTheirWorkIsDone)
{
    fr_device_stream stream = Stream(), other = Stream();
    fr_device_event never = Event(), event = Event();
    fr_cu_event users = nullptr;
    FR_SIM_OK(cu->cuEventCreate(&users, FR_CU_EVENT_DISABLE_TIMING));
    EXPECT_EQ(table->look(never, &fault), FR_EVENT_DONE);
    uint64_t memory = Memory(stream, SIZE);
    if (!RealDriver())
        fr_sim_hold((fr_cu_stream)stream.handle, true);
    BACKEND_OK(table->fill(stream, memory, 1, SIZE, &fault));
    BACKEND_OK(table->record(stream, event, &fault));
    BACKEND_OK(table->record_client(stream, (uintptr_t)users, &fault));
    BACKEND_OK(table->wait(other, event, &fault));
    BACKEND_OK(table->wait_client(other, (uintptr_t)users, &fault));
    for (int i = 0; i < 20 && !RealDriver(); i++) {
        EXPECT_EQ(table->look(event, &fault), FR_EVENT_PENDING);
        EXPECT_EQ(table->look_client(devices[0], (uintptr_t)users, &fault), FR_EVENT_PENDING);
        EXPECT_FALSE(table->stream_is_idle(stream));
    }
    if (!RealDriver())
        fr_sim_hold((fr_cu_stream)stream.handle, false);
    BACKEND_OK(table->fill(other, memory, 2, SIZE, &fault)); // after the first fill
    Finish(other);
    EXPECT_EQ(table->look(event, &fault), FR_EVENT_DONE);
    EXPECT_EQ(table->look_client(devices[0], (uintptr_t)users, &fault), FR_EVENT_DONE);
    EXPECT_TRUE(table->stream_is_idle(other));
    // While it is pending.
    BACKEND_OK(table->fill(stream, memory, 3, SIZE, &fault));
    BACKEND_OK(table->record(stream, event, &fault));
    table->event_end(event);
    table->event_end(never);
    FR_SIM_OK(cu->cuEventDestroy(users));
    table->release(stream, memory, SIZE);
    table->stream_end(stream);
    table->stream_end(other);
}

TEST_P(Backend, AWaitIsForTheRecordThatWasThere)
{
    fr_device_stream first = Stream(), second = Stream(), reader = Stream();
    fr_device_event event = Event();
    uint64_t memory = Memory(first, SIZE);
    uint8_t *back = Pinned(SIZE);
    BACKEND_OK(table->fill(first, memory, 1, SIZE, &fault));
    BACKEND_OK(table->record(first, event, &fault));
    BACKEND_OK(table->wait(reader, event, &fault));
    BACKEND_OK(table->record(second, event, &fault)); // says nothing of the fill
    BACKEND_OK(table->copy(reader, Host(back), On(0, memory), SIZE, &fault));
    Finish(reader);
    EXPECT_EQ(back[SIZE - 1], 1);
    table->unpin(devices[0], back, SIZE);
    table->release(reader, memory, SIZE);
    for (fr_device_stream stream : {first, second, reader})
        table->stream_end(stream);
    table->event_end(event);
}

// Section: streams of clients.

TEST_P(Backend, StreamsOfClientsAreTakenAsTheyAre)
{
    fr_cu_stream users = nullptr;
    FR_SIM_OK(cu->cuStreamCreateWithPriority(&users, FR_CU_STREAM_DEFAULT, 0));
    fr_device_stream own = Stream();
    uint64_t memory = Memory(own, SIZE);
    Finish(own);
    for (uintptr_t handle : {(uintptr_t)1, (uintptr_t)2, (uintptr_t)users}) {
        fr_device_stream stream = {};
        BACKEND_OK(table->stream_of_client(devices[0], handle, &stream, &fault));
        EXPECT_EQ(stream.handle, handle);
        BACKEND_OK(table->fill(stream, memory, (uint8_t)handle, SIZE, &fault));
        Finish(stream);
    }
    fr_device_stream none = {};
    EXPECT_FALSE(table->stream_of_client(devices[0], 0, &none, &fault));
    ExpectFault(FR_DEVICE_REFUSED, "0x0");
    table->release(own, memory, SIZE);
    table->stream_end(own);
    FR_SIM_OK(cu->cuStreamDestroy(users));
}

TEST_P(Backend, TheLegacyStreamDoesNotWaitForOurs)
{
    fr_device_stream own = Stream(), legacy = {};
    BACKEND_OK(table->stream_of_client(devices[0], 1, &legacy, &fault));
    uint64_t memory = Memory(legacy, SIZE);
    if (!RealDriver())
        fr_sim_hold((fr_cu_stream)own.handle, true);
    BACKEND_OK(table->fill(legacy, memory, 1, SIZE, &fault));
    Finish(legacy);
    if (!RealDriver())
        fr_sim_hold((fr_cu_stream)own.handle, false);
    table->release(legacy, memory, SIZE);
    table->stream_end(own);
}

TEST_P(Backend, AStreamOfAnotherDeviceIsRefused)
{
    if (!OpenSecond())
        return;
    fr_device_entry second = {};
    fr_device_stream there = {}, none = {};
    BACKEND_OK(table->enter(devices[1], &second, &fault));
    BACKEND_OK(table->stream_make(devices[1], &there, &fault));
    table->leave(&second);
    EXPECT_FALSE(table->stream_of_client(devices[0], there.handle, &none, &fault));
    int32_t place = 7;
    BACKEND_OK(table->place_of_client(there.handle, &place, &fault));
    EXPECT_EQ(place, 1);
    for (uintptr_t name : {0, 1, 2}) {
        BACKEND_OK(table->place_of_client(name, &place, &fault));
        EXPECT_EQ(place, 0) << name; // entered
    }
    ExpectFault(FR_DEVICE_REFUSED, "another device");
    BACKEND_OK(table->enter(devices[1], &second, &fault));
    table->stream_end(there);
    table->leave(&second);
}

TEST_P(Backend, AnEventOfAnotherDeviceIsWaitedForAndNotRecorded)
{
    if (!OpenSecond())
        return;
    reports_are_meant = true; // the wrong handle is one to the simulator, too
    fr_device_entry second = {};
    fr_device_event there = {};
    fr_device_stream stream = Stream();
    BACKEND_OK(table->enter(devices[1], &second, &fault));
    BACKEND_OK(table->event_make(devices[1], &there, &fault));
    table->leave(&second);
    BACKEND_OK(table->wait_client(stream, there.handle, &fault));
    EXPECT_EQ(table->look_client(devices[0], there.handle, &fault), FR_EVENT_DONE);
    EXPECT_FALSE(table->record_client(stream, there.handle, &fault));
    ExpectFault(FR_DEVICE_REFUSED, "CUDA_ERROR_INVALID_HANDLE");
    EXPECT_EQ(fault.code, FR_CU_ERROR_INVALID_HANDLE);
    BACKEND_OK(table->enter(devices[1], &second, &fault));
    table->event_end(there);
    table->leave(&second);
    table->stream_end(stream);
}

// Section: graphs that clients capture.

TEST_P(Backend, AStreamThatCapturesIsRefused)
{
    fr_cu_stream users = nullptr;
    fr_cu_graph graph = nullptr;
    fr_device_stream none = {};
    FR_SIM_OK(cu->cuStreamCreateWithPriority(&users, FR_CU_STREAM_DEFAULT, 0));
    FR_SIM_OK(cu->cuStreamBeginCapture(users, FR_CU_CAPTURE_MODE_RELAXED));
    EXPECT_FALSE(table->stream_of_client(devices[0], (uintptr_t)users, &none, &fault));
    ExpectFault(FR_DEVICE_REFUSED, "captures a graph");
    FR_SIM_OK(cu->cuStreamEndCapture(users, &graph));
    FR_SIM_OK(cu->cuGraphDestroy(graph));
    BACKEND_OK(table->stream_of_client(devices[0], (uintptr_t)users, &none, &fault));
    FR_SIM_OK(cu->cuStreamDestroy(users));
}

TEST_P(Backend, AnEventOfACaptureIsRefused)
{
    fr_cu_stream users = nullptr;
    fr_cu_event event = nullptr;
    fr_cu_graph graph = nullptr;
    fr_device_stream stream = Stream();
    FR_SIM_OK(cu->cuStreamCreateWithPriority(&users, FR_CU_STREAM_NON_BLOCKING, 0));
    FR_SIM_OK(cu->cuEventCreate(&event, FR_CU_EVENT_DISABLE_TIMING));
    FR_SIM_OK(cu->cuStreamBeginCapture(users, FR_CU_CAPTURE_MODE_RELAXED));
    FR_SIM_OK(cu->cuEventRecord(event, users));
    EXPECT_FALSE(table->wait_client(stream, (uintptr_t)event, &fault));
    ExpectFault(FR_DEVICE_REFUSED, "captures a graph");
    EXPECT_EQ(table->look_client(devices[0], (uintptr_t)event, &fault), FR_EVENT_LOST);
    ExpectFault(FR_DEVICE_REFUSED, "CUDA_ERROR_CAPTURED_EVENT");
    EXPECT_NE(cu->cuStreamEndCapture(users, &graph), 0u);
    FR_SIM_OK(cu->cuEventDestroy(event));
    FR_SIM_OK(cu->cuStreamDestroy(users));
    table->stream_end(stream);
}

// Each call that CUDA forbids while somebody captures in the strictest mode, and those that it
// allows.
TEST_P(Backend, ACaptureElsewhereIsNotDisturbed)
{
    fr_cu_stream users = nullptr;
    fr_cu_graph graph = nullptr;
    table->leave(&entry);
    entry.device = nullptr;
    table->close(devices[0]); // so that opening is part of it
    devices[0] = nullptr;
    fr_cu_context users_context = nullptr;
    FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&users_context, 0));
    FR_SIM_OK(cu->cuCtxSetCurrent(users_context));
    FR_SIM_OK(cu->cuStreamCreateWithPriority(&users, FR_CU_STREAM_NON_BLOCKING, 0));
    FR_SIM_OK(cu->cuStreamBeginCapture(users, FR_CU_CAPTURE_MODE_GLOBAL));
    auto work = [&] {
        fr_device_entry inside = {};
        BACKEND_OK(table->open(0, &devices[0], &fault));
        BACKEND_OK(table->enter(devices[0], &inside, &fault));
        fr_device_stream stream = Stream();
        uint64_t memory = Memory(stream, SIZE);
        uint8_t *pinned = Pinned(SIZE);
        BACKEND_OK(table->fill(stream, memory, 4, SIZE, &fault));
        Download(stream, pinned, memory, SIZE);
        Finish(stream);
        EXPECT_EQ(pinned[SIZE - 1], 4);
        table->unpin(devices[0], pinned, SIZE);
        table->release(stream, memory, SIZE);
        table->stream_end(stream);
        table->leave(&inside);
        table->close(devices[0]);
        devices[0] = nullptr;
    };
    work();
    std::thread(work).join();
    FR_SIM_OK(cu->cuStreamEndCapture(users, &graph));
    FR_SIM_OK(cu->cuGraphDestroy(graph));
    FR_SIM_OK(cu->cuStreamDestroy(users));
    FR_SIM_OK(cu->cuCtxSetCurrent(nullptr));
    FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(0));
}

// Section: threads.

TEST_P(Backend, ThreadsUseADeviceTogether)
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([this, t] {
            fr_device *device = nullptr;
            fr_device_fault own = {};
            for (int i = 0; i < 20; i++) {
                fr_device_entry inside = {};
                fr_device_stream stream = {};
                fr_device_event event = {};
                uint64_t memory = 0;
                ASSERT_TRUE(table->open(0, &device, &own)) << own.text;
                ASSERT_TRUE(table->enter(device, &inside, &own)) << own.text;
                ASSERT_TRUE(table->stream_make(device, &stream, &own)) << own.text;
                ASSERT_TRUE(table->event_make(device, &event, &own)) << own.text;
                ASSERT_TRUE(table->allocate(stream, SIZE, &memory, &own)) << own.text;
                ASSERT_TRUE(table->fill(stream, memory, (uint8_t)t, SIZE, &own)) << own.text;
                table->release(stream, memory, SIZE);
                ASSERT_TRUE(table->record(stream, event, &own)) << own.text;
                while (table->look(event, &own) == FR_EVENT_PENDING)
                    std::this_thread::yield();
                table->event_end(event);
                table->stream_end(stream);
                table->leave(&inside);
                table->close(device);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}

INSTANTIATE_TEST_SUITE_P(Order, Backend, ::testing::ValuesIn(Orders()), OrderName);

} // namespace
