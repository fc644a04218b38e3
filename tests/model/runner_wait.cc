#include <algorithm>

#include <flyrail/flyrail.h>

#include "tests/model/runner_parts.h"

namespace model
{

// Whether the op is among the errors that a wait tells; they are failed ops, each once.
bool Runner::among_errors(const Op &op, const ovstage_op_wait_result_t &out) const
{
    std::set<ovstage_op_id_t> ids;
    for (size_t i = 0; i < out.error_op_id_count; i++) {
        auto found = by_id_.find(out.error_op_ids[i]);
        ovx_string_t text = ovstage_get_last_op_error(client_.instance, out.error_op_ids[i]);
        if (found == by_id_.end() || !(found->second->fails || found->second->may_fail))
            fail("a wait says that op ", out.error_op_ids[i],
                 " failed: ", std::string(text.ptr ? text.ptr : "", text.length));
        if (!ids.insert(out.error_op_ids[i]).second)
            fail("a wait names op ", out.error_op_ids[i], " twice");
    }
    // The root cause is named first (D17), unless the client gave back an id on the way to it.
    bool is_first = false, is_released = false;
    for (size_t cause : op.causes)
        is_released |= ops_[cause]->released;
    for (size_t root : op.roots)
        is_first |= out.error_op_id_count > 0 && out.error_op_ids[0] == ops_[root]->id;
    if (op.fails_by_input && !is_first && !is_released)
        fail("op ", op.id, " failed by its input, op ", ops_[*op.roots.begin()]->id,
             ", which is not named first of ", out.error_op_id_count, ": ",
             out.error_op_id_count > 0 ? out.error_op_ids[0] : 0);
    return ids.count(op.id) != 0;
}

// The op is complete: nobody may look at its payloads any more.
void Runner::let_go_of_payloads(Op &op)
{
    op.waited = true;
    for (auto &payload : op.payloads)
        payload->scribble_rows(op.placing);
    note_later_stalls(); // of those that come behind this in a client's stream
    for (auto &[fate, adoptable] : op.fates) {
        if (fate->deleted > 1 || (!adoptable && fate->deleted != 1))
            fail("op ", op.id, " is complete and a managed tensor was deleted ",
                 fate->deleted.load(), " times");
    }
}

void Runner::completed(Op &op, const ovstage_op_wait_result_t &out)
{
    const bool failed = among_errors(op, out);
    ovx_string_t text = ovstage_get_last_op_error(client_.instance, op.id);
    op.text = std::string(text.ptr ? text.ptr : "", text.length);
    if (failed != op.fails && !op.may_fail)
        fail("op ", op.id, failed ? " failed: " : " must fail", op.text);
    if (failed != (text.length != 0))
        fail("op ", op.id, failed ? " failed without a text" : " did not fail, but has a text");
    op.fails = failed;
    op.may_fail = false;
    let_go_of_payloads(op);
    for (auto [attribute, ordinal] : op.seals) {
        Ordinal &floor = executed_floors_[static_cast<size_t>(attribute)];
        floor = std::max(floor, ordinal);
    }
    if (op.task) {
        const int runs = tasks_.runs_of(*op.task);
        const bool may_have_run =
            op.inputs_may_fail ? runs <= 1 : runs == (op.fails_by_input ? 0 : 1);
        if (runs >= 0 && (!may_have_run || (runs == 0 && !failed)))
            fail("task ", *op.task, " ran ", runs, " times");
        if (!tasks_.fault().empty())
            fail(tasks_.fault());
    }
    if (op.number % 3 == 0)
        release(op);
}

// Pending ones too: they go on, but nobody is told how they end (D7).
void Runner::release(Op &op)
{
    if (op.is_derived && !op.waited)
        return;
    const ovstage_api_status_t status = ovstage_release_op(client_.instance, op.id);
    if (status != (op.released ? OVSTAGE_ERROR_INVALID_HANDLE : OVSTAGE_OK))
        fail("release_op of op ", op.id, op.released ? ", released before: " : ": ", status);
    op.released = true;
    if (ovstage_wait_op(client_.instance, op.id, 0, nullptr) != OVSTAGE_ERROR_INVALID_HANDLE)
        fail("a released op can be waited for");
}

// Until ops are complete whose ids are gone; of a short queue, until there is room for sure: who is
// told that an op is complete may be so before it is counted out.
void Runner::wait_unseen()
{
    flyrail_statistics_t statistics{};
    statistics.struct_size = sizeof(statistics);
    bool unseen = program_.settings.op_limit != 0;
    for (auto &op : ops_)
        unseen |= op->released && !op->waited;
    while (unseen) {
        if (flyrail_run(client_.instance, 0, nullptr) != OVSTAGE_OK ||
            flyrail_get_statistics(client_.instance, &statistics) != OVSTAGE_OK)
            fail("run or get_statistics: ", last_error());
        unseen = statistics.ops_pending != 0;
        std::this_thread::yield();
    }
    for (auto &op : ops_) {
        if (!op->waited)
            let_go_of_payloads(*op);
    }
}

void Runner::wait(Op &op)
{
    if (op.waited || op.released)
        return;
    let_go(op.on_device);
    ovstage_op_wait_result_t out{};
    ovstage_api_status_t status =
        ovstage_wait_op(client_.instance, op.id, OVSTAGE_TIMEOUT_INFINITE, &out);
    if (status != OVSTAGE_OK)
        fail("wait_op: ", status, " ", last_error());
    completed(op, out);
}

void Runner::poll(Op &op)
{
    if (op.waited || op.released)
        return;
    ovstage_op_wait_result_t out{};
    ovstage_api_status_t status = ovstage_wait_op(client_.instance, op.id, 0, &out);
    if (status == OVSTAGE_ERROR_TIMEOUT) {
        if (out.lowest_pending_op_id == 0 || out.lowest_pending_op_id > op.id)
            fail("lowest pending op of ", op.id, " is ", out.lowest_pending_op_id);
    } else if (status == OVSTAGE_OK) {
        completed(op, out); // a second wait would not tell its errors again
    } else {
        fail("poll: ", status, " ", last_error());
    }
}

void Runner::wait_all(uint32_t pick)
{
    let_go(false);
    if (pick % 3 == 0) {
        std::vector<ovstage_op_id_t> ids;
        for (auto &op : ops_) {
            if (!op->waited && !op->released)
                ids.push_back(op->id);
        }
        size_t first = 0;
        if (!ids.empty() && flyrail_wait_any(client_.instance, ids.data(), ids.size(),
                                             OVSTAGE_TIMEOUT_INFINITE, &first) != OVSTAGE_OK)
            fail("wait_any: ", last_error());
        if (first != 0 && first >= ids.size())
            fail("wait_any says that number ", first, " is complete");
        if (flyrail_wait_all(client_.instance, ids.data(), ids.size(), OVSTAGE_TIMEOUT_INFINITE) !=
            OVSTAGE_OK)
            fail("wait_all: ", last_error());
    } else if (pick % 3 == 1 &&
               flyrail_run(client_.instance, 1 + pick % 5, nullptr) != OVSTAGE_OK) {
        fail("run: ", last_error());
    }
    for (auto &op : ops_)
        wait(*op);
    wait_unseen();
    for (int a = 0; a < attribute_count; a++)
        executed_floors_[static_cast<size_t>(a)] = model_.floor(a);
    quiet_ = true;
    check_goes_on();
    let_taken_go();
}

// Up to the accepted floor it ends, above it nothing ends it.
void Runner::wait_floor(const Step &step)
{
    const int name = step.names.empty() ? -1 : step.names[0];
    const ovx_token_t token = name < 0 ? 0 : client_.tokens[static_cast<size_t>(name)];
    const Ordinal floor = name < 0 ? model_.global_floor() : model_.floor(names[name].attribute);
    if (step.pick % 2 == 0) {
        ovstage_api_status_t status = flyrail_wait_floor(client_.instance, token, floor + 1, 0);
        if (status != OVSTAGE_ERROR_TIMEOUT)
            fail("waiting for floor ", floor + 1, " above the accepted one answers ", status);
        return;
    }
    let_go(false);
    ovstage_api_status_t status =
        flyrail_wait_floor(client_.instance, token, floor, OVSTAGE_TIMEOUT_INFINITE);
    if (status != OVSTAGE_OK)
        fail("wait_floor: ", status, " ", last_error());
    for (int a = 0; a < attribute_count; a++) {
        Ordinal &executed = executed_floors_[static_cast<size_t>(a)];
        if (name < 0 ? model_.known(a) : names[name].attribute == a)
            executed = std::max(executed, floor);
    }
}

void Runner::wait_step(const Step &step)
{
    if (step.what == Do::wait_all)
        wait_all(step.pick);
    else if (step.what == Do::wait_floor)
        wait_floor(step);
    else if (!ops_.empty() && step.what == Do::release)
        release(*ops_[step.pick % ops_.size()]);
    else if (!ops_.empty() && step.what == Do::wait)
        wait(*ops_[step.pick % ops_.size()]);
    else if (!ops_.empty())
        poll(*ops_[step.pick % ops_.size()]);
}

} // namespace model
