// Each driver call and each allocation of a frame with writes of some rows fails once: what was
// accepted and did not fail is there, all of it, and of what failed nothing is.
#include "tests/placement/each_fails.h"
#include "tests/placement/rows_fixture.h"

namespace
{

constexpr uint32_t prims = 30, others = 4;
constexpr uint64_t parts = 6;
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

    // Keys that were made together, and others.
    void Prepare(const client::Stage &stage)
    {
        if (writes_.empty())
            PrepareWrites();
        std::vector<uint32_t> apart;
        wanted_.clear();
        for (uint32_t k = 0; k < others; k++)
            apart.push_back(prims + k);
        for (uint32_t k = 0; k < prims + others; k++)
            wanted_.push_back(static_cast<float>(k));
        ASSERT_TRUE(
            Succeeds(stage, WriteOnDevice(stage, stage.query(prims), 1, first_, producer_)));
        ASSERT_TRUE(Succeeds(stage, stage.seal(1)));
        ASSERT_TRUE(Succeeds(
            stage, WriteOnDevice(stage, stage.query(Paths(apart)), 2, second_, producer_)));
        ASSERT_TRUE(Succeeds(stage, stage.seal(2)));
        all_ = stage.query(prims + others);
        for (Write &write : writes_)
            write.query = stage.query(Paths(write.numbers));
        FR_SIM_OK(cu->cuStreamSynchronize(producer_));
        FR_SIM_OK(cu->cuStreamSynchronize(producer_elsewhere_));
    }

    // True when nothing of it failed. wanted_: what is to be read then.
    bool Frame(const client::Stage &stage)
    {
        bool good = true;
        uint64_t ordinal = 3;
        for (const Write &write : writes_) {
            bool written = false;
            if (write.ordinal > ordinal) {
                good = Succeeds(stage, stage.seal(ordinal++)) && good;
                EXPECT_TRUE(fr_sim_drain());
            }
            good = Succeeds(stage,
                            WriteOnDevice(stage, write.query, write.ordinal, write.rows,
                                          write.rows.source ? producer_elsewhere_ : producer_),
                            &written) &&
                   good;
            int64_t stride = write.rows.strides.empty() ? 1 : write.rows.strides[0];
            for (size_t k = 0; written && k < write.numbers.size(); k++)
                wanted_[write.numbers[k]] =
                    write.rows.first + static_cast<float>(static_cast<int64_t>(k) * stride);
        }
        good = Succeeds(stage, stage.seal(last)) && good;
        ovstage_placement_t elsewhere = Place(nullptr, readable_, 1);
        ovstage_read_handle_t read = 0;
        good = Succeeds(stage, Read(stage, all_, OnDevice(stage), last, &elsewhere, &read)) && good;
        return (read == 0 || Succeeds(stage, ovstage_release_read(stage.instance, read))) && good;
    }

    void ExpectWanted(const client::Stage &stage)
    {
        auto groups = ReadGroups(stage, all_, OnDevice(stage), {0, last, false}, nullptr);
        ASSERT_EQ(groups.size(), 1u);
        EXPECT_EQ(groups[0].values, wanted_);
    }

  private:
    // All that the frames pass, which are many: each makes its checks slower.
    void PrepareWrites()
    {
        producer_ = Stream("producer");
        MakeCurrent(1);
        producer_elsewhere_ = Stream("producer elsewhere");
        readable_ = Event();
        MakeCurrent(0);
        first_ = WithSource({{prims}, {}, 0});
        second_ = WithSource({{others}, {}, prims});
        Add(3, {3, 9, 27}, 1000);
        Add(3, {9, 4, 28}, 2000); // needs more room
        Add(3, {4, 3}, 3000);     // has room
        Add(3, {31, 5, 30, 3}, 4000);
        Add(3, {31, 33, 5, 27}, 5000).rows.from_host = true;
        Rows plain = {{2}, {}, 5500};
        plain.plain = true;
        Add(3, {6, 32}, plain); // not 31, by which it shows what was written in place
        Rows elsewhere = {{3}, {}, 6000};
        elsewhere.source = elsewhere.place = 1;
        Add(3, {28, 9, 2}, elsewhere);
        elsewhere.strides = {2};
        elsewhere.place = 0;
        Add(3, {28, 9, 1}, elsewhere);
        for (uint64_t ordinal = 4; ordinal <= last; ordinal++) { // written when it is sealed
            Write &write = Add(ordinal, {static_cast<uint32_t>(ordinal), 9, 20},
                               static_cast<float>(2000 * ordinal));
            write.rows.event = nullptr;
            write.rows.with_event = false;
        }
    }

