// The parts of the runner: runner.cc (life, writes, floors), runner_read.cc (reads and groups),
// runner_moment.cc (snapshots, discards, what is known exactly), runner_map.cc (maps),
// runner_filter.cc (filters), computed.cc (columns that are computed), runner_found.cc (queries of
// filters that may be under way), entries.cc (what writes say to the model), runner_structure.cc
// (clones, hierarchy), runner_compute.cc (world transforms), runner_device.cc (values on devices),
// runner_wait.cc (waits).
#ifndef FR_TESTS_MODEL_RUNNER_PARTS_H
#define FR_TESTS_MODEL_RUNNER_PARTS_H

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <ovstage/ovstage.h>
#include <ovx/path_dictionary/path_dictionary.h>

#include "tests/model/compose.h"
#include "tests/model/devices.h"
#include "tests/model/model.h"
#include "tests/model/payloads.h"
#include "tests/model/placed.h"
#include "tests/model/program.h"
#include "tests/model/tasks.h"

namespace model
{

struct Failure {
    std::string text;
};

template <typename... Parts> [[noreturn]] void fail(const Parts &...parts)
{
    std::ostringstream out;
    (out << ... << parts);
    throw Failure{out.str()};
}

inline std::string last_error()
{
    ovx_string_t text = ovstage_get_last_error();
    return text.ptr ? std::string(text.ptr, text.length) : std::string();
}

// The first bytes of a row.
inline std::string hex(const uint8_t *bytes, size_t count)
{
    std::ostringstream out;
    for (size_t i = 0; i < count && i < 12; i++)
        out << std::hex << (bytes[i] < 16 ? "0" : "") << int(bytes[i]);
    return out.str() + (count > 12 ? ".." : "");
}

// Of a path.
inline std::string parent_text(const std::string &path)
{
    return path.substr(0, path.rfind('/'));
}

inline ovx_string_t view(const char *text)
{
    return {text, std::strlen(text)};
}

struct Op {
    ovstage_op_id_t id = 0;
    size_t number = 0; // in the order of acceptance
    bool fails = false;
    bool may_fail = false; // or it does not: both are right
    bool inputs_may_fail = false;
    bool fails_by_input = false; // what it depends on did
    std::set<size_t> roots;      // then: ops that failed by themselves
    std::set<size_t> causes;     // and all failed ones in between
    bool is_delete = false;
    bool is_derived = false;      // nothing is ordered with it: it must be seen to be complete
    bool waited = false;          // it was seen to be complete
    bool released = false;        // its id
    bool on_device = false;       // it is complete when a device has done its work
    std::string text;             // of its error
    Placing placing;              // of a write
    std::unique_ptr<Step> placed; // what it does on devices, without the rows
    std::optional<size_t> task;
    std::vector<std::pair<int, Ordinal>> seals; // attributes whose floors it raises
    std::vector<std::unique_ptr<Payload>> payloads;
    // true: may be adopted, or read by a device for longer.
    std::vector<std::pair<std::shared_ptr<Fate>, bool>> fates;
};

// A row of a group.
struct Row {
    uint32_t position; // in the query
    const uint8_t *data;
    size_t size;
};

bool lies_on_device(const ovstage_read_group_t &group);
// All that a group of the host shows, one row after the other.
Bytes bytes_of(const ovstage_read_group_t &group);

// What a read may and must answer.
struct Expectation {
    std::vector<int> prims;
    std::vector<int> names;
    std::optional<Ordinal> start; // of a range
    Ordinal ordinal = 0;
    std::set<size_t> violations; // ops that had run and are not sealed: WRITE_FLOOR_VIOLATION
    bool may_violate = false;    // it may come
    bool may_be_gone = false;    // OUT_OF_RANGE may come
    std::vector<bool> open;      // by name: above the accepted floor, so it goes by what has run
    bool settled = false;        // everything was complete when it was accepted
    bool judged_at_once = false; // it has no pending seal to wait for
    bool must_fail = false;      // its query's filter does
    bool fetched_at_once = false;
    Ordinal merged = 0; // changes up to it may be known as the newest of their keys only
    // Changes above this one and at or below the ordinal must not be unsealed.
    Ordinal unsealed_above(Ordinal floor) const
    {
        return start && *start > floor ? *start - 1 : floor;
    }
    // By name, by position: what it shows; of open ones: what was there at least.
    std::vector<std::vector<std::optional<Value>>> rows;
    std::vector<std::pair<Ordinal, Ordinal>>
        floors; // bounds of the floor that is reported, by name
    std::vector<std::optional<uint64_t>> generations; // by name, when it can only be this one
    std::vector<std::optional<uint64_t>> above;       // by name, when it must have gone up
};

struct Read {
    ovstage_read_handle_t handle = 0;
    Expectation expectation;
    bool hold = false, release_first = false;
    bool on_device = false; // it shows what a device has to do first
    Placing placing;
};

// An open map.
struct Session {
    ovstage_map_handle_t handle = 0;
    size_t op = 0; // that opened it
    ovstage_api_status_t status = OVSTAGE_OK;
    bool mismatch = false; // there are two things wrong with it: either may be told
    Step step;
    std::vector<int> prims;
    Entry entry; // that a commit writes
    ovstage_map_group_t group{};
    ovstage_cuda_sync_t sync{}; // of what fills it on a device
    enum { open, filled, committed } phase = open;
};

// A row of a group on a device, which is looked at when it is there.
struct Awaited {
    uint32_t position;
    Value wanted;
    size_t size;
};

struct Held {
    ovstage_read_group_t group;
    Bytes bytes;
    bool keeps = true;            // else it goes as soon as what it shows is there
    std::shared_ptr<Moved> taken; // of a group on a device, in place of bytes ...
    std::vector<Awaited> rows;    // ... until these were looked at
    Placing placing;
};

// Of a clone: the prims of the source, and where each copy has them.
struct Copies {
    int source = 0;
    std::string root;
    std::vector<std::string> targets;
    std::vector<int> subtree;
    std::vector<std::vector<int>> prims; // by target
};

// What a hierarchy lookup says of one prim.
struct Related {
    ovstage_api_status_t status = OVSTAGE_OK;
    std::vector<std::string> paths;
};

// What is known of a prim.
enum class Known { there, gone, maybe };
using Exists = std::function<bool(int prim)>;
// Of a computed column, by position in the query.
using ComputedRows = std::map<uint32_t, std::vector<ovx_primpath_t>>;
std::vector<ovx_primpath_t> ids_of(const uint8_t *data, size_t size);
bool is_schema_of_computed(int name, const Schema &schema);

// Path order: component by component (D6).
bool is_before(const std::string &a, const std::string &b);

// Attributes that a step names.
std::set<int> attributes_of(const Step &step);

// What a map step says to the model: all its prims, without bytes.
Entry entry_of_map(const Step &step, const std::vector<int> &prims);

// Its column cannot be written so (R115).
bool is_unfit(const Step &map, const std::vector<int> &prims);
// It is of an array, and has not as many sizes.
bool has_other_sizes(const Step &map, size_t count);

// What a write step says to the model, and with what it must be refused whatever the model says;
// also what of that does not depend on prims. by_filter: its query is a filter's.
std::vector<Entry> entries_of(const Step &step, const std::vector<int> &prims,
                              bool by_filter = false);
std::set<ovstage_api_status_t> refusals(const Step &step, const std::vector<int> &prims);
std::set<ovstage_api_status_t> refusals_without_prims(const Step &step);

// A write or a map whose entries that are to fit are of so many elements.
bool fits_a_query(const Step &step);
Step fitted(const Step &step, size_t count);

// An instance with the tokens, paths and queries of a program.
class Client
{
  public:
    Client(const Program &program, uint32_t workers, Devices *devices = nullptr);
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client();
    void make_query(size_t index);
    ovstage_query_handle_t list_query(const std::vector<int> &of) const;
    // The number of the prim with this path; of a new one the next.
    int prim_of(const std::string &text);
    int prim_of(ovx_primpath_t path);
    int find_prim(const std::string &text) const; // below 0: none that was ever named
    // The path that a filter step is about, besides its predicates.
    std::string named_by(const Step &step) const
    {
        return path_of(static_cast<int>(step.pick / 6) % program.prim_count);
    }
    // What a computed column of the prim can have, in order: if it exists.
    std::vector<int> computed_of(int name, int prim) const;
    bool holds_computed(const Predicate &predicate, int prim, const Exists &exists) const;
    void check_computed(int name, const std::vector<int> &prims, const ComputedRows &rows,
                        const std::function<Known(int prim)> &known) const;
    // The prims that a filter finds in what the model has, in its order.
    std::vector<int> matching(const Step &step, const Model &model) const;
    // Nothing: the dictionary does not know it.
    std::optional<std::string> text_of_token(uint64_t id) const;
    std::optional<std::string> text_of_path(uint64_t id) const;
    ovstage_query_handle_t query_of(const Step &step) const
    {
        return step.query < 0 ? found[static_cast<size_t>(-1 - step.query)]
                              : queries[static_cast<size_t>(step.query)];
    }
    const std::vector<int> &prims_of(const Step &step) const
    {
        return step.query < 0 ? found_prims[static_cast<size_t>(-1 - step.query)]
                              : program.queries[static_cast<size_t>(step.query)];
    }
    ovstage_api_status_t destroy();
    // Submits a write; its payloads lie in op until it is complete. What was passed by pointer is
    // overwritten afterwards (D9).
    ovstage_enqueue_result_t write(const Step &step, ovstage_query_handle_t query, Op &op,
                                   std::string &text) const;
    ovstage_enqueue_result_t remove(const Step &step, ovstage_query_handle_t query) const;
    ovstage_enqueue_result_t map(const Step &step, ovstage_query_handle_t query,
                                 ovstage_map_handle_t *handle) const;
    ovstage_enqueue_result_t advance(const Step &step) const;
    std::vector<ovx_token_t> tokens_of(const Step &step) const;
    ovstage_enqueue_result_t read(const Step &step, ovstage_read_handle_t *handle) const;
    ovstage_enqueue_result_t read(const Step &step, flyrail_snapshot_t snapshot,
                                  ovstage_read_handle_t *handle) const;
    ovstage_enqueue_result_t clone(const Copies &copies, Ordinal ordinal) const;
    ovstage_enqueue_result_t filter(const Step &step, const std::string &named,
                                    ovstage_query_handle_t *query) const;
    ovstage_enqueue_result_t compute(const Step &step, Ordinal input) const;
    ovstage_enqueue_result_t lookup(const Step &step, const std::vector<ovx_primpath_t> &of,
                                    ovstage_hierarchy_handle_t *handle) const;
    // Of a lookup that is complete, and goes.
    std::vector<Related> looked_up(ovstage_hierarchy_handle_t handle, size_t count) const;
    // Prims that are related to one by their paths, whether they exist or not.
    std::vector<int> related(const Step &lookup, int prim) const;
    // The prim, and those above it (D13).
    std::vector<int> chain_of(int prim) const;
    // What a value is in the copy of a source (R134).
    Bytes redirected(const Value &value, const std::string &source, const std::string &target);
    // Checks that the group is that of a fresh session of so many prims, and fills it: what it
    // will commit, by position.
    static std::vector<Bytes> fill(const ovstage_map_group_t &group, size_t count, const Step &map,
                                   const Schema &schema, uint32_t seed);
    size_t count_of(ovstage_query_handle_t query) const;
    // The prims of a query, told by a column that each prim has which is there then. op: of the
    // read.
    ovstage_api_status_t list(ovstage_query_handle_t query, std::vector<ovx_primpath_t> &out,
                              ovstage_op_id_t *op) const;
    std::vector<ovx_primpath_t> listed(ovstage_query_handle_t query) const;
    // What is cloned, and where to; also as it is at the step's ordinal.
    void name_copies(const Step &step, Copies &copies) const;
    Copies copies_of(const Step &step, const Model &model);
    // The rows of a group with their positions in the query, and its schema (of a group of
    // tombstones only kind and role); checks what every group must be.
    std::vector<Row> rows_of(const ovstage_read_group_t &group,
                             const std::vector<ovx_primpath_t> &query, Schema &schema,
                             const Placing &placing = {}) const;
    std::vector<ovx_primpath_t> paths_of(const std::vector<int> &prims) const;

