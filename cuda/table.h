/* CUDA as a backend of runtime/device/table.h. */
#ifndef FR_CUDA_TABLE_H
#define FR_CUDA_TABLE_H

#include "runtime/device/table.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const fr_device_table fr_cuda_table;

#ifdef __cplusplus
}
#endif

#endif
