#include "scheduler/atomic.h"

_Atomic uint32_t fr_fence_word;
