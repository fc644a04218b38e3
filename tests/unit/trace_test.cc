// Tracing: what ran, in a ring of each thread, as JSON and as a picture.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/client.h"
#include "tests/support/heap.h"

namespace
{

using namespace client;

bool append(const char *piece, size_t length, void *user)
{
    static_cast<std::string *>(user)->append(piece, length);
    return true;
}

std::string written(const Stage &stage, flyrail_trace_format_t format)
{
    std::string out;
    EXPECT_EQ(flyrail_trace_write(stage.instance, format, append, &out), OVSTAGE_OK)
        << last_error();
    return out;
}

size_t occurrences(const std::string &in, const std::string &what)
{
    size_t count = 0;
    for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1))
        count++;
    return count;
}

// Quotes are paired, brackets nest, and nothing but commas, numbers and texts is outside of them:
// enough to tell a broken file.
bool is_json(const std::string &text)
{
    std::vector<char> open;
    bool quoted = false;
    for (size_t i = 0; i < text.size(); i++) {
        char c = text[i];
        if (quoted) {
            if (c == '\\' || c < ' ')
                return false; // names are written without escapes
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            open.push_back(c);
        } else if (c == '}' || c == ']') {
            if (open.empty() || open.back() != (c == '}' ? '{' : '['))
                return false;
            open.pop_back();
        } else if (c == ',' && (text[i + 1] == '}' || text[i + 1] == ']')) {
            return false;
        }
    }
    return open.empty() && !quoted;
}

// How many events are not in a trace, as both formats tell.
void expect_lost(const Stage &stage, uint64_t count)
{
    const std::string json = written(stage, FLYRAIL_TRACE_PERFETTO_JSON);
    const std::string svg = written(stage, FLYRAIL_TRACE_SVG), number = std::to_string(count);
    EXPECT_TRUE(is_json(json)) << json;
    EXPECT_EQ(occurrences(json, "\"otherData\":{\"lost_events\":" + number + "}"), 1u) << json;
    EXPECT_EQ(occurrences(json, "\"labels\":\"" + number + " events lost\""), count > 0) << json;
    EXPECT_EQ(occurrences(svg, ", " + number + " more lost</text>"), count > 0) << svg;
}

struct Trace : testing::TestWithParam<uint32_t> {
    Trace() : stage(GetParam())
    {
    }
    void start(uint32_t events = 0)
    {
        ASSERT_EQ(flyrail_trace_start(stage.instance, events), OVSTAGE_OK) << last_error();
    }
    void stop()
    {
        ASSERT_EQ(flyrail_trace_stop(stage.instance), OVSTAGE_OK) << last_error();
    }
    Stage stage;
};

INSTANTIATE_TEST_SUITE_P(Workers, Trace, testing::Values(0u, 2u));

ovstage_enqueue_result_t named(const Stage &stage, uint64_t ordinal, const char *name)
{
    flyrail_task_desc_t desc;
    std::memset(&desc, 0, sizeof(desc));
    desc.struct_size = sizeof(desc);
    desc.ordered = ordinal != 0;
    desc.ordinal = ordinal;
    desc.name = name;
    return flyrail_submit_task(stage.instance, &desc);
}

