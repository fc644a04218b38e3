/* The models by which world transforms are composed (R155). */
#include <ovstage/ovstage.h>

#include "runtime/api/stage.h"

#define FR_TEXT(literal) \
    { \
        (literal), sizeof(literal) - 1 \
    }

static const ovstage_hierarchy_computation_model_desc_t fr_models[] = {
    {OVSTAGE_HIERARCHY_COMPUTATION_MODEL_CPU_INCREMENTAL, FR_TEXT("cpu-incremental"),
     FR_TEXT("On the CPU: what lies below locals that moved since the last time")},
    {OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_INCREMENTAL, FR_TEXT("gpu-incremental"),
     FR_TEXT("On a GPU, which this library does not use: what lies below locals that moved")},
    {OVSTAGE_HIERARCHY_COMPUTATION_MODEL_GPU_GLOBAL, FR_TEXT("gpu-global"),
     FR_TEXT("On a GPU, which this library does not use: everything each time")},
    {OVSTAGE_HIERARCHY_COMPUTATION_MODEL_RUNTIME_DEFAULT, FR_TEXT("runtime-default"),
     FR_TEXT("The model that ovstage_initialize set when the instance was made")},
};

ovstage_api_status_t ovstage_get_hierarchy_computation_models(
    ovstage_instance_t *instance, const ovstage_hierarchy_computation_model_desc_t **out,
    size_t *out_count)
{
    if (out)
        *out = NULL;
    if (out_count)
        *out_count = 0;
    ovstage_api_status_t status = fr_stage_enter(fr_stage_of(instance));
    if (status != OVSTAGE_OK)
        return status;
    if (!out || !out_count)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT, "%s is NULL",
                            out ? "out_count" : "out");
    *out = fr_models;
    *out_count = sizeof(fr_models) / sizeof(fr_models[0]);
    return OVSTAGE_OK;
}
