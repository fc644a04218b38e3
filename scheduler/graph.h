/* The graph of accepted work of one instance: ids, lanes, edges, waits.
 *
 * An op is one accepted submission. It belongs to the lane of its ordinal (ops of one lane run one
 * at a time, in acceptance order) or is a lane of its own (no ordinal, and every seal). Edges only
 * lead from a later accepted op to an earlier one, so the graph has no cycle by itself; a wait
 * inside an op is the only thing that can close one, and is checked.
 *
 * Knows nothing of prims, tensors or devices: an op carries a type (functions) and a payload of its
 * own.
 *
 * Threads: every function from any thread, unless it says otherwise.
 *
 * Invariants:
 *   Ids rise with acceptance, so everything that an op waits for by lane or edge has a lower id.
 *   An op that can run is in a lane, or is a solo op, whose token is out or which a thread has
 *   claimed. Which thread runs it makes no difference to what it sees.
 *   An op's entry says that it is complete before any consumer of it can run.
 *   Submitted and complete: an op may be over for its lane, its seal and its consumers, while work
 *   of it goes on that no op stands for (on a device). What that work must be over for is told by
 *   the op's *report*, which is accepted with it and has the next id: clients get that id, wait for
 *   it and release it, and nobody else knows the op's own. A report waits for its op, for those
 *   reports that clients must not see pending when it is complete (of earlier ops of the ordinal;
 *   of a seal, of what it seals), and then for the work itself. So ids that clients have tell of
 *   what is complete, while lanes, seals, judgements and consumers go on at what is submitted.
 *   Parked: an op that can go on only after what no op stands for keeps its place, a lane its first
 *   op, and no thread. It is an op with one edge more, which whoever resumes it ends: so it is run
 *   again by whoever runs ops that become runnable (graph_park.c).
 *   The parts keep their own: op.h, lane.h, edge.h, op_table.h, op_record.h, wait.h.
 *
 * Progress: acceptance takes one short lock; completing an op takes none. A waiting thread that
 * finds nothing to run sleeps until who holds up its chain lets go.
 *
 * Memory bound: op records, lanes, edges and blocks of ids as many as were ever in use at once;
 * they are type-stable and given back at destroy. Records are used again only through the admission
 * lock, so an op seen pending under it stays that op while it is held. */
#ifndef FR_SCHEDULER_GRAPH_H
#define FR_SCHEDULER_GRAPH_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "scheduler/pool.h"

typedef struct fr_graph fr_graph;
typedef struct fr_op fr_op;
typedef struct fr_condition fr_condition;

/* Where an op runs. */
typedef struct fr_run_context {
    fr_graph *graph;
    fr_worker *worker;     /* NULL on a thread that waits or polls */
    uint32_t worker_index; /* UINT32_MAX when worker is NULL */
} fr_run_context;

typedef enum fr_run_result {
    FR_RUN_DONE,  /* the op is complete (failed if fr_op_fail was called) */
    FR_RUN_SPLIT, /* the op goes on by itself; whoever finishes it calls fr_graph_op_finish, exactly
                     once */
    FR_RUN_PARKED, /* fr_op_park was called: run is called again after fr_graph_op_resume */
} fr_run_result;

typedef struct fr_op_type {
    const char *name; /* for traces and explanations: "write", "seal", ... */
    /* Once, and again each time that it was parked and resumed, unless the op is dropped. Must not
     * block on other ops except through fr_graph_wait. */
    fr_run_result (*run)(fr_op *op, const fr_run_context *context);
    /* Helps a split op that is still going on, from a thread that waits for it: takes chunks until
     * none is left. May be NULL. */
    void (*help)(fr_op *op, const fr_run_context *context);
    /* Exactly once for each accepted op, after run and before the op is reported complete, or
     * instead of run when the instance is destroyed or a producer failed: lets go of what the
     * payload holds. May be NULL. */
    void (*drop)(fr_op *op);
    /* Of a parked op, or a split one that nobody can help: what it waits for, for explanations.
     * Under admission, also while somebody else ends the op: looks at its payload alone. May be
     * NULL. */
    void (*tell)(const fr_op *op, char *text, size_t text_bytes);
    bool is_task; /* runs client code: a waiting thread runs it only when there are no workers */
    /* True when run may work long (more than 64 KiB to move): a wait with a finite timeout does not
     * start it. May be NULL: never. */
    bool (*is_large)(const fr_op *op);
} fr_op_type;

