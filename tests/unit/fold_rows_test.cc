// Moving the rows of a change, of every width that has a loop of its own and of others.
#include <gtest/gtest.h>

#include "tests/unit/fold_rows_cases.h"

namespace
{

constexpr uint32_t kWidths[] = {1,  2,  3,  4,  7,  8,  12, 13,  15,  16,  17,
                                24, 31, 32, 48, 63, 64, 65, 127, 128, 129, 200};

void check(fold_rows_mover mover)
{
    for (uint32_t width : kWidths)
        for (uint32_t count : {0u, 1u, 16u, 17u, 150u})
            for (bool bitmap : {false, true})
                EXPECT_STREQ(fold_rows_move(mover, width, count, bitmap), nullptr)
                    << width << " bytes, " << count << " rows, bitmap " << bitmap;
}

TEST(FoldRows, SwapTradesPlaces)
{
    check(FOLD_ROWS_SWAP);
}

TEST(FoldRows, ApplyTakesTheChange)
{
    check(FOLD_ROWS_APPLY);
}

TEST(FoldRows, SaveKeepsWhatWasThere)
{
    check(FOLD_ROWS_SAVE);
}

TEST(FoldRows, CatchUpTakesTheRowsOfTheOther)
{
    check(FOLD_ROWS_CATCH_UP);
}

TEST(FoldRows, RelieveSavesAndCatchesUp)
{
    check(FOLD_ROWS_RELIEVE);
}

} // namespace
