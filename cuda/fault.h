/* Turns the driver's answers into faults of runtime/device/table.h.
 *
 * A sticky code ends a device, whatever the call was: the driver reports what earlier work did
 * wrong from any later call. Where a call is about more than the device whose context is current,
 * that one is asked, too, before it is given up. */
#ifndef FR_CUDA_FAULT_H
#define FR_CUDA_FAULT_H

#include "cuda/abi.h"
#include "cuda/device.h"

/* True after success, else false with *fault filled. `call` is the entry point's name. */
bool fr_cuda_check(fr_device *device, const char *call, fr_cu_result result,
                   fr_device_fault *fault);
/* The same of a call that is about memory or an event of `other`, too: an end is the other's, and
 * FAILED, unless this device, which is entered, says it is its own. */
bool fr_cuda_check_with(fr_device *device, fr_device *other, const char *call, fr_cu_result result,
                        fr_device_fault *fault);
/* The same where a handle of a client takes part: what a wrong one causes is REFUSED, and so is one
 * of another device that has ended. */
bool fr_cuda_check_client(fr_device *device, const char *call, fr_cu_result result,
                          fr_device_fault *fault);

/* True, with *fault filled, after the end of the device. One load. */
bool fr_cuda_is_dead(fr_device *device, fr_device_fault *fault);
/* The same of a device that takes part in a call for another: that one goes on, so it is FAILED. */
bool fr_cuda_other_is_dead(fr_device *other, fr_device_fault *fault);

/* Ends the device without *fault: for calls that answer nothing. */
void fr_cuda_note(fr_device *device, fr_cu_result result);

#endif
