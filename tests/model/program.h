// Generated programs: what one client thread does with a stage, as data, so that it can be printed,
// run and cut down.
//
// Steps refer to earlier ones by numbers that are taken modulo what is there: any part of a program
// is a program.
#ifndef FR_TESTS_MODEL_PROGRAM_H
#define FR_TESTS_MODEL_PROGRAM_H

#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/model.h"
#include "tests/model/values.h"

namespace model
{

// How the rows of a payload lie.
enum class Layout {
    compact_lanes, // (N) xL
    compact_dims,  // (N, L) x1
    explicit_strides,
    gaps,       // rows apart
    backwards,  // negative row stride
    transposed, // elements of a row apart
    repeated,   // one row for all: a row stride of 0
    last_layout,
};

enum class Owner { client, managed, managed_copied };

// Where device work of a step goes: what the client has, by number.
struct Placing {
    bool is_given = false; // else it is the plain call
    int device = 0;
    int stream = -1, event = -1; // below 0: the stage's own stream, no availability event
};

// What a write is told to wait for, so that rows on a device are there.
enum class Awaits { stream, event, both, nothing, last_awaits }; // nothing: the host has waited

// Rows that a kernel of the client's writes, if they are on a device.
struct Origin {
    bool on_device = false;
    int device = 0, stream = 0;
    Awaits awaits = Awaits::stream;
    bool together = false; // its tensors lie in one memory, without gaps
    bool stalls = false;   // of what fills a session: its stream does before that
};

// What is wrong with an entry, and what it must be answered with.
enum class Defect {
    none,
    map_out_of_range,
    too_few_rows,
    count_above_query,
    map_without_count,
    mask_without_count,
    both_maps,
    no_tensor,
    both_tensors,
    sub_byte,
    cuda_device,
    unknown_device,
    negative_shape,
    no_shape,
    too_wide,       // more lanes than a row may have
    two_tensors,    // for one fixed-size column
    role_storage,   // a role that demands other storage
    role_of_arrays, // a role that only arrays can have
    no_role,        // a number that is no role
    last_defect,
};

struct EntryStep {
    int name = 0;
    Schema schema;
    bool has_map = false, has_mask = false;
    uint32_t count = 0; // as passed: 0 is the query's
    uint32_t rows = 0;  // of the payload
    std::vector<uint32_t> map;
    std::vector<uint64_t> mask;
    Bytes payload;                 // the rows, one after the other
    bool packed = false;           // an array: all rows are one tensor, of one length
    bool fits = false;             // gets as many elements as its query has when it is submitted
    std::vector<uint32_t> lengths; // an array: elements of each row
    Layout layout = Layout::compact_lanes;
    uint32_t offset_bytes = 0; // byte_offset of what comes first
    DLDeviceType device = kDLCPU;
    Owner owner = Owner::client;
    Origin origin;
    Defect defect = Defect::none;

