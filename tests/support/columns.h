// Payloads and groups for tests about writes and reads: a typed tensor that can be bent in any way,
// and what a read handed out.
#ifndef FR_TESTS_SUPPORT_COLUMNS_H
#define FR_TESTS_SUPPORT_COLUMNS_H

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/client.h"

namespace client
{

constexpr DLDataType f32(uint16_t lanes = 1)
{
    return DLDataType{kDLFloat, 32, lanes};
}
constexpr DLDataType f64(uint16_t lanes = 1)
{
    return DLDataType{kDLFloat, 64, lanes};
}
constexpr DLDataType u64(uint16_t lanes = 1)
{
    return DLDataType{kDLUInt, 64, lanes};
}
constexpr DLDataType u8(uint16_t lanes = 1)
{
    return DLDataType{kDLUInt, 8, lanes};
}

// Values 0, 1, 2, ... from `first` on.
inline std::vector<float> ramp(size_t count, float first = 0)
{
    std::vector<float> values(count);
    for (size_t i = 0; i < count; i++)
        values[i] = first + static_cast<float>(i);
    return values;
}

// One tensor and the write_data that passes it. Everything in `data` and `tensor` may be changed
// before it is used.
class Payload
{
  public:
    template <typename T>
    Payload(const std::vector<T> &values, DLDataType dtype, std::vector<int64_t> dimensions)
        : bytes(values.size() * sizeof(T)), shape(std::move(dimensions))
    {
        if (!bytes.empty())
            std::memcpy(bytes.data(), values.data(), bytes.size());
        std::memset(&tensor, 0, sizeof(tensor));
        tensor.data = bytes.data();
        tensor.device = DLDevice{kDLCPU, 0};
        tensor.ndim = static_cast<int32_t>(shape.size());
        tensor.dtype = dtype;
        tensor.shape = shape.data();
        std::memset(&data, 0, sizeof(data));
        data.tensors = &tensor;
        data.tensor_count = 1;
    }
    // Rows of floats.
    Payload(const std::vector<float> &values, int64_t rows, uint16_t lanes = 1)
        : Payload(values, f32(lanes), {rows})
    {
    }
    Payload(const Payload &) = delete;
    Payload &operator=(const Payload &) = delete;

    void set_strides(std::vector<int64_t> elements)
    {
        strides = std::move(elements);
        tensor.strides = strides.data();
    }

    std::vector<uint8_t> bytes;
    std::vector<int64_t> shape, strides;
    DLTensor tensor;
    ovstage_write_data_t data;
};

// A managed tensor over floats that counts its deleter's calls and frees itself.
class Managed
{
  public:
    struct Record {
        std::atomic<int> deleted{0};
    };

    static DLManagedTensorVersioned *make(const std::vector<float> &values, uint16_t lanes,
                                          uint64_t flags, std::shared_ptr<Record> record)
    {
        auto *made = new Managed;
        made->record = std::move(record);
        made->count = values.size();
        made->memory = static_cast<float *>(
            ::operator new[](values.size() * sizeof(float) + 1, std::align_val_t{64}));
        std::copy(values.begin(), values.end(), made->memory);
        made->shape = static_cast<int64_t>(values.size() / lanes);
        std::memset(&made->managed, 0, sizeof(made->managed));
        made->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        made->managed.manager_ctx = made;
        made->managed.deleter = destroy;
        made->managed.flags = flags;
        made->managed.dl_tensor.data = made->memory;
        made->managed.dl_tensor.device = DLDevice{kDLCPU, 0};
        made->managed.dl_tensor.ndim = 1;
        made->managed.dl_tensor.dtype = f32(lanes);
        made->managed.dl_tensor.shape = &made->shape;
        return &made->managed;
    }

  private:
    static void destroy(DLManagedTensorVersioned *self)
    {
        auto *made = static_cast<Managed *>(self->manager_ctx);
        // A second call would free twice: only counted.
        if (made->record->deleted.fetch_add(1) != 0)
            return;
        std::shared_ptr<Record> keep = made->record;
        ::operator delete[](made->memory, std::align_val_t{64});
        delete made;
    }

