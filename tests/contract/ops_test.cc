// Operations, waiting, errors, release, limits: R12 to R22, D7, D8, D17, D20, D25, L7, L8.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/client.h"

namespace
{

using namespace client;

constexpr uint32_t no_workers = 0;

ovstage_api_status_t fails(const flyrail_task_context_t *, void *)
{
    return OVSTAGE_ERROR_OUT_OF_RANGE;
}

ovstage_api_status_t counts(const flyrail_task_context_t *, void *user)
{
    ++*static_cast<std::atomic<int> *>(user);
    return OVSTAGE_OK;
}

struct Outcome {
    ovstage_api_status_t status;
    std::vector<ovstage_op_id_t> errors;
    ovstage_op_id_t pending;
};

Outcome wait(const Stage &stage, ovstage_op_id_t id, uint64_t timeout = forever)
{
    ovstage_op_wait_result_t out;
    std::memset(&out, 0xff, sizeof(out));
    Outcome outcome;
    outcome.status = ovstage_wait_op(stage.instance, id, timeout, &out);
    if (outcome.status == OVSTAGE_OK || outcome.status == OVSTAGE_ERROR_TIMEOUT) {
        outcome.errors.assign(out.error_op_ids, out.error_op_ids + out.error_op_id_count);
        outcome.pending = out.lowest_pending_op_id;
    }
    return outcome;
}

std::string op_error(const Stage &stage, ovstage_op_id_t id)
{
    return text(ovstage_get_last_op_error(stage.instance, id));
}

// The rules hold with and without workers.
struct Ops : testing::TestWithParam<uint32_t> {
    Ops() : stage(GetParam())
    {
    }
    Stage stage;
};

INSTANTIATE_TEST_SUITE_P(Workers, Ops, testing::Values(0u, 1u, 3u));

TEST_P(Ops, R12_an_accepted_op_has_an_id)
{
    ovstage_enqueue_result_t result = task(stage, 0, nullptr, nullptr);
    EXPECT_EQ(result.status, OVSTAGE_OK);
    EXPECT_NE(result.op_index, OVSTAGE_INVALID_OP_ID);
    stage.finish(result);
    result = ovstage_advance_write_floor(stage.instance, nullptr);
    EXPECT_EQ(result.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(result.op_index, OVSTAGE_INVALID_OP_ID);
}

TEST_P(Ops, R13_ids_rise)
{
    ovstage_op_id_t last = 0;
    for (int i = 0; i < 200; i++) {
        ovstage_enqueue_result_t result =
            i % 3 ? task(stage, 0, nullptr, nullptr) : stage.seal(static_cast<uint64_t>(i));
        ASSERT_EQ(result.status, OVSTAGE_OK);
        EXPECT_GT(result.op_index, last);
        last = result.op_index;
    }
}

TEST_P(Ops, R15_unknown_ids_are_detected)
{
    ovstage_op_id_t id = task(stage, 0, nullptr, nullptr).op_index;
    for (ovstage_op_id_t wrong : {ovstage_op_id_t{0}, id + 1, id + 1000000, ~id, UINT64_MAX,
                                  id ^ UINT64_C(1) << 60, ovstage_op_id_t{1}}) {
        EXPECT_EQ(wait(stage, wrong, 0).status, OVSTAGE_ERROR_INVALID_HANDLE) << wrong;
        EXPECT_NE(last_error(), "");
        EXPECT_EQ(wait(stage, wrong).status, OVSTAGE_ERROR_INVALID_HANDLE) << wrong;
        EXPECT_EQ(ovstage_release_op(stage.instance, wrong), OVSTAGE_ERROR_INVALID_HANDLE) << wrong;
    }
    EXPECT_EQ(wait(stage, id).status, OVSTAGE_OK);
}

TEST_P(Ops, R18_R19_R20_a_failed_op_is_listed)
{
    ovstage_op_id_t id = task(stage, 0, fails, nullptr).op_index;
    for (int round = 0; round < 2; round++) { // a wait may be repeated
        Outcome outcome = wait(stage, id);
        EXPECT_EQ(outcome.status, OVSTAGE_OK);
        EXPECT_EQ(outcome.errors, std::vector<ovstage_op_id_t>{id});
        EXPECT_EQ(outcome.pending, OVSTAGE_INVALID_OP_ID);
        ovx_string_t error = ovstage_get_last_op_error(stage.instance, id);
        ASSERT_NE(error.ptr, nullptr);
        EXPECT_EQ(error.ptr[error.length], '\0') << "R26";
        EXPECT_NE(text(error).find("13"), std::string::npos) << text(error);
    }
    EXPECT_EQ(ovstage_get_last_op_error(stage.instance, id + 1).ptr, nullptr);
    std::thread([this, id] { // the list is the thread's own
        EXPECT_EQ(ovstage_get_last_op_error(stage.instance, id).ptr, nullptr);
    })
        .join();
    // The next wait makes it a new one.
    ovstage_op_id_t good = task(stage, 0, nullptr, nullptr).op_index;
    EXPECT_TRUE(wait(stage, good).errors.empty());
    EXPECT_EQ(ovstage_get_last_op_error(stage.instance, id).ptr, nullptr);
    EXPECT_EQ(ovstage_get_last_op_error(stage.instance, good).ptr, nullptr);
}

TEST_P(Ops, R19_D17_failed_producers_come_first)
{
    ovstage_op_id_t cause = task(stage, 0, fails, nullptr).op_index;
    std::vector<ovstage_op_id_t> chain = {cause};
    std::atomic<int> ran{0};
    for (int i = 0; i < 3; i++)
        chain.push_back(task(stage, 0, counts, &ran, {chain.back()}).op_index);
    Outcome outcome = wait(stage, chain.back());
    EXPECT_EQ(outcome.status, OVSTAGE_OK);
    EXPECT_EQ(outcome.errors, chain);
    for (ovstage_op_id_t id : chain)
        EXPECT_NE(op_error(stage, id), "");
    EXPECT_EQ(ran, 0);
    // One that is submitted after the failure fails as well.
    ovstage_op_id_t late = task(stage, 0, counts, &ran, {cause}).op_index;
    EXPECT_EQ(wait(stage, late).errors, (std::vector<ovstage_op_id_t>{cause, late}));
    EXPECT_EQ(ran, 0);
}

TEST_P(Ops, R19_of_a_long_chain_the_root_and_the_nearest_are_listed)
{
    std::vector<ovstage_op_id_t> chain = {task(stage, 0, fails, nullptr).op_index};
    for (int i = 0; i < 100; i++)
        chain.push_back(task(stage, 0, nullptr, nullptr, {chain.back()}).op_index);
    Outcome outcome = wait(stage, chain.back());
    ASSERT_GE(outcome.errors.size(), 2u);
    EXPECT_EQ(outcome.errors.front(), chain.front());
    EXPECT_EQ(outcome.errors.back(), chain.back());
    EXPECT_NE(op_error(stage, chain.front()), "");
}

TEST_P(Ops, D17_a_failed_op_does_not_stop_its_lane_or_the_seal)
{
    std::atomic<int> ran{0};
    ovstage_op_id_t failed = task(stage, 5, fails, nullptr).op_index;
    ovstage_op_id_t next = task(stage, 5, counts, &ran).op_index;
    ovstage_enqueue_result_t seal = stage.seal(5);
    EXPECT_TRUE(wait(stage, next).errors.empty());
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(wait(stage, seal.op_index).status, OVSTAGE_OK);
    EXPECT_EQ(stage.floor(), 5u);
    EXPECT_EQ(wait(stage, failed).errors, std::vector<ovstage_op_id_t>{failed});
}

TEST_P(Ops, R21_D7_a_released_id_is_dead)
{
    ovstage_op_id_t id = task(stage, 0, fails, nullptr).op_index;
    EXPECT_EQ(wait(stage, id).errors.size(), 1u);
    EXPECT_EQ(ovstage_release_op(stage.instance, id), OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_op(stage.instance, id), OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(wait(stage, id, 0).status, OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(ovstage_get_last_op_error(stage.instance, id).ptr, nullptr);
}

TEST_P(Ops, D8_a_wait_without_a_result)
{
    ovstage_op_id_t id = task(stage, 0, fails, nullptr).op_index;
    EXPECT_EQ(ovstage_wait_op(stage.instance, id, forever, nullptr), OVSTAGE_OK);
    EXPECT_NE(op_error(stage, id), "");
}

TEST_P(Ops, D20_destroy_drops_what_is_queued)
{
    std::atomic<int> ran{0};
    for (int i = 0; i < 50; i++)
        ASSERT_EQ(task(stage, static_cast<uint64_t>(1 + i % 5), counts, &ran).status, OVSTAGE_OK);
    ASSERT_EQ(stage.seal(3).status, OVSTAGE_OK);
    ovstage_query_handle_t query = stage.query(2);
    ovstage_ordinal_query_handle_t ordinal;
    ASSERT_EQ(ovstage_get_oldest_preserved_ordinal(stage.instance, &ordinal).status, OVSTAGE_OK);
    stage.destroy(); // with handles, ids and ops that were never released
    EXPECT_NE(query, 0u);
    EXPECT_LE(ran, GetParam() == no_workers ? 0 : 50);
}

// A managed tensor whose deleter looks what the instance answers.
struct Managed {
    DLManagedTensorVersioned tensor;
    int64_t shape[1] = {2};
    float values[2] = {1, 2};
    ovstage_instance_t *instance = nullptr;
    int deleted = 0;
    ovstage_api_status_t answer = OVSTAGE_OK;

    explicit Managed(const Stage &stage) : instance(stage.instance)
    {
        std::memset(&tensor, 0, sizeof(tensor));
        tensor.version = {1, 3};
        tensor.manager_ctx = this;
        tensor.flags = 2; // is-copied: it may be adopted
        tensor.dl_tensor = {values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
        tensor.deleter = [](DLManagedTensorVersioned *self) {
            Managed *it = static_cast<Managed *>(self->manager_ctx);
            it->deleted++;
            it->answer = task_status(it->instance);
        };
    }
    static ovstage_api_status_t task_status(ovstage_instance_t *instance)
    {
        flyrail_task_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.struct_size = sizeof(desc);
        return flyrail_submit_task(instance, &desc).status;
    }
    ovstage_enqueue_result_t write(const Stage &stage, ovstage_query_handle_t query,
                                   uint64_t ordinal)
    {
        const DLManagedTensorVersioned *one = &tensor;
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.managed_tensors = &one;
        data.tensor_count = 1;
        return ovstage_write_attribute(stage.instance, query,
                                       ovx_string_or_token_t{stage.token("x"), {}}, ordinal, data,
                                       OVSTAGE_PRIM_MODE_UPSERT);
    }
};

TEST_P(Ops, D20_deleters_run_and_cannot_call_in)
{
    ovstage_query_handle_t query = stage.query(2);
    Managed kept(stage), queued(stage);
    ASSERT_EQ(kept.write(stage, query, 1).status, OVSTAGE_OK) << last_error();
    stage.finish(stage.seal(1));
    ASSERT_EQ(queued.write(stage, query, 2).status, OVSTAGE_OK) << last_error();
    stage.destroy();
    EXPECT_EQ(kept.deleted, 1);
    EXPECT_EQ(queued.deleted, 1);
    EXPECT_EQ(queued.answer, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_P(Ops, R9_an_op_cannot_destroy_its_instance)
{
    auto run = [](const flyrail_task_context_t *context, void *user) {
        *static_cast<ovstage_api_status_t *>(user) = ovstage_destroy_instance(context->instance);
        return OVSTAGE_OK;
    };
    ovstage_api_status_t answer = OVSTAGE_OK;
    stage.finish(task(stage, 0, run, &answer));
    EXPECT_EQ(answer, OVSTAGE_ERROR_INVALID_ARGUMENT);
    // Another one may be destroyed.
    Stage other(GetParam());
    auto destroys = [](const flyrail_task_context_t *, void *user) {
        static_cast<Stage *>(user)->destroy();
        return OVSTAGE_OK;
    };
    stage.finish(task(stage, 0, destroys, &other));
    EXPECT_EQ(other.instance, nullptr);
}

TEST(OpsPending, D20_destroy_waits_for_what_runs)
{
    Stage stage(2);
    Gate gate;
    gate.submit(stage, 3);
    gate.wait_entered();
    std::atomic<int> ran{0};
    task(stage, 3, counts, &ran);
    std::thread destroyer([&] { stage.destroy(); });
    gate.let_go();
    destroyer.join();
    EXPECT_LE(ran, 1);
}

// --- with a gate: what is pending is known -------------------------------------------------------

TEST(OpsPending, R16_timeouts)
{
    Stage stage(2);
    Gate gate;
    ovstage_enqueue_result_t result = gate.submit(stage, 0);
    EXPECT_EQ(wait(stage, result.op_index, 0).status, OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(wait(stage, result.op_index, 1000).status, OVSTAGE_ERROR_TIMEOUT);
    gate.let_go();
    EXPECT_EQ(wait(stage, result.op_index).status, OVSTAGE_OK);
    EXPECT_EQ(wait(stage, result.op_index, 0).status, OVSTAGE_OK);
}

TEST(OpsPending, R17_a_wait_is_for_its_chain_only)
{
    Stage stage(2);
    Gate gate;
    ovstage_op_id_t other = gate.submit(stage, 4).op_index;
    ovstage_op_id_t mine = task(stage, 5, nullptr, nullptr).op_index;
    EXPECT_EQ(wait(stage, mine).status, OVSTAGE_OK);
    // The seal needs both: the lowest pending is the gate.
    ovstage_op_id_t seal = stage.seal(5).op_index;
    Outcome outcome = wait(stage, seal, 0);
    EXPECT_EQ(outcome.status, OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(outcome.pending, other);
    EXPECT_TRUE(outcome.errors.empty());
    gate.let_go();
    EXPECT_EQ(wait(stage, seal).status, OVSTAGE_OK);
}

TEST(OpsPending, L1_ordinals_run_beside_each_other)
{
    Stage stage(2);
    Gate low, high;
    low.submit(stage, 1);
    high.submit(stage, 2);
    low.wait_entered(); // both run at the same time
    high.wait_entered();
    // One ordinal is serial: the next op of lane 2 does not run beside the gate.
    std::atomic<int> ran{0};
    ovstage_op_id_t next = task(stage, 2, counts, &ran).op_index;
    low.let_go();
    EXPECT_EQ(wait(stage, low.id).status, OVSTAGE_OK);
    EXPECT_EQ(wait(stage, next, 0).status, OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(ran, 0);
    high.let_go();
    EXPECT_EQ(wait(stage, next).status, OVSTAGE_OK);
    EXPECT_EQ(ran, 1);
}

TEST(OpsPending, L7_a_submission_never_waits)
{
    Stage stage(1);
    Gate gate;
    gate.submit(stage, 3);
    gate.wait_entered();
    // Behind it, on it, above it and below it, from this thread, which never waits.
    std::vector<ovstage_enqueue_result_t> results;
    for (uint64_t ordinal : {3, 4, 2})
        results.push_back(task(stage, ordinal, nullptr, nullptr));
    results.push_back(task(stage, 0, nullptr, nullptr, {gate.id}));
    results.push_back(stage.seal(10));
    gate.let_go();
    for (const auto &result : results)
        stage.finish(result);
}

TEST(OpsPending, D7_release_of_a_pending_op)
{
    Stage stage(2);
    Gate gate;
    ovstage_op_id_t id = gate.submit(stage, 0).op_index;
    gate.wait_entered();
    std::atomic<bool> ended{false};
    std::thread waiter([&] {
        EXPECT_EQ(ovstage_wait_op(stage.instance, id, forever, nullptr), OVSTAGE_OK);
        ended = true;
    });
    // The waiter is inside once it has been counted as asleep, or it finds the gate open: either
    // way it ends.
    while (stage.statistics().ops_pending == 0)
        std::this_thread::yield();
    ovstage_op_id_t behind = task(stage, 0, nullptr, nullptr, {id}).op_index;
    gate.let_go();
    waiter.join();
    EXPECT_TRUE(ended);
    EXPECT_EQ(wait(stage, behind).status, OVSTAGE_OK);

    Gate second;
    id = second.submit(stage, 0).op_index;
    EXPECT_EQ(ovstage_release_op(stage.instance, id), OVSTAGE_OK);
    EXPECT_EQ(ovstage_release_op(stage.instance, id), OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_EQ(wait(stage, id, 0).status, OVSTAGE_ERROR_INVALID_HANDLE);
    second.let_go();
}

// --- waits inside ops (L8) -----------------------------------------------------------------------

struct Inside {
    const Stage *stage;
    ovstage_op_id_t awaited;
    ovstage_api_status_t status;
    std::string error;
};

ovstage_api_status_t waits(const flyrail_task_context_t *context, void *user)
{
    Inside *inside = static_cast<Inside *>(user);
    ovstage_op_id_t id = inside->awaited ? inside->awaited : context->op_id;
    inside->status = ovstage_wait_op(context->instance, id, forever, nullptr);
    inside->error = last_error();
    return OVSTAGE_OK;
}

TEST_P(Ops, L8_an_op_that_waits_for_itself)
{
    Inside inside{&stage, 0, OVSTAGE_OK, ""};
    ovstage_op_id_t id = task(stage, 0, waits, &inside).op_index;
    EXPECT_EQ(wait(stage, id).status, OVSTAGE_OK);
    EXPECT_EQ(inside.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(inside.error, "");
}

TEST_P(Ops, L8_an_op_that_waits_for_a_later_one_of_its_lane)
{
    struct Late {
        Inside inside;
        std::atomic<uint64_t> id{0};
    } late;
    late.inside.stage = &stage;
    // It submits the op that it waits for itself: behind it in the same lane.
    auto run = [](const flyrail_task_context_t *context, void *user) {
        Late *it = static_cast<Late *>(user);
        ovstage_enqueue_result_t result = task(*it->inside.stage, 7, nullptr, nullptr);
        EXPECT_EQ(result.status, OVSTAGE_OK);
        it->inside.status = ovstage_wait_op(context->instance, result.op_index, forever, nullptr);
        it->inside.error = last_error();
        return OVSTAGE_OK;
    };
    ovstage_op_id_t id = task(stage, 7, run, &late).op_index;
    EXPECT_EQ(wait(stage, id).status, OVSTAGE_OK);
    EXPECT_EQ(late.inside.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(late.inside.error, "");
}

TEST_P(Ops, L8_an_op_may_wait_for_others)
{
    auto run = [](const flyrail_task_context_t *context, void *user) {
        Inside *inside = static_cast<Inside *>(user);
        std::atomic<int> done{0};
        ovstage_enqueue_result_t result = task(*inside->stage, 3, counts, &done);
        inside->status = ovstage_wait_op(context->instance, result.op_index, forever, nullptr);
        return done == 1 ? OVSTAGE_OK : OVSTAGE_ERROR_INTERNAL;
    };
    Inside inside{&stage, 0, OVSTAGE_ERROR_INTERNAL, ""};
    ovstage_op_id_t id = task(stage, 9, run, &inside).op_index;
    EXPECT_TRUE(wait(stage, id).errors.empty());
    EXPECT_EQ(inside.status, OVSTAGE_OK);
}

TEST(OpsAlone, L8_without_workers_a_poll_runs_one_op)
{
    Stage stage(no_workers);
    std::atomic<int> ran{0};
    ovstage_op_id_t last = 0;
    for (int i = 0; i < 5; i++)
        last = task(stage, 2, counts, &ran).op_index;
    int polls = 0;
    while (wait(stage, last, 0).status == OVSTAGE_ERROR_TIMEOUT) {
        polls++;
        EXPECT_LE(ran, polls);
        ASSERT_LT(polls, 100);
    }
    EXPECT_EQ(ran, 5);
    EXPECT_GE(polls, 4);
}

TEST(OpsAlone, L8_a_wait_runs_its_own_chain_only)
{
    Stage stage(no_workers);
    std::atomic<int> mine{0}, others{0};
    task(stage, 1, counts, &others);
    ovstage_op_id_t id = task(stage, 2, counts, &mine).op_index;
    task(stage, 3, counts, &others);
    EXPECT_EQ(wait(stage, id).status, OVSTAGE_OK);
    EXPECT_EQ(mine, 1);
    EXPECT_EQ(others, 0);
    EXPECT_EQ(wait(stage, stage.seal(1).op_index).status, OVSTAGE_OK);
    EXPECT_EQ(others, 1);
}

// --- limits (R27, D25) ---------------------------------------------------------------------------

TEST(OpsLimits, R27_D25_too_many_pending_ops)
{
    flyrail_config_t made = config(1);
    made.op_limit = 8;
    Stage stage(made);
    Gate gate;
    gate.submit(stage, 1);
    std::vector<ovstage_enqueue_result_t> accepted;
    ovstage_enqueue_result_t result;
    while ((result = task(stage, 1, nullptr, nullptr)).status == OVSTAGE_OK &&
           accepted.size() < 100)
        accepted.push_back(result);
    EXPECT_EQ(result.status, OVSTAGE_ERROR_QUEUE_FULL);
    EXPECT_EQ(result.op_index, OVSTAGE_INVALID_OP_ID);
    EXPECT_NE(last_error().find("8"), std::string::npos) << last_error();
    EXPECT_EQ(accepted.size(), 7u);
    EXPECT_EQ(stage.statistics().queue_full_count, 1u);
    // Never the answer to a release or an advance.
    ovstage_query_handle_t query = stage.query(1);
    ovstage_enqueue_result_t release = ovstage_release_query(stage.instance, query);
    EXPECT_EQ(release.status, OVSTAGE_OK);
    ovstage_enqueue_result_t seal = stage.seal(1);
    EXPECT_EQ(seal.status, OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_room(stage.instance, 1, 0, 0), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(flyrail_wait_room(stage.instance, 9, 0, 0), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_EQ(flyrail_wait_room(stage.instance, 1, UINT64_MAX, 0), OVSTAGE_ERROR_OUT_OF_RANGE);
    gate.let_go();
    EXPECT_EQ(flyrail_wait_room(stage.instance, 8, 0, forever), OVSTAGE_OK);
    stage.finish(task(stage, 2, nullptr, nullptr));
    stage.finish(seal);
    stage.finish(release);
    for (const auto &op : accepted)
        stage.finish(op);
}

TEST(OpsLimits, D25_too_many_pending_bytes)
{
    for (uint32_t workers : {no_workers, 1u}) {
        flyrail_config_t made = config(workers);
        made.pending_limit_bytes = 100000;
        Stage stage(made);
        ovx_token_t x = stage.token("x");
        ovstage_query_handle_t query = stage.query(15000);
        std::vector<float> values(15000, 1.0f); // 60,000 bytes
        stage.finish(stage.write(query, x, 1, values));
        EXPECT_GE(stage.statistics().pending_bytes, 60000u);
        ovstage_enqueue_result_t refused = stage.write(query, x, 2, values);
        EXPECT_EQ(refused.status, OVSTAGE_ERROR_QUEUE_FULL);
        EXPECT_EQ(refused.op_index, OVSTAGE_INVALID_OP_ID);
        EXPECT_NE(last_error().find("100000"), std::string::npos) << last_error();
        EXPECT_EQ(flyrail_wait_room(stage.instance, 1, 60000, 0), OVSTAGE_ERROR_TIMEOUT);
        EXPECT_EQ(flyrail_wait_room(stage.instance, 1, 100001, 0), OVSTAGE_ERROR_OUT_OF_RANGE);
        ASSERT_EQ(stage.seal(1).status, OVSTAGE_OK); // never refused, and it makes room
        EXPECT_EQ(flyrail_wait_room(stage.instance, 1, 60000, forever), OVSTAGE_OK);
        stage.finish(stage.write(query, x, 2, values));
        stage.finish(stage.seal(2));
        EXPECT_EQ(stage.read(query, x, 2), values);
    }
}

TEST(OpsLimits, D25_submissions_from_inside_an_op_go_to_twice_the_limit)
{
    flyrail_config_t made = config(1);
    made.op_limit = 8;
    Stage stage(made);
    struct Filling {
        const Stage *stage;
        int accepted;
        ovstage_api_status_t last;
    } filling = {&stage, 0, OVSTAGE_OK};
    auto run = [](const flyrail_task_context_t *, void *user) {
        Filling *it = static_cast<Filling *>(user);
        while (it->accepted < 100 &&
               (it->last = task(*it->stage, 1, nullptr, nullptr).status) == OVSTAGE_OK)
            it->accepted++;
        return OVSTAGE_OK;
    };
    EXPECT_TRUE(wait(stage, task(stage, 1, run, &filling).op_index).errors.empty());
    EXPECT_EQ(filling.last, OVSTAGE_ERROR_QUEUE_FULL);
    EXPECT_EQ(filling.accepted, 15);
}

TEST(OpsLimits, D25_without_workers_a_full_queue_runs_ops)
{
    flyrail_config_t made = config(no_workers);
    made.op_limit = 8;
    Stage stage(made);
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; i++)
        ASSERT_EQ(task(stage, static_cast<uint64_t>(100 - i), counts, &ran).status, OVSTAGE_OK)
            << last_error();
    EXPECT_GE(ran, 92);
    EXPECT_LE(stage.statistics().ops_pending, 8u);
    EXPECT_EQ(stage.statistics().queue_full_count, 0u);
}

} // namespace
