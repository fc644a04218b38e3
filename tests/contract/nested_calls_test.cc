// Client code that the library calls on a thread that is in a call itself: tasks inside waits,
// deleters inside writes, pieces of a range. What fails in there is told there, and what waits in
// there is told what its caller waits for. R19, R20, R23, L8, 3.5 (d).
#include <cstdlib>

#include "tests/support/bounded.h"
#include "tests/support/columns.h"

namespace
{

using namespace client;

using Context = const flyrail_task_context_t *;

struct Nested : testing::TestWithParam<uint32_t> {
    Nested() : stage(GetParam())
    {
    }

    // The texts of a wait's failed ops; `out` holds the list of them.
    std::vector<ovstage_op_id_t> wait(ovstage_op_id_t id)
    {
        ovstage_op_wait_result_t out;
        EXPECT_EQ(ovstage_wait_op(stage.instance, id, forever, &out), OVSTAGE_OK) << last_error();
        return {out.error_op_ids, out.error_op_ids + out.error_op_id_count};
    }
    // Of an op that has run and failed.
    ovstage_op_id_t failed(ovstage_api_status_t with)
    {
        bodies.emplace_back(new Body{[with](Context) { return with; }});
        ovstage_op_id_t id = task(stage, 0, Body::call, bodies.back().get()).op_index;
        EXPECT_EQ(flyrail_wait_all(stage.instance, &id, 1, forever), OVSTAGE_OK);
        return id;
    }
    std::string op_error(ovstage_op_id_t id)
    {
        return text(ovstage_get_last_op_error(stage.instance, id));
    }
    // On a thread that runs what it waits for: the client's without workers, else a task's.
    void on_a_thread_that_runs(const std::function<void()> &what)
    {
        if (GetParam() == 0) {
            what();
            return;
        }
        Body body{[&](Context) {
            what();
            return OVSTAGE_OK;
        }};
        stage.finish(task(stage, 0, Body::call, &body));
    }