    DLManagedTensorVersioned managed;
    std::shared_ptr<Record> record;
    float *memory = nullptr;
    size_t count = 0;
    int64_t shape = 0;
};

inline ovx_string_or_token_t named(ovx_token_t token)
{
    return ovx_string_or_token_t{token, {}};
}

inline ovstage_enqueue_result_t write(const Stage &stage, ovstage_query_handle_t query,
                                      ovx_token_t attribute, uint64_t ordinal,
                                      const ovstage_write_data_t &data,
                                      ovstage_prim_mode_t mode = OVSTAGE_PRIM_MODE_UPSERT)
{
    return ovstage_write_attribute(stage.instance, query, named(attribute), ordinal, data, mode);
}

// Expects a refusal with this status, without an op and with a text; returns the text.
inline std::string refused(ovstage_enqueue_result_t result, ovstage_api_status_t status)
{
    EXPECT_EQ(result.status, status) << last_error();
    EXPECT_EQ(result.op_index, 0u);
    std::string why = last_error();
    EXPECT_FALSE(why.empty());
    return why;
}

// Waits for an accepted op that must fail; returns its text.
inline std::string failed(const Stage &stage, ovstage_enqueue_result_t result)
{
    EXPECT_EQ(result.status, OVSTAGE_OK) << last_error();
    if (result.status != OVSTAGE_OK)
        return std::string();
    ovstage_op_wait_result_t outcome;
    std::memset(&outcome, 0, sizeof(outcome));
    EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, forever, &outcome), OVSTAGE_OK);
    const ovstage_op_id_t *end = outcome.error_op_ids + outcome.error_op_id_count;
    EXPECT_NE(std::find(outcome.error_op_ids, end, result.op_index), end) << "it did not fail";
    std::string why = text(ovstage_get_last_op_error(stage.instance, result.op_index));
    EXPECT_FALSE(why.empty());
    return why;
}

// What one read handed out; the groups are held until release() or the end.
class Snapshot
{
  public:
    Snapshot(const Stage &on, ovstage_query_handle_t query,
             const std::vector<ovx_token_t> &attributes, uint64_t ordinal)
        : Snapshot(on, query, attributes, ovstage_ordinal_range_t{0, ordinal, false})
    {
    }
    // Of a range, too.
    Snapshot(const Stage &on, ovstage_query_handle_t query,
             const std::vector<ovx_token_t> &attributes, ovstage_ordinal_range_t range)
        : stage(&on)
    {
        ovstage_enqueue_result_t result = ovstage_read_attributes(
            on.instance, query, attributes.data(), attributes.size(), range, &handle);
        status = result.status;
        if (status != OVSTAGE_OK) {
            EXPECT_EQ(result.op_index, 0u);
            EXPECT_EQ(handle, 0u);
            return;
        }
        EXPECT_NE(result.op_index, 0u);
        EXPECT_NE(handle, 0u);
        ovstage_read_group_t group;
        while ((status = ovstage_fetch_read_next(on.instance, handle, forever, &group)) ==
               OVSTAGE_OK)
            groups.push_back(group);
        if (status == OVSTAGE_ERROR_END_OF_ITERATION)
            status = OVSTAGE_OK;
        EXPECT_EQ(ovstage_release_op(on.instance, result.op_index), OVSTAGE_OK);
    }
    Snapshot(const Snapshot &) = delete;
    Snapshot &operator=(const Snapshot &) = delete;
    ~Snapshot()
    {
        release();
        release_read();
    }
    void release()
    {
        for (const ovstage_read_group_t &group : groups)
            EXPECT_EQ(ovstage_release_group(stage->instance, &group), OVSTAGE_OK) << last_error();
        groups.clear();
    }
    void release_read()
    {
        if (handle != 0) {
            EXPECT_EQ(ovstage_release_read(stage->instance, handle).status, OVSTAGE_OK);
        }
        handle = 0;
    }

    // (position, values) of a group of floats.
    static std::vector<std::pair<uint32_t, std::vector<float>>> rows(
        const ovstage_read_group_t &group)
    {
        std::vector<std::pair<uint32_t, std::vector<float>>> out;
        const DLTensor &tensor = group.data.tensors[0];
        const auto *values = static_cast<const float *>(tensor.data);
        const size_t lanes = tensor.dtype.lanes;
        for (uint32_t i = 0; i < group.data.count; i++) {
            uint32_t position =
                group.prims.index_map ? group.prims.index_map[i] : group.prims.offset + i;
            uint32_t row = group.data.index_map ? group.data.index_map[i] : i;
            out.emplace_back(position,
                             std::vector<float>(values + row * lanes, values + (row + 1) * lanes));
        }
        return out;
    }

    const Stage *stage;
    ovstage_read_handle_t handle = 0;
    ovstage_api_status_t status =
        OVSTAGE_OK; // of the enqueue, or of the fetch that ended it; OK at the end of iteration
    std::vector<ovstage_read_group_t> groups;
};

} // namespace client

#endif
