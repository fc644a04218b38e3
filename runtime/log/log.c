#include "runtime/log/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <ovstage/ovstage.h>

#include "runtime/api/process.h"
#include "runtime/log/log_filter.h"
#include "scheduler/memory.h"
#include "scheduler/os.h"

typedef struct fr_log_message fr_log_message;
struct fr_log_message {
    fr_log_message *next;
    uint64_t number;
    ovstage_log_severity_t severity;
    double seconds;
    size_t length;
    char text[]; /* length bytes and a NUL */
};

typedef enum fr_log_thread_state {
    FR_LOG_NO_THREAD,
    FR_LOG_STARTING,
    FR_LOG_RUNNING,
    FR_LOG_STOPPING,
} fr_log_thread_state;

/* Guarded by `lock` but for the words that threads sleep on, which are changed with it held. */
static struct {
    fr_mutex lock;
    fr_log_thread_state thread_state;
    fr_os_thread thread;
    ovstage_log_callback_t callback;
    void *user;
    uint64_t process_state; /* under which it was set */
    fr_log_filter filter;
    fr_log_message *first, *last;
    uint32_t waiting;            /* messages */
    uint64_t dropped;            /* since the last one that was appended */
    uint64_t written, delivered; /* numbers of the last */
    bool dispatcher_sleeps;
    _Atomic uint32_t work; /* goes up when the dispatcher has something to do */
    _Atomic uint32_t
        progress; /* goes up when something was delivered or the thread's state changed */
} fr_log;

_Atomic int fr_log_lowest = OVSTAGE_LOG_NONE + 1;

static _Thread_local bool fr_log_is_dispatcher;

static void fr_log_wake_dispatcher_locked(bool *wake)
{
    fr_add_relaxed(&fr_log.work, 1);
    *wake = fr_log.dispatcher_sleeps;
    fr_log.dispatcher_sleeps = false;
}

static void fr_log_tell_progress(void)
{
    fr_os_current->futex_wake(&fr_log.progress, UINT32_MAX);
}

