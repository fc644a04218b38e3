#include "tests/model/runner.h"

#include <algorithm>
#include <cstring>

#include <flyrail/flyrail.h>

#include "tests/model/runner_parts.h"

namespace model
{

Runner::Runner(const Program &program, uint32_t workers)
    : program_(program), workers_(workers), model_(attribute_count, recorded_attribute_count),
      finders_(filter_slots), executed_floors_(attribute_count, 0),
      devices_(program.homes.empty() ? nullptr : std::make_unique<Devices>(program.seed)),
      client_(program, workers, devices_.get())
{
}

Runner::~Runner()
{
    tasks_.let_go();
    if (devices_)
        devices_->let_all_run();
}

bool Runner::is_full(ovstage_api_status_t status) const
{
    if (status != OVSTAGE_ERROR_QUEUE_FULL)
        return false;
    // Without workers a submission makes room itself (D25).
    if (program_.settings.op_limit == 0 || workers_ == 0 || quiet_)
        fail("QUEUE_FULL with ", quiet_ ? "nothing pending" : "room");
    return true;
}

// --- writes ---

void Runner::write(const Step &step)
{
    const Finder known = known_of(step);
    if (devices_)
        write_placed(step, known);
    else if (fits_a_query(step))
        write_fitted(fitted(step, client_.prims_of(step).size()), known);
    else
        write_fitted(step, known);
}

void Runner::write_fitted(const Step &step, Finder known)
{
    const std::vector<int> &prims = client_.prims_of(step);
    const std::vector<Entry> entries = entries_of(step, prims, finder_of(step) != nullptr);
    std::set<ovstage_api_status_t> refusable =
        known == Finder::ready ? refusals(step, prims) : refusals_without_prims(step);
    auto op = std::make_unique<Op>();
    Verdict verdict = model_.judge(entries, step.ordinal, step.mode);
    std::string text;
    ovstage_enqueue_result_t result = client_.write(step, client_.query_of(step), *op, text);
    for (auto &[fate, adoptable] : op->fates)
        fates_.push_back(fate);
    if (verdict.by_enqueue)
        refusable.insert(verdict.status);
    // What is known by then comes from the enqueue (R22), the rest when the op runs.
    if (quiet_ && known == Finder::ready && verdict.status != OVSTAGE_OK)
        refusable.insert(verdict.status);
    const bool must_refuse = !refusable.empty();
    if (known == Finder::pending && !refusals(step, prims).empty()) {
        refusable.merge(refusals(step, prims));
        verdict.status = OVSTAGE_ERROR_INVALID_ARGUMENT;
        verdict.authored = 0;
    }
    if (verdict.status != OVSTAGE_OK)
        refusable.insert(verdict.status);
    if (verdict.conflict)
        refusable.insert(verdict.conflicts_with);
    if (verdict.mismatch)
        refusable.insert(OVSTAGE_ERROR_INVALID_ARGUMENT);
    if (result.status != OVSTAGE_OK) {
        if (result.op_index != 0)
            fail("a refused write has op ", result.op_index);
        if (!is_full(result.status) && !refusable.count(result.status))
            fail("write refused with ", result.status, " (", text, ")");
        if (text.empty())
            fail("write refused with ", result.status, " without a text");
        for (auto &[fate, adoptable] : op->fates) {
            if (fate->deleted != 1)
                fail("refused: a managed tensor was deleted ", fate->deleted.load(), " times");
        }
        return;
    }
    if (must_refuse)
        fail("a write was accepted that must be refused with ", *refusable.begin());
    op->fails = verdict.status != OVSTAGE_OK;
    op->on_device = waits_for_device(step);
    // Of no positions nothing is looked at.
    if (known == Finder::failed && !(step.by_rows && step.positions.empty()))
        inherit(*op, *finder_of(step));
    op->id = result.op_index;
    op->number = ops_.size();
    by_id_[op->id] = op.get();
    ops_.push_back(std::move(op));
    quiet_ = false;
    if (devices_)
        placed(*ops_.back(), step);
    model_.accept(verdict, entries, step.ordinal, ops_.back()->number);
}

void Runner::remove(const Step &step)
{
    const std::vector<int> &prims = client_.prims_of(step);
    const std::set<int> attributes = attributes_of(step);
    Verdict verdict = model_.judge_delete(attributes, prims, step.ordinal);
    const ovstage_enqueue_result_t result = client_.remove(step, client_.query_of(step));
    if (is_full(result.status))
        return;
    if (is_unsupported(step)) {
        check_unsupported(result, verdict.by_enqueue);
        return;
    }
    if (verdict.by_enqueue) {
        if (result.status != verdict.status || result.op_index != 0 || last_error().empty())
            fail("a delete at or below the floor: ", result.status, " (", last_error(), ")");
        return;
    }
    Op &op = accepted(result, verdict.status != OVSTAGE_OK);
    if (known_of(step) == Finder::failed)
        inherit(op, *finder_of(step));
    op.is_delete = true;
    model_.accept_delete(verdict, attributes, prims, step.ordinal, op.number);
}

// --- floors ---

Op &Runner::accepted(ovstage_enqueue_result_t result, bool fails)
{
    if (result.status != OVSTAGE_OK || result.op_index == 0)
        fail("refused with ", result.status, " op ", result.op_index, " (", last_error(), ")");
    auto op = std::make_unique<Op>();
    op->id = result.op_index;
    op->fails = fails;
    op->number = ops_.size();
    by_id_[op->id] = op.get();
    ops_.push_back(std::move(op));
    quiet_ = false;
    return *ops_.back();
}

void Runner::advance(const Step &step)
{
    const std::set<int> attributes = attributes_of(step);
    Op &op = accepted(client_.advance(step), false);
    model_.advance(step.ordinal, step.scope, attributes);
    const bool all = step.scope == OVSTAGE_SCOPE_ALL || attributes.empty();
    for (int a = 0; a < attribute_count; a++) {
        bool named = attributes.count(a) != 0;
        if (all || (step.scope == OVSTAGE_SCOPE_INCLUDE ? named : !named && model_.known(a)))
            op.seals.emplace_back(a, step.ordinal);
    }
}

void Runner::floor(const Step &step)
{
    ovx_string_or_token_t name{};
    if (!step.names.empty())
        name.token = client_.tokens[static_cast<size_t>(step.names[0])];
    ovstage_ordinal_query_handle_t handle = 0;
    ovstage_enqueue_result_t result =
        ovstage_get_attribute_write_floor(client_.instance, name, &handle);
    if (result.status != OVSTAGE_OK)
        fail("get_attribute_write_floor: ", result.status, " ", last_error());
    ovstage_ordinal_t got = 0;
    ovstage_api_status_t status =
        ovstage_fetch_ordinal(client_.instance, handle, OVSTAGE_TIMEOUT_INFINITE, &got);
    if (status != OVSTAGE_OK)
        fail("fetch_ordinal: ", status, " ", last_error());
    const int attribute = step.names.empty() ? -1 : names[step.names[0]].attribute;
    const Ordinal accepted_floor = attribute < 0 ? model_.global_floor() : model_.floor(attribute);
    if (quiet_ ? got != accepted_floor : got > accepted_floor)
        fail("floor is ", got, ", must be ", accepted_floor);
    Ordinal least = UINT64_MAX; // that it was seen at
    for (int a = 0; a < attribute_count; a++) {
        if (attribute < 0 || attribute == a)
            least = std::min(least, executed_floors_[static_cast<size_t>(a)]);
    }
    if (got < least)
        fail("floor ", got, " fell below ", least);
    if (attribute >= 0)
        executed_floors_[static_cast<size_t>(attribute)] = got;
    if (ovstage_release_ordinal_query(client_.instance, handle).status != OVSTAGE_OK)
        fail("release_ordinal_query: ", last_error());
}

// --- tasks ---

void Runner::task(const Step &step)
{
    std::vector<ovstage_op_id_t> deps;
    bool fails_by_input = false, may_fail = false, released = false;
    std::set<size_t> roots, causes;
    for (uint32_t dep : step.deps) {
        if (ops_.empty())
            break;
        const Op &op = *ops_[dep % ops_.size()];
        deps.push_back(op.id);
        if (op.fails)
            causes.insert(op.number);
        causes.insert(op.causes.begin(), op.causes.end());
        if (op.fails_by_input)
            roots.insert(op.roots.begin(), op.roots.end());
        else if (op.fails)
            roots.insert(op.number);
        fails_by_input |= op.fails && !op.may_fail;
        may_fail |= op.may_fail;
        released |= op.released;
    }
    const bool sealed = step.ordered && step.ordinal <= model_.base();
    size_t number = 0;
    ovstage_enqueue_result_t result = tasks_.submit(client_.instance, step, deps, &number);
    if (result.status != OVSTAGE_OK) {
        bool allowed = is_full(result.status) ||
                       (sealed && result.status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION) ||
                       (released && result.status == OVSTAGE_ERROR_INVALID_HANDLE);
        if (!allowed || result.op_index != 0)
            fail("task refused with ", result.status, " (", last_error(), ")");
        return;
    }
    if (sealed || released)
        fail(sealed ? "a task was accepted at or below the floor"
                    : "a task was accepted that depends on a released op");
    Op &op = accepted(result, fails_by_input || step.work == Work::fails);
    op.fails_by_input = fails_by_input;
    op.roots = roots;
    op.causes = causes;
    op.inputs_may_fail = may_fail && !fails_by_input;
    op.may_fail = may_fail && !op.fails;
    op.task = number;
}

void Runner::new_query(size_t index)
{
    if (ovstage_release_query(client_.instance, client_.queries[index]).status != OVSTAGE_OK)
        fail("release_query: ", last_error());
    client_.make_query(index);
}

void Runner::step(const Step &step)
{
    find_out_before(step);
    if (devices_)
        count_stalled(step);
    switch (step.what) {
    case Do::write:
        write(step);
        break;
    case Do::remove:
        remove(step);
        break;
    case Do::map:
        map(step);
        break;
    case Do::fill:
    case Do::commit:
    case Do::unmap:
        session(step);
        break;
    case Do::clone:
    case Do::filter:
    case Do::lookup:
    case Do::compute:
        structure(step);
        break;
    case Do::discard:
        discard(step);
        break;
    case Do::advance:
        advance(step);
        break;
    case Do::read:
        read(step);
        break;
    case Do::open_snapshot:
    case Do::read_snapshot:
    case Do::close_snapshot:
    case Do::oldest:
        moment(step);
        break;
    case Do::task:
        task(step);
        break;
    case Do::wait:
    case Do::poll:
    case Do::release:
    case Do::wait_all:
    case Do::wait_floor:
        wait_step(step);
        break;
    case Do::check:
        check_held(step.pick);
        break;
    case Do::fetch:
        fetch(step.pick);
        break;
    case Do::floor:
        floor(step);
        break;
    case Do::new_query:
        new_query(static_cast<size_t>(step.query));
        break;
    case Do::stall:
    case Do::let_run:
        stall(step);
        break;
    }
}

// A client's own way to end: most release everything, some leave groups, some leave work.
void Runner::close()
{
    uint64_t kind = program_.seed % 8;
    if (kind != 0)
        wait_all(static_cast<uint32_t>(program_.seed));
    let_go(true);
    if (kind > 1) {
        for (Read &read : reads_)
            finish(read);
        Step end;
        end.what = Do::unmap;
        while (!sessions_.empty())
            session(end);
        while (!held_.empty())
            check_held(static_cast<uint32_t>(program_.seed));
    }
    reads_.clear();
    for (Held &held : held_)
        look_at(held);
    if (devices_)
        devices_->finish();
    ovstage_api_status_t status = client_.destroy();
    if (status != OVSTAGE_OK)
        fail("destroy_instance: ", status, " ", last_error());
    if (!tasks_.fault().empty())
        fail(tasks_.fault());
    for (auto &fate : fates_) {
        if (fate->deleted != 1)
            fail("a managed tensor was deleted ", fate->deleted.load(), " times in all");
    }
    const std::string faults = devices_ ? devices_->faults() : std::string();
    if (!faults.empty())
        fail(faults);
}

// In no other way their number falls.
void Runner::look_at_segments()
{
    flyrail_statistics_t statistics{};
    statistics.struct_size = sizeof(statistics);
    if (flyrail_get_statistics(client_.instance, &statistics) != OVSTAGE_OK)
        fail("get_statistics: ", last_error());
    moves_ += statistics.segments < segments_;
    segments_ = statistics.segments;
}

void Runner::run()
{
    size_t number = 0;
    try {
        for (; number < program_.steps.size(); number++) {
            step(client_.program.steps[number]);
            look_at_segments();
        }
        close();
    } catch (Failure &failure) {
        std::ostringstream out;
        if (number < program_.steps.size())
            out << "step " << number << " (" << program_.steps[number].text() << "): ";
        else
            out << "at the end: ";
        out << failure.text;
        if (devices_ && number < program_.steps.size())
            out << Devices::reports();
        throw Failure{out.str()};
    }
}

std::optional<std::string> run(const Program &program, uint32_t workers, Done *done)
{
    try {
        Runner runner(program, workers);
        runner.run();
        if (done) {
            done->ops += runner.accepted_ops();
            done->moves += runner.moves();
        }
    } catch (Failure &failure) {
        return failure.text;
    }
    return std::nullopt;
}

} // namespace model
