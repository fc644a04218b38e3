#include "tests/model/devices.h"

#include <algorithm>
#include <cstring>

#include "cuda/process.h"
#include "runtime/device/provider.h"
#include "tests/model/runner_parts.h"

namespace model
{

namespace
{

void ok(fr_cu_result result, const char *what)
{
    if (result != FR_CU_SUCCESS)
        fail("the client's ", what, " answers ", result);
}

Moved &moved_by(void **arguments)
{
    uint64_t address;
    std::memcpy(&address, arguments[0], sizeof(address));
    return *reinterpret_cast<Moved *>(address);
}

void give_kernel(fr_sim_launch *launch, void **arguments)
{
    const Moved &given = moved_by(arguments);
    const uint8_t *from = given.bytes.data();
    for (const Extent &extent : given.extents) {
        if (void *to = fr_sim_write(launch, extent.address, extent.size))
            std::memcpy(to, from, extent.size);
        from += extent.size;
    }
}

void take_kernel(fr_sim_launch *launch, void **arguments)
{
    Moved &taken = moved_by(arguments);
    uint8_t *to = taken.bytes.data();
    for (const Extent &extent : taken.extents) {
        if (const void *from = fr_sim_read(launch, extent.address, extent.size))
            std::memcpy(to, from, extent.size);
        to += extent.size;
    }
}

// Without extents that are empty, which have no memory.
Moved moved_of(const std::vector<Extent> &extents)
{
    Moved moved;
    size_t size = 0;
    for (const Extent &extent : extents) {
        size += extent.size;
        if (extent.size > 0)
            moved.extents.push_back(extent);
    }
    moved.bytes.resize(size);
    return moved;
}

fr_sim_options options_of(uint64_t seed)
{
    fr_sim_options options = fr_sim_default_options();
    options.device_count = Devices::count;
    options.seed = seed;
    options.no_peer_access = seed % 3 == 2;
    options.mode = seed % 4 == 0 ? FR_SIM_LAZY : seed % 16 == 1 ? FR_SIM_EAGER : FR_SIM_RANDOM;
    return options;
}

template <typename Item> Item &number(std::vector<Item> &items, int pick)
{
    return items[static_cast<size_t>(pick) % items.size()];
}
template <typename Item> const Item &number(const std::vector<Item> &items, int pick)
{
    return items[static_cast<size_t>(pick) % items.size()];
}

} // namespace

Devices::Devices(uint64_t seed) : cu_(fr_sim_driver()), random_(seed)
{
    const uint32_t sizes[] = {sizeof(uint64_t)};
    const fr_sim_options options = options_of(seed);
    fr_sim_open(&options);
    if (!fr_sim_register_kernel("model_give", give_kernel, 1, sizes) ||
        !fr_sim_register_kernel("model_take", take_kernel, 1, sizes) || !fr_device_provider ||
        !fr_cuda_use_driver(cu_))
        fail("the simulated driver cannot be used");
    ok(cu_->cuInit(0), "cuInit");
    for (int device = 0; device < count; device++)
        open(device);
    enter(0);
    alive_ = fr_sim_check_leaks(false);
}

void Devices::open(int number)
{
    fr_cu_module module = nullptr;
    Device made;
    ok(cu_->cuDevicePrimaryCtxRetain(&made.context, number), "cuDevicePrimaryCtxRetain");
    ok(cu_->cuCtxSetCurrent(made.context), "cuCtxSetCurrent");
    ok(cu_->cuModuleLoadDataEx(&module, ".version 7.0\n", 0, nullptr, nullptr),
       "cuModuleLoadDataEx");
    ok(cu_->cuModuleGetFunction(&made.give, module, "model_give"), "cuModuleGetFunction");
    ok(cu_->cuModuleGetFunction(&made.take, module, "model_take"), "cuModuleGetFunction");
    const std::string of = " of " + std::to_string(number);
    for (int k = 0; k < streams; k++) {
        made.streams.push_back(stream("client " + std::to_string(k) + of));
        all_.push_back(made.streams.back());
        holders_.push_back(stream("holder " + std::to_string(k) + of));
    }
    made.reader = stream("reader" + of);
    for (int k = 0; k < events; k++)
        made.events.push_back(event());
    devices_.push_back(made);
}

Devices::~Devices()
{
    (void)fr_cuda_use_driver(nullptr);
    fr_sim_close();
}

// Its context is current from here on.
const Devices::Device &Devices::enter(int pick) const
{
    const Device &device = number(devices_, pick);
    ok(cu_->cuCtxSetCurrent(device.context), "cuCtxSetCurrent");
    return device;
}

fr_cu_stream Devices::stream(const std::string &name) const
{
    fr_cu_stream made = nullptr;
    ok(cu_->cuStreamCreateWithPriority(&made, FR_CU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
    fr_sim_name_stream(made, name.c_str());
    return made;
}

fr_cu_event Devices::event() const
{
    fr_cu_event made = nullptr;
    ok(cu_->cuEventCreate(&made, FR_CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    return made;
}

fr_cu_event Devices::record(fr_cu_stream stream)
{
    fr_cu_event made = event();
    if (marked_.count(stream) != 0)
        marked_.insert(made);
    ok(cu_->cuEventRecord(made, stream), "cuEventRecord");
    return made;
}

void Devices::copy(fr_cu_function kernel, fr_cu_stream stream, Moved &moved) const
{
    if (moved.extents.empty())
        return;
    auto address = reinterpret_cast<uint64_t>(&moved);
    void *arguments[] = {&address};
    ok(cu_->cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr),
       "cuLaunchKernel");
}

fr_cu_event Devices::event_of(const Placing &placing) const
{
    if (!placing.is_given || placing.event < 0)
        return nullptr;
    return number(number(devices_, placing.device).events, placing.event);
}

fr_cu_stream Devices::stream_of(int device, int stream) const
{
    return stream < 0 ? nullptr : number(number(devices_, device).streams, stream);
}

void Devices::wait_for(fr_cu_stream stream, const Placing &placing)
{
    fr_cu_event event = event_of(placing);
    if (!event)
        return;
    ok(cu_->cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent");
    if (marked_.count(event) != 0)
        marked_.insert(stream);
}

ovstage_placement_t Devices::placement(const Placing &placing) const
{
    ovstage_placement_t made = OVSTAGE_PLACEMENT_INIT;
    made.device = {kDLCUDA, placing.device % count};
    made.stream = reinterpret_cast<uintptr_t>(stream_of(placing.device, placing.stream));
    made.availability_event = reinterpret_cast<uintptr_t>(event_of(placing));
    return made;
}

fr_cu_device_ptr Devices::give(const Bytes &rows, const Origin &origin)
{
    const Device &device = enter(origin.device);
    fr_cu_stream stream = number(device.streams, origin.stream);
    fr_cu_device_ptr address = 0;
    ok(cu_->cuMemAlloc(&address, rows.size()), "cuMemAlloc");
    fr_sim_name_memory(address, "source");
    sources_.push_back({address, nullptr, std::make_unique<Moved>()});
    *sources_.back().moved = {{{address, rows.size()}}, rows};
    copy(device.give, stream, *sources_.back().moved);
    sources_.back().produced = record(stream);
    return address;
}

void Devices::fill(const std::vector<Extent> &to, const Bytes &rows, const Origin &origin)
{
    const Device &device = enter(origin.device);
    fr_cu_stream stream = number(device.streams, origin.stream);
    sources_.push_back({0, nullptr, std::make_unique<Moved>(moved_of(to))});
    sources_.back().moved->bytes = rows;
    copy(device.give, stream, *sources_.back().moved);
    sources_.back().produced = record(stream);
}

ovstage_cuda_sync_t Devices::sync(const Origin &origin)
{
    const Device &device = enter(origin.device);
    fr_cu_stream stream = number(device.streams, origin.stream);
    ovstage_cuda_sync_t sync{};
    if (origin.awaits == Awaits::nothing && !has_stalled()) {
        ok(cu_->cuStreamSynchronize(stream), "cuStreamSynchronize");
        return sync;
    }
    if (origin.awaits != Awaits::event)
        sync.stream = reinterpret_cast<uintptr_t>(stream);
    if (origin.awaits != Awaits::stream) {
        sync.wait_event = reinterpret_cast<uintptr_t>(sources_.back().produced);
    }
    return sync;
}

void Devices::scribble(const Extent &part, int number_of_device, const Placing &placing)
{
    const Device &device = enter(number_of_device);
    fr_cu_stream stream = device.streams[random_() % device.streams.size()];
    wait_for(stream, placing);
    const auto has_part = [&](const Source &one) {
        return one.address != 0 && one.address <= part.address &&
               part.address + part.size <= one.address + one.moved->bytes.size();
    };
    const auto made = std::find_if(sources_.begin(), sources_.end(), has_part);
    ok(cu_->cuStreamWaitEvent(stream, made->produced, 0), "cuStreamWaitEvent");
    if (marked_.count(made->produced) != 0)
        marked_.insert(stream);
    sources_.push_back({0, nullptr, std::make_unique<Moved>(moved_of({part}))});
    std::fill(sources_.back().moved->bytes.begin(), sources_.back().moved->bytes.end(),
              uint8_t{0xEE});
    copy(device.give, stream, *sources_.back().moved);
}

std::shared_ptr<Moved> Devices::take(const std::vector<Extent> &from, const Placing &placing)
{
    const Device &device = enter(placing.device);
    auto taken = std::make_shared<Moved>(moved_of(from));
    wait_for(device.reader, placing);
    copy(device.take, device.reader, *taken);
    taken_.push_back(taken);
    return taken;
}

void Devices::wait_for_taken()
{
    if (taken_.empty())
        return;
    let_all_run();
    for (const Device &device : devices_)
        ok(cu_->cuStreamSynchronize(device.reader), "cuStreamSynchronize");
    taken_.clear();
}

// By a wait for a stream of its own that is held: what was put into it before goes on.
void Devices::stall(uint32_t pick)
{
    const size_t index = pick % all_.size();
    if (std::find(stalled_.begin(), stalled_.end(), index) != stalled_.end())
        return;
    enter(static_cast<int>(index / streams));
    fr_sim_hold(holders_[index], true);
    sources_.push_back({0, record(holders_[index]), nullptr});
    ok(cu_->cuStreamWaitEvent(all_[index], sources_.back().produced, 0), "cuStreamWaitEvent");
    stalled_.push_back(index);
    marked_.insert(all_[index]);
}

void Devices::let_run(uint32_t pick)
{
    if (stalled_.empty())
        return;
    const auto at = static_cast<std::ptrdiff_t>(pick % stalled_.size());
    const size_t index = stalled_[static_cast<size_t>(at)];
    fr_sim_hold(holders_[index], false);
    // Or it would be held again with what stalls the same stream later.
    enter(static_cast<int>(index / streams));
    ok(cu_->cuStreamSynchronize(holders_[index]), "cuStreamSynchronize");
    stalled_.erase(stalled_.begin() + at);
    if (stalled_.empty())
        marked_.clear();
}

void Devices::let_all_run()
{
    while (!stalled_.empty())
        let_run(static_cast<uint32_t>(random_()));
}

bool Devices::may_stall(const Step &step) const
{
    const auto is_marked = [&](const void *one) { return marked_.count(one) != 0; };
    const Placing &placing = step.placing;
    return is_marked(event_of(placing)) || is_marked(stream_of(placing.device, placing.stream)) ||
           std::any_of(step.entries.begin(), step.entries.end(), [&](const EntryStep &entry) {
               return entry.origin.on_device &&
                      is_marked(stream_of(entry.origin.device, entry.origin.stream));
           });
}

void Devices::mark(const Placing &placing)
{
    marked_.insert(event_of(placing));
    marked_.insert(stream_of(placing.device, placing.stream));
    marked_.erase(nullptr);
}

bool Devices::is_done(const Placing &placing) const
{
    enter(placing.device);
    return cu_->cuEventQuery(event_of(placing)) == FR_CU_SUCCESS;
}

void Devices::finish()
{
    let_all_run();
    for (fr_cu_stream stream : all_)
        ok(cu_->cuStreamSynchronize(stream), "cuStreamSynchronize");
}

std::string Devices::reports()
{
    std::string all;
    for (uint64_t k = 0; fr_sim_report(k) && k < 5; k++)
        all += std::string("\n") + fr_sim_report(k);
    return all;
}

std::string Devices::faults()
{
    let_all_run();
    std::string all;
    if (!fr_sim_drain())
        all = "work of the devices is left that cannot run";
    all += reports();
    if (!all.empty())
        return all; // a device may be lost
    for (const Source &source : sources_) {
        if (source.address != 0)
            ok(cu_->cuMemFree(source.address), "cuMemFree");
        if (source.produced)
            ok(cu_->cuEventDestroy(source.produced), "cuEventDestroy");
    }
    sources_.clear();
    fr_cuda_give_back(); // what the process keeps is no stage's
    const uint64_t alive = fr_sim_check_leaks(false);
    if (alive != alive_) {
        (void)fr_sim_check_leaks(true);
        all = std::to_string(alive) + " objects are left, must be " + std::to_string(alive_);
        all += reports();
    }
    return all;
}

} // namespace model
