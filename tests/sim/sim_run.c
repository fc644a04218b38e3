#include "tests/sim/sim_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

enum {
    MOST_REFUSALS = 4,
    SPIN_LOOK_NS = 200 * 1000,
    HOST_FUNCTION_NS = 20 * 1000 * 1000,
    DRAIN_TURNS = 500, /* of that time */
    SECOND_NS = 1000 * 1000 * 1000,
    STUCK_SECONDS = 10
};

/* --- What can run. --- */

static bool is_done(fr_sim_point point)
{
    return point.stream->done >= point.number;
}

/* What the head of a stream still waits for in other streams; NULL: nothing. */
static const fr_sim_point *waits_for(const fr_sim_stream *stream)
{
    fr_sim_operation *operation = stream->head;
    while (operation->wait_count > 0) {
        const fr_sim_point *last = &operation->waits[operation->wait_count - 1];
        if (!is_done(*last))
            return last;
        operation->wait_count--;
    }
    return NULL;
}

static bool is_ready(const fr_sim_stream *stream)
{
    fr_sim_operation *operation = stream->head;
    if (!operation || stream->held || stream->in_host_function || waits_for(stream))
        return false;
    if (stream->context->sticky != FR_CU_SUCCESS)
        return true;
    if (operation->kind == FR_SIM_DO_HOST_FUNCTION)
        return !fr_sim_state.host_stream; /* one at a time */
    return operation->kind != FR_SIM_DO_KERNEL || fr_sim_kernel_ready(operation);
}

static bool somebody_spins(void)
{
    for (const fr_sim_stream *s = fr_sim_state.streams; s; s = s->next_all)
        if (s->head && s->head->kind == FR_SIM_DO_KERNEL && fr_sim_kernel_spins(s->head))
            return true;
    return false;
}

/* --- Running one operation. --- */

static void finish(fr_sim_stream *stream)
{
    fr_sim_operation *operation = stream->head;
    stream->head = operation->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->done = operation->number;
    fr_sim_operation_free(operation);
    fr_sim_state.pending--;
    fr_sim_state.operations_run++;
    if (stream->destroyed && !stream->head)
        fr_sim_stream_bury(stream);
    pthread_cond_broadcast(&fr_sim_state.changed);
}

static void do_effect(fr_sim_operation *operation)
{
    switch (operation->kind) {
    case FR_SIM_DO_COPY:
        fr_sim_do_copy(operation);
        break;
    case FR_SIM_DO_SET:
        fr_sim_do_set(operation);
        break;
    case FR_SIM_DO_ALLOCATE:
        fr_sim_do_allocate(operation);
        break;
    case FR_SIM_DO_FREE:
        fr_sim_do_free(operation);
        break;
    case FR_SIM_DO_KERNEL:
        fr_sim_do_kernel(operation);
        break;
    case FR_SIM_DO_RECORD:
        fr_sim_do_record(operation);
        break;
    default:
        break;
    }
}

