// Tasks of a program: what ran, how often and in which order, and those that do not end before the
// client waits.
#ifndef FR_TESTS_MODEL_TASKS_H
#define FR_TESTS_MODEL_TASKS_H

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <flyrail/flyrail.h>

#include "tests/model/program.h"

namespace model
{

class Tasks
{
  public:
    // The calling thread is the client's: it never holds itself up.
    Tasks() : client_(std::this_thread::get_id())
    {
    }
    Tasks(const Tasks &) = delete;
    Tasks &operator=(const Tasks &) = delete;

    // *number: the task's.
    ovstage_enqueue_result_t submit(ovstage_instance_t *instance, const Step &step,
                                    const std::vector<ovstage_op_id_t> &deps, size_t *number);
    // Those that hold end. The client calls it before it waits for anything.
    void let_go();
    int runs_of(size_t number);
    // What was wrong with how tasks ran, or nothing.
    std::string fault();

  private:
    struct Task {
        Tasks *all;
        size_t number;
        Work work;
        bool ordered;
        Ordinal ordinal;
        uint64_t generation;
        int runs = 0;
    };

    const std::thread::id client_;
    std::mutex lock_;
    std::condition_variable changed_;
    uint64_t generation_ = 0; // goes up whenever those that hold may end
    std::deque<Task> tasks_;
    std::map<Ordinal, ovstage_op_id_t> ran_last_; // of the ordered ones
    std::string fault_;

    ovstage_api_status_t run(Task &task, ovstage_op_id_t id);
    static ovstage_api_status_t call(const flyrail_task_context_t *context, void *user);
};

} // namespace model

#endif
