/* flyrail: what this implementation offers beyond the stage API.
 *
 * Names, layouts and behaviour here are flyrail's own; everything else is in <ovstage/ovstage.h>.
 *
 * Structures that may grow begin with struct_size. The caller sets it to sizeof of the structure
 * that it was compiled with before every call that takes or fills one; a size that no version had
 * is refused with INVALID_ARGUMENT.
 *
 * Statuses are the stage API's. Whatever is not OVSTAGE_OK and not TIMEOUT sets the text that
 * ovstage_get_last_error() returns on this thread, with the value and the limit that it fell foul
 * of. Common to all functions: INVALID_ARGUMENT for a NULL that is not allowed and for an instance
 * that is not alive, NOT_SUPPORTED in a process that was forked off one that had used the library.
 *
 * Logged besides (ovstage_set_log_callback), on the channel omni.ovstage: as an error each op that
 * fails when it runs, as a warning one that does not run since an op that it depends on failed.
 * That is how who waits for a later seal only can learn of them (D17). Of more than 1,024 messages
 * that wait for the callback the further ones are counted in place of being delivered.
 *
 * Threads: every function may be called from any thread at the same time, also from inside tasks,
 * unless it says otherwise. The instance must not be destroyed during a call. */
#ifndef FLYRAIL_FLYRAIL_H
#define FLYRAIL_FLYRAIL_H

#include <ovstage/ovstage.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's own version; the stage API's is OVSTAGE_VERSION_*. */
#define FLYRAIL_VERSION_MAJOR 0
#define FLYRAIL_VERSION_MINOR 1
#define FLYRAIL_VERSION_PATCH 0

/* The version of the library that runs, as "0.1.0". Static; never NULL. */
OVSTAGE_EXPORT const char *flyrail_version_string(void);

/* --------------------------------------------------------------------------- configuration ---- */
/* As many workers as CPUs that this process may use: min(affinity mask, cgroup quota). */
#define FLYRAIL_WORKERS_AUTO UINT32_MAX

/* Where an instance gets its memory. Both functions or neither (all NULL: the library's own pools).
 * They may be called from any thread at the same time, must not call the library, and must serve
 * until ovstage_destroy_instance has returned. What the instances of a process share, the path
 * dictionary and the process's pool, comes from the C library's heap in any case. */
typedef struct flyrail_allocator_t {
    /* NULL when there is no memory: the call that needed it answers OUT_OF_MEMORY and changes
     * nothing. alignment_bytes is a power of two, at least 16. */
    void *(*allocate)(size_t size_bytes, size_t alignment_bytes, void *user);
    /* memory is never NULL; size_bytes is what was asked for. */
    void (*release)(void *memory, size_t size_bytes, void *user);
    void *user;
} flyrail_allocator_t;

typedef struct flyrail_config_t {
    uint32_t struct_size;
    /* Worker threads: at most 1,024; FLYRAIL_WORKERS_AUTO by default. 0: no threads, ops run inside
     * waits, polls, flyrail_run and submissions that find the queue full. The environment variable
     * FLYRAIL_WORKERS=n wins. The first instance that uses the process's pool decides its size. */
    uint32_t worker_count;
    /* A pool of this instance's own instead of the process's; off by default. With no workers it is
     * always so. */
    bool own_pool;
    bool pin_workers; /* keeps each worker on one CPU; off by default */
    bool
        adopt_managed; /* adopts managed tensors that fit, IS_COPIED or not (D10); off by default */
    bool caller_runs;  /* a wait runs what it waits for on its own thread (L8); on by default */
    uint64_t spin_ns;  /* how long a worker or a waiter looks for work before it sleeps: 50,000 */
    /* Pending ops before QUEUE_FULL (D25), at least 1: 1,000,000. Without workers a submission runs
     * ops in place of being refused. */
    uint64_t op_limit;
    /* Bytes in unsealed versions and in payloads of pending writes before QUEUE_FULL (D25), at
     * least 1: 1/4 of the machine's memory. Looked at by a submission: what those before it turn
     * out to need may lie a little above. Seals and discards make room. */
    uint64_t pending_limit_bytes;
    /* Sealed values kept before the newest (L6), and payloads for the next ones: 1/8 of memory; 0:
     * none. */
    uint64_t history_limit_bytes;
    /* How many of them of each key: 2; 0: none. A read of a value that is not kept any more answers
     * OUT_OF_RANGE; one at any older moment, of keys that were not written since, has theirs. Who
     * reads up to k seals behind the newest sets k, or opens a snapshot of what it reads. */
    uint32_t history_versions;
    /* Gathers kept for the next read of the same, and, in at most half of it, where the paths of
     * queries lie: 1/16 of memory. The least used gathers go for new ones. */
    uint64_t cache_limit_bytes;
    flyrail_allocator_t allocator;
    /* Runs first on each new worker thread, e.g. to set its name, priority or floating-point mode.
     * May be NULL. Of the process's pool it is that of the instance that decided its size, and must
     * serve as long as the pool: until the last reference to the process state is gone (R2). */
    void (*worker_started)(uint32_t worker_index, void *user);
    void *worker_started_user;
} flyrail_config_t;

