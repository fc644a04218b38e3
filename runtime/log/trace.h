/* Tracing: what ran when, in a ring of each thread.
 *
 * Off: the graph's hook is NULL, which costs one load an op. On: two clock readings an op and a
 * 32-byte record.
 *
 * Threads: any thread records, into the ring that it claimed; start, stop and write from any
 * thread. Invariants: a ring has one writer, which takes the ring's lock for each record and looks
 * at `running` inside. Stop clears `running` and then goes through every lock, so that nothing
 * changes any more when it returns: writing the trace out needs no lock. Rings stay until the
 * instance is destroyed; start makes them nobody's. A thread that has recorded elsewhere in between
 * finds its ring again by its number. Memory: events_per_thread * 32 bytes for each thread that ran
 * something; at most FR_TRACE_RINGS_MAX threads in a trace. Memory that cannot be had loses events,
 * never an op. Each event that happened while it was on is written out or counted as lost. */
#ifndef FR_RUNTIME_LOG_TRACE_H
#define FR_RUNTIME_LOG_TRACE_H

#include <locale.h>

#include "runtime/api/stage.h"

#define FR_TRACE_RINGS_MAX 128
#define FR_TRACE_NAMES_MAX 64
#define FR_TRACE_EVENTS_DEFAULT 65536u
#define FR_TRACE_OP_BITS 48
#define FR_TRACE_OP_MASK ((UINT64_C(1) << FR_TRACE_OP_BITS) - 1)

typedef struct fr_trace_event {
    uint64_t ordinal; /* of the lane, or what a seal seals up to; 0: none */
    uint64_t op; /* bits 47..0: the op's id without its prefix, 0: a client's span; bits 63..48:
                    place of its name in the ring's list */
    uint64_t start_ns, end_ns;
} fr_trace_event;

_Static_assert(sizeof(fr_trace_event) == 32, "two to a cache line");

typedef struct fr_trace_ring {
    fr_mutex lock;
    uint64_t owner;        /* the number of its thread; 0: nobody's. Changed under both locks */
    uint32_t worker_index; /* UINT32_MAX: a client's thread */
    uint32_t capacity;     /* events; 0 until memory was had */
    uint32_t name_count;
    uint64_t written; /* events since start; the newest `capacity` of them are there */
    uint64_t lost;    /* for want of memory; besides those that newer ones displaced */
    fr_trace_event *events;
    const char *
        names[FR_TRACE_NAMES_MAX]; /* static texts; the last place stands for all that do not fit */
} fr_trace_ring;

typedef struct fr_trace {
    fr_stage *stage;
    uint64_t serial;          /* of this object among all: what a thread remembers its ring by */
    _Atomic uint32_t running; /* changed under stage->trace_lock */
    uint32_t writers;         /* under stage->trace_lock: writing out, so it may not be started */
    uint64_t start_ns;
    fr_mutex lock; /* guards what follows; ring locks are taken inside */
    uint32_t events_per_thread;
    uint64_t lost; /* of threads without a ring: for want of memory, or of a place for one */
    uint32_t ring_count;
    fr_trace_ring *rings[FR_TRACE_RINGS_MAX];
} fr_trace;

/* Frees what tracing left, at the end of an instance. */
void fr_trace_destroy(fr_stage *stage);
/* The graph's hook. */
void fr_trace_op(void *user, const fr_op *op, const char *name, uint32_t worker_index,
                 uint64_t start_ns, uint64_t end_ns);

/* A place for text that goes to the client in pieces. */
typedef struct fr_trace_out {
    bool (*write)(const char *text, size_t length, void *user);
    void *user;
    bool failed;
    locale_t plain; /* in which numbers are written; 0: the host's */
    size_t used;
    char text[4096];
} fr_trace_out;

void fr_trace_print(fr_trace_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void fr_trace_print_flush(fr_trace_out *out);
/* A name inside quotes or an element: what JSON and XML would misread becomes '_'. */
void fr_trace_print_name(fr_trace_out *out, const char *name);

/* The event at `place` (0: the oldest kept) of a ring at rest. */
const fr_trace_event *fr_trace_event_at(const fr_trace_ring *ring, uint64_t place);
uint64_t fr_trace_event_count(const fr_trace_ring *ring);
/* As clients know it; 0: a client's span. */
static inline uint64_t fr_trace_event_op(const fr_trace *trace, const fr_trace_event *event)
{
    uint64_t op = event->op & FR_TRACE_OP_MASK;
    return op == 0 ? 0 : (uint64_t)trace->stage->instance_number << FR_TRACE_OP_BITS | op;
}
/* Events that are not there, of all threads. */
uint64_t fr_trace_lost(const fr_trace *trace);
const char *fr_trace_event_name(const fr_trace_ring *ring, const fr_trace_event *event);
/* "worker 3", "thread 1": rows in order of worker index, then of claiming. */
void fr_trace_row_name(const fr_trace_ring *ring, uint32_t row, char *buffer, size_t buffer_bytes);
/* Rings in the order of rows; returns how many. */
uint32_t fr_trace_rows(const fr_trace *trace, const fr_trace_ring **rows);

void fr_trace_write_json(const fr_trace *trace, fr_trace_out *out);
void fr_trace_write_svg(const fr_trace *trace, fr_trace_out *out);

#endif
