#include "tests/systematic/systematic.h"

#include "tests/systematic/own_stack.h"
#include "tests/systematic/store_buffer.h"
#include "scheduler/os.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 64
#define CHANGES_MAX 8

typedef enum { RUNNABLE, IN_FUTEX, IN_JOIN, ENDED } thread_state;

typedef struct run run;

typedef struct thread {
    run *run;
    uint32_t index;
    thread_state state;
    sem_t baton;
    pthread_t handle;
    void (*body)(void *);
    void *argument;
    char name[16];
    int64_t priority;
    volatile _Atomic uint32_t *word; /* in futex */
    uint64_t deadline_ns;
    bool timed_out;
    struct thread *awaited; /* in join */
    fr_store_buffer buffer;
    fr_own_stack stack;
} thread;

/* Touched by the thread that has the baton alone; the others wait for theirs. */
struct run {
    fr_systematic_options options;
    uint64_t random;
    uint64_t steps, switches, fingerprint;
    uint64_t clock_ns;
    thread *threads[THREADS_MAX];
    uint32_t thread_count, thread_starts;
    bool by_priority;              /* else a random walk */
    uint64_t switch_period;        /* of the random walk */
    uint64_t changes[CHANGES_MAX]; /* steps at which the running thread gets the lowest priority */
    int64_t lowest_priority;
    uint64_t drain_period; /* 1 in so many points makes a buffered store visible; 0: no buffers */
    bool spurious;         /* futex waits may return for no reason */
    int cpu;               /* of all threads: since one runs at a time, another would only idle */
    bool failed;
    char text[256];
    sem_t over;
};

static _Thread_local thread *self;

/* --- decisions ------------------------------------------------------------------------------- */