    Program program;  // ids in its payloads are the dictionary's
    Devices *devices; // NULL: there are none
    ovstage_instance_t *instance = nullptr;
    path_dictionary_instance_t *dictionary = nullptr;
    std::vector<ovx_token_t> tokens;
    std::vector<ovx_primpath_t> paths; // by prim
    std::vector<std::string> path_texts;
    std::map<std::string, int> prim_by_path;            // by path
    std::vector<ovstage_query_handle_t> queries, found; // found: of the slots that filters fill
    std::vector<std::vector<int>> found_prims;

  private:
    static constexpr uint64_t nobodys_id = 0x7EEEEEEEEEEEEEEEull;

    std::map<std::string, std::vector<int>> children_by_path_; // in path order
    std::unordered_map<ovx_primpath_t, int> prim_by_id_;

    void enter_child(int prim);
    bool matches(const Step &step, const Model &model, int prim) const;
    // In place of numbers: ids of paths and tokens, 0 and one that nobody has among them.
    void intern(EntryStep &entry) const;
    uint64_t path_id(uint64_t symbol) const;
    uint64_t token_id(uint64_t symbol) const;
    uint64_t expression_id(uint64_t symbol) const;
};

// A computation that this build cannot do (L11), or no model at all (R153).
bool needs_a_gpu(const Step &compute);
bool has_no_model(const Step &compute);

// A predicate has a value that no column of its attribute can have, though there are columns; which
// ones there are besides those of keys that are alive depends on what was ever written.
bool may_be_refused(const Step &filter, const Model &model);
bool must_be_refused(const Step &filter, const Model &model);
constexpr ovstage_api_status_t refused_filter = OVSTAGE_ERROR_INVALID_ARGUMENT;

// What is known of the filter whose query is used, by then (L7).
enum class Finder { ready, pending, failed };

// A filter that nobody saw complete so far, and what it looks at.
struct Finding {
    Op *op = nullptr;
    const Step *step = nullptr;
    std::set<int> touched; // prims that were written over its query
};

struct Snapshot {
    flyrail_snapshot_t handle = 0;
    Ordinal ordinal = 0;
    std::vector<Ordinal> floors; // by attribute, accepted when it was opened
};

class Runner
{
  public:
    Runner(const Program &program, uint32_t workers);
    Runner(const Runner &) = delete;
    Runner &operator=(const Runner &) = delete;
    ~Runner();
    void run();
    uint64_t accepted_ops() const
    {
        return ops_.size();
    }
    uint64_t moves() const
    {
        return moves_;
    }

