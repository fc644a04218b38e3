// The row movers against a reference that looks at one byte at a time.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

extern "C" {
#include "runtime/write/rows.h"
}

namespace
{

// A tensor of rows whose elements lie where the strides say, in a buffer of random bytes.
struct Tensor {
    std::vector<unsigned char> bytes;
    fr_row_source source{};
    // Byte offset of each byte of a row, relative to the row's first element.
    std::vector<int64_t> places;
};

using Random = std::mt19937;

uint32_t pick(Random &random, uint32_t below)
{
    return static_cast<uint32_t>(random() % below);
}

// inner: sizes of the dimensions inside a row; empty for contiguous rows.
Tensor make_tensor(Random &random, uint32_t rows, uint32_t element_bytes,
                   std::vector<int64_t> inner, bool gaps, bool backwards)
{
    Tensor tensor;
    fr_row_source &source = tensor.source;
    int64_t elements = std::accumulate(inner.begin(), inner.end(), int64_t{1}, std::multiplies<>());
    source.element_bytes = element_bytes;
    source.row_bytes = static_cast<uint32_t>(elements) * element_bytes;
    source.row_count = rows;
    // Strides that never overlap: the dimensions are laid out in a random order, with gaps.
    std::vector<size_t> order(inner.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    int64_t step = element_bytes + (gaps ? element_bytes * pick(random, 3) : 0);
    source.inner_dims = static_cast<uint32_t>(inner.size());
    for (size_t d : order) {
        source.inner_shape[d] = inner[d];
        source.inner_stride_bytes[d] = step;
        step *= inner[d];
        if (gaps)
            step += element_bytes * pick(random, 2);
    }
    source.row_stride_bytes = inner.empty() ? source.row_bytes + (gaps ? 5 : 0) : step;
    source.compact = inner.empty() && !gaps && !backwards;
    tensor.bytes.resize(static_cast<size_t>(source.row_stride_bytes) * (rows + 1));
    for (auto &byte : tensor.bytes)
        byte = static_cast<unsigned char>(random());
    source.base = tensor.bytes.data();
    if (backwards) {
        source.base += source.row_stride_bytes * (rows - 1);
        source.row_stride_bytes = -source.row_stride_bytes;
    }
    for (int64_t e = 0; e < elements; e++) {
        int64_t rest = e, place = 0;
        for (size_t d = inner.size(); d-- > 0;) {
            place += rest % inner[d] * source.inner_stride_bytes[d];
            rest /= inner[d];
        }
        for (uint32_t b = 0; b < element_bytes; b++)
            tensor.places.push_back(place + b);
    }
    if (inner.empty()) {
        tensor.places.resize(source.row_bytes);
        std::iota(tensor.places.begin(), tensor.places.end(), int64_t{0});
    }
    return tensor;
}

std::vector<unsigned char> row_of(const Tensor &tensor, uint32_t element)
{
    const fr_row_source &source = tensor.source;
    uint32_t row = source.index_map ? source.index_map[element] : element;
    int64_t stride =
        source.compact ? static_cast<int64_t>(source.row_bytes) : source.row_stride_bytes;
    std::vector<unsigned char> bytes;
    for (int64_t place : tensor.places)
        bytes.push_back(source.base[row * stride + place]);
    return bytes;
}

bool selected(const Tensor &tensor, uint32_t element)
{
    const uint64_t *mask = tensor.source.mask;
    return !mask || (mask[element / 64] >> (element % 64) & 1) != 0;
}

constexpr unsigned char untouched = 0xA5;

void check_copy(const Tensor &tensor, uint32_t first, uint32_t n)
{
    const uint32_t width = tensor.source.row_bytes;
    std::vector<unsigned char> got(static_cast<size_t>(n) * width + 2, untouched);
    std::vector<unsigned char> wanted(got);
    for (uint32_t k = 0; k < n; k++) {
        if (!selected(tensor, first + k))
            continue;
        auto row = row_of(tensor, first + k);
        std::memcpy(&wanted[1 + static_cast<size_t>(k) * width], row.data(), width);
    }
    fr_rows_copy(&tensor.source, first, n, got.data() + 1);
    ASSERT_EQ(got, wanted) << "width " << width << " first " << first << " n " << n;
}

void check_scatter(const Tensor &tensor, Random &random, uint32_t count, bool with_elements)
{
    const uint32_t width = tensor.source.row_bytes;
    std::vector<uint32_t> targets(count), elements(count);
    std::iota(targets.begin(), targets.end(), 0u);
    std::shuffle(targets.begin(), targets.end(), random);
    std::iota(elements.begin(), elements.end(), 0u);
    std::shuffle(elements.begin(), elements.end(), random);
    uint32_t n = count == 0 ? 0 : 1 + pick(random, count);
    std::vector<unsigned char> got(static_cast<size_t>(count) * width + 2, untouched);
    std::vector<unsigned char> wanted(got);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t element = with_elements ? elements[k] : k;
        if (!selected(tensor, element))
            continue;
        auto row = row_of(tensor, element);
        std::memcpy(&wanted[1 + static_cast<size_t>(targets[k]) * width], row.data(), width);
    }
    fr_rows_scatter(&tensor.source, with_elements ? elements.data() : nullptr, targets.data(), n,
                    got.data() + 1);
    ASSERT_EQ(got, wanted) << "width " << width << " n " << n;
}

const uint32_t widths[] = {1,  2,  3,  4,  5,   7,   8,   12,  16,  20,
                           24, 32, 48, 64, 100, 128, 255, 256, 2040};

void check_tensor(Tensor tensor, Random &random)
{
    const uint32_t rows = tensor.source.row_count;
    std::vector<uint32_t> map(rows + 7);
    std::vector<uint64_t> mask(rows / 64 + 2);
    for (int kind = 0; kind < 3; kind++) {
        uint32_t count = rows;
        tensor.source.index_map = nullptr;
        tensor.source.mask = nullptr;
        if (kind == 1) {
            count = static_cast<uint32_t>(map.size());
            for (auto &row : map)
                row = pick(random, rows);
            tensor.source.index_map = map.data();
        } else if (kind == 2) {
            for (auto &word : mask)
                word = pick(random, 3) == 0 ? ~uint64_t{0} : uint64_t{random()} << 32 | random();
            tensor.source.mask = mask.data();
        }
        tensor.source.count = count;
        check_copy(tensor, 0, count);
        uint32_t first = pick(random, count);
        check_copy(tensor, first, pick(random, count - first + 1));
        check_scatter(tensor, random, count, false);
        check_scatter(tensor, random, count, true);
    }
}

TEST(Rows, contiguous_rows_of_any_width_and_stride)
{
    Random random(1);
    for (uint32_t width : widths) {
        for (uint32_t rows : {1u, 2u, 63u, 64u, 65u, 200u}) {
            check_tensor(make_tensor(random, rows, width, {}, false, false), random);
            check_tensor(make_tensor(random, rows, width, {}, true, false), random);
            check_tensor(make_tensor(random, rows, width, {}, true, true), random);
        }
    }
}

TEST(Rows, elements_that_lie_apart)
{
    Random random(2);
    const std::vector<std::vector<int64_t>> shapes = {
        {3}, {4, 4}, {2, 3, 2}, {2, 2, 2, 2, 2, 2, 2}};
    for (uint32_t element : {1u, 2u, 4u, 8u, 12u}) {
        for (const auto &shape : shapes) {
            check_tensor(make_tensor(random, 70, element, shape, true, false), random);
            check_tensor(make_tensor(random, 9, element, shape, false, true), random);
        }
    }
}

TEST(Rows, a_stride_of_zero_repeats_a_row)
{
    Random random(3);
    Tensor tensor = make_tensor(random, 40, 12, {}, true, false);
    tensor.source.row_stride_bytes = 0;
    check_tensor(tensor, random);
}

TEST(Rows, large_copies_take_every_byte_at_any_alignment)
{
    Random random(4);
    const size_t size = FR_ROWS_STREAM_BYTES + 12345;
    std::vector<unsigned char> from(size + 64), to(size + 66);
    for (auto &byte : from)
        byte = static_cast<unsigned char>(random());
    for (size_t shift : {0u, 1u, 16u, 31u, 63u}) {
        std::fill(to.begin(), to.end(), untouched);
        fr_rows_copy_compact(to.data() + 1 + shift, from.data() + (63 - shift), size);
        ASSERT_EQ(0, std::memcmp(to.data() + 1 + shift, from.data() + (63 - shift), size));
        ASSERT_EQ(untouched, to[shift]);
        ASSERT_EQ(untouched, to[1 + shift + size]);
    }
}

// A write that is cut into parts goes past the caches by its whole size.
TEST(Rows, parts_of_large_copies_take_every_byte_and_no_other)
{
    Random random(5);
    std::vector<unsigned char> from(200000), to(200002);
    for (auto &byte : from)
        byte = static_cast<unsigned char>(random());
    for (size_t whole : {size_t{0}, FR_ROWS_STREAM_BYTES - 1, FR_ROWS_STREAM_BYTES})
        for (size_t size : {size_t{0}, size_t{1}, size_t{63}, FR_ROWS_STREAM_PART_BYTES - 1,
                            FR_ROWS_STREAM_PART_BYTES, FR_ROWS_STREAM_PART_BYTES + 63,
                            size_t{100001}, size_t{131072}})
            for (size_t shift : {0u, 1u, 24u, 63u}) {
                std::fill(to.begin(), to.end(), untouched);
                fr_rows_copy_part(to.data() + 1 + shift, from.data() + (63 - shift), size, whole);
                ASSERT_EQ(0, std::memcmp(to.data() + 1 + shift, from.data() + (63 - shift), size));
                ASSERT_EQ(untouched, to[shift]);
                ASSERT_EQ(untouched, to[1 + shift + size]);
            }
}

TEST(Rows, plain_gather_and_scatter)
{
    Random random(5);
    for (uint32_t width : widths) {
        const uint32_t rows = 97;
        std::vector<unsigned char> from(rows * width), gathered(from.size()), back(from.size());
        for (auto &byte : from)
            byte = static_cast<unsigned char>(random());
        std::vector<uint32_t> order(rows);
        std::iota(order.begin(), order.end(), 0u);
        std::shuffle(order.begin(), order.end(), random);
        fr_rows_gather_indexed(gathered.data(), from.data(), order.data(), rows, width);
        for (uint32_t k = 0; k < rows; k++)
            ASSERT_EQ(0, std::memcmp(&gathered[k * width], &from[order[k] * width], width));
        fr_rows_scatter_indexed(back.data(), order.data(), gathered.data(), rows, width);
        ASSERT_EQ(back, from) << "width " << width;
    }
}

} // namespace