static void fr_log_free(fr_log_message *message)
{
    fr_memory_release(&fr_allocator_default, message, sizeof(*message) + message->length + 1);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* NULL without memory. */
static fr_log_message *fr_log_make(ovstage_log_severity_t severity, const char *text, size_t length)
{
    fr_log_message *message =
        fr_memory_allocate(&fr_allocator_default, sizeof(*message) + length + 1, 16);
    if (!message)
        return NULL;
    message->next = NULL;
    message->severity = severity;
    message->seconds = (double)fr_os_current->now_ns() * 1e-9;
    message->length = length;
    memcpy(message->text, text, length);
    message->text[length] = '\0';
    return message;
}

static void fr_log_append_locked(fr_log_message *message)
{
    message->number = ++fr_log.written;
    if (fr_log.last)
        fr_log.last->next = message;
    else
        fr_log.first = message;
    fr_log.last = message;
    fr_log.waiting++;
}

void fr_log_write(ovstage_log_severity_t severity, const char *channel, const char *format, ...)
{
    if (!fr_log_may_want(severity) || fr_log_is_dispatcher)
        return;
    char text[FR_LOG_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if ((size_t)length >= sizeof(text))
        length = (int)sizeof(text) - 1;
    fr_log_message *message = fr_log_make(severity, text, (size_t)length);
    bool wake = false;
    fr_mutex_lock(&fr_log.lock);
    bool wanted = fr_log.callback && fr_log_filter_wants(&fr_log.filter, severity, channel);
    if (wanted && message && fr_log.waiting < FR_LOG_WAITING) {
        fr_log_append_locked(message);
        message = NULL;
        fr_log_wake_dispatcher_locked(&wake);
    } else if (wanted) {
        fr_log.dropped++;
    }
    fr_mutex_unlock(&fr_log.lock);
    if (wake)
        fr_os_current->futex_wake(&fr_log.work, 1);
    if (message)
        fr_log_free(message);
}

/* --- delivering ------------------------------------------------------------------------------- */

static void fr_log_deliver(const fr_log_message *message, uint64_t dropped,
                           ovstage_log_callback_t callback, void *user)
{
    if (!callback)
        return;
    if (dropped > 0) {
        char text[80];
        int length = snprintf(text, sizeof(text), "%llu log messages were dropped",
                              (unsigned long long)dropped);
        callback(OVSTAGE_LOG_WARNING, message->seconds,
                 (ovx_string_t){text, length > 0 ? (size_t)length : 0}, user);
    }
    callback(message->severity, message->seconds, (ovx_string_t){message->text, message->length},
             user);
}

/* With the lock held: the next message, or NULL when the thread is to end. Sleeps meanwhile. */
static fr_log_message *fr_log_take_locked(void)
{
    while (!fr_log.first && fr_log.thread_state != FR_LOG_STOPPING) {
        uint32_t seen = fr_load_relaxed(&fr_log.work);
        fr_log.dispatcher_sleeps = true;
        fr_mutex_unlock(&fr_log.lock);
        (void)fr_os_current->futex_wait(&fr_log.work, seen, FR_TIMEOUT_INFINITE);
        fr_mutex_lock(&fr_log.lock);
    }
    fr_log.dispatcher_sleeps = false;
    fr_log_message *message = fr_log.first;
    if (message) {
        fr_log.first = message->next;
        if (!fr_log.first)
            fr_log.last = NULL;
        fr_log.waiting--;
    }
    return message;
}

static void fr_log_dispatch(void *argument)
{
    (void)argument;
    fr_log_is_dispatcher = true;
    fr_mutex_lock(&fr_log.lock);
    for (fr_log_message *message; (message = fr_log_take_locked()) != NULL;) {
        ovstage_log_callback_t callback = fr_log.callback;
        void *user = fr_log.user;
        uint64_t dropped = fr_log.dropped;
        fr_log.dropped = 0;
        fr_mutex_unlock(&fr_log.lock);
        fr_log_deliver(message, dropped, callback, user);
        fr_mutex_lock(&fr_log.lock);
        fr_log.delivered = message->number;
        fr_add_relaxed(&fr_log.progress, 1);
        fr_mutex_unlock(&fr_log.lock);
        fr_log_tell_progress();
        fr_log_free(message);
        fr_mutex_lock(&fr_log.lock);
    }
    fr_mutex_unlock(&fr_log.lock);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* With the lock held: until nobody starts or stops it. */
static void fr_log_settle_locked(void)
{
    while (fr_log.thread_state == FR_LOG_STARTING || fr_log.thread_state == FR_LOG_STOPPING) {
        uint32_t seen = fr_load_relaxed(&fr_log.progress);
        fr_mutex_unlock(&fr_log.lock);
        (void)fr_os_current->futex_wait(&fr_log.progress, seen, FR_TIMEOUT_INFINITE);
        fr_mutex_lock(&fr_log.lock);
    }
}

static void fr_log_set_state_locked(fr_log_thread_state state)
{
    fr_log.thread_state = state;
    fr_add_relaxed(&fr_log.progress, 1);
}

/* With the lock held, which it gives back meanwhile. False: no thread can be had. */
static bool fr_log_start_locked(void)
{
    fr_log_settle_locked();
    if (fr_log.thread_state == FR_LOG_RUNNING)
        return true;
    fr_log_set_state_locked(FR_LOG_STARTING);
    fr_mutex_unlock(&fr_log.lock);
    bool started =
        fr_os_current->thread_start(&fr_log.thread, fr_log_dispatch, NULL, "flyrail-log");
    fr_mutex_lock(&fr_log.lock);
    fr_log_set_state_locked(started ? FR_LOG_RUNNING : FR_LOG_NO_THREAD);
    fr_mutex_unlock(&fr_log.lock);
    fr_log_tell_progress();
    fr_mutex_lock(&fr_log.lock);
    return started;
}

/* With the lock held, and a thread that runs. */
static void fr_log_stop_locked(void)
{
    bool wake = false;
    fr_log_set_state_locked(FR_LOG_STOPPING);
    fr_log_wake_dispatcher_locked(&wake);
    fr_mutex_unlock(&fr_log.lock);
    if (wake)
        fr_os_current->futex_wake(&fr_log.work, 1);
    fr_os_current->thread_join(&fr_log.thread);
    fr_mutex_lock(&fr_log.lock);
    fr_log.callback = NULL;
    fr_log.dropped = 0;
    fr_store_relaxed(&fr_log_lowest, OVSTAGE_LOG_NONE + 1);
    /* What came after the thread's last look. */
    fr_log_message *left = fr_log.first;
    fr_log.first = fr_log.last = NULL;
    fr_log.waiting = 0;
    fr_log.delivered = fr_log.written;
    fr_log_set_state_locked(FR_LOG_NO_THREAD);
    fr_mutex_unlock(&fr_log.lock);
    fr_log_tell_progress();
    while (left) {
        fr_log_message *next = left->next;
        fr_log_free(left);
        left = next;
    }
    fr_mutex_lock(&fr_log.lock);
}

/* With the lock held: until all that was written is delivered. */
static ovstage_api_status_t fr_log_flush_locked(uint64_t timeout)
{
    uint64_t start = fr_os_current->now_ns();
    ovstage_api_status_t status = OVSTAGE_OK;
    uint64_t target = fr_log.callback ? fr_log.written : 0;
    while (fr_log.delivered < target && status == OVSTAGE_OK) {
        uint32_t seen = fr_load_relaxed(&fr_log.progress);
        fr_mutex_unlock(&fr_log.lock);
        uint64_t spent = fr_os_current->now_ns() - start;
        if (timeout != OVSTAGE_TIMEOUT_INFINITE && spent >= timeout)
            status = OVSTAGE_ERROR_TIMEOUT;
        else
            (void)fr_os_current->futex_wait(
                &fr_log.progress, seen,
                timeout == OVSTAGE_TIMEOUT_INFINITE ? FR_TIMEOUT_INFINITE : timeout - spent);
        fr_mutex_lock(&fr_log.lock);
    }
    return status;
}

void fr_log_end(uint64_t process_state)
{
    fr_mutex_lock(&fr_log.lock);
    if (!fr_log_is_dispatcher) /* that cannot wait for itself */
        fr_log_settle_locked();
    bool others = fr_log.callback && process_state != 0 && fr_log.process_state != process_state;
#ifdef FR_MUTATE_LOG_ENDS_THE_NEXT
    others = false;
#endif
    if (fr_log_is_dispatcher && !others) { /* the thread stays for the next one */
        fr_log.callback = NULL;
        fr_store_relaxed(&fr_log_lowest, OVSTAGE_LOG_NONE + 1);
    } else if (!fr_log_is_dispatcher && others) { /* the one before it may still be in a call */
        (void)fr_log_flush_locked(OVSTAGE_TIMEOUT_INFINITE);
    } else if (!fr_log_is_dispatcher && fr_log.thread_state == FR_LOG_RUNNING) {
        fr_log_stop_locked();
    }
    fr_mutex_unlock(&fr_log.lock);
}

/* --- entry points ----------------------------------------------------------------------------- */

static ovstage_api_status_t fr_log_not_up(void)
{
    return fr_error_set(OVSTAGE_ERROR_OP_FAILED,
                        "logging needs ovstage_initialize or a live instance before");
}

ovstage_api_status_t ovstage_set_log_callback(ovstage_log_severity_t severity,
                                              const ovx_string_t *channel_filter,
                                              ovstage_log_callback_t callback, void *user)
{
    if (fr_process_forked())
        return fr_process_forked_error();
    if (fr_process_state() == 0)
        return fr_log_not_up();
    if (!callback) {
        fr_log_end(0);
        return OVSTAGE_OK;
    }
    fr_log_filter filter;
    ovstage_api_status_t status = fr_log_filter_parse(severity, channel_filter, &filter);
    if (status != OVSTAGE_OK)
        return status;
    fr_mutex_lock(&fr_log.lock);
    bool started = fr_log_is_dispatcher || fr_log_start_locked();
    /* Under this lock, so that the end of that state finds the callback. */
    uint64_t process_state = fr_process_state();
    if (started && process_state != 0) {
        fr_log.callback = callback;
        fr_log.user = user;
        fr_log.process_state = process_state;
        fr_log.filter = filter;
        fr_store_relaxed(&fr_log_lowest, fr_log_filter_lowest(&filter));
    } else if (started && !fr_log_is_dispatcher && !fr_log.callback &&
               fr_log.thread_state == FR_LOG_RUNNING) {
        fr_log_stop_locked();
    }
    fr_mutex_unlock(&fr_log.lock);
    if (!started)
        return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY, "no thread to deliver log messages");
    return process_state != 0 ? OVSTAGE_OK : fr_log_not_up();
}

ovstage_api_status_t ovstage_flush_log(ovstage_timeout_ns_t timeout)
{
    if (fr_process_forked())
        return fr_process_forked_error();
    if (fr_log_is_dispatcher)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "a flush inside the log callback would wait for itself");
    fr_mutex_lock(&fr_log.lock);
    ovstage_api_status_t status = fr_log_flush_locked(timeout);
    fr_mutex_unlock(&fr_log.lock);
    return status;
}
