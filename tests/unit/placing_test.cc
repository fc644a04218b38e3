#include <gtest/gtest.h>

#include "tests/unit/placing_cases.h"

TEST(Placing, NewKeysOfTwoWritesAreSealed)
{
    for (bool others : {false, true})
        for (bool first_is_last : {false, true})
            EXPECT_STREQ(placing_case_two_writes(others, first_is_last), nullptr)
                << others << first_is_last;
}

TEST(Placing, WhatWasGivenUpStandsInNobodysWay)
{
    EXPECT_STREQ(placing_case_after_one_was_given_up(), nullptr);
}

TEST(Placing, NewKeysOfWhichASealPlacesSome)
{
    EXPECT_STREQ(placing_case_a_seal_meanwhile(true), nullptr);
}

TEST(Placing, NewKeysThatASealPlaces)
{
    EXPECT_STREQ(placing_case_a_seal_meanwhile(false), nullptr);
}

TEST(Placing, WhatIsGivenUpDecidesNothing)
{
    EXPECT_STREQ(placing_case_what_is_given_up_decides_nothing(), nullptr);
}

TEST(Placing, WhatIsWrittenDecides)
{
    EXPECT_STREQ(placing_case_what_is_written_decides(), nullptr);
}

TEST(Placing, WhatAFilterHasTakenMeanwhileIsNotWritten)
{
    EXPECT_STREQ(placing_case_a_filter_takes_an_older_state(), nullptr);
}
