#include "tests/model/concurrent.h"

#include <algorithm>
#include <sstream>
#include <thread>

#include "tests/model/runner_parts.h"

namespace model
{
namespace
{

struct Seen {
    Schema schema;
    Bytes bytes;
    Ordinal floor = 0; // that the group says
    bool is_delete = false;

    // Whether that is it. Of a tombstone only kind and role are told.
    bool is(const std::optional<Value> &value) const
    {
        if (!value || value->is_delete != is_delete)
            return false;
        return is_delete ? value->schema.semantic == schema.semantic &&
                               value->schema.is_array == schema.is_array
                         : value->schema == schema && value->bytes == bytes;
    }
};

// One accepted call, or a refused one (id 0).
struct Event {
    ovstage_op_id_t id = 0;
    const Step *step = nullptr;
    ovstage_api_status_t status = OVSTAGE_OK; // of the call; of a read: what the fetch ended with
    std::string text;
    bool failed = false; // the op did
    std::unique_ptr<Op> op;
    std::map<std::pair<int, uint32_t>, Seen> rows; // of a read: by (name, position)
};

std::optional<Ordinal> start_of(const Step &step)
{
    return step.is_range ? std::optional<Ordinal>(step.start) : std::nullopt;
}

class ThreadBody
{
  public:
    ThreadBody(const Client &client, uint32_t first, uint32_t step)
        : client_(client), first_(first), step_(step)
    {
    }
    void run();
    void act(const Step &step);
    void wait_all();

    std::vector<Event> events;
    std::string failure;

  private:
    const Client &client_;
    uint32_t first_, step_;

    void write(const Step &step, Event &event);
    void remove(const Step &step, Event &event);
    void advance(const Step &step, Event &event);
    void read(const Step &step, Event &event);
    void fetch(ovstage_read_handle_t handle, const Step &step, Event &event);
    void wait(Event &event);
};

void ThreadBody::write(const Step &step, Event &event)
{
    event.op = std::make_unique<Op>();
    ovstage_enqueue_result_t result = client_.write(step, *event.op, event.text);
    event.id = result.op_index;
    event.status = result.status;
}

void ThreadBody::remove(const Step &step, Event &event)
{
    const ovstage_enqueue_result_t result = client_.remove(step);
    event.op = std::make_unique<Op>();
    event.id = result.op_index;
    event.status = result.status;
    event.text = last_error();
}

void ThreadBody::advance(const Step &step, Event &event)
{
    std::vector<ovx_token_t> tokens;
    for (int name : step.names)
        tokens.push_back(client_.tokens[static_cast<size_t>(name)]);
    ovstage_write_floor_desc_t desc{step.ordinal, step.scope, tokens.data(), tokens.size()};
    ovstage_enqueue_result_t result = ovstage_advance_write_floor(client_.instance, &desc);
    event.id = result.op_index;
    event.status = result.status;
    event.text = last_error();
}

void ThreadBody::fetch(ovstage_read_handle_t handle, const Step &step, Event &event)
{
    const std::vector<int> &prims = client_.program.queries[static_cast<size_t>(step.query)];
    ovstage_read_group_t group;
    while ((event.status = ovstage_fetch_read_next(
                client_.instance, handle, OVSTAGE_TIMEOUT_INFINITE, &group)) == OVSTAGE_OK) {
        int n = 0;
        while (client_.tokens[static_cast<size_t>(step.names[static_cast<size_t>(n)])] !=
               group.attribute)
            n++;
        Schema schema;
        for (auto [position, data, size] : client_.rows_of(group, prims, schema))
            event.rows[{n, position}] = {schema, Bytes(data, data + size),
                                         group.meta.attribute_write_floor_ordinal, group.is_delete};
        if (ovstage_release_group(client_.instance, &group) != OVSTAGE_OK)
            fail("release_group: ", last_error());
    }
    event.text = last_error();
    if (event.status == OVSTAGE_ERROR_END_OF_ITERATION)
        event.status = OVSTAGE_OK;
    if (ovstage_release_read(client_.instance, handle).status != OVSTAGE_OK)
        fail("release_read: ", last_error());
}

void ThreadBody::read(const Step &step, Event &event)
{
    std::vector<ovx_token_t> tokens;
    for (int name : step.names)
        tokens.push_back(client_.tokens[static_cast<size_t>(name)]);
    ovstage_read_handle_t handle = 0;
    ovstage_enqueue_result_t result = ovstage_read_attributes(
        client_.instance, client_.queries[static_cast<size_t>(step.query)], tokens.data(),
        tokens.size(), {step.start, step.ordinal, step.is_range}, &handle);
    event.id = result.op_index;
    event.status = result.status;
    event.text = last_error();
    if (result.status == OVSTAGE_OK)
        fetch(handle, step, event);
}

void ThreadBody::wait(Event &event)
{
    if (event.id == 0 || !event.op)
        return;
    ovstage_op_wait_result_t out{};
    ovstage_api_status_t status =
        ovstage_wait_op(client_.instance, event.id, OVSTAGE_TIMEOUT_INFINITE, &out);
    if (status != OVSTAGE_OK)
        fail("wait_op: ", status, " ", last_error());
    const ovstage_op_id_t *end = out.error_op_ids + out.error_op_id_count;
    event.failed = event.failed || std::find(out.error_op_ids, end, event.id) != end;
    for (auto &payload : event.op->payloads)
        payload->scribble_rows();
}

void ThreadBody::act(const Step &step)
{
    if (step.query < 0)
        return; // what a filter finds depends on how far the others are
    Event event;
    event.step = &step;
    switch (step.what) {
    case Do::write:
        write(step, event);
        break;
    case Do::remove:
        remove(step, event);
        break;
    case Do::advance:
        // Which attributes an exclusion covers depends on what is known at its turn: the others do.
        if (step.scope == OVSTAGE_SCOPE_EXCLUDE)
            return;
        advance(step, event);
        break;
    case Do::read:
        read(step, event);
        break;
    case Do::wait:
        if (!events.empty() && events.back().op && !events.back().op->waited) {
            events.back().op->waited = true;
            wait(events.back());
        }
        return;
    default:
        return;
    }
    events.push_back(std::move(event));
}

void ThreadBody::run()
{
    try {
        const auto &steps = client_.program.steps;
        for (size_t i = first_; i < steps.size(); i += step_)
            act(steps[i]);
    } catch (Failure &thrown) {
        failure = thrown.text;
    }
}

void ThreadBody::wait_all()
{
    for (Event &event : events) {
        if (event.op && !event.op->waited)
            wait(event);
    }
}

// Replays what was accepted, in the order of the ids.
class Judge
{
  public:
    explicit Judge(const Program &program) : program_(program), model_(attribute_count)
    {
    }
    void replay(std::vector<Event *> events);
    void check_refused(const Event &event) const;