    // Bytes of each row in the payload: where it begins, and, last, where they end.
    std::vector<size_t> row_starts() const;
    // Of so many elements, if it fits; those that are given over and over.
    void fit(uint32_t count);
};

enum class Do {
    write,
    remove, // attributes of prims, or whole prims
    map,    // a session is opened
    fill,   // its group is fetched and filled
    commit, // its group, before its end
    unmap,
    clone,   // a prim and what is below it
    discard, // an ordinal is taken back
    filter,  // a query of a slot is made anew
    lookup,  // of parents, children or siblings
    compute, // world transforms: of the ordinal `start`, at the ordinal
    advance,
    read,
    open_snapshot,
    read_snapshot,
    close_snapshot,
    oldest, // a query for the oldest ordinal of which changes are known exactly
    task,
    wait,    // for one op
    poll,    // one op, without waiting
    release, // one op's id, complete or not
    wait_all,
    wait_floor,
    check,     // a held group is still what it was; then it is released
    fetch,     // the groups of a read that was only enqueued
    floor,     // a floor query
    new_query, // the query's handle is released and made again
    stall,     // a stream of the client's runs nothing more ...
    let_run,   // ... until then, or until somebody waits for what may need it
};

// In place of a number: the session that was opened last.
constexpr uint32_t newest_session = UINT32_MAX;

// What a task does.
enum class Work {
    none, // a joint for what it depends on
    runs,
    fails,
    holds, // does not end before the client waits for something: what follows is judged meanwhile
    last_work,
};

struct Step {
    Do what = Do::wait_all;
    int query = 0; // below 0: of a slot that filters fill, -1 the first
    Ordinal ordinal = 0;
    flyrail_write_mode_t mode = FLYRAIL_WRITE_UPSERT; // of a write, a map
    std::vector<EntryStep> entries;                   // of a write, a map
    bool by_rows = false;                             // a write: its elements are for ...
    std::vector<uint32_t> positions;                  // ... these of the query
    std::vector<Predicate> predicates;                // of a filter
    ovstage_scope_t scope = OVSTAGE_SCOPE_ALL;
    std::vector<int> names; // of an advance, a read, a delete (none: whole prims), a floor query
                            // (none: the global one), a snapshot; a filter reports them
    bool is_range = false;  // a read: from `start` to the ordinal
    Ordinal start = 0;      // also a computation's input
    bool hold = false;      // a read keeps its groups
    bool later = false;     // a read is fetched, a filter's query is found out, by a later step
    bool release_read_first = false;
    Work work = Work::runs;
    bool ordered = false;       // a task with an ordinal
    bool finds_schema = false;  // a map with a zero dtype; else it has the entry's, and its lengths
    std::vector<uint32_t> deps; // of a task: ops, by number; of a clone: its targets
    uint32_t pick = 0;
    Placing placing; // of a write, a read

    std::string text() const;
};

// Of the instance.
struct Settings {
    uint32_t history_versions = 2;
    bool history_bytes = true; // else none are kept but the newest
    bool adopt_managed = false;
    bool caches = true;
    uint32_t op_limit = 0; // 0: by default
    bool own_pool = false; // else the process's

    std::string text() const;
};

struct Program {
    uint64_t seed = 0;
    Settings settings;
    int prim_count = 0;
    std::vector<int> homes; // by attribute: the device where its values lie, below 0: the host;
                            // empty: there are no devices
    std::vector<std::vector<int>> queries;
    std::vector<Step> steps;

    std::string text() const;
};

// Names: several of their own, one column under two, and those that the contract reserves (R139):
// first the recorded ones of them, then the computed ones.
struct Name {
    const char *text;
    int attribute;
};
constexpr int attribute_count = 13, recorded_attribute_count = 9;
constexpr int name_count = 14, recorded_name_count = 10;
constexpr int plain_name_count = 6; // without resets and world transforms
constexpr int local_name = 4, reset_name = 6, world_name = 7;
constexpr int type_name = 8, schemas_name = 9;
constexpr int path_name = 10, parent_name = 11, children_name = 12, active_name = 13;
constexpr int local_attribute = 4, reset_attribute = 5, world_attribute = 6;
constexpr int type_attribute = 7, schemas_attribute = 8;
extern const Name names[name_count];
inline bool is_computed(int name)
{
    return name >= recorded_name_count;
}
// What a column stores that is written so: those that are reserved take NONE for their role; false:
// they cannot be written so (R115).
Schema stored(int name, const Schema &given);
bool is_storable(int name, const Schema &given);

// Prims lie in a tree, so that most have ancestors that are there or not.
std::string path_of(int prim);

// Texts of which payloads hold the tokens.
constexpr int word_count = 7;
extern const char *const words[word_count];

constexpr int filter_slots = 2;

Program generate(uint64_t seed);
// One with values on devices.
Program generate_placed(uint64_t seed);

// Elements that an entry addresses: (element, payload row).
std::vector<std::pair<uint32_t, uint32_t>> elements_of(const EntryStep &entry, size_t query_count);

// It writes, maps or deletes what is computed, or reads or is about what there is not at all (R116,
// R141).
bool is_unsupported(const Step &step);

// What the elements of a write stand for: the prims of its query, or of some positions of it. One
// that the query does not have is left out.
std::vector<int> addressed(const Step &step, const std::vector<int> &prims);

} // namespace model

#endif
