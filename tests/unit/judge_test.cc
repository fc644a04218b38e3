// What the store judges writes by, against a list of all that was accepted (L3): ops run, and
// ordinals are sealed, in any order that lanes allow, with and without history.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <ovstage/ovstage.h>

#include "tests/support/store_world.h"

namespace
{

constexpr uint32_t attributes = 2;

struct Op {
    store_op what = {};
    std::vector<uint32_t> prims;
    bool has_run = false;
};

// Acceptance order is the order in the list.
class Model
{
  public:
    // What one key is for op i at an ordinal: its schema.
    std::optional<int> key(uint32_t attribute, uint32_t prim, uint64_t ordinal, size_t before) const
    {
        std::optional<int> schema;
        uint64_t newest = 0;
        for (size_t k = 0; k < before; k++) {
            const Op &op = ops[k];
            const store_op &what = op.what;
            bool names = what.attribute == attribute || what.attribute == STORE_WHOLE_PRIMS;
            if (what.ordinal > ordinal || what.ordinal < newest || !names ||
                expected[k] != OVSTAGE_OK ||
                std::find(op.prims.begin(), op.prims.end(), prim) == op.prims.end())
                continue;
            newest = what.ordinal;
            schema = what.deletes ? std::nullopt : std::optional<int>(what.schema);
        }
        return schema;
    }
    void add(const Op &op)
    {
        const store_op &what = op.what;
        bool conflict = false, exists = false;
        size_t before = ops.size();
        for (uint32_t prim : op.prims) {
            for (uint32_t a = 0; a < attributes && what.inserts; a++)
                exists |= key(a, prim, what.ordinal, before).has_value();
            if (what.deletes)
                continue;
            auto schema = key(what.attribute, prim, what.ordinal, before);
            conflict |= schema && *schema != what.schema;
        }
        ops.push_back(op);
        expected.push_back(exists     ? OVSTAGE_ERROR_PRIM_NOT_FOUND
                           : conflict ? OVSTAGE_ERROR_INVALID_ARGUMENT
                                      : OVSTAGE_OK);
    }

    std::vector<Op> ops;
    std::vector<int> expected; // statuses
};

class Random
{
  public:
    Random(uint64_t seed, fr_test_heap *heap) : random(seed)
    {
        store_world_options options = {below(3) ? 0 : below(3), 0, 0};
        world = store_world_create(heap, &options);
        prims = below(3) ? 6 : 3 + below(60);
        seals = below(4) ? 1 : 8;
        window = 2 + below(below(4) ? 6 : 40);
        deletes = below(3) != 0;
        schemas = below(3) ? 2 : 1;
    }
    ~Random()
    {
        for (store_query *query : queries)
            store_query_destroy(world, query);
        store_world_destroy(world);
    }
    void Run(uint32_t steps)
    {
        for (uint32_t step = 0; step < steps && !::testing::Test::HasFailure(); step++) {
            uint32_t kind = below(9 + seals);
            if (kind < 5)
                Accept();
            else if (kind < 9)
                RunOne();
            else
                Seal();
        }
        while (RunOne() && !::testing::Test::HasFailure())
            continue;
        Seal();
        for (uint32_t attribute = 0; attribute < attributes; attribute++)
            Read(attribute);
    }
    std::string text;

