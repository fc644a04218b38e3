// Programs from bytes: each byte string is a sequence of public calls, good ones and bad ones. What
// must hold of any of them is demanded on the way; what does not ends the process.
#ifndef FR_TESTS_CONTRACT_FUZZ_CASES_H
#define FR_TESTS_CONTRACT_FUZZ_CASES_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <flyrail/flyrail.h>
#include <ovstage/ovalign.h>
#include <ovx/path_dictionary/path_dictionary.h>

namespace fuzz
{

// Ends the process, with what was running and its bytes, unless it holds.
void demand(bool holds, const char *what, uint64_t value = 0);
// Said by demand when it fails: the call, and how to run the program again.
void running(const char *call);
void program(const std::string &how);

// Taken one after the other; behind the end all are 0.
class Bytes
{
  public:
    Bytes(const uint8_t *from, size_t count) : at_(from), end_(from + count)
    {
    }
    bool over() const
    {
        return at_ == end_;
    }
    uint8_t byte()
    {
        return over() ? uint8_t(0) : *at_++;
    }
    uint32_t below(uint32_t count)
    {
        return count < 2 ? 0 : byte() % count;
    }
    // Rare things are so behind the end, too.
    bool once_in(uint32_t count)
    {
        return below(count) == count - 1;
    }
    uint64_t number(); // small, or next to a power of two
    std::vector<uint8_t> piece(size_t most);

  private:
    const uint8_t *at_, *end_;
};

// Where an instance gets its memory: counted, bounded, and failing where it is told.
class Heap
{
  public:
    void *allocate(size_t size_bytes, size_t alignment_bytes);
    void release(void *memory, size_t size_bytes);
    void fail(uint64_t k, bool ever_after); // the k-th from now on; 0: none
    // Whether it came to that.
    bool failed() const
    {
        return failed_;
    }
    std::atomic<int64_t> live_bytes{0};

  private:
    std::atomic<uint64_t> calls_{0}, fail_at_{0};
    std::atomic<bool> ever_after_{false}, failed_{false};
};

enum class Kind { query, read, map, ordinal, hierarchy, snapshot, event, op, list, end };
constexpr size_t kinds = static_cast<size_t>(Kind::end);

// A column's layout.
struct Schema {
    DLDataType dtype;
    ovstage_attribute_semantic_t semantic;
    bool array;
};

struct Attribute {
    const char *name;
    Schema schema;
};
extern const Attribute attributes[];
extern const size_t attribute_count;

struct Group {
    ovstage_read_group_t group;
    uint64_t sum; // of all that it shows
};

struct Map {
    ovstage_map_handle_t handle = 0;
    std::vector<ovstage_map_group_t> groups;
};

class Client;

// The work of a task, or of a deleter.
struct Work {
    class World *world;
    std::vector<uint8_t> bytes;
    ovstage_api_status_t status;
};

// How a program is run.
struct Way {
    uint32_t workers = 0;
    bool two_clients = false, lends_a_thread = false, tidies_up = true, fails_ever_after = false;
    uint64_t fails_at = 0;
};

// What the clients of one instance share. No call is made under its lock.
class World
{
  public:
    World(const Way &way, Bytes *settings);
    World(const World &) = delete;
    World &operator=(const World &) = delete;
    ~World();

    // One that was handed out and is in nobody's hands, or nothing.
    bool take(Group *out);
    bool take(Map *out);
    bool take(ovstage_query_result_t *out);
    bool take(ovstage_hierarchy_result_t *out);
    void put(const Group &group);
    void put(const Map &map);
    void put(const ovstage_query_result_t &result);
    void put(const ovstage_hierarchy_result_t &result);

    // Handed out, and given back: of each handle there is one release that succeeds.
    void made(Kind kind, uint64_t handle, uint32_t count = 0);
    void gone(Kind kind, uint64_t handle);
    bool claim(uint64_t list); // the client's own reference, to be given back by who claims it
    uint64_t handle(Kind kind, uint32_t number);
    uint32_t count_of(uint64_t query); // prims, as far as known
    Work *keep(std::vector<uint8_t> bytes, ovstage_api_status_t status);
    void end(); // releases everything, and looks at what is left