/* Fills *out with the defaults. out->struct_size must be set. INVALID_ARGUMENT: NULL, or a size
 * that no version had. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_get_default_config(flyrail_config_t *out);

/* Makes an instance, as ovstage_create_instance does, with a configuration.
 * desc: NULL for defaults. config: NULL for defaults; read during the call only. *out: the
 * instance, NULL on failure; given back with ovstage_destroy_instance.
 * INVALID_ARGUMENT: out is NULL, a setting is out of its range, or FLYRAIL_WORKERS is not a number
 * from 0 to 1,024. OUT_OF_MEMORY: no memory, or 4,096 instances are alive. No thread is started
 * before the first op. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_create_instance(const ovstage_instance_desc_t *desc,
                                                            const flyrail_config_t *config,
                                                            ovstage_instance_t **out);

/* ------------------------------------------------------------------------------ statistics ---- */
/* Counts go up from creation; the others are what is there now. What other threads are just doing
 * may be missing. */
typedef struct flyrail_statistics_t {
    uint32_t struct_size;
    uint32_t worker_count;     /* threads that really run, of the instance's pool; no lent ones */
    uint32_t workers_sleeping; /* of these, how many sleep */
    /* Of the ops that clients have submitted: what an op consists of inside, to wait for a device
     * or a cuda_sync, is counted with it. */
    uint64_t ops_accepted;  /* count */
    uint64_t ops_completed; /* count, failed ones included */
    uint64_t ops_failed;    /* count */
    uint64_t ops_pending;
    uint64_t ops_unreleased; /* ids that were not released: a few bytes each */
    uint64_t ops_run_by_workers, ops_run_by_waiters; /* counts */
    uint64_t steals, wakes, sleeps; /* counts of the pool: all instances that use it together */
    uint64_t hand_overs;            /* count: waits that took a lane over from its drainer */
    uint64_t lanes_open; /* ordinals with pending ops, and some whose ops are done: reused later */
    /* That are there: from their first write on, sealed or not (or discarded), until the seal of
     * the delete that takes away the last they had; and again from the seal of what is written
     * then. */
    uint64_t prims;
    uint64_t keys; /* that seals have made visible, and not deleted since. One that got another
                      schema without a delete counts for each */
    uint64_t columns, segments; /* a segment: keys, or marks of their deletes, that became visible
                                   together, or are written together */
    /* What an unsealed ordinal wrote of a segment, or of keys of one schema that no seal has made
     * visible; deletes make none before their seal. */
    uint64_t versions_open;
    uint64_t versions_sealed, pins;
    uint64_t payload_bytes; /* rows of all versions */
    uint64_t pending_bytes; /* counts against pending_limit_bytes */
    uint64_t history_bytes; /* counts against history_limit_bytes */
    uint64_t cache_bytes;   /* counts against cache_limit_bytes */
    uint64_t pooled_bytes;  /* of the host, kept for re-use */
    uint64_t table_bytes;   /* the store's tables, and what filters keep */
    uint64_t op_bytes;      /* op records and the table of ids */
    uint64_t folds_in_place, folds_with_spare, folds_with_copy, heads_replaced; /* counts */
    uint64_t gathers, gather_cache_hits;                                        /* counts */
    uint64_t queue_full_count; /* submissions refused with QUEUE_FULL */
    uint64_t history_drops;    /* states and payloads dropped for history_limit_bytes */
    uint64_t heap_allocations; /* calls of the allocator */
    uint64_t membership_bytes; /* part of table_bytes: which keys the last seals changed (L6) */
    uint64_t snapshots_open;
    /* Of ops_pending, those that have given their thread up, and run again when a device has done
     * something: a stream or page-locked memory is free, rows have come to the host, managed
     * tensors of a write without an event are read. Not those that end with the device's work and
     * have nothing else to do. */
    uint64_t ops_parked;
    /* Page-locked memory of the host, which rows go through on their way to devices and back:
     * pinned_bytes are this instance's, in use or free. pinned_kept_bytes were left by instances
     * that have ended, on the devices that this one has opened, for whoever needs some next: they
     * are the process's, the same for all instances, and not to be added up. */
    uint64_t pinned_bytes, pinned_kept_bytes;
} flyrail_statistics_t;