    Stage stage;
    std::vector<std::unique_ptr<Body>> bodies;
};

// The task that the wait runs saw an op fail; what is waited for did not.
TEST_P(Nested, R19_what_a_task_inside_a_wait_saw_fail_is_not_the_waiters)
{
    const ovstage_op_id_t broken = failed(OVSTAGE_ERROR_NOT_FOUND);
    std::vector<ovstage_op_id_t> seen_inside;
    Body inner{[&](Context) {
        seen_inside = wait(broken);
        EXPECT_NE(op_error(broken), "");
        return OVSTAGE_OK;
    }};
    on_a_thread_that_runs([&] {
        ovstage_op_id_t good = task(stage, 0, Body::call, &inner).op_index;
        EXPECT_EQ(wait(good), std::vector<ovstage_op_id_t>());
        EXPECT_EQ(op_error(broken), "");
    });
    EXPECT_EQ(inner.runs, 1);
    EXPECT_EQ(seen_inside, std::vector<ovstage_op_id_t>{broken});
}

// A thread's list lives until its own next wait_op, whatever runs on it in the meantime.
TEST_P(Nested, R20_texts_outlive_the_waits_of_tasks_that_run_meanwhile)
{
    const ovstage_op_id_t first = failed(OVSTAGE_ERROR_NOT_FOUND);
    const ovstage_op_id_t second = failed(OVSTAGE_ERROR_OUT_OF_RANGE);
    Body inner{[&](Context) {
        EXPECT_EQ(op_error(first), ""); // none of its own
        EXPECT_EQ(wait(second), std::vector<ovstage_op_id_t>{second});
        return OVSTAGE_OK;
    }};
    on_a_thread_that_runs([&] {
        ovstage_op_wait_result_t out;
        ASSERT_EQ(ovstage_wait_op(stage.instance, first, forever, &out), OVSTAGE_OK);
        const std::string told = op_error(first);
        EXPECT_NE(told, "");
        ovstage_op_id_t good = task(stage, 0, Body::call, &inner).op_index;
        EXPECT_EQ(flyrail_wait_all(stage.instance, &good, 1, forever), OVSTAGE_OK);
        ASSERT_EQ(out.error_op_id_count, 1u);
        EXPECT_EQ(out.error_op_ids[0], first);
        EXPECT_EQ(op_error(first), told);
        EXPECT_EQ(op_error(second), "");
    });
    EXPECT_EQ(inner.runs, 1);
}

TEST_P(Nested, R23_calls_that_fail_inside_a_task_leave_the_waiters_text)
{
    std::string inside_before = "?", inside;
    Body inner{[&](Context) {
        inside_before = last_error();
        EXPECT_EQ(ovstage_release_op(stage.instance, 0), OVSTAGE_ERROR_INVALID_HANDLE);
        inside = last_error();
        return OVSTAGE_OK;
    }};
    on_a_thread_that_runs([&] {
        EXPECT_EQ(ovstage_release_query(stage.instance, 0).status, OVSTAGE_ERROR_INVALID_HANDLE);
        const std::string told = last_error();
        ovstage_op_id_t good = task(stage, 0, Body::call, &inner).op_index;
        EXPECT_EQ(wait(good), std::vector<ovstage_op_id_t>());
        EXPECT_EQ(last_error(), told);
        EXPECT_NE(told, inside);
    });
    EXPECT_EQ(inside_before, ""); // nothing has failed in the task yet
    EXPECT_NE(inside, "");
}

// The deleter of a refused write runs inside the call, whose text is to be read afterwards.
TEST_P(Nested, R23_a_refused_write_is_told_whatever_its_deleter_does)
{
    struct Owner {
        const Stage *stage;
        int runs = 0;
    } owner{&stage};
    DLManagedTensorVersioned managed;
    Payload payload(ramp(3), 3);
    std::memset(&managed, 0, sizeof(managed));
    managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed.manager_ctx = &owner;
    managed.dl_tensor = payload.tensor;
    managed.deleter = [](DLManagedTensorVersioned *self) {
        Owner *of = static_cast<Owner *>(self->manager_ctx);
        of->runs++;
        EXPECT_EQ(ovstage_release_op(of->stage->instance, 0), OVSTAGE_ERROR_INVALID_HANDLE);
        EXPECT_NE(last_error().find("operation"), std::string::npos) << last_error();
    };
    const DLManagedTensorVersioned *pointer = &managed;
    payload.data.tensors = nullptr;
    payload.data.managed_tensors = &pointer;
    ovstage_enqueue_result_t result =
        ovstage_write_attribute(stage.instance, stage.query(2), named(stage.token("a")), 1,
                                payload.data, OVSTAGE_PRIM_MODE_UPSERT);
    EXPECT_EQ(result.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("shape[0] = 3"), std::string::npos) << last_error();
    EXPECT_EQ(owner.runs, 1);
}

TEST_P(Nested, R23_calls_that_fail_inside_a_range_leave_the_callers_text)
{
    EXPECT_EQ(ovstage_release_query(stage.instance, 0).status, OVSTAGE_ERROR_INVALID_HANDLE);
    const std::string told = last_error();
    EXPECT_EQ(flyrail_parallel_for(
                  stage.instance, 8, 1,
                  [](uint64_t, uint64_t, void *user) {
                      const Stage *of = static_cast<const Stage *>(user);
                      EXPECT_EQ(ovstage_release_op(of->instance, 0), OVSTAGE_ERROR_INVALID_HANDLE);
                      EXPECT_NE(last_error().find("operation"), std::string::npos);
                  },
                  &stage),
              OVSTAGE_OK);
    EXPECT_EQ(last_error(), told);
}

INSTANTIATE_TEST_SUITE_P(Workers, Nested, testing::Values(0u, 1u, 2u));

// --- waits in the pieces of a range that a task has cut ------------------------------------------

// A task whose range is run by two threads, each of which gets a piece.
class Range
{
  public:
    using Piece = std::function<void(const Stage &, uint64_t piece)>;

    void run(const Stage &stage, uint64_t ordinal, const Piece &piece)
    {
        of = &stage;
        body = piece;
        Body cuts{[&](Context) { return flyrail_parallel_for(stage.instance, 2, 1, call, this); }};
        stage.finish(task(stage, ordinal, Body::call, &cuts));
    }

