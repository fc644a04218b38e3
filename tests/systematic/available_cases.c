#include "tests/systematic/available_cases.h"

#include "runtime/device/available.h"
#include "scheduler/os.h"
#include "tests/support/fake_backend.h"
#include "tests/systematic/systematic.h"

#define THREADS 3u
#define TURNS 3u
#define WORKS (THREADS * TURNS)
#define EVENT 5000u  /* none of the backend's */
#define CLIENT 9000u /* streams of clients, from there on */
#define HANDLES 10000u

static const available_shape *shape;
static fr_devices *devices;
static fr_opened *opened;
static _Atomic uint32_t next_thread;
static uint32_t copies[WORKS]; /* each work's place in the list of calls, and 1 */

/* What the event stands for by now: a bit for each work. */
static uint64_t works_behind_the_event(void)
{
    static uint64_t in_stream[HANDLES], in_event[HANDLES];
    uint32_t count = fake_backend_call_count();
    for (uint32_t h = 0; h < HANDLES; h++)
        in_stream[h] = in_event[h] = 0;
    for (uint32_t k = 0; k < count; k++) {
        fake_call call = fake_backend_call(k);
        if (call.kind == FAKE_RECORD)
            in_event[call.event] = in_stream[call.stream];
        else if (call.kind == FAKE_WAIT)
            in_stream[call.stream] |= in_event[call.event];
        for (uint32_t w = 0; w < WORKS && call.kind == FAKE_COPY; w++)
            if (copies[w] == k + 1)
                in_stream[call.stream] |= UINT64_C(1) << w;
    }
    return in_event[EVENT];
}

/* In a stream of the stage's or of a client's. */
static void work(uint32_t number, fr_available *available)
{
    static unsigned char from[WORKS], to[WORKS];
    fr_device_run run;
    fr_device_fault fault;
    uintptr_t client = fr_systematic_random(2) == 0 ? 0 : CLIENT + number;
    fr_systematic_check(fr_device_run_begin(&run, opened, client, number, NULL, &fault),
                        "a run was refused");
    copies[number] = fake_backend_call_count() + 1;
    bool done = fr_device_run_copy(&run, (uint64_t)(uintptr_t)&to[number],
                                   (uint64_t)(uintptr_t)&from[number], 1, &fault) &&
                fr_device_run_record(&run, &fault) &&
                fr_available_record(available, opened, &run, NULL, &fault);
    fr_systematic_check(done, "a call was refused");
    fr_systematic_check((works_behind_the_event() >> number & 1) != 0,
                        "the event does not stand for work that has recorded it");
    fr_device_run_end(&run);
}

static void record(void *unused)
{
    (void)unused;
    uint32_t first = fr_add_seq_cst(&next_thread, 1) * TURNS;
    for (uint32_t k = 0; k < shape->turns; k++) {
        fr_available *available = fr_available_get(devices, EVENT);
        work(first + k, available);
        fr_available_put(available);
    }
}

void body_available(void *argument)
{
    shape = argument;
    fr_os_thread threads[THREADS];
    fr_device_fault fault;
    uint64_t all = 0;
    for (uint32_t w = 0; w < WORKS; w++)
        copies[w] = 0;
    fr_store_seq_cst(&next_thread, 0);
    devices = fr_devices_create(&fr_allocator_default, fake_backend_open(1), NULL);
    opened = fr_devices_open(devices, 0, &fault);
    for (uint32_t t = 0; t < shape->threads; t++)
        (void)fr_os_current->thread_start(&threads[t], record, NULL, "recorder");
    for (uint32_t t = 0; t < shape->threads; t++) {
        fr_os_current->thread_join(&threads[t]);
        all |= ((UINT64_C(1) << shape->turns) - 1) << t * TURNS;
    }
    fr_systematic_check(works_behind_the_event() == all, "the event does not stand for all work");
    fake_backend_fire(0);
    fr_devices_drain(devices);
    fr_devices_destroy(devices);
    fr_systematic_check(fake_backend_alive() == 0 && fake_backend_faults() == 0,
                        "something is left, or was called outside");
}
