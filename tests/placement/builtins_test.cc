// Columns that the stage itself looks at: types, schemas, transforms, paths. What a device writes
// to them comes to the host, and what is found or computed by it is what the host's rows would
// give.
#include <deque>
#include <map>

#include "tests/placement/placement_fixture.h"
#include "tests/support/composer.h"
#include "tests/support/filters.h"

namespace
{

using client::Matrix;
using Names = std::vector<std::string>;
using client::Payload;

class Builtins : public PlacementTest
{
  protected:
    // The payload's tensor on a device, by the producer.
    void Upload(Payload &payload, fr_cu_stream producer)
    {
        sources_.push_back(payload.bytes);
        fr_cu_device_ptr memory = Memory(payload.bytes.size() + 1, "source");
        EXPECT_EQ(
            cu->cuMemcpyHtoDAsync(memory, sources_.back().data(), payload.bytes.size(), producer),
            0u);
        payload.tensor.data = reinterpret_cast<void *>(memory);
        payload.tensor.device = {kDLCUDA, 0};
        payload.data.cuda_sync.stream = Handle(producer);
    }

    static ovstage_enqueue_result_t Send(const client::Stage &stage, const std::string &name,
                                         const Names &paths, uint64_t ordinal,
                                         const ovstage_write_data_t &data,
                                         const ovstage_placement_t *placement)
    {
        return ovstage_write_attribute_on_device(
            stage.instance, stage.query(paths), ovx_string_or_token_t{stage.token(name), {}},
            ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, placement);
    }

    // What one read shows there.
    std::vector<double> OnDevice(const client::Stage &stage, const Names &paths,
                                 const std::string &name, uint64_t ordinal)
    {
        ovstage_placement_t placement = Place(Stream("reader"), nullptr);
        ovstage_read_handle_t read = 0;
        ovstage_read_group_t group = {};
        stage.finish(
            Read(stage, stage.query(paths), stage.token(name), ordinal, &placement, &read));
        EXPECT_EQ(ovstage_fetch_read_next(stage.instance, read, client::forever, &group),
                  OVSTAGE_OK);
        std::vector<double> values(16 * group.data.count);
        EXPECT_EQ(group.data.tensors[0].device.device_type, kDLCUDA);
        auto from = reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data);
        auto stream = reinterpret_cast<fr_cu_stream>(placement.stream);
        EXPECT_EQ(
            cu->cuMemcpyDtoHAsync(values.data(), from, values.size() * sizeof(double), stream), 0u);
        EXPECT_EQ(cu->cuStreamSynchronize(stream), 0u);
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        stage.finish(ovstage_release_read(stage.instance, read));
        return values;
    }

  private:
    std::deque<std::vector<uint8_t>> sources_;
};

TEST_P(Builtins, PrimsAreFoundByTypesOfADevice)
{
    for (uint32_t workers : {0u, 2u}) {
        client::Stage stage(workers);
        const Names all = {"/A", "/B", "/C"};
        ovx_token_t ball = stage.token("Ball"), box = stage.token("Box");
        fr_cu_stream producer = Stream("producer");
        Payload first(std::vector<uint64_t>{ball, box, ball}, client::u64(), {3});
        Upload(first, producer);
        stage.finish(Send(stage, "usd-prim-type", all, 1, first.data, nullptr));
        EXPECT_EQ(client::find(stage, {{"usd-prim-type", OVSTAGE_FILTER_OP_IN, {"Ball"}}}),
                  (Names{"/A", "/C"}));
        stage.finish(stage.seal(1));
        // Who asks while it is on its way gets what it brings.
        Payload second(std::vector<uint64_t>{box, box}, client::u64(), {2});
        Upload(second, producer);
        FR_SIM_OK(cu->cuStreamSynchronize(producer));
        fr_cu_device_ptr late = Memory(2 * sizeof(uint64_t), "late source");
        fr_sim_hold(producer, true);
        FR_SIM_OK(cu->cuMemcpyDtoDAsync(
            late, reinterpret_cast<fr_cu_device_ptr>(second.tensor.data), 16, producer));
        second.tensor.data = reinterpret_cast<void *>(late);
        ovstage_placement_t placement = Place(nullptr, Event());
        ovstage_enqueue_result_t sent =
            Send(stage, "usd-prim-type", {"/C", "/D"}, 2, second.data, &placement);
        ovstage_query_handle_t boxes = 0;
        ovstage_enqueue_result_t asked =
            client::submit(stage, {{"usd-prim-type", OVSTAGE_FILTER_OP_IN, {"Box"}}}, &boxes);
        for (uint32_t look = 0; look < 4; look++) {
            EXPECT_FALSE(IsDone(stage, sent));
            EXPECT_FALSE(IsDone(stage, asked));
        }
        fr_sim_hold(producer, false);
        stage.finish(sent);
        stage.finish(asked);
        EXPECT_EQ(client::found(stage, boxes).paths, (Names{"/B", "/C", "/D"}));
        stage.finish(ovstage_release_query(stage.instance, boxes));
    }
}

