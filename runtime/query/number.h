/* Numbers in texts, whatever the locale.
 *
 * Threads: pure functions. */
#ifndef FR_RUNTIME_QUERY_NUMBER_H
#define FR_RUNTIME_QUERY_NUMBER_H

#include "runtime/query/value.h"

/* What stands between brackets, or all of it. */
ovx_string_t fr_number_list(ovx_string_t text);
/* The next part of a list, which is taken from its front; false: there is none. Parts are parted by
 * spaces and commas. */
bool fr_number_next(ovx_string_t *rest, ovx_string_t *out);

/* The whole text. False: it is none. Integers from -2^63 to 2^64 - 1. */
bool fr_number_integer(ovx_string_t text, fr_wide_integer *out);
bool fr_number_bool(ovx_string_t text, fr_wide_integer *out); /* true, false */
bool fr_number_real(ovx_string_t text, double *out);          /* inf and nan too */

#endif
