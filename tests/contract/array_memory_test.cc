// Array columns and memory: every allocation fails once, payloads are counted and bounded, and what
// nobody can read any more is given back.
#include "tests/support/arrays.h"
#include "tests/support/heap.h"

using namespace client;

namespace
{

using Floats = std::map<uint32_t, std::vector<float>>;
constexpr uint32_t prims = 24;

flyrail_config_t config_of(fr_test_heap *heap)
{
    const fr_allocator *allocator = fr_test_heap_allocator(heap);
    flyrail_config_t made = config(0);
    made.allocator.allocate = allocator->allocate;
    made.allocator.release = allocator->release;
    made.allocator.user = allocator->user;
    return made;
}

// Writes of all kinds, seals and reads. What fails for want of memory must have changed nothing.
class Program
{
  public:
    explicit Program(const flyrail_config_t &made) : stage(made)
    {
        attribute = stage.token("points");
        for (uint32_t p = 0; p < prims; p++)
            paths.push_back("/P/" + std::to_string(p));
        all = stage.query(paths);
        some = stage.query({paths[3], paths[4], paths[21], paths[3]});
        one = stage.query({paths[7]});
        others = stage.query({"/Q/0", paths[5], "/Q/1"});
    }
    void run(bool managed)
    {
        std::vector<std::unique_ptr<Snapshot>> held;
        for (uint64_t ordinal = 1; ordinal < 7; ordinal++) {
            write(all, first_paths(prims), ordinal, managed, ordinal % 3 == 1);
            write(some, {3, 4, 21, 3}, ordinal, managed, true);
            write(one, {7}, ordinal, managed, true);
            write(one, {7}, ordinal, managed, true);
            write(others, {100, 5, 101}, ordinal, managed, true);
            seal(ordinal);
            check(ordinal);
            if (ordinal % 2 == 1)
                hold(ordinal);
        }
        for (auto &[snapshot, wanted] : kept)
            for (const auto &group : snapshot->groups)
                EXPECT_EQ(array_rows<float>(group), wanted);
        kept.clear();
    }

    Stage stage;
    fr_test_heap *heap = nullptr;
    int failures = 0;
    std::vector<std::shared_ptr<Managed::Record>> records;

  private:
    ovx_token_t attribute;
    std::vector<std::string> paths;
    ovstage_query_handle_t all, some, one, others;
    std::map<uint32_t, std::vector<float>> values; // by prim; 100 and 101 are the others
    std::vector<std::pair<std::unique_ptr<Snapshot>, Floats>> kept;
    float next = 1;

    static std::vector<uint32_t> first_paths(uint32_t count)
    {
        std::vector<uint32_t> out(count);
        for (uint32_t p = 0; p < count; p++)
            out[p] = p;
        return out;
    }
    bool failed(ovstage_api_status_t status)
    {
        if (status == OVSTAGE_OK)
            return false;
        failures++;
        EXPECT_EQ(status, OVSTAGE_ERROR_OUT_OF_MEMORY) << last_error();
        return true;
    }
    // True when the op was accepted and did not fail.
    bool done(ovstage_enqueue_result_t result)
    {
        if (failed(result.status))
            return false;
        ovstage_op_wait_result_t outcome{};
        EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &outcome), OVSTAGE_OK);
        EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
        failures += outcome.error_op_id_count > 0;
        return outcome.error_op_id_count == 0;
    }
    void write(ovstage_query_handle_t query, const std::vector<uint32_t> &on, uint64_t ordinal,
               bool managed, bool whole)
    {
        Rows<float> rows(on.size());
        for (size_t r = 0; r < rows.size(); r++)
            rows[r].assign((r + ordinal) % 4, next++);
        RowPayload<float> payload(rows, f32());
        std::vector<const DLManagedTensorVersioned *> tensors;
        if (managed) {
            for (const auto &row : rows) {
                records.push_back(std::make_shared<Managed::Record>());
                tensors.push_back(
                    Managed::make(row, 1, DLPACK_FLAG_BITMASK_IS_COPIED, records.back()));
            }
            payload.data.tensors = nullptr;
            payload.data.managed_tensors = tensors.data();
        }
        uint64_t mask = 0x333333;
        payload.data.count = whole ? 0 : static_cast<uint32_t>(rows.size());
        payload.data.mask = whole ? nullptr : &mask;
        if (!done(client::write(stage, query, attribute, ordinal, payload.data)))
            return;
        for (size_t r = 0; r < rows.size(); r++)
            if (whole || (mask >> r & 1) != 0)
                values[on[r]] = rows[r];
    }
    void seal(uint64_t ordinal)
    {
        while (!done(stage.seal(ordinal)))
            fr_test_heap_fail(heap, 0, 0);
    }
    Floats wanted() const
    {
        Floats out;
        for (const auto &[prim, row] : values)
            if (prim < prims)
                out[prim] = row;
        return out;
    }
    void check(uint64_t ordinal)
    {
        Snapshot snapshot(stage, all, {attribute}, ordinal);
        if (failed(snapshot.status))
            return;
        Floats seen;
        for (const auto &group : snapshot.groups)
            seen = array_rows<float>(group);
        EXPECT_EQ(seen, wanted()) << "at " << ordinal;
    }
    void hold(uint64_t ordinal)
    {
        auto made =
            std::make_unique<Snapshot>(stage, all, std::vector<ovx_token_t>{attribute}, ordinal);
        if (!failed(made->status))
            kept.emplace_back(std::move(made), wanted());
    }
};

