#include "cuda/error.h"

const char *fr_cuda_error_name(fr_cu_result result)
{
    switch (result) {
#define FR_CUDA_CASE(number, name) \
    case number: \
        return "CUDA_" #name;
        FR_CUDA_RESULTS(FR_CUDA_CASE)
#undef FR_CUDA_CASE
    default:
        return NULL;
    }
}

bool fr_cuda_error_is_sticky(fr_cu_result result)
{
    switch (result) {
    case FR_CU_ERROR_CONTAINED:
    case FR_CU_ERROR_ILLEGAL_ADDRESS:
    case FR_CU_ERROR_LAUNCH_TIMEOUT:
    case FR_CU_ERROR_HARDWARE_STACK_ERROR:
    case FR_CU_ERROR_ILLEGAL_INSTRUCTION:
    case FR_CU_ERROR_MISALIGNED_ADDRESS:
    case FR_CU_ERROR_INVALID_ADDRESS_SPACE:
    case FR_CU_ERROR_INVALID_PC:
    case FR_CU_ERROR_LAUNCH_FAILED:
    case FR_CU_ERROR_TENSOR_MEMORY_LEAK:
    case FR_CU_ERROR_MPS_CLIENT_TERMINATED:
    case FR_CU_ERROR_EXTERNAL_DEVICE:
        return true;
    default:
        return false;
    }
}
