// Tasks and parallel ranges: the client's own work in the graph.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/client.h"

namespace
{

using namespace client;

struct Task : testing::TestWithParam<uint32_t> {
    Task() : stage(GetParam())
    {
    }
    Stage stage;
};

INSTANTIATE_TEST_SUITE_P(Workers, Task, testing::Values(0u, 1u, 2u));

// What ran, in order.
struct Diary {
    std::mutex mutex;
    std::vector<int> entries;
};

struct Entry {
    Diary *diary;
    int number;
};

ovstage_api_status_t writes_diary(const flyrail_task_context_t *, void *user)
{
    const Entry *entry = static_cast<Entry *>(user);
    std::lock_guard<std::mutex> lock(entry->diary->mutex);
    entry->diary->entries.push_back(entry->number);
    return OVSTAGE_OK;
}

TEST_P(Task, the_context)
{
    struct Seen {
        flyrail_task_context_t context;
    } seen;
    auto run = [](const flyrail_task_context_t *context, void *user) {
        static_cast<Seen *>(user)->context = *context;
        return OVSTAGE_OK;
    };
    ovstage_enqueue_result_t result = task(stage, 0, run, &seen);
    ovstage_op_id_t id = result.op_index;
    stage.finish(result);
    EXPECT_EQ(seen.context.struct_size, sizeof(flyrail_task_context_t));
    EXPECT_EQ(seen.context.instance, stage.instance);
    EXPECT_EQ(seen.context.op_id, id);
    EXPECT_EQ(seen.context.device.device_type, kDLCPU);
    EXPECT_EQ(seen.context.stream, 0u);
    if (GetParam() == 0) {
        EXPECT_EQ(seen.context.worker_index, UINT32_MAX);
    } else {
        EXPECT_LT(seen.context.worker_index, GetParam());
    }
}

TEST_P(Task, ordered_ones_run_in_the_order_of_their_acceptance)
{
    Diary diary;
    std::vector<Entry> entries;
    for (int i = 0; i < 100; i++)
        entries.push_back({&diary, i});
    for (Entry &entry : entries)
        ASSERT_EQ(task(stage, 5, writes_diary, &entry).status, OVSTAGE_OK);
    stage.finish(stage.seal(5));
    ASSERT_EQ(diary.entries.size(), 100u);
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(diary.entries[static_cast<size_t>(i)], i);
}

TEST_P(Task, deps_come_first)
{
    Diary diary;
    // A diamond, submitted from its end would be impossible: deps are ops that were accepted
    // before.
    Entry entries[4] = {{&diary, 0}, {&diary, 1}, {&diary, 2}, {&diary, 3}};
    ovstage_op_id_t top = task(stage, 9, writes_diary, &entries[0]).op_index;
    ovstage_op_id_t left = task(stage, 3, writes_diary, &entries[1], {top}).op_index;
    ovstage_op_id_t right = task(stage, 0, writes_diary, &entries[2], {top, top}).op_index;
    stage.finish(task(stage, 1, writes_diary, &entries[3], {left, right}));
    ASSERT_EQ(diary.entries.size(), 4u);
    EXPECT_EQ(diary.entries.front(), 0);
    EXPECT_EQ(diary.entries.back(), 3);
}

TEST_P(Task, deps_of_every_kind)
{
    ovx_token_t x = stage.token("x");
    ovstage_query_handle_t query = stage.query(2);
    std::vector<float> values = {1, 2};
    std::vector<ovstage_op_id_t> deps = {stage.write(query, x, 1, values).op_index,
                                         stage.seal(1).op_index};
    deps.push_back(ovstage_release_query(stage.instance, query).op_index);
    stage.finish(task(stage, 0, nullptr, nullptr, deps));
    EXPECT_EQ(stage.floor(), 1u);
}

TEST_P(Task, a_joint_ties_writes_to_free_tasks)
{
    // The payload is filled by a free task; the ordered empty task lets the write at that ordinal
    // wait for it.
    ovx_token_t x = stage.token("x");
    ovstage_query_handle_t query = stage.query(3);
    std::vector<float> values = {0, 0, 0};
    auto fill = [](const flyrail_task_context_t *, void *user) {
        std::vector<float> *out = static_cast<std::vector<float> *>(user);
        *out = {1, 2, 3};
        return OVSTAGE_OK;
    };
    ovstage_op_id_t filled = task(stage, 0, fill, &values).op_index;
    ASSERT_EQ(task(stage, 4, nullptr, nullptr, {filled}).status, OVSTAGE_OK);
    ovstage_enqueue_result_t write = stage.write(query, x, 4, values);
    ovstage_enqueue_result_t seal = stage.seal(4);
    stage.finish(seal);
    stage.finish(write);
    EXPECT_EQ(stage.read(query, x, 4), (std::vector<float>{1, 2, 3}));
    stage.finish(ovstage_release_query(stage.instance, query));
}

TEST_P(Task, what_it_submits_is_accepted_then)
{
    struct Nested {
        const Stage *stage;
        ovstage_api_status_t late, early;
    } nested = {&stage, OVSTAGE_OK, OVSTAGE_OK};
    auto run = [](const flyrail_task_context_t *, void *user) {
        Nested *it = static_cast<Nested *>(user);
        it->late = task(*it->stage, 4, nullptr, nullptr).status;
        it->early = task(*it->stage, 6, nullptr, nullptr).status;
        return OVSTAGE_OK;
    };
    ovstage_enqueue_result_t submitted = task(stage, 0, run, &nested);
    if (GetParam() != 0) // it may run at once then
        stage.finish(submitted);
    ovstage_enqueue_result_t seal = stage.seal(5);
    if (GetParam() == 0)
        stage.finish(submitted);
    stage.finish(seal);
    EXPECT_EQ(nested.early, OVSTAGE_OK);
    EXPECT_EQ(nested.late, GetParam() == 0 ? OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION : OVSTAGE_OK);
}

TEST_P(Task, refusals)
{
    EXPECT_EQ(flyrail_submit_task(stage.instance, nullptr).status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(task(stage, 0, nullptr, nullptr, {ovstage_op_id_t{0}}).status,
              OVSTAGE_ERROR_INVALID_HANDLE);
    ovstage_enqueue_result_t done = task(stage, 0, nullptr, nullptr);
    stage.finish(done); // released
    EXPECT_EQ(task(stage, 0, nullptr, nullptr, {done.op_index}).status,
              OVSTAGE_ERROR_INVALID_HANDLE);
    EXPECT_NE(last_error().find("deps[0]"), std::string::npos) << last_error();
    Stage other(0);
    ovstage_op_id_t foreign = task(other, 0, nullptr, nullptr).op_index;
    EXPECT_EQ(task(stage, 0, nullptr, nullptr, {foreign}).status, OVSTAGE_ERROR_INVALID_HANDLE);
    flyrail_task_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    EXPECT_EQ(flyrail_submit_task(stage.instance, &desc).status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("struct_size"), std::string::npos) << last_error();
    desc.struct_size = sizeof(desc);
    desc.dep_count = 1;
    ovstage_enqueue_result_t result = flyrail_submit_task(stage.instance, &desc);
    EXPECT_EQ(result.status, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(result.op_index, 0u);
}

TEST_P(Task, independent_ones_run_as_often_as_submitted)
{
    std::atomic<int> ran{0};
    auto run = [](const flyrail_task_context_t *, void *user) {
        ++*static_cast<std::atomic<int> *>(user);
        return OVSTAGE_OK;
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            std::vector<ovstage_op_id_t> ids;
            for (uint64_t i = 0; i < 300; i++)
                ids.push_back(task(stage, i % 4 == t ? i + 1 : 0, run, &ran).op_index);
            EXPECT_EQ(flyrail_wait_all(stage.instance, ids.data(), ids.size(), forever),
                      OVSTAGE_OK);
            for (ovstage_op_id_t id : ids)
                EXPECT_EQ(ovstage_release_op(stage.instance, id), OVSTAGE_OK);
        });
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(ran, 900);
}

// --- flyrail_parallel_for ------------------------------------------------------------------------

struct Range {
    std::vector<std::atomic<int>> touched;
    uint64_t grain;
    std::atomic<int> others{0}; // pieces that have another length
    explicit Range(size_t count, uint64_t pieces = 0) : touched(count), grain(pieces)
    {
    }
};

void touch(uint64_t begin, uint64_t end, void *user)
{
    Range *range = static_cast<Range *>(user);
    uint64_t left = range->touched.size() - begin;
    if (range->grain != 0 && end - begin != std::min(left, range->grain))
        ++range->others;
    for (uint64_t i = begin; i < end; i++)
        ++range->touched[i];
}

TEST_P(Task, a_parallel_range_is_covered_once)
{
    for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{7}, size_t{1000}, size_t{4097}})
        for (uint64_t grain : {UINT64_C(0), UINT64_C(1), UINT64_C(10), UINT64_C(5000)}) {
            Range range(count, grain);
            ASSERT_EQ(flyrail_parallel_for(stage.instance, count, grain, touch, &range),
                      OVSTAGE_OK);
            EXPECT_EQ(range.others, 0) << count << " " << grain;
            for (size_t i = 0; i < count; i++)
                ASSERT_EQ(range.touched[i], 1) << count << " " << grain << " " << i;
        }
    EXPECT_EQ(flyrail_parallel_for(stage.instance, 5, 1, nullptr, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_P(Task, parallel_ranges_inside_tasks)
{
    struct Nested {
        const Stage *stage;
        Range range{500};
    } nested;
    nested.stage = &stage;
    auto run = [](const flyrail_task_context_t *context, void *user) {
        return flyrail_parallel_for(context->instance, 500, 7, touch,
                                    &static_cast<Nested *>(user)->range);
    };
    std::vector<ovstage_enqueue_result_t> tasks;
    for (int i = 0; i < 4; i++)
        tasks.push_back(task(stage, 0, run, &nested));
    for (const auto &one : tasks)
        stage.finish(one);
    for (auto &count : nested.range.touched)
        EXPECT_EQ(count, 4);
}

TEST(TaskRange, from_many_threads_while_the_workers_are_busy)
{
    Stage stage(1);
    Gate gate;
    gate.submit(stage, 0);
    gate.wait_entered();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; i++) {
                Range range(100);
                ASSERT_EQ(flyrail_parallel_for(stage.instance, 100, 5, touch, &range), OVSTAGE_OK);
                for (auto &count : range.touched)
                    ASSERT_EQ(count, 1);
            }
        });
    for (auto &thread : threads)
        thread.join();
    gate.let_go(); // the invitations are still in the pool: destroy waits for them
}

} // namespace
