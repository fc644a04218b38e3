// Waits inside ops: that which could never end is refused with a text, everything else ends,
// however many workers are busy waiting.
#include <array>
#include <memory>
#include <vector>

#include "tests/support/bounded.h"
#include "tests/support/columns.h"

namespace
{

using namespace client;

using Statuses = std::vector<ovstage_api_status_t>;

flyrail_config_t limited(uint32_t workers, uint64_t op_limit)
{
    flyrail_config_t made = config(workers);
    made.op_limit = op_limit;
    return made;
}

// Instances that share the process's pool, unless they have no workers.
flyrail_config_t shared(uint32_t workers)
{
    flyrail_config_t made = config(workers);
    made.own_pool = false;
    return made;
}

class WaitCycles : public testing::TestWithParam<uint32_t>
{
  protected:
    uint32_t workers() const
    {
        return GetParam();
    }
    // Without workers somebody has to run what is there.
    void run(const Stage &stage) const
    {
        if (workers() > 0)
            return;
        EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK);
    }
};

// --- floors --------------------------------------------------

TEST_P(WaitCycles, floor_that_the_task_holds_back)
{
    bounded("a floor that the task holds back", [&] {
        Stage stage(workers());
        ovx_token_t name = stage.token("a");
        for (uint64_t ordinal : {5u, 7u}) {
            Body body;
            Statuses seen;
            std::string said;
            body.run = [&](const flyrail_task_context_t *) {
                seen.push_back(flyrail_wait_floor(stage.instance, 0, 7, forever));
                said = last_error();
                seen.push_back(flyrail_wait_floor(stage.instance, name, 7, forever));
                seen.push_back(flyrail_wait_floor(stage.instance, 0, 7, 1000000));
                seen.push_back(flyrail_wait_floor(stage.instance, 0, 7, 0));
                return OVSTAGE_OK;
            };
            stage.finish(task(stage, ordinal, Body::call, &body));
            EXPECT_EQ(seen, Statuses(4, OVSTAGE_ERROR_INVALID_ARGUMENT));
            EXPECT_NE(said.find("floor 7"), std::string::npos) << said;
        }
        EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 7, 0), OVSTAGE_ERROR_TIMEOUT);
    });
}

// The advance is accepted, before or while the task waits; and waits for the task, directly or
// through an op that depends on it.
TEST_P(WaitCycles, floor_whose_advance_waits_for_the_task)
{
    bounded("a floor whose advance waits for the task", [&] {
        for (bool is_free : {false, true}) {
            for (bool is_early : {false, true}) {
                Stage stage(workers());
                Body body;
                Event entered, accepted;
                ovstage_api_status_t seen = OVSTAGE_OK;
                body.run = [&](const flyrail_task_context_t *) {
                    entered.set();
                    if (is_early || workers() == 0)
                        accepted.wait();
                    seen = flyrail_wait_floor(stage.instance, 0, 7, forever);
                    return OVSTAGE_OK;
                };
                ovstage_enqueue_result_t waiting = task(stage, is_free ? 0 : 5, Body::call, &body);
                ovstage_enqueue_result_t joint =
                    task(stage, 6, nullptr, nullptr, {waiting.op_index});
                if (workers() > 0)
                    entered.wait();
                ovstage_enqueue_result_t advance = stage.seal(7);
                accepted.set();
                for (auto result : {waiting, joint, advance})
                    stage.finish(result);
                EXPECT_EQ(seen, OVSTAGE_ERROR_INVALID_ARGUMENT) << is_free << is_early;
                EXPECT_EQ(flyrail_wait_floor(stage.instance, 0, 7, forever), OVSTAGE_OK);
            }
        }
    });
}

// What is sealed below the task's own ordinal does not wait for it.
TEST_P(WaitCycles, floor_below_the_task)
{
    bounded("a floor below the task", [&] {
        Stage stage(workers());
        ovx_token_t name = stage.token("a");
        ovstage_query_handle_t query = stage.query(3);
        std::vector<float> values = ramp(3);
        Body body;
        Statuses seen;
        body.run = [&](const flyrail_task_context_t *) {
            ovstage_enqueue_result_t write = stage.write(query, name, 3, values);
            seen.push_back(write.status);
            seen.push_back(stage.seal(3).status);
            seen.push_back(flyrail_wait_floor(stage.instance, name, 3, forever));
            seen.push_back(stage.write(query, name, 4, values).status);
            seen.push_back(stage.seal(4, OVSTAGE_SCOPE_INCLUDE, {name}).status);
            seen.push_back(flyrail_wait_floor(stage.instance, 0, 4, forever));
            return OVSTAGE_OK;
        };
        stage.finish(task(stage, 5, Body::call, &body));
        EXPECT_EQ(seen, Statuses(6, OVSTAGE_OK));
        EXPECT_EQ(stage.read(query, name, 3), values);
    });
}

