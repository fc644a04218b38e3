/* Events: a descriptor for the client's event loop, raised by ops that depend on what it waits for
 * and by floors that are published.
 *
 * References: the handle, each op, each watch of a floor. The last one closes the descriptor, so
 * that nobody ever raises a number that has become another file's.
 *
 * Threads: every function from any thread. Memory: a block and a descriptor each. */
#ifndef FR_RUNTIME_OPS_EVENT_H
#define FR_RUNTIME_OPS_EVENT_H

/* As a handle's object. */
void fr_event_unref(void *event);

#endif
