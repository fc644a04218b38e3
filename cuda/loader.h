/* Finds the CUDA driver, if there is one.
 *
 * Opens "libcuda.so.1" only: "libcuda.so" would find the placeholder that comes with the toolkit.
 * Nothing is linked against it, nothing is printed, and no context is made. That there is no
 * driver, no device, or a driver that cannot be used is no fault: the answer says why.
 *
 * Threads: any; callers that share a table load it once. */
#ifndef FR_CUDA_LOADER_H
#define FR_CUDA_LOADER_H

#include <stdbool.h>

#include "cuda/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FR_CUDA_WHY_BYTES 256

typedef struct fr_cuda_library {
    fr_cuda_driver driver;
    void *handle; /* of dlopen */
    int version;  /* of the driver: 12040 is 12.4 */
    int device_count;
    char why[FR_CUDA_WHY_BYTES]; /* there is no CUDA; "" when there is */
} fr_cuda_library;

/* True when CUDA can be used: the driver initialized itself and has devices. Otherwise `library`
 * holds the reason, and nothing stays open. */
bool fr_cuda_library_open(fr_cuda_library *library);

/* The same with another file; tests give the simulated driver's path. */
bool fr_cuda_library_open_file(fr_cuda_library *library, const char *file);

/* The same with a table that is there: a copy of it is kept. */
bool fr_cuda_library_adopt(fr_cuda_library *library, const fr_cuda_driver *driver);

/* Forgets the table. The driver itself stays in the process: it has threads and handlers of its
 * own, and cannot be unloaded. */
void fr_cuda_library_close(fr_cuda_library *library);

#ifdef __cplusplus
}
#endif

#endif
