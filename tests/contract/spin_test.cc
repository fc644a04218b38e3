// A wait that may look for work as long as it likes still ends: at its deadline, and when it is
// handed something to run. R16, L8.
#include "tests/support/bounded.h"

namespace
{

using namespace client;

flyrail_config_t spins_for(uint64_t spin_ns, uint32_t workers)
{
    flyrail_config_t made = config(workers);
    made.spin_ns = spin_ns;
    return made;
}

// Hours, and longer than any clock goes.
struct Spin : testing::TestWithParam<uint64_t> {
};

TEST_P(Spin, R16_a_finite_timeout_ends_the_wait)
{
    bounded("a wait of a millisecond that spins", [] {
        Stage stage(spins_for(GetParam(), 1));
        Gate gate;
        ovstage_enqueue_result_t held = gate.submit(stage, 3);
        ovstage_op_wait_result_t out;
        EXPECT_EQ(ovstage_wait_op(stage.instance, held.op_index, 1000000, &out),
                  OVSTAGE_ERROR_TIMEOUT);
        EXPECT_EQ(out.lowest_pending_op_id, held.op_index);
        EXPECT_EQ(flyrail_wait_all(stage.instance, &held.op_index, 1, 1), OVSTAGE_ERROR_TIMEOUT);
        EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 3, 1000000), OVSTAGE_ERROR_TIMEOUT);
        gate.let_go();
        stage.finish(held);
    });
}

// One client thread runs the lane's first op, and leaves the next one to the thread that waits for
// that.
TEST_P(Spin, L8_what_another_thread_leaves_is_run)
{
    bounded("a wait that spins while its lane is handed over", [] {
        Stage stage(spins_for(GetParam(), 0));
        Gate gate;
        Body body{[](const flyrail_task_context_t *) { return OVSTAGE_OK; }};
        ovstage_enqueue_result_t first = gate.submit(stage, 3);
        ovstage_enqueue_result_t second = task(stage, 3, Body::call, &body);
        std::thread other([&] { stage.finish(first); });
        gate.wait_entered();
        std::thread waits([&] { stage.finish(second); });
        gate.let_go();
        other.join();
        waits.join();
        EXPECT_EQ(body.runs, 1);
    });
}

INSTANTIATE_TEST_SUITE_P(Budgets, Spin,
                         testing::Values(UINT64_C(10000000000000), UINT64_MAX / 2, UINT64_MAX));

} // namespace
