// What clients that draw calls by a seed, over few prims and ordinals, have in common. Each
// value tells its prim and its ordinal, so whatever is read is checked. C++ only.
#ifndef FR_TESTS_SUPPORT_TOGETHER_H
#define FR_TESTS_SUPPORT_TOGETHER_H

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/arrays.h"
#include "tests/support/composer.h"
#include "tests/support/filters.h"

namespace together
{

using namespace client;

constexpr uint32_t prims = 40, kept = 6, steps = 220, code = 64;

inline double value_of(uint64_t ordinal, uint32_t prim)
{
    return static_cast<double>(ordinal * code + prim);
}

struct Shared {
    explicit Shared(uint32_t workers) : stage(workers)
    {
        for (uint32_t p = 0; p < prims; p++)
            paths.push_back("/p/" + std::to_string(p % 5) + "/" + std::to_string(p));
        for (uint32_t k = 0; k < kept; k++)
            keep.push_back("/keep/" + std::to_string(k));
        flat = stage.token("flat");
        array = stage.token("array");
        local = stage.token("omni:xform");
        world = stage.token("omni:fabric:worldMatrix");
        kind = stage.token("usd-prim-type");
        for (const char *name : {"Mesh", "Light", "Scope"})
            kinds.push_back(stage.token(name));
        all = stage.query(paths);
    }
    Stage stage;
    Paths paths, keep;
    ovx_token_t flat, array, local, world, kind;
    std::vector<ovx_token_t> kinds;
    ovstage_query_handle_t all;
    std::atomic<uint64_t> floor{1};
    std::atomic<uint32_t> fresh{0}, next_clone{0};
};

// What an accepted op did to the flat column of the prims.
struct Done {
    enum { writes, deletes, discards } what;
    uint64_t ordinal, id;
    std::set<uint32_t> which;
    bool failed = false;
};

// The ops that a client has submitted, the groups that it holds, and what it reads. To be derived
// from.
class Together
{
  public:
    Together(Shared &shared, uint64_t seed) : on(shared), stage(shared.stage), random(seed)
    {
    }

    std::vector<Done> done;

  protected:
    struct Pending {
        ovstage_op_id_t id;
        std::shared_ptr<void> payload; // lives until the op is complete
        size_t done;                   // its entry, + 1; 0: none
        bool must_work;
    };
    struct Held {
        ovstage_read_group_t group;
        double sum;
    };

    uint32_t pick(size_t below)
    {
        return static_cast<uint32_t>(random() % below);
    }
    uint64_t ordinal()
    {
        return on.floor.load() + 1 + pick(4);
    }

    // --- ops ---------------------------------------------------------------------------------
    bool took(ovstage_enqueue_result_t result, std::shared_ptr<void> payload = nullptr,
              bool must_work = false, const Done *entry = nullptr)
    {
        if (result.status != OVSTAGE_OK) {
            EXPECT_NE(result.status, OVSTAGE_ERROR_INTERNAL) << last_error();
            EXPECT_EQ(result.op_index, 0u);
            return false;
        }
        if (entry) {
            done.push_back(*entry);
            done.back().id = result.op_index;
        }
        pending.push_back(
            {result.op_index, std::move(payload), entry ? done.size() : 0, must_work});
        return true;
    }
    void settle()
    {
        Pending op = pending.front();
        pending.erase(pending.begin());
        ovstage_op_wait_result_t outcome;
        EXPECT_EQ(ovstage_wait_op(stage.instance, op.id, forever, &outcome), OVSTAGE_OK);
        bool failed = outcome.error_op_id_count > 0;
        if (failed && op.must_work)
            ADD_FAILURE() << text(ovstage_get_last_op_error(stage.instance, op.id));
        if (op.done > 0)
            done[op.done - 1].failed = failed;
        EXPECT_EQ(ovstage_release_op(stage.instance, op.id), OVSTAGE_OK);
    }

