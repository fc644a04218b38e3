// What the backend makes of the driver's answers: kinds of faults, the end of a device, no CUDA at
// all, devices and drivers that lack something.
#include "cuda/error.h"
#include "cuda/image.h"
#include "tests/cuda/backend_fixture.h"

namespace
{

// Those after which nothing of the device can be used, by the words of cuda.h; and a driver that
// was shut down, and a device that was reset.
const fr_cu_result ends[] = {226, 700, 702, 714, 715, 716, 717, 718, 719, 721, 810, 911, 4, 709};

bool IsEnd(fr_cu_result result)
{
    return std::find(std::begin(ends), std::end(ends), result) != std::end(ends);
}

class Faults : public BackendTest
{
  protected:
    // Everything anew.
    void Again()
    {
        TearDown();
        entry = {};
        for (fr_device *&device : devices)
            device = nullptr;
        SetUp();
    }
};

TEST_F(Faults, EachAnswerIsOfOneKind)
{
    reports_are_meant = true; // an event that was not recorded; what a dead device keeps
    const fr_cu_result all[] = {
#define NUMBER(number, name) number,
        FR_CUDA_RESULTS(NUMBER)
#undef NUMBER
            12345};
    for (fr_cu_result result : all) {
        if (result == FR_CU_SUCCESS)
            continue;
        SCOPED_TRACE(result);
        for (bool has_users_handle : {false, true}) {
            fr_device_stream stream = Stream();
            fr_device_event event = Event();
            bool handle =
                result == 1 || result == 201 || result == 400 || (result >= 900 && result <= 908);
            // A client's event may be of a device that has ended: this one is asked.
            if (IsEnd(result) && has_users_handle) {
                ASSERT_TRUE(fr_sim_fail_call("cuMemGetInfo", 1, result));
            }
            fr_device_fault_kind kind = IsEnd(result)                ? FR_DEVICE_DEAD
                                        : result == 2                ? FR_DEVICE_MEMORY
                                        : handle && has_users_handle ? FR_DEVICE_REFUSED
                                                                     : FR_DEVICE_FAILED;
            ASSERT_TRUE(fr_sim_fail_call("cuEventRecord", 1, result));
            EXPECT_FALSE(has_users_handle ? table->record_client(stream, event.handle, &fault)
                                          : table->record(stream, event, &fault));
            ExpectFault(kind, "cuEventRecord answered " + std::to_string(result));
            EXPECT_EQ(fault.code, (int32_t)result);
            const char *name = fr_cuda_error_name(result);
            ExpectFault(kind, name ? name : "");
            EXPECT_EQ(table->record(stream, event, &fault), kind != FR_DEVICE_DEAD);
            Again();
        }
    }
}

TEST_F(Faults, ALookThatFailsIsNoEndOfTheWork)
{
    fr_device_stream stream = Stream();
    fr_device_event event = Event();
    BACKEND_OK(table->record(stream, event, &fault));
    for (fr_cu_result result : {1u, 2u, 400u, 500u, 900u, 999u}) {
        ASSERT_TRUE(fr_sim_fail_call("cuEventQuery", 1, result));
        EXPECT_EQ(table->look(event, &fault), FR_EVENT_PENDING);
        ASSERT_TRUE(fr_sim_fail_call("cuEventQuery", 1, result));
        EXPECT_EQ(table->look_client(devices[0], event.handle, &fault), FR_EVENT_LOST);
        EXPECT_EQ(fault.code, (int32_t)result);
    }
    Finish(stream);
    EXPECT_EQ(table->look(event, &fault), FR_EVENT_DONE);
    table->event_end(event);
    table->stream_end(stream);
}

// Section: the end of a device.

class Dead : public Faults, public ::testing::WithParamInterface<fr_cu_result>
{
  protected:
    fr_device_stream stream = {}, there = {};
    fr_device_event event = {}, before = {}, there_event = {};
    fr_device *again = nullptr;
    uint64_t memory = 0;
    void *pinned = nullptr;

