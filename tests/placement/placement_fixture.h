// A client of the placement extension with devices of its own to compute on: the simulated driver
// in each of its orders. C++ only.
#ifndef FR_TESTS_PLACEMENT_FIXTURE_H
#define FR_TESTS_PLACEMENT_FIXTURE_H

#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include "cuda/process.h"
#include "runtime/device/provider.h"
#include "tests/sim/sim_fixture.h"
#include "tests/support/client.h"

struct Order {
    std::string name;
    fr_sim_mode mode;
    uint64_t seed;
};

inline std::ostream &operator<<(std::ostream &stream, const Order &order)
{
    return stream << order.name;
}

inline std::vector<Order> Orders()
{
    if (std::getenv("FR_CUDA_LIBRARY")) // a driver has its own order
        return {{"driver", FR_SIM_EAGER, 1}};
    std::vector<Order> orders = {{"lazy", FR_SIM_LAZY, 1}, {"eager", FR_SIM_EAGER, 1}};
    for (uint64_t seed : SimSeeds(6))
        orders.push_back({"random" + std::to_string(seed), FR_SIM_RANDOM, seed});
    return orders;
}

// Both that the simulator has; of a machine's driver there may be one.
inline int devices_here = 2;

inline void NeedDevice(int32_t device)
{
    if (device < 2 && device >= devices_here)
        NotRunHere("a second device");
}

inline std::string OrderName(const ::testing::TestParamInfo<Order> &info)
{
    return info.param.name;
}

// Kernels of the client. values[k] = first + k, and sum of values into `out`.
inline void ProduceKernel(fr_sim_launch *launch, void **arguments)
{
    fr_cu_device_ptr to;
    uint32_t count;
    float first;
    std::memcpy(&to, arguments[0], sizeof to);
    std::memcpy(&count, arguments[1], sizeof count);
    std::memcpy(&first, arguments[2], sizeof first);
    auto *values = static_cast<float *>(fr_sim_write(launch, to, count * sizeof(float)));
    for (uint32_t k = 0; values && k < count; k++)
        values[k] = first + static_cast<float>(k);
}

inline void SumKernel(fr_sim_launch *launch, void **arguments)
{
    fr_cu_device_ptr from, to;
    uint32_t count;
    std::memcpy(&from, arguments[0], sizeof from);
    std::memcpy(&count, arguments[1], sizeof count);
    std::memcpy(&to, arguments[2], sizeof to);
    const auto *values =
        static_cast<const float *>(fr_sim_read(launch, from, count * sizeof(float)));
    auto *sum = static_cast<float *>(fr_sim_write(launch, to, sizeof(float)));
    if (!values || !sum)
        return;
    *sum = 0;
    for (uint32_t k = 0; k < count; k++)
        *sum += values[k];
}

// A managed tensor of three floats on a device, as a write takes it.
struct ManagedSource {
    int64_t count = 3;
    DLManagedTensorVersioned managed = {};
    const DLManagedTensorVersioned *list[1] = {&managed};
    ovstage_write_data_t data = {};

    ManagedSource(fr_cu_device_ptr memory, void (*deleter)(DLManagedTensorVersioned *),
                  uintptr_t producer)
    {
        managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        managed.deleter = deleter;
        managed.dl_tensor = {reinterpret_cast<void *>(memory),
                             {kDLCUDA, 0},
                             1,
                             {kDLFloat, 32, 1},
                             &count,
                             nullptr,
                             0};
        data.managed_tensors = list;
        data.tensor_count = 1;
        data.cuda_sync.stream = producer;
    }
    ManagedSource(const ManagedSource &) = delete; // it points into itself
    ManagedSource &operator=(const ManagedSource &) = delete;
};

class PlacementTest : public ::testing::TestWithParam<Order>
{
  protected:
    const fr_cuda_driver *cu = nullptr;
    fr_sim_options options = fr_sim_default_options();
    fr_cu_context contexts[2] = {};
    bool reports_are_meant = false; // by the test
    fr_cu_function produce_[2] = {}, sum_[2] = {};

    void SetUp() override
    {
        options.mode = GetParam().mode;
        options.seed = GetParam().seed;
        Open();
    }

    void TearDown() override
    {
        Close();
    }

    // A simulation with `options` as they are.
    void Open()
    {
        const uint32_t produce[] = {8, 4, 4}, sum[] = {8, 4, 8};
        // Named here, so that a library with both providers gives the backend's.
        ASSERT_NE(fr_device_provider, nullptr);
        fr_sim_open(&options);
        ASSERT_TRUE(fr_sim_register_kernel("client_produce", ProduceKernel, 3, produce));
        ASSERT_TRUE(fr_sim_register_kernel("client_sum", SumKernel, 3, sum));
        cu = fr_sim_driver();
        ASSERT_TRUE(fr_cuda_use_driver(cu));
        FR_SIM_OK(cu->cuInit(0));
        FR_SIM_OK(cu->cuDeviceGetCount(&devices_here));
        for (int i = std::min(devices_here, 2) - 1; i >= 0;
             i--) { // the first stays the current one
            fr_cu_module module = nullptr;
            FR_SIM_OK(cu->cuDevicePrimaryCtxRetain(&contexts[i], i));
            FR_SIM_OK(cu->cuCtxSetCurrent(contexts[i]));
            FR_SIM_OK(cu->cuModuleLoadDataEx(&module, ".version 7.0\n", 0, nullptr, nullptr));
            FR_SIM_OK(cu->cuModuleGetFunction(&produce_[i], module, "client_produce"));
            FR_SIM_OK(cu->cuModuleGetFunction(&sum_[i], module, "client_sum"));
        }
        alive_ = fr_sim_check_leaks(false);
        made_ = 0;
        current_ = 0;
    }

