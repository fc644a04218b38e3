// Waits that could never end, and misuse from inside tasks and deleters: refused, never a hang.
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/support/columns.h"

namespace
{

using namespace client;

class Waits : public testing::TestWithParam<uint32_t>
{
  protected:
    Stage stage{GetParam()};
};

// Bodies of tasks as lambdas.
struct Body {
    std::function<ovstage_api_status_t(const flyrail_task_context_t *)> run;
    std::atomic<int> runs{0};
    static ovstage_api_status_t call(const flyrail_task_context_t *context, void *user)
    {
        Body *body = static_cast<Body *>(user);
        body->runs++;
        return body->run(context);
    }
};

// Every wait that there is on something that depends on the task itself, at its own or a later
// place of its lane.
TEST_P(Waits, L8_every_kind_of_wait_for_oneself)
{
    Body first, second;
    std::atomic<ovstage_op_id_t> later{0}, seal{0};
    std::vector<ovstage_api_status_t> seen;
    ovx_token_t name = stage.token("a");
    ovstage_query_handle_t query = stage.query(2);
    std::atomic<ovstage_read_handle_t> read{0};
    std::vector<float> values = ramp(2);
    stage.finish(
        stage.write(query, name, 4, values)); // known, so that a read of it waits for the seal
    Gate gate;
    ovstage_enqueue_result_t held{};
    if (GetParam() > 0)
        held = gate.submit(stage, 5);
    first.run = [&](const flyrail_task_context_t *context) {
        ovstage_op_id_t ids[3] = {context->op_id, later, seal};
        ovstage_read_group_t group;
        for (ovstage_op_id_t id : ids) {
            size_t index = 0;
            seen.push_back(ovstage_wait_op(context->instance, id, forever, nullptr));
            seen.push_back(flyrail_wait_any(context->instance, &id, 1, forever, &index));
        }
        seen.push_back(flyrail_wait_all(context->instance, ids, 3, forever));
        seen.push_back(ovstage_fetch_read_next(context->instance, read, forever, &group));
        return OVSTAGE_OK;
    };
    second.run = [](const flyrail_task_context_t *) { return OVSTAGE_OK; };
    ovstage_enqueue_result_t one = task(stage, 5, Body::call, &first);
    ovstage_enqueue_result_t two = task(stage, 5, Body::call, &second);
    later = two.op_index;
    ovstage_enqueue_result_t advance = stage.seal(5);
    seal = advance.op_index;
    ovstage_read_handle_t handle = 0;
    ovstage_enqueue_result_t reading = ovstage_read_attributes(
        stage.instance, query, &name, 1, ovstage_ordinal_range_t{0, 5, false}, &handle);
    read = handle;
    gate.let_go();
    for (auto result : {one, two, advance, reading})
        stage.finish(result);
    if (GetParam() > 0)
        stage.finish(held);
    EXPECT_EQ(seen, std::vector<ovstage_api_status_t>(8, OVSTAGE_ERROR_INVALID_ARGUMENT));
}

// What a task runs through flyrail_run lies on top of it: the task is not complete before that is.
TEST_P(Waits, L8_what_a_task_runs_cannot_wait_for_it)
{
    Body outer, inner;
    std::atomic<ovstage_op_id_t> outer_id{0};
    std::atomic<ovstage_api_status_t> seen{OVSTAGE_OK};
    Gate gates[2]; // one for each worker
    std::vector<ovstage_enqueue_result_t> held;
    for (size_t i = 0; i < static_cast<size_t>(GetParam()); i++) {
        held.push_back(gates[i].submit(stage, 0));
        gates[i].wait_entered();
    }
    ovstage_enqueue_result_t nested{};
    outer.run = [&](const flyrail_task_context_t *context) {
        nested = task(stage, 0, Body::call, &inner);
        uint64_t ran = 0;
        while (inner.runs == 0)
            EXPECT_EQ(flyrail_run(context->instance, 0, &ran), OVSTAGE_OK);
        return OVSTAGE_OK;
    };
    inner.run = [&](const flyrail_task_context_t *context) {
        seen = ovstage_wait_op(context->instance, outer_id, forever, nullptr);
        return OVSTAGE_OK;
    };
    ovstage_enqueue_result_t one = task(stage, 7, Body::call, &outer);
    outer_id = one.op_index;
    if (GetParam() > 0) {
        // The workers are held: this thread runs it.
        uint64_t ran = 0;
        EXPECT_EQ(flyrail_run(stage.instance, 0, &ran), OVSTAGE_OK);
    }
    for (size_t i = 0; i < held.size(); i++) {
        gates[i].let_go();
        stage.finish(held[i]);
    }
    stage.finish(one);
    stage.finish(nested);
    EXPECT_EQ(seen, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

// The same over another op in between, that waits on another thread.
TEST(WaitsNested, L8_seen_from_another_thread)
{
    Stage stage(1);
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 0);
    gate.wait_entered();
    // On this thread: outer runs middle by flyrail_run; middle waits for `far`, which waits for
    // outer.
    std::atomic<ovstage_op_id_t> outer_id{0}, far_id{0};
    std::atomic<ovstage_api_status_t> far_seen{OVSTAGE_OK}, middle_seen{OVSTAGE_OK};
    Body outer, middle, far;
    ovstage_enqueue_result_t nested{};
    outer.run = [&](const flyrail_task_context_t *context) {
        nested = task(stage, 0, Body::call, &middle);
        while (middle.runs == 0)
            flyrail_run(context->instance, 1, nullptr);
        return OVSTAGE_OK;
    };
    middle.run = [&](const flyrail_task_context_t *context) {
        gate.let_go(); // the worker is free for `far`
        while (far.runs == 0)
            std::this_thread::yield();
        middle_seen = ovstage_wait_op(context->instance, far_id, forever, nullptr);
        return OVSTAGE_OK;
    };
    far.run = [&](const flyrail_task_context_t *context) {
        far_seen = ovstage_wait_op(context->instance, outer_id, forever, nullptr);
        return OVSTAGE_OK;
    };
    ovstage_enqueue_result_t one = task(stage, 3, Body::call, &outer);
    outer_id = one.op_index;
    // Behind the gate, so that only the worker takes it.
    ovstage_enqueue_result_t two = task(stage, 0, Body::call, &far, {held.op_index});
    far_id = two.op_index;
    uint64_t ran = 0;
    EXPECT_EQ(flyrail_run(stage.instance, 1, &ran), OVSTAGE_OK);
    stage.finish(one);
    stage.finish(two);
    stage.finish(nested);
    stage.finish(held);
    EXPECT_TRUE((far_seen == OVSTAGE_ERROR_INVALID_ARGUMENT) !=
                (middle_seen == OVSTAGE_ERROR_INVALID_ARGUMENT))
        << far_seen << middle_seen;
}

// A deleter waits for the op that runs it.
TEST_P(Waits, L8_a_deleter_that_waits_for_its_own_write)
{
    struct Context {
        ovstage_instance_t *instance;
        std::atomic<ovstage_op_id_t> id{0}, later{0};
        std::atomic<int> runs{0};
        ovstage_api_status_t own = OVSTAGE_OK, next = OVSTAGE_OK;
        ovstage_enqueue_result_t sealed{};
        std::vector<float> values = ramp(2);
        int64_t shape = 2;
        DLManagedTensorVersioned managed;
    } context;
    context.instance = stage.instance;
    std::memset(&context.managed, 0, sizeof(context.managed));
    context.managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    context.managed.manager_ctx = &context;
    context.managed.deleter = [](DLManagedTensorVersioned *self) {
        Context *to = static_cast<Context *>(self->manager_ctx);
        to->runs++;
        to->own = ovstage_wait_op(to->instance, to->id, forever, nullptr);
        to->next = ovstage_wait_op(to->instance, to->later, forever, nullptr);
        ovstage_write_floor_desc_t desc{9, OVSTAGE_SCOPE_ALL, nullptr, 0};
        to->sealed = ovstage_advance_write_floor(to->instance, &desc);
    };
    context.managed.dl_tensor.data = context.values.data();
    context.managed.dl_tensor.device = {kDLCPU, 0};
    context.managed.dl_tensor.ndim = 1;
    context.managed.dl_tensor.dtype = f32();
    context.managed.dl_tensor.shape = &context.shape;
    const DLManagedTensorVersioned *pointer = &context.managed;
    ovstage_write_data_t data;
    std::memset(&data, 0, sizeof(data));
    data.managed_tensors = &pointer;
    data.tensor_count = 1;
    ovx_token_t name = stage.token("a");
    ovstage_query_handle_t query = stage.query(2);
    Gate gate;
    ovstage_enqueue_result_t held{};
    if (GetParam() > 0)
        held = gate.submit(stage, 5);
    ovstage_enqueue_result_t result = ovstage_write_attribute(stage.instance, query, named(name), 5,
                                                              data, OVSTAGE_PRIM_MODE_UPSERT);
    context.id = result.op_index;
    std::vector<float> values = ramp(2, 3);
    ovstage_enqueue_result_t second = stage.write(query, name, 5, values);
    context.later = second.op_index;
    gate.let_go();
    stage.finish(result);
    stage.finish(second);
    if (GetParam() > 0)
        stage.finish(held);
    EXPECT_EQ(context.runs, 1);
    EXPECT_EQ(context.own, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(context.next, OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(context.sealed);
    EXPECT_EQ(stage.read(query, name, 9), values);
}

// Destroying the instance whose op runs could never end.
TEST_P(Waits, destroy_from_inside_a_task_is_refused)
{
    Body body;
    ovstage_api_status_t seen = OVSTAGE_OK;
    std::string said;
    body.run = [&](const flyrail_task_context_t *context) {
        seen = ovstage_destroy_instance(context->instance);
        said = last_error();
        return OVSTAGE_OK;
    };
    stage.finish(task(stage, 3, Body::call, &body));
    EXPECT_EQ(seen, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(said, "");
    stage.finish(stage.seal(3));
}

TEST_P(Waits, destroy_from_inside_a_range_is_refused)
{
    struct Seen {
        ovstage_instance_t *instance;
        std::atomic<int> refused{0}, calls{0};
    } seen;
    seen.instance = stage.instance;
    EXPECT_EQ(flyrail_parallel_for(
                  stage.instance, 8, 1,
                  [](uint64_t, uint64_t, void *user) {
                      Seen *to = static_cast<Seen *>(user);
                      to->calls++;
                      to->refused +=
                          ovstage_destroy_instance(to->instance) == OVSTAGE_ERROR_INVALID_ARGUMENT;
                  },
                  &seen),
              OVSTAGE_OK);
    EXPECT_EQ(seen.refused, seen.calls);
    stage.finish(stage.seal(3));
}

// A deleter that runs inside a call on the instance: of a refused write, of a group that lets an
// adopted version go, of an op.
TEST_P(Waits, destroy_from_inside_a_deleter_is_refused)
{
    struct Context {
        ovstage_instance_t *instance;
        ovstage_api_status_t seen = OVSTAGE_OK;
        int runs = 0;
        // Not in the structure: a stack frame of the address sanitizer keeps no such alignment.
        float *values = static_cast<float *>(std::aligned_alloc(64, 64));
        int64_t shape = 2;
        DLManagedTensorVersioned managed;
        const DLManagedTensorVersioned *pointer = &managed;
        ovstage_write_data_t data;
        explicit Context(ovstage_instance_t *of) : instance(of)
        {
            std::memset(&managed, 0, sizeof(managed));
            managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
            managed.manager_ctx = this;
            managed.flags = DLPACK_FLAG_BITMASK_IS_COPIED;
            managed.deleter = [](DLManagedTensorVersioned *self) {
                Context *to = static_cast<Context *>(self->manager_ctx);
                to->runs++;
                to->seen = ovstage_destroy_instance(to->instance);
            };
            managed.dl_tensor.data = values;
            managed.dl_tensor.device = {kDLCPU, 0};
            managed.dl_tensor.ndim = 1;
            managed.dl_tensor.dtype = f32();
            managed.dl_tensor.shape = &shape;
            std::memset(&data, 0, sizeof(data));
            data.managed_tensors = &pointer;
            data.tensor_count = 1;
            values[0] = 1;
            values[1] = 2;
        }
        ~Context()
        {
            std::free(values);
        }
        Context(const Context &) = delete;
    };
    ovx_token_t name = stage.token("a");
    ovstage_query_handle_t query = stage.query(2);
    Context rejected(stage.instance), written(stage.instance);
    EXPECT_EQ(ovstage_write_attribute(stage.instance, query, named(name), 0, rejected.data,
                                      OVSTAGE_PRIM_MODE_UPSERT)
                  .status,
              OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    EXPECT_EQ(rejected.runs, 1);
    EXPECT_EQ(rejected.seen, OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(ovstage_write_attribute(stage.instance, query, named(name), 1, written.data,
                                         OVSTAGE_PRIM_MODE_UPSERT));
    for (uint64_t at = 1; at < 9; at++) {
        stage.finish(stage.seal(at));
        std::vector<float> values = ramp(2);
        stage.finish(stage.write(query, name, at + 1, values));
    }
    EXPECT_EQ(written.runs, 1);
    EXPECT_EQ(written.seen, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

// From a task of one instance another one may be destroyed.
TEST_P(Waits, destroy_another_from_inside_a_task)
{
    Body body;
    Stage other(GetParam());
    ovx_token_t name = other.token("a");
    std::vector<float> values = ramp(2);
    ovstage_query_handle_t query = other.query(2);
    ovstage_enqueue_result_t left = other.write(query, name, 3, values);
    EXPECT_EQ(left.status, OVSTAGE_OK);
    body.run = [&](const flyrail_task_context_t *) {
        EXPECT_EQ(ovstage_destroy_instance(other.instance), OVSTAGE_OK);
        other.instance = nullptr;
        return OVSTAGE_OK;
    };
    stage.finish(task(stage, 3, Body::call, &body));
    EXPECT_EQ(body.runs, 1);
}

INSTANTIATE_TEST_SUITE_P(Workers, Waits, testing::Values(0u, 1u, 2u));

} // namespace
