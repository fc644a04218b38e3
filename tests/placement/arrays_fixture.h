// Two array columns that get the same writes, one on a device and one on the host: what is read of
// them must be the same. C++ only.
#ifndef FR_TESTS_PLACEMENT_ARRAYS_FIXTURE_H
#define FR_TESTS_PLACEMENT_ARRAYS_FIXTURE_H

#include "tests/placement/placement_fixture.h"

// What a write passes: rows of so many floats, which count up from `first` over all rows.
struct Ragged {
    std::vector<uint32_t> lengths;
    float first = 0;
    enum Layout { Packed, Views, Apart, Strided } layout = Views;
    std::vector<uint32_t> map = {};
    std::vector<uint64_t> mask = {};
    bool from_host = false, with_event = true, plain = false; // plain: of the host, not placed
    bool placed = true;
    fr_cu_stream stream = nullptr; // of the placement
    int32_t source = 0, place = 0; // the devices of the memory and of the placement

    uint32_t Floats() const
    {
        uint32_t floats = 0;
        for (uint32_t length : lengths)
            floats += length;
        return floats;
    }
};

using RaggedRows = std::vector<std::vector<float>>;

struct RaggedShown {
    uint64_t ordinal;
    std::vector<uint32_t> positions;
    RaggedRows rows;
    bool operator==(const RaggedShown &other) const
    {
        return ordinal == other.ordinal && positions == other.positions && rows == other.rows;
    }
};

inline std::ostream &operator<<(std::ostream &stream, const RaggedShown &shown)
{
    return stream << "at " << shown.ordinal << " " << ::testing::PrintToString(shown.positions)
                  << " " << ::testing::PrintToString(shown.rows);
}

class ArraysTest : public PlacementTest
{
  protected:
    std::vector<int32_t> read_on = {0}; // devices

    static ovx_token_t OnDevice(const client::Stage &stage)
    {
        return stage.token("device");
    }
    static ovx_token_t OnHost(const client::Stage &stage)
    {
        return stage.token("host");
    }

    static flyrail_config_t Keeping(uint32_t workers)
    {
        flyrail_config_t config = client::config(workers);
        config.history_versions = 100;
        return config;
    }

    // The tensors of a write, over memory that is as far apart as the layout says.
    struct Tensors {
        std::vector<DLTensor> tensors;
        std::vector<int64_t> shapes, strides;
        ovstage_write_data_t data = {};

        explicit Tensors(const Ragged &ragged, DLDevice device)
            : tensors(ragged.layout == Ragged::Packed ? 1 : ragged.lengths.size()),
              shapes(ragged.lengths.begin(), ragged.lengths.end()), strides(shapes.size(), 2)
        {
            if (ragged.layout == Ragged::Packed)
                shapes[0] = ragged.Floats();
            for (size_t row = 0; row < tensors.size(); row++) {
                tensors[row].device = device;
                tensors[row].ndim = 1;
                tensors[row].dtype = {kDLFloat, 32, 1};
                tensors[row].shape = &shapes[row];
                if (ragged.layout == Ragged::Strided)
                    tensors[row].strides = &strides[row];
            }
            data.tensors = tensors.data();
            data.tensor_count = static_cast<uint32_t>(tensors.size());
            data.is_array = true;
            data.count = static_cast<uint32_t>(ragged.map.size());
            if (!ragged.mask.empty())
                data.count = static_cast<uint32_t>(ragged.lengths.size());
            data.index_map = ragged.map.empty() ? nullptr : ragged.map.data();
            data.mask = ragged.mask.empty() ? nullptr : ragged.mask.data();
        }
        Tensors(const Tensors &) = delete; // it points into itself
        Tensors &operator=(const Tensors &) = delete;
    };

    // Floats as they lie in one memory: with gaps where they are strided.
    static std::vector<float> Values(const Ragged &ragged)
    {
        size_t step = ragged.layout == Ragged::Strided ? 2 : 1;
        std::vector<float> values(ragged.Floats() * step + 1, -1);
        for (size_t k = 0; k < ragged.Floats(); k++)
            values[k * step] = ragged.first + static_cast<float>(k);
        return values;
    }

