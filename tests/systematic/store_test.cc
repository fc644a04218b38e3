#include "tests/systematic/store_cases.h"
#include "tests/systematic/systematic.h"

#include <gtest/gtest.h>

namespace
{

fr_systematic_options Options(const char *name, uint64_t runs, uint64_t expected_steps)
{
    fr_systematic_options options = {};
    options.name = name;
    options.runs = runs;
    options.expected_steps = expected_steps;
    return options;
}

TEST(SystematicStore, AReaderGetsTheHeadOrLooksAgain)
{
    fr_systematic_options options =
        Options("SystematicStore.AReaderGetsTheHeadOrLooksAgain", 1500, 800);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_head, nullptr));
}

TEST(SystematicStore, ASealIsOneMoment)
{
    fr_systematic_options options = Options("SystematicStore.ASealIsOneMoment", 600, 1500);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_seal, nullptr));
}

TEST(SystematicStore, AnOlderStateIsReadOrLaidOver)
{
    fr_systematic_options options =
        Options("SystematicStore.AnOlderStateIsReadOrLaidOver", 3000, 800);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_older, nullptr));
}

TEST(SystematicStore, OlderValuesAreThereOrGone)
{
    fr_systematic_options options = Options("SystematicStore.OlderValuesAreThereOrGone", 600, 2000);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_values, nullptr));
}

TEST(SystematicStore, DeletesAreJudgedByAcceptance)
{
    fr_systematic_options options =
        Options("SystematicStore.DeletesAreJudgedByAcceptance", 200, 2500);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_deletes, nullptr));
}

TEST(SystematicStore, AJudgementDoesNotSeeTheFirstLateWrite)
{
    fr_systematic_options options =
        Options("SystematicStore.AJudgementDoesNotSeeTheFirstLateWrite", 1000, 500);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_late, nullptr));
}

TEST(SystematicStore, AJudgementKnowsWhatWasLost)
{
    fr_systematic_options options =
        Options("SystematicStore.AJudgementKnowsWhatWasLost", 1500, 500);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_lost, nullptr));
}

TEST(SystematicStore, MarksGoWhenTombstonesAreThere)
{
    fr_systematic_options options =
        Options("SystematicStore.MarksGoWhenTombstonesAreThere", 1500, 1000);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_marks, nullptr));
}

TEST(SystematicStore, DerivedRowsAreSeenTogether)
{
    fr_systematic_options options =
        Options("SystematicStore.DerivedRowsAreSeenTogether", 600, 1200);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_derived, nullptr));
}

TEST(SystematicStore, AReaderFindsKeysWhereTheyAreOrLooksAgain)
{
    fr_systematic_options options =
        Options("SystematicStore.AReaderFindsKeysWhereTheyAreOrLooksAgain", 1200, 1000);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_moved, nullptr));
}

TEST(SystematicStore, AWriteToKeysThatMovedIsSeenByWhoReadsNext)
{
    fr_systematic_options options =
        Options("SystematicStore.AWriteToKeysThatMovedIsSeenByWhoReadsNext", 600, 1800);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_moved_open, nullptr));
}

TEST(SystematicStore, KeysAreRehomedBesideWritersAndReaders)
{
    fr_systematic_options options =
        Options("SystematicStore.KeysAreRehomedBesideWritersAndReaders", 1000, 2000);
    EXPECT_TRUE(fr_systematic_explore(&options, body_store_rehomed, nullptr));
}

} // namespace
