// flyrail_event_*: descriptors for event loops.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "tests/support/bounded.h"
#include "tests/support/columns.h"
#include "tests/support/heap.h"

using namespace client;

namespace
{

class EventTest : public testing::TestWithParam<uint32_t>
{
  protected:
    Stage stage{GetParam()};
    ovstage_query_handle_t query = stage.query(4);
    ovx_token_t attribute = stage.token("x");
    std::vector<float> values = ramp(4);
    flyrail_event_t event = 0;
    int descriptor = -1;

    void SetUp() override
    {
        ASSERT_EQ(flyrail_event_open(stage.instance, &event, &descriptor), OVSTAGE_OK)
            << last_error();
        EXPECT_NE(event, 0u);
        EXPECT_GE(descriptor, 0);
    }
    static bool readable(int of, int timeout_ms = 0)
    {
        struct pollfd polled = {of, POLLIN, 0};
        return poll(&polled, 1, timeout_ms) == 1;
    }
    // How often it was raised since the last look.
    uint64_t raised() const
    {
        uint64_t count = 0;
        return read(descriptor, &count, sizeof(count)) == sizeof(count) ? count : 0;
    }
    // Until it is readable; without workers somebody must run ops.
    void wait_readable() const
    {
        bounded("an event", [&] {
            while (!readable(descriptor, GetParam() == 0 ? 0 : -1))
                EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK);
        });
    }
    ovstage_enqueue_result_t on_ops(const std::vector<ovstage_op_id_t> &ops) const
    {
        return flyrail_event_on_ops(stage.instance, event, ops.data(), ops.size());
    }
    ovstage_api_status_t on_floor(uint64_t ordinal, ovx_token_t of = 0) const
    {
        return flyrail_event_on_floor(stage.instance, event, of, ordinal);
    }
};

TEST_P(EventTest, readable_when_ops_are_complete)
{
    ovstage_enqueue_result_t first = stage.write(query, attribute, 1, values),
                             second = stage.write(query, attribute, 2, values);
    ovstage_enqueue_result_t told = on_ops({first.op_index, second.op_index});
    ASSERT_EQ(told.status, OVSTAGE_OK) << last_error();
    wait_readable();
    EXPECT_EQ(flyrail_wait_all(stage.instance, &first.op_index, 1, 0), OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_all(stage.instance, &second.op_index, 1, 0), OVSTAGE_OK);
    EXPECT_EQ(raised(), 1u);
    EXPECT_FALSE(readable(descriptor));
    stage.finish(told);
    stage.finish(on_ops({first.op_index})); // complete already
    stage.finish(on_ops({}));
    EXPECT_EQ(raised(), 2u);
    stage.finish(first);
    stage.finish(second);
    EXPECT_EQ(flyrail_event_close(stage.instance, event), OVSTAGE_OK);
}

TEST_P(EventTest, failed_ops_are_complete)
{
    ovstage_enqueue_result_t fails = task(
        stage, 1, [](const flyrail_task_context_t *, void *) { return OVSTAGE_ERROR_INTERNAL; },
        nullptr);
    ovstage_enqueue_result_t told = on_ops({fails.op_index});
    wait_readable();
    EXPECT_EQ(raised(), 1u);
    stage.finish(told);
    failed(stage, fails);
}

TEST_P(EventTest, not_before_all_of_them_are)
{
    if (GetParam() < 2)
        return; // the gate takes up one worker
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 1);
    ovstage_enqueue_result_t free_op = stage.write(query, attribute, 2, values);
    ovstage_enqueue_result_t told = on_ops({free_op.op_index, held.op_index});
    stage.finish(free_op);
    EXPECT_FALSE(readable(descriptor));
    gate.let_go();
    wait_readable();
    stage.finish(held);
    stage.finish(told);
}

// Of what can run the lowest ordinal does first, and what has none before that.
TEST_P(EventTest, not_before_any_of_them_is)
{
    if (GetParam() > 0)
        return;
    ovstage_enqueue_result_t first = stage.write(query, attribute, 2, values);
    ovstage_enqueue_result_t second = stage.write(query, attribute, 3, values);
    ovstage_enqueue_result_t told = on_ops({second.op_index, first.op_index});
    for (int ran = 0; ran < 3; ran++) {
        EXPECT_FALSE(readable(descriptor)) << ran;
        EXPECT_EQ(flyrail_run(stage.instance, 1, nullptr), OVSTAGE_OK);
    }
    EXPECT_EQ(raised(), 1u);
    for (const auto &op : {first, second, told})
        stage.finish(op);
}

TEST_P(EventTest, readable_when_a_floor_is_reached)
{
    EXPECT_EQ(on_floor(0), OVSTAGE_OK); // it is
    EXPECT_EQ(raised(), 1u);
    EXPECT_EQ(on_floor(3), OVSTAGE_OK);
    EXPECT_EQ(on_floor(4), OVSTAGE_OK);
    EXPECT_EQ(on_floor(2, attribute), OVSTAGE_OK);
    stage.finish(stage.write(query, attribute, 2, values));
    stage.finish(stage.seal(1));
    EXPECT_FALSE(readable(descriptor));
    stage.finish(stage.seal(2, OVSTAGE_SCOPE_INCLUDE, {attribute}));
    EXPECT_EQ(raised(), 1u);
    ovstage_enqueue_result_t seal = stage.seal(5);
    wait_readable();
    stage.finish(seal);
    EXPECT_EQ(raised(), 2u);
    EXPECT_EQ(on_floor(9), OVSTAGE_OK);
    EXPECT_EQ(flyrail_event_close(stage.instance, event), OVSTAGE_OK);
    stage.finish(stage.seal(9)); // nobody is told
}

