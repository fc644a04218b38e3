// Calls at random, with handles that are good, stale or NULL, and faults between them: nothing
// crashes or hangs, and the same seed gives the same answers, reports and data.
#include "tests/sim/sim_fixture.h"

namespace
{

enum { CALLS = 400, HOST_BYTES = 1 << 14 };

class SimFuzz : public Sim
{
  protected:
    std::vector<fr_cu_stream> streams;
    std::vector<fr_cu_event> events;
    std::vector<fr_cu_device_ptr> memory;
    std::vector<fr_cu_memory_pool> pools;
    std::vector<char> host = std::vector<char>(HOST_BYTES);
    fr_cu_function rows_kernel = nullptr;
    uint64_t random = 0, seen = 0;
    int host_calls = 0;
    bool with_host_functions = false;

    uint32_t Below(size_t limit)
    {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)((random >> 33) % limit);
    }

    template <class T> T Any(const std::vector<T> &list)
    {
        return list[Below(list.size())];
    }

    void Look(uint64_t value)
    {
        seen = (seen ^ value) * 0x9e3779b97f4a7c15u;
        seen ^= seen >> 31;
    }

    void Objects(uint32_t which)
    {
        fr_cu_stream stream = nullptr;
        fr_cu_event event = nullptr;
        fr_cu_device_ptr address = 0;
        if (which == 0 && cu->cuStreamCreateWithPriority(&stream, Below(2), 0) == 0)
            streams.push_back(stream);
        if (which == 1 && cu->cuEventCreate(&event, Below(2) * 2) == 0)
            events.push_back(event);
        if (which == 2 && cu->cuMemAlloc(&address, 1 + Below(9000)) == 0)
            memory.push_back(address);
        if (which == 3 && Below(3) == 0)
            Look(cu->cuStreamDestroy(Any(streams)));
        if (which == 4 && Below(3) == 0)
            Look(cu->cuEventDestroy(Any(events)));
        if (which == 5)
            Look(cu->cuMemFree(Any(memory)));
    }

    void Order(uint32_t which)
    {
        fr_cu_graph graph = nullptr;
        if (which == 0)
            Look(cu->cuEventRecord(Any(events), Any(streams)));
        if (which == 1)
            Look(cu->cuStreamWaitEvent(Any(streams), Any(events), 0));
        if (which == 2)
            Look(cu->cuStreamSynchronize(Any(streams)));
        if (which == 3)
            Look(cu->cuStreamQuery(Any(streams)) + 1000 * cu->cuEventQuery(Any(events)));
        if (which == 4)
            Look(cu->cuEventSynchronize(Any(events)));
        if (which == 5 && Below(6) == 0)
            Look(cu->cuStreamBeginCapture(Any(streams), Below(3)));
        else if (which == 5 && cu->cuStreamEndCapture(Any(streams), &graph) == 0)
            Look(cu->cuGraphDestroy(graph));
    }

    void Work(uint32_t which)
    {
        size_t size = Below(5000), at = Below(1000);
        fr_cu_device_ptr to = Any(memory), from = Any(memory);
        fr_cu_stream stream = Any(streams);
        if (which == 0)
            Look(cu->cuMemsetD8Async(to + Below(64), (unsigned char)at, size, stream));
        if (which == 1)
            Look(cu->cuMemcpyHtoDAsync(to, host.data() + at, size, stream));
        if (which == 2)
            Look(cu->cuMemcpyDtoHAsync(host.data() + at, from, size, stream));
        if (which == 3)
            Look(cu->cuMemcpyPeerAsync(to, contexts[Below(2)], from, contexts[Below(2)], size,
                                       stream));
        if (which == 4 && with_host_functions)
            Look(cu->cuLaunchHostFunc(
                stream, [](void *user) { ++*static_cast<int *>(user); }, &host_calls));
        if (which == 5) {
            fr_kernel_rows rows = {to, from, 4 * (1 + Below(4)), 0,           0,
                                   0,  0,    Below(30),          1 + Below(3)};
            void *arguments[] = {&rows};
            Look(Launch(rows_kernel, stream, arguments));
        }
    }

    void Pools(uint32_t which)
    {
        fr_cu_device_ptr address = 0;
        if (which == 0)
            pools.push_back(Pool((int)Below(2), Below(2), Below(2), Below(2)));
        if (which <= 2 &&
            cu->cuMemAllocFromPoolAsync(&address, 1 + Below(9000), Any(pools), Any(streams)) == 0)
            memory.push_back(address);
        if (which == 3 || which == 4)
            Look(cu->cuMemFreeAsync(Any(memory), Any(streams)));
        if (which == 5 && Below(6) == 0)
            Look(cu->cuMemPoolDestroy(Any(pools)));
        else if (which == 5)
            Look(cu->cuMemPoolTrimTo(Any(pools), Below(10000)));
    }

    // What was seen of a run.
    uint64_t Run(uint64_t seed)
    {
        options.mode = (fr_sim_mode)(seed % 3);
        options.seed = seed;
        options.memory_bytes = seed % 4 == 0 ? 1 << 20 : 0;
        options.no_peer_access = seed % 5 == 0;
        Open();
        random = seed;
        seen = 0;
        host.assign(HOST_BYTES, 0);
        streams = {nullptr, FR_CU_STREAM_LEGACY, FR_CU_STREAM_PER_THREAD};
        events = {nullptr};
        memory = {0};
        pools = {Pool(0, true, true, true)};
        rows_kernel = Kernel("fr_rows_b4");
        if (seed % 7 == 0)
            fr_sim_fail_operation(0, 1 + Below(100), FR_CU_ERROR_LAUNCH_FAILED);
        for (int i = 0; i < CALLS; i++) {
            void (SimFuzz::*const kinds[])(uint32_t) = {&SimFuzz::Objects, &SimFuzz::Order,
                                                        &SimFuzz::Work, &SimFuzz::Work,
                                                        &SimFuzz::Pools};
            (this->*kinds[Below(5)])(Below(6));
            Look(fr_sim_operations_run());
            if (Below(40) == 0)
                Look(cu->cuCtxSetCurrent(contexts[Below(2)]));
        }
        EXPECT_TRUE(fr_sim_drain());
        for (char byte : host)
            Look((unsigned char)byte);
        for (int kind = 0; kind < FR_SIM_KIND_COUNT; kind++)
            Look(Count((fr_sim_kind)kind));
        Look(fr_sim_check_leaks(true));
        return seen;
    }
};

TEST_F(SimFuzz, TheSameSeedGivesTheSame)
{
    reports_are_meant = true;
    for (uint64_t seed : SimSeeds(100)) {
        SCOPED_TRACE("FR_SIM_SEED=" + std::to_string(seed));
        uint64_t first = Run(seed);
        ASSERT_EQ(Run(seed), first);
    }
}

TEST_F(SimFuzz, AlsoWithHostFunctions)
{
    reports_are_meant = true;
    with_host_functions = true;
    for (uint64_t seed : SimSeeds(100)) {
        SCOPED_TRACE("FR_SIM_SEED=" + std::to_string(seed));
        Run(seed);
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(host_calls, 0);
}

} // namespace
