// Memory of devices and of the host, copies, peers, and what a pointer is, rule by rule.
#include "tests/sim/sim_fixture.h"

namespace
{

const fr_cu_result bad_value = FR_CU_ERROR_INVALID_VALUE;

class SimMemory : public Sim
{
};

class SimMemoryDeathTest : public SimMemory
{
};

// Section: the host cannot touch it.

TEST_F(SimMemoryDeathTest, HostReadAndWriteFaultWithTheAllocationsName)
{
    fr_cu_device_ptr memory = Memory(64, "cells");
    volatile char *bytes = reinterpret_cast<volatile char *>(memory);
    EXPECT_DEATH((void)bytes[3], "host code touched memory of device 0.*'cells'");
    EXPECT_DEATH(bytes[3] = 1, "host code touched memory of device 0");
}

TEST_F(SimMemoryDeathTest, FreedMemoryIsStillNotTheHosts)
{
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemFree(memory));
    volatile char *bytes = reinterpret_cast<volatile char *>(memory);
    EXPECT_DEATH((void)bytes[0], "host code touched memory of device 0");
}

// Section: allocating.

TEST_F(SimMemory, SizesAreChecked)
{
    fr_cu_device_ptr memory = 1;
    EXPECT_EQ(cu->cuMemAlloc(&memory, 0), bad_value);
    EXPECT_EQ(cu->cuMemAlloc(nullptr, 8), bad_value);
    EXPECT_EQ(cu->cuMemFree(0), 0u);
    EXPECT_EQ(cu->cuMemFree(Memory(64) + 8), bad_value);
}

TEST_F(SimMemory, TheLimitIsKept)
{
    options.memory_bytes = 1 << 20;
    Open();
    size_t free_bytes = 0, total_bytes = 0;
    FR_SIM_OK(cu->cuMemGetInfo(&free_bytes, &total_bytes));
    EXPECT_EQ(free_bytes, 1u << 20);
    fr_cu_device_ptr half = Memory(1 << 19), more = 0;
    const fr_cu_result none = FR_CU_ERROR_OUT_OF_MEMORY;
    EXPECT_EQ(cu->cuMemAlloc(&more, (1 << 19) + 1), none);
    FR_SIM_OK(cu->cuMemFree(half));
    EXPECT_EQ(cu->cuMemAlloc(&more, (1 << 19) + 1), 0u);
    EXPECT_EQ(fr_sim_memory_used(0), (1u << 19) + 256);
}

TEST_F(SimMemory, FreeWaitsForAllWorkOfTheDevice)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuMemFree(memory));
    EXPECT_EQ(fr_sim_operations_run(), 1u);
}

TEST_F(SimMemory, UseAfterFreeIsRefusedAndReported)
{
    reports_are_meant = true;
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemFree(memory));
    EXPECT_EQ(cu->cuMemsetD8Async(memory, 1, 64, Stream()), bad_value);
    ExpectReports(1, FR_SIM_USE_AFTER_FREE, "is freed");
    EXPECT_EQ(cu->cuMemFree(memory), bad_value);
}

TEST_F(SimMemory, ReadOfWhatNothingWroteIsReported)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Memory(64);
    char out[64];
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 63, a));
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(out, memory, 64, a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    ExpectReports(1, FR_SIM_UNINITIALIZED, "byte 63");
}

TEST_F(SimMemory, AddressesAreNotUsedAgainAtOnce)
{
    fr_cu_device_ptr first = Memory(64);
    FR_SIM_OK(cu->cuMemFree(first));
    EXPECT_NE(Memory(64), first);
}

TEST_F(SimMemory, AFullArenaUsesThePlacesOfWhatWasFreed)
{
    const size_t big = (size_t)3 << 29; // the arena has place for two
    for (int i = 0; i < 3; i++) {
        fr_cu_device_ptr memory = 0;
        ASSERT_EQ(cu->cuMemAlloc(&memory, big), 0u) << i;
        FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, nullptr));
        FR_SIM_OK(cu->cuMemFree(memory));
    }
}

// Section: copies.

TEST_F(SimMemory, RangesOfCopiesAreChecked)
{
    fr_cu_device_ptr memory = Memory(64);
    char host[128] = {};
    EXPECT_EQ(cu->cuMemcpyHtoDAsync(memory, host, 65, nullptr), bad_value);
    EXPECT_EQ(cu->cuMemcpyHtoDAsync(memory + 60, host, 5, nullptr), bad_value);
    EXPECT_EQ(cu->cuMemcpyDtoHAsync(host, memory + 64, 1, nullptr), bad_value);
    EXPECT_EQ(cu->cuMemcpyHtoDAsync((uintptr_t)host, host, 5, nullptr), bad_value);
    EXPECT_EQ(cu->cuMemsetD8Async(memory, 0, 65, nullptr), bad_value);
    EXPECT_EQ(cu->cuMemsetD32Async(memory + 2, 0, 1, nullptr), bad_value);
    EXPECT_EQ(cu->cuMemcpyHtoDAsync(memory, host, 0, nullptr), 0u);
}

