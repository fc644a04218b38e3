#include "tests/systematic/systematic.h"
#include "tests/systematic/floor_watch_cases.h"

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

TEST(SystematicFloorWatch, EveryFloorIsToldOnce)
{
    fr_systematic_options options = Options("SystematicFloorWatch.EveryFloorIsToldOnce");
    EXPECT_TRUE(fr_systematic_explore(&options, body_watches, nullptr));
}

TEST(SystematicFloorWatch, ToldOrForgotten)
{
    fr_systematic_options options = Options("SystematicFloorWatch.ToldOrForgotten");
    EXPECT_TRUE(fr_systematic_explore(&options, body_watches_forgotten, nullptr));
}

} // namespace