TEST_P(EventTest, wrong_arguments)
{
    Stage elsewhere(0);
    flyrail_event_t foreign = 0;
    int other = -1;
    ASSERT_EQ(flyrail_event_open(elsewhere.instance, &foreign, &other), OVSTAGE_OK);
    for (uint64_t handle : {uint64_t{0}, uint64_t{3}, ~uint64_t{0}, uint64_t{query}, foreign}) {
        EXPECT_EQ(flyrail_event_on_ops(stage.instance, handle, nullptr, 0).status,
                  OVSTAGE_ERROR_INVALID_HANDLE);
        EXPECT_EQ(flyrail_event_on_floor(stage.instance, handle, 0, 1),
                  OVSTAGE_ERROR_INVALID_HANDLE);
        EXPECT_EQ(flyrail_event_close(stage.instance, handle), OVSTAGE_ERROR_INVALID_HANDLE);
        EXPECT_NE(last_error().find("event"), std::string::npos) << last_error();
    }
    EXPECT_EQ(flyrail_event_open(stage.instance, nullptr, &other), OVSTAGE_ERROR_INVALID_ARGUMENT);
    flyrail_event_t out = 7;
    EXPECT_EQ(flyrail_event_open(stage.instance, &out, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(out, 0u);
    EXPECT_EQ(flyrail_event_open(nullptr, &out, &other), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(on_floor(1, ~ovx_token_t{0}), OVSTAGE_ERROR_INVALID_ARGUMENT);
    refused(flyrail_event_on_ops(stage.instance, event, nullptr, 2),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    ovstage_enqueue_result_t op = stage.seal(1);
    for (uint64_t id : {uint64_t{0}, ~uint64_t{0}, op.op_index + 77}) {
        std::string why = refused(on_ops({op.op_index, id}), OVSTAGE_ERROR_INVALID_HANDLE);
        EXPECT_NE(why.find("ops[1]"), std::string::npos) << why;
    }
    stage.finish(op);
    refused(on_ops({op.op_index}), OVSTAGE_ERROR_INVALID_HANDLE); // released
    EXPECT_FALSE(readable(descriptor));
    EXPECT_EQ(flyrail_event_close(stage.instance, event), OVSTAGE_OK);
    EXPECT_EQ(flyrail_event_close(stage.instance, event), OVSTAGE_ERROR_INVALID_HANDLE);
    elsewhere.destroy(); // with its event open
}

TEST_P(EventTest, so_many_floors)
{
    stage.finish(stage.seal(1));
    for (uint64_t k = 0; k < 4096; k++)
        ASSERT_EQ(on_floor(2 + k), OVSTAGE_OK);
    EXPECT_EQ(on_floor(2), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_NE(last_error().find("4096"), std::string::npos) << last_error();
    EXPECT_EQ(on_floor(1), OVSTAGE_OK); // it need not be looked out for
    EXPECT_EQ(raised(), 1u);
    stage.finish(stage.seal(4001));
    EXPECT_EQ(raised(), 4000u);
    EXPECT_EQ(on_floor(5000), OVSTAGE_OK);
}

TEST_P(EventTest, closed_while_an_op_is_to_raise_it)
{
    if (GetParam() == 0)
        return;
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 1);
    ovstage_enqueue_result_t told = on_ops({held.op_index});
    EXPECT_EQ(flyrail_event_close(stage.instance, event), OVSTAGE_OK);
    gate.let_go();
    stage.finish(held);
    stage.finish(told);
    EXPECT_EQ(fcntl(descriptor, F_GETFD), -1); // by now
}

// Watches against seals: every floor is told once.
TEST_P(EventTest, while_others_seal)
{
    constexpr uint64_t last = 400;
    std::thread sealer([&] {
        for (uint64_t ordinal = 1; ordinal <= last; ordinal++)
            stage.finish(stage.seal(ordinal));
    });
    uint64_t told = 0;
    for (uint64_t ordinal = 1; ordinal <= last; ordinal++) {
        ASSERT_EQ(on_floor(ordinal), OVSTAGE_OK);
        wait_readable();
        told += raised();
    }
    sealer.join();
    EXPECT_EQ(told, last);
}

INSTANTIATE_TEST_SUITE_P(Workers, EventTest, testing::Values(0u, 1u, 2u, 4u));

TEST(Events, memory_that_runs_out)
{
    for (uint64_t k = 1;; k++) {
        fr_test_heap *heap = fr_test_heap_create();
        const fr_allocator *allocator = fr_test_heap_allocator(heap);
        flyrail_config_t made = config(0);
        made.allocator.allocate = allocator->allocate;
        made.allocator.release = allocator->release;
        made.allocator.user = allocator->user;
        bool reached;
        {
            Stage stage(made);
            fr_test_heap_fail(heap, k, false);
            int failures = 0;
            const auto check = [&](ovstage_api_status_t status) {
                failures += status != OVSTAGE_OK;
                if (status != OVSTAGE_OK) {
                    EXPECT_EQ(status, OVSTAGE_ERROR_OUT_OF_MEMORY);
                }
                return status == OVSTAGE_OK;
            };
            flyrail_event_t event = 0;
            int descriptor = -1;
            if (check(flyrail_event_open(stage.instance, &event, &descriptor))) {
                check(flyrail_event_on_floor(stage.instance, event, 0, 1));
                check(flyrail_event_on_ops(stage.instance, event, nullptr, 0).status);
            }
            reached = fr_test_heap_calls(heap) >= k;
            fr_test_heap_fail(heap, 0, false);
            EXPECT_EQ(failures, reached ? 1 : 0);
        }
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
        if (!reached) {
            EXPECT_GT(k, 3u);
            return;
        }
    }
}

} // namespace
