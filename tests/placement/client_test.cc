// What a client keeps of its own: its contexts, its streams; and the end of an instance.
#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "tests/placement/placement_fixture.h"
#include "tests/support/maps.h"

namespace
{

class PlacementClient : public PlacementTest
{
};

TEST_P(PlacementClient, CallsLeaveTheContext)
{
    client::Stage stage(0); // all on this thread
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream stream = Stream("client");
    fr_cu_event written = Event(), readable = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t write_placement = Place(stream, written),
                        read_placement = Place(stream, readable);
    Produce(stream, data, 3, 1);
    uint64_t ordinal = 0;
    for (fr_cu_context context : {contexts[0], contexts[1], static_cast<fr_cu_context>(nullptr)}) {
        auto still = [&](const char *what) {
            fr_cu_context now = nullptr;
            EXPECT_EQ(cu->cuCtxGetCurrent(&now), 0u);
            EXPECT_EQ(now, context) << what;
        };
        ordinal++;
        FR_SIM_OK(cu->cuCtxSetCurrent(context));
        ovstage_enqueue_result_t write =
            Write(stage, query, attribute, ordinal, data, 3, {Handle(stream), 0}, &write_placement);
        still("a write");
        stage.finish(write);
        still("a wait that runs it");
        stage.finish(stage.seal(ordinal));
        ovstage_read_handle_t read = 0;
        stage.finish(Read(stage, query, attribute, ordinal, &read_placement, &read));
        still("a read");
        stage.finish(ovstage_release_read(stage.instance, read));
        still("a release");
    }
    stage.destroy();
    FR_SIM_OK(cu->cuCtxSetCurrent(contexts[0]));
}

// The extension and NULL placements need no device.
TEST_P(PlacementClient, WithoutAPlacementNoDeviceIsUsed)
{
    uint64_t retains = fr_sim_calls("cuDevicePrimaryCtxRetain"),
             streams = fr_sim_calls("cuStreamCreate"
                                    "WithPriority");
    client::Stage stage(1);
    const ovstage_placement_extension_v1_t *table = nullptr;
    ASSERT_EQ(ovstage_query_placement_extension(stage.instance, &table), OVSTAGE_OK);
    EXPECT_EQ(table->version, OVSTAGE_PLACEMENT_EXTENSION_VERSION);
    ovstage_query_handle_t query = stage.query(2);
    ovx_token_t attribute = stage.token("values");
    const std::vector<float> values = {1, 2};
    int64_t count = 2;
    DLTensor tensor{
        const_cast<float *>(values.data()), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0};
    ovstage_write_data_t data = {};
    data.tensors = &tensor;
    data.tensor_count = 1;
    const ovstage_placement_t host = OVSTAGE_PLACEMENT_INIT;
    uint64_t ordinal = 0;
    for (const ovstage_placement_t *placement :
         {static_cast<const ovstage_placement_t *>(nullptr), &host}) {
        ordinal++;
        auto *context = stage.instance->context;
        stage.finish(table->write_attribute(context, query, ovx_string_or_token_t{attribute, {}},
                                            ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, placement));
        stage.finish(stage.seal(ordinal));
        ovstage_read_handle_t read = 0;
        stage.finish(table->read_attributes(context, query, &attribute, 1, {0, ordinal, false},
                                            placement, &read));
        ovstage_read_group_t group = {};
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK);
        EXPECT_EQ(std::memcmp(group.data.tensors[0].data, values.data(), 8), 0);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        ovstage_map_desc_t desc = {};
        desc.attribute = ovx_string_or_token_t{attribute, {}};
        ovstage_map_handle_t map = 0;
        stage.finish(
            table->map_attribute(context, query, &desc, ordinal + 10, nullptr, 0, placement, &map));
        stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
    }
    EXPECT_EQ(fr_sim_calls("cuDevicePrimaryCtxRetain"), retains);
    EXPECT_EQ(fr_sim_calls("cuStreamCreateWithPriority"), streams);
}