#define FR_OP_PAYLOAD_BYTES 160

/* --- records ---------------------------------------------------------------------------------- */
/* A record for a submission; NULL without memory. The payload's bytes are undefined. */
fr_op *fr_graph_op_get(fr_graph *graph, const fr_op_type *type);
/* Gives back a record that was not accepted. drop is not called. */
void fr_graph_op_put(fr_graph *graph, fr_op *op);
void *fr_op_payload(fr_op *op); /* FR_OP_PAYLOAD_BYTES, aligned to 16 */
uint64_t fr_op_id(const fr_op *op);
/* The id that clients have: its report's, or its own. Of an accepted op. */
uint64_t fr_op_client_id(const fr_op *op);
uint64_t fr_op_ordinal(const fr_op *op); /* 0 when it has none */
/* For texts: its ordinal, or of a seal that up to which it seals; 0: neither. */
uint64_t fr_op_told_ordinal(const fr_op *op);

/* --- acceptance ------------------------------------------------------------------------------- */
typedef struct fr_submission fr_submission;
struct fr_submission {
    fr_op *op;
    bool has_ordinal; /* joins that ordinal's lane; else it is a lane of its own */
    uint64_t ordinal;
    uint64_t attribute_filter; /* bits of the attributes it touches (bit = attribute index mod 64);
                                  for a lane: what a scoped seal looks for */
    /* Depends on the tails of all lanes with ordinal <= below_ordinal whose filter meets
     * below_filter (its own lane left out when it has the same ordinal: that order is the lane's).
     * A seal sets this to its ordinal and scope. */
    bool takes_lanes_below;
    uint64_t below_ordinal;
    uint64_t below_filter;
    bool covers_lanes; /* a seal: what is accepted later may wait for it in place of those lanes.
                          Any other op leaves out a lane whose last op is the task that submits it,
                          so that the task can wait for it. */
    /* A seal, also one that raises nothing and takes no lanes: it is not reported before what is
     * pending at or below below_ordinal and meets below_filter. Implied by covers_lanes. */
    bool reports_below;
    /* What it looks at must stay as what was accepted before it leaves it: ops accepted later wait
     * for it if their lane is below its own and they touch an attribute. Takes lanes below itself,
     * with all filter bits, so such ops run one after the other in the order of acceptance. */
    bool holds_lanes_below;
    /* Of an op without a lane: changes what keys are from below_ordinal on, and so waits, too. */
    bool writes_below;
    /* Further producers by id. Complete and unknown ones make no edge; a pending one does, also
     * when its id was released. May be filled in by admit, up to producer_capacity. */
    uint64_t *producer_ids;
    size_t producer_count;
    size_t producer_capacity;
    /* If a producer named in producer_ids has failed or fails, this op fails as well (its cause),
     * without running. Lane edges never do that (D17). */
    bool fails_with_producers;
    /* An op that it comes behind, whatever becomes of that; 0: none. May be set by admit. */
    uint64_t behind_id;
    bool never_full; /* releases, commits, seals: not refused for the op limit (D25) */
    bool hidden;     /* a part of another op, without a lane or a report: counted nowhere */
    /* The op's report: a record of its own type, whose run says whether the op's work is over. NULL
     * for an op that is complete when it has left its lane. It gets one nevertheless, which does
     * nothing itself, where an earlier op of its ordinal has a pending one, or it is a seal of such
     * ordinals. An op that fails makes its report fail with the same status and text. */
    fr_op *report;
    /* Further producers of the report, as producer_ids. */
    const uint64_t *report_ids;
    size_t report_count;
    /* Called under the admission lock; looks at and changes what admission guards (accepted floors,
     * entered schemas, the handle's producer), and the fields above but op, has_ordinal and
     * ordinal. Must not allocate, block, call back or wait. Not OVSTAGE_OK: refused, nothing is
     * accepted. It may run twice only if it returned OK and the reservations did not suffice:
     * `undo` is then called first, if set. May be NULL. */
    ovstage_api_status_t (*admit)(fr_submission *submission, void *user);
    void (*undo)(fr_submission *submission, void *user);
    /* Called under the lock right after the op's own id is known (e.g. to enter it as an
     * attribute's last seal). May be NULL. */
    void (*accepted)(fr_submission *submission, uint64_t id, void *user);
    void *user;
};

