// Memory that runs out under work that is pending: what was reported as done is there, what was
// reported as failed is not, every
// deleter runs once, and nothing is lost. Checked value by value, for the k-th allocation and for
// all from the k-th on.
#include "tests/support/columns.h"
#include "tests/support/heap.h"

namespace
{

using namespace client;

constexpr uint32_t prims = 24;
constexpr uint64_t last_ordinal = 7;
constexpr uint32_t kinds = 6;

// One write on its way: what the column is after it, if it succeeds.
struct Pending {
    ovstage_op_id_t id = 0;
    uint64_t ordinal = 0;
    uint32_t kind = 0;
    bool failed = false;
};

class Program
{
  public:
    Program(uint32_t workers, fr_test_heap *of) : heap(of), stage(config_of(of, workers))
    {
        for (uint32_t c = 0; c < kinds; c++)
            names.push_back(stage.token("break:memory:" + std::to_string(c)));
        query = stage.query(prims);
        // Sealed before memory runs out.
        for (uint32_t c = 0; c < kinds; c++)
            if (c != 2)
                stage.finish(stage.write(query, names[c], 1, base()));
        stage.finish(stage.seal(1));
    }

    void run(uint64_t k, bool ever)
    {
        values.assign(last_ordinal + 1, {});
        for (uint64_t n = 2; n <= last_ordinal; n++)
            values[n] = ramp(prims, static_cast<float>(100 * n));
        fr_test_heap_fail(heap, k, ever);
        for (uint64_t n = 2; n <= last_ordinal; n++) {
            for (uint32_t c = 0; c < kinds; c++)
                submit(c, n);
            accepted(stage.seal(n), true);
            odds(n);
        }
        for (Pending &pending : writes)
            pending.failed = fails(pending.id);
        for (ovstage_op_id_t id : others)
            (void)fails(id);
        reached = fr_test_heap_calls(heap) >= k;
        fr_test_heap_fail(heap, 0, 0);
    }

    void check()
    {
        stage.finish(stage.seal(last_ordinal));
        stage.finish(stage.seal(last_ordinal + 1));
        for (uint32_t c = 0; c < kinds; c++) {
            std::vector<float> expected = c == 2 ? std::vector<float>() : base();
            for (uint64_t n = 1; n <= last_ordinal; n++) {
                for (const Pending &pending : writes)
                    if (pending.kind == c && pending.ordinal == n && !pending.failed)
                        apply(c, n, expected);
                EXPECT_EQ(stage.read(query, names[c], n), expected)
                    << "column " << c << " at " << n;
            }
        }
        writes.clear();
        // And it goes on.
        std::vector<float> more = ramp(prims, -50);
        for (uint32_t c = 0; c < kinds; c++)
            stage.finish(stage.write(query, names[c], last_ordinal + 2, more));
        stage.finish(stage.seal(last_ordinal + 2));
        for (uint32_t c = 0; c < kinds; c++)
            EXPECT_EQ(stage.read(query, names[c], last_ordinal + 2), more) << c;
    }

    void end()
    {
        stage.destroy();
        for (const auto &record : records)
            EXPECT_EQ(record->deleted, 1);
    }

    bool reached = false;

  private:
    static flyrail_config_t config_of(fr_test_heap *heap, uint32_t workers)
    {
        const fr_allocator *allocator = fr_test_heap_allocator(heap);
        flyrail_config_t out = config(workers);
        out.allocator.allocate = allocator->allocate;
        out.allocator.release = allocator->release;
        out.allocator.user = allocator->user;
        out.history_versions = 32;
        return out;
    }
    static std::vector<float> base()
    {
        return ramp(prims, 1);
    }

    // What a write of this kind makes of the column.
    void apply(uint32_t kind, uint64_t n, std::vector<float> &column) const
    {
        if (kind == 2 && column.empty())
            column.assign(prims, 0);
        for (uint32_t i = 0; i < prims; i++)
            if (kind != 1 || i % 3 == 0)
                column[i] = kind == 3 ? values[n][prims - 1 - i] : values[n][i];
    }

    void submit(uint32_t kind, uint64_t n)
    {
        int64_t shape[1] = {prims}, stride[1] = {-1};
        uint32_t map[prims];
        uint64_t mask = 0;
        for (uint32_t i = 0; i < prims; i++) {
            map[i] = prims - 1 - i;
            mask |= uint64_t(i % 3 == 0) << i;
        }
        DLTensor tensor{values[n].data(), {kDLCPU, 0}, 1, f32(), shape, nullptr, 0};
        ovstage_write_data_t data;
        std::memset(&data, 0, sizeof(data));
        data.tensors = &tensor;
        data.tensor_count = 1;
        const DLManagedTensorVersioned *managed = nullptr;
        switch (kind) {
        case 1:
            data.count = prims;
            data.mask = &mask;
            break;
        case 3:
            if (n % 2) {
                data.count = prims;
                data.index_map = map;
            } else {
                tensor.strides = stride;
                tensor.byte_offset = (prims - 1) * sizeof(float);
            }
            break;
        case 4:
        case 5:
            records.push_back(std::make_shared<Managed::Record>());
            managed = Managed::make(values[n], 1, kind == 4 ? DLPACK_FLAG_BITMASK_IS_COPIED : 0,
                                    records.back());
            data.tensors = nullptr;
            data.managed_tensors = &managed;
            break;
        default:
            break;
        }
        Pending pending;
        pending.kind = kind;
        pending.ordinal = n;
        ovstage_attribute_write_t entry{named(names[kind]), data};
        pending.id = accepted(
            ovstage_write_attributes(stage.instance, query, &entry, 1, n, OVSTAGE_PRIM_MODE_UPSERT),
            false);
        if (pending.id)
            writes.push_back(pending);
    }

