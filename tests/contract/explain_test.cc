// flyrail_explain: why an op is not done.
#include "tests/support/bounded.h"
#include "tests/support/maps.h"

using namespace client;

namespace
{

std::string hex(uint64_t id)
{
    char text[32];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(id));
    return text;
}

class ExplainTest : public MapTest
{
  protected:
    static std::string explain(const Stage &on, ovstage_op_id_t id)
    {
        char text[4096];
        size_t length = 0;
        EXPECT_EQ(flyrail_explain(on.instance, id, text, sizeof(text), &length), OVSTAGE_OK)
            << last_error();
        EXPECT_EQ(std::strlen(text), length);
        return text;
    }
    // In this order.
    static void expect_in(const std::string &text, const std::vector<std::string> &parts)
    {
        size_t from = 0;
        for (const std::string &part : parts) {
            size_t found = text.find(part, from);
            EXPECT_NE(found, std::string::npos) << part << " in:\n" << text;
            from = found == std::string::npos ? from : found + part.size();
        }
    }
};

TEST_F(ExplainTest, a_chain_of_lanes_and_seals)
{
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 3);
    gate.wait_entered();
    Values values = ramp(4);
    ovstage_enqueue_result_t behind = stage.write(query, attribute, 3, values);
    ovstage_enqueue_result_t seal = stage.seal(3);
    ovstage_enqueue_result_t joint = task(stage, 0, nullptr, nullptr, {seal.op_index});
    Map map(stage, query, description(attribute), 7);
    ASSERT_EQ(map.fetch(), OVSTAGE_OK);
    expect_in(explain(stage, joint.op_index),
              {hex(joint.op_index), "task", "waits for " + hex(seal.op_index), hex(seal.op_index),
               "seal, ordinal 3", "waits for " + hex(behind.op_index), hex(behind.op_index),
               "write, ordinal 3", hex(held.op_index) + " comes before it", hex(held.op_index),
               "a thread is running it", "open: 1, at ordinal 7"});
    gate.let_go();
    for (const auto &op : {held, behind, seal, joint})
        stage.finish(op);
    stage.finish(map.unmap());
}

TEST_F(ExplainTest, what_a_task_waits_for_inside)
{
    Gate gate;
    ovstage_enqueue_result_t held = gate.submit(stage, 3);
    gate.wait_entered();
    Event entered;
    for (bool floor : {false, true}) {
        Body body;
        body.run = [&](const flyrail_task_context_t *) {
            entered.set();
            ovstage_op_wait_result_t outcome;
            return floor ? flyrail_wait_floor(stage.instance, 0, 1, forever)
                         : ovstage_wait_op(stage.instance, held.op_index, forever, &outcome);
        };
        flyrail_task_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.struct_size = sizeof(desc);
        desc.fn = Body::call;
        desc.user = &body;
        desc.name = "solver";
        ovstage_enqueue_result_t waits = flyrail_submit_task(stage.instance, &desc);
        ASSERT_EQ(waits.status, OVSTAGE_OK);
        entered.wait();
        bounded("its wait", [&] { // from entering the task to entering the wait
            while (explain(stage, waits.op_index).find("waits inside") == std::string::npos)
                std::this_thread::yield();
        });
        expect_in(explain(stage, waits.op_index),
                  {"task 'solver'",
                   "waits inside it for " + (floor ? "the write floor 1" : hex(held.op_index))});
        if (floor)
            stage.finish(stage.seal(1));
        else
            gate.let_go();
        stage.finish(waits);
    }
    stage.finish(held);
}

TEST_F(ExplainTest, complete_failed_and_nobody)
{
    ovstage_enqueue_result_t done = stage.seal(1);
    EXPECT_EQ(flyrail_wait_all(stage.instance, &done.op_index, 1, forever), OVSTAGE_OK);
    expect_in(explain(stage, done.op_index), {hex(done.op_index), "complete"});
    ovstage_enqueue_result_t fails = task(
        stage, 0, [](const flyrail_task_context_t *, void *) { return OVSTAGE_ERROR_TIMEOUT; },
        nullptr);
    ovstage_enqueue_result_t with = task(stage, 0, nullptr, nullptr, {fails.op_index});
    EXPECT_EQ(flyrail_wait_all(stage.instance, &with.op_index, 1, forever), OVSTAGE_OK);
    expect_in(explain(stage, fails.op_index), {"failed", "answered 'timeout'"});
    expect_in(explain(stage, with.op_index), {"failed", "cause", hex(fails.op_index)});
    Stage alone(0);
    ovstage_enqueue_result_t waits = alone.seal(1);
    expect_in(explain(alone, waits.op_index), {"seal", "no workers", "somebody waits, polls"});
    alone.finish(waits);
    // A wait with a timeout runs nothing that takes long.
    std::vector<float> many(20000, 1);
    ovstage_enqueue_result_t large =
        alone.write(alone.query(many.size()), alone.token("large"), 2, many);
    expect_in(explain(alone, large.op_index), {"write", "somebody waits without a timeout"});
    alone.finish(large);
}

