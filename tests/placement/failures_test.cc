// What an operation leaves behind that fails on a device, and what it says.
#include <functional>
#include <thread>

#include "tests/placement/placement_fixture.h"
#include "tests/support/heap.h"

namespace
{

class Failures : public PlacementTest
{
  protected:
    // The text of an accepted op that fails.
    static std::string Text(const client::Stage &stage, ovstage_enqueue_result_t result)
    {
        EXPECT_EQ(result.status, OVSTAGE_OK) << client::last_error();
        ovstage_op_wait_result_t outcome = {};
        EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, client::forever, &outcome),
                  OVSTAGE_OK);
        EXPECT_EQ(outcome.error_op_id_count, 1u);
        std::string text = client::text(ovstage_get_last_op_error(stage.instance, result.op_index));
        EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
        return text;
    }
};

#define EXPECT_PART(part, text) EXPECT_NE((text).find(part), std::string::npos) << "in: " << (text)

// Not where a column lies, for instance.
TEST_P(Failures, AWriteThatFailsDecidesNothing)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, Event());
    const std::vector<float> values = {1, 2, 3};
    Produce(producer, data, 3, 1);
    ASSERT_TRUE(fr_sim_fail_call("cuMemcpyDtoDAsync", 1, FR_CU_ERROR_UNKNOWN));
    EXPECT_PART("cuMemcpyDtoDAsync", Text(stage, Write(stage, query, attribute, 1, data, 3,
                                                       {Handle(producer), 0}, &placement)));
    stage.finish(stage.write(query, attribute, 2, values));
    stage.finish(stage.seal(2));
    EXPECT_EQ(stage.read(query, attribute, 2), values);
}

// The device refuses memory, and dies of it.
TEST_P(Failures, WhatTheDeviceSaysIsTold)
{
    reports_are_meant = true; // of a dead device nothing is given back
    for (fr_cu_result code : {FR_CU_ERROR_UNKNOWN, FR_CU_ERROR_ILLEGAL_ADDRESS}) {
        client::Stage stage(0); // the op runs in the wait for it
        ovstage_query_handle_t query = stage.query(3);
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
        ovstage_placement_t placement = Place(nullptr, Event());
        ovstage_enqueue_result_t write =
            Write(stage, query, stage.token("values"), 1, data, 3, {0, 0}, &placement);
        ASSERT_TRUE(fr_sim_fail_call("cuMemAllocFromPoolAsync", 1, code));
        EXPECT_PART("cuMemAllocFromPoolAsync", Text(stage, write));
        EXPECT_FALSE(fr_sim_faults_pending());
    }
}

// Of one that died meanwhile, too, it is told what of.
TEST_P(Failures, WhatADeviceDiedOfIsTold)
{
    reports_are_meant = true;
    client::Stage stage(0); // the op runs in the poll
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream producer = Stream("producer");
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t none = Place(nullptr, nullptr);
    ovstage_op_wait_result_t outcome = {};
    ovstage_read_handle_t read = 0;
    fr_sim_hold(producer, true);
    Produce(producer, data, 3, 1);
    ovstage_enqueue_result_t write =
        Write(stage, query, attribute, 1, data, 3, {Handle(producer), 0}, &none);
    EXPECT_EQ(ovstage_wait_op(stage.instance, write.op_index, 0, &outcome), OVSTAGE_ERROR_TIMEOUT);
    fr_sim_fail_operation(0, 1, FR_CU_ERROR_ILLEGAL_ADDRESS);
    fr_sim_hold(producer, false);
    (void)fr_sim_drain();
    EXPECT_PART("CUDA_ERROR_ILLEGAL_ADDRESS", Text(stage, write));
    stage.finish(stage.seal(1));
    EXPECT_EQ(Read(stage, query, attribute, 1, nullptr, &read).status, OVSTAGE_ERROR_OP_FAILED);
    EXPECT_PART("CUDA_ERROR_ILLEGAL_ADDRESS", client::last_error());
}

