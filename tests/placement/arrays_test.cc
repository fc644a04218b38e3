// Columns of arrays on a device: what is read of them is what the host's column has.
#include <random>

#include "tests/placement/arrays_fixture.h"
#include "tests/support/maps.h"

namespace
{

class Arrays : public ArraysTest
{
};

std::vector<uint32_t> Lengths(uint32_t count)
{
    std::vector<uint32_t> lengths;
    for (uint32_t k = 0; k < count; k++)
        lengths.push_back((k * 7 + 3) % 5); // some are empty
    return lengths;
}

TEST_P(Arrays, AllRowsInEachLayout)
{
    client::Stage stage(Keeping(2));
    const uint32_t count = 12;
    ovstage_query_handle_t all = stage.query(count);
    uint64_t ordinal = 0;
    for (bool from_host : {false, true})
        for (Ragged::Layout layout :
             {Ragged::Views, Ragged::Packed, Ragged::Apart, Ragged::Strided}) {
            Ragged ragged = {Lengths(count), static_cast<float>(1000 * ++ordinal), layout};
            if (layout == Ragged::Packed)
                ragged.lengths.assign(count, 3);
            if (from_host && layout == Ragged::Apart)
                continue; // the same as views
            ragged.from_host = from_host;
            ragged.with_event = ordinal % 2 == 0;
            WriteBoth(stage, all, ordinal, ragged);
            stage.finish(stage.seal(ordinal));
            ExpectSameAt(stage, all, ordinal);
            ExpectSameAt(stage, stage.query(Paths({7, 2, 9})), ordinal);
        }
    for (uint64_t at = 1; at <= ordinal; at++)
        ExpectSame(stage, all, {at, at, true});
}

TEST_P(Arrays, SomeRowsInAnyOrder)
{
    client::Stage stage(Keeping(1));
    const uint32_t count = 20;
    ovstage_query_handle_t all = stage.query(count);
    WriteBoth(stage, all, 1, {Lengths(count), 1000});
    stage.finish(stage.seal(1));
    WriteBoth(stage, stage.query(Paths({13, 4, 11})), 2, {{2, 0, 5}, 2000});
    Ragged masked = {Lengths(count), 3000, Ragged::Strided};
    masked.mask = {0x40105u};
    WriteBoth(stage, all, 2, masked);
    Ragged mapped = {{2, 1, 4}, 4000, Ragged::Apart};
    mapped.map = {2, 0, 2, 1};
    WriteBoth(stage, stage.query(Paths({3, 2, 19, 14})), 3, mapped);
    Ragged packed = {{2, 2, 2}, 5000, Ragged::Packed};
    packed.map = {1, 2, 0};
    WriteBoth(stage, stage.query(Paths({9, 8, 7})), 4, packed);
    Ragged some = {{3, 3, 3, 3}, 6000, Ragged::Packed};
    some.mask = {0x9u};
    WriteBoth(stage, stage.query(Paths({0, 1, 2, 3})), 4, some);
    Ragged none = {{0, 0}, 7000};
    WriteBoth(stage, stage.query(Paths({5, 6})), 4, none);
    stage.finish(stage.seal(3));
    stage.finish(stage.seal(4));
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        ExpectSameAt(stage, all, ordinal);
        ExpectSame(stage, all, {ordinal, 4, true});
    }
    ExpectSameAt(stage, stage.query(Paths({19, 5, 1})), 4);
}

