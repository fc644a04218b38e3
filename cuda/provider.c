#include "runtime/device/provider.h"

#include "cuda/table.h"

const fr_device_table *const fr_device_provider = &fr_cuda_table;
