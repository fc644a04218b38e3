// A plain sequential model of what this library does: judged in acceptance order, applied in
// ordinal order. Nothing clever, no sharing, no caching: a log of what was authored, looked through
// from the beginning for every question.
#ifndef FR_TESTS_MODEL_MODEL_H
#define FR_TESTS_MODEL_MODEL_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <flyrail/flyrail.h>

namespace model
{

using Bytes = std::vector<uint8_t>;
using Ordinal = uint64_t;

struct Schema {
    uint8_t code = 0, bits = 0;
    uint16_t lanes = 0;
    ovstage_attribute_semantic_t semantic = OVSTAGE_SEMANTIC_NONE;
    bool is_array = false;

    // Of a row; of one element of an array's.
    uint32_t width() const
    {
        return static_cast<uint32_t>(lanes) * bits / 8;
    }
    bool same_storage(const Schema &other) const
    {
        return code == other.code && bits == other.bits && lanes == other.lanes &&
               is_array == other.is_array;
    }
    bool operator==(const Schema &other) const
    {
        return same_storage(other) && semantic == other.semantic;
    }
    bool operator<(const Schema &other) const;
    std::string text() const;
};

struct Value {
    Schema schema;
    Bytes bytes;
    Ordinal ordinal = 0;    // that wrote it
    bool is_delete = false; // or took it away
};

// What one entry of a write does to prims: the last row given for a prim counts (D6).
struct Entry {
    int attribute = 0;
    Schema schema;
    std::map<int, Bytes> rows; // by prim
    bool looked_at = true;     // false: the query has no prims (R101)
    bool any_role = false;     // keys keep the role that they have; with NONE they do too (D11)
};

struct Verdict {
    ovstage_api_status_t status =
        OVSTAGE_OK; // WRITE_FLOOR_VIOLATION comes from the enqueue, PRIM_NOT_FOUND from either
    bool by_enqueue = false; // must come from the enqueue
    bool conflict = false;   // what the mode demands is not so: may be the answer as well
    ovstage_api_status_t conflicts_with = OVSTAGE_ERROR_PRIM_NOT_FOUND; // then
    bool mismatch = false; // another schema: may be the answer as well
    size_t authored = 0;   // leading entries that are written
};

class Model
{
  public:
    // The first ones are recorded; of others there are floors only.
    Model(int attribute_count, int recorded_count);

    // --- in acceptance order; op: any number of the caller's own ---
    Verdict judge(const std::vector<Entry> &entries, Ordinal ordinal,
                  flyrail_write_mode_t mode) const;
    // A map session: its entry has all prims, without bytes. `finds`: the schema that the keys have
    // becomes the entry's (R118).
    Verdict judge_map(Entry &entry, const std::vector<int> &prims, bool finds, Ordinal ordinal,
                      flyrail_write_mode_t mode) const;
    void accept(const Verdict &verdict, const std::vector<Entry> &entries, Ordinal ordinal,
                size_t op = 0);
    // Of named attributes; of whole prims without (R128).
    Verdict judge_delete(const std::set<int> &attributes, const std::vector<int> &prims,
                         Ordinal ordinal) const;
    void accept_delete(const Verdict &verdict, const std::set<int> &attributes,
                       const std::vector<int> &prims, Ordinal ordinal, size_t op = 0);
    // Of prims onto others, each copy a list of as many (R131 to R133).
    Verdict judge_clone(int source, const std::vector<int> &subtree,
                        const std::vector<std::vector<int>> &copies, Ordinal ordinal) const;
    // redirect: what a value of the source is in a copy (R134).
    using Redirect = std::function<Bytes(const Value &value, size_t copy)>;
    void accept_clone(const Verdict &verdict, const std::vector<int> &subtree,
                      const std::vector<std::vector<int>> &copies, Ordinal ordinal,
                      const Redirect &redirect, size_t op = 0);
    // What was done at an ordinal so far is as if it had never been. False: it is sealed.
    bool may_discard(Ordinal ordinal) const;
    void accept_discard(Ordinal ordinal);
    // Rows that are derived at an ordinal, sealed or not, of keys that are there (L11). turn: those
    // at sealed ordinals are numbered, from 1 on; 0: not sealed.
    void accept_derived(int attribute, const std::map<int, Bytes> &rows, Ordinal ordinal, size_t op,
                        size_t turn = 0);
    void advance(Ordinal ordinal, ovstage_scope_t scope, const std::set<int> &attributes);
    void know(int attribute)
    {
        known_.insert(attribute);
    }

