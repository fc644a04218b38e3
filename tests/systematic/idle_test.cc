#include "tests/systematic/idle_cases.h"
#include "tests/systematic/systematic.h"

#include <gtest/gtest.h>

namespace
{

fr_systematic_options Options(const char *name, uint64_t expected_steps)
{
    fr_systematic_options options = {};
    options.name = name;
    options.runs = 2000;
    options.max_steps = 10000;
    options.expected_steps = expected_steps;
    return options;
}

TEST(SystematicIdle, OneSleeperIsNeverLost)
{
    fr_systematic_options options = Options("SystematicIdle.OneSleeperIsNeverLost", 40);
    idle_shape shape = {1, 2};
    EXPECT_TRUE(fr_systematic_explore(&options, body_idle, &shape));
}

TEST(SystematicIdle, ThreeSleepersShareTheWakes)
{
    fr_systematic_options options = Options("SystematicIdle.ThreeSleepersShareTheWakes", 150);
    idle_shape shape = {3, 10};
    EXPECT_TRUE(fr_systematic_explore(&options, body_idle, &shape));
}

} // namespace
