// Each driver call that the stage makes, from the opening of its devices to their end, fails once,
// and each by which what the process keeps goes back: what was accepted and did not fail is there,
// the stage goes on, and nothing is left of it.
//
// Loading the driver is left out: a process does that once (tests/cuda/loader_test.cc).
#include <algorithm>
#include <iterator>
#include <map>

#include "tests/placement/each_fails.h"
#include "tests/placement/rows_fixture.h"
#include "tests/support/filters.h"
#include "tests/support/maps.h"

namespace
{

constexpr uint32_t prims = 24;
constexpr uint64_t parts = 12;

// Those whose failure leaves something behind: it may be that of earlier work, and nothing may be
// freed twice.
const char *const ends[] = {"cuMemFreeAsync",           "cuMemFreeHost",  "cuStreamDestroy",
                            "cuEventDestroy",           "cuModuleUnload", "cuMemPoolDestroy",
                            "cuDevicePrimaryCtxRelease"};

// What there is to fail: all that the backend calls, but for loading and for want of memory.
const char *const calls[] = {"cuDeviceGet",
                             "cuDeviceGetAttribute",
                             "cuDeviceTotalMem",
                             "cuDevicePrimaryCtxRetain",
                             "cuDevicePrimaryCtxRelease",
                             "cuCtxGetCurrent",
                             "cuCtxPushCurrent",
                             "cuCtxPopCurrent",
                             "cuThreadExchangeStreamCaptureMode",
                             "cuMemPoolCreate",
                             "cuMemPoolSetAttribute",
                             "cuMemPoolDestroy",
                             "cuModuleLoadDataEx",
                             "cuModuleGetFunction",
                             "cuModuleUnload",
                             "cuStreamCreateWithPriority",
                             "cuStreamDestroy",
                             "cuStreamGetCtx",
                             "cuStreamIsCapturing",
                             "cuStreamWaitEvent",
                             "cuEventCreate",
                             "cuEventDestroy",
                             "cuEventRecord",
                             "cuEventQuery",
                             "cuPointerGetAttributes",
                             "cuMemAllocFromPoolAsync",
                             "cuMemFreeAsync",
                             "cuMemHostAlloc",
                             "cuMemFreeHost",
                             "cuMemcpyHtoDAsync",
                             "cuMemcpyDtoHAsync",
                             "cuMemcpyDtoDAsync",
                             "cuMemcpyPeerAsync",
                             "cuMemsetD8Async",
                             "cuLaunchKernel"};

class EveryCall : public RowsTest
{
  protected:
    typedef std::map<uint32_t, float> Values; // by prim

    struct Written {
        uint64_t ordinal;
        std::vector<uint32_t> numbers; // prims, in the order of the rows that are written
        std::vector<float> values;
        Rows rows;
        std::vector<uint32_t> query_numbers;
    };

    // A client's call is made again: it is not what is looked at.
    template <typename Call> static void Sure(const Call &call)
    {
        if (call() != 0) {
            EXPECT_EQ(call(), 0u);
        }
    }

    // All that the client has, once for all stages.
    void SetUp() override
    {
        RowsTest::SetUp();
        producer_ = Stream("producer");
        consumer_ = Stream("consumer");
        event_ = Event();
        std::vector<uint32_t> all;
        for (uint32_t k = 0; k < prims; k++)
            all.push_back(k);
        Add(1, all, {{prims}, {}, 0});
        // Few runs of rows, lists of them, over what the ordinal has written; new room for it.
        Add(2, {3, 9, 20}, {{3}, {}, 1000});
        Add(2, {9, 4, 21}, {{3}, {}, 2000});
        Add(2, {4, 3}, {{2}, {}, 3000});
        Add(2, {21, 5, 20, 3}, {{4}, {}, 4000}).rows.from_host = true;
        // Every second element; rows by a map; rows by a mask.
        Add(3, {6, 12, 18}, {{3}, {2}, 5000});
        Written &mapped = Add(3, {7, 13, 19}, {{3}, {}, 6000});
        mapped.rows.map = {2, 0, 1};
        mapped.values = {6002, 6000, 6001};
        Written &masked = Add(3, {1, 8}, {{3}, {}, 7000}); // rows 0 and 2
        masked.query_numbers = {1, 2, 8};
        masked.rows.mask = {5};
        masked.values = {7000, 7002};
        Add(3, {2, 17, 11}, {{3}, {}, 8000}).rows.from_host = true;
        // Complete by a report: then it is folded when it is sealed. Keys that were deleted.
        Add(4, {10, 20, 9}, {{3}, {}, 9000}).rows.with_event = false;
        Add(5, {14, 15}, {{2}, {}, 10000}).rows.with_event = false;
        FR_SIM_OK(cu->cuStreamSynchronize(producer_));
        std::vector<float> zeros(prims, 0.5f);
        filling_ = zeros;
    }

