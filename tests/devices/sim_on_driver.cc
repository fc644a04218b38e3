// The control of the simulated driver (tests/sim/sim.h), on the driver of the machine: linked in
// place of the simulator, it lets the tests of tests/placement run there that need no order by
// seed, no failing call and no count of calls. What needs those ends its process as not run, so
// each test has a process of its own. FR_CUDA_LIBRARY names the driver. The simulated one, loaded
// as a library, shows that this works.
//
// A stream is held by a kernel that looks at a word: host functions of several streams may be run
// by one thread. What the library needs of a device at its first use is there before anything is
// held, since making it may wait for the device.
#include <dlfcn.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "cuda/loader.h"
#include "runtime/device/provider.h"
#include "tests/sim/sim_fixture.h"

namespace
{

fr_cuda_library library;
fr_cuda_driver table; // the library's, with some calls watched
std::string client_kernels;
enum { DEVICES = 2, MOST_HELD = 4096 };
std::mutex held_mutex;
std::map<fr_cu_stream, uint32_t> held; // by number
uint32_t held_count;                   // in all: each has a word of its own
std::atomic<uint32_t> *words;          // pinned; not 0: let go
bool is_warm[DEVICES];
fr_cu_function spin[DEVICES];
std::atomic<int64_t> objects; // alive, of all kinds that are watched

fr_cu_result Counted(fr_cu_result result, int change)
{
    if (result == FR_CU_SUCCESS)
        objects += change;
    return result;
}

// The client's module has no text of its own: its kernels are the simulator's C there.
fr_cu_result LoadModule(fr_cu_module *module, const void *image, unsigned int count,
                        fr_cu_jit_option *options, void **values)
{
    bool is_clients = std::strcmp(static_cast<const char *>(image), ".version 7.0\n") == 0;
    return Counted(library.driver.cuModuleLoadDataEx(
                       module, is_clients ? client_kernels.c_str() : image, count, options, values),
                   1);
}

void WatchObjects()
{
    table = library.driver;
    table.cuModuleLoadDataEx = LoadModule;
    table.cuModuleUnload = [](fr_cu_module module) {
        return Counted(library.driver.cuModuleUnload(module), -1);
    };
    table.cuStreamCreateWithPriority = [](fr_cu_stream *out, unsigned int flags, int priority) {
        return Counted(library.driver.cuStreamCreateWithPriority(out, flags, priority), 1);
    };
    table.cuStreamDestroy = [](fr_cu_stream stream) {
        return Counted(library.driver.cuStreamDestroy(stream), -1);
    };
    table.cuEventCreate = [](fr_cu_event *out, unsigned int flags) {
        return Counted(library.driver.cuEventCreate(out, flags), 1);
    };
    table.cuEventDestroy = [](fr_cu_event event) {
        return Counted(library.driver.cuEventDestroy(event), -1);
    };
    table.cuMemAlloc = [](fr_cu_device_ptr *out, size_t size_bytes) {
        return Counted(library.driver.cuMemAlloc(out, size_bytes), 1);
    };
    table.cuMemFree = [](fr_cu_device_ptr address) {
        return Counted(library.driver.cuMemFree(address), -1);
    };
    table.cuMemAllocFromPoolAsync = [](fr_cu_device_ptr *out, size_t size_bytes,
                                       fr_cu_memory_pool pool, fr_cu_stream stream) {
        return Counted(library.driver.cuMemAllocFromPoolAsync(out, size_bytes, pool, stream), 1);
    };
    table.cuMemFreeAsync = [](fr_cu_device_ptr address, fr_cu_stream stream) {
        return Counted(library.driver.cuMemFreeAsync(address, stream), -1);
    };
    table.cuMemHostAlloc = [](void **out, size_t size_bytes, unsigned int flags) {
        return Counted(library.driver.cuMemHostAlloc(out, size_bytes, flags), 1);
    };
    table.cuMemFreeHost = [](void *memory) {
        return Counted(library.driver.cuMemFreeHost(memory), -1);
    };
}

// Where the driver is the simulated one.
template <class Function> Function Simulators(const char *name)
{
    return reinterpret_cast<Function>(dlsym(library.handle, name));
}

int Count()
{
    return std::min<int>(library.device_count, DEVICES);
}

// With that device's context. True if all worked.
template <class Work> bool On(int device, const Work &work)
{
    fr_cu_context context = nullptr;
    bool done = table.cuDevicePrimaryCtxRetain(&context, device) == FR_CU_SUCCESS &&
                table.cuCtxPushCurrent(context) == FR_CU_SUCCESS;
    done = done && work(context);
    return table.cuCtxPopCurrent(&context) == FR_CU_SUCCESS &&
           table.cuDevicePrimaryCtxRelease(device) == FR_CU_SUCCESS && done;
}

// All that the first use of a device makes, and the process keeps.
void OpenDevices()
{
    fr_device_fault fault = {};
    for (int i = 0; i < Count() && !is_warm[i]; i++) {
        fr_device *device = nullptr;
        is_warm[i] = fr_device_provider->open(static_cast<uint32_t>(i), &device, &fault);
        ASSERT_TRUE(is_warm[i]) << fault.text;
        fr_device_provider->close(device);
        EXPECT_TRUE(On(i, [i](fr_cu_context) {
            fr_cu_module module = nullptr;
            return library.driver.cuModuleLoadDataEx(&module, client_kernels.c_str(), 0, nullptr,
                                                     nullptr) == FR_CU_SUCCESS &&
                   library.driver.cuModuleGetFunction(&spin[i], module, "fr_spin") == FR_CU_SUCCESS;
        }));
    }
    void *pinned = words;
    if (!words) {
        EXPECT_TRUE(On(0, [&pinned](fr_cu_context) {
            return library.driver.cuMemHostAlloc(&pinned, MOST_HELD * sizeof(*words),
                                                 FR_CU_MEMHOSTALLOC_PORTABLE) == FR_CU_SUCCESS;
        }));
        std::memset(pinned, 0, MOST_HELD * sizeof(*words));
        words = static_cast<std::atomic<uint32_t> *>(pinned);
    }
}

void Spin(fr_cu_stream stream, std::atomic<uint32_t> *word)
{
    uint64_t limit_ns = 60000000000u;
    void *arguments[] = {&word, &limit_ns};
    bool launched = false;
    for (int i = 0; i < Count() && !launched; i++)
        EXPECT_TRUE(On(i, [&](fr_cu_context context) {
            fr_cu_context of = nullptr;
            bool asked = table.cuStreamGetCtx(stream, &of) == FR_CU_SUCCESS;
            launched = asked && context == of;
            return asked &&
                   (!launched || table.cuLaunchKernel(spin[i], 1, 1, 1, 1, 1, 1, 0, stream,
                                                      arguments, nullptr) == FR_CU_SUCCESS);
        }));
    EXPECT_TRUE(launched);
}

} // namespace

