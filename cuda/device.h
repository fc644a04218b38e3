/* One device of the process: its primary context, the pool of its memory, its kernels and the
 * page-locked memory that nobody uses.
 *
 * Owns: being started with the first stage that opens it, and the way in and out of its context on
 * a thread. The last stage that closes it ends the pool; the rest stays with the process, for the
 * driver is not said to give up a module or page-locked memory while strangers' work runs.
 *
 * Invariant: while a stage has it open nothing here changes, except `end`, `pinned` and, under the
 * process's lock, `references`. So calls need no lock, but that of `pinned`.
 *
 * Bound: a context, a pool, a module, 10 functions and a page for each device, and what pinned.h
 * says; streams and events are the driver's handles and take nothing here. */
#ifndef FR_CUDA_DEVICE_H
#define FR_CUDA_DEVICE_H

#include <stdbool.h>

#include "cuda/driver.h"
#include "cuda/kernels/kernels.h"
#include "cuda/pinned.h"
#include "runtime/device/table.h"
#include "scheduler/atomic.h"

struct fr_device {
    const fr_cuda_driver *driver;
    uint32_t index;
    fr_cu_device number; /* what the driver calls it */
    uint32_t references;
    /* The code that ended the device, 0 before. Whoever misses it asks the driver, which answers
     * the same: so all accesses are relaxed. */
    _Atomic fr_cu_result end;
    uint32_t most_blocks; /* of a launch: more than these have no place at the same time */
    uint64_t memory_bytes;
    fr_cu_context context;  /* NULL: not started */
    fr_cu_memory_pool pool; /* NULL: nobody has it open */
    bool is_whole;          /* the following is there */
    fr_cu_module module;
    fr_cu_function rows[FR_KERNEL_WIDTH_COUNT], strided[FR_KERNEL_WIDTH_COUNT]; /* by log2 */
    /* Page-locked, and the driver's number of it, which no other memory gets: a client that resets
     * the device between two stages takes away all that is here, and nothing else tells. */
    void *mark;
    uint64_t mark_number;
    fr_cuda_pinned pinned;
};

/* With the process's lock held, while nobody has it open. After a failure it is as before. */
bool fr_cuda_device_start(fr_device *device, const fr_cuda_driver *driver, uint32_t index,
                          fr_device_fault *fault);
/* Waits for no work: what that could take is kept. */
void fr_cuda_device_rest(fr_device *device);
/* Gives all back to the driver, which may wait for all that its devices have to do. */
void fr_cuda_device_stop(fr_device *device);
/* Gives back to the system what the pool holds and nobody uses. */
void fr_cuda_device_trim(fr_device *device);

/* For the table. */
uint64_t fr_cuda_memory_bytes(const fr_device *device);
bool fr_cuda_enter(fr_device *device, fr_device_entry *entry, fr_device_fault *fault);
void fr_cuda_leave(fr_device_entry *entry);

#endif