  private:
    struct Unsettled {
        const Event *event;
        int attribute, prim;
        const Seen *seen;
    };

    struct FailedRead {
        const Event *event;
        bool may_be_gone;
        std::vector<int> open; // attributes that it read above their accepted floors
    };

    const Program &program_;
    Model model_;
    std::vector<Unsettled> unsettled_;
    std::vector<FailedRead> failed_reads_;

    const std::vector<int> &prims_of(const Event &event) const
    {
        return program_.queries[static_cast<size_t>(event.step->query)];
    }
    void replay_one(const Event &event);
    void write(const Event &event);
    void remove(const Event &event);
    void read(const Event &event);
    void row(const Event &event, int n, uint32_t position, bool settled);
    bool is_changed(const Event &event, int attribute) const;
    bool may_be_gone(const Event &event) const;
    void check_unsettled() const;
    void check_failed_reads() const;
};

void Judge::write(const Event &event)
{
    const Step &step = *event.step;
    const std::vector<Entry> entries = entries_of(step, prims_of(event));
    if (!refusals(step, prims_of(event)).empty())
        fail("accepted: ", step.text());
    const Verdict verdict = model_.judge(entries, step.ordinal, step.insert);
    if (verdict.by_enqueue)
        fail("accepted at or below the accepted floor: ", step.text());
    if (event.failed != (verdict.status != OVSTAGE_OK))
        fail(event.failed ? "failed: " : "must fail: ", step.text());
    model_.accept(verdict, entries, step.ordinal);
}

void Judge::remove(const Event &event)
{
    const Step &step = *event.step;
    const std::set<int> attributes = attributes_of(step);
    const Verdict verdict = model_.judge_delete(attributes, prims_of(event), step.ordinal);
    if (verdict.by_enqueue)
        fail("accepted at or below the accepted floor: ", step.text());
    if (event.failed != (verdict.status != OVSTAGE_OK))
        fail(event.failed ? "failed: " : "must fail: ", step.text());
    model_.accept_delete(verdict, attributes, prims_of(event), step.ordinal);
}

// What one position shows: the sealed value. Above the accepted floor that depends on what has run,
// which the group's floor tells.
void Judge::row(const Event &event, int n, uint32_t position, bool settled)
{
    const Step &step = *event.step;
    const int attribute = names[step.names[static_cast<size_t>(n)]].attribute;
    const int prim = prims_of(event)[position];
    auto seen = event.rows.find({n, position});
    if (settled) {
        auto wanted =
            model_.shown(attribute, prim, start_of(step), step.ordinal, model_.floor(attribute));
        if (wanted.has_value() != (seen != event.rows.end()))
            fail("position ", position,
                 wanted ? " is missing: " : " must be absent: ", step.text());
        if (wanted && !seen->second.is(wanted))
            fail("position ", position, " differs, must be of ordinal ", wanted->ordinal, ": ",
                 step.text());
        return;
    }
    if (seen != event.rows.end())
        unsettled_.push_back({&event, names[step.names[static_cast<size_t>(n)]].attribute,
                              prims_of(event)[position], &seen->second});
}

// What is at or below an executed floor is final: with the floor that a group says, it is known
// what it must show.
void Judge::check_unsettled() const
{
    for (const Unsettled &one : unsettled_) {
        const Seen &seen = *one.seen;
        auto value = model_.shown(one.attribute, one.prim, start_of(*one.event->step),
                                  one.event->step->ordinal, seen.floor);
        if (!seen.is(value))
            fail("prim ", one.prim, " shows what was not sealed at floor ", seen.floor, ": ",
                 one.event->step->text());
    }
}

bool Judge::is_changed(const Event &event, int attribute) const
{
    const std::vector<int> &prims = prims_of(event);
    return std::any_of(prims.begin(), prims.end(), [&](int prim) {
        const Ordinal start = start_of(*event.step).value_or(0);
        return !model_.changes(attribute, prim, start ? start - 1 : 0, event.step->ordinal, true)
                    .empty();
    });
}

bool Judge::may_be_gone(const Event &event) const
{
    const std::vector<int> &asked = event.step->names;
    return std::any_of(asked.begin(), asked.end(), [&](int name) {
        return !model_.kept_for_sure(names[name].attribute, prims_of(event), start_of(*event.step),
                                     event.step->ordinal, kept_versions(program_));
    });
}

void Judge::read(const Event &event)
{
    const Step &step = *event.step;
    FailedRead failed{&event, may_be_gone(event), {}};
    for (size_t n = 0; n < step.names.size(); n++) {
        const int attribute = names[step.names[n]].attribute;
        const bool settled = step.ordinal <= model_.floor(attribute);
        if (!settled)
            failed.open.push_back(attribute);
        for (uint32_t position = 0; event.status == OVSTAGE_OK && position < prims_of(event).size();
             position++)
            row(event, static_cast<int>(n), position, settled);
    }
    if (event.status != OVSTAGE_OK)
        failed_reads_.push_back(failed);
}

// A read fails for what is gone, or for an unsealed change that has run by then: also for one that
// was accepted later.
void Judge::check_failed_reads() const
{
    for (const FailedRead &failed : failed_reads_) {
        const Event &event = *failed.event;
        bool changed = std::any_of(failed.open.begin(), failed.open.end(),
                                   [&](int attribute) { return is_changed(event, attribute); });
        bool allowed = (event.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION && changed) ||
                       (event.status == OVSTAGE_ERROR_OUT_OF_RANGE && failed.may_be_gone) ||
                       (event.status == OVSTAGE_ERROR_OP_FAILED && (changed || failed.may_be_gone));
        if (!allowed)
            fail("a read failed with ", event.status, " (", event.text, "): ", event.step->text());
    }
}

void Judge::replay(std::vector<Event *> events)
{
    std::sort(events.begin(), events.end(),
              [](const Event *a, const Event *b) { return a->id < b->id; });
    std::ostringstream order;
    try {
        for (const Event *event : events) {
            order << "  op " << (event->id & 0xffffff) << (event->failed ? " failed: " : ": ")
                  << event->step->text() << "\n";
            replay_one(*event);
        }
        check_unsettled();
        check_failed_reads();
    } catch (Failure &failure) {
        throw Failure{failure.text + "\naccepted in this order:\n" + order.str()};
    }
}

void Judge::replay_one(const Event &event)
{
    switch (event.step->what) {
    case Do::write:
        write(event);
        break;
    case Do::remove:
        remove(event);
        break;
    case Do::advance:
        model_.advance(event.step->ordinal, event.step->scope, attributes_of(*event.step));
        break;
    default:
        read(event);
        break;
    }
}

// A refused call has no place in the order: what it was refused for must have come true at some
// time.
void Judge::check_refused(const Event &event) const
{
    const Step &step = *event.step;
    std::set<ovstage_api_status_t> allowed;
    if (step.what == Do::write) {
        allowed = refusals(step, prims_of(event));
        for (const EntryStep &entry : step.entries) {
            if (step.ordinal <= model_.floor(names[entry.name].attribute))
                allowed.insert(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        }
        for (const Entry &entry : entries_of(step, prims_of(event))) {
            if (model_.ever_conflicts(entry, step.ordinal))
                allowed.insert(OVSTAGE_ERROR_INVALID_ARGUMENT);
        }
        if (step.insert && model_.ever_existed(prims_of(event), step.ordinal))
            allowed.insert(OVSTAGE_ERROR_PRIM_NOT_FOUND);
    } else if (step.what == Do::remove) {
        const std::set<int> attributes = attributes_of(step);
        if (attributes.empty() ? step.ordinal <= model_.base()
                               : std::any_of(attributes.begin(), attributes.end(), [&](int a) {
                                     return step.ordinal <= model_.floor(a);
                                 }))
            allowed.insert(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    } else if (step.what == Do::read) {
        for (int name : step.names) {
            if (is_changed(event, names[name].attribute))
                allowed.insert(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        }
        if (may_be_gone(event))
            allowed.insert(OVSTAGE_ERROR_OUT_OF_RANGE);
    }
    // Without workers too: other clients may be running all that could make room.
    if (program_.settings.op_limit != 0 && step.what != Do::advance)
        allowed.insert(OVSTAGE_ERROR_QUEUE_FULL);
    if (!allowed.count(event.status))
        fail("refused with ", event.status, " (", event.text, "): ", step.text());
}

void run_threads(const Program &program, uint32_t workers, uint32_t threads, uint64_t *ops)
{
    std::vector<std::unique_ptr<ThreadBody>> bodies;
    Client client(program, workers);
    for (uint32_t t = 0; t < threads; t++)
        bodies.push_back(std::make_unique<ThreadBody>(client, t, threads));
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
    Program ending;
    ending.settings = program.settings;
    ending.prim_count = program.prim_count;
    ending.queries = program.queries;
    Step seal;
    seal.what = Do::advance;
    seal.ordinal = UINT64_MAX;
    ending.steps.push_back(seal);
    for (size_t q = 0; q < program.queries.size(); q++) {
        Step read;
        read.what = Do::read;
        read.query = static_cast<int>(q);
        read.ordinal = UINT64_MAX;
        for (int name = 0; name < name_count; name++)
            read.names.push_back(name);
        ending.steps.push_back(read);
    }
    ThreadBody finish(client, 0, 1);
    for (const Step &step : ending.steps) {
        finish.act(step);
        // A short queue has room again.
        const ovstage_op_id_t id = finish.events.back().id;
        if (step.what == Do::advance &&
            ovstage_wait_op(client.instance, id, OVSTAGE_TIMEOUT_INFINITE, nullptr) != OVSTAGE_OK)
            fail("wait_op: ", last_error());
    }
    for (Event &event : finish.events)
        accepted.push_back(&event);
    Judge judge(program);
    judge.replay(accepted);
    for (const Event *event : refused)
        judge.check_refused(*event);
    if (ops)
        *ops += accepted.size();
    if (client.destroy() != OVSTAGE_OK)
        fail("destroy_instance: ", last_error());
    for (const Event *event : accepted) {
        for (size_t f = 0; event->op && f < event->op->fates.size(); f++) {
            if (event->op->fates[f].first->deleted != 1)
                fail("a managed tensor was deleted ", event->op->fates[f].first->deleted.load(),
                     " times: ", event->step->text());
        }
    }
}

} // namespace

std::optional<std::string> run_concurrently(const Program &program, uint32_t workers,
                                            uint32_t threads, uint64_t *ops)
{
    try {
        run_threads(program, workers, threads, ops);
    } catch (Failure &failure) {
        return failure.text;
    }
    return std::nullopt;
}

} // namespace model