static uint64_t draw(run *r)
{
    uint64_t z = r->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t draw_below(run *r, uint64_t below)
{
    return below > 1 ? draw(r) % below : 0;
}

static void park_for_ever(void)
{
    for (;;)
        (void)sem_wait(&self->baton);
}

static void fail(run *r, const char *text)
{
    r->failed = true;
    snprintf(r->text, sizeof(r->text), "%s", text);
    (void)sem_post(&r->over);
    park_for_ever();
}

static thread *pick_random(run *r, const thread *except)
{
    uint32_t count = 0;
    thread *found = NULL;
    for (uint32_t k = 0; k < r->thread_count; k++) {
        thread *t = r->threads[k];
        if (t->state == RUNNABLE && t != except && draw_below(r, ++count) == 0)
            found = t;
    }
    return found;
}

static thread *pick_highest(run *r)
{
    thread *found = NULL;
    for (uint32_t k = 0; k < r->thread_count; k++) {
        thread *t = r->threads[k];
        if (t->state == RUNNABLE && (!found || t->priority > found->priority))
            found = t;
    }
    return found;
}

static void expire(run *r)
{
    for (uint32_t k = 0; k < r->thread_count; k++) {
        thread *t = r->threads[k];
        if (t->state == IN_FUTEX && t->deadline_ns <= r->clock_ns) {
            t->state = RUNNABLE;
            t->timed_out = true;
        }
    }
}

/* Nobody can run: the earliest deadline comes. False when there is none. */
static bool advance_clock(run *r)
{
    uint64_t earliest = UINT64_MAX;
    for (uint32_t k = 0; k < r->thread_count; k++)
        if (r->threads[k]->state == IN_FUTEX && r->threads[k]->deadline_ns < earliest)
            earliest = r->threads[k]->deadline_ns;
    if (earliest == UINT64_MAX)
        return false;
    r->clock_ns = earliest;
    expire(r);
    return true;
}

static void fail_deadlock(run *r)
{
    char text[sizeof(r->text)];
    int length = snprintf(text, sizeof(text), "deadlock:");
    for (uint32_t k = 0; k < r->thread_count && length < (int)sizeof(text) - 40; k++) {
        const thread *t = r->threads[k];
        static const char *const names[] = {"runs", "sleeps", "joins", "ended"};
        length += snprintf(text + length, sizeof(text) - (size_t)length, " %s %s;", t->name,
                           names[t->state]);
    }
    fail(r, text);
}

static void hand_over(run *r, thread *next)
{
    r->fingerprint = (r->fingerprint ^ (next->index + 1)) * UINT64_C(0x100000001b3);
    if (next == self)
        return;
    r->switches++;
    (void)sem_post(&next->baton);
    while (sem_wait(&self->baton) != 0) {
    }
}

/* A thread that can run, if need be when time has passed. */
static thread *pick_or_advance(run *r)
{
    thread *next;
    while (!(next = r->by_priority ? pick_highest(r) : pick_random(r, NULL)))
        if (!advance_clock(r))
            fail_deadlock(r);
    return next;
}

/* The running thread cannot go on. */
static void block(run *r)
{
    hand_over(r, pick_or_advance(r));
}

static void let_others_run(run *r)
{
    self->priority = --r->lowest_priority;
    thread *next = r->by_priority ? pick_highest(r) : pick_random(r, self);
    hand_over(r, next ? next : self);
}

/* --- store buffers --------------------------------------------------------------------------- */

static void drain(thread *t)
{
    fr_store_buffer_drain(&t->buffer);
}

/* Now and then one buffered store of one thread becomes visible. */
static void land_some(run *r)
{
    if (r->drain_period == 0 || draw_below(r, r->drain_period) != 0)
        return;
    uint32_t first = (uint32_t)draw_below(r, r->thread_count);
    for (uint32_t k = 0; k < r->thread_count; k++) {
        fr_store_buffer *buffer = &r->threads[(first + k) % r->thread_count]->buffer;
        if (buffer->count == 0)
            continue;
        fr_store_buffer_land(buffer, (uint32_t)draw_below(r, buffer->count));
        return;
    }
}

/* --- points ---------------------------------------------------------------------------------- */

static bool is_change(const run *r)
{
    for (uint32_t k = 0; k < CHANGES_MAX; k++)
        if (r->changes[k] == r->steps)
            return true;
    return false;
}

static void point(void)
{
    run *r = self->run;
    uint64_t limit = r->options.max_steps;
    if (++r->steps > limit)
        fail(r, "livelock: more steps than allowed");
    expire(r);
    land_some(r);
    thread *next = self;
    if (r->by_priority) {
        if (is_change(r))
            self->priority = --r->lowest_priority;
        next = pick_highest(r);
    } else if (draw_below(r, r->switch_period) == 0) {
        next = pick_random(r, NULL);
    }
    hand_over(r, next);
}

void fr_systematic_read(const volatile void *word)
{
    if (!self)
        return;
    point();
    fr_store_buffer_drain_word(&self->buffer, word);
}

void fr_systematic_modify(const volatile void *word, bool releases)
{
    if (!self)
        return;
    point();
    if (releases)
        drain(self);
    else
        fr_store_buffer_drain_word(&self->buffer, word);
}

void fr_systematic_fence(void)
{
    if (!self)
        return;
    point();
    drain(self);
}

void fr_systematic_write(volatile void *word, size_t size_bytes, uint64_t value, bool releases)
{
    fr_buffered_store store = {word, size_bytes, value, releases};
    if (!self) {
        fr_store_buffer_write(&store);
        return;
    }
    point();
    if (self->run->drain_period > 0 && !fr_own_stack_holds(&self->stack, word)) {
        fr_store_buffer_put(&self->buffer, &store);
        return;
    }
    if (store.release)
        drain(self);
    else
        fr_store_buffer_drain_word(&self->buffer, word);
    fr_store_buffer_write(&store);
}

void fr_systematic_check(bool right, const char *text)
{
    if (right)
        return;
    if (self)
        fail(self->run, text);
    fprintf(stderr, "systematic: outside a run: %s\n", text);
    exit(1);
}

uint64_t fr_systematic_random(uint64_t below)
{
    return self ? draw_below(self->run, below) : 0;
}

/* --- the table ------------------------------------------------------------------------------- */

static bool systematic_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    run *r = self->run;
    point();
    drain(self);
    if (*(volatile uint32_t *)(volatile void *)word != seen)
        return true;
    if (r->spurious && draw_below(r, 8) == 0)
        return true;
    self->word = word;
    self->timed_out = false;
    self->deadline_ns =
        timeout_ns < UINT64_MAX - r->clock_ns ? r->clock_ns + timeout_ns : UINT64_MAX;
    self->state = IN_FUTEX;
    block(r);
    return !self->timed_out;
}

