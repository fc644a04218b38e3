#include <gtest/gtest.h>

#include "tests/unit/slices_cases.h"

namespace
{

TEST(Slices, CopiesCountReferences)
{
    EXPECT_STREQ(slices_copies_count_references(), nullptr);
}

TEST(Slices, CopyingAgainDoesNoHarm)
{
    EXPECT_STREQ(slices_copying_again_does_no_harm(), nullptr);
}

TEST(Slices, TheLastReleaseLetsGo)
{
    EXPECT_STREQ(slices_last_release_lets_go(), nullptr);
}

TEST(Slices, PendingBytesLeaveOnce)
{
    EXPECT_STREQ(slices_pending_bytes_leave_once(), nullptr);
}

TEST(Slices, APinnedHeadIsNotCompacted)
{
    EXPECT_STREQ(slices_a_pinned_head_is_not_compacted(), nullptr);
}

} // namespace
