#include "tests/systematic/systematic.h"
#include "tests/systematic/watch_cases.h"

#include <gtest/gtest.h>

namespace
{

void Explore(const char *name, void (*body)(void *), uint32_t least_workers, uint32_t lent,
             uint64_t runs)
{
    for (uint32_t workers = least_workers; workers <= 2; workers++) {
        for (uint32_t threads : {1u, 2u, 3u}) {
            for (uint32_t ops : {1u, 4u}) {
                fr_systematic_options options = {};
                options.name = name;
                options.runs = runs;
                options.max_steps = 400000;
                options.expected_steps = 2000;
                options.first_seed = 1 + workers * 1000000 + threads * 100000 + ops * 10000;
                watch_shape shape = {workers, threads, ops, lent};
                ASSERT_TRUE(fr_systematic_explore(&options, body, &shape))
                    << workers << " workers, " << threads << " threads, " << ops << " ops";
            }
        }
    }
}

TEST(SystematicWatch, WhatIsOutstandingIsLookedAt)
{
    Explore("SystematicWatch.WhatIsOutstandingIsLookedAt", body_watch_load, 0, 0, 80);
}

TEST(SystematicWatch, WhileAThreadIsLent)
{
    Explore("SystematicWatch.WhileAThreadIsLent", body_watch_load, 0, 1, 40);
}

TEST(SystematicWatch, WhileTheWorkersAreBusy)
{
    Explore("SystematicWatch.WhileTheWorkersAreBusy", body_watch_blocked, 1, 0, 100);
}

TEST(SystematicWatch, ThoughAllSleptBefore)
{
    Explore("SystematicWatch.ThoughAllSleptBefore", body_watch_all_asleep, 0, 0, 150);
}

TEST(SystematicWatch, DestroyedWithWorkOutstanding)
{
    Explore("SystematicWatch.DestroyedWithWorkOutstanding", body_watch_destroy, 0, 0, 60);
}

} // namespace