// Each with its rows in the host's layout, which knows no order that keys were made in.
TEST_P(Arrays, NewKeysThatMeetOthers)
{
    client::Stage stage(Keeping(1));
    WriteBoth(stage, stage.query(Paths({0, 1, 2})), 1, {{1, 2, 3}, 100});
    WriteBoth(stage, stage.query(Paths({2, 1, 0})), 2, {{4, 5, 6}, 200});
    WriteBoth(stage, stage.query(Paths({7, 1})), 1, {{2, 2}, 300});
    stage.finish(stage.seal(2));
    ovstage_query_handle_t all = stage.query(Paths({7, 2, 1, 0}));
    ExpectSameAt(stage, all, 1);
    ExpectSameAt(stage, all, 2);
    for (const char *name : {"device", "host"}) {
        ovx_string_or_token_t attribute = {stage.token(name), {}};
        stage.finish(
            ovstage_delete_attributes(stage.instance, stage.query(Paths({1})), &attribute, 1, 3));
    }
    stage.finish(stage.seal(3));
    ExpectSameAt(stage, all, 3);
    WriteBoth(stage, stage.query(Paths({1})), 4, {{2}, 400});
    stage.finish(stage.seal(4));
    ExpectSameAt(stage, all, 4);
}

// The tensors of a group are where the elements lie, and stay as they are while others write.
TEST_P(Arrays, AGroupIsWhereTheElementsLie)
{
    client::Stage stage(Keeping(1));
    ovx_token_t attribute = OnDevice(stage);
    ovstage_query_handle_t all = stage.query(3);
    fr_cu_stream producer = Stream("producer");
    ovstage_read_group_t groups[2] = {};
    stage.finish(WriteOnDevice(stage, all, 1, {{2, 3, 4}, 10}, producer));
    stage.finish(stage.seal(1));
    ovstage_placement_t placement = Place(nullptr, Event());
    for (ovstage_read_group_t &group : groups) {
        ovstage_read_handle_t read = 0;
        stage.finish(Read(stage, all, attribute, 1, &placement, &read));
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
    }
    for (uint32_t row = 0; row < 3; row++)
        EXPECT_EQ(groups[0].data.tensors[row].data, groups[1].data.tensors[row].data);
    for (uint64_t ordinal = 2; ordinal < 8; ordinal++) {
        stage.finish(WriteOnDevice(stage, all, ordinal,
                                   {{2, 3, 4}, static_cast<float>(100 * ordinal)}, producer));
        stage.finish(stage.seal(ordinal));
    }
    const RaggedRows wanted = {{10, 11}, {12, 13, 14}, {15, 16, 17, 18}};
    for (ovstage_read_group_t &group : groups) {
        EXPECT_EQ(Show(group, &placement).rows, wanted);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    }
}

// A consumer that waits for the read's event alone sees what a producer has made that was not done
// when the read was complete.
TEST_P(Arrays, AReadWaitsForItsElements)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t all = stage.query(3);
    fr_cu_stream producer = Stream("held producer");
    fr_sim_hold(producer, true);
    stage.finish(WriteOnDevice(stage, all, 1, {{2, 0, 1}, 10}, producer));
    stage.finish(stage.seal(1));
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group = {};
    ovstage_placement_t placement = Place(nullptr, Event());
    stage.finish(Read(stage, all, OnDevice(stage), 1, &placement, &read));
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
    fr_sim_hold(producer, false);
    EXPECT_EQ(Show(group, &placement).rows, (RaggedRows{{10, 11}, {}, {12}}));
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
}

// On the host it is there when the producer is done, and not before.
TEST_P(Arrays, AReadOfTheHostWaitsForItsElements)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t all = stage.query(3);
    fr_cu_stream producer = Stream("held producer");
    ovx_token_t attribute = OnDevice(stage);
    fr_sim_hold(producer, true);
    stage.finish(WriteOnDevice(stage, all, 1, {{2, 0, 1}, 10}, producer));
    stage.finish(stage.seal(1));
    ovstage_read_handle_t read = 0;
    ovstage_read_group_t group = {};
    ovstage_enqueue_result_t result = Read(stage, all, attribute, 1, nullptr, &read);
    ASSERT_EQ(result.status, OVSTAGE_OK) << client::last_error();
    EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, 0, &group), OVSTAGE_ERROR_TIMEOUT);
    fr_sim_hold(producer, false);
    stage.finish(result);
    ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group), OVSTAGE_OK);
    EXPECT_EQ(Show(group, nullptr).rows, (RaggedRows{{10, 11}, {}, {12}}));
    EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

