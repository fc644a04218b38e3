/* A client's availability event, where no run of the op has recorded it.
 *
 * Threads: all, without locks, no device entered. */
#ifndef FR_RUNTIME_DEVICE_AVAILABLE_H
#define FR_RUNTIME_DEVICE_AVAILABLE_H

#include "runtime/device/devices.h"

/* Behind nothing: of an op that has failed before it came to its stream. Who waits for the event
 * must not wait for a record that never comes, nor go by an older one. False: the fault says why.
 */
bool fr_available_record_alone(fr_opened *opened, uintptr_t event, fr_device_fault *fault);

#endif
