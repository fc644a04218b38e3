// Columns whose rows come from the other side: from the host to a device, and the other way round.
#include "tests/placement/rows_fixture.h"
#include "tests/support/maps.h"

namespace
{

// Plain writes of the host to a column that lies on a device: they go there, and nobody waits.
class HostWrites : public RowsTest
{
  protected:
    static Rows Plain(std::vector<int64_t> shape, float first)
    {
        Rows rows = {std::move(shape), {}, first};
        rows.plain = true;
        return rows;
    }
};

TEST_P(HostWrites, ToAColumnOfADevice)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(Keeping(workers));
        const uint32_t count = 200; // more than the small build writes at one go
        ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({29, 2, 11}));
        ovstage_query_handle_t more = stage.query(count + 5);
        WriteBoth(stage, all, 1, {{count}, {}, 1000});
        stage.finish(stage.seal(1));
        uint64_t ordinal = 1;
        WriteBoth(stage, all, ++ordinal, Plain({count}, 2000));
        WriteBoth(stage, few, ordinal, Plain({3}, 3000));
        WriteBoth(stage, few, ++ordinal, Plain({3}, 4000));
        WriteBoth(stage, few, ordinal, {{3}, {}, 4500});
        Rows rows = Plain({3}, 5000);
        rows.strides = {-3};
        rows.offset = 6;
        WriteBoth(stage, few, ++ordinal, rows);
        rows = Plain({count}, 6000);
        rows.mask = {0x8000000000000105u, 0x21u, 0, 1};
        WriteBoth(stage, all, ++ordinal, rows);
        rows = Plain({3}, 7000);
        rows.map = {2, 0, 2};
        WriteBoth(stage, few, ++ordinal, rows);
        stage.finish(stage.seal(ordinal));
        WriteBoth(stage, more, ++ordinal, Plain({count + 5}, 8000)); // new keys among them
        stage.finish(stage.seal(ordinal));
        for (uint64_t at = 1; at <= ordinal; at++)
            ExpectSame(stage, more, {at, at, true});
        for (uint64_t at = 2; at <= ordinal; at++)
            ExpectSameAt(stage, more, at);
    }
}

// A batch, a session of the host, and an ownership that is given away: the deleter has run when the
// operation is complete, since the rows have been read.
TEST_P(HostWrites, OfEachKind)
{
    static int deleted;
    client::Stage stage(1);
    ovx_token_t other = stage.token("other");
    ovstage_query_handle_t query = stage.query(3);
    WriteBoth(stage, query, 1, {{3}, {}, 10});
    stage.finish(stage.seal(1));
    std::vector<float> a = {1, 2, 3}, b = {4, 5, 6};
    int64_t count = 3;
    DLTensor tensors[2] = {
        {a.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0},
        {b.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0},
    };
    ovstage_attribute_write_t writes[2] = {};
    for (int k = 0; k < 2; k++) {
        writes[k].attribute = {k ? other : OnDevice(stage), {}};
        writes[k].data.tensors = &tensors[k];
        writes[k].data.tensor_count = 1;
    }
    stage.finish(
        ovstage_write_attributes(stage.instance, query, writes, 2, 2, OVSTAGE_PRIM_MODE_UPSERT));
    stage.finish(stage.seal(2));
    EXPECT_EQ(stage.read(query, OnDevice(stage), 2), a);
    EXPECT_EQ(stage.read(query, other, 2), b);
    deleted = 0;
    ManagedSource source(
        0, [](DLManagedTensorVersioned *) { deleted++; }, 0);
    source.managed.dl_tensor.device = {kDLCPU, 0};
    source.managed.dl_tensor.data = b.data();
    stage.finish(ovstage_write_attribute(stage.instance, query,
                                         ovx_string_or_token_t{OnDevice(stage), {}}, 3, source.data,
                                         OVSTAGE_PRIM_MODE_UPSERT));
    EXPECT_EQ(deleted, 1);
    b = {0, 0, 0};
    stage.finish(stage.seal(3));
    EXPECT_EQ(stage.read(query, OnDevice(stage), 3), (std::vector<float>{4, 5, 6}));
    ovstage_map_desc_t desc = client::description(OnDevice(stage));
    ovstage_map_handle_t map = 0;
    ovstage_map_group_t group = {};
    stage.finish(ovstage_map_attribute(stage.instance, query, &desc, 4, nullptr, 0, &map));
    ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
    auto *mapped = static_cast<float *>(group.data.tensors[0].data);
    mapped[0] = 7;
    mapped[1] = 8;
    mapped[2] = 9;
    stage.finish(ovstage_unmap_group(stage.instance, map, &group, {0, 0}));
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
    stage.finish(stage.seal(4));
    EXPECT_EQ(stage.read(query, OnDevice(stage), 4), (std::vector<float>{7, 8, 9}));
}

