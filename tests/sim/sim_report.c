#include "tests/sim/sim_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { KEPT = 256, TEXT_BYTES = 512 };

static char texts[KEPT][TEXT_BYTES];
static uint64_t kept, counts[FR_SIM_KIND_COUNT];

static const char *const kind_names[FR_SIM_KIND_COUNT] = {
    "RACE",           "UNINITIALIZED", "USE AFTER FREE", "OUT OF BOUNDS", "SOURCE CHANGED",
    "NEVER RECORDED", "BAD HANDLE",    "BAD CALL",       "LEAK"};

void fr_sim_tell(fr_sim_kind kind, const char *format, ...)
{
    char text[TEXT_BYTES];
    int used = snprintf(text, sizeof text, "%s: ", kind_names[kind]);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    counts[kind]++;
    if (kept < KEPT)
        memcpy(texts[kept++], text, sizeof text);
    if (fr_sim_state.options.verbose)
        fprintf(stderr, "simulated driver: %s\n", text);
}

void fr_sim_reports_reset(void)
{
    kept = 0;
    memset(counts, 0, sizeof counts);
}

uint64_t fr_sim_report_count_of(fr_sim_kind kind)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    uint64_t count = counts[kind];
    pthread_mutex_unlock(&fr_sim_state.lock);
    return count;
}

uint64_t fr_sim_report_count(void)
{
    uint64_t count = 0;
    pthread_mutex_lock(&fr_sim_state.lock);
    for (int kind = 0; kind < FR_SIM_KIND_COUNT; kind++)
        count += counts[kind];
    pthread_mutex_unlock(&fr_sim_state.lock);
    return count;
}

const char *fr_sim_report(uint64_t index)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    const char *text = index < kept ? texts[index] : NULL;
    pthread_mutex_unlock(&fr_sim_state.lock);
    return text;
}

void fr_sim_clear_reports(void)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    fr_sim_reports_reset();
    pthread_mutex_unlock(&fr_sim_state.lock);
}

void fr_sim_describe_memory(char *text, size_t size_bytes, const fr_sim_memory *memory)
{
    static const char *const kinds[] = {"allocation", "pool allocation", "pinned memory",
                                        "registered memory"};
    int used = snprintf(text, size_bytes, "%s #%u", kinds[memory->kind], memory->number);
    if (memory->name[0])
        used += snprintf(text + used, size_bytes - (size_t)used, " '%s'", memory->name);
    used += snprintf(text + used, size_bytes - (size_t)used, " (%llu bytes",
                     (unsigned long long)memory->size);
    if (memory->device >= 0)
        snprintf(text + used, size_bytes - (size_t)used, ", device %d)", memory->device);
    else
        snprintf(text + used, size_bytes - (size_t)used, ")");
}

void fr_sim_describe_stream(char *text, size_t size_bytes, const fr_sim_stream *stream)
{
    if (stream->name[0])
        snprintf(text, size_bytes, "stream '%s'", stream->name);
    else if (stream == stream->context->legacy)
        snprintf(text, size_bytes, "the legacy stream of device %d", stream->context->device);
    else
        snprintf(text, size_bytes, "stream %u%s of device %d", stream->number,
                 stream->thread ? " (per thread)" : "", stream->context->device);
}

static void set_name(char *name, size_t size_bytes, const char *text)
{
    snprintf(name, size_bytes, "%s", text ? text : "");
}

void fr_sim_name_stream(fr_cu_stream stream, const char *name)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    fr_sim_stream *found = fr_sim_handle_peek(FR_SIM_STREAM, (uintptr_t)stream);
    if (found)
        set_name(found->name, sizeof found->name, name);
    pthread_mutex_unlock(&fr_sim_state.lock);
}

void fr_sim_name_memory(fr_cu_device_ptr address, const char *name)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    fr_sim_memory *found = fr_sim_memory_find(address);
    if (found)
        set_name(found->name, sizeof found->name, name);
    pthread_mutex_unlock(&fr_sim_state.lock);
}