  private:
    uint32_t below(uint32_t n)
    {
        return std::uniform_int_distribution<uint32_t>(0, n - 1)(random);
    }
    uint64_t least() const
    {
        return *std::min_element(floors, floors + attributes);
    }
    uint64_t highest() const
    {
        return *std::max_element(floors, floors + attributes);
    }
    void Accept()
    {
        Op op;
        op.what.attribute = below(attributes);
        op.what.deletes = deletes && below(4) == 0;
        op.what.inserts = !op.what.deletes && below(5) == 0;
        op.what.schema = static_cast<int>(below(schemas));
        op.what.judged = !op.what.deletes && schemas > 1;
        op.what.value = 1 + static_cast<uint32_t>(model.ops.size());
        // Whole prims are deleted above every floor only, and INSERT looks at all attributes: D3,
        // and what is sealed above an INSERT elsewhere, are other tests' matters.
        uint64_t above = floors[op.what.attribute];
        if (op.what.deletes && below(3) == 0)
            op.what.attribute = STORE_WHOLE_PRIMS;
        if (op.what.inserts || op.what.attribute == STORE_WHOLE_PRIMS)
            above = highest();
        op.what.ordinal = above + 1 + below(window);
        bool run = below(2) != 0;
        uint32_t first = below(prims), count = 1 + below(below(2) ? prims : 3);
        for (uint32_t k = 0; k < count; k++)
            op.prims.push_back(1 + (run ? (first + k) % prims : below(prims)));
        op.what.query =
            store_query_create(world, op.prims.data(), static_cast<uint32_t>(op.prims.size()));
        queries.push_back(op.what.query);
        store_accept(world, &op.what);
        model.add(op);
        Say("accept", model.ops.size() - 1);
    }
    // Those of its ordinal before it have run, and, of one that is judged, those at or below it.
    bool CanRun(size_t k) const
    {
        const store_op &what = model.ops[k].what;
        if (model.ops[k].has_run)
            return false;
        for (size_t j = 0; j < k; j++) {
            const store_op &other = model.ops[j].what;
            bool waits = other.ordinal == what.ordinal ||
                         ((what.judged || what.inserts) && other.ordinal < what.ordinal);
            if (waits && !model.ops[j].has_run)
                return false;
        }
        return true;
    }
    bool RunOne()
    {
        std::vector<size_t> can;
        for (size_t k = 0; k < model.ops.size(); k++)
            if (CanRun(k))
                can.push_back(k);
        if (can.empty())
            return false;
        RunThis(can[below(static_cast<uint32_t>(can.size()))]);
        return true;
    }
    void RunThis(size_t k)
    {
        Op &op = model.ops[k];
        op.has_run = true;
        Say("run", k);
        ASSERT_EQ(store_run(world, &op.what), model.expected[k]) << text;
    }
    // An ordinal below which all has run, or is made to.
    void Seal()
    {
        uint32_t which = below(3);
        uint64_t ordinal = (which == 2 ? highest() : least()) + below(seals > 1 ? 2 : 6);
        for (size_t k = 0; k < model.ops.size(); k++) {
            const store_op &what = model.ops[k].what;
            bool touches = which == 2 || what.attribute == which ||
                           what.attribute == STORE_WHOLE_PRIMS || what.inserts;
            if (what.ordinal <= ordinal && touches && !model.ops[k].has_run)
                for (size_t j = 0; j <= k && !::testing::Test::HasFailure(); j++)
                    if (model.ops[j].what.ordinal <= what.ordinal && !model.ops[j].has_run)
                        RunThis(j);
        }
        text += "seal " + std::to_string(which) + " " + std::to_string(ordinal) + "\n";
        if (which == 2) {
            ASSERT_TRUE(store_world_seal(world, ordinal));
            for (uint64_t &floor : floors)
                floor = ordinal;
        } else if (ordinal > floors[which]) {
            ASSERT_TRUE(store_world_seal_one(world, which, ordinal));
            floors[which] = ordinal;
        }
    }
    // The newest moment.
    void Read(uint32_t attribute)
    {
        std::vector<uint32_t> list;
        for (uint32_t prim = 1; prim <= prims; prim++)
            list.push_back(prim);
        queries.push_back(store_query_create(world, list.data(), prims));
        store_group *group = nullptr;
        ASSERT_EQ(store_read(world, attribute, queries.back(), floors[attribute], &group),
                  OVSTAGE_OK)
            << text;
        for (uint32_t k = 0; k < prims; k++)
            EXPECT_EQ(
                store_group_row(group, k) != nullptr,
                model.key(attribute, list[k], floors[attribute], model.ops.size()).has_value())
                << "attribute " << attribute << " prim " << list[k] << "\n"
                << text;
        store_group_release(world, group);
    }
    void Say(const char *what, size_t k)
    {
        const Op &op = model.ops[k];
        text += what + (" " + std::to_string(op.what.id)) + "@" + std::to_string(op.what.ordinal) +
                (op.what.deletes   ? " delete"
                 : op.what.inserts ? " INSERT"
                                   : " write") +
                " a" + std::to_string(static_cast<int>(op.what.attribute)) + " schema " +
                std::to_string(op.what.schema) + ":";
        for (uint32_t prim : op.prims)
            text += " " + std::to_string(prim);
        text += "; expects " + std::to_string(model.expected[k]) + "\n";
    }

