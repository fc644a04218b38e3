// What CUDA itself promises of memory, copies, pools, captures and kernels; see contract_test.cc.
#include "tests/cuda/contract_fixture.h"

namespace
{

// Section: memory and copies.

TEST_F(Contract, NoMemoryOfNoSize)
{
    fr_cu_device_ptr address = 0;
    EXPECT_EQ(cu->cuMemAlloc(&address, 0), bad_value);
    EXPECT_EQ(cu->cuMemFree(0), 0u);
    EXPECT_EQ(cu->cuMemcpyHtoDAsync(Memory(4), &address, 0, Stream()), 0u);
}

TEST_F(Contract, CopiesAndFillsOfAllKinds)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr first = Memory(64), second = Memory(64);
    uint8_t in[64], out[64] = {};
    for (int i = 0; i < 64; i++)
        in[i] = (uint8_t)(3 * i + 1);
    OK(cu->cuMemcpyHtoDAsync(first, in, 64, a));
    OK(cu->cuMemcpyDtoDAsync(second, first, 64, a));
    OK(cu->cuMemsetD16Async(second + 8, 0x1234, 2, a));
    OK(cu->cuMemsetD32Async(second + 16, 0x89abcdef, 1, a));
    OK(cu->cuMemsetD8Async(second + 63, 0x55, 1, a));
    OK(cu->cuMemcpyAsync((uintptr_t)out, second, 64, a)); // the direction is inferred
    OK(cu->cuStreamSynchronize(a));
    const uint8_t changed[] = {0x34, 0x12, 0x34, 0x12}, word[] = {0xef, 0xcd, 0xab, 0x89};
    EXPECT_EQ(std::memcmp(out, in, 8), 0);
    EXPECT_EQ(std::memcmp(out + 8, changed, 4), 0);
    EXPECT_EQ(std::memcmp(out + 12, in + 12, 4), 0);
    EXPECT_EQ(std::memcmp(out + 16, word, 4), 0);
    EXPECT_EQ(out[62], in[62]);
    EXPECT_EQ(out[63], 0x55);
}

TEST_F(Contract, CopiesOfRowsHaveOffsetsAndPitches)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr rows = Memory(64);
    uint8_t in[30], out[64] = {};
    for (int i = 0; i < 30; i++)
        in[i] = (uint8_t)i;
    OK(cu->cuMemsetD8Async(rows, 0xff, 64, a));
    fr_cu_copy_2d copy = {};
    copy.src_type = FR_CU_MEMORYTYPE_HOST;
    copy.src_host = in;
    copy.src_pitch = 10;
    copy.src_x_bytes = 1;
    copy.src_y = 1;
    copy.dst_type = FR_CU_MEMORYTYPE_DEVICE;
    copy.dst_device = rows;
    copy.dst_pitch = 16;
    copy.dst_x_bytes = 2;
    copy.width_bytes = 4;
    copy.height = 2;
    OK(cu->cuMemcpy2DAsync(&copy, a));
    OK(cu->cuMemcpyDtoHAsync(out, rows, 64, a));
    OK(cu->cuStreamSynchronize(a));
    EXPECT_EQ(out[1], 0xff);
    EXPECT_EQ(out[2], 11);
    EXPECT_EQ(out[5], 14);
    EXPECT_EQ(out[6], 0xff);
    EXPECT_EQ(out[18], 21);
}

TEST_F(Contract, HostToHostIsDoneWhenTheCallReturns)
{
    char in[8] = "pattern", out[8] = "";
    OK(cu->cuMemcpyAsync((uintptr_t)out, (uintptr_t)in, 8, Stream()));
    EXPECT_STREQ(out, "pattern");
}

TEST_F(Contract, PeerCopyWorksWithAndWithoutAccess)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr here = Memory(64), there = 0;
    OK(cu->cuMemsetD8Async(here, 7, 64, a));
    OK(cu->cuStreamSynchronize(a));
    fr_cu_context to = other ? other : context; // one device: to itself
    OK(cu->cuCtxSetCurrent(to));
    OK(cu->cuMemAlloc(&there, 64));
    fr_cu_stream b = nullptr;
    OK(cu->cuStreamCreateWithPriority(&b, FR_CU_STREAM_NON_BLOCKING, 0));
    OK(cu->cuMemcpyPeerAsync(there, to, here, context, 64, b));
    EXPECT_EQ(Byte(there + 63, b), 7);
    OK(cu->cuStreamDestroy(b));
    OK(cu->cuMemFree(there));
    OK(cu->cuCtxSetCurrent(context));
}