// False: the program asked for fewer allocations.
bool run_with_failure(uint64_t k, bool ever, bool managed)
{
    fr_test_heap *heap = fr_test_heap_create();
    bool reached;
    {
        Program program(config_of(heap));
        program.heap = heap;
        fr_test_heap_fail(heap, k, ever);
        program.run(managed);
        reached = program.failures > 0 || fr_test_heap_calls(heap) >= k;
        fr_test_heap_fail(heap, 0, 0);
        program.stage.destroy();
        for (const auto &record : program.records)
            EXPECT_EQ(record->deleted, 1) << "allocation " << k;
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u) << "allocation " << k;
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u) << "allocation " << k;
    return reached;
}

TEST(ArrayMemory, every_allocation_fails_once)
{
    uint64_t k = 1;
    for (; run_with_failure(k, false, false); k++)
        ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
    EXPECT_GT(k, 50u);
}

TEST(ArrayMemory, every_allocation_fails_once_with_adopted_tensors)
{
    uint64_t k = 1;
    for (; run_with_failure(k, false, true); k++)
        ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
    EXPECT_GT(k, 50u);
}

TEST(ArrayMemory, all_allocations_fail_from_one_on)
{
    uint64_t k = 1;
    for (; run_with_failure(k, true, k % 2 == 0); k++)
        ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
    EXPECT_GT(k, 50u);
}

/* --- figures ---------------------------------------------------------------------------------- */

class ArrayFigures : public ::testing::Test
{
  protected:
    flyrail_config_t made = config(0);
    std::unique_ptr<Stage> stage;
    ovx_token_t attribute = 0;

    void open()
    {
        stage = std::make_unique<Stage>(made);
        attribute = stage->token("points");
    }
    // Rows of so many elements each, packed.
    ovstage_enqueue_result_t put(ovstage_query_handle_t query, uint64_t ordinal, size_t rows,
                                 size_t each, float value)
    {
        std::vector<float> values(rows * each, value);
        Payload payload(values, f32(), {static_cast<int64_t>(values.size())});
        payload.data.is_array = true;
        ovstage_enqueue_result_t result = write(*stage, query, attribute, ordinal, payload.data);
        if (result.status == OVSTAGE_OK)
            stage->finish(result);
        return result;
    }
    ovstage_query_handle_t part(uint32_t first, uint32_t end)
    {
        std::vector<std::string> paths;
        for (uint32_t p = first; p < end; p++)
            paths.push_back("/P/" + std::to_string(p));
        return stage->query(paths);
    }
    Floats at(ovstage_query_handle_t query, uint64_t ordinal)
    {
        Snapshot snapshot(*stage, query, {attribute}, ordinal);
        EXPECT_EQ(snapshot.groups.size(), 1u);
        return snapshot.groups.empty() ? Floats() : array_rows<float>(snapshot.groups[0]);
    }
};