TEST_P(Trace, every_op_that_ran_is_in_it)
{
    ovx_token_t x = stage.token("x");
    ovstage_query_handle_t query = stage.query(4);
    std::vector<float> values = {1, 2, 3, 4};
    stage.finish(stage.write(query, x, 1, values)); // before
    start();
    stage.finish(stage.write(query, x, 2, values));
    stage.finish(named(stage, 3, "a joint"));
    stage.finish(named(stage, 0, nullptr));
    ovstage_enqueue_result_t seal = stage.seal(3);
    stage.finish(seal);
    stop();
    stage.finish(named(stage, 4, "after"));
    std::string json = written(stage, FLYRAIL_TRACE_PERFETTO_JSON);
    EXPECT_TRUE(is_json(json)) << json;
    EXPECT_EQ(occurrences(json, "\"name\":\"a joint\",\"cat\":\"op\",\"args\":{\"ordinal\":3"), 1u)
        << json;
    EXPECT_EQ(occurrences(json, "\"name\":\"task\""), 1u) << json;
    EXPECT_EQ(occurrences(json, "\"name\":\"write\""), 1u) << json;
    EXPECT_EQ(occurrences(json, "\"name\":\"seal\""), 1u) << json;
    // What it seals, and its id as errors and explanations write it.
    char id[64];
    std::snprintf(id, sizeof(id), "0x%llx", static_cast<unsigned long long>(seal.op_index));
    EXPECT_EQ(occurrences(json, std::string("\"name\":\"seal\",\"cat\":\"op\",\"args\":{") +
                                    "\"ordinal\":3,\"op\":\"" + id + "\"}"),
              1u)
        << json;
    EXPECT_EQ(occurrences(json, "\"name\":\"after\""), 0u) << json;
    EXPECT_GE(occurrences(json, "thread_name"), 1u);
    std::string svg = written(stage, FLYRAIL_TRACE_SVG);
    EXPECT_GE(occurrences(svg, "operation 0x"), 1u) << svg;
    EXPECT_EQ(svg.compare(0, 5, "<svg "), 0);
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
    EXPECT_EQ(occurrences(svg, "<text"), occurrences(svg, "</text>"));
    EXPECT_EQ(occurrences(svg, "<title>"), occurrences(svg, "</title>"));
    EXPECT_EQ(written(stage, FLYRAIL_TRACE_SVG), svg) << "it may be written again";
}

// A thread has one ring in each, however often it goes from one to the other.
TEST_P(Trace, of_two_instances_at_once)
{
    Stage other(GetParam());
    start(1000);
    ASSERT_EQ(flyrail_trace_start(other.instance, 1000), OVSTAGE_OK);
    for (uint64_t k = 0; k < 300; k++)
        for (ovstage_instance_t *it : {stage.instance, other.instance})
            ASSERT_EQ(flyrail_trace_span(it, "here", k, k, k + 1), OVSTAGE_OK);
    stop();
    ASSERT_EQ(flyrail_trace_stop(other.instance), OVSTAGE_OK);
    for (const Stage *of : {const_cast<const Stage *>(&stage), const_cast<const Stage *>(&other)}) {
        std::string json = written(*of, FLYRAIL_TRACE_PERFETTO_JSON);
        EXPECT_EQ(occurrences(json, "thread_name"), 1u);
        EXPECT_EQ(occurrences(json, "\"cat\":\"span\""), 300u);
    }
}

// Of more threads than there are rings, some at a time.
TEST_P(Trace, threads_that_ended_leave_room_for_the_next_trace)
{
    for (int round = 0; round < 5; round++) {
        start(8);
        for (int k = 0; k < 60; k++)
            std::thread([this] {
                EXPECT_EQ(flyrail_trace_span(stage.instance, "there", 1, 1, 2), OVSTAGE_OK);
            }).join();
        stop();
        std::string json = written(stage, FLYRAIL_TRACE_PERFETTO_JSON);
        EXPECT_EQ(occurrences(json, "thread_name"), 60u);
        EXPECT_EQ(occurrences(json, "\"cat\":\"span\""), 60u);
        expect_lost(stage, 0);
    }
}

TEST_P(Trace, events_of_more_threads_than_rings_are_lost)
{
    const unsigned threads = 140, rings = 128, each = 2;
    for (int round = 0; round < 2; round++) {
        start(each);
        for (unsigned k = 0; k < threads; k++)
            std::thread([this] {
                for (unsigned n = 0; n < each; n++)
                    EXPECT_EQ(flyrail_trace_span(stage.instance, "there", 1, 1, 2), OVSTAGE_OK);
            }).join();
        stop();
        std::string json = written(stage, FLYRAIL_TRACE_PERFETTO_JSON);
        EXPECT_EQ(occurrences(json, "\"cat\":\"span\""), rings * each);
        expect_lost(stage, (threads - rings) * each);
    }
}

