#include "runtime/api/error.h"

#include "runtime/api/callout.h"

#include <stdarg.h>
#include <stdio.h>

/* No heap: the text of a failed allocation must not need one. */
static _Thread_local fr_error_slot fr_error_own;

static fr_error_slot *fr_error_here(void)
{
    fr_callout *callout = fr_callout_innermost();
    return callout ? &callout->error : &fr_error_own;
}

static void fr_error_format(const char *format, va_list arguments)
{
    fr_error_slot *last = fr_error_here();
    int length = vsnprintf(last->text, sizeof(last->text), format, arguments);
    if (length < 0)
        length = 0;
    if ((size_t)length >= sizeof(last->text))
        length = (int)sizeof(last->text) - 1;
    last->text[length] = '\0';
    last->length = (size_t)length;
}

ovstage_api_status_t fr_error_set(ovstage_api_status_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fr_error_format(format, arguments);
    va_end(arguments);
    return status;
}

ovstage_enqueue_result_t fr_error_refuse(ovstage_api_status_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fr_error_format(format, arguments);
    va_end(arguments);
    ovstage_enqueue_result_t result = {status, OVSTAGE_INVALID_OP_ID};
    return result;
}

ovx_string_t fr_error_get(void)
{
    ovx_string_t text = {NULL, 0};
    const fr_error_slot *last = fr_error_here();
    if (last->length > 0) {
        text.ptr = last->text;
        text.length = last->length;
    }
    return text;
}

const char *fr_error_string(ovstage_api_status_t status)
{
    switch (status) {
    case OVSTAGE_OK:
        return "success";
    case OVSTAGE_ERROR_INVALID_ARGUMENT:
        return "invalid argument";
    case OVSTAGE_ERROR_INVALID_HANDLE:
        return "invalid handle";
    case OVSTAGE_ERROR_NOT_FOUND:
        return "not found";
    case OVSTAGE_ERROR_PRIM_NOT_FOUND:
        return "a prim is missing, or is there and should not be";
    case OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION:
        return "write floor violation";
    case OVSTAGE_ERROR_NOT_SUPPORTED:
        return "not supported";
    case OVSTAGE_ERROR_QUEUE_FULL:
        return "queue full";
    case OVSTAGE_ERROR_END_OF_ITERATION:
        return "end of iteration";
    case OVSTAGE_ERROR_OUT_OF_MEMORY:
        return "out of memory";
    case OVSTAGE_ERROR_LAYOUT_CHANGED:
        return "layout changed";
    case OVSTAGE_ERROR_TIMEOUT:
        return "timeout";
    case OVSTAGE_ERROR_OP_FAILED:
        return "operation failed";
    case OVSTAGE_ERROR_OUT_OF_RANGE:
        return "out of range";
    case OVSTAGE_ERROR_INTERNAL:
        return "internal error";
    default:
        return "unknown status";
    }
}
