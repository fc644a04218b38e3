#include "tests/unit/device_cases.h"

#include <stdio.h>
#include <string.h>

#include "runtime/device/capture.h"
#include "runtime/device/run.h"
#include "tests/support/fake_backend.h"

/* The first thing that is not so ends the case. */
#define WANT(condition) \
    do { \
        if (!(condition)) \
            return wanted(#condition, __LINE__); \
    } while (0)

static const char *wanted(const char *condition, int line)
{
    static char text[256];
    (void)snprintf(text, sizeof(text), "line %d: %s", line, condition);
    return text;
}

static fr_devices *devices;
static fr_opened *opened;
static fr_device_entry entry;
static fr_device_fault fault;

static void begin(void)
{
    devices = fr_devices_create(&fr_allocator_default, fake_backend_open(2), NULL);
    opened = fr_devices_open(devices, 1, &fault);
    (void)fr_opened_enter(opened, &entry, &fault);
}

static bool look(void)
{
    return fr_devices_look(devices);
}

/* Nothing is left, and every call was made where it may be. */
static const char *end(void)
{
    fr_opened_leave(opened, &entry);
    fake_backend_fire(0);
    fr_devices_drain(devices);
    fr_devices_destroy(devices);
    WANT(fake_backend_alive() == 0);
    WANT(fake_backend_faults() == 0);
    return NULL;
}

static uint32_t calls_of(fake_call_kind kind, uint32_t from)
{
    uint32_t count = 0;
    for (uint32_t k = from; k < fake_backend_call_count(); k++)
        count += fake_backend_call(k).kind == kind;
    return count;
}

const char *device_case_nothing_is_opened_early(void)
{
    devices = fr_devices_create(&fr_allocator_default, fake_backend_open(2), NULL);
    WANT(fake_backend_alive() == 0);
    WANT(!fr_devices_open(devices, 2, &fault) && fault.kind == FR_DEVICE_ABSENT);
    WANT(!fr_devices_open(devices, -1, &fault) && fault.kind == FR_DEVICE_ABSENT);
    opened = fr_devices_open(devices, 0, &fault);
    WANT(opened && fr_devices_open(devices, 0, &fault) == opened);
    WANT(fake_backend_alive() == 1);
    fr_devices_destroy(devices);
    WANT(fake_backend_alive() == 0);
    return NULL;
}

static int runs;

static void count_run(fr_fence_call *call)
{
    (void)call;
    runs++;
}

const char *device_case_fences_are_over_in_order(void)
{
    fr_fence_call calls[2] = {{.run = count_run}, {.run = count_run}};
    bool busy;
    runs = 0;
    begin();
    fr_own_stream *stream = fr_streams_take(opened, FR_STREAM_WORK, 1, &busy, &fault);
    fr_fence *first = fr_fence_get(opened, &fault), *second = fr_fence_get(opened, &fault);
    WANT(fr_fence_record(first, stream->stream, stream, &fault));
    WANT(fr_fence_record(second, stream->stream, stream, &fault));
    WANT(fr_fence_when_over(first, &calls[0]) && fr_fence_when_over(second, &calls[1]));
    WANT(!look() && !fr_fence_is_over(first) && fr_devices_busy(devices));
    fake_backend_fire(stream->stream.handle);
    WANT(look() && runs == 2);
    WANT(fr_fence_look(first) == FR_FENCE_DONE && fr_fence_look(second) == FR_FENCE_DONE);
    WANT(!fr_fence_when_over(first, &calls[0]) && runs == 2);
    WANT(!fr_devices_busy(devices));
    fr_fence_release(first);
    fr_fence_release(second);
    /* Records are used again, the last one first. */
    fr_fence *again = fr_fence_get(opened, &fault);
    WANT(again == second && !fr_fence_is_over(again));
    fr_fence_release(again);
    fr_streams_give(opened, stream);
    return end();
}

/* Without workers nobody has to look for what is due: it is left to who comes. */
const char *device_case_what_is_due_is_not_watched(void)
{
    const fr_pool_config config = {.allocator = &fr_allocator_default};
    fr_pool *pool = fr_pool_create(&config);
    fr_fence_call call = {.run = count_run, .calls_client = true};
    bool busy;
    runs = 0;
    devices = fr_devices_create(&fr_allocator_default, fake_backend_open(1), pool);
    opened = fr_devices_open(devices, 0, &fault);
    (void)fr_opened_enter(opened, &entry, &fault);
    fr_own_stream *stream = fr_streams_take(opened, FR_STREAM_WORK, 1, &busy, &fault);
    fr_fence *fence = fr_fence_get(opened, &fault);
    WANT(fr_fence_record(fence, stream->stream, stream, &fault));
    WANT(fr_fence_when_over(fence, &call));
    WANT(fr_pool_is_watching(pool));
    fake_backend_fire(0);
    WANT(fr_pool_look(pool));
    WANT(!fr_pool_is_watching(pool) && runs == 0 && fr_devices_busy(devices));
    WANT(fr_devices_run_due(devices) && runs == 1);
    WANT(!fr_devices_run_due(devices) && !fr_devices_busy(devices));
    fr_fence_release(fence);
    fr_streams_give(opened, stream);
    const char *wrong = end();
    fr_pool_destroy(pool);
    return wrong;
}

/* A stream with work in it that is not over. */
static fr_own_stream *stall_in(fr_stream_kind kind, uint64_t lane, bool *busy)
{
    fr_own_stream *stream = fr_streams_take(opened, kind, lane, busy, &fault);
    if (!stream)
        return NULL;
    fr_fence *fence = fr_fence_get(opened, &fault);
    (void)fr_fence_record(fence, stream->stream, stream, &fault);
    fr_fence_release(fence);
    fr_streams_give(opened, stream);
    return stream;
}

static fr_own_stream *stall(uint64_t lane, bool *busy)
{
    return stall_in(FR_STREAM_STALLED, lane, busy);
}

const char *device_case_a_lane_keeps_its_stream(void)
{
    bool busy;
    begin();
    fr_own_stream *seven = stall(7, &busy), *eight = stall(8, &busy);
    WANT(seven && eight && seven != eight);
    WANT(stall(7, &busy) == seven && stall(8, &busy) == eight);
    fake_backend_fire(seven->stream.handle);
    WANT(look());
    WANT(stall(9, &busy) == seven); /* nothing of 7 is left in it */
    return end();
}

const char *device_case_streams_have_a_limit(void)
{
    bool busy = false;
    begin();
    for (uint64_t lane = 1; lane <= FR_STREAMS_MAX; lane++)
        WANT(stall(lane, &busy) && !busy);
    WANT(!stall(FR_STREAMS_MAX + 1, &busy) && busy);
    WANT(stall(1, &busy));                           /* its own */
    for (uint64_t k = 1; k <= FR_STREAMS_SPARE; k++) /* of lanes that are not stalled */
        WANT(stall_in(FR_STREAM_WORK, FR_STREAMS_MAX + k, &busy) && !busy);
    WANT(!stall_in(FR_STREAM_WORK, 2 * FR_STREAMS_MAX, &busy) && busy);
    fake_backend_fire(0);
    WANT(look() && stall(FR_STREAMS_MAX + 1, &busy) && !busy);
    return end();
}

/* A run that put nothing but a wait into its stream. */
const char *device_case_a_run_that_ends_early_keeps_its_stream(void)
{
    fr_device_run run;
    begin();
    fr_fence *dep = fr_fence_get(opened, &fault);
    WANT(fr_fence_record(dep, (fr_device_stream){opened->device, 49}, NULL, &fault));
    WANT(fr_device_run_begin(&run, opened, 0, 1, dep, &fault));
    fr_own_stream *first = run.own;
    fr_device_run_end(&run);
    fr_fence_release(dep);
    WANT(fr_device_run_begin(&run, opened, 0, 2, NULL, &fault));
    fr_own_stream *second = run.own;
    fr_device_run_end(&run);
    WANT(first != second); /* it would wait for what the first waits for */
    return end();
}

const char *device_case_memory_comes_back(void)
{
    begin();
    fr_placed *placed = fr_placed_make(opened, 1000, &fault);
    WANT(placed && placed->written); /* its allocation */
    uint64_t address = placed->address;
    fr_placed_dispose(placed);
    (void)look();
    fr_placed *other = fr_placed_make(opened, 1000, &fault);
    WANT(other->address != address); /* the first one's allocation is not over */
    fake_backend_fire(0);
    (void)look();
    fr_placed *again = fr_placed_make(opened, 990, &fault);
    WANT(again->address == address && !again->written);
    WANT(calls_of(FAKE_ALLOCATE, 0) == 2);
    fr_placed_dispose(other);
    fr_placed_dispose(again);
    return end();
}

const char *device_case_reads_hold_memory(void)
{
    begin();
    fr_placed *placed = fr_placed_make(opened, 64, &fault);
    fake_backend_fire(0);
    (void)look();
    fr_fence *reader = fr_fence_get(opened, &fault);
    WANT(fr_placed_reserve_reader(placed));
    WANT(fr_fence_record(reader, (fr_device_stream){opened->device, 50}, NULL, &fault));
    fr_placed_enter_reader(placed, reader);
    fr_fence_release(reader);
    uint64_t address = placed->address;
    fr_placed_dispose(placed);
    (void)look();
    fr_placed *other = fr_placed_make(opened, 64, &fault);
    WANT(other->address != address);
    fake_backend_fire(50);
    (void)look();
    fr_placed *again = fr_placed_make(opened, 64, &fault);
    WANT(again->address == address);
    fr_placed_dispose(other);
    fr_placed_dispose(again);
    return end();
}

/* As many readers, each in a stream of its own. */
static const char *read_from(fr_placed *placed, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        fr_fence *reader = fr_fence_get(opened, &fault);
        WANT(fr_placed_reserve_reader(placed));
        WANT(fr_fence_record(reader, (fr_device_stream){opened->device, 50 + k}, NULL, &fault));
        fr_placed_enter_reader(placed, reader);
        fr_fence_release(reader);
    }
    return NULL;
}

