// Stream-ordered memory, rule by rule.
#include "tests/sim/sim_fixture.h"

namespace
{

class SimPool : public Sim
{
  protected:
    fr_cu_device_ptr Take(fr_cu_memory_pool pool, fr_cu_stream stream, size_t size_bytes = 4096)
    {
        fr_cu_device_ptr address = 0;
        EXPECT_EQ(cu->cuMemAllocFromPoolAsync(&address, size_bytes, pool, stream), 0u);
        return address;
    }

    uint64_t Value(fr_cu_memory_pool pool, fr_cu_pool_attribute attribute)
    {
        uint64_t value = 0;
        EXPECT_EQ(cu->cuMemPoolGetAttribute(pool, attribute, &value), 0u);
        return value;
    }

    // What a stream gets after another one freed; waits: it waits for the free.
    bool GetsTheSamePlace(fr_cu_memory_pool pool, bool waits, bool runs)
    {
        fr_cu_stream a = Stream("a"), b = Stream("b");
        fr_cu_event event = Event();
        fr_cu_device_ptr first = Take(pool, a);
        EXPECT_EQ(cu->cuMemsetD8Async(first, 1, 4096, a), 0u);
        EXPECT_EQ(cu->cuMemFreeAsync(first, a), 0u);
        EXPECT_EQ(cu->cuEventRecord(event, a), 0u);
        EXPECT_EQ(waits ? cu->cuStreamWaitEvent(b, event, 0) : 0, 0u);
        EXPECT_TRUE(runs ? fr_sim_drain() : true);
        fr_cu_device_ptr second = Take(pool, b);
        EXPECT_EQ(cu->cuMemsetD8Async(second, 2, 4096, b), 0u);
        EXPECT_TRUE(fr_sim_drain());
        return first == second;
    }
};

TEST_F(SimPool, IsInOrderOnItsStream)
{
    fr_cu_memory_pool pool = Pool(0, false, false, false);
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Take(pool, a);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 4096, a));
    FR_SIM_OK(cu->cuMemFreeAsync(memory, a));
    EXPECT_EQ(Take(pool, a), memory) << "its own stream may have it again at once";
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 4096, a));
    EXPECT_TRUE(fr_sim_drain());
}

TEST_F(SimPool, AnotherStreamNeedsAWaitAfterTheAllocation)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream("a"), b = Stream("b");
    fr_cu_device_ptr memory = Take(Pool(0, false, false, false), a);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 4096, b));
    FR_SIM_OK(cu->cuStreamSynchronize(a)); // too late for what b has
    EXPECT_TRUE(fr_sim_drain());
    ExpectReports(1, FR_SIM_RACE, "nothing orders it after the making");
}

TEST_F(SimPool, UseBeforeTheAllocationRanIsReportedToo)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream("a"), b = Stream("b");
    fr_cu_device_ptr memory = Take(Pool(0, false, false, false), a);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 4096, b));
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    ExpectReports(1, FR_SIM_USE_AFTER_FREE, "not made yet");
}

TEST_F(SimPool, TheFreeNeedsAWaitForEveryReader)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream("a"), b = Stream("b"), c = Stream("c");
    fr_cu_event made = Event(), read = Event();
    fr_cu_device_ptr memory = Take(Pool(0, false, false, false), a);
    char *out[2] = {(char *)Pinned(4096), (char *)Pinned(4096)};
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 4096, a));
    FR_SIM_OK(cu->cuEventRecord(made, a));
    FR_SIM_OK(cu->cuStreamWaitEvent(b, made, 0));
    FR_SIM_OK(cu->cuStreamWaitEvent(c, made, 0));
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(out[0], memory, 4096, b));
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(out[1], memory, 4096, c));
    FR_SIM_OK(cu->cuEventRecord(read, c));
    FR_SIM_OK(cu->cuStreamWaitEvent(a, read, 0)); // for c, not for b
    FR_SIM_OK(cu->cuMemFreeAsync(memory, a));
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_EQ(fr_sim_report_count(), 1u) << SimReports();
    EXPECT_NE(SimReports().find("stream 'b'"), std::string::npos) << SimReports();
    EXPECT_EQ(SimReports().find("stream 'c'"), std::string::npos) << SimReports();
}

TEST_F(SimPool, UseAfterTheFreeIsReported)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Take(Pool(0, false, false, false), a);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 4096, a));
    FR_SIM_OK(cu->cuMemFreeAsync(memory, a));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 4096, a));
    EXPECT_TRUE(fr_sim_drain());
    ExpectReports(1, FR_SIM_USE_AFTER_FREE, "cuMemFreeAsync");
}

TEST_F(SimPool, FreedTwiceIsRefusedAndReported)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Take(Pool(0, false, false, false), a);
    FR_SIM_OK(cu->cuMemFreeAsync(memory, a));
    EXPECT_EQ(cu->cuMemFreeAsync(memory, a), (fr_cu_result)FR_CU_ERROR_INVALID_VALUE);
    ExpectReports(1, FR_SIM_USE_AFTER_FREE, "freed already");
}

TEST_F(SimPool, WhatIsBeyondTheSizeIsNobodys)
{
    reports_are_meant = true;
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Take(Pool(0, false, false, false), a, 100);
    EXPECT_EQ(cu->cuMemsetD8Async(memory, 1, 101, a), (fr_cu_result)FR_CU_ERROR_INVALID_VALUE);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 100, a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
}

