// An instance on a system that refuses threads: fewer workers, or none, are fine.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/support/client.h"
#include "tests/unit/stage_cases.h"

namespace
{

using namespace client;

ovstage_api_status_t counts(const flyrail_task_context_t *, void *user)
{
    ++*static_cast<std::atomic<int> *>(user);
    return OVSTAGE_OK;
}

TEST(Stage, works_with_as_many_threads_as_can_be_had)
{
    for (uint32_t threads : {0u, 1u, 2u}) {
        stage_case_threads_begin(threads);
        {
            Stage stage(3);
            ovx_token_t x = stage.token("x");
            ovstage_query_handle_t query = stage.query(10);
            std::vector<float> values(10, 3.0f);
            std::atomic<int> ran{0};
            std::vector<ovstage_enqueue_result_t> tasks;
            for (uint64_t i = 0; i < 20; i++)
                tasks.push_back(task(stage, i % 4, counts, &ran));
            ovstage_enqueue_result_t write = stage.write(query, x, 4, values);
            ovstage_enqueue_result_t seal = stage.seal(4);
            for (const auto &one : tasks)
                stage.finish(one);
            stage.finish(seal);
            stage.finish(write);
            EXPECT_EQ(ran, 20);
            EXPECT_EQ(stage.read(query, x, 4), values);
            EXPECT_EQ(flyrail_parallel_for(
                          stage.instance, 100, 3,
                          [](uint64_t begin, uint64_t end, void *user) {
                              *static_cast<std::atomic<int> *>(user) +=
                                  static_cast<int>(end - begin);
                          },
                          &ran),
                      OVSTAGE_OK);
            EXPECT_EQ(ran, 120);
            EXPECT_EQ(stage.statistics().worker_count, threads);
        }
        EXPECT_GE(stage_case_threads_end(), 1u);
    }
}

} // namespace