/* Fills *out, whose struct_size must be set. Looks at counters only: cheap, never waits. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_get_statistics(ovstage_instance_t *instance,
                                                           flyrail_statistics_t *out);

/* ----------------------------------------------------------------------------------- tasks ---- */
/* What a task learns about where it runs. Valid during the call. */
typedef struct flyrail_task_context_t {
    uint32_t struct_size;  /* set by the library */
    uint32_t worker_index; /* below worker_count, or behind it for a lent thread; UINT32_MAX on a
                              thread that waits */
    ovstage_instance_t *instance;
    ovstage_op_id_t op_id; /* of this task */
    /* The first device that the instance has used, and a stream there that is the task's: what fn
     * puts into it need not be waited for, since the task is complete, and what comes behind it
     * runs, when that work is done. The thread's current device is as it was. Until the instance
     * has used a device, or when that lets no stream be had: the CPU, and 0. */
    DLDevice device;
    uintptr_t stream;
} flyrail_task_context_t;

/* A task's work. OVSTAGE_OK, or the status that the op fails with. It may submit, wait (see
 * running, waiting: what could never end is refused) and call everything; destroying its own
 * instance is refused with INVALID_ARGUMENT. It runs on a worker, on a lent thread, in flyrail_run,
 * or, when there are no workers, on a thread that waits, polls, or submits while the queue is full:
 * such a thread holds no lock that a task takes. */
typedef ovstage_api_status_t (*flyrail_task_fn)(const flyrail_task_context_t *context, void *user);

typedef struct flyrail_task_desc_t {
    uint32_t struct_size;
    /* true: takes its place in the ordinal's lane, like a write: after the ops accepted before it
     * at that ordinal, before those accepted later, and before every seal of that ordinal. false:
     * free, ordered by its deps only. */
    bool ordered;
    ovstage_ordinal_t ordinal; /* ordered only: above the accepted SCOPE_ALL floor, else
                                  WRITE_FLOOR_VIOLATION */
    flyrail_task_fn fn;        /* NULL: an empty task, a joint for deps */
    void *user;                /* handed to fn; must live until the task is complete */
    /* Ops that must be complete before it runs; copied. One that failed, or fails, makes the task
     * fail without running, with that op named as the cause. */
    const ovstage_op_id_t *deps;
    size_t dep_count;
    /* For traces and explanations: a static text, or one that lives until the task is complete, no
     * flyrail_explain is running that may have begun before, and tracing was written out. May be
     * NULL. */
    const char *name;
} flyrail_task_desc_t;

