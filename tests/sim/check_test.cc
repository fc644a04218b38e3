// The checker is exact: every wait that is left out is reported, in every order of work, and
// nothing else is.
#include "tests/sim/sim_fixture.h"

namespace
{

// Section: produce on one stream, scatter on the next, read back on a third.

enum { ROWS = 64, BYTES = ROWS * 4 };

struct Edge {
    const char *name;
    const char *first, *second; // the streams that a report must name
};

// Each of them is needed: the pipeline has one wait for each, and three frames.
const Edge edges[] = {
    {"index upload before scatter", "upload", "scatter"},
    {"producer before scatter", "producer", "scatter"},
    {"scatter before reader", "scatter", "reader"},
    {"scatter before next producer", "producer", "scatter"},
    {"reader before next scatter", "reader", "scatter"},
    {"scatter before next index upload", "scatter", "upload"},
};
enum { EDGES = sizeof edges / sizeof edges[0], NOTHING_OMITTED = -1 };

void Produce(fr_sim_launch *launch, void **arguments)
{
    fr_cu_device_ptr address;
    uint32_t first;
    std::memcpy(&address, arguments[0], sizeof address);
    std::memcpy(&first, arguments[1], sizeof first);
    uint32_t *rows = static_cast<uint32_t *>(fr_sim_write(launch, address, BYTES));
    for (uint32_t i = 0; rows && i < ROWS; i++)
        rows[i] = first + i;
}

class SimCheck : public Sim
{
  protected:
    fr_cu_stream upload, producer, scatter, reader;
    fr_cu_event events[EDGES];
    fr_cu_device_ptr source, store, index;
    fr_cu_function produce_kernel;
    uint32_t wrong;

    void SetUp() override
    {
        reports_are_meant = true;
        options.pageable = FR_SIM_PAGEABLE_LATE; // a copy that the call waits for is an order
        const uint32_t sizes[] = {8, 4};
        ASSERT_TRUE(fr_sim_register_kernel("produce", Produce, 2, sizes));
        Sim::SetUp();
    }

    void Make()
    {
        Open();
        upload = Stream("upload");
        producer = Stream("producer");
        scatter = Stream("scatter");
        reader = Stream("reader");
        for (fr_cu_event &event : events)
            event = Event();
        source = Memory(BYTES, "source");
        store = Memory(BYTES, "store");
        index = Memory(BYTES, "index");
        // As after earlier frames: rows that are not there yet are no address outside of the store.
        for (fr_cu_device_ptr memory : {source, store, index})
            EXPECT_EQ(cu->cuMemsetD8Async(memory, 0, BYTES, upload), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(upload), 0u);
        produce_kernel = Kernel("produce");
        wrong = 0;
    }

    // The event is recorded in any case: it is the wait that may be missing.
    void After(int edge, fr_cu_stream stream)
    {
        EXPECT_EQ(cu->cuEventRecord(events[edge], stream), 0u);
    }

    void Before(int edge, fr_cu_stream stream, int omitted)
    {
        EXPECT_EQ(edge == omitted ? 0 : cu->cuStreamWaitEvent(stream, events[edge], 0), 0u);
    }

    void Frame(uint32_t frame, int omitted, uint32_t *rows, uint32_t *out)
    {
        uint32_t first = 1000 * (frame + 1);
        for (uint32_t i = 0; i < ROWS; i++)
            rows[i] = (i * 7 + frame) % ROWS;
        if (frame > 0)
            Before(5, upload, omitted);
        EXPECT_EQ(cu->cuMemcpyHtoDAsync(index, rows, BYTES, upload), 0u);
        After(0, upload);
        if (frame > 0)
            Before(3, producer, omitted);
        void *produce_arguments[] = {&source, &first};
        EXPECT_EQ(Launch(produce_kernel, producer, produce_arguments), 0u);
        After(1, producer);
        Before(0, scatter, omitted);
        Before(1, scatter, omitted);
        if (frame > 0)
            Before(4, scatter, omitted);
        EXPECT_EQ(MoveWords(scatter, store, source, ROWS, 1, index), 0u);
        After(2, scatter);
        After(3, scatter);
        After(5, scatter);
        Before(2, reader, omitted);
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(out, store, BYTES, reader), 0u);
        After(4, reader);
    }