// D20: destroy waits for device work, which uses its memory.
TEST_P(PlacementClient, DestroyWaitsForDeviceWork)
{
    for (bool sealed : {false, true}) {
        client::Stage stage(0);
        fr_cu_stream producer = Stream("held producer");
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
        ovstage_placement_t placement = Place(nullptr, Event());
        fr_sim_hold(producer, true);
        Produce(producer, data, 3, 1);
        stage.finish(Write(stage, stage.query(3), stage.token("values"), 1, data, 3,
                           {Handle(producer), 0}, &placement));
        if (sealed)
            stage.finish(stage.seal(1));
        std::atomic<bool> destroyed = false;
        const uint64_t looks = fr_sim_calls("cuEventQuery");
        std::thread destroys([&] {
            stage.destroy();
            destroyed = true;
        });
        while (!destroyed && fr_sim_calls("cuEventQuery") < looks + 50) // it looks, and waits
            std::this_thread::yield();
        EXPECT_FALSE(destroyed);
        fr_sim_hold(producer, false);
        destroys.join();
    }
}

// What tasks do with the stream that they are handed.
struct InAStream {
    std::function<void(const flyrail_task_context_t &)> body;
};

ovstage_api_status_t RunInAStream(const flyrail_task_context_t *context, void *user)
{
    static_cast<InAStream *>(user)->body(*context);
    return OVSTAGE_OK;
}

class TaskStreams : public PlacementClient
{
  protected:
    // On the thread of a task, whose context is the client's own matter.
    void ProduceThere(const flyrail_task_context_t &context, fr_cu_device_ptr to, float first)
    {
        fr_cu_context before = nullptr;
        EXPECT_EQ(cu->cuCtxGetCurrent(&before), 0u);
        EXPECT_EQ(cu->cuCtxSetCurrent(contexts[0]), 0u);
        Produce(reinterpret_cast<fr_cu_stream>(context.stream), to, 3, first);
        EXPECT_EQ(cu->cuCtxSetCurrent(before), 0u);
    }

    // From here on the instance has used a device.
    void UseADevice(const client::Stage &stage)
    {
        fr_cu_stream producer = Stream("producer");
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "first source");
        ovstage_placement_t none = Place(nullptr, nullptr);
        Produce(producer, data, 3, 1);
        stage.finish(Write(stage, stage.query(3), stage.token("first"), 1, data, 3,
                           {Handle(producer), 0}, &none));
    }

    std::vector<float> Copied(fr_cu_stream stream, fr_cu_device_ptr from)
    {
        std::vector<float> values(3);
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(values.data(), from, 3 * sizeof(float), stream), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(stream), 0u);
        return values;
    }
};

// The lane goes on behind what a task has put into its stream; so do the tasks that depend on it.
TEST_P(TaskStreams, WhatComesBehindATaskComesBehindItsWork)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"),
                         more = Memory(3 * sizeof(float), "more");
        InAStream on_host = {[&](const flyrail_task_context_t &context) {
            EXPECT_EQ(context.device.device_type, kDLCPU);
            EXPECT_EQ(context.stream, 0u);
        }};
        stage.finish(client::task(stage, 2, RunInAStream, &on_host));
        UseADevice(stage);
        InAStream produces = {[&](const flyrail_task_context_t &context) {
            EXPECT_EQ(context.device.device_type, kDLCUDA);
            EXPECT_EQ(context.device.device_id, 0);
            ProduceThere(context, data, 5);
        }};
        ovstage_enqueue_result_t task = client::task(stage, 2, RunInAStream, &produces);
        ovstage_placement_t placement = Place(nullptr, Event());
        stage.finish(Write(stage, query, attribute, 2, data, 3, {0, 0}, &placement));
        stage.finish(task);
        InAStream first = {
            [&](const flyrail_task_context_t &context) { ProduceThere(context, more, 8); }};
        fr_cu_stream other = Stream("other");
        std::vector<float> seen;
        InAStream second = {[&](const flyrail_task_context_t &) {
            fr_cu_context before = nullptr;
            EXPECT_EQ(cu->cuCtxGetCurrent(&before), 0u);
            EXPECT_EQ(cu->cuCtxSetCurrent(contexts[0]), 0u);
            seen = Copied(other, more); // whose stream waits for nothing
            EXPECT_EQ(cu->cuCtxSetCurrent(before), 0u);
        }};
        ovstage_enqueue_result_t fills = client::task(stage, 0, RunInAStream, &first);
        flyrail_task_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.struct_size = sizeof(desc);
        desc.fn = RunInAStream;
        desc.user = &second;
        desc.deps = &fills.op_index;
        desc.dep_count = 1;
        stage.finish(flyrail_submit_task(stage.instance, &desc));
        stage.finish(fills);
        EXPECT_EQ(seen, (std::vector<float>{8, 9, 10}));
        stage.finish(stage.seal(2));
        EXPECT_EQ(stage.read(query, attribute, 2), (std::vector<float>{5, 6, 7}));
    }
}

