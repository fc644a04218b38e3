// Each driver call, or each allocation, of a frame fails once: the operation that it belongs to
// says so, or nobody is to notice, and the stage goes on. C++ only.
#ifndef FR_TESTS_PLACEMENT_EACH_FAILS_H
#define FR_TESTS_PLACEMENT_EACH_FAILS_H

#include "tests/placement/placement_fixture.h"
#include "tests/support/heap.h"

// For what makes each of some hundred calls fail, the k-th from k = seed on in steps: in one order,
// in which nothing runs before somebody asks for it; a part of the calls in each simulation, since
// that keeps what it knows of the streams of all stages. All of them where nothing slows the stage
// down.
inline std::vector<Order> Parts(uint64_t count)
{
    std::vector<Order> parts;
    for (uint64_t part = 1; part <= count; part++)
        parts.push_back({"part" + std::to_string(part), FR_SIM_LAZY, part});
    return parts;
}

inline uint64_t PartStep(uint64_t count)
{
    return std::getenv("FR_SYSTEMATIC_RUNS") ? 7 * count : count;
}

// An operation in which something may fail. True when it was accepted and did not fail; what failed
// says why. *applied: or it has failed behind its work, by the record of the client's event (R180).
inline bool Succeeds(const client::Stage &stage, ovstage_enqueue_result_t result,
                     bool *applied = nullptr)
{
    if (applied)
        *applied = false;
    if (result.status != OVSTAGE_OK) {
        EXPECT_NE(client::last_error(), "");
        return false;
    }
    ovstage_op_wait_result_t outcome = {};
    EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, client::forever, &outcome),
              OVSTAGE_OK);
    bool good = outcome.error_op_id_count == 0;
    std::string text =
        good ? "" : client::text(ovstage_get_last_op_error(stage.instance, result.op_index));
    EXPECT_TRUE(good || !text.empty());
    if (applied)
        *applied = good || text.find("may be written") != std::string::npos;
    EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
    return good;
}

// Of a stage that is prepared, the k-th call of a frame fails, from k = first on in steps, until a
// frame makes less. frame: answers whether nothing of it failed. check: what must hold then.
template <typename Prepare, typename Frame, typename Check>
void EachCallFails(uint64_t first, uint64_t step, const Prepare &prepare, const Frame &frame,
                   const Check &check, uint32_t workers = 0)
{
    uint64_t k = first;
    for (bool struck = true; struck; k += step) {
        SCOPED_TRACE("call " + std::to_string(k));
        fr_cuda_give_back(); // so that what a process makes once is made
        client::Stage stage(workers);
        prepare(stage);
        ASSERT_TRUE(fr_sim_fail_call(nullptr, k, FR_CU_ERROR_UNKNOWN));
        bool good = frame(stage);
        struck = !fr_sim_faults_pending();
        fr_sim_clear_faults();
        EXPECT_TRUE(good || struck);
        check(stage);
        ASSERT_LT(k, 1000u);
    }
    EXPECT_GT(k, 15u);
}

// The same of the allocations.
template <typename Prepare, typename Frame, typename Check>
void EachAllocationFails(uint64_t first, uint64_t step, const Prepare &prepare, const Frame &frame,
                         const Check &check)
{
    uint64_t k = first;
    for (bool struck = true; struck; k += step) {
        SCOPED_TRACE("allocation " + std::to_string(k));
        fr_test_heap *heap = fr_test_heap_create();
        {
            const fr_allocator *allocator = fr_test_heap_allocator(heap);
            flyrail_config_t config = client::config(0);
            config.allocator.allocate = allocator->allocate;
            config.allocator.release = allocator->release;
            config.allocator.user = allocator->user;
            client::Stage stage(config);
            prepare(stage);
            fr_test_heap_fail(heap, k, 0);
            bool good = frame(stage);
            struck = fr_test_heap_calls(heap) >= k;
            fr_test_heap_fail(heap, 0, 0);
            EXPECT_TRUE(good || struck);
            check(stage);
        }
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
        ASSERT_LT(k, 1000u);
    }
    EXPECT_GT(k, 5u);
}

#endif