    void SetUp() override
    {
        Faults::SetUp();
        reports_are_meant = true; // nothing of the dead device can be freed
        fr_device_entry other = {};
        BACKEND_OK(table->open(1, &devices[1], &fault));
        BACKEND_OK(table->enter(devices[1], &other, &fault));
        BACKEND_OK(table->stream_make(devices[1], &there, &fault));
        BACKEND_OK(table->event_make(devices[1], &there_event, &fault));
        table->leave(&other);
        stream = Stream();
        event = Event();
        before = Event();
        memory = Memory(stream, 64);
        pinned = Pinned(64);
        table->unpin(devices[0], Pinned(64), 64); // is kept, but not for a dead device
        BACKEND_OK(table->record(stream, before, &fault));
        Finish(stream);
        Kill();
    }

    void Kill()
    {
        bool is_of_a_call = GetParam() == FR_CU_ERROR_DEINITIALIZED ||
                            GetParam() == FR_CU_ERROR_CONTEXT_IS_DESTROYED;
        if (is_of_a_call) {
            ASSERT_TRUE(fr_sim_fail_call("cuEventQuery", 1, GetParam()));
        } else {
            fr_sim_fail_operation(0, 1, GetParam());
        }
        // The driver may say so from the call that makes the work run, too.
        if (table->fill(stream, memory, 1, 64, &fault) && table->record(stream, event, &fault)) {
            fr_device_event_state state;
            while ((state = table->look(event, &fault)) == FR_EVENT_PENDING)
                ;
            EXPECT_EQ(state, FR_EVENT_LOST);
        }
        ExpectFault(FR_DEVICE_DEAD, std::to_string(GetParam()));
    }

    void ExpectDead(const std::function<bool()> &call)
    {
        fault = {};
        EXPECT_FALSE(call());
        ExpectFault(FR_DEVICE_DEAD, std::to_string(GetParam()));
    }
};

TEST_P(Dead, EachCallAnswersTheSameWithoutTheDriver)
{
    fr_device_entry other = {};
    fr_device_stream none = {};
    fr_device_event no_event = {};
    fr_address here = On(0, memory), host = Host(pinned);
    fr_pointer pointer = {};
    fr_row_move move = {};
    fr_strided_copy strided = {};
    uint64_t more = 0, calls = fr_sim_calls(nullptr);
    const std::function<bool()> dead[] = {
        [&] { return table->open(0, &again, &fault); },
        [&] { return table->enter(devices[0], &other, &fault); },
        [&] { return table->allocate(stream, 64, &more, &fault); },
        [&] { return table->pin(devices[0], 64, &pinned, &fault); },
        [&] { return table->describe(devices[0], pinned, &pointer, &fault); },
        [&] { return table->stream_make(devices[0], &none, &fault); },
        [&] { return table->stream_of_client(devices[0], 1, &none, &fault); },
        [&] { return table->event_make(devices[0], &no_event, &fault); },
        [&] { return table->record(stream, event, &fault); },
        [&] { return table->wait(stream, there_event, &fault); },
        [&] { return table->look(before, &fault) != FR_EVENT_LOST; },
        [&] { return table->look_client(devices[0], event.handle, &fault) != FR_EVENT_LOST; },
        [&] { return table->record_client(stream, event.handle, &fault); },
        [&] { return table->wait_client(stream, event.handle, &fault); },
        [&] { return table->copy(stream, here, host, 64, &fault); },
        [&] { return table->fill(stream, memory, 1, 64, &fault); },
        [&] { return table->move_rows(stream, &move, &fault); },
        [&] { return table->copy_strided(stream, &strided, &fault); }};
    for (const std::function<bool()> &call : dead)
        ExpectDead(call);
    EXPECT_FALSE(table->stream_is_idle(stream)); // which says nothing of why
    table->release(stream, memory, 64);
    table->unpin(devices[0], pinned, 64);
    table->event_end(event);
    table->stream_end(stream);
    EXPECT_EQ(fr_sim_calls(nullptr), calls);
}

TEST_P(Dead, TheOtherDeviceWorks)
{
    fr_device_entry other = {};
    BACKEND_OK(table->enter(devices[1], &other, &fault));
    BACKEND_OK(table->record(there, there_event, &fault));
    Finish(there);
    table->event_end(there_event);
    table->stream_end(there);
    table->leave(&other);
}

TEST_P(Dead, ItStaysSoWhenTheLastOneHasClosedIt)
{
    table->leave(&entry);
    entry = {};
    table->close(devices[0]);
    devices[0] = nullptr;
    ExpectDead([&] { return table->open(0, &again, &fault); });
}

INSTANTIATE_TEST_SUITE_P(Code, Dead, ::testing::ValuesIn(ends));

class Peers : public Faults
{
  protected:
    fr_device_entry second = {};
    fr_device_stream stream = {}, there = {};
    uint64_t source = 0, target = 0;

