#include "tests/systematic/store_cases_bed.h"

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "tests/systematic/systematic.h"

store_bed_parts store_bed;
const uint32_t store_bed_prims[STORE_BED_PRIMS] = {1, 2, 3, 4, 5, 6};

void store_bed_set_up(uint32_t history_versions)
{
    store_world_options options = {.history_versions = history_versions};
    store_bed.heap = fr_test_heap_create();
    store_bed.world = store_world_create(store_bed.heap, &options);
    store_bed.all = store_query_create(store_bed.world, store_bed_prims, STORE_BED_PRIMS);
}

void store_bed_take_down(void)
{
    store_query_destroy(store_bed.world, store_bed.all);
    store_world_destroy(store_bed.world);
    fr_systematic_check(fr_test_heap_mistakes(store_bed.heap) == 0,
                        "memory was given back wrongly");
    fr_systematic_check(fr_test_heap_destroy(store_bed.heap) == 0, "memory was never given back");
}

void store_bed_write(uint32_t attribute, store_query *query, uint64_t ordinal)
{
    fr_systematic_check(store_write(store_bed.world, attribute, query, ordinal, attribute, NULL, 0,
                                    false) == OVSTAGE_OK,
                        "a write failed");
}
