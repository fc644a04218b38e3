// Each driver call and each allocation of a frame with writes of some rows fails once: what was
// accepted and did not fail is there, all of it, and of what failed nothing is.
#include "tests/placement/rows_fixture.h"
#include "tests/support/heap.h"

namespace
{

constexpr uint32_t prims = 30, others = 4;
constexpr uint64_t last = 4;

class SubsetFaults : public RowsTest
{
  protected:
    struct Write {
        uint64_t ordinal;
        std::vector<uint32_t> numbers;
        Rows rows;
        ovstage_query_handle_t query;
    };

    // True when it was accepted and did not fail. *applied: or it has failed behind its work, by
    // the record of the client's event (R180).
    static bool Op(const client::Stage &stage, ovstage_enqueue_result_t result,
                   bool *applied = nullptr)
    {
        if (result.status != OVSTAGE_OK) {
            EXPECT_NE(client::last_error(), "");
            return false;
        }
        ovstage_op_wait_result_t outcome = {};
        EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, client::forever, &outcome),
                  OVSTAGE_OK);
        bool good = outcome.error_op_id_count == 0;
        std::string text =
            good ? "" : client::text(ovstage_get_last_op_error(stage.instance, result.op_index));
        EXPECT_TRUE(good || !text.empty());
        if (applied)
            *applied = good || text.find("availability_event") != std::string::npos;
        EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
        return good;
    }

    // Keys that were made together, and others; and all that the frame passes.
    void Prepare(const client::Stage &stage)
    {
        producer_ = Stream("producer");
        std::vector<uint32_t> apart;
        wanted_.clear();
        for (uint32_t k = 0; k < others; k++)
            apart.push_back(prims + k);
        for (uint32_t k = 0; k < prims + others; k++)
            wanted_.push_back(static_cast<float>(k));
        ASSERT_TRUE(
            Op(stage, WriteOnDevice(stage, stage.query(prims), 1, {{prims}, {}, 0}, producer_)));
        ASSERT_TRUE(Op(stage, stage.seal(1)));
        ASSERT_TRUE(Op(stage, WriteOnDevice(stage, stage.query(Paths(apart)), 2,
                                            {{others}, {}, prims}, producer_)));
        ASSERT_TRUE(Op(stage, stage.seal(2)));
        all_ = stage.query(prims + others);
        writes_.clear();
        Add(stage, 3, {3, 9, 27}, 1000);
        Add(stage, 3, {9, 4, 28}, 2000); // needs more room
        Add(stage, 3, {4, 3}, 3000);     // has room
        Add(stage, 3, {31, 5, 30, 3}, 4000);
        Add(stage, 3, {31, 33, 5, 27}, 5000).rows.from_host = true;
        for (uint64_t ordinal = 4; ordinal <= last; ordinal++) { // written when it is sealed
            Write &write = Add(stage, ordinal, {static_cast<uint32_t>(ordinal), 9, 20},
                               static_cast<float>(2000 * ordinal));
            write.rows.event = nullptr;
            write.rows.with_event = false;
        }
        FR_SIM_OK(cu->cuStreamSynchronize(producer_));
    }

    // True when nothing of it failed. wanted_: what is to be read then.
    bool Frame(const client::Stage &stage)
    {
        bool good = true;
        uint64_t ordinal = 3;
        for (const Write &write : writes_) {
            bool written = false;
            if (write.ordinal > ordinal) {
                good = Op(stage, stage.seal(ordinal++)) && good;
                EXPECT_TRUE(fr_sim_drain());
            }
            good =
                Op(stage, WriteOnDevice(stage, write.query, write.ordinal, write.rows, producer_),
                   &written) &&
                good;
            for (size_t k = 0; written && k < write.numbers.size(); k++)
                wanted_[write.numbers[k]] = write.rows.first + static_cast<float>(k);
        }
        return Op(stage, stage.seal(last)) && good;
    }

    void ExpectWanted(const client::Stage &stage, uint64_t k)
    {
        ovstage_placement_t placement = Place(nullptr, Event());
        auto groups = ReadGroups(stage, all_, OnDevice(stage), {0, last, false}, &placement);
        ASSERT_EQ(groups.size(), 1u) << k;
        EXPECT_EQ(groups[0].values, wanted_) << k;
    }

  private:
    Write &Add(const client::Stage &stage, uint64_t ordinal, const std::vector<uint32_t> &numbers,
               float first)
    {
        Write write = {ordinal, numbers, {{static_cast<int64_t>(numbers.size())}, {}, first}, 0};
        write.query = stage.query(Paths(numbers));
        write.rows.event = Event();
        write.rows.memory = Source(write.rows, producer_);
        writes_.push_back(write);
        return writes_.back();
    }

    fr_cu_stream producer_ = nullptr;
    ovstage_query_handle_t all_ = 0;
    std::vector<Write> writes_;
    std::vector<float> wanted_;
};

TEST_P(SubsetFaults, EachCallFailsOnce)
{
    bool struck = true;
    for (uint64_t k = 1; struck; k++) {
        client::Stage stage(0);
        Prepare(stage);
        ASSERT_TRUE(fr_sim_fail_call(nullptr, k, FR_CU_ERROR_UNKNOWN));
        bool good = Frame(stage);
        struck = !fr_sim_faults_pending();
        fr_sim_clear_faults();
        EXPECT_TRUE(good || struck) << k;
        ExpectWanted(stage, k);
        ASSERT_LT(k, 1000u);
    }
}

TEST_P(SubsetFaults, EachAllocationFailsOnce)
{
    bool struck = true;
    for (uint64_t k = 1; struck; k++) {
        fr_test_heap *heap = fr_test_heap_create();
        {
            const fr_allocator *allocator = fr_test_heap_allocator(heap);
            flyrail_config_t config = client::config(0);
            config.allocator.allocate = allocator->allocate;
            config.allocator.release = allocator->release;
            config.allocator.user = allocator->user;
            client::Stage stage(config);
            Prepare(stage);
            fr_test_heap_fail(heap, k, 0);
            bool good = Frame(stage);
            struck = fr_test_heap_calls(heap) >= k;
            fr_test_heap_fail(heap, 0, 0);
            EXPECT_TRUE(good || struck) << k;
            ExpectWanted(stage, k);
        }
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
        ASSERT_LT(k, 1000u);
    }
}

// Each of them some hundred times: in one order, in which nothing runs before somebody asks for it.
INSTANTIATE_TEST_SUITE_P(Orders, SubsetFaults, ::testing::Values(Orders()[0]), OrderName);

} // namespace
