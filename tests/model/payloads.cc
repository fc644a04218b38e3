#include "tests/model/payloads.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace model
{

// Rows and shape of a managed tensor: freed by its deleter.
struct PayloadTensor::Managed {
    DLManagedTensorVersioned tensor{};
    std::vector<int64_t> shape, strides;
    uint8_t *memory = nullptr;
    std::shared_ptr<Fate> fate;

    static void destroy(DLManagedTensorVersioned *self)
    {
        auto *managed = static_cast<Managed *>(self->manager_ctx);
        if (managed->fate->deleted.fetch_add(1) == 0) {
            ::operator delete[](managed->memory, std::align_val_t{64});
            auto keep = managed->fate;
            delete managed;
        }
    }
};

PayloadTensor::PayloadTensor(const EntryStep &entry, const uint8_t *from, int64_t rows,
                             int64_t columns)
{
    lay_out(entry, from, rows, columns);
}

void PayloadTensor::lie_on_device(Devices *devices, int device, fr_cu_device_ptr address)
{
    devices_ = devices;
    source_ = {address, rows_.size()};
    tensor_device_ = device;
    tensor_.data = reinterpret_cast<void *>(address);
    tensor_.device = {kDLCUDA, device};
}

void PayloadTensor::manage(const EntryStep &entry)
{
    fate = std::make_shared<Fate>();
    owned_ = new Managed;
    owned_->shape = shape_;
    owned_->strides = strides_;
    owned_->fate = fate;
    const size_t size = rows_.size() ? rows_.size() : 1;
    owned_->memory = static_cast<uint8_t *>(::operator new[](size, std::align_val_t{64}));
    if (!rows_.empty())
        std::memcpy(owned_->memory, rows_.data(), rows_.size());
    DLManagedTensorVersioned &made = owned_->tensor;
    made.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    made.manager_ctx = owned_;
    made.deleter = Managed::destroy;
    made.flags = entry.owner == Owner::managed_copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0;
    made.dl_tensor = tensor_;
    made.dl_tensor.data = devices_ ? tensor_.data : owned_->memory;
    made.dl_tensor.shape = owned_->shape.data();
    made.dl_tensor.strides = strides_.empty() ? nullptr : owned_->strides.data();
    managed = &made;
}

DLTensor &PayloadTensor::tensor()
{
    return owned_ ? owned_->tensor.dl_tensor : tensor_;
}

// Element (row, lane) of the program's payload goes to first_byte + row * row_stride + lane *
// lane_stride, in elements. Lanes of an array do not fold: an element is all of them.
void PayloadTensor::lay_out(const EntryStep &entry, const uint8_t *from, int64_t rows,
                            int64_t columns)
{
    const Schema &schema = entry.schema;
    const int64_t lanes = columns;
    const int64_t element = schema.is_array ? schema.width() : schema.bits / 8;
    int64_t row_stride = lanes, lane_stride = 1, first = 0;
    bool dims = true;
    switch (entry.layout) {
    case Layout::compact_lanes:
        dims = false;
        break;
    case Layout::compact_dims:
    case Layout::explicit_strides:
        break;
    case Layout::gaps:
        row_stride = lanes + 3;
        break;
    case Layout::backwards:
        row_stride = -lanes;
        first = rows > 0 ? (rows - 1) * lanes : 0;
        break;
    case Layout::transposed:
        row_stride = 1;
        lane_stride = rows > 0 ? rows : 1;
        break;
    case Layout::repeated:
        row_stride = 0;
        break;
    case Layout::last_layout:
        break;
    }
    const int64_t offset = entry.offset_bytes;
    const int64_t all = entry.origin.together ? rows * std::max(std::abs(row_stride), lanes)
                                              : (rows + 1) * (lanes + 3);
    rows_.assign(static_cast<size_t>(offset + all * element), 0xC3);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t l = 0; l < lanes; l++)
            std::memcpy(&rows_[static_cast<size_t>(
                            offset + (first + r * row_stride + l * lane_stride) * element)],
                        from + (r * lanes + l) * element, static_cast<size_t>(element));
    }
    shape_ = {!dims && schema.is_array ? rows * lanes : rows};
    if (dims)
        shape_.push_back(lanes);
    if (entry.layout != Layout::compact_lanes && entry.layout != Layout::compact_dims)
        strides_ = {row_stride, lane_stride};
    tensor_.data = rows_.data();
    tensor_.device = {entry.device, 0};
    tensor_.ndim = static_cast<int32_t>(shape_.size());
    tensor_.dtype = {schema.code, schema.bits,
                     static_cast<uint16_t>(dims && !schema.is_array ? 1 : schema.lanes)};
    tensor_.shape = shape_.data();
    tensor_.strides = strides_.empty() ? nullptr : strides_.data();
    tensor_.byte_offset = static_cast<uint64_t>(offset + first * element);
}

void PayloadTensor::scribble_arguments()
{
    std::fill(shape_.begin(), shape_.end(), -77);
    std::fill(strides_.begin(), strides_.end(), -77);
    tensor_ = DLTensor{};
    owned_ = nullptr;
    managed = nullptr;
}

// Of a managed one the deleter says that nobody reads it any more.
void PayloadTensor::scribble_rows(const Placing &placing)
{
    if (devices_ && source_.size > 0 && (!fate || fate->deleted > 0))
        devices_->scribble(source_, tensor_device_, fate ? Placing{} : placing);
    std::fill(rows_.begin(), rows_.end(), uint8_t{0xEE});
    rows_.clear();
    rows_.shrink_to_fit();
}

