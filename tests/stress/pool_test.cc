#include "tests/stress/pool_cases.h"

#include <gtest/gtest.h>

#define STRESS_TEST(suite, name, body) \
    TEST(suite, name) \
    { \
        EXPECT_STREQ(body(), nullptr); \
    }

STRESS_TEST(PoolStress, BurstsWakeSleepers, stress_burst)
STRESS_TEST(PoolStress, PushAndWait, stress_push_and_wait)
STRESS_TEST(PoolStress, PushAndWaitAsleep, stress_push_and_wait_asleep)
STRESS_TEST(PoolStress, TokensPushTokens, stress_tree)
STRESS_TEST(PoolStress, LentThreadsComeAndGo, stress_lent)
STRESS_TEST(PoolStress, ManyLives, stress_lives)
STRESS_TEST(JobStress, OneMemoryManyJobs, stress_jobs)
