/* A store with a few prims, which the cases share. */
#ifndef FR_TESTS_SYSTEMATIC_STORE_CASES_BED_H
#define FR_TESTS_SYSTEMATIC_STORE_CASES_BED_H

#include "tests/support/store_world.h"

#define STORE_BED_PRIMS 6u

typedef struct store_bed_parts {
    fr_test_heap *heap;
    store_world *world;
    store_query *all;
} store_bed_parts;

extern store_bed_parts store_bed;
extern const uint32_t store_bed_prims[STORE_BED_PRIMS];

void store_bed_set_up(uint32_t history_versions);
void store_bed_take_down(void);
void store_bed_write(uint32_t attribute, store_query *query, uint64_t ordinal);

#endif
