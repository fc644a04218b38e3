#include "runtime/log/trace.h"

#include "runtime/api/callout.h"
#include "runtime/ops/ops.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>

/* The ring that this thread claimed last, and in which trace. */
static _Thread_local struct {
    uint64_t number; /* of the thread; 0: it has none yet */
    uint64_t serial;
    fr_trace_ring *ring;
} fr_trace_mine;

static _Atomic uint64_t fr_trace_serial, fr_trace_threads;

static uint64_t fr_trace_thread(void)
{
    if (fr_trace_mine.number == 0)
        fr_trace_mine.number = fr_add_relaxed(&fr_trace_threads, 1) + 1;
    return fr_trace_mine.number;
}

/* --- recording -------------------------------------------------------------------------------- */

/* With the trace's lock: the ring gets another owner, or none. */
static void fr_trace_ring_own(fr_trace_ring *ring, uint64_t owner, uint32_t worker_index)
{
    fr_mutex_lock(&ring->lock);
    ring->owner = owner;
    ring->worker_index = worker_index;
    fr_mutex_unlock(&ring->lock);
}

/* With the trace's lock: the thread's ring, else one that is nobody's. NULL: there is none. */
static fr_trace_ring *fr_trace_find(const fr_trace *trace, uint32_t worker_index)
{
    fr_trace_ring *nobodys = NULL;
    if (!fr_load_relaxed(&trace->running))
        return NULL;
    for (uint32_t i = 0; i < trace->ring_count; i++) {
        if (trace->rings[i]->owner == fr_trace_thread())
            return trace->rings[i];
        if (trace->rings[i]->owner == 0 && !nobodys)
            nobodys = trace->rings[i];
    }
    if (nobodys)
        fr_trace_ring_own(nobodys, fr_trace_thread(), worker_index);
    return nobodys;
}

/* Puts one more ring in. False: there is no room, or the trace has ended. */
static bool fr_trace_add(fr_trace *trace, fr_trace_ring *ring)
{
    fr_mutex_lock(&trace->lock);
    bool fits = fr_load_relaxed(&trace->running) && trace->ring_count < FR_TRACE_RINGS_MAX;
    if (fits)
        trace->rings[trace->ring_count++] = ring;
    fr_mutex_unlock(&trace->lock);
    return fits;
}

static fr_trace_ring *fr_trace_claim(fr_trace *trace, uint32_t worker_index)
{
    fr_mutex_lock(&trace->lock);
    fr_trace_ring *ring = fr_trace_find(trace, worker_index);
    fr_mutex_unlock(&trace->lock);
    if (!ring) {
        ring = fr_memory_allocate_zero(&trace->stage->allocator, sizeof(*ring), 64);
        if (!ring)
            return NULL; /* the next event tries again */
        ring->owner = fr_trace_thread();
        ring->worker_index = worker_index;
        if (!fr_trace_add(trace, ring)) {
            fr_memory_release(&trace->stage->allocator, ring, sizeof(*ring));
            return NULL;
        }
    }
    fr_trace_mine.serial = trace->serial;
    fr_trace_mine.ring = ring;
    return ring;
}

/* The thread's ring, locked. NULL: it has none. */
static fr_trace_ring *fr_trace_enter(fr_trace *trace, uint32_t worker_index)
{
    fr_trace_ring *ring = fr_trace_mine.serial == trace->serial ? fr_trace_mine.ring : NULL;
    for (uint32_t looks = 0; looks < 2; looks++) {
        if (!ring)
            ring = fr_trace_claim(trace, worker_index);
        if (!ring)
            return NULL;
        fr_mutex_lock(&ring->lock);
        if (ring->owner == fr_trace_thread())
            return ring;
        fr_mutex_unlock(&ring->lock); /* another trace has begun since */
        ring = NULL;
    }
    return NULL;
}

static uint32_t fr_trace_name_place(fr_trace_ring *ring, const char *name)
{
    for (uint32_t i = 0; i < ring->name_count; i++)
        if (ring->names[i] == name)
            return i;
    if (ring->name_count == FR_TRACE_NAMES_MAX)
        return FR_TRACE_NAMES_MAX - 1;
    ring->names[ring->name_count] = ring->name_count == FR_TRACE_NAMES_MAX - 1 ? "other" : name;
    return ring->name_count++;
}

