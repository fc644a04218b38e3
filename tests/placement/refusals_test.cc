// What placements do not do yet is refused with a text that names it, and spoils nothing.
#include <memory>

#include "tests/placement/placement_fixture.h"

namespace
{

class Refusals : public PlacementTest
{
  protected:
    std::unique_ptr<client::Stage> stage;
    ovstage_query_handle_t query = 0;
    ovx_token_t attribute = 0;
    fr_cu_stream stream = nullptr;
    fr_cu_event event = nullptr;
    fr_cu_device_ptr source = 0;
    int64_t count = 3;
    DLTensor tensor = {};
    ovstage_placement_t placement = {};

    void SetUp() override
    {
        PlacementTest::SetUp();
        stage = std::make_unique<client::Stage>(1);
        query = stage->query(3);
        attribute = stage->token("values");
        stream = Stream("client");
        event = Event();
        source = Memory(3 * sizeof(float), "source");
        placement = Place(stream, event);
        tensor = {reinterpret_cast<void *>(source),
                  {kDLCUDA, 0},
                  1,
                  {kDLFloat, 32, 1},
                  &count,
                  nullptr,
                  0};
        Produce(stream, source, 3, 1);
    }

    void TearDown() override
    {
        stage.reset();
        PlacementTest::TearDown();
    }

    ovstage_write_data_t Data()
    {
        ovstage_write_data_t data = {};
        data.tensors = &tensor;
        data.tensor_count = 1;
        data.cuda_sync.stream = Handle(stream);
        return data;
    }

    ovstage_enqueue_result_t Send(const ovstage_write_data_t &data, uint64_t ordinal,
                                  ovx_token_t name, ovstage_query_handle_t to)
    {
        return ovstage_write_attribute_on_device(stage->instance, to,
                                                 ovx_string_or_token_t{name, {}}, ordinal, data,
                                                 OVSTAGE_PRIM_MODE_UPSERT, &placement);
    }

    void Refused(ovstage_enqueue_result_t result, ovstage_api_status_t status, const char *part)
    {
        EXPECT_EQ(result.status, status) << client::last_error();
        EXPECT_EQ(result.op_index, OVSTAGE_INVALID_OP_ID);
        EXPECT_NE(client::last_error().find(part), std::string::npos) << client::last_error();
    }

    void WriteRefused(const ovstage_write_data_t &data, ovstage_api_status_t status,
                      const char *part)
    {
        Refused(Send(data, 1, attribute, query), status, part);
    }

    // An accepted op that fails.
    void Fails(ovstage_enqueue_result_t result, const char *part)
    {
        ASSERT_EQ(result.status, OVSTAGE_OK) << client::last_error();
        ovstage_op_wait_result_t outcome = {};
        ASSERT_EQ(ovstage_wait_op(stage->instance, result.op_index, client::forever, &outcome),
                  OVSTAGE_OK);
        EXPECT_EQ(outcome.error_op_id_count, 1u);
        std::string text =
            client::text(ovstage_get_last_op_error(stage->instance, result.op_index));
        EXPECT_NE(text.find(part), std::string::npos) << text;
        EXPECT_EQ(ovstage_release_op(stage->instance, result.op_index), OVSTAGE_OK);
    }

    ovstage_enqueue_result_t ReadAt(ovstage_query_handle_t from, const ovstage_placement_t *at)
    {
        ovstage_read_handle_t read = 0;
        return ovstage_read_attributes_on_device(stage->instance, from, &attribute, 1,
                                                 {0, 1, false}, at, &read);
    }

    // The column on the device, sealed at 1.
    void WriteAndSeal()
    {
        stage->finish(Send(Data(), 1, attribute, query));
        stage->finish(stage->seal(1));
    }

    void StillRight()
    {
        ovstage_read_handle_t read = 0;
        ovstage_read_group_t group = {};
        fr_cu_device_ptr sum = Memory(sizeof(float), "sum");
        stage->finish(Read(*stage, query, attribute, 1, &placement, &read));
        ASSERT_EQ(ovstage_fetch_read_next(stage->instance, read, client::forever, &group),
                  OVSTAGE_OK);
        Sum(stream, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), 3, sum);
        EXPECT_EQ(Value(stream, sum), 6);
        EXPECT_EQ(ovstage_release_group(stage->instance, &group), OVSTAGE_OK);
        stage->finish(ovstage_release_read(stage->instance, read));
    }
};

TEST_P(Refusals, PlacementsThatAreWrong)
{
    const ovstage_placement_t good = placement;
    placement.stream = 2;
    WriteRefused(Data(), OVSTAGE_ERROR_INVALID_ARGUMENT, "placement.stream 2");
    placement = good;
    placement.device.device_id = 7;
    WriteRefused(Data(), OVSTAGE_ERROR_INVALID_ARGUMENT, "7");
    placement.device = {kDLVulkan, 0};
    WriteRefused(Data(), OVSTAGE_ERROR_INVALID_ARGUMENT, "placement.device type 7");
    placement = good;
    placement.device = {kDLCPU, 0};
    WriteRefused(Data(), OVSTAGE_ERROR_NOT_SUPPORTED, "placement on the host");
    placement = good;
    WriteAndSeal();
    StillRight();
}