PLACEMENT_ORDERS(HostWrites);

// Writes with a placement to a column that lies on the host, since it was first written there.
class HostColumns : public HostWrites
{
  protected:
    void SetUp() override
    {
        HostWrites::SetUp();
        read_on = {1, 0};
    }
};

TEST_P(HostColumns, TakeRowsOfDevices)
{
    const std::vector<std::vector<int32_t>> places = {{0, 0}, {1, 0}, {0, 1}}; // source, placement
    for (const auto &place : places) {
        client::Stage stage(Keeping(place[0] ? 0u : 2u));
        const uint32_t count = 30;
        ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({29, 2, 11}));
        ovstage_query_handle_t more = stage.query(count + 4);
        WriteBoth(stage, all, 1, Plain({count, 3}, 1000));
        stage.finish(stage.seal(1));
        uint64_t ordinal = 1;
        std::vector<Rows> writes = {{{3, 3}, {}, 2000},
                                    {{3, 3}, {5, 1}, 3000},      // rows apart
                                    {{3, 3}, {1, 3}, 4000},      // elements apart
                                    {{3, 3}, {-4, 1}, 5000, 8}}; // backwards
        for (Rows rows : writes) {
            rows.source = place[0];
            rows.place = place[1];
            rows.with_event = ordinal % 2 == 0;
            WriteBoth(stage, few, ++ordinal, rows);
            rows.map = {2, 2, 0};
            rows.first += 500;
            WriteBoth(stage, few, ordinal, rows);
            rows.map = {};
            rows.mask = {5};
            rows.first += 100;
            WriteBoth(stage, few, ++ordinal, rows);
        }
        Rows whole = {{count + 4, 3}, {}, 7000}; // new keys among them
        whole.source = place[0];
        whole.place = place[1];
        WriteBoth(stage, more, ++ordinal, whole);
        whole.first = 8000;
        whole.mask = {0};
        WriteBoth(stage, more, ordinal, whole);
        whole.mask = {};
        whole.from_host = true;
        WriteBoth(stage, more, ++ordinal, whole);
        stage.finish(stage.seal(ordinal));
        for (uint64_t at = 1; at <= ordinal; at++)
            ExpectSame(stage, more, {at, at, true});
        ExpectSameAt(stage, more, ordinal);
    }
}

// The operation is complete when the rows are there, and then its event is recorded; others of its
// ordinal come behind it, and those of other ordinals go on.
TEST_P(HostColumns, WaitForTheirProducer)
{
    for (uint32_t workers : {0u, 1u}) {
        client::Stage stage(Keeping(workers));
        ovstage_query_handle_t query = stage.query(3);
        WriteBoth(stage, query, 1, Plain({3}, 10));
        stage.finish(stage.seal(1));
        fr_cu_stream producer = Stream("held producer");
        fr_sim_hold(producer, true);
        Rows rows = {{3}, {}, 20};
        rows.event = Event();
        ovstage_enqueue_result_t held = WriteOnDevice(stage, query, 2, rows, producer);
        std::vector<float> next = {7, 8, 9};
        ovstage_enqueue_result_t behind = stage.write(query, OnDevice(stage), 2, next);
        stage.finish(stage.write(query, OnDevice(stage), 3, next));
        ovstage_op_wait_result_t outcome = {};
        for (int look = 0; look < 20; look++)
            for (const auto &op : {held, behind})
                EXPECT_EQ(ovstage_wait_op(stage.instance, op.op_index, 0, &outcome),
                          OVSTAGE_ERROR_TIMEOUT);
        fr_sim_hold(producer, false);
        stage.finish(held);
        EXPECT_EQ(cu->cuEventSynchronize(rows.event), 0u);
        stage.finish(behind);
        Rows last = {{1}, {}, 30};
        last.with_event = false;
        stage.finish(WriteOnDevice(stage, stage.query(Paths({1})), 2, last, producer));
        stage.finish(stage.seal(2));
        EXPECT_EQ(stage.read(query, OnDevice(stage), 2), (std::vector<float>{7, 30, 9}));
    }
}

