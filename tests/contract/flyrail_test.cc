// The extensions: configuration, statistics, running on the caller's threads, waits, tracing;
// memory that runs out.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/client.h"

namespace
{

using namespace client;

ovstage_api_status_t counts(const flyrail_task_context_t *, void *user)
{
    ++*static_cast<std::atomic<int> *>(user);
    return OVSTAGE_OK;
}

// --- configuration -------------------------------------------------------------------------------

TEST(Config, defaults)
{
    flyrail_config_t made;
    std::memset(&made, 0xff, sizeof(made));
    made.struct_size = sizeof(made);
    ASSERT_EQ(flyrail_get_default_config(&made), OVSTAGE_OK);
    EXPECT_EQ(made.struct_size, sizeof(made));
    EXPECT_EQ(made.worker_count, FLYRAIL_WORKERS_AUTO);
    EXPECT_FALSE(made.own_pool);
    EXPECT_FALSE(made.pin_workers);
    EXPECT_FALSE(made.adopt_managed);
    EXPECT_TRUE(made.caller_runs);
    EXPECT_EQ(made.spin_ns, 50000u);
    EXPECT_EQ(made.op_limit, 1000000u);
    EXPECT_EQ(made.history_versions, 2u);
    EXPECT_EQ(made.pending_limit_bytes / 2, made.history_limit_bytes);
    EXPECT_EQ(made.history_limit_bytes / 2, made.cache_limit_bytes);
    EXPECT_GT(made.cache_limit_bytes, UINT64_C(1) << 20);
    EXPECT_EQ(made.allocator.allocate, nullptr);
    EXPECT_EQ(made.worker_started, nullptr);
}

TEST(Config, what_is_out_of_range_is_refused)
{
    EXPECT_EQ(flyrail_get_default_config(nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    flyrail_config_t good = config(1), bad = good;
    for (uint32_t size : {0u, 4u, static_cast<uint32_t>(sizeof(good)) - 8,
                          static_cast<uint32_t>(sizeof(good)) + 8}) {
        bad.struct_size = size;
        EXPECT_EQ(flyrail_get_default_config(&bad), OVSTAGE_ERROR_INVALID_ARGUMENT) << size;
        EXPECT_NE(last_error().find(std::to_string(size)), std::string::npos) << last_error();
    }
    std::vector<flyrail_config_t> bads(5, good);
    bads[0].struct_size = 8;
    bads[1].worker_count = 1025;
    bads[2].op_limit = 0;
    bads[3].allocator.allocate = [](size_t, size_t, void *) -> void * { return nullptr; };
    bads[4].allocator.release = [](void *, size_t, void *) {};
    for (const auto &one : bads) {
        ovstage_instance_t *instance = reinterpret_cast<ovstage_instance_t *>(1);
        EXPECT_EQ(flyrail_create_instance(nullptr, &one, &instance),
                  OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(instance, nullptr);
        EXPECT_NE(last_error(), "");
    }
    EXPECT_EQ(flyrail_create_instance(nullptr, &good, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST(Config, the_environment_wins)
{
    ASSERT_EQ(setenv("FLYRAIL_WORKERS", "0", 1), 0);
    {
        Stage stage(2);
        std::atomic<int> ran{0};
        ovstage_enqueue_result_t result = task(stage, 0, counts, &ran);
        stage.finish(result);
        EXPECT_EQ(ran, 1);
        EXPECT_EQ(stage.statistics().worker_count, 0u);
    }
    for (const char *wrong : {"x", "1x", "-1", "1025", "99999999999999999999", " 1"}) {
        setenv("FLYRAIL_WORKERS", wrong, 1);
        ovstage_instance_t *instance = nullptr;
        EXPECT_EQ(ovstage_create_instance(nullptr, &instance), OVSTAGE_ERROR_INVALID_ARGUMENT)
            << wrong;
        EXPECT_NE(last_error().find(wrong), std::string::npos) << last_error();
    }
    setenv("FLYRAIL_WORKERS", "", 1);
    {
        Stage stage(1);
    }
    unsetenv("FLYRAIL_WORKERS");
}

TEST(Config, worker_started_is_called_on_each_worker)
{
    static std::atomic<uint32_t> seen;
    seen = 0;
    flyrail_config_t made = config(2);
    made.worker_started = [](uint32_t index, void *user) {
        EXPECT_EQ(user, &seen);
        seen |= 1u << index;
    };
    made.worker_started_user = &seen;
    {
        Stage stage(made);
        EXPECT_EQ(seen, 0u) << "no thread before the first op";
        Gate first, second; // both workers are busy
        first.submit(stage, 1);
        second.submit(stage, 2);
        first.wait_entered();
        second.wait_entered();
    }
    EXPECT_EQ(seen, 3u);
}

TEST(Config, without_caller_runs_workers_do_all)
{
    flyrail_config_t made = config(1);
    made.caller_runs = false;
    Stage stage(made);
    ovx_token_t x = stage.token("x");
    ovstage_query_handle_t query = stage.query(4);
    std::vector<float> values = {1, 2, 3, 4};
    for (uint64_t ordinal = 1; ordinal < 50; ordinal++) {
        stage.finish(stage.write(query, x, ordinal, values));
        stage.finish(stage.seal(ordinal));
    }
    // An op is complete before it is counted.
    EXPECT_EQ(flyrail_wait_room(stage.instance, made.op_limit, 0, forever), OVSTAGE_OK);
    EXPECT_EQ(stage.statistics().ops_run_by_waiters, 0u);
    EXPECT_GE(stage.statistics().ops_run_by_workers, 98u);
}

// --- statistics ----------------------------------------------------------------------------------

TEST(Statistics, count_ops)
{
    Stage stage(0);
    flyrail_statistics_t before = stage.statistics();
    std::vector<ovstage_op_id_t> ids;
    for (int i = 0; i < 5; i++)
        ids.push_back(task(stage, 1, nullptr, nullptr).op_index);
    auto fails = [](const flyrail_task_context_t *, void *) { return OVSTAGE_ERROR_INTERNAL; };
    ids.push_back(task(stage, 1, fails, nullptr).op_index);
    flyrail_statistics_t pending = stage.statistics();
    EXPECT_EQ(pending.ops_accepted - before.ops_accepted, 6u);
    EXPECT_EQ(pending.ops_pending, 6u);
    EXPECT_EQ(pending.lanes_open, 1u);
    EXPECT_EQ(pending.ops_unreleased - before.ops_unreleased, 6u);
    EXPECT_EQ(flyrail_wait_all(stage.instance, ids.data(), ids.size(), forever), OVSTAGE_OK);
    flyrail_statistics_t after = stage.statistics();
    EXPECT_EQ(after.ops_pending, 0u);
    EXPECT_EQ(after.ops_completed - before.ops_completed, 6u);
    EXPECT_EQ(after.ops_failed - before.ops_failed, 1u);
    EXPECT_EQ(after.ops_run_by_waiters - before.ops_run_by_waiters, 6u);
    EXPECT_EQ(after.ops_unreleased - before.ops_unreleased, 6u);
    for (ovstage_op_id_t id : ids)
        EXPECT_EQ(ovstage_release_op(stage.instance, id), OVSTAGE_OK);
    EXPECT_EQ(stage.statistics().ops_unreleased, before.ops_unreleased);
    EXPECT_GT(after.heap_allocations, 0u);
    EXPECT_GT(after.op_bytes, 0u);
}

TEST(Statistics, refusals)
{
    Stage stage(0);
    EXPECT_EQ(flyrail_get_statistics(stage.instance, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    flyrail_statistics_t out;
    out.struct_size = 4;
    EXPECT_EQ(flyrail_get_statistics(stage.instance, &out), OVSTAGE_ERROR_INVALID_ARGUMENT);
    out.struct_size = sizeof(out);
    EXPECT_EQ(flyrail_get_statistics(nullptr, &out), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

// --- the caller's own threads --------------------------------------------------------------------

TEST(Running, run_without_workers)
{
    Stage stage(0);
    std::atomic<int> ran{0};
    for (uint64_t i = 0; i < 10; i++)
        task(stage, 10 - i, counts, &ran);
    uint64_t count = 99;
    EXPECT_EQ(flyrail_run(stage.instance, 3, &count), OVSTAGE_OK);
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(ran, 3);
    EXPECT_EQ(flyrail_run(stage.instance, 0, &count), OVSTAGE_OK);
    EXPECT_EQ(count, 7u);
    EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK);
    EXPECT_EQ(ran, 10);
    EXPECT_EQ(flyrail_run(nullptr, 0, &count), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(count, 0u);
}

TEST(Running, run_takes_the_lowest_ordinal_first)
{
    Stage stage(0);
    std::vector<uint64_t> order;
    struct Seen {
        std::vector<uint64_t> *order;
        uint64_t ordinal;
    };
    std::vector<Seen> seen;
    for (uint64_t ordinal : {7, 3, 9, 1, 5})
        seen.push_back({&order, ordinal});
    auto run = [](const flyrail_task_context_t *, void *user) {
        Seen *it = static_cast<Seen *>(user);
        it->order->push_back(it->ordinal);
        return OVSTAGE_OK;
    };
    for (Seen &it : seen)
        task(stage, it.ordinal, run, &it);
    EXPECT_EQ(flyrail_run(stage.instance, 0, nullptr), OVSTAGE_OK);
    EXPECT_EQ(order, (std::vector<uint64_t>{1, 3, 5, 7, 9}));
}

TEST(Running, a_lent_thread_is_a_worker)
{
    for (uint32_t workers : {0u, 1u}) {
        Stage stage(workers);
        uint32_t until = 0;
        std::thread::id lent;
        Gate occupied;
        if (workers == 1) {
            occupied.submit(stage, 0);
            occupied.wait_entered();
        }
        struct Seen {
            std::mutex mutex;
            std::condition_variable changed;
            std::thread::id thread;
            uint32_t worker_index = 0;
            bool done = false;
        } seen;
        auto run = [](const flyrail_task_context_t *context, void *user) {
            Seen *it = static_cast<Seen *>(user);
            std::lock_guard<std::mutex> lock(it->mutex);
            it->thread = std::this_thread::get_id();
            it->worker_index = context->worker_index;
            it->done = true;
            it->changed.notify_all();
            return OVSTAGE_OK;
        };
        std::thread thread([&] {
            EXPECT_EQ(flyrail_worker_run(stage.instance, &until), OVSTAGE_OK) << last_error();
        });
        lent = thread.get_id();
        ASSERT_EQ(task(stage, 3, run, &seen).status, OVSTAGE_OK);
        {
            std::unique_lock<std::mutex> lock(seen.mutex);
            seen.changed.wait(lock, [&] { return seen.done; });
        }
        EXPECT_EQ(seen.thread, lent);
        EXPECT_GE(seen.worker_index, workers);
        EXPECT_NE(seen.worker_index, UINT32_MAX);
        EXPECT_EQ(flyrail_worker_stop(stage.instance, &until), OVSTAGE_OK);
        thread.join();
        EXPECT_NE(until, 0u);
        EXPECT_EQ(flyrail_worker_run(stage.instance, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(flyrail_worker_stop(stage.instance, nullptr), OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
}

TEST(Running, a_worker_cannot_be_lent)
{
    Stage stage(1);
    static uint32_t until = 0;
    auto run = [](const flyrail_task_context_t *context, void *) {
        return flyrail_worker_run(context->instance, &until);
    };
    ovstage_op_id_t id = task(stage, 0, run, nullptr).op_index;
    ovstage_op_wait_result_t out;
    ASSERT_EQ(ovstage_wait_op(stage.instance, id, forever, &out), OVSTAGE_OK);
    ASSERT_EQ(out.error_op_id_count, 1u);
    EXPECT_NE(text(ovstage_get_last_op_error(stage.instance, id)).find("1"), std::string::npos);
}

TEST(Waiting, for_all_and_any)
{
    for (uint32_t workers : {0u, 2u}) {
        Stage stage(workers);
        std::vector<ovstage_op_id_t> ids;
        auto fails = [](const flyrail_task_context_t *, void *) { return OVSTAGE_ERROR_INTERNAL; };
        for (uint64_t i = 0; i < 20; i++)
            ids.push_back(task(stage, i % 3, i % 5 ? nullptr : +fails, nullptr).op_index);
        size_t index = 99;
        EXPECT_EQ(flyrail_wait_any(stage.instance, ids.data(), ids.size(), forever, &index),
                  OVSTAGE_OK);
        ASSERT_LT(index, ids.size());
        EXPECT_EQ(ovstage_wait_op(stage.instance, ids[index], 0, nullptr), OVSTAGE_OK);
        EXPECT_EQ(flyrail_wait_any(stage.instance, ids.data(), ids.size(), forever, nullptr),
                  OVSTAGE_OK);
        EXPECT_EQ(flyrail_wait_all(stage.instance, ids.data(), ids.size(), forever), OVSTAGE_OK);
        for (ovstage_op_id_t id : ids)
            EXPECT_EQ(ovstage_wait_op(stage.instance, id, 0, nullptr), OVSTAGE_OK);
        EXPECT_EQ(flyrail_wait_all(stage.instance, nullptr, 0, forever), OVSTAGE_OK);
        EXPECT_EQ(flyrail_wait_all(stage.instance, nullptr, 1, 0), OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(flyrail_wait_any(stage.instance, ids.data(), 0, 0, &index),
                  OVSTAGE_ERROR_INVALID_ARGUMENT);
        ids.push_back(12345);
        EXPECT_EQ(flyrail_wait_all(stage.instance, ids.data(), ids.size(), 0),
                  OVSTAGE_ERROR_INVALID_HANDLE);
        EXPECT_NE(last_error(), "");
    }
}

TEST(Waiting, for_the_one_that_is_ready)
{
    Stage stage(2);
    Gate first, second;
    first.submit(stage, 1);
    second.submit(stage, 2);
    ovstage_op_id_t ids[2] = {first.id, second.id};
    size_t index = 99;
    EXPECT_EQ(flyrail_wait_any(stage.instance, ids, 2, 0, &index), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(flyrail_wait_any(stage.instance, ids, 2, 1000, &index), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(index, 99u);
    std::thread waiter([&] {
        EXPECT_EQ(flyrail_wait_any(stage.instance, ids, 2, forever, &index), OVSTAGE_OK);
        EXPECT_EQ(index, 1u);
    });
    second.let_go();
    waiter.join();
    EXPECT_EQ(flyrail_wait_all(stage.instance, ids, 2, 0), OVSTAGE_ERROR_TIMEOUT);
    first.let_go();
    EXPECT_EQ(flyrail_wait_all(stage.instance, ids, 2, forever), OVSTAGE_OK);
}

TEST(Waiting, for_room)
{
    Stage stage(0);
    EXPECT_EQ(flyrail_wait_room(stage.instance, 0, 0, 0), OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_room(stage.instance, 1000000, 1 << 20, 0), OVSTAGE_OK);
    EXPECT_EQ(flyrail_wait_room(stage.instance, 1000001, 0, 0), OVSTAGE_ERROR_OUT_OF_RANGE);
    EXPECT_NE(last_error().find("1000000"), std::string::npos) << last_error();
    EXPECT_EQ(flyrail_wait_room(nullptr, 1, 1, 0), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

// --- every function refuses what is no instance --------------------------------------------------

TEST(BadInput, no_instance)
{
    const auto refused = OVSTAGE_ERROR_INVALID_ARGUMENT;
    ovstage_instance_t *destroyed = nullptr;
    ASSERT_EQ(ovstage_create_instance(nullptr, &destroyed), OVSTAGE_OK);
    ASSERT_EQ(ovstage_destroy_instance(destroyed), OVSTAGE_OK);
    flyrail_task_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.struct_size = sizeof(desc);
    ovstage_op_id_t id = 1;
    uint32_t until = 0;
    flyrail_statistics_t statistics;
    statistics.struct_size = sizeof(statistics);
    auto write = [](const char *, size_t, void *) { return true; };
    auto body = [](uint64_t, uint64_t, void *) {};
    for (ovstage_instance_t *wrong : {static_cast<ovstage_instance_t *>(nullptr), destroyed}) {
        EXPECT_EQ(flyrail_submit_task(wrong, &desc).status, refused);
        EXPECT_EQ(flyrail_parallel_for(wrong, 1, 1, body, nullptr), refused);
        EXPECT_EQ(flyrail_run(wrong, 1, nullptr), refused);
        EXPECT_EQ(flyrail_worker_run(wrong, &until), refused);
        EXPECT_EQ(flyrail_worker_stop(wrong, &until), refused);
        EXPECT_EQ(flyrail_wait_floor(wrong, 0, 1, 0), refused);
        EXPECT_EQ(flyrail_wait_room(wrong, 1, 1, 0), refused);
        EXPECT_EQ(flyrail_wait_all(wrong, &id, 1, 0), refused);
        EXPECT_EQ(flyrail_wait_any(wrong, &id, 1, 0, nullptr), refused);
        EXPECT_EQ(flyrail_get_statistics(wrong, &statistics), refused);
        EXPECT_EQ(flyrail_trace_start(wrong, 0), refused);
        EXPECT_EQ(flyrail_trace_stop(wrong), refused);
        EXPECT_EQ(flyrail_trace_span(wrong, "x", 0, 0, 0), refused);
        EXPECT_EQ(flyrail_trace_write(wrong, FLYRAIL_TRACE_SVG, write, nullptr), refused);
        EXPECT_NE(last_error(), "");
    }
}

TEST(Statistics, count_what_is_there)
{
    Stage stage;
    ovx_token_t a = stage.token("a"), b = stage.token("b");
    auto remove = [&stage](ovstage_query_handle_t query, const std::vector<ovx_token_t> &tokens,
                           uint64_t ordinal) {
        std::vector<ovx_string_or_token_t> names;
        for (ovx_token_t token : tokens)
            names.push_back(ovx_string_or_token_t{token, {}});
        return ovstage_delete_attributes(stage.instance, query, names.data(), names.size(),
                                         ordinal);
    };
    auto counts = [&stage] {
        flyrail_statistics_t out = stage.statistics();
        return std::pair<uint64_t, uint64_t>(out.prims, out.keys);
    };
    using Counts = std::pair<uint64_t, uint64_t>;
    ovstage_query_handle_t x = stage.query({"/x"}), all = stage.query({"/x", "/y", "/z"});
    stage.finish(stage.write(all, a, 1, {1, 2, 3}));
    stage.finish(stage.write(x, b, 1, {4}));
    EXPECT_EQ(counts(), Counts(3, 0)); // keys are those that are sealed
    stage.finish(stage.seal(1));
    EXPECT_EQ(counts(), Counts(3, 4));
    stage.finish(remove(all, {a}, 2));
    EXPECT_EQ(counts(), Counts(3, 4)); // as are deletes
    stage.finish(stage.seal(2));
    EXPECT_EQ(counts(), Counts(1, 1)); // x has b
    stage.finish(remove(x, {}, 3));
    stage.finish(remove(all, {a}, 3)); // nothing there
    stage.finish(stage.seal(3));
    EXPECT_EQ(counts(), Counts(0, 0));
    stage.finish(stage.write(x, a, 4, {5}));
    stage.finish(remove(x, {a}, 5));
    stage.finish(stage.write(all, a, 6, {6, 7, 8}));
    stage.finish(remove(stage.query({"/y"}), {}, 7));
    stage.finish(stage.seal(7)); // all at once
    EXPECT_EQ(counts(), Counts(2, 2));
}

} // namespace
