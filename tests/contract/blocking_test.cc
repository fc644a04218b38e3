// Every call that may block, from every place where client code runs: none hangs, and the statuses
// are those of the table, whatever the number of workers.
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "tests/support/bounded.h"
#include "tests/support/columns.h"

namespace
{

using namespace client;

// --- places --------------------------------------------------

const std::vector<float> &lasting_values()
{
    static const std::vector<float> values = ramp(4);
    return values;
}

// What a call finds where it is made. Ordinals up to 4 are free; 5 is that of the place's own op.
struct Here {
    Stage &stage;
    ovstage_op_id_t own = OVSTAGE_INVALID_OP_ID; // the op that the place is inside of
    ovstage_query_handle_t query = 0;
    ovx_token_t name = 0;
    // Of no place: what is pending at the end of one may still read them.
    const std::vector<float> &values = lasting_values();
};

using Calls = std::function<void(Here &)>;

struct Place {
    const char *name;
    bool inside; // an op of ordinal 5
    bool is_hook;
    uint32_t workers_needed;
    void (*run)(uint32_t workers, const Calls &calls);
};

constexpr uint64_t op_limit = 64;

flyrail_config_t small(uint32_t workers)
{
    flyrail_config_t made = config(workers);
    made.op_limit = op_limit;
    return made;
}

Here here(Stage &stage, ovstage_op_id_t own = OVSTAGE_INVALID_OP_ID)
{
    Here made{stage};
    made.own = own;
    made.query = stage.query(4);
    made.name = stage.token("a");
    return made;
}

void on_a_client_thread(uint32_t workers, const Calls &calls)
{
    Stage stage(small(workers));
    Here place = here(stage);
    calls(place);
}

void in_a_task_at(uint64_t ordinal, uint32_t workers, const Calls &calls)
{
    Stage stage(small(workers));
    Body body;
    body.run = [&](const flyrail_task_context_t *context) {
        Here place = here(stage, context->op_id);
        calls(place);
        return OVSTAGE_OK;
    };
    stage.finish(task(stage, ordinal, Body::call, &body));
}

void in_an_ordered_task(uint32_t workers, const Calls &calls)
{
    in_a_task_at(5, workers, calls);
}

void in_a_task_by_request(uint32_t workers, const Calls &calls)
{
    Stage stage(small(workers));
    Body body;
    Gate gates[2]; // so that this thread runs it
    std::vector<ovstage_enqueue_result_t> held;
    for (size_t k = 0; k < static_cast<size_t>(workers); k++) {
        held.push_back(gates[k].submit(stage, 0));
        gates[k].wait_entered();
    }
    body.run = [&](const flyrail_task_context_t *context) {
        for (Gate &gate : gates)
            gate.let_go();
        Here place = here(stage, context->op_id);
        calls(place);
        return OVSTAGE_OK;
    };
    ovstage_enqueue_result_t result = task(stage, 5, Body::call, &body);
    EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK);
    stage.finish(result);
    for (auto each : held)
        stage.finish(each);
}

void on_a_lent_thread(uint32_t workers, const Calls &calls)
{
    Stage stage(small(workers));
    Body body;
    uint32_t until = 0;
    std::thread lent([&] { EXPECT_EQ(flyrail_worker_run(stage.instance, &until), OVSTAGE_OK); });
    body.run = [&](const flyrail_task_context_t *context) {
        Here place = here(stage, context->op_id);
        calls(place);
        return OVSTAGE_OK;
    };
    stage.finish(task(stage, 5, Body::call, &body));
    EXPECT_EQ(flyrail_worker_stop(stage.instance, &until), OVSTAGE_OK);
    lent.join();
}

