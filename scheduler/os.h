/* What the library asks of the operating system, as one table, so that a test build can put a
 * seeded one-runnable-at-a-time scheduler and a fake clock behind it. Nothing else in scheduler/ or
 * runtime/ calls futex, starts threads, reads clocks or yields.
 *
 * Threads: every entry is callable from any thread. The table is set once, before the first
 * instance. */
#ifndef FR_SCHEDULER_OS_H
#define FR_SCHEDULER_OS_H

#include "scheduler/atomic.h"

#define FR_TIMEOUT_INFINITE UINT64_MAX

/* Owned by the caller, who keeps it in place until thread_join has returned. */
typedef struct fr_os_thread {
    uintptr_t handle;
    void (*body)(void *argument);
    void *argument;
    char name[16]; /* what the kernel keeps of a thread's name */
} fr_os_thread;

typedef struct fr_os {
    /* Sleeps while *word == seen, at most timeout_ns. Returns false only when the time ran out; may
     * return early. */
    bool (*futex_wait)(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);
    void (*futex_wake)(_Atomic uint32_t *word, uint32_t count); /* UINT32_MAX: all */
    uint64_t (*now_ns)(void);                                   /* monotonic */
    void (*yield)(void);
    void (*pause)(
        void); /* inside a spin: cpu pause here, a scheduling point in the systematic build */
    /* Starts body(argument) with every signal blocked; false when no thread can be had. `name` may
     * be cut. */
    bool (*thread_start)(fr_os_thread *thread, void (*body)(void *), void *argument,
                         const char *name);
    void (*thread_join)(fr_os_thread *thread);
    /* Keeps the calling thread on the index-th CPU of its affinity mask, counted round; false when
     * the system refuses. */
    bool (*thread_pin)(uint32_t index);
    uint32_t (*cpu_count)(void); /* min(affinity mask, cgroup quota rounded up), at least 1 */
    /* A descriptor that polls as readable once it was raised, until it is read; -1 when none can be
     * had. raise never blocks. */
    int (*signal_open)(void);
    void (*signal_raise)(int descriptor);
    void (*signal_close)(int descriptor);
} fr_os;

extern const fr_os *fr_os_current; /* the table in use */
extern const fr_os fr_os_linux;    /* the real one */

/* A mutex of one word: 0 free, 1 held, 2 held and somebody may sleep (set by who is about to sleep,
 * cleared by who gives the mutex back). Short sections only: no allocation, no callback, no system
 * call while held. Spins briefly before it sleeps. */
typedef struct fr_mutex {
    _Atomic uint32_t word;
} fr_mutex;

void fr_mutex_lock_slow(fr_mutex *mutex);
void fr_mutex_unlock_slow(fr_mutex *mutex);

/* With FR_CHECK_LOCKS each thread counts what it holds, and fr_memory_allocate (memory.h) counts
 * who calls it with a mutex held, fr_calls_device who calls a driver so, fr_calls_client whose code
 * is called with any held. fr_look is called for each step of a walk through what may grow without
 * bound: the most steps that a thread took under mutexes without letting go of them all is kept. */
#ifdef FR_CHECK_LOCKS
extern _Thread_local uint32_t fr_mutex_held, fr_mutex_held_long;
extern _Thread_local uint64_t fr_mutex_looks;
static inline void fr_mutex_count(int32_t change)
{
    if (fr_mutex_held == 0)
        fr_mutex_looks = 0;
    fr_mutex_held += (uint32_t)change;
}
static inline void fr_mutex_count_long(int32_t change)
{
    fr_mutex_held_long += (uint32_t)change;
}
void fr_calls_client(void);
uint64_t fr_clients_called_under_locks(void); /* in the whole process */
void fr_calls_device(void);
uint64_t fr_devices_called_under_locks(void); /* in the whole process */
void fr_look(void);
uint64_t fr_most_looks_under_locks(void); /* in the whole process */
uint64_t fr_looks(void);                  /* of this thread, under locks or not */
#else
static inline void fr_mutex_count(int32_t change)
{
    (void)change;
}
static inline void fr_mutex_count_long(int32_t change)
{
    (void)change;
}
static inline void fr_calls_client(void)
{
}
static inline void fr_calls_device(void)
{
}
static inline void fr_look(void)
{
}
#endif

static inline void fr_mutex_lock(fr_mutex *mutex)
{
    uint32_t free_word = 0;
    /* [mutex.take] pairs [mutex.give] : sees what the last holder wrote */
    if (!fr_cas_acquire(&mutex->word, &free_word, 1))
        fr_mutex_lock_slow(mutex);
    fr_mutex_count(1);
}

static inline bool fr_mutex_try_lock(fr_mutex *mutex)
{
    uint32_t free_word = 0;
    /* [mutex.try] pairs [mutex.give] : as mutex.take */
    bool taken = fr_cas_acquire(&mutex->word, &free_word, 1);
    fr_mutex_count(taken);
    return taken;
}

static inline void fr_mutex_unlock(fr_mutex *mutex)
{
    fr_mutex_count(-1);
    /* [mutex.give] pairs [mutex.take], [mutex.try], [mutex.take_spin], [mutex.take_slow] : hands on
     * what was written while held */
    if (fr_exchange_release(&mutex->word, 0) == 2)
        fr_mutex_unlock_slow(mutex);
}

/* For a mutex that makes one thread at a time do a work of some length, which nobody waits for who
 * only reads or writes values: allocations are allowed, callbacks are not. */
static inline void fr_mutex_lock_long(fr_mutex *mutex)
{
    fr_mutex_lock(mutex);
    fr_mutex_count(-1);
    fr_mutex_count_long(1);
}

static inline void fr_mutex_unlock_long(fr_mutex *mutex)
{
    fr_mutex_count_long(-1);
    fr_mutex_count(1);
    fr_mutex_unlock(mutex);
}

#endif