// Who waits for the event of an op that failed before it had a stream goes on.
TEST_P(Failures, TheEventOfAFailedOpIsRecorded)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3), few = stage.query(1);
    ovx_token_t attribute = stage.token("values"), on_host = stage.token("on the host");
    fr_cu_stream stalled = Stream("stalled");
    fr_cu_event available = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"),
                     other = Memory(3 * sizeof(float), "other");
    ovstage_placement_t placement = Place(nullptr, available);
    auto fails = [&](ovstage_enqueue_result_t result, const char *part) {
        // Until then the event stands for what is not done.
        fr_sim_hold(stalled, true);
        Produce(stalled, other, 3, 1);
        FR_SIM_OK(cu->cuEventRecord(available, stalled));
        EXPECT_PART(part, Text(stage, result));
        (void)fr_sim_drain();
        EXPECT_EQ(cu->cuEventQuery(available), 0u) << part;
        fr_sim_hold(stalled, false);
        EXPECT_TRUE(fr_sim_drain());
    };
    ovstage_enqueue_result_t write = Write(stage, query, attribute, 1, data, 3, {0, 0}, &placement);
    ASSERT_TRUE(fr_sim_fail_call("cuStreamCreateWithPriority", 1, FR_CU_ERROR_UNKNOWN));
    fails(write, "cuStreamCreateWithPriority");
    // A read that is judged when it runs.
    stage.finish(stage.write(few, on_host, 1, {1}));
    ovstage_enqueue_result_t seal = stage.seal(1);
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t result = Read(stage, few, on_host, 1, &placement, &read);
    ASSERT_TRUE(fr_sim_fail_call("cuMemAllocFromPoolAsync", 1, FR_CU_ERROR_UNKNOWN));
    fails(result, "cuMemAllocFromPoolAsync");
    stage.finish(seal);
    stage.finish(ovstage_release_read(stage.instance, read));
}

// The event cannot be recorded, either.
TEST_P(Failures, BothFailuresAreTold)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, Event());
    ovstage_enqueue_result_t write =
        Write(stage, query, stage.token("values"), 1, data, 3, {0, 0}, &placement);
    ASSERT_TRUE(fr_sim_fail_call("cuMemcpyDtoDAsync", 1, FR_CU_ERROR_UNKNOWN));
    // 1: the memory's; 2: behind what the run has put into its stream
    ASSERT_TRUE(fr_sim_fail_call("cuEventRecord", 3, FR_CU_ERROR_UNKNOWN));
    std::string text = Text(stage, write);
    EXPECT_PART("cuMemcpyDtoDAsync", text);
    EXPECT_PART("availability_event", text);
    EXPECT_FALSE(fr_sim_faults_pending());
}

// The driver of the simulation, whose copies and records ask the test first: an answer other than 0
// is theirs.
const fr_cuda_driver *simulated;
std::function<fr_cu_result()> copies;
std::function<fr_cu_result(fr_cu_event, fr_cu_stream)> records;

fr_cu_result CopyIfAllowed(fr_cu_device_ptr to, fr_cu_device_ptr from, size_t size_bytes,
                           fr_cu_stream stream)
{
    fr_cu_result result = copies ? copies() : fr_cu_result{0};
    return result == 0 ? simulated->cuMemcpyDtoDAsync(to, from, size_bytes, stream) : result;
}

fr_cu_result RecordIfAllowed(fr_cu_event event, fr_cu_stream stream)
{
    fr_cu_result result = records ? records(event, stream) : fr_cu_result{0};
    return result == 0 ? simulated->cuEventRecord(event, stream) : result;
}

// With that driver.
class FailuresOfCalls : public Failures
{
  protected:
    fr_cuda_driver asking = {};

    void SetUp() override
    {
        Failures::SetUp();
        asking = *cu;
        asking.cuEventRecord = RecordIfAllowed;
        asking.cuMemcpyDtoDAsync = CopyIfAllowed;
        simulated = cu;
        ASSERT_TRUE(fr_cuda_use_driver(&asking));
    }

    void TearDown() override
    {
        copies = nullptr;
        records = nullptr;
        Failures::TearDown();
    }
};

int deletions;

void CountDeletion(DLManagedTensorVersioned *)
{
    deletions++;
}

