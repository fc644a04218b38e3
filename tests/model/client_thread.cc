#include <algorithm>

#include "tests/model/concurrent_parts.h"

namespace model
{

// An op that is waited for at the end.
void ThreadBody::took(Event &event, ovstage_enqueue_result_t result)
{
    event.text = last_error();
    event.id = result.op_index;
    event.status = result.status;
    if (!event.op)
        event.op = std::make_unique<Op>();
}

void ThreadBody::write(const Step &step, Event &event)
{
    event.op = std::make_unique<Op>();
    const ovstage_enqueue_result_t result =
        client_.write(fit(step, event), query_of(step), *event.op, event.text);
    event.id = result.op_index;
    event.status = result.status;
}

// --- maps ---

void ThreadBody::map(const Step &step, Event &event)
{
    ovstage_map_handle_t handle = 0;
    took(event, client_.map(fit(step, event), query_of(step), &handle));
    if (event.status == OVSTAGE_OK)
        maps_.push_back({handle, &event, {}, {}, Mapped::open});
}

void ThreadBody::fill(Mapped &mapped, uint32_t seed)
{
    Event &event = *mapped.event;
    if (event.finder) {
        find_out(static_cast<size_t>(-1 - event.step->query));
        event.paths = event.finder->paths;
    }
    const ovstage_api_status_t status = ovstage_fetch_map_next(
        client_.instance, mapped.handle, OVSTAGE_TIMEOUT_INFINITE, &mapped.group);
    if (mapped.phase != Mapped::open || event.paths.empty() || status != OVSTAGE_OK) {
        if (status == OVSTAGE_OK)
            fail("fetch_map_next with nothing left");
        return; // of a map that failed
    }
    const bool is_array = event.step->entries[0].schema.is_array;
    const DLDataType type = mapped.group.data.tensors[0].dtype;
    event.schema = {type.code, type.bits, type.lanes, OVSTAGE_SEMANTIC_NONE, is_array};
    event.is_filled = true;
    mapped.phase = Mapped::ready;
    mapped.filled = Client::fill(mapped.group, event.paths.size(), *event.step, event.schema, seed);
}

// False: the session has ended.
bool ThreadBody::commit(Mapped &mapped, const Step &step, Event &event)
{
    const bool ends = step.what == Do::unmap;
    event.opened = mapped.event;
    event.ordinal = mapped.event->ordinal;
    event.paths = mapped.event->paths;
    took(event, ends ? ovstage_unmap_attribute(client_.instance, mapped.handle, {})
                     : ovstage_unmap_group(client_.instance, mapped.handle, &mapped.group, {}));
    if (mapped.phase == Mapped::ready) {
        event.filled = mapped.filled;
        mapped.phase = Mapped::committed;
        return !ends && event.status == OVSTAGE_OK;
    }
    if (!ends && event.status != OVSTAGE_ERROR_INVALID_HANDLE)
        fail("unmap_group of no group: ", event.status);
    if (!ends)
        event.step = nullptr; // nothing that has a place in the order
    return !ends;
}

void ThreadBody::session(const Step &step)
{
    if (maps_.empty())
        return;
    const size_t index = step.pick % maps_.size();
    if (step.what == Do::fill) {
        fill(maps_[index], step.pick);
        return;
    }
    Event event;
    event.step = &step;
    if (!commit(maps_[index], step, event))
        maps_.erase(maps_.begin() + static_cast<std::ptrdiff_t>(index));
    if (event.step)
        events.push_back(std::move(event));
}

// --- structure ---

void ThreadBody::clone(const Step &step, Event &event)
{
    Copies copies;
    client_.name_copies(step, copies);
    took(event, client_.clone(copies, step.ordinal));
}

void ThreadBody::task(const Step &step, Event &event)
{
    std::vector<ovstage_op_id_t> deps;
    for (uint32_t dep : step.deps) {
        const Event *of = events.size() > 1 ? &events[dep % (events.size() - 1)] : nullptr;
        if (!of || of->id == 0 || !of->op)
            continue;
        deps.push_back(of->id);
        event.deps.push_back(of);
    }
    Step task = step; // nobody lets one go that holds
    task.work = step.work == Work::holds ? Work::runs : step.work;
    size_t number = 0;
    took(event, tasks_.submit(client_.instance, task, deps, &number));
    event.op->task = number;
}

// The id of an op that is accepted behind everything so far; 0: there is no room for one.
ovstage_op_id_t ThreadBody::next_id() const
{
    ovstage_ordinal_query_handle_t behind = 0;
    const ovstage_enqueue_result_t result =
        ovstage_get_attribute_write_floor(client_.instance, {}, &behind);
    if (result.status == OVSTAGE_ERROR_QUEUE_FULL)
        return 0;
    if (result.status != OVSTAGE_OK ||
        ovstage_release_ordinal_query(client_.instance, behind).status != OVSTAGE_OK)
        fail("get_attribute_write_floor: ", last_error());
    return result.op_index;
}

void ThreadBody::lookup(const Step &step, Event &event)
{
    ovstage_hierarchy_handle_t handle = 0;
    took(event, client_.lookup(step, event.paths, &handle));
    if (event.status != OVSTAGE_OK)
        return;
    wait(event);
    event.op->waited = true;
    event.related = client_.looked_up(handle, event.paths.size());
    event.until = next_id();
}

// False: there is no room for the question.
bool ThreadBody::executed_floor(int name, Ordinal *floor) const
{
    ovstage_ordinal_query_handle_t handle = 0;
    const ovstage_enqueue_result_t result = ovstage_get_attribute_write_floor(
        client_.instance, {client_.tokens[static_cast<size_t>(name)], {}}, &handle);
    if (result.status == OVSTAGE_ERROR_QUEUE_FULL)
        return false;
    if (result.status != OVSTAGE_OK ||
        ovstage_fetch_ordinal(client_.instance, handle, OVSTAGE_TIMEOUT_INFINITE, floor) !=
            OVSTAGE_OK ||
        ovstage_release_ordinal_query(client_.instance, handle).status != OVSTAGE_OK)
        fail("a floor query: ", last_error());
    return true;
}

// Of a moment that is sealed by now, so that it is known what it works with.
void ThreadBody::compute(const Step &step)
{
    Ordinal local = 0, reset = 0;
    if (!executed_floor(local_name, &local) || !executed_floor(reset_name, &reset))
        return;
    events.emplace_back();
    Event &event = events.back();
    event.step = &step;
    event.ordinal = step.ordinal;
    event.input = std::min({step.start, local, reset});
    took(event, client_.compute(step, event.input));
    if (event.status != OVSTAGE_OK || step.pick % 2 != 0)
        return;
    wait(event);
    event.op->waited = true;
    event.until = next_id();
}

// --- reads ---

void ThreadBody::fetch(ovstage_read_handle_t handle, const Step &step, Event &event)
{
    ovstage_read_group_t group;
    while ((event.status = ovstage_fetch_read_next(
                client_.instance, handle, OVSTAGE_TIMEOUT_INFINITE, &group)) == OVSTAGE_OK) {
        int n = 0;
        while (client_.tokens[static_cast<size_t>(step.names[static_cast<size_t>(n)])] !=
               group.attribute)
            n++;
        Schema schema;
        for (auto [position, data, size] : client_.rows_of(group, event.paths, schema))
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

// A filter sees all that was accepted before it (D23), so all of that has run. 0: there is no room
// for one.
ovstage_op_id_t ThreadBody::see_all() const
{
    ovstage_query_handle_t query = 0;
    const auto result = ovstage_query(client_.instance, nullptr, nullptr, 0, &query);
    if (result.status == OVSTAGE_ERROR_QUEUE_FULL)
        return 0;
    if (result.status != OVSTAGE_OK ||
        ovstage_wait_op(client_.instance, result.op_index, OVSTAGE_TIMEOUT_INFINITE, nullptr) !=
            OVSTAGE_OK ||
        ovstage_release_query(client_.instance, query).status != OVSTAGE_OK)
        fail("a query of all prims: ", last_error());
    return result.op_index;
}

void ThreadBody::read(const Step &step, Event &event, flyrail_snapshot_t snapshot)
{
    const bool is_of_computed = std::any_of(step.names.begin(), step.names.end(), is_computed);
    event.from = is_of_computed ? see_all() : 0;
    std::vector<ovx_token_t> tokens;
    for (int name : step.names)
        tokens.push_back(client_.tokens[static_cast<size_t>(name)]);
    ovstage_read_handle_t handle = 0;
    const ovstage_query_handle_t query = query_of(step);
    if (std::find(step.names.begin(), step.names.end(), world_name) != step.names.end())
        event.begun = next_id();
    const ovstage_enqueue_result_t result =
        snapshot ? flyrail_snapshot_read(client_.instance, snapshot, query, tokens.data(),
                                         tokens.size(), &handle)
                 : ovstage_read_attributes(client_.instance, query, tokens.data(), tokens.size(),
                                           {step.start, step.ordinal, step.is_range}, &handle);
    event.id = result.op_index;
    event.status = result.status;
    event.text = last_error();
    if (event.finder) {
        find_out(static_cast<size_t>(-1 - step.query));
        event.paths = event.finder->paths;
    }
    if (result.status == OVSTAGE_OK)
        fetch(handle, step, event);
    event.until = is_of_computed ? next_id() : 0;
}

// An op behind it tells what had been accepted by then.
void ThreadBody::open_snapshot(const Step &step)
{
    Event event;
    event.step = &step;
    flyrail_snapshot_desc_t desc{};
    desc.struct_size = sizeof(desc);
    desc.newest = true;
    flyrail_snapshot_t handle = 0;
    if (flyrail_snapshot_open(client_.instance, &desc, &handle, &event.ordinal) != OVSTAGE_OK)
        fail("snapshot_open: ", last_error());
    event.id = next_id();
    if (event.id == 0) {
        (void)flyrail_snapshot_close(client_.instance, handle);
        return;
    }
    events.push_back(std::move(event));
    snapshots_.push_back({handle, &events.back()});
}

void ThreadBody::snapshot(const Step &step)
{
    if (snapshots_.empty())
        return;
    const size_t index = step.pick % snapshots_.size();
    const Opened snapshot = snapshots_[index];
    if (step.what == Do::close_snapshot) {
        if (flyrail_snapshot_close(client_.instance, snapshot.handle) != OVSTAGE_OK)
            fail("snapshot_close: ", last_error());
        snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(index));
        return;
    }
    Event event;
    event.step = &step;
    event.ordinal = snapshot.event->ordinal;
    event.opened = snapshot.event;
    ask(step, event);
    read(step, event, snapshot.handle);
    events.push_back(std::move(event));
}

// --- all of it ---

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
        payload->scribble_rows({});
}

void ThreadBody::wait_last()
{
    if (!events.empty() && events.back().op && !events.back().op->waited) {
        events.back().op->waited = true;
        wait(events.back());
    }
}

void ThreadBody::act(const Step &step)
{
    switch (step.what) {
    case Do::wait:
        wait_last();
        return;
    case Do::fill:
    case Do::commit:
    case Do::unmap:
        session(step);
        return;
    case Do::open_snapshot:
        open_snapshot(step);
        return;
    case Do::read_snapshot:
    case Do::close_snapshot:
        snapshot(step);
        return;
    case Do::compute:
        compute(step);
        return;
    case Do::write:
    case Do::remove:
    case Do::map:
    case Do::clone:
    case Do::discard:
    case Do::filter:
    case Do::lookup:
    case Do::advance:
    case Do::read:
    case Do::task:
        break;
    default:
        return;
    }
    events.emplace_back();
    Event &event = events.back();
    event.step = &step;
    event.ordinal = step.ordinal;
    ask(step, event);
    if (step.what == Do::write)
        write(step, event);
    else if (step.what == Do::remove)
        took(event, client_.remove(step, query_of(step)));
    else if (step.what == Do::map)
        map(step, event);
    else if (step.what == Do::clone)
        clone(step, event);
    else if (step.what == Do::discard)
        took(event, flyrail_discard(client_.instance, step.ordinal));
    else if (step.what == Do::filter)
        filter(step, event);
    else if (step.what == Do::lookup)
        lookup(step, event);
    else if (step.what == Do::advance)
        took(event, client_.advance(step));
    else if (step.what == Do::read)
        read(step, event);
    else
        task(step, event);
}

void ThreadBody::run()
{
    try {
        const auto &steps = client_.program.steps;
        for (size_t i = 0; i < steps.size(); i++) {
            if (is_mine(steps[i], i))
                act(steps[i]);
        }
        for (size_t slot = 0; slot < filter_slots; slot++)
            find_out(slot);
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

} // namespace model
