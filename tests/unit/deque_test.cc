#include "tests/unit/deque_cases.h"

#include <gtest/gtest.h>

TEST(Deque, OwnerTakesTheNewestThievesTheOldest)
{
    EXPECT_STREQ(deque_ends(), nullptr);
}

TEST(Deque, GrowingKeepsTokensAndOrder)
{
    EXPECT_STREQ(deque_growth(), nullptr);
}

TEST(Deque, ABatchIsSeenOnceItIsPublished)
{
    EXPECT_STREQ(deque_batches(), nullptr);
}

TEST(Deque, WithoutMemoryAPushChangesNothing)
{
    EXPECT_STREQ(deque_without_memory(), nullptr);
}

TEST(Deque, MemoryIsBounded)
{
    EXPECT_STREQ(deque_memory_bound(), nullptr);
}

TEST(Intake, LowerOrderRunsFirst)
{
    EXPECT_STREQ(intake_order(), nullptr);
}

TEST(Intake, ListsOfAnyLengthAreSortedAndStable)
{
    EXPECT_STREQ(intake_sort(), nullptr);
}
