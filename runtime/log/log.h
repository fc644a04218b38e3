/* Logging: messages of the library, handed to the process's one callback by one thread (R168 to
 * R173). Nothing is ever printed.
 *
 * Without a callback a message costs one relaxed load. With one it is formatted by whoever has
 * something to say, appended under a short lock, and delivered later by the dispatcher thread, so a
 * slow callback holds nobody up. The thread lives while a callback is set.
 *
 * Threads: all functions from any. Progress: write never waits for a callback. Memory bound:
 * FR_LOG_WAITING messages of FR_LOG_TEXT_BYTES; what comes beyond that, or finds no memory, is
 * dropped, and the next one that is delivered says how many were. */
#ifndef FR_RUNTIME_LOG_LOG_H
#define FR_RUNTIME_LOG_LOG_H

#include <ovstage/ovstage_types.h>

#include "scheduler/atomic.h"

#define FR_LOG_CHANNEL "omni.ovstage"
#define FR_LOG_WAITING 1024u
#define FR_LOG_TEXT_BYTES 512u

/* The lowest severity that anybody may want; a hint. */
extern _Atomic int fr_log_lowest;

/* Whether it is worth while to collect what a message would say. */
static inline bool fr_log_may_want(ovstage_log_severity_t severity)
{
    return (int)severity >= fr_load_relaxed(&fr_log_lowest);
}

void fr_log_write(ovstage_log_severity_t severity, const char *channel, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The last reference to this state of the process is gone (0: whatever the state): delivers what is
 * waiting and ends the thread. From inside the callback it only turns logging off. A callback that
 * was set under another state, since, stays. */
void fr_log_end(uint64_t process_state);

#endif
