#include "tests/support/graph_load.h"

#include <gtest/gtest.h>

namespace
{

class GraphStress : public testing::TestWithParam<uint32_t>
{
};

graph_load_options Options(uint32_t workers, uint64_t seed)
{
    graph_load_options options = {};
    options.workers = workers;
    options.producers = 3;
    options.ops = 2000;
    options.seed = seed;
    options.caller_runs = true;
    return options;
}

void ExpectRight(const graph_load_options &options)
{
    const char *wrong = graph_load(&options);
    EXPECT_STREQ(wrong ? wrong : "", "") << options.workers << " workers, seed " << options.seed;
}

TEST_P(GraphStress, CallersRunAndSleepAtOnce)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        ExpectRight(Options(GetParam(), seed));
}

TEST_P(GraphStress, CallersSpinFirst)
{
    for (uint64_t seed = 11; seed <= 14; seed++) {
        graph_load_options options = Options(GetParam(), seed);
        options.caller_spin_ns = 5000;
        ExpectRight(options);
    }
}

TEST_P(GraphStress, CallersOnlySleep)
{
    for (uint64_t seed = 21; seed <= 24; seed++) {
        graph_load_options options = Options(GetParam(), seed);
        options.caller_runs = false;
        ExpectRight(options);
    }
}

TEST_P(GraphStress, TheQueueIsShort)
{
    for (uint64_t seed = 31; seed <= 34; seed++) {
        graph_load_options options = Options(GetParam(), seed);
        options.op_limit = 20;
        ExpectRight(options);
    }
}

TEST_P(GraphStress, DestroyedWithWorkLeft)
{
    for (uint64_t seed = 41; seed <= 48; seed++) {
        graph_load_options options = Options(GetParam(), seed);
        options.ops = 300;
        options.destroys_early = true;
        ExpectRight(options);
    }
}

INSTANTIATE_TEST_SUITE_P(Workers, GraphStress, testing::Values(0u, 1u, 2u, 4u));

} // namespace
