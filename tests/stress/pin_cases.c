#include "tests/stress/pin_cases.h"

#include "runtime/store/pin.h"
#include "scheduler/os.h"

#include <string.h>

#define THREADS 8
#define WORDS 24

typedef struct version {
    fr_pin pin;
    _Atomic uint32_t users;
    uint64_t payload[WORDS]; /* all the same */
    uint64_t lives;
} version;

typedef struct worker {
    fr_os_thread thread;
    version *record;
    uint32_t turns;
    pin_outcome saw;
} worker;

static void let_go(worker *it)
{
    version *record = it->record;
    it->saw.used_when_let_go += fr_load_relaxed(&record->users) != 0;
    memset(record->payload, 0, sizeof(record->payload));
    record->lives++;
    fr_pin_init(&record->pin);
}

static void look(worker *it)
{
    const version *record = it->record;
    uint64_t first = record->payload[0];
    bool whole = true;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t k = 0; k < WORDS; k++)
            whole = whole && record->payload[k] == first;
    }
    it->saw.torn += !whole;
    it->saw.reads++;
}

static void reader(void *argument)
{
    worker *it = argument;
    version *record = it->record;
    for (uint32_t k = 0; k < it->turns; k++) {
        while (!fr_pin_take(&record->pin))
            fr_os_current->yield();
        (void)fr_add_relaxed(&record->users, 1);
        look(it);
        (void)fr_sub_relaxed(&record->users, 1);
        if (fr_pin_drop(&record->pin))
            let_go(it);
    }
}

static void writer(void *argument)
{
    worker *it = argument;
    version *record = it->record;
    for (uint32_t k = 0; k < it->turns; k++) {
        while (!fr_pin_exclusive(&record->pin))
            fr_os_current->yield();
        it->saw.torn += fr_add_relaxed(&record->users, 1) != 0;
        for (uint32_t w = 0; w < WORDS; w++)
            record->payload[w]++;
        it->saw.writes++;
        (void)fr_sub_relaxed(&record->users, 1);
        if (fr_pin_exclusive_end(&record->pin))
            let_go(it);
    }
}

static void killer(void *argument)
{
    worker *it = argument;
    for (uint32_t k = 0; k < it->turns; k++) {
        if (fr_pin_kill(&it->record->pin))
            let_go(it);
        for (uint32_t pause = 0; pause < 50; pause++)
            fr_os_current->pause();
    }
}

void pin_stress(const pin_load *load, pin_outcome *outcome)
{
    static version record;
    static worker workers[THREADS];
    memset(&record, 0, sizeof(record));
    memset(workers, 0, sizeof(workers));
    fr_pin_init(&record.pin);
    uint32_t count = load->readers + load->writers + load->killers;
    for (uint32_t k = 0; k < count; k++) {
        worker *it = &workers[k];
        it->record = &record;
        it->turns = load->turns;
        void (*body)(void *) = k < load->readers                   ? reader
                               : k < load->readers + load->writers ? writer
                                                                   : killer;
        (void)fr_os_current->thread_start(&it->thread, body, it, "pin");
    }
    memset(outcome, 0, sizeof(*outcome));
    for (uint32_t k = 0; k < count; k++) {
        fr_os_current->thread_join(&workers[k].thread);
        outcome->reads += workers[k].saw.reads;
        outcome->writes += workers[k].saw.writes;
        outcome->torn += workers[k].saw.torn;
        outcome->used_when_let_go += workers[k].saw.used_when_let_go;
    }
    outcome->lives = record.lives;
    outcome->word_at_end = fr_load_relaxed(&record.pin);
}