  private:
    const Program &program_;
    const uint32_t workers_;
    Model model_;
    Tasks tasks_;
    std::vector<std::unique_ptr<Op>> ops_;
    std::map<ovstage_op_id_t, const Op *> by_id_;
    std::vector<Read> reads_;
    std::vector<Held> held_;
    std::vector<Session> sessions_;
    std::vector<Snapshot> snapshots_;
    std::vector<Finding> findings_;
    std::vector<Op *> finders_; // by slot: the filter's op; none: its query is a list's
    std::vector<std::shared_ptr<Fate>> fates_;
    bool quiet_ = true;                                           // everything accepted is complete
    std::map<int, std::pair<Model::Topology, uint64_t>> layouts_; // by attribute, as seen last
    std::vector<Ordinal> executed_floors_;                        // at least
    uint64_t segments_ = 0, moves_ = 0;
    uint32_t stalled_for_ = 0; // ops since a stream stalls
    // What may wait for a stream that stalls: values of attributes, work of ordinals. And what may
    // not: by device and event, the op that has recorded it last.
    std::set<int> stalled_attributes_;
    std::set<Ordinal> stalled_ordinals_;
    std::map<std::pair<int, int>, const Op *> free_events_;
    std::unique_ptr<Devices> devices_; // there are none
    Client client_;                    // last: goes first, while payloads are still there