TEST_F(Contract, PinnedMemoryIsRegisteredOnceAndByItsBase)
{
    std::vector<char> block(16384);
    char *page = block.data() + (4096 - (uintptr_t)block.data() % 4096);
    const fr_cu_result already = FR_CU_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    const fr_cu_result unknown = FR_CU_ERROR_HOST_MEMORY_NOT_REGISTERED;
    OK(cu->cuMemHostRegister(page, 8192, FR_CU_MEMHOSTREGISTER_PORTABLE));
    EXPECT_EQ(cu->cuMemHostRegister(page, 8192, FR_CU_MEMHOSTREGISTER_PORTABLE), already);
    OK(cu->cuMemHostUnregister(page));
    EXPECT_EQ(cu->cuMemHostUnregister(page), unknown);
    void *pinned = nullptr;
    OK(cu->cuMemHostAlloc(&pinned, 4096, FR_CU_MEMHOSTALLOC_PORTABLE));
    fr_cu_device_ptr address = 0;
    OK(cu->cuMemHostGetDevicePointer(&address, pinned, 0));
    EXPECT_EQ(address, (uintptr_t)pinned) << "one address space";
    OK(cu->cuMemFreeHost(pinned));
}

TEST_F(Contract, OneCallTellsWhatAPointerIs)
{
    int plain = 0, ordinal = 9;
    unsigned int type = 9, managed = 9;
    EXPECT_EQ(
        cu->cuPointerGetAttribute(&type, FR_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&plain),
        bad_value);
    fr_cu_pointer_attribute which[] = {FR_CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       FR_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                       FR_CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *values[] = {&type, &ordinal, &managed};
    OK(cu->cuPointerGetAttributes(3, which, values, (uintptr_t)&plain));
    EXPECT_EQ(type, 0u) << "memory that CUDA does not know is no error here";
    OK(cu->cuPointerGetAttributes(3, which, values, Memory(64) + 63));
    EXPECT_EQ(type, (unsigned)FR_CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(ordinal, 0);
    EXPECT_EQ(managed, 0u);
}

// Section: pools.

TEST_F(Contract, PoolsOfADevice)
{
    fr_cu_stream a = Stream();
    fr_cu_pool_properties properties = {};
    properties.allocation_type = FR_CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {FR_CU_MEM_LOCATION_TYPE_DEVICE, 0};
    fr_cu_memory_pool pool = nullptr;
    OK(cu->cuMemPoolCreate(&pool, &properties));
    for (unsigned int i = 0; i < 3; i++) {
        int on = 0, off = 0;
        fr_cu_pool_attribute which = FR_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES + i;
        OK(cu->cuMemPoolGetAttribute(pool, which, &on));
        EXPECT_EQ(on, 1) << which;
        OK(cu->cuMemPoolSetAttribute(pool, which, &off));
    }
    uint64_t threshold = 1, used = 0;
    OK(cu->cuMemPoolGetAttribute(pool, FR_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    EXPECT_EQ(threshold, 0u);
    threshold = UINT64_MAX;
    OK(cu->cuMemPoolSetAttribute(pool, FR_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    fr_cu_device_ptr address = 0, again = 0;
    OK(cu->cuMemAllocFromPoolAsync(&address, 4096, pool, a));
    fr_cu_context of = context;
    OK(cu->cuPointerGetAttribute(&of, FR_CU_POINTER_ATTRIBUTE_CONTEXT, address));
    EXPECT_EQ(of, nullptr) << "memory of a pool belongs to no context";
    OK(cu->cuMemPoolGetAttribute(pool, FR_CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    EXPECT_GE(used, 4096u);
    OK(cu->cuMemsetD8Async(address, 7, 4096, a));
    EXPECT_EQ(Byte(address + 4095, a), 7);
    OK(cu->cuMemFreeAsync(address, a));
    OK(cu->cuMemAllocFromPoolAsync(&again, 4096, pool, a));
    EXPECT_EQ(again, address) << "its own stream gets it again at once";
    OK(cu->cuMemFreeAsync(again, a));
    OK(cu->cuStreamSynchronize(a));
    OK(cu->cuMemPoolGetAttribute(pool, FR_CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    EXPECT_EQ(used, 0u);
    OK(cu->cuMemPoolTrimTo(pool, 0));
    OK(cu->cuMemPoolDestroy(pool));
}

// Section: work that stalls, and calls that do not wait for it. What the driver says of
// cuStreamDestroy, cuEventDestroy, cuMemFreeAsync, and of cuMemPoolDestroy while something is in
// use; the stage counts on the others all the same.

TEST_F(Contract, AStalledStreamHoldsNobodyUp)
{
    fr_cu_stream stalled = Stream(), own = nullptr;
    fr_cu_event event = nullptr;
    fr_cu_pool_properties properties = {};
    properties.allocation_type = FR_CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {FR_CU_MEM_LOCATION_TYPE_DEVICE, 0};
    fr_cu_memory_pool idle = nullptr, used = nullptr;
    fr_cu_device_ptr address = 0, again = 0, theirs = Memory(64);
    fr_cu_context more = nullptr;
    void *pinned = nullptr;
    OK(cu->cuMemPoolCreate(&idle, &properties));
    OK(cu->cuMemPoolCreate(&used, &properties));
    OK(cu->cuStreamCreateWithPriority(&own, FR_CU_STREAM_NON_BLOCKING, 0));
    OK(cu->cuMemAllocFromPoolAsync(&address, 4096, idle, own));
    OK(cu->cuMemFreeAsync(address, own));
    OK(cu->cuMemAllocFromPoolAsync(&address, 4096, used, own));
    OK(cu->cuStreamSynchronize(own));
    Gate *gate = Hold(stalled);
    OK(cu->cuMemsetD8Async(theirs, 1, 64, stalled));
    const struct {
        const char *what;
        std::function<fr_cu_result()> call;
    } calls[] = {
        {"cuEventCreate", [&] { return cu->cuEventCreate(&event, FR_CU_EVENT_DISABLE_TIMING); }},
        {"cuEventRecord", [&] { return cu->cuEventRecord(event, stalled); }},
        {"cuEventDestroy of one that is pending", [&] { return cu->cuEventDestroy(event); }},
        {"cuMemPoolTrimTo", [&] { return cu->cuMemPoolTrimTo(idle, 0); }},
        {"cuMemAllocFromPoolAsync",
         [&] { return cu->cuMemAllocFromPoolAsync(&again, 4096, used, own); }},
        {"cuMemFreeAsync", [&] { return cu->cuMemFreeAsync(again, own); }},
        {"cuMemFreeAsync of the last", [&] { return cu->cuMemFreeAsync(address, own); }},
        {"cuStreamDestroy", [&] { return cu->cuStreamDestroy(own); }},
        {"cuMemPoolDestroy of one that is in use", [&] { return cu->cuMemPoolDestroy(used); }},
        {"cuMemPoolDestroy", [&] { return cu->cuMemPoolDestroy(idle); }},
        {"cuMemHostAlloc",
         [&] { return cu->cuMemHostAlloc(&pinned, 4096, FR_CU_MEMHOSTALLOC_PORTABLE); }},
        {"cuDevicePrimaryCtxRetain", [&] { return cu->cuDevicePrimaryCtxRetain(&more, 0); }},
        {"cuDevicePrimaryCtxRelease, not of the last",
         [&] { return cu->cuDevicePrimaryCtxRelease(0); }}};
    for (const auto &call : calls) {
        fr_cu_result result = FR_CU_ERROR_UNKNOWN;
        EXPECT_TRUE(gate->IsClosedAfter([&] { result = call.call(); })) << call.what << " waits";
        EXPECT_EQ(result, 0u) << call.what;
    }
    gate->Open();
    OK(cu->cuStreamSynchronize(stalled));
    OK(cu->cuMemFreeHost(pinned));
}

// Section: capture.

TEST_F(Contract, AGlobalCaptureForbidsUnsafeCallsElsewhere)
{
    fr_cu_stream a = Stream();
    fr_cu_graph graph = nullptr;
    fr_cu_capture_status status = 9;
    OK(cu->cuStreamIsCapturing(a, &status));
    EXPECT_EQ(status, (unsigned)FR_CU_CAPTURE_STATUS_NONE);
    OK(cu->cuStreamBeginCapture(a, FR_CU_CAPTURE_MODE_GLOBAL));
    OK(cu->cuStreamIsCapturing(a, &status));
    EXPECT_EQ(status, (unsigned)FR_CU_CAPTURE_STATUS_ACTIVE);
    fr_cu_result relaxed = 9, global = 0;
    std::thread([&] {
        fr_cu_device_ptr address = 0;
        fr_cu_capture_mode mode = FR_CU_CAPTURE_MODE_RELAXED;
        EXPECT_EQ(cu->cuCtxSetCurrent(context), 0u);
        EXPECT_EQ(cu->cuThreadExchangeStreamCaptureMode(&mode), 0u);
        EXPECT_EQ(mode, (unsigned)FR_CU_CAPTURE_MODE_GLOBAL) << "the mode of a new thread";
        relaxed = cu->cuMemAlloc(&address, 64);
        EXPECT_EQ(cu->cuMemFree(address), 0u);
        EXPECT_EQ(cu->cuThreadExchangeStreamCaptureMode(&mode), 0u);
        global = cu->cuMemAlloc(&address, 64);
    }).join();
    EXPECT_EQ(relaxed, 0u);
    EXPECT_EQ(global, (fr_cu_result)FR_CU_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cu->cuStreamEndCapture(a, &graph),
              (fr_cu_result)FR_CU_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Contract, AWaitForACapturedEventDrawsTheStreamIn)
{
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_event event = Event(), back = Event();
    fr_cu_graph graph = nullptr;
    fr_cu_capture_status status = 9;
    OK(cu->cuStreamBeginCapture(a, FR_CU_CAPTURE_MODE_RELAXED));
    OK(cu->cuEventRecord(event, a));
    OK(cu->cuStreamWaitEvent(b, event, 0));
    OK(cu->cuStreamIsCapturing(b, &status));
    EXPECT_EQ(status, (unsigned)FR_CU_CAPTURE_STATUS_ACTIVE);
    OK(cu->cuEventRecord(back, b));
    OK(cu->cuStreamWaitEvent(a, back, 0));
    OK(cu->cuStreamEndCapture(a, &graph));
    OK(cu->cuGraphDestroy(graph));
    OK(cu->cuStreamIsCapturing(b, &status));
    EXPECT_EQ(status, (unsigned)FR_CU_CAPTURE_STATUS_NONE);
}

// Section: kernels. The image has one that adds a number to n words; the simulator runs the same
// in C.

const char *const add_image = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry fr_contract_add(.param .u64 words, .param .u32 count, .param .u32 value)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [words];
    ld.param.u32 %r1, [count];
    ld.param.u32 %r2, [value];
    cvta.to.global.u64 %d1, %d1;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.u32 %r3, %r3, %r4, %r5;
    setp.ge.u32 %p, %r3, %r1;
    @%p bra DONE;
    mul.wide.u32 %d2, %r3, 4;
    add.u64 %d1, %d1, %d2;
    ld.global.u32 %r6, [%d1];
    add.u32 %r6, %r6, %r2;
    st.global.u32 [%d1], %r6;
DONE:
    ret;
}
)";

class ContractKernel : public Contract
{
  protected:
    fr_cu_module module = nullptr;
    fr_cu_function add = nullptr;

    void SetUp() override
    {
        Contract::SetUp();
        OK(cu->cuModuleLoadDataEx(&module, add_image, 0, nullptr, nullptr));
        OK(cu->cuModuleGetFunction(&add, module, "fr_contract_add"));
    }

    void TearDown() override
    {
        EXPECT_EQ(cu->cuModuleUnload(module), 0u);
        Contract::TearDown();
    }
};

TEST_F(ContractKernel, ArgumentsAreTakenAtTheCall)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr words = Memory(400);
    uint32_t count = 100, value = 5, out[100] = {};
    OK(cu->cuMemsetD32Async(words, 1, 100, a));
    Gate *gate = Hold(a);
    void *arguments[] = {&words, &count, &value};
    OK(cu->cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, a, arguments, nullptr));
    count = value = 0;
    gate->Open();
    OK(cu->cuMemcpyDtoHAsync(out, words, sizeof out, a));
    OK(cu->cuStreamSynchronize(a));
    for (uint32_t word : out)
        ASSERT_EQ(word, 6u);
}

TEST_F(ContractKernel, GridsHaveLimits)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr words = Memory(4);
    uint32_t count = 0, value = 0;
    void *arguments[] = {&words, &count, &value};
    const unsigned int grids[][6] = {{0, 1, 1, 1, 1, 1},
                                     {1, 1, 1, 0, 1, 1},
                                     {1, 65536, 1, 1, 1, 1},
                                     {1, 1, 65536, 1, 1, 1},
                                     {1, 1, 1, 1025, 1, 1}};
    for (const unsigned int *g : grids)
        EXPECT_EQ(
            cu->cuLaunchKernel(add, g[0], g[1], g[2], g[3], g[4], g[5], 0, a, arguments, nullptr),
            bad_value);
    OK(cu->cuLaunchKernel(add, 70000, 1, 1, 1024, 1, 1, 0, a, arguments, nullptr));
    OK(cu->cuStreamSynchronize(a));
}

TEST_F(ContractKernel, FunctionsAreFoundByName)
{
    fr_cu_function function = nullptr;
    int threads = 0;
    EXPECT_EQ(cu->cuModuleGetFunction(&function, module, "fr_no_such_kernel"),
              (fr_cu_result)FR_CU_ERROR_NOT_FOUND);
    OK(cu->cuFuncGetAttribute(&threads, FR_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add));
    EXPECT_GE(threads, 256);
}

} // namespace