/* Accepts a task; op_index is its id, waited for and released like any other's. What a task submits
 * is accepted when it submits it, not before: a write at an ordinal whose seal is accepted already
 * is refused. The descriptor is read during the call only.
 * INVALID_HANDLE: a dep that is not an op of this instance, or released. WRITE_FLOOR_VIOLATION,
 * QUEUE_FULL, OUT_OF_MEMORY. */
OVSTAGE_EXPORT ovstage_enqueue_result_t flyrail_submit_task(ovstage_instance_t *instance,
                                                            const flyrail_task_desc_t *desc);

/* Calls body(begin, end, user) for pieces that make up [0, count), each once, on this thread and on
 * workers that are free; returns when all are done. Pieces have `grain` elements (0: chosen from
 * count and workers), the last one may have fewer. Inside a task too: then all pieces are inside
 * it, on whatever thread, and a wait in one for what waits for the task is refused (see running,
 * waiting). INVALID_ARGUMENT: body is NULL. OUT_OF_MEMORY: nothing was called. */
OVSTAGE_EXPORT ovstage_api_status_t
flyrail_parallel_for(ovstage_instance_t *instance, uint64_t count, uint64_t grain,
                     void (*body)(uint64_t begin, uint64_t end, void *user), void *user);

/* ------------------------------------------------------------------------ running, waiting ---- */
/* Runs up to max_ops (0: no limit) ops of the instance that are runnable, on this thread, lowest
 * ordinal first, until none is left; with or without workers. *out_ran (may be NULL): how many. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_run(ovstage_instance_t *instance, uint64_t max_ops,
                                                uint64_t *out_ran);

/* Lends this thread to the instance's pool as a worker, until *until is not 0; then it finishes the
 * piece that it runs and returns. *until is written with flyrail_worker_stop only, and must live
 * until this returns, before the instance is destroyed. INVALID_ARGUMENT: the thread is a worker
 * already. OUT_OF_RANGE: 64 threads are lent. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_worker_run(ovstage_instance_t *instance,
                                                       uint32_t *until);
/* Sets *until and wakes the lent threads that watch it. Does not wait for them to return. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_worker_stop(ovstage_instance_t *instance,
                                                        uint32_t *until);

/* All waits below: timeout 0 polls, OVSTAGE_TIMEOUT_INFINITE blocks, anything else is the most
 * nanoseconds that it takes; TIMEOUT when it was not so in time. Like wait_op they may run ops of
 * the stage on this thread (L8).
 *
 * Inside an op (a task, or a deleter that an op calls) wait_op, fetches and waits for several ops
 * run what they wait for on top of it, and those for floors and room whatever is runnable, tasks
 * included. A wait that could never end is refused with INVALID_ARGUMENT: for an op that waits
 * itself for one of this thread's, by lanes, deps and other waits, of other instances too; for a
 * floor that no accepted advance brings, when every later one would have to wait for an op of this
 * thread; with an infinite timeout also for room, when no op can complete before it is there, and
 * for floors and room, when 32 ops lie on top of each other on this thread; and for floors and room
 * of an instance that is being destroyed. OUT_OF_MEMORY: to find that out.
 */

