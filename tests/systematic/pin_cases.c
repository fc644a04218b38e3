#include "tests/systematic/pin_cases.h"

#include "runtime/store/pin.h"
#include "scheduler/os.h"
#include "tests/systematic/systematic.h"

#define THREADS 6

static const pin_shape *shape_now;
static fr_pin pin;
static _Atomic uint64_t payload[2]; /* both the same while nobody is exclusive */
static _Atomic uint32_t holders;    /* who reads, or writes and is exclusive */
static _Atomic uint32_t recycled;

/* What the one does that was told to: the payload is given back, the record is used anew. */
static void let_go(void)
{
    fr_systematic_check(fr_load_relaxed(&holders) == 0, "a payload was let go that is in use");
    fr_store_relaxed(&payload[0], 0);
    fr_store_relaxed(&payload[1], 0);
    (void)fr_add_relaxed(&recycled, 1);
    fr_systematic_check(fr_load_relaxed(&pin) == FR_PIN_DEAD, "a dead record has pins");
    fr_pin_init(&pin);
}

static void reader(void *unused)
{
    (void)unused;
    for (uint32_t k = 0; k < shape_now->turns; k++) {
        if (!fr_pin_take(&pin))
            continue;
        (void)fr_add_relaxed(&holders, 1);
        uint64_t first = fr_load_relaxed(&payload[0]);
        uint64_t second = fr_load_relaxed(&payload[1]);
        fr_systematic_check(first == second, "a pinned payload is half written");
        fr_systematic_check(fr_load_relaxed(&payload[0]) == first, "a pinned payload changed");
        fr_systematic_check(fr_pin_count(&pin) > 0, "a pin was not counted");
        (void)fr_sub_relaxed(&holders, 1);
        if (fr_pin_drop(&pin))
            let_go();
    }
}

static void writer(void *unused)
{
    (void)unused;
    for (uint32_t k = 0; k < shape_now->turns; k++) {
        if (!fr_pin_exclusive(&pin))
            continue;
        fr_systematic_check(fr_add_relaxed(&holders, 1) == 0, "an exclusive one is not alone");
        uint64_t value = fr_load_relaxed(&payload[0]) + 1;
        fr_store_relaxed(&payload[0], value);
        fr_store_relaxed(&payload[1], value);
        (void)fr_sub_relaxed(&holders, 1);
        if (fr_pin_exclusive_end(&pin))
            let_go();
    }
}

static void killer(void *unused)
{
    (void)unused;
    for (uint32_t k = 0; k < shape_now->turns; k++) {
        if (fr_pin_kill(&pin))
            let_go();
    }
}

void body_pin(void *argument)
{
    shape_now = argument;
    fr_os_thread threads[THREADS];
    uint32_t count = 0;
    fr_store_seq_cst(&payload[0], 0);
    fr_store_seq_cst(&payload[1], 0);
    fr_store_seq_cst(&holders, 0);
    fr_store_seq_cst(&recycled, 0);
    fr_pin_init(&pin);
    for (uint32_t k = 0; k < shape_now->readers; k++)
        (void)fr_os_current->thread_start(&threads[count++], reader, NULL, "reader");
    for (uint32_t k = 0; k < shape_now->writers; k++)
        (void)fr_os_current->thread_start(&threads[count++], writer, NULL, "writer");
    for (uint32_t k = 0; k < shape_now->killers; k++)
        (void)fr_os_current->thread_start(&threads[count++], killer, NULL, "killer");
    for (uint32_t k = 0; k < count; k++)
        fr_os_current->thread_join(&threads[k]);
    fr_systematic_check(fr_load_relaxed(&pin) == 0, "a dead version was never let go");
    if (shape_now->killers > 0)
        fr_systematic_check(fr_load_relaxed(&recycled) > 0, "no version was let go");
    fr_systematic_check(fr_load_relaxed(&payload[0]) == fr_load_relaxed(&payload[1]),
                        "the payload is half written at the end");
}
