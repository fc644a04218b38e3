#include "tests/unit/os_cases.h"

#include "scheduler/cpu_count.h"
#include "scheduler/os.h"
#include "tests/support/check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

const char *os_futex(void)
{
    static _Atomic uint32_t word;
    fr_store_relaxed(&word, 7);
    FR_CHECK(fr_os_linux.futex_wait(&word, 8, FR_TIMEOUT_INFINITE)); /* another value: at once */
    FR_CHECK(!fr_os_linux.futex_wait(&word, 7, 0));
    uint64_t start_ns = fr_os_linux.now_ns();
    while (fr_os_linux.futex_wait(&word, 7, 2000000)) {
    }
    FR_CHECK(fr_os_linux.now_ns() - start_ns >= 2000000);
    fr_os_linux.futex_wake(&word, 1); /* nobody there */
    fr_os_linux.futex_wake(&word, UINT32_MAX);
    return NULL;
}

static struct {
    sigset_t blocked;
    char name[16];
    pthread_t thread;
} seen;

static void look_at_thread(void *argument)
{
    pthread_sigmask(SIG_SETMASK, NULL, &seen.blocked);
    pthread_getname_np(pthread_self(), seen.name, sizeof(seen.name));
    seen.thread = pthread_self();
    *(int *)argument = 5;
}

const char *os_threads(void)
{
    fr_os_thread thread;
    int value = 0;
    FR_CHECK(fr_os_linux.thread_start(&thread, look_at_thread, &value, "a-name-of-more-than-15"));
    fr_os_linux.thread_join(&thread);
    FR_CHECK(value == 5);
    FR_CHECK(strcmp(seen.name, "a-name-of-more-") == 0);
    FR_CHECK(!pthread_equal(seen.thread, pthread_self()));
    FR_CHECK(sigismember(&seen.blocked, SIGTERM) == 1 && sigismember(&seen.blocked, SIGINT) == 1);
    sigset_t mine;
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    FR_CHECK(sigismember(&mine, SIGTERM) == 0); /* the starter's own mask is as before */
    return NULL;
}

const char *os_clock(void)
{
    uint64_t before_ns = fr_os_linux.now_ns();
    for (int k = 0; k < 1000; k++) {
        uint64_t now_ns = fr_os_linux.now_ns();
        FR_CHECK(now_ns >= before_ns);
        before_ns = now_ns;
    }
    fr_os_linux.yield();
    fr_os_linux.pause();
    FR_CHECK(fr_os_linux.cpu_count() >= 1);
    return NULL;
}

#define MUTEX_THREADS 4
#define MUTEX_TURNS 5000

static fr_mutex mutex;
static uint64_t counter;

static void add_under_mutex(void *argument)
{
    (void)argument;
    for (int k = 0; k < MUTEX_TURNS; k++) {
        fr_mutex_lock(&mutex);
        counter++;
        if (k % 64 == 0)
            fr_os_linux.yield(); /* so that others meet it held */
        fr_mutex_unlock(&mutex);
    }
}

const char *os_mutex(void)
{
    fr_os_thread threads[MUTEX_THREADS];
    counter = 0;
    FR_CHECK(fr_mutex_try_lock(&mutex));
    FR_CHECK(!fr_mutex_try_lock(&mutex));
    fr_mutex_unlock(&mutex);
    for (int k = 0; k < MUTEX_THREADS; k++)
        FR_CHECK(fr_os_linux.thread_start(&threads[k], add_under_mutex, NULL, "mutex"));
    for (int k = 0; k < MUTEX_THREADS; k++)
        fr_os_linux.thread_join(&threads[k]);
    FR_CHECK(counter == MUTEX_THREADS * MUTEX_TURNS);
    FR_CHECK(fr_load_relaxed(&mutex.word) == 0);
    return NULL;
}

static void pin_thread(void *argument)
{
    int *result = argument;
    cpu_set_t allowed;
    *result = fr_os_linux.thread_pin(1000003) && /* counted round */
              sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) == 1;
}

const char *os_pin(void)
{
    fr_os_thread thread;
    int pinned = 0;
    FR_CHECK(fr_os_linux.thread_start(&thread, pin_thread, &pinned, "pin"));
    fr_os_linux.thread_join(&thread);
    FR_CHECK(pinned == 1);
    return NULL;
}

unsigned cpu_quota(const char *group_list, const char *mount_root)
{
    return fr_cpu_count_quota(group_list, mount_root);
}

static void count_with_mask(void *argument)
{
    unsigned *cpus = argument;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        *cpus = 0;
        return;
    }
    unsigned left = *cpus;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        if (left == 0)
            CPU_CLR(cpu, &allowed);
        else
            left--;
    }
    *cpus = sched_setaffinity(0, sizeof(allowed), &allowed) == 0 ? fr_os_linux.cpu_count() : 0;
}

unsigned cpu_count_with_mask(unsigned cpus)
{
    fr_os_thread thread;
    if (!fr_os_linux.thread_start(&thread, count_with_mask, &cpus, "mask"))
        return 0;
    fr_os_linux.thread_join(&thread);
    return cpus;
}