    // What the client has made is its own; of the stage nothing is left.
    void Close()
    {
        EXPECT_TRUE(fr_sim_drain());
        fr_cuda_give_back(); // what the process keeps is no stage's
        if (!reports_are_meant) {
            EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
        }
        if (!reports_are_meant) { // of a dead device nothing can be given back
            EXPECT_EQ(fr_sim_check_leaks(false), alive_ + made_);
        }
        fr_sim_close();
        EXPECT_TRUE(fr_cuda_use_driver(nullptr));
    }

    // What is made and launched meanwhile is of that device.
    void MakeCurrent(int32_t device)
    {
        if (device == current_)
            return; // no call for who counts them
        NeedDevice(device);
        EXPECT_EQ(cu->cuCtxSetCurrent(contexts[device]), 0u);
        current_ = device;
    }

    fr_cu_stream Stream(const char *name)
    {
        fr_cu_stream stream = nullptr;
        EXPECT_EQ(cu->cuStreamCreateWithPriority(&stream, FR_CU_STREAM_NON_BLOCKING, 0), 0u);
        fr_sim_name_stream(stream, name);
        made_++;
        return stream;
    }

    fr_cu_event Event()
    {
        fr_cu_event event = nullptr;
        EXPECT_EQ(cu->cuEventCreate(&event, FR_CU_EVENT_DISABLE_TIMING), 0u);
        made_++;
        return event;
    }

    fr_cu_device_ptr Memory(size_t size_bytes, const char *name)
    {
        fr_cu_device_ptr address = 0;
        EXPECT_EQ(cu->cuMemAlloc(&address, size_bytes), 0u);
        fr_sim_name_memory(address, name);
        made_++;
        return address;
    }

    void Produce(fr_cu_stream stream, fr_cu_device_ptr to, uint32_t count, float first)
    {
        void *arguments[] = {&to, &count, &first};
        EXPECT_EQ(cu->cuLaunchKernel(produce_[current_], 1, 1, 1, 64, 1, 1, 0, stream, arguments,
                                     nullptr),
                  0u);
    }

    void Sum(fr_cu_stream stream, fr_cu_device_ptr from, uint32_t count, fr_cu_device_ptr to)
    {
        void *arguments[] = {&from, &count, &to};
        EXPECT_EQ(
            cu->cuLaunchKernel(sum_[current_], 1, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr),
            0u);
    }

    // A float of a device, when the stream's work is done.
    float Value(fr_cu_stream stream, fr_cu_device_ptr from)
    {
        float value = 0;
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(&value, from, sizeof value, stream), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(stream), 0u);
        return value;
    }

    // After one look at it, which runs it where nobody else does.
    static bool IsDone(const client::Stage &stage, ovstage_enqueue_result_t sent)
    {
        ovstage_op_wait_result_t outcome = {};
        ovstage_api_status_t status = ovstage_wait_op(stage.instance, sent.op_index, 0, &outcome);
        EXPECT_EQ(outcome.error_op_id_count, 0u);
        EXPECT_TRUE(status == OVSTAGE_OK || status == OVSTAGE_ERROR_TIMEOUT);
        return status == OVSTAGE_OK;
    }

    static std::vector<std::string> Paths(const std::vector<uint32_t> &numbers,
                                          const std::string &under = "P")
    {
        std::vector<std::string> paths;
        for (uint32_t number : numbers)
            paths.push_back("/" + under + "/" + std::to_string(number));
        return paths;
    }

    static uintptr_t Handle(void *object)
    {
        return reinterpret_cast<uintptr_t>(object);
    }

    static ovstage_placement_t Place(fr_cu_stream stream, fr_cu_event event, int32_t device = 0)
    {
        NeedDevice(device);
        ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;
        placement.device = {kDLCUDA, device};
        placement.stream = Handle(stream);
        placement.availability_event = Handle(event);
        return placement;
    }

    // A column of one float a row, from memory of a device.
    static ovstage_enqueue_result_t Write(const client::Stage &stage, ovstage_query_handle_t query,
                                          ovx_token_t attribute, uint64_t ordinal,
                                          fr_cu_device_ptr from, int64_t count,
                                          ovstage_cuda_sync_t sync,
                                          const ovstage_placement_t *placement, int32_t device = 0)
    {
        DLTensor tensor{reinterpret_cast<void *>(from),
                        {kDLCUDA, device},
                        1,
                        {kDLFloat, 32, 1},
                        &count,
                        nullptr,
                        0};
        ovstage_write_data_t data = {};
        data.tensors = &tensor;
        data.tensor_count = 1;
        data.cuda_sync = sync;
        return ovstage_write_attribute_on_device(stage.instance, query,
                                                 ovx_string_or_token_t{attribute, {}}, ordinal,
                                                 data, OVSTAGE_PRIM_MODE_UPSERT, placement);
    }

    static ovstage_enqueue_result_t Read(const client::Stage &stage, ovstage_query_handle_t query,
                                         ovx_token_t attribute, uint64_t ordinal,
                                         const ovstage_placement_t *placement,
                                         ovstage_read_handle_t *out)
    {
        return ovstage_read_attributes_on_device(stage.instance, query, &attribute, 1,
                                                 {0, ordinal, false}, placement, out);
    }

    // So much more is left at the end, as the test means it to be.
    void Leave(uint64_t count)
    {
        made_ += count;
    }

  private:
    uint64_t alive_ = 0, made_ = 0;
    int32_t current_ = 0; // the device
};

#define PLACEMENT_ORDERS(suite) \
    INSTANTIATE_TEST_SUITE_P(Orders, suite, ::testing::ValuesIn(Orders()), OrderName)

#endif
