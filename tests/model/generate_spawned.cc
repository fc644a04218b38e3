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
    if (reserved_ && chance(50))
        favourite_ = type_name;
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

Step Generator::clone()
{
    Step step;
    step.what = Do::clone;
    step.pick = below(1000);
    step.ordinal = now_ + below(4);
    for (uint32_t target = 1 + below(2); target > 0; target--)
        step.deps.push_back(below(1000));
    return step;
}

// All prims, or those with a value.
Step Generator::find_copies(int name)
{
    Step step;
    step.what = Do::filter;
    step.query = -1;
    if (chance(50))
        return step;
    Predicate predicate;
    predicate.name = name;
    predicate.op = chance(50) ? OVSTAGE_FILTER_OP_IN : OVSTAGE_FILTER_OP_CONTAINS;
    predicate.values = {wanted(schemas[schema_of_[static_cast<size_t>(names[name].attribute)]])};
    step.predicates.push_back(predicate);
    return step;
}

// Ids of paths and of texts in prims that are cloned again and again, and found by them.
void Generator::make_copies(uint32_t rounds)
{
    static const int schemas_of_ids[] = {relations, connections, expressions, tokens, assets};
    add_query_of_all();
    single_schema_ = true;
    schema_of_[0] = schemas_of_ids[below(5)];
    for (; rounds > 0; rounds--) {
        const int name = chance(50) ? 0 : type_name + static_cast<int>(below(2));
        program_.steps.push_back(plain_write(name, chance(50) ? 0 : 1 + below(1000)));
        program_.steps.back().ordinal = now_ + 1;
        if (chance(50))
            seal_now();
        program_.steps.push_back(clone());
        if (chance(20))
            program_.steps.push_back(some_step());
        now_ += 3;
        seal_now();
        program_.steps.push_back(find_copies(name));
        program_.steps.push_back(read());
        Step &step = program_.steps.back();
        step.query = -1;
        step.names = {name};
        step.ordinal = std::max(step.ordinal, now_);
    }
}

} // namespace model
