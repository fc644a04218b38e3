// Logging: R168 to R173, D20, D26.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/bounded.h"

namespace
{

using namespace client;

// What a callback was told; can hold it up.
class Listener
{
  public:
    struct Message {
        ovstage_log_severity_t severity;
        double seconds;
        std::string text;
        std::thread::id thread;
    };

    ovstage_api_status_t listen(ovstage_log_severity_t severity, const std::string &filter = "")
    {
        ovx_string_t string = text(filter);
        return ovstage_set_log_callback(severity, &string, take, this);
    }
    std::vector<Message> messages()
    {
        std::lock_guard<std::mutex> lock(mutex);
        return taken;
    }
    // Messages with this part.
    size_t count(const std::string &part)
    {
        size_t found = 0;
        for (const Message &message : messages())
            found += message.text.find(part) != std::string::npos;
        return found;
    }
    void hold()
    {
        std::lock_guard<std::mutex> lock(mutex);
        held = true;
    }
    void let_go()
    {
        std::lock_guard<std::mutex> lock(mutex);
        held = false;
        changed.notify_all();
    }
    void wait_entered()
    {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this] { return entered > 0; });
    }

  private:
    static void take(ovstage_log_severity_t severity, double seconds, ovx_string_t message,
                     void *user)
    {
        Listener *listener = static_cast<Listener *>(user);
        EXPECT_EQ(message.ptr[message.length], '\0'); // R26
        std::unique_lock<std::mutex> lock(listener->mutex);
        listener->entered++;
        listener->changed.notify_all();
        listener->changed.wait(lock, [listener] { return !listener->held; });
        listener->taken.push_back({severity, seconds, text(message), std::this_thread::get_id()});
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Message> taken;
    bool held = false;
    int entered = 0;
};

class LogTest : public testing::Test
{
  protected:
    void SetUp() override
    {
        ASSERT_EQ(ovstage_initialize(nullptr), OVSTAGE_OK);
    }
    void TearDown() override
    {
        EXPECT_EQ(ovstage_set_log_callback(OVSTAGE_LOG_NONE, nullptr, nullptr, nullptr),
                  OVSTAGE_OK);
        EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
    }
    // Two messages at INFO: made and destroyed.
    static void live()
    {
        Stage stage(0u);
    }
};

TEST(Log, R168_needs_a_process_state)
{
    Listener listener;
    EXPECT_EQ(listener.listen(OVSTAGE_LOG_VERBOSE), OVSTAGE_ERROR_OP_FAILED);
    EXPECT_NE(last_error(), "");
    Stage stage(0u);
    EXPECT_EQ(listener.listen(OVSTAGE_LOG_VERBOSE), OVSTAGE_OK);
    EXPECT_EQ(ovstage_set_log_callback(OVSTAGE_LOG_NONE, nullptr, nullptr, nullptr), OVSTAGE_OK);
}

TEST_F(LogTest, R168_one_callback_for_the_process)
{
    Listener first, second;
    ASSERT_EQ(first.listen(OVSTAGE_LOG_INFO), OVSTAGE_OK);
    live();
    ASSERT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    EXPECT_EQ(first.messages().size(), 2u);
    ASSERT_EQ(second.listen(OVSTAGE_LOG_INFO), OVSTAGE_OK);
    live();
    // NULL delivers what is waiting, then turns logging off.
    ASSERT_EQ(ovstage_set_log_callback(OVSTAGE_LOG_NONE, nullptr, nullptr, nullptr), OVSTAGE_OK);
    EXPECT_EQ(first.messages().size(), 2u);
    EXPECT_EQ(second.messages().size(), 2u);
    live();
    EXPECT_EQ(second.messages().size(), 2u);
}