const char *device_case_writes_wait_for_all(void)
{
    unsigned char source[64];
    fr_device_run run;
    memset(source, 7, sizeof(source));
    begin();
    fr_placed *placed = fr_placed_make(opened, sizeof(source), &fault);
    WANT(!read_from(placed, 2));
    fr_fence *dep = fr_fence_get(opened, &fault);
    WANT(fr_fence_record(dep, (fr_device_stream){opened->device, 49}, NULL, &fault));
    uint32_t from = fake_backend_call_count();
    WANT(fr_device_run_begin(&run, opened, 77, 1, dep, &fault));
    WANT(fr_device_run_writes(&run, placed, FR_USE_TARGET, &fault));
    WANT(fr_device_run_copy(&run, placed->address, (uint64_t)(uintptr_t)source, sizeof(source),
                            &fault));
    WANT(fr_device_run_record(&run, &fault));
    WANT(fr_device_run_available(&run, 5000, &fault));
    fr_device_run_end(&run);
    fr_fence_release(dep);
    WANT(calls_of(FAKE_WAIT, from) == 4); /* dep, the allocation, two readers */
    for (uint32_t k = from; k < fake_backend_call_count(); k++)
        WANT(fake_backend_call(k).stream == 77);
    WANT(fake_backend_call(from + 4).kind == FAKE_COPY);
    WANT(fake_backend_call(from + 5).kind == FAKE_RECORD);
    WANT(fake_backend_call(from + 6).event == 5000);
    WANT(memcmp((const void *)(uintptr_t)placed->address, source, sizeof(source)) == 0);
    /* A read of it waits for that write, and for nothing else. */
    from = fake_backend_call_count();
    WANT(fr_wait_to_read(opened, (fr_device_stream){opened->device, 78}, NULL, placed, &fault));
    WANT(calls_of(FAKE_WAIT, from) == 1);
    fake_backend_fire(0);
    WANT(look());
    WANT(fr_wait_to_read(opened, (fr_device_stream){opened->device, 78}, NULL, placed, &fault));
    WANT(calls_of(FAKE_WAIT, from) == 1); /* it is over */
    fr_placed_dispose(placed);
    return end();
}

