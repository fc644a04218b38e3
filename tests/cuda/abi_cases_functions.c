/* Function types, compared in a file of their own: here the structures are those of the toolkit. */
#ifdef FR_CUDA_TOOLKIT
#include <cuda.h>
#include <cudaTypedefs.h>
#define FR_CUDA_TOOLKIT_STRUCTURES
#endif

#include "tests/cuda/abi_cases.h"

#include "cuda/driver.h"

#ifdef FR_CUDA_TOOLKIT
#define SAME_TYPE(name, version, symbol) \
    _Static_assert(__builtin_types_compatible_p(fr_##name##_v##version, PFN_##name##_v##version), \
                   #symbol);
FR_CUDA_ENTRY_POINTS(SAME_TYPE)
_Static_assert(__builtin_types_compatible_p(fr_cuGetProcAddress_v12000,
                                            PFN_cuGetProcAddress_v12000),
               "");
_Static_assert(__builtin_types_compatible_p(fr_cu_context, CUcontext), "");
_Static_assert(__builtin_types_compatible_p(fr_cu_stream, CUstream), "");
_Static_assert(__builtin_types_compatible_p(fr_cu_event, CUevent), "");
_Static_assert(__builtin_types_compatible_p(fr_cu_memory_pool, CUmemoryPool), "");
_Static_assert(__builtin_types_compatible_p(fr_cu_device_ptr, CUdeviceptr), "");

#endif

int abi_case_functions(void)
{
    int count = 0;
#ifdef FR_CUDA_TOOLKIT
#define COUNT(name, version, symbol) count++;
    FR_CUDA_ENTRY_POINTS(COUNT)
#undef COUNT
#endif
    return count;
}
