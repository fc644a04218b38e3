/* What weeks leave behind: bytes for each ordinal, by the kind of column that is written. */

#include "bench/process.h"
#include "bench/stage.h"

enum { FLAT_ROWS = 256, FLAT_FEW = 8, FLAT_SOME = 5 };

typedef struct flat_state {
    const bench_options *options;
    bench_stage stage;
    ovx_token_t attribute;
    ovstage_query_handle_t all, few;
    ovstage_query_handle_t some[FLAT_ROWS]; /* prims next to each other, from each on */
    uint32_t random;
    float rows[FLAT_ROWS][3];
    bench_payload payload, few_payload, some_payload;
    managed_tensors managed;
    ovstage_read_group_t leaked;
    double by_statistics; /* the other way of counting in the same round */
} flat_state;

static void *open_flat(const bench_options *options)
{
    flat_state *self = bench_allocate(sizeof(*self));
    self->options = options;
    payload_set(&self->payload, self->rows, FLAT_ROWS, stage_float3);
    payload_set(&self->few_payload, self->rows, FLAT_FEW, stage_float3);
    payload_set(&self->some_payload, self->rows, FLAT_SOME, stage_float3);
    return self;
}

static void close_flat(void *state)
{
    bench_free(state);
}

static void begin(flat_state *self)
{
    stage_open(&self->stage, self->options->worker_count, true);
    self->attribute = stage_token(&self->stage, "bench:value");
    ovx_primpath_t *paths = stage_paths(&self->stage, "/Flat/P", 0, FLAT_ROWS + FLAT_SOME);
    self->all = stage_query(&self->stage, paths, FLAT_ROWS);
    self->few = stage_query(&self->stage, paths, FLAT_FEW);
    self->random = 1;
    for (uint32_t k = 0; k < FLAT_ROWS; k++)
        self->some[k] = stage_query(&self->stage, paths + k, FLAT_SOME);
    bench_free(paths);
}

static void end(flat_state *self)
{
    stage_release_query(&self->stage, self->all);
    stage_release_query(&self->stage, self->few);
    for (uint32_t k = 0; k < FLAT_ROWS; k++)
        stage_release_query(&self->stage, self->some[k]);
    stage_close(&self->stage);
}

/* ---- one more ordinal ---- */
typedef void flat_step(flat_state *self);

static void write_all(flat_state *self)
{
    stage_publish(&self->stage, self->all, self->attribute, &self->payload);
}

/* The first time all, so that there is something that they are few of. */
static void write_few(flat_state *self)
{
    bool is_first = self->stage.ordinal == 0;
    stage_publish(&self->stage, is_first ? self->all : self->few, self->attribute,
                  is_first ? &self->payload : &self->few_payload);
}

/* Three elements a row. */
static void write_arrays(flat_state *self)
{
    bench_payload packed;
    payload_set(&packed, self->rows, (size_t)FLAT_ROWS * 3, stage_float1);
    packed.data.is_array = true;
    stage_publish(&self->stage, self->all, self->attribute, &packed);
}

static void write_adopted(flat_state *self)
{
    const struct DLManagedTensorVersioned *tensor =
        managed_take(&self->managed, self->rows, FLAT_ROWS, stage_float3);
    bench_payload payload = {
        .data = {.managed_tensors = &tensor, .tensor_count = 1, .semantic = OVSTAGE_SEMANTIC_NONE}};
    stage_publish(&self->stage, self->all, self->attribute, &payload);
}

/* Held from the first ordinal on. */
static void write_beside_leaked_group(flat_state *self)
{
    write_all(self);
    if (self->stage.ordinal == 1)
        self->leaked = stage_hold(&self->stage, self->all, self->attribute, 1);
}

static void delete_prims(flat_state *self, ovstage_query_handle_t prims)
{
    bench_stage *stage = &self->stage;
    ovstage_op_id_t deletion =
        stage_take(ovstage_delete_attributes(stage->instance, prims, NULL, 0, ++stage->ordinal),
                   "delete_attributes");
    stage_finish(stage, stage_seal(stage, stage->ordinal));
    stage_release(stage, deletion);
}