    Heap heap;
    ovstage_instance_t *instance = nullptr;
    path_dictionary_instance_t *dictionary = nullptr;
    std::vector<ovx_token_t> tokens;
    std::vector<ovx_primpath_t> paths;
    std::atomic<int64_t> managed{0}, initialized{0};
    std::atomic<bool> dying{false}; // what is called from now on may be refused
    uint32_t stop_lending = 0;

  private:
    friend class Client;
    uint64_t ending(Kind kind);
    void end_handles(Client *client);
    void end_ops(Client *client);
    template <typename T> bool take(std::deque<T> &from, T *out);

    std::mutex lock_;
    Way way_;
    std::map<uint64_t, int> live_[kinds];
    std::vector<uint64_t> recent_[kinds];
    std::map<uint64_t, uint32_t> counts_;
    std::deque<Group> groups_;
    std::deque<Map> maps_;
    std::deque<ovstage_query_result_t> results_;
    std::deque<ovstage_hierarchy_result_t> relatives_;
    std::deque<Work> work_;
};

// A payload in all its parts. What the call copies is spoilt when it is over.
struct Payload {
    std::vector<std::unique_ptr<int64_t[]>> numbers;
    std::vector<DLTensor> tensors;
    std::vector<const DLManagedTensorVersioned *> managed;
    std::vector<uint32_t> index_map;
    std::vector<uint64_t> mask;
    ovstage_write_data_t data;
    void spoil();
};

// One that no call was given.
void forget_managed(const DLManagedTensorVersioned *tensor);

// One thread's calls.
class Client
{
  public:
    Client(World *world, Bytes bytes, uint32_t depth) : world_(*world), bytes_(bytes), depth_(depth)
    {
    }
    void run();

  private:
    friend class World;
    // Answers and what must be so of each.
    bool ok(ovstage_api_status_t status);
    bool ok(ovstage_enqueue_result_t result);
    // The handle is looked at when the call has been made.
    bool made(ovstage_enqueue_result_t result, Kind kind, const uint64_t &handle,
              uint32_t count = 0);
    bool gone(ovstage_enqueue_result_t result, Kind kind, uint64_t handle);
    bool dictionary_ok(ovx_api_result_t result);

    // Arguments.
    uint64_t handle(Kind kind);
    ovstage_ordinal_t ordinal();
    ovstage_timeout_ns_t timeout(bool may_be_infinite);
    size_t attribute();
    ovx_token_t token();
    ovx_string_or_token_t name(size_t attribute);
    ovx_string_t text();
    std::vector<ovx_token_t> tokens();
    std::vector<ovstage_op_id_t> ops();
    Schema schema(size_t attribute);
    void payload(const Schema &schema, uint32_t count, Payload *out);
    void tensor(const Schema &schema, int64_t rows, DLTensor *out, Payload *into);
    void manage(const DLTensor &tensor, Payload *out);
    void rows_of(uint32_t count, Payload *out);

    // Calls.
    void write();
    void write_batch();
    void write_rows();
    void discard();
    void remove();
    void clone();
    void map();
    void map_fetch();
    void map_commit();
    void seal();
    void floor_query();
    void floor_fetch();
    void query_list();
    void query_filter();
    void query_fetch();
    void query_release();
    void read();
    void read_fetch();
    void read_release();
    void group_release();
    void snapshot_open();
    void snapshot_read();
    void snapshot_close();
    void hierarchy();
    void hierarchy_fetch();
    void compute();
    void wait();
    void wait_many();
    void wait_for_what_is_there();
    void op_release();
    void task();
    void parallel();
    void run_ops();
    void event_open();
    void event_on();
    void event_close();
    void explain();
    void trace();
    void statistics();
    void align();
    void dictionary_names();
    void dictionary_lists();
    void process();
    void instance();
    void odds();
    void failing();

    bool show(const ovstage_read_group_t &group, uint64_t *sum);
    void look(const ovstage_prim_group_t &prims);
    void text_of(ovx_string_t text, uint64_t status = 0);

    World &world_;
    Bytes bytes_;
    uint32_t depth_;
    uint64_t last_id_ = 0;
    uint64_t base_ = 0;
};

// Runs it; answers whether an allocation failed that was to.
bool run(const uint8_t *bytes, size_t count, const Way &way);

} // namespace fuzz

// The same for libFuzzer: the first bytes say how.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#endif
