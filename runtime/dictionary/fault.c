#include "runtime/dictionary/fault.h"

#include <inttypes.h>
#include <stdio.h>

void fr_fault_describe(const fr_fault *fault, char *text, size_t size_bytes)
{
    const uint64_t value = fault->value, limit = fault->limit;
    switch (fault->kind) {
    case FR_FAULT_NONE:
        (void)snprintf(text, size_bytes, "is fine");
        break;
    case FR_FAULT_MEMORY:
        (void)snprintf(text, size_bytes, "cannot be kept: out of memory");
        break;
    case FR_FAULT_NUMBERS:
        (void)snprintf(text, size_bytes, "cannot be kept: all %" PRIu64 " numbers are in use",
                       limit);
        break;
    case FR_FAULT_NULL:
        (void)snprintf(text, size_bytes, "is NULL with a length of %" PRIu64, value);
        break;
    case FR_FAULT_EMPTY:
        (void)snprintf(text, size_bytes, "is empty");
        break;
    case FR_FAULT_NUL:
        (void)snprintf(text, size_bytes, "has a NUL at byte %" PRIu64 " of %" PRIu64, value, limit);
        break;
    case FR_FAULT_LONG:
        (void)snprintf(text, size_bytes, "has %" PRIu64 " bytes, more than the %" PRIu64 " allowed",
                       value, limit);
        break;
    case FR_FAULT_DOTS:
        (void)snprintf(text, size_bytes, "has the element . or .. at byte %" PRIu64, value);
        break;
    case FR_FAULT_SLASH:
        (void)snprintf(text, size_bytes,
                       "has a slash at byte %" PRIu64 " and so is no path element", value);
        break;
    case FR_FAULT_DEEP:
        (void)snprintf(text, size_bytes, "has more than the %" PRIu64 " elements allowed", limit);
        break;
    case FR_FAULT_UNKNOWN:
        (void)snprintf(text, size_bytes, "= %" PRIu64 " is not known", value);
        break;
    }
}

ovstage_api_status_t fr_fault_status(const fr_fault *fault)
{
    switch (fault->kind) {
    case FR_FAULT_NONE:
        return OVSTAGE_OK;
    case FR_FAULT_MEMORY:
    case FR_FAULT_NUMBERS:
        return OVSTAGE_ERROR_OUT_OF_MEMORY;
    default:
        return OVSTAGE_ERROR_INVALID_ARGUMENT;
    }
}
