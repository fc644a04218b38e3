#include "tests/systematic/pool_cases.h"
#include "tests/systematic/systematic.h"

#include <gtest/gtest.h>

namespace
{

fr_systematic_options Options(const char *name, uint64_t expected_steps)
{
    fr_systematic_options options = {};
    options.name = name;
    options.runs = 400;
    options.max_steps = 30000;
    options.expected_steps = expected_steps;
    return options;
}

TEST(SystematicPool, OneWorkerIsWokenForEachToken)
{
    fr_systematic_options options = Options("SystematicPool.OneWorkerIsWokenForEachToken", 300);
    pool_shape shape = {1, 0, 1, 3};
    EXPECT_TRUE(fr_systematic_explore(&options, body_push_and_wait, &shape));
}

TEST(SystematicPool, BurstFromSeveralThreads)
{
    fr_systematic_options options = Options("SystematicPool.BurstFromSeveralThreads", 800);
    pool_shape shape = {3, 2, 3, 2};
    EXPECT_TRUE(fr_systematic_explore(&options, body_push_and_wait, &shape));
}

TEST(SystematicPool, AWorkersOwnTokenWakesAnother)
{
    fr_systematic_options options = Options("SystematicPool.AWorkersOwnTokenWakesAnother", 500);
    pool_shape shape = {2, 0, 0, 4};
    EXPECT_TRUE(fr_systematic_explore(&options, body_two_meet, &shape));
}

TEST(SystematicPool, TheLastSearcherWakesAnother)
{
    fr_systematic_options options = Options("SystematicPool.TheLastSearcherWakesAnother", 500);
    pool_shape shape = {2, 0, 0, 4};
    EXPECT_TRUE(fr_systematic_explore(&options, body_two_meet_from_outside, &shape));
    shape.workers = 4;
    EXPECT_TRUE(fr_systematic_explore(&options, body_two_meet_from_outside, &shape));
}

TEST(SystematicPool, TokensWithoutWorkEndNoSearch)
{
    fr_systematic_options options = Options("SystematicPool.TokensWithoutWorkEndNoSearch", 500);
    pool_shape shape = {2, 0, 0, 4};
    EXPECT_TRUE(fr_systematic_explore(&options, body_two_meet_without_work, &shape));
    shape.workers = 4;
    EXPECT_TRUE(fr_systematic_explore(&options, body_two_meet_without_work, &shape));
}

TEST(SystematicPool, LentThreadsComeAndGo)
{
    fr_systematic_options options = Options("SystematicPool.LentThreadsComeAndGo", 500);
    for (uint32_t workers = 0; workers <= 2; workers++) {
        pool_shape shape = {workers, 0, 5, 1};
        EXPECT_TRUE(fr_systematic_explore(&options, body_lend, &shape));
    }
}

TEST(SystematicPool, DestroyJoinsInAnyState)
{
    fr_systematic_options options = Options("SystematicPool.DestroyJoinsInAnyState", 300);
    pool_shape shape = {2, 0, 1, 2};
    EXPECT_TRUE(fr_systematic_explore(&options, body_create_and_destroy, &shape));
    options.thread_starts_fail = true; /* the body's own starter thread is the first */
    for (uint32_t limit = 1; limit <= 2; limit++) {
        options.thread_starts = limit;
        EXPECT_TRUE(fr_systematic_explore(&options, body_create_and_destroy, &shape));
    }
}

TEST(SystematicJob, HelpersComeAndGo)
{
    fr_systematic_options options = Options("SystematicJob.HelpersComeAndGo", 500);
    for (uint32_t chunks : {0u, 1u, 2u, 5u}) {
        job_shape shape = {2, chunks, 3, 1};
        EXPECT_TRUE(fr_systematic_explore(&options, body_jobs, &shape));
    }
}

TEST(SystematicJob, OneThreadIsEnough)
{
    fr_systematic_options options = Options("SystematicJob.OneThreadIsEnough", 100);
    options.runs = 50;
    job_shape shape = {0, 5, 3, 0};
    EXPECT_TRUE(fr_systematic_explore(&options, body_jobs, &shape));
}

} // namespace