    static void PointInto(Tensors &tensors, const Ragged &ragged, uint64_t base)
    {
        uint64_t step = ragged.layout == Ragged::Strided ? 2 : 1;
        for (size_t row = 0; row < tensors.tensors.size(); row++) {
            tensors.tensors[row].data = reinterpret_cast<void *>(base);
            base += ragged.lengths[row] * step * sizeof(float);
        }
    }

    static ovx_string_or_token_t Name(ovx_token_t token)
    {
        return ovx_string_or_token_t{token, {}};
    }

    ovstage_enqueue_result_t WriteOnHost(const client::Stage &stage, ovstage_query_handle_t query,
                                         uint64_t ordinal, const Ragged &ragged)
    {
        std::vector<float> values = Values(ragged);
        Tensors tensors(ragged, {kDLCPU, 0});
        PointInto(tensors, ragged, reinterpret_cast<uintptr_t>(values.data()));
        ovstage_enqueue_result_t result =
            ovstage_write_attribute(stage.instance, query, Name(OnHost(stage)), ordinal,
                                    tensors.data, OVSTAGE_PRIM_MODE_UPSERT);
        EXPECT_EQ(result.status, OVSTAGE_OK) << client::last_error();
        stage.finish(result);
        return result;
    }

    // The producer puts the floats in place one by one where they have gaps.
    void ProduceRows(const Ragged &ragged, Tensors &tensors, fr_cu_stream producer)
    {
        if (ragged.layout == Ragged::Apart) {
            float first = ragged.first;
            for (size_t row = 0; row < ragged.lengths.size(); row++) {
                uint32_t length = ragged.lengths[row];
                fr_cu_device_ptr memory = Memory(length * sizeof(float) + 4, "row");
                Produce(producer, memory, length, first);
                tensors.tensors[row].data = reinterpret_cast<void *>(memory);
                first += static_cast<float>(length);
            }
            return;
        }
        uint32_t step = ragged.layout == Ragged::Strided ? 2 : 1;
        fr_cu_device_ptr memory = Memory((ragged.Floats() * step + 1) * sizeof(float), "rows");
        if (step == 1)
            Produce(producer, memory, ragged.Floats(), ragged.first);
        for (uint32_t k = 0; step > 1 && k < ragged.Floats(); k++)
            Produce(producer, memory + k * step * sizeof(float), 1,
                    ragged.first + static_cast<float>(k));
        PointInto(tensors, ragged, memory);
    }

    ovstage_enqueue_result_t WriteOnDevice(const client::Stage &stage, ovstage_query_handle_t query,
                                           uint64_t ordinal, const Ragged &ragged,
                                           fr_cu_stream producer)
    {
        MakeCurrent(ragged.place);
        ovstage_placement_t placement =
            Place(ragged.stream, ragged.with_event ? Event() : nullptr, ragged.place);
        MakeCurrent(ragged.source);
        DLDevice from = {kDLCUDA, ragged.source}, host = {kDLCPU, 0};
        bool from_host = ragged.from_host || ragged.plain;
        Tensors tensors(ragged, from_host ? host : from);
        std::vector<float> values = Values(ragged);
        if (from_host) {
            PointInto(tensors, ragged, reinterpret_cast<uintptr_t>(values.data()));
        } else {
            ProduceRows(ragged, tensors, producer);
            tensors.data.cuda_sync.stream = Handle(producer);
        }
        ovstage_enqueue_result_t result = ovstage_write_attribute_on_device(
            stage.instance, query, Name(OnDevice(stage)), ordinal, tensors.data,
            OVSTAGE_PRIM_MODE_UPSERT, ragged.plain || !ragged.placed ? nullptr : &placement);
        if (from_host && result.status == OVSTAGE_OK) { // then its rows have been read
            ovstage_op_wait_result_t outcome = {};
            EXPECT_EQ(ovstage_wait_op(stage.instance, result.op_index, client::forever, &outcome),
                      OVSTAGE_OK);
            std::fill(values.begin(), values.end(), -1.0f);
        }
        return result;
    }

