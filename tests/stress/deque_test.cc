#include "tests/stress/deque_cases.h"

#include <gtest/gtest.h>

#define STRESS_TEST(suite, name, body) \
    TEST(suite, name) \
    { \
        EXPECT_STREQ(body(), nullptr); \
    }

STRESS_TEST(DequeStress, Smoke, stress_smoke)
STRESS_TEST(DequeStress, StealWhilePush, stress_steal_while_push)
STRESS_TEST(DequeStress, Growth, stress_growth)
STRESS_TEST(DequeStress, Stampede, stress_stampede)
STRESS_TEST(DequeStress, ExactlyOnce, stress_exactly_once)
STRESS_TEST(DequeStress, NoStarvation, stress_no_starvation)
STRESS_TEST(IntakeStress, ExactlyOnce, stress_intake)
