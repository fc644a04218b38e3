// The parts of a run with several clients: client_thread.cc (what each of them does and sees),
// client_found.cc (with its filters),
// judge.cc, judge_reads.cc and judge_hierarchy.cc (whether that is right), concurrent.cc (all of it
// together).
#ifndef FR_TESTS_MODEL_CONCURRENT_PARTS_H
#define FR_TESTS_MODEL_CONCURRENT_PARTS_H

#include <deque>

#include "tests/model/runner_parts.h"

namespace model
{

struct SeenRow {
    Schema schema;
    Bytes bytes;
    Ordinal floor = 0; // that the group says
    bool is_delete = false;

    // Whether that is it. Of a tombstone only kind and role are told.
    bool is(const std::optional<Value> &value) const
    {
        if (!value || value->is_delete != is_delete)
            return false;
        return is_delete ? value->schema.semantic == schema.semantic &&
                               value->schema.is_array == schema.is_array
                         : value->schema == schema && value->bytes == bytes;
    }
};

// One accepted call, or a refused one (id 0).
struct Event {
    ovstage_op_id_t id = 0;
    const Step *step = nullptr;
    Ordinal ordinal = 0;                      // the step's; of a snapshot its moment
    ovstage_api_status_t status = OVSTAGE_OK; // of the call; of a read: what the fetch ended with
    std::string text;
    bool failed = false; // the op did
    std::unique_ptr<Op> op;
    std::vector<ovx_primpath_t> paths; // of its query; of a filter: what it found
    bool by_filter = false;            // its query is a filter's
    const Event *finder = nullptr; // the filter of its query, if that may have been under way: it
                                   // has the paths
    std::map<std::pair<int, uint32_t>, SeenRow> rows; // of a read: by (name, position)
    const Event *opened = nullptr;                    // the map, or the snapshot, that it is of
    bool is_filled = false;                           // a map's group was fetched
    Schema schema;                                    // and has this, but for its role
    std::vector<Bytes> filled;                        // a commit's, by position
    ovstage_op_id_t from = 0; // a read of computed columns: all before this one had run
    // That, a filter, a lookup, a computation: it was complete before this one.
    ovstage_op_id_t until = 0;
    ovstage_op_id_t begun = 0; // of a read of world transforms: the call came after all before this
    std::unique_ptr<Step> fitted;    // that it was submitted as
    std::vector<const Event *> deps; // of a task
    std::vector<Ordinal> floors;     // a snapshot: those accepted (set by the judge)
    Ordinal input = 0;               // of a computation
    std::vector<Related> related;    // of a lookup: an item for each path
};

// What one client does, and sees.
class ThreadBody
{
  public:
    ThreadBody(const Client &client, Tasks &tasks, uint32_t first, uint32_t step);
    void run();
    void act(const Step &step);
    void wait_all();

    std::deque<Event> events;
    std::string failure;

  private:
    struct Mapped {
        ovstage_map_handle_t handle;
        Event *event;
        ovstage_map_group_t group{};
        std::vector<Bytes> filled;
        enum { open, ready, committed } phase = open;
    };
    struct Opened {
        flyrail_snapshot_t handle;
        const Event *event;
    };

    const Client &client_;
    Tasks &tasks_;
    uint32_t first_, step_;
    std::vector<ovstage_query_handle_t> found_; // of the slots that filters fill
    std::vector<std::vector<ovx_primpath_t>> found_paths_;
    std::vector<const Event *>
        finders_;                  // by slot: the filter that nobody waited for before its use
    std::vector<Event *> finding_; // the same, while it is not known what it found
    std::vector<bool> by_filter_;
    size_t found_last_; // prims
    std::vector<Mapped> maps_;
    std::vector<Opened> snapshots_;

