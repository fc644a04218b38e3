// Alignment of read groups: R185.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <ovstage/ovalign.h>

#include "tests/support/client.h"

namespace
{

using namespace client;

constexpr ovx_primpath_list_t LIST = 7;

// Groups with what they point at. Attribute a's value of list position p is 1000 a + p.
class Groups
{
  public:
    void fixed(ovx_token_t attribute, const std::vector<uint32_t> &positions, uint8_t bits = 32,
               bool mapped_rows = false)
    {
        size_t count = positions.size(), bytes = bits / 8;
        std::vector<char> rows(count * bytes);
        std::vector<uint32_t> map(count);
        for (size_t i = 0; i < count; i++) {
            map[i] = static_cast<uint32_t>(mapped_rows ? count - 1 - i : i);
            uint64_t value = attribute * 1000 + positions[i];
            std::memcpy(&rows[map[i] * bytes], &value, bytes);
        }
        data.push_back(rows);
        shapes.push_back({static_cast<int64_t>(count)});
        tensors.push_back({DLTensor{data.back().data(),
                                    {kDLCPU, 0},
                                    1,
                                    {kDLUInt, bits, 1},
                                    shapes.back().data(),
                                    nullptr,
                                    0}});
        add(attribute, positions, false);
        if (mapped_rows) {
            maps.push_back(map);
            groups.back().data.index_map = maps.back().data();
        }
    }
    // Position p has p % 3 elements.
    void ragged(ovx_token_t attribute, const std::vector<uint32_t> &positions)
    {
        std::vector<DLTensor> rows;
        for (uint32_t position : positions) {
            std::vector<char> row(position % 3 * 4);
            for (uint32_t e = 0; e < position % 3; e++) {
                uint32_t value = static_cast<uint32_t>(attribute * 1000 + position);
                std::memcpy(&row[e * 4], &value, 4);
            }
            data.push_back(row);
            shapes.push_back({position % 3});
            rows.push_back(DLTensor{data.back().data(),
                                    {kDLCPU, 0},
                                    1,
                                    {kDLUInt, 32, 1},
                                    shapes.back().data(),
                                    nullptr,
                                    0});
        }
        tensors.push_back(rows);
        add(attribute, positions, true);
    }
    // The last one's prims as a run.
    void run(uint32_t offset)
    {
        groups.back().prims.offset = offset;
        groups.back().prims.index_map = nullptr;
    }

    int align(const std::vector<ovx_token_t> &attributes,
              const std::vector<uint32_t> *order = nullptr)
    {
        ovalign_release(&result);
        ovalign_request_t request;
        std::memset(&request, 0, sizeof(request));
        request.groups = groups.data();
        request.group_count = groups.size();
        request.attributes = attributes.data();
        request.attr_count = attributes.size();
        request.prim_list = LIST;
        request.prim_order = order ? order->data() : nullptr;
        request.prim_order_count = order ? order->size() : 0;
        return ovalign_align(&request, &result);
    }
    // Positions of group g, and that all attributes say the same and have the right values.
    std::vector<uint32_t> positions(size_t g)
    {
        std::vector<uint32_t> found;
        for (size_t a = 0; a < result.attr_count; a++) {
            const ovstage_read_group_t &group = result.attrs[a].groups[g];
            EXPECT_EQ(group.prims.list, LIST);
            EXPECT_EQ(group.data.count, group.prims.count);
            std::vector<uint32_t> its;
            for (uint32_t i = 0; i < group.prims.count; i++) {
                its.push_back(group.prims.index_map ? group.prims.index_map[i]
                                                    : group.prims.offset + i);
                check(group, i, its.back());
            }
            if (a > 0) {
                EXPECT_EQ(its, found);
            }
            found = its;
        }
        return found;
    }

    std::vector<ovstage_read_group_t> groups;
    ovalign_result_t result = {nullptr, 0, 0, false};
    ~Groups()
    {
        ovalign_release(&result);
        ovalign_release(&result); // an empty one is fine
    }

