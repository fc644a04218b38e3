// What runtime/device/ does with devices, by the calls that it makes.
#include <gtest/gtest.h>

#include "tests/unit/device_cases.h"

#define DEVICE_CASE(name, function) \
    TEST(Device, name) \
    { \
        EXPECT_STREQ(function(), nullptr); \
    }

DEVICE_CASE(NothingIsOpenedEarly, device_case_nothing_is_opened_early)
DEVICE_CASE(FencesAreOverInOrder, device_case_fences_are_over_in_order)
DEVICE_CASE(WhatIsDueIsNotWatched, device_case_what_is_due_is_not_watched)
DEVICE_CASE(ALaneKeepsItsStream, device_case_a_lane_keeps_its_stream)
DEVICE_CASE(StreamsHaveALimit, device_case_streams_have_a_limit)
DEVICE_CASE(ARunThatEndsEarlyKeepsItsStream, device_case_a_run_that_ends_early_keeps_its_stream)
DEVICE_CASE(MemoryComesBack, device_case_memory_comes_back)
DEVICE_CASE(ReadsHoldMemory, device_case_reads_hold_memory)
DEVICE_CASE(WritesWaitForAll, device_case_writes_wait_for_all)
DEVICE_CASE(ManyReaders, device_case_many_readers)
DEVICE_CASE(CaptureWaitsForBoth, device_case_capture_waits_for_both)
DEVICE_CASE(ARefusedGateIsNotUsedAgain, device_case_a_refused_gate_is_not_used_again)
DEVICE_CASE(RefusedGatesLeaveNothing, device_case_refused_gates_leave_nothing)
DEVICE_CASE(ADeadDeviceLoses, device_case_a_dead_device_loses)
DEVICE_CASE(EachCallFails, device_case_each_call_fails)
DEVICE_CASE(ALookGivesStreamsAway, device_case_a_look_gives_streams_away)
DEVICE_CASE(AGivenStreamIsGivenOn, device_case_a_given_stream_is_given_on)
DEVICE_CASE(ADroppedOpGivesItsStreamBack, device_case_a_dropped_op_gives_its_stream_back)
DEVICE_CASE(WhatIsReadyWaitsNoLonger, device_case_what_is_ready_waits_no_longer)
DEVICE_CASE(ItIsResumedOnce, device_case_it_is_resumed_once)
DEVICE_CASE(NoStreamIsMade, device_case_no_stream_is_made)
DEVICE_CASE(AStreamIsDiscarded, device_case_a_stream_is_discarded)
DEVICE_CASE(WhoWaitsForWhatIsStalledIs, device_case_who_waits_for_what_is_stalled_is)
DEVICE_CASE(OneMoreForOneThatTurns, device_case_one_more_for_one_that_turns)
DEVICE_CASE(OneMoreThatCannotBeMade, device_case_one_more_that_cannot_be_made)
DEVICE_CASE(OneMoreForOneThatIsMade, device_case_one_more_for_one_that_is_made)