/* The ring's memory is had at its first event, by its own thread, outside of its lock. */
static void fr_trace_ring_fill(fr_trace *trace, fr_trace_ring *ring)
{
    fr_mutex_lock(&trace->lock);
    uint32_t capacity = trace->events_per_thread;
    fr_mutex_unlock(&trace->lock);
    size_t size_bytes = sizeof(fr_trace_event) * (size_t)capacity;
    fr_trace_event *events = fr_memory_allocate(&trace->stage->allocator, size_bytes, 64);
    fr_mutex_lock(&ring->lock);
    bool keeps = events && ring->capacity == 0 && ring->owner == fr_trace_thread() &&
                 fr_load_relaxed(&trace->running);
    if (keeps) {
        ring->events = events;
        ring->capacity = capacity;
    }
    fr_mutex_unlock(&ring->lock);
    if (!keeps)
        fr_memory_release(&trace->stage->allocator, events, size_bytes);
}

static void fr_trace_ring_append(fr_trace_ring *ring, const char *name, const fr_trace_event *event)
{
    if (ring->capacity == 0) {
        ring->lost++;
        return;
    }
    fr_trace_event *place = &ring->events[ring->written++ % ring->capacity];
    *place = *event;
    place->op |= (uint64_t)fr_trace_name_place(ring, name) << FR_TRACE_OP_BITS;
}

/* Of a thread that got no ring. */
static void fr_trace_lose(fr_trace *trace)
{
    fr_mutex_lock(&trace->lock);
    if (fr_load_relaxed(&trace->running)) /* the lock orders this with stop */
        trace->lost++;
    fr_mutex_unlock(&trace->lock);
}

static void fr_trace_record(fr_trace *trace, uint32_t worker_index, const char *name,
                            const fr_trace_event *event)
{
    fr_trace_ring *ring = fr_trace_enter(trace, worker_index);
    if (!ring) {
        fr_trace_lose(trace);
        return;
    }
    if (ring->capacity == 0) {
        fr_mutex_unlock(&ring->lock);
        fr_trace_ring_fill(trace, ring);
        fr_mutex_lock(&ring->lock);
    }
    /* The locks order this with stop and start. */
    if (fr_load_relaxed(&trace->running) && ring->owner == fr_trace_thread())
        fr_trace_ring_append(ring, name, event);
    fr_mutex_unlock(&ring->lock);
}

void fr_trace_op(void *user, const fr_op *op, const char *name, uint32_t worker_index,
                 uint64_t start_ns, uint64_t end_ns)
{
    fr_trace *trace = user;
    if (name == fr_task_op_type.name && fr_task_name(op))
        name = fr_task_name(op);
    fr_trace_event event = {fr_op_told_ordinal(op), fr_op_client_id(op) & FR_TRACE_OP_MASK,
                            start_ns, end_ns};
    fr_trace_record(trace, worker_index, name, &event);
}

/* --- start, stop ------------------------------------------------------------------------------ */

/* Empties the rings, which are nobody's then; their memory is had anew, in the size that start asks
 * for. */
static void fr_trace_rings_reset(fr_trace *trace, uint32_t events_per_thread)
{
    fr_mutex_lock(&trace->lock);
    trace->events_per_thread = events_per_thread;
    trace->lost = 0;
    uint32_t ring_count = trace->ring_count;
    fr_mutex_unlock(&trace->lock);
    for (uint32_t i = 0; i < ring_count; i++) {
        fr_trace_ring *ring = trace->rings[i];
        fr_mutex_lock(&trace->lock);
        fr_mutex_lock(&ring->lock);
        fr_trace_event *events = ring->events;
        size_t size_bytes = sizeof(fr_trace_event) * (size_t)ring->capacity;
        ring->events = NULL;
        ring->capacity = ring->name_count = 0;
        ring->written = ring->lost = ring->owner = 0;
        fr_mutex_unlock(&ring->lock);
        fr_mutex_unlock(&trace->lock);
        fr_memory_release(&trace->stage->allocator, events, size_bytes);
    }
}

/* After this nobody changes a ring, and none is added. */
static void fr_trace_quiesce(fr_trace *trace)
{
    fr_store_relaxed(&trace->running, 0);
    fr_mutex_lock(&trace->lock);
    uint32_t ring_count = trace->ring_count;
    fr_mutex_unlock(&trace->lock);
    for (uint32_t i = 0; i < ring_count; i++) {
        fr_mutex_lock(&trace->rings[i]->lock);
        fr_mutex_unlock(&trace->rings[i]->lock);
    }
}