static void run(fr_sim_stream *stream)
{
    fr_sim_operation *operation = stream->head;
    fr_sim_context *context = stream->context;
    fr_sim_device *device = &fr_sim_state.devices[context->device];
    fr_sim_state.ticks++;
    if (device->fail_operation > 0 && --device->fail_operation == 0)
        fr_sim_context_fail(context, device->fail_result);
#ifdef FR_MUTATE_SIM_FAILED_CONTEXT_GOES_ON
    if (false) {
#else
    if (context->sticky != FR_CU_SUCCESS) {
#endif
        finish(stream); /* without effect; host functions are not called */
        return;
    }
    if (operation->kind == FR_SIM_DO_HOST_FUNCTION) {
        stream->in_host_function = true;
        fr_sim_state.host_stream = stream;
        fr_sim_state.host_function_is_slow = false;
        pthread_cond_broadcast(&fr_sim_state.changed);
        return;
    }
    do_effect(operation);
    finish(stream);
}

static fr_sim_stream *choose(bool at_random)
{
    fr_sim_stream *found = NULL;
    uint32_t count = 0;
    for (fr_sim_stream *s = fr_sim_state.streams; s; s = s->next_all) {
        if (!is_ready(s))
            continue;
        count++;
        if (!found || (at_random && fr_sim_random_below(count) == 0))
            found = s;
    }
    return found;
}

static bool run_any(void)
{
    fr_sim_stream *stream = choose(fr_sim_state.options.mode == FR_SIM_RANDOM);
    if (stream)
        run(stream);
    return stream != NULL;
}

/* Runs one operation that the point needs. Each stream is met once on the way: what a head waits
 * for is earlier than the head. */
static bool run_towards(fr_sim_point point)
{
    fr_sim_stream *stream = point.stream;
    for (const fr_sim_point *next = waits_for(stream); next; next = waits_for(stream))
        stream = next->stream;
    if (!is_ready(stream))
        return false;
    run(stream);
    return true;
}

static bool run_step(fr_sim_point point)
{
    return fr_sim_state.options.mode == FR_SIM_RANDOM ? run_any() : run_towards(point);
}

/* --- Waiting for what is outside: a held stream, a flag, a host function. --- */

/* False when the time ran out. */
static bool wait_for_change(uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t end = (uint64_t)until.tv_nsec + ns;
    until.tv_sec += (time_t)(end / SECOND_NS);
    until.tv_nsec = (long)(end % SECOND_NS);
    return pthread_cond_timedwait(&fr_sim_state.changed, &fr_sim_state.lock, &until) != ETIMEDOUT;
}

static void tell_stuck(fr_sim_point point)
{
    char text[64];
    fr_sim_describe_stream(text, sizeof text, point.stream);
    fprintf(stderr,
            "simulated driver: %s waits for operation %llu of %s, which is blocked: a held stream, "
            "a spin kernel or a host function\n",
            fr_sim_call_name(), (unsigned long long)point.number, text);
}

void fr_sim_run_until(fr_sim_point point)
{
    uint32_t seconds = 0;
    while (!is_done(point)) {
        if (run_step(point))
            continue;
        if (somebody_spins())
            wait_for_change(SPIN_LOOK_NS);
        else if (!wait_for_change(SECOND_NS) && ++seconds == STUCK_SECONDS)
            tell_stuck(point);
    }
}

/* The host has waited for all that is done. */
static void join_idle(int device)
{
    for (const fr_sim_stream *s = fr_sim_state.streams; s; s = s->next_all)
        if (!s->head && (device < 0 || s->context->device == device))
            fr_sim_host_joins(&s->clock);
    for (const fr_sim_context *c = fr_sim_state.contexts; c; c = c->next)
        if (device < 0 || c->device == device)
            fr_sim_host_joins(&c->buried);
}

void fr_sim_run_work(int device)
{
    for (bool again = true; again;) {
        again = false;
        for (fr_sim_stream *s = fr_sim_state.streams; s && !again; s = s->next_all) {
            if (device >= 0 && s->context->device != device)
                continue;
            if (s->head) {
                fr_sim_run_until((fr_sim_point){s, s->submitted});
                again = true; /* the list may be another one */
            }
        }
    }
}

void fr_sim_run_all(int device)
{
    fr_sim_run_work(device);
    join_idle(device);
}

/* A host function is given a moment, so that what follows does not depend on the time it takes; one
 * that waits for the program is left alone from then on, but by a drain. */
static bool give_host_function_time(uint32_t turns)
{
    fr_sim *sim = &fr_sim_state;
    const fr_sim_stream *stream = sim->host_stream;
    if (!stream || (sim->host_function_is_slow && turns == 1))
        return false;
    uint64_t number = stream->done;
    while (sim->host_stream == stream && stream->done == number) {
        if (wait_for_change(HOST_FUNCTION_NS) || --turns > 0)
            continue;
        sim->host_function_is_slow = true;
        return false;
    }
    return true;
}

static bool run_possible(uint32_t turns)
{
    while (run_any() || give_host_function_time(turns)) {
    }
    return fr_sim_state.pending == 0;
}

bool fr_sim_drain(void)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    bool all = !fr_sim_state.is_open || run_possible(DRAIN_TURNS);
    join_idle(-1);
    pthread_mutex_unlock(&fr_sim_state.lock);
    return all;
}

