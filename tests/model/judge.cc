#include <algorithm>

#include "tests/model/concurrent_parts.h"

namespace model
{

std::vector<int> Judge::prims_of(const Event &event)
{
    std::vector<int> prims;
    for (ovx_primpath_t path : event.finder ? event.finder->paths : event.paths)
        prims.push_back(client_.prim_of(path));
    return prims;
}

void Judge::must_fail(const Event &event, const Verdict &verdict) const
{
    if (verdict.by_enqueue)
        fail("accepted at or below the accepted floor: ", event.step->text());
    if (event.failed != (lacks_a_query(event) || verdict.status != OVSTAGE_OK))
        fail(event.failed ? "failed: " : "must fail: ", event.step->text());
}

// --- what changes keys ---

void Judge::write(const Event &event)
{
    const Step &step = *event.step;
    const std::vector<int> prims = prims_of(event);
    const std::vector<Entry> entries = entries_of(step, prims, event.by_filter);
    const bool is_refused = !lacks_a_query(event) && !refusals(step, prims).empty();
    if (!refusals_without_prims(step).empty() || (is_refused && !event.finder))
        fail("accepted: ", step.text());
    Verdict verdict = model_.judge(entries, step.ordinal, step.mode);
    if (is_refused) {
        verdict.status = OVSTAGE_ERROR_INVALID_ARGUMENT;
        verdict.authored = 0;
    }
    // Of no positions nothing is looked at, not even whether the query is there.
    if (!lacks_a_query(event) || !step.by_rows || !step.positions.empty())
        must_fail(event, verdict);
    else if (event.failed)
        fail("failed: ", step.text());
    model_.accept(verdict, entries, step.ordinal);
    touch(prims, event.finder);
}

void Judge::remove(const Event &event)
{
    const Step &step = *event.step;
    const std::vector<int> prims = prims_of(event);
    const std::set<int> attributes = attributes_of(step);
    const Verdict verdict = model_.judge_delete(attributes, prims, step.ordinal);
    must_fail(event, verdict);
    model_.accept_delete(verdict, attributes, prims, step.ordinal);
    touch(prims, event.finder);
}

void Judge::map(const Event &event)
{
    const Step &step = *event.step;
    const std::vector<int> prims = prims_of(event);
    Entry entry = entry_of_map(step, prims);
    if (is_unfit(step, prims))
        fail("accepted: ", step.text());
    Verdict verdict = model_.judge_map(entry, prims, step.finds_schema, step.ordinal, step.mode);
    if (verdict.status == OVSTAGE_OK && has_other_sizes(step, prims.size()))
        verdict.status = OVSTAGE_ERROR_INVALID_ARGUMENT;
    must_fail(event, verdict);
    if (event.is_filled && !entry.schema.same_storage(event.schema))
        fail("a map has schema ", event.schema.text(), ", must be ", entry.schema.text());
    model_.know(entry.attribute);
    maps_[&event] = entry;
}

void Judge::commit(const Event &event)
{
    const Event &opened = *event.opened;
    if (event.filled.empty()) { // its end, without anything to commit
        if (event.failed != opened.failed)
            fail(event.failed ? "failed: " : "must fail: ", event.step->text());
        return;
    }
    Entry entry = maps_.at(&opened);
    const std::vector<int> prims = prims_of(event);
    for (size_t p = 0; p < prims.size(); p++)
        entry.rows[prims[p]] = event.filled[p]; // D6: of a prim the last one
    const Verdict verdict = model_.judge({entry}, event.ordinal, opened.step->mode);
    must_fail(event, verdict);
    model_.accept(verdict, {entry}, event.ordinal);
    touch(prims);
}

void Judge::clone(const Event &event)
{
    const Copies copies = client_.copies_of(*event.step, model_);
    const Verdict verdict =
        model_.judge_clone(copies.source, copies.subtree, copies.prims, event.ordinal);
    must_fail(event, verdict);
    model_.accept_clone(verdict, copies.subtree, copies.prims, event.ordinal,
                        [&](const Value &value, size_t copy) {
                            return client_.redirected(value, copies.root, copies.targets[copy]);
                        });
    for (const std::vector<int> &prims : copies.prims)
        touch(prims);
}

void Judge::task(const Event &event) const
{
    const Step &step = *event.step;
    if (step.ordered && step.ordinal <= model_.base())
        fail("accepted at or below the accepted floor: ", step.text());
    const bool failed_before = std::any_of(event.deps.begin(), event.deps.end(),
                                           [](const Event *dep) { return dep->failed; });
    if (event.failed != (failed_before || step.work == Work::fails))
        fail(event.failed ? "failed: " : "must fail: ", step.text());
    const int runs = tasks_.runs_of(*event.op->task);
    if (runs >= 0 && runs != (failed_before ? 0 : 1))
        fail("ran ", runs, " times: ", step.text());
}

// --- filters ---

// finder: ran before, so it has seen nothing of it.
void Judge::touch(const std::vector<int> &prims, const Event *finder)
{
    for (std::vector<OpenFilter> *open : {&filters_, &computed_reads_}) {
        for (OpenFilter &filter : *open) {
            if (filter.event != finder)
                filter.touched.insert(prims.begin(), prims.end());
        }
    }
    for (int prim : prims)
        touched_at_[prim] = now_;
}

void Judge::filter(const Event &event)
{
    if (event.failed) {
        // Columns that others made since may be what it failed for.
        if (event.step->predicates.empty())
            fail("failed: ", event.step->text());
        return;
    }
    if (event.until == 0)
        return;
    const std::vector<int> wanted = client_.matching(*event.step, model_);
    filters_.push_back({&event, {wanted.begin(), wanted.end()}, {}});
}

// What was accepted before its op was complete may have been seen, or not (D23).
void Judge::close_all(ovstage_op_id_t id)
{
    for (size_t k = lookups_.size(); k-- > 0;) {
        if (lookups_[k].event->until == 0 || lookups_[k].event->until > id)
            continue;
        check_lookup(lookups_[k]);
        lookups_.erase(lookups_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    for (size_t k = computed_reads_.size(); k-- > 0;) {
        if (computed_reads_[k].event->until > id)
            continue;
        check_computed(computed_reads_[k]);
        computed_reads_.erase(computed_reads_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    for (size_t k = filters_.size(); k-- > 0;) {
        if (filters_[k].event->until > id)
            continue;
        check_filter(filters_[k]);
        filters_.erase(filters_.begin() + static_cast<std::ptrdiff_t>(k));
    }
}

void Judge::check_filter(const OpenFilter &filter)
{
    const Step &step = *filter.event->step;
    const std::vector<int> prims = prims_of(*filter.event);
    const std::set<int> found(prims.begin(), prims.end());
    if (found.size() != prims.size())
        fail("found twice: ", step.text());
    // A relation needs another prim to exist.
    const bool is_related = step.pick % 6 == 3 || step.pick % 6 == 4;
    const bool other_touched = filter.touched.count(client_.find_prim(client_.named_by(step))) != 0;
    for (int prim = 0; prim < static_cast<int>(client_.paths.size()); prim++) {
        if (filter.touched.count(prim) != 0 || (is_related && other_touched) ||
            is_unsure(filter, prim))
            continue;
        if (filter.wanted.count(prim) != found.count(prim))
            fail("prim ", client_.path_texts[static_cast<size_t>(prim)],
                 found.count(prim) ? " is found: " : " must be found: ", step.text());
    }
}

// --- all of it ---

void Judge::replay(std::vector<Event *> events)
{
    std::sort(events.begin(), events.end(),
              [](const Event *a, const Event *b) { return a->id < b->id; });
    std::ostringstream order;
    try {
        for (Event *event : events) {
            order << "  op " << (event->id & 0xffffff) << (event->failed ? " failed: " : ": ")
                  << event->step->text();
            if (event->step->query < 0) {
                order << ": prims";
                for (int prim : prims_of(*event))
                    order << " " << client_.path_texts[static_cast<size_t>(prim)];
            }
            order << "\n";
            close_all(event->id);
            replay_one(*event);
            follow_lookups();
        }
        close_all(UINT64_MAX);
        check_unsettled();
        check_derived_rows();
        check_failed_reads();
        if (!tasks_.fault().empty())
            fail(tasks_.fault());
    } catch (Failure &failure) {
        throw Failure{failure.text + "\naccepted in this order:\n" + order.str()};
    }
}

void Judge::replay_one(Event &event)
{
    const Step &step = *event.step;
    now_ = event.id;
    if (is_unsupported(step))
        fail("accepted: ", step.text());
    switch (step.what) {
    case Do::write:
        write(event);
        break;
    case Do::remove:
        remove(event);
        break;
    case Do::map:
        map(event);
        break;
    case Do::commit:
    case Do::unmap:
        commit(event);
        break;
    case Do::clone:
        clone(event);
        break;
    case Do::discard:
        if (!model_.may_discard(step.ordinal))
            fail("accepted at or below an accepted floor: ", step.text());
        model_.accept_discard(step.ordinal);
        for (int prim = 0; prim < static_cast<int>(client_.paths.size()); prim++)
            touch({prim});
        break;
    case Do::task:
        task(event);
        break;
    case Do::filter:
        filter(event);
        break;
    case Do::lookup:
        lookup(event);
        break;
    case Do::compute:
        compute(event);
        break;
    case Do::advance:
        model_.advance(step.ordinal, step.scope, attributes_of(step));
        break;
    case Do::open_snapshot:
        for (int a = 0; a < attribute_count; a++)
            event.floors.push_back(model_.floor(a));
        // An attribute that others have named since may have brought the global floor down.
        if (event.ordinal > *std::max_element(event.floors.begin(), event.floors.end()))
            fail("a snapshot of ordinal ", event.ordinal, " is above all floors");
        break;
    default:
        read(event);
        break;
    }
}

void Judge::allow_write(const Event &event, std::set<ovstage_api_status_t> &allowed)
{
    const Step &step = *event.step;
    const std::vector<int> prims = prims_of(event);
    allowed = refusals(step, prims);
    for (const EntryStep &entry : step.entries) {
        if (step.ordinal <= model_.floor(names[entry.name].attribute))
            allowed.insert(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    }
    for (const Entry &entry : entries_of(step, prims, event.by_filter)) {
        if (model_.ever_conflicts(entry, step.ordinal))
            allowed.insert(OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
    if (step.mode == FLYRAIL_WRITE_INSERT && model_.ever_existed(prims, step.ordinal))
        allowed.insert(OVSTAGE_ERROR_PRIM_NOT_FOUND);
    // It may have been so before anything was written.
    if (step.mode == FLYRAIL_WRITE_PRIMS_EXIST)
        allowed.insert(OVSTAGE_ERROR_PRIM_NOT_FOUND);
    if (step.mode == FLYRAIL_WRITE_KEYS_EXIST)
        allowed.insert(OVSTAGE_ERROR_NOT_FOUND);
}

void Judge::allow_map(const Event &event, std::set<ovstage_api_status_t> &allowed)
{
    const Step &step = *event.step;
    const std::vector<int> prims = prims_of(event);
    const Entry entry = entry_of_map(step, prims);
    if (step.ordinal <= model_.floor(entry.attribute))
        allowed.insert(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    if (step.finds_schema || is_unfit(step, prims) || model_.ever_conflicts(entry, step.ordinal) ||
        has_other_sizes(step, prims.size()))
        allowed.insert(OVSTAGE_ERROR_INVALID_ARGUMENT);
    if (step.mode == FLYRAIL_WRITE_INSERT && model_.ever_existed(prims, step.ordinal))
        allowed.insert(OVSTAGE_ERROR_PRIM_NOT_FOUND);
}

void Judge::check_refused(const Event &event)
{
    const Step &step = *event.step;
    std::set<ovstage_api_status_t> allowed;
    if (is_unsupported(step))
        allowed.insert(OVSTAGE_ERROR_NOT_SUPPORTED);
    if (step.what == Do::write) {
        allow_write(event, allowed);
    } else if (step.what == Do::map) {
        allow_map(event, allowed);
    } else if (step.what == Do::commit || step.what == Do::unmap) {
        const EntryStep &entry = event.opened->step->entries[0];
        if (!event.filled.empty() && event.ordinal <= model_.floor(names[entry.name].attribute))
            allowed.insert(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    } else if (step.what == Do::remove) {
        const std::set<int> attributes = attributes_of(step);
        if (attributes.empty() ? step.ordinal <= model_.base()
                               : std::any_of(attributes.begin(), attributes.end(), [&](int a) {
                                     return step.ordinal <= model_.floor(a);
                                 }))
            allowed.insert(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    } else if (step.what == Do::discard
                   ? !model_.may_discard(step.ordinal)
                   : step.what == Do::task && step.ordered && step.ordinal <= model_.base()) {
        allowed.insert(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    } else if (step.what == Do::compute) {
        if (has_no_model(step))
            allowed.insert(OVSTAGE_ERROR_INVALID_ARGUMENT);
    } else if (step.what == Do::read || step.what == Do::read_snapshot) {
        for (int name : step.names) {
            if (is_changed(event, names[name].attribute))
                allowed.insert(OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
        }
        if (may_be_gone(event))
            allowed.insert(OVSTAGE_ERROR_OUT_OF_RANGE);
    }
    // Without workers too: other clients may be running all that could make room.
    if (program_.settings.op_limit != 0 && step.what != Do::advance && step.what != Do::commit &&
        step.what != Do::unmap)
        allowed.insert(OVSTAGE_ERROR_QUEUE_FULL);
    if (!allowed.count(event.status) || event.text.empty())
        fail("refused with ", event.status, " (", event.text, "): ", step.text());
}

} // namespace model
