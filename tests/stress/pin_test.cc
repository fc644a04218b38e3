// Pins under load.
#include <gtest/gtest.h>

#include "tests/stress/pin_cases.h"

namespace
{

pin_outcome Stress(const pin_load &load)
{
    pin_outcome outcome{};
    pin_stress(&load, &outcome);
    EXPECT_EQ(outcome.torn, 0u) << "a pinned payload changed";
    EXPECT_EQ(outcome.used_when_let_go, 0u);
    EXPECT_EQ(outcome.word_at_end, 0u) << "a pin, or a dead version, was forgotten";
    return outcome;
}

TEST(PinStress, ReadersAndWriters)
{
    pin_outcome outcome = Stress({3, 2, 0, 50000});
    EXPECT_EQ(outcome.reads, 150000u);
    EXPECT_EQ(outcome.writes, 100000u);
}

TEST(PinStress, ReadersAlone)
{
    EXPECT_EQ(Stress({4, 0, 0, 100000}).reads, 400000u) << "readers never refuse each other";
}

TEST(PinStress, RecordsAreUsedAnew)
{
    pin_outcome outcome = Stress({3, 1, 1, 50000});
    EXPECT_GT(outcome.lives, 0u);
    EXPECT_LE(outcome.lives, 50000u);
}

} // namespace