// Its end is told by what is recorded behind it: a device that cannot be entered for that is
// entered once more, and what comes behind the task still comes behind its work.
TEST_P(TaskStreams, ADeviceThatIsNotEnteredAtOnce)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, Event());
    UseADevice(stage);
    const uint64_t streams = fr_sim_calls("cuStreamCreateWithPriority");
    for (uint64_t ordinal = 2; ordinal < 6; ordinal++) {
        auto first = static_cast<float>(10 * ordinal);
        InAStream produces = {[&](const flyrail_task_context_t &context) {
            ProduceThere(context, data, first);
            EXPECT_TRUE(
                fr_sim_fail_call("cuThreadExchangeStreamCaptureMode", 1, FR_CU_ERROR_UNKNOWN));
        }};
        stage.finish(client::task(stage, ordinal, RunInAStream, &produces));
        EXPECT_FALSE(fr_sim_faults_pending());
        stage.finish(Write(stage, query, attribute, ordinal, data, 3, {0, 0}, &placement));
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(stage.read(query, attribute, ordinal),
                  (std::vector<float>{first, first + 1, first + 2}));
    }
    // Nor is any stream lost: each task has the first one's, or another that was there.
    EXPECT_LE(fr_sim_calls("cuStreamCreateWithPriority") - streams, 3u);
}

// The work of a task may stall: its lane waits, and no thread does.
TEST_P(TaskStreams, ATaskThatStallsHoldsNoThread)
{
    client::Stage stage(1);
    ovx_token_t attribute = stage.token("values");
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    const std::vector<float> values = {1, 2, 3};
    UseADevice(stage);
    std::atomic<fr_cu_stream> held = nullptr;
    InAStream stalls = {[&](const flyrail_task_context_t &context) {
        held = reinterpret_cast<fr_cu_stream>(context.stream);
        fr_sim_hold(held, true);
        ProduceThere(context, data, 1);
    }};
    ovstage_enqueue_result_t task = client::task(stage, 2, RunInAStream, &stalls),
                             behind = stage.write(stage.query(3), attribute, 2, values);
    stage.finish(stage.write(stage.query(3), attribute, 3, values));
    std::atomic<bool> has_run = false;
    InAStream runs = {[&](const flyrail_task_context_t &) { has_run = true; }};
    while (!held) // others run while that one has
        stage.finish(client::task(stage, 0, RunInAStream, &runs));
    stage.finish(client::task(stage, 0, RunInAStream, &runs));
    EXPECT_TRUE(has_run);
    ovstage_op_wait_result_t outcome = {};
    for (uint64_t id : {task.op_index, behind.op_index})
        EXPECT_EQ(ovstage_wait_op(stage.instance, id, 1000, &outcome), OVSTAGE_ERROR_TIMEOUT);
    fr_sim_hold(held, false);
    stage.finish(task);
    stage.finish(behind);
}

