#include "tests/unit/lane_cases.h"

#include <gtest/gtest.h>

TEST(Lane, JoinAndDrain)
{
    EXPECT_STREQ(lane_join_and_drain(), nullptr);
}

TEST(Lane, AnOpThatJoinsIsSeenByTheDrainer)
{
    EXPECT_STREQ(lane_join_while_draining(), nullptr);
}

TEST(Lane, BlockingAndUnblocking)
{
    EXPECT_STREQ(lane_blocking(), nullptr);
}

TEST(Lane, WhoeverLetsGoSeesTheWaiters)
{
    EXPECT_STREQ(lane_waiters(), nullptr);
}

TEST(Lane, ATokenWithoutWork)
{
    EXPECT_STREQ(lane_token_without_work(), nullptr);
}

TEST(Lane, LanesAreFoundInOrder)
{
    EXPECT_STREQ(lane_map_order(), nullptr);
}

TEST(Lane, IdleLanesAreUsedAgain)
{
    EXPECT_STREQ(lane_map_reuse(), nullptr);
}

TEST(Lane, IdleLanesAreUsedAgainBeforeTheirTokensAreTaken)
{
    EXPECT_STREQ(lane_map_reuse_before_token(), nullptr);
}