/* All fields: no ordinal, producers or functions. Field by field: an initializer clears all of it
 * first, by an instruction that is slow to start. */
static inline void fr_submission_begin(fr_submission *submission, fr_op *op)
{
    submission->op = op;
    submission->has_ordinal = false;
    submission->ordinal = submission->attribute_filter = 0;
    submission->takes_lanes_below = submission->covers_lanes = false;
    submission->reports_below = false;
    submission->below_ordinal = submission->below_filter = 0;
    submission->holds_lanes_below = submission->writes_below = false;
    submission->producer_ids = NULL;
    submission->producer_count = submission->producer_capacity = 0;
    submission->behind_id = 0;
    submission->fails_with_producers = submission->never_full = submission->hidden = false;
    submission->report = NULL;
    submission->report_ids = NULL;
    submission->report_count = 0;
    submission->admit = NULL;
    submission->undo = NULL;
    submission->accepted = NULL;
    submission->user = NULL;
}

/* Accepts the op: gives it an id, its place in its lane, its edges, and makes it runnable. On
 * refusal (status of admit, QUEUE_FULL, OUT_OF_MEMORY) *out_id is 0 and the records are still the
 * caller's. Texts for QUEUE_FULL/OUT_OF_MEMORY: the caller's. After success the op may already be
 * gone; only its id may be used, which is its report's when it has one. */
ovstage_api_status_t fr_graph_submit(fr_graph *graph, fr_submission *submission, uint64_t *out_id);

/* An id that is complete at birth (a release or a read that ran inside its call). 0 when memory is
 * out. admit as above, may be NULL. */
uint64_t fr_graph_submit_done(fr_graph *graph,
                              ovstage_api_status_t (*admit)(fr_submission *, void *), void *user,
                              ovstage_api_status_t *out_status);

/* Admission. True when nothing is pending in the lanes at or below `ordinal` whose filter meets
 * `filter`: what was accepted there so far, all ids below *out_next_id, has run. */
bool fr_graph_is_settled(fr_graph *graph, uint64_t ordinal, uint64_t filter, uint64_t *out_next_id);

/* Admission. Whether the op is still to be complete, also when its id was released. */
bool fr_graph_is_pending(const fr_graph *graph, uint64_t id);

/* The admission lock itself, for readers of what it guards. Rules of admit hold inside. */
void fr_graph_lock(fr_graph *graph);
void fr_graph_unlock(fr_graph *graph);

/* --- running ---------------------------------------------------------------------------------- */
/* Inside run (or before finish of a split op): the op failed. The text is copied; printf-style; the
 * first failure counts. */
