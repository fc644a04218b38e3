#include "tests/stress/watch_cases.h"

#include <gtest/gtest.h>

namespace
{

class WatchStress : public testing::TestWithParam<uint32_t>
{
};

TEST_P(WatchStress, WhatIsOutstandingIsLookedAt)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        watch_load load = {};
        load.workers = GetParam();
        load.threads = 1 + static_cast<uint32_t>(seed % 4);
        load.rounds = 40;
        load.seed = seed;
        const char *wrong = watch_run(&load);
        EXPECT_STREQ(wrong ? wrong : "", "") << load.workers << " workers, seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Workers, WatchStress, testing::Values(0u, 1u, 2u, 4u));

} // namespace
