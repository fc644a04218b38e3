// Several clients that write, insert and delete at the same time, with seals, against what the
// order of acceptance says (L3): ids tell it afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/client.h"

namespace
{

using namespace client;

constexpr uint32_t attributes = 2, prims = 5, clients = 3;

enum class Kind { write, other_schema, insert, remove, remove_prims };

struct Op {
    Kind kind;
    uint64_t ordinal = 0, id = 0;
    uint32_t attribute = 0;
    std::vector<uint32_t> prims;
    std::vector<float> values;
    int64_t shape[1] = {0};
    ovstage_enqueue_result_t result = {};
};

class Client
{
  public:
    Client(const Stage &of, const std::vector<ovx_token_t> &attribute_names,
           std::atomic<uint64_t> &sealed, uint32_t seed, bool with_gates)
        : stage(of), names(attribute_names), floor(sealed), random(seed), gates(with_gates)
    {
    }
    void run(int steps)
    {
        for (int step = 0; step < steps; step++) {
            auto op = std::make_unique<Op>();
            op->kind = static_cast<Kind>(random() % 5);
            op->attribute = random() % attributes;
            op->ordinal = floor.load() + 1 + random() % 5;
            std::vector<std::string> paths;
            for (uint32_t prim = 0; prim < prims; prim++)
                if (random() % 2) {
                    op->prims.push_back(prim);
                    op->values.push_back(static_cast<float>(random() % 1000));
                    paths.push_back("/p/" + std::to_string(prim));
                }
            submit(*op, stage.query(paths));
            if (op->result.status == OVSTAGE_OK && !op->prims.empty())
                ops.push_back(std::move(op));
            hold_up();
            if (random() % 6 == 0)
                seals.push_back(stage.seal(floor.fetch_add(1) + 1));
        }
        let_go();
    }

    std::vector<std::unique_ptr<Op>> ops;
    std::vector<ovstage_enqueue_result_t> seals;

  private:
    // What comes behind it at its ordinal is pending for a while.
    void hold_up()
    {
        if (gate && random() % 4 == 0)
            let_go();
        else if (gates && !gate && random() % 6 == 0) {
            gate = std::make_unique<Gate>();
            auto held = gate->try_submit(stage, floor.load() + 1 + random() % 5);
            if (held.status == OVSTAGE_OK)
                seals.push_back(held);
            else
                gate = nullptr;
        }
    }
    void let_go()
    {
        if (!gate)
            return;
        gate->let_go();
        gates_before.push_back(std::move(gate)); // its task may be still to come
    }
    void submit(Op &op, ovstage_query_handle_t query)
    {
        ovx_string_or_token_t name{names[op.attribute], {}};
        if (op.kind == Kind::remove || op.kind == Kind::remove_prims) {
            op.result = ovstage_delete_attributes(stage.instance, query, &name,
                                                  op.kind == Kind::remove ? 1 : 0, op.ordinal);
        } else {
            op.shape[0] = static_cast<int64_t>(op.values.size());
            DLDataType type = {
                static_cast<uint8_t>(op.kind == Kind::other_schema ? kDLInt : kDLFloat), 32, 1};
            DLTensor tensor{op.values.data(), {kDLCPU, 0}, 1, type, op.shape, nullptr, 0};
            ovstage_write_data_t data;
            std::memset(&data, 0, sizeof(data));
            data.tensors = &tensor;
            data.tensor_count = 1;
            op.result = ovstage_write_attribute(stage.instance, query, name, op.ordinal, data,
                                                op.kind == Kind::insert ? OVSTAGE_PRIM_MODE_INSERT
                                                                        : OVSTAGE_PRIM_MODE_UPSERT);
        }
        op.id = op.result.op_index;
    }

