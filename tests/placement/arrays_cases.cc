// Each driver call and each allocation of a frame with arrays fails once: what was accepted and did
// not fail is there, all of it, and of what failed nothing is.
#include <cstdlib>
#include <memory>
#include <utility>

#include "tests/placement/arrays_fixture.h"
#include "tests/placement/each_fails.h"
#include "tests/support/filters.h"

namespace
{

// Neighbours are of one kind, mostly: each of them in the long form.
uint64_t Stride(uint64_t short_form)
{
    return std::getenv("FR_TEST_LONG") ? 1 : short_form;
}

class ArrayFaults : public ArraysTest
{
  protected:
    bool on_host = false; // the column lies there

    struct Step {
        uint64_t ordinal;
        std::vector<uint32_t> numbers;
        Ragged ragged;
        std::unique_ptr<Tensors> tensors;
        ovstage_query_handle_t query;
        fr_cu_event event;
    };

    void Prepare(const client::Stage &stage)
    {
        producer_ = Stream("producer");
        readable_ = Event();
        all_ = stage.query(prims);
        wanted_.assign(prims, {});
        steps_.clear();
        values_.clear();
        values_.reserve(8);
        std::vector<uint32_t> numbers;
        for (uint32_t k = 0; k < prims; k++)
            numbers.push_back(k);
        Ragged first = {std::vector<uint32_t>(prims, 2), 1000, Ragged::Packed};
        first.plain = on_host;
        Add(stage, 1, numbers, first);
        ASSERT_TRUE(Run(stage, steps_[0]));
        ASSERT_TRUE(Succeeds(stage, stage.seal(1)));
        steps_.clear();
        Add(stage, 2, {4, 2, 0}, {{3, 1, 2}, 2000, Ragged::Apart});
        Add(stage, 2, {2, 5, 3, 1}, {{2, 0, 3, 1}, 3000, Ragged::Strided});
        Ragged from_host = {{1, 4}, 4000, Ragged::Views};
        from_host.from_host = true;
        Add(stage, 3, {5, 2}, from_host);
        FR_SIM_OK(cu->cuStreamSynchronize(producer_));
    }

    bool Frame(const client::Stage &stage)
    {
        bool good = true;
        for (Step &step : steps_)
            good = Run(stage, step) && good;
        if (!Succeeds(stage, stage.seal(3))) { // refused without memory
            good = false;
            EXPECT_TRUE(Succeeds(stage, stage.seal(3)));
        }
        ovstage_placement_t placement = Place(nullptr, readable_);
        good = Try(stage, nullptr) && good;
        good = TryFilter(stage) && good;
        return Try(stage, &placement) && good;
    }

    void ExpectWanted(const client::Stage &stage)
    {
        ExpectFound(stage);
        ovstage_placement_t placement = Place(nullptr, Event());
        for (const ovstage_placement_t *where :
             {static_cast<const ovstage_placement_t *>(nullptr), &std::as_const(placement)}) {
            auto groups = ReadGroups(stage, all_, OnDevice(stage), {0, 3, false}, where);
            ASSERT_EQ(groups.size(), 1u);
            EXPECT_EQ(groups[0].rows, wanted_);
        }
    }

  private:
    static constexpr uint32_t prims = 6;

    void Add(const client::Stage &stage, uint64_t ordinal, const std::vector<uint32_t> &numbers,
             const Ragged &ragged)
    {
        Step step = {ordinal, numbers, ragged, nullptr, stage.query(Paths(numbers)), Event()};
        bool from_host = ragged.from_host || ragged.plain;
        step.tensors = std::make_unique<Tensors>(ragged, DLDevice{from_host ? kDLCPU : kDLCUDA, 0});
        if (from_host) {
            values_.push_back(Values(ragged));
            PointInto(*step.tensors, ragged, reinterpret_cast<uintptr_t>(values_.back().data()));
        } else {
            ProduceRows(ragged, *step.tensors, producer_);
            step.tensors->data.cuda_sync.stream = Handle(producer_);
        }
        steps_.push_back(std::move(step));
    }

    bool Run(const client::Stage &stage, Step &step)
    {
        bool written = false;
        ovstage_placement_t placement = Place(nullptr, step.event);
        bool good = Succeeds(stage,
                             ovstage_write_attribute_on_device(
                                 stage.instance, step.query, Name(OnDevice(stage)), step.ordinal,
                                 step.tensors->data, OVSTAGE_PRIM_MODE_UPSERT,
                                 step.ragged.plain ? nullptr : &placement),
                             &written);
        float first = step.ragged.first;
        for (size_t k = 0; k < step.numbers.size(); k++) {
            std::vector<float> row;
            for (uint32_t n = 0; n < step.ragged.lengths[k]; n++)
                row.push_back(first++);
            if (written)
                wanted_[step.numbers[k]] = row;
        }
        return good;
    }

    // A filter that may.
    bool TryFilter(const client::Stage &stage)
    {
        found_ = 0;
        bool good = Succeeds(
            stage, client::submit(stage, {{"device", OVSTAGE_FILTER_OP_GE, {"2001"}}}, &found_));
        found_ = good ? found_ : 0;
        return good;
    }

    // Else it has found what there is.
    void ExpectFound(const client::Stage &stage)
    {
        std::vector<uint32_t> wanted;
        for (uint32_t k = 0; k < prims; k++)
            if (!wanted_[k].empty() && wanted_[k].back() >= 2001)
                wanted.push_back(k);
        if (found_ != 0) {
            EXPECT_EQ(client::found(stage, found_).paths, Paths(wanted));
        }
    }

    // A read that may fail.
    bool Try(const client::Stage &stage, const ovstage_placement_t *placement)
    {
        ovstage_read_handle_t read = 0;
        ovx_token_t attribute = OnDevice(stage);
        ovstage_enqueue_result_t result = ovstage_read_attributes_on_device(
            stage.instance, all_, &attribute, 1, {0, 3, false}, placement, &read);
        if (!Succeeds(stage, result))
            return false;
        ovstage_read_group_t group = {};
        bool good =
            ovstage_fetch_read_next(stage.instance, read, client::forever, &group) == OVSTAGE_OK;
        EXPECT_TRUE(good || client::last_error() != "");
        if (good) {
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        }
        return Succeeds(stage, ovstage_release_read(stage.instance, read)) && good;
    }

    fr_cu_stream producer_ = nullptr;
    fr_cu_event readable_ = nullptr;
    ovstage_query_handle_t all_ = 0, found_ = 0;
    std::vector<Step> steps_;
    std::vector<std::vector<float>> values_;
    RaggedRows wanted_;
};

TEST_P(ArrayFaults, EachCallFailsOnce)
{
    for (bool of_host : {false, true}) {
        on_host = of_host;
        EachCallFails(
            1, Stride(5), [&](const client::Stage &stage) { Prepare(stage); },
            [&](const client::Stage &stage) { return Frame(stage); },
            [&](const client::Stage &stage) { ExpectWanted(stage); });
    }
}

TEST_P(ArrayFaults, EachAllocationFailsOnce)
{
    for (bool of_host : {false, true}) {
        on_host = of_host;
        EachAllocationFails(
            1, Stride(3), [&](const client::Stage &stage) { Prepare(stage); },
            [&](const client::Stage &stage) { return Frame(stage); },
            [&](const client::Stage &stage) { ExpectWanted(stage); });
    }
}

// Each of them some hundred times: in one order, in which nothing runs before somebody asks for it.
INSTANTIATE_TEST_SUITE_P(Orders, ArrayFaults, ::testing::Values(Orders()[0]), OrderName);

} // namespace
