/* Work that nothing tells us the end of, as that of a device: somebody has to look. A *watch* is
 * the look of one instance at all of its work; the pool has a list of them. As long as a watch has
 * something outstanding, one thread that has nothing else to do looks every FR_WATCH_NAP_NS; when
 * nothing is, nobody does, and all sleep as they do without watches.
 *
 * The pool's watch word:
 *
 *    63                                             1   0
 *   +-------------------------------------------------+---+
 *   |                   outstanding                   | L |
 *   +-------------------------------------------------+---+
 *   field        set by                          cleared by
 *   outstanding  begin (+1)                      end (-1)
 *   L looker     a thread about to sleep, when   the same: in one step with seeing that nothing is
 *                something is outstanding        outstanding, or when it has something else to do
 *
 * The looker is a worker that sleeps (worker.c), or a thread that waits for an op or a condition
 * (graph_wait.c, graph_condition.c, graph.c): it sleeps by time. All others that sleep do so
 * without a deadline of ours. Those that wait *stand by*: they are in a list while they sleep,
 * whatever is outstanding.
 * Word of one that stands by: see `signal` and `condition_epoch` in wait.h; a call adds 2.
 *
 * Besides, whoever passes looks when something is outstanding, without being the looker: a worker
 * now and then between tokens and while it searches, a waiting thread once a round.
 *
 * Threads: all. begin and end without locks held: begin may make a system call.
 *
 * Invariants:
 *   *Unattended* is: something outstanding, and L clear. Whoever makes it so (begin, or giving L
 *   back) fences, and then sees to it that somebody comes: a worker that searches, else one that
 *   sleeps, which it wakes, else one that stands by, which it calls.
 *   Work and a worker that goes to sleep find each other as in idle.h: it announces, fences, then
 *   looks at the watch word, and takes L if that is unattended. A worker that stops searching looks
 *   after that, too, and sees to somebody else in its place.
 *   Who stands by enters the list before it looks at the word, both under the list's lock as far as
 *   a call is concerned: it is called, or sees what it would have been called for. When it was
 *   called and goes on to something else without becoming the looker, it calls another one.
 *   A look must not run ops, nor call client code: it may have the looker's sleep on hold. It ends
 *   split ops without a worker (fr_graph_op_finish), and pushes tokens. It is made by any number of
 *   threads at once.
 *   A watch is in the list while a look at it is under way; close waits for those.
 *
 * Progress: begin and end are one atomic step, when somebody attends. What is outstanding is looked
 * at every FR_WATCH_NAP_NS as long as a worker sleeps or a thread waits; when all workers run
 * tokens and nobody waits, by each of them after FR_WORKER_INTAKE_PERIOD tokens.
 * Memory bound: none of its own. */
#ifndef FR_SCHEDULER_WATCH_H
#define FR_SCHEDULER_WATCH_H

#include "scheduler/pool.h"

/* Between two looks of the looker. */
#define FR_WATCH_NAP_NS 50000u

typedef struct fr_watch fr_watch;
struct fr_watch {
    fr_pool *pool;
    /* Looks once; what is over has its consequences. True when something was. */
    bool (*look)(void *user);
    void *user;
    /* Under the list's lock. */
    fr_watch *next, *previous;
    uint32_t looks; /* under way */
    bool is_closing;
};

/* The watch's memory is the caller's. */
void fr_watch_open(fr_watch *watch, fr_pool *pool, bool (*look)(void *user), void *user);
/* Nothing is outstanding. When it returns nobody looks any more. Not inside its look. */
void fr_watch_close(fr_watch *watch);
/* Something more is outstanding. Before it can be over. */
void fr_watch_begin(fr_watch *watch);
/* One of those is over: once for each begin. */
void fr_watch_end(fr_watch *watch);

/* Looks once at all watches of the pool that have something outstanding, if any has. True when
 * something was over. */
bool fr_pool_look(fr_pool *pool);
/* Whether anything is outstanding; may be otherwise at any time. */
bool fr_pool_is_watching(const fr_pool *pool);

/* --- for who sleeps --------------------------------------------------------------------------- */
typedef struct fr_standby fr_standby;
struct fr_standby {
    fr_standby *next, *previous;
    _Atomic uint32_t *word; /* what the thread sleeps on: a call adds 2 to it */
    bool is_called;         /* under the list's lock */
    bool is_looker;         /* the thread's own */
};

#define FR_STANDBY_CALL 2u

typedef struct fr_watches {
    FR_ALIGNED_LINE _Atomic uint64_t word;
    FR_ALIGNED_LINE fr_mutex lock; /* guards the lists */
    fr_watch *first;
    fr_standby *standby; /* the newest */
} fr_watches;

#define FR_WATCH_LOOKER UINT64_C(1)
#define FR_WATCH_ONE UINT64_C(2)

static inline bool fr_watch_is_unattended(uint64_t word)
{
    return word >= FR_WATCH_ONE && (word & FR_WATCH_LOOKER) == 0;
}

/* How long a thread that has announced its sleep may sleep, at most left_ns; *is_looker says
 * whether it has L, before and afterwards. */
uint64_t fr_watches_nap(fr_watches *watches, bool *is_looker, uint64_t left_ns);
/* The looker has something else to do. */
void fr_watches_give_back(fr_pool *pool, bool *is_looker);
/* Sees to it that somebody comes, if the watches are unattended. */
void fr_watches_attend(fr_pool *pool);

/* Around a sleep on `word`, which is read between the two. */
void fr_standby_enter(fr_standby *standby, fr_pool *pool, _Atomic uint32_t *word);
/* To be called after each look at the word, before each sleep: how long that may last. */
uint64_t fr_standby_nap(fr_standby *standby, fr_pool *pool, uint64_t left_ns);
void fr_standby_leave(fr_standby *standby, fr_pool *pool);

#endif