/* --- Between calls. --- */

bool fr_sim_poll(fr_sim_point point)
{
    fr_sim_stream *stream = point.stream;
    if (!is_done(point)) {
        /* Some questions come too early; how many depends on the seed. */
        uint32_t limit = fr_sim_random_below(MOST_REFUSALS);
        if (stream->refusals++ >= limit)
            while (!is_done(point) && run_towards(point)) {
            }
    }
    if (is_done(point))
        stream->refusals = 0;
    return is_done(point);
}

void fr_sim_run_after_call(void)
{
    const fr_sim *sim = &fr_sim_state;
    if (!sim->is_open || sim->pending == 0 || sim->options.mode == FR_SIM_LAZY)
        return;
    if (sim->options.mode == FR_SIM_EAGER) {
        run_possible(1);
        return;
    }
    if (fr_sim_random_below(2) == 0)
        return;
    for (uint32_t left = 1 + fr_sim_random_below(3); left > 0 && run_any(); left--)
        give_host_function_time(1);
}

void fr_sim_host_joins(const fr_sim_clock *clock)
{
    fr_sim_clock_join(&fr_sim_state.host_clock, clock);
}

void fr_sim_hold(fr_cu_stream stream, bool held)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    fr_sim_stream *found = fr_sim_handle_peek(FR_SIM_STREAM, (uintptr_t)stream);
    if (found)
        found->held = held;
    pthread_cond_broadcast(&fr_sim_state.changed);
    pthread_mutex_unlock(&fr_sim_state.lock);
}

uint64_t fr_sim_operations_run(void)
{
    pthread_mutex_lock(&fr_sim_state.lock);
    uint64_t count = fr_sim_state.operations_run;
    pthread_mutex_unlock(&fr_sim_state.lock);
    return count;
}

/* --- The thread of the simulator. --- */

static void run_host_function(void)
{
    fr_sim *sim = &fr_sim_state;
    fr_sim_stream *stream = sim->host_stream;
    fr_sim_operation *operation = stream->head;
    /* The program may learn from the function that all before it is done, and go by that. */
    fr_sim_host_joins(&operation->clock);
    fr_sim_this_thread()->in_host_function = true;
    pthread_mutex_unlock(&sim->lock);
    operation->host_function(operation->user);
    pthread_mutex_lock(&sim->lock);
    fr_sim_this_thread()->in_host_function = false;
    sim->host_stream = NULL;
    stream->in_host_function = false;
    finish(stream);
}

static void *body(void *unused)
{
    fr_sim *sim = &fr_sim_state;
    (void)unused;
    pthread_mutex_lock(&sim->lock);
    for (;;) {
        if (sim->is_open && sim->host_stream)
            run_host_function();
        else if (sim->is_open && sim->options.background && sim->pending > 0) {
            if (!run_any())
                wait_for_change(SPIN_LOOK_NS);
        } else
            pthread_cond_wait(&sim->changed, &sim->lock);
    }
    return NULL;
}

void fr_sim_run_start(void)
{
    static bool started;
    if (started)
        return;
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, old;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    started = pthread_create(&thread, &attributes, body, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (!started)
        fr_sim_tell(FR_SIM_BAD_CALL, "no thread for host functions could be started");
}

void fr_sim_run_wait_host_function(void)
{
    while (fr_sim_state.host_stream)
        wait_for_change(SECOND_NS);
}
