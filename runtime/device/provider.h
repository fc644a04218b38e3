/* Whose devices the stages of this process use. NULL without a backend; cuda/provider.c, where it
 * is linked, defines its own in place of the one here. */
#ifndef FR_RUNTIME_DEVICE_PROVIDER_H
#define FR_RUNTIME_DEVICE_PROVIDER_H

#include "runtime/device/table.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const fr_device_table *const fr_device_provider;

#ifdef __cplusplus
}
#endif

#endif
