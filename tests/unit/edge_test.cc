#include "tests/unit/edge_cases.h"

#include <gtest/gtest.h>

TEST(Edge, BlocksAreKept)
{
    EXPECT_STREQ(edge_blocks(), nullptr);
}

TEST(Edge, LinkedOrTooLate)
{
    EXPECT_STREQ(edge_link_and_take(), nullptr);
}