  private:
    void add(ovx_token_t attribute, const std::vector<uint32_t> &positions, bool is_array)
    {
        maps.push_back(positions);
        ovstage_read_group_t group;
        std::memset(&group, 0, sizeof(group));
        group.read_group_id = groups.size() + 1;
        group.attribute = attribute;
        group.ordinal = groups.size() + 1;
        group.is_array = is_array;
        group.prims.list = LIST;
        group.prims.count = static_cast<uint32_t>(positions.size());
        group.prims.index_map = maps.back().data();
        group.data.tensors = tensors.back().data();
        group.data.tensor_count = static_cast<uint32_t>(tensors.back().size());
        group.data.count = group.prims.count;
        groups.push_back(group);
    }
    static void check(const ovstage_read_group_t &group, uint32_t i, uint32_t position)
    {
        uint32_t row = group.data.index_map ? group.data.index_map[i] : i;
        const DLTensor &tensor = group.data.tensors[group.is_array ? row : 0];
        const char *base = static_cast<const char *>(tensor.data) + tensor.byte_offset;
        size_t bytes = tensor.dtype.bits / 8;
        if (group.is_array) {
            EXPECT_EQ(tensor.shape[0], position % 3);
        }
        size_t first = group.is_array ? 0 : row;
        size_t last = group.is_array ? static_cast<size_t>(tensor.shape[0]) : row + 1;
        for (size_t e = first; e < last; e++) {
            uint64_t value = 0, expected = group.attribute * 1000 + position;
            std::memcpy(&value, base + e * bytes, bytes);
            EXPECT_EQ(value, expected);
        }
    }

