#include <algorithm>

#include "tests/model/generate.h"

namespace model
{

// Of a slot.
Step Generator::filter()
{
    Step step;
    step.what = Do::filter;
    step.query = -1 - static_cast<int>(below(filter_slots));
    step.pick = below(1000);
    for (uint32_t n = chance(30) ? 0 : chance(80) ? 1 : 2; n > 0; n--)
        step.predicates.push_back(predicate());
    if (!step.predicates.empty() && chance(60))
        step.pick = 0;
    for (uint32_t n = chance(80) ? 0 : 1 + below(2); n > 0; n--)
        step.names.push_back(any_name(10));
    return step;
}

namespace
{

// One that is told whatever the prims are, and stays one when the entry is cut to fit.
Defect whatever_is_found(Defect defect)
{
    switch (defect) {
    case Defect::map_out_of_range:
    case Defect::too_few_rows:
    case Defect::count_above_query:
        return Defect::no_role;
    default:
        return defect;
    }
}

} // namespace

// Mostly of as many elements as there are prims, or of the first few.
Step Generator::found_write(int slot)
{
    Step step;
    step.what = Do::write;
    step.query = slot;
    step.ordinal = some_ordinal();
    if (chance(15))
        step.mode = static_cast<flyrail_write_mode_t>(below(extended_ ? 4 : 2));
    step.by_rows = chance(25);
    for (uint32_t n = below(4); step.by_rows && n > 0; n--)
        step.positions.push_back(below(chance(90) ? 2 : 5));
    const size_t count = step.by_rows ? step.positions.size() : 1 + below(chance(70) ? 3 : 8);
    const bool fits = !step.by_rows && chance(70);
    std::vector<int> chosen;
    for (uint32_t n = step.by_rows || chance(75) ? 1 : 1 + below(3); n > 0; n--) {
        const int name = some_name();
        const bool taken = std::any_of(chosen.begin(), chosen.end(), [&](int other) {
            return names[other].attribute == names[name].attribute;
        });
        if (taken && !chance(10))
            continue;
        chosen.push_back(name);
        EntryStep made = entry(name, count);
        made.defect = whatever_is_found(made.defect);
        made.fits = fits;
        step.entries.push_back(made);
    }
    return step;
}

Step Generator::found_map(int slot)
{
    Step step = map();
    step.query = slot;
    EntryStep &entry = step.entries[0];
    entry.lengths.clear();
    for (uint32_t n = 1 + below(4); entry.schema.is_array && n > 0; n--)
        entry.lengths.push_back(below(4));
    entry.fits = chance(80);
    return step;
}

Step Generator::found_use(int slot)
{
    Step step;
    const uint32_t kind = below(100);
    if (kind < 45)
        return found_write(slot);
    if (kind < 60)
        step = found_map(slot);
    else if (kind < 75)
        step = remove();
    else if (kind < 90)
        step = read();
    else
        return kind < 95 ? advance() : some_step();
    step.query = slot;
    return step;
}

// One that mostly finds something; now and then one for what no column can have.
Step Generator::later_filter()
{
    Step step = filter();
    step.later = true;
    if (chance(60))
        step.predicates.clear();
    if (chance(60))
        step.pick = below(2);
    if (chance(10)) {
        Predicate predicate;
        predicate.name = program_.steps.back().entries.empty()
                             ? some_name()
                             : program_.steps.back().entries[0].name;
        predicate.op = OVSTAGE_FILTER_OP_IN;
        predicate.values.push_back({"none", {}, false});
        step.predicates.push_back(predicate);
    }
    return step;
}

// A filter that nobody waits for, and ops that use its query meanwhile; now and then of another
// filter that has to see what they do. Often something that takes its time is before it.
void Generator::make_found()
{
    if (chance(40) && program_.settings.op_limit == 0) {
        Step step;
        step.what = Do::task;
        step.ordered = true;
        step.ordinal = some_ordinal();
        step.work = Work::holds;
        program_.steps.push_back(step);
    }
    if (chance(70))
        program_.steps.push_back(write());
    for (uint32_t filters = chance(70) ? 1 : 2; filters > 0; filters--) {
        program_.steps.push_back(later_filter());
        const int slot = program_.steps.back().query;
        for (uint32_t uses = 1 + below(4); uses > 0; uses--)
            program_.steps.push_back(found_use(slot));
    }
}

} // namespace model
