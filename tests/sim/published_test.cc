// Faults of order that were published of other libraries, each in the way that was wrong and in the
// right one: the first is always reported, the second never.
#include <thread>

#include "tests/sim/sim_fixture.h"

namespace
{

enum { SIZE = 1024 };

class SimPublished : public Sim
{
  protected:
    fr_cu_stream a = nullptr, b = nullptr, c = nullptr;
    fr_cu_event event = nullptr;
    fr_cu_device_ptr memory = 0;
    char *out = nullptr;

    void SetUp() override
    {
        reports_are_meant = true;
        options.pageable = FR_SIM_PAGEABLE_LATE;
        Sim::SetUp();
    }

    void Make()
    {
        Open();
        a = Stream("a");
        b = Stream("b");
        c = Stream("c");
        event = Event();
        memory = Memory(SIZE);
        out = static_cast<char *>(Pinned(SIZE));
        EXPECT_EQ(cu->cuMemsetD8Async(memory, 0, SIZE, a), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(a), 0u);
    }

    void Write(fr_cu_stream stream, unsigned char value = 1)
    {
        EXPECT_EQ(cu->cuMemsetD8Async(memory, value, SIZE, stream), 0u);
    }

    void Read(fr_cu_stream stream)
    {
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(out, memory, SIZE, stream), 0u);
    }

    void Record(fr_cu_event which, fr_cu_stream stream)
    {
        EXPECT_EQ(cu->cuEventRecord(which, stream), 0u);
    }

    void Wait(fr_cu_stream stream, fr_cu_event which)
    {
        EXPECT_EQ(cu->cuStreamWaitEvent(stream, which, 0), 0u);
    }

    // The wrong way and the right one, lazy, eager, and with seeds.
    template <class Body> void Both(Body body)
    {
        std::vector<uint64_t> seeds = SimSeeds(20);
        for (size_t i = 0; i < seeds.size() + 2; i++) {
            options.mode = i == 0 ? FR_SIM_LAZY : i == 1 ? FR_SIM_EAGER : FR_SIM_RANDOM;
            options.seed = i < 2 ? seeds[0] : seeds[i - 2];
            for (bool right : {false, true}) {
                SCOPED_TRACE(std::string(right ? "right" : "wrong") + ", mode " +
                             std::to_string(options.mode) +
                             ", FR_SIM_SEED=" + std::to_string(options.seed));
                Make();
                body(right);
                EXPECT_TRUE(fr_sim_drain());
                EXPECT_EQ(fr_sim_report_count() == 0, right) << SimReports();
                if (HasFailure())
                    return;
            }
        }
    }
};

TEST_F(SimPublished, T01_OneEventForSeveralStreamsKeepsTheLastRecordOnly)
{
    Both([&](bool right) {
        fr_cu_event own = Event();
        Write(a);
        Record(right ? own : event, a);
        Record(event, b);
        Wait(c, event);
        if (right)
            Wait(c, own);
        Read(c);
    });
}

TEST_F(SimPublished, T02_AnEventIsRecordedAgainBeforeItIsWaitedFor)
{
    Both([&](bool right) {
        Write(a);
        Record(event, a);
        if (right)
            Wait(c, event); // at once, in the call that was given the event
        Record(event, b);   // the next frame
        if (!right)
            Wait(c, event);
        Read(c);
    });
}

TEST_F(SimPublished, T03_WorkOfAStreamThatWasNamedIsNotWaitedFor)
{
    Both([&](bool right) {
        Write(a);
        if (right) {
            Record(event, a);
            Wait(b, event);
        }
        Read(b);
    });
}

TEST_F(SimPublished, T05_APageableSourceIsUsedAgainAtOnce)
{
    std::vector<char> source(SIZE);
    Both([&](bool right) {
        source[0] = 1;
        EXPECT_EQ(cu->cuMemcpyHtoDAsync(memory, source.data(), SIZE, a), 0u);
        EXPECT_EQ(right ? cu->cuStreamSynchronize(a) : 0, 0u) << "or a copy of its own";
        // Eager, the copy is over: what is left is the reader that does not wait.
        source[0] = 2;
        if (right) {
            Record(event, a);
            Wait(b, event);
        }
        Read(b);
    });
}

