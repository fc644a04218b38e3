#include "tests/unit/graph_cases.h"

#include <gtest/gtest.h>

TEST(Graph, IdsCarryThePrefixAndRise)
{
    EXPECT_STREQ(graph_ids(), nullptr);
}

TEST(Graph, OpsOfALaneRunInOrder)
{
    EXPECT_STREQ(graph_lane_order(), nullptr);
}

TEST(Graph, ARefusedOpLeavesNothing)
{
    EXPECT_STREQ(graph_refusal(), nullptr);
}

TEST(Graph, TheQueueIsFullAtItsLimit)
{
    EXPECT_STREQ(graph_queue_full(), nullptr);
}

TEST(Graph, AnAttemptIsUndoneAndRepeated)
{
    EXPECT_STREQ(graph_undo(), nullptr);
}

TEST(Graph, CompleteAtBirth)
{
    EXPECT_STREQ(graph_complete_at_birth(), nullptr);
}

TEST(Graph, ASealTakesLanesUpToItsOrdinal)
{
    EXPECT_STREQ(graph_seal(), nullptr);
}

TEST(Graph, AScopedSealTakesLanesThatMeetItsScope)
{
    EXPECT_STREQ(graph_scoped_seal(), nullptr);
}

TEST(Graph, ProducersComeFirst)
{
    EXPECT_STREQ(graph_producers(), nullptr);
}

TEST(Graph, ALaneWaitsForTheEdgesOfItsFirstOp)
{
    EXPECT_STREQ(graph_blocked_lane(), nullptr);
}

TEST(Graph, FailuresAreKeptUntilRelease)
{
    EXPECT_STREQ(graph_failures(), nullptr);
}

TEST(Graph, FailuresGoOnToConsumersThatNeedThem)
{
    EXPECT_STREQ(graph_failure_of_producers(), nullptr);
}

TEST(Graph, ReleaseBeforeAndAfterCompletion)
{
    EXPECT_STREQ(graph_release(), nullptr);
}

TEST(Graph, AWaitRunsItsChainOnly)
{
    EXPECT_STREQ(graph_wait_runs_the_chain_only(), nullptr);
}

TEST(Graph, APollRunsOneOp)
{
    EXPECT_STREQ(graph_poll_runs_one_op(), nullptr);
}

TEST(Graph, AFiniteWaitStartsNothingLarge)
{
    EXPECT_STREQ(graph_finite_wait(), nullptr);
}

TEST(Graph, WaitsForSeveral)
{
    EXPECT_STREQ(graph_wait_many(), nullptr);
}

TEST(Graph, WaitsForUnknownIdsAreRefused)
{
    EXPECT_STREQ(graph_wait_unknown(), nullptr);
}

TEST(Graph, WaitsForConditions)
{
    EXPECT_STREQ(graph_wait_condition(), nullptr);
}

TEST(Graph, WaitsThatCloseACycleAreRefused)
{
    EXPECT_STREQ(graph_wait_cycle(), nullptr);
}

TEST(Graph, OpsRunOnTopOfWaitingOnes)
{
    EXPECT_STREQ(graph_wait_beneath(), nullptr);
}

TEST(Graph, ADeepChain)
{
    EXPECT_STREQ(graph_deep_chain(), nullptr);
}

TEST(Graph, LowestOrdinalFirst)
{
    EXPECT_STREQ(graph_run_some(), nullptr);
}

TEST(Graph, TasksAreForWorkers)
{
    EXPECT_STREQ(graph_tasks(), nullptr);
}

TEST(Graph, SplitOps)
{
    EXPECT_STREQ(graph_split(), nullptr);
}

TEST(Graph, TheTraceSeesOps)
{
    EXPECT_STREQ(graph_trace(), nullptr);
}

TEST(Graph, DestroyDropsWhatIsQueued)
{
    EXPECT_STREQ(graph_destroy(), nullptr);
}

TEST(Graph, MemoryIsFlatOverOrdinals)
{
    EXPECT_STREQ(graph_lanes_and_records_are_used_again(), nullptr);
}

TEST(Graph, OpenOrdinalsInAnyOrder)
{
    EXPECT_STREQ(graph_open_ordinals(), nullptr);
}

TEST(Graph, ALaneIsOneEdge)
{
    EXPECT_STREQ(graph_wide_seal(), nullptr);
}

TEST(Graph, EveryAllocationMayFail)
{
    EXPECT_STREQ(graph_failing_allocations(), nullptr);
}

TEST(Graph, ManySealsLookAtEachLaneOnce)
{
    EXPECT_STREQ(graph_many_seals(), nullptr);
}

TEST(Graph, ManyScopedSealsLookAtEachLaneOnce)
{
    EXPECT_STREQ(graph_many_scoped_seals(), nullptr);
}

TEST(Graph, IdleLanesAreLookedAtOnce)
{
    EXPECT_STREQ(graph_many_idle_lanes(), nullptr);
}

TEST(Graph, WhatHasRunIsPassedOnceByWhoRunsByRequest)
{
    EXPECT_STREQ(graph_many_run_by_request(), nullptr);
}

TEST(Graph, RecordsAreBoundedWhereTokensComeLate)
{
    EXPECT_STREQ(graph_many_late_tokens(), nullptr);
}

