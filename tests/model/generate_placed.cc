// Programs with values on devices. Their steps are those of the others; what concerns attributes of
// devices is changed into what the library supports there.
#include <algorithm>

#include "tests/model/devices.h"
#include "tests/model/generate.h"
#include "tests/model/placed.h"

namespace model
{

// Some attributes lie on a device, each with one schema for its keys; some of them are arrays.
void Generator::choose_homes()
{
    program_.homes.assign(recorded_attribute_count, -1);
    for (int a = 0; a < recorded_attribute_count; a++) {
        if (!may_lie_on_device(a) || (a > 0 && chance(40)))
            continue;
        program_.homes[static_cast<size_t>(a)] = static_cast<int>(below(placed_devices));
        int &schema = schema_of_[static_cast<size_t>(a)];
        do
            schema =
                static_cast<int>(chance(40) ? fixed_schemas + below(schema_count - fixed_schemas)
                                            : below(fixed_schemas));
        while (!may_be_placed(schemas[schema]));
    }
}

Placing Generator::placing(int device)
{
    Placing placing;
    placing.is_given = true;
    placing.device = device;
    if (chance(40))
        placing.stream = static_cast<int>(below(Devices::streams));
    if (stalls_ || chance(70))
        placing.event = static_cast<int>(below(Devices::events));
    return placing;
}

Origin Generator::origin(int device)
{
    Origin origin;
    origin.on_device = true;
    origin.device = device;
    origin.stream = static_cast<int>(below(Devices::streams));
    origin.awaits = static_cast<Awaits>(below(static_cast<uint32_t>(Awaits::last_awaits)));
    origin.together = chance(50);
    return origin;
}

// Of attributes of devices, from some device.
void Generator::put_on_devices(std::vector<EntryStep> &entries, uint32_t percent)
{
    for (EntryStep &entry : entries) {
        // Whose pointer or device is refused goes by what the write is.
        if (entry.defect == Defect::cuda_device || entry.defect == Defect::unknown_device)
            entry.defect = Defect::negative_shape;
        const int attribute = names[entry.name].attribute;
        if (is_looked_at(entry) ? !chance(30)
                                : !is_home_device(program_, attribute) || !chance(percent))
            continue;
        entry.origin = origin(static_cast<int>(below(placed_devices)));
        if (entry.owner == Owner::managed_copied)
            entry.owner = Owner::managed;
    }
}

bool Generator::names_device(const std::vector<int> &some) const
{
    return std::any_of(some.begin(), some.end(),
                       [&](int name) { return is_home_device(program_, names[name].attribute); });
}

// Mostly where the values lie.
int Generator::some_device(int home)
{
    return chance(80) ? home : static_cast<int>(below(placed_devices));
}

void Generator::put_session_on_device(Step &step)
{
    const int attribute = names[step.entries[0].name].attribute;
    const bool is_home = is_home_device(program_, attribute);
    if ((!is_home && !is_looked_at(step.entries[0])) || chance(20))
        return;
    step.placing =
        placing(some_device(is_home ? program_.homes[static_cast<size_t>(attribute)] : 0));
    step.entries[0].origin = origin(step.placing.device);
}

// False: it cannot be done there.
bool Generator::place(Step &step)
{
    if (step.what == Do::read) {
        if (stalls_ && names_device(step.names) && !may_be_read_on_device(step.names))
            return false;
        if ((stalls_ || chance(60)) && may_be_read_on_device(step.names))
            step.placing = placing(static_cast<int>(below(placed_devices)));
        return true;
    }
    if (step.what == Do::map)
        put_session_on_device(step);
    if (step.what != Do::write || step.entries.empty())
        return true;
    if (chance(20)) { // a plain one, whatever it writes
        put_on_devices(step.entries, stalls_ ? 0 : 30);
        return true;
    }
    const EntryStep first = step.entries[0];
    step.entries.erase(std::remove_if(step.entries.begin(), step.entries.end(),
                                      [&](const EntryStep &entry) {
                                          return !may_go_together(program_, first, entry);
                                      }),
                       step.entries.end());
    const int attribute = names[first.name].attribute;
    if (!is_home_device(program_, attribute)) {
        put_on_devices(step.entries, 0);
        return true;
    }
    if (step.by_rows || step.mode > FLYRAIL_WRITE_INSERT)
        return false; // calls of our own have no placement
    step.placing = placing(some_device(program_.homes[static_cast<size_t>(attribute)]));
    put_on_devices(step.entries, 75);
    return true;
}

void Generator::add_placed(Step (Generator::*one)())
{
    Step step = (this->*one)();
    while (!place(step))
        step = (this->*one)();
    program_.steps.push_back(step);
}

// Its prims are all there from the beginning in half of the programs: in others they are made by
// whatever writes come first.
void Generator::make_first_rows()
{
    for (int name = 0; name < plain_name_count; name++) {
        const int attribute = names[name].attribute;
        if (!is_home_device(program_, attribute) || chance(15))
            continue;
        Step step = plain_write(name, chance(90) ? 0 : 1 + below(1000));
        step.ordinal = 1;
        (void)place(step);
        program_.steps.push_back(step);
    }
    Step seal;
    seal.what = Do::advance;
    seal.ordinal = 1;
    program_.steps.push_back(seal);
    if (chance(70))
        program_.steps.push_back(settle());
    now_ = 2;
}

// Keys that are made at several ordinals before they are sealed, in whatever sets and orders.
void Generator::make_new_keys()
{
    std::vector<int> there;
    for (int name = 0; name < plain_name_count; name++) {
        if (is_home_device(program_, names[name].attribute))
            there.push_back(name);
    }
    const int one = there.empty() ? some_name() : there[below(static_cast<uint32_t>(there.size()))];
    const uint32_t ordinals = 1 + below(3);
    for (uint32_t n = 3 + below(10); n > 0; n--) {
        const int name = chance(85) ? one : some_name();
        Step step =
            plain_write(name, chance(40) ? 1 + below(1000) : 0,
                        static_cast<int>(below(static_cast<uint32_t>(program_.queries.size()))));
        step.ordinal = now_ + below(ordinals);
        if (chance(85) && place(step))
            program_.steps.push_back(step);
        else
            add_placed(&Generator::some_step);
    }
    for (uint32_t n = chance(50) ? 1 : ordinals; n > 0; n--) {
        Step seal;
        seal.what = Do::advance;
        seal.ordinal = now_ + ordinals - n;
        program_.steps.push_back(seal);
        if (chance(50))
            add_placed(&Generator::read);
        if (chance(30))
            add_placed(&Generator::write);
    }
    now_ += ordinals;
}

Step Generator::stall()
{
    Step step;
    step.what = chance(50) ? Do::stall : Do::let_run;
    step.pick = below(1000);
    return step;
}

// A stream that stalls is to make what is written.
bool Generator::add_stalled_write(int name)
{
    Step write = plain_write(name, chance(70) ? 0 : 1 + below(1000));
    write.ordinal = now_ + 1;
    if (!place(write) || !write.placing.is_given)
        return false;
    Step stalls = stall();
    stalls.what = Do::stall;
    stalls.pick %= Devices::count * Devices::streams;
    program_.steps.push_back(stalls);
    write.entries[0].origin = origin(static_cast<int>(stalls.pick) / Devices::streams);
    write.entries[0].origin.stream = static_cast<int>(stalls.pick) % Devices::streams;
    program_.steps.push_back(write);
    return true;
}

// The same of a session.
bool Generator::add_stalled_session(int name)
{
    Step session = map();
    session.ordinal = now_ + 1;
    session.query = 0;
    EntryStep &entry = session.entries[0];
    entry = EntryStep();
    entry.name = name;
    entry.schema = some_schema(names[name].attribute);
    for (size_t p = 0; entry.schema.is_array && p < program_.queries[0].size(); p++)
        entry.lengths.push_back(below(4));
    if (!place(session) || !session.placing.is_given)
        return false;
    entry.origin.stalls = true;
    program_.steps.push_back(session);
    for (Do what : {Do::fill, Do::unmap}) {
        Step step;
        step.what = what;
        step.pick = newest_session;
        program_.steps.push_back(step);
    }
    return true;
}

// What is not made yet is sealed and read.
void Generator::make_stalled_frame()
{
    const int name = some_name();
    if (chance(40) ? !add_stalled_session(name) : !add_stalled_write(name))
        return;
    seal_now();
    for (uint32_t n = 1 + below(2); n > 0; n--) {
        Step one = read();
        one.names = {name};
        one.ordinal = now_ - below(2);
        one.start = std::min(one.start, one.ordinal);
        if (place(one))
            program_.steps.push_back(one);
    }
    if (chance(30))
        program_.steps.push_back(stall());
}

Program Generator::make_placed()
{
    const bool is_steady = chance(20);
    stalls_ = chance(30);
    program_.settings = settings();
    program_.settings.op_limit = 0;
    program_.prim_count = 1 + static_cast<int>(below(chance(85) ? 8 : chance(80) ? 80 : 400));
    single_schema_ = true;
    deletes_ = chance(50);
    maps_ = chance(40);
    structure_ = chance(35);
    snapshots_ = !stalls_ && chance(30);
    extended_ = chance(10);
    discards_ = chance(20);
    small_values_ = chance(30);
    choose_schemas();
    choose_homes();
    for (uint32_t q = 2 + below(4); q > 0; q--)
        add_query();
    add_query_of_all();
    if (chance(50))
        make_first_rows();
    if (chance(40))
        make_new_keys();
    if (is_steady)
        make_placed_frames(5 + below(15));
    for (uint32_t length = is_steady ? 0 : 8 + below(50); length > 0; length--) {
        if (chance(15))
            program_.steps.push_back(stall());
        if (stalls_ && chance(10))
            make_stalled_frame();
        add_placed(&Generator::some_step);
    }
    return program_;
}

// Written, sealed and read, one frame after the other.
void Generator::make_placed_frames(uint32_t frames)
{
    for (; frames > 0; frames--) {
        if (chance(30))
            program_.steps.push_back(stall());
        for (uint32_t n = 1 + below(3); n > 0; n--) {
            Step step = plain_write(some_name(), chance(50) ? 0 : 1 + below(1000));
            step.ordinal = now_;
            if (place(step))
                program_.steps.push_back(step);
        }
        if (chance(30)) {
            add_placed(&Generator::write);
            program_.steps.back().ordinal = now_;
        }
        Step seal;
        seal.what = Do::advance;
        seal.ordinal = now_++;
        program_.steps.push_back(seal);
        for (uint32_t n = below(3); n > 0; n--)
            add_placed(&Generator::read);
        if (chance(30))
            add_placed(&Generator::some_step);
    }
}

Program generate_placed(uint64_t seed)
{
    return Generator(seed).make_placed();
}

} // namespace model