// Without an event a write is complete when the device has read its source.
TEST_P(Arrays, TheSourceIsUsedAgain)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t all = stage.query(2);
    fr_cu_stream producer = Stream("producer"), other = Stream("who uses it again");
    Ragged ragged = {{2, 2}, 10, Ragged::Packed};
    fr_cu_device_ptr memory = Memory(4 * sizeof(float), "source");
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        Tensors tensors(ragged, {kDLCUDA, 0});
        Produce(producer, memory, 4, static_cast<float>(10 * ordinal));
        PointInto(tensors, ragged, memory);
        tensors.data.cuda_sync.stream = Handle(producer);
        ovstage_placement_t placement = Place(nullptr, nullptr);
        stage.finish(ovstage_write_attribute_on_device(stage.instance, all, Name(OnDevice(stage)),
                                                       ordinal, tensors.data,
                                                       OVSTAGE_PRIM_MODE_UPSERT, &placement));
        std::swap(producer, other);
    }
    stage.finish(stage.seal(4));
    for (uint64_t ordinal = 1; ordinal <= 4; ordinal++) {
        auto first = static_cast<float>(10 * ordinal);
        auto shown = ReadGroups(stage, all, OnDevice(stage), {0, ordinal, false}, nullptr);
        ASSERT_EQ(shown.size(), 1u);
        EXPECT_EQ(shown[0].rows, (RaggedRows{{first, first + 1}, {first + 2, first + 3}}));
    }
}

std::atomic<int> deletions;

void CountDeletion(DLManagedTensorVersioned *)
{
    deletions++;
}

// Managed tensors are deleted once each, when the device has read all of them.
TEST_P(Arrays, ManagedTensorsAreHeld)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t all = stage.query(3);
    fr_cu_stream producer = Stream("held producer");
    fr_cu_device_ptr memory = Memory(9 * sizeof(float), "source");
    Produce(producer, memory, 9, 1);
    fr_sim_hold(producer, true);
    ovstage_placement_t placement = Place(nullptr, Event());
    deletions = 0;
    ManagedSource sources[3] = {{memory, CountDeletion, 0},
                                {memory + 3 * sizeof(float), CountDeletion, 0},
                                {memory + 6 * sizeof(float), CountDeletion, 0}};
    const DLManagedTensorVersioned *list[3];
    for (int k = 0; k < 3; k++)
        list[k] = &sources[k].managed;
    ovstage_write_data_t data = {};
    data.managed_tensors = list;
    data.tensor_count = 3;
    data.is_array = true;
    data.cuda_sync.stream = Handle(producer);
    stage.finish(ovstage_write_attribute_on_device(stage.instance, all, Name(OnDevice(stage)), 1,
                                                   data, OVSTAGE_PRIM_MODE_UPSERT, &placement));
    EXPECT_EQ(deletions, 0);
    fr_sim_hold(producer, false);
    stage.finish(stage.seal(1));
    EXPECT_EQ(ReadGroups(stage, all, OnDevice(stage), {0, 1, false}, nullptr)[0].rows,
              (RaggedRows{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}));
    stage.destroy();
    EXPECT_EQ(deletions, 3);
}

