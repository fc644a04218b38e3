#include <algorithm>

#include "tests/model/runner_parts.h"

namespace model
{

// --- discards ---

void Runner::discard(const Step &step)
{
    const ovstage_enqueue_result_t result = flyrail_discard(client_.instance, step.ordinal);
    if (is_full(result.status))
        return;
    if (!model_.may_discard(step.ordinal)) {
        if (result.status != OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION || result.op_index != 0 ||
            last_error().empty())
            fail("a discard at or below a floor: ", result.status, " (", last_error(), ")");
        return;
    }
    accepted(result, false);
    model_.accept_discard(step.ordinal);
}

// --- snapshots ---

void Runner::open_snapshot(const Step &step)
{
    std::vector<ovx_token_t> tokens;
    for (int name : step.names)
        tokens.push_back(client_.tokens[static_cast<size_t>(name)]);
    flyrail_snapshot_desc_t desc{};
    desc.struct_size = sizeof(desc);
    desc.newest = step.ordinal == 0;
    desc.ordinal = step.ordinal;
    desc.attributes = tokens.data();
    desc.attribute_count = tokens.size();
    // The floor that counts lies between what was seen and what was accepted.
    Ordinal least = UINT64_MAX, most = step.names.empty() ? model_.global_floor() : UINT64_MAX;
    Snapshot made;
    for (int a = 0; a < attribute_count; a++) {
        made.floors.push_back(model_.floor(a));
        if (!step.names.empty() && attributes_of(step).count(a) == 0)
            continue;
        least = std::min(least, executed_floors_[static_cast<size_t>(a)]);
        most = step.names.empty() ? most : std::min(most, model_.floor(a));
    }
    least = quiet_ ? most : least;
    const ovstage_api_status_t status =
        flyrail_snapshot_open(client_.instance, &desc, &made.handle, &made.ordinal);
    if (status == OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION && !desc.newest && step.ordinal > least) {
        if (made.handle != 0 || last_error().empty())
            fail("a snapshot was refused with a handle, or without a text");
        return;
    }
    if (status != OVSTAGE_OK || made.handle == 0)
        fail("snapshot_open: ", status, " (", last_error(), ")");
    if (desc.newest ? made.ordinal < least || made.ordinal > most
                    : made.ordinal != step.ordinal || step.ordinal > most)
        fail("a snapshot of ordinal ", made.ordinal, ", the floor is ", least, "..", most);
    snapshots_.push_back(made);
}

void Runner::moment(const Step &step)
{
    if (step.what == Do::open_snapshot)
        open_snapshot(step);
    else if (step.what == Do::oldest)
        (void)oldest();
    else if (!snapshots_.empty())
        snapshot(step);
}

void Runner::snapshot(const Step &step)
{
    const size_t index = step.pick % snapshots_.size();
    const Snapshot snapshot = snapshots_[index];
    if (step.what == Do::read_snapshot) {
        Step at_moment = step;
        at_moment.ordinal = snapshot.ordinal;
        read(at_moment, &snapshot);
        return;
    }
    snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(index));
    const ovstage_api_status_t status = flyrail_snapshot_close(client_.instance, snapshot.handle);
    if (status != OVSTAGE_OK)
        fail("snapshot_close: ", status, " ", last_error());
    if (flyrail_snapshot_close(client_.instance, snapshot.handle) != OVSTAGE_ERROR_INVALID_HANDLE)
        fail("a snapshot was closed twice");
}

// --- what is kept, and known ---

// A snapshot keeps what was kept when it was opened; only the byte limit may take it.
void Runner::expect_kept(Expectation &expectation, int attribute, const Snapshot *snapshot) const
{
    const bool held = snapshot && program_.settings.history_bytes;
    const Ordinal floor =
        held ? snapshot->floors[static_cast<size_t>(attribute)] : model_.floor(attribute);
    expectation.may_be_gone |= !model_.kept_for_sure(
        attribute, expectation.prims, expectation.start, expectation.ordinal,
        program_.settings.history_bytes ? program_.settings.history_versions : 0, floor);
    // On a device it is states that are kept, not keys.
    expectation.may_be_gone |=
        is_home_device(program_, attribute) &&
        (!program_.settings.history_bytes ||
         model_.moments_above(attribute, expectation.ordinal) > program_.settings.history_versions);
}

// Changes at or above it are known exactly (R42).
Ordinal Runner::oldest()
{
    ovstage_ordinal_query_handle_t handle = 0;
    const ovstage_enqueue_result_t result =
        ovstage_get_oldest_preserved_ordinal(client_.instance, &handle);
    if (is_full(result.status))
        return model_.merged_at_most();
    if (result.status != OVSTAGE_OK || result.op_index == 0)
        fail("get_oldest_preserved_ordinal: ", result.status, " ", last_error());
    ovstage_ordinal_t got = 0;
    if (ovstage_fetch_ordinal(client_.instance, handle, OVSTAGE_TIMEOUT_INFINITE, &got) !=
        OVSTAGE_OK)
        fail("fetch_ordinal: ", last_error());
    if (ovstage_release_ordinal_query(client_.instance, handle).status != OVSTAGE_OK)
        fail("release_ordinal_query: ", last_error());
    if (got > model_.merged_at_most())
        fail("changes are known from ordinal ", got, " on, must be from ", model_.merged_at_most());
    return got;
}

} // namespace model
