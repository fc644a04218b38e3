#include "tests/model/compose.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace model
{

namespace
{

using Matrix = std::array<double, 16>;

const Matrix identity = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
const Schema matrix_schema = {kDLFloat, 64, 16};
const Schema flag_schema = {kDLBool, 8, 1};

// Row-major, with row vectors.
Matrix multiply(const Matrix &a, const Matrix &b)
{
    Matrix product;
    for (size_t row = 0; row < 4; row++) {
        for (size_t column = 0; column < 4; column++) {
            double sum = a[4 * row] * b[column];
            for (size_t k = 1; k < 4; k++)
                sum += a[4 * row + k] * b[4 * k + column];
            product[4 * row + column] = sum;
        }
    }
    return product;
}

struct Input {
    const Model &model;
    Ordinal ordinal;

    std::optional<Value> at(int attribute, int prim) const
    {
        return model.at(attribute, prim, std::min(ordinal, model.floor(attribute)));
    }
    bool resets(int prim) const
    {
        const auto value = at(reset_attribute, prim);
        return value && value->schema.same_storage(flag_schema) && value->bytes[0] != 0;
    }
    // Of a chain from below, as far as the world transform of its first follows from it.
    std::vector<int> needed(const std::vector<int> &chain) const
    {
        const auto reset =
            std::find_if(chain.begin(), chain.end(), [&](int prim) { return resets(prim); });
        return {chain.begin(), reset == chain.end() ? reset : reset + 1};
    }
    // Nothing above the topmost local counts, and nothing is multiplied with it.
    Matrix world(const std::vector<int> &chain) const
    {
        std::optional<Matrix> world;
        const std::vector<int> prims = needed(chain);
        for (auto prim = prims.rbegin(); prim != prims.rend(); ++prim) {
            const auto value = at(local_attribute, *prim);
            if (!value)
                continue;
            Matrix local;
            std::memcpy(local.data(), value->bytes.data(), sizeof(local));
            world = world ? multiply(local, *world) : local;
        }
        return world.value_or(identity);
    }
    // One of the prims has another type, or a change that is not sealed.
    bool is_unfit(const std::vector<int> &prims, bool all) const
    {
        return std::any_of(prims.begin(), prims.end(), [&](int prim) {
            const auto is_other = [&](int attribute, const Schema &schema) {
                const auto value = at(attribute, prim);
                return (value && !value->schema.same_storage(schema)) ||
                       !model.changes(attribute, prim, model.floor(attribute), ordinal, all)
                            .empty();
            };
            return is_other(local_attribute, matrix_schema) ||
                   is_other(reset_attribute, flag_schema);
        });
    }
};

// A world transform that is there at the output, or was sealed, has another type.
bool is_of_another_type(const Model &model, int prim, Ordinal ordinal)
{
    const auto value = model.at(world_attribute, prim, ordinal);
    return value && !value->schema.same_storage(matrix_schema);
}

} // namespace

Computed compute(const Model &model, const Chain &chain, Ordinal input_ordinal, Ordinal output,
                 uint32_t versions)
{
    Computed computed;
    const Input input = {model, input_ordinal};
    const Ordinal floor = model.floor(world_attribute), sealed = std::min(output, floor);
    // What is derived at a sealed ordinal needs the state of all rows that lie together.
    computed.may_fail = model.moments_above(world_attribute, sealed) > versions;
    for (int prim : model.prims_ever(world_attribute)) {
        const std::vector<int> prims = chain(prim);
        const auto there = model.at(world_attribute, prim, output);
        const auto is_kept = [&](int attribute, Ordinal ordinal) {
            return model.kept_for_sure(attribute, prims, std::nullopt, ordinal, versions,
                                       model.floor(attribute));
        };
        computed.may_fail |=
            input.is_unfit(prims, true) || is_of_another_type(model, prim, sealed) ||
            is_of_another_type(model, prim, output) || !is_kept(local_attribute, input_ordinal) ||
            !is_kept(reset_attribute, input_ordinal) || !is_kept(world_attribute, sealed);
        if (!there)
            continue;
        if (input.is_unfit(input.needed(prims), false) || is_of_another_type(model, prim, output)) {
            computed.must_fail = true;
            continue;
        }
        const Matrix world = input.world(prims);
        const auto *first = reinterpret_cast<const uint8_t *>(world.data());
        const Bytes bytes(first, first + sizeof(world));
        // What is not sealed is written in any case.
        if (there->ordinal > floor || there->bytes != bytes)
            computed.rows[prim] = bytes;
    }
    return computed;
}

} // namespace model