    void WriteBoth(const client::Stage &stage, ovstage_query_handle_t query, uint64_t ordinal,
                   const Ragged &ragged)
    {
        WriteOnHost(stage, query, ordinal, ragged);
        MakeCurrent(ragged.source);
        ovstage_enqueue_result_t result =
            WriteOnDevice(stage, query, ordinal, ragged, Stream("producer"));
        EXPECT_EQ(result.status, OVSTAGE_OK) << client::last_error();
        stage.finish(result);
        MakeCurrent(0);
    }

    std::vector<RaggedShown> ReadGroups(const client::Stage &stage, ovstage_query_handle_t query,
                                        ovx_token_t attribute, ovstage_ordinal_range_t range,
                                        const ovstage_placement_t *placement)
    {
        std::vector<RaggedShown> groups;
        ovstage_read_handle_t read = 0;
        ovstage_enqueue_result_t result = ovstage_read_attributes_on_device(
            stage.instance, query, &attribute, 1, range, placement, &read);
        EXPECT_EQ(result.status, OVSTAGE_OK) << client::last_error();
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
        MakeCurrent(0);
        EXPECT_EQ(ReadGroups(stage, query, OnDevice(stage), range, nullptr), wanted)
            << range.start_ordinal << " to " << range.end_ordinal << ", on the host";
    }

    void ExpectSameAt(const client::Stage &stage, ovstage_query_handle_t query, uint64_t ordinal)
    {
        ExpectSame(stage, query, {0, ordinal, false});
    }

    // The rows of a group, on the host; of one on a device by a consumer that waits for the read's
    // event alone.
    RaggedShown Show(const ovstage_read_group_t &group, const ovstage_placement_t *placement)
    {
        RaggedShown shown = {group.ordinal, {}, {}};
        EXPECT_EQ(group.data.index_map, nullptr);
        EXPECT_EQ(group.is_array, !group.is_delete);
        EXPECT_EQ(group.data.tensor_count, group.is_delete ? 0 : group.prims.count);
        for (uint32_t k = 0; k < group.prims.count; k++)
            shown.positions.push_back(group.prims.index_map ? group.prims.index_map[k] : k);
        fr_cu_stream consumer = placement ? Consumer(*placement) : nullptr;
        for (uint32_t k = 0; k < group.data.tensor_count; k++)
            shown.rows.push_back(ShowRow(group.data.tensors[k], placement, consumer));
        if (consumer) {
            EXPECT_EQ(cu->cuStreamSynchronize(consumer), 0u);
        }
        return shown;
    }

  private:
    fr_cu_stream Consumer(const ovstage_placement_t &placement)
    {
        MakeCurrent(placement.device.device_id);
        fr_cu_stream consumer = Stream("consumer");
        auto event = reinterpret_cast<fr_cu_event>(placement.availability_event);
        if (event) {
            EXPECT_EQ(cu->cuStreamWaitEvent(consumer, event, 0), 0u);
        }
        return consumer;
    }

    std::vector<float> ShowRow(const DLTensor &tensor, const ovstage_placement_t *placement,
                               fr_cu_stream consumer)
    {
        std::vector<float> row(static_cast<size_t>(tensor.shape[0]));
        EXPECT_EQ(tensor.ndim, 1);
        EXPECT_EQ(tensor.strides, nullptr);
        EXPECT_EQ(tensor.device.device_type, placement ? kDLCUDA : kDLCPU);
        EXPECT_EQ(tensor.device.device_id, placement ? placement->device.device_id : 0);
        EXPECT_EQ(tensor.data == nullptr, row.empty());
        if (row.empty())
            return row;
        if (!placement) {
            std::memcpy(row.data(), tensor.data, row.size() * sizeof(float));
            return row;
        }
        EXPECT_EQ(cu->cuMemcpyDtoHAsync(row.data(), reinterpret_cast<fr_cu_device_ptr>(tensor.data),
                                        row.size() * sizeof(float), consumer),
                  0u);
        EXPECT_EQ(cu->cuStreamSynchronize(consumer), 0u);
        return row;
    }
};

#endif