// A copy that was queued before something failed reads its source.
TEST_P(FailuresOfCalls, AFailedWriteHoldsItsSource)
{
    deletions = 0;
    client::Stage stage(1);
    fr_cu_stream producer = Stream("stalled producer");
    fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
    ManagedSource source(memory, CountDeletion, Handle(producer));
    ovstage_placement_t placement = Place(nullptr, Event());
    bool has_copied = false;
    int left = 2; // the run tries twice before it gives up
    copies = [&] {
        has_copied = true;
        return fr_cu_result{0};
    };
    records = [&](fr_cu_event, fr_cu_stream) -> fr_cu_result {
        return has_copied && left > 0 && left-- > 0 ? FR_CU_ERROR_UNKNOWN : 0;
    };
    fr_sim_hold(producer, true);
    Produce(producer, memory, 3, 1);
    EXPECT_PART("cuEventRecord",
                Text(stage, ovstage_write_attribute_on_device(
                                stage.instance, stage.query(3),
                                ovx_string_or_token_t{stage.token("values"), {}}, 1, source.data,
                                OVSTAGE_PRIM_MODE_UPSERT, &placement)));
    EXPECT_EQ(left, 0);
    EXPECT_EQ(deletions, 0) << "the copy is still to read it";
    fr_sim_hold(producer, false);
    stage.destroy();
    EXPECT_EQ(deletions, 1);
}

// What has been put into streams before comes before the event all the same.
TEST_P(FailuresOfCalls, ABatchThatFailsLateRecordsItsEventBehindItsWork)
{
    for (bool own_stream : {false, true}) {
        client::Stage stage(0); // nobody else makes calls
        ovstage_query_handle_t query = stage.query(3);
        fr_cu_stream producer = Stream("stalled producer");
        fr_cu_event available = Event();
        fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
        ovstage_placement_t placement = Place(own_stream ? Stream("writer") : nullptr, available);
        ManagedSource sources[] = {{memory, nullptr, Handle(producer)}, {memory, nullptr, 0}};
        ovstage_attribute_write_t writes[2] = {};
        for (int k = 0; k < 2; k++) {
            writes[k].attribute.token = stage.token("values" + std::to_string(k));
            writes[k].data.tensors = &sources[k].managed.dl_tensor;
            writes[k].data.tensor_count = 1;
            writes[k].data.cuda_sync = sources[k].data.cuda_sync;
        }
        copies = [&] { // of the first one; the second one begins next
            EXPECT_TRUE(fr_sim_fail_call("cuCtxGetCurrent", 1, FR_CU_ERROR_UNKNOWN));
            return fr_cu_result{0};
        };
        fr_sim_hold(producer, true);
        Produce(producer, memory, 3, 1);
        EXPECT_PART("cuCtxGetCurrent", Text(stage, ovstage_write_attributes_on_device(
                                                       stage.instance, query, writes, 2, 1,
                                                       OVSTAGE_PRIM_MODE_UPSERT, &placement)));
        EXPECT_FALSE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(available), (fr_cu_result)FR_CU_ERROR_NOT_READY);
        fr_sim_hold(producer, false);
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(available), 0u);
    }
}