    void Run(int omitted)
    {
        enum { FRAMES = 3 };
        uint32_t *rows = static_cast<uint32_t *>(Pinned(FRAMES * BYTES));
        uint32_t *out = static_cast<uint32_t *>(Pinned(FRAMES * BYTES));
        std::memset(out, 0, FRAMES * BYTES);
        for (uint32_t frame = 0; frame < FRAMES; frame++)
            Frame(frame, omitted, rows + frame * ROWS, out + frame * ROWS);
        EXPECT_EQ(cu->cuStreamSynchronize(reader), 0u);
        EXPECT_TRUE(fr_sim_drain());
        for (uint32_t frame = 0; frame < FRAMES; frame++)
            for (uint32_t i = 0; i < ROWS; i++)
                wrong += out[frame * ROWS + (i * 7 + frame) % ROWS] != 1000 * (frame + 1) + i;
    }

    // The first report names both sides.
    void ExpectReported(const Edge &edge)
    {
        EXPECT_GE(fr_sim_report_count(), 1u);
        std::string all = SimReports();
        EXPECT_NE(all.find("'" + std::string(edge.first) + "'"), std::string::npos) << all;
        EXPECT_NE(all.find("'" + std::string(edge.second) + "'"), std::string::npos) << all;
    }
};

TEST_F(SimCheck, NothingLeftOutNothingReported)
{
    for (int mode = FR_SIM_LAZY; mode <= FR_SIM_EAGER; mode++) {
        options.mode = (fr_sim_mode)mode;
        Make();
        Run(NOTHING_OMITTED);
        EXPECT_EQ(wrong, 0u);
        EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
    }
}

TEST_F(SimCheck, NothingLeftOutNothingReportedWithAnySeed)
{
    options.mode = FR_SIM_RANDOM;
    for (uint64_t seed : SimSeeds(200)) {
        SCOPED_TRACE("FR_SIM_SEED=" + std::to_string(seed));
        options.seed = seed;
        Make();
        Run(NOTHING_OMITTED);
        ASSERT_EQ(wrong, 0u);
        ASSERT_EQ(fr_sim_report_count(), 0u) << SimReports();
    }
}

TEST_F(SimCheck, EachWaitLeftOutIsReportedLazy)
{
    for (int edge = 0; edge < EDGES; edge++) {
        SCOPED_TRACE(edges[edge].name);
        Make();
        Run(edge);
        ExpectReported(edges[edge]);
    }
}

TEST_F(SimCheck, EachWaitLeftOutIsReportedEager)
{
    options.mode = FR_SIM_EAGER; // the data is right, and it is reported all the same
    for (int edge = 0; edge < EDGES; edge++) {
        SCOPED_TRACE(edges[edge].name);
        Make();
        Run(edge);
        EXPECT_EQ(wrong, 0u);
        ExpectReported(edges[edge]);
    }
}

TEST_F(SimCheck, EachWaitLeftOutIsReportedWithAnySeed)
{
    options.mode = FR_SIM_RANDOM;
    for (uint64_t seed : SimSeeds(200)) {
        for (int edge = 0; edge < EDGES; edge++) {
            SCOPED_TRACE(std::string(edges[edge].name) + ", FR_SIM_SEED=" + std::to_string(seed));
            options.seed = seed;
            Make();
            Run(edge);
            ExpectReported(edges[edge]);
            if (HasFailure())
                return;
        }
    }
}

TEST_F(SimCheck, LazyShowsTheWrongData)
{
    Make();
    Run(1); // the producer
    EXPECT_GT(wrong, 0u);
    Make();
    Run(2); // the scatter
    EXPECT_GT(wrong, 0u);
}

// Section: what it remembers of each byte.

