#include <algorithm>

#include "tests/model/generate.h"

namespace model
{

// Of the favourite name, in the schema that it has.
Step Generator::spawned_write(uint32_t query)
{
    Step step;
    step.what = Do::write;
    step.query = static_cast<int>(query);
    step.ordinal = now_ + 1;
    EntryStep entry;
    entry.name = favourite_;
    entry.schema = schemas[schema_of_[static_cast<size_t>(names[favourite_].attribute)]];
    entry.rows = static_cast<uint32_t>(program_.queries[query].size());
    fill(entry);
    step.entries.push_back(entry);
    return step;
}

void Generator::seal_now()
{
    Step seal;
    seal.what = Do::advance;
    seal.ordinal = ++now_;
    program_.steps.push_back(seal);
}

// Of all prims, at any moment.
Step Generator::old_read()
{
    Step step = read();
    step.query = 0;
    step.ordinal = chance(70) ? now_ - below(std::min(6u, static_cast<uint32_t>(now_)))
                              : below(static_cast<uint32_t>(now_) + 1);
    step.start = std::min(step.start, step.ordinal);
    if (chance(80))
        step.names = {favourite_};
    return step;
}

// Prims that are made one by one and then written together, so often that the library stores them
// together; some are deleted and come back, and older moments are read all the time.
void Generator::make_spawned()
{
    constexpr uint32_t least = 17;
    const uint32_t count = least + below(8);
    program_.prim_count = static_cast<int>(count);
    program_.queries.assign(1, {});
    for (uint32_t prim = 0; prim < count; prim++) {
        program_.queries[0].push_back(static_cast<int>(prim));
        program_.queries.push_back({static_cast<int>(prim)});
    }
    single_schema_ = true;
    favourite_ = static_cast<int>(below(4));
    schema_of_[static_cast<size_t>(favourite_)] = static_cast<int>(below(fixed_schemas));
    for (uint32_t prim = 0; prim < count; prim++) {
        program_.steps.push_back(spawned_write(1 + prim));
        if (prim < least || chance(70))
            seal_now();
    }
    const uint32_t frames = 11 + below(16);
    for (uint32_t frame = 0; frame < frames; frame++) {
        program_.steps.push_back(spawned_write(0));
        if (deletes_ && chance(20)) {
            program_.steps.push_back(remove());
            program_.steps.back().query = static_cast<int>(1 + below(count));
            program_.steps.back().ordinal = now_ + 1;
        }
        seal_now();
        if (chance(70))
            program_.steps.push_back(settle());
        if (snapshots_ && chance(20))
            program_.steps.push_back(snapshot());
        if (chance(frame < 9 ? 5 : 40))
            program_.steps.push_back(some_step());
        if (chance(50))
            program_.steps.push_back(old_read());
    }
}

} // namespace model