void fr_op_fail(fr_op *op, ovstage_api_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, where a failure by the op itself keeps its status, and this text comes behind it. For
 * a failure that another one must not hide. By one thread at a time, and by none besides. */
void fr_op_fail_also(fr_op *op, ovstage_api_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool fr_op_failed(const fr_op *op);
/* Inside run, of an op that has not failed: it cannot go on before something that no op stands for,
 * and run will answer FR_RUN_PARKED. Before anybody can resume it. */
void fr_op_park(fr_op *op);
/* A parked op may go on: exactly once for each fr_op_park, from any thread, also before run has
 * returned, without locks; runs nothing. */
void fr_graph_op_resume(fr_graph *graph, fr_op *op);
/* Ends a split op, from any thread. */
void fr_graph_op_finish(fr_graph *graph, fr_op *op, fr_worker *worker_or_null);
/* The op that runs, or is dropped, on this thread (of any graph), or NULL. */
fr_op *fr_op_running(void);

/* --- looking at ids --------------------------------------------------------------------------- */
typedef enum fr_op_state {
    FR_OP_UNKNOWN, /* never given out by this graph, or released */
    FR_OP_PENDING,
    FR_OP_DONE,
    FR_OP_FAILED,
} fr_op_state;

/* Lock-free, writes no shared line. */
fr_op_state fr_graph_op_state(const fr_graph *graph, uint64_t id);

/* What is known of a failed op. The text stays valid until the id is released; cause_id is the op
 * whose failure made this one fail, 0 if it failed by itself. False when the id has not failed or
 * is unknown. */
typedef struct fr_op_failure {
    ovstage_api_status_t status;
    ovx_string_t text; /* copied into buffer */
    uint64_t cause_id;
} fr_op_failure;
bool fr_graph_op_failure(fr_graph *graph, uint64_t id, fr_op_failure *out, char *buffer,
                         size_t buffer_bytes);

/* Why an op is not complete (graph_explain.c). */
typedef enum fr_why {
    FR_WHY_COMPLETE, /* it is, or is unknown */
    FR_WHY_BEHIND,   /* next_id comes before it in its lane */
    FR_WHY_PRODUCER, /* it waits for next_id */
    FR_WHY_RUNNING,
    FR_WHY_ELSEWHERE,    /* no thread is at it: it waits for `what` */
    FR_WHY_WAITS_INSIDE, /* running, and waits for next_id, or (0) for `what` */
    FR_WHY_NOBODY,       /* it can run, and no thread has come to it */
} fr_why;
typedef struct fr_explanation {
    fr_why why;
    uint64_t id, next_id, ordinal;
    bool has_ordinal;
    bool is_large;                /* waits with a finite timeout do not run it */
    const char *type_name, *name; /* name: what name_of says of the op and its type's name; it is
                                     called under admission */
    char what[192];
} fr_explanation;
void fr_graph_explain(fr_graph *graph, uint64_t id,
                      const char *(*name_of)(const fr_op *, const char *), fr_explanation *out);

/* INVALID_HANDLE: unknown or released already. A pending op is released when it completes (D7). */
ovstage_api_status_t fr_graph_release(fr_graph *graph, uint64_t id);

/* --- waiting ---------------------------------------------------------------------------------- */
typedef struct fr_wait_outcome {
    ovstage_api_status_t status; /* OK (complete, even if failed), TIMEOUT, INVALID_HANDLE,
                                    INVALID_ARGUMENT (it could never end; text set),
                                    OUT_OF_MEMORY (to find out whether it can; text set) */
    uint64_t lowest_pending_id;  /* on TIMEOUT: the lowest pending id in the chain */
    char text[192];              /* for all but OK and TIMEOUT */
} fr_wait_outcome;

/* timeout 0 polls. Runs ops of the awaited chain on this thread as L8 says. */
void fr_graph_wait(fr_graph *graph, uint64_t id, uint64_t timeout_ns, fr_wait_outcome *out);
/* The same for an id that may have been released: the op is waited for like any other. */
void fr_graph_wait_even_released(fr_graph *graph, uint64_t id, uint64_t timeout_ns,
                                 fr_wait_outcome *out);
/* Until all (or one) of several are complete; *out_index = which one, for any. Ids that are
 * unknown: INVALID_HANDLE. */
void fr_graph_wait_many(fr_graph *graph, const uint64_t *ids, size_t count, bool any,
                        uint64_t timeout_ns, size_t *out_index, fr_wait_outcome *out);
/* What a thread waits for that is no op. It is looked at when ops are counted out: after each solo
 * op, task and large op, and at the latest after 64 short ops of a lane; when ops become runnable;
 * and after fr_graph_look_at_conditions. The functions take no lock, and may be called by any
 * thread while the wait lasts, unless it says otherwise. */
struct fr_condition {
    bool (*ready)(void *user);
    /* Not ready: the id of an accepted op without which it cannot become ready; 0 when there is
     * none. Called by the waiting thread, without locks. May be NULL. */
    uint64_t (*awaits)(void *user);
    /* Not ready, and nothing awaited: whether nothing can make it ready before an op of that lane
     * is complete (a filter: see fr_submission). Called by the waiting thread. May be NULL. */
    bool (*is_held_back)(void *user, uint64_t ordinal, uint64_t filter);
    /* Not ready: whether only the completion of ops can make it so. May be NULL: no. */
    bool (*needs_ops)(void *user);
    void *user;
    const char *what; /* for texts: "floor 7" */
};

/* Until the condition is ready. Runs what it awaits as fr_graph_wait does. When it awaits nothing,
 * a thread inside an op or of the pool, and any without workers, runs whatever is runnable, lower
 * ordinals first: all workers may be waiting so. INVALID_ARGUMENT inside an op: it could never end,
 * or the graph is being destroyed. */
void fr_graph_wait_condition(fr_graph *graph, const fr_condition *condition, uint64_t timeout_ns,
                             fr_wait_outcome *out);
/* Something changed that conditions look at. */
void fr_graph_look_at_conditions(fr_graph *graph);

/* Runs up to max_ops runnable ops of this instance on this thread, lowest ordinal first; returns
 * how many ran. */
uint64_t fr_graph_run_some(fr_graph *graph, uint64_t max_ops);

/* --- life and counters ------------------------------------------------------------------------ */
typedef struct fr_graph_config {
    fr_pool *pool; /* shared or its own; outlives the graph */
    const fr_allocator *allocator;
    uint64_t op_limit;       /* pending ops; submissions from inside an op may go to twice of it */
    uint64_t caller_spin_ns; /* a waiting thread spins this long before it sleeps */
    uint64_t id_prefix; /* in the upper 16 bits of every id (an instance number): ids without it are
                           unknown */
    bool
        caller_runs; /* false: a wait runs nothing on its own thread as long as there are workers */
    /* Trace hook, NULL when tracing is off: after each op that ran. Times are os now_ns. */
    void (*trace)(void *user, const fr_op *op, const char *name, uint32_t worker_index,
                  uint64_t start_ns, uint64_t end_ns);
    void *trace_user;
    /* Told of each op that fails, by itself or because a producer did (cause_id), but for those
     * that destroy drops; before it is complete, on the thread that it fails on, without locks.
     * NULL: nobody is. */
    void (*failed)(void *user, const fr_op *op, const char *name, const fr_op_failure *failure);
    void *failed_user;
    /* What is left to the next thread that has no op under way, since it calls client code: run by
     * outermost waits and fr_graph_run_some, without locks. Whether anything was. NULL: nothing. */
    bool (*settle)(void *user);
    void *settle_user;
} fr_graph_config;

typedef struct fr_graph_statistics {
    uint64_t accepted, completed, failed, run_by_waiters, run_by_workers, lanes_open, lanes_made,
        lanes_recycled;
    uint64_t op_records, op_record_bytes, id_table_bytes, edges, wait_sleeps, hand_overs,
        lanes_looked_at,   /* to find what a seal waits for, the same one again included */
        looks_to_run,      /* at lanes and ops without one, to find any that can be run */
        ids,               /* given out, those of ops that were complete at birth included */
        released,          /* of these, also while pending */
        reports,           /* ops that tell of others, and hidden ones: counted nowhere else but
                              among ids */
        parked,            /* that are now */
        ordinals_reported; /* with a report that is pending, or was when it was looked at last */
} fr_graph_statistics;

/* For the configuration of a pool that graphs share with others: see there. */
bool fr_graph_token_begins(const fr_runnable *token);

fr_graph *fr_graph_create(const fr_graph_config *config);
/* Finishes running ops, drops queued ones as failed (returns how many), frees everything. What ops
 * that still run submit is refused with INVALID_ARGUMENT; that no other thread calls is the
 * caller's to see to. */
uint64_t fr_graph_destroy(fr_graph *graph);
/* To be called before destroy, once it is certain that it follows. Inside an op, of another graph,
 * it makes edges from that to all ops of this one, so that none of them waits for it. False when
 * one does so already (or there is no memory to find out): nothing has changed. */
bool fr_graph_destroy_begin(fr_graph *graph);
/* Whether destroy has begun. */
bool fr_graph_is_ending(const fr_graph *graph);
uint64_t fr_graph_pending_count(
    const fr_graph *graph); /* may lag by what other threads are just doing */
void fr_graph_set_trace(fr_graph *graph,
                        void (*trace)(void *, const fr_op *, const char *, uint32_t, uint64_t,
                                      uint64_t),
                        void *user);
void fr_graph_statistics_read(const fr_graph *graph, fr_graph_statistics *out);

#endif