TEST_F(SimMemory, TwoDimensionalCopyTakesRowsAndOffsets)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 0, 64, a));
    char rows[3 * 10];
    for (int i = 0; i < 30; i++)
        rows[i] = (char)i;
    fr_cu_copy_2d copy = {};
    copy.src_type = FR_CU_MEMORYTYPE_HOST;
    copy.src_host = rows;
    copy.src_pitch = 10;
    copy.src_x_bytes = 1;
    copy.src_y = 1;
    copy.dst_type = FR_CU_MEMORYTYPE_DEVICE;
    copy.dst_device = memory;
    copy.dst_pitch = 16;
    copy.dst_x_bytes = 2;
    copy.width_bytes = 4;
    copy.height = 2;
    FR_SIM_OK(cu->cuMemcpy2DAsync(&copy, a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    EXPECT_EQ(Peek<uint8_t>(memory + 1), 0);
    EXPECT_EQ(Peek<uint8_t>(memory + 2), 11);
    EXPECT_EQ(Peek<uint8_t>(memory + 5), 14);
    EXPECT_EQ(Peek<uint8_t>(memory + 6), 0);
    EXPECT_EQ(Peek<uint8_t>(memory + 18), 21);
    copy.src_type = FR_CU_MEMORYTYPE_ARRAY;
    EXPECT_EQ(cu->cuMemcpy2DAsync(&copy, a), (fr_cu_result)FR_CU_ERROR_NOT_SUPPORTED);
}

TEST_F(SimMemory, HostToHostIsSynchronousAndInferredFromThePointers)
{
    fr_cu_stream a = Stream();
    char from[8] = "pattern", to[8] = "";
    FR_SIM_OK(cu->cuMemcpyAsync((uintptr_t)to, (uintptr_t)from, 8, a));
    EXPECT_STREQ(to, "pattern");
    fr_cu_device_ptr memory = Memory(8);
    FR_SIM_OK(cu->cuMemcpyAsync(memory, (uintptr_t)from, 8, a));
    memset(to, 0, sizeof to);
    FR_SIM_OK(cu->cuMemcpyAsync((uintptr_t)to, memory, 8, a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    EXPECT_STREQ(to, "pattern");
}

TEST_F(SimMemory, APinnedSourceMustStayAsItIs)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Memory(64);
    char *source = (char *)Pinned(64);
    memset(source, 1, 64);
    FR_SIM_OK(cu->cuMemcpyHtoDAsync(memory, source, 64, a));
    source[63] = 2;
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    ExpectReports(1, FR_SIM_SOURCE_CHANGED);
    EXPECT_EQ(Peek<uint8_t>(memory + 63), 2) << "it is read when the copy runs";
}

TEST_F(SimMemory, AnOperationMayChangeAPinnedSource)
{
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Memory(64);
    char *staging = (char *)Pinned(64);
    memset(staging, 1, 64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 5, 64, a));
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(staging, memory, 64, a));
    FR_SIM_OK(cu->cuMemcpyHtoDAsync(memory, staging, 64, a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
}

// As the driver was seen to do. It does not say so: what came before is in no order by that.
TEST_F(SimMemory, PinnedMemoryThatIsGivenBackWaitsForAllDevices)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream(), b = Stream();
    fr_cu_device_ptr memory = Memory(64);
    void *pinned = Pinned(64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    Use(1);
    FR_SIM_OK(cu->cuMemFreeHost(pinned));
    EXPECT_EQ(fr_sim_operations_run(), 1u);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 64, b));
    fr_sim_drain();
    ExpectReports(1, FR_SIM_RACE);
}

TEST_F(SimMemory, PinnedMemoryGoesWithItsContext)
{
    void *first = Pinned(64);
    std::vector<char> block(64);
    FR_SIM_OK(cu->cuMemHostRegister(block.data(), 64, 0));
    Use(1);
    void *second = Pinned(64);
    FR_SIM_OK(cu->cuDevicePrimaryCtxRelease(0));
    unsigned int type = 0;
    for (void *gone : {first, static_cast<void *>(block.data())})
        EXPECT_EQ(cu->cuPointerGetAttribute(&type, FR_CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                            reinterpret_cast<fr_cu_device_ptr>(gone)),
                  bad_value);
    FR_SIM_OK(cu->cuMemFreeHost(second));
}

