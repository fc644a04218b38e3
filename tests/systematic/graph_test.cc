#include "tests/systematic/graph_cases.h"
#include "tests/systematic/systematic.h"

#include <gtest/gtest.h>

namespace
{

// Every number of workers that makes a difference, with and without more threads than work.
void Explore(const char *name, void (*body)(void *), uint64_t expected_steps, uint64_t runs = 150)
{
    for (uint32_t workers : {0u, 1u, 2u}) {
        for (uint32_t threads : {1u, 2u, 3u}) {
            for (uint32_t ops : {2u, 5u}) {
                fr_systematic_options options = {};
                options.name = name;
                options.runs = runs;
                options.max_steps = 200000;
                options.expected_steps = expected_steps;
                options.first_seed = 1 + workers * 1000000 + threads * 100000 + ops * 10000;
                graph_shape shape = {workers, threads, ops};
                ASSERT_TRUE(fr_systematic_explore(&options, body, &shape))
                    << workers << " workers, " << threads << " threads, " << ops << " ops";
            }
        }
    }
}

TEST(SystematicGraph, OneLane)
{
    Explore("SystematicGraph.OneLane", body_one_lane, 1500);
}

TEST(SystematicGraph, WhatWasWaitedForIsSettled)
{
    Explore("SystematicGraph.WhatWasWaitedForIsSettled", body_settled, 1500);
}

TEST(SystematicGraph, LanesChangeHands)
{
    Explore("SystematicGraph.LanesChangeHands", body_hand_over, 1500);
}

TEST(SystematicGraph, SealsComeAfterAllThatTheySeal)
{
    Explore("SystematicGraph.SealsComeAfterAllThatTheySeal", body_seal, 1500);
}

TEST(SystematicGraph, OpsComeAfterTheirProducers)
{
    Explore("SystematicGraph.OpsComeAfterTheirProducers", body_edges, 1500);
}

// Rare: what a wait looks at changes between two of its looks.
TEST(SystematicGraph, WaitsLeaveWhatComesBehind)
{
    Explore("SystematicGraph.WaitsLeaveWhatComesBehind", body_wait_ahead, 1500, 400);
}

TEST(SystematicGraph, WaitsInsideOpsEnd)
{
    Explore("SystematicGraph.WaitsInsideOpsEnd", body_wait_inside, 2000);
}

TEST(SystematicGraph, RoomIsWaitedForInsideOps)
{
    Explore("SystematicGraph.RoomIsWaitedForInsideOps", body_room, 2000, 600);
}

TEST(SystematicGraph, RoomIsWaitedForInAPartOfAnOp)
{
    Explore("SystematicGraph.RoomIsWaitedForInAPartOfAnOp", body_room_beside, 800, 60);
}

TEST(SystematicGraph, WhatHasATokenOutOfSightIsRun)
{
    Explore("SystematicGraph.WhatHasATokenOutOfSightIsRun", body_out_of_sight, 1000);
}

TEST(SystematicGraph, WhatWasBlockedOutOfSightIsRun)
{
    Explore("SystematicGraph.WhatWasBlockedOutOfSightIsRun", body_blocked_out_of_sight, 700, 1000);
}

TEST(SystematicGraph, IdsAreReleasedAtAnyTime)
{
    Explore("SystematicGraph.IdsAreReleasedAtAnyTime", body_release, 1500);
}

TEST(SystematicGraph, WaitsOfAllKinds)
{
    Explore("SystematicGraph.WaitsOfAllKinds", body_wait_many, 2000);
}

TEST(SystematicGraph, ConditionsAreSeen)
{
    Explore("SystematicGraph.ConditionsAreSeen", body_condition, 1500);
}

TEST(SystematicGraph, SplitOps)
{
    Explore("SystematicGraph.SplitOps", body_split, 1500);
}

TEST(SystematicGraph, ReportsComeAfterTheWork)
{
    Explore("SystematicGraph.ReportsComeAfterTheWork", body_reports, 2000);
}

TEST(SystematicGraph, ParkedOpsAreResumed)
{
    Explore("SystematicGraph.ParkedOpsAreResumed", body_parks, 2000);
}

TEST(SystematicGraph, ParkedOpsMakeRoom)
{
    Explore("SystematicGraph.ParkedOpsMakeRoom", body_parks_and_room, 1500, 60);
}

TEST(SystematicGraph, DestroyDropsWhatHasNotRun)
{
    Explore("SystematicGraph.DestroyDropsWhatHasNotRun", body_destroy, 1000);
}

TEST(SystematicGraph, RandomLoad)
{
    Explore("SystematicGraph.RandomLoad", body_load, 3000);
}

} // namespace
