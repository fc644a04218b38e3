// Calls that must not hang: run on a thread of their own, with a deadline that ends the program,
// since a thread that hangs cannot be taken back. C++ only.
#ifndef FR_TESTS_SUPPORT_BOUNDED_H
#define FR_TESTS_SUPPORT_BOUNDED_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "tests/support/client.h"

namespace client
{

// Something happened, once, for who waits for it outside the library.
class Event
{
  public:
    void set()
    {
        std::lock_guard<std::mutex> lock(mutex);
        is_set = true;
        changed.notify_all();
    }
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this] { return is_set; });
    }
    bool wait_for(std::chrono::seconds most)
    {
        std::unique_lock<std::mutex> lock(mutex);
        return changed.wait_for(lock, most, [this] { return is_set; });
    }

  private:
    std::mutex mutex;
    std::condition_variable changed;
    bool is_set = false;
};

// Far beyond what a busy machine needs under a sanitizer.
constexpr std::chrono::seconds hang_deadline{60};

inline void bounded(const std::string &what, const std::function<void()> &body)
{
    Event ended;
    std::thread thread([&] {
        body();
        ended.set();
    });
    if (!ended.wait_for(hang_deadline)) {
        std::fprintf(stderr, "%s hangs\n", what.c_str());
        std::fflush(stderr);
        std::_Exit(1);
    }
    thread.join();
}

// Bodies of tasks as lambdas; must live until the task is complete.
struct Body {
    std::function<ovstage_api_status_t(const flyrail_task_context_t *)> run;
    std::atomic<int> runs{0};
    static ovstage_api_status_t call(const flyrail_task_context_t *context, void *user)
    {
        Body *body = static_cast<Body *>(user);
        body->runs++;
        return body->run(context);
    }
};

} // namespace client

#endif
