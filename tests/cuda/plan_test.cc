// What kernels are told, for sizes that no test runs: totals beyond 32 bits, and how few dimensions
// and how wide parts it takes.
#include <gtest/gtest.h>

#include "cuda/plan.h"

namespace
{

fr_row_move Rows(uint32_t row_bytes, uint64_t pitch, uint32_t count)
{
    fr_row_move move = {};
    move.to = 4096;
    move.from = 8192;
    move.to_pitch = move.from_pitch = pitch;
    move.row_bytes = row_bytes;
    move.count = count;
    return move;
}

TEST(Plan, RowsTakeTheWidestPartsThatFit)
{
    fr_kernel_rows rows;
    const struct {
        uint32_t row_bytes;
        uint64_t pitch;
        uint32_t log2, parts;
    } cases[] = {{1, 1, 0, 1},   {2, 2, 1, 1},   {3, 3, 0, 3},   {4, 4, 2, 1},   {8, 8, 3, 1},
                 {12, 12, 2, 3}, {16, 16, 4, 1}, {16, 18, 1, 8}, {64, 64, 4, 4}, {24, 32, 3, 3}};
    for (const auto &c : cases) {
        fr_row_move move = Rows(c.row_bytes, c.pitch, 10);
        EXPECT_EQ(fr_cuda_plan_rows(&move, &rows), c.log2) << c.row_bytes << " " << c.pitch;
        EXPECT_EQ(rows.parts, c.parts);
    }
    for (uint64_t offset = 1; offset < 16; offset++) {
        fr_row_move move = Rows(64, 64, 10);
        move.from += offset;
        EXPECT_EQ(1u << fr_cuda_plan_rows(&move, &rows), offset & -offset);
    }
}

// One row goes nowhere by its pitch.
TEST(Plan, APitchThatNobodyGoesByDoesNotMatter)
{
    fr_kernel_rows rows;
    fr_row_move move = Rows(64, 33, 1);
    EXPECT_EQ(fr_cuda_plan_rows(&move, &rows), 4u);
    move.to_rows = 4096;
    EXPECT_EQ(fr_cuda_plan_rows(&move, &rows), 0u);
    move = Rows(64, 64, 9);
    move.from_pitch = 0;
    EXPECT_EQ(fr_cuda_plan_rows(&move, &rows), 4u);
}

TEST(Plan, AllOfARowMoveIsPassedOn)
{
    fr_row_move move = {1 << 10, 1 << 11, 1 << 12, 1 << 13, 32, 77, 1 << 14, 1 << 15, 1 << 16};
    fr_kernel_rows rows;
    EXPECT_EQ(fr_cuda_plan_rows(&move, &rows), 4u);
    EXPECT_EQ(rows.to, 1u << 10);
    EXPECT_EQ(rows.from, 1u << 11);
    EXPECT_EQ(rows.to_pitch, 1u << 12);
    EXPECT_EQ(rows.from_pitch, 1u << 13);
    EXPECT_EQ(rows.to_rows, 1u << 14);
    EXPECT_EQ(rows.from_rows, 1u << 15);
    EXPECT_EQ(rows.mask, 1u << 16);
    EXPECT_EQ(rows.count, 77u);
    EXPECT_EQ(rows.parts, 2u);
}

TEST(Plan, WhatLiesTogetherBecomesOneDimensionOfWideParts)
{
    fr_strided_copy copy = {};
    copy.to = 4096;
    copy.from = 8192;
    copy.dims = 4;
    copy.element_bytes = 4;
    const int64_t shape[4] = {5, 1, 6, 8}, strides[4] = {192, 7, 32, 4};
    for (int k = 0; k < 4; k++) {
        copy.shape[k] = shape[k];
        copy.to_stride[k] = copy.from_stride[k] = strides[k];
    }
    fr_kernel_strided planned;
    EXPECT_EQ(fr_cuda_plan_strided(&copy, &planned), 4u);
    EXPECT_EQ(planned.dims, 1u);
    EXPECT_EQ(planned.total, 5u * 6 * 8 * 4 / 16);
    // A gap between the outer ones.
    copy.from_stride[0] = 256;
    EXPECT_EQ(fr_cuda_plan_strided(&copy, &planned), 4u);
    EXPECT_EQ(planned.dims, 2u);
    EXPECT_EQ(planned.sizes[0], 5);
    EXPECT_EQ(planned.sizes[1], 6 * 8 * 4 / 16);
    EXPECT_EQ(planned.from_strides[0], 256);
    EXPECT_EQ(planned.to_strides[0], 192);
}

// Of 8 dimensions none of which lie together, and an element of several parts.
TEST(Plan, NineDimensionsAreEnough)
{
    fr_strided_copy copy = {};
    copy.dims = FR_STRIDED_DIMS;
    copy.element_bytes = 12;
    int64_t stride = 16;
    for (uint32_t k = copy.dims; k-- > 0; stride = stride * 2 + 16) {
        copy.shape[k] = 2;
        copy.to_stride[k] = copy.from_stride[k] = stride;
    }
    fr_kernel_strided planned;
    EXPECT_EQ(fr_cuda_plan_strided(&copy, &planned), 2u);
    EXPECT_EQ(planned.dims, (uint64_t)FR_KERNEL_DIMS);
    EXPECT_EQ(planned.total, 256u * 3);
}

TEST(Plan, TotalsGoBeyond32Bits)
{
    fr_strided_copy copy = {};
    copy.dims = 2;
    copy.element_bytes = 1;
    copy.shape[0] = 1ll << 30;
    copy.shape[1] = 48;
    copy.to_stride[0] = 48;
    copy.to_stride[1] = 1;
    copy.from_stride[0] = 49;
    copy.from_stride[1] = 1;
    fr_kernel_strided planned;
    EXPECT_EQ(fr_cuda_plan_strided(&copy, &planned), 0u);
    EXPECT_EQ(planned.total, 48ull << 30);
}

TEST(Plan, NothingIsNothing)
{
    fr_strided_copy copy = {};
    fr_kernel_strided planned;
    copy.element_bytes = 8;
    fr_cuda_plan_strided(&copy, &planned);
    EXPECT_EQ(planned.total, 1u) << "without dimensions it is one element";
    copy.dims = 3;
    copy.shape[0] = copy.shape[2] = 4;
    fr_cuda_plan_strided(&copy, &planned);
    EXPECT_EQ(planned.total, 0u);
    copy = {};
    fr_cuda_plan_strided(&copy, &planned);
    EXPECT_EQ(planned.total, 0u);
}

} // namespace
