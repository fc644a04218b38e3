// Linked to tests of other folders, which run against a library that counts allocations and calls
// of clients' code and of drivers under locks: there must be none; and how far walks go under
// locks: no further for more of anything.
#include <gtest/gtest.h>

#include "tests/locks/lock_rule.h"

namespace
{

uint64_t meant = 0, meant_calls = 0, meant_devices = 0; // those that the tests below make
// A few records of which each is found by a walk down a tree.
const uint64_t most_looks = 300;

TEST(LockRule, SeesAnAllocationUnderALock)
{
    EXPECT_EQ(lock_rule_break(), 2u);
    meant += 2;
    EXPECT_EQ(lock_rule_break_long(), 0u);
}

TEST(LockRule, SeesClientsCalledUnderALock)
{
    EXPECT_EQ(lock_rule_call_clients(), 2u);
    meant_calls += 2;
}

TEST(LockRule, SeesADriverCalledUnderALock)
{
    EXPECT_EQ(lock_rule_call_devices(), 1u);
    meant_devices++;
}

TEST(LockRule, SeesHowFarAWalkGoesUnderLocks)
{
    lock_rule_look();
    EXPECT_GE(lock_rule_most_looks(), 3u);
    EXPECT_LE(lock_rule_most_looks(), most_looks);
}

class NothingIsAllocatedUnderALock : public ::testing::Environment
{
  public:
    void TearDown() override
    {
        EXPECT_EQ(lock_rule_breaks(), meant);
        EXPECT_EQ(lock_rule_clients_called(), meant_calls);
        EXPECT_EQ(lock_rule_devices_called(), meant_devices);
        EXPECT_LE(lock_rule_most_looks(), most_looks);
    }
};

const ::testing::Environment *const environment =
    ::testing::AddGlobalTestEnvironment(new NothingIsAllocatedUnderALock);

} // namespace
