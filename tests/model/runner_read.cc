#include <algorithm>
#include <cstring>

#include "tests/model/runner_parts.h"

namespace model
{

// An unsealed change at or below the ordinal refuses the read, if it has run by then.
void Runner::expect_violations(Expectation &expectation, int attribute) const
{
    if (expectation.ordinal <= model_.floor(attribute))
        return; // it waits for the seals
    const Ordinal floor = expectation.unsealed_above(model_.floor(attribute));
    const Ordinal executed =
        expectation.unsealed_above(executed_floors_[static_cast<size_t>(attribute)]);
    for (int prim : expectation.prims) {
        // Whether a delete finds anything goes by what has run.
        expectation.may_violate |=
            !model_
                 .changes(attribute, prim, quiet_ ? floor : executed, expectation.ordinal, !quiet_)
                 .empty();
        for (size_t op : model_.changes(attribute, prim, floor, expectation.ordinal)) {
            if (quiet_ || (ops_[op]->waited && !ops_[op]->is_delete))
                expectation.violations.insert(op);
        }
    }
}

Expectation Runner::expect(const Step &step, const Snapshot *snapshot)
{
    Expectation expectation;
    expectation.prims = client_.prims_of(step);
    expectation.names = step.names;
    if (step.is_range)
        expectation.start = step.start;
    expectation.ordinal = step.ordinal;
    for (int name : step.names) {
        const int attribute = names[name].attribute;
        const Ordinal executed = executed_floors_[static_cast<size_t>(attribute)];
        const Ordinal floor = model_.floor(attribute);
        const bool open = !quiet_ && (step.ordinal > floor || is_computed(name));
        std::vector<std::optional<Value>> rows;
        for (int prim : expectation.prims)
            rows.push_back(model_.shown(attribute, prim, expectation.start, step.ordinal,
                                        open ? executed : floor));
        expectation.rows.push_back(rows);
        expectation.open.push_back(open);
        expect_violations(expectation, attribute);
        expect_kept(expectation, attribute, snapshot);
        const Ordinal least = open ? executed : std::max(executed, std::min(step.ordinal, floor));
        expectation.floors.emplace_back(quiet_ ? floor : least, floor);
    }
    expectation.settled = quiet_;
    const Finder known = known_of(step);
    expectation.must_fail = known == Finder::failed;
    // What records an event comes behind those that did before.
    const bool has_turn = step.placing.is_given && step.placing.event >= 0;
    expectation.judged_at_once =
        known == Finder::ready &&
        (quiet_ ||
         (!has_turn && std::count(expectation.open.begin(), expectation.open.end(), false) == 0));
    expectation.fetched_at_once = !step.later;
    // With nothing going on it may be asked what is known, else it may change meanwhile.
    if (step.is_range && model_.merged_at_most() != 0)
        expectation.merged =
            quiet_ && program_.settings.op_limit == 0 ? oldest() : model_.merged_at_most();
    expectation.generations.resize(step.names.size());
    expectation.above.resize(step.names.size());
    if (quiet_)
        expect_generations(expectation);
    return expectation;
}

// The layout that a column had when it was seen last stays while no key comes or goes, and does not
// stay when one does (R82).
void Runner::expect_generations(Expectation &expectation) const
{
    for (size_t n = 0; n < expectation.names.size(); n++) {
        const int attribute = names[expectation.names[n]].attribute;
        auto known = layouts_.find(attribute);
        if (known == layouts_.end())
            continue;
        const Model::Topology topology = model_.topology(attribute);
        const auto &[seen, generation] = known->second;
        if (seen.keys != topology.keys)
            expectation.above[n] = generation;
        else if (seen.taken_away == topology.taken_away)
            expectation.generations[n] = generation; // else some have gone and come back
    }
}

void Runner::read(const Step &step, const Snapshot *snapshot)
{
    Read read;
    wait_computed(step.names);
    read.expectation = expect(step, snapshot);
    read.hold = step.hold;
    read.release_first = step.release_read_first;
    read.placing = step.placing;
    read.on_device = step.placing.is_given ? step.placing.event < 0 : is_on_device(step.names);
    const ovstage_enqueue_result_t result = snapshot
                                                ? client_.read(step, snapshot->handle, &read.handle)
                                                : client_.read(step, &read.handle);
    const Expectation &expectation = read.expectation;
    if (is_unsupported(step) && !is_full(result.status)) {
        check_unsupported(result, expectation.may_violate);
        return;
    }
    if (result.status == OVSTAGE_OK) {
        if (read.handle == 0)
            fail("an accepted read without a handle");
        if (expectation.judged_at_once && !expectation.violations.empty())
            fail("a read that must see an unsealed change was accepted with nothing to wait for");
        const bool was_quiet = quiet_;
        Op &op = accepted(result, false);
        op.on_device = read.on_device;
        if (devices_)
            placed(op, step);
        op.may_fail = expectation.may_be_gone || expectation.may_violate ||
                      std::count(expectation.open.begin(), expectation.open.end(), true) != 0;
        if (expectation.must_fail)
            inherit(op, *finder_of(step));
        else
            quiet_ = was_quiet; // then it is judged and complete by now
        reads_.push_back(read);
        // What it shows of prims goes by what has run: that is known now.
        if (!step.later || std::any_of(step.names.begin(), step.names.end(), is_computed)) {
            finish(reads_.back());
            reads_.pop_back();
        }
        return;
    }
    if (result.op_index != 0 || read.handle != 0)
        fail("a refused read has op ", result.op_index, " handle ", read.handle);
    if (last_error().empty())
        fail("a refused read without a text");
    bool allowed =
        is_full(result.status) ||
        (result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION && expectation.may_violate) ||
        (result.status == OVSTAGE_ERROR_OUT_OF_RANGE && expectation.may_be_gone);
    if (!allowed)
        fail("read refused with ", result.status, " (", last_error(), ")");
}

void Runner::finish(Read &read)
{
    fetch_all(read);
    if (read.handle == 0)
        return;
    ovstage_enqueue_result_t result = ovstage_release_read(client_.instance, read.handle);
    if (result.status != OVSTAGE_OK || result.op_index == 0)
        fail("release_read: ", result.status, " ", last_error());
    ovstage_read_group_t group;
    if (ovstage_fetch_read_next(client_.instance, read.handle, 0, &group) !=
        OVSTAGE_ERROR_INVALID_HANDLE)
        fail("a released read can be fetched");
    read.handle = 0;
}

// One that was only enqueued.
void Runner::fetch(uint32_t pick)
{
    if (reads_.empty())
        return;
    const size_t index = pick % reads_.size();
    finish(reads_[index]);
    reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Runner::fetch_failed(const Expectation &expectation, ovstage_api_status_t status) const
{
    bool may_violate = expectation.may_violate;
    // What was accepted later may have run before the read did, too.
    for (size_t n = 0; n < expectation.names.size(); n++) {
        for (int prim : expectation.prims)
            may_violate |= expectation.open[n] &&
                           !model_
                                .changes(names[expectation.names[n]].attribute, prim,
                                         expectation.unsealed_above(expectation.floors[n].first),
                                         expectation.ordinal, true)
                                .empty();
    }
    bool allowed =
        (status == OVSTAGE_ERROR_OP_FAILED && (may_violate || expectation.may_be_gone)) ||
        (status == OVSTAGE_ERROR_OUT_OF_RANGE && expectation.may_be_gone) ||
        (status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION && may_violate);
    // With nothing to wait for the enqueue had to tell (R64).
    if (!allowed || expectation.judged_at_once)
        fail("fetch_read_next: ", status, " ", last_error());
}

// Above the accepted floor it shows what was sealed when it was judged: deletes too.
bool Runner::may_be_deleted(const Expectation &expectation, size_t n, int prim) const
{
    if (!expectation.open[n] || expectation.start)
        return false;
    const std::vector<size_t> ops =
        model_.changes(names[expectation.names[n]].attribute, prim, expectation.floors[n].first,
                       expectation.ordinal, true);
    return std::any_of(ops.begin(), ops.end(), [&](size_t op) { return ops_[op]->is_delete; });
}

// Below what is known exactly a key counts at its newest change only (L6).
bool Runner::is_merged(const Expectation &expectation, int attribute, int prim) const
{
    const Ordinal merged = expectation.settled ? expectation.merged : model_.merged_at_most();
    return expectation.start && *expectation.start < merged &&
           model_.may_be_merged(attribute, prim, expectation.ordinal, merged);
}

void Runner::check_complete(const Expectation &expectation, const Seen &seen) const
{
    for (size_t n = 0; n < expectation.names.size(); n++) {
        const int attribute = names[expectation.names[n]].attribute;
        for (int prim : expectation.prims) {
            for (size_t op : // that no seal covers which was accepted since
                 model_.changes(attribute, prim,
                                expectation.unsealed_above(model_.floor(attribute)),
                                expectation.ordinal)) {
                if (expectation.violations.count(op))
                    fail("a read of an unsealed change succeeded");
            }
        }
        for (size_t i = 0; i < expectation.prims.size(); i++) {
            if (expectation.rows[n][i] &&
                !seen.rows.count({static_cast<int>(n), static_cast<uint32_t>(i)}) &&
                !may_be_deleted(expectation, n, expectation.prims[i]) &&
                !is_merged(expectation, attribute, expectation.prims[i]))
                fail("'", names[expectation.names[n]].text, "' of position ", i, " is missing");
        }
    }
}

void Runner::fetch_all(Read &read)
{
    const Expectation &expectation = read.expectation;
    Seen seen;
    std::vector<Held> groups;
    let_go(read.on_device);
    for (;;) {
        ovstage_read_group_t group;
        ovstage_api_status_t status = ovstage_fetch_read_next(client_.instance, read.handle,
                                                              OVSTAGE_TIMEOUT_INFINITE, &group);
        if (status == OVSTAGE_ERROR_END_OF_ITERATION)
            break;
        if (expectation.must_fail &&
            (status == OVSTAGE_ERROR_OP_FAILED || status == refused_filter))
            return;
        if (status != OVSTAGE_OK) {
            if (!groups.empty())
                fail("fetch_read_next after a group: ", status, " ", last_error());
            fetch_failed(expectation, status);
            return;
        }
        groups.emplace_back();
        groups.back().group = group;
        groups.back().placing = read.placing;
        groups.back().keeps = read.hold;
        check_group(expectation, groups.back(), seen);
    }
    if (expectation.must_fail)
        fail("a read succeeded whose query's filter failed");
    check_complete(expectation, seen);
    check_computed(expectation, seen);
    if (read.release_first) {
        ovstage_release_read(client_.instance, read.handle);
        read.handle = 0;
    }
    const bool stays = devices_ && devices_->has_stalled() && read.placing.is_given;
    for (Held &held : groups) {
        if (!held.taken)
            held.bytes = bytes_of(held.group);
        held_.push_back(held);
        if (!read.hold && !stays)
            check_held(static_cast<uint32_t>(held_.size()) - 1);
    }
}

void Runner::check_row(const Expectation &expectation, size_t n, const std::optional<Value> &wanted,
                       const Schema &schema, uint32_t position, bool is_delete) const
{
    const char *name = names[expectation.names[n]].text;
    if (!wanted)
        fail("'", name, "' of position ", position, " must be absent");
    if (wanted->is_delete != is_delete)
        fail("'", name, "' of position ", position, is_delete ? " is" : " must be", " a tombstone");
    const bool same = is_delete ? wanted->schema.semantic == schema.semantic &&
                                      wanted->schema.is_array == schema.is_array
                                : wanted->schema == schema;
    if (!same)
        fail("'", name, "' of position ", position, " has schema ", schema.text(), ", must be ",
             wanted->schema.text());
}

void Runner::check_bytes(const char *name, uint32_t position, const Value &wanted,
                         const uint8_t *data, size_t size)
{
    if (wanted.bytes != Bytes(data, data + size))
        fail("'", name, "' of position ", position, " is ", hex(data, size), ", must be ",
             hex(wanted.bytes.data(), wanted.bytes.size()), " of ordinal ", wanted.ordinal);
}

void Runner::check_meta(const Expectation &expectation, size_t n, const ovstage_read_group_t &group)
{
    const int attribute = names[expectation.names[n]].attribute;
    const char *name = names[expectation.names[n]].text;
    auto [least, most] = expectation.floors[n];
    const Ordinal floor = group.meta.attribute_write_floor_ordinal;
    if (!expectation.settled)
        most = model_.floor(attribute);
    if (floor < least || floor > most)
        fail("group says floor ", floor, ", must be ", least, "..", most);
    const uint64_t generation = group.meta.layout_generation;
    if (expectation.generations[n] && *expectation.generations[n] != generation)
        fail("layout_generation of '", name, "' went from ", *expectation.generations[n], " to ",
             generation, " though no key came or went");
    if (expectation.above[n] && *expectation.above[n] >= generation)
        fail("layout_generation of '", name, "' went from ", *expectation.above[n], " to ",
             generation, " though keys came or went");
    if (expectation.settled && expectation.fetched_at_once &&
        expectation.ordinal >= model_.floor(attribute))
        layouts_[attribute] = {model_.topology(attribute), generation};
}

void Runner::check_group(const Expectation &expectation, Held &held, Seen &seen)
{
    const ovstage_read_group_t &group = held.group;
    size_t n = 0;
    while (n < expectation.names.size() &&
           client_.tokens[static_cast<size_t>(expectation.names[n])] != group.attribute)
        n++;
    if (n == expectation.names.size())
        fail("a group of attribute ", group.attribute, ", which was not asked for");
    if (is_computed(expectation.names[n])) {
        check_computed_group(expectation, n, group, seen);
        return;
    }
    check_meta(expectation, n, group);
    const int attribute = names[expectation.names[n]].attribute;
    Schema schema, of_rows;
    Ordinal newest = 0;
    if (lies_on_device(group))
        take(held);
    for (const Row &row :
         client_.rows_of(group, client_.paths_of(expectation.prims), schema, held.placing)) {
        if (!seen.rows.insert({static_cast<int>(n), row.position}).second)
            fail("position ", row.position, " comes twice");
        // Above the accepted floor it shows what was sealed when it was judged: what the group
        // says.
        auto wanted = expectation.open[n] ? model_.shown(attribute, expectation.prims[row.position],
                                                         expectation.start, expectation.ordinal,
                                                         group.meta.attribute_write_floor_ordinal)
                                          : expectation.rows[n][row.position];
        check_row(expectation, n, wanted, schema, row.position, group.is_delete);
        if (held.taken)
            held.rows.push_back({row.position, *wanted, row.size});
        else if (!group.is_delete)
            check_bytes(names[expectation.names[n]].text, row.position, *wanted, row.data,
                        row.size);
        newest = std::max(newest, wanted->ordinal);
        of_rows = wanted->schema;
    }
    if (!seen.partition.insert({static_cast<int>(n), group.is_delete, of_rows}).second)
        fail("two groups of one schema");
    if (expectation.start && group.ordinal != expectation.ordinal)
        fail("a group of a range to ", expectation.ordinal, " says ordinal ", group.ordinal);
    if (!expectation.start && group.ordinal != newest)
        fail("group of '", names[expectation.names[n]].text, "' says ordinal ", group.ordinal,
             ", its newest row is of ", newest);
}

void Runner::check_held(uint32_t pick)
{
    if (held_.empty())
        return;
    size_t index = pick % held_.size();
    Held held = held_[index];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
    if (held.taken)
        look_at_again(held);
    else if (bytes_of(held.group) != held.bytes)
        fail("a held group changed");
    ovstage_api_status_t status = ovstage_release_group(client_.instance, &held.group);
    if (status != OVSTAGE_OK)
        fail("release_group: ", status, " ", last_error());
    if (ovstage_release_group(client_.instance, &held.group) != OVSTAGE_ERROR_INVALID_HANDLE)
        fail("a group was released twice");
}

} // namespace model
