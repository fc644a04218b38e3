#include "tests/systematic/op_table_cases.h"

#include <string.h>

#include "scheduler/op_table.h"
#include "tests/systematic/systematic.h"

static op_table_shape shape;
static fr_op_table table;
static fr_op op;                                     /* what pending entries point to */
static _Atomic uint64_t issued, completed, released; /* sequences up to these */
static _Atomic uint32_t next_reader;

static bool is_held(uint64_t sequence)
{
    return sequence % shape.hold_one_in == 0;
}

static void check_one(uint64_t sequence)
{
    uint64_t completed_before = fr_load_seq_cst(&completed);
    uint64_t released_before = fr_load_seq_cst(&released);
    uint64_t word = fr_op_table_read(&table, fr_op_table_id(&table, sequence));
    uint64_t issued_after = fr_load_seq_cst(&issued);
    uint64_t state = word & FR_ENTRY_STATE_MASK;
    fr_systematic_check(state <= FR_ENTRY_DONE, "an entry is not what anybody wrote");
    fr_systematic_check(state == FR_ENTRY_NONE || sequence <= issued_after,
                        "an id is known that was not given out");
    if (sequence <= completed_before)
        fr_systematic_check(state != FR_ENTRY_PENDING, "a completed id is pending");
    if (is_held(sequence))
        fr_systematic_check(state == FR_ENTRY_DONE || sequence > completed_before ||
                                shape.releases_held > 0,
                            "a held id is not done");
    else
        fr_systematic_check(state == FR_ENTRY_NONE || sequence > released_before,
                            "a released id is known");
}

static void release_held(uint64_t from, uint64_t to)
{
    for (uint64_t sequence = from; sequence <= to; sequence++) {
        uint64_t id = fr_op_table_id(&table, sequence);
        if (!is_held(sequence))
            continue;
        fr_systematic_check(fr_op_table_release(&table, id) == FR_RELEASE_DONE,
                            "a held id cannot be released");
        fr_systematic_check(fr_op_table_release(&table, id) == FR_RELEASE_UNKNOWN,
                            "an id was released twice");
    }
}

static void read_ids(void *unused)
{
    (void)unused;
    bool releases = fr_add_seq_cst(&next_reader, 1) == 0 && shape.releases_held > 0;
    uint64_t released_to = 0;
    for (uint32_t k = 0; k < shape.reads; k++) {
        uint64_t to = fr_load_seq_cst(&completed);
        check_one(1 + fr_systematic_random(shape.ids + 1));
        if (to >= shape.hold_one_in)
            check_one(to - to % shape.hold_one_in); /* the newest one that is held */
        if (releases) {
            release_held(released_to + 1, to);
            released_to = to;
        }
    }
    if (!releases)
        return;
    while (fr_load_seq_cst(&completed) < shape.ids)
        fr_os_current->pause();
    release_held(released_to + 1, shape.ids);
}

static void give_out(uint64_t sequence)
{
    while (!fr_op_table_is_prepared(&table, sequence))
        (void)fr_op_table_prepare(&table, sequence);
    uint64_t id = fr_op_table_id(&table, sequence);
    _Atomic uint64_t *entry = fr_op_table_issue(&table, sequence);
    fr_systematic_check(entry != NULL, "no block for an id");
    fr_systematic_check(fr_load_relaxed(entry) == 0, "the entry of a new id is in use");
    fr_store_seq_cst(&issued, sequence);
    fr_store_release(entry, (uint64_t)(uintptr_t)&op | FR_ENTRY_PENDING);
    bool early = fr_systematic_random(4) == 0 && !is_held(sequence);
    if (early)
        fr_systematic_check(fr_op_table_flag(&table, id, FR_ENTRY_RELEASED),
                            "a pending id cannot be flagged");
    (void)fr_op_table_complete(&table, entry, id, fr_op_table_done(id));
    fr_store_seq_cst(&completed, sequence);
    if (!is_held(sequence)) {
        fr_release_result result = fr_op_table_release(&table, id);
        fr_systematic_check(result == (early ? FR_RELEASE_UNKNOWN : FR_RELEASE_DONE),
                            "a release has a wrong result");
    }
    fr_store_seq_cst(&released, sequence);
}

void body_op_table(void *argument)
{
    static fr_os_thread threads[3];
    shape = *(const op_table_shape *)argument;
    memset(&table, 0, sizeof(table));
    fr_store_seq_cst(&issued, 0);
    fr_store_seq_cst(&completed, 0);
    fr_store_seq_cst(&released, 0);
    fr_store_seq_cst(&next_reader, 0);
    fr_systematic_check(fr_op_table_init(&table, &fr_allocator_default, 5), "no memory");
    for (uint32_t k = 0; k < shape.readers; k++)
        (void)fr_os_current->thread_start(&threads[k], read_ids, NULL, "reader");
    for (uint64_t sequence = 1; sequence <= shape.ids; sequence++)
        give_out(sequence);
    for (uint32_t k = 0; k < shape.readers; k++)
        fr_os_current->thread_join(&threads[k]);
    for (uint64_t sequence = 1; sequence <= shape.ids; sequence++)
        check_one(sequence);
    fr_op_table_destroy(&table);
}