    Rows WithSource(Rows rows)
    {
        MakeCurrent(rows.place);
        rows.event = Event();
        rows.memory = Source(rows, rows.source ? producer_elsewhere_ : producer_);
        MakeCurrent(0);
        return rows;
    }

    Write &Add(uint64_t ordinal, const std::vector<uint32_t> &numbers, float first)
    {
        return Add(ordinal, numbers, {{static_cast<int64_t>(numbers.size())}, {}, first});
    }

    Write &Add(uint64_t ordinal, const std::vector<uint32_t> &numbers, const Rows &rows)
    {
        writes_.push_back({ordinal, numbers, WithSource(rows), 0});
        return writes_.back();
    }

    Rows first_, second_;
    fr_cu_stream producer_ = nullptr, producer_elsewhere_ = nullptr;
    fr_cu_event readable_ = nullptr;
    ovstage_query_handle_t all_ = 0;
    std::vector<Write> writes_;
    std::vector<float> wanted_;
};

TEST_P(SubsetFaults, EachCallFailsOnce)
{
    EachCallFails(
        GetParam().seed, PartStep(parts), [&](const client::Stage &stage) { Prepare(stage); },
        [&](const client::Stage &stage) { return Frame(stage); },
        [&](const client::Stage &stage) { ExpectWanted(stage); });
}

// Of rows of a device that go to a column on the host.
TEST_P(SubsetFaults, EachCallOnTheWayToTheHostFailsOnce)
{
    Rows rows = {{3}, {2}, 6000}, old = {{3}, {}, 10};
    old.plain = true;
    rows.source = 1;
    fr_cu_stream producer = Stream("producer");
    MakeCurrent(1);
    rows.memory = Source(rows, Stream("producer elsewhere"));
    MakeCurrent(0);
    rows.event = Event();
    EXPECT_TRUE(fr_sim_drain());
    ovstage_query_handle_t query = 0;
    bool written = false;
    EachCallFails(
        GetParam().seed, PartStep(parts),
        [&](const client::Stage &stage) {
            const ovstage_placement_extension_v1_t *table = nullptr; // once and for all
            query = stage.query(3);
            ASSERT_TRUE(Succeeds(stage, WriteOnDevice(stage, query, 1, old, producer)));
            ASSERT_TRUE(Succeeds(stage, stage.seal(1)));
            ASSERT_EQ(ovstage_query_placement_extension(stage.instance, &table), OVSTAGE_OK);
        },
        [&](const client::Stage &stage) {
            return Succeeds(stage, WriteOnDevice(stage, query, 2, rows, nullptr), &written);
        },
        [&](const client::Stage &stage) {
            FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0]));
            ASSERT_TRUE(Succeeds(stage, stage.seal(2)));
            EXPECT_EQ(stage.read(query, OnDevice(stage), 2)[2], written ? 6004 : 12);
        });
}

TEST_P(SubsetFaults, EachAllocationFailsOnce)
{
    EachAllocationFails(
        GetParam().seed, PartStep(parts), [&](const client::Stage &stage) { Prepare(stage); },
        [&](const client::Stage &stage) { return Frame(stage); },
        [&](const client::Stage &stage) { ExpectWanted(stage); });
}

INSTANTIATE_TEST_SUITE_P(Orders, SubsetFaults, ::testing::ValuesIn(Parts(parts)), OrderName);

} // namespace
