#include "scheduler/cpu_count.h"
#include "scheduler/os.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FR_NS_PER_SECOND 1000000000u

static bool fr_linux_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / FR_NS_PER_SECOND),
                               .tv_nsec = (long)(timeout_ns % FR_NS_PER_SECOND)};
    bool endless = timeout_ns == FR_TIMEOUT_INFINITE;
    long result =
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, endless ? NULL : &timeout, NULL, 0);
    return !(result != 0 && errno == ETIMEDOUT);
}

static void fr_linux_futex_wake(_Atomic uint32_t *word, uint32_t count)
{
    int limit = count > INT32_MAX ? INT32_MAX : (int)count;
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, limit, NULL, NULL, 0);
}

static uint64_t fr_linux_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * FR_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static void fr_linux_yield(void)
{
    (void)sched_yield();
}

static void fr_linux_pause(void)
{
    fr_cpu_pause();
}

static void *fr_linux_thread_main(void *argument)
{
    fr_os_thread *thread = argument;
    (void)pthread_setname_np(pthread_self(), thread->name);
    thread->body(thread->argument);
    return NULL;
}

static bool fr_linux_thread_start(fr_os_thread *thread, void (*body)(void *), void *argument,
                                  const char *name)
{
    thread->body = body;
    thread->argument = argument;
    size_t length = strnlen(name, sizeof(thread->name) - 1);
    memcpy(thread->name, name, length);
    thread->name[length] = '\0';
    /* The host's signals are for the host's threads: a handler must not run on a worker. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t handle;
    int error = pthread_create(&handle, NULL, fr_linux_thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return false;
    thread->handle = (uintptr_t)handle;
    return true;
}

static void fr_linux_thread_join(fr_os_thread *thread)
{
    (void)pthread_join((pthread_t)thread->handle, NULL);
}

static bool fr_linux_thread_pin(uint32_t index)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return false;
    uint32_t count = (uint32_t)CPU_COUNT(&allowed);
    if (count == 0)
        return false;
    uint32_t skip = index % count;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || skip-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return sched_setaffinity(0, sizeof(one), &one) == 0;
    }
    return false;
}

static int fr_linux_signal_open(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* It fails at 2^64 - 2 raises that nobody has read: then it is readable anyway. */
static void fr_linux_signal_raise(int descriptor)
{
    const uint64_t one = 1;
    ssize_t written = write(descriptor, &one, sizeof(one));
    (void)written;
}

static void fr_linux_signal_close(int descriptor)
{
    (void)close(descriptor);
}

const fr_os fr_os_linux = {
    .futex_wait = fr_linux_futex_wait,
    .futex_wake = fr_linux_futex_wake,
    .now_ns = fr_linux_now_ns,
    .yield = fr_linux_yield,
    .pause = fr_linux_pause,
    .thread_start = fr_linux_thread_start,
    .thread_join = fr_linux_thread_join,
    .thread_pin = fr_linux_thread_pin,
    .cpu_count = fr_cpu_count,
    .signal_open = fr_linux_signal_open,
    .signal_raise = fr_linux_signal_raise,
    .signal_close = fr_linux_signal_close,
};
