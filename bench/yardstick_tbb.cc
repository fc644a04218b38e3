#include "bench/yardsticks.h"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "bench/bench_clock.h"

namespace
{

volatile uint32_t cell;

/* One link: does its bit of work and spawns the next. */
struct Link {
    tbb::task_group *group;
    size_t left;
    void operator()() const
    {
        cell = static_cast<uint32_t>(left);
        if (left > 1)
            group->run(Link{group, left - 1});
    }
};

/* The calling thread takes part in a wait, as flyrail's may, so the arena has as many threads. */
template <typename Body> double measure(uint32_t worker_count, size_t count, Body body)
{
    int threads = static_cast<int>(worker_count > 0 ? worker_count : 1);
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                              static_cast<size_t>(threads));
    tbb::task_arena arena(threads);
    double figure = 0;
    arena.execute([&] {
        tbb::task_group group;
        uint64_t start_ns = clock_ns();
        body(group);
        group.wait();
        figure = static_cast<double>(clock_ns() - start_ns) / static_cast<double>(count);
    });
    return figure;
}

} // namespace

double yardstick_tbb_chain(uint32_t worker_count, size_t count)
{
    return measure(worker_count, count, [&](tbb::task_group &group) {
        group.run(Link{&group, count});
    });
}

double yardstick_tbb_tasks(uint32_t worker_count, size_t count)
{
    return measure(worker_count, count, [&](tbb::task_group &group) {
        for (size_t i = 0; i < count; i++)
            group.run([i] { cell = static_cast<uint32_t>(i); });
    });
}