    // --- writes ------------------------------------------------------------------------------
    std::set<uint32_t> some(uint32_t one_of)
    {
        std::set<uint32_t> which{pick(prims)};
        for (uint32_t p = 0; p < prims; p++)
            if (pick(one_of) == 0)
                which.insert(p);
        return which;
    }
    Paths named_paths(const std::set<uint32_t> &which) const
    {
        Paths out;
        for (uint32_t p : which)
            out.push_back(on.paths[p]);
        return out;
    }
    static std::shared_ptr<Payload> floats(const std::set<uint32_t> &which, uint64_t at)
    {
        std::vector<float> values;
        for (uint32_t p : which)
            values.push_back(static_cast<float>(value_of(at, p)));
        return std::make_shared<Payload>(values, static_cast<int64_t>(values.size()));
    }
    void release(ovstage_query_handle_t query)
    {
        EXPECT_EQ(ovstage_release_query(stage.instance, query).status, OVSTAGE_OK);
    }
    // --- reads -------------------------------------------------------------------------------
    static double sum_of(const ovstage_read_group_t &group)
    {
        double sum = 0;
        for (uint32_t t = 0; t < group.data.tensor_count; t++) {
            const DLTensor &tensor = group.data.tensors[t];
            int64_t count = tensor.shape[0] * tensor.dtype.lanes;
            for (int64_t k = 0; k < count; k++)
                sum += tensor.dtype.bits == 32 ? static_cast<const float *>(tensor.data)[k]
                       : tensor.dtype.code == kDLFloat
                           ? static_cast<const double *>(tensor.data)[k]
                           : static_cast<double>(static_cast<const uint64_t *>(tensor.data)[k]);
        }
        return sum;
    }
    void check_value(double value, uint32_t prim, uint64_t at)
    {
        auto told = static_cast<uint64_t>(value);
        EXPECT_EQ(told % code, prim);
        EXPECT_LE(told / code, at);
        EXPECT_GE(told / code, 1u);
    }
    void check(const ovstage_read_group_t &group, const std::vector<uint32_t> &of, uint64_t at)
    {
        for (uint32_t i = 0; !group.is_delete && i < group.prims.count; i++) {
            uint32_t prim =
                of[group.prims.index_map ? group.prims.index_map[i] : group.prims.offset + i];
            if (group.attribute == on.flat) {
                check_value(static_cast<const float *>(group.data.tensors[0].data)[i], prim, at);
            } else if (group.attribute == on.array) {
                const DLTensor &row = group.data.tensors[i];
                EXPECT_EQ(row.shape[0], 1 + prim % 5);
                for (int64_t k = 0; k < row.shape[0]; k++)
                    check_value(static_cast<const double *>(row.data)[k], prim, at);
            } else if (group.attribute == on.world) {
                double x = static_cast<const double *>(group.data.tensors[0].data)[16 * i + 12];
                if (x != 0) /* no local one: the identity */
                    check_value(x, prim, at);
            }
        }
    }
    void fetch(ovstage_enqueue_result_t result, ovstage_read_handle_t handle,
               const std::vector<uint32_t> &of, uint64_t at)
    {
        if (!took(result))
            return;
        ovstage_read_group_t group;
        while (ovstage_fetch_read_next(stage.instance, handle, forever, &group) == OVSTAGE_OK) {
            check(group, of, at);
            held.push_back({group, sum_of(group)});
        }
        EXPECT_EQ(ovstage_release_read(stage.instance, handle).status, OVSTAGE_OK);
        while (held.size() > 6)
            let_go();
    }
    std::vector<ovx_token_t> columns()
    {
        std::vector<ovx_token_t> names{on.flat, on.array, on.world, on.kind,
                                       stage.token("usd-path")};
        std::shuffle(names.begin(), names.end(), random);
        names.resize(1 + pick(3));
        return names;
    }
    void read_of(bool is_range)
    {
        uint64_t floor = on.floor.load(), at = floor - std::min<uint64_t>(floor - 1, pick(4));
        std::vector<uint32_t> of;
        bool all = pick(2) == 0;
        std::set<uint32_t> which = some(4);
        for (uint32_t p = 0; p < prims; p++)
            if (all || which.count(p))
                of.push_back(p);
        ovstage_query_handle_t query = all ? on.all : stage.query(named_paths(which));
        std::vector<ovx_token_t> names = columns();
        ovstage_read_handle_t handle = 0;
        ovstage_ordinal_range_t range{at > 3 ? at - pick(3) : at, at, is_range};
        auto result = ovstage_read_attributes(stage.instance, query, names.data(), names.size(),
                                              range, &handle);
        fetch(result, handle, of, at);
        if (!all)
            release(query);
    }
    void read()
    {
        read_of(false);
    }
    void range()
    {
        read_of(true);
    }
    void give_back(const Held &group)
    {
        EXPECT_EQ(sum_of(group.group), group.sum) << "a held group changed";
        EXPECT_EQ(ovstage_release_group(stage.instance, &group.group), OVSTAGE_OK);
    }
    void let_go()
    {
        if (held.empty())
            return;
        size_t which = pick(held.size());
        give_back(held[which]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    void settle_all()
    {
        while (!pending.empty())
            settle();
    }

    Shared &on;
    const Stage &stage;
    std::mt19937_64 random;
    std::vector<Pending> pending;
    std::vector<Held> held;
};

} // namespace together

#endif