TEST_F(LogTest, R168_a_bad_filter_is_refused)
{
    Listener listener;
    std::string long_name(64, 'c'), many;
    for (int k = 0; k < 33; k++)
        many += (k ? ",c=info" : "c=info");
    for (const std::string &filter :
         {std::string("omni.ovstage"), std::string("=info"), std::string("omni.ovstage=loud"),
          std::string("a=info,"), std::string(",a=info"), std::string("a=info,,b=info"),
          std::string(" "), std::string("a="), std::string("a=INFO"), long_name + "=info",
          std::string("a\0b=info", 8), many}) {
        EXPECT_EQ(listener.listen(OVSTAGE_LOG_INFO, filter), OVSTAGE_ERROR_INVALID_ARGUMENT)
            << filter;
        EXPECT_NE(last_error(), "") << filter;
    }
    ovx_string_t nothing = {nullptr, 3};
    auto callback = [](ovstage_log_severity_t, double, ovx_string_t, void *) {};
    EXPECT_EQ(ovstage_set_log_callback(OVSTAGE_LOG_INFO, &nothing, callback, nullptr),
              OVSTAGE_ERROR_INVALID_ARGUMENT);
    for (int severity : {-3, 2, 4})
        EXPECT_EQ(ovstage_set_log_callback(static_cast<ovstage_log_severity_t>(severity), nullptr,
                                           callback, nullptr),
                  OVSTAGE_ERROR_INVALID_ARGUMENT);
    live();
    EXPECT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    EXPECT_EQ(listener.messages().size(), 0u);
}

TEST_F(LogTest, R169_severity_and_filter_decide)
{
    struct {
        ovstage_log_severity_t severity;
        const char *filter;
        size_t messages;
    } cases[] = {
        {OVSTAGE_LOG_VERBOSE, "", 2},
        {OVSTAGE_LOG_INFO, "", 2},
        {OVSTAGE_LOG_WARNING, "", 0},
        {OVSTAGE_LOG_ERROR, "", 0},
        {OVSTAGE_LOG_NONE, "", 0},
        {OVSTAGE_LOG_NONE, "omni.ovstage=info", 2},
        {OVSTAGE_LOG_NONE, " omni.ovstage = debug , other=none", 2},
        {OVSTAGE_LOG_NONE, "omni=verbose", 2},
        {OVSTAGE_LOG_NONE, "omni.ov=verbose", 0},
        {OVSTAGE_LOG_NONE, "omni.ovstage.usd=verbose", 0},
        {OVSTAGE_LOG_VERBOSE, "omni.ovstage=warn", 0},
        {OVSTAGE_LOG_VERBOSE, "omni.ovstage=warning", 0},
        {OVSTAGE_LOG_VERBOSE, "omni.ovstage=fatal", 0},
        {OVSTAGE_LOG_VERBOSE, "omni=none,omni.ovstage=info", 2},
        {OVSTAGE_LOG_VERBOSE, "omni.ovstage=none,omni=info", 0},
    };
    for (const auto &each : cases) {
        Listener listener;
        ASSERT_EQ(listener.listen(each.severity, each.filter), OVSTAGE_OK) << each.filter;
        live();
        ASSERT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
        EXPECT_EQ(listener.messages().size(), each.messages)
            << each.severity << " '" << each.filter << "'";
        ASSERT_EQ(ovstage_set_log_callback(OVSTAGE_LOG_NONE, nullptr, nullptr, nullptr),
                  OVSTAGE_OK);
    }
}

TEST_F(LogTest, R170_one_thread_of_its_own_in_order)
{
    Listener listener;
    ASSERT_EQ(listener.listen(OVSTAGE_LOG_INFO), OVSTAGE_OK);
    for (int k = 0; k < 20; k++)
        live();
    ASSERT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    auto messages = listener.messages();
    ASSERT_EQ(messages.size(), 40u);
    for (size_t k = 0; k < messages.size(); k++) {
        EXPECT_EQ(messages[k].thread, messages[0].thread);
        EXPECT_NE(messages[k].thread, std::this_thread::get_id());
        EXPECT_NE(messages[k].text.find(k % 2 ? "destroyed" : "made"), std::string::npos);
        EXPECT_GE(messages[k].seconds, messages[k ? k - 1 : 0].seconds);
    }
}

