// Our words for the driver's interface, and NVIDIA's. The comparison itself is made by the
// compiler, in abi_cases*.c, where the toolkit is installed.
#include <gtest/gtest.h>

#include <cstdio>

#include "cuda/driver.h"
#include "cuda/error.h"
#include "tests/cuda/abi_cases.h"

namespace
{

TEST(CudaAbi, IsThatOfTheToolkit)
{
    const int entry_points = (int)(sizeof(fr_cuda_driver) / sizeof(void *));
    EXPECT_EQ(entry_points, 74);
    if (!abi_case_has_toolkit())
        std::printf("no CUDA toolkit in /usr/local/cuda: only sizes were compared\n");
    EXPECT_EQ(abi_case_functions(), abi_case_has_toolkit() ? entry_points : 0);
    EXPECT_EQ(abi_case_results() > 90, abi_case_has_toolkit());
    EXPECT_EQ(abi_case_toolkit_version() >= 12000, abi_case_has_toolkit());
}

TEST(CudaAbi, ResultsHaveNames)
{
    EXPECT_STREQ(fr_cuda_error_name(0), "CUDA_SUCCESS");
    EXPECT_STREQ(fr_cuda_error_name(FR_CU_ERROR_NO_DEVICE), "CUDA_ERROR_NO_DEVICE");
    EXPECT_STREQ(fr_cuda_error_name(999), "CUDA_ERROR_UNKNOWN");
    EXPECT_EQ(fr_cuda_error_name(35), nullptr);
    EXPECT_EQ(fr_cuda_error_name(123456), nullptr);
}

TEST(CudaAbi, StickyErrorsAreThoseThatEndAContext)
{
    int count = 0;
    for (fr_cu_result result = 0; result < 1000; result++)
        count += fr_cuda_error_is_sticky(result);
    EXPECT_EQ(count, 12);
    for (fr_cu_result result :
         {226u, 700u, 702u, 714u, 715u, 716u, 717u, 718u, 719u, 721u, 810u, 911u})
        EXPECT_TRUE(fr_cuda_error_is_sticky(result)) << result;
}

} // namespace
