/* Why a text, a path or a list was refused, with the value and the limit. */
#ifndef FR_RUNTIME_DICTIONARY_FAULT_H
#define FR_RUNTIME_DICTIONARY_FAULT_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

typedef enum fr_fault_kind {
    FR_FAULT_NONE,
    FR_FAULT_MEMORY,
    FR_FAULT_NUMBERS, /* limit: how many there are */
    FR_FAULT_NULL,    /* value: the length that a NULL pointer claims */
    FR_FAULT_EMPTY,
    FR_FAULT_NUL,     /* value: position; limit: length */
    FR_FAULT_LONG,    /* value: length; limit: bytes allowed */
    FR_FAULT_DOTS,    /* value: position of the element */
    FR_FAULT_SLASH,   /* value: position in the token's text */
    FR_FAULT_DEEP,    /* limit: elements allowed */
    FR_FAULT_UNKNOWN, /* value: a token or path that is not known */
} fr_fault_kind;

typedef struct fr_fault {
    fr_fault_kind kind;
    uint64_t value, limit;
} fr_fault;

/* Sets *fault and answers false, for `return fr_fault_set(...)`. */
static inline bool fr_fault_set(fr_fault *fault, fr_fault_kind kind, uint64_t value, uint64_t limit)
{
    fault->kind = kind;
    fault->value = value;
    fault->limit = limit;
    return false;
}

/* The end of a sentence that begins with what was refused, as "has a NUL at byte 3 of 7". Cut to
 * fit. */
void fr_fault_describe(const fr_fault *fault, char *text, size_t size_bytes);

/* OUT_OF_MEMORY for want of memory or numbers, else INVALID_ARGUMENT. */
ovstage_api_status_t fr_fault_status(const fr_fault *fault);

#endif
