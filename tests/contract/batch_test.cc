// Batches: R111 to R113, D19, D26, one test a rule.
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "tests/support/write_fixtures.h"

using namespace client;

namespace
{

using Values = std::vector<float>;

class BatchTest : public BatchFixture
{
};

TEST_F(BatchTest, R111_R112_a_batch_is_one_op)
{
    Payload first(one, 3), second(two, 3);
    auto op = batch({{named(a), first.data}, {named(b), second.data}}, 1);
    stage.finish(op);
    stage.finish(stage.seal(1));
    EXPECT_EQ(at(a, 1), one);
    EXPECT_EQ(at(b, 1), two);
    auto single = batch({{named(a), second.data}}, 2);
    EXPECT_GT(single.op_index, op.op_index);
    stage.finish(single);
}

TEST_F(BatchTest, R112_a_batch_is_checked_whole_before_anything_is_queued)
{
    Payload good(one, 3), bad(two, 3);
    bad.data.count = 9;
    std::string why = refused(batch({{named(a), good.data}, {named(b), bad.data}}, 1),
                              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(why.find("entry 1"), std::string::npos) << why;
    stage.finish(stage.seal(1));
    EXPECT_TRUE(at(a, 1).empty());
    EXPECT_EQ(stage.floor(), 1u);
}

TEST_F(BatchTest, R112_D26_distinct_names)
{
    Payload data(one, 3);
    std::string why = refused(batch({{named(a), data.data}, {named(a), data.data}}, 1),
                              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(why.find("'a'"), std::string::npos) << why;
    ovx_string_or_token_t by_text = {0, literal_to_ovx_string("a")};
    refused(batch({{named(a), data.data}, {by_text, data.data}}, 1),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
}

TEST_F(BatchTest, D19_one_column_under_two_names)
{
    ovx_token_t xform = stage.token("omni:xform");
    ovx_token_t local = stage.token("omni:fabric:localMatrix");
    Payload matrix(std::vector<double>(48, 1.5), f64(16), {3});
    matrix.data.semantic = OVSTAGE_SEMANTIC_MATRIX;
    refused(batch({{named(xform), matrix.data}, {named(local), matrix.data}}, 1),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(write(stage, query, xform, 1, matrix.data));
    stage.finish(stage.seal(2, OVSTAGE_SCOPE_INCLUDE, {local}));
    refused(write(stage, query, xform, 2, matrix.data), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    for (ovx_token_t name : {xform, local}) {
        Snapshot snapshot(stage, query, {name}, 2);
        ASSERT_EQ(snapshot.groups.size(), 1u);
        EXPECT_EQ(snapshot.groups[0].attribute, name);
        EXPECT_EQ(snapshot.groups[0].data.count, 3u);
    }
}

TEST_F(BatchTest, R112_entries_before_a_failure_stay)
{
    Gate gate;
    auto held = gate.submit(stage, 1);
    auto before = stage.write(query, b, 1, one);
    Payload first(two, 3), wrong(ramp(6), 3, 2), third(three, 3);
    ovx_token_t c = stage.token("c");
    auto late = batch({{named(a), first.data}, {named(b), wrong.data}, {named(c), third.data}}, 2);
    gate.let_go();
    failed(stage, late);
    stage.finish(held);
    stage.finish(before);
    stage.finish(stage.seal(2));
    EXPECT_EQ(at(a, 2), two);
    EXPECT_EQ(at(b, 2), one);
    EXPECT_TRUE(at(c, 2).empty());
}

TEST_F(BatchTest, R112_absent_prims_are_made_once_for_the_batch)
{
    Payload first(one, 3), second(two, 3);
    stage.finish(
        batch({{named(a), first.data}, {named(b), second.data}}, 1, OVSTAGE_PRIM_MODE_INSERT));
    refused(batch({{named(a), first.data}}, 2, OVSTAGE_PRIM_MODE_INSERT),
            OVSTAGE_ERROR_PRIM_NOT_FOUND);
}

TEST_F(BatchTest, R113_managed_pointers_over_all_entries)
{
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed = Managed::make(one, 1, 0, record);
    const DLManagedTensorVersioned *none = nullptr;
    Payload data(one, 3);
    data.data.tensors = nullptr;
    data.data.managed_tensors = &managed;
    std::string why = refused(batch({{named(a), data.data}, {named(b), data.data}}, 1),
                              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(why.find("more than once"), std::string::npos) << why;
    EXPECT_EQ(record->deleted, 1);
    auto other = std::make_shared<Managed::Record>();
    managed = Managed::make(one, 1, 0, other);
    ovstage_write_data_t with_null = data.data;
    with_null.managed_tensors = &none;
    refused(batch({{named(a), data.data}, {named(b), with_null}}, 1),
            OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(other->deleted, 1);
}

TEST_F(BatchTest, R113_many_managed_pointers)
{
    // More than are looked at on the stack: each once, the repeated one too.
    std::vector<std::shared_ptr<Managed::Record>> records;
    std::vector<const DLManagedTensorVersioned *> pointers;
    for (int i = 0; i < 100; i++) {
        records.push_back(std::make_shared<Managed::Record>());
        pointers.push_back(Managed::make(one, 1, 0, records.back()));
    }
    pointers.push_back(pointers[17]);
    Payload data(one, 3);
    data.data.tensors = nullptr;
    data.data.managed_tensors = pointers.data();
    data.data.tensor_count = static_cast<uint32_t>(pointers.size());
    refused(write(stage, query, a, 1, data.data), OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (const auto &record : records)
        EXPECT_EQ(record->deleted, 1);
}

TEST_F(BatchTest, a_large_batch)
{
    std::vector<std::unique_ptr<Payload>> payloads;
    std::vector<ovstage_attribute_write_t> writes;
    uint32_t turned[3] = {2, 1, 0};
    for (int i = 0; i < 300; i++) {
        payloads.push_back(std::make_unique<Payload>(ramp(3, static_cast<float>(i)), 3));
        payloads.back()->data.index_map = turned;
        payloads.back()->data.count = 3;
        writes.push_back(
            {named(stage.token("column " + std::to_string(i))), payloads.back()->data});
    }
    stage.finish(batch(writes, 1));
    stage.finish(stage.seal(1));
    EXPECT_EQ(at(stage.token("column 299"), 1), (Values{301, 300, 299}));
    EXPECT_EQ(at(stage.token("column 0"), 1), (Values{2, 1, 0}));
}

// Where on its thread's stack each payload was asked for.
struct Depths {
    // Cut into chunks, which may be finished by others.
    static constexpr size_t rows = 600, lanes = 255, floats = rows * lanes;

    std::mutex mutex;
    std::map<std::thread::id, std::pair<uintptr_t, uintptr_t>> ranges;
    size_t payloads = 0;

    static void *allocate(size_t size, size_t alignment, void *user)
    {
        if (size == floats * sizeof(float))
            static_cast<Depths *>(user)->note(
                reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
        void *memory = nullptr;
        return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
    }
    static void release(void *memory, size_t, void *)
    {
        free(memory);
    }
    void note(uintptr_t frame)
    {
        std::lock_guard<std::mutex> lock(mutex);
        payloads++;
        auto &range =
            ranges.emplace(std::this_thread::get_id(), std::make_pair(frame, frame)).first->second;
        range.first = std::min(range.first, frame);
        range.second = std::max(range.second, frame);
    }
};

TEST(Batch, large_entries_do_not_pile_up_on_the_stack)
{
    Depths depths;
    flyrail_config_t made = config(1);
    made.allocator = {Depths::allocate, Depths::release, &depths};
    {
        Stage stage(made);
        const size_t entries = 96;
        ovstage_query_handle_t query = stage.query(Depths::rows);
        Payload payload(ramp(Depths::floats), f32(Depths::lanes), {Depths::rows});
        std::vector<ovstage_attribute_write_t> writes;
        for (size_t i = 0; i < entries; i++)
            writes.push_back({named(stage.token("large " + std::to_string(i))), payload.data});
        stage.finish(ovstage_write_attributes(stage.instance, query, writes.data(), writes.size(),
                                              1, OVSTAGE_PRIM_MODE_UPSERT));
        EXPECT_GE(depths.payloads, entries);
        for (const auto &[thread, range] : depths.ranges)
            EXPECT_LT(range.second - range.first, 8192u);
        stage.finish(stage.seal(1));
        Snapshot snapshot(stage, query, {stage.token("large 95")}, 1);
        EXPECT_EQ(snapshot.status, OVSTAGE_OK);
        EXPECT_EQ(snapshot.groups.size(), 1u);
    }
}

} // namespace