TEST_P(Builtins, PrimsAreFoundBySchemasOfADevice)
{
    client::Stage stage(1);
    std::vector<uint64_t> values = {stage.token("Red"), stage.token("Heavy"), stage.token("Red"),
                                    stage.token("Far")};
    Payload rows(values, client::u64(), {4});
    Upload(rows, Stream("producer"));
    rows.data.is_array = true;
    ovstage_placement_t placement = Place(nullptr, Event());
    stage.finish(Send(stage, "usd-schemas", {"/A", "/B"}, 1, rows.data, &placement)); // two each
    stage.finish(stage.seal(1));
    EXPECT_EQ(client::find(stage, {{"usd-schemas", OVSTAGE_FILTER_OP_IN, {"Red"}}}),
              (Names{"/A", "/B"}));
    EXPECT_EQ(client::find(stage, {{"usd-schemas", OVSTAGE_FILTER_OP_IN, {"Far"}}}), (Names{"/B"}));
    // Views of which some are empty, apart in memory.
    int64_t counts[3] = {0, 1, 1}, strides[1] = {2};
    DLTensor views[3] = {rows.tensor, rows.tensor, rows.tensor};
    for (size_t k = 0; k < 3; k++) {
        views[k].shape = &counts[k];
        views[k].strides = strides;
        views[k].byte_offset = k * sizeof(uint64_t);
    }
    ovstage_write_data_t data = rows.data;
    data.tensors = views;
    data.tensor_count = 3;
    stage.finish(Send(stage, "usd-schemas", {"/A", "/B", "/C"}, 2, data, nullptr));
    EXPECT_EQ(client::find(stage, {{"usd-schemas", OVSTAGE_FILTER_OP_IN, {"Red"}}}), (Names{"/C"}));
    EXPECT_EQ(client::find(stage, {{"usd-schemas", OVSTAGE_FILTER_OP_IN, {"Heavy"}}}),
              (Names{"/B"}));
    // Without any element no device has to do with it.
    data.tensor_count = 1;
    stage.finish(Send(stage, "usd-schemas", {"/C"}, 2, data, nullptr));
    EXPECT_EQ(client::find(stage, {{"usd-schemas", OVSTAGE_FILTER_OP_IN, {"Red"}}}), (Names{}));
}

