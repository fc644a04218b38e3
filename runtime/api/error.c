#include "runtime/api/error.h"

#include <stdarg.h>
#include <stdio.h>

#define FR_ERROR_TEXT_BYTES 512

/* No heap: the text of a failed allocation must not need one. Cut when longer. */
static _Thread_local struct {
    char text[FR_ERROR_TEXT_BYTES];
    size_t length; /* 0: nothing failed on this thread yet */
} fr_error_last;

static void fr_error_format(const char *format, va_list arguments)
{
    int length = vsnprintf(fr_error_last.text, sizeof(fr_error_last.text), format, arguments);
    if (length < 0)
        length = 0;
    if ((size_t)length >= sizeof(fr_error_last.text))
        length = (int)sizeof(fr_error_last.text) - 1;
    fr_error_last.text[length] = '\0';
    fr_error_last.length = (size_t)length;
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
    if (fr_error_last.length > 0) {
        text.ptr = fr_error_last.text;
        text.length = fr_error_last.length;
    }
    return text;
}