    void SetUp() override
    {
        Faults::SetUp();
        reports_are_meant = true; // nothing of a dead device can be freed
        stream = Stream();
        source = Memory(stream, 64);
        Finish(stream);
        BACKEND_OK(table->open(1, &devices[1], &fault));
        BACKEND_OK(table->enter(devices[1], &second, &fault));
        BACKEND_OK(table->stream_make(devices[1], &there, &fault));
        BACKEND_OK(table->allocate(there, 64, &target, &fault));
    }

    void TearDown() override
    {
        table->leave(&second);
        Faults::TearDown();
    }

    bool Copy()
    {
        return table->copy(there, On(1, target), On(0, source), 64, &fault);
    }
};

TEST_F(Peers, ACopyThatTheOtherDevicesEndFailsIsNoEndOfThisOne)
{
    ASSERT_TRUE(fr_sim_fail_call("cuMemcpyPeerAsync", 1, FR_CU_ERROR_ILLEGAL_ADDRESS));
    EXPECT_FALSE(Copy());
    ExpectFault(FR_DEVICE_FAILED, "CUDA device 0");
    EXPECT_FALSE(Copy()) << "without the driver";
    ExpectFault(FR_DEVICE_FAILED, "CUDA device 0");
    EXPECT_EQ(fr_sim_calls("cuMemcpyPeerAsync"), 1u);
    EXPECT_TRUE(table->fill(there, target, 1, 64, &fault)) << fault.text;
    EXPECT_FALSE(table->fill(stream, source, 1, 64, &fault));
    ExpectFault(FR_DEVICE_DEAD, "CUDA device 0");
}

TEST_F(Peers, AWaitThatTheOtherDevicesEndFailsIsNoEndOfThisOne)
{
    fr_device_event event = Event();
    ASSERT_TRUE(fr_sim_fail_call("cuStreamWaitEvent", 1, FR_CU_ERROR_ILLEGAL_ADDRESS));
    EXPECT_FALSE(table->wait(there, event, &fault));
    ExpectFault(FR_DEVICE_FAILED, "CUDA device 0");
    EXPECT_FALSE(table->wait(there, event, &fault)) << "without the driver";
    ExpectFault(FR_DEVICE_FAILED, "CUDA device 0");
    EXPECT_EQ(fr_sim_calls("cuStreamWaitEvent"), 1u);
    EXPECT_TRUE(table->fill(there, target, 1, 64, &fault)) << fault.text;
}

TEST_F(Peers, AClientsHandleOfADeviceThatHasEndedIsRefused)
{
    fr_device_stream none = {};
    fr_device_event event = Event();
    ASSERT_TRUE(fr_sim_fail_call("cuStreamWaitEvent", 1, FR_CU_ERROR_ILLEGAL_ADDRESS));
    EXPECT_FALSE(table->wait_client(there, event.handle, &fault));
    ExpectFault(FR_DEVICE_REFUSED, "700");
    ASSERT_TRUE(fr_sim_fail_call("cuEventQuery", 1, FR_CU_ERROR_ILLEGAL_ADDRESS));
    EXPECT_EQ(table->look_client(devices[1], event.handle, &fault), FR_EVENT_LOST);
    ExpectFault(FR_DEVICE_REFUSED, "700");
    ASSERT_TRUE(fr_sim_fail_call("cuStreamIsCapturing", 1, FR_CU_ERROR_ILLEGAL_ADDRESS));
    EXPECT_FALSE(table->stream_of_client(devices[1], stream.handle, &none, &fault));
    ExpectFault(FR_DEVICE_REFUSED, "700");
    EXPECT_TRUE(table->fill(there, target, 1, 64, &fault)) << fault.text;
}

TEST_F(Peers, ACopyThatThisDevicesEndFailsIsNoEndOfTheOther)
{
    ASSERT_TRUE(fr_sim_fail_call("cuMemcpyPeerAsync", 1, FR_CU_ERROR_ILLEGAL_ADDRESS));
    ASSERT_TRUE(fr_sim_fail_call("cuMemGetInfo", 1, FR_CU_ERROR_ILLEGAL_ADDRESS));
    EXPECT_FALSE(Copy());
    ExpectFault(FR_DEVICE_DEAD, "CUDA device 1");
    EXPECT_FALSE(table->fill(there, target, 1, 64, &fault));
    fr_device_entry first = {};
    BACKEND_OK(table->enter(devices[0], &first, &fault));
    EXPECT_TRUE(table->fill(stream, source, 1, 64, &fault)) << fault.text;
    table->leave(&first);
}

// Section: what is not there.

class Absent : public ::testing::Test
{
  protected:
    const fr_device_table *table = fr_device_provider;
    fr_device_fault fault = {};
    fr_sim_options options = fr_sim_default_options();