TEST_P(Arrays, OtherDevicesAndTheHost)
{
    read_on = {0, 1};
    client::Stage stage(Keeping(2));
    const uint32_t count = 9;
    ovstage_query_handle_t all = stage.query(count), some = stage.query(Paths({8, 0, 5}));
    WriteBoth(stage, all, 1, {Lengths(count), 1000});
    stage.finish(stage.seal(1));
    WriteBoth(stage, some, 2, {{3, 1, 2}, 2000});
    WriteBoth(stage, stage.query(Paths({2})), 2, {{0}, 3000});
    stage.finish(stage.seal(2));
    for (Ragged::Layout layout : {Ragged::Views, Ragged::Strided, Ragged::Apart}) {
        Ragged elsewhere = {{2, 1, 2}, 4000.0f + 100.0f * static_cast<float>(layout), layout};
        elsewhere.source = 1;
        elsewhere.place = layout == Ragged::Apart;
        elsewhere.with_event = layout != Ragged::Strided;
        WriteBoth(stage, layout == Ragged::Views ? some : stage.query(Paths({3, 7, 5})), 3,
                  elsewhere);
    }
    Ragged none = {{2, 1, 2}, 5000};
    none.mask = {0};
    none.source = 1;
    WriteBoth(stage, some, 3, none);
    stage.finish(stage.seal(3));
    for (uint64_t ordinal : {1u, 2u, 3u}) {
        ExpectSameAt(stage, all, ordinal);
        ExpectSameAt(stage, some, ordinal);
        ExpectSameAt(stage, stage.query(Paths({2})), ordinal);
        for (int32_t device : read_on) { // the host's column
            MakeCurrent(device);
            ovstage_placement_t placement = Place(nullptr, Event(), device);
            auto wanted = ReadGroups(stage, some, OnHost(stage), {0, ordinal, false}, nullptr);
            EXPECT_EQ(ReadGroups(stage, some, OnHost(stage), {0, ordinal, false}, &placement),
                      wanted);
        }
        MakeCurrent(0);
    }
}

// Many times, so that states go to the history, older ones off it, and little is left of what was
// written at once.
TEST_P(Arrays, FewRowsAreWrittenOften)
{
    client::Stage stage(1);
    const uint32_t count = 5;
    ovstage_query_handle_t all = stage.query(count);
    WriteBoth(stage, all, 1, {std::vector<uint32_t>(count, 40), 1000});
    stage.finish(stage.seal(1));
    for (uint64_t ordinal = 2; ordinal < 14; ordinal++) {
        auto turn = static_cast<uint32_t>(ordinal * 3); // the first prim stays as it was
        std::vector<uint32_t> two = {1 + turn % (count - 1), 1 + (turn + 1) % (count - 1)};
        WriteBoth(stage, stage.query(Paths(two)), ordinal,
                  {{40, 40}, static_cast<float>(1000 * ordinal)});
        stage.finish(stage.seal(ordinal));
        if (ordinal % 3 == 0)
            ExpectSameAt(stage, all, ordinal);
    }
}

// Copies have the elements of their source, where these lie.
TEST_P(Arrays, Clones)
{
    client::Stage stage(Keeping(2));
    ovstage_query_handle_t all = stage.query(3);
    WriteBoth(stage, all, 1, {{2, 0, 3}, 1000});
    stage.finish(stage.seal(1));
    WriteBoth(stage, stage.query(Paths({1})), 2, {{4}, 2000});
    for (const char *number : {"/0", "/1", "/2"}) {
        std::string from = "/P", to = "/Copy";
        from += number;
        to += number;
        ovx_string_t target = client::text(to);
        stage.finish(ovstage_clone(stage.instance, client::text(from), &target, 1, 2));
    }
    stage.finish(stage.seal(2));
    WriteBoth(stage, all, 3, {{1, 1, 1}, 3000});
    stage.finish(stage.seal(3));
    ovstage_query_handle_t copies =
        stage.query(std::vector<std::string>{"/Copy/0", "/Copy/1", "/Copy/2"});
    ExpectSameAt(stage, copies, 2);
    ExpectSameAt(stage, copies, 3);
    ExpectSameAt(stage, all, 3);
}