// All workers wait for a floor that a task behind them will seal.
TEST_P(WaitCycles, floor_that_a_queued_task_seals)
{
    bounded("a floor that a queued task seals", [&] {
        Stage stage(workers());
        Body waiting, sealing;
        std::vector<ovstage_enqueue_result_t> all;
        ovstage_enqueue_result_t advance{};
        std::atomic<int> reached{0};
        Gate gate;
        if (workers() > 0)
            all.push_back(gate.submit(stage, 0));
        std::vector<ovstage_op_id_t> deps;
        for (auto result : all)
            deps.push_back(result.op_index);
        waiting.run = [&](const flyrail_task_context_t *) {
            reached += flyrail_wait_floor(stage.instance, 0, 7, forever) == OVSTAGE_OK;
            return OVSTAGE_OK;
        };
        sealing.run = [&](const flyrail_task_context_t *) {
            advance = stage.seal(7);
            return OVSTAGE_OK;
        };
        for (int k = 0; k < 3; k++)
            all.push_back(task(stage, 0, Body::call, &waiting, deps));
        all.push_back(task(stage, 0, Body::call, &sealing, deps));
        gate.let_go();
        for (auto result : all)
            stage.finish(result);
        EXPECT_EQ(reached, 3);
        stage.finish(advance);
    });
}

// --- room --------------------------------------------------

TEST_P(WaitCycles, room_that_only_the_task_itself_gives)
{
    bounded("room that only the task itself gives", [&] {
        Stage stage(limited(workers(), 4));
        Body body;
        Statuses seen;
        std::string said;
        body.run = [&](const flyrail_task_context_t *) {
            seen.push_back(flyrail_wait_room(stage.instance, 4, 0, forever));
            said = last_error();
            seen.push_back(flyrail_wait_room(stage.instance, 4, 0, 0));
            seen.push_back(flyrail_wait_room(stage.instance, 3, 0, forever));
            return OVSTAGE_OK;
        };
        stage.finish(task(stage, 5, Body::call, &body));
        EXPECT_EQ(seen,
                  (Statuses{OVSTAGE_ERROR_INVALID_ARGUMENT, OVSTAGE_ERROR_TIMEOUT, OVSTAGE_OK}));
        EXPECT_NE(said.find("room for 4 operations"), std::string::npos) << said;
        EXPECT_EQ(flyrail_wait_room(stage.instance, 4, 0, forever), OVSTAGE_OK);
    });
}

// Ops behind the task in its lane, and one that depends on it, cannot run before it ends; those
// that ran before it in the same lane are counted out.
TEST_P(WaitCycles, room_that_ops_around_the_task_take)
{
    bounded("room that ops around the task take", [&] {
        Stage stage(limited(workers(), 10));
        ovx_token_t name = stage.token("a");
        ovstage_query_handle_t query = stage.query(3);
        std::vector<float> values = ramp(3);
        Gate gate;
        std::vector<ovstage_enqueue_result_t> all;
        if (workers() > 0)
            all.push_back(gate.submit(stage, 5));
        Body body;
        Statuses seen;
        for (int k = 0; k < 3; k++)
            all.push_back(stage.write(query, name, 5, values));
        body.run = [&](const flyrail_task_context_t *) {
            seen.push_back(flyrail_wait_room(stage.instance, 8, 0, forever));
            seen.push_back(flyrail_wait_room(stage.instance, 7, 0, forever));
            return OVSTAGE_OK;
        };
        all.push_back(task(stage, 5, Body::call, &body));
        ovstage_op_id_t id = all.back().op_index;
        all.push_back(stage.write(query, name, 5, values));
        all.push_back(task(stage, 0, nullptr, nullptr, {id}));
        gate.let_go();
        for (auto result : all)
            stage.finish(result);
        EXPECT_EQ(seen, (Statuses{OVSTAGE_ERROR_INVALID_ARGUMENT, OVSTAGE_OK}));
    });
}

