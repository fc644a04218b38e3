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