TEST_F(SimPublished, T06_StagingGoesBackTooEarly)
{
    Both([&](bool right) {
        fr_cu_device_ptr other = Memory(SIZE);
        char *staging = static_cast<char *>(Pinned(SIZE));
        std::memset(staging, 1, SIZE);
        EXPECT_EQ(cu->cuMemcpyHtoDAsync(memory, staging, SIZE, a), 0u);
        Record(event, a);
        EXPECT_EQ(right ? cu->cuEventSynchronize(event) : 0, 0u) << "and no sooner";
        // The next owner brings something down into it, by another stream.
        EXPECT_EQ(cu->cuMemsetD8Async(other, 5, SIZE, b), 0u);
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(staging, other, SIZE, b), 0u);
    });
}

TEST_F(SimPublished, T08_NamesOfStreamsMeanStreams)
{
    for (fr_cu_stream name : {FR_CU_STREAM_LEGACY, FR_CU_STREAM_PER_THREAD}) {
        Both([&](bool right) {
            Write(name);
            if (right) { // taken for "nothing to wait for" otherwise
                Record(event, name);
                Wait(b, event);
            }
            Read(b);
        });
    }
}

TEST_F(SimPublished, T08_TheCallersOwnStreamIsAnotherOneOnAWorker)
{
    Both([&](bool right) {
        Write(FR_CU_STREAM_PER_THREAD);
        if (right)
            Record(event, FR_CU_STREAM_PER_THREAD);
        std::thread([&] {
            EXPECT_EQ(cu->cuCtxSetCurrent(contexts[0]), 0u);
            if (!right)
                Record(event, FR_CU_STREAM_PER_THREAD); // the worker's
            Wait(b, event);
            Read(b);
        }).join();
    });
}

TEST_F(SimPublished, T10_AWorkerIsOnAnotherDevice)
{
    Both([&](bool right) {
        Use(1);
        fr_cu_event theirs = Event();
        Use(0);
        Write(a);
        fr_cu_result result = cu->cuEventRecord(right ? event : theirs, a);
        EXPECT_EQ(result, right ? 0u : (fr_cu_result)FR_CU_ERROR_INVALID_HANDLE);
    });
}

TEST_F(SimPublished, T12_TheUploadOfTheIndexIsNotWaitedFor)
{
    Both([&](bool right) {
        enum { ROWS = 64 };
        fr_cu_device_ptr index = Memory(ROWS * 4), source = Memory(ROWS * 4);
        uint32_t *rows = static_cast<uint32_t *>(Pinned(ROWS * 4));
        for (uint32_t i = 0; i < ROWS; i++)
            rows[i] = ROWS - 1 - i;
        EXPECT_EQ(cu->cuMemsetD8Async(index, 0, ROWS * 4, a), 0u);
        EXPECT_EQ(cu->cuMemsetD8Async(source, 1, ROWS * 4, a), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(a), 0u);
        EXPECT_EQ(cu->cuMemcpyHtoDAsync(index, rows, ROWS * 4, b), 0u);
        Record(event, b);
        if (right)
            Wait(a, event);
        EXPECT_EQ(MoveWords(a, memory, source, ROWS, 1, index), 0u);
    });
}

TEST_F(SimPublished, T13_ThePayloadIsOverwrittenBeforeItIsTaken)
{
    Both([&](bool right) {
        fr_cu_device_ptr payload = Memory(SIZE);
        EXPECT_EQ(cu->cuMemsetD8Async(payload, 1, SIZE, a), 0u);
        Record(event, a);
        Wait(b, event);
        EXPECT_EQ(cu->cuMemcpyDtoDAsync(memory, payload, SIZE, b), 0u);
        fr_cu_event taken = Event();
        Record(taken, b);
        EXPECT_EQ(right ? cu->cuEventSynchronize(taken) : 0, 0u) << "complete: it is taken";
        EXPECT_EQ(cu->cuMemsetD8Async(payload, 2, SIZE, a), 0u);
    });
}

TEST_F(SimPublished, T14_MemoryIsGivenAgainUnderAReader)
{
    Both([&](bool right) {
        fr_cu_memory_pool pool = Pool(0, true, false, false);
        fr_cu_event read = Event();
        EXPECT_EQ(cu->cuMemAllocFromPoolAsync(&memory, SIZE, pool, a), 0u);
        Write(a, 1);
        Record(event, a);
        Wait(b, event);
        Read(b);
        Record(read, b);
        if (right)
            Wait(a, read);
        EXPECT_EQ(cu->cuMemFreeAsync(memory, a), 0u);
        EXPECT_EQ(cu->cuMemAllocFromPoolAsync(&memory, SIZE, pool, a), 0u);
        Write(a, 2);
    });
}

} // namespace
