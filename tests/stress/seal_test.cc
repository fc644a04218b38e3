// What seals change while others are in it: clones that read open ordinals below their own, and
// rows that are derived below what is being written.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/clones.h"
#include "tests/support/composer.h"

namespace
{

using namespace client;

// A key that was written before it had a place comes to a version that a clone is reading: the rows
// of the one must not be taken from under the other.
TEST(BesideSeals, CloneOfWhatASealLaysOut)
{
    constexpr uint16_t lanes = 250;
    constexpr size_t prims = 40;
    const DLDataType wide{kDLFloat, 64, lanes};
    Clones it(2);
    const Stage &stage = it.stage;
    std::vector<ovx_token_t> names;
    for (int k = 0; k < 12; k++)
        names.push_back(stage.token("wide" + std::to_string(k)));
    auto put = [&](const Texts &paths, uint64_t ordinal, double value) {
        Payload payload(std::vector<double>(paths.size() * lanes, value), wide,
                        {static_cast<int64_t>(paths.size())});
        ovstage_query_handle_t query = stage.query(paths);
        for (ovx_token_t name : names)
            stage.finish(write(stage, query, name, ordinal, payload.data));
        EXPECT_EQ(ovstage_release_query(stage.instance, query).status, OVSTAGE_OK);
    };
    for (uint64_t round = 0; round < 12; round++) {
        uint64_t low = 4 * round + 1, middle = low + 1, high = low + 2;
        std::string source = "/from" + std::to_string(round), copy = "/to" + std::to_string(round);
        Texts two{source, source + "/0"}, paths = two, copies{copy, copy + "/0"};
        while (paths.size() < prims)
            paths.push_back("/other" + std::to_string(round) + "/" + std::to_string(paths.size()));
        put(paths, low, 1);
        put({paths.back()}, middle, 2);
        stage.finish(stage.seal(low));
        put(two, middle, 3);
        ovstage_enqueue_result_t ops[2];
        bool first = round % 2 == 0;
        ops[first] = first ? stage.seal(middle) : it.clone(source, {copy}, high);
        ops[!first] = first ? it.clone(source, {copy}, high) : stage.seal(middle);
        stage.finish(ops[0]);
        stage.finish(ops[1]);
        stage.finish(stage.seal(high));
        Snapshot snapshot(stage, stage.query(copies), names, high);
        EXPECT_EQ(snapshot.groups.size(), names.size());
        for (const ovstage_read_group_t &group : snapshot.groups) {
            const double *values = static_cast<const double *>(group.data.tensors[0].data);
            EXPECT_EQ(std::vector<double>(values, values + 2 * lanes),
                      std::vector<double>(2 * lanes, 3));
        }
    }
}

// Rows are derived again where they were, while other ordinals begin to write the same rows: each
// of them right above what is sealed.
TEST(BesideSeals, DerivedRowsBelowOpenOnes)
{
    constexpr uint64_t sealed = 16, writes = 300;
    Composer it(2u);
    Stage &stage = it.stage;
    Paths paths;
    Scene scene, moved;
    // Each in a segment of its own.
    for (uint64_t k = 1; k < sealed; k++) {
        paths.push_back("/p" + std::to_string(k));
        scene.locals[paths.back()] = translation(static_cast<double>(k));
        moved.locals[paths.back()] = scale(3);
        it.seed({paths.back()}, k);
        stage.finish(stage.seal(k));
    }
    it.locals(scene.locals, sealed);
    stage.finish(stage.seal(sealed));
    it.locals(moved.locals, sealed + 1);
    stage.finish(stage.seal(sealed + 1));
    std::atomic<bool> done{false};
    std::thread writer([&] {
        std::vector<double> values(paths.size() * 16, -5);
        Payload payload(values, f64(16), {static_cast<int64_t>(paths.size())});
        payload.data.semantic = OVSTAGE_SEMANTIC_MATRIX;
        std::vector<ovstage_op_id_t> ops;
        for (uint64_t ordinal = writes; ordinal > sealed + 1; ordinal--) {
            ops.push_back(it.write(it.world, paths, payload.data, ordinal).op_index);
            if (ordinal % 8 == 0) {
                EXPECT_EQ(flyrail_wait_any(stage.instance, &ops.back(), 1, forever, nullptr),
                          OVSTAGE_OK);
            }
        }
        EXPECT_EQ(flyrail_wait_all(stage.instance, ops.data(), ops.size(), forever), OVSTAGE_OK);
        done = true;
    });
    while (!done) {
        it.compute(sealed, sealed + 1);
        it.compute(sealed + 1, sealed + 1);
    }
    writer.join();
    EXPECT_EQ(it.at(paths, sealed + 1), expected(moved, paths));
    stage.finish(stage.seal(writes));
    for (const auto &[path, matrix] : it.at(paths, writes))
        EXPECT_EQ(matrix, marked(-5)) << path;
}

} // namespace