static fr_trace *fr_trace_make(fr_stage *stage, uint32_t events_per_thread)
{
    fr_trace *trace = fr_memory_allocate_zero(&stage->allocator, sizeof(*trace), 64);
    if (!trace)
        return NULL;
    trace->stage = stage;
    trace->serial = fr_add_relaxed(&fr_trace_serial, 1) + 1;
    trace->events_per_thread = events_per_thread;
    return trace;
}

static void fr_trace_free(fr_stage *stage, fr_trace *trace)
{
    if (!trace)
        return;
    for (uint32_t i = 0; i < trace->ring_count; i++) {
        fr_trace_ring *ring = trace->rings[i];
        fr_memory_release(&stage->allocator, ring->events,
                          sizeof(fr_trace_event) * (size_t)ring->capacity);
        fr_memory_release(&stage->allocator, ring, sizeof(*ring));
    }
    fr_memory_release(&stage->allocator, trace, sizeof(*trace));
}

void fr_trace_destroy(fr_stage *stage)
{
    fr_trace_free(stage, stage->trace);
    stage->trace = NULL;
}

ovstage_api_status_t flyrail_trace_start(ovstage_instance_t *instance, uint32_t events_per_thread)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (events_per_thread == 0)
        events_per_thread = FR_TRACE_EVENTS_DEFAULT;
    fr_trace *fresh = fr_trace_make(stage, events_per_thread);
    fr_mutex_lock(&stage->trace_lock);
    if (!stage->trace) {
        stage->trace = fresh;
        fresh = NULL;
    }
    fr_trace *trace = stage->trace;
    bool busy = trace && (fr_load_relaxed(&trace->running) || trace->writers > 0);
    if (trace && !busy) {
        fr_trace_rings_reset(trace, events_per_thread);
        trace->start_ns = fr_os_current->now_ns();
        fr_store_relaxed(&trace->running, 1);
        fr_graph_set_trace(stage->graph, fr_trace_op, trace);
    }
    fr_mutex_unlock(&stage->trace_lock);
    fr_trace_free(stage, fresh);
    if (!trace)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a trace");
    if (busy)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "tracing is on already, or a trace is being written out");
    return OVSTAGE_OK;
}

ovstage_api_status_t flyrail_trace_stop(ovstage_instance_t *instance)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    fr_mutex_lock(&stage->trace_lock);
    bool running = stage->trace && fr_load_relaxed(&stage->trace->running);
    if (running) {
        fr_graph_set_trace(stage->graph, NULL, NULL);
        fr_trace_quiesce(stage->trace);
    }
    fr_mutex_unlock(&stage->trace_lock);
    if (!running)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "tracing is not on");
    return OVSTAGE_OK;
}

ovstage_api_status_t flyrail_trace_span(ovstage_instance_t *instance, const char *name,
                                        uint64_t ordinal, uint64_t start_ns, uint64_t end_ns)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!name)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the span's name is NULL");
    if (end_ns < start_ns)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "the span '%.64s' ends at %llu ns, before it begins at %llu ns", name,
                            (unsigned long long)end_ns, (unsigned long long)start_ns);
    fr_mutex_lock(&stage->trace_lock);
    fr_trace *trace = stage->trace;
    fr_mutex_unlock(&stage->trace_lock);
    if (trace && fr_load_relaxed(&trace->running)) {
        const fr_worker *worker = fr_worker_current();
        fr_trace_event event = {ordinal, 0, start_ns, end_ns};
        fr_trace_record(trace, worker ? fr_worker_index(worker) : UINT32_MAX, name, &event);
    }
    return OVSTAGE_OK;
}

uint64_t flyrail_now_ns(void)
{
    return fr_os_current->now_ns();
}

/* --- reading ---------------------------------------------------------------------------------- */

uint64_t fr_trace_event_count(const fr_trace_ring *ring)
{
    return ring->written < ring->capacity ? ring->written : ring->capacity;
}

uint64_t fr_trace_lost(const fr_trace *trace)
{
    uint64_t lost = trace->lost;
    for (uint32_t i = 0; i < trace->ring_count; i++) {
        const fr_trace_ring *ring = trace->rings[i];
        lost += ring->lost + ring->written - fr_trace_event_count(ring);
    }
    return lost;
}