extern "C" {

fr_sim_options fr_sim_default_options(void)
{
    fr_sim_options options = {};
    options.device_count = 2;
    return options;
}

void fr_sim_open(const fr_sim_options *options)
{
    const char *file = std::getenv("FR_CUDA_LIBRARY");
    if (options->mode == FR_SIM_RANDOM || library.handle)
        NotRunHere("many orders, or a simulation for each of many calls");
    std::ifstream text("tests/devices/client.ptx");
    std::stringstream all;
    all << text.rdbuf();
    client_kernels = all.str();
    EXPECT_FALSE(client_kernels.empty());
    ASSERT_TRUE(fr_cuda_library_open_file(&library, file ? file : "libcuda.so.1")) << library.why;
    WatchObjects();
}

void fr_sim_close(void)
{
}

const fr_cuda_driver *fr_sim_driver(void)
{
    return &table;
}

bool fr_sim_drain(void)
{
    {
        std::lock_guard<std::mutex> lock(held_mutex);
        if (!held.empty())
            NotRunHere("a driver that runs all but what is held");
    }
    bool all_ran = true;
    for (int i = 0; i < Count(); i++)
        all_ran = On(i, [](fr_cu_context) { return table.cuCtxSynchronize() == FR_CU_SUCCESS; }) &&
                  all_ran;
    return all_ran;
}

void fr_sim_hold(fr_cu_stream stream, bool is_held)
{
    std::lock_guard<std::mutex> lock(held_mutex);
    auto found = held.find(stream);
    if (is_held && found == held.end()) {
        OpenDevices();
        ASSERT_LT(held_count, static_cast<uint32_t>(MOST_HELD));
        held[stream] = held_count;
        Spin(stream, &words[held_count++]);
    } else if (!is_held && found != held.end()) {
        words[found->second] = 1;
        held.erase(found);
    }
}

uint64_t fr_sim_check_leaks(bool)
{
    return static_cast<uint64_t>(objects.load());
}

bool fr_sim_register_kernel(const char *name, fr_sim_kernel kernel, uint32_t count,
                            const uint32_t *bytes)
{
    auto real = Simulators<decltype(&fr_sim_register_kernel)>("fr_sim_register_kernel");
    return !real || real(name, kernel, count, bytes);
}

const void *fr_sim_read(fr_sim_launch *launch, fr_cu_device_ptr address, size_t size_bytes)
{
    return Simulators<decltype(&fr_sim_read)>("fr_sim_read")(launch, address, size_bytes);
}

void *fr_sim_write(fr_sim_launch *launch, fr_cu_device_ptr address, size_t size_bytes)
{
    return Simulators<decltype(&fr_sim_write)>("fr_sim_write")(launch, address, size_bytes);
}

// A driver reports nothing.
uint64_t fr_sim_report_count(void)
{
    return 0;
}
uint64_t fr_sim_report_count_of(fr_sim_kind)
{
    return 0;
}
const char *fr_sim_report(uint64_t)
{
    return nullptr;
}
void fr_sim_clear_reports(void)
{
}
void fr_sim_name_stream(fr_cu_stream, const char *)
{
}
void fr_sim_name_memory(fr_cu_device_ptr, const char *)
{
}

bool fr_sim_fail_call(const char *, uint64_t, fr_cu_result)
{
    NotRunHere("calls that fail");
}
void fr_sim_fail_operation(fr_cu_device, uint64_t, fr_cu_result)
{
    NotRunHere("operations that fail");
}
void fr_sim_clear_faults(void)
{
}
bool fr_sim_faults_pending(void)
{
    return false;
}
uint64_t fr_sim_calls(const char *)
{
    NotRunHere("a count of the driver's calls");
}
uint64_t fr_sim_memory_used(fr_cu_device)
{
    NotRunHere("a count of a device's memory");
}
size_t fr_sim_log(char *, size_t)
{
    NotRunHere("a log of the driver's calls");
}
void *fr_sim_peek(fr_cu_device_ptr, size_t)
{
    NotRunHere("looks at a device's memory");
}

} // extern "C"
