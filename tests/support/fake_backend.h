/* Devices whose events the test fires, behind the table of runtime/device/table.h: for the parts of
 * runtime/device/ alone, where the simulated driver would do too much by itself. Memory is the
 * heap's; a copy is done at once. One set of devices in a process, used by one thread at a time. */
#ifndef FR_TESTS_FAKE_BACKEND_H
#define FR_TESTS_FAKE_BACKEND_H

#include "runtime/device/table.h"

#define FAKE_BACKEND_CALLS 4096u

typedef enum fake_call_kind {
    FAKE_WAIT,
    FAKE_RECORD,
    FAKE_COPY,
    FAKE_ALLOCATE,
    FAKE_RELEASE,
} fake_call_kind;

typedef struct fake_call {
    fake_call_kind kind;
    uintptr_t stream, event; /* event: of a wait or a record; else 0 */
} fake_call;

/* Forgets all that was. */
const fr_device_table *fake_backend_open(uint32_t count);
/* Records of the stream, or of all (0), are done. */
void fake_backend_fire(uintptr_t stream);
/* From now on every call answers so. */
void fake_backend_kill(void);
/* The k-th call from now on that can fail does, 1 the next one; 0: none. */
void fake_backend_fail(uint64_t k);
/* What others do while the next stream is being made. */
void fake_backend_meanwhile(void (*then)(void));
/* The call list. */
uint32_t fake_backend_call_count(void);
fake_call fake_backend_call(uint32_t index);
/* Calls made outside of enter and leave, and enters without a leave. */
uint64_t fake_backend_faults(void);
/* Allocations, events and streams that were not given back. */
uint64_t fake_backend_alive(void);

#endif
