#include "runtime/query/number.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* More than the longest number that means anything. */
#define FR_NUMBER_MAX_BYTES 400u

static bool fr_number_is_between(char byte)
{
    return byte == ' ' || byte == ',' || byte == '\t' || byte == '\n';
}

static void fr_number_trim(ovx_string_t *text)
{
    while (text->length > 0 && fr_number_is_between(text->ptr[0])) {
        text->ptr++;
        text->length--;
    }
    while (text->length > 0 && fr_number_is_between(text->ptr[text->length - 1]))
        text->length--;
}

ovx_string_t fr_number_list(ovx_string_t text)
{
    fr_number_trim(&text);
    if (text.length < 2)
        return text;
    char first = text.ptr[0], last = text.ptr[text.length - 1];
    if ((first == '(' && last == ')') || (first == '[' && last == ']')) {
        text.ptr++;
        text.length -= 2;
        fr_number_trim(&text);
    }
    return text;
}

bool fr_number_next(ovx_string_t *rest, ovx_string_t *out)
{
    fr_number_trim(rest);
    out->ptr = rest->ptr;
    out->length = 0;
    while (out->length < rest->length && !fr_number_is_between(rest->ptr[out->length]))
        out->length++;
    rest->ptr += out->length;
    rest->length -= out->length;
    return out->length > 0;
}

static int fr_number_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return 16;
}

bool fr_number_integer(ovx_string_t text, fr_wide_integer *out)
{
    size_t at = 0;
    bool negative = text.length > 0 && text.ptr[0] == '-';
    if (negative || (text.length > 0 && text.ptr[0] == '+'))
        at++;
    int base = 10;
    if (text.length > at + 2 && text.ptr[at] == '0' && (text.ptr[at + 1] | 0x20) == 'x') {
        base = 16;
        at += 2;
    }
    if (at == text.length)
        return false;
    fr_wide_integer value = 0;
    for (; at < text.length; at++) {
        int digit = fr_number_digit(text.ptr[at]);
        value = value * base + digit;
        if (digit >= base || value > (fr_wide_integer)UINT64_MAX)
            return false;
    }
    *out = negative ? -value : value;
    return *out >= (fr_wide_integer)INT64_MIN;
}

static bool fr_number_is(ovx_string_t text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.ptr, word, text.length) == 0;
}

bool fr_number_bool(ovx_string_t text, fr_wide_integer *out)
{
    *out = fr_number_is(text, "true");
    return *out != 0 || fr_number_is(text, "false");
}

bool fr_number_real(ovx_string_t text, double *out)
{
    char copy[FR_NUMBER_MAX_BYTES];
    if (text.length == 0 || text.length >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.length);
    copy[text.length] = '\0';
    /* The host's locale may write numbers with a comma. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return false;
    char *end;
    *out = strtod_l(copy, &end, plain);
    freelocale(plain);
    return end == copy + text.length;
}
