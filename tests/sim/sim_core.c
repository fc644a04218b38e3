#include "tests/sim/sim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

fr_sim fr_sim_state = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* --- Chance: one sequence, drawn from under the lock. --- */

static uint64_t mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

uint64_t fr_sim_random(void)
{
    return mix(fr_sim_state.random++);
}

uint32_t fr_sim_random_below(uint32_t limit)
{
    return (uint32_t)(((fr_sim_random() >> 32) * limit) >> 32);
}

void *fr_sim_allocate(size_t size_bytes)
{
    void *memory = calloc(1, size_bytes ? size_bytes : 1);
    if (!memory) {
        fputs("simulated driver: no memory\n", stderr);
        abort();
    }
    return memory;
}

/* --- Handles: 16 bits that no address has, 20 bits of generation, 28 bits of index. --- */

enum { INDEX_BITS = 28, GENERATION_BITS = 20, NONE = -1 };
static const uintptr_t TAG = 0x5f00;

typedef struct slot {
    void *object; /* NULL: free */
    uint32_t generation;
    int64_t next_free;
} slot;

typedef struct slots {
    slot *slots;
    uint32_t count, capacity, alive;
    int64_t first_free;
} slots;

static slots tables[FR_SIM_OBJECT_COUNT];
static const char *const object_names[FR_SIM_OBJECT_COUNT] = {
    "", "context", "stream", "event", "pool", "module", "function", "graph"};

uintptr_t fr_sim_handle_new(fr_sim_object kind, void *object)
{
    slots *table = &tables[kind];
    uint32_t index = 0;
    if (table->count == 0)
        table->first_free = NONE;
    if (table->first_free != NONE) {
        index = (uint32_t)table->first_free;
        table->first_free = table->slots[index].next_free;
    } else {
        if (table->count == table->capacity) {
            table->capacity = table->capacity ? table->capacity * 2 : 64;
            table->slots = realloc(table->slots, table->capacity * sizeof(slot));
            if (!table->slots)
                abort();
        }
        index = table->count++;
        /* Handles of an earlier simulation are stale, too. */
        table->slots[index].generation = (uint32_t)fr_sim_state.generation * 1024;
    }
    table->slots[index].object = object;
    table->slots[index].generation++;
    table->alive++;
    uintptr_t generation = table->slots[index].generation & ((1u << GENERATION_BITS) - 1);
    return (TAG + kind) << 48 | generation << INDEX_BITS | index;
}

static slot *slot_of(fr_sim_object kind, uintptr_t handle)
{
    slots *table = &tables[kind];
    uint32_t index = (uint32_t)(handle & ((1u << INDEX_BITS) - 1));
    uint32_t generation = (uint32_t)(handle >> INDEX_BITS) & ((1u << GENERATION_BITS) - 1);
    if (handle >> 48 != TAG + kind || index >= table->count)
        return NULL;
    slot *found = &table->slots[index];
#ifndef FR_MUTATE_SIM_HANDLES_HAVE_NO_GENERATION
    if ((found->generation & ((1u << GENERATION_BITS) - 1)) != generation)
        return NULL;
#endif
    if (!found->object)
        return NULL;
    return found;
}

void fr_sim_handle_drop(uintptr_t handle)
{
    fr_sim_object kind = (fr_sim_object)((handle >> 48) - TAG);
    slot *found = slot_of(kind, handle);
    if (!found)
        return;
    found->object = NULL;
    found->next_free = tables[kind].first_free;
    tables[kind].first_free = found - tables[kind].slots;
    tables[kind].alive--;
}

void *fr_sim_handle_peek(fr_sim_object kind, uintptr_t handle)
{
    slot *found = slot_of(kind, handle);
    return found ? found->object : NULL;
}

