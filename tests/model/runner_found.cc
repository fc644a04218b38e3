// Queries of filters that may be under way (L7): whoever uses one depends on its filter. What the
// filter finds is known when it is accepted, as long as nothing that is accepted later and does not
// depend on it can make a difference (D23).
#include <algorithm>

#include "tests/model/runner_parts.h"

namespace model
{

namespace
{

bool is_about(const Step &filter, const std::set<int> &attributes)
{
    return std::any_of(filter.predicates.begin(), filter.predicates.end(),
                       [&](const Predicate &predicate) {
                           return attributes.count(names[predicate.name].attribute) != 0;
                       });
}

} // namespace

Op *Runner::finder_of(const Step &step) const
{
    return step.query < 0 ? finders_[static_cast<size_t>(-1 - step.query)] : nullptr;
}

Finder Runner::known_of(const Step &step) const
{
    const Op *finder = finder_of(step);
    return !finder          ? Finder::ready
           : finder->fails  ? Finder::failed
           : finder->waited ? Finder::ready
                            : Finder::pending;
}

// An op fails whose input handle's producer failed (D17).
void Runner::inherit(Op &op, const Op &producer)
{
    op.fails = op.fails_by_input = true;
    op.may_fail = false;
    op.causes = producer.causes;
    op.causes.insert(producer.number);
    op.roots = producer.fails_by_input ? producer.roots : std::set<size_t>{producer.number};
}

// What the slot's query was is let go of, used or not (R55).
void Runner::keep_found(const Step &step, ovstage_query_handle_t query, Op &op,
                        const std::vector<int> &prims)
{
    const auto slot = static_cast<size_t>(-1 - step.query);
    if (ovstage_release_query(client_.instance, client_.found[slot]).status != OVSTAGE_OK)
        fail("release_query: ", last_error());
    client_.found[slot] = query;
    client_.found_prims[slot] = prims;
    finders_[slot] = &op;
}

// A write makes none of what is looked at if it is about something else, of prims that were there
// when the filter was accepted: those that are there and not by what used its query.
bool Runner::may_make(const Step &write, const Finding &finding) const
{
    std::set<int> attributes;
    for (const EntryStep &entry : write.entries)
        attributes.insert(names[entry.name].attribute);
    const std::vector<int> &prims = client_.prims_of(write);
    return is_about(*finding.step, attributes) ||
           std::any_of(prims.begin(), prims.end(), [&](int prim) {
               return finding.touched.count(prim) != 0 || !model_.exists(prim, UINT64_MAX);
           });
}

// Whether a step that does not depend on a filter may change what it finds.
bool Runner::may_change(const Step &step, const Finding &finding) const
{
    const std::vector<Predicate> &predicates = finding.step->predicates;
    switch (step.what) {
    case Do::write:
        return finder_of(step) != finding.op && may_make(step, finding);
    case Do::remove:
        return finder_of(step) != finding.op;
    case Do::commit:
    case Do::unmap:
        return !sessions_.empty();
    case Do::clone:
    case Do::discard:
        return true;
    case Do::compute:
        return std::any_of(predicates.begin(), predicates.end(),
                           [](const Predicate &predicate) { return predicate.name == world_name; });
    default:
        return false;
    }
}

// Waits for a filter, and looks at what it found as far as its query is still there.
void Runner::find_out(size_t index)
{
    const Finding finding = findings_[index];
    findings_.erase(findings_.begin() + static_cast<std::ptrdiff_t>(index));
    const auto slot = static_cast<size_t>(-1 - finding.step->query);
    if (finders_[slot] == finding.op) {
        let_go(false);
        ovstage_query_result_t found{};
        const ovstage_api_status_t status = ovstage_fetch_query_result(
            client_.instance, client_.found[slot], OVSTAGE_TIMEOUT_INFINITE, &found);
        if (status != (finding.op->fails ? OVSTAGE_ERROR_OP_FAILED : OVSTAGE_OK))
            fail("fetch_query_result: ", status, " ", last_error());
        const size_t wanted = client_.found_prims[slot].size();
        if (status == OVSTAGE_OK && found.total_prim_count != wanted)
            fail("a filter finds ", found.total_prim_count, " prims, must be ", wanted);
        if (status == OVSTAGE_OK &&
            ovstage_release_query_result(client_.instance, &found) != OVSTAGE_OK)
            fail("release_query_result: ", last_error());
    }
    if (finding.op->released) // nobody can wait for it alone
        let_go(false), wait_unseen();
    else
        wait(*finding.op);
}

void Runner::find_out_before(const Step &step)
{
    for (size_t k = findings_.size(); k-- > 0;) {
        if (findings_[k].op->waited)
            findings_.erase(findings_.begin() + static_cast<std::ptrdiff_t>(k));
        else if (may_change(step, findings_[k]))
            find_out(k);
        else if (step.what == Do::write && finder_of(step) == findings_[k].op)
            findings_[k].touched.insert(client_.prims_of(step).begin(),
                                        client_.prims_of(step).end());
    }
}

} // namespace model
