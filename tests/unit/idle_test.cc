#include "tests/unit/idle_cases.h"

#include <gtest/gtest.h>

TEST(Idle, ABurstPaysOneWake)
{
    EXPECT_STREQ(idle_burst(), nullptr);
}

TEST(Idle, HalfOfTheThreadsSearchAtMost)
{
    EXPECT_STREQ(idle_search_limit(), nullptr);
}

TEST(Idle, ACancelledSleepTakesItsPermitAlong)
{
    EXPECT_STREQ(idle_cancel(), nullptr);
}

TEST(Idle, OnlyTheLastSearcherMustLookAgain)
{
    EXPECT_STREQ(idle_last_searcher(), nullptr);
}

TEST(Idle, CountsDoNotRunIntoEachOther)
{
    EXPECT_STREQ(idle_counts(), nullptr);
}