// A session on a device of a column on the host: what fills its buffer comes to the host.
TEST_P(HostColumns, AreMappedOnADevice)
{
    client::Stage stage(1);
    ovstage_query_handle_t query = stage.query(3);
    WriteBoth(stage, query, 1, Plain({3}, 10));
    stage.finish(stage.seal(1));
    fr_cu_event available = Event();
    fr_cu_stream producer = Stream("producer");
    ovstage_placement_t placement = Place(nullptr, available);
    ovstage_map_desc_t desc = client::description(OnDevice(stage));
    ovstage_map_handle_t map = 0;
    ovstage_map_group_t group = {};
    stage.finish(ovstage_map_attribute_on_device(stage.instance, query, &desc, 2, nullptr, 0,
                                                 &placement, &map));
    ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
    Produce(producer, reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data), 3, 20);
    stage.finish(ovstage_unmap_attribute(stage.instance, map, {Handle(producer), 0}));
    stage.finish(stage.seal(2));
    EXPECT_EQ(cu->cuEventSynchronize(available), 0u);
    EXPECT_EQ(stage.read(query, OnDevice(stage), 2), (std::vector<float>{20, 21, 22}));
}

// An instance that goes away while rows are on their way.
TEST_P(HostColumns, AreLeftWithRowsOnTheWay)
{
    fr_cu_stream producer = Stream("held producer");
    client::Stage stage(1);
    WriteBoth(stage, stage.query(3), 1, Plain({3}, 10));
    fr_sim_hold(producer, true);
    EXPECT_EQ(WriteOnDevice(stage, stage.query(3), 2, {{3}, {}, 20}, producer).status, OVSTAGE_OK);
    fr_sim_hold(producer, false);
}

// A placement on the host decides for columns that lie nowhere yet, whatever the rows lie on.
TEST_P(HostColumns, APlacementOnTheHostTakesRowsOfADevice)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        ovstage_query_handle_t query = stage.query(3);
        ovx_token_t fresh = stage.token("fresh"), there = stage.token("there");
        fr_cu_stream producer = Stream("producer");
        fr_cu_device_ptr memory = Memory(3 * sizeof(float), "source");
        const ovstage_placement_t host = OVSTAGE_PLACEMENT_INIT, device = Place(nullptr, nullptr);
        Produce(producer, memory, 3, 1);
        stage.finish(Write(stage, query, there, 1, memory, 3, {Handle(producer), 0}, &device));
        for (uint64_t ordinal = 2; ordinal <= 3; ordinal++) {
            Produce(producer, memory, 3, static_cast<float>(ordinal));
            for (ovx_token_t attribute : {fresh, there})
                stage.finish(Write(stage, query, attribute, ordinal, memory, 3,
                                   {Handle(producer), 0}, &host));
        }
        stage.finish(stage.seal(3));
        for (ovx_token_t attribute : {fresh, there}) {
            EXPECT_EQ(stage.read(query, attribute, 3), (std::vector<float>{3, 4, 5}));
            uint64_t uploads = fr_sim_calls("cuMemcpyHtoDAsync");
            ovstage_read_handle_t read = 0;
            stage.finish(Read(stage, query, attribute, 3, &device, &read));
            stage.finish(ovstage_release_read(stage.instance, read));
            EXPECT_EQ(fr_sim_calls("cuMemcpyHtoDAsync") - uploads, attribute == fresh ? 1u : 0u);
        }
    }
}

PLACEMENT_ORDERS(HostColumns);

} // namespace
