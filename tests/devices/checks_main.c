/* Runs the checks of this folder against the driver of this machine, each without workers and with
 * two. The last line says how many passed, failed and were not run; exit status 1 if any failed. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/devices/checks.h"

typedef struct check {
    const char *name;
    void (*run)(client *self);
    int devices;
    bool holds; /* needs producers that stall */
} check;

static const check checks[] = {
    {"a frame on the client's streams", check_frame, 1, false},
    {"a frame on the stage's streams", check_frame_on_the_stages_streams, 1, false},
    {"held groups", check_held_groups, 1, false},
    {"an event recorded again", check_event_recorded_again, 1, true},
    {"complete without an event", check_complete_without_an_event, 1, false},
    {"a stalled producer", check_stalled_producer, 1, true},
    {"many stalled ordinals", check_many_stalled_ordinals, 1, true},
    {"managed tensors", check_managed_tensors, 1, true},
    {"refusals", check_refusals, 1, false},
    {"rows", check_rows, 1, false},
    {"rows of the host", check_rows_of_the_host, 1, false},
    {"a column of the host", check_column_of_the_host, 1, false},
    {"history", check_history, 1, false},
    {"maps", check_map, 1, false},
    {"filters", check_filters, 1, false},
    {"arrays", check_arrays, 1, false},
    {"a large column", check_large_column, 1, false},
    {"written here, read there", check_written_here_read_there, 2, false},
    {"a column on the other device", check_column_on_the_other_device, 2, false},
    {"a map of another device", check_map_of_another_device, 2, false},
    {"arrays of another device", check_arrays_of_another_device, 2, false},
};

static const uint32_t worker_counts[] = {0, 2};

/* A check that hangs on a device ends the program, which says so: nobody is there to look. */
enum { MOST_SECONDS = 60 };

typedef struct tally {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t begun, passed, failed, not_run;
    bool is_over;
} tally;

static void *watch(void *argument)
{
    tally *counts = argument;
    pthread_mutex_lock(&counts->mutex);
    while (!counts->is_over) {
        uint32_t begun = counts->begun;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += MOST_SECONDS;
        while (!counts->is_over && counts->begun == begun)
            if (pthread_cond_timedwait(&counts->changed, &counts->mutex, &until) != 0)
                break;
        if (!counts->is_over && counts->begun == begun) {
            printf("FAILED: the check behind the last line is not over after %d s; those after it "
                   "were not run\n%u passed, %u failed, %u not run\n",
                   MOST_SECONDS, counts->passed, counts->failed + 1, counts->not_run);
            fflush(stdout);
            _exit(1);
        }
    }
    pthread_mutex_unlock(&counts->mutex);
    return NULL;
}

/* One more has begun, if `result` is NULL; else that is what it came to. */
static void count(tally *counts, uint32_t *result)
{
    pthread_mutex_lock(&counts->mutex);
    *(result ? result : &counts->begun) += 1;
    pthread_cond_broadcast(&counts->changed);
    pthread_mutex_unlock(&counts->mutex);
}

/* NULL, or why it cannot run here. */
static const char *obstacle(const client_driver *driver, const check *one)
{
    if (driver->device_count < one->devices)
        return "one device only";
    if (one->holds && !driver->cu->cuLaunchHostFunc)
        return "the driver has no host functions, which stall a stream here";
    return NULL;
}

static void run(const client_driver *driver, const check *one, uint32_t workers, tally *counts)
{
    static client self;
    const char *reason = obstacle(driver, one);
    count(counts, NULL);
    if (reason) {
        printf("not run: %s, %u workers: %s\n", one->name, workers, reason);
        count(counts, &counts->not_run);
        return;
    }
    client_begin(&self, driver, workers, 100);
    if (self.failure[0] == '\0')
        one->run(&self);
    bool fine = client_end(&self);
    printf("%s: %s, %u workers%s%s\n", fine ? "passed" : "FAILED", one->name, workers,
           fine ? "" : ": ", self.failure);
    fflush(stdout);
    count(counts, fine ? &counts->passed : &counts->failed);
}

int main(void)
{
    static client_driver driver;
    tally counts = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t watcher;
    const char *why = client_driver_open(&driver);
    if (why) {
        printf("no device: %s\n", why);
        return 1;
    }
    printf("on %s, driver %d, %d of its devices\n", driver.name, driver.library.version,
           driver.device_count);
    bool watched = pthread_create(&watcher, NULL, watch, &counts) == 0;
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        for (size_t w = 0; w < sizeof(worker_counts) / sizeof(worker_counts[0]); w++)
            run(&driver, &checks[i], worker_counts[w], &counts);
    pthread_mutex_lock(&counts.mutex);
    counts.is_over = true;
    pthread_cond_broadcast(&counts.changed);
    pthread_mutex_unlock(&counts.mutex);
    if (watched)
        pthread_join(watcher, NULL);
    client_driver_close(&driver);
    printf("%u passed, %u failed, %u not run\n", counts.passed, counts.failed, counts.not_run);
    return counts.failed > 0 || counts.passed == 0;
}