// What is queued runs on the threads that wait for room.
TEST_P(WaitCycles, room_that_queued_ops_give)
{
    bounded("room that queued ops give", [&] {
        Stage stage(limited(workers(), 20));
        ovx_token_t name = stage.token("a");
        ovstage_query_handle_t query = stage.query(3);
        std::vector<float> values = ramp(3);
        Body waiting, empty;
        std::vector<ovstage_enqueue_result_t> writes, all;
        std::mutex mutex;
        std::atomic<int> reached{0};
        waiting.run = [&](const flyrail_task_context_t *) {
            for (uint64_t k = 0; k < 3; k++) {
                std::lock_guard<std::mutex> lock(mutex);
                writes.push_back(stage.write(query, name, 5 + k, values));
                writes.push_back(task(stage, 9, Body::call, &empty));
            }
            reached += flyrail_wait_room(stage.instance, 16, 0, forever) == OVSTAGE_OK;
            return OVSTAGE_OK;
        };
        empty.run = [](const flyrail_task_context_t *) { return OVSTAGE_OK; };
        for (uint32_t k = 0; k < 2; k++)
            all.push_back(task(stage, 0, Body::call, &waiting));
        for (auto result : all)
            stage.finish(result);
        EXPECT_EQ(reached, 2);
        for (auto result : writes)
            stage.finish(result);
    });
}

// Tasks that wait for each other's room: one after the other is refused until it suffices.
TEST_P(WaitCycles, room_that_waiting_tasks_hold)
{
    bounded("room that waiting tasks hold", [&] {
        Stage stage(limited(workers(), 8));
        Body body;
        std::atomic<int> entered{0}, reached{0}, refused{0};
        body.run = [&](const flyrail_task_context_t *) {
            entered++;
            ovstage_api_status_t status = flyrail_wait_room(stage.instance, 7, 0, forever);
            reached += status == OVSTAGE_OK;
            refused += status == OVSTAGE_ERROR_INVALID_ARGUMENT;
            return OVSTAGE_OK;
        };
        std::vector<ovstage_enqueue_result_t> all;
        Gate gate; // so that all are pending before one of them waits
        if (workers() > 0) {
            all.push_back(gate.submit(stage, 0));
            gate.wait_entered();
        }
        for (int k = 0; k < 4; k++)
            all.push_back(task(stage, 0, Body::call, &body,
                               workers() > 0 ? std::vector<ovstage_op_id_t>{gate.id}
                                             : std::vector<ovstage_op_id_t>{}));
        gate.let_go();
        for (auto result : all)
            stage.finish(result);
        EXPECT_EQ(reached + refused, 4);
        EXPECT_GE(reached, 1);
        EXPECT_EQ(flyrail_wait_room(stage.instance, 8, 0, forever), OVSTAGE_OK);
    });
}

// --- several instances --------------------------------------------------

// Each waits inside for the other's op: exactly one is refused.
void wait_for_each_other(Stage &a, Stage &b, bool meets)
{
    Body in_a, in_b;
    std::atomic<ovstage_op_id_t> id_a{0}, id_b{0};
    std::atomic<int> refused{0}, done{0};
    Event submitted, entered_a, entered_b;
    std::string said;
    auto wait = [&](Stage &of, ovstage_op_id_t id) {
        ovstage_api_status_t status = ovstage_wait_op(of.instance, id, forever, nullptr);
        if (status == OVSTAGE_ERROR_INVALID_ARGUMENT) {
            refused++;
            said = last_error();
        }
        done += status == OVSTAGE_OK;
        return OVSTAGE_OK;
    };
    in_a.run = [&](const flyrail_task_context_t *) {
        submitted.wait();
        entered_a.set();
        if (meets)
            entered_b.wait();
        return wait(b, id_b);
    };
    in_b.run = [&](const flyrail_task_context_t *) {
        submitted.wait();
        entered_b.set();
        if (meets)
            entered_a.wait();
        return wait(a, id_a);
    };
    ovstage_enqueue_result_t of_a = task(a, 5, Body::call, &in_a);
    ovstage_enqueue_result_t of_b = task(b, 5, Body::call, &in_b);
    id_a = of_a.op_index;
    id_b = of_b.op_index;
    submitted.set();
    a.finish(of_a);
    b.finish(of_b);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(done, 1);
    EXPECT_NE(said, "");
}

