/* A device that tells nobody when its work is over: somebody has to look, by a watch. Work is over
 * when its time has come, or when the test says so.
 *
 * Word map of a job's `stage`: 0; UNDER_WAY set by begin; ENDED by the look that finds it over. */
#ifndef FR_TESTS_SUPPORT_FAKE_DEVICE_H
#define FR_TESTS_SUPPORT_FAKE_DEVICE_H

#include "scheduler/watch.h"
#include "tests/support/fake_work.h"

#define FAKE_DEVICE_NEVER UINT64_MAX

typedef struct fake_job {
    fake_work work;
    _Atomic uint32_t stage;
    _Atomic uint64_t due_ns;
} fake_job;

enum { FAKE_JOB_UNDER_WAY = 1, FAKE_JOB_ENDED = 2 };

typedef struct fake_device {
    fr_watch watch;
    fr_graph *graph;
    fake_job *jobs;
    uint32_t job_count;
    _Atomic uint64_t looks;
} fake_device;

/* No job is under way. */
void fake_device_open(fake_device *device, fr_pool *pool, fr_graph *graph, fake_job *jobs,
                      uint32_t job_count);
void fake_device_close(fake_device *device);
/* The job's work is under way until then; FAKE_DEVICE_NEVER: until it is let go. */
void fake_device_begin(fake_device *device, fake_job *job, uint64_t due_ns);
void fake_device_let_go(fake_job *job);
bool fake_job_has_ended(const fake_job *job);

#endif