void in_a_deleter(uint32_t workers, const Calls &calls)
{
    Stage stage(small(workers));
    struct Context {
        std::function<void()> run;
        std::vector<float> values = ramp(4);
        int64_t shape = 4;
        DLManagedTensorVersioned managed;
    } context;
    std::memset(&context.managed, 0, sizeof(context.managed));
    context.managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    context.managed.manager_ctx = &context;
    context.managed.deleter = [](DLManagedTensorVersioned *self) {
        static_cast<Context *>(self->manager_ctx)->run();
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
    Here place = here(stage);
    Event known;
    context.run = [&] {
        known.wait();
        calls(place);
    };
    Gate gate; // so that the enqueue call does not run it
    ovstage_enqueue_result_t held{};
    if (workers > 0)
        held = gate.submit(stage, 5);
    ovstage_enqueue_result_t result = ovstage_write_attribute(
        stage.instance, place.query, named(place.name), 5, data, OVSTAGE_PRIM_MODE_UPSERT);
    place.own = result.op_index;
    known.set();
    gate.let_go();
    stage.finish(result);
    if (workers > 0)
        stage.finish(held);
}

// On whichever of the pool's threads takes the piece.
void in_a_range(uint32_t workers, const Calls &calls)
{
    Stage stage(small(workers));
    std::function<void()> run = [&] {
        Here place = here(stage);
        calls(place);
    };
    EXPECT_EQ(flyrail_parallel_for(
                  stage.instance, 2, 1,
                  [](uint64_t begin, uint64_t, void *user) {
                      if (begin == 0)
                          (*static_cast<std::function<void()> *>(user))();
                  },
                  &run),
              OVSTAGE_OK);
}

void in_a_trace_writer(uint32_t workers, const Calls &calls)
{
    Stage stage(small(workers));
    EXPECT_EQ(flyrail_trace_start(stage.instance, 64), OVSTAGE_OK);
    EXPECT_EQ(flyrail_trace_stop(stage.instance), OVSTAGE_OK);
    struct Once {
        std::function<void()> run;
        int times = 0;
    } once;
    once.run = [&] {
        Here place = here(stage);
        calls(place);
    };
    EXPECT_EQ(flyrail_trace_write(
                  stage.instance, FLYRAIL_TRACE_PERFETTO_JSON,
                  [](const char *, size_t, void *user) {
                      Once *to = static_cast<Once *>(user);
                      if (to->times++ == 0)
                          to->run();
                      return true;
                  },
                  &once),
              OVSTAGE_OK);
    EXPECT_GT(once.times, 0);
}

void in_worker_started(uint32_t workers, const Calls &calls)
{
    struct Hook {
        std::function<void()> run;
        Event made, ended;
    } hook;
    flyrail_config_t made = small(workers);
    made.worker_started_user = &hook;
    made.worker_started = [](uint32_t index, void *user) {
        Hook *to = static_cast<Hook *>(user);
        if (index != 0)
            return;
        to->made.wait();
        to->run();
        to->ended.set();
    };
    Stage stage(made);
    Here place = here(stage);
    hook.run = [&] { calls(place); };
    hook.made.set();
    ovstage_enqueue_result_t first = task(stage, 0, nullptr, nullptr); // starts the workers
    hook.ended.wait();
    stage.finish(first);
}

const Place places[] = {
    {"on a client thread", false, false, 0, on_a_client_thread},
    {"in an ordered task", true, false, 0, in_an_ordered_task},
    {"in a task run by request", true, false, 0, in_a_task_by_request},
    {"on a lent thread", true, false, 0, on_a_lent_thread},
    {"in a deleter", true, false, 0, in_a_deleter},
    {"in a range", false, false, 0, in_a_range},
    {"in a trace writer", false, false, 0, in_a_trace_writer},
    {"in worker_started", false, true, 1, in_worker_started},
};

// --- calls --------------------------------------------------

// Pending work that the call waits for: nobody else may be there to run it.
struct Work {
    ovstage_op_id_t write = 0, seal = 0;
};

Work submit(const Here &place, uint64_t ordinal)
{
    Work made;
    ovstage_enqueue_result_t write =
        place.stage.write(place.query, place.name, ordinal, place.values);
    ovstage_enqueue_result_t seal = place.stage.seal(ordinal);
    EXPECT_EQ(write.status, OVSTAGE_OK) << last_error();
    EXPECT_EQ(seal.status, OVSTAGE_OK) << last_error();
    made.write = write.op_index;
    made.seal = seal.op_index;
    return made;
}

using Status = ovstage_api_status_t;

Status wait_op(Here &place)
{
    return ovstage_wait_op(place.stage.instance, submit(place, 1).seal, forever, nullptr);
}

Status wait_all(Here &place)
{
    Work work = submit(place, 1);
    ovstage_op_id_t ids[2] = {work.seal, work.write};
    return flyrail_wait_all(place.stage.instance, ids, 2, forever);
}

Status wait_any(Here &place)
{
    Work work = submit(place, 1);
    ovstage_op_id_t ids[2] = {work.seal, work.write};
    size_t index = 2;
    Status status = flyrail_wait_any(place.stage.instance, ids, 2, forever, &index);
    EXPECT_LT(index, 2u);
    return status;
}

Status wait_own(Here &place)
{
    return ovstage_wait_op(place.stage.instance, place.own, forever, nullptr);
}

Status wait_floor(Here &place)
{
    submit(place, 1);
    return flyrail_wait_floor(place.stage.instance, 0, 1, forever);
}

Status wait_floor_of_one(Here &place)
{
    submit(place, 1);
    return flyrail_wait_floor(place.stage.instance, place.name, 1, forever);
}

Status wait_floor_not_accepted(Here &place)
{
    return flyrail_wait_floor(place.stage.instance, 0, 9, 1000);
}

Status wait_floor_behind(Here &place)
{
    submit(place, 9);
    return flyrail_wait_floor(place.stage.instance, 0, 9, forever);
}

Status wait_room(Here &place)
{
    submit(place, 1);
    return flyrail_wait_room(place.stage.instance, op_limit - 8, 0, forever);
}

Status wait_all_room(Here &place)
{
    submit(place, 1);
    return flyrail_wait_room(place.stage.instance, op_limit, 0, forever);
}

Status fetch(Here &place)
{
    place.stage.finish(place.stage.write(place.query, place.name, 1, place.values));
    submit(place, 2);
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t result =
        ovstage_read_attributes(place.stage.instance, place.query, &place.name, 1,
                                ovstage_ordinal_range_t{0, 2, false}, &read);
    EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
    EXPECT_EQ(ovstage_release_op(place.stage.instance, result.op_index), OVSTAGE_OK);
    ovstage_read_group_t group;
    Status status = ovstage_fetch_read_next(place.stage.instance, read, forever, &group);
    if (status == OVSTAGE_OK)
        status = ovstage_release_group(place.stage.instance, &group);
    return status;
}

Status destroy_own(Here &place)
{
    Status status = ovstage_destroy_instance(place.stage.instance);
    if (status == OVSTAGE_OK)
        place.stage.instance = nullptr;
    return status;
}

Status create_and_destroy(Here &place)
{
    Stage other(config(2));
    ovstage_query_handle_t query = other.query(4);
    for (uint64_t ordinal = 1; ordinal < 9; ordinal++)
        EXPECT_EQ(other.write(query, other.token("a"), ordinal, place.values).status, OVSTAGE_OK);
    Status status = ovstage_destroy_instance(other.instance);
    if (status == OVSTAGE_OK)
        other.instance = nullptr;
    else // by the test's own thread, which is none of the pool's
        std::thread([&] { other.destroy(); }).join();
    return status;
}

Status shut_down(Here &)
{
    EXPECT_EQ(ovstage_initialize(nullptr), OVSTAGE_OK);
    return ovstage_shutdown();
}

Status flush(Here &)
{
    return ovstage_flush_log(forever);
}

Status parallel_for(Here &place)
{
    std::atomic<uint64_t> covered{0};
    Status status = flyrail_parallel_for(
        place.stage.instance, 100, 1,
        [](uint64_t begin, uint64_t end, void *user) {
            *static_cast<std::atomic<uint64_t> *>(user) += end - begin;
        },
        &covered);
    EXPECT_EQ(covered, 100u);
    return status;
}

constexpr Status OK = OVSTAGE_OK, NO = OVSTAGE_ERROR_INVALID_ARGUMENT, LATE = OVSTAGE_ERROR_TIMEOUT;

struct Call {
    const char *name;
    Status (*make)(Here &place);
    Status inside, outside, in_hook;
};

const Call calls[] = {
    {"wait_op", wait_op, OK, OK, OK},
    {"wait_all", wait_all, OK, OK, OK},
    {"wait_any", wait_any, OK, OK, OK},
    {"wait_op for the own op", wait_own, NO, OVSTAGE_ERROR_INVALID_HANDLE,
     OVSTAGE_ERROR_INVALID_HANDLE},
    {"wait_floor", wait_floor, OK, OK, OK},
    {"wait_floor of an attribute", wait_floor_of_one, OK, OK, OK},
    {"wait_floor that nobody seals", wait_floor_not_accepted, NO, LATE, LATE},
    {"wait_floor above the own op", wait_floor_behind, NO, OK, OK},
    {"wait_room", wait_room, OK, OK, OK},
    {"wait_room for all there is", wait_all_room, NO, OK, OK},
    {"fetch_read_next and release_group", fetch, OK, OK, OK},
    {"destroy_instance of another", create_and_destroy, OK, OK, NO},
    {"shutdown", shut_down, OK, OK, OK},
    {"flush_log", flush, OK, OK, OK},
    {"parallel_for", parallel_for, OK, OK, OK},
};

class Blocking : public testing::TestWithParam<uint32_t>
{
};

TEST_P(Blocking, every_call_from_every_place)
{
    for (const Place &place : places) {
        if (GetParam() < place.workers_needed)
            continue; // there is no such place
        for (const Call &call : calls) {
            std::string what = std::string(call.name) + " " + place.name;
            bounded(what, [&] {
                int made = 0;
                place.run(GetParam(), [&](Here &at) {
                    made++;
                    Status status = call.make(at);
                    Status wanted = place.inside ? call.inside : call.outside;
                    EXPECT_EQ(status, place.is_hook ? call.in_hook : wanted)
                        << what << ": " << last_error();
                    EXPECT_TRUE(status == OK || status == LATE || !last_error().empty()) << what;
                });
                EXPECT_EQ(made, 1) << what;
            });
        }
    }
}

// Only the thread whose calls are on no account of the instance may destroy it.
TEST_P(Blocking, destroying_the_own_instance)
{
    for (const Place &place : places) {
        if (GetParam() < place.workers_needed)
            continue;
        std::string what = std::string("destroy_instance ") + place.name;
        bounded(what, [&] {
            bool is_client = place.run == on_a_client_thread;
            place.run(GetParam(), [&](Here &at) {
                EXPECT_EQ(destroy_own(at), is_client ? OK : NO) << what << ": " << last_error();
            });
        });
    }
}

// A deleter of an adopted payload that goes with the instance.
TEST_P(Blocking, calls_from_a_deleter_at_the_end)
{
    bounded("calls from a deleter at the end", [&] {
        struct Context {
            ovstage_instance_t *instance = nullptr;
            std::vector<Status> seen;
            float *values = static_cast<float *>(std::aligned_alloc(64, 64));
            int64_t shape = 4;
            DLManagedTensorVersioned managed;
        } context;
        Stage stage(small(GetParam()));
        context.instance = stage.instance;
        for (int k = 0; k < 4; k++)
            context.values[k] = static_cast<float>(k);
        std::memset(&context.managed, 0, sizeof(context.managed));
        context.managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        context.managed.flags = DLPACK_FLAG_BITMASK_IS_COPIED;
        context.managed.manager_ctx = &context;
        context.managed.deleter = [](DLManagedTensorVersioned *self) {
            Context *to = static_cast<Context *>(self->manager_ctx);
            size_t index;
            ovstage_op_id_t id = 1;
            to->seen = {ovstage_wait_op(to->instance, id, forever, nullptr),
                        flyrail_wait_any(to->instance, &id, 1, forever, &index),
                        flyrail_wait_floor(to->instance, 0, 9, forever),
                        flyrail_wait_room(to->instance, op_limit, 0, forever),
                        ovstage_destroy_instance(to->instance)};
        };
        context.managed.dl_tensor.data = context.values;
        context.managed.dl_tensor.device = {kDLCPU, 0};
        context.managed.dl_tensor.ndim = 1;
        context.managed.dl_tensor.dtype = f32();
        context.managed.dl_tensor.shape = &context.shape;
        const DLManagedTensorVersioned *pointer = &context.managed;
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.managed_tensors = &pointer;
        data.tensor_count = 1;
        stage.finish(ovstage_write_attribute(stage.instance, stage.query(4),
                                             named(stage.token("a")), 1, data,
                                             OVSTAGE_PRIM_MODE_UPSERT));
        stage.finish(stage.seal(1));
        EXPECT_TRUE(context.seen.empty());
        stage.destroy();
        EXPECT_EQ(context.seen, std::vector<Status>(5, NO));
        std::free(context.values);
    });
}

// The last reference cannot be given back by a worker of the pool that would go with it.
TEST(BlockingHook, the_last_shutdown_inside_worker_started)
{
    bounded("the last shutdown inside worker_started", [] {
        struct Hook {
            Event destroyed, ended;
            std::atomic<Status> seen{OVSTAGE_ERROR_INTERNAL};
        } hook;
        ASSERT_EQ(ovstage_initialize(nullptr), OVSTAGE_OK);
        flyrail_config_t made = config(1);
        made.own_pool = false;
        made.worker_started_user = &hook;
        made.worker_started = [](uint32_t, void *user) {
            Hook *to = static_cast<Hook *>(user);
            to->destroyed.wait();
            to->seen = ovstage_shutdown();
            to->ended.set();
        };
        Stage stage(made);
        ovstage_query_handle_t query = stage.query(4);
        std::vector<float> values = ramp(4);
        stage.finish(stage.write(query, stage.token("a"), 1, values)); // run here
        stage.destroy();
        hook.destroyed.set();
        hook.ended.wait();
        EXPECT_EQ(hook.seen, NO);
        EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
    });
}

// A child of a process that used the library: every call answers at once.
TEST_P(Blocking, every_call_in_a_forked_child)
{
    Stage stage(small(GetParam()));
    Here place = here(stage);
    ovstage_enqueue_result_t result = stage.write(place.query, place.name, 1, place.values);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        size_t index;
        ovstage_op_id_t id = result.op_index;
        ovstage_read_group_t group;
        std::memset(&group, 0, sizeof(group));
        group.read_group_id = 1;
        Status seen[] = {ovstage_wait_op(stage.instance, id, forever, nullptr),
                         flyrail_wait_all(stage.instance, &id, 1, forever),
                         flyrail_wait_any(stage.instance, &id, 1, forever, &index),
                         flyrail_wait_floor(stage.instance, 0, 1, forever),
                         flyrail_wait_room(stage.instance, op_limit, 0, forever),
                         ovstage_fetch_read_next(stage.instance, 1, forever, &group),
                         ovstage_release_group(stage.instance, &group),
                         ovstage_destroy_instance(stage.instance),
                         ovstage_shutdown(),
                         ovstage_flush_log(forever)};
        int wrong = 0;
        for (size_t k = 0; k < sizeof(seen) / sizeof(seen[0]) && wrong == 0; k++)
            if (seen[k] != OVSTAGE_ERROR_NOT_SUPPORTED)
                wrong = static_cast<int>(k) + 1;
        _exit(wrong);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "it hangs";
    EXPECT_EQ(WEXITSTATUS(status), 0) << "number of the first call that answered something else";
    stage.finish(result);
}

INSTANTIATE_TEST_SUITE_P(Workers, Blocking, testing::Values(0u, 1u, 2u));

} // namespace