// An event that an op has recorded comes before the next op's record of it, and one that it says it
// has not recorded is what it was, whichever of our own records fails.
TEST_P(FailuresOfCalls, ARecordOfAnEventIsFollowed)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream first = Stream("first producer"), second = Stream("second producer");
    fr_cu_event available = Event();
    fr_cu_device_ptr memory[3];
    for (fr_cu_device_ptr &each : memory)
        each = Memory(3 * sizeof(float), "source");
    ovstage_placement_t placement = Place(nullptr, available);
    int recorded_in_turn = 0;
    uint64_t ordinal = 0;
    Produce(first, memory[2], 3, 1);
    FR_SIM_OK(cu->cuStreamSynchronize(first));
    bool struck = true;
    for (int strikes = 1; struck; strikes++) {
        const fr_cu_stream producers[] = {first, second};
        for (int k = 0; k < 2; k++) {
            if (ordinal > 0) { // the source is used again
                FR_SIM_OK(cu->cuStreamWaitEvent(producers[k], available, 0));
            }
            fr_sim_hold(producers[k], true);
            Produce(producers[k], memory[k], 3, 1);
        }
        stage.finish(Write(stage, query, attribute, ++ordinal, memory[0], 3, {Handle(first), 0},
                           &placement));
        int calls = 0;
        records = [&](fr_cu_event event, fr_cu_stream) -> fr_cu_result {
            return event != available && ++calls == strikes ? FR_CU_ERROR_UNKNOWN : 0;
        };
        ovstage_enqueue_result_t sent = Write(stage, query, attribute, ++ordinal, memory[1], 3,
                                              {Handle(second), 0}, &placement);
        std::string text = "was not recorded";
        if (sent.status == OVSTAGE_OK) { // it fails, or has tried once more
            ovstage_op_wait_result_t outcome = {};
            EXPECT_EQ(ovstage_wait_op(stage.instance, sent.op_index, client::forever, &outcome),
                      OVSTAGE_OK);
            text = client::text(ovstage_get_last_op_error(stage.instance, sent.op_index));
            EXPECT_EQ(ovstage_release_op(stage.instance, sent.op_index), OVSTAGE_OK);
        }
        records = nullptr;
        struck = calls >= strikes;
        bool is_recorded = text.find("was not recorded") == std::string::npos;
        recorded_in_turn += is_recorded;
        fr_sim_hold(first, false);
        EXPECT_FALSE(fr_sim_drain());
        fr_cu_result state = is_recorded ? FR_CU_ERROR_NOT_READY : 0;
        EXPECT_EQ(cu->cuEventQuery(available), state) << strikes << ": " << text;
        stage.finish(Write(stage, query, attribute, ++ordinal, memory[2], 3, {0, 0}, &placement));
        (void)fr_sim_drain();
        EXPECT_EQ(cu->cuEventQuery(available), state) << strikes << ": " << text;
        fr_sim_hold(second, false);
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(available), 0u);
        ASSERT_LT(strikes, 100);
    }
    EXPECT_GT(recorded_in_turn, 0);
}

// A read that was answered in its call, but for what was accepted meanwhile, has recorded its event
// out of turn: it does that again whatever becomes of it.
TEST_P(FailuresOfCalls, AReadThatIsJudgedAgainRecordsItsEventAgain)
{
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    ovx_token_t attribute = stage.token("values");
    fr_cu_stream stalled = Stream("stalled"), reader = Stream("reader");
    fr_cu_event available = Event();
    fr_cu_device_ptr data = Memory(3 * sizeof(float), "source"),
                     other = Memory(3 * sizeof(float), "other");
    ovstage_placement_t none = Place(nullptr, nullptr), placement = Place(reader, available);
    Produce(reader, data, 3, 1);
    stage.finish(Write(stage, query, attribute, 1, data, 3, {Handle(reader), 0}, &none));
    stage.finish(stage.seal(1));
    ovstage_enqueue_result_t seal = {};
    fr_sim_hold(stalled, true);
    Produce(stalled, other, 3, 1);
    bool judged = false;
    records = [&](fr_cu_event event, fr_cu_stream stream) -> fr_cu_result {
        if (event != available)
            return judged && stream == reader ? FR_CU_ERROR_UNKNOWN : 0;
        if (!judged)
            std::thread([&] { seal = stage.seal(2); }).join();
        judged = true;
        return 0;
    };
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t sent = Read(stage, query, attribute, 2, &placement, &read);
    EXPECT_TRUE(judged);
    FR_SIM_OK(cu->cuEventRecord(available, stalled)); // what is to be seen is another record
    EXPECT_PART("cuEventRecord", Text(stage, sent));
    (void)fr_sim_drain();
    EXPECT_EQ(cu->cuEventQuery(available), 0u);
    fr_sim_hold(stalled, false);
    stage.finish(seal);
    stage.finish(ovstage_release_read(stage.instance, read));
}