// Plain writes and sessions of the host go to where the column lies, and nobody waits for them.
TEST_P(Arrays, PlainWritesOfTheHost)
{
    client::Stage stage(Keeping(2));
    const uint32_t count = 30;
    ovstage_query_handle_t all = stage.query(count), few = stage.query(Paths({29, 2, 11}));
    WriteBoth(stage, all, 1, {Lengths(count), 1000});
    stage.finish(stage.seal(1));
    uint64_t ordinal = 1;
    for (Ragged::Layout layout : {Ragged::Views, Ragged::Packed, Ragged::Strided}) {
        Ragged ragged = {{2, 2, 2}, static_cast<float>(1000 * ++ordinal), layout};
        ragged.plain = true;
        WriteBoth(stage, few, ordinal, ragged);
        ragged = {Lengths(count), ragged.first + 100};
        ragged.plain = true;
        WriteBoth(stage, layout == Ragged::Views ? all : stage.query(count), ordinal, ragged);
        ragged = {{3, 0, 1}, ragged.first + 100, Ragged::Apart};
        ragged.placed = false; // of the device
        WriteBoth(stage, few, ordinal, ragged);
    }
    const size_t sizes[] = {1, 0, 2};
    ++ordinal;
    for (ovx_token_t name : {OnHost(stage), OnDevice(stage)}) {
        ovstage_map_desc_t desc = client::description(name);
        ovstage_map_handle_t map = 0;
        ovstage_map_group_t group = {};
        stage.finish(ovstage_map_attribute(stage.instance, few, &desc, ordinal, sizes, 3, &map));
        ASSERT_EQ(ovstage_fetch_map_next(stage.instance, map, client::forever, &group), OVSTAGE_OK);
        static_cast<float *>(group.data.tensors[0].data)[0] = 7;
        static_cast<float *>(group.data.tensors[2].data)[0] = 8;
        static_cast<float *>(group.data.tensors[2].data)[1] = 9;
        stage.finish(ovstage_unmap_group(stage.instance, map, &group, {0, 0}));
        stage.finish(ovstage_unmap_attribute(stage.instance, map, {0, 0}));
    }
    stage.finish(stage.seal(ordinal));
    for (uint64_t at = 1; at <= ordinal; at++)
        ExpectSameAt(stage, all, at);
}

// What is still to come says so, and changes nothing.
TEST_P(Arrays, Refusals)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t all = stage.query(2);
    WriteBoth(stage, all, 1, {{2, 1}, 1000});
    auto fails = [&](ovstage_enqueue_result_t result, ovstage_api_status_t status,
                     const char *why) {
        std::string text = client::last_error();
        EXPECT_EQ(result.status, status) << why;
        if (result.status == OVSTAGE_OK) {
            ovstage_op_wait_result_t outcome = {};
            EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, client::forever, &outcome),
                      OVSTAGE_OK);
            EXPECT_EQ(outcome.error_op_id_count, 1u);
            text = client::text(ovstage_get_last_op_error(stage.instance, result.op_index));
            EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
        }
        EXPECT_NE(text.find(why), std::string::npos) << text;
    };
    Ragged ragged = {{1, 1}, 2000};
    std::vector<float> values = Values(ragged);
    Tensors of_host(ragged, {kDLCPU, 0}), mixed(ragged, {kDLCUDA, 0});
    PointInto(of_host, ragged, reinterpret_cast<uintptr_t>(values.data()));
    ProduceRows(ragged, mixed, Stream("producer"));
    mixed.tensors[1] = of_host.tensors[1];
    ovstage_placement_t placement = Place(nullptr, nullptr);
    auto write = [&](const ovstage_write_data_t &data) {
        return ovstage_write_attribute_on_device(stage.instance, all, Name(OnDevice(stage)), 2,
                                                 data, OVSTAGE_PRIM_MODE_UPSERT, &placement);
    };
    fails(write(mixed.data), OVSTAGE_ERROR_NOT_SUPPORTED, "several devices in one write");
    mixed.tensors[1] = mixed.tensors[0];
    mixed.tensors[1].data = values.data();
    fails(write(mixed.data), OVSTAGE_ERROR_INVALID_ARGUMENT, "not on CUDA device 0");
    stage.finish(stage.seal(2));
    ExpectSameAt(stage, all, 2);
}