TEST_P(WaitCycles, two_instances)
{
    bounded("a cycle over two instances", [&] {
        Stage a(workers()), b(workers());
        wait_for_each_other(a, b, workers() > 0);
    });
    bounded("a cycle over two instances of one pool", [&] {
        Stage a(shared(workers())), b(shared(workers()));
        wait_for_each_other(a, b, workers() > 1);
    });
}

// Three instances, the last of them waits for a floor whose advance waits for the first one's op.
TEST_P(WaitCycles, three_instances_and_a_floor)
{
    bounded("a cycle over three instances", [&] {
        Stage a(workers()), b(workers()), c(workers());
        std::array<Body, 3> bodies;
        std::array<Event, 3> entered;
        Event submitted;
        std::array<ovstage_enqueue_result_t, 3> ops{};
        ovstage_enqueue_result_t advance{};
        std::atomic<int> refused{0}, done{0};
        auto meet = [&](size_t me) {
            submitted.wait();
            entered[me].set();
            for (Event &event : entered)
                if (workers() > 0)
                    event.wait();
        };
        auto count = [&](ovstage_api_status_t status) {
            refused += status == OVSTAGE_ERROR_INVALID_ARGUMENT;
            done += status == OVSTAGE_OK;
            return OVSTAGE_OK;
        };
        bodies[0].run = [&](const flyrail_task_context_t *) {
            meet(0);
            return count(ovstage_wait_op(b.instance, ops[1].op_index, forever, nullptr));
        };
        bodies[1].run = [&](const flyrail_task_context_t *) {
            meet(1);
            size_t index;
            ovstage_op_id_t id = ops[2].op_index;
            return count(flyrail_wait_any(c.instance, &id, 1, forever, &index));
        };
        bodies[2].run = [&](const flyrail_task_context_t *) {
            meet(2);
            return count(flyrail_wait_floor(a.instance, 0, 9, forever));
        };
        ops[0] = task(a, 5, Body::call, &bodies[0]);
        ops[1] = task(b, 5, Body::call, &bodies[1]);
        ops[2] = task(c, 5, Body::call, &bodies[2]);
        advance = a.seal(9);
        submitted.set();
        a.finish(ops[0]);
        b.finish(ops[1]);
        c.finish(ops[2]);
        a.finish(advance);
        EXPECT_EQ(refused, 1);
        EXPECT_EQ(done, 2);
    });
}

// --- destroying others --------------------------------------------------

// The worker that destroys has tokens of the other instance in its own deque.
TEST_P(WaitCycles, destroy_of_another_instance_of_the_pool)
{
    bounded("destroying another instance of the pool", [&] {
        Stage stage(shared(workers()));
        std::vector<float> values = ramp(4);
        Body body;
        ovstage_api_status_t seen = OVSTAGE_ERROR_INTERNAL;
        std::atomic<uint64_t> covered{0};
        body.run = [&](const flyrail_task_context_t *) {
            Stage other(shared(workers()));
            ovx_token_t name = other.token("a");
            ovstage_query_handle_t query = other.query(4);
            other.finish(other.write(query, name, 3, values)); // run here; its token is left
            other.finish(task(other, 4, nullptr, nullptr));
            EXPECT_EQ(flyrail_parallel_for(
                          other.instance, 16, 1,
                          [](uint64_t begin, uint64_t end, void *user) {
                              *static_cast<std::atomic<uint64_t> *>(user) += end - begin;
                          },
                          &covered),
                      OVSTAGE_OK);
            for (uint64_t k = 3; k < 40; k++)
                EXPECT_EQ(other.write(query, name, k, values).status, OVSTAGE_OK);
            EXPECT_EQ(other.seal(9).status, OVSTAGE_OK);
            seen = ovstage_destroy_instance(other.instance);
            other.instance = nullptr;
            return OVSTAGE_OK;
        };
        stage.finish(task(stage, 3, Body::call, &body));
        EXPECT_EQ(seen, OVSTAGE_OK);
        EXPECT_EQ(covered, 16u);
    });
}