    std::mt19937_64 random;
    store_world *world = nullptr;
    std::vector<store_query *> queries;
    Model model;
    uint64_t floors[attributes] = {0, 0};
    uint32_t prims, schemas; // of the stage; of each attribute
    uint32_t seals, window;  // how many in relation to ops; of ordinals above the floor
    bool deletes;
};

void RunProgram(uint64_t seed)
{
    fr_test_heap *heap = fr_test_heap_create();
    {
        Random random(seed, heap);
        random.Run(seed % 20 == 0 ? 300 : 20 + seed % 40); // longer: more seals than a log keeps
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    if (::testing::Test::HasFailure())
        ADD_FAILURE() << "again: FR_JUDGE_SEED=" << seed;
}

TEST(Judge, WhatLateWritesTakeGoesWithTheJudgement)
{
    fr_test_heap *heap = fr_test_heap_create();
    store_world_options options = {0, 0, 0};
    store_world *world = store_world_create(heap, &options);
    const uint32_t list[4] = {1, 2, 3, 4};
    store_query *one = store_query_create(world, list, 1),
                *all = store_query_create(world, list, 4);
    auto bytes = [world] {
        store_figures figures;
        store_world_figures(world, &figures);
        return figures.table_bytes;
    };
    auto make = [](uint64_t ordinal, store_query *query, bool judged) {
        store_op op = {};
        op.ordinal = ordinal;
        op.query = query;
        op.judged = judged;
        return op;
    };
    store_op before = make(1, one, false), judged = make(9, one, true), late = make(1, all, false);
    uint64_t with_late = 0, after = 0;
    for (int turn = 0; turn < 50; turn++) {
        for (store_op *op : {&before, &judged, &late}) {
            store_accept(world, op);
            if (op != &judged) {
                EXPECT_EQ(store_run(world, op), OVSTAGE_OK);
            }
        }
        with_late = turn == 0 ? bytes() : with_late;
        EXPECT_EQ(store_run(world, &judged), OVSTAGE_OK);
        after = turn == 0 ? bytes() : after;
    }
    EXPECT_LT(after, with_late);
    EXPECT_EQ(bytes(), after);
    store_query_destroy(world, one);
    store_query_destroy(world, all);
    store_world_destroy(world);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
}

// A seal without memory goes on; what it has not kept is not guessed.
TEST(Judge, WhatIsLostForWantOfMemoryIsTold)
{
    int lost = 0;
    for (uint64_t k = 1; k <= 20; k++) {
        fr_test_heap *heap = fr_test_heap_create();
        store_world_options options = {0, 0, 0};
        store_world *world = store_world_create(heap, &options);
        const uint32_t list[2] = {1, 2};
        store_query *one = store_query_create(world, list, 1);
        store_query *both = store_query_create(world, list, 2);
        ASSERT_EQ(store_write(world, 0, both, 1, 1, nullptr, 0, false), OVSTAGE_OK);
        ASSERT_TRUE(store_world_seal(world, 1));
        store_op ops[3] = {};
        for (store_op &op : ops)
            op.query = one;
        ops[0].ordinal = 2;
        ops[0].deletes = true;
        ops[1].ordinal = 9;
        ops[1].schema = 1;
        ops[1].judged = true;
        ops[2].ordinal = 3; // late
        for (store_op &op : ops)
            store_accept(world, &op);
        EXPECT_EQ(store_run(world, &ops[0]), OVSTAGE_OK);
        EXPECT_EQ(store_run(world, &ops[2]), OVSTAGE_OK);
        fr_test_heap_fail(heap, k, false);
        bool sealed = store_world_seal(world, 3);
        fr_test_heap_fail(heap, 0, false);
        ASSERT_TRUE(sealed || store_world_seal(world, 3));
        int status = store_run(world, &ops[1]);
        EXPECT_TRUE(status == OVSTAGE_OK || status == OVSTAGE_ERROR_OUT_OF_MEMORY)
            << k << ": " << status;
        lost += status != OVSTAGE_OK;
        store_query_destroy(world, one);
        store_query_destroy(world, both);
        store_world_destroy(world);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
    }
    EXPECT_GT(lost, 0);
}

TEST(Judge, RandomProgramsAreJudgedByAcceptance)
{
    if (const char *one = std::getenv("FR_JUDGE_SEED")) {
        RunProgram(std::strtoull(one, nullptr, 0));
        return;
    }
    const uint64_t count = std::getenv("FR_TEST_LONG") ? 20000 : 400;
    for (uint64_t seed = 1; seed <= count && !::testing::Test::HasFailure(); seed++)
        RunProgram(seed);
}

} // namespace