PLACEMENT_ORDERS(TaskStreams);

// Streams by name: 1 is the legacy default stream, 2 the calling thread's own; others are handles.
class StreamNames : public PlacementClient
{
  protected:
    // In the call's thread, of which 2 speaks.
    void OneWrite(const client::Stage &stage, fr_cu_stream producer, uint64_t ordinal,
                  fr_cu_device_ptr data)
    {
        ovstage_placement_t placement = Place(nullptr, nullptr);
        Produce(producer, data, 3, static_cast<float>(10 * ordinal));
        if (producer == nullptr) { // without a name nothing is waited for
            EXPECT_EQ(cu->cuStreamSynchronize(FR_CU_STREAM_LEGACY), 0u);
        }
        stage.finish(Write(stage, stage.query(3), stage.token("values"), ordinal, data, 3,
                           {Handle(producer), 0}, &placement));
    }
};

TEST_P(StreamNames, TheWriteWaitsForEachNameOfAStream)
{
    client::Stage stage(2);
    fr_cu_device_ptr data[6];
    for (fr_cu_device_ptr &memory : data)
        memory = Memory(3 * sizeof(float), "source");
    OneWrite(stage, nullptr, 1, data[0]);
    OneWrite(stage, FR_CU_STREAM_LEGACY, 2, data[1]);
    OneWrite(stage, FR_CU_STREAM_PER_THREAD, 3, data[2]);
    OneWrite(stage, Stream("handle"), 4, data[3]);
    std::vector<std::thread> threads; // each with a default stream of its own
    for (uint64_t k : {5, 6})
        threads.emplace_back([&, k] {
            EXPECT_EQ(cu->cuCtxSetCurrent(contexts[0]), 0u);
            OneWrite(stage, FR_CU_STREAM_PER_THREAD, k, data[k - 1]);
        });
    for (std::thread &thread : threads)
        thread.join();
    for (uint64_t ordinal = 1; ordinal <= 6; ordinal++) {
        auto first = static_cast<float>(10 * ordinal);
        stage.finish(stage.seal(ordinal));
        EXPECT_EQ(stage.read(stage.query(3), stage.token("values"), ordinal),
                  (std::vector<float>{first, first + 1, first + 2}));
    }
}

// What another thread has in its default stream is no concern of a call's 2.
TEST_P(StreamNames, APerThreadStreamIsTheCallersAlone)
{
    client::Stage stage(1);
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"),
                     late = Memory(3 * sizeof(float), "late");
    std::promise<void> stalled, over;
    fr_cu_stream held = Stream("held");
    fr_cu_event never = Event();
    fr_sim_hold(held, true);
    Produce(held, late, 3, 0);
    FR_SIM_OK(cu->cuEventRecord(never, held));
    std::thread other([&] {
        EXPECT_EQ(cu->cuCtxSetCurrent(contexts[0]), 0u);
        EXPECT_EQ(cu->cuStreamWaitEvent(FR_CU_STREAM_PER_THREAD, never, 0), 0u);
        stalled.set_value();
        over.get_future().wait();
    });
    stalled.get_future().wait();
    OneWrite(stage, FR_CU_STREAM_PER_THREAD, 1, data); // is complete
    fr_sim_hold(held, false);
    over.set_value();
    other.join();
}

