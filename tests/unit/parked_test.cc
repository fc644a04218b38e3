#include <gtest/gtest.h>

#include "tests/unit/parked_cases.h"

// Who asks what an op waits for holds it up in nothing: so it may have run meanwhile, and what it
// had may be gone, or another op's.
TEST(Parked, AWriteTellsWithoutALookAtWhatItHas)
{
    EXPECT_STREQ(parked_case_a_write_reads_nothing(), nullptr);
}