    bool WriteAll(const client::Stage &stage, uint64_t ordinal)
    {
        bool good = true;
        for (const Written &written : writes_) {
            if (written.ordinal != ordinal)
                continue;
            ovstage_query_handle_t query = stage.query(Paths(written.query_numbers));
            bool applied = false;
            good = Succeeds(stage, WriteOnDevice(stage, query, ordinal, written.rows, producer_),
                            &applied) &&
                   good;
            for (size_t k = 0; applied && k < written.numbers.size(); k++)
                wanted_[written.numbers[k]] = written.values[k];
        }
        return good;
    }

    // A session over all keys, which the client fills there.
    bool MapAll(const client::Stage &stage, uint64_t ordinal)
    {
        ovstage_map_desc_t desc = client::description(OnDevice(stage));
        ovstage_placement_t placement = Place(nullptr, event_);
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        if (!Succeeds(stage, ovstage_map_attribute_on_device(stage.instance, all_, &desc, ordinal,
                                                             nullptr, 0, &placement, &map)))
            return Succeeds(stage, map ? ovstage_unmap_attribute(stage.instance, map, {0, 0})
                                       : ovstage_enqueue_result_t{OVSTAGE_ERROR_OP_FAILED, 0}) &&
                   false;
        EXPECT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
        Sure([&] {
            return cu->cuMemcpyHtoDAsync(
                reinterpret_cast<fr_cu_device_ptr>(group.data.tensors->data), filling_.data(),
                filling_.size() * sizeof(float), producer_);
        });
        auto commit = [&] {
            return ovstage_unmap_attribute(stage.instance, map, {Handle(producer_), 0});
        };
        bool applied = false;
        ovstage_enqueue_result_t sent = commit();
        bool good = Succeeds(stage, sent, &applied);
        if (sent.status != OVSTAGE_OK) { // the session is there until it is committed
            EXPECT_TRUE(Succeeds(stage, commit(), &applied));
        }
        for (uint32_t k = 0; applied && k < prims; k++)
            wanted_[k] = filling_[k];
        return good;
    }

    // What is fetched is not looked at: there may be a fault left for the client's own calls.
    bool TryRead(const client::Stage &stage, ovstage_query_handle_t query, ovx_token_t attribute,
                 ovstage_ordinal_range_t range, const ovstage_placement_t *placement)
    {
        ovstage_read_handle_t read = 0;
        bool good =
            Succeeds(stage, ovstage_read_attributes_on_device(stage.instance, query, &attribute, 1,
                                                              range, placement, &read));
        ovstage_read_group_t group = {};
        while (good &&
               ovstage_fetch_read_next(stage.instance, read, client::forever, &group) == OVSTAGE_OK)
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        if (read != 0) {
            EXPECT_TRUE(Succeeds(stage, ovstage_release_read(stage.instance, read)));
        }
        return good;
    }

