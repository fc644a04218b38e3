#include "tests/systematic/deque_cases.h"
#include "tests/systematic/systematic.h"

#include <gtest/gtest.h>

namespace
{

fr_systematic_options Options(const char *name, uint64_t expected_steps)
{
    fr_systematic_options options = {};
    options.name = name;
    options.runs = 1500;
    options.expected_steps = expected_steps;
    return options;
}

TEST(SystematicDeque, LastTokenHasOneTaker)
{
    fr_systematic_options options = Options("SystematicDeque.LastTokenHasOneTaker", 50);
    deque_shape shape = {2, 2, 2};
    EXPECT_TRUE(fr_systematic_explore(&options, body_deque, &shape));
}

TEST(SystematicDeque, StealWhilePushAndPop)
{
    fr_systematic_options options = Options("SystematicDeque.StealWhilePushAndPop", 150);
    deque_shape shape = {4, 3, 3};
    EXPECT_TRUE(fr_systematic_explore(&options, body_deque, &shape));
}

TEST(SystematicDeque, GrowsUnderThieves)
{
    fr_systematic_options options = Options("SystematicDeque.GrowsUnderThieves", 300);
    deque_shape shape = {16, 2, 5};
    EXPECT_TRUE(fr_systematic_explore(&options, body_deque, &shape));
}

TEST(SystematicIntake, EachTokenIsTakenOnce)
{
    fr_systematic_options options = Options("SystematicIntake.EachTokenIsTakenOnce", 100);
    intake_shape shape = {3, 2, 2};
    EXPECT_TRUE(fr_systematic_explore(&options, body_intake, &shape));
}

TEST(SystematicIntake, ListsAreSorted)
{
    fr_systematic_options options = Options("SystematicIntake.ListsAreSorted", 150);
    intake_shape shape = {3, 4, 1};
    EXPECT_TRUE(fr_systematic_explore(&options, body_intake, &shape));
}

} // namespace