TEST(Graph, WhoWaitsForRoomHoldsNoLockForAllThatIsBlocked)
{
    EXPECT_STREQ(graph_many_blocked(), nullptr);
}

TEST(Graph, ASealWaitsForWhatJoinedBelowTheLastOne)
{
    EXPECT_STREQ(graph_join_below_seal(), nullptr);
}

TEST(Graph, SealsHoldUpSealsOnly)
{
    EXPECT_STREQ(graph_seals_hold_up_seals_only(), nullptr);
}

TEST(GraphReport, ClientsKnowAReportAndNotItsOp)
{
    EXPECT_STREQ(graph_report_is_what_clients_know(), nullptr);
}

TEST(GraphReport, WorkMayBeOverBeforeItsReportComesToIt)
{
    EXPECT_STREQ(graph_report_of_what_is_over(), nullptr);
}

TEST(GraphReport, LanesGoOnAtWhatIsSubmitted)
{
    EXPECT_STREQ(graph_reports_of_a_lane(), nullptr);
}

TEST(GraphReport, ASealIsReportedBehindWhatItSeals)
{
    EXPECT_STREQ(graph_report_of_a_seal(), nullptr);
}

TEST(GraphReport, ASealThatRaisesNothingIsReportedBehindWhatIsBelow)
{
    EXPECT_STREQ(graph_report_of_a_seal_that_raises_nothing(), nullptr);
}

TEST(GraphReport, OthersGoOnAtWhatIsSubmitted)
{
    EXPECT_STREQ(graph_report_concerns_nobody_else(), nullptr);
}

TEST(GraphReport, AReportMayWaitForMore)
{
    EXPECT_STREQ(graph_report_has_producers(), nullptr);
}

TEST(GraphReport, AReportFailsAsItsOp)
{
    EXPECT_STREQ(graph_report_fails_as_its_op(), nullptr);
}

TEST(GraphReport, RefusedWithItsReport)
{
    EXPECT_STREQ(graph_report_refused(), nullptr);
}

TEST(GraphReport, AnOpCannotWaitForItsOwnReport)
{
    EXPECT_STREQ(graph_report_waited_for_inside(), nullptr);
}

TEST(GraphReport, ReportsAreExplained)
{
    EXPECT_STREQ(graph_report_explained(), nullptr);
}

TEST(GraphReport, ManySealsLookAtEachReportOnce)
{
    EXPECT_STREQ(graph_many_reports(), nullptr);
}

TEST(GraphReport, ASealIsReportedBehindWhatJoinedBelowTheLastOne)
{
    EXPECT_STREQ(graph_report_joined_below_a_seal(), nullptr);
}

TEST(GraphReport, AnOpAndItsReportInTwoBlocks)
{
    EXPECT_STREQ(graph_report_ids_cross_blocks(), nullptr);
}

TEST(GraphReport, ReportsAreDropped)
{
    EXPECT_STREQ(graph_report_dropped(), nullptr);
}

TEST(GraphReport, ReportsWithoutMemory)
{
    EXPECT_STREQ(graph_report_failing_allocations(), nullptr);
}

TEST(GraphWatch, PollsLookOnce)
{
    EXPECT_STREQ(graph_watch_is_looked_at_by_polls(), nullptr);
}

TEST(GraphWatch, WaitsLook)
{
    EXPECT_STREQ(graph_watch_is_looked_at_by_waits(), nullptr);
}

TEST(GraphWatch, WhoRunsByRequestLooks)
{
    EXPECT_STREQ(graph_watch_is_looked_at_by_who_runs(), nullptr);
}

TEST(GraphWatch, AParkedOpHoldsItsLaneAndNoThread)
{
    EXPECT_STREQ(graph_watch_parked(), nullptr);
}

TEST(GraphWatch, AParkedOpGoesOnWithWorkers)
{
    EXPECT_STREQ(graph_watch_parked_with_workers(), nullptr);
}

TEST(GraphWatch, LentThreadsLook)
{
    EXPECT_STREQ(graph_watch_is_looked_at_by_lent_threads(), nullptr);
}

TEST(GraphWatch, DestroyLooks)
{
    EXPECT_STREQ(graph_watch_destroyed(), nullptr);
}

TEST(Graph, AParkedOpRunsAgain)
{
    EXPECT_STREQ(graph_parked_runs_again(), nullptr);
}

TEST(Graph, AParkedOpMayBeResumedAtOnce)
{
    EXPECT_STREQ(graph_parked_is_resumed_at_once(), nullptr);
}

TEST(Graph, AParkedOpHoldsItsLane)
{
    EXPECT_STREQ(graph_parked_holds_its_lane(), nullptr);
}

TEST(Graph, AParkedOpIsExplained)
{
    EXPECT_STREQ(graph_parked_explained(), nullptr);
}

TEST(Graph, AParkedOpIsWaitedForInsideOthers)
{
    EXPECT_STREQ(graph_parked_is_waited_for_inside(), nullptr);
}

TEST(Graph, AParkedOpIsDropped)
{
    EXPECT_STREQ(graph_parked_is_dropped(), nullptr);
}