    // A filter by what lies there finds what it must, or fails.
    bool TryFilter(const client::Stage &stage)
    {
        ovstage_query_handle_t made = 0;
        bool good = Succeeds(
            stage, client::submit(stage, {{"device", OVSTAGE_FILTER_OP_GE, {"2000"}}}, &made));
        if (good) {
            EXPECT_EQ(client::found(stage, made).paths.size(),
                      static_cast<size_t>(
                          std::count_if(wanted_.begin(), wanted_.end(),
                                        [](const auto &entry) { return entry.second >= 2000; })));
        }
        EXPECT_TRUE(Succeeds(stage, ovstage_release_query(stage.instance, made)));
        return good;
    }

    bool ReadAll(const client::Stage &stage, uint64_t ordinal)
    {
        ovx_token_t column = OnDevice(stage);
        ovstage_placement_t here = Place(nullptr, event_), complete = Place(nullptr, nullptr),
                            in_own = Place(consumer_, event_), other = Place(nullptr, nullptr, 1);
        bool good = TryFilter(stage);
        good = TryRead(stage, all_, column, {0, ordinal, false}, &here) && good;
        good = TryRead(stage, turned_, column, {0, ordinal, false}, &in_own) && good;
        good = TryRead(stage, turned_, column, {0, ordinal, false}, &complete) && good;
        good = TryRead(stage, all_, column, {ordinal - 1, ordinal, true}, &here) && good;
        good = TryRead(stage, all_, column, {0, ordinal, false}, nullptr) && good;
        good = TryRead(stage, turned_, column, {ordinal - 1, ordinal, true}, nullptr) && good;
        good = TryRead(stage, turned_, column, {0, ordinal, false}, &other) && good;
        return TryRead(stage, turned_, OnHost(stage), {0, 1, false}, &here) && good;
    }

    // True when nothing of it failed.
    bool Frame(const client::Stage &stage)
    {
        wanted_.clear();
        all_ = stage.query(prims);
        turned_ = stage.query(Paths({20, 3, 9, 14}));
        std::vector<float> values(prims, 7);
        bool good = Succeeds(stage, stage.write(all_, OnHost(stage), 1, values));
        EXPECT_TRUE(good);
        good = WriteAll(stage, 1);
        if (wanted_.empty()) { // others write what is there
            EXPECT_TRUE(WriteAll(stage, 1));
        }
        for (uint64_t ordinal = 1; ordinal <= last; ordinal++) {
            good = (ordinal == 1 || WriteAll(stage, ordinal)) && good;
            good = (ordinal != 3 || MapAll(stage, ordinal)) && good;
            if (ordinal == 4 && Delete(stage, ordinal)) {
                wanted_.erase(14);
                wanted_.erase(15);
            }
            EXPECT_TRUE(Succeeds(stage, stage.seal(ordinal)));
            (void)fr_sim_drain();
            good = ((ordinal != 3 && ordinal != last) || ReadAll(stage, ordinal)) && good;
        }
        return good;
    }

    static bool Delete(const client::Stage &stage, uint64_t ordinal)
    {
        ovx_string_or_token_t name = {OnDevice(stage), {}};
        return Succeeds(stage,
                        ovstage_delete_attributes(stage.instance, stage.query(Paths({14, 15})),
                                                  &name, 1, ordinal));
    }

    // By a read on the device, and on the host.
    void ExpectWanted(const client::Stage &stage, uint64_t ordinal)
    {
        ovstage_placement_t placement = Place(nullptr, event_);
        for (bool on_device : {true, false}) {
            Values found;
            ovx_token_t column = OnDevice(stage);
            ovstage_read_handle_t read = 0;
            ovstage_read_group_t group = {};
            stage.finish(
                Read(stage, all_, column, ordinal, on_device ? &placement : nullptr, &read));
            while (ovstage_fetch_read_next(stage.instance, read, client::forever, &group) ==
                   OVSTAGE_OK) {
                std::vector<float> values(group.data.count);
                Fetch(group, on_device, &values);
                for (uint32_t k = 0; k < group.prims.count; k++)
                    found[group.prims.index_map ? group.prims.index_map[k] : k] = values[k];
                EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
            }
            stage.finish(ovstage_release_read(stage.instance, read));
            EXPECT_EQ(found, wanted_) << (on_device ? "on the device" : "on the host");
        }
    }

