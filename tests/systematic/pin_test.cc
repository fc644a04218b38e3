#include "tests/systematic/pin_cases.h"
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

TEST(SystematicPin, ReadersKeepWhatTheyPinned)
{
    fr_systematic_options options = Options("SystematicPin.ReadersKeepWhatTheyPinned", 60);
    pin_shape shape = {2, 1, 0, 2};
    EXPECT_TRUE(fr_systematic_explore(&options, body_pin, &shape));
}

TEST(SystematicPin, OneWritesAtATime)
{
    fr_systematic_options options = Options("SystematicPin.OneWritesAtATime", 60);
    pin_shape shape = {1, 2, 0, 3};
    EXPECT_TRUE(fr_systematic_explore(&options, body_pin, &shape));
}

// The record is used anew while others hold pins, are exclusive, or are about to be.
TEST(SystematicPin, DeadVersionsAreLetGoOnce)
{
    fr_systematic_options options = Options("SystematicPin.DeadVersionsAreLetGoOnce", 100);
    pin_shape shape = {3, 1, 1, 3};
    EXPECT_TRUE(fr_systematic_explore(&options, body_pin, &shape));
}

} // namespace