// To a column that lies on the host, since it was first written there.
TEST_P(Arrays, ToAColumnOfTheHost)
{
    read_on = {1, 0};
    for (int32_t source : {0, 1}) {
        client::Stage stage(Keeping(source ? 0u : 2u));
        const uint32_t count = 12;
        ovstage_query_handle_t all = stage.query(count), more = stage.query(count + 3);
        Ragged first = {Lengths(count), 1000};
        first.plain = true;
        WriteBoth(stage, all, 1, first);
        stage.finish(stage.seal(1));
        uint64_t ordinal = 1;
        for (Ragged::Layout layout :
             {Ragged::Views, Ragged::Packed, Ragged::Apart, Ragged::Strided}) {
            Ragged ragged = {{2, 2, 2}, static_cast<float>(2000 * ordinal), layout};
            ragged.source = source;
            ragged.with_event = ordinal % 2 == 0;
            ragged.placed = ordinal % 3 != 0;
            WriteBoth(stage, stage.query(Paths({7, 2, 9})), ++ordinal, ragged);
            ragged.first += 500;
            ragged.map = {2, 0, 2};
            WriteBoth(stage, stage.query(Paths({3, 11, 4})), ordinal, ragged);
            ragged.first += 500;
            ragged.map = {};
            ragged.mask = {0x5u};
            WriteBoth(stage, stage.query(Paths({5, 9, 0})), ++ordinal, ragged);
        }
        Ragged whole = {Lengths(count + 3), 30000, Ragged::Strided}; // new keys among them
        whole.source = source;
        WriteBoth(stage, more, ++ordinal, whole);
        Ragged none = {{0, 0}, 0};
        none.source = source;
        WriteBoth(stage, stage.query(Paths({1, 6})), ordinal, none);
        stage.finish(stage.seal(ordinal));
        for (uint64_t at = 1; at <= ordinal; at++)
            ExpectSame(stage, more, {at, at, true});
        ExpectSameAt(stage, more, ordinal);
    }
}

// Complete when the rows are there; others of its ordinal come behind it, and those of other
// ordinals go on.
TEST_P(Arrays, ThatComeToTheHostWaitForTheirProducer)
{
    client::Stage stage(Keeping(1));
    ovstage_query_handle_t query = stage.query(3);
    Ragged first = {{1, 2, 3}, 100};
    first.plain = true;
    WriteBoth(stage, query, 1, first);
    stage.finish(stage.seal(1));
    fr_cu_stream producer = Stream("held producer");
    Ragged late = {{3, 0, 2}, 200}, other = {{1, 1, 1}, 300};
    other.plain = true;
    fr_sim_hold(producer, true);
    ovstage_enqueue_result_t held = WriteOnDevice(stage, query, 2, late, producer);
    stage.finish(WriteOnDevice(stage, query, 3, other, producer));
    ovstage_op_wait_result_t outcome = {};
    for (int look = 0; look < 20; look++)
        EXPECT_EQ(ovstage_wait_op(stage.instance, held.op_index, 0, &outcome),
                  OVSTAGE_ERROR_TIMEOUT);
    fr_sim_hold(producer, false);
    stage.finish(held);
    WriteOnHost(stage, query, 2, late);
    WriteOnHost(stage, query, 3, other);
    stage.finish(stage.seal(3));
    for (uint64_t at = 1; at <= 3; at++)
        ExpectSameAt(stage, query, at);
}