/* Until the executed floor of the attribute is at or above ordinal; 0: the global floor, the least
 * over the attributes that are known. It falls when one comes up that is sealed less far, as beside
 * seals of SCOPE_INCLUDE: who makes such seals names the attribute here (D1). It is not an error if
 * nothing that raises it was accepted yet. INVALID_ARGUMENT: a token that the
 * dictionary does not know. OUT_OF_MEMORY. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_wait_floor(ovstage_instance_t *instance,
                                                       ovx_token_t attribute,
                                                       ovstage_ordinal_t ordinal,
                                                       ovstage_timeout_ns_t timeout);
/* Until so many more ops and bytes fit below op_limit and pending_limit_bytes. Bytes of versions
 * that nobody has sealed make room with their seal, not with time. Nothing is set aside: other
 * threads may fill it again. OUT_OF_RANGE: more than the limit itself. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_wait_room(ovstage_instance_t *instance, uint64_t ops,
                                                      uint64_t bytes, ovstage_timeout_ns_t timeout);
/* Until all ops are complete; failed ones count (wait_op tells why they did). count 0 is OK.
 * INVALID_HANDLE: one that is unknown or released. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_wait_all(ovstage_instance_t *instance,
                                                     const ovstage_op_id_t *ops, size_t count,
                                                     ovstage_timeout_ns_t timeout);
/* Until one of them is. *out_index (may be NULL): which, when the answer is OVSTAGE_OK.
 * INVALID_ARGUMENT: count is 0. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_wait_any(ovstage_instance_t *instance,
                                                     const ovstage_op_id_t *ops, size_t count,
                                                     ovstage_timeout_ns_t timeout,
                                                     size_t *out_index);

/* --------------------------------------------------------------------------------- writing ---- */
/* What a write demands of the prims that it addresses (mask, count, rows), at its ordinal and by
 * the ops accepted before it (L3). One that does not hold fails the whole call, in the enqueue when
 * it is known there (R106); nothing is written then. The first two are the interface's. */
typedef enum flyrail_write_mode_t {
    FLYRAIL_WRITE_UPSERT = 0,
    FLYRAIL_WRITE_INSERT = 1,      /* PRIM_NOT_FOUND: one of the prims exists */
    FLYRAIL_WRITE_PRIMS_EXIST = 2, /* PRIM_NOT_FOUND: one does not exist; our own */
    FLYRAIL_WRITE_KEYS_EXIST = 3   /* NOT_FOUND: one lacks an attribute of the call; our own */
} flyrail_write_mode_t;

/* write_attributes (R87 to R113) with such a mode; all else as there. INVALID_ARGUMENT: a mode that
 * is none. */
OVSTAGE_EXPORT ovstage_enqueue_result_t
flyrail_write_attributes(ovstage_instance_t *instance, ovstage_query_handle_t query,
                         const ovstage_attribute_write_t *writes, size_t count,
                         ovstage_ordinal_t ordinal, flyrail_write_mode_t mode);

/* Writes some prims of a query, given by their positions in it; our own. Element k of data is for
 * the query's prim at rows[k]: data counts row_count elements where write_attribute counts the
 * query's prims, and is the same in all else (index_map, mask, arrays, managed tensors). rows:
 * row_count positions, in any order, copied; of one that is there twice the last element is written
 * (D6). Nothing is looked up or made for prims that are not written. 0 rows: nothing is looked at
 * but the name and the floor (R101).
 * Statuses as write_attribute. INVALID_ARGUMENT besides: a position outside the query; rows is NULL
 * with a row_count; a mode that is none. */
OVSTAGE_EXPORT ovstage_enqueue_result_t
flyrail_write_rows(ovstage_instance_t *instance, ovstage_query_handle_t query,
                   ovx_string_or_token_t attribute, ovstage_ordinal_t ordinal, const uint32_t *rows,
                   size_t row_count, ovstage_write_data_t data, flyrail_write_mode_t mode);

/* Takes an ordinal back that no seal covers: what the ops accepted before at that ordinal wrote and
 * deleted is gone when it has run, as if it had never been; our own. They are not cut short, and
 * their statuses stay as they are. Ops accepted later see nothing of it, and may write the ordinal
 * anew (L3); ops accepted before, at higher ordinals too, are judged as if it were still there. A
 * map that is open at the ordinal stays open. Runs after all ops accepted before it that have an
 * ordinal; of those accepted later only its own ordinal's and seals of it wait for it.
 * WRITE_FLOOR_VIOLATION: the ordinal is not above every accepted floor, of all and of single
 * attributes. OUT_OF_MEMORY: in the enqueue, or of the op; nothing is taken back then. */
OVSTAGE_EXPORT ovstage_enqueue_result_t flyrail_discard(ovstage_instance_t *instance,
                                                        ovstage_ordinal_t ordinal);

/* ------------------------------------------------------------------------------- snapshots ---- */
/* A moment that is kept to be read, until it is closed; our own. A handle: never used again, and
 * good for the instance that gave it out. */
