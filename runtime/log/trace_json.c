/* The trace as Chrome's and Perfetto's JSON: a complete event ("X") for each op, a row for each
 * thread. */
#include "runtime/log/trace.h"

static void fr_json_row(fr_trace_out *out, const char *name, uint32_t row)
{
    fr_trace_print(
        out,
        ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":"
        "\"%s\"}}",
        row, name);
    fr_trace_print(out,
                   ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_sort_index\",\"args\":{"
                   "\"sort_index\":%u}}",
                   row, row);
}

static void fr_json_event(fr_trace_out *out, const fr_trace *trace, const fr_trace_ring *ring,
                          uint32_t row, const fr_trace_event *event)
{
    double start_us = ((double)event->start_ns - (double)trace->start_ns) / 1e3;
    double length_us = (double)(event->end_ns - event->start_ns) / 1e3;
    fr_trace_print(out,
                   ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"",
                   row, start_us, length_us);
    fr_trace_print_name(out, fr_trace_event_name(ring, event));
    fr_trace_print(out, "\",\"cat\":\"%s\",\"args\":{\"ordinal\":%llu,\"op\":\"0x%llx\"}}",
                   (event->op & FR_TRACE_OP_MASK) ? "op" : "span",
                   (unsigned long long)event->ordinal,
                   (unsigned long long)fr_trace_event_op(trace, event));
}

void fr_trace_write_json(const fr_trace *trace, fr_trace_out *out)
{
    const fr_trace_ring *rows[FR_TRACE_RINGS_MAX];
    uint32_t row_count = fr_trace_rows(trace, rows);
    uint64_t lost = fr_trace_lost(trace);
    fr_trace_print(
        out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
             "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"flyrail\"}}");
    /* A label of the process is where the viewers show it. */
    if (lost > 0)
        fr_trace_print(out,
                       ",\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_labels\",\"args\":{"
                       "\"labels\":\"%llu events lost\"}}",
                       (unsigned long long)lost);
    for (uint32_t row = 0; row < row_count && !out->failed; row++) {
        const fr_trace_ring *ring = rows[row];
        char name[32];
        fr_trace_row_name(ring, row, name, sizeof(name));
        fr_json_row(out, name, row);
        uint64_t count = fr_trace_event_count(ring);
        for (uint64_t i = 0; i < count && !out->failed; i++)
            fr_json_event(out, trace, ring, row, fr_trace_event_at(ring, i));
    }
    fr_trace_print(out, "\n],\"otherData\":{\"lost_events\":%llu}}\n", (unsigned long long)lost);
}