static void systematic_futex_wake(_Atomic uint32_t *word, uint32_t count)
{
    run *r = self->run;
    point();
    drain(self);
    for (; count > 0; count--) {
        thread *woken = NULL;
        uint32_t waiting = 0;
        for (uint32_t k = 0; k < r->thread_count; k++) {
            thread *t = r->threads[k];
            if (t->state == IN_FUTEX && t->word == word && draw_below(r, ++waiting) == 0)
                woken = t;
        }
        if (!woken)
            return;
        woken->state = RUNNABLE;
    }
}

static uint64_t systematic_now_ns(void)
{
    run *r = self->run;
    point();
    r->clock_ns += 1 + draw_below(r, draw_below(r, 64) == 0 ? 100000 : 200);
    return r->clock_ns;
}

static void systematic_yield(void)
{
    point();
    let_others_run(self->run);
}

static void end_thread(run *r)
{
    point(); /* what the thread stored last may stay invisible for a while */
    drain(self);
    self->state = ENDED;
    for (uint32_t k = 0; k < r->thread_count; k++)
        if (r->threads[k]->state == IN_JOIN && r->threads[k]->awaited == self)
            r->threads[k]->state = RUNNABLE;
    if (self->index == 0) { /* all others were joined, or are the test's mistake */
        for (uint32_t k = 1; k < r->thread_count; k++)
            if (r->threads[k]->state != ENDED)
                fail(r, "the body returned before its threads ended");
        (void)sem_post(&r->over);
        return;
    }
    thread *next = pick_or_advance(r);
    r->fingerprint = (r->fingerprint ^ (next->index + 1)) * UINT64_C(0x100000001b3);
    (void)sem_post(&next->baton);
}

static void *thread_main(void *argument)
{
    self = argument;
    while (sem_wait(&self->baton) != 0) {
    }
    self->stack = fr_own_stack_find();
    self->body(self->argument);
    end_thread(self->run);
    return NULL;
}

/* On the processor of the run: to hand over to a thread on another one takes longer. */
static bool start_thread(const run *r, thread *t)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (r->cpu >= 0 && r->cpu < CPU_SETSIZE) {
        CPU_SET((unsigned)r->cpu, &cpus);
        (void)pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
    }
    bool started = pthread_create(&t->handle, &attributes, thread_main, t) == 0;
    (void)pthread_attr_destroy(&attributes);
    return started;
}

static thread *make_thread(run *r, void (*body)(void *), void *argument, const char *name)
{
    thread *t = r->thread_count < THREADS_MAX ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return NULL;
    t->run = r;
    t->index = r->thread_count;
    t->state = RUNNABLE;
    t->body = body;
    t->argument = argument;
    t->deadline_ns = UINT64_MAX;
    t->priority = (int64_t)(draw(r) >> 2);
    snprintf(t->name, sizeof(t->name), "%s", name);
    (void)sem_init(&t->baton, 0, 0);
    if (!start_thread(r, t)) {
        free(t);
        return NULL;
    }
    r->threads[r->thread_count++] = t;
    return t;
}

static bool systematic_thread_start(fr_os_thread *handle, void (*body)(void *), void *argument,
                                    const char *name)
{
    run *r = self->run;
    point();
    drain(self);
    if (r->options.thread_starts_fail && r->thread_starts >= r->options.thread_starts)
        return false;
    thread *t = make_thread(r, body, argument, name);
    if (!t)
        return false;
    r->thread_starts++;
    handle->handle = (uintptr_t)t;
    point();
    return true;
}

static void systematic_thread_join(fr_os_thread *handle)
{
    thread *t = (thread *)handle->handle;
    point();
    drain(self);
    if (t->state == ENDED)
        return;
    self->awaited = t;
    self->state = IN_JOIN;
    block(self->run);
}

static bool systematic_thread_pin(uint32_t index)
{
    (void)index;
    return true;
}

static uint32_t systematic_cpu_count(void)
{
    return self->run->options.cpu_count;
}

