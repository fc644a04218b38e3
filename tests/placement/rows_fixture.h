// Two columns that get the same writes, one on a device and one on the host: what is read of them
// must be the same. C++ only.
#ifndef FR_TESTS_PLACEMENT_ROWS_FIXTURE_H
#define FR_TESTS_PLACEMENT_ROWS_FIXTURE_H

#include "tests/placement/placement_fixture.h"

// What a write passes. Float k of its memory is first + k.
struct Rows {
    std::vector<int64_t> shape, strides; // no strides: compact
    float first = 0;
    int64_t offset = 0; // of row 0, in floats
    std::vector<uint32_t> map = {};
    std::vector<uint64_t> mask = {};
    bool from_host = false, with_event = true;
    // What the write makes if it is not made before.
    fr_cu_event event = nullptr;
    fr_cu_device_ptr memory = 0;
    fr_cu_stream stream = nullptr; // of the placement
    int32_t source = 0, place = 0; // the devices of the memory and of the placement
    ovx_token_t name = 0;          // of the column; 0: the one on the device
    bool plain = false;            // from the host without a placement
};

struct Shown {
    uint64_t ordinal;
    std::vector<uint32_t> positions;
    std::vector<float> values;
    bool operator==(const Shown &other) const
    {
        return ordinal == other.ordinal && positions == other.positions && values == other.values;
    }
};

inline std::ostream &operator<<(std::ostream &stream, const Shown &shown)
{
    return stream << "at " << shown.ordinal << " " << ::testing::PrintToString(shown.positions)
                  << " " << ::testing::PrintToString(shown.values);
}

class RowsTest : public PlacementTest
{
  protected:
    std::vector<int32_t> read_on = {0}; // devices

    // All values stay, so that none is refused that the other column has.
    static flyrail_config_t Keeping(uint32_t workers)
    {
        flyrail_config_t config = client::config(workers);
        config.history_versions = 100;
        return config;
    }

    static ovx_token_t OnDevice(const client::Stage &stage)
    {
        return stage.token("device");
    }
    static ovx_token_t OnHost(const client::Stage &stage)
    {
        return stage.token("host");
    }

    // To the column on the device.
    ovstage_enqueue_result_t WriteOnDevice(const client::Stage &stage, ovstage_query_handle_t query,
                                           uint64_t ordinal, const Rows &rows,
                                           fr_cu_stream producer)
    {
        ovx_token_t name = rows.name ? rows.name : OnDevice(stage);
        fr_cu_event event = rows.event;
        if (rows.with_event && !event) {
            MakeCurrent(rows.place);
            event = Event();
        }
        ovstage_placement_t placement = Place(rows.stream, event, rows.place);
        std::vector<float> values = Values(rows);
        DLTensor tensor = Tensor(rows);
        ovstage_write_data_t data = Data(rows, &tensor);
        if (rows.from_host || rows.plain) {
            tensor.data = values.data();
            ovstage_enqueue_result_t result = ovstage_write_attribute_on_device(
                stage.instance, query, Name(name), ordinal, data, OVSTAGE_PRIM_MODE_UPSERT,
                rows.plain ? nullptr : &placement);
            if (result.status == OVSTAGE_OK) { // then its rows have been read
                ovstage_op_wait_result_t outcome = {};
                EXPECT_EQ(
                    ovstage_wait_op(stage.instance, result.op_index, client::forever, &outcome),
                    OVSTAGE_OK);
            }
            std::fill(values.begin(), values.end(), -1.0f);
            return result;
        }
        fr_cu_device_ptr memory = rows.memory ? rows.memory : Source(rows, producer);
        tensor.data = reinterpret_cast<void *>(memory);
        tensor.device = {kDLCUDA, rows.source};
        data.cuda_sync.stream = Handle(producer);
        return ovstage_write_attribute_on_device(stage.instance, query, Name(name), ordinal, data,
                                                 OVSTAGE_PRIM_MODE_UPSERT, &placement);
    }

    // Its rows, by the producer.
    fr_cu_device_ptr Source(const Rows &rows, fr_cu_stream producer)
    {
        MakeCurrent(rows.source);
        uint32_t floats = Floats(rows);
        fr_cu_device_ptr memory = Memory(floats * sizeof(float), "source");
        Produce(producer, memory, floats, rows.first);
        return memory;
    }

    void WriteBoth(const client::Stage &stage, ovstage_query_handle_t query, uint64_t ordinal,
                   const Rows &rows)
    {
        std::vector<float> values = Values(rows);
        DLTensor tensor = Tensor(rows);
        tensor.data = values.data();
        stage.finish(ovstage_write_attribute(stage.instance, query, Name(OnHost(stage)), ordinal,
                                             Data(rows, &tensor), OVSTAGE_PRIM_MODE_UPSERT));
        MakeCurrent(rows.source);
        stage.finish(WriteOnDevice(stage, query, ordinal, rows, Stream("producer")));
    }

