/* Elements of arrays that lie on devices: into the payload of a write, and together for a read.
 *
 * Rows of an array are slices on the host wherever their elements lie, so a device has to do with
 * payloads alone.
 *
 * Threads: who runs the op or judges the read. */
#ifndef FR_RUNTIME_STORE_ARRAY_PLACE_H
#define FR_RUNTIME_STORE_ARRAY_PLACE_H

#include "runtime/device/pieces.h"
#include "runtime/store/array_write.h"

/* The elements of a write to a device that are copied, into its payload: those of the host have
 * been read then. lane: of what is put into streams of another device. False: the fault says why.
 */
bool fr_array_write_place(const fr_array_write *array, fr_write_source *from, uint64_t lane,
                          fr_device_run *run, fr_device_fault *fault);

/* All elements of tensors on the run's device, one behind the other, to `to`, in memory that was
 * named to it. False: the fault says why. */
bool fr_array_source_gather(const fr_array_source *source, uint64_t to, fr_device_run *run,
                            fr_device_fault *fault);

/* Elements of rows of which each lies on a device, the run's: makes it wait for them as they lie;
 * or puts them together at `to`, in memory that was named to it. False: the fault says why. */
bool fr_array_wait_to_read(const fr_slice *slices, uint32_t count, fr_device_run *run,
                           fr_device_fault *fault);
bool fr_array_gather(const fr_slice *slices, uint32_t count, uint32_t element_bytes, uint64_t to,
                     fr_device_run *run, fr_device_fault *fault);
/* A write of one of them that may be stalled, a reference, or NULL; the code of the device's fault
 * that has lost some, 0: none. */
struct fr_fence *fr_array_stalled_by(const fr_slice *slices, uint32_t count);
int32_t fr_array_lost(const fr_slice *slices, uint32_t count);

/* Elements on the host together. */
void fr_array_pack(const fr_slice *slices, uint32_t count, uint32_t element_bytes,
                   unsigned char *to);
uint64_t fr_array_bytes(const fr_slice *slices, uint32_t count, uint32_t element_bytes);

#endif