// A client thread destroys one whose tokens lie in the deque of a worker that is busy for long.
TEST_P(WaitCycles, destroy_while_the_workers_are_busy)
{
    if (workers() == 0)
        return; // nobody is busy
    bounded("destroying while the workers are busy", [&] {
        Stage stage(shared(workers()));
        auto other = std::make_unique<Stage>(shared(workers()));
        std::vector<Body> bodies(workers());
        std::vector<ovstage_enqueue_result_t> held;
        std::vector<std::unique_ptr<Event>> submitted;
        Event destroyed;
        ovx_token_t name = other->token("a");
        ovstage_query_handle_t query = other->query(2);
        std::vector<float> values = ramp(2);
        std::mutex mutex;
        std::vector<ovstage_enqueue_result_t> left;
        for (uint32_t k = 0; k < workers(); k++) {
            submitted.push_back(std::make_unique<Event>());
            Event *mine = submitted.back().get();
            bodies[k].run = [&, mine, k](const flyrail_task_context_t *) {
                {
                    std::lock_guard<std::mutex> lock(mutex);
                    left.push_back(other->write(query, name, 10 + k, values));
                }
                mine->set();
                destroyed.wait();
                return OVSTAGE_OK;
            };
            held.push_back(task(stage, 0, Body::call, &bodies[k]));
        }
        for (auto &event : submitted)
            event->wait();
        for (auto result : left)
            other->finish(result); // on this thread; the tokens stay where they are
        other.reset();
        destroyed.set();
        for (auto result : held)
            stage.finish(result);
    });
}

// The other instance's op waits for the task that destroys it, before it begins or from then on.
TEST_P(WaitCycles, destroy_that_waits_for_the_task_itself)
{
    bounded("destroying one whose op waits for the task", [&] {
        Stage stage(workers());
        auto other = std::make_unique<Stage>(workers());
        Body destroying, waiting;
        std::atomic<ovstage_op_id_t> id{0};
        Event submitted, entered;
        ovstage_api_status_t seen = OVSTAGE_OK, waited = OVSTAGE_OK;
        waiting.run = [&](const flyrail_task_context_t *) {
            submitted.wait();
            entered.set();
            waited = ovstage_wait_op(stage.instance, id, forever, nullptr);
            return OVSTAGE_OK;
        };
        destroying.run = [&](const flyrail_task_context_t *) {
            submitted.wait();
            if (workers() > 0)
                entered.wait();
            seen = ovstage_destroy_instance(other->instance);
            if (seen == OVSTAGE_OK)
                other->instance = nullptr;
            return OVSTAGE_OK;
        };
        ovstage_enqueue_result_t one = task(stage, 5, Body::call, &destroying);
        id = one.op_index;
        ovstage_enqueue_result_t two = task(*other, 5, Body::call, &waiting);
        submitted.set();
        if (workers() == 0) // runs the other one on top of itself
            run(*other);
        stage.finish(one);
        // One of the two is refused, or the waiting one had not begun and was dropped.
        if (seen == OVSTAGE_OK) {
            EXPECT_TRUE(waited == OVSTAGE_ERROR_INVALID_ARGUMENT ||
                        (workers() == 0 && waited == OVSTAGE_OK))
                << waited;
        } else {
            EXPECT_EQ(seen, OVSTAGE_ERROR_INVALID_ARGUMENT);
            other->finish(two);
            EXPECT_EQ(waited, OVSTAGE_OK);
        }
    });
}

// Tasks that wait for what will not come any more end with the instance.
TEST_P(WaitCycles, destroy_ends_waits_for_conditions)
{
    if (workers() == 0)
        return; // no op is running while the only thread destroys
    bounded("destroying one whose task waits for a floor", [&] {
        Stage stage(limited(workers(), 8));
        Body body;
        Event entered;
        ovstage_api_status_t seen = OVSTAGE_OK;
        body.run = [&](const flyrail_task_context_t *context) {
            entered.set();
            seen = flyrail_wait_floor(context->instance, 0, 7, forever);
            return OVSTAGE_OK;
        };
        EXPECT_EQ(task(stage, 0, Body::call, &body).status, OVSTAGE_OK);
        entered.wait();
        stage.destroy();
        EXPECT_EQ(seen, OVSTAGE_ERROR_INVALID_ARGUMENT);
    });
}

INSTANTIATE_TEST_SUITE_P(Workers, WaitCycles, testing::Values(0u, 1u, 2u));

} // namespace