// The first and the last steps: what holds all of them up comes last.
TEST_F(ExplainTest, of_a_long_chain_both_ends)
{
    Stage alone(0);
    std::vector<ovstage_enqueue_result_t> ops{task(alone, 0, nullptr, nullptr)};
    auto lines = [](const std::string &text) { return std::count(text.begin(), text.end(), '\n'); };
    auto step = [&ops](size_t k) { return "operation " + hex(ops[k].op_index) + " (task): "; };
    while (ops.size() < 5000) {
        std::string text = explain(alone, ops.back().op_index);
        size_t count = ops.size();
        EXPECT_EQ(lines(text), count > 16 ? 17 : static_cast<long>(count));
        for (size_t k = 0; k < count; k++)
            EXPECT_EQ(text.find(step(k)) != std::string::npos, k < 8 || k + 8 >= count) << k;
        std::string left_out = ": " + std::to_string(count - 16) + " steps are left out";
        EXPECT_EQ(text.find(left_out) != std::string::npos, count > 16);
        EXPECT_EQ(text.find(step(count - 1)), 0u);
        expect_in(text, {step(0) + "it can run, and there are no workers"});
        size_t more = count < 20 ? 1 : 1660;
        for (size_t k = 0; k < more; k++)
            ops.push_back(task(alone, 0, nullptr, nullptr, {ops.back().op_index}));
    }
    for (const auto &op : ops)
        alone.finish(op);
}

TEST_F(ExplainTest, wrong_arguments_and_little_room)
{
    ovstage_enqueue_result_t done = stage.seal(1);
    EXPECT_EQ(flyrail_wait_all(stage.instance, &done.op_index, 1, forever), OVSTAGE_OK);
    std::string all = explain(stage, done.op_index);
    size_t length = 0;
    EXPECT_EQ(flyrail_explain(stage.instance, done.op_index, nullptr, 0, &length), OVSTAGE_OK);
    EXPECT_EQ(length, all.size());
    for (size_t room = 1; room <= all.size() + 1; room++) {
        std::vector<char> text(room, 'x');
        EXPECT_EQ(flyrail_explain(stage.instance, done.op_index, text.data(), room, nullptr),
                  OVSTAGE_OK);
        EXPECT_EQ(std::string(text.data()), all.substr(0, room - 1));
    }
    char text[8];
    EXPECT_EQ(flyrail_explain(stage.instance, done.op_index, nullptr, 5, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(flyrail_explain(nullptr, done.op_index, text, 8, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    stage.finish(done);
    for (uint64_t id : {uint64_t{0}, ~uint64_t{0}, done.op_index, done.op_index + 5})
        EXPECT_EQ(flyrail_explain(stage.instance, id, text, 8, nullptr),
                  OVSTAGE_ERROR_INVALID_HANDLE);
}

// Asked all the time while ops come and go.
TEST_F(ExplainTest, while_others_run)
{
    for (uint32_t workers : {0u, 1u, 4u}) {
        Stage busy(workers);
        ovstage_query_handle_t some = busy.query(8);
        std::atomic<uint64_t> newest{0};
        std::atomic<bool> done{false};
        std::thread asker([&] {
            char text[4096];
            while (!done)
                if (newest != 0)
                    (void)flyrail_explain(busy.instance, newest, text, sizeof(text), nullptr);
        });
        Values values = ramp(8);
        for (uint64_t ordinal = 1; ordinal < 300; ordinal++) {
            ovstage_enqueue_result_t write = busy.write(some, attribute, ordinal, values);
            newest = write.op_index;
            ovstage_enqueue_result_t seal = busy.seal(ordinal);
            newest = seal.op_index;
            busy.finish(write);
            busy.finish(seal);
        }
        done = true;
        asker.join();
    }
}

} // namespace