TEST_F(SimCheck, AllReadersSinceTheLastWriteCount)
{
    enum { READERS = 9 };
    for (int forgotten = 0; forgotten < READERS; forgotten++) {
        Open();
        fr_cu_stream writer = Stream("writer"), readers[READERS];
        fr_cu_device_ptr memory = Memory(64);
        char out[READERS][64];
        FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, writer));
        fr_cu_event written = Event();
        FR_SIM_OK(cu->cuEventRecord(written, writer));
        for (int i = 0; i < READERS; i++) {
            readers[i] = Stream(("reader " + std::to_string(i)).c_str());
            FR_SIM_OK(cu->cuStreamWaitEvent(readers[i], written, 0));
            FR_SIM_OK(cu->cuMemcpyDtoHAsync(out[i], memory, 64, readers[i]));
            fr_cu_event read = Event();
            FR_SIM_OK(cu->cuEventRecord(read, readers[i]));
            FR_SIM_OK(i == forgotten ? 0 : cu->cuStreamWaitEvent(writer, read, 0));
        }
        FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 64, writer));
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(Count(FR_SIM_RACE), 1u) << SimReports();
        std::string name = "'reader " + std::to_string(forgotten) + "'";
        EXPECT_NE(SimReports().find(name), std::string::npos) << SimReports();
    }
}

TEST_F(SimCheck, AReaderOrderedAfterAnotherStandsForIt)
{
    fr_cu_stream a = Stream("a"), b = Stream("b"), writer = Stream("writer");
    fr_cu_event first = Event(), second = Event();
    fr_cu_device_ptr memory = Memory(64);
    char out[2][64];
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, 64, a));
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(out[0], memory, 64, a));
    FR_SIM_OK(cu->cuEventRecord(first, a));
    FR_SIM_OK(cu->cuStreamWaitEvent(b, first, 0));
    FR_SIM_OK(cu->cuMemcpyDtoHAsync(out[1], memory, 64, b));
    FR_SIM_OK(cu->cuEventRecord(second, b));
    FR_SIM_OK(cu->cuStreamWaitEvent(writer, second, 0));
    FR_SIM_OK(cu->cuMemsetD8Async(memory, 2, 64, writer));
    EXPECT_TRUE(fr_sim_drain());
    EXPECT_EQ(fr_sim_report_count(), 0u) << SimReports();
}

TEST_F(SimCheck, EveryByteHasItsOwnState)
{
    const size_t size = 3 * 4096 + 100;
    for (size_t at : {(size_t)0, (size_t)1, (size_t)4095, (size_t)4096, (size_t)8191, size - 1}) {
        Open();
        fr_cu_stream a = Stream("a"), b = Stream("b");
        fr_cu_event event = Event();
        fr_cu_device_ptr memory = Memory(size);
        FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, size, a));
        FR_SIM_OK(cu->cuEventRecord(event, a));
        FR_SIM_OK(cu->cuMemsetD8Async(memory + at, 2, 1, a)); // after the record
        FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
        std::vector<char> out(size);
        FR_SIM_OK(cu->cuMemcpyDtoHAsync(out.data(), memory, at, b));
        FR_SIM_OK(cu->cuMemcpyDtoHAsync(out.data(), memory + at + 1, size - at - 1, b));
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(fr_sim_report_count(), 0u) << at << SimReports();
        FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
        fr_sim_clear_reports();
    }
}

TEST_F(SimCheck, OneByteIsEnough)
{
    const size_t size = 3 * 4096 + 100;
    for (size_t at : {(size_t)0, (size_t)1, (size_t)4095, (size_t)4096, (size_t)8191, size - 1}) {
        Open();
        fr_cu_stream a = Stream("a"), b = Stream("b");
        fr_cu_event event = Event();
        fr_cu_device_ptr memory = Memory(size);
        FR_SIM_OK(cu->cuMemsetD8Async(memory, 1, size, a));
        FR_SIM_OK(cu->cuEventRecord(event, a));
        FR_SIM_OK(cu->cuMemsetD8Async(memory + at, 2, 1, a)); // after the record
        FR_SIM_OK(cu->cuStreamWaitEvent(b, event, 0));
        std::vector<char> out(size);
        FR_SIM_OK(cu->cuMemcpyDtoHAsync(out.data(), memory, size, b));
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(Count(FR_SIM_RACE), 1u) << at << SimReports();
        std::string name = "byte " + std::to_string(at) + " of";
        EXPECT_NE(SimReports().find(name), std::string::npos) << at << SimReports();
    }
}

