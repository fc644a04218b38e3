#include <algorithm>

#include "tests/model/generate.h"

namespace model
{

// Mostly a few ordinals ahead, in odd order; sometimes far behind.
Ordinal Generator::some_ordinal()
{
    if (chance(5))
        return below(static_cast<uint32_t>(now_) + 1);
    return now_ + below(5);
}

void Generator::add_query()
{
    std::vector<int> prims;
    switch (below(5)) {
    case 0: // all, in order
        for (int prim = 0; prim < program_.prim_count; prim++)
            prims.push_back(prim);
        break;
    case 1: // a part, in order
        for (int prim = 0; prim < program_.prim_count; prim++) {
            if (chance(50))
                prims.push_back(prim);
        }
        break;
    case 2: // one
        prims.push_back(static_cast<int>(below(static_cast<uint32_t>(program_.prim_count))));
        break;
    default: { // anything, twice too
        uint32_t count = below(static_cast<uint32_t>(program_.prim_count) + 4);
        for (uint32_t i = 0; i < count; i++)
            prims.push_back(static_cast<int>(below(static_cast<uint32_t>(program_.prim_count))));
        break;
    }
    }
    program_.queries.push_back(prims);
}

// Whose prims the program knows, or what a filter has found.
int Generator::some_query()
{
    if (structure_ && chance(20))
        return -1 - static_cast<int>(below(filter_slots));
    return static_cast<int>(below(static_cast<uint32_t>(program_.queries.size())));
}

Step Generator::write()
{
    Step step;
    step.what = Do::write;
    step.query = static_cast<int>(below(static_cast<uint32_t>(program_.queries.size())));
    size_t query_count = program_.queries[static_cast<size_t>(step.query)].size();
    step.ordinal = some_ordinal();
    if (chance(10))
        step.mode = FLYRAIL_WRITE_INSERT;
    std::vector<int> chosen;
    uint32_t entries = chance(70) ? 1 : 1 + below(4);
    if (extended_ && chance(40))
        extend(step);
    if (step.by_rows) {
        query_count = step.positions.size();
        entries = 1;
    }
    for (uint32_t e = 0; e < entries; e++) {
        int name = any_name(2);
        bool taken = false;
        for (int other : chosen)
            taken = taken || names[other].attribute == names[name].attribute;
        // Now and then one column is named twice, which must be refused.
        if (taken && !chance(10))
            continue;
        chosen.push_back(name);
        step.entries.push_back(entry(name, query_count));
    }
    return step;
}

// What our own calls add to a write.
void Generator::extend(Step &step)
{
    step.mode = static_cast<flyrail_write_mode_t>(below(4));
    const auto count =
        static_cast<uint32_t>(program_.queries[static_cast<size_t>(step.query)].size());
    step.by_rows = chance(50);
    if (!step.by_rows || count == 0)
        return;
    for (uint32_t n = below(std::min(count, 40u) + 3); n > 0; n--)
        step.positions.push_back(below(count));
    if (!step.positions.empty() && chance(3))
        step.positions.back() = count + below(3);
}

Step Generator::discard()
{
    Step step;
    step.what = Do::discard;
    step.ordinal = some_ordinal();
    return step;
}

Step Generator::snapshot()
{
    Step step;
    static const Do kinds[] = {Do::open_snapshot, Do::read_snapshot, Do::read_snapshot,
                               Do::close_snapshot};
    const Do what = kinds[below(4)];
    if (what == Do::read_snapshot)
        step = read();
    step.what = what;
    step.is_range = step.later = false;
    step.pick = below(1000);
    if (what != Do::open_snapshot)
        return step;
    step.ordinal = chance(50) || now_ < 3 ? 0 : now_ - below(3); // 0: the newest moment
    for (uint32_t n = below(3); n > 0; n--)
        step.names.push_back(some_name());
    return step;
}

Step Generator::remove()
{
    Step step;
    step.what = Do::remove;
    step.query = some_query();
    step.ordinal = some_ordinal();
    if (chance(30))
        return step;
    for (uint32_t n = 1 + below(3); n > 0; n--)
        step.names.push_back(any_name(2));
    return step;
}

Step Generator::map()
{
    Step step;
    step.what = Do::map;
    step.query = some_query();
    step.ordinal = some_ordinal();
    step.mode = chance(10) ? FLYRAIL_WRITE_INSERT : FLYRAIL_WRITE_UPSERT;
    step.finds_schema = chance(30);
    EntryStep entry;
    entry.name = any_name(2);
    entry.schema = some_schema(names[entry.name].attribute);
    if (step.query < 0 && entry.schema.is_array) // that would need as many lengths
        step.query = 0;
    const size_t prims =
        step.query < 0 ? 0 : program_.queries[static_cast<size_t>(step.query)].size();
    for (size_t p = 0; entry.schema.is_array && p < prims; p++)
        entry.lengths.push_back(below(chance(90) ? 4 : 40));
    step.entries.push_back(entry);
    return step;
}

// What is done with one that is open.
Step Generator::session()
{
    Step step;
    static const Do kinds[] = {Do::fill, Do::fill, Do::commit, Do::unmap};
    step.what = kinds[below(4)];
    step.pick = below(1000);
    return step;
}

Step Generator::structure()
{
    Step step;
    static const Do kinds[] = {Do::clone,  Do::clone,  Do::filter, Do::filter,
                               Do::filter, Do::filter, Do::lookup};
    step.what = kinds[below(7)];
    if (step.what == Do::filter)
        return filter();
    step.pick = below(1000);
    if (step.what == Do::lookup)
        step.query = static_cast<int>(below(static_cast<uint32_t>(program_.queries.size())));
    return step.what == Do::clone ? clone() : step;
}

// Mostly of a moment that is sealed, to an ordinal near it.
Step Generator::compute()
{
    Step step;
    step.what = Do::compute;
    const uint32_t back = below(4);
    step.start = chance(10) ? now_ + below(3) : now_ > back ? now_ - back : now_;
    step.ordinal = chance(50) ? step.start : chance(80) ? now_ + 1 - below(4) : some_ordinal();
    if (step.ordinal > now_ + 10) // of a start below 3
        step.ordinal = 0;
    step.pick = below(1000);
    return step;
}

Step Generator::advance()
{
    Step step;
    step.what = Do::advance;
    step.ordinal = chance(80) ? now_ + below(4) : some_ordinal();
    uint32_t kind = below(10);
    if (kind < 6) {
        step.scope = OVSTAGE_SCOPE_ALL;
    } else {
        step.scope = kind < 9 ? OVSTAGE_SCOPE_INCLUDE : OVSTAGE_SCOPE_EXCLUDE;
        for (uint32_t n = below(4); n > 0; n--)
            step.names.push_back(any_name(10));
        if (step.scope == OVSTAGE_SCOPE_INCLUDE && step.names.empty())
            step.names.push_back(0);
    }
    if (step.ordinal > 0)
        now_ = std::max(now_, step.ordinal - below(2) + (chance(40) ? 1 : 0));
    return step;
}

Step Generator::read()
{
    Step step;
    step.what = Do::read;
    step.query = some_query();
    uint32_t back = below(6);
    step.ordinal = chance(20) ? now_ + 2 : now_ > back ? now_ - back : now_;
    if (chance(10))
        step.ordinal = below(static_cast<uint32_t>(now_) + 1);
    step.is_range = chance(40);
    if (step.is_range) {
        const uint32_t wide = chance(70) ? below(4) : below(40);
        step.start = step.ordinal > wide ? step.ordinal - wide : 0;
    }
    for (uint32_t n = 1 + below(chance(60) ? 1 : 4); n > 0; n--) {
        int name = any_name(15);
        bool taken = false;
        for (int other : step.names)
            taken = taken || other == name;
        if (!taken)
            step.names.push_back(name);
    }
    step.hold = chance(40);
    step.later = chance(25);
    step.release_read_first = chance(30);
    step.pick = below(1000);
    return step;
}

Step Generator::task()
{
    Step step;
    step.what = Do::task;
    step.ordered = chance(60);
    step.ordinal = some_ordinal();
    step.work = static_cast<Work>(below(static_cast<uint32_t>(Work::last_work)));
    // With a full queue and no workers a submission itself runs what is queued.
    if (step.work == Work::holds && program_.settings.op_limit != 0)
        step.work = Work::runs;
    for (uint32_t d = below(3); d > 0; d--)
        step.deps.push_back(below(1000));
    return step;
}

Step Generator::other()
{
    Step step;
    static const Do kinds[] = {Do::wait,       Do::wait,    Do::poll,  Do::check,
                               Do::check,      Do::fetch,   Do::floor, Do::new_query,
                               Do::wait_floor, Do::release, Do::oldest};
    step.what = kinds[below(sizeof(kinds) / sizeof(kinds[0]))];
    step.pick = below(1000);
    step.query = static_cast<int>(below(static_cast<uint32_t>(program_.queries.size())));
    if (chance(70))
        step.names.push_back(any_name(10));
    return step;
}

// Mostly as they are by default.
Settings Generator::settings()
{
    Settings settings;
    if (chance(15))
        settings.history_versions = below(5);
    settings.history_bytes = !chance(5);
    settings.adopt_managed = chance(20);
    settings.caches = !chance(15);
    settings.own_pool = chance(3);
    if (chance(5))
        settings.op_limit = 1 + below(6);
    return settings;
}

// Steps of all kinds, so many of a hundred.
Step Generator::some_step()
{
    struct Kind {
        uint32_t share;
        bool wanted;
        Step (Generator::*make)();
    };
    const Kind kinds[] = {
        {7, deletes_, &Generator::remove},     {5, maps_, &Generator::map},
        {8, maps_, &Generator::session},       {11, structure_, &Generator::structure},
        {6, snapshots_, &Generator::snapshot}, {2, discards_, &Generator::discard},
        {6, computes_, &Generator::compute},   {14, true, &Generator::advance},
        {15, true, &Generator::read},          {3, true, &Generator::task},
        {4, true, &Generator::settle},         {7, true, &Generator::other},
    };
    uint32_t kind = below(100);
    for (const Kind &one : kinds) {
        if (kind < one.share && one.wanted)
            return (this->*one.make)();
        kind -= std::min(kind, one.share);
    }
    return write();
}

// What follows is judged at once, and exactly.
Step Generator::settle()
{
    Step step;
    step.what = Do::wait_all;
    step.pick = below(1000);
    return step;
}

// Of the first query; nothing about it is special but that it may leave out some prims.
Step Generator::plain_write(int name, uint32_t mask, int query)
{
    Step step;
    step.what = Do::write;
    step.query = query;
    EntryStep entry;
    entry.name = name;
    entry.schema = schemas[schema_of_[static_cast<size_t>(names[name].attribute)]];
    entry.rows = entry.count =
        static_cast<uint32_t>(program_.queries[static_cast<size_t>(query)].size());
    entry.has_mask = mask != 0;
    for (uint32_t word = 0; entry.has_mask && word < (entry.count + 63) / 64; word++)
        entry.mask.push_back(mask);
    fill(entry);
    step.entries.push_back(entry);
    return step;
}

// One write after the other, each sealed: more versions than are kept, and now and then more seals
// than are remembered exactly.
void Generator::make_steady(uint32_t rounds)
{
    // In some programs the first prim is written at the beginning, all and then by itself, and
    // hardly ever again.
    const bool rests = favourite_ >= 0 && program_.prim_count > 1 && chance(60);
    for (uint32_t mask = 0; rests && mask < 2; mask++) {
        program_.steps.push_back(plain_write(favourite_, mask));
        program_.steps.back().ordinal = now_ + mask;
    }
    for (; rounds > 0; rounds--) {
        const uint32_t mask = rests ? 2 + 4 * below(2) : chance(50) ? 0 : 1 + below(7);
        const int name = rests && chance(90) ? favourite_ : some_name();
        program_.steps.push_back(chance(rests ? 1 : 10) && deletes_ ? remove()
                                 : chance(rests ? 98 : 80)          ? plain_write(name, mask)
                                                                    : write());
        program_.steps.back().ordinal = now_ + (rests && chance(90) ? 1 : below(2)); // or sealed
        Step seal;
        seal.what = Do::advance;
        seal.ordinal = ++now_;
        program_.steps.push_back(seal);
        if (chance(30))
            program_.steps.push_back(some_step());
        if (snapshots_ && chance(40))
            program_.steps.push_back(snapshot());
        if (rounds < 20 && chance(40)) {
            if (chance(60))
                program_.steps.push_back(settle());
            program_.steps.push_back(read());
            Step &step = program_.steps.back();
            if (chance(60))
                step.query = 0;
            if (chance(60))
                step.ordinal = below(static_cast<uint32_t>(now_) + 1);
            step.start = std::min(step.start, step.ordinal);
            if (!rests || !chance(50))
                continue;
            step.names = {favourite_};
            step.is_range = true;
            step.start = 1 + below(2); // what rests has changed since then
            step.ordinal = now_;
        }
    }
}

void Generator::add_query_of_all()
{
    program_.queries[0].clear();
    for (int prim = 0; prim < program_.prim_count; prim++)
        program_.queries[0].push_back(prim);
}

// One move after the other, each sealed and composed.
void Generator::make_frames(uint32_t frames)
{
    for (; frames > 0; frames--) {
        const int moved = chance(85) ? local_name : reset_name;
        const auto some = static_cast<uint32_t>(random_() & random_());
        if (chance(10))
            program_.steps.push_back(some_step());
        program_.steps.push_back(plain_write(moved, chance(20) ? 0 : some));
        program_.steps.back().ordinal = now_;
        Step seal;
        seal.what = Do::advance;
        seal.ordinal = now_++;
        program_.steps.push_back(seal);
        Step step = compute();
        if (chance(80))
            step.start = step.ordinal = seal.ordinal;
        if (chance(90))
            program_.steps.push_back(step);
        step = read();
        step.names = {world_name};
        if (chance(60))
            program_.steps.push_back(step);
        if (chance(30))
            program_.steps.push_back(some_step());
    }
}

void Generator::choose_schemas()
{
    for (int a = 0; a < recorded_attribute_count; a++)
        schema_of_.push_back(a == local_attribute || a == world_attribute ? matrices
                             : a == reset_attribute                       ? flags
                             : a == type_attribute                        ? one_token
                             : a == schemas_attribute                     ? tokens
                                                      : static_cast<int>(below(schema_count)));
    if (structure_ && chance(60)) { // paths, which clones redirect, and texts of some
        static const int schemas_of_paths[] = {relations, connections, expressions};
        schema_of_[below(4)] = schemas_of_paths[below(3)];
    }
}

Program Generator::make()
{
    program_.settings = settings();
    // Mostly few prims; now and then enough for payloads that several threads copy.
    const bool large = chance(2), is_steady = !large && chance(12);
    const bool is_spawned = !large && !is_steady && chance(3);
    program_.prim_count = 1 +
                          static_cast<int>(below(is_steady    ? 3
                                                 : chance(85) ? 8
                                                              : 120)) +
                          (large ? 2000 : 0);
    single_schema_ = chance(60);
    deletes_ = chance(60);
    maps_ = chance(40);
    structure_ = chance(40);
    snapshots_ = chance(30);
    extended_ = chance(30);
    discards_ = chance(30);
    small_values_ = chance(50);
    computes_ = !is_steady && !is_spawned && chance(25);
    finds_ = chance(25);
    reserved_ = !finds_ && chance(40); // what is refused goes by prims, which may not be known yet
    choose_schemas();
    const bool is_copied = structure_ && !is_steady && !is_spawned && !large && chance(12);
    if (is_copied)
        program_.prim_count = 8 + static_cast<int>(below(30));
    for (uint32_t q = 2 + below(4); q > 0; q--)
        add_query();
    if (is_copied) {
        make_copies(3 + below(6));
        return program_;
    }
    if (computes_) {
        add_query_of_all();
        for (int name : {world_name, local_name}) {
            if (chance(15))
                continue;
            program_.steps.push_back(plain_write(name, chance(70) ? 0 : below(1000)));
            program_.steps.back().ordinal = 1;
        }
        if (chance(40)) {
            make_frames(4 + below(12));
            return program_;
        }
    }
    if (is_steady) {
        add_query_of_all();
        single_schema_ = true;
        favourite_ = chance(80) ? some_name() : -1;
        make_steady(chance(85) ? 5 + below(12) : 100 + below(30));
        return program_;
    }
    if (is_spawned) {
        make_spawned();
        return program_;
    }
    for (uint32_t length = 8 + below(large ? 12 : finds_ ? 30 : 50); length > 0; length--) {
        program_.steps.push_back(some_step());
        if (finds_ && chance(12))
            make_found();
    }
    return program_;
}

Program generate(uint64_t seed)
{
    return Generator(seed).make();
}

} // namespace model
