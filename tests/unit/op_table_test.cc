#include "tests/unit/op_table_cases.h"

#include <gtest/gtest.h>

TEST(OpTable, LifeOfAnId)
{
    EXPECT_STREQ(op_table_life_of_an_id(), nullptr);
}

TEST(OpTable, PackedBlocks)
{
    EXPECT_STREQ(op_table_packed_blocks(), nullptr);
}

TEST(OpTable, FailuresStayUntilReleased)
{
    EXPECT_STREQ(op_table_failures_stay(), nullptr);
}

TEST(OpTable, PendingIdsKeepTheirBlockAlone)
{
    EXPECT_STREQ(op_table_pending_ids_stay(), nullptr);
}

TEST(OpTable, WithoutMemoryNothingIsLost)
{
    EXPECT_STREQ(op_table_without_memory(), nullptr);
}

TEST(OpTable, NeverReleasedIdsAreSmall)
{
    EXPECT_STREQ(op_table_never_released(), nullptr);
}

TEST(OpTable, FewUnreleasedIdsAreSmall)
{
    EXPECT_STREQ(op_table_few_unreleased(), nullptr);
}

TEST(OpTable, ReleasedIdsCostNothing)
{
    EXPECT_STREQ(op_table_all_released(), nullptr);
}
