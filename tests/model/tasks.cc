#include "tests/model/tasks.h"

namespace model
{

ovstage_enqueue_result_t Tasks::submit(ovstage_instance_t *instance, const Step &step,
                                       const std::vector<ovstage_op_id_t> &deps, size_t *number)
{
    Task *task = nullptr;
    {
        std::lock_guard<std::mutex> guard(lock_);
        tasks_.push_back({this, tasks_.size(), step.work, step.ordered, step.ordinal, generation_});
        task = &tasks_.back();
        *number = task->number;
    }
    flyrail_task_desc_t desc{};
    desc.struct_size = sizeof(desc);
    desc.ordered = step.ordered;
    desc.ordinal = step.ordinal;
    desc.fn = step.work == Work::none ? nullptr : call;
    desc.user = task;
    desc.deps = deps.data();
    desc.dep_count = deps.size();
    return flyrail_submit_task(instance, &desc);
}

void Tasks::let_go()
{
    std::lock_guard<std::mutex> guard(lock_);
    generation_++;
    changed_.notify_all();
}

int Tasks::runs_of(size_t number)
{
    std::lock_guard<std::mutex> guard(lock_);
    return tasks_[number].work == Work::none ? -1 : tasks_[number].runs;
}

std::string Tasks::fault()
{
    std::lock_guard<std::mutex> guard(lock_);
    return fault_;
}

ovstage_api_status_t Tasks::call(const flyrail_task_context_t *context, void *user)
{
    auto *task = static_cast<Task *>(user);
    return task->all->run(*task, context->op_id);
}

ovstage_api_status_t Tasks::run(Task &task, ovstage_op_id_t id)
{
    std::unique_lock<std::mutex> guard(lock_);
    if (++task.runs > 1)
        fault_ = "task " + std::to_string(task.number) + " ran twice";
    if (task.ordered) {
        ovstage_op_id_t &before = ran_last_[task.ordinal];
        if (before > id)
            fault_ = "task " + std::to_string(task.number) + ", op " + std::to_string(id) +
                     ", ran after op " + std::to_string(before) + " of its ordinal";
        before = id;
    }
    // The bound is for a client that hangs: no call but one that waits may need this task to end.
    const auto ended = [&] { return generation_ > task.generation; };
    if (task.work == Work::holds && std::this_thread::get_id() != client_ &&
        !changed_.wait_for(guard, std::chrono::seconds(60), ended))
        fault_ = "a call that must not wait waited for task " + std::to_string(task.number);
    return task.work == Work::fails ? OVSTAGE_ERROR_NOT_FOUND : OVSTAGE_OK;
}

} // namespace model