    // Groups of a read, where the placement says; NULL: on the host.
    std::vector<Shown> ReadGroups(const client::Stage &stage, ovstage_query_handle_t query,
                                  ovx_token_t attribute, ovstage_ordinal_range_t range,
                                  const ovstage_placement_t *placement)
    {
        std::vector<Shown> groups;
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t result = ovstage_read_attributes_on_device(
            stage.instance, query, &attribute, 1, range, placement, &read);
        stage.finish(result);
        ovstage_read_group_t group = {};
        while (result.status == OVSTAGE_OK &&
               ovstage_fetch_read_next(stage.instance, read, client::forever, &group) ==
                   OVSTAGE_OK) {
            groups.push_back(Show(group, placement));
            EXPECT_EQ(ovstage_release_group(stage.instance, &group), OVSTAGE_OK);
        }
        stage.finish(ovstage_release_read(stage.instance, read));
        return groups;
    }

    void ExpectSame(const client::Stage &stage, ovstage_query_handle_t query,
                    ovstage_ordinal_range_t range)
    {
        auto wanted = ReadGroups(stage, query, OnHost(stage), range, nullptr);
        for (int32_t device : read_on) {
            MakeCurrent(device);
            ovstage_placement_t placement = Place(nullptr, Event(), device);
            EXPECT_EQ(ReadGroups(stage, query, OnDevice(stage), range, &placement), wanted)
                << range.start_ordinal << " to " << range.end_ordinal << ", on " << device;
        }
        EXPECT_EQ(ReadGroups(stage, query, OnDevice(stage), range, nullptr), wanted)
            << range.start_ordinal << " to " << range.end_ordinal << ", on the host";
    }

    void ExpectSameAt(const client::Stage &stage, ovstage_query_handle_t query, uint64_t ordinal)
    {
        ExpectSame(stage, query, {0, ordinal, false});
    }

  private:
    static ovx_string_or_token_t Name(ovx_token_t token)
    {
        return ovx_string_or_token_t{token, {}};
    }

    // That its elements lie in.
    static uint32_t Floats(const Rows &rows)
    {
        int64_t last = rows.offset, compact = 1;
        for (size_t d = rows.shape.size(); d-- > 0;) {
            int64_t stride = rows.strides.empty() ? compact : rows.strides[d];
            last += stride > 0 ? (rows.shape[d] - 1) * stride : 0;
            compact *= rows.shape[d];
        }
        return static_cast<uint32_t>(last + 1);
    }

    static std::vector<float> Values(const Rows &rows)
    {
        std::vector<float> values(Floats(rows));
        for (size_t k = 0; k < values.size(); k++)
            values[k] = rows.first + static_cast<float>(k);
        return values;
    }

    static DLTensor Tensor(const Rows &rows)
    {
        DLTensor tensor = {};
        tensor.device = {kDLCPU, 0};
        tensor.ndim = static_cast<int32_t>(rows.shape.size());
        tensor.dtype = {kDLFloat, 32, 1};
        tensor.shape = const_cast<int64_t *>(rows.shape.data());
        tensor.strides =
            rows.strides.empty() ? nullptr : const_cast<int64_t *>(rows.strides.data());
        tensor.byte_offset = static_cast<uint64_t>(rows.offset) * sizeof(float);
        return tensor;
    }

    static ovstage_write_data_t Data(const Rows &rows, DLTensor *tensor)
    {
        ovstage_write_data_t data = {};
        data.tensors = tensor;
        data.tensor_count = 1;
        data.count = static_cast<uint32_t>(rows.map.size());
        if (!rows.mask.empty())
            data.count = static_cast<uint32_t>(rows.shape[0]);
        data.index_map = rows.map.empty() ? nullptr : rows.map.data();
        data.mask = rows.mask.empty() ? nullptr : rows.mask.data();
        return data;
    }

    Shown Show(const ovstage_read_group_t &group, const ovstage_placement_t *placement)
    {
        Shown shown = {group.ordinal, {}, {}};
        for (uint32_t k = 0; k < group.prims.count; k++)
            shown.positions.push_back(group.prims.index_map ? group.prims.index_map[k] : k);
        if (group.is_delete)
            return shown;
        const DLTensor &tensor = group.data.tensors[0];
        size_t width = tensor.ndim > 1 ? static_cast<size_t>(tensor.shape[1]) : 1;
        shown.values.resize(group.data.count * width);
        size_t size_bytes = shown.values.size() * sizeof(float);
        EXPECT_EQ(group.data.index_map, nullptr);
        if (!placement) {
            std::memcpy(shown.values.data(), tensor.data, size_bytes);
            return shown;
        }
        MakeCurrent(placement->device.device_id);
        fr_cu_stream consumer = Stream("consumer");
        auto event = reinterpret_cast<fr_cu_event>(placement->availability_event);
        EXPECT_EQ(tensor.device.device_type, kDLCUDA);
        EXPECT_EQ(tensor.device.device_id, placement->device.device_id);
        EXPECT_EQ(cu->cuStreamWaitEvent(consumer, event, 0), 0u);
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(shown.values.data(),
                                        reinterpret_cast<fr_cu_device_ptr>(tensor.data), size_bytes,
                                        consumer),
                  0u);
        EXPECT_EQ(cu->cuStreamSynchronize(consumer), 0u);
        return shown;
    }
};

#endif