void *fr_sim_handle_find(fr_sim_object kind, const void *handle)
{
    uintptr_t value = (uintptr_t)handle;
    slot *found = slot_of(kind, value);
    if (found)
        return found->object;
    uintptr_t tag = value >> 48;
    if (!handle)
        fr_sim_tell(FR_SIM_BAD_HANDLE, "%s: the %s is NULL", fr_sim_call_name(),
                    object_names[kind]);
    else if (tag == TAG + kind)
        fr_sim_tell(FR_SIM_BAD_HANDLE, "%s: the %s %p is stale: it was destroyed",
                    fr_sim_call_name(), object_names[kind], handle);
    else
        fr_sim_tell(FR_SIM_BAD_HANDLE, "%s: %p is no %s%s%s", fr_sim_call_name(), handle,
                    object_names[kind],
                    tag > TAG && tag < TAG + FR_SIM_OBJECT_COUNT ? ", but of the kind: " : "",
                    tag > TAG && tag < TAG + FR_SIM_OBJECT_COUNT ? object_names[tag - TAG] : "");
    return NULL;
}

uint64_t fr_sim_handles_alive(fr_sim_object kind)
{
    return tables[kind].alive;
}

static void handles_reset(void)
{
    for (int kind = 0; kind < FR_SIM_OBJECT_COUNT; kind++) {
        free(tables[kind].slots);
        tables[kind] = (slots){.first_free = NONE};
    }
}

/* --- Opening and closing. --- */

fr_sim_options fr_sim_default_options(void)
{
    return (fr_sim_options){.device_count = 2, .mode = FR_SIM_LAZY, .seed = 1};
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

fr_sim_options fr_sim_environment_options(void)
{
    fr_sim_options options = fr_sim_default_options();
    const char *mode = getenv("FR_SIM_MODE");
    if (mode && strcmp(mode, "random") == 0)
        options.mode = FR_SIM_RANDOM;
    else if (mode && strcmp(mode, "eager") == 0)
        options.mode = FR_SIM_EAGER;
    const char *pageable = getenv("FR_SIM_PAGEABLE");
    if (pageable && strcmp(pageable, "staged") == 0)
        options.pageable = FR_SIM_PAGEABLE_STAGED;
    else if (pageable && strcmp(pageable, "late") == 0)
        options.pageable = FR_SIM_PAGEABLE_LATE;
    else if (pageable && strcmp(pageable, "synchronous") == 0)
        options.pageable = FR_SIM_PAGEABLE_SYNCHRONOUS;
    options.seed = number_from("FR_SIM_SEED", options.seed);
    options.device_count = (uint32_t)number_from("FR_SIM_DEVICES", options.device_count);
    options.memory_bytes = number_from("FR_SIM_MEMORY", 0);
    options.no_peer_access = number_from("FR_SIM_NO_PEER", 0) != 0;
    options.background = number_from("FR_SIM_BACKGROUND", 0) != 0;
    options.verbose = number_from("FR_SIM_VERBOSE", 0) != 0;
    options.init_result = (fr_cu_result)number_from("FR_SIM_INIT_RESULT", 0);
    options.driver_version = (int)number_from("FR_SIM_DRIVER_VERSION", 0);
    return options;
}

static void close_locked(void)
{
    if (!fr_sim_state.is_open)
        return;
    fr_sim_run_wait_host_function();
    fr_sim_streams_reset();
    fr_sim_captures_reset();
    fr_sim_contexts_reset();
    fr_sim_pools_reset();
    fr_sim_host_reset();
    fr_sim_devices_close();
    fr_sim_check_reset();
    fr_sim_modules_drop(NULL);
    handles_reset();
    fr_sim_clock_free(&fr_sim_state.host_clock);
    fr_sim_state.is_open = false;
    fr_sim_state.initialized = false;
}

void fr_sim_close(void)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    close_locked();
    pthread_mutex_unlock(&fr_sim_state.lock);
}