const char *device_case_many_readers(void)
{
    begin();
    fr_placed *placed = fr_placed_make(opened, 64, &fault);
    WANT(!read_from(placed, 3 * FR_PLACED_FEW_READERS));
    WANT(placed->reader_count == 3 * FR_PLACED_FEW_READERS && placed->reserved == 0);
    uint32_t from = fake_backend_call_count();
    WANT(fr_wait_to_write(opened, (fr_device_stream){opened->device, 49}, NULL, placed, &fault));
    WANT(calls_of(FAKE_WAIT, from) == 1 + 3 * FR_PLACED_FEW_READERS);
    fake_backend_fire(0);
    (void)look();
    WANT(!read_from(placed, 1));
    WANT(placed->reader_count == 1); /* those that are over left their places */
    fr_placed_dispose(placed);
    return end();
}

const char *device_case_capture_waits_for_both(void)
{
    const ovstage_cuda_sync_t sync = {.stream = 60, .wait_event = 6000}, none = {0, 0};
    fr_captured captured;
    begin();
    WANT(fr_capture(opened, 1, &none, sizeof(none), 1, &captured, &fault) && !captured.dep);
    uint32_t from = fake_backend_call_count();
    WANT(fr_capture(opened, 1, &sync, sizeof(sync), 1, &captured, &fault) && captured.dep);
    uintptr_t gate = fake_backend_call(from).stream;
    WANT(fake_backend_call(from).kind == FAKE_WAIT && fake_backend_call(from).event == 6000);
    WANT(fake_backend_call(from + 1).kind == FAKE_RECORD &&
         fake_backend_call(from + 1).stream == 60);
    WANT(fake_backend_call(from + 2).kind == FAKE_WAIT &&
         fake_backend_call(from + 2).stream == gate);
    WANT(fake_backend_call(from + 2).event == fake_backend_call(from + 1).event);
    WANT(fake_backend_call(from + 3).kind == FAKE_RECORD &&
         fake_backend_call(from + 3).stream == gate);
    WANT(captured.dep->event.handle == fake_backend_call(from + 3).event);
    fr_captured_release(&captured);
    /* Another lane's capture does not inherit that wait. */
    from = fake_backend_call_count();
    WANT(fr_capture(opened, 2, &sync, sizeof(sync), 1, &captured, &fault));
    WANT(fake_backend_call(from).stream != gate);
    fr_captured_release(&captured);
    return end();
}