// Work that no fence can be recorded behind: nobody would know when it is over. The device is used
// no more, though it may be well again; nothing waits for that work, and the host's memory goes
// back.
TEST_P(FailuresOfCalls, ADeviceWhoseWorkCannotBeFollowedIsGivenUp)
{
    reports_are_meant = true; // what it holds stays
    for (bool from_host : {false, true}) {
        fr_test_heap *heap = fr_test_heap_create();
        flyrail_config_t config = client::config(0);
        config.allocator.allocate = fr_test_heap_allocator(heap)->allocate;
        config.allocator.release = fr_test_heap_allocator(heap)->release;
        config.allocator.user = fr_test_heap_allocator(heap)->user;
        {
            client::Stage stage(config);
            ovstage_query_handle_t query = stage.query(3);
            ovx_token_t attribute = stage.token("values"), other = stage.token("host");
            fr_cu_stream producer = Stream("producer");
            fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
            ovstage_placement_t none = Place(nullptr, nullptr);
            const std::vector<float> values = {1, 2, 3};
            int64_t count = 3;
            DLTensor tensor{const_cast<float *>(values.data()),
                            {kDLCPU, 0},
                            1,
                            {kDLFloat, 32, 1},
                            &count,
                            nullptr,
                            0};
            ovstage_write_data_t rows = {};
            rows.tensors = &tensor;
            rows.tensor_count = 1;
            auto write = [&](uint64_t ordinal) {
                return from_host ? ovstage_write_attribute_on_device(
                                       stage.instance, query, ovx_string_or_token_t{attribute, {}},
                                       ordinal, rows, OVSTAGE_PRIM_MODE_UPSERT, &none)
                                 : Write(stage, query, attribute, ordinal, data, 3, {0, 0}, &none);
            };
            Produce(producer, data, 3, 1);
            FR_SIM_OK(cu->cuStreamSynchronize(producer));
            stage.finish(write(1));
            stage.finish(stage.seal(1));
            ovstage_enqueue_result_t lost = write(2), seal = stage.seal(2);
            records = [&](fr_cu_event, fr_cu_stream) { return FR_CU_ERROR_UNKNOWN; };
            EXPECT_PART("cuEventRecord", Text(stage, lost));
            records = nullptr;
            stage.finish(seal);
            ovstage_read_handle_t read = 0;
            EXPECT_EQ(write(3).status, OVSTAGE_ERROR_OP_FAILED);
            EXPECT_PART("given up", client::last_error());
            EXPECT_PART("cuEventRecord", client::last_error());
            EXPECT_EQ(Read(stage, query, attribute, 1, nullptr, &read).status,
                      OVSTAGE_ERROR_OP_FAILED);
            EXPECT_PART("given up", client::last_error());
            stage.finish(stage.write(query, other, 3, values));
            stage.finish(stage.seal(3));
            EXPECT_EQ(stage.read(query, other, 3), values);
        }
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }
}

// What one device has brought home is not handed out when another one, which comes behind, is done.
TEST_P(Failures, AReadOfTwoDevicesLosesOne)
{
    reports_are_meant = true; // of a dead device nothing is given back
    NeedDevice(1);
    client::Stage stage(0);
    ovstage_query_handle_t query = stage.query(3);
    const ovx_token_t names[] = {stage.token("first"), stage.token("second")};
    for (int32_t device : {0, 1}) {
        MakeCurrent(device);
        fr_cu_stream producer = Stream("producer");
        fr_cu_device_ptr data = Memory(3 * sizeof(float), "source");
        ovstage_placement_t placement = Place(nullptr, nullptr, device);
        Produce(producer, data, 3, 1);
        FR_SIM_OK(cu->cuStreamSynchronize(producer));
        stage.finish(Write(stage, query, names[device], 1, data, 3, {0, 0}, &placement, device));
    }
    MakeCurrent(0);
    stage.finish(stage.seal(1));
    fr_sim_fail_operation(0, 1, FR_CU_ERROR_ILLEGAL_ADDRESS);
    ovstage_read_handle_t read = 0;
    ovstage_enqueue_result_t sent =
        ovstage_read_attributes(stage.instance, query, names, 2, {0, 1, false}, &read);
    (void)fr_sim_drain();
    if (sent.status != OVSTAGE_OK) { // where the device works at once
        EXPECT_PART("CUDA_ERROR_ILLEGAL_ADDRESS", client::last_error());
        return;
    }
    EXPECT_PART("CUDA_ERROR_ILLEGAL_ADDRESS", Text(stage, sent));
    ovstage_read_group_t group = {};
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
              OVSTAGE_ERROR_OP_FAILED);
}

PLACEMENT_ORDERS(Failures);
PLACEMENT_ORDERS(FailuresOfCalls);

} // namespace