TEST_F(SimPool, PlacesAreGivenAgainAsTheSettingsSay)
{
    // (events, opportunistic, internal), (the stream waits for the free, the free has run)
    const struct {
        bool events, opportunistic, internal, waits, runs, same;
    } rows[] = {
        {false, false, false, false, false, false}, {false, false, false, true, true, false},
        {true, false, false, false, true, false},   {true, false, false, true, false, true},
        {false, true, false, false, false, false},  {false, true, false, false, true, true},
        {false, false, true, false, false, true},
    };
    for (const auto &row : rows) {
        Open();
        fr_cu_memory_pool pool = Pool(0, row.events, row.opportunistic, row.internal);
        // A drain is a wait by the host: it gives an order by itself if events are followed.
        bool same = row.same || (row.events && row.runs);
        EXPECT_EQ(GetsTheSamePlace(pool, row.waits, row.runs), same)
            << row.events << row.opportunistic << row.internal << row.waits << row.runs;
        EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
    }
}

TEST_F(SimPool, ReuseShowsAReaderThatWasForgotten)
{
    reports_are_meant = true;
    fr_cu_memory_pool pool = Pool(0, true, false, false);
    fr_cu_stream a = Stream("writer"), b = Stream("reader");
    fr_cu_event event = Event();
    fr_cu_device_ptr memory = Take(pool, a);
    char *out = (char *)Pinned(4096);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 4096, a));
    FR_SIM_OK(cu->cuEventRecord(event, a));
    FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(out, memory, 4096, b));
    FR_SIM_OK(cu->cuMemFreeAsync(memory, a)); // without a wait for the reader
    EXPECT_EQ(Take(pool, a), memory);
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 4096, a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    FR_SIM_OK(cu->cuStreamSynchronize(b));
    EXPECT_EQ(out[0], 2) << "the reader sees what came later";
    EXPECT_GE(Count(FR_SIM_RACE), 1u);
}

TEST_F(SimPool, ThresholdDecidesWhatASynchronizeGivesBack)
{
    fr_cu_memory_pool pool = Pool(0, false, false, false);
    fr_cu_stream a = Stream();
    FR_SIM_OK(cu->cuMemFreeAsync(Take(pool, a), a));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    EXPECT_EQ(Value(pool, FR_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4096u);
    EXPECT_EQ(Value(pool, FR_CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
    EXPECT_EQ(Value(pool, FR_CU_MEMPOOL_ATTR_USED_MEM_HIGH), 4096u);
    uint64_t threshold = 0;
    FR_SIM_OK(cu->cuMemPoolSetAttribute(pool, FR_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    FR_SIM_OK(cu->cuStreamSynchronize(a));
    EXPECT_EQ(Value(pool, FR_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u);
    EXPECT_EQ(fr_sim_memory_used(0), 0u);
}

TEST_F(SimPool, TrimKeepsWhatIsPending)
{
    fr_cu_memory_pool pool = Pool(0, false, false, false);
    fr_cu_stream a = Stream();
    FR_SIM_OK(cu->cuMemFreeAsync(Take(pool, a), a));
    FR_SIM_OK(cu->cuMemPoolTrimTo(pool, 0));
    EXPECT_EQ(Value(pool, FR_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4096u);
    EXPECT_TRUE(fr_sim_drain());
    FR_SIM_OK(cu->cuMemPoolTrimTo(pool, 0));
    EXPECT_EQ(Value(pool, FR_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u);
}

TEST_F(SimPool, WithoutMemoryThePoolGivesBackWhatItHasFree)
{
    options.memory_bytes = 64 << 10;
    Open();
    fr_cu_memory_pool pool = Pool(0, false, false, false);
    fr_cu_stream a = Stream();
    FR_SIM_OK(cu->cuMemFreeAsync(Take(pool, a, 40 << 10), a));
    fr_cu_device_ptr memory = 0;
    const fr_cu_result none = FR_CU_ERROR_OUT_OF_MEMORY;
    EXPECT_EQ(cu->cuMemAllocFromPoolAsync(&memory, 50 << 10, pool, a), none) << "not free yet";
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_EQ(cu->cuMemAllocFromPoolAsync(&memory, 50 << 10, pool, a), 0u);
}

TEST_F(SimPool, DefaultsAreThoseOfTheDriver)
{
    fr_cu_pool_properties properties = {};
    properties.allocation_type = FR_CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {FR_CU_MEM_LOCATION_TYPE_DEVICE, 0};
    fr_cu_memory_pool pool = nullptr;
    FR_SIM_OK(cu->cuMemPoolCreate(&pool, &properties));
    for (unsigned int i = 0; i < 3; i++) {
        int on = 0;
        FR_SIM_OK(cu->cuMemPoolGetAttribute(
            pool, FR_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES + i, &on));
        EXPECT_EQ(on, 1);
    }
    EXPECT_EQ(Value(pool, FR_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 0u);
    FR_SIM_OK(cu->cuMemPoolDestroy(pool));
}

TEST_F(SimPool, ADestroyedPoolLetsItsAllocationsLive)
{
    fr_cu_memory_pool pool = Pool(0, false, false, false);
    fr_cu_stream a = Stream();
    fr_cu_device_ptr memory = Take(pool, a);
    FR_SIM_OK(cu->cuMemPoolDestroy(pool));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 4096, a));
    FR_SIM_OK(cu->cuMemFreeAsync(memory, a));
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_EQ(fr_sim_memory_used(0), 0u);
}

} // namespace