  private:
    static void call(uint64_t begin, uint64_t, void *user)
    {
        Range *range = static_cast<Range *>(user);
        range->both_are_here();
        range->body(*range->of, begin);
    }
    void both_are_here()
    {
        std::unique_lock<std::mutex> lock(mutex);
        arrived++;
        changed.notify_all();
        changed.wait(lock, [this] { return arrived == 2; });
    }

    const Stage *of = nullptr;
    Piece body;
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
};

// An INSERT goes by the ops below it; but not by the task from inside which it comes, on whatever
// thread its piece runs.
TEST(NestedRange, L8_what_a_piece_submits_does_not_wait_for_its_task)
{
    bounded("waiting for an INSERT in a piece of a range", [] {
        Stage stage(2);
        const ovstage_query_handle_t queries[2] = {stage.query({"/A"}), stage.query({"/B"})};
        const ovx_token_t name = stage.token("a");
        const std::vector<float> values = ramp(1);
        Range range;
        range.run(stage, 5, [&](const Stage &on, uint64_t piece) {
            on.finish(on.write(queries[piece], name, 6, values, OVSTAGE_PRIM_MODE_INSERT));
        });
        stage.finish(stage.seal(6));
        EXPECT_EQ(stage.read(queries[0], name, 6), values);
        EXPECT_EQ(stage.read(queries[1], name, 6), values);
    });
}

// What comes behind the task in its lane, or depends on it, waits for the piece.
TEST(NestedRange, L8_a_piece_cannot_wait_for_what_waits_for_its_task)
{
    bounded("waiting in a piece of a range for what waits for its task", [] {
        Stage stage(2);
        const ovstage_query_handle_t query = stage.query(1);
        const ovx_token_t names[2] = {stage.token("a"), stage.token("b")};
        const std::vector<float> values = ramp(1);
        std::atomic<int> refused{0};
        ovstage_enqueue_result_t behind[2], seals[2];
        Range range;
        range.run(stage, 5, [&](const Stage &on, uint64_t piece) {
            const ovx_token_t name = names[piece];
            behind[piece] = on.write(query, name, 5, values);
            seals[piece] = on.seal(5, OVSTAGE_SCOPE_INCLUDE, {name});
            for (ovstage_op_id_t id : {behind[piece].op_index, seals[piece].op_index}) {
                ovstage_op_wait_result_t out;
                refused += ovstage_wait_op(on.instance, id, forever, &out) ==
                           OVSTAGE_ERROR_INVALID_ARGUMENT;
                EXPECT_NE(last_error().find("it waits itself for that op"), std::string::npos)
                    << last_error();
            }
            refused +=
                flyrail_wait_floor(on.instance, name, 5, forever) == OVSTAGE_ERROR_INVALID_ARGUMENT;
        });
        EXPECT_EQ(refused, 6);
        for (int piece = 0; piece < 2; piece++) {
            stage.finish(behind[piece]);
            stage.finish(seals[piece]);
            EXPECT_EQ(stage.read(query, names[piece], 5), values);
        }
    });
}

// Its keys got their places by a lower ordinal, in another order: so it is copied and goes, while
// that ordinal is sealed.
TEST_P(Nested, D10_a_deleter_of_what_a_seal_replaces_may_seal_and_wait)
{
    bounded("a deleter that seals, inside a seal", [&] {
        const ovx_token_t names[2] = {stage.token("a"), stage.token("b")};
        const std::vector<float> values = ramp(3);
        const ovstage_query_handle_t up = stage.query({"/A", "/B", "/C"}),
                                     down = stage.query({"/C", "/B", "/A"});
        stage.finish(stage.write(up, names[1], 1, values));
        stage.finish(stage.write(up, names[0], 1, values));
        struct Sealing {
            DLManagedTensorVersioned tensor{};
            int64_t shape[1] = {3};
            alignas(64) float values[3] = {5, 6, 7};
            const Stage *stage = nullptr;
            ovx_token_t other = 0;
            int deleted = 0;
        } sealing;
        sealing.stage = &stage;
        sealing.other = names[1];
        sealing.tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        sealing.tensor.flags = DLPACK_FLAG_BITMASK_IS_COPIED;
        sealing.tensor.manager_ctx = &sealing;
        sealing.tensor.dl_tensor = {sealing.values, {kDLCPU, 0}, 1, f32(),
                                    sealing.shape,  nullptr,     0};
        sealing.tensor.deleter = [](DLManagedTensorVersioned *self) {
            auto *it = static_cast<Sealing *>(self->manager_ctx);
            it->deleted++;
            it->stage->finish(it->stage->seal(4, OVSTAGE_SCOPE_INCLUDE, {it->other}));
        };
        const DLManagedTensorVersioned *pointer = &sealing.tensor;
        ovstage_write_data_t data{};
        data.managed_tensors = &pointer;
        data.tensor_count = 1;
        stage.finish(write(stage, down, names[0], 2, data));
        EXPECT_EQ(sealing.deleted, 0); // it was adopted
        stage.finish(stage.seal(1, OVSTAGE_SCOPE_INCLUDE, {names[0]}));
        stage.finish(stage.seal(2, OVSTAGE_SCOPE_INCLUDE, {names[0]}));
        EXPECT_EQ(stage.read(up, names[0], 2), (std::vector<float>{7, 6, 5}));
        EXPECT_EQ(sealing.deleted, 1);
        EXPECT_EQ(stage.floor(names[1]), 4u);
    });
}

// Allocations of `held_bytes` or more wait, so that a call is under way for as long as a test
// wants.
struct HeldHeap {
    static constexpr size_t held_bytes = 100000;
    Event entered, open;
    static void *allocate(size_t size_bytes, size_t alignment_bytes, void *user)
    {
        if (size_bytes >= held_bytes && size_bytes < 2 * held_bytes) {
            static_cast<HeldHeap *>(user)->entered.set();
            static_cast<HeldHeap *>(user)->open.wait();
        }
        void *memory = nullptr;
        return posix_memalign(&memory, alignment_bytes, size_bytes) == 0 ? memory : nullptr;
    }
    static void release(void *memory, size_t, void *)
    {
        std::free(memory);
    }
};

// A task's call that was let in before its instance's end began, and is accepted by nobody.
TEST(NestedEnd, D20_what_meets_the_end_is_refused_with_a_text)
{
    HeldHeap heap;
    flyrail_config_t made = config(1);
    made.allocator = {HeldHeap::allocate, HeldHeap::release, &heap};
    Stage stage(made);
    const ovx_token_t name = stage.token("a");
    const ovstage_query_handle_t query = stage.query(1);
    ovstage_enqueue_result_t answer{};
    std::string why;
    Body body{[&](Context context) {
        const std::string value(HeldHeap::held_bytes, 'x');
        const ovx_string_t of = text(value);
        const ovstage_predicate_t predicate{named(name), OVSTAGE_FILTER_OP_IN, &of, 1};
        const ovstage_filter_t filter{&predicate, 1};
        ovstage_query_handle_t none = 0;
        answer = ovstage_query(context->instance, &filter, nullptr, 0, &none);
        why = last_error();
        EXPECT_EQ(none, 0u);
        return OVSTAGE_OK;
    }};
    ASSERT_EQ(task(stage, 1, Body::call, &body).status, OVSTAGE_OK);
    heap.entered.wait();
    // Behind the task, so it is still there at the end, which runs its deleter.
    struct Last {
        DLManagedTensorVersioned tensor{};
        int64_t shape[1] = {1};
        float value = 1;
    } last;
    last.tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    last.tensor.manager_ctx = &heap;
    last.tensor.dl_tensor = {&last.value, {kDLCPU, 0}, 1, f32(), last.shape, nullptr, 0};
    last.tensor.deleter = [](DLManagedTensorVersioned *self) {
        static_cast<HeldHeap *>(self->manager_ctx)->open.set();
    };
    const DLManagedTensorVersioned *pointer = &last.tensor;
    ovstage_write_data_t data{};
    data.managed_tensors = &pointer;
    data.tensor_count = 1;
    ASSERT_EQ(write(stage, query, name, 2, data).status, OVSTAGE_OK) << last_error();
    stage.destroy();
    EXPECT_EQ(answer.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(answer.op_index, OVSTAGE_INVALID_OP_ID);
    EXPECT_NE(why.find("being destroyed"), std::string::npos) << why;
}

} // namespace