    ovstage_query_handle_t query_of(const Step &step) const;
    void ask(const Step &step, Event &event) const;
    const Step &fit(const Step &step, Event &event);
    void find_out(size_t slot);
    void keep_found(size_t slot, ovstage_query_handle_t query);
    bool is_mine(const Step &step, size_t index) const;
    void took(Event &event, ovstage_enqueue_result_t result);
    void write(const Step &step, Event &event);
    void map(const Step &step, Event &event);
    void fill(Mapped &mapped, uint32_t seed);
    bool commit(Mapped &mapped, const Step &step, Event &event);
    void session(const Step &step);
    void clone(const Step &step, Event &event);
    void filter(const Step &step, Event &event);
    void lookup(const Step &step, Event &event);
    bool executed_floor(int name, Ordinal *floor) const;
    void compute(const Step &step);
    ovstage_op_id_t next_id() const;
    void task(const Step &step, Event &event);
    void read(const Step &step, Event &event, flyrail_snapshot_t snapshot = 0);
    ovstage_op_id_t see_all() const;
    void open_snapshot(const Step &step);
    void snapshot(const Step &step);
    void fetch(ovstage_read_handle_t handle, const Step &step, Event &event);
    void wait(Event &event);
    void wait_last();
};

// Replays what was accepted, in the order of the ids.
class Judge
{
  public:
    Judge(Client &client, Tasks &tasks)
        : client_(client), program_(client.program), tasks_(tasks),
          model_(attribute_count, recorded_attribute_count)
    {
    }
    void replay(std::vector<Event *> events);
    // A refused call has no place in the order: what it was refused for must have come true at
    // some time.
    void check_refused(const Event &event);

  private:
    struct Unsettled {
        const Event *event;
        int attribute, prim;
        const SeenRow *seen;
    };
    struct FailedRead {
        const Event *event;
        bool may_be_gone;
        std::vector<int> open; // attributes that it read above their accepted floors
    };
    // What a read shows of a world transform goes by the computations that had run.
    struct DerivedRow {
        const Event *event;
        int prim;
        Ordinal floor;
        const SeenRow *seen;
    };
    // Prims that existed, by what is sealed, all the time that a lookup took, and now and then.
    struct OpenLookup {
        const Event *event;
        std::set<int> always, ever;
    };
    // A filter may have seen what was accepted before it was complete, or not.
    struct OpenFilter {
        const Event *event;
        std::set<int> wanted, touched;
    };

    Client &client_;
    const Program &program_;
    Tasks &tasks_;
    Model model_;
    std::map<const Event *, Entry> maps_; // what a map's commits write
    std::vector<Unsettled> unsettled_;
    std::vector<Unsettled> merged_; // changes that ranges do not show
    std::vector<FailedRead> failed_reads_;
    std::vector<OpenFilter> filters_;
    std::vector<OpenFilter> computed_reads_;    // wanted: prims that exist
    std::map<int, ovstage_op_id_t> touched_at_; // prims, the last time
    ovstage_op_id_t now_ = 0;                   // what is replayed
    std::vector<OpenLookup> lookups_;
    std::vector<DerivedRow> derived_rows_;
    std::vector<const Event *> computed_; // at sealed ordinals, in the order accepted

    std::vector<int> prims_of(const Event &event);
    // Its query's filter failed.
    static bool lacks_a_query(const Event &event)
    {
        return event.finder && event.finder->failed;
    }
    void replay_one(Event &event);
    void must_fail(const Event &event, const Verdict &verdict) const;
    void write(const Event &event);
    void remove(const Event &event);
    void map(const Event &event);
    void commit(const Event &event);
    void clone(const Event &event);
    void task(const Event &event) const;
    void filter(const Event &event);
    void lookup(const Event &event);
    void follow_lookups();
    void check_lookup(const OpenLookup &lookup) const;
    void compute(const Event &event);
    void check_derived_rows() const;
    void touch(const std::vector<int> &prims, const Event *finder = nullptr);
    void close_all(ovstage_op_id_t id);
    void check_filter(const OpenFilter &filter);
    bool is_unsure(const OpenFilter &filter, int prim) const;
    void open_computed(const Event &event);
    void check_computed(const OpenFilter &open);
    void read(const Event &event);
    void row(const Event &event, int n, uint32_t position, int prim, bool settled);
    bool is_changed(const Event &event, int attribute);
    bool may_be_gone(const Event &event);
    void check_unsettled() const;
    void check_failed_reads();
    void allow_write(const Event &event, std::set<ovstage_api_status_t> &allowed);
    void allow_map(const Event &event, std::set<ovstage_api_status_t> &allowed);
};

} // namespace model

#endif
