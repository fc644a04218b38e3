// What the client of a program has on devices: the simulated driver, streams that may stall,
// events, the sources of its writes, and what it has read back.
#ifndef FR_TESTS_MODEL_DEVICES_H
#define FR_TESTS_MODEL_DEVICES_H

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include "tests/model/program.h"
#include "tests/sim/sim.h"

namespace model
{

// Memory of a device.
struct Extent {
    fr_cu_device_ptr address;
    size_t size;
};

// What a kernel of the client's moves between extents and bytes here, where they are one after the
// other. Must stay until it has run.
struct Moved {
    std::vector<Extent> extents;
    Bytes bytes;
};

class Devices
{
  public:
    static constexpr int count = 2, streams = 4, events = 3; // streams and events: of each

    // The orders in which work runs are the seed's.
    explicit Devices(uint64_t seed);
    Devices(const Devices &) = delete;
    Devices &operator=(const Devices &) = delete;
    ~Devices();

    ovstage_placement_t placement(const Placing &placing) const;
    // A source of a write, with rows that its stream writes.
    fr_cu_device_ptr give(const Bytes &rows, const Origin &origin);
    // Rows are written over what is there, which stays until they are.
    void fill(const std::vector<Extent> &to, const Bytes &rows, const Origin &origin);
    // For who reads what was given or filled last.
    ovstage_cuda_sync_t sync(const Origin &origin);
    // Other bytes are written over a source of a write, or a part of one, behind its event if it
    // has one.
    void scribble(const Extent &part, int device, const Placing &placing);
    // Begins to read what a group shows, behind the event if there is one. It is there after
    // wait_for_taken, and the group must stay until then.
    std::shared_ptr<Moved> take(const std::vector<Extent> &from, const Placing &placing);
    void wait_for_taken();

    void stall(uint32_t pick);
    void let_run(uint32_t pick);
    void let_all_run();
    bool has_stalled() const
    {
        return !stalled_.empty();
    }
    // Whether what a step puts on devices may have to wait for a stream that stalls: it is marked
    // what may, and so is what comes behind that.
    bool may_stall(const Step &step) const;
    void mark(const Placing &placing);
    // Whether the event's record is done, when all has run that can run.
    bool is_done(const Placing &placing) const;

    // All that the client has put into its streams is done.
    void finish();
    // When the instance is gone: what the simulator has to say, or nothing.
    std::string faults();
    // What it has to say so far.
    static std::string reports();

  private:
    struct Device {
        fr_cu_context context = nullptr;
        fr_cu_function give = nullptr, take = nullptr;
        std::vector<fr_cu_stream> streams;
        std::vector<fr_cu_event> events;
        fr_cu_stream reader = nullptr;
    };
    struct Source {
        fr_cu_device_ptr address; // 0: bytes alone
        fr_cu_event produced;
        std::unique_ptr<Moved> moved;
    };

    const fr_cuda_driver *cu_;
    std::mt19937_64 random_;
    std::vector<Device> devices_;
    std::vector<fr_cu_stream> all_, holders_;
    std::vector<size_t> stalled_;   // of all_
    std::set<const void *> marked_; // streams and events
    std::vector<Source> sources_;
    std::vector<std::shared_ptr<Moved>> taken_;
    uint64_t alive_ = 0;

    void open(int number);
    const Device &enter(int number) const;
    fr_cu_stream stream(const std::string &name) const;
    fr_cu_event event() const;
    fr_cu_event record(fr_cu_stream stream);
    void copy(fr_cu_function kernel, fr_cu_stream stream, Moved &moved) const;
    void wait_for(fr_cu_stream stream, const Placing &placing);
    fr_cu_event event_of(const Placing &placing) const;
    fr_cu_stream stream_of(int device, int stream) const;
};

} // namespace model

#endif