// Section: random programs against a plain rule.

// Operations on one block of memory, on some streams, with waits at random. The host keeps for each
// operation the set of those before it, by the rules of streams and events alone.
struct Program {
    struct Step {
        uint32_t stream;
        bool writes;
        uint32_t first, count; // bytes
        uint64_t before;       // bits of steps
    };
    std::vector<Step> steps;
    uint64_t races = 0; // pairs in conflict that nothing orders

    static bool Overlap(const Step &a, const Step &b)
    {
        return a.first < b.first + b.count && b.first < a.first + a.count;
    }

    void Add(const Step &step)
    {
        for (size_t i = 0; i < steps.size(); i++)
            if (Overlap(steps[i], step) && (steps[i].writes || step.writes) &&
                !(step.before >> i & 1))
                races++;
        steps.push_back(step);
    }
};

uint64_t Next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

TEST_F(SimCheck, RandomProgramsAreReportedExactlyWhenTheyHaveARace)
{
    enum { STREAMS = 4, STEPS = 12, SIZE = 5000 };
    uint32_t with = 0, without = 0;
    for (uint64_t seed : SimSeeds(400)) {
        SCOPED_TRACE("FR_SIM_SEED=" + std::to_string(seed));
        uint64_t random = seed;
        options.mode = (fr_sim_mode)(seed % 3);
        options.seed = seed;
        Open();
        Program program;
        fr_cu_stream streams[STREAMS], start = Stream();
        fr_cu_event ready = Event(), records[STREAMS];
        uint64_t known[STREAMS] = {}, recorded[STREAMS] = {};
        fr_cu_device_ptr memory = Memory(SIZE);
        std::vector<char> out(SIZE);
        FR_SIM_OK(cu->cuMemsetD8Async(memory, 0, SIZE, start));
        FR_SIM_OK(cu->cuEventRecord(ready, start));
        for (int i = 0; i < STREAMS; i++) {
            streams[i] = Stream();
            records[i] = Event();
            FR_SIM_OK(cu->cuStreamWaitEvent(streams[i], ready, 0));
            FR_SIM_OK(cu->cuEventRecord(records[i], streams[i]));
        }
        for (uint32_t step = 0; step < STEPS; step++) {
            uint32_t s = (uint32_t)(Next(&random) % STREAMS);
            for (uint32_t e = 0; e < STREAMS; e++) {
                if (Next(&random) % 16 < (seed % 5 == 0 ? 4u : 15u)) {
                    FR_SIM_OK(cu->cuStreamWaitEvent(streams[s], records[e], 0));
                    known[s] |= recorded[e];
                }
            }
            uint32_t first = (uint32_t)(Next(&random) % SIZE);
            uint32_t count = 1 + (uint32_t)(Next(&random) % 64);
            count = first + count > SIZE ? SIZE - first : count;
            bool writes = Next(&random) % 2 == 0;
            if (Next(&random) % 4 != 0) { // most of them meet
                first = 4000;
                count = 200;
            }
            program.Add({s, writes, first, count, known[s]});
            known[s] |= (uint64_t)1 << step;
            if (writes)
                FR_SIM_OK(cu->cuMemsetD8Async(memory + first, 1, count, streams[s]));
            else
                FR_SIM_OK(
                    cu->cuMemcpyDtoHAsync(out.data() + first, memory + first, count, streams[s]));
            if (Next(&random) % 16 != 0) {
                FR_SIM_OK(cu->cuEventRecord(records[s], streams[s]));
                recorded[s] = known[s];
            }
        }
        ASSERT_TRUE(fr_sim_drain());
        // Copies to the same pageable bytes are no business of the checker.
        EXPECT_EQ(fr_sim_report_count() > 0, program.races > 0) << SimReports();
        (program.races > 0 ? with : without)++;
        if (HasFailure())
            return;
    }
    if (with + without > 1) {
        EXPECT_GT(with, (with + without) / 8);
        EXPECT_GT(without, (with + without) / 8);
    }
}

} // namespace