TEST_F(ArrayFigures, D25_elements_are_pending_until_they_are_sealed)
{
    open();
    ovstage_query_handle_t query = stage->query(10);
    const uint64_t payload_bytes = 10 * 1000 * sizeof(float);
    for (uint64_t ordinal = 1; ordinal < 3; ordinal++) { // before keys have a place, and after
        put(query, ordinal, 10, 1000, 1);
        uint64_t once = stage->statistics().pending_bytes;
        EXPECT_GE(once, payload_bytes);
        EXPECT_LE(once, 2 * payload_bytes);
        for (uint32_t again = 0; again < 20; again++)
            put(query, ordinal, 10, 1000, 2);
        EXPECT_LE(stage->statistics().pending_bytes, 2 * payload_bytes);
        put(part(0, 10), ordinal, 10, 0, 0);
        EXPECT_LE(stage->statistics().pending_bytes, payload_bytes / 10);
        put(query, ordinal, 10, 1000, 3);
        put(query, ordinal + 5, 10, 500, 4);
        stage->finish(stage->seal(ordinal));
        uint64_t left = stage->statistics().pending_bytes;
        EXPECT_GE(left, payload_bytes / 2);
        EXPECT_LE(left, payload_bytes);
        stage->finish(stage->seal(ordinal + 5));
        EXPECT_EQ(stage->statistics().pending_bytes, 0u);
        for (uint64_t later = ordinal + 6; later < ordinal + 12;
             later++) { // what was sealed is freed
            put(query, later, 10, 1000, 5);
            EXPECT_GE(stage->statistics().pending_bytes, payload_bytes);
            stage->finish(stage->seal(later));
            EXPECT_EQ(stage->statistics().pending_bytes, 0u);
        }
        open();
        query = stage->query(10);
        put(query, 1, 10, 1, 1);
        stage->finish(stage->seal(1));
    }
}

// The most that is pending whenever the library asks for memory.
class PendingWatch
{
  public:
    flyrail_allocator_t allocator()
    {
        return {allocate, release, this};
    }
    const Stage *stage = nullptr; // NULL: not watched
    uint64_t most = 0;