    void TearDown() override
    {
        EXPECT_TRUE(fr_cuda_use_driver(nullptr));
        fr_sim_close();
    }

    void ExpectNone(const char *why)
    {
        fr_device *none = nullptr;
        fr_sim_open(&options);
        ASSERT_TRUE(fr_cuda_use_driver(fr_sim_driver()));
        for (int i = 0; i < 2; i++) {
            fault = {};
            EXPECT_EQ(table->count(&fault), 0u);
            EXPECT_EQ(fault.kind, FR_DEVICE_ABSENT);
            EXPECT_NE(std::string(fault.text).find(why), std::string::npos) << fault.text;
        }
        EXPECT_FALSE(table->open(0, &none, &fault));
        EXPECT_EQ(fault.kind, FR_DEVICE_ABSENT);
    }
};

TEST_F(Absent, NoDevicesIsNoCuda)
{
    options.device_count = 0;
    ExpectNone("100 CUDA_ERROR_NO_DEVICE");
}

TEST_F(Absent, ADriverThatCannotStartIsNoCuda)
{
    options.init_result = FR_CU_ERROR_UNKNOWN;
    ExpectNone("999 CUDA_ERROR_UNKNOWN");
}

TEST_F(Absent, AnOldDriverIsNoCuda)
{
    options.driver_version = 11080;
    ExpectNone("11080");
}

TEST_F(Absent, CountingMakesNoContext)
{
    fr_sim_open(&options);
    ASSERT_TRUE(fr_cuda_use_driver(fr_sim_driver()));
    EXPECT_EQ(table->count(&fault), 2u);
    EXPECT_EQ(fr_sim_calls("cuDevicePrimaryCtxRetain"), 0u);
    EXPECT_EQ(fr_sim_check_leaks(false), 0u);
}

// Section: devices and drivers that lack something. Their table is the simulator's but for one
// entry.

fr_cu_result NoPools(int *value, fr_cu_device_attribute attribute, fr_cu_device device)
{
    fr_cu_result result = fr_sim_driver()->cuDeviceGetAttribute(value, attribute, device);
    if (attribute == FR_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
        *value = 0;
    return result;
}

fr_cu_result NoUnifiedAddresses(int *value, fr_cu_device_attribute attribute, fr_cu_device device)
{
    fr_cu_result result = fr_sim_driver()->cuDeviceGetAttribute(value, attribute, device);
    if (attribute == FR_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)
        *value = 0;
    return result;
}

TEST_F(Absent, ADeviceWithoutPoolsOrUnifiedAddressesIsNotUsed)
{
    const struct {
        fr_cuDeviceGetAttribute_v2000 attribute;
        const char *why;
    } lacking[] = {{NoPools, "memory pools"}, {NoUnifiedAddresses, "unified addresses"}};
    for (const auto &lack : lacking) {
        fr_sim_open(&options);
        fr_cuda_driver driver = *fr_sim_driver();
        driver.cuDeviceGetAttribute = lack.attribute;
        ASSERT_TRUE(fr_cuda_use_driver(&driver));
        fr_device *none = nullptr;
        EXPECT_FALSE(table->open(0, &none, &fault));
        EXPECT_EQ(fault.kind, FR_DEVICE_FAILED);
        EXPECT_NE(std::string(fault.text).find(lack.why), std::string::npos) << fault.text;
        EXPECT_EQ(fr_sim_check_leaks(true), 0u);
    }
}

uint32_t loads, refused_loads;
fr_cu_result refusal;

fr_cu_result RefusesSomeImages(fr_cu_module *module, const void *image, unsigned int count,
                               fr_cu_jit_option *options, void **values)
{
    if (loads++ < refused_loads)
        return refusal;
    return fr_sim_driver()->cuModuleLoadDataEx(module, image, count, options, values);
}

// A driver that is older than the fat binary's compiler takes the text.
TEST_F(Absent, AnImageThatTheDriverCannotUseLeavesItToTheNext)
{
    for (fr_cu_result result : {200u, 209u, 218u, 222u, 999u}) {
        for (uint32_t refused = 0; refused <= fr_cuda_image_count; refused++) {
            SCOPED_TRACE(std::to_string(result) + " to " + std::to_string(refused) + " images");
            fr_sim_open(&options);
            fr_cuda_driver driver = *fr_sim_driver();
            driver.cuModuleLoadDataEx = RefusesSomeImages;
            ASSERT_TRUE(fr_cuda_use_driver(&driver));
            loads = 0;
            refused_loads = refused;
            refusal = result;
            fr_device *device = nullptr;
            bool goes_on = refused < fr_cuda_image_count && (refused == 0 || result != 999);
            EXPECT_EQ(table->open(0, &device, &fault), goes_on) << fault.text;
            EXPECT_EQ(loads, result == 999 ? 1 : std::min(refused + 1, fr_cuda_image_count));
            if (goes_on)
                table->close(device);
            else
                EXPECT_NE(std::string(fault.text).find("cuModuleLoadDataEx"), std::string::npos);
            fr_cuda_give_back();
            EXPECT_EQ(fr_sim_check_leaks(true), 0u);
        }
    }
}

uint32_t trims, trims_needed;

fr_cu_result AllocatesOnceTrimmed(fr_cu_device_ptr *address, size_t size_bytes,
                                  fr_cu_memory_pool pool, fr_cu_stream stream)
{
    if (trims < trims_needed)
        return FR_CU_ERROR_OUT_OF_MEMORY;
    return fr_sim_driver()->cuMemAllocFromPoolAsync(address, size_bytes, pool, stream);
}

fr_cu_result CountsTrims(fr_cu_memory_pool pool, size_t keep_bytes)
{
    trims++;
    return fr_sim_driver()->cuMemPoolTrimTo(pool, keep_bytes);
}

// What the pool holds in pieces that are too small goes back to the system for a larger one.
TEST_F(Absent, MemoryThatThePoolHoldsIsGivenBackForMore)
{
    fr_sim_open(&options);
    fr_cuda_driver driver = *fr_sim_driver();
    driver.cuMemAllocFromPoolAsync = AllocatesOnceTrimmed;
    driver.cuMemPoolTrimTo = CountsTrims;
    ASSERT_TRUE(fr_cuda_use_driver(&driver));
    fr_device *device = nullptr;
    fr_device_entry entry = {};
    fr_device_stream stream = {};
    uint64_t memory = 0;
    BACKEND_OK(table->open(0, &device, &fault));
    BACKEND_OK(table->enter(device, &entry, &fault));
    BACKEND_OK(table->stream_make(device, &stream, &fault));
    trims = 0;
    trims_needed = 1;
    BACKEND_OK(table->allocate(stream, 1000, &memory, &fault));
    table->release(stream, memory, 1000);
    trims_needed = 3;
    EXPECT_FALSE(table->allocate(stream, 1000, &memory, &fault));
    EXPECT_EQ(trims, 2u);
    EXPECT_EQ(fault.kind, FR_DEVICE_MEMORY);
    EXPECT_NE(std::string(fault.text).find("1000 bytes"), std::string::npos) << fault.text;
    table->stream_end(stream);
    table->leave(&entry);
    table->close(device);
    EXPECT_TRUE(fr_sim_drain());
    fr_cuda_give_back();
    EXPECT_EQ(fr_sim_check_leaks(true), 0u);
}

} // namespace
