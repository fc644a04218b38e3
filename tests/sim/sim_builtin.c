/* Kernels that tests use on any driver. Arguments are those of the device code. */
#include "tests/sim/sim_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "scheduler/atomic.h"

static uint64_t address_in(void **arguments, int i)
{
    uint64_t value = 0;
    memcpy(&value, arguments[i], sizeof value);
    return value;
}

static uint32_t number_in(void **arguments, int i)
{
    uint32_t value = 0;
    memcpy(&value, arguments[i], sizeof value);
    return value;
}

/* (words, count, value): the kernel of the contract tests' image. */
static void add(fr_sim_launch *launch, void **a)
{
    uint32_t count = number_in(a, 1);
    const void *in = fr_sim_read(launch, address_in(a, 0), 4ull * count);
    unsigned char *out = fr_sim_write(launch, address_in(a, 0), 4ull * count);
    for (uint32_t i = 0; in && out && i < count; i++) {
        uint32_t word = 0;
        memcpy(&word, out + 4ull * i, 4);
        word += number_in(a, 2);
        memcpy(out + 4ull * i, &word, 4);
    }
}

void fr_sim_builtin_register(void)
{
    static const uint32_t add_bytes[] = {8, 4, 4};
    static const uint32_t spin_bytes[] = {8, 8};
    fr_sim_kernel_add("fr_contract_add", add, 3, add_bytes);
    fr_sim_kernel_add("fr_spin", fr_sim_builtin_spin, 2, spin_bytes);
}

/* --- The spin kernel runs when it may end; until then its stream is blocked. --- */

void fr_sim_builtin_spin(fr_sim_launch *launch, void **arguments)
{
    (void)launch;
    (void)arguments;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool fr_sim_kernel_spins(const fr_sim_operation *operation)
{
    return operation->function->kernel == fr_sim_builtin_spin;
}

bool fr_sim_kernel_ready(fr_sim_operation *operation)
{
    if (!fr_sim_kernel_spins(operation))
        return true;
    uint64_t flag = address_in(operation->arguments, 0),
             limit_ns = address_in(operation->arguments, 1);
    const fr_sim_memory *memory = flag ? fr_sim_memory_find(flag) : NULL;
    if (operation->spins_since_ns == 0)
        operation->spins_since_ns = now_ns();
    if (memory && flag % 4 == 0) {
        /* The program writes it without a lock. */
        _Atomic uint32_t *word = fr_sim_memory_view(memory, flag);
        if (fr_load_acquire(word) != 0)
            return true;
    }
    return now_ns() - operation->spins_since_ns >= limit_ns;
}
