// Stages with world transforms, for tests: the three columns, computations, and the rules by which
// world transforms follow from local ones, as plainly as they can be said. C++ only.
#ifndef FR_TESTS_SUPPORT_COMPOSER_H
#define FR_TESTS_SUPPORT_COMPOSER_H

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/columns.h"

namespace client
{

using Paths = std::vector<std::string>;
using Matrix = std::array<double, 16>;
using Worlds = std::map<std::string, Matrix>;

constexpr auto cpu_model = OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL;

inline Matrix translation(double x, double y = 0, double z = 0)
{
    return {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, y, z, 1};
}

inline Matrix scale(double by)
{
    return {by, 0, 0, 0, 0, by, 0, 0, 0, 0, by, 0, 0, 0, 0, 1};
}

inline Matrix marked(double value)
{
    Matrix made;
    made.fill(value);
    return made;
}

inline Matrix multiply(const Matrix &a, const Matrix &b)
{
    Matrix product;
    for (size_t row = 0; row < 4; row++)
        for (size_t column = 0; column < 4; column++) {
            product[4 * row + column] = 0;
            for (size_t k = 0; k < 4; k++)
                product[4 * row + column] += a[4 * row + k] * b[4 * k + column];
        }
    return product;
}

// What world transforms follow from, at one moment. By the rules, one step a line, from each prim
// up to the root.
struct Scene {
    std::map<std::string, Matrix> locals;
    std::map<std::string, bool> resets;

    Matrix world(std::string path) const
    {
        std::optional<Matrix> product;
        for (; !path.empty(); path = path.substr(0, path.rfind('/'))) {
            if (auto local = locals.find(path); local != locals.end())
                chain.push_back(local->second);
            if (auto reset = resets.find(path); reset != resets.end() && reset->second)
                break;
        }
        for (; !chain.empty(); chain.pop_back()) // the topmost first
            product = product ? multiply(chain.back(), *product) : chain.back();
        return product.value_or(translation(0));
    }
    mutable std::vector<Matrix> chain;
};

// A stage and the three columns.
class Composer
{
  public:
    template <typename... Arguments>
    explicit Composer(Arguments &&...arguments) : stage(std::forward<Arguments>(arguments)...)
    {
        local = stage.token("omni:xform");
        reset = stage.token("omni:resetXformStack");
        world = stage.token("omni:fabric:worldMatrix");
    }

    ovstage_enqueue_result_t write(ovx_token_t attribute, const Paths &paths,
                                   const ovstage_write_data_t &data, uint64_t ordinal)
    {
        ovstage_query_handle_t query = stage.query(paths);
        auto result =
            ovstage_write_attribute(stage.instance, query, ovx_string_or_token_t{attribute, {}},
                                    ordinal, data, OVSTAGE_PRIM_MODE_UPSERT);
        EXPECT_EQ(ovstage_release_query(stage.instance, query).status, OVSTAGE_OK);
        return result;
    }
    void matrices(ovx_token_t attribute, const Worlds &rows, uint64_t ordinal,
                  ovstage_attribute_semantic_t role = OVSTAGE_SEMANTIC_MATRIX)
    {
        Paths paths;
        std::vector<double> values;
        for (const auto &[path, matrix] : rows) {
            paths.push_back(path);
            values.insert(values.end(), matrix.begin(), matrix.end());
        }
        Payload payload(values, f64(16), {static_cast<int64_t>(rows.size())});
        payload.data.semantic = role;
        stage.finish(write(attribute, paths, payload.data, ordinal));
    }
    void locals(const Worlds &rows, uint64_t ordinal)
    {
        matrices(local, rows, ordinal);
    }
    // Rows that a computation may fill, with what no computation comes to.
    void seed(const Paths &paths, uint64_t ordinal, double value = -7)
    {
        Worlds rows;
        for (const std::string &path : paths)
            rows[path] = marked(value);
        matrices(world, rows, ordinal);
    }
    void resets(const std::map<std::string, bool> &rows, uint64_t ordinal)
    {
        Paths paths;
        std::vector<uint8_t> values;
        for (const auto &[path, value] : rows) {
            paths.push_back(path);
            values.push_back(value);
        }
        Payload payload(values, DLDataType{kDLBool, 8, 1}, {static_cast<int64_t>(rows.size())});
        stage.finish(write(reset, paths, payload.data, ordinal));
    }
    void remove(const std::vector<ovx_token_t> &attributes, const Paths &paths, uint64_t ordinal)
    {
        ovstage_query_handle_t query = stage.query(paths);
        std::vector<ovx_string_or_token_t> names;
        for (ovx_token_t attribute : attributes)
            names.push_back({attribute, {}});
        stage.finish(
            ovstage_delete_attributes(stage.instance, query, names.data(), names.size(), ordinal));
        EXPECT_EQ(ovstage_release_query(stage.instance, query).status, OVSTAGE_OK);
    }
    ovstage_enqueue_result_t submit(uint64_t input, uint64_t output)
    {
        return ovstage_compute_hierarchy(stage.instance, cpu_model, input, output);
    }
    void compute(uint64_t input, uint64_t output)
    {
        stage.finish(submit(input, output));
    }
    // The text with which it fails.
    std::string fails(ovstage_enqueue_result_t result)
    {
        EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
        ovstage_op_wait_result_t outcome;
        EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &outcome), OVSTAGE_OK);
        EXPECT_EQ(outcome.error_op_id_count, 1u);
        std::string why = text(ovstage_get_last_op_error(stage.instance, result.op_index));
        EXPECT_EQ(ovstage_release_op(stage.instance, result.op_index), OVSTAGE_OK);
        return why;
    }

    // The rows that a group shows; deleted ones are left out.
    static void add_rows(const ovstage_read_group_t &group, const Paths &paths, Worlds *rows)
    {
        for (uint32_t i = 0; !group.is_delete && i < group.data.count; i++) {
            uint32_t position =
                group.prims.index_map ? group.prims.index_map[i] : group.prims.offset + i;
            uint32_t row = group.data.index_map ? group.data.index_map[i] : i;
            Matrix matrix;
            std::memcpy(matrix.data(),
                        static_cast<const double *>(group.data.tensors[0].data) + 16 * row,
                        sizeof(matrix));
            (*rows)[paths[position]] = matrix;
        }
    }
    Worlds read(const Paths &paths, ovstage_ordinal_range_t range)
    {
        Worlds rows;
        ovstage_query_handle_t query = stage.query(paths);
        {
            Snapshot snapshot(stage, query, {world}, range);
            EXPECT_EQ(snapshot.status, OVSTAGE_OK) << last_error();
            for (const ovstage_read_group_t &group : snapshot.groups)
                add_rows(group, paths, &rows);
        }
        EXPECT_EQ(ovstage_release_query(stage.instance, query).status, OVSTAGE_OK);
        return rows;
    }
    Worlds at(const Paths &paths, uint64_t ordinal)
    {
        return read(paths, {0, ordinal, false});
    }
    Worlds changed(const Paths &paths, uint64_t start, uint64_t end)
    {
        return read(paths, {start, end, true});
    }

    Stage stage;
    ovx_token_t local, reset, world;
};

inline Worlds expected(const Scene &scene, const Paths &paths)
{
    Worlds rows;
    for (const std::string &path : paths)
        rows[path] = scene.world(path);
    return rows;
}

} // namespace client

#endif