TEST_P(Trace, a_ring_keeps_the_newest)
{
    start(4);
    static const char *const names[8] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
    uint64_t now = flyrail_now_ns();
    for (uint64_t i = 0; i < 8; i++)
        ASSERT_EQ(flyrail_trace_span(stage.instance, names[i], i, now + i, now + i + 1),
                  OVSTAGE_OK);
    stop();
    std::string json = written(stage, FLYRAIL_TRACE_PERFETTO_JSON);
    EXPECT_EQ(occurrences(json, "\"cat\":\"span\""), 4u);
    for (int i = 0; i < 8; i++)
        EXPECT_EQ(occurrences(json, std::string("\"name\":\"") + names[i] + "\""), i < 4 ? 0u : 1u)
            << i;
    expect_lost(stage, 4);
}

TEST_P(Trace, start_forgets_and_may_change_the_size)
{
    uint64_t now = flyrail_now_ns();
    start(4);
    ASSERT_EQ(flyrail_trace_span(stage.instance, "old", 1, now, now + 5), OVSTAGE_OK);
    stop();
    start(64);
    for (uint64_t i = 0; i < 50; i++)
        ASSERT_EQ(flyrail_trace_span(stage.instance, "new", i, now, now + 5), OVSTAGE_OK);
    stop();
    std::string json = written(stage, FLYRAIL_TRACE_PERFETTO_JSON);
    EXPECT_EQ(occurrences(json, "old"), 0u);
    EXPECT_EQ(occurrences(json, "\"new\""), 50u);
}

TEST_P(Trace, names_cannot_break_the_files)
{
    start();
    uint64_t now = flyrail_now_ns();
    ASSERT_EQ(flyrail_trace_span(stage.instance, "a\"b\\c<d>&e\n\x80", 1, now, now + 1000000),
              OVSTAGE_OK);
    stop();
    EXPECT_TRUE(is_json(written(stage, FLYRAIL_TRACE_PERFETTO_JSON)));
    std::string svg = written(stage, FLYRAIL_TRACE_SVG);
    EXPECT_NE(svg.find("a_b_c_d__e__"), std::string::npos) << svg;
}

TEST_P(Trace, nested_bars_are_drawn_upon_each_other)
{
    start();
    uint64_t now = flyrail_now_ns();
    ASSERT_EQ(flyrail_trace_span(stage.instance, "inner", 2, now + 2000, now + 5000), OVSTAGE_OK);
    ASSERT_EQ(flyrail_trace_span(stage.instance, "outer", 1, now, now + 10000), OVSTAGE_OK);
    stop();
    std::string svg = written(stage, FLYRAIL_TRACE_SVG);
    EXPECT_LT(svg.find("<title>outer"), svg.find("<title>inner"));
    EXPECT_NE(svg.find("100 %"), std::string::npos) << "the inner one is not counted again";
}

TEST_P(Trace, nothing_recorded)
{
    start();
    stop();
    EXPECT_TRUE(is_json(written(stage, FLYRAIL_TRACE_PERFETTO_JSON)));
    EXPECT_NE(written(stage, FLYRAIL_TRACE_SVG).find("0 operations"), std::string::npos);
}