const fr_trace_event *fr_trace_event_at(const fr_trace_ring *ring, uint64_t place)
{
    uint64_t oldest = ring->written - fr_trace_event_count(ring);
    return &ring->events[(oldest + place) % ring->capacity];
}

const char *fr_trace_event_name(const fr_trace_ring *ring, const fr_trace_event *event)
{
    return ring->names[event->op >> FR_TRACE_OP_BITS];
}

uint32_t fr_trace_rows(const fr_trace *trace, const fr_trace_ring **rows)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ring_count; i++) {
        const fr_trace_ring *ring = trace->rings[i];
        if (ring->owner == 0)
            continue; /* of an earlier trace */
        uint32_t at = count++;
        for (; at > 0 && rows[at - 1]->worker_index > ring->worker_index; at--)
            rows[at] = rows[at - 1];
        rows[at] = ring;
    }
    return count;
}

void fr_trace_row_name(const fr_trace_ring *ring, uint32_t row, char *buffer, size_t buffer_bytes)
{
    if (ring->worker_index == UINT32_MAX)
        snprintf(buffer, buffer_bytes, "thread (row %u)", row);
    else
        snprintf(buffer, buffer_bytes, "worker %u", ring->worker_index);
}

void fr_trace_print_flush(fr_trace_out *out)
{
    if (out->used > 0 && !out->failed)
        out->failed = !out->write(out->text, out->used, out->user);
    out->used = 0;
}

void fr_trace_print(fr_trace_out *out, const char *format, ...)
{
    char piece[512];
    va_list arguments;
    /* The host's locale may write numbers with a comma. */
    locale_t hosts = out->plain ? uselocale(out->plain) : (locale_t)0;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    if (hosts)
        (void)uselocale(hosts);
    if (length < 0)
        return;
    size_t count = (size_t)length < sizeof(piece) ? (size_t)length : sizeof(piece) - 1;
    if (out->used + count > sizeof(out->text))
        fr_trace_print_flush(out);
    for (size_t i = 0; i < count; i++)
        out->text[out->used++] = piece[i];
}

void fr_trace_print_name(fr_trace_out *out, const char *name)
{
    char safe[64];
    size_t length = 0;
    for (; name[length] && length < sizeof(safe) - 1; length++) {
        char c = name[length];
        bool plain =
            c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
        safe[length] = plain ? c : '_';
    }
    safe[length] = '\0';
    fr_trace_print(out, "%s", safe);
}

static bool fr_trace_write_out(const fr_trace *trace, flyrail_trace_format_t format,
                               bool (*write)(const char *text, size_t length, void *user),
                               void *user)
{
    fr_trace_out out;
    out.write = write;
    out.user = user;
    out.failed = false;
    out.used = 0;
    out.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (format == FLYRAIL_TRACE_SVG)
        fr_trace_write_svg(trace, &out);
    else
        fr_trace_write_json(trace, &out);
    fr_trace_print_flush(&out);
    if (out.plain)
        freelocale(out.plain);
    return !out.failed;
}

ovstage_api_status_t flyrail_trace_write(ovstage_instance_t *instance,
                                         flyrail_trace_format_t format,
                                         bool (*write)(const char *text, size_t length, void *user),
                                         void *user)
{
    fr_stage *stage = fr_stage_of(instance);
    ovstage_api_status_t status = fr_stage_enter(stage);
    if (status != OVSTAGE_OK)
        return status;
    if (!write)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "the write function is NULL");
    if (format != FLYRAIL_TRACE_PERFETTO_JSON && format != FLYRAIL_TRACE_SVG)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "trace format %u is neither 0 nor 1",
                            (unsigned)format);
    fr_mutex_lock(&stage->trace_lock);
    fr_trace *trace = stage->trace;
    bool running = trace && fr_load_relaxed(&trace->running);
    if (trace && !running)
        trace->writers++;
    fr_mutex_unlock(&stage->trace_lock);
    if (!trace || running)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            trace ? "tracing is still on" : "nothing was ever traced");
    fr_callout callout;
    fr_callout_begin(&callout, stage);
    bool written = fr_trace_write_out(trace, format, write, user);
    fr_callout_end(&callout);
    fr_mutex_lock(&stage->trace_lock);
    trace->writers--;
    fr_mutex_unlock(&stage->trace_lock);
    if (!written)
        return fr_error_set(OVSTAGE_ERROR_OP_FAILED, "the write function answered false");
    return OVSTAGE_OK;
}
