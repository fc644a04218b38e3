#include <algorithm>

#include "tests/model/concurrent_parts.h"

namespace model
{

namespace
{

std::optional<Ordinal> start_of(const Step &step)
{
    return step.is_range ? std::optional<Ordinal>(step.start) : std::nullopt;
}

} // namespace

// What one position shows: the sealed value. Above the accepted floor that depends on what has run,
// which the group's floor tells.
void Judge::row(const Event &event, int n, uint32_t position, int prim, bool settled)
{
    const Step &step = *event.step;
    const int attribute = names[step.names[static_cast<size_t>(n)]].attribute;
    const auto seen = event.rows.find({n, position});
    if (attribute == world_attribute) {
        const bool is_there = seen != event.rows.end();
        if (settled || is_there)
            derived_rows_.push_back({&event, prim, settled ? event.ordinal : seen->second.floor,
                                     is_there ? &seen->second : nullptr});
        return;
    }
    if (settled) {
        const auto wanted =
            model_.shown(attribute, prim, start_of(step), event.ordinal, model_.floor(attribute));
        const bool is_there = seen != event.rows.end();
        // More may be merged by seals that are accepted later, before it runs.
        if (wanted && !is_there && step.is_range) {
            merged_.push_back({&event, attribute, prim, nullptr});
            return;
        }
        if (wanted.has_value() != is_there)
            fail("'", names[step.names[static_cast<size_t>(n)]].text, "' of position ", position,
                 wanted ? " is missing: " : " must be absent: ", step.text());
        if (wanted && !seen->second.is(wanted))
            fail("'", names[step.names[static_cast<size_t>(n)]].text, "' of position ", position,
                 " differs, must be of ordinal ", wanted->ordinal, ": ", step.text());
        return;
    }
    if (seen != event.rows.end())
        unsettled_.push_back({&event, attribute, prim, &seen->second});
}

// What is at or below an executed floor is final: with the floor that a group says, it is known
// what it must show.
void Judge::check_unsettled() const
{
    for (const Unsettled &one : unsettled_) {
        const SeenRow &seen = *one.seen;
        const auto value = model_.shown(one.attribute, one.prim, start_of(*one.event->step),
                                        one.event->ordinal, seen.floor);
        if (!seen.is(value))
            fail("prim ", one.prim, " shows what was not sealed at floor ", seen.floor, ": ",
                 one.event->step->text());
    }
    // Below what is known exactly a key counts at its newest change only (L6).
    const Ordinal merged = model_.merged_at_most();
    for (const Unsettled &one : merged_) {
        if (one.event->step->start >= merged ||
            !model_.may_be_merged(one.attribute, one.prim, one.event->ordinal, merged))
            fail("prim ", one.prim, " is missing: ", one.event->step->text());
    }
}

bool Judge::is_changed(const Event &event, int attribute)
{
    const std::vector<int> prims = prims_of(event);
    return std::any_of(prims.begin(), prims.end(), [&](int prim) {
        const Ordinal start = start_of(*event.step).value_or(0);
        return !model_.changes(attribute, prim, start ? start - 1 : 0, event.ordinal, true).empty();
    });
}

// A snapshot keeps what was kept when it was opened; only the byte limit may take it.
bool Judge::may_be_gone(const Event &event)
{
    const Settings &settings = program_.settings;
    const std::vector<int> prims = prims_of(event);
    const std::vector<int> &asked = event.step->names;
    return std::any_of(asked.begin(), asked.end(), [&](int name) {
        const int attribute = names[name].attribute;
        const bool held = event.opened && settings.history_bytes;
        return !model_.kept_for_sure(attribute, prims, start_of(*event.step), event.ordinal,
                                     settings.history_bytes ? settings.history_versions : 0,
                                     held ? event.opened->floors[static_cast<size_t>(attribute)]
                                          : model_.floor(attribute));
    });
}

void Judge::read(const Event &event)
{
    const Step &step = *event.step;
    const std::vector<int> prims = prims_of(event);
    if (lacks_a_query(event)) {
        if (event.status != OVSTAGE_ERROR_OP_FAILED && event.status != refused_filter)
            fail("must fail: ", step.text());
        return;
    }
    FailedRead failed{&event, may_be_gone(event), {}};
    for (size_t n = 0; n < step.names.size(); n++) {
        const int attribute = names[step.names[n]].attribute;
        const bool settled = event.ordinal <= model_.floor(attribute);
        if (!settled)
            failed.open.push_back(attribute);
        for (uint32_t position = 0;
             event.status == OVSTAGE_OK && position < prims.size() && !is_computed(step.names[n]);
             position++)
            row(event, static_cast<int>(n), position, prims[position], settled);
    }
    open_computed(event);
    if (event.status != OVSTAGE_OK)
        failed_reads_.push_back(failed);
}

// A read fails for what is gone, or for an unsealed change that has run by then: also for one that
// was accepted later.
void Judge::check_failed_reads()
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

} // namespace model
