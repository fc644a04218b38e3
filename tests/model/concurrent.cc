#include "tests/model/concurrent.h"

#include <algorithm>
#include <thread>

#include "tests/model/concurrent_parts.h"

namespace model
{
namespace
{

bool names_reserved(const Step &step)
{
    const auto is_reserved = [](int name) { return name >= type_name; };
    return std::any_of(step.names.begin(), step.names.end(), is_reserved) ||
           std::any_of(step.entries.begin(), step.entries.end(),
                       [&](const EntryStep &entry) { return is_reserved(entry.name); });
}

// All is sealed, and read: what is reserved only if the program is about it.
Program ending_of(const Program &program)
{
    const bool all = std::any_of(program.steps.begin(), program.steps.end(), names_reserved);
    Program ending;
    Step seal;
    seal.what = Do::advance;
    seal.ordinal = UINT64_MAX;
    ending.steps.push_back(seal);
    for (size_t q = 0; q < program.queries.size(); q++) {
        Step read;
        read.what = Do::read;
        read.query = static_cast<int>(q);
        read.ordinal = UINT64_MAX;
        for (int name = 0; name < (all ? active_name : type_name); name++)
            read.names.push_back(name);
        ending.steps.push_back(read);
    }
    return ending;
}

void finish(Client &client, const Program &ending, ThreadBody &body)
{
    for (const Step &step : ending.steps) {
        body.act(step);
        // A short queue has room again.
        const ovstage_op_id_t id = body.events.back().id;
        if (step.what == Do::advance &&
            ovstage_wait_op(client.instance, id, OVSTAGE_TIMEOUT_INFINITE, nullptr) != OVSTAGE_OK)
            fail("wait_op: ", last_error());
    }
}

void check_fates(const std::vector<Event *> &events)
{
    for (const Event *event : events) {
        for (size_t f = 0; event->op && f < event->op->fates.size(); f++) {
            if (event->op->fates[f].first->deleted != 1)
                fail("a managed tensor was deleted ", event->op->fates[f].first->deleted.load(),
                     " times: ", event->step->text());
        }
    }
}

void run_threads(const Program &program, uint32_t workers, uint32_t threads, Done *done)
{
    std::vector<std::unique_ptr<ThreadBody>> bodies;
    Tasks tasks;
    Client client(program, workers);
    for (uint32_t t = 0; t < threads; t++)
        bodies.push_back(std::make_unique<ThreadBody>(client, tasks, t, threads));
    std::vector<std::thread> running;
    for (auto &body : bodies)
        running.emplace_back([&body] { body->run(); });
    for (auto &thread : running)
        thread.join();
    std::vector<Event *> accepted, refused;
    for (auto &body : bodies) {
        if (!body->failure.empty())
            fail(body->failure);
        body->wait_all();
        for (Event &event : body->events)
            (event.id != 0 ? accepted : refused).push_back(&event);
    }
    const Program ending = ending_of(program);
    ThreadBody last(client, tasks, 0, 1);
    finish(client, ending, last);
    for (Event &event : last.events)
        accepted.push_back(&event);
    Judge judge(client, tasks);
    judge.replay(accepted);
    for (const Event *event : refused)
        judge.check_refused(*event);
    if (done)
        done->ops += accepted.size();
    if (client.destroy() != OVSTAGE_OK)
        fail("destroy_instance: ", last_error());
    check_fates(accepted);
    check_fates(refused);
}

} // namespace

std::optional<std::string> run_concurrently(const Program &program, uint32_t workers,
                                            uint32_t threads, Done *done)
{
    try {
        run_threads(program, workers, threads, done);
    } catch (Failure &failure) {
        return failure.text;
    }
    return std::nullopt;
}

} // namespace model
