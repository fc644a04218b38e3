#include <algorithm>
#include <cstring>

#include "tests/model/runner_parts.h"

namespace model
{

ovstage_enqueue_result_t Client::map(const Step &step, ovstage_query_handle_t query,
                                     ovstage_map_handle_t *handle) const
{
    const EntryStep &entry = step.entries[0];
    ovstage_map_desc_t desc{};
    desc.attribute = {tokens[static_cast<size_t>(entry.name)], {}};
    if (!step.finds_schema)
        desc.dtype = {entry.schema.code, entry.schema.bits, entry.schema.lanes};
    desc.semantic = entry.schema.semantic;
    desc.prim_mode = static_cast<ovstage_prim_mode_t>(step.mode);
    std::vector<size_t> sizes(entry.lengths.begin(), entry.lengths.end());
    sizes.push_back(0); // an array of no prims has sizes too
    const size_t *given = entry.schema.is_array ? sizes.data() : nullptr;
    ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;
    if (step.placing.is_given)
        placement = devices->placement(step.placing);
    const auto result = ovstage_map_attribute_on_device(
        instance, query, &desc, step.ordinal, given, sizes.size() - 1,
        step.placing.is_given ? &placement : nullptr, handle);
    std::fill(sizes.begin(), sizes.end(), SIZE_MAX); // D9
    return result;
}

std::vector<Bytes> Client::fill(const ovstage_map_group_t &group, size_t count, const Step &map,
                                const Schema &schema, uint32_t seed)
{
    if (group.prims.count != count || group.prims.offset != 0 || group.prims.index_map ||
        group.data.count != count || group.data.index_map || group.data.mask ||
        group.data.tensor_count != (schema.is_array ? count : 1))
        fail("a map group that is not the query's list");
    std::vector<Bytes> rows;
    uint64_t state = seed;
    for (size_t p = 0; p < count; p++) {
        const DLTensor &tensor = group.data.tensors[schema.is_array ? p : 0];
        const size_t elements = schema.is_array ? map.entries[0].lengths[p] : 1;
        if (tensor.ndim != 1 || tensor.strides || tensor.byte_offset != 0 ||
            tensor.shape[0] != static_cast<int64_t>(schema.is_array ? elements : count) ||
            tensor.dtype.code != schema.code || tensor.dtype.bits != schema.bits ||
            tensor.dtype.lanes != schema.lanes || tensor.device.device_type != kDLCPU)
            fail("tensor of position ", p, " of a map group is not canonical");
        const size_t width = elements * schema.width();
        auto *row = static_cast<uint8_t *>(tensor.data) + (schema.is_array ? 0 : p * width);
        for (size_t i = 0; i < width; i++) {
            if (row[i] != 0)
                fail("byte ", i, " of position ", p, " of a map group is ", int(row[i])); // D16
            state = state * 6364136223846793005u + 1442695040888963407u;
            row[i] = static_cast<uint8_t>(state >> 56);
        }
        // Small ids are mostly known, and so are texts that filters name.
        const EntryStep &entry = map.entries[0];
        const bool has_tokens = meaning_of(stored(entry.name, entry.schema)) == Meaning::tokens;
        for (size_t i = 0; has_tokens && i + sizeof(uint64_t) <= width; i += sizeof(uint64_t)) {
            const uint64_t small = row[i] % 64;
            std::memcpy(row + i, &small, sizeof(small));
        }
        // Which bits a product with one that is no number has is not said anywhere.
        for (size_t i = 0; schema.lanes == 16 && i + sizeof(double) <= width; i += sizeof(double)) {
            const double small = row[i] % 5;
            std::memcpy(row + i, &small, sizeof(small));
        }
        rows.emplace_back(row, row + width);
    }
    return rows;
}

void Runner::map(const Step &step)
{
    const Finder known = known_of(step);
    if (!may_write_plainly(step))
        return;
    if (fits_a_query(step))
        map_fitted(fitted(step, client_.prims_of(step).size()), known);
    else
        map_fitted(step, known);
}

void Runner::map_fitted(const Step &step, Finder known)
{
    Session session;
    session.step = step;
    session.prims = client_.prims_of(step);
    session.entry = entry_of_map(step, session.prims);
    Verdict verdict =
        model_.judge_map(session.entry, session.prims, step.finds_schema, step.ordinal, step.mode);
    if (known != Finder::failed && has_other_sizes(step, session.prims.size())) {
        verdict.mismatch = true;
        if (verdict.status == OVSTAGE_OK)
            verdict.status = OVSTAGE_ERROR_INVALID_ARGUMENT;
    }
    const ovstage_enqueue_result_t result =
        client_.map(step, client_.query_of(step), &session.handle);
    if ((result.status == OVSTAGE_OK) != (session.handle != 0))
        fail("map_attribute: ", result.status, " with handle ", session.handle);
    if (is_full(result.status))
        return;
    if (is_unsupported(step)) {
        check_unsupported(result, verdict.by_enqueue);
        return;
    }
    const bool is_misfit = is_unfit(step, session.prims);
    if (result.status != OVSTAGE_OK) {
        const bool allowed =
            result.status == verdict.status ||
            (verdict.conflict && result.status == OVSTAGE_ERROR_PRIM_NOT_FOUND) ||
            ((verdict.mismatch || is_misfit) && result.status == OVSTAGE_ERROR_INVALID_ARGUMENT);
        if (!allowed || result.op_index != 0 || last_error().empty())
            fail("map refused with ", result.status, " (", last_error(), "), must be ",
                 verdict.status);
        return;
    }
    // What is known by then comes from the enqueue (R22).
    if (verdict.by_enqueue || is_misfit ||
        (quiet_ && known == Finder::ready && verdict.status != OVSTAGE_OK))
        fail("a map was accepted that must be refused with ", verdict.status);
    Op &op = accepted(result, verdict.status != OVSTAGE_OK);
    if (known == Finder::failed)
        inherit(op, *finder_of(step));
    model_.know(session.entry.attribute);
    session.op = op.number;
    session.status = op.fails_by_input ? refused_filter : verdict.status;
    session.mismatch = verdict.mismatch;
    sessions_.push_back(session);
}

void Runner::fill(Session &session, uint32_t seed)
{
    let_go(false);
    const ovstage_api_status_t status = ovstage_fetch_map_next(
        client_.instance, session.handle, OVSTAGE_TIMEOUT_INFINITE, &session.group);
    if (session.status != OVSTAGE_OK) {
        const bool allowed = status == session.status || status == OVSTAGE_ERROR_OP_FAILED ||
                             (session.mismatch && status == OVSTAGE_ERROR_INVALID_ARGUMENT);
        if (!allowed)
            fail("fetch_map_next of a failed map: ", status, ", must be ", session.status, ": ",
                 session.step.text());
        return;
    }
    if (session.phase != Session::open || session.prims.empty()) {
        if (status != OVSTAGE_ERROR_END_OF_ITERATION)
            fail("fetch_map_next with nothing left: ", status);
        return;
    }
    if (status != OVSTAGE_OK)
        fail("fetch_map_next: ", status, " ", last_error());
    session.phase = Session::filled;
    const std::vector<Bytes> rows = session.step.placing.is_given
                                        ? fill_there(session, seed)
                                        : Client::fill(session.group, session.prims.size(),
                                                       session.step, session.entry.schema, seed);
    for (size_t p = 0; p < rows.size(); p++)
        session.entry.rows[session.prims[p]] = rows[p]; // D6: of a prim the last one
}

bool Runner::commit(Session &session, bool ends)
{
    const Step &step = session.step;
    const ovstage_cuda_sync_t sync =
        session.phase == Session::filled ? session.sync : ovstage_cuda_sync_t{};
    const ovstage_enqueue_result_t result =
        ends ? ovstage_unmap_attribute(client_.instance, session.handle, sync)
             : ovstage_unmap_group(client_.instance, session.handle, &session.group, sync);
    if (session.phase != Session::filled) {
        if (result.status != OVSTAGE_ERROR_INVALID_HANDLE)
            fail("unmap_group of no group: ", result.status);
        return true;
    }
    Verdict verdict = model_.judge({session.entry}, step.ordinal, step.mode);
    if (verdict.by_enqueue) { // D16
        if (result.status != verdict.status || result.op_index != 0)
            fail("a commit at or below the floor: ", result.status);
        ends = true;
    } else {
        Op &op = accepted(result, verdict.status != OVSTAGE_OK);
        op.on_device =
            step.placing.is_given && (step.placing.event < 0 || is_looked_at(step.entries[0]));
        if (devices_)
            placed(op, step);
        model_.accept(verdict, {session.entry}, step.ordinal, op.number);
        session.phase = Session::committed;
    }
    if (ends && ovstage_unmap_attribute(client_.instance, session.handle, {}).status !=
                    OVSTAGE_ERROR_INVALID_HANDLE)
        fail("a session was ended twice");
    return !ends;
}

// An op fails whose input handle's producer failed (D17).
void Runner::end_without_commit(const Session &session)
{
    Op &op = accepted(ovstage_unmap_attribute(client_.instance, session.handle, {}),
                      session.status != OVSTAGE_OK);
    if (op.fails)
        inherit(op, *ops_[session.op]);
    const bool is_open = session.phase == Session::open;
    if (devices_ && is_open && session.step.placing.event >= 0) // which it records all the same
        placed(op, session.step);
}

void Runner::session(const Step &step)
{
    if (sessions_.empty())
        return;
    const size_t index =
        step.pick == newest_session ? sessions_.size() - 1 : step.pick % sessions_.size();
    Session &session = sessions_[index];
    bool goes_on = true;
    if (step.what == Do::fill) {
        fill(session, step.pick);
    } else if (step.what == Do::commit || session.phase == Session::filled) {
        goes_on = commit(session, step.what == Do::unmap);
    } else {
        end_without_commit(session);
        goes_on = false;
    }
    if (!goes_on)
        sessions_.erase(sessions_.begin() + static_cast<std::ptrdiff_t>(index));
}

} // namespace model
