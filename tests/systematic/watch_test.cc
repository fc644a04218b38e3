#include "tests/systematic/systematic.h"
#include "tests/systematic/watch_cases.h"

#include <gtest/gtest.h>

namespace
{

fr_systematic_options Options(const char *name)
{
    fr_systematic_options options = {};
    options.name = name;
    options.runs = 1000;
    options.expected_steps = 150;
    return options;
}

TEST(SystematicWatch, EveryFloorIsToldOnce)
{
    fr_systematic_options options = Options("SystematicWatch.EveryFloorIsToldOnce");
    EXPECT_TRUE(fr_systematic_explore(&options, body_watches, nullptr));
}

TEST(SystematicWatch, ToldOrForgotten)
{
    fr_systematic_options options = Options("SystematicWatch.ToldOrForgotten");
    EXPECT_TRUE(fr_systematic_explore(&options, body_watches_forgotten, nullptr));
}

} // namespace