    // --- floors ---
    Ordinal floor(int attribute) const;
    Ordinal global_floor() const;
    Ordinal base() const
    {
        return base_;
    }
    bool known(int attribute) const
    {
        return known_.count(attribute) != 0;
    }

    // --- what keys are, by everything accepted so far ---
    // At an ordinal, sealed or not: its value, if it has one.
    std::optional<Value> at(int attribute, int prim, Ordinal ordinal) const;
    bool lives(int attribute, int prim, Ordinal ordinal) const;
    bool exists(int prim, Ordinal ordinal) const;
    // All that ever happened to the prim is complete, and none of it was taken back.
    bool is_settled(int prim, const std::function<bool(size_t op)> &is_complete) const;
    // By what is sealed, each attribute by its own floor (R147).
    bool exists_sealed(int prim) const;
    // Of a read: latest(N); of a range: what its newest change in it left, a tombstone too.
    // turns: so many times rows were derived by then.
    std::optional<Value> shown(int attribute, int prim, std::optional<Ordinal> start,
                               Ordinal ordinal, Ordinal floor, size_t turns = SIZE_MAX) const;
    // Ops that change the key above a floor and at or below N. Deletes of what is not there do not
    // (D12); with `all` they count, and what was taken back meanwhile.
    std::vector<size_t> changes(int attribute, int prim, Ordinal floor, Ordinal ordinal,
                                bool all = false) const;
    // The keys of an attribute at its floor, and of each key how often it was taken away by then.
    struct Topology {
        std::map<int, Schema> keys;
        std::map<int, size_t> taken_away;
    };
    Topology topology(int attribute) const;

    // What a read from `start` shows of these prims is kept for sure when all up to a floor is
    // sealed: of each key the newest version, and so many before it (L6).
    bool kept_for_sure(int attribute, const std::vector<int> &prims, std::optional<Ordinal> start,
                       Ordinal ordinal, uint32_t versions, Ordinal floor) const;
    // How many sealed moments of the attribute are above the ordinal: at each some key changed.
    size_t moments_above(int attribute, Ordinal ordinal) const;
    // Changes above it are known exactly: of each column the last 64 seals' (L6). 0: all are.
    Ordinal merged_at_most() const;
    // A change that a range to `ordinal` shows may be merged with a later one of its key.
    bool may_be_merged(int attribute, int prim, Ordinal ordinal, Ordinal merged) const;
    // Schemas that keys of the attribute were ever given, whether they got them or not.
    std::set<Schema> schemas_ever(int attribute) const;
    // Prims of which something ever happened to the attribute.
    std::set<int> prims_ever(int attribute) const;
    // Such an op has written some key of the attribute, whether it was taken back or not.
    bool is_written_by(int attribute, const std::function<bool(size_t op)> &is_one) const;
    // A key of the attribute that is there now has such a schema.
    bool is_any_alive(int attribute, const std::function<bool(const Schema &)> &fits) const;
    // Some op at or below the ordinal gave one of the entry's keys another schema.
    bool ever_conflicts(const Entry &entry, Ordinal ordinal) const;
    // Some op at or below the ordinal wrote to one of the prims.
    bool ever_existed(const std::vector<int> &prims, Ordinal ordinal) const;

  private:
    // What happened to one key.
    struct Event {
        Value value;
        size_t op;
        size_t turn = 0;
    };
    static constexpr size_t seals_known = 64;
    using Events = std::vector<Event>;

    std::vector<std::map<int, Events>> log_;        // by attribute, by prim: in acceptance order
    std::vector<std::map<int, Events>> taken_back_; // the same: what a discard took out of it
    std::vector<std::vector<Ordinal>> seals_;       // by attribute: floors in the order raised
    std::vector<std::vector<Schema>> entered_;      // by attribute: schemas in the order accepted
    std::vector<bool> deleted_;                     // by attribute: a delete has named it
    bool prims_deleted_ = false;
    std::set<int> known_;
    std::vector<Ordinal> own_;
    Ordinal base_ = 0;

    const Events &events(int attribute, int prim) const;
    Events events_by(int attribute, int prim, size_t turns) const;
    const Events &events_taken_back(int attribute, int prim) const;
    static const Event *newest(const Events &events, Ordinal most);
    static const Event *taken_away(const Events &events, const Event &event);
    static bool has_effect(const Events &events, const Event &event)
    {
        return !event.value.is_delete || taken_away(events, event);
    }
    Schema schema_for_new_key(const Entry &entry) const;
    void raise(Ordinal ordinal, ovstage_scope_t scope, const std::set<int> &attributes);
    bool demand_fails(flyrail_write_mode_t mode, int attribute, int prim, Ordinal ordinal) const;
};

} // namespace model

#endif