    const Stage &stage;
    const std::vector<ovx_token_t> &names;
    std::atomic<uint64_t> &floor;
    std::mt19937 random;
    bool gates;
    std::unique_ptr<Gate> gate;
    std::vector<std::unique_ptr<Gate>> gates_before;
};

// What a key is: who wrote it, and which value.
struct Value {
    bool other_schema;
    float value;
};

// By what ops[0 .. before) that did not fail did at or below the ordinal.
std::optional<Value> key(const std::vector<Op *> &ops, const std::vector<bool> &failed,
                         size_t before, uint32_t attribute, uint32_t prim, uint64_t ordinal)
{
    std::optional<Value> found;
    uint64_t newest = 0;
    for (size_t k = 0; k < before; k++) {
        const Op &op = *ops[k];
        bool names = op.kind == Kind::remove_prims || op.attribute == attribute;
        auto place = std::find(op.prims.begin(), op.prims.end(), prim);
        if (failed[k] || !names || place == op.prims.end() || op.ordinal > ordinal ||
            op.ordinal < newest)
            continue;
        newest = op.ordinal;
        found = std::nullopt;
        if (op.kind != Kind::remove && op.kind != Kind::remove_prims)
            found = Value{op.kind == Kind::other_schema,
                          op.values[static_cast<size_t>(place - op.prims.begin())]};
    }
    return found;
}

bool must_fail(const std::vector<Op *> &ops, const std::vector<bool> &failed, size_t k)
{
    const Op &op = *ops[k];
    bool fails = false;
    for (uint32_t prim : op.prims) {
        for (uint32_t a = 0; op.kind == Kind::insert && a < attributes; a++)
            fails |= key(ops, failed, k, a, prim, op.ordinal).has_value();
        auto there = key(ops, failed, k, op.attribute, prim, op.ordinal);
        bool writes = op.kind != Kind::remove && op.kind != Kind::remove_prims;
        fails |= writes && there && there->other_schema != (op.kind == Kind::other_schema);
    }
    return fails;
}

// Of all that the clients have had accepted.
void compare(const Stage &stage, const std::vector<ovx_token_t> &names,
             const std::vector<Op *> &ops, uint64_t last)
{
    std::vector<bool> failed;
    for (size_t k = 0; k < ops.size(); k++) {
        ovstage_op_wait_result_t out;
        ASSERT_EQ(ovstage_wait_op(stage.instance, ops[k]->id, forever, &out), OVSTAGE_OK);
        failed.push_back(must_fail(ops, failed, k));
        ASSERT_EQ(out.error_op_id_count > 0, failed[k])
            << "op " << k << " of kind " << static_cast<int>(ops[k]->kind) << " at "
            << ops[k]->ordinal << ": "
            << text(ovstage_get_last_op_error(stage.instance, ops[k]->id));
    }
    stage.finish(stage.seal(last));
    for (uint32_t attribute = 0; attribute < attributes; attribute++)
        for (uint32_t prim = 0; prim < prims; prim++) {
            auto expected = key(ops, failed, ops.size(), attribute, prim, last);
            std::vector<float> read =
                stage.read(stage.query({"/p/" + std::to_string(prim)}), names[attribute], last);
            EXPECT_EQ(read, expected ? std::vector<float>{expected->value} : std::vector<float>{})
                << "prim " << prim << " attribute " << attribute;
        }
}

class DeleteStress : public testing::TestWithParam<uint32_t>
{
};

INSTANTIATE_TEST_SUITE_P(Workers, DeleteStress, testing::Values(0u, 1u, 4u));

TEST_P(DeleteStress, ClientsAreJudgedByAcceptance)
{
    const uint32_t rounds = std::getenv("FR_TEST_LONG") ? 400 : 10;
    for (uint32_t round = 0; round < rounds && !HasFailure(); round++) {
        flyrail_config_t made = config(GetParam());
        made.history_versions = round % 3;
        Stage stage(made);
        std::vector<ovx_token_t> names = {stage.token("a"), stage.token("b")};
        std::atomic<uint64_t> floor{0};
        std::vector<std::unique_ptr<Client>> all;
        std::vector<std::thread> threads;
        for (uint32_t c = 0; c < clients; c++)
            all.push_back(std::make_unique<Client>(stage, names, floor, round * clients + c,
                                                   GetParam() > clients));
        for (auto &one : all)
            threads.emplace_back([&one] { one->run(40); });
        for (std::thread &thread : threads)
            thread.join();
        std::vector<Op *> ops;
        for (auto &one : all) {
            for (auto &op : one->ops)
                ops.push_back(op.get());
            for (const ovstage_enqueue_result_t &seal : one->seals)
                stage.finish(seal);
        }
        std::sort(ops.begin(), ops.end(), [](const Op *a, const Op *b) { return a->id < b->id; });
        compare(stage, names, ops, floor + 6);
        ASSERT_FALSE(HasFailure()) << "round " << round;
    }
}

} // namespace
