// The parts of the runner: runner.cc (life, writes, floors), runner_read.cc (reads and
// groups), runner_map.cc (maps), runner_structure.cc (clones,
// filters, hierarchy), runner_wait.cc (waits).
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
#include <vector>

#include <ovstage/ovstage.h>
#include <ovx/path_dictionary/path_dictionary.h>

#include "tests/model/model.h"
#include "tests/model/payloads.h"
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
    bool waited = false;   // it was seen to be complete
    bool released = false; // its id
    std::optional<size_t> task;
    std::vector<std::pair<int, Ordinal>> seals; // attributes whose floors it raises
    std::vector<std::unique_ptr<Payload>> payloads;
    std::vector<std::pair<std::shared_ptr<Fate>, bool>> fates; // true: may be adopted
};

// A row of a group.
struct Row {
    uint32_t position; // in the query
    const uint8_t *data;
    size_t size;
};

// All that a group shows, one row after the other.
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
    bool fetched_at_once = false;
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
};

// An open map.
struct Session {
    ovstage_map_handle_t handle = 0;
    size_t op = 0; // that opened it
    ovstage_api_status_t status = OVSTAGE_OK;
    const Step *step = nullptr;
    std::vector<int> prims;
    Entry entry; // that a commit writes
    ovstage_map_group_t group{};
    enum { open, filled, committed } phase = open;
};

struct Held {
    ovstage_read_group_t group;
    Bytes bytes;
};

// Sealed versions before the newest that a program's instance keeps in any case.
inline uint32_t kept_versions(const Program &program)
{
    return program.settings.history_bytes ? program.settings.history_versions : 0;
}

// Attributes that a step names.
std::set<int> attributes_of(const Step &step);

// What a map step says to the model: all its prims, without bytes.
Entry entry_of_map(const Step &step, const std::vector<int> &prims);

// What a write step says to the model, and with what it must be refused whatever the model says.
std::vector<Entry> entries_of(const Step &step, const std::vector<int> &prims);
std::set<ovstage_api_status_t> refusals(const Step &step, const std::vector<int> &prims);

// An instance with the tokens, paths and queries of a program.
class Client
{
  public:
    Client(const Program &program, uint32_t workers);
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client();
    void make_query(size_t index);
    ovstage_query_handle_t list_query(const std::vector<int> &of) const;
    // The number of the prim with this path; of a new one the next.
    int prim_of(const std::string &text);
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
    ovstage_enqueue_result_t write(const Step &step, Op &op, std::string &text) const;
    ovstage_enqueue_result_t remove(const Step &step) const;
    ovstage_enqueue_result_t map(const Step &step, ovstage_map_handle_t *handle) const;
    // Checks that the group is that of a fresh session, and fills it: what it will commit.
    std::map<int, Bytes> fill(const ovstage_map_group_t &group, const std::vector<int> &prims,
                              const Step &map, const Schema &schema, uint32_t seed) const;
    // The rows of a group with their positions in the query, and its schema (of a group of
    // tombstones only kind and role); checks what every group must be.
    std::vector<Row> rows_of(const ovstage_read_group_t &group, const std::vector<int> &prims,
                             Schema &schema) const;

    const Program &program;
    ovstage_instance_t *instance = nullptr;
    path_dictionary_instance_t *dictionary = nullptr;
    std::vector<ovx_token_t> tokens;
    std::vector<ovx_primpath_t> paths; // by prim
    std::vector<std::string> path_texts;
    std::map<std::string, int> prim_by_path;            // by path
    std::vector<ovstage_query_handle_t> queries, found; // found: of the slots that filters fill
    std::vector<std::vector<int>> found_prims;
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
    std::vector<std::shared_ptr<Fate>> fates_;
    bool quiet_ = true;                                           // everything accepted is complete
    std::map<int, std::pair<Model::Topology, uint64_t>> layouts_; // by attribute, as seen last
    std::vector<Ordinal> executed_floors_;                        // at least
    Client client_; // last: goes first, while payloads are still there

    // Groups seen so far of one read.
    struct Seen {
        std::set<std::pair<int, uint32_t>> rows;           // (name, position)
        std::set<std::tuple<int, bool, Schema>> partition; // (name, of tombstones, schema)
    };

    void write(const Step &step);
    void remove(const Step &step);
    void map(const Step &step);
    void fill(Session &session, uint32_t seed);
    // Of its group alone, or with its end. False: the session has ended.
    bool commit(Session &session, bool ends);
    void end_without_commit(const Session &session);
    void session(const Step &step);
    const std::string &text_of(int prim) const;
    int find_prim(const std::string &text) const; // below 0: none that was ever named
    void clone(const Step &step);
    void filter(const Step &step);
    void check_found(ovstage_query_handle_t query, const std::vector<int> &wanted);
    bool matches(const Step &step, int prim, const std::string &named) const;
    std::vector<int> listed(ovstage_query_handle_t query);
    void lookup(const Step &step);
    std::vector<int> related(int prim, uint32_t relation) const;
    void advance(const Step &step);
    void task(const Step &step);
    void read(const Step &step);
    void finish(Read &read);
    void fetch_all(Read &read);
    void fetch_failed(const Expectation &expectation, ovstage_api_status_t status) const;
    bool may_be_deleted(const Expectation &expectation, size_t n, int prim) const;
    void check_complete(const Expectation &expectation, const Seen &seen) const;
    void check_group(const Expectation &expectation, const ovstage_read_group_t &group, Seen &seen);
    void check_row(const Expectation &expectation, size_t n, const std::optional<Value> &wanted,
                   const Schema &schema, const Row &row, bool is_delete) const;
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
    void step(const Step &step);
    void close();

    Expectation expect(const Step &step);
    void expect_violations(Expectation &expectation, int attribute) const;
    void expect_generations(Expectation &expectation) const;
    Op &accepted(ovstage_enqueue_result_t result, bool fails);
    // A refusal with QUEUE_FULL: allowed where the program asks for a short queue.
    bool is_full(ovstage_api_status_t status) const;
};

} // namespace model

#endif