// By the host, which has not waited for the work that uses it: the driver does not, either.
TEST_F(SimMemory, FreeOfMemoryOfAPoolGivesNoOrder)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = 0;
    FR_SIM_OK(cu->cuMemAllocFromPoolAsync(&memory, 64, Pool(0, true, false, false), a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuMemFree(memory));
    ExpectReports(1, FR_SIM_RACE, "frees");
}

TEST_F(SimMemory, PinnedMemoryReusedWithoutAWaitIsARace)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream("upload"), b = Stream("download");
    fr_cu_device_ptr memory = Memory(128);
    char *staging = (char *)Pinned(64);
    memset(staging, 1, 64);
    FR_SIM_OK(cu->cuMemsetD8Async(memory + 64, 5, 64, b));
    FR_SIM_OK(cu->cuMemcpyHtoDAsync(memory, staging, 64, a));
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(staging, memory + 64, 64, b));
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_EQ(Count(FR_SIM_RACE), 1u) << SimReports();
    EXPECT_NE(SimReports().find("pinned memory"), std::string::npos);
}

TEST_F(SimMemory, PageableSourceStagedLateOrSynchronous)
{
    reports_are_meant = true;
    for (int how = FR_SIM_PAGEABLE_STAGED; how <= FR_SIM_PAGEABLE_SYNCHRONOUS; how++) {
        options.pageable = (fr_sim_pageable)how;
        Open();
        fr_cu_stream a = Stream();
        fr_cu_device_ptr memory = Memory(64);
        char source[64];
        memset(source, 1, 64);
        FR_SIM_OK(cu->cuMemcpyHtoDAsync(memory, source, 64, a));
        EXPECT_EQ(fr_sim_operations_run(), how == FR_SIM_PAGEABLE_SYNCHRONOUS ? 1u : 0u);
        source[0] = 2;
        FR_SIM_OK(cu->cuStreamSynchronize(a));
        const bool late = how == FR_SIM_PAGEABLE_LATE;
        EXPECT_EQ(Peek<uint8_t>(memory), late ? 2 : 1);
        ExpectReports(late ? 1 : 0, FR_SIM_SOURCE_CHANGED);
    }
}

TEST_F(SimMemory, TheSeedPicksEachWayForPageableSources)
{
    reports_are_meant = true;
    int changed = 0, same = 0;
    for (uint64_t seed = 1; seed <= 32; seed++) {
        options.seed = seed;
        Open();
        fr_cu_device_ptr memory = Memory(64);
        char source[64] = {};
        FR_SIM_OK(cu->cuMemcpyHtoDAsync(memory, source, 64, Stream()));
        source[0] = 2;
        EXPECT_TRUE(fr_sim_drain());
        (Peek<uint8_t>(memory) == 2 ? changed : same)++;
    }
    EXPECT_GT(changed, 3);
    EXPECT_GT(same, 3);
}

// Section: pinned memory and what a pointer is.

TEST_F(SimMemory, RegisteringIsByRangesAndOnce)
{
    std::vector<char> block(8192);
    const fr_cu_result already = FR_CU_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                       unknown = FR_CU_ERROR_HOST_MEMORY_NOT_REGISTERED;
    FR_SIM_OK(cu->cuMemHostRegister(block.data(), 4096, FR_CU_MEMHOSTREGISTER_PORTABLE));
    EXPECT_EQ(cu->cuMemHostRegister(block.data() + 4000, 200, 0), already);
    EXPECT_EQ(cu->cuMemHostUnregister(block.data() + 8), unknown);
    fr_cu_device_ptr address = 0;
    FR_SIM_OK(cu->cuMemHostGetDevicePointer(&address, block.data() + 8, 0));
    EXPECT_EQ(address, (uintptr_t)block.data() + 8);
    FR_SIM_OK(cu->cuMemHostUnregister(block.data()));
    EXPECT_EQ(cu->cuMemHostGetDevicePointer(&address, block.data(), 0), bad_value);
}