TEST(Log, R170_the_last_reference_delivers_and_ends)
{
    Listener listener;
    ASSERT_EQ(ovstage_initialize(nullptr), OVSTAGE_OK);
    ASSERT_EQ(listener.listen(OVSTAGE_LOG_INFO), OVSTAGE_OK);
    {
        Stage stage(0u);
        EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
    }
    EXPECT_EQ(listener.messages().size(), 2u);
    // The next one starts without it.
    {
        Stage stage(0u);
    }
    EXPECT_EQ(listener.messages().size(), 2u);
}

// The end of a state takes a while, when there are workers to be ended; meanwhile the next one may
// begin, and log.
TEST(Log, R170_the_end_of_one_state_leaves_the_callback_of_the_next)
{
    Event starts, may_go_on;
    struct Hook {
        Event &starts, &may_go_on;
        static void run(uint32_t, void *user)
        {
            Hook *hook = static_cast<Hook *>(user);
            hook->starts.set();
            hook->may_go_on.wait();
        }
    } hook{starts, may_go_on};
    std::thread other([&hook] {
        flyrail_config_t shared = config(1);
        shared.own_pool = false;
        shared.worker_started = Hook::run;
        shared.worker_started_user = &hook;
        Stage stage(shared);
        stage.finish(stage.write(stage.query(1), stage.token("a"), 1, {1})); // starts the worker
        hook.starts.wait();
    });
    starts.wait();
    while (ovstage_set_log_callback(OVSTAGE_LOG_NONE, nullptr, nullptr, nullptr) == OVSTAGE_OK)
        std::this_thread::yield(); // until that state's last reference is gone
    Listener listener;
    ASSERT_EQ(ovstage_initialize(nullptr), OVSTAGE_OK);
    ASSERT_EQ(listener.listen(OVSTAGE_LOG_INFO), OVSTAGE_OK);
    may_go_on.set();
    other.join();
    {
        Stage stage(0u);
    }
    EXPECT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    EXPECT_EQ(listener.count("made"), 1u);
    EXPECT_EQ(ovstage_shutdown(), OVSTAGE_OK);
    // Nobody holds a reference: nobody is called.
    const size_t before = listener.messages().size();
    {
        Stage stage(0u);
    }
    EXPECT_EQ(listener.messages().size(), before);
}

TEST_F(LogTest, R171_flush_waits_for_what_was_written_before)
{
    EXPECT_EQ(ovstage_flush_log(0), OVSTAGE_OK); // no callback: nothing is waiting
    Listener listener;
    ASSERT_EQ(listener.listen(OVSTAGE_LOG_INFO), OVSTAGE_OK);
    listener.hold();
    live();
    listener.wait_entered();
    EXPECT_EQ(ovstage_flush_log(0), OVSTAGE_ERROR_TIMEOUT);
    EXPECT_EQ(ovstage_flush_log(1000), OVSTAGE_ERROR_TIMEOUT);
    listener.let_go();
    EXPECT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    EXPECT_EQ(listener.messages().size(), 2u);
}

TEST_F(LogTest, a_slow_callback_holds_nobody_up_and_drops_are_told)
{
    Listener listener;
    ASSERT_EQ(listener.listen(OVSTAGE_LOG_INFO), OVSTAGE_OK);
    listener.hold();
    live();
    listener.wait_entered(); // with the first; 1,024 more may wait
    for (int k = 0; k < 1000; k++)
        live();
    listener.let_go();
    ASSERT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    // 2,002 were written; one was out, 1,024 waited, the others were counted.
    EXPECT_EQ(listener.count("977 log messages were dropped"), 1u);
    EXPECT_EQ(listener.count("instance"), 1025u);
    live();
    ASSERT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    EXPECT_EQ(listener.count("instance"), 1027u);
    EXPECT_EQ(listener.count("dropped"), 1u);
}

