/* A store on its own, with queries and floor records of its own making: what the tests of the store
 * share. Values are rows of four words: ordinal, prim, value, and a check over the three, so that
 * every row tells whether it is whole and whose it is.
 *
 * Threads: as the store's; store_world_seal and the creation of queries by one thread at a time. */
#ifndef FR_TESTS_SUPPORT_STORE_WORLD_H
#define FR_TESTS_SUPPORT_STORE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct store_world store_world;
typedef struct store_query store_query;
typedef struct store_group store_group;

typedef struct store_world_options {
    uint32_t history_versions;
    uint64_t history_limit_bytes, cache_limit_bytes; /* 0: much */
} store_world_options;

typedef struct store_row {
    uint32_t ordinal, prim, value, check;
} store_row;

typedef struct store_figures {
    uint64_t in_place, with_spare, with_copy, replaced, gathers, gather_hits, history_drops;
    uint64_t versions_open, versions_sealed, pins, pending_bytes, history_bytes, membership_bytes,
        cache_bytes;
    uint64_t keys, segments, table_bytes, payload_bytes, seal_steps;
} store_figures;

/* NULL without memory. */
store_world *store_world_create(fr_test_heap *heap, const store_world_options *options);
void store_world_destroy(store_world *world);
/* NULL without memory. The prims are copied. */
store_query *store_query_create(store_world *world, const uint32_t *prims, uint32_t count);
void store_query_destroy(store_world *world, store_query *query);

store_row store_row_make(uint32_t ordinal, uint32_t prim, uint32_t value);
bool store_row_is_whole(const store_row *row);

/* Each position gets store_row_make(ordinal, prim, value). mask: bit k of word k / 64; NULL: all.
 * schema 0 is the usual one, 1 another of the same size; judged: as a write that must be. An
 * ovstage_api_status_t. */
int store_write(store_world *world, uint32_t attribute, store_query *query, uint64_t ordinal,
                uint32_t value, const uint64_t *mask, int schema, bool judged);
/* The same of rows of schema 0 that are there at an ordinal that is sealed. */
int store_derive(store_world *world, uint32_t attribute, store_query *query, uint64_t ordinal,
                 uint32_t value);
/* Hands the store a tensor of its own to adopt; *deleted goes up when it is deleted, and whether it
 * was as it had been. */
int store_write_adopted(store_world *world, uint32_t attribute, store_query *query,
                        uint64_t ordinal, uint32_t value, int *deleted, int *changed);
/* An op that is accepted now, for store_run, and gets its id. judged: by schemas, when it runs. */
typedef struct store_op {
    uint64_t id, ordinal;
    uint32_t attribute; /* STORE_WHOLE_PRIMS: of a delete, all */
    store_query *query;
    uint32_t value;
    int schema;
    bool deletes, inserts, judged;
} store_op;
#define STORE_WHOLE_PRIMS UINT32_MAX
void store_accept(store_world *world, store_op *op);
/* Whether a prim is there at an ordinal by all that has run. */
bool store_exists(store_world *world, uint32_t prim, uint64_t ordinal);
/* Once, those of one ordinal in the order accepted. An ovstage_api_status_t. */
int store_run(store_world *world, const store_op *op);
/* All attributes; false: no memory for the record, nothing happened. */
bool store_world_seal(store_world *world, uint64_t ordinal);
/* One attribute only. */
bool store_world_seal_one(store_world *world, uint32_t attribute, uint64_t ordinal);
uint64_t store_world_floor(const store_world *world);

/* A read by the newest record, made readable. *group NULL unless OK. */
int store_read(store_world *world, uint32_t attribute, store_query *query, uint64_t ordinal,
               store_group **group);
/* The row of a position, or NULL: absent. Groups of all columns are looked through. */
const store_row *store_group_row(const store_group *group, uint32_t position);
uint32_t store_group_parts(const store_group *group);
/* The newest ordinal that it tells, over all parts. */
uint64_t store_group_ordinal(const store_group *group);
void store_group_release(store_world *world, store_group *group);

void store_world_figures(const store_world *world, store_figures *out);
void store_world_hold_moment(store_world *world, uint64_t ordinal);
void store_world_release_moment(store_world *world, uint64_t ordinal);

#ifdef __cplusplus
}
#endif

#endif
