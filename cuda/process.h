/* What all stages of the process share of CUDA: the driver's table, and the devices that are open.
 *
 * Owns: which driver is used. Nothing is loaded before somebody asks how many devices there are,
 * and no context is made before somebody opens one. What loading found, or why it found nothing,
 * holds for the process.
 *
 * Threads: any, except fr_cuda_use_driver. */
#ifndef FR_CUDA_PROCESS_H
#define FR_CUDA_PROCESS_H

#include <stdbool.h>

#include "cuda/driver.h"
#include "runtime/device/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Devices behind these are not used. */
#define FR_CUDA_MAX_DEVICES 64

/* From now on this table (which stays the caller's, and is copied) in place of the system's driver;
 * NULL: the system's again. What is known of devices is forgotten. False, and nothing is changed,
 * while a device is open. For tests; no other thread uses devices meanwhile. */
bool fr_cuda_use_driver(const fr_cuda_driver *driver);

/* What devices that nobody has open keep for the next who opens them goes back to the driver, which
 * may wait for all that its devices have to do. For tests, which count what is left. */
void fr_cuda_give_back(void);

/* For the table (cuda/table.c). */
uint32_t fr_cuda_count(fr_device_fault *fault);
/* Of the table: see there. */
bool fr_cuda_place_of_client(uintptr_t stream, int32_t *out, fr_device_fault *fault);
bool fr_cuda_open(uint32_t index, fr_device **out, fr_device_fault *fault);
void fr_cuda_close(fr_device *device);

/* The device of that number if it is, or was, open, else NULL. The caller knows that it is. */
fr_device *fr_cuda_open_device(int32_t place);

#ifdef __cplusplus
}
#endif

#endif
