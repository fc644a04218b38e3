// Arguments from bytes: payloads of any shape, names, handles, ordinals.
#include "tests/contract/fuzz_cases.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fuzz
{

#define FIXED(code, bits, lanes, semantic) \
    { \
        {code, bits, lanes}, OVSTAGE_SEMANTIC_##semantic, false \
    }
#define ARRAY(code, bits, lanes, semantic) \
    { \
        {code, bits, lanes}, OVSTAGE_SEMANTIC_##semantic, true \
    }
const Attribute attributes[] = {
    {"a", FIXED(kDLFloat, 32, 1, NONE)},
    {"b", FIXED(kDLFloat, 32, 3, POINT)},
    {"texts", ARRAY(kDLUInt, 8, 1, STRING)},
    {"numbers", ARRAY(kDLInt, 32, 1, NONE)},
    {"omni:xform", FIXED(kDLFloat, 64, 16, MATRIX)},
    {"omni:fabric:worldMatrix", FIXED(kDLFloat, 64, 16, NONE)},
    {"relationship", ARRAY(kDLUInt, 64, 1, RELATIONSHIP_PATH_ID)},
    {"connection", ARRAY(kDLUInt, 64, 2, CONNECTION_PATH_ID)},
    {"asset", FIXED(kDLUInt, 64, 2, ASSET_PATH_ID)},
    {"omni:fabric:localMatrix", FIXED(kDLFloat, 64, 16, MATRIX)},
    {"omni:resetXformStack", FIXED(kDLBool, 8, 1, NONE)},
    {"usd-prim-type", FIXED(kDLUInt, 64, 1, NONE)},
    {"usd-schemas", ARRAY(kDLUInt, 64, 1, NONE)},
    {"half", FIXED(kDLFloat, 16, 1, NONE)},
    {"wide", FIXED(kDLInt, 8, 255, NONE)},
    {"usd-path", FIXED(kDLUInt, 64, 1, NONE)},
    {"usd-parent", FIXED(kDLUInt, 64, 1, NONE)},
    {"usd-children", ARRAY(kDLUInt, 64, 1, NONE)},
    {"usd-active", FIXED(kDLBool, 8, 1, NONE)},
};
const size_t attribute_count = sizeof(attributes) / sizeof(attributes[0]);

namespace
{

constexpr int64_t half_bytes = int64_t(64) << 20;
constexpr size_t filled_bytes = 1u << 20;
constexpr int32_t most_dimensions = 70;

// What payloads lie in: readable far beyond what an allocation may have, and never written.
uint8_t *middle()
{
    static uint8_t *const from = [] {
        void *region = mmap(nullptr, 2 * half_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        demand(region != MAP_FAILED, "a region");
        uint8_t *at = static_cast<uint8_t *>(region) + half_bytes;
        uint64_t state = 88172645463325252u;
        for (size_t i = 0; i < filled_bytes; i += 8) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            // Small numbers are ids as well.
            const uint64_t word = state % 3 ? state >> 58 : state;
            std::memcpy(at + i, &word, 8);
        }
        demand(mprotect(region, 2 * half_bytes, PROT_READ) == 0, "read only");
        return at;
    }();
    return from;
}

uint64_t bytes_of(DLDataType dtype)
{
    return (uint64_t(dtype.bits) * dtype.lanes + 7) / 8;
}

// Whether what may be read of it lies in the region. Of the rows of a fixed column only those that
// are asked for; of an array all, unless there are so many that it is refused for that.
bool lies_inside(const DLTensor &tensor, bool array)
{
    double lowest = 0, highest = 0, product = 1;
    const auto size = static_cast<double>(bytes_of(tensor.dtype));
    for (int32_t k = tensor.ndim - 1; k >= 0; k--) {
        const int64_t most = array || k > 0 ? INT64_MAX : int64_t(1) << 20;
        const auto steps =
            static_cast<double>(std::max<int64_t>(1, std::min<int64_t>(tensor.shape[k], most)) - 1);
        const double step = tensor.strides ? static_cast<double>(tensor.strides[k]) : product;
        (step < 0 ? lowest : highest) += steps * step * size;
        product *= static_cast<double>(std::max<int64_t>(tensor.shape[k], 1));
    }
    if (array && product > 1e6)
        return product > 1e15;
    return lowest >= -double(half_bytes) && highest + size + 4096 <= double(half_bytes);
}

struct Managed {
    DLManagedTensorVersioned tensor;
    int64_t shape[most_dimensions], strides[most_dimensions];
    World *world;
    std::vector<uint8_t> memory;
    Work *work;
    uint32_t magic;
};
constexpr uint32_t alive = 0x600d;

void delete_managed(DLManagedTensorVersioned *self)
{
    auto *managed = static_cast<Managed *>(self->manager_ctx);
    demand(managed->magic == alive, "a deleter runs once");
    managed->magic = 0;
    if (managed->work) {
        const Bytes bytes(managed->work->bytes.data(), managed->work->bytes.size());
        Client(managed->world, bytes, 2).run();
    }
    managed->world->managed--;
    delete managed;
}

} // namespace

void forget_managed(const DLManagedTensorVersioned *tensor)
{
    auto *managed = static_cast<Managed *>(tensor->manager_ctx);
    managed->work = nullptr;
    delete_managed(&managed->tensor);
}

void Payload::spoil()
{
    for (DLTensor &tensor : tensors)
        tensor = DLTensor{nullptr, {kDLCUDA, 7}, -1, {99, 99, 99}, nullptr, nullptr, 77};
    for (auto &values : numbers)
        std::fill_n(values.get(), most_dimensions, INT64_MIN);
    std::fill(managed.begin(), managed.end(), nullptr);
    std::fill(index_map.begin(), index_map.end(), UINT32_MAX);
    std::fill(mask.begin(), mask.end(), UINT64_MAX);
}

void Client::tensor(const Schema &schema, int64_t rows, DLTensor *out, Payload *into)
{
    auto numbers = std::make_unique<int64_t[]>(most_dimensions);
    auto strides = std::make_unique<int64_t[]>(most_dimensions);
    int64_t *shape = numbers.get();
    std::fill_n(shape, most_dimensions, 1);
    shape[0] = rows;
    *out = DLTensor{middle() + 8 * bytes_.byte(), {kDLCPU, 0}, 1, schema.dtype, shape, nullptr, 0};
    if (out->dtype.lanes > 1 && bytes_.once_in(4)) {
        out->ndim = 2 + static_cast<int32_t>(bytes_.below(2));
        shape[out->ndim - 1] = out->dtype.lanes;
        out->dtype.lanes = 1;
    }
    if (bytes_.once_in(10))
        shape[bytes_.below(3)] = static_cast<int64_t>(bytes_.number());
    if (bytes_.once_in(24))
        out->ndim = static_cast<int32_t>(bytes_.number() % (most_dimensions + 3)) - 1;
    const uint32_t layout = bytes_.below(12);
    if (layout > 6) {
        int64_t product = 1;
        for (int32_t k = std::min(out->ndim, most_dimensions) - 1; k >= 0; k--) {
            strides[k] = layout == 7                      ? 0
                         : layout == 8 && bytes_.below(2) ? -product
                         : layout == 9                    ? static_cast<int64_t>(bytes_.number())
                         : layout == 10                   ? 2 * product
                                                          : product;
            product =
                static_cast<int64_t>(uint64_t(product) * uint64_t(std::max<int64_t>(shape[k], 1)));
        }
        out->strides = strides.get();
    }
    if (bytes_.once_in(16))
        out->byte_offset = bytes_.byte();
    if (bytes_.once_in(64))
        out->device = DLDevice{static_cast<DLDeviceType>(bytes_.byte() % 20), bytes_.byte()};
    if (out->ndim > most_dimensions)
        out->ndim = most_dimensions;
    if (out->ndim > 0 && !lies_inside(*out, schema.array))
        out->strides = nullptr;
    if (out->ndim > 0 && !lies_inside(*out, schema.array))
        std::fill_n(shape, most_dimensions, 1);
    if (bytes_.once_in(64))
        out->shape = nullptr;
    if (bytes_.once_in(64))
        out->data = nullptr;
    into->numbers.push_back(std::move(numbers));
    into->numbers.push_back(std::move(strides));
}

void Client::manage(const DLTensor &tensor, Payload *out)
{
    auto *made = new Managed;
    made->world = &world_;
    made->magic = alive;
    made->work =
        bytes_.once_in(4) && depth_ < 2 ? world_.keep(bytes_.piece(12), OVSTAGE_OK) : nullptr;
    std::memset(&made->tensor, 0, sizeof(made->tensor));
    made->tensor.version = {DLPACK_MAJOR_VERSION + (bytes_.once_in(64) ? 1u : 0u),
                            DLPACK_MINOR_VERSION};
    made->tensor.manager_ctx = made;
    made->tensor.deleter = delete_managed;
    made->tensor.flags = bytes_.below(3) ? DLPACK_FLAG_BITMASK_IS_COPIED : bytes_.below(8);
    made->tensor.dl_tensor = tensor;
    // The parts that the library may read until then are its own; the memory, too, where compact.
    if (tensor.shape) {
        std::copy_n(tensor.shape, most_dimensions, made->shape);
        made->tensor.dl_tensor.shape = made->shape;
    }
    if (tensor.strides) {
        std::copy_n(tensor.strides, most_dimensions, made->strides);
        made->tensor.dl_tensor.strides = made->strides;
    }
    uint64_t count = 1;
    for (int32_t k = 0; tensor.shape && k < tensor.ndim; k++)
        count = tensor.shape[k] < 0 || count > 4096
                    ? 4097
                    : count * static_cast<uint64_t>(tensor.shape[k]);
    const uint64_t size = count * bytes_of(tensor.dtype) + tensor.byte_offset;
    if (!tensor.strides && tensor.data && count <= 4096 && size <= 65536) {
        made->memory.assign(middle(), middle() + size);
        made->tensor.dl_tensor.data = made->memory.data();
    }
    world_.managed++;
    out->managed.push_back(&made->tensor);
}

// Counts, maps and masks.
void Client::rows_of(uint32_t count, Payload *out)
{
    ovstage_write_data_t *data = &out->data;
    const uint32_t how = bytes_.below(8);
    if (how < 4)
        return;
    data->count = count;
    out->index_map.resize(std::max<uint32_t>(count, 1));
    out->mask.resize(count / 64 + 2);
    if (how & 1) {
        for (uint32_t &row : out->index_map)
            row = bytes_.once_in(60) ? static_cast<uint32_t>(bytes_.number())
                                     : bytes_.below(std::max<uint32_t>(count, 1));
        data->index_map = out->index_map.data();
    }
    if (how == 6 || bytes_.once_in(40)) {
        for (uint64_t &word : out->mask)
            word = bytes_.below(4) ? bytes_.number() * UINT64_C(0x9E3779B97F4A7C15) : 0;
        data->mask = out->mask.data();
    }
    if (bytes_.once_in(30) && !data->index_map && !data->mask)
        data->count = static_cast<uint32_t>(bytes_.number());
    if (bytes_.once_in(30))
        data->count = bytes_.below(std::max<uint32_t>(count, 1));
}

void Client::payload(const Schema &schema, uint32_t count, Payload *out)
{
    std::memset(&out->data, 0, sizeof(out->data));
    ovstage_write_data_t *data = &out->data;
    data->is_array = schema.array;
    data->semantic = schema.semantic;
    rows_of(count, out);
    const uint32_t rows = data->count ? std::min<uint32_t>(data->count, 100) : count;
    uint32_t tensors = 1;
    if (schema.array && (rows < 2 || bytes_.below(3)))
        tensors = bytes_.once_in(30) ? bytes_.below(3) : std::min<uint32_t>(rows, 90);
    out->tensors.resize(std::max<uint32_t>(tensors, 1));
    for (DLTensor &made : out->tensors)
        tensor(schema,
               !schema.array  ? rows
               : tensors == 1 ? rows * bytes_.below(4)
                              : bytes_.below(bytes_.once_in(8) ? 256 : 6),
               &made, out);
    data->tensors = out->tensors.data();
    data->tensor_count = tensors;
    if (bytes_.below(4) == 1) {
        for (uint32_t i = 0; i < tensors; i++)
            manage(out->tensors[i], out);
        data->managed_tensors = out->managed.data();
        if (bytes_.below(60) != 1)
            data->tensors = nullptr;
    }
    if (bytes_.once_in(100))
        data->tensors = nullptr;
    if (bytes_.once_in(100))
        data->cuda_sync = ovstage_cuda_sync_t{bytes_.byte(), bytes_.byte()};
}

Schema Client::schema(size_t attribute)
{
    Schema made = attributes[attribute].schema;
    switch (bytes_.below(40)) {
    case 39:
        made.dtype =
            DLDataType{bytes_.byte(), bytes_.byte(), static_cast<uint16_t>(bytes_.number())};
        break;
    case 38:
        made.dtype.code = bytes_.byte() % 9;
        break;
    case 37:
        made.dtype.lanes = bytes_.byte() % 20;
        break;
    case 36:
        made.semantic = static_cast<ovstage_attribute_semantic_t>(bytes_.byte() % 18);
        break;
    case 35:
        made.array = !made.array;
        break;
    case 34:
        made.semantic = OVSTAGE_SEMANTIC_NONE;
        break;
    default:
        break;
    }
    return made;
}

uint64_t Client::handle(Kind kind)
{
    const uint32_t number = bytes_.byte();
    if (number < 240)
        return world_.handle(kind, number);
    if (number < 248)
        return world_.handle(static_cast<Kind>(bytes_.below(static_cast<uint32_t>(Kind::list))),
                             bytes_.byte());
    if (number < 252)
        return world_.handle(kind, bytes_.byte()) ^ uint64_t(1) << bytes_.below(64);
    return bytes_.number();
}

ovstage_ordinal_t Client::ordinal()
{
    const uint8_t how = bytes_.byte();
    if (how < 200)
        return base_ + how % 6;
    return how < 248 ? how % 40 : bytes_.number();
}

ovstage_timeout_ns_t Client::timeout(bool may_be_infinite)
{
    switch (bytes_.below(4)) {
    case 0:
        return may_be_infinite ? OVSTAGE_TIMEOUT_INFINITE : 0;
    case 1:
        return 0;
    case 2:
        return 1;
    default:
        return 2000;
    }
}

size_t Client::attribute()
{
    const uint32_t number = bytes_.byte();
    return number < 160 ? number % 5 : number % attribute_count;
}

ovx_token_t Client::token()
{
    return bytes_.once_in(50) ? bytes_.number() : world_.tokens[attribute()];
}

ovx_string_or_token_t Client::name(size_t attribute)
{
    switch (bytes_.below(30)) {
    case 29:
        return {bytes_.number(), text()};
    case 28:
        return {0, text()};
    case 27:
    case 26:
        return {0, {attributes[attribute].name, std::strlen(attributes[attribute].name)}};
    default:
        return {world_.tokens[attribute], {}};
    }
}

std::vector<ovx_token_t> Client::tokens()
{
    std::vector<ovx_token_t> made(bytes_.below(4) ? 1 + bytes_.below(2) : bytes_.below(6));
    for (ovx_token_t &of : made)
        of = token();
    return made;
}

std::vector<ovstage_op_id_t> Client::ops()
{
    std::vector<ovstage_op_id_t> made(bytes_.below(bytes_.once_in(8) ? 40 : 4));
    for (ovstage_op_id_t &op : made)
        op = handle(Kind::op);
    return made;
}

// Static: what is NUL-terminated and what is not.
ovx_string_t Client::text()
{
    static const char *const texts[] = {
        "/A",      "/A/B", "/L",    "/L/N", "/P",  "",     "/",    "a",     "1",
        "0",       "-1",   "1e400", "nan",  "inf", "0x10", "true", "false", "/A/../B",
        "//A//B/", "A/B",  "/\xff", "-0.0", "2.5", "Mesh", "/X/Y", " 1",    "18446744073709551616",
        "/A/",     "[1,2]"};
    const uint32_t number = bytes_.byte();
    if (number < 200) {
        const char *of = texts[number % (sizeof(texts) / sizeof(texts[0]))];
        return {of, std::strlen(of)};
    }
    if (number < 220)
        return {"a\0b", 3};
    if (number < 230)
        return {nullptr, bytes_.below(2)};
    if (number < 240) {
        static const auto *deep = [] {
            auto *made = new std::string;
            for (int i = 0; i < 300; i++)
                *made += "/n";
            return made;
        }();
        return {deep->data(), deep->size()};
    }
    // Lengths that no text has are refused before a byte is looked at.
    const uint64_t length = bytes_.once_in(8) ? UINT64_MAX - bytes_.byte() : bytes_.byte();
    return {reinterpret_cast<const char *>(middle()), length};
}

} // namespace fuzz