TEST_F(SimMemory, SingularAttributeRefusesPlainMemoryAndPluralAnswersZeros)
{
    int plain = 0;
    unsigned int type = 9, managed = 9;
    int ordinal = 9;
    EXPECT_EQ(
        cu->cuPointerGetAttribute(&type, FR_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&plain),
        bad_value);
    fr_cu_pointer_attribute which[] = {FR_CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       FR_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                       FR_CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *values[] = {&type, &ordinal, &managed};
    FR_SIM_OK(cu->cuPointerGetAttributes(3, which, values, (uintptr_t)&plain));
    EXPECT_EQ(type, 0u);
    Use(1);
    fr_cu_device_ptr memory = Memory(64);
    Use(0);
    FR_SIM_OK(cu->cuPointerGetAttributes(3, which, values, memory + 63));
    EXPECT_EQ(type, (unsigned)FR_CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(ordinal, 1) << "the memory's device, not the current one";
    EXPECT_EQ(managed, 0u);
    FR_SIM_OK(cu->cuPointerGetAttributes(3, which, values, (uintptr_t)Pinned(64)));
    EXPECT_EQ(type, (unsigned)FR_CU_MEMORYTYPE_HOST);
}

TEST_F(SimMemory, ContextOfPoolMemoryIsNull)
{
    fr_cu_device_ptr pooled = 0, plain = Memory(64);
    FR_SIM_OK(cu->cuMemAllocFromPoolAsync(&pooled, 64, Pool(0, false, false, false), nullptr));
    fr_cu_context context = contexts[0];
    FR_SIM_OK(cu->cuPointerGetAttribute(&context, FR_CU_POINTER_ATTRIBUTE_CONTEXT, pooled));
    EXPECT_EQ(context, nullptr);
    FR_SIM_OK(cu->cuPointerGetAttribute(&context, FR_CU_POINTER_ATTRIBUTE_CONTEXT, plain));
    EXPECT_EQ(context, contexts[0]);
}

// Section: other devices.

TEST_F(SimMemory, PeerCopyNeedsNoAccess)
{
    options.no_peer_access = true;
    Open();
    int can = 1;
    FR_SIM_OK(cu->cuDeviceCanAccessPeer(&can, 0, 1));
    EXPECT_EQ(can, 0);
    const fr_cu_result unsupported = FR_CU_ERROR_PEER_ACCESS_UNSUPPORTED;
    EXPECT_EQ(cu->cuCtxEnablePeerAccess(contexts[1], 0), unsupported);
    fr_cu_device_ptr here = Memory(64);
    fr_cu_stream a = Stream();
    fr_cu_event event = Event();
    FR_SIM_OK(cu->cuMemsetD8Async(here, 7, 64, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    Use(1);
    fr_cu_device_ptr there = Memory(64);
    fr_cu_stream b = Stream();
    FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
    FR_SIM_OK(cu->cuMemcpyPeerAsync(there, contexts[1], here, contexts[0], 64, b));
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    EXPECT_EQ(Peek<uint8_t>(there), 7);
}

TEST_F(SimMemory, PeerCopyChecksWhoseMemoryItIs)
{
    reports_are_meant = true;
    fr_cu_device_ptr here = Memory(64);
    EXPECT_EQ(cu->cuMemcpyPeerAsync(here, contexts[1], here, contexts[0], 64, Stream()), bad_value);
    ExpectReports(1, FR_SIM_BAD_HANDLE);
}

TEST_F(SimMemory, PeerAccessIsForOneDirectionAndPlainMemory)
{
    reports_are_meant = true;
    const fr_cu_result enabled = FR_CU_ERROR_PEER_ACCESS_ALREADY_ENABLED,
                       illegal = FR_CU_ERROR_ILLEGAL_ADDRESS;
    fr_cu_device_ptr here = Memory(64);
    Use(1);
    FR_SIM_OK(cu->cuCtxEnablePeerAccess(contexts[0], 0));
    EXPECT_EQ(cu->cuCtxEnablePeerAccess(contexts[0], 0), enabled);
    fr_cu_stream b = Stream();
    fr_cu_device_ptr there = Memory(64);
    FR_SIM_OK(cu->cuMemsetD8Async(here, 1, 64, b)); // device 1 reaches device 0
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    Use(0);
    fr_cu_stream a = Stream();
    FR_SIM_OK(cu->cuMemsetD8Async(there, 1, 64, a)); // and not the other way round
    EXPECT_EQ(cu->cuStreamSynchronize(a), illegal);
    ExpectReports(1, FR_SIM_OUT_OF_BOUNDS, "without access to a peer");
}

TEST_F(SimMemory, PoolMemoryHasAccessOfItsOwn)
{
    reports_are_meant = true;
    fr_cu_memory_pool pool = Pool(0, false, false, false);
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = 0;
    FR_SIM_OK(cu->cuMemAllocFromPoolAsync(&memory, 64, pool, a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    Use(1);
    FR_SIM_OK(cu->cuCtxEnablePeerAccess(contexts[0], 0)); // not for pools
    fr_cu_memory_access access = {{FR_CU_MEM_LOCATION_TYPE_DEVICE, 1}, FR_CU_MEM_ACCESS_READWRITE};
    FR_SIM_OK(cu->cuMemPoolSetAccess(pool, &access, 1));
    fr_cu_stream b = Stream();
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, b));
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    access.flags = FR_CU_MEM_ACCESS_NONE;
    FR_SIM_OK(cu->cuMemPoolSetAccess(pool, &access, 1));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, b));
    EXPECT_EQ(cu->cuStreamSynchronize(b), (fr_cu_result)FR_CU_ERROR_ILLEGAL_ADDRESS);
    ExpectReports(1, FR_SIM_OUT_OF_BOUNDS);
}

} // namespace