// What a callback may do, though it should not.
struct Inside {
    ovstage_api_status_t flushed = OVSTAGE_OK, cleared = OVSTAGE_ERROR_INTERNAL;
    int calls = 0;
};

TEST_F(LogTest, R170_a_callback_that_calls_back_does_not_hang)
{
    Inside inside;
    auto callback = [](ovstage_log_severity_t, double, ovx_string_t, void *user) {
        Inside *in = static_cast<Inside *>(user);
        in->calls++;
        live(); // its messages are not taken: the callback must not log
        in->flushed = ovstage_flush_log(forever);
        in->cleared = ovstage_set_log_callback(OVSTAGE_LOG_NONE, nullptr, nullptr, nullptr);
    };
    ASSERT_EQ(ovstage_set_log_callback(OVSTAGE_LOG_INFO, nullptr, callback, &inside), OVSTAGE_OK);
    live();
    // Ends the thread, after what it is in.
    ASSERT_EQ(ovstage_set_log_callback(OVSTAGE_LOG_NONE, nullptr, nullptr, nullptr), OVSTAGE_OK);
    EXPECT_EQ(inside.calls, 1);
    EXPECT_EQ(inside.flushed, OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(inside.cleared, OVSTAGE_OK);
}

TEST_F(LogTest, R173_replacing_and_clearing_from_many_threads)
{
    Listener listeners[2];
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&listeners, t] {
            for (int k = 0; k < 50; k++) {
                if (t < 2)
                    EXPECT_EQ(listeners[t].listen(OVSTAGE_LOG_INFO), OVSTAGE_OK);
                else if (t == 2)
                    EXPECT_EQ(ovstage_set_log_callback(OVSTAGE_LOG_NONE, nullptr, nullptr, nullptr),
                              OVSTAGE_OK);
                else
                    EXPECT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
                live();
            }
        });
    for (auto &thread : threads)
        thread.join();
    // None is called any more once it was cleared.
    ASSERT_EQ(ovstage_set_log_callback(OVSTAGE_LOG_NONE, nullptr, nullptr, nullptr), OVSTAGE_OK);
    size_t before = listeners[0].messages().size() + listeners[1].messages().size();
    EXPECT_LE(before, 400u);
    live();
    EXPECT_EQ(listeners[0].messages().size() + listeners[1].messages().size(), before);
}

