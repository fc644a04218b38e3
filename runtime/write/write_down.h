/* Rows on a device that are written to a column on the host: they are copied there first, and the
 * op is parked until the device is done. Then they are written as rows of the host are, and what is
 * asked of the placement comes behind.
 *
 * Threads: who runs the op; the resumption by who looks at fences. Memory: pinned, from the copy to
 * the write (device/staging.h). */
#ifndef FR_RUNTIME_WRITE_WRITE_DOWN_H
#define FR_RUNTIME_WRITE_WRITE_DOWN_H

#include "runtime/write/write_device.h"

/* Whether the next entry does. */
bool fr_write_goes_down(const fr_write_op *write, const fr_device_write *device);
/* The next entry is written, or the op is parked, or has failed. */
void fr_write_down_one(fr_op *op, fr_write_op *write, fr_device_write *device);
void fr_write_down_let_go(fr_write_down *down);

#endif