static const fr_os fr_os_systematic = {
    .futex_wait = systematic_futex_wait,
    .futex_wake = systematic_futex_wake,
    .now_ns = systematic_now_ns,
    .yield = systematic_yield,
    .pause = systematic_yield,
    .thread_start = systematic_thread_start,
    .thread_join = systematic_thread_join,
    .thread_pin = systematic_thread_pin,
    .cpu_count = systematic_cpu_count,
};

/* --- runs ------------------------------------------------------------------------------------ */

static void choose_strategy(run *r)
{
    static const uint64_t periods[] = {2, 4, 16, 64};
    r->by_priority = draw_below(r, 2) == 0;
    r->switch_period = periods[draw_below(r, 4)];
    r->drain_period = r->options.no_store_buffers ? 0 : periods[draw_below(r, 4)];
    r->spurious = draw_below(r, 8) == 0;
    uint64_t changes = 1 + draw_below(r, CHANGES_MAX);
    for (uint64_t k = 0; k < changes; k++)
        r->changes[k] = 1 + draw_below(r, r->options.expected_steps);
}

static void set_defaults(fr_systematic_options *options)
{
    if (options->runs == 0)
        options->runs = 1000;
    if (options->max_steps == 0)
        options->max_steps = 200000;
    if (options->expected_steps == 0)
        options->expected_steps = 2000;
    if (options->cpu_count == 0)
        options->cpu_count = 2;
}

/* The line that runs the failure again. */
static void report(const run *r, uint64_t seed)
{
    const char *target = getenv("TEST_TARGET");
    fprintf(stderr, "systematic: seed %" PRIu64 ", step %" PRIu64 ": %s\n", seed, r->steps,
            r->text);
    if (target)
        fprintf(stderr,
                "run it again: bazel test --test_env=FR_SYSTEMATIC_SEED=%" PRIu64
                " --test_filter=%s %s\n",
                seed, r->options.name, target);
    else
        fprintf(stderr, "run it again: FR_SYSTEMATIC_SEED=%" PRIu64 " %s --gtest_filter=%s\n", seed,
                program_invocation_name, r->options.name);
}

static void free_run(run *r)
{
    for (uint32_t k = 0; k < r->thread_count; k++) {
        (void)pthread_join(r->threads[k]->handle, NULL);
        (void)sem_destroy(&r->threads[k]->baton);
        free(r->threads[k]);
    }
    (void)sem_destroy(&r->over);
    free(r);
}

bool fr_systematic_run(const fr_systematic_options *options, uint64_t seed, bool quiet,
                       void (*body)(void *), void *argument, fr_systematic_outcome *outcome)
{
    run *r = calloc(1, sizeof(*r));
    if (!r)
        return false;
    r->options = *options;
    set_defaults(&r->options);
    r->random = seed;
    r->clock_ns = 1000000;
    r->cpu = sched_getcpu();
    (void)sem_init(&r->over, 0, 0);
    choose_strategy(r);
    const fr_os *before = fr_os_current;
    fr_os_current = &fr_os_systematic;
    thread *first = make_thread(r, body, argument, "body");
    if (!first)
        return false;
    (void)sem_post(&first->baton);
    while (sem_wait(&r->over) != 0) {
    }
    fr_os_current = before;
    bool failed = r->failed;
    if (outcome) {
        memset(outcome, 0, sizeof(*outcome));
        outcome->failed = failed;
        memcpy(outcome->text, r->text, sizeof(outcome->text));
        outcome->seed = seed;
        outcome->steps = r->steps;
        outcome->switches = r->switches;
        outcome->fingerprint = r->fingerprint;
    }
    if (failed && !quiet)
        report(r, seed);
    if (!failed) /* the threads of a failed run stay parked */
        free_run(r);
    return !failed;
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

bool fr_systematic_explore(const fr_systematic_options *options, void (*body)(void *),
                           void *argument)
{
    fr_systematic_options chosen = *options;
    set_defaults(&chosen);
    chosen.runs = from_environment("FR_SYSTEMATIC_RUNS", chosen.runs);
    if (getenv("FR_SYSTEMATIC_SEED")) {
        chosen.first_seed = from_environment("FR_SYSTEMATIC_SEED", 0);
        chosen.runs = 1;
    }
    for (uint64_t k = 0; k < chosen.runs; k++)
        if (!fr_systematic_run(&chosen, chosen.first_seed + k, false, body, argument, NULL))
            return false;
    return true;
}
