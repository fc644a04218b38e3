#include "tests/systematic/systematic.h"
#include "tests/systematic/systematic_cases.h"

#include <gtest/gtest.h>

#include <string>

namespace
{

fr_systematic_options Options(const char *name)
{
    fr_systematic_options options = {};
    options.name = name;
    options.expected_steps = 30;
    return options;
}

/* How many of 300 seeds end in the outcome that the ordered form forbids. */
template <class Forbidden>
int Count(void (*body)(void *), bool ordered, bool buffers, Forbidden forbidden)
{
    fr_systematic_options options = Options("Systematic.Litmus");
    options.no_store_buffers = !buffers;
    int count = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        litmus observed = {ordered, 7, 7};
        EXPECT_TRUE(fr_systematic_run(&options, seed, false, body, &observed, nullptr));
        count += forbidden(observed);
    }
    return count;
}

bool BothZero(const litmus &l)
{
    return l.first == 0 && l.second == 0;
}

bool FlagWithoutData(const litmus &l)
{
    return l.first == 1 && l.second == 0;
}

TEST(Systematic, StoreBuffersAreSeenWithoutFences)
{
    EXPECT_GT(Count(litmus_store_buffer, false, true, BothZero), 0);
    EXPECT_EQ(Count(litmus_store_buffer, true, true, BothZero), 0);
    EXPECT_EQ(Count(litmus_store_buffer, false, false, BothZero), 0);
}

TEST(Systematic, RelaxedPublishingIsSeen)
{
    EXPECT_GT(Count(litmus_message_passing, false, true, FlagWithoutData), 0);
    EXPECT_EQ(Count(litmus_message_passing, true, true, FlagWithoutData), 0);
}

TEST(Systematic, ASeedReplaysExactly)
{
    fr_systematic_options options = Options("Systematic.ASeedReplaysExactly");
    uint64_t distinct = 0, before = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint32_t one = 0, two = 0;
        fr_systematic_outcome first, second;
        ASSERT_TRUE(fr_systematic_run(&options, seed, false, body_counts, &one, &first));
        ASSERT_TRUE(fr_systematic_run(&options, seed, false, body_counts, &two, &second));
        EXPECT_EQ(one, two);
        EXPECT_EQ(first.steps, second.steps);
        EXPECT_EQ(first.switches, second.switches);
        EXPECT_EQ(first.fingerprint, second.fingerprint);
        distinct += first.fingerprint != before;
        before = first.fingerprint;
    }
    EXPECT_GT(distinct, 50u);
}

TEST(Systematic, LostUpdatesAreSeen)
{
    fr_systematic_options options = Options("Systematic.LostUpdatesAreSeen");
    int lost = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint32_t counter = 0;
        ASSERT_TRUE(fr_systematic_run(&options, seed, false, body_counts, &counter, nullptr));
        lost += counter == 1;
    }
    EXPECT_GT(lost, 0);
    EXPECT_LT(lost, 100);
}

TEST(Systematic, DeadlockLivelockAndChecksFailTheRun)
{
    fr_systematic_options options = Options("Systematic.Fails");
    options.max_steps = 500;
    fr_systematic_outcome outcome;
    EXPECT_FALSE(fr_systematic_run(&options, 1, true, body_deadlocks, nullptr, &outcome));
    EXPECT_EQ(std::string(outcome.text).rfind("deadlock:", 0), 0u) << outcome.text;
    EXPECT_FALSE(fr_systematic_run(&options, 1, true, body_never_ends, nullptr, &outcome));
    EXPECT_EQ(std::string(outcome.text).rfind("livelock:", 0), 0u) << outcome.text;
    EXPECT_FALSE(fr_systematic_run(&options, 1, true, body_checks, nullptr, &outcome));
    EXPECT_STREQ(outcome.text, "one is not two");
    EXPECT_EQ(outcome.seed, 1u);
}

TEST(Systematic, TimeIsFaked)
{
    fr_systematic_options options = Options("Systematic.TimeIsFaked");
    for (uint64_t seed = 0; seed < 50; seed++) {
        uint64_t elapsed_ns = 0;
        ASSERT_TRUE(fr_systematic_run(&options, seed, false, body_times_out, &elapsed_ns, nullptr));
        EXPECT_GE(elapsed_ns, 5000000u);
    }
}

TEST(Systematic, ThreadStartsCanFail)
{
    fr_systematic_options options = Options("Systematic.ThreadStartsCanFail");
    options.thread_starts_fail = true;
    for (uint32_t limit = 0; limit <= 3; limit++) {
        options.thread_starts = limit;
        uint32_t started = 9;
        ASSERT_TRUE(fr_systematic_run(&options, 5, false, body_starts, &started, nullptr));
        EXPECT_EQ(started, limit);
    }
}

TEST(Systematic, MutexExcludesAndWakes)
{
    fr_systematic_options options = Options("Systematic.MutexExcludesAndWakes");
    options.expected_steps = 60;
    uint32_t counter = 0;
    EXPECT_TRUE(fr_systematic_explore(&options, body_mutex, &counter));
}

} // namespace