static void open_locked(const fr_sim_options *options)
{
    fr_sim *sim = &fr_sim_state;
    close_locked();
    sim->generation++;
    sim->is_open = true;
    sim->options = *options;
    if (sim->options.device_count > FR_SIM_MAX_DEVICES)
        sim->options.device_count = FR_SIM_MAX_DEVICES;
    if (sim->options.memory_bytes == 0 || sim->options.memory_bytes > FR_SIM_ARENA_BYTES)
        sim->options.memory_bytes = FR_SIM_ARENA_BYTES;
    if (sim->options.driver_version == 0)
        sim->options.driver_version = 13000;
    sim->random = mix(options->seed);
    sim->contexts = NULL;
    sim->streams = sim->dead_streams = NULL;
    sim->events = NULL;
    sim->pools = NULL;
    sim->captures = NULL;
    sim->host = (fr_sim_device){0};
    sim->host_time = 1;
    sim->slot_count = FR_SIM_HOST_SLOT + 1;
    sim->memory_count = sim->stream_count = 0;
    sim->thread_count = sim->pending = sim->operations_run = sim->ticks = 0;
    sim->host_stream = NULL;
    fr_sim_clock_set(&sim->host_clock, FR_SIM_HOST_SLOT, sim->host_time);
    fr_sim_calls_reset();
    fr_sim_reports_reset();
    fr_sim_builtin_register();
    fr_sim_kernels_register();
}

void fr_sim_open(const fr_sim_options *options)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    open_locked(options);
    pthread_mutex_unlock(&fr_sim_state.lock);
}

void fr_sim_open_if_closed(void)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    if (!fr_sim_state.is_open) {
        fr_sim_options options = fr_sim_environment_options();
        open_locked(&options);
    }
    pthread_mutex_unlock(&fr_sim_state.lock);
}

static void leak(bool report, uint64_t count, const char *what)
{
    if (report && count > 0)
        fr_sim_tell(FR_SIM_LEAK, "%llu %s left", (unsigned long long)count, what);
}

uint64_t fr_sim_check_leaks(bool report)
{
    static const char *const plural[FR_SIM_OBJECT_COUNT] = {
        "", "contexts", "streams", "events", "pools", "modules", "functions", "graphs"};
    fr_sim *sim = &fr_sim_state;
    uint64_t total = 0;
    pthread_mutex_lock(&sim->lock);
    for (int kind = FR_SIM_CONTEXT; kind < FR_SIM_OBJECT_COUNT; kind++) {
        uint64_t count = tables[kind].alive;
        if (kind == FR_SIM_FUNCTION)
            continue;              /* they belong to modules */
        if (kind == FR_SIM_STREAM) /* default streams belong to contexts */
            for (const fr_sim_stream *s = sim->streams; s; s = s->next_all)
                count -= !s->destroyed && (s == s->context->legacy || s->thread) ? 1 : 0;
        leak(report, count, plural[kind]);
        total += count;
    }
    for (uint32_t d = 0; d <= FR_SIM_MAX_DEVICES; d++) {
        const fr_sim_device *device = d < FR_SIM_MAX_DEVICES ? &sim->devices[d] : &sim->host;
        for (uint32_t i = 0; i < device->memory_count; i++) {
            if (!device->memory[i]->live)
                continue;
            char text[160];
            fr_sim_describe_memory(text, sizeof text, device->memory[i]);
            if (report)
                fr_sim_tell(FR_SIM_LEAK, "%s left", text);
            total++;
        }
    }
    pthread_mutex_unlock(&sim->lock);
    return total;
}

/* A program that loads the simulator in place of the driver can ask for a verdict at its end. */
__attribute__((destructor)) static void at_exit(void)
{
    if (!fr_sim_state.is_open || number_from("FR_SIM_SUMMARY", 0) == 0)
        return;
    bool all_ran = fr_sim_drain();
    uint64_t count = fr_sim_report_count();
    fprintf(stderr, "simulated driver: %llu reports, seed %llu%s\n", (unsigned long long)count,
            (unsigned long long)fr_sim_state.options.seed,
            all_ran ? "" : "; some work never ran, and was not checked");
    for (uint64_t i = 0; fr_sim_report(i); i++)
        fprintf(stderr, "  %s\n", fr_sim_report(i));
    fflush(NULL);
    if (count > 0)
        _exit(99);
}
