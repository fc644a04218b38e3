#include "tests/systematic/systematic_cases.h"

#include "scheduler/os.h"
#include "tests/systematic/systematic.h"

/* Not on a stack, whose stores are not delayed. */
static _Atomic uint32_t x, y;

static void run_two(void (*first)(void *), void (*second)(void *), void *argument)
{
    fr_os_thread threads[2];
    (void)fr_os_current->thread_start(&threads[0], first, argument, "first");
    (void)fr_os_current->thread_start(&threads[1], second, argument, "second");
    fr_os_current->thread_join(&threads[0]);
    fr_os_current->thread_join(&threads[1]);
}

static void reset(void)
{
    fr_store_seq_cst(&x, 0);
    fr_store_seq_cst(&y, 0);
}

static void store_x_load_y(void *argument)
{
    litmus *l = argument;
    fr_store_relaxed(&x, 1);
    if (l->ordered)
        fr_fence_seq_cst(); /* [litmus.first] pairs [litmus.second] : one of the two sees the other
                             */
    l->first = fr_load_relaxed(&y);
}

static void store_y_load_x(void *argument)
{
    litmus *l = argument;
    fr_store_relaxed(&y, 1);
    if (l->ordered)
        fr_fence_seq_cst(); /* [litmus.second] pairs [litmus.first] : one of the two sees the other
                             */
    l->second = fr_load_relaxed(&x);
}

void litmus_store_buffer(void *argument)
{
    reset();
    run_two(store_x_load_y, store_y_load_x, argument);
}

static void send(void *argument)
{
    const litmus *l = argument;
    fr_store_relaxed(&x, 1);
    if (l->ordered)
        fr_store_release(&y, 1); /* [litmus.send] pairs [litmus.receive] : x before y */
    else
        fr_store_relaxed(&y, 1);
}

static void receive(void *argument)
{
    litmus *l = argument;
    l->first = fr_load_acquire(&y); /* [litmus.receive] pairs [litmus.send] : x before y */
    l->second = fr_load_relaxed(&x);
}

void litmus_message_passing(void *argument)
{
    reset();
    run_two(send, receive, argument);
}

static void add_one(void *argument)
{
    uint32_t seen = fr_load_relaxed(&x);
    fr_store_seq_cst(&x, seen + 1);
    (void)argument;
}

void body_counts(void *counter)
{
    reset();
    run_two(add_one, add_one, NULL);
    *(uint32_t *)counter = fr_load_relaxed(&x);
}

void body_deadlocks(void *unused)
{
    (void)unused;
    reset();
    (void)fr_os_current->futex_wait(&x, 0, FR_TIMEOUT_INFINITE);
    (void)fr_os_current->futex_wait(&x, 0, FR_TIMEOUT_INFINITE); /* the first may return early */
    while (true)
        (void)fr_os_current->futex_wait(&x, 0, FR_TIMEOUT_INFINITE);
}

void body_never_ends(void *unused)
{
    (void)unused;
    reset();
    while (fr_load_relaxed(&x) == 0)
        fr_os_current->pause();
}

void body_times_out(void *elapsed_ns)
{
    reset();
    uint64_t start_ns = fr_os_current->now_ns();
    while (fr_os_current->futex_wait(&x, 0, 5000000)) {
    }
    *(uint64_t *)elapsed_ns = fr_os_current->now_ns() - start_ns;
}

static void do_nothing(void *argument)
{
    (void)argument;
}

void body_starts(void *started)
{
    fr_os_thread threads[3];
    uint32_t count = 0;
    while (count < 3 && fr_os_current->thread_start(&threads[count], do_nothing, NULL, "t"))
        count++;
    for (uint32_t k = 0; k < count; k++)
        fr_os_current->thread_join(&threads[k]);
    *(uint32_t *)started = count;
}

void body_checks(void *unused)
{
    (void)unused;
    fr_systematic_check(false, "one is not two");
}

static fr_mutex mutex;

static void add_under_mutex(void *argument)
{
    uint32_t *counter = argument;
    for (int k = 0; k < 2; k++) {
        fr_mutex_lock(&mutex);
        uint32_t seen = *counter;
        (void)fr_load_relaxed(&x); /* a point inside the section */
        *counter = seen + 1;
        fr_mutex_unlock(&mutex);
    }
}

void body_mutex(void *counter)
{
    *(uint32_t *)counter = 0;
    fr_store_seq_cst(&mutex.word, 0);
    fr_os_thread third;
    (void)fr_os_current->thread_start(&third, add_under_mutex, counter, "third");
    run_two(add_under_mutex, add_under_mutex, counter);
    fr_os_current->thread_join(&third);
    fr_systematic_check(*(uint32_t *)counter == 6, "an addition under the mutex was lost");
}
