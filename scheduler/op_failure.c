#include "scheduler/op_failure.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/graph_internal.h"

static uint64_t fr_failure_make(const fr_allocator *allocator, ovstage_api_status_t status,
                                const char *text)
{
    size_t text_bytes = strlen(text);
    fr_failure *failure =
        fr_memory_allocate(allocator, sizeof(fr_failure) + text_bytes + 1, FR_CACHE_LINE_BYTES);
    if (!failure)
        return (uint64_t)status << FR_ENTRY_VALUE_SHIFT | FR_ENTRY_STATUS;
    failure->status = status;
    failure->text_bytes = text_bytes;
    memcpy(failure->text, text, text_bytes + 1);
    return (uint64_t)(uintptr_t)failure | FR_ENTRY_TEXT;
}

static const fr_failure *fr_failure_of(uint64_t word)
{
    return (const fr_failure *)(uintptr_t)(word & FR_ENTRY_VALUE_MASK);
}

void fr_failure_release(const fr_allocator *allocator, uint64_t word)
{
    if ((word & FR_ENTRY_STATE_MASK) != FR_ENTRY_TEXT)
        return;
    fr_failure *failure = (fr_failure *)(uintptr_t)(word & FR_ENTRY_VALUE_MASK);
    fr_memory_release(allocator, failure, sizeof(fr_failure) + failure->text_bytes + 1);
}

void fr_failure_read(uint64_t word, uint64_t prefix, fr_op_failure *out, char *buffer,
                     size_t buffer_bytes)
{
    uint64_t value = word >> FR_ENTRY_VALUE_SHIFT;
    int length = 0;
    out->cause_id = 0;
    switch (word & FR_ENTRY_STATE_MASK) {
    case FR_ENTRY_TEXT:
        out->status = fr_failure_of(word)->status;
        length = snprintf(buffer, buffer_bytes, "%s", fr_failure_of(word)->text);
        break;
    case FR_ENTRY_CAUSE:
        out->status = OVSTAGE_ERROR_OP_FAILED;
        out->cause_id = prefix | value;
        length = snprintf(buffer, buffer_bytes,
                          "did not run: operation 0x%" PRIx64 ", whose result it needs, failed",
                          out->cause_id);
        break;
    default:
        out->status = (ovstage_api_status_t)value;
        length =
            snprintf(buffer, buffer_bytes,
                     "failed with status %u; there was no memory for the text", (unsigned)value);
        break;
    }
    size_t written = length < 0 ? 0 : (size_t)length;
    if (buffer_bytes > 0 && written >= buffer_bytes)
        written = buffer_bytes - 1;
    out->text = (ovx_string_t){buffer, buffer_bytes > 0 ? written : 0};
}

bool fr_op_set_failure(fr_op *op, uint64_t word)
{
    /* Relaxed: who completes the op comes after all threads that may make it fail. */
    if ((fr_or_relaxed(&op->word, FR_OP_HAS_FAILED) & FR_OP_HAS_FAILED) != 0)
        return false;
    fr_store_relaxed(&op->failure, word);
    return true;
}

void fr_op_pass_failure(const fr_op *op, const fr_edge *edge)
{
    fr_op *consumer = fr_edge_consumer(edge);
    uint64_t failure = fr_load_relaxed(&op->failure);
    if ((edge->consumer & FR_EDGE_REPORTS) == 0)
        (void)fr_op_set_failure(consumer, fr_failure_of_producer(fr_op_known_id(op)));
    else if (!fr_op_set_failure(consumer, failure))
        fr_failure_release(fr_op_allocator(op), failure);
}

/* False: it has failed already. */
static bool fr_op_enter_failure(fr_op *op, ovstage_api_status_t status, const char *text)
{
    const fr_allocator *allocator = fr_op_allocator(op);
    uint64_t word = fr_failure_make(allocator, status, text);
    bool is_first = fr_op_set_failure(op, word);
    if (!is_first)
        fr_failure_release(allocator, word);
    return is_first;
}

void fr_op_fail(fr_op *op, ovstage_api_status_t status, const char *format, ...)
{
    if (fr_op_failed(op))
        return;
    char text[FR_FAILURE_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (fr_op_enter_failure(op, status, text))
        fr_op_tell_failure(op, &(fr_op_failure){status, {text, strlen(text)}, 0});
}

void fr_op_fail_also(fr_op *op, ovstage_api_status_t status, const char *format, ...)
{
    const fr_allocator *allocator = fr_op_allocator(op);
    uint64_t before = fr_op_failed(op) ? fr_load_relaxed(&op->failure) : 0;
    char text[FR_FAILURE_TEXT_MAX];
    size_t used = 0;
    if ((before & FR_ENTRY_STATE_MASK) == FR_ENTRY_TEXT) {
        int length = snprintf(text, sizeof(text), "%s; also: ", fr_failure_of(before)->text);
        used = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
        status = fr_failure_of(before)->status;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, sizeof(text) - used, format, arguments);
    va_end(arguments);
    if (used > 0) {
        uint64_t word = fr_failure_make(allocator, status, text);
        bool both = (word & FR_ENTRY_STATE_MASK) == FR_ENTRY_TEXT; /* else the first one stays */
        if (both)
            fr_store_relaxed(&op->failure, word);
        fr_failure_release(allocator, both ? before : word);
    } else if (before == 0 && fr_op_enter_failure(op, status, text)) {
        fr_op_tell_failure(op, &(fr_op_failure){status, {text, strlen(text)}, 0});
    }
}

void fr_op_drop_failed(fr_op *op, const char *text)
{
    (void)fr_op_enter_failure(op, OVSTAGE_ERROR_OP_FAILED, text);
}

void fr_op_tell_failure(const fr_op *op, const fr_op_failure *failure)
{
    const fr_graph *graph = fr_op_graph(op);
    if (graph->failed)
        graph->failed(graph->failed_user, op, op->type->name, failure);
}

void fr_op_tell_cause(const fr_op *op)
{
    char text[FR_FAILURE_CAUSE_TEXT_MAX];
    fr_op_failure failure;
    fr_failure_read(fr_load_relaxed(&op->failure), op->id & ~FR_ID_SEQUENCE_MASK, &failure, text,
                    sizeof(text));
    fr_op_tell_failure(op, &failure);
}

bool fr_op_failed(const fr_op *op)
{
    return fr_op_has_failed(op);
}
