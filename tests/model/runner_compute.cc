#include <algorithm>

#include "tests/model/runner_parts.h"

namespace model
{

namespace
{

// Mostly one that works everywhere.
const int models[] = {
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL,
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT,
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_INCREMENTAL,
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_GLOBAL,
    OVSTAGE_HIERARCHY_COMPUTATION_MODEL_INVALID,
    77,
};

int model_of(const Step &step)
{
    const uint32_t kind = step.pick % 100;
    return models[kind < 94 ? kind % 2 : kind - 94];
}

} // namespace

bool needs_a_gpu(const Step &compute)
{
    return model_of(compute) == OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_INCREMENTAL ||
           model_of(compute) == OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_GLOBAL;
}

bool has_no_model(const Step &compute)
{
    return model_of(compute) == OVSTAGE_HIERARCHY_COMPUTATION_MODEL_INVALID ||
           model_of(compute) > OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT;
}

ovstage_enqueue_result_t Client::compute(const Step &step, Ordinal input) const
{
    return ovstage_compute_hierarchy(
        instance, static_cast<ovstage_hierarchy_computation_model_id_t>(model_of(step)), input,
        step.ordinal);
}

std::vector<int> Client::chain_of(int prim) const
{
    std::vector<int> chain;
    std::string text = path_texts[static_cast<size_t>(prim)];
    for (; !text.empty(); text = parent_text(text)) {
        const int there = find_prim(text);
        if (there >= 0)
            chain.push_back(there);
    }
    return chain;
}

// What reads see of a computation that is not complete is not said anywhere: who reads world
// transforms waits for those that were accepted before.
void Runner::wait_computed(const std::vector<int> &asked)
{
    for (int name : asked) {
        for (size_t k = 0; names[name].attribute == world_attribute && k < ops_.size(); k++) {
            if (ops_[k]->is_derived)
                wait(*ops_[k]);
        }
    }
}

void Runner::compute(const Step &step)
{
    const auto asks = [](const Read &read) {
        const std::vector<int> &asked = read.expectation.names;
        return std::find(asked.begin(), asked.end(), world_name) != asked.end();
    };
    for (Read &read : reads_) {
        if (asks(read))
            finish(read);
    }
    reads_.erase(std::remove_if(reads_.begin(), reads_.end(), asks), reads_.end());
    // Above a floor the input is what has run by then: that is known when all has.
    Ordinal input = step.start;
    if (!quiet_)
        input = std::min({input, model_.floor(local_attribute), model_.floor(reset_attribute)});
    const Settings &settings = program_.settings;
    const Computed computed = model::compute(
        model_, [&](int prim) { return client_.chain_of(prim); }, input, step.ordinal,
        settings.history_bytes ? settings.history_versions : 0);
    const bool is_known = !computed.may_fail && input <= model_.floor(local_attribute) &&
                          input <= model_.floor(reset_attribute);
    const ovstage_enqueue_result_t result = client_.compute(step, input);
    if (is_full(result.status))
        return;
    if (has_no_model(step)) {
        if (result.status != OVSTAGE_ERROR_INVALID_ARGUMENT || result.op_index != 0 ||
            last_error().empty())
            fail("a computation by no model: ", result.status, " (", last_error(), ")");
        return;
    }
    Op &op = accepted(result, needs_a_gpu(step) || computed.must_fail);
    op.is_derived = true;
    op.may_fail = !op.fails && computed.may_fail;
    const bool was_quiet = quiet_;
    if (!is_known) {
        wait(op);
        quiet_ = was_quiet;
    }
    if (!op.fails)
        model_.accept_derived(world_attribute, computed.rows, step.ordinal, op.number);
}

} // namespace model
