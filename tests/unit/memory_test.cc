#include "tests/unit/memory_cases.h"

#include <gtest/gtest.h>

TEST(Memory, AllocatesAlignedAndZeroed)
{
    EXPECT_STREQ(memory_allocates(), nullptr);
}

TEST(Memory, GrowingKeepsTheOldBytes)
{
    EXPECT_STREQ(memory_grows(), nullptr);
}

TEST(Memory, AFailedGrowthLeavesTheOldOne)
{
    EXPECT_STREQ(memory_fails(), nullptr);
}
