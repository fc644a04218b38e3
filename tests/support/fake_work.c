#include "tests/support/fake_work.h"

static fake_work *work_of(fr_op *report)
{
    return *(fake_work **)fr_op_payload(report);
}

fr_run_result fake_work_park(fake_work *work, fr_op *op)
{
    work->parked = op;
    /* [fake_work.park] pairs [fake_work.end] : who ends it finds the op */
    uint32_t before = fr_or_acq_rel(&work->state, FAKE_WORK_PARKED);
    return (before & FAKE_WORK_OVER) != 0 ? FR_RUN_DONE : FR_RUN_SPLIT;
}

static fr_run_result run_report(fr_op *report, const fr_run_context *context)
{
    (void)context;
    fake_work *work = work_of(report);
    work->runs++;
    work->saw_failure = fr_op_failed(report);
    return fake_work_park(work, report);
}

static void drop_report(fr_op *report)
{
    work_of(report)->drops++;
}

static const fr_op_type report_type = {.name = "work", .run = run_report, .drop = drop_report};

fr_op *fake_work_report(fr_graph *graph, fake_work *work)
{
    fr_op *report = fr_graph_op_get(graph, &report_type);
    if (!report)
        return NULL;
    *(fake_work **)fr_op_payload(report) = work;
    fr_store_relaxed(&work->state, 0);
    work->runs = work->drops = 0;
    work->saw_failure = false;
    return report;
}

void fake_work_end(fr_graph *graph, fake_work *work, fr_worker *worker)
{
    /* [fake_work.end] pairs [fake_work.park] : see there */
    uint32_t before = fr_or_acq_rel(&work->state, FAKE_WORK_OVER);
    if ((before & FAKE_WORK_PARKED) != 0)
        fr_graph_op_finish(graph, work->parked, worker);
}
