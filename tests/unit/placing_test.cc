#include <gtest/gtest.h>

#include "tests/unit/placing_cases.h"

// No seal could bring together what lies apart on a device: the second write is refused, and says
// so, in place of rows that cannot be read.
TEST(Placing, OtherNewKeysAreRefusedWhileSomeAreUnderWay)
{
    EXPECT_STREQ(placing_case_other_keys(), nullptr);
}

TEST(Placing, TheSameNewKeysGoTogether)
{
    EXPECT_STREQ(placing_case_the_same_keys(), nullptr);
}

TEST(Placing, WhatWasGivenUpStandsInNobodysWay)
{
    EXPECT_STREQ(placing_case_after_one_was_given_up(), nullptr);
}

TEST(Placing, NewKeysOfWhichASealPlacesSome)
{
    EXPECT_STREQ(placing_case_a_seal_of_others_meanwhile(), nullptr);
}

TEST(Placing, NewKeysThatASealPlacesAreFoundThere)
{
    EXPECT_STREQ(placing_case_a_seal_of_the_same_meanwhile(), nullptr);
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
