// What a steady frame asks of the driver, call by call, once streams, events and memory are there.
#include <cstdio>
#include <functional>
#include <map>

#include "tests/placement/placement_fixture.h"

namespace
{

const char *const entry_points[] = {
#define FR_NAME(name, version, symbol) #name,
    FR_CUDA_ENTRY_POINTS(FR_NAME)
#undef FR_NAME
};

// What a steady frame never calls.
const char *const makers[] = {"cuDevicePrimaryCtxRetain",
                              "cuStreamCreateWithPriority",
                              "cuStreamDestroy",
                              "cuEventCreate",
                              "cuEventDestroy",
                              "cuMemAlloc",
                              "cuMemFree",
                              "cuMemAllocFromPoolAsync",
                              "cuMemFreeAsync",
                              "cuMemPoolTrimTo",
                              "cuMemHostAlloc",
                              "cuMemFreeHost",
                              "cuMemHostRegister",
                              "cuMemHostUnregister",
                              "cuModuleLoadDataEx",
                              "cuCtxSynchronize",
                              "cuStreamSynchronize",
                              "cuEventSynchronize"};

typedef std::map<std::string, uint64_t> Calls;

class Figures : public PlacementTest
{
  protected:
    enum { ROWS = 3, WARM_FRAMES = 12, FRAMES = 4 };

    // Of the last frame, by what was done.
    std::map<std::string, Calls> made;

    void Count(const char *what, const std::function<void()> &act)
    {
        Calls before, &after = made[what];
        for (const char *name : entry_points)
            before[name] = fr_sim_calls(name);
        act();
        after.clear();
        for (const char *name : entry_points)
            if (uint64_t count = fr_sim_calls(name) - before[name])
                after[name] = count;
    }

    // Those that put something into a stream; the others look, or go into a context and out of it.
    static uint64_t Submitted(const Calls &calls)
    {
        uint64_t sum = 0;
        for (const auto &call : calls)
            for (const char *name : {"cuStreamWaitEvent", "cuEventRecord", "cuMemcpyDtoDAsync",
                                     "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyPeerAsync",
                                     "cuMemcpyAsync", "cuMemcpy2DAsync", "cuLaunchKernel"})
                sum += call.first == name ? call.second : 0;
        return sum;
    }

    static uint64_t All(const Calls &calls)
    {
        uint64_t sum = 0;
        for (const auto &call : calls)
            sum += call.second;
        return sum;
    }

    // A read of all rows, on a device or, without a placement, on the host.
    void Take(const client::Stage &stage, ovstage_query_handle_t query, ovx_token_t attribute,
              uint64_t ordinal, const ovstage_placement_t *placement)
    {
        ovstage_read_handle_t read = 0;
        ovstage_read_group_t group = {};
        stage.finish(Read(stage, query, attribute, ordinal, placement, &read));
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK)
            << client::last_error();
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
    }

    void Tell() const
    {
        for (const auto &what : made) {
            std::printf("%-22s %2llu, %llu into streams:", what.first.c_str(),
                        static_cast<unsigned long long>(All(what.second)),
                        static_cast<unsigned long long>(Submitted(what.second)));
            for (const auto &call : what.second)
                std::printf(" %llu %s", static_cast<unsigned long long>(call.second),
                            call.first.c_str());
            std::printf("\n");
        }
    }
};

TEST_P(Figures, OfASteadyFrame)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(ROWS);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer"), writer = Stream("writer"),
                 reader = Stream("reader");
    fr_cu_event produced = Event(), written = Event(), readable = Event();
    MakeCurrent(1);
    fr_cu_event readable_there = Event(), readable_again = Event();
    fr_cu_stream reader_there = Stream("reader on the other device");
    MakeCurrent(0);
    fr_cu_device_ptr data = Memory(ROWS * sizeof(float), "source");
    ovstage_placement_t to = Place(writer, written), from = Place(reader, readable),
                        from_there = Place(reader_there, readable_there, 1),
                        again = Place(reader_there, readable_again, 1);
    for (uint64_t ordinal = 1; ordinal <= WARM_FRAMES + FRAMES; ordinal++) {
        if (ordinal > 1) { // who writes over the source waits until it was read
            FR_SIM_OK(cu->cuStreamWaitEvent(producer, written, 0));
        }
        Produce(producer, data, ROWS, static_cast<float>(ordinal));
        FR_SIM_OK(cu->cuEventRecord(produced, producer));
        Count("write", [&] {
            stage.finish(
                Write(stage, query, attribute, ordinal, data, ROWS, {0, Handle(produced)}, &to));
        });
        Count("seal", [&] { stage.finish(stage.seal(ordinal)); });
        Count("read", [&] { Take(stage, query, attribute, ordinal, &from); });
        Count("read on another device",
              [&] { Take(stage, query, attribute, ordinal, &from_there); });
        Count("read there again", [&] { Take(stage, query, attribute, ordinal, &again); });
        EXPECT_TRUE(fr_sim_drain());
        if (ordinal <= WARM_FRAMES)
            continue;
        // A wait for what is over already is left out.
        EXPECT_LE(Submitted(made["write"]), 7u);
        EXPECT_EQ(Submitted(made["seal"]), 0u);
        EXPECT_LE(Submitted(made["read"]), 3u);
        EXPECT_LE(Submitted(made["read on another device"]), 4u);
        EXPECT_EQ(made["read on another device"]["cuMemcpyPeerAsync"], 1u);
        EXPECT_LE(Submitted(made["read there again"]), 3u);
        EXPECT_EQ(made["read there again"].count("cuMemcpyPeerAsync"), 0u);
        for (const auto &what : made)
            for (const char *maker : makers)
                EXPECT_EQ(what.second.count(maker), 0u) << what.first << ": " << maker;
    }
    if (GetParam().mode == FR_SIM_LAZY)
        Tell();
}

PLACEMENT_ORDERS(Figures);

} // namespace
