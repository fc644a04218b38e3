// A C++ program outside the tree: what it prints last is what the test looks for.
#include <dlpack/dlpack.h>
#include <flyrail/flyrail.h>
#include <ovx/path_dictionary/path_dictionary.h>

#include <cstdio>

int main()
{
    float values[3] = {1, 2, 3};
    int64_t shape[1] = {1};
    DLTensor tensor{values, {kDLCPU, 0}, 1, {kDLFloat, 32, 3}, shape, nullptr, 0};
    if (tensor.dtype.lanes != 3)
        return 1;

    flyrail_config_t config{};
    config.struct_size = sizeof config;
    if (flyrail_get_default_config(&config) != OVSTAGE_OK)
        return 2;
    config.worker_count = 1;
    config.own_pool = true;
    ovstage_instance_t *stage = nullptr;
    if (flyrail_create_instance(nullptr, &config, &stage) != OVSTAGE_OK)
        return 3;

    path_dictionary_instance_t *dictionary = ovstage_get_path_dictionary(stage);
    if (dictionary == nullptr)
        return 4;
    ovstage_write_floor_desc_t moment{};
    moment.ordinal = 1;
    ovstage_enqueue_result_t seal = ovstage_advance_write_floor(stage, &moment);
    ovstage_op_wait_result_t waited{};
    if (seal.status != OVSTAGE_OK ||
        ovstage_wait_op(stage, seal.op_index, OVSTAGE_TIMEOUT_INFINITE, &waited) != OVSTAGE_OK)
        return 5;
    if (ovstage_destroy_instance(stage) != OVSTAGE_OK)
        return 6;
    std::printf("flyrail %s works\n", flyrail_version_string());
    return 0;
}