const char *device_case_a_refused_gate_is_not_used_again(void)
{
    const ovstage_cuda_sync_t sync = {.wait_event = 6000};
    fr_captured captured;
    begin();
    WANT(fr_capture(opened, 1, &sync, sizeof(sync), 1, &captured, &fault));
    uintptr_t gate = captured.dep->stream->stream.handle;
    fr_captured_release(&captured);
    fake_backend_fire(0);
    (void)look();
    fake_backend_fail(1);
    WANT(!fr_capture(opened, 1, &sync, sizeof(sync), 1, &captured, &fault) && !captured.dep);
    WANT(fr_capture(opened, 1, &sync, sizeof(sync), 1, &captured, &fault));
    WANT(captured.dep->stream->stream.handle != gate);
    fr_captured_release(&captured);
    return end();
}

static uint32_t gate_records(void)
{
    uint32_t count = 0;
    for (const fr_own_stream *gate = opened->streams.gates; gate; gate = gate->next)
        count++;
    return count;
}

const char *device_case_refused_gates_leave_nothing(void)
{
    const ovstage_cuda_sync_t sync = {.wait_event = 6000};
    fr_captured captured;
    begin();
    /* What is pending in one keeps it apart from the next. */
    WANT(fr_capture(opened, 1, &sync, sizeof(sync), 1, &captured, &fault));
    fake_backend_fail(1);
    fr_captured again;
    WANT(!fr_capture(opened, 1, &sync, sizeof(sync), 1, &again, &fault));
    WANT(fr_capture(opened, 1, &sync, sizeof(sync), 1, &again, &fault));
    WANT(again.dep->stream != captured.dep->stream);
    fr_captured_release(&captured);
    fr_captured_release(&again);
    fake_backend_fire(0);
    WANT(look());
    uint32_t records = gate_records();
    uint64_t alive = fake_backend_alive();
    for (uint64_t k = 0; k < 100; k++) {
        fake_backend_fail(k % 2 + 1); /* the wait; or the event of a fence */
        WANT(!fr_capture(opened, 1, &sync, sizeof(sync), 1, &captured, &fault));
        fake_backend_fail(0);
        WANT(fr_capture(opened, 1, &sync, sizeof(sync), 1, &captured, &fault));
        fr_captured_release(&captured);
        fake_backend_fire(0);
        WANT(look());
    }
    WANT(gate_records() == records);
    WANT(opened->streams.gate_count <= records);
    WANT(fake_backend_alive() <= alive);
    return end();
}

