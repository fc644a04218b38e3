// Array payloads and what array groups hand out, for tests: rows of any length of one type.
#ifndef FR_TESTS_SUPPORT_ARRAYS_H
#define FR_TESTS_SUPPORT_ARRAYS_H

#include <map>

#include "tests/support/columns.h"

namespace client
{

template <typename T> using Rows = std::vector<std::vector<T>>;

// One tensor a row, each in memory of its own.
template <typename T> class RowPayload
{
  public:
    RowPayload(const Rows<T> &rows, DLDataType dtype)
        : values(rows), tensors(rows.size()), shapes(rows.size())
    {
        for (size_t r = 0; r < rows.size(); r++) {
            shapes[r] = static_cast<int64_t>(values[r].size() / dtype.lanes);
            tensors[r] = DLTensor{values[r].data(), {kDLCPU, 0}, 1, dtype, &shapes[r], nullptr, 0};
        }
        std::memset(&data, 0, sizeof(data));
        data.tensors = tensors.data();
        data.tensor_count = static_cast<uint32_t>(rows.size());
        data.is_array = true;
    }
    RowPayload(const RowPayload &) = delete;
    RowPayload &operator=(const RowPayload &) = delete;

    Rows<T> values;
    std::vector<DLTensor> tensors;
    std::vector<int64_t> shapes;
    ovstage_write_data_t data;
};

// The rows of an array group by position; every tensor must be canonical (R75).
template <typename T>
std::map<uint32_t, std::vector<T>> array_rows(const ovstage_read_group_t &group)
{
    std::map<uint32_t, std::vector<T>> out;
    EXPECT_TRUE(group.is_array);
    EXPECT_FALSE(group.is_delete);
    EXPECT_EQ(group.data.tensor_count, group.prims.count);
    EXPECT_EQ(group.data.count, group.prims.count);
    EXPECT_EQ(group.data.index_map, nullptr);
    EXPECT_EQ(group.data.mask, nullptr);
    for (uint32_t i = 0; i < group.prims.count; i++) {
        const DLTensor &tensor = group.data.tensors[i];
        EXPECT_EQ(tensor.ndim, 1);
        EXPECT_EQ(tensor.strides, nullptr);
        EXPECT_EQ(tensor.byte_offset, 0u);
        EXPECT_EQ(tensor.device.device_type, kDLCPU);
        EXPECT_EQ(size_t{tensor.dtype.bits} / 8 * tensor.dtype.lanes % sizeof(T), 0u);
        size_t count = static_cast<size_t>(tensor.shape[0]) * tensor.dtype.lanes;
        const T *values = static_cast<const T *>(tensor.data);
        uint32_t position =
            group.prims.index_map ? group.prims.index_map[i] : group.prims.offset + i;
        EXPECT_TRUE(out.emplace(position, std::vector<T>(values, values + count)).second);
    }
    return out;
}

} // namespace client

#endif
