#include "tests/systematic/op_table_cases.h"
#include "tests/systematic/systematic.h"

#include <gtest/gtest.h>

namespace
{

void Explore(const char *name, op_table_shape shape)
{
    fr_systematic_options options = {};
    options.name = name;
    options.runs = 400;
    options.max_steps = 400000;
    options.expected_steps = 12000;
    EXPECT_TRUE(fr_systematic_explore(&options, body_op_table, &shape));
}

TEST(SystematicOpTable, ReadersSeeBlocksPackedAndUsedAgain)
{
    Explore("SystematicOpTable.ReadersSeeBlocksPackedAndUsedAgain", {400, 20, 3, 150, 0});
}

TEST(SystematicOpTable, HeldIdsAreReleasedWhileTheirBlocksArePacked)
{
    Explore("SystematicOpTable.HeldIdsAreReleasedWhileTheirBlocksArePacked", {400, 7, 2, 100, 1});
}

TEST(SystematicOpTable, AllIdsAreHeld)
{
    Explore("SystematicOpTable.AllIdsAreHeld", {400, 1, 2, 100, 1});
}

TEST(SystematicOpTable, NoIdIsHeld)
{
    Explore("SystematicOpTable.NoIdIsHeld", {400, 1000000, 3, 100, 0});
}

} // namespace