const char *device_case_a_dead_device_loses(void)
{
    unsigned char source[64] = {0};
    fr_device_run run;
    begin();
    fr_placed *placed = fr_placed_make(opened, sizeof(source), &fault);
    WANT(fr_device_run_begin(&run, opened, 0, 1, NULL, &fault));
    WANT(fr_device_run_writes(&run, placed, FR_USE_TARGET, &fault));
    WANT(fr_device_run_copy(&run, placed->address, (uint64_t)(uintptr_t)source, sizeof(source),
                            &fault));
    WANT(fr_device_run_record(&run, &fault));
    fr_device_run_end(&run);
    WANT(fr_placed_lost(placed) == 0);
    fake_backend_kill();
    WANT(look() && fr_opened_is_dead(opened));
    WANT(fr_placed_lost(placed) == 700);
    WANT(!fr_device_run_begin(&run, opened, 0, 2, NULL, &fault) && fault.kind == FR_DEVICE_DEAD);
    fr_placed_dispose(placed);
    return end();
}

/* A write with a dependency, from nothing. */
static bool write_once(fr_placed **out)
{
    static unsigned char source[64];
    const ovstage_cuda_sync_t sync = {.stream = 60, .wait_event = 6000};
    fr_captured captured = {0};
    fr_device_run run;
    *out = fr_placed_make(opened, sizeof(source), &fault);
    if (!*out || !fr_capture(opened, 1, &sync, sizeof(sync), 1, &captured, &fault))
        return false;
    bool done = fr_device_run_begin(&run, opened, 0, 1, captured.dep, &fault);
    fr_captured_release(&captured);
    if (!done)
        return false;
    done = fr_device_run_writes(&run, *out, FR_USE_TARGET, &fault) &&
           fr_device_run_copy(&run, (*out)->address, (uint64_t)(uintptr_t)source, sizeof(source),
                              &fault) &&
           fr_device_run_record(&run, &fault) && fr_device_run_available(&run, 5000, &fault);
    fr_device_run_end(&run);
    return done;
}

const char *device_case_each_call_fails(void)
{
    uint64_t k = 0;
    bool done = false;
    while (!done) {
        fr_placed *placed;
        begin();
        fake_backend_fail(++k);
        done = write_once(&placed);
        fake_backend_fail(0);
        WANT(done || fault.kind == FR_DEVICE_FAILED);
        WANT(k < 64);
        if (placed)
            fr_placed_dispose(placed);
        const char *left = end();
        if (left)
            return left;
    }
    WANT(k > 12); /* that many calls a write makes, and the one more that does not fail */
    return NULL;
}

