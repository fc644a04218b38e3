#include "tests/systematic/available_cases.h"
#include "tests/systematic/systematic.h"

#include <gtest/gtest.h>

namespace
{

// Who waits for it when one of them is done has waited for that one's work.
TEST(SystematicAvailable, AnEventStandsForAllThatHaveRecordedIt)
{
    for (uint32_t threads : {2u, 3u}) {
        fr_systematic_options options = {};
        options.name = "SystematicAvailable.AnEventStandsForAllThatHaveRecordedIt";
        options.runs = 500;
        options.expected_steps = 150 * threads;
        options.first_seed = 1 + threads * 10000;
        available_shape shape = {threads, 2};
        EXPECT_TRUE(fr_systematic_explore(&options, body_available, &shape)) << threads;
    }
}

} // namespace
