/* What the bodies for the graph share: a graph, threads that submit to it and wait, and ops that
 * check what every case must hold. One case runs at a time. */
#ifndef FR_TESTS_SYSTEMATIC_GRAPH_CASES_BED_H
#define FR_TESTS_SYSTEMATIC_GRAPH_CASES_BED_H

#include "scheduler/graph.h"
#include "tests/systematic/graph_cases.h"

#define THREADS_MAX 4u
#define OPS_MAX 16u
#define ALL (THREADS_MAX * OPS_MAX)

extern fr_pool *pool;
extern fr_graph *graph;
extern graph_shape shape;
extern _Atomic uint32_t ran_count;
extern _Atomic uint64_t ids[THREADS_MAX][OPS_MAX];
/* Belong to the ops of an ordinal, which run one at a time. */
extern uint64_t lane_count[ALL];
extern bool lane_sealed[ALL];

typedef struct case_op {
    void (*run)(fr_op *op, struct case_op *self);
    uint64_t ordinal, awaited, producer;
    bool is_split;
    uint32_t job;
} case_op;

/* The type of ops that are a case_op, and what it runs. */
extern const fr_op_type op_type;
fr_run_result run(fr_op *op, const fr_run_context *context);

uint64_t submit_as(const fr_op_type *type, fr_submission *submission, case_op payload);
uint64_t submit_at(uint64_t ordinal, case_op payload);
/* What the thread waits for: the highest id, 0 for what lets it run anything. Of a chain no other
 * op has a higher one. Returns what it was. */
uint64_t set_awaited(uint64_t id);
fr_wait_outcome wait_until(uint64_t id);
void wait_for(uint64_t id);
void check_ok(const fr_wait_outcome *outcome);
/* A condition. */
bool has_no_work(void *unused);

void set_up(const graph_shape *wanted);
uint64_t take_down(void);
void run_threads(void (*body)(uint32_t thread));
/* All of a case; `ran`: how many ops must have run, UINT32_MAX for any number. */
void run_case(const void *wanted, void (*body)(uint32_t thread), uint32_t ran);

#endif