/* Alone above the limit: never. Beside others: who has begun gets it. */
const char *device_case_one_piece_has_the_limit(void)
{
    fr_staged *taken[3];
    begin();
    for (int k = 0; k < 3; k++)
        taken[k] = fr_staging_take(opened, FR_STREAM_WORK, FR_STAGING_LIMIT_BYTES >> k, &fault);
    WANT(taken[0] && taken[1] && taken[2]);
    WANT(!fr_staging_has_room(opened, FR_STREAM_WORK));
    WANT(fr_staging_has_room(opened, FR_STREAM_STALLED));
    WANT(!fr_staging_take(opened, FR_STREAM_WORK, FR_STAGING_LIMIT_BYTES + 1, &fault));
    WANT(fault.kind == FR_DEVICE_MEMORY && strstr(fault.text, "above the limit"));
    for (int k = 0; k < 3; k++)
        fr_staging_give(taken[k]);
    WANT(fr_staging_has_room(opened, FR_STREAM_WORK));
    return end();
}

/* Where no more can be pinned, what is much too large is taken. */
const char *device_case_a_large_piece_serves(void)
{
    begin();
    fr_staged *large = fr_staging_take(opened, FR_STREAM_WORK, 1 << 19, &fault);
    WANT(large);
    void *memory = large->memory;
    fr_staging_give(large);
    fake_backend_fail(1);
    fr_staged *small = fr_staging_take(opened, FR_STREAM_WORK, 1000, &fault);
    WANT(small && small->memory == memory);
    fake_backend_fail(1);
    WANT(!fr_staging_take(opened, FR_STREAM_WORK, 1000, &fault));
    fr_staging_give(small);
    return end();
}

/* What is brought home takes room until it is there, also when nobody has it yet; and when it is
 * given before, others have it no sooner. */
const char *device_case_what_has_come_home_takes_no_room(void)
{
    begin();
    for (int early = 0; early < 2; early++) {
        fr_device_run run;
        WANT(fr_device_run_begin(&run, opened, 0, 7, NULL, &fault));
        fr_staged *home = fr_device_run_take_staging(&run, FR_STAGING_LIMIT_BYTES, &fault);
        WANT(home && fr_device_run_record(&run, &fault));
        void *memory = home->memory;
        fr_device_run_end(&run);
        if (early)
            fr_staging_give(home);
        fr_staged *other = fr_staging_take(opened, FR_STREAM_WORK, 1 << 20, &fault);
        WANT(other && other->memory != memory);
        fr_staging_give(other);
        WANT(!fr_staging_has_room(opened, FR_STREAM_WORK));
        fake_backend_fire(0);
        WANT(look() && fr_staging_has_room(opened, FR_STREAM_WORK));
        if (!early)
            fr_staging_give(home);
        home = fr_staging_take(opened, FR_STREAM_WORK, FR_STAGING_LIMIT_BYTES, &fault);
        WANT(home && home->memory == memory);
        fr_staging_give(home);
    }
    return end();
}

/* What a run has taken as work counts as stalled when that has come to be, and others have room. */
const char *device_case_pieces_turn_with_their_run(void)
{
    fr_device_run run;
    begin();
    fr_fence *late = fr_fence_get(opened, &fault);
    WANT(fr_fence_record(late, (fr_device_stream){opened->device, 77}, NULL, &fault));
    WANT(fr_device_run_begin(&run, opened, 0, 5, NULL, &fault));
    fr_staged *kept = fr_device_run_take_staging(&run, FR_STAGING_LIMIT_BYTES / 2, &fault);
    WANT(kept && fr_device_run_stage(&run, FR_STAGING_LIMIT_BYTES / 2, &fault));
    WANT(!fr_staging_has_room(opened, FR_STREAM_WORK));
    WANT(fr_wait_for(opened, run.stream, run.own, late, FR_WAIT_OTHERS, &fault));
    WANT(fr_device_run_record(&run, &fault));
    fr_device_run_end(&run);
    WANT(opened->staging.taken_bytes[FR_STREAM_WORK] == 0);
    WANT(!fr_staging_has_room(opened, FR_STREAM_STALLED));
    fr_staging_give(kept);
    fr_fence_release(late);
    return end();
}
