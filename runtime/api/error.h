/* The calling thread's last error text (R23): set by the latest failing synchronous call or
 * rejected enqueue. Client code that the library calls on the thread has one of its own meanwhile
 * (api/callout.h): what fails in there does not show to the caller outside. */
#ifndef FR_RUNTIME_API_ERROR_H
#define FR_RUNTIME_API_ERROR_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#define FR_ERROR_TEXT_BYTES 512 /* with the NUL; cut when longer */

typedef struct fr_error_slot {
    size_t length; /* 0: nothing has failed yet, and there is no text */
    char text[FR_ERROR_TEXT_BYTES];
} fr_error_slot;

/* Sets the text and returns the status, for `return fr_error_set(...)`. */
ovstage_api_status_t fr_error_set(ovstage_api_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same as a refused enqueue: op 0. */
ovstage_enqueue_result_t fr_error_refuse(ovstage_api_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What a status is called in texts; static. */
const char *fr_error_string(ovstage_api_status_t status);
/* Empty: {NULL, 0}. */
ovx_string_t fr_error_get(void);

#endif
