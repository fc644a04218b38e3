/* Reports: what has been waited for is complete, with all that was accepted before it. */
#include "tests/support/fake_work.h"
#include "tests/systematic/graph_cases_bed.h"
#include "tests/systematic/systematic.h"

#define ORDINALS 3u

typedef struct reported {
    uint32_t thread, slot;
    bool has_work, is_seal;
    uint64_t ordinal;
    uint64_t before; /* bits of works that were accepted below or before it, its own included */
} reported;

static fake_work works[THREADS_MAX][OPS_MAX];
static reported all[THREADS_MAX][OPS_MAX];
/* Under admission: bits of works, by ordinal. */
static uint64_t accepted_works[ORDINALS + 1];

_Static_assert(THREADS_MAX *OPS_MAX <= 64, "a bit for each work");

static uint64_t bit_of(const reported *it)
{
    return UINT64_C(1) << (it->thread * OPS_MAX + it->slot);
}

static void note_accepted(fr_submission *submission, uint64_t id, void *user)
{
    (void)submission;
    (void)id;
    reported *it = user;
    if (it->has_work)
        accepted_works[it->ordinal] |= bit_of(it);
    it->before = 0;
    for (uint64_t ordinal = it->is_seal ? 1 : it->ordinal; ordinal <= it->ordinal; ordinal++)
        it->before |= accepted_works[ordinal];
}

static uint64_t submit_reported(reported *it)
{
    fr_submission submission = {.has_ordinal = !it->is_seal,
                                .ordinal = it->is_seal ? 0 : it->ordinal,
                                .attribute_filter = 1,
                                .takes_lanes_below = it->is_seal,
                                .covers_lanes = it->is_seal,
                                .below_ordinal = it->ordinal,
                                .below_filter = UINT64_MAX,
                                .accepted = note_accepted,
                                .user = it};
    if (it->has_work)
        submission.report = fake_work_report(graph, &works[it->thread][it->slot]);
    return submit_as(&op_type, &submission, (case_op){0});
}

static void check_over(uint64_t bits)
{
    for (uint32_t k = 0; k < THREADS_MAX * OPS_MAX; k++)
        if ((bits >> k & 1) != 0)
            fr_systematic_check(
                (fr_load_seq_cst(&works[k / OPS_MAX][k % OPS_MAX].state) & FAKE_WORK_OVER) != 0,
                "reported before work that was accepted before it was over");
}

/* An op and its report count as one: there are never more than were accepted. */
static void check_counts(void)
{
    fr_graph_statistics counts;
    fr_graph_statistics_read(graph, &counts);
    fr_systematic_check(counts.run_by_workers <= counts.ids && counts.run_by_waiters <= counts.ids,
                        "more were run than there are");
}

static void submit_and_end(uint32_t thread)
{
    for (uint32_t k = 0; k < shape.ops; k++) {
        reported *it = &all[thread][k];
        uint64_t kind = fr_systematic_random(4);
        *it = (reported){.thread = thread,
                         .slot = k,
                         .has_work = kind < 2,
                         .is_seal = kind == 3,
                         .ordinal = 1 + fr_systematic_random(ORDINALS)};
        fr_store_seq_cst(&ids[thread][k], submit_reported(it));
    }
    fr_wait_outcome outcome;
    for (uint32_t k = shape.ops; k-- > 0;) {
        uint64_t id = fr_load_seq_cst(&ids[thread][k]);
        uint64_t outer = set_awaited(id);
        if (fr_systematic_random(2) == 0)
            fr_graph_wait(graph, id, fr_systematic_random(2) * 200, &outcome);
        (void)set_awaited(outer);
        if (all[thread][k].has_work)
            fake_work_end(graph, &works[thread][k], NULL);
        check_counts();
    }
    for (uint32_t k = 0; k < shape.ops; k++) {
        wait_for(fr_load_seq_cst(&ids[thread][k]));
        check_over(all[thread][k].before);
    }
}

void body_reports(void *argument)
{
    for (uint32_t k = 0; k <= ORDINALS; k++)
        accepted_works[k] = 0;
    const graph_shape *wanted = argument;
    run_case(wanted, submit_and_end, wanted->threads * wanted->ops);
    for (uint32_t thread = 0; thread < wanted->threads; thread++)
        for (uint32_t k = 0; k < wanted->ops; k++)
            fr_systematic_check(!all[thread][k].has_work ||
                                    (works[thread][k].runs == 1 && works[thread][k].drops == 1),
                                "a report did not run once");
}
