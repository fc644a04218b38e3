// Each driver call and each allocation of what makes new keys, and gives them their places, fails
// once: what was accepted and did not fail is there, all of it, and of what failed nothing is.
#include <map>

#include "tests/placement/each_fails.h"
#include "tests/placement/rows_fixture.h"

namespace
{

constexpr uint32_t prims = 12;
constexpr uint64_t parts = 4;
constexpr uint64_t last = 2;

class NewKeysFaults : public RowsTest
{
  protected:
    struct Set {
        uint64_t ordinal;
        std::vector<uint32_t> numbers;
        Rows rows;
        ovstage_query_handle_t query;
    };

    // The device is open.
    void Prepare(const client::Stage &stage)
    {
        if (sets_.empty())
            PrepareSets();
        sealed_ = 0;
        for (auto &wanted : wanted_)
            wanted.clear();
        Rows other = sets_[0].rows;
        other.name = stage.token("other");
        for (Set &set : sets_)
            set.query = stage.query(Paths(set.numbers));
        all_ = stage.query(prims);
        ASSERT_TRUE(Succeeds(stage, WriteOnDevice(stage, sets_[0].query, 1, other, producer_)));
        FR_SIM_OK(cu->cuStreamSynchronize(producer_));
    }

    bool Frame(const client::Stage &stage)
    {
        bool good = true;
        for (const Set &set : sets_) {
            good = Write(stage, set) && good;
            if (&set == &sets_[seal_after_])
                good = Seal(stage, 1) && good;
        }
        good = Seal(stage, last) && good;
        ovstage_placement_t placement = Place(nullptr, readable_);
        ovstage_read_handle_t read = 0;
        good = Succeeds(stage, Read(stage, all_, OnDevice(stage), last, &placement, &read)) && good;
        return (read == 0 || Succeeds(stage, ovstage_release_read(stage.instance, read))) && good;
    }

    void ExpectWanted(const client::Stage &stage)
    {
        if (sealed_ < last) {
            ASSERT_TRUE(Seal(stage, last));
        }
        for (uint64_t at = 1; at <= last; at++) {
            std::map<uint32_t, float> wanted, there;
            for (uint64_t ordinal = 1; ordinal <= at; ordinal++)
                for (const auto &[number, value] : wanted_[ordinal])
                    wanted[number] = value;
            for (const Shown &shown :
                 ReadGroups(stage, all_, OnDevice(stage), {0, at, false}, nullptr))
                for (size_t k = 0; k < shown.positions.size(); k++)
                    there[shown.positions[k]] = shown.values[k];
            EXPECT_EQ(there, wanted) << "at " << at;
        }
    }

  private:
    bool Write(const client::Stage &stage, const Set &set)
    {
        bool written = false;
        bool good = Succeeds(
            stage, WriteOnDevice(stage, set.query, set.ordinal, set.rows, producer_), &written);
        for (size_t k = 0; written && k < set.numbers.size(); k++)
            wanted_[set.ordinal][set.numbers[k]] = set.rows.first + static_cast<float>(k);
        return good;
    }

    bool Seal(const client::Stage &stage, uint64_t ordinal)
    {
        bool good = Succeeds(stage, stage.seal(ordinal));
        sealed_ = good ? ordinal : sealed_;
        return good;
    }

    void PrepareSets()
    {
        producer_ = Stream("producer");
        readable_ = Event();
        Add(2, {9, 0, 1, 10});
        Add(1, {0, 1, 2, 3, 4, 5});
        Add(1, {7, 3, 6}); // needs more room
        Add(1, {8});       // has room
        Add(1, {3, 8, 0});
        seal_after_ = sets_.size() - 1;
        Add(2, {2, 5}); // have places, and for those of the ordinal that get theirs there is none
        Add(2, {11, 1, 4}).rows.from_host = true;
    }

    Set &Add(uint64_t ordinal, const std::vector<uint32_t> &numbers)
    {
        Rows rows = {{static_cast<int64_t>(numbers.size())},
                     {},
                     static_cast<float>(100 * (sets_.size() + 1))};
        rows.event = Event();
        rows.memory = Source(rows, producer_);
        sets_.push_back({ordinal, numbers, rows, 0});
        return sets_.back();
    }

    fr_cu_stream producer_ = nullptr;
    fr_cu_event readable_ = nullptr;
    ovstage_query_handle_t all_ = 0;
    std::vector<Set> sets_;
    size_t seal_after_ = 0;
    uint64_t sealed_ = 0;
    std::map<uint32_t, float> wanted_[last + 1]; // of each ordinal
};

TEST_P(NewKeysFaults, EachCallFailsOnce)
{
    EachCallFails(
        GetParam().seed, PartStep(parts), [&](const client::Stage &stage) { Prepare(stage); },
        [&](const client::Stage &stage) { return Frame(stage); },
        [&](const client::Stage &stage) { ExpectWanted(stage); });
}

TEST_P(NewKeysFaults, EachAllocationFailsOnce)
{
    EachAllocationFails(
        GetParam().seed, PartStep(parts), [&](const client::Stage &stage) { Prepare(stage); },
        [&](const client::Stage &stage) { return Frame(stage); },
        [&](const client::Stage &stage) { ExpectWanted(stage); });
}

INSTANTIATE_TEST_SUITE_P(Orders, NewKeysFaults, ::testing::ValuesIn(Parts(parts)), OrderName);

} // namespace
