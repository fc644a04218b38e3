#include "tests/support/fake_device.h"

static bool look(void *user)
{
    fake_device *device = user;
    bool any = false;
    uint64_t now_ns = fr_os_current->now_ns();
    (void)fr_add_relaxed(&device->looks, 1);
    for (uint32_t k = 0; k < device->job_count; k++) {
        fake_job *job = &device->jobs[k];
        uint32_t stage = FAKE_JOB_UNDER_WAY;
        /* [fake_job.look] pairs [fake_job.begin] : what its op did */
        if (fr_load_acquire(&job->stage) != FAKE_JOB_UNDER_WAY ||
            fr_load_relaxed(&job->due_ns) > now_ns ||
            !fr_cas_relaxed(&job->stage, &stage, FAKE_JOB_ENDED))
            continue;
        fake_work_end(device->graph, &job->work, NULL);
        fr_watch_end(&device->watch);
        any = true;
    }
    return any;
}

void fake_device_open(fake_device *device, fr_pool *pool, fr_graph *graph, fake_job *jobs,
                      uint32_t job_count)
{
    device->graph = graph;
    device->jobs = jobs;
    device->job_count = job_count;
    fr_store_relaxed(&device->looks, 0);
    for (uint32_t k = 0; k < job_count; k++) {
        fr_store_seq_cst(&jobs[k].stage, 0);
        fr_store_seq_cst(&jobs[k].work.state, 0);
    }
    fr_watch_open(&device->watch, pool, look, device);
}

void fake_device_close(fake_device *device)
{
    fr_watch_close(&device->watch);
}

void fake_device_begin(fake_device *device, fake_job *job, uint64_t due_ns)
{
    fr_store_relaxed(&job->due_ns, due_ns);
    fr_watch_begin(&device->watch);
    /* [fake_job.begin] pairs [fake_job.look] : see there */
    fr_store_release(&job->stage, FAKE_JOB_UNDER_WAY);
}

void fake_device_let_go(fake_job *job)
{
    fr_store_relaxed(&job->due_ns, 0);
}

bool fake_job_has_ended(const fake_job *job)
{
    return fr_load_relaxed(&job->stage) == FAKE_JOB_ENDED;
}
