/* A seeded scheduler behind the table of the operating system: real threads, of which one runs at a
 * time.
 *
 * In a build with FR_SYSTEMATIC, every access of scheduler/atomic.h, every futex call, clock
 * reading, pause, yield, thread start and join is a point where this scheduler decides by its seed
 * which thread goes on. So a seed replays an interleaving exactly, whatever the machine does. Time
 * is faked; when all threads wait, the earliest deadline comes.
 *
 * Stores go through a store buffer of their thread (see scheduler/atomic.h): they become visible
 * late, and relaxed ones out of order. So a missing fence between a store and a load, and a missing
 * release, are seen. What is not emulated: loads that are satisfied early (a missing acquire), and
 * reordering of a relaxed read-modify-write with what follows it. The models in tests/models know
 * those. Stores to the thread's own stack are not delayed, since they could land in a frame that is
 * gone.
 *
 * A run fails when all threads wait without a deadline (deadlock), when it takes more than
 * max_steps (livelock), or by fr_systematic_check. Its threads are then parked for ever, the
 * failure is printed with the line that runs it again, and fr_systematic_explore returns false.
 * Memory of a failed run is not given back.
 *
 * Bodies must not block outside fr_os, nor read a clock or random numbers of their own. */
#ifndef FR_TESTS_SYSTEMATIC_H
#define FR_TESTS_SYSTEMATIC_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_systematic_options {
    const char *name;        /* Suite.Test: printed in the line that runs a failure again */
    uint64_t first_seed;     /* runs use first_seed, first_seed + 1, ... */
    uint64_t runs;           /* 0: 1000 */
    uint64_t max_steps;      /* 0: 200,000 */
    uint64_t expected_steps; /* 0: 2,000; what a typical run takes: where preemptions are placed */
    uint32_t cpu_count;      /* what fr_os.cpu_count answers; 0: 2 */
    uint32_t thread_starts;  /* further ones fail, if thread_starts_fail */
    bool thread_starts_fail;
    bool no_store_buffers; /* sequential consistency instead */
} fr_systematic_options;

/* Runs body(argument) on a thread of its own under the scheduler, once for each seed, until one
 * fails. body sets up, and takes down again, all that it uses. The environment variable
 * FR_SYSTEMATIC_SEED replays one seed alone; FR_SYSTEMATIC_RUNS overrides `runs`. True when every
 * run was right. */
bool fr_systematic_explore(const fr_systematic_options *options, void (*body)(void *argument),
                           void *argument);

/* Inside a run: when `right` is false, the run fails with this text. */
void fr_systematic_check(bool right, const char *text);

/* Inside a run: a number below `below`, by the seed. */
uint64_t fr_systematic_random(uint64_t below);

/* What the last finished run took; for tests of the scheduler itself. */
typedef struct fr_systematic_outcome {
    bool failed;
    char text[256];
    uint64_t seed;
    uint64_t steps;
    uint64_t switches;
    uint64_t fingerprint; /* of the sequence of all decisions */
} fr_systematic_outcome;

/* One run; quiet: prints nothing. */
bool fr_systematic_run(const fr_systematic_options *options, uint64_t seed, bool quiet,
                       void (*body)(void *argument), void *argument,
                       fr_systematic_outcome *outcome);

#ifdef __cplusplus
}
#endif

#endif