TEST_F(LogTest, R172_without_a_callback_nothing_is_printed)
{
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    {
        Stage stage(0u);
        ovstage_query_handle_t query = stage.query(2);
        std::vector<float> values = {1, 2};
        EXPECT_EQ(stage.write(query, stage.token("a"), 1, values).status, OVSTAGE_OK);
        EXPECT_EQ(stage.write(query, stage.token("a"), 0, values).status,
                  OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        EXPECT_EQ(stage.write(query + 1, stage.token("a"), 1, values).status,
                  OVSTAGE_ERROR_INVALID_HANDLE);
    } // with work left, which is a warning
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

// Who waits for a later seal is not told of it (D17).
TEST_F(LogTest, ops_that_fail_are_logged)
{
    Listener listener;
    ASSERT_EQ(listener.listen(OVSTAGE_LOG_WARNING), OVSTAGE_OK);
    char id[32], cause[64];
    {
        Stage stage(2u);
        ovx_token_t height = stage.token("height");
        std::vector<float> two = {1, 2}, one = {3};
        stage.finish(stage.write(stage.query(2), height, 1, two));
        ovstage_query_handle_t found = 0;
        ovstage_enqueue_result_t query = ovstage_query(stage.instance, nullptr, nullptr, 0, &found);
        ASSERT_EQ(query.status, OVSTAGE_OK);
        ovstage_enqueue_result_t write = stage.write(found, height, 2, one);
        ASSERT_EQ(write.status, OVSTAGE_OK);
        stage.finish(stage.seal(2));
        std::snprintf(id, sizeof(id), "0x%llx", static_cast<unsigned long long>(write.op_index));
        flyrail_task_desc_t desc;
        std::memset(&desc, 0, sizeof(desc));
        desc.struct_size = sizeof(desc);
        desc.name = "cook";
        desc.fn = [](const flyrail_task_context_t *, void *) {
            return static_cast<ovstage_api_status_t>(OVSTAGE_ERROR_OUT_OF_RANGE);
        };
        ovstage_enqueue_result_t task = flyrail_submit_task(stage.instance, &desc);
        ovstage_enqueue_result_t with = client::task(stage, 0, nullptr, nullptr, {task.op_index});
        ASSERT_EQ(flyrail_wait_all(stage.instance, &with.op_index, 1, forever), OVSTAGE_OK);
        std::snprintf(cause, sizeof(cause), "did not run: operation 0x%llx",
                      static_cast<unsigned long long>(task.op_index));
    }
    ASSERT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    auto messages = listener.messages();
    ASSERT_EQ(messages.size(), 3u);
    EXPECT_EQ(messages[0].severity, OVSTAGE_LOG_ERROR);
    for (const std::string &part :
         {std::string(id), std::string("(write, ordinal 2)"), std::string("'height'")})
        EXPECT_NE(messages[0].text.find(part), std::string::npos) << messages[0].text;
    EXPECT_EQ(messages[1].severity, OVSTAGE_LOG_ERROR);
    EXPECT_NE(messages[1].text.find("(task 'cook') failed, out of range: task 'cook' answered"),
              std::string::npos)
        << messages[1].text;
    EXPECT_EQ(messages[2].severity, OVSTAGE_LOG_WARNING);
    EXPECT_NE(messages[2].text.find(cause), std::string::npos) << messages[2].text;
}

// As with any others, what waits to be delivered is bounded, and what is lost is counted.
TEST_F(LogTest, a_flood_of_failures_is_bounded)
{
    Listener listener;
    ASSERT_EQ(listener.listen(OVSTAGE_LOG_ERROR), OVSTAGE_OK);
    const size_t failures = 3000;
    listener.hold();
    {
        Stage stage(0u);
        auto fails = [](const flyrail_task_context_t *, void *) { return OVSTAGE_ERROR_TIMEOUT; };
        std::vector<ovstage_op_id_t> ids;
        for (size_t k = 0; k < failures; k++) {
            ids.push_back(client::task(stage, 0, fails, nullptr).op_index);
            ASSERT_EQ(flyrail_wait_all(stage.instance, &ids.back(), 1, forever), OVSTAGE_OK);
            if (k == 0)
                listener.wait_entered();
        }
    }
    listener.let_go();
    ASSERT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    EXPECT_EQ(listener.count("answered 'timeout'"), 1025u);
    EXPECT_EQ(listener.count(std::to_string(failures - 1025) + " log messages were dropped"), 1u);
}

TEST_F(LogTest, D20_work_left_at_destroy_is_one_warning)
{
    Listener listener;
    ASSERT_EQ(listener.listen(OVSTAGE_LOG_WARNING), OVSTAGE_OK);
    {
        Stage stage(0u);
        ovstage_query_handle_t query = stage.query(2);
        std::vector<float> values = {1, 2};
        for (uint64_t ordinal = 1; ordinal <= 3; ordinal++)
            ASSERT_EQ(stage.write(query, stage.token("a"), ordinal, values).status, OVSTAGE_OK);
    }
    ASSERT_EQ(ovstage_flush_log(forever), OVSTAGE_OK);
    auto messages = listener.messages();
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].severity, OVSTAGE_LOG_WARNING);
    EXPECT_NE(messages[0].text.find("3 ops"), std::string::npos) << messages[0].text;
}

} // namespace
