#include "tests/unit/pool_cases.h"

#include <gtest/gtest.h>

#define POOL_TEST(suite, name, body) \
    TEST(suite, name) \
    { \
        EXPECT_STREQ(body(), nullptr); \
    }

POOL_TEST(Pool, WithoutWorkersALentThreadRunsLowOrdersFirst, pool_without_workers)
POOL_TEST(Pool, ALentThreadRunsAsManyTokensAsAsked, pool_lend_some)
POOL_TEST(Pool, NeitherIntakeNorOldTokensStarve, pool_nothing_starves)
POOL_TEST(Pool, ATokenGivenBackLetsOthersRun, pool_give_back)
POOL_TEST(Pool, DestroyRunsWhatIsLeft, pool_destroy_runs_tokens)
POOL_TEST(Pool, LendingInsideAToken, pool_lend_inside)
POOL_TEST(Pool, TooManyLentThreadsAreRefused, pool_lend_limit)
POOL_TEST(Pool, WorksWithTheThreadsThatCouldBeStarted, pool_thread_starts_fail)
POOL_TEST(Pool, TokensRunWithoutMemoryForDeques, pool_no_memory)
POOL_TEST(Pool, HooksRunOnEachThread, pool_hooks)
POOL_TEST(Pool, IdleCostsNothing, pool_idle_costs_nothing)
POOL_TEST(Job, EachChunkRunsOnce, job_counts)
POOL_TEST(Job, TokensThatComeTooLateHoldTheMemory, job_released_is_left_alone)