// A simulation on a device writes locals and resets, and asks for the worlds.
TEST_P(Builtins, WorldsAreComputedOfLocalsOfADevice)
{
    client::Composer it(2u);
    const Names all = {"/A", "/A/B", "/A/B/C"};
    client::Scene scene;
    scene.locals = {{"/A", client::scale(2)},
                    {"/A/B", client::translation(1, 2, 3)},
                    {"/A/B/C", client::translation(5)}};
    std::vector<double> values;
    for (const auto &[path, local] : scene.locals)
        values.insert(values.end(), local.begin(), local.end());
    fr_cu_stream producer = Stream("producer");
    Payload locals(values, client::f64(16), {3});
    Upload(locals, producer);
    ovstage_placement_t placement = Place(nullptr, Event());
    it.stage.finish(Send(it.stage, "omni:xform", all, 1, locals.data, &placement));
    it.seed(all, 1);
    it.stage.finish(it.stage.seal(1));
    it.compute(1, 1);
    EXPECT_EQ(it.at(all, 1), client::expected(scene, all));
    EXPECT_EQ(OnDevice(it.stage, all, "omni:xform", 1), values);
    std::vector<double> worlds;
    for (const auto &[path, world] : client::expected(scene, all))
        worlds.insert(worlds.end(), world.begin(), world.end());
    EXPECT_EQ(OnDevice(it.stage, all, "omni:fabric:worldMatrix", 1), worlds);
    // Under the other name, and into a session; a reset in between.
    scene.locals["/A/B/C"] = client::translation(7);
    Payload one(std::vector<double>(scene.locals["/A/B/C"].begin(), scene.locals["/A/B/C"].end()),
                client::f64(16), {1});
    Upload(one, producer);
    ovstage_map_desc_t desc = {};
    desc.attribute = ovx_string_or_token_t{it.stage.token("omni:fabric:localMatrix"), {}};
    desc.dtype = client::f64(16);
    ovstage_map_handle_t map = 0;
    ovstage_map_group_t group = {};
    ovstage_placement_t mapped = Place(nullptr, Event());
    it.stage.finish(ovstage_map_attribute_on_device(
        it.stage.instance, it.stage.query(Names{all[2]}), &desc, 2, nullptr, 0, &mapped, &map));
    ASSERT_EQ(ovstage_fetch_map_next(it.stage.instance, map, client::forever, &group), OVSTAGE_OK);
    auto to = reinterpret_cast<fr_cu_device_ptr>(group.data.tensors[0].data);
    auto from = reinterpret_cast<fr_cu_device_ptr>(one.tensor.data);
    EXPECT_EQ(cu->cuMemcpyDtoDAsync(to, from, sizeof(Matrix), producer), 0u);
    it.stage.finish(ovstage_unmap_attribute(it.stage.instance, map, {Handle(producer), 0}));
    scene.resets["/A/B"] = true;
    Payload reset(std::vector<uint8_t>{1}, DLDataType{kDLBool, 8, 1}, {1});
    Upload(reset, producer);
    it.stage.finish(Send(it.stage, "omni:resetXformStack", {"/A/B"}, 2, reset.data, &placement));
    it.stage.finish(it.stage.seal(2));
    it.compute(2, 2);
    EXPECT_EQ(it.at(all, 2), client::expected(scene, all));
    // Worlds of a client, which a computation corrects.
    Payload worlds_of_client(values, client::f64(16), {3});
    Upload(worlds_of_client, producer);
    it.stage.finish(
        Send(it.stage, "omni:fabric:worldMatrix", all, 3, worlds_of_client.data, &placement));
    it.compute(2, 3);
    it.stage.finish(it.stage.seal(3));
    EXPECT_EQ(it.at(all, 3), client::expected(scene, all));
}

// A clone's paths lead into the clone.
TEST_P(Builtins, PathsOfADeviceAreRedirected)
{
    client::Stage stage(1);
    ovx_primpath_list_t list = stage.list({"/A/B", "/Else", "/Copy/B"});
    std::vector<ovx_primpath_t> known(3);
    size_t got = 0;
    EXPECT_EQ(
        path_dictionary_get_paths_from_path_list(stage.dictionary, list, 0, 3, known.data(), &got)
            .status,
        OVX_API_SUCCESS);
    Payload paths(std::vector<uint64_t>{known[0], known[1]}, client::u64(), {2});
    Upload(paths, Stream("producer"));
    paths.data.is_array = true;
    paths.data.semantic = OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID;
    ovstage_placement_t placement = Place(nullptr, Event());
    stage.finish(Send(stage, "leads to", {"/A"}, 1, paths.data, &placement));
    std::string from = "/A", to = "/Copy";
    ovx_string_t target = client::text(to);
    stage.finish(ovstage_clone(stage.instance, client::text(from), &target, 1, 1));
    stage.finish(stage.seal(1));
    ovx_token_t name = stage.token("leads to");
    client::Snapshot snapshot(stage, stage.query(Names{"/Copy"}), {name}, 1);
    ASSERT_EQ(snapshot.groups.size(), 1u);
    const DLTensor &row = snapshot.groups[0].data.tensors[0];
    ASSERT_EQ(row.shape[0], 2);
    EXPECT_EQ(static_cast<const uint64_t *>(row.data)[0], known[2]);
    EXPECT_EQ(static_cast<const uint64_t *>(row.data)[1], known[1]);
    path_dictionary_release_path_list_reference(stage.dictionary, list);
}