  private:
    static void *allocate(size_t size, size_t alignment, void *user)
    {
        auto *self = static_cast<PendingWatch *>(user);
        if (self->stage)
            self->most = std::max(self->most, self->stage->statistics().pending_bytes);
        return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    static void release(void *memory, size_t, void *)
    {
        std::free(memory);
    }
};

// How many rows a packed payload has may not be known before the write runs.
TEST_F(ArrayFigures, D25_rows_over_a_pending_query_are_in_flight_too)
{
    PendingWatch watch;
    made.allocator = watch.allocator();
    open();
    const size_t rows = 1000, slice_bytes = 24;
    stage->finish(stage->write(stage->query(rows), stage->token("x"), 1, ramp(rows)));
    const ovstage_predicate_t has{named(stage->token("x")), OVSTAGE_FILTER_OP_HAS, nullptr, 0};
    const ovstage_filter_t filter{&has, 1};
    ovstage_query_handle_t query = 0;
    ovstage_enqueue_result_t asked = ovstage_query(stage->instance, &filter, nullptr, 0, &query);
    const uint64_t before = stage->statistics().pending_bytes;
    std::vector<float> values(rows, 1);
    Payload payload(values, f32(), {static_cast<int64_t>(rows)});
    payload.data.is_array = true;
    ovstage_enqueue_result_t written = write(*stage, query, attribute, 1, payload.data);
    EXPECT_GE(stage->statistics().pending_bytes, before + rows * sizeof(float));
    stage->finish(asked);
    EXPECT_LE(stage->statistics().pending_bytes, before + rows * sizeof(float) + slice_bytes);
    watch.stage = stage.get();
    stage->finish(written);
    watch.stage = nullptr;
    EXPECT_GE(watch.most, before + rows * (sizeof(float) + slice_bytes));
    stage->finish(stage->seal(1));
    EXPECT_EQ(stage->statistics().pending_bytes, 0u);
    EXPECT_EQ(at(query, 1).size(), rows);
    stage.reset();
}

TEST_F(ArrayFigures, D25_too_many_elements_are_refused_until_a_seal)
{
    made.pending_limit_bytes = 1 << 20;
    open();
    ovstage_query_handle_t query = stage->query(4);
    uint64_t ordinal = 1;
    while (put(query, ordinal, 4, 25000, 1).status == OVSTAGE_OK)
        ASSERT_LT(++ordinal, 10u);
    EXPECT_GE(ordinal, 2u);
    EXPECT_EQ(put(query, ordinal, 4, 25000, 1).status, OVSTAGE_ERROR_QUEUE_FULL);
    stage->finish(stage->seal(ordinal));
    EXPECT_EQ(put(query, ordinal + 1, 4, 25000, 1).status, OVSTAGE_OK);
}

TEST_F(ArrayFigures, L6_history_of_elements_is_bounded)
{
    made.history_versions = 1000;
    made.history_limit_bytes = 1 << 20;
    open();
    ovstage_query_handle_t query = stage->query(100), few = part(0, 10);
    uint64_t most = 0;
    for (uint64_t ordinal = 1; ordinal <= 60; ordinal++) {
        put(ordinal % 2 ? query : few, ordinal, ordinal % 2 ? 100 : 10, ordinal % 2 ? 500 : 4000,
            static_cast<float>(ordinal));
        stage->finish(stage->seal(ordinal));
        EXPECT_LE(stage->statistics().history_bytes, made.history_limit_bytes);
        most = std::max(most, stage->statistics().history_bytes);
        EXPECT_LE(stage->statistics().payload_bytes, 4u << 20);
    }
    EXPECT_GE(most, made.history_limit_bytes / 2);
    EXPECT_EQ(at(query, 60)[0], std::vector<float>(4000, 60));
    EXPECT_EQ(at(query, 59)[99], std::vector<float>(500, 59));
}

TEST_F(ArrayFigures, payloads_that_are_hardly_used_are_copied_out)
{
    made.history_versions = 0;
    open();
    const uint32_t count = 400;
    ovstage_query_handle_t query = stage->query(count);
    auto record = std::make_shared<Managed::Record>();
    const DLManagedTensorVersioned *managed =
        Managed::make(ramp(count * 256), 1, DLPACK_FLAG_BITMASK_IS_COPIED, record);
    ovstage_write_data_t data{};
    data.managed_tensors = &managed;
    data.tensor_count = 1;
    data.is_array = true;
    stage->finish(write(*stage, query, attribute, 1, data));
    stage->finish(stage->seal(1));
    auto held = std::make_unique<Snapshot>(*stage, query, std::vector<ovx_token_t>{attribute}, 1);
    uint64_t ordinal = 2;
    for (uint32_t first = 0; first < 320; first += 10, ordinal++) {
        put(part(first, first + 10), ordinal, 10, 1, static_cast<float>(ordinal));
        stage->finish(stage->seal(ordinal));
    }
    EXPECT_EQ(record->deleted, 0) << "somebody reads it";
    EXPECT_EQ(array_rows<float>(held->groups[0])[7], ramp(256, 7 * 256));
    held.reset();
    for (uint32_t turn = 0; turn < 40; turn++, ordinal++) {
        put(part(300, 310), ordinal, 10, 1000, static_cast<float>(ordinal));
        stage->finish(stage->seal(ordinal));
    }
    EXPECT_EQ(record->deleted, 1) << "a fifth of it is of use";
    Floats rows = at(query, ordinal - 1);
    EXPECT_EQ(rows[0], std::vector<float>{2});
    EXPECT_EQ(rows[309], std::vector<float>(1000, static_cast<float>(ordinal - 1)));
    for (uint32_t row = 320; row < count; row++)
        ASSERT_EQ(rows[row], ramp(256, static_cast<float>(row * 256)));
}

TEST_F(ArrayFigures, memory_is_flat_however_rows_are_replaced)
{
    made.worker_count = 2;
    open();
    const uint32_t count = 200;
    ovstage_query_handle_t query = stage->query(count);
    put(query, 1, count, 100, 1);
    stage->finish(stage->seal(1));
    uint64_t most = 0, ordinal = 2;
    std::vector<ovstage_query_handle_t> parts;
    for (uint32_t first = 0; first < count; first += 8)
        parts.push_back(part(first, first + 8));
    std::vector<std::unique_ptr<Snapshot>> held;
    for (uint32_t turn = 0; turn < 3000; turn++, ordinal++) {
        put(parts[turn * 7 % parts.size()], ordinal, 8, 50 + turn % 100,
            static_cast<float>(ordinal));
        stage->finish(stage->seal(ordinal));
        if (turn % 10 == 0)
            held.push_back(std::make_unique<Snapshot>(
                *stage, query, std::vector<ovx_token_t>{attribute}, ordinal));
        if (held.size() > 3)
            held.erase(held.begin());
        uint64_t bytes = stage->statistics().payload_bytes;
        if (turn < 1000)
            most = std::max(most, bytes);
        else
            ASSERT_LE(bytes, most + most / 4) << "turn " << turn;
    }
    // Twice 200 rows of up to 150 elements, what is held, history, and tables.
    EXPECT_LE(most, 12u * count * 150 * sizeof(float));
}

} // namespace