Payload::Payload(const EntryStep &entry, Devices *devices)
    : entry_(entry), devices_(devices), map_(entry.map), mask_(entry.mask)
{
    const std::vector<size_t> starts = entry.row_starts();
    const uint8_t *from = entry.payload.data();
    if (!entry.schema.is_array)
        parts_.emplace_back(entry, from, entry.rows, entry.schema.lanes);
    else if (entry.packed)
        parts_.emplace_back(entry, from, entry.rows, entry.lengths.empty() ? 0 : entry.lengths[0]);
    for (uint32_t row = 0; entry.schema.is_array && !entry.packed && row < entry.rows; row++)
        parts_.emplace_back(entry, from + starts[row], entry.lengths[row], 1);
    if (devices && entry.origin.on_device)
        put_on_device();
    for (PayloadTensor &part : parts_) {
        if (entry.owner != Owner::client)
            part.manage(entry);
    }
}

void Payload::put_on_device()
{
    const Origin &origin = entry_.origin;
    if (!origin.together) {
        for (PayloadTensor &part : parts_)
            part.lie_on_device(devices_, origin.device, devices_->give(part.rows(), origin));
        return;
    }
    Bytes all;
    for (const PayloadTensor &part : parts_)
        all.insert(all.end(), part.rows().begin(), part.rows().end());
    all.push_back(0xC3); // memory is never empty
    fr_cu_device_ptr next = devices_->give(all, origin);
    for (PayloadTensor &part : parts_) {
        part.lie_on_device(devices_, origin.device, next);
        next += part.rows().size();
    }
}

std::vector<std::shared_ptr<Fate>> Payload::fates() const
{
    std::vector<std::shared_ptr<Fate>> fates;
    for (const PayloadTensor &part : parts_)
        if (part.fate)
            fates.push_back(part.fate);
    return fates;
}

void Payload::spoil(DLTensor &tensor) const
{
    switch (entry_.defect) {
    case Defect::too_few_rows:
        tensor.shape[0]--;
        break;
    case Defect::sub_byte:
        tensor.dtype.bits = 4;
        break;
    case Defect::cuda_device:
        tensor.device = {kDLCUDA, 0};
        break;
    case Defect::unknown_device:
        tensor.device.device_type = kDLVulkan;
        break;
    case Defect::negative_shape:
        tensor.shape[0] = -1;
        break;
    case Defect::no_shape:
        tensor.shape = nullptr;
        break;
    case Defect::too_wide:
        tensor.dtype.lanes = 256;
        break;
    case Defect::role_storage: // none that demands storage has 8 lanes
        tensor.dtype.lanes = 8;
        break;
    default:
        break;
    }
}

void Payload::spoil(ovstage_write_data_t &data)
{
    // That demand storage of their own; the first ones only arrays have.
    static const ovstage_attribute_semantic_t roles[] = {OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID,
                                                         OVSTAGE_SEMANTIC_CONNECTION_PATH_ID,
                                                         OVSTAGE_SEMANTIC_STRING,
                                                         OVSTAGE_SEMANTIC_TOKEN_ID,
                                                         OVSTAGE_SEMANTIC_ASSET_PATH_ID,
                                                         OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING};
    spoil(entry_.owner == Owner::client ? tensors_[0] : parts_[0].tensor());
    switch (entry_.defect) {
    case Defect::count_above_query:
        data.count = UINT32_MAX;
        break;
    case Defect::map_without_count:
        map_.resize(1);
        data.index_map = map_.data();
        data.mask = nullptr;
        data.count = 0;
        break;
    case Defect::mask_without_count:
        mask_.resize(1);
        data.mask = mask_.data();
        data.index_map = nullptr;
        data.count = 0;
        break;
    case Defect::both_maps:
        map_.resize(1);
        mask_.resize(1);
        data.index_map = map_.data();
        data.mask = mask_.data();
        break;
    case Defect::no_tensor:
        data.tensor_count = 0;
        break;
    case Defect::both_tensors:
        data.tensors = tensors_.data();
        data.managed_tensors = pointers_.data();
        break;
    case Defect::two_tensors:
        data.tensor_count = 2;
        break;
    case Defect::role_storage:
        data.semantic = roles[entry_.rows % 6];
        break;
    case Defect::role_of_arrays:
        data.semantic = roles[entry_.rows % 3];
        break;
    case Defect::no_role:
        data.semantic = static_cast<ovstage_attribute_semantic_t>(77);
        break;
    default:
        break;
    }
}

ovstage_write_data_t Payload::data()
{
    ovstage_write_data_t data{};
    for (PayloadTensor &part : parts_) {
        tensors_.push_back(part.tensor());
        pointers_.push_back(part.managed);
    }
    if (entry_.owner != Owner::client)
        data.managed_tensors = pointers_.data();
    else
        data.tensors = tensors_.data();
    data.tensor_count = static_cast<uint32_t>(parts_.size());
    data.is_array = entry_.schema.is_array;
    data.count = entry_.count;
    data.index_map = entry_.has_map ? map_.data() : nullptr;
    data.mask = entry_.has_mask ? mask_.data() : nullptr;
    data.semantic = entry_.schema.semantic;
    if (devices_ && entry_.origin.on_device)
        data.cuda_sync = devices_->sync(entry_.origin);
    spoil(data);
    return data;
}

void Payload::scribble_arguments()
{
    std::fill(map_.begin(), map_.end(), 0xFFFFFFFFu);
    std::fill(mask_.begin(), mask_.end(), 0x5A5A5A5A5A5A5A5Aull);
    for (PayloadTensor &part : parts_)
        part.scribble_arguments();
    std::fill(tensors_.begin(), tensors_.end(), DLTensor{});
    std::fill(pointers_.begin(), pointers_.end(), nullptr);
}

void Payload::scribble_rows(const Placing &placing)
{
    for (PayloadTensor &part : parts_)
        part.scribble_rows(placing);
}

} // namespace model