// The stage makes them on the host, and from there they go to the device that they are wanted on.
TEST_P(Builtins, ComputedColumnsAreReadOnADevice)
{
    client::Stage stage(1);
    const Names all = {"/a", "/a/b", "/a/c", "/a/b/d", "/lone"}, asked = {"/a/b", "/lone", "/a"};
    stage.finish(
        stage.write(stage.query(all), stage.token("values"), 1, std::vector<float>{1, 2, 3, 4, 5}));
    stage.finish(stage.seal(1));
    ovstage_query_handle_t query = stage.query(asked);
    const std::vector<ovx_token_t> names = {stage.token("usd-path"), stage.token("usd-parent"),
                                            stage.token("usd-children")};
    using Column = std::vector<std::vector<uint64_t>>; // by row
    std::vector<std::map<ovx_token_t, Column>> shown;  // on the host, on each device
    for (int32_t device = -1; device < devices_here; device++) {
        MakeCurrent(device < 0 ? 0 : device);
        fr_cu_stream reader = Stream("reader");
        fr_cu_event readable = Event();
        ovstage_placement_t placement = Place(nullptr, readable, device < 0 ? 0 : device);
        ovstage_read_handle_t read = 0;
        stage.finish(ovstage_read_attributes_on_device(stage.instance, query, names.data(),
                                                       names.size(), {0, 1, false},
                                                       device < 0 ? nullptr : &placement, &read));
        if (device >= 0) {
            FR_SIM_OK(cu->cuStreamWaitEvent(reader, readable, 0));
        }
        shown.emplace_back();
        ovstage_read_group_t group = {};
        while (ovstage_fetch_read_next(stage.instance, read, client::forever, &group) ==
               OVSTAGE_OK) {
            Column column;
            for (size_t t = 0; t < group.data.tensor_count; t++) {
                const DLTensor &tensor = group.data.tensors[t];
                std::vector<uint64_t> ids(static_cast<size_t>(tensor.shape[0]));
                if (device < 0) {
                    std::memcpy(ids.data(), tensor.data, ids.size() * sizeof(uint64_t));
                } else {
                    EXPECT_EQ(tensor.device.device_type, kDLCUDA);
                    EXPECT_EQ(tensor.device.device_id, device);
                    FR_SIM_OK(cu->cuMemcpyDtoHAsync(ids.data(),
                                                    reinterpret_cast<fr_cu_device_ptr>(tensor.data),
                                                    ids.size() * sizeof(uint64_t), reader));
                    FR_SIM_OK(cu->cuStreamSynchronize(reader));
                }
                column.push_back(ids);
            }
            shown.back()[group.attribute] = column;
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        }
        stage.finish(ovstage_release_read(stage.instance, read));
    }
    MakeCurrent(0);
    ASSERT_EQ(shown[0].size(), names.size());
    EXPECT_EQ(shown[0][names[0]].size(), 1u);
    EXPECT_EQ(shown[0][names[0]][0].size(), asked.size());
    EXPECT_EQ(shown[0][names[2]].size(), 2u); // those that have children
    EXPECT_EQ(shown[0][names[2]][1].size(), 2u);
    for (const auto &there : shown)
        EXPECT_EQ(there, shown[0]);
}

PLACEMENT_ORDERS(Builtins);

} // namespace
