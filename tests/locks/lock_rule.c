#include "tests/locks/lock_rule.h"

#include "scheduler/memory.h"
#include "scheduler/os.h"

uint64_t lock_rule_breaks(void)
{
    return fr_memory_under_locks();
}

uint64_t lock_rule_clients_called(void)
{
    return fr_clients_called_under_locks();
}

uint64_t lock_rule_call_clients(void)
{
    fr_mutex mutex = {0};
    const uint64_t before = lock_rule_clients_called();
    fr_calls_client();
    fr_mutex_lock(&mutex);
    fr_calls_client();
    fr_mutex_unlock(&mutex);
    fr_mutex_lock_long(&mutex);
    fr_calls_client();
    fr_mutex_unlock_long(&mutex);
    fr_calls_client();
    return lock_rule_clients_called() - before;
}

uint64_t lock_rule_devices_called(void)
{
    return fr_devices_called_under_locks();
}

uint64_t lock_rule_call_devices(void)
{
    fr_mutex mutex = {0};
    const uint64_t before = lock_rule_devices_called();
    fr_calls_device();
    fr_mutex_lock_long(&mutex);
    fr_calls_device();
    fr_mutex_unlock_long(&mutex);
    fr_mutex_lock(&mutex);
    fr_calls_device();
    fr_mutex_unlock(&mutex);
    return lock_rule_devices_called() - before;
}

uint64_t lock_rule_most_looks(void)
{
    return fr_most_looks_under_locks();
}

void lock_rule_look(void)
{
    fr_mutex outer = {0}, inner = {0};
    for (int turn = 0; turn < 2; turn++) {
        fr_look();
        fr_mutex_lock(&outer);
        fr_look();
        fr_mutex_lock(&inner);
        fr_look();
        fr_mutex_unlock(&inner);
        fr_look();
        fr_mutex_unlock(&outer);
    }
}

static void lock_rule_allocate(void)
{
    fr_memory_release(&fr_allocator_default, fr_memory_allocate(&fr_allocator_default, 8, 16), 8);
}

uint64_t lock_rule_break(void)
{
    fr_mutex mutex = {0};
    const uint64_t before = lock_rule_breaks();
    lock_rule_allocate();
    fr_mutex_lock(&mutex);
    lock_rule_allocate();
    fr_mutex_unlock(&mutex);
    if (fr_mutex_try_lock(&mutex)) {
        (void)fr_mutex_try_lock(&mutex); /* taken: not counted */
        lock_rule_allocate();
        fr_mutex_unlock(&mutex);
    }
    lock_rule_allocate();
    return lock_rule_breaks() - before;
}

uint64_t lock_rule_break_long(void)
{
    fr_mutex mutex = {0};
    const uint64_t before = lock_rule_breaks();
    fr_mutex_lock_long(&mutex);
    lock_rule_allocate();
    fr_mutex_unlock_long(&mutex);
    return lock_rule_breaks() - before;
}