// A client captures a graph, in the mode that forbids the most to others, while a frame goes
// through the stage: neither spoils the other.
TEST_P(StreamNames, ACaptureElsewhereIsNotSpoilt)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t attribute = stage.token("values");
        fr_cu_stream producer = Stream("producer"), capturing = Stream("capturing");
        fr_cu_event written = Event();
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"),
                         other = Memory(3 * sizeof(float), "of the graph");
        ovstage_placement_t placement = Place(nullptr, written), none = Place(nullptr, nullptr);
        fr_cu_graph graph = nullptr;
        Produce(producer, data, 3, 1);
        FR_SIM_OK(cu->cuStreamBeginCapture(capturing, FR_CU_CAPTURE_MODE_GLOBAL));
        Produce(capturing, other, 3, 5);
        for (uint64_t ordinal = 1; ordinal <= 3; ordinal++) {
            stage.finish(Write(stage, query, attribute, ordinal, data, 3, {Handle(producer), 0},
                               &placement));
            stage.finish(stage.seal(ordinal));
        }
        ovstage_map_desc_t desc = {};
        desc.attribute = ovx_string_or_token_t{attribute, {}};
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        stage.finish(ovstage_map_attribute_on_device(stage.instance, query, &desc, 4, nullptr, 0,
                                                     &none, &map));
        EXPECT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
        stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
        EXPECT_EQ(stage.read(query, attribute, 3), (std::vector<float>{1, 2, 3}));
        EXPECT_EQ(cu->cuStreamEndCapture(capturing, &graph), 0u);
        FR_SIM_OK(cu->cuGraphDestroy(graph));
        // Nothing of the graph has run, and what captures is refused.
        FR_SIM_OK(cu->cuStreamBeginCapture(capturing, FR_CU_CAPTURE_MODE_RELAXED));
        EXPECT_EQ(
            Write(stage, query, attribute, 5, data, 3, {Handle(capturing), 0}, &placement).status,
            OVSTAGE_ERROR_INVALID_ARGUMENT);
        EXPECT_NE(client::last_error().find("captures a graph"), std::string::npos);
        EXPECT_EQ(cu->cuStreamEndCapture(capturing, &graph), 0u);
        FR_SIM_OK(cu->cuGraphDestroy(graph));
    }
}

PLACEMENT_ORDERS(StreamNames);

// A map's op that is reported behind device work of its ordinal: its failure is the unmap's cause.
TEST_P(PlacementClient, AMapThatFailsBehindDeviceWork)
{
    const std::vector<float> values = {1, 2, 3};
    client::Stage stage(2);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("points");
    fr_cu_stream producer = Stream("stalled producer");
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, nullptr);
    client::Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 5);
    fr_sim_hold(producer, true);
    Produce(producer, data, 3, 1);
    ovstage_enqueue_result_t on_device =
        Write(stage, query, stage.token("values"), 5, data, 3, {Handle(producer), 0}, &placement);
    ovstage_enqueue_result_t first = stage.write(query, attribute, 5, values);
    ovstage_map_desc_t desc = client::description(attribute);
    desc.prim_mode = OVSTAGE_PRIM_MODE_INSERT;
    ovstage_map_handle_t map = 0;
    ovstage_enqueue_result_t mapped =
        ovstage_map_attribute(stage.instance, query, &desc, 5, nullptr, 0, &map);
    ASSERT_EQ(mapped.status, OVSTAGE_OK) << client::last_error();
    gate.let_go();
    ovstage_map_group_t group = {};
    EXPECT_NE(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
    ovstage_enqueue_result_t unmapped = ovstage_unmap_attribute(stage.instance, map, {0, 0});
    ASSERT_EQ(unmapped.status, OVSTAGE_OK) << client::last_error();
    fr_sim_hold(producer, false);
    ovstage_op_wait_result_t outcome = {};
    EXPECT_EQ(ovstage_wait_op(stage.instance, unmapped.op_index, client::forever, &outcome),
              OVSTAGE_OK);
    ASSERT_GE(outcome.error_op_id_count, 1u);
    const ovstage_op_id_t *ids = outcome.error_op_ids;
    EXPECT_TRUE(std::count(ids, ids + outcome.error_op_id_count, mapped.op_index) == 1);
    for (const ovstage_enqueue_result_t &result : {unmapped, mapped})
        EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
    for (const ovstage_enqueue_result_t &result : {held, on_device, first})
        stage.finish(result);
}

PLACEMENT_ORDERS(PlacementClient);

} // namespace