    // Groups seen so far of one read.
    struct Seen {
        std::set<std::pair<int, uint32_t>> rows;           // (name, position)
        std::set<std::tuple<int, bool, Schema>> partition; // (name, of tombstones, schema)
        std::map<int, ComputedRows> computed;              // by name
    };

    void write(const Step &step);
    void write_fitted(const Step &step, Finder known);
    void write_placed(const Step &step, Finder known);
    static bool waits_for_device(const Step &write);
    bool may_write_plainly(const Step &step) const;
    bool copies_there(const Copies &copies, Ordinal ordinal) const;
    std::vector<Bytes> fill_there(Session &session, uint32_t seed);
    bool is_on_device(const std::vector<int> &names) const;
    bool awaits_device() const;
    void let_go(bool awaits_device);
    void stall(const Step &step);
    void count_stalled(const Step &step);
    void placed(Op &op, const Step &step);
    void note_stalls(const Op &op);
    void note_later_stalls();
    void check_goes_on();
    void take(Held &held);
    void look_at(Held &held);
    void look_at_again(Held &held);
    void let_taken_go();
    void remove(const Step &step);
    void map(const Step &step);
    void map_fitted(const Step &step, Finder known);
    void fill(Session &session, uint32_t seed);
    // Of its group alone, or with its end. False: the session has ended.
    bool commit(Session &session, bool ends);
    void end_without_commit(const Session &session);
    void session(const Step &step);
    const std::string &text_of(int prim) const;
    void structure(const Step &step);
    void clone(const Step &step);
    void discard(const Step &step);
    void filter(const Step &step);
    void check_found(const Step &step, ovstage_query_handle_t query,
                     const std::vector<int> &wanted);
    Op *finder_of(const Step &step) const;
    Finder known_of(const Step &step) const;
    static void inherit(Op &op, const Op &producer);
    bool may_change(const Step &step, const Finding &finding) const;
    bool may_make(const Step &step, const Finding &finding) const;
    void find_out(size_t index);
    void find_out_before(const Step &step);
    void keep_found(const Step &step, ovstage_query_handle_t query, Op &op,
                    const std::vector<int> &prims);
    void lookup(const Step &step);
    void compute(const Step &step);
    void wait_computed(const std::vector<int> &asked);
    void advance(const Step &step);
    void task(const Step &step);
    void read(const Step &step, const Snapshot *snapshot = nullptr);
    void open_snapshot(const Step &step);
    void snapshot(const Step &step);
    void moment(const Step &step);
    Ordinal oldest();
    void finish(Read &read);
    void fetch(uint32_t pick);
    void fetch_all(Read &read);
    void fetch_failed(const Expectation &expectation, ovstage_api_status_t status) const;
    bool may_be_deleted(const Expectation &expectation, size_t n, int prim) const;
    bool is_merged(const Expectation &expectation, int attribute, int prim) const;
    void check_complete(const Expectation &expectation, const Seen &seen) const;
    void check_group(const Expectation &expectation, Held &held, Seen &seen);
    void check_computed_group(const Expectation &expectation, size_t n,
                              const ovstage_read_group_t &group, Seen &seen) const;
    void check_computed(const Expectation &expectation, const Seen &seen) const;
    void check_unsupported(ovstage_enqueue_result_t result, bool is_sealed) const;
    void check_row(const Expectation &expectation, size_t n, const std::optional<Value> &wanted,
                   const Schema &schema, uint32_t position, bool is_delete) const;
    static void check_bytes(const char *name, uint32_t position, const Value &wanted,
                            const uint8_t *data, size_t size);
    void check_meta(const Expectation &expectation, size_t n, const ovstage_read_group_t &group);
    void wait(Op &op);
    void poll(Op &op);
    void release(Op &op);
    void wait_unseen();
    void completed(Op &op, const ovstage_op_wait_result_t &out);
    void let_go_of_payloads(Op &op);
    bool among_errors(const Op &op, const ovstage_op_wait_result_t &out) const;
    void wait_all(uint32_t pick);
    void wait_floor(const Step &step);
    void check_held(uint32_t pick);
    void floor(const Step &step);
    void wait_step(const Step &step);
    void new_query(size_t index);
    void step(const Step &step);
    void look_at_segments();
    void close();

    Expectation expect(const Step &step, const Snapshot *snapshot);
    void expect_kept(Expectation &expectation, int attribute, const Snapshot *snapshot) const;
    void expect_violations(Expectation &expectation, int attribute) const;
    void expect_generations(Expectation &expectation) const;
    Op &accepted(ovstage_enqueue_result_t result, bool fails);
    // A refusal with QUEUE_FULL: allowed where the program asks for a short queue.
    bool is_full(ovstage_api_status_t status) const;
};

} // namespace model

#endif