    // In place for ever: groups point into them.
    std::deque<std::vector<char>> data;
    std::deque<std::vector<int64_t>> shapes;
    std::deque<std::vector<DLTensor>> tensors;
    std::deque<std::vector<uint32_t>> maps;
};

TEST(Align, R185_aligned_already_is_left_alone)
{
    Groups groups;
    groups.fixed(1, {4, 5, 6});
    groups.run(4);
    groups.fixed(1, {9, 2});
    groups.fixed(2, {4, 5, 6});
    groups.run(4);
    groups.fixed(2, {9, 2});
    ASSERT_EQ(groups.align({2, 1}), 0) << last_error();
    EXPECT_TRUE(groups.result.skipped);
    ASSERT_EQ(groups.result.attr_count, 2u);
    ASSERT_EQ(groups.result.group_count, 2u);
    EXPECT_EQ(groups.result.attrs[0].groups, &groups.groups[2]);
    EXPECT_EQ(groups.result.attrs[1].groups, &groups.groups[0]);
    EXPECT_EQ(groups.positions(0), (std::vector<uint32_t>{4, 5, 6}));
    EXPECT_EQ(groups.positions(1), (std::vector<uint32_t>{9, 2}));
    std::vector<uint32_t> order = {4, 5, 6, 9, 2}, other = {4, 5, 6, 2, 9};
    ASSERT_EQ(groups.align({2, 1}, &order), 0);
    EXPECT_TRUE(groups.result.skipped);
    ASSERT_EQ(groups.align({2, 1}, &other), 0);
    EXPECT_FALSE(groups.result.skipped);
    EXPECT_EQ(groups.positions(0), other);
}

TEST(Align, R185_what_all_have_in_list_order)
{
    Groups groups;
    groups.fixed(1, {8, 3, 5}, 32, true);
    groups.fixed(1, {1});
    groups.fixed(2, {0, 1, 2, 3, 4, 5}, 64);
    groups.run(0);
    groups.ragged(3, {5, 3, 7, 1});
    ASSERT_EQ(groups.align({1, 2, 3}), 0) << last_error();
    EXPECT_FALSE(groups.result.skipped);
    ASSERT_EQ(groups.result.group_count, 1u);
    EXPECT_EQ(groups.positions(0), (std::vector<uint32_t>{1, 3, 5}));
    const ovstage_read_group_t &group = groups.result.attrs[0].groups[0];
    EXPECT_EQ(group.read_group_id, OVSTAGE_INVALID_READ_GROUP_ID);
    EXPECT_EQ(group.ordinal, 2u); // the newest of those that rows came from
    EXPECT_EQ(groups.result.attrs[2].groups[0].data.tensor_count, 3u);
}

TEST(Align, R185_prim_order_reorders_and_chooses)
{
    Groups groups;
    groups.fixed(1, {0, 1, 2, 3});
    groups.fixed(2, {3, 2, 1});
    std::vector<uint32_t> order = {2, 0, 3, 9}, twice = {2, 2}, none = {};
    ASSERT_EQ(groups.align({1, 2}, &order), 0) << last_error();
    EXPECT_EQ(groups.positions(0), (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(groups.align({1, 2}, &twice), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(groups.result.attrs, nullptr);
    EXPECT_NE(last_error().find("prim_order[1] = 2"), std::string::npos) << last_error();
}

TEST(Align, R185_schemas_stay_apart)
{
    Groups groups;
    groups.fixed(1, {0, 2, 4}, 32);
    groups.fixed(1, {1, 3}, 64);
    groups.fixed(2, {4, 3, 2, 1, 0});
    ASSERT_EQ(groups.align({1, 2}), 0) << last_error();
    ASSERT_EQ(groups.result.group_count, 2u);
    EXPECT_EQ(groups.positions(0), (std::vector<uint32_t>{0, 2, 4}));
    EXPECT_EQ(groups.positions(1), (std::vector<uint32_t>{1, 3}));
    EXPECT_EQ(groups.result.attrs[0].groups[1].data.tensors[0].dtype.bits, 64);
}

TEST(Align, R185_nothing_in_common)
{
    Groups groups;
    groups.fixed(1, {0, 1});
    groups.fixed(2, {2, 3});
    ASSERT_EQ(groups.align({1, 2}), 0) << last_error();
    EXPECT_EQ(groups.result.attr_count, 2u);
    EXPECT_EQ(groups.result.group_count, 0u);
    ASSERT_EQ(groups.align({1, 3}), 0) << last_error(); // nobody has attribute 3
    EXPECT_EQ(groups.result.group_count, 0u);
    ASSERT_EQ(groups.align({}), 0) << last_error();
    EXPECT_TRUE(groups.result.skipped);
}

TEST(Align, R185_tombstones_are_no_rows)
{
    Groups groups;
    groups.fixed(1, {0, 1, 2});
    groups.fixed(1, {5});
    groups.groups.back().is_delete = true;
    groups.groups.back().data = {};
    groups.fixed(2, {0, 1, 2});
    ASSERT_EQ(groups.align({1, 2}), 0) << last_error();
    EXPECT_EQ(groups.positions(0), (std::vector<uint32_t>{0, 1, 2}));
}

// Any groups against a plain intersection.
TEST(Align, R185_random_groups)
{
    std::mt19937 random(20);
    for (int round = 0; round < 200; round++) {
        Groups groups;
        std::vector<int> have(40, 0);
        const size_t attributes = 1 + random() % 4;
        for (ovx_token_t a = 1; a <= attributes; a++) {
            std::vector<uint32_t> all(40);
            std::iota(all.begin(), all.end(), 0u);
            if (random() % 2)
                std::shuffle(all.begin(), all.end(), random);
            all.resize(random() % 41);
            for (uint32_t position : all)
                have[position]++;
            size_t cut = random() % (all.size() + 1);
            std::vector<uint32_t> first(all.begin(), all.begin() + static_cast<long>(cut));
            std::vector<uint32_t> second(all.begin() + static_cast<long>(cut), all.end());
            if (a % 2) {
                groups.fixed(a, first, 32, random() % 2 == 0);
                groups.fixed(a, second);
            } else {
                groups.ragged(a, first);
                groups.ragged(a, second);
            }
        }
        std::vector<uint32_t> expected, order(40), found;
        std::iota(order.begin(), order.end(), 0u);
        std::shuffle(order.begin(), order.end(), random);
        for (uint32_t position : order)
            if (have[position] == static_cast<int>(attributes))
                expected.push_back(position);
        std::vector<ovx_token_t> wanted;
        for (ovx_token_t a = 1; a <= attributes; a++)
            wanted.push_back(a);
        ASSERT_EQ(groups.align(wanted, &order), 0) << last_error();
        for (size_t g = 0; g < groups.result.group_count; g++)
            for (uint32_t position : groups.positions(g))
                found.push_back(position);
        EXPECT_EQ(found, expected) << "round " << round;
    }
}

TEST(Align, bad_input_is_told)
{
    Groups groups;
    groups.fixed(1, {0, 1});
    groups.fixed(2, {1, 0});
    auto refused = [&groups](int status, const char *what) {
        EXPECT_EQ(groups.align({1, 2}), status) << what;
        EXPECT_EQ(groups.result.attrs, nullptr);
        EXPECT_NE(last_error().find(what), std::string::npos) << last_error();
    };
    const int invalid = OVSTAGE_ERROR_INVALID_ARGUMENT;
    const std::vector<ovstage_read_group_t> good = groups.groups;
    groups.groups[1].prims.list = LIST + 1;
    refused(invalid, "path list 8");
    groups.groups = good;
    groups.groups[1].data.tensors = nullptr;
    refused(invalid, "no tensors");
    groups.groups = good;
    groups.groups[1].prims.count = 3; // more prims than rows
    uint32_t positions[3] = {1, 0, 2};
    groups.groups[1].prims.index_map = positions;
    refused(invalid, "row 2 of 2");
    groups.groups = good;
    positions[1] = 1;
    groups.groups[1].prims.index_map = positions;
    refused(invalid, "position 1");
    groups.groups = good;
    groups.groups[0].prims.index_map = nullptr;
    groups.groups[0].prims.offset = UINT32_MAX;
    refused(invalid, "overflow");
    groups.groups = good;
    DLTensor tensor = groups.groups[0].data.tensors[0];
    groups.groups[0].data.tensors = &tensor;
    tensor.device.device_type = kDLCUDA;
    refused(OVSTAGE_ERROR_NOT_SUPPORTED, "CUDA device");
    tensor.device.device_type = kDLROCM; // of other devices nobody here can read
    refused(invalid, "device type 10");
    tensor.device.device_type = kDLCPU;
    tensor.dtype.bits = 12;
    refused(invalid, "not compact");
    tensor.dtype.bits = 64;
    int64_t stride = 2;
    tensor.strides = &stride;
    refused(invalid, "not compact");
    groups.groups = good;
    const uint32_t one_row[1] = {0};
    groups.groups[0].data.index_map = one_row; // of two prims
    groups.groups[0].data.count = 1;
    refused(invalid, "2 prims, but data.count = 1");
    groups.groups = good;
    EXPECT_EQ(groups.align({1, 1}), invalid);
    EXPECT_NE(ovalign_align(nullptr, &groups.result), 0);
    ovalign_request_t request;
    std::memset(&request, 0, sizeof(request));
    EXPECT_NE(ovalign_align(&request, nullptr), 0);
    request.group_count = 1;
    EXPECT_EQ(ovalign_align(&request, &groups.result), invalid);
    request.group_count = 0;
    request.device = OVALIGN_DEVICE_CUDA;
    EXPECT_EQ(ovalign_align(&request, &groups.result), OVSTAGE_ERROR_NOT_SUPPORTED);
}

// Groups that a stage has handed out.
TEST(Align, R185_groups_of_a_stage)
{
    Stage stage(2u);
    std::vector<float> xs = {1, 2, 3, 4}, ys = {30, 40, 50};
    ovstage_query_handle_t all = stage.query({"/a", "/b", "/c", "/d", "/e"});
    stage.finish(stage.write(stage.query({"/a", "/b", "/c", "/d"}), stage.token("x"), 1, xs));
    stage.finish(stage.write(stage.query({"/c", "/d", "/e"}), stage.token("y"), 1, ys));
    stage.finish(stage.seal(1));
    ovx_token_t names[2] = {stage.token("x"), stage.token("y")};
    ovstage_read_handle_t read = 0;
    stage.finish(ovstage_read_attributes(stage.instance, all, names, 2,
                                         ovstage_ordinal_range_t{0, 1, false}, &read));
    std::vector<ovstage_read_group_t> groups(2);
    for (auto &group : groups)
        ASSERT_EQ(ovstage_fetch_read_next(stage.instance, read, forever, &group), OVSTAGE_OK);
    ovalign_request_t request;
    std::memset(&request, 0, sizeof(request));
    request.groups = groups.data();
    request.group_count = groups.size();
    request.attributes = names;
    request.attr_count = 2;
    request.prim_list = groups[0].prims.list;
    ovalign_result_t result;
    ASSERT_EQ(ovalign_align(&request, &result), 0) << last_error();
    ASSERT_EQ(result.group_count, 1u);
    const float *x = static_cast<const float *>(result.attrs[0].groups[0].data.tensors[0].data);
    const float *y = static_cast<const float *>(result.attrs[1].groups[0].data.tensors[0].data);
    ASSERT_EQ(result.attrs[0].groups[0].prims.count, 2u);
    EXPECT_EQ(std::vector<float>(x, x + 2), (std::vector<float>{3, 4}));
    EXPECT_EQ(std::vector<float>(y, y + 2), (std::vector<float>{30, 40}));
    ovalign_release(&result);
    for (auto &group : groups)
        EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
    stage.finish(ovstage_release_read(stage.instance, read));
}

} // namespace
