#include "tests/model/model.h"

#include <algorithm>
#include <sstream>
#include <tuple>

namespace model
{

bool Schema::operator<(const Schema &other) const
{
    return std::tie(code, bits, lanes, semantic, is_array) <
           std::tie(other.code, other.bits, other.lanes, other.semantic, other.is_array);
}

std::string Schema::text() const
{
    std::ostringstream out;
    out << (is_array ? "array of {code " : "{code ") << int(code) << " bits " << int(bits) << " x"
        << lanes << " semantic " << int(semantic) << "}";
    return out.str();
}

Model::Model(int attribute_count, int recorded_count)
    : log_(static_cast<size_t>(recorded_count)), taken_back_(log_.size()),
      seals_(static_cast<size_t>(attribute_count)), entered_(seals_.size()),
      deleted_(seals_.size()), own_(seals_.size(), 0)
{
}

// --- floors ---

Ordinal Model::floor(int attribute) const
{
    return std::max(base_, own_[static_cast<size_t>(attribute)]);
}

Ordinal Model::global_floor() const
{
    std::optional<Ordinal> least;
    for (int attribute : known_)
        least = least ? std::min(*least, floor(attribute)) : floor(attribute);
    return least ? *least : base_;
}

void Model::advance(Ordinal ordinal, ovstage_scope_t scope, const std::set<int> &attributes)
{
    std::vector<Ordinal> before;
    for (int a = 0; a < static_cast<int>(own_.size()); a++)
        before.push_back(floor(a));
    raise(ordinal, scope, attributes);
    for (int a = 0; a < static_cast<int>(own_.size()); a++) {
        if (floor(a) > before[static_cast<size_t>(a)])
            seals_[static_cast<size_t>(a)].push_back(floor(a));
    }
}

void Model::raise(Ordinal ordinal, ovstage_scope_t scope, const std::set<int> &attributes)
{
    if (scope == OVSTAGE_SCOPE_ALL || (scope == OVSTAGE_SCOPE_EXCLUDE && attributes.empty())) {
        base_ = std::max(base_, ordinal);
        return;
    }
    if (scope == OVSTAGE_SCOPE_INCLUDE)
        known_.insert(attributes.begin(), attributes.end());
    for (int attribute : known_) {
        bool named = attributes.count(attribute) != 0;
        Ordinal &own = own_[static_cast<size_t>(attribute)];
        if (named == (scope == OVSTAGE_SCOPE_INCLUDE))
            own = std::max(own, ordinal);
    }
}

// --- what happened to a key ---

const Model::Events &Model::events(int attribute, int prim) const
{
    static const Events none;
    if (static_cast<size_t>(attribute) >= log_.size())
        return none;
    const auto &keys = log_[static_cast<size_t>(attribute)];
    auto found = keys.find(prim);
    return found == keys.end() ? none : found->second;
}

// Without what was derived later.
Model::Events Model::events_by(int attribute, int prim, size_t turns) const
{
    Events some;
    for (const Event &event : events(attribute, prim)) {
        if (event.turn <= turns)
            some.push_back(event);
    }
    return some;
}

const Model::Events &Model::events_taken_back(int attribute, int prim) const
{
    static const Events none;
    if (static_cast<size_t>(attribute) >= log_.size())
        return none;
    const auto &keys = taken_back_[static_cast<size_t>(attribute)];
    auto found = keys.find(prim);
    return found == keys.end() ? none : found->second;
}

// At or below an ordinal the one that decides: of the highest ordinal the one accepted last.
const Model::Event *Model::newest(const Events &events, Ordinal most)
{
    const Event *last = nullptr;
    for (const Event &event : events) {
        if (event.value.ordinal <= most && (!last || event.value.ordinal >= last->value.ordinal))
            last = &event;
    }
    return last;
}

// What a delete finds: what was written before it at its own ordinal, or what is alive below it.
// Without either it comes to nothing (D12).
const Model::Event *Model::taken_away(const Events &events, const Event &event)
{
    const Ordinal ordinal = event.value.ordinal;
    const Event *found = ordinal == 0 ? nullptr : newest(events, ordinal - 1);
    if (found && found->value.is_delete)
        found = nullptr;
    for (const Event *other = events.data(); other < &event; other++) {
        if (other->value.ordinal == ordinal && !other->value.is_delete)
            found = other;
    }
    return found;
}

std::optional<Value> Model::at(int attribute, int prim, Ordinal ordinal) const
{
    const Event *last = newest(events(attribute, prim), ordinal);
    return last && !last->value.is_delete ? std::optional<Value>(last->value) : std::nullopt;
}

bool Model::lives(int attribute, int prim, Ordinal ordinal) const
{
    const Event *last = newest(events(attribute, prim), ordinal);
    return last && !last->value.is_delete;
}

bool Model::exists(int prim, Ordinal ordinal) const
{
    for (int a = 0; a < static_cast<int>(log_.size()); a++) {
        if (lives(a, prim, ordinal))
            return true;
    }
    return false;
}

bool Model::is_settled(int prim, const std::function<bool(size_t op)> &is_complete) const
{
    for (int a = 0; a < static_cast<int>(log_.size()); a++) {
        const Events &of_key = events(a, prim);
        if (!events_taken_back(a, prim).empty() ||
            !std::all_of(of_key.begin(), of_key.end(),
                         [&](const Event &event) { return is_complete(event.op); }))
            return false;
    }
    return true;
}

bool Model::exists_sealed(int prim) const
{
    for (int a = 0; a < static_cast<int>(log_.size()); a++) {
        if (lives(a, prim, floor(a)))
            return true;
    }
    return false;
}

std::optional<Value> Model::shown(int attribute, int prim, std::optional<Ordinal> start,
                                  Ordinal ordinal, Ordinal floor, size_t turns) const
{
    const Ordinal most = std::min(ordinal, floor);
    const Events all = events_by(attribute, prim, turns);
    const Event *last = newest(all, most);
    if (!start)
        return last && !last->value.is_delete ? std::optional<Value>(last->value) : std::nullopt;
    while (last && !has_effect(all, *last))
        last = last->value.ordinal == 0 ? nullptr : newest(all, last->value.ordinal - 1);
    if (!last || last->value.ordinal < *start)
        return std::nullopt;
    Value value = last->value;
    if (value.is_delete)
        value.schema = taken_away(all, *last)->value.schema;
    return value;
}

std::vector<size_t> Model::changes(int attribute, int prim, Ordinal floor, Ordinal ordinal,
                                   bool all) const
{
    std::vector<size_t> ops;
    const Events &of_key = events(attribute, prim);
    for (const Event &event : of_key) {
        if (event.value.ordinal <= ordinal && event.value.ordinal > floor &&
            (all || has_effect(of_key, event)))
            ops.push_back(event.op);
    }
    for (const Event &event : events_taken_back(attribute, prim)) {
        if (all && event.value.ordinal <= ordinal && event.value.ordinal > floor)
            ops.push_back(event.op);
    }
    return ops;
}

Model::Topology Model::topology(int attribute) const
{
    Topology topology;
    for (const auto &[prim, of_key] : log_[static_cast<size_t>(attribute)]) {
        if (auto value = at(attribute, prim, floor(attribute)))
            topology.keys[prim] = value->schema;
        for (const Event &event : of_key) {
            if (event.value.is_delete && event.value.ordinal <= floor(attribute) &&
                has_effect(of_key, event))
                topology.taken_away[prim]++;
        }
    }
    return topology;
}

bool Model::kept_for_sure(int attribute, const std::vector<int> &prims,
                          std::optional<Ordinal> start, Ordinal ordinal, uint32_t versions,
                          Ordinal floor) const
{
    return std::all_of(prims.begin(), prims.end(), [&](int prim) {
        auto wanted = shown(attribute, prim, start, ordinal, floor);
        const Events &of_key = events(attribute, prim);
        // That a deleted key has not come back meanwhile is told by what is known exactly.
        const Event *last = newest(of_key, std::min(ordinal, floor));
        if (!start && last && last->value.is_delete && ordinal < merged_at_most())
            wanted = last->value;
        std::set<Ordinal> newer;
        for (const Event &event : of_key) {
            Ordinal at = event.value.ordinal;
            if (wanted && at > wanted->ordinal && at <= floor && has_effect(of_key, event))
                newer.insert(at);
        }
        return newer.size() <= versions;
    });
}

size_t Model::moments_above(int attribute, Ordinal ordinal) const
{
    std::set<Ordinal> moments;
    for (const auto &[prim, of_key] : log_[static_cast<size_t>(attribute)]) {
        for (const Event &event : of_key) {
            const Ordinal at = event.value.ordinal;
            if (at > ordinal && at <= floor(attribute) && has_effect(of_key, event))
                moments.insert(at);
        }
    }
    return moments.size();
}

Ordinal Model::merged_at_most() const
{
    Ordinal most = 0;
    for (const std::vector<Ordinal> &seals : seals_) {
        if (seals.size() > seals_known)
            most = std::max(most, seals[seals.size() - seals_known - 1]);
    }
    return most;
}

bool Model::may_be_merged(int attribute, int prim, Ordinal ordinal, Ordinal merged) const
{
    const Events &of_key = events(attribute, prim);
    return std::any_of(of_key.begin(), of_key.end(), [&](const Event &event) {
        return event.value.ordinal > ordinal && event.value.ordinal <= merged &&
               has_effect(of_key, event);
    });
}

// --- schemas ---

namespace
{

bool takes_any_role(const Entry &entry)
{
    return entry.any_role || entry.schema.semantic == OVSTAGE_SEMANTIC_NONE;
}

bool conflicts(const Schema &there, const Entry &entry)
{
    return !there.same_storage(entry.schema) ||
           (!takes_any_role(entry) && entry.schema.semantic != there.semantic);
}

} // namespace

Schema Model::schema_for_new_key(const Entry &entry) const
{
    const auto attribute = static_cast<size_t>(entry.attribute);
    if (!takes_any_role(entry) || entered_[attribute].empty() ||
        !entered_[attribute].front().same_storage(entry.schema))
        return entry.schema;
    // Once keys may be gone, a NONE takes only a role that is there (D11).
    return deleted_[attribute] || prims_deleted_ ? entry.schema : entered_[attribute].front();
}

bool Model::ever_conflicts(const Entry &entry, Ordinal ordinal) const
{
    const auto conflicting = [&](const Event &event) {
        return event.value.ordinal <= ordinal && !event.value.is_delete &&
               conflicts(event.value.schema, entry);
    };
    return std::any_of(entry.rows.begin(), entry.rows.end(), [&](const auto &row) {
        const Events &of_key = events(entry.attribute, row.first);
        const Events &gone = events_taken_back(entry.attribute, row.first);
        return std::any_of(of_key.begin(), of_key.end(), conflicting) ||
               std::any_of(gone.begin(), gone.end(), conflicting);
    });
}

bool Model::is_any_alive(int attribute, const std::function<bool(const Schema &)> &fits) const
{
    if (static_cast<size_t>(attribute) >= log_.size())
        return false;
    const auto &keys = log_[static_cast<size_t>(attribute)];
    return std::any_of(keys.begin(), keys.end(), [&](const auto &key) {
        const auto value = at(attribute, key.first, UINT64_MAX);
        return value && fits(value->schema);
    });
}

std::set<Schema> Model::schemas_ever(int attribute) const
{
    const std::vector<Schema> &entered = entered_[static_cast<size_t>(attribute)];
    std::set<Schema> schemas(entered.begin(), entered.end());
    if (static_cast<size_t>(attribute) >= log_.size())
        return schemas;
    for (const auto *log : {&log_, &taken_back_}) {
        for (const auto &[prim, of_key] : (*log)[static_cast<size_t>(attribute)]) {
            for (const Event &event : of_key) {
                if (!event.value.is_delete)
                    schemas.insert(event.value.schema);
            }
        }
    }
    return schemas;
}

bool Model::is_written_by(int attribute, const std::function<bool(size_t op)> &is_one) const
{
    const auto number = static_cast<size_t>(attribute);
    for (const auto *log : {&log_[number], &taken_back_[number]}) {
        for (const auto &[prim, of_key] : *log) {
            if (std::any_of(of_key.begin(), of_key.end(), [&](const Event &event) {
                    return !event.value.is_delete && is_one(event.op);
                }))
                return true;
        }
    }
    return false;
}

std::set<int> Model::prims_ever(int attribute) const
{
    std::set<int> prims;
    for (const auto *log : {&log_, &taken_back_}) {
        for (const auto &[prim, of_key] : (*log)[static_cast<size_t>(attribute)])
            prims.insert(prim);
    }
    return prims;
}

bool Model::ever_existed(const std::vector<int> &prims, Ordinal ordinal) const
{
    for (int prim : prims) {
        for (int a = 0; a < static_cast<int>(log_.size()); a++) {
            for (const Events *of_key : {&events(a, prim), &events_taken_back(a, prim)}) {
                for (const Event &event : *of_key) {
                    if (event.value.ordinal <= ordinal && !event.value.is_delete)
                        return true;
                }
            }
        }
    }
    return false;
}

// --- writes ---

bool Model::demand_fails(flyrail_write_mode_t mode, int attribute, int prim, Ordinal ordinal) const
{
    switch (mode) {
    case FLYRAIL_WRITE_INSERT:
        return exists(prim, ordinal);
    case FLYRAIL_WRITE_PRIMS_EXIST:
        return !exists(prim, ordinal);
    case FLYRAIL_WRITE_KEYS_EXIST:
        return !lives(attribute, prim, ordinal);
    default:
        return false;
    }
}

Verdict Model::judge(const std::vector<Entry> &entries, Ordinal ordinal,
                     flyrail_write_mode_t mode) const
{
    Verdict verdict;
    if (mode == FLYRAIL_WRITE_KEYS_EXIST)
        verdict.conflicts_with = OVSTAGE_ERROR_NOT_FOUND;
    bool sealed = false;
    for (const Entry &entry : entries) {
        sealed |= ordinal <= floor(entry.attribute);
        for (const auto &[prim, bytes] : entry.rows) {
            auto there = at(entry.attribute, prim, ordinal);
            verdict.conflict |= demand_fails(mode, entry.attribute, prim, ordinal);
            verdict.mismatch |= there && conflicts(there->schema, entry);
        }
        verdict.authored += verdict.mismatch ? 0 : 1; // those before the first that fails
    }
    if (sealed) {
        verdict.status = OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION;
        verdict.by_enqueue = true;
    } else if (verdict.conflict) {
        verdict.status = verdict.conflicts_with;
    } else if (verdict.mismatch) {
        verdict.status = OVSTAGE_ERROR_INVALID_ARGUMENT;
    }
    if (sealed || verdict.conflict)
        verdict.authored = 0;
    return verdict;
}

Verdict Model::judge_map(Entry &entry, const std::vector<int> &prims, bool finds, Ordinal ordinal,
                         flyrail_write_mode_t mode) const
{
    std::optional<Schema> found;
    bool differ = false;
    for (int prim : prims) {
        auto there = at(entry.attribute, prim, ordinal);
        if (!finds || !there)
            continue;
        found = found ? found : there->schema;
        differ |= !found->same_storage(there->schema) ||
                  (!takes_any_role(entry) && there->schema.semantic != entry.schema.semantic);
    }
    differ |= finds && !prims.empty() && (!found || found->is_array != entry.schema.is_array);
    if (found) {
        entry.any_role = takes_any_role(entry);
        entry.schema = *found;
    }
    Verdict verdict = judge({entry}, ordinal, mode);
    verdict.mismatch |= differ;
    if (differ && verdict.status == OVSTAGE_OK)
        verdict.status = OVSTAGE_ERROR_INVALID_ARGUMENT;
    return verdict;
}

void Model::accept(const Verdict &verdict, const std::vector<Entry> &entries, Ordinal ordinal,
                   size_t op)
{
    for (size_t e = 0; e < entries.size(); e++) {
        const Entry &entry = entries[e];
        known_.insert(entry.attribute);
        const Schema fresh = schema_for_new_key(entry);
        for (const auto &[prim, bytes] : entry.rows) {
            if (e >= verdict.authored)
                break;
            auto there = at(entry.attribute, prim, ordinal);
            log_[static_cast<size_t>(entry.attribute)][prim].push_back(
                {{there ? there->schema : fresh, bytes, ordinal}, op});
        }
        if (entry.looked_at)
            entered_[static_cast<size_t>(entry.attribute)].push_back(entry.schema);
    }
}

// --- deletes ---

Verdict Model::judge_delete(const std::set<int> &attributes, const std::vector<int> &prims,
                            Ordinal ordinal) const
{
    Verdict verdict;
    verdict.by_enqueue = attributes.empty()
                             ? ordinal <= base_
                             : std::any_of(attributes.begin(), attributes.end(),
                                           [&](int a) { return ordinal <= floor(a); });
    bool sealed = verdict.by_enqueue;
    for (int prim : prims) { // D3: what lives there then, or at the last sealed moment
        for (int a = 0; attributes.empty() && a < static_cast<int>(log_.size()); a++)
            sealed |= ordinal <= floor(a) && (lives(a, prim, ordinal) || lives(a, prim, floor(a)));
    }
    verdict.status = sealed ? OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION : OVSTAGE_OK;
    return verdict;
}

void Model::accept_delete(const Verdict &verdict, const std::set<int> &attributes,
                          const std::vector<int> &prims, Ordinal ordinal, size_t op)
{
    known_.insert(attributes.begin(), attributes.end());
    prims_deleted_ |= attributes.empty();
    for (int a = 0; a < static_cast<int>(log_.size()); a++) {
        if (!attributes.empty() && attributes.count(a) == 0)
            continue;
        auto &keys = log_[static_cast<size_t>(a)];
        deleted_[static_cast<size_t>(a)] = deleted_[static_cast<size_t>(a)] || !attributes.empty();
        for (int prim : std::set<int>(prims.begin(), prims.end())) {
            if (verdict.status != OVSTAGE_OK)
                continue;
            keys[prim].push_back({{Schema(), Bytes(), ordinal, true}, op});
        }
    }
}

// --- clones ---

Verdict Model::judge_clone(int source, const std::vector<int> &subtree,
                           const std::vector<std::vector<int>> &copies, Ordinal ordinal) const
{
    Verdict verdict;
    bool sealed = ordinal <= base_;
    std::set<int> made;
    for (size_t k = 0; k < subtree.size(); k++) {
        for (int a = 0; a < static_cast<int>(log_.size()); a++)
            sealed |= ordinal <= floor(a) && lives(a, subtree[k], ordinal);
        for (const std::vector<int> &copy : copies)
            verdict.conflict |= exists(copy[k], ordinal) || !made.insert(copy[k]).second;
    }
    verdict.status = sealed                     ? OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION
                     : !exists(source, ordinal) ? OVSTAGE_ERROR_NOT_FOUND
                     : verdict.conflict         ? OVSTAGE_ERROR_PRIM_NOT_FOUND
                                                : OVSTAGE_OK;
    return verdict;
}

void Model::accept_clone(const Verdict &verdict, const std::vector<int> &subtree,
                         const std::vector<std::vector<int>> &copies, Ordinal ordinal,
                         const Redirect &redirect, size_t op)
{
    for (int a = 0; verdict.status == OVSTAGE_OK && a < static_cast<int>(log_.size()); a++) {
        std::vector<std::optional<Value>> values; // before any copy is there
        for (int prim : subtree)
            values.push_back(at(a, prim, ordinal));
        for (size_t k = 0; k < subtree.size(); k++) {
            for (size_t c = 0; values[k] && c < copies.size(); c++)
                log_[static_cast<size_t>(a)][copies[c][k]].push_back(
                    {{values[k]->schema, redirect(*values[k], c), ordinal}, op});
        }
    }
}

// --- derived rows ---

void Model::accept_derived(int attribute, const std::map<int, Bytes> &rows, Ordinal ordinal,
                           size_t op, size_t turn)
{
    for (const auto &[prim, bytes] : rows) {
        const Schema schema = at(attribute, prim, ordinal)->schema;
        log_[static_cast<size_t>(attribute)][prim].push_back({{schema, bytes, ordinal}, op, turn});
    }
}

// --- discards ---

bool Model::may_discard(Ordinal ordinal) const
{
    Ordinal highest = base_;
    for (Ordinal own : own_)
        highest = std::max(highest, own);
    return ordinal > highest;
}

void Model::accept_discard(Ordinal ordinal)
{
    prims_deleted_ = true; // keys may be gone
    for (size_t a = 0; a < log_.size(); a++) {
        for (auto &[prim, of_key] : log_[a]) {
            Events stay;
            for (const Event &event : of_key)
                (event.value.ordinal == ordinal ? taken_back_[a][prim] : stay).push_back(event);
            of_key = stay;
        }
    }
}

} // namespace model