typedef uint64_t flyrail_snapshot_t;
#define FLYRAIL_INVALID_SNAPSHOT ((flyrail_snapshot_t)0)

typedef struct flyrail_snapshot_desc_t {
    uint32_t struct_size;
    /* true: the newest moment that is sealed for all the attributes below. false: `ordinal`. */
    bool newest;
    ovstage_ordinal_t ordinal;
    /* Whose executed floors count, the least of them; attribute_count tokens, read during the call
     * only. One that nothing named so far has the highest floor that was sealed with SCOPE_ALL.
     * NULL and 0: the global floor (flyrail_wait_floor). */
    const ovx_token_t *attributes;
    size_t attribute_count;
} flyrail_snapshot_desc_t;

/* Opens a snapshot, in one step with finding out the moment: nobody can seal past it and have it
 * dropped in between. Never waits, and holds nobody up. *out: the snapshot, 0 on failure.
 * *out_ordinal (may be NULL): its moment; 0 when nothing is sealed yet.
 *
 * What latest(moment) selects is kept as long as the snapshot is open, and so is what was sealed
 * since; above history_limit_bytes the oldest states go all the same (history_drops counts them). A
 * read of what is gone, or was gone when it was opened, answers OUT_OF_RANGE; what was not written
 * since stays readable in any case.
 * INVALID_ARGUMENT: a wrong struct_size; a token that the dictionary does not know; attributes is
 * NULL with a count. WRITE_FLOOR_VIOLATION: `ordinal` is not sealed yet (flyrail_wait_floor waits
 * for that). OUT_OF_RANGE: 1,024 snapshots of the instance are open. OUT_OF_MEMORY. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_snapshot_open(ovstage_instance_t *instance,
                                                          const flyrail_snapshot_desc_t *desc,
                                                          flyrail_snapshot_t *out,
                                                          ovstage_ordinal_t *out_ordinal);
/* read_attributes at the snapshot's moment: arguments, statuses, groups and releases as there (L4).
 * Its groups stay as they are when the snapshot is closed. INVALID_HANDLE: it is not open. */
OVSTAGE_EXPORT ovstage_enqueue_result_t flyrail_snapshot_read(
    ovstage_instance_t *instance, flyrail_snapshot_t snapshot, ovstage_query_handle_t query,
    const ovx_token_t *attributes, size_t attribute_count, ovstage_read_handle_t *out);
/* What is kept for it alone may go, by the next seals of the same columns. INVALID_HANDLE: it is
 * not open. One that is still open when the instance is destroyed goes with it. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_snapshot_close(ovstage_instance_t *instance,
                                                           flyrail_snapshot_t snapshot);

/* Says why an op is not complete: the chain of what it waits for, a line a step (what comes before
 * it at its ordinal, what it depends on, what a device has to do for it, what is running, and what
 * a wait inside that is for), and the maps that are open. Of a chain of more than 16 steps the
 * first 8 and the last 8, which end with what is running or can run; at most 1,048,576 steps are
 * looked at. Or that it is complete, or why it failed. A text for people, whose wording may change;
 * our own. Each line was so at some moment during the call. text: text_bytes for it and the NUL at
 * its end; cut if that is too little. *out_length (may be NULL): bytes that all of it has, without
 * the NUL. INVALID_HANDLE: unknown, or released. INVALID_ARGUMENT: text is NULL with a size. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_explain(ovstage_instance_t *instance,
                                                    ovstage_op_id_t op_id, char *text,
                                                    size_t text_bytes, size_t *out_length);

/* ---------------------------------------------------------------------------------- events ---- */
/* A descriptor (an eventfd, closed on exec, not blocking) for poll, epoll and the like: readable
 * once something that it was told to look out for has come to pass, until its 8 bytes are read,
 * which tell how often. Our own. What nobody looks out for costs nothing. */
typedef uint64_t flyrail_event_t;
#define FLYRAIL_INVALID_EVENT ((flyrail_event_t)0)

