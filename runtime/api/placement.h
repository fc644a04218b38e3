/* Placements of calls: what a client asks for, checked; and the devices of an instance.
 *
 * Threads: any. The devices of an instance are made by the first call that needs one. */
#ifndef FR_RUNTIME_API_PLACEMENT_H
#define FR_RUNTIME_API_PLACEMENT_H

#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include "runtime/api/stage.h"
#include "runtime/device/devices.h"

/* Whether there is a backend with devices. Loads its driver, and makes nothing. find: if not, the
 * fault says why. */
bool fr_placement_find(fr_device_fault *fault);
bool fr_placement_is_there(void);
extern const ovstage_placement_extension_v1_t fr_placement_table;

/* Not OK: the text is set. *out NULL: host memory, and nothing else is asked for. */
ovstage_api_status_t fr_placement_check(fr_stage *stage, const ovstage_placement_t *placement,
                                        fr_opened **out);
/* What a call answers to a fault. */
ovstage_api_status_t fr_placement_status(const fr_device_fault *fault);
/* The same, with the text set: what the call was about, and what the device said. */
ovstage_api_status_t fr_placement_refuse(const fr_device_fault *fault, const char *what);

#endif