/* Prims are made, sealed, drained by a reader of changes, deleted, sealed. */
static void make_and_delete(flat_state *self)
{
    bench_stage *stage = &self->stage;
    write_all(self);
    ovstage_ordinal_range_t newest = {stage->ordinal, stage->ordinal, true};
    ovstage_read_group_t group = stage_hold_range(stage, self->all, self->attribute, newest);
    stage_let_go(stage, &group);
    delete_prims(self, self->all);
}

/* A few that others overlap, by chance. */
static void make_or_delete_some(flat_state *self)
{
    self->random = self->random * 1664525u + 1013904223u;
    ovstage_query_handle_t some = self->some[(self->random >> 8) % FLAT_ROWS];
    if (self->random >> 31)
        stage_publish(&self->stage, some, self->attribute, &self->some_payload);
    else
        delete_prims(self, some);
}

typedef struct flat_kind {
    flat_step *step;
    uint32_t count; /* of steps that are measured; half as many first, so that all is as large as it
                       gets */
} flat_kind;

enum { ALL, FEW, ARRAYS, ADOPTED, LEAKED, SOME, STATISTICS, PRIMS };

static const flat_kind kinds[] = {
    [ALL] = {write_all, 100000},
    [FEW] = {write_few, 100000},
    [ARRAYS] = {write_arrays, 100000},
    [ADOPTED] = {write_adopted, 100000},
    [PRIMS] = {make_and_delete, 10000},
    [LEAKED] = {write_beside_leaked_group, 100000},
    [SOME] = {make_or_delete_some, 100000},
};

static double counted_bytes(flat_state *self)
{
    flyrail_statistics_t now = stage_statistics(&self->stage);
    return (double)(now.payload_bytes + now.table_bytes + now.op_bytes);
}

static double measure_flat(void *state, int variant)
{
    flat_state *self = state;
    if (variant == STATISTICS)
        return self->by_statistics;
    const flat_kind *kind = &kinds[variant];
    uint32_t count = self->options->quick ? kind->count / 10 : kind->count;
    begin(self);
    for (uint32_t i = 0; i < count / 2; i++)
        kind->step(self);
    process_trim();
    double resident = (double)process_resident_bytes(), counted = counted_bytes(self);
    for (uint32_t i = 0; i < count; i++)
        kind->step(self);
    process_trim();
    double figure = ((double)process_resident_bytes() - resident) / count;
    if (variant == ALL)
        self->by_statistics = (counted_bytes(self) - counted) / count;
    if (variant == LEAKED)
        stage_let_go(&self->stage, &self->leaked);
    end(self);
    return figure;
}

static const bench_row rows[] = {
    {
        .name = "flat",
        .what = "bytes that each of 10^5 ordinals leaves behind, after half as many",
        .unit = "B/ordinal",
        .open = open_flat,
        .close = close_flat,
        .contenders = {BENCH_OURS("all rows", measure_flat, ALL),
                       BENCH_OURS("the same by flyrail_statistics", measure_flat, STATISTICS),
                       BENCH_OURS("a few rows", measure_flat, FEW),
                       BENCH_OURS("arrays", measure_flat, ARRAYS),
                       BENCH_OURS("tensors taken over", measure_flat, ADOPTED),
                       BENCH_OURS("all rows, a group never released", measure_flat, LEAKED),
                       BENCH_OURS("prims made and deleted that overlap", measure_flat, SOME)},
        .goals = {{BENCH_AT_MOST, 0, 0, 1, false},
                  {BENCH_AT_MOST, 2, 0, 1, false},
                  {BENCH_AT_MOST, 3, 0, 1, false},
                  {BENCH_AT_MOST, 4, 0, 1, false},
                  {BENCH_AT_MOST, 5, 0, 1, false},
                  {BENCH_AT_MOST, 6, 0, 1, false}},
        .most_rounds = 1,
    },
    {
        .name = "flat-prims",
        .what =
            "bytes that making, sealing, draining, deleting and sealing 256 prims leaves behind",
        .unit = "B/cycle",
        .open = open_flat,
        .close = close_flat,
        .contenders = {BENCH_OURS("resident", measure_flat, PRIMS)},
        .goals = {{BENCH_AT_MOST, 0, 0, 10, false}},
        .most_rounds = 1,
    },
};

const bench_theme bench_theme_flat = {"flat", rows, sizeof(rows) / sizeof(rows[0])};