// However many rows there are, a few calls move them.
TEST_P(Arrays, ManyRowsAreFewCalls)
{
    if (GetParam().mode != FR_SIM_LAZY)
        return; // what is counted is the same in each order
    client::Stage stage(Keeping(0));
    const uint32_t count = 600;
    ovstage_query_handle_t all = stage.query(count);
    std::vector<uint32_t> turned;
    for (uint32_t k = 0; k < count; k++)
        turned.push_back(count - 1 - k);
    ovstage_query_handle_t back = stage.query(Paths(turned));
    Ragged views = {Lengths(count), 1000}, strided = {Lengths(count), 2000, Ragged::Strided};
    uint64_t ordinal = 0;
    for (const Ragged &ragged : {views, strided}) {
        fr_cu_stream producer = Stream("producer");
        ovstage_placement_t placement = Place(nullptr, Event());
        Tensors tensors(ragged, {kDLCUDA, 0});
        ProduceRows(ragged, tensors, producer);
        tensors.data.cuda_sync.stream = Handle(producer);
        uint64_t launches = fr_sim_calls("cuLaunchKernel"),
                 copies = fr_sim_calls("cuMemcpyDtoDAsync");
        stage.finish(ovstage_write_attribute_on_device(stage.instance, all, Name(OnDevice(stage)),
                                                       ++ordinal, tensors.data,
                                                       OVSTAGE_PRIM_MODE_UPSERT, &placement));
        EXPECT_LE(fr_sim_calls("cuLaunchKernel") - launches, 1u);
        EXPECT_LE(fr_sim_calls("cuMemcpyDtoDAsync") - copies, 16u);
        WriteOnHost(stage, all, ordinal, ragged);
        stage.finish(stage.seal(ordinal));
        launches = fr_sim_calls("cuLaunchKernel");
        copies = fr_sim_calls("cuMemcpyDtoDAsync");
        auto shown = ReadGroups(stage, back, OnDevice(stage), {0, ordinal, false}, nullptr);
        EXPECT_EQ(fr_sim_calls("cuLaunchKernel") - launches, 1u);
        EXPECT_EQ(fr_sim_calls("cuMemcpyDtoDAsync"), copies);
        EXPECT_EQ(shown, ReadGroups(stage, back, OnHost(stage), {0, ordinal, false}, nullptr));
    }
}

// Programs by chance.
TEST_P(Arrays, AnyWrites)
{
    std::mt19937 random(static_cast<uint32_t>(GetParam().seed) * 733u + 11u);
    auto below = [&](size_t end) { return static_cast<uint32_t>(random() % end); };
    client::Stage stage(Keeping(below(3)));
    const uint32_t count = 6 + below(30);
    ovstage_query_handle_t all = stage.query(count);
    uint64_t sealed = 0;
    WriteBoth(stage, stage.query(Paths({0})), 1, {{2}, 500}); // where the column lies
    for (uint32_t step = 0; step < 12; step++) {
        std::vector<uint32_t> numbers(count);
        for (uint32_t k = 0; k < count; k++)
            numbers[k] = k;
        std::shuffle(numbers.begin(), numbers.end(), random);
        numbers.resize(1 + below(below(2) ? 4 : count));
        Ragged ragged = {{}, static_cast<float>(1000 * (step + 1))};
        ragged.layout = static_cast<Ragged::Layout>(below(4));
        for (size_t k = 0; k < numbers.size(); k++)
            ragged.lengths.push_back(ragged.layout == Ragged::Packed ? 2 : below(4));
        if (ragged.lengths.size() == 1 && ragged.layout != Ragged::Strided)
            ragged.layout = Ragged::Packed;
        if (below(3) == 0)
            ragged.mask = {random()};
        if (numbers.size() > 32)
            ragged.mask.clear();
        ragged.from_host = below(3) == 0;
        ragged.plain = below(4) == 0;
        ragged.source = below(4) == 0;
        ragged.place = below(4) == 0;
        ragged.placed = below(4) != 0;
        read_on = {static_cast<int32_t>(below(2))};
        ragged.with_event = below(2) == 0;
        if ((ragged.from_host || ragged.plain) && ragged.layout == Ragged::Apart)
            ragged.layout = Ragged::Views;
        WriteBoth(stage, stage.query(Paths(numbers)), sealed + 1 + below(3), ragged);
        if (below(3) == 0) {
            sealed += 1 + below(2);
            stage.finish(stage.seal(sealed));
            ExpectSameAt(stage, all, sealed);
            ExpectSameAt(stage, stage.query(Paths(numbers)), sealed);
            ExpectSame(stage, all, {sealed - below(2), sealed, true});
        }
    }
    stage.finish(stage.seal(sealed + 3));
    ExpectSameAt(stage, all, sealed + 3);
}

PLACEMENT_ORDERS(Arrays);

} // namespace