    void Fetch(const ovstage_read_group_t &group, bool on_device, std::vector<float> *values)
    {
        const void *data = group.data.tensors[0].data;
        size_t size_bytes = values->size() * sizeof(float);
        if (!on_device) {
            std::memcpy(values->data(), data, size_bytes);
            return;
        }
        FR_SIM_OK(cu->cuStreamWaitEvent(consumer_, event_, 0));
        FR_SIM_OK(cu->cuMemcpyDtoHAsync(values->data(), reinterpret_cast<fr_cu_device_ptr>(data),
                                        size_bytes, consumer_));
        FR_SIM_OK(cu->cuStreamSynchronize(consumer_));
    }

    // The call that was made to fail, if it is one of the last hundreds.
    static std::string Struck()
    {
        std::string log(fr_sim_log(nullptr, 0), ' ');
        (void)fr_sim_log(&log[0], log.size());
        size_t end = log.rfind(" 999 ");
        if (end == std::string::npos)
            return "";
        size_t begin = log.rfind(' ', end - 1) + 1;
        return log.substr(begin, end - begin);
    }

    static bool StruckAnEnd()
    {
        const std::string name = Struck();
        return std::find(std::begin(ends), std::end(ends), name) != std::end(ends);
    }

    static constexpr uint64_t last = 5;

  private:
    Written &Add(uint64_t ordinal, const std::vector<uint32_t> &numbers, const Rows &rows)
    {
        Written written = {ordinal, numbers, {}, rows, numbers};
        int64_t stride = rows.strides.empty() ? 1 : rows.strides[0];
        for (size_t k = 0; k < numbers.size(); k++)
            written.values.push_back(rows.first +
                                     static_cast<float>(static_cast<int64_t>(k) * stride));
        written.rows.event = event_;
        written.rows.memory = Source(rows, producer_);
        writes_.push_back(written);
        return writes_.back();
    }

    fr_cu_stream producer_ = nullptr, consumer_ = nullptr;
    fr_cu_event event_ = nullptr;
    ovstage_query_handle_t all_ = 0, turned_ = 0;
    std::vector<Written> writes_;
    std::vector<float> filling_;
    Values wanted_;
};

TEST_P(EveryCall, FailsOnce)
{
    {
        client::Stage stage(0); // what a process does once
        EXPECT_TRUE(Frame(stage));
        ExpectWanted(stage, last);
        stage.destroy();
        fr_cuda_give_back();
        for (const char *name : calls)
            EXPECT_GT(fr_sim_calls(name), 0u) << name;
    }
    uint64_t k = GetParam().seed;
    for (bool struck = true; struck; k += PartStep(parts)) {
        uint64_t alive = fr_sim_check_leaks(false);
        ASSERT_TRUE(fr_sim_fail_call(nullptr, k, FR_CU_ERROR_UNKNOWN));
        {
            client::Stage stage(0);
            bool good = Frame(stage);
            struck = !fr_sim_faults_pending();
            EXPECT_TRUE(good || struck);
            if (struck)
                ExpectWanted(stage, last);
        }
        fr_cuda_give_back();
        struck = !fr_sim_faults_pending();
        fr_sim_clear_faults();
        EXPECT_TRUE(fr_sim_drain());
        uint64_t left = fr_sim_check_leaks(false) - alive;
        EXPECT_EQ(left, left > 0 && StruckAnEnd() ? 1u : 0u);
        Leave(left);
        ASSERT_FALSE(HasFailure()) << "call " << k << ": " << Struck();
    }
    EXPECT_GT(k, 500u);
}

INSTANTIATE_TEST_SUITE_P(Orders, EveryCall, ::testing::ValuesIn(Parts(parts)), OrderName);

} // namespace
