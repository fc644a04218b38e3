#include <algorithm>
#include <cstring>
#include <sstream>

#include "tests/model/concurrent_parts.h"

namespace model
{

// --- lookups ---

// It sees the seals that were accepted before it, and those since that had run by then.
void Judge::lookup(const Event &event)
{
    if (event.failed)
        fail("failed: ", event.step->text());
    std::set<int> there;
    for (int prim = 0; prim < static_cast<int>(client_.paths.size()); prim++) {
        if (model_.exists_sealed(prim))
            there.insert(prim);
    }
    lookups_.push_back({&event, there, there});
}

void Judge::follow_lookups()
{
    for (OpenLookup &lookup : lookups_) {
        for (int prim = 0; prim < static_cast<int>(client_.paths.size()); prim++) {
            if (model_.exists_sealed(prim))
                lookup.ever.insert(prim);
            else
                lookup.always.erase(prim);
        }
    }
}

void Judge::check_lookup(const OpenLookup &lookup) const
{
    const Event &event = *lookup.event;
    for (size_t i = 0; i < event.related.size(); i++) {
        const Related &item = event.related[i];
        const std::string text = *client_.text_of_path(event.paths[i]);
        const int prim = client_.find_prim(text);
        const bool found = item.status == OVSTAGE_OK;
        if ((!found && item.status != OVSTAGE_ERROR_NOT_FOUND) ||
            (found ? lookup.ever.count(prim) == 0 : lookup.always.count(prim) != 0))
            fail(text, " has status ", item.status, ": ", event.step->text());
        std::set<std::string> related, got(item.paths.begin(), item.paths.end());
        for (int other : found ? client_.related(*event.step, prim) : std::vector<int>()) {
            const std::string &path = client_.path_texts[static_cast<size_t>(other)];
            related.insert(path);
            if (lookup.always.count(other) != 0 && got.count(path) == 0)
                fail(path, " is missing of ", text, ": ", event.step->text());
        }
        for (const std::string &path : item.paths) {
            if (related.count(path) == 0 || lookup.ever.count(client_.find_prim(path)) == 0)
                fail(path, " is no relation of ", text, ": ", event.step->text());
        }
        if (got.size() != item.paths.size())
            fail("a relation of ", text, " comes twice: ", event.step->text());
    }
}

// --- world transforms ---

void Judge::compute(const Event &event)
{
    const Settings &settings = program_.settings;
    const Computed computed = model::compute(
        model_, [&](int prim) { return client_.chain_of(prim); }, event.input, event.ordinal,
        settings.history_bytes ? settings.history_versions : 0);
    const bool must_fail = needs_a_gpu(*event.step) || computed.must_fail;
    if (has_no_model(*event.step))
        fail("accepted: ", event.step->text());
    if (event.failed ? !must_fail && !computed.may_fail : must_fail)
        fail(event.failed ? "failed: " : "must fail: ", event.step->text());
    if (event.failed)
        return;
    std::vector<int> prims;
    for (const auto &[prim, bytes] : computed.rows)
        prims.push_back(prim);
    touch(prims);
    const bool is_sealed = event.ordinal <= model_.floor(world_attribute);
    if (is_sealed)
        computed_.push_back(&event);
    model_.accept_derived(world_attribute, computed.rows, event.ordinal, 0,
                          is_sealed ? computed_.size() : 0);
}

namespace
{

std::string tell(const std::optional<Value> &world)
{
    if (!world)
        return "nothing";
    std::ostringstream text;
    for (size_t at = 0; at + sizeof(double) <= world->bytes.size(); at += sizeof(double)) {
        double number;
        std::memcpy(&number, world->bytes.data() + at, sizeof(number));
        text << (at ? ", " : "(") << number;
    }
    text << ") of ordinal " << world->ordinal;
    return text.str();
}

} // namespace

// Some computations that were accepted before may not have run yet, some that were accepted since
// may have; they run in that order. Those that somebody saw complete before its call count in any
// case: a read may have looked before it got its place in the order.
void Judge::check_derived_rows() const
{
    for (const DerivedRow &row : derived_rows_) {
        const Event &event = *row.event;
        const auto start =
            event.step->is_range ? std::optional<Ordinal>(event.step->start) : std::nullopt;
        size_t first = computed_.size();
        const auto is_over = [&](const Event *computed) {
            return computed->until != 0 && computed->until <= event.begun;
        };
        while (first > 0 && !is_over(computed_[first - 1]))
            first--;
        const auto after = [&](size_t count) {
            return model_.shown(world_attribute, row.prim, start, event.ordinal, row.floor, count);
        };
        bool is_right = false;
        const Ordinal merged = model_.merged_at_most();
        for (size_t count = first; count <= computed_.size() && !is_right; count++) {
            const auto wanted = after(count);
            const bool may_be_merged =
                start && *start < merged &&
                model_.may_be_merged(world_attribute, row.prim, event.ordinal, merged);
            is_right = row.seen ? row.seen->is(wanted) : !wanted || may_be_merged;
        }
        std::string expected;
        for (size_t count = first; count <= computed_.size() && !is_right; count++)
            expected += "\n  after " + std::to_string(count) + " of " +
                        std::to_string(computed_.size()) + " computations: " + tell(after(count));
        if (!is_right)
            fail("the world transform of prim ", row.prim,
                 row.seen ? " differs: " : " is missing: ", event.step->text(), expected);
    }
}

} // namespace model