TEST_P(Refusals, PayloadsThatAreStillToCome)
{
    const float host[3] = {1, 2, 3};
    tensor.device = {kDLCPU, 0};
    tensor.data = const_cast<float *>(host);
    tensor.data = reinterpret_cast<void *>(source);
    tensor.device = {kDLCUDA, 1};
    WriteRefused(Data(), OVSTAGE_ERROR_INVALID_ARGUMENT, "not on CUDA device 1");
    tensor.device = {kDLCUDA, 2};
    WriteRefused(Data(), OVSTAGE_ERROR_INVALID_ARGUMENT, "device 2 of 2");
    tensor.device = {kDLCUDA, 0};
    tensor.data = const_cast<float *>(host);
    WriteRefused(Data(), OVSTAGE_ERROR_INVALID_ARGUMENT, "not on CUDA device 0");
    tensor.data = reinterpret_cast<void *>(source);
    WriteAndSeal();
    StillRight();
}

// A filter that has found none leaves nothing to write, which is no refusal (R101).
TEST_P(Refusals, AFilterThatFoundNone)
{
    WriteAndSeal();
    ovstage_predicate_t predicate = {};
    predicate.attribute = ovx_string_or_token_t{stage->token("of no prim"), {}};
    predicate.op = OVSTAGE_FILTER_OP_HAS;
    ovstage_filter_t filter = {&predicate, 1};
    ovstage_query_handle_t found = 0;
    stage->finish(ovstage_query(stage->instance, &filter, nullptr, 0, &found));
    ovstage_enqueue_result_t sent = Send(Data(), 2, attribute, found);
    EXPECT_EQ(sent.status, OVSTAGE_OK) << client::last_error();
    stage->finish(sent);
    StillRight();
}

// Nor does a query without prims. Who waits for the event of such a write waits for its source, and
// in the stream that the client named.
TEST_P(Refusals, AWriteOfNothingRecordsItsEvent)
{
    WriteAndSeal();
    ovstage_query_handle_t none = stage->query(std::vector<std::string>{});
    fr_cu_stream stalled = Stream("stalled"), named = Stream("named");
    fr_cu_device_ptr late = Memory(3 * sizeof(float), "late source");
    for (bool by_stream : {false, true}) {
        ovstage_placement_t own = Place(by_stream ? named : nullptr, event);
        fr_sim_hold(stalled, true);
        Produce(stalled, late, 3, 1);
        FR_SIM_OK(cu->cuEventRecord(event, stalled));
        if (by_stream) {
            FR_SIM_OK(cu->cuStreamWaitEvent(named, event, 0));
        }
        stage->finish(
            Write(*stage, none, attribute, 2, late, 3, {by_stream ? 0 : Handle(stalled), 0}, &own));
        (void)fr_sim_drain();
        EXPECT_EQ(cu->cuEventQuery(event), (fr_cu_result)FR_CU_ERROR_NOT_READY);
        fr_sim_hold(stalled, false);
        EXPECT_TRUE(fr_sim_drain());
        EXPECT_EQ(cu->cuEventQuery(event), 0u);
        // Without either it comes at once.
        fr_sim_hold(stalled, true);
        Produce(stalled, late, 3, 1);
        FR_SIM_OK(cu->cuEventRecord(event, stalled));
        own.stream = 0;
        stage->finish(Write(*stage, none, attribute, 2, late, 3, {0, 0}, &own));
        (void)fr_sim_drain();
        EXPECT_EQ(cu->cuEventQuery(event), 0u);
        fr_sim_hold(stalled, false);
    }
    StillRight();
}

// And is checked as any other, with an event and without.
TEST_P(Refusals, AWriteOfNothingNamesAStreamThatCaptures)
{
    WriteAndSeal();
    ovstage_query_handle_t none = stage->query(std::vector<std::string>{});
    fr_cu_stream capturing = Stream("capturing");
    for (fr_cu_event own : {event, static_cast<fr_cu_event>(nullptr)}) {
        ovstage_placement_t there = Place(capturing, own), here = Place(nullptr, own);
        FR_SIM_OK(cu->cuStreamBeginCapture(capturing, FR_CU_CAPTURE_MODE_RELAXED));
        Refused(Write(*stage, none, attribute, 2, source, 3, {0, 0}, &there),
                OVSTAGE_ERROR_INVALID_ARGUMENT, "captures a graph");
        Refused(Write(*stage, none, attribute, 2, source, 3, {Handle(capturing), 0}, &here),
                OVSTAGE_ERROR_INVALID_ARGUMENT, "captures a graph");
        fr_cu_graph graph = nullptr;
        FR_SIM_OK(cu->cuStreamEndCapture(capturing, &graph));
        FR_SIM_OK(cu->cuGraphDestroy(graph));
        stage->finish(Write(*stage, none, attribute, 2, source, 3, {0, 0}, &there));
    }
    StillRight();
}

// What is wrong with a payload of which nothing is written is not looked at (R101), nor whose
// streams it might have named.
TEST_P(Refusals, AWriteOfNothingWithAPayloadOfNoDevice)
{
    ovstage_query_handle_t none = stage->query(std::vector<std::string>{});
    MakeCurrent(1);
    fr_cu_stream elsewhere = Stream("of device 1");
    MakeCurrent(0);
    ovstage_write_data_t data = Data();
    data.cuda_sync.stream = Handle(elsewhere);
    for (fr_cu_event own : {static_cast<fr_cu_event>(nullptr), event}) {
        placement = Place(nullptr, own);
        tensor.device = {kDLVulkan, 0};
        stage->finish(Send(data, 2, attribute, none));
        tensor.device = {kDLCUDA, 77};
        stage->finish(Send(data, 2, attribute, none));
        data.tensor_count = 0;
        stage->finish(Send(data, 2, attribute, none));
        data.tensor_count = 1;
    }
}

PLACEMENT_ORDERS(Refusals);

} // namespace