TEST_P(Trace, refusals)
{
    std::string out;
    const auto refused = OVSTAGE_ERROR_INVALID_ARGUMENT;
    EXPECT_EQ(flyrail_trace_stop(stage.instance), refused);
    EXPECT_EQ(flyrail_trace_write(stage.instance, FLYRAIL_TRACE_SVG, append, &out), refused);
    EXPECT_EQ(flyrail_trace_span(stage.instance, nullptr, 0, 0, 1), refused);
    EXPECT_EQ(flyrail_trace_span(stage.instance, "x", 0, 2, 1), refused);
    EXPECT_EQ(flyrail_trace_span(stage.instance, "x", 0, 1, 2), OVSTAGE_OK)
        << "off: nothing happens";
    start();
    EXPECT_EQ(flyrail_trace_start(stage.instance, 0), refused);
    EXPECT_EQ(flyrail_trace_write(stage.instance, FLYRAIL_TRACE_SVG, append, &out), refused);
    stop();
    EXPECT_EQ(flyrail_trace_write(stage.instance, FLYRAIL_TRACE_SVG, nullptr, &out), refused);
    EXPECT_EQ(
        flyrail_trace_write(stage.instance, static_cast<flyrail_trace_format_t>(2), append, &out),
        refused);
    auto fails = [](const char *, size_t, void *) { return false; };
    EXPECT_EQ(flyrail_trace_write(stage.instance, FLYRAIL_TRACE_SVG, fails, nullptr),
              OVSTAGE_ERROR_OP_FAILED);
    // A trace that is being written out cannot be started again.
    auto restarts = [](const char *, size_t, void *user) {
        EXPECT_EQ(flyrail_trace_start(static_cast<Stage *>(user)->instance, 0),
                  OVSTAGE_ERROR_INVALID_ARGUMENT);
        return true;
    };
    EXPECT_EQ(flyrail_trace_write(stage.instance, FLYRAIL_TRACE_SVG, restarts, &stage), OVSTAGE_OK);
    start();
    stop();
}

TEST(TraceThreads, start_and_stop_while_ops_run)
{
    Stage stage(2);
    std::atomic<bool> ended{false};
    std::thread client([&] {
        while (!ended)
            stage.finish(named(stage, 0, "steady"));
    });
    for (int round = 0; round < 30; round++) {
        ASSERT_EQ(flyrail_trace_start(stage.instance, 64), OVSTAGE_OK) << last_error();
        for (int i = 0; i < 10; i++)
            stage.finish(named(stage, 0, "mine"));
        ASSERT_EQ(flyrail_trace_stop(stage.instance), OVSTAGE_OK);
        std::string json = written(stage, FLYRAIL_TRACE_PERFETTO_JSON);
        EXPECT_TRUE(is_json(json));
    }
    ended = true;
    client.join();
}

TEST(TraceMemory, events_are_lost_without_it)
{
    fr_test_heap *heap = fr_test_heap_create();
    {
        flyrail_config_t made = config(0);
        const fr_allocator *allocator = fr_test_heap_allocator(heap);
        made.allocator.allocate = allocator->allocate;
        made.allocator.release = allocator->release;
        made.allocator.user = allocator->user;
        Stage stage(made);
        fr_test_heap_fail(heap, 1, 0);
        EXPECT_EQ(flyrail_trace_start(stage.instance, 0), OVSTAGE_ERROR_OUT_OF_MEMORY);
        EXPECT_NE(last_error(), "");
        fr_test_heap_fail(heap, 0, 0);
        ASSERT_EQ(flyrail_trace_start(stage.instance, 0), OVSTAGE_OK);
        // The thread's ring, then its events.
        for (uint64_t k : {1, 2}) {
            fr_test_heap_fail(heap, k, 0);
            EXPECT_EQ(flyrail_trace_span(stage.instance, "lost", 0, 1, 2), OVSTAGE_OK);
        }
        fr_test_heap_fail(heap, 0, 0);
        EXPECT_EQ(flyrail_trace_span(stage.instance, "kept", 0, 1, 2), OVSTAGE_OK);
        EXPECT_EQ(flyrail_trace_stop(stage.instance), OVSTAGE_OK);
        std::string json = written(stage, FLYRAIL_TRACE_PERFETTO_JSON);
        EXPECT_EQ(occurrences(json, "\"name\":\"lost\""), 0u);
        EXPECT_EQ(occurrences(json, "\"name\":\"kept\""), 1u);
        expect_lost(stage, 2);
    }
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
}

} // namespace