    // 0 if it was refused, which is for want of memory; of a read, also because the seal that it
    // counts on was.
    ovstage_op_id_t accepted(ovstage_enqueue_result_t result, bool waits, bool reads = false)
    {
        if (result.status != OVSTAGE_OK) {
            EXPECT_TRUE(result.status == OVSTAGE_ERROR_OUT_OF_MEMORY ||
                        (reads && result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION))
                << result.status << " " << last_error();
            EXPECT_EQ(result.op_index, 0u);
            EXPECT_NE(last_error(), "");
        } else if (waits) {
            others.push_back(result.op_index);
        }
        return result.op_index;
    }

    // Waits; true when it failed, with a text.
    bool fails(ovstage_op_id_t id)
    {
        ovstage_op_wait_result_t outcome;
        EXPECT_EQ(ovstage_wait_op(stage.instance, id, forever, &outcome), OVSTAGE_OK)
            << last_error();
        bool failed = outcome.error_op_id_count > 0;
        if (failed) {
            EXPECT_NE(text(ovstage_get_last_op_error(stage.instance, outcome.error_op_ids[0])), "");
        }
        EXPECT_EQ(ovstage_release_op(stage.instance, id), OVSTAGE_OK);
        return failed;
    }

    // Things beside: reads that are pending, floor queries, waits, tracing, an insert that fails.
    void odds(uint64_t n)
    {
        ovstage_read_handle_t read = 0;
        if (accepted(ovstage_read_attributes(stage.instance, query, names.data(), names.size(),
                                             ovstage_ordinal_range_t{0, n, false}, &read),
                     true, true)) {
            accepted(ovstage_release_read(stage.instance, read), true);
        } else {
            EXPECT_EQ(read, 0u);
        }
        ovstage_write_floor_desc_t some{n, OVSTAGE_SCOPE_EXCLUDE, names.data(), 1};
        accepted(ovstage_advance_write_floor(stage.instance, &some), true);
        ovstage_api_status_t status = flyrail_trace_start(stage.instance, 16);
        EXPECT_TRUE(status == OVSTAGE_OK || status == OVSTAGE_ERROR_OUT_OF_MEMORY);
        if (status == OVSTAGE_OK) {
            EXPECT_EQ(flyrail_trace_stop(stage.instance), OVSTAGE_OK);
        }
        ovstage_query_result_t result;
        status = ovstage_fetch_query_result(stage.instance, query, forever, &result);
        EXPECT_TRUE(status == OVSTAGE_OK || status == OVSTAGE_ERROR_OUT_OF_MEMORY);
        if (status == OVSTAGE_OK) {
            EXPECT_EQ(ovstage_release_query_result(stage.instance, &result), OVSTAGE_OK);
        }
        for (ovx_token_t name : names)
            accepted(stage.seal(n, OVSTAGE_SCOPE_INCLUDE, {name}), true);
    }

    fr_test_heap *heap;
    Stage stage;
    std::vector<ovx_token_t> names;
    ovstage_query_handle_t query = 0;
    std::vector<std::vector<float>> values;
    std::vector<Pending> writes;
    std::vector<ovstage_op_id_t> others;
    std::vector<std::shared_ptr<Managed::Record>> records;
};

bool run(uint32_t workers, uint64_t k, bool ever)
{
    fr_test_heap *heap = fr_test_heap_create();
    bool reached;
    {
        Program program(workers, heap);
        program.run(k, ever);
        reached = program.reached;
        program.check();
        program.end();
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    return reached;
}

TEST(BreakMemory, the_kth_allocation_fails)
{
    uint64_t k = 1;
    for (; run(0, k, false); k++)
        ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
    EXPECT_GT(k, 20u);
}

TEST(BreakMemory, all_allocations_from_one_on_fail)
{
    uint64_t k = 1;
    for (; run(0, k, true); k += 3)
        ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
    EXPECT_GT(k, 20u);
}

TEST(BreakMemory, with_a_worker)
{
    for (uint64_t k = 1; run(1, k, k % 2 == 0); k += 5)
        ASSERT_FALSE(testing::Test::HasFailure()) << "k = " << k;
}

} // namespace