/* *out: the event, 0 on failure. *out_descriptor: to be polled and read, not closed; valid until
 * the event is closed. OUT_OF_MEMORY: no memory, or no descriptor. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_event_open(ovstage_instance_t *instance,
                                                       flyrail_event_t *out, int *out_descriptor);
/* Raises it once, when all ops are complete; failed ones count. That is an op itself: op_index is
 * its id, waited for and released like any other's. Without workers it runs when somebody waits,
 * polls or calls flyrail_run. count 0: as soon as it runs.
 * INVALID_HANDLE: the event, or an op that is not of this instance, or released. QUEUE_FULL,
 * OUT_OF_MEMORY. */
OVSTAGE_EXPORT ovstage_enqueue_result_t flyrail_event_on_ops(ovstage_instance_t *instance,
                                                             flyrail_event_t event,
                                                             const ovstage_op_id_t *ops,
                                                             size_t count);
/* Raises it once, when the executed floor of the attribute (0: the global floor, as in
 * flyrail_wait_floor) is at or above ordinal; at once if it is. INVALID_HANDLE. INVALID_ARGUMENT: a
 * token that the dictionary does not know. OUT_OF_RANGE: 4,096 floors are looked out for.
 * OUT_OF_MEMORY. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_event_on_floor(ovstage_instance_t *instance,
                                                           flyrail_event_t event,
                                                           ovx_token_t attribute,
                                                           ovstage_ordinal_t ordinal);
/* Looks out for floors no more. The descriptor is closed, when no op that is to raise it is pending
 * any more. An event that is open when the instance is destroyed goes with it, unraised.
 * INVALID_HANDLE. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_event_close(ovstage_instance_t *instance,
                                                        flyrail_event_t event);

/* --------------------------------------------------------------------------------- tracing ---- */
/* Begins to record what runs when: for each thread a ring of its newest events_per_thread (0:
 * 65,536) events of 32 bytes. What was recorded before is forgotten. INVALID_ARGUMENT: tracing is
 * on, or is being written out. OUT_OF_MEMORY. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_trace_start(ovstage_instance_t *instance,
                                                        uint32_t events_per_thread);
/* Ends it; ops that are running now are not in it. INVALID_ARGUMENT: tracing is not on. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_trace_stop(ovstage_instance_t *instance);

typedef enum flyrail_trace_format_t {
    FLYRAIL_TRACE_PERFETTO_JSON = 0, /* for ui.perfetto.dev and chrome://tracing */
    FLYRAIL_TRACE_SVG = 1            /* a timeline: threads as rows, lanes as colours */
} flyrail_trace_format_t;

/* Hands what was recorded to write(text, length, user), piece by piece, on this thread; a false
 * from it ends the call with OP_FAILED. Of names it has 63 bytes, and _ for what is not plain ASCII
 * or would have to be escaped. text is not NUL-terminated and valid during the call only. How many
 * events are not in it is told: older ones of a thread that had more than fit its ring, those of
 * more than 128 threads, and those for which there was no memory. May be called again.
 * INVALID_ARGUMENT: tracing is on, or never was. */
OVSTAGE_EXPORT ovstage_api_status_t
flyrail_trace_write(ovstage_instance_t *instance, flyrail_trace_format_t format,
                    bool (*write)(const char *text, size_t length, void *user), void *user);

/* Enters an event of the client's own on this thread's row, if tracing is on. name: a static text.
 * ordinal: chooses its colour; 0 for none. Times are flyrail_now_ns's.
 * INVALID_ARGUMENT: name is NULL, or it ends before it begins. */
OVSTAGE_EXPORT ovstage_api_status_t flyrail_trace_span(ovstage_instance_t *instance,
                                                       const char *name, uint64_t ordinal,
                                                       uint64_t start_ns, uint64_t end_ns);
/* The trace's clock: monotonic, in nanoseconds from an arbitrary moment. */
OVSTAGE_EXPORT uint64_t flyrail_now_ns(void);

#ifdef __cplusplus
}
#endif

#endif
