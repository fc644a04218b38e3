// What each call on a pin word answers in each of its states.
#include <gtest/gtest.h>

#include "tests/unit/pin_cases.h"

namespace
{

class Pin : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        pin_case_init();
    }
};

TEST_F(Pin, CountsPins)
{
    EXPECT_EQ(pin_case_count(), 0u);
    EXPECT_TRUE(pin_case_take());
    EXPECT_TRUE(pin_case_take());
    EXPECT_EQ(pin_case_count(), 2u);
    EXPECT_FALSE(pin_case_drop()) << "a live version keeps its payload";
    EXPECT_FALSE(pin_case_drop());
    EXPECT_EQ(pin_case_count(), 0u);
}

TEST_F(Pin, ExclusiveNeedsAndKeepsNoPins)
{
    EXPECT_TRUE(pin_case_take());
    EXPECT_FALSE(pin_case_exclusive());
    EXPECT_FALSE(pin_case_drop());
    EXPECT_TRUE(pin_case_exclusive());
    EXPECT_FALSE(pin_case_exclusive()) << "one at a time";
    EXPECT_FALSE(pin_case_take());
    EXPECT_EQ(pin_case_count(), 0u) << "a refused take leaves no trace";
    EXPECT_FALSE(pin_case_exclusive_end());
    EXPECT_TRUE(pin_case_take());
    EXPECT_FALSE(pin_case_drop());
}

TEST_F(Pin, ADeadVersionGivesNoPins)
{
    EXPECT_TRUE(pin_case_kill()) << "nobody uses it: the killer lets go";
    EXPECT_FALSE(pin_case_take());
    EXPECT_FALSE(pin_case_exclusive());
    EXPECT_FALSE(pin_case_kill()) << "only once";
    pin_case_init();
    EXPECT_TRUE(pin_case_take());
    EXPECT_FALSE(pin_case_drop());
}

TEST_F(Pin, TheLastDropLetsGo)
{
    EXPECT_TRUE(pin_case_take());
    EXPECT_TRUE(pin_case_take());
    EXPECT_FALSE(pin_case_kill());
    EXPECT_FALSE(pin_case_take());
    EXPECT_EQ(pin_case_count(), 2u);
    EXPECT_FALSE(pin_case_drop());
    EXPECT_FALSE(pin_case_kill());
    EXPECT_TRUE(pin_case_drop());
    EXPECT_FALSE(pin_case_kill());
}

TEST_F(Pin, TheEndOfTheExclusiveOneLetsGo)
{
    EXPECT_TRUE(pin_case_exclusive());
    EXPECT_FALSE(pin_case_kill());
    EXPECT_FALSE(pin_case_take());
    EXPECT_TRUE(pin_case_exclusive_end());
    EXPECT_FALSE(pin_case_kill());
}

} // namespace
