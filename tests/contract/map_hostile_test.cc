// Map sessions in hands that are wrong, many, or short of memory: R15, R126, L2, D16, D20.
#include <thread>

#include "tests/support/bounded.h"
#include "tests/support/heap.h"
#include "tests/support/maps.h"

using namespace client;

namespace
{

TEST_F(MapTest, D16_foreign_and_hostile_groups)
{
    Map map(stage, query, description(attribute), 1),
        other(stage, query, description(attribute), 1);
    map.fill(ramp(4, 10));
    other.fill(ramp(4, 20));
    const auto unmap = [&](const ovstage_map_group_t *group) {
        return ovstage_unmap_group(stage.instance, map.handle, group, ovstage_cuda_sync_t{});
    };
    refused(unmap(nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(unmap(&other.group), OVSTAGE_ERROR_INVALID_HANDLE);
    ovstage_map_group_t wrong{};
    refused(unmap(&wrong), OVSTAGE_ERROR_INVALID_HANDLE);
    wrong = map.group;
    wrong.data.tensors = reinterpret_cast<const DLTensor *>(16);
    refused(unmap(&wrong), OVSTAGE_ERROR_INVALID_HANDLE);
    wrong = map.group;
    wrong.prims.list++;
    refused(unmap(&wrong), OVSTAGE_ERROR_INVALID_HANDLE);
    stage.finish(other.unmap());
    stage.finish(map.unmap_group());
    std::string why = refused(map.unmap_group(), OVSTAGE_ERROR_INVALID_HANDLE); // committed
    EXPECT_NE(why.find("committed"), std::string::npos) << why;
    stage.finish(map.unmap());
    EXPECT_EQ(sealed(1), ramp(4, 10));
}

TEST_F(MapTest, R15_hostile_handles)
{
    Stage elsewhere(1);
    Map foreign(elsewhere, elsewhere.query(1), description(attribute), 1);
    Map map(stage, query, description(attribute), 1);
    ASSERT_EQ(map.fetch(), OVSTAGE_OK);
    for (uint64_t handle : {uint64_t{0}, uint64_t{5}, ~uint64_t{0}, uint64_t{query},
                            uint64_t{foreign.handle}, map.handle + 1}) {
        ovstage_map_group_t group = map.group;
        EXPECT_EQ(ovstage_fetch_map_next(stage.instance, handle, 0, &group),
                  OVSTAGE_ERROR_INVALID_HANDLE);
        refused(ovstage_unmap_group(stage.instance, handle, &group, {}),
                OVSTAGE_ERROR_INVALID_HANDLE);
        refused(ovstage_unmap_attribute(stage.instance, handle, {}), OVSTAGE_ERROR_INVALID_HANDLE);
    }
    EXPECT_EQ(ovstage_fetch_map_next(stage.instance, map.handle, 0, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    ovstage_map_desc_t desc = description(attribute);
    ovstage_map_handle_t out = 7;
    refused(ovstage_map_attribute(stage.instance, map.handle, &desc, 1, nullptr, 0, &out),
            OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(out, 0u);
    refused(ovstage_map_attribute(stage.instance, query, nullptr, 1, nullptr, 0, &out),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(ovstage_map_attribute(stage.instance, query, &desc, 1, nullptr, 0, nullptr),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    desc.attribute = ovx_string_or_token_t{0, {nullptr, 3}};
    refused(ovstage_map_attribute(stage.instance, query, &desc, 1, nullptr, 0, &out),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(map.unmap());
}

TEST_F(MapTest, D20_open_maps_go_with_their_instance)
{
    Stage gone(2);
    ovstage_query_handle_t all = gone.query(4);
    Map fetched(gone, all, description(attribute), 1),
        committed(gone, all, description(attribute), 1), open(gone, all, description(attribute), 1);
    fetched.fill(ramp(4));
    committed.fill(ramp(4));
    Gate gate;
    (void)gate.submit(gone, 2);
    Map pending(gone, all, description(attribute), 2);
    EXPECT_EQ(committed.unmap_group().status, OVSTAGE_OK);
    EXPECT_EQ(pending.unmap().status, OVSTAGE_OK);
    gate.let_go();
    gone.destroy(); // nothing is left: the leak check of the sanitizers says so
}

TEST_F(MapTest, L2_many_threads_map_the_same_prims)
{
    constexpr uint64_t threads = 4, rounds = 60;
    std::vector<std::thread> running;
    std::atomic<uint64_t> commits{0};
    for (uint64_t t = 0; t < threads; t++)
        running.emplace_back([&, t] {
            for (uint64_t round = 0; round < rounds; round++) {
                Map map(stage, query, description(attribute), 1 + round % 8);
                map.fill(ramp(4, static_cast<float>(t * 100)));
                ovstage_enqueue_result_t result = round % 2 ? map.unmap_group() : map.unmap();
                stage.finish(result);
                if (round % 2)
                    stage.finish(map.unmap());
                stage.finish(map.opened);
                commits++;
            }
        });
    for (auto &thread : running)
        thread.join();
    EXPECT_EQ(commits, threads * rounds);
    for (uint64_t ordinal = 1; ordinal <= 8; ordinal++) {
        Values values = sealed(ordinal);
        ASSERT_EQ(values.size(), 4u);
        EXPECT_EQ(values, ramp(4, values[0])); // one commit's, whole
    }
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST_F(MapTest, D16_one_of_many_threads_gets_the_group_and_one_commits_it)
{
    constexpr int threads = 4, rounds = 100;
    for (int round = 1; round <= rounds; round++) {
        const auto ordinal = static_cast<uint64_t>(round);
        Map map(stage, query, description(attribute), ordinal);
        std::atomic<int> fetched{0}, commits{0}, ends{0};
        Event filled; // from then on it is anybody's who comes first
        std::vector<std::thread> running;
        for (int t = 0; t < threads; t++)
            running.emplace_back([&] {
                ovstage_map_group_t group{};
                ovstage_api_status_t status =
                    ovstage_fetch_map_next(stage.instance, map.handle, forever, &group);
                if (status == OVSTAGE_OK) {
                    fetched++;
                    static_cast<float *>(group.data.tensors[0].data)[0] = 1;
                    map.group = group;
                    filled.set();
                } else {
                    EXPECT_TRUE(status == OVSTAGE_ERROR_END_OF_ITERATION ||
                                status == OVSTAGE_ERROR_INVALID_HANDLE)
                        << status;
                    filled.wait();
                }
                group = map.group;
                commits += ovstage_unmap_group(stage.instance, map.handle, &group, {}).status ==
                           OVSTAGE_OK;
                ends +=
                    ovstage_unmap_attribute(stage.instance, map.handle, {}).status == OVSTAGE_OK;
            });
        for (auto &thread : running)
            thread.join();
        EXPECT_EQ(fetched, 1);
        EXPECT_LE(commits, 1); // none if an end came first
        EXPECT_EQ(ends, 1);
        map.expect_ended();
        EXPECT_EQ(sealed(ordinal), (Values{1, 0, 0, 0}));
    }
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

TEST_F(MapTest, D16_commits_against_seals)
{
    constexpr uint64_t threads = 3, ordinals = 300;
    std::vector<std::atomic<uint64_t>> commits(ordinals + 1);
    std::vector<std::thread> running;
    for (uint64_t t = 0; t < threads; t++)
        running.emplace_back([&, t] {
            for (uint64_t ordinal = 1; ordinal <= ordinals; ordinal++) {
                Map map(stage, query, description(attribute), ordinal);
                if (map.opened.status != OVSTAGE_OK) {
                    EXPECT_EQ(map.opened.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
                    continue;
                }
                map.fill(ramp(4, static_cast<float>(ordinal * 10 + t)));
                stage.finish(map.opened);
                ovstage_enqueue_result_t end = map.unmap();
                if (end.status == OVSTAGE_OK) {
                    stage.finish(end);
                    commits[ordinal]++;
                } else {
                    EXPECT_EQ(end.status, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
                }
                map.expect_ended();
            }
        });
    std::thread sealer([&] {
        for (uint64_t ordinal = 1; ordinal < ordinals; ordinal++)
            stage.finish(stage.seal(ordinal));
    });
    for (auto &thread : running)
        thread.join();
    sealer.join();
    Values last = sealed(ordinals);
    uint64_t newest = ordinals;
    while (newest > 0 && commits[newest] == 0)
        newest--;
    if (newest == 0) {
        EXPECT_TRUE(last.empty());
    } else {
        ASSERT_EQ(last.size(), 4u);
        EXPECT_EQ(last, ramp(4, last[0])); // one commit's, whole
        EXPECT_EQ(static_cast<uint64_t>(last[0]) / 10, newest);
    }
    EXPECT_EQ(stage.statistics().pending_bytes, 0u);
}

// A program of sessions; what fails for want of memory is given up, and counted.
class Program
{
  public:
    explicit Program(const Stage &on) : stage(&on)
    {
    }
    int failures = 0;

    void run(ovstage_query_handle_t query, ovx_token_t attribute)
    {
        for (uint64_t ordinal = 2; ordinal < 6; ordinal++) {
            bool by_group = ordinal % 2 == 0;
            ovstage_map_desc_t desc =
                description(attribute, by_group ? f32() : none, OVSTAGE_SEMANTIC_NONE);
            ovstage_map_handle_t handle = 0;
            ovstage_enqueue_result_t opened =
                ovstage_map_attribute(stage->instance, query, &desc, ordinal, nullptr, 0, &handle);
            EXPECT_EQ(handle != 0, opened.status == OVSTAGE_OK);
            if (!check(opened.status))
                continue;
            finish(opened);
            session(handle, ordinal, by_group);
        }
    }

  private:
    void session(ovstage_map_handle_t handle, uint64_t ordinal, bool by_group)
    {
        ovstage_map_group_t group;
        ovstage_api_status_t status =
            ovstage_fetch_map_next(stage->instance, handle, forever, &group);
        bool fetched = check(status);
        if (fetched) {
            EXPECT_EQ(group.data.count, 40u);
            std::fill_n(static_cast<float *>(group.data.tensors[0].data), 40,
                        static_cast<float>(ordinal));
        }
        if (fetched && by_group)
            finish(ovstage_unmap_group(stage->instance, handle, &group, {}));
        // Want of memory loses nothing: the session can still be ended.
        ovstage_enqueue_result_t ended = ovstage_unmap_attribute(stage->instance, handle, {});
        if (check(ended.status))
            finish(ended);
        else
            EXPECT_EQ(ended.op_index, 0u);
    }
    bool check(ovstage_api_status_t status)
    {
        if (status == OVSTAGE_OK)
            return true;
        failures++;
        EXPECT_EQ(status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
        EXPECT_NE(last_error(), "");
        return false;
    }
    void finish(ovstage_enqueue_result_t result)
    {
        if (!check(result.status))
            return;
        ovstage_op_wait_result_t outcome;
        EXPECT_EQ(ovstage_wait_op(stage->instance, result.op_index, forever, &outcome), OVSTAGE_OK);
        if (outcome.error_op_id_count > 0) {
            failures++;
            std::string why =
                text(ovstage_get_last_op_error(stage->instance, outcome.error_op_ids[0]));
            EXPECT_NE(why.find("memory"), std::string::npos) << why;
        }
        EXPECT_EQ(ovstage_release_op(stage->instance, result.op_index), OVSTAGE_OK);
    }

    const Stage *stage;
};

// Answers false when the program asked for fewer allocations.
bool run_with_failure(uint32_t workers, uint64_t k, bool ever)
{
    fr_test_heap *heap = fr_test_heap_create();
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    flyrail_config_t made = config(workers);
    made.allocator.allocate = allocator->allocate;
    made.allocator.release = allocator->release;
    made.allocator.user = allocator->user;
    bool reached;
    {
        Stage stage(made);
        ovx_token_t attribute = stage.token("points");
        ovstage_query_handle_t query = stage.query(40);
        Values first(40, 1.0f), last(40, 9.0f);
        stage.finish(stage.write(query, attribute, 1, first));
        stage.finish(stage.seal(1));
        Program program(stage);
        fr_test_heap_fail(heap, k, ever);
        program.run(query, attribute);
        reached = fr_test_heap_calls(heap) >= k;
        fr_test_heap_fail(heap, 0, 0);
        EXPECT_TRUE(reached || program.failures == 0) << k;

        // The stage goes on, and what was committed is whole.
        Map map(stage, query, description(attribute), 9);
        map.fill(last);
        stage.finish(map.unmap());
        stage.finish(stage.seal(9));
        EXPECT_EQ(stage.read(query, attribute, 9), last) << k;
        if (program.failures == 0) {
            EXPECT_EQ(stage.statistics().pending_bytes, 0u);
        }
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u) << k;
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u) << k;
    return reached;
}

TEST(MapMemory, every_allocation_may_fail)
{
    for (uint32_t workers : {0u, 2u})
        for (bool ever : {false, true}) {
            uint64_t k = 1;
            while (run_with_failure(workers, k, ever)) {
                ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
                k++;
            }
            EXPECT_GT(k, 5u);
        }
}

} // namespace
