// What differs of values on devices: their reads come later than the calls, and their streams may
// stall.
#include <algorithm>

#include "tests/model/runner_parts.h"

namespace model
{

// --- writes ---

// A write without an event is complete when its rows have been read.
bool Runner::waits_for_device(const Step &write)
{
    if (std::any_of(write.entries.begin(), write.entries.end(), [](const EntryStep &entry) {
            return entry.origin.on_device && is_looked_at(entry);
        }))
        return true; // when its rows are on the host
    return write.placing.event < 0 &&
           (write.placing.is_given ||
            std::any_of(write.entries.begin(), write.entries.end(),
                        [](const EntryStep &entry) { return entry.origin.on_device; }));
}

// A column is where its first write has put it: a plain one is done when that is certain.
bool Runner::may_write_plainly(const Step &step) const
{
    const auto is_applied = [&](size_t op) { return ops_[op]->waited && !ops_[op]->fails; };
    return step.placing.is_given ||
           std::all_of(step.entries.begin(), step.entries.end(), [&](const EntryStep &entry) {
               const int attribute = names[entry.name].attribute;
               return !is_home_device(program_, attribute) || entry.origin.on_device ||
                      model_.is_written_by(attribute, is_applied);
           });
}

void Runner::write_placed(const Step &step, Finder known)
{
    if (may_write_plainly(step))
        write_fitted(step, known);
}

// Whether a clone copies values that lie on devices.
bool Runner::copies_there(const Copies &copies, Ordinal ordinal) const
{
    for (int attribute = 0; attribute < recorded_attribute_count; attribute++) {
        if (is_home_device(program_, attribute) &&
            std::any_of(copies.subtree.begin(), copies.subtree.end(),
                        [&](int prim) { return model_.at(attribute, prim, ordinal); }))
            return true;
    }
    return false;
}

// --- sessions ---

namespace
{

// The rows of a group: of one tensor so many, of each array all.
std::vector<Extent> extents_of(const ovstage_data_t &data, bool is_array, size_t count)
{
    std::vector<Extent> extents;
    for (uint32_t t = 0; t < data.tensor_count; t++) {
        const DLTensor &tensor = data.tensors[t];
        const size_t width = size_t{tensor.dtype.lanes} * tensor.dtype.bits / 8;
        extents.push_back({reinterpret_cast<fr_cu_device_ptr>(tensor.data),
                           width * (is_array ? static_cast<size_t>(tensor.shape[0]) : count)});
    }
    return extents;
}

} // namespace

// Their rows are seen as the host's are, and then written by a stream.
std::vector<Bytes> Runner::fill_there(Session &session, uint32_t seed)
{
    ovstage_map_group_t group = session.group;
    const Placing &placing = session.step.placing;
    const std::vector<Extent> there =
        extents_of(group.data, session.entry.schema.is_array, session.prims.size());
    const auto taken = devices_->take(there, {true, placing.device, -1, -1});
    devices_->wait_for_taken();
    std::vector<DLTensor> tensors(group.data.tensors, group.data.tensors + there.size());
    uint8_t *next = taken->bytes.data();
    for (size_t t = 0; t < tensors.size(); t++) {
        if (tensors[t].device.device_type != kDLCUDA ||
            tensors[t].device.device_id != placing.device)
            fail("a map group that is not on device ", placing.device);
        tensors[t].data = next;
        tensors[t].device = {kDLCPU, 0};
        next += there[t].size;
    }
    group.data.tensors = tensors.data();
    const std::vector<Bytes> rows =
        Client::fill(group, session.prims.size(), session.step, session.entry.schema, seed);
    const Origin &origin = session.step.entries[0].origin;
    if (origin.stalls) {
        Step stalls;
        stalls.what = Do::stall;
        stalls.pick = static_cast<uint32_t>(origin.device * Devices::streams + origin.stream);
        stall(stalls);
    }
    devices_->fill(there, taken->bytes, origin);
    session.sync = devices_->sync(origin);
    return rows;
}

// --- streams that stall ---

bool Runner::is_on_device(const std::vector<int> &some) const
{
    return std::any_of(some.begin(), some.end(),
                       [&](int name) { return is_home_device(program_, names[name].attribute); });
}

// Some op is not complete before a device is.
bool Runner::awaits_device() const
{
    return std::any_of(ops_.begin(), ops_.end(),
                       [](const auto &op) { return op->on_device && !op->waited; });
}

// Before somebody waits. What has an event is complete, and found by others, while its streams
// stall.
void Runner::let_go(bool for_device)
{
    tasks_.let_go();
    if (devices_ && (for_device || awaits_device()))
        devices_->let_all_run();
}

void Runner::stall(const Step &step)
{
    if (!devices_)
        return;
    if (step.what == Do::let_run) {
        devices_->let_run(step.pick);
        return;
    }
    if (!devices_->has_stalled()) {
        stalled_attributes_.clear();
        stalled_ordinals_.clear();
        free_events_.clear();
    }
    devices_->stall(step.pick);
    note_later_stalls();
}

// Of those that may come to a stream or an event later than what stalls there.
void Runner::note_later_stalls()
{
    for (const auto &op : ops_) {
        if (op->placed && !op->waited)
            note_stalls(*op);
    }
}

// So many may wait for producers in streams of the stage.
void Runner::count_stalled(const Step &step)
{
    constexpr uint32_t most = 20;
    stalled_for_ = devices_->has_stalled() ? stalled_for_ + step.placing.is_given : 0;
    if (stalled_for_ > most)
        devices_->let_all_run();
}

void Runner::placed(Op &op, const Step &step)
{
    const bool has_values =
        std::any_of(step.entries.begin(), step.entries.end(), [&](const EntryStep &entry) {
            return is_home_device(program_, names[entry.name].attribute);
        });
    if (!step.placing.is_given && !has_values)
        return;
    op.placed = std::make_unique<Step>(step);
    for (EntryStep &entry : op.placed->entries)
        entry.payload.clear();
    note_stalls(op);
    note_later_stalls();
}

// A producer that stalls holds up what is behind it: its values, and work of its ordinal.
void Runner::note_stalls(const Op &op)
{
    if (!devices_->has_stalled())
        return;
    const Step &step = *op.placed;
    const bool writes = !step.entries.empty();
    std::set<int> attributes = attributes_of(step);
    for (const EntryStep &entry : step.entries)
        attributes.insert(names[entry.name].attribute);
    const auto stalls = [&](int attribute) { return stalled_attributes_.count(attribute) != 0; };
    const std::pair<int, int> event = {step.placing.device, step.placing.event};
    if (!devices_->may_stall(step) && std::none_of(attributes.begin(), attributes.end(), stalls) &&
        !(writes && stalled_ordinals_.count(step.ordinal) != 0)) {
        if (step.placing.event >= 0)
            free_events_[event] = &op;
        return;
    }
    free_events_.erase(event);
    devices_->mark(step.placing);
    if (!writes)
        return;
    stalled_attributes_.insert(attributes.begin(), attributes.end());
    stalled_ordinals_.insert(step.ordinal);
}

// All other work has been done.
void Runner::check_goes_on()
{
    if (!devices_ || !devices_->has_stalled())
        return;
    (void)fr_sim_drain();
    for (const auto &[event, op] : free_events_) {
        if (op->waited && !devices_->is_done({true, event.first, -1, event.second}))
            fail("event ", event.second, " of device ", event.first, ", which op ", op->id,
                 " has recorded, waits for a stream that stalls");
    }
}

// --- groups ---

void Runner::take(Held &held)
{
    const ovstage_read_group_t &group = held.group;
    held.taken =
        devices_->take(extents_of(group.data, group.is_array, group.prims.count), held.placing);
}

// What was taken is there from here on.
void Runner::look_at(Held &held)
{
    if (!held.taken)
        return;
    devices_->wait_for_taken();
    const uint8_t *next = held.taken->bytes.data();
    for (const Awaited &row : held.rows) {
        check_bytes(client_.text_of_token(held.group.attribute)->c_str(), row.position, row.wanted,
                    next, row.size);
        next += row.size;
    }
    held.rows.clear();
}

void Runner::look_at_again(Held &held)
{
    look_at(held);
    if (!held.keeps)
        return;
    const Bytes before = held.taken->bytes;
    held.placing.event = -1; // it is there
    take(held);
    devices_->wait_for_taken();
    if (held.taken->bytes != before)
        fail("a held group of a device changed");
}

// Those that nobody holds any longer than they must be.
void Runner::let_taken_go()
{
    const bool may_wait = devices_ && !devices_->has_stalled();
    for (size_t k = may_wait ? held_.size() : 0; k-- > 0;) {
        if (held_[k].taken && !held_[k].keeps)
            check_held(static_cast<uint32_t>(k));
    }
}

} // namespace model
