#include "runtime/dictionary/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FR_RESULT_TEXT_BYTES 256

static const char out_of_memory[] = "out of memory";
static const char no_dictionary[] =
    "there is no path dictionary: the context is NULL, or this process was forked";

ovx_api_result_t fr_result_success(void)
{
    return (ovx_api_result_t){OVX_API_SUCCESS, {NULL, 0}};
}

static ovx_api_result_t result_static(const char *text)
{
    return (ovx_api_result_t){OVX_API_ERROR, {text, strlen(text)}};
}

ovx_api_result_t fr_result_error(const fr_allocator *allocator, const char *format, ...)
{
    char text[FR_RESULT_TEXT_BYTES];
    if (!allocator)
        return result_static(no_dictionary);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const size_t length = strlen(text);
    char *copy = (char *)fr_memory_allocate(allocator, length + 1, 1);
    if (!copy)
        return result_static(out_of_memory);
    memcpy(copy, text, length + 1);
    return (ovx_api_result_t){OVX_API_ERROR, {copy, length}};
}

ovx_api_result_t fr_result_fault(const fr_allocator *allocator, const char *name, size_t position,
                                 const fr_fault *fault)
{
    char text[FR_RESULT_TEXT_BYTES / 2];
    if (fault->kind == FR_FAULT_MEMORY)
        return result_static(out_of_memory);
    fr_fault_describe(fault, text, sizeof(text));
    return fr_result_error(allocator, "%s[%zu] %s", name, position, text);
}

void fr_result_release(const fr_allocator *allocator, ovx_string_t error)
{
    if (!allocator || !error.ptr || error.ptr == out_of_memory || error.ptr == no_dictionary)
        return;
    /* The text knows its length even where the client's struct does not any more. */
    fr_memory_release(allocator, (void *)(uintptr_t)error.ptr, strlen(error.ptr) + 1);
}
