#include "bench/user_shape.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_clock.h"
#include "bench/process.h"
#include "bench/stage.h"

typedef enum workload {
    WORKLOAD_FULL,     /* every attribute of all prims at each ordinal */
    WORKLOAD_SUBSET,   /* every attribute of a 200th of the prims at each ordinal */
    WORKLOAD_ROWS,     /* every attribute of one prim at each ordinal */
    WORKLOAD_EXCHANGE, /* as full, each ordinal waited for, sealed, and read back */
    WORKLOAD_TASKS,    /* as many empty free tasks as there are attributes */
    WORKLOAD_COUNT,
} workload;

const char user_workloads[] = "full, subset, rows, exchange, tasks";
static const char *const workload_names[WORKLOAD_COUNT] = {"full", "subset", "rows", "exchange",
                                                           "tasks"};

enum { SUBSETS = 8, TIME_BUCKETS = 64 * 8 };

/* Ordinals are handed out in order, but their producers submit at the same time: only those below
 * which all have been submitted may be sealed. */
typedef struct ordinal_book {
    pthread_mutex_t mutex;
    ovstage_ordinal_t given;       /* handed out up to */
    ovstage_ordinal_t *submitting; /* what each producer is submitting; UINT64_MAX: nothing */
    uint32_t producer_count;
} ordinal_book;

typedef struct shape_run {
    user_shape shape;
    workload workload;
    bench_stage stage;
    ovx_token_t *attributes;
    ordinal_book book;
    uint64_t end_ns;
} shape_run;

typedef struct ops_in_flight {
    ovstage_op_id_t *ops; /* attribute_count of them; 0: slot not in use */
} ops_in_flight;

typedef struct producer {
    shape_run *run;
    uint32_t index;
    pthread_t thread;
    ovstage_query_handle_t whole, subsets[SUBSETS];
    bench_payload payload; /* of what one write covers */
    char *rows;
    ops_in_flight *slots; /* ordinals_ahead of them */
    uint64_t ordinals, ops;
    uint64_t times[TIME_BUCKETS]; /* of the submitting calls, by eighths of a power of two, in ns */
} producer;

bool user_workload_known(const char *name)
{
    for (int i = 0; i < WORKLOAD_COUNT; i++)
        if (strcmp(name, workload_names[i]) == 0)
            return true;
    return false;
}

/* ---- ordinals ---- */
static ovstage_ordinal_t next_ordinal(ordinal_book *book, uint32_t index)
{
    pthread_mutex_lock(&book->mutex);
    ovstage_ordinal_t ordinal = book->submitting[index] = ++book->given;
    pthread_mutex_unlock(&book->mutex);
    return ordinal;
}

/* Gives the ordinal that may be sealed now. */
static ovstage_ordinal_t note_submitted(ordinal_book *book, uint32_t index)
{
    pthread_mutex_lock(&book->mutex);
    book->submitting[index] = UINT64_MAX;
    ovstage_ordinal_t sealable = book->given;
    for (uint32_t i = 0; i < book->producer_count; i++)
        if (book->submitting[i] <= sealable)
            sealable = book->submitting[i] - 1;
    pthread_mutex_unlock(&book->mutex);
    return sealable;
}

/* ---- times ---- */
static void note_time(producer *self, uint64_t ticks)
{
    double ns = (double)(ticks - clock_ticks_overhead()) / clock_ticks_per_ns();
    int bucket = ns < 1 ? 0 : (int)(log2(ns) * 8);
    self->times[bucket < TIME_BUCKETS ? bucket : TIME_BUCKETS - 1]++;
}

static double time_percentile(const uint64_t *times, double part)
{
    uint64_t all = 0, below = 0;
    for (int i = 0; i < TIME_BUCKETS; i++)
        all += times[i];
    for (int i = 0; i < TIME_BUCKETS; i++) {
        below += times[i];
        if ((double)below >= (double)all * part)
            return exp2((i + 0.5) / 8);
    }
    return NAN;
}

/* ---- one ordinal ---- */
static void retire(producer *self, ops_in_flight *slot)
{
    uint32_t count = self->run->shape.attribute_count;
    if (slot->ops[0] == OVSTAGE_INVALID_OP_ID)
        return;
    stage_wait_all(&self->run->stage, slot->ops, count);
    stage_release_all(&self->run->stage, slot->ops, count);
    slot->ops[0] = OVSTAGE_INVALID_OP_ID;
}

static void submit(producer *self, ops_in_flight *slot, ovstage_ordinal_t ordinal)
{
    shape_run *run = self->run;
    ovstage_query_handle_t query = self->whole;
    if (run->workload == WORKLOAD_SUBSET || run->workload == WORKLOAD_ROWS)
        query = self->subsets[self->ordinals % SUBSETS];
    for (uint32_t i = 0; i < run->shape.attribute_count; i++) {
        uint64_t start = clock_ticks();
        if (run->workload == WORKLOAD_TASKS)
            slot->ops[i] = stage_task(&run->stage, NULL, NULL);
        else
            slot->ops[i] =
                stage_write(&run->stage, query, run->attributes[i], ordinal, &self->payload);
        note_time(self, clock_ticks() - start);
    }
    self->ops += run->shape.attribute_count;
    self->ordinals++;
}

/* Up to the caller's ordinal everything is sealed once all other producers have submitted theirs.
 */
static void read_back(producer *self, ovstage_ordinal_t ordinal)
{
    shape_run *run = self->run;
    if (flyrail_wait_floor(run->stage.instance, OVX_INVALID_TOKEN, ordinal,
                           OVSTAGE_TIMEOUT_INFINITE) != OVSTAGE_OK)
        bench_die("wait_floor failed");
    for (uint32_t i = 0; i < run->shape.attribute_count; i++) {
        ovstage_read_group_t group =
            stage_hold(&run->stage, self->whole, run->attributes[i], ordinal);
        stage_let_go(&run->stage, &group);
    }
}

static void *run_producer(void *argument)
{
    producer *self = argument;
    shape_run *run = self->run;
    while (clock_ns() < run->end_ns) {
        ops_in_flight *slot = &self->slots[self->ordinals % run->shape.ordinals_ahead];
        retire(self, slot);
        ovstage_ordinal_t ordinal = next_ordinal(&run->book, self->index);
        submit(self, slot, ordinal);
        ovstage_ordinal_t sealable = note_submitted(&run->book, self->index);
        stage_release(&run->stage, stage_seal(&run->stage, sealable)); /* lower: nothing happens */
        if (run->workload == WORKLOAD_EXCHANGE)
            read_back(self, ordinal);
    }
    for (uint32_t i = 0; i < run->shape.ordinals_ahead; i++)
        retire(self, &self->slots[i]);
    return NULL;
}

/* ---- set-up ---- */
static void open_producer(producer *self, shape_run *run, uint32_t index)
{
    const user_shape *shape = &run->shape;
    uint32_t part = run->workload == WORKLOAD_ROWS ? 1 : (shape->prim_count + 199) / 200;
    char prefix[48];
    snprintf(prefix, sizeof(prefix), "/Shape/Producer%u/P", index);
    self->run = run;
    self->index = index;
    self->rows = bench_allocate((size_t)shape->prim_count * 12);
    self->slots = bench_allocate(shape->ordinals_ahead * sizeof(*self->slots));
    for (uint32_t i = 0; i < shape->ordinals_ahead; i++)
        self->slots[i].ops = bench_allocate(shape->attribute_count * sizeof(ovstage_op_id_t));
    ovx_primpath_t *paths = stage_paths(&run->stage, prefix, 0, shape->prim_count);
    self->whole = stage_query(&run->stage, paths, shape->prim_count);
    for (uint32_t i = 0; i < SUBSETS; i++) {
        uint32_t first = (uint32_t)((uint64_t)i * (shape->prim_count - part) / SUBSETS);
        self->subsets[i] = stage_query(&run->stage, paths + first, part);
    }
    bench_free(paths);
    /* All keys exist before the clock starts. */
    payload_set(&self->payload, self->rows, shape->prim_count, stage_float3);
    for (uint32_t i = 0; i < shape->attribute_count && run->workload != WORKLOAD_TASKS; i++)
        stage_publish(&run->stage, self->whole, run->attributes[i], &self->payload);
    if (run->workload == WORKLOAD_SUBSET || run->workload == WORKLOAD_ROWS)
        payload_set(&self->payload, self->rows, part, stage_float3);
}

static void close_producer(producer *self)
{
    shape_run *run = self->run;
    stage_release_query(&run->stage, self->whole);
    for (uint32_t i = 0; i < SUBSETS; i++)
        stage_release_query(&run->stage, self->subsets[i]);
    for (uint32_t i = 0; i < run->shape.ordinals_ahead; i++)
        bench_free(self->slots[i].ops);
    bench_free(self->slots);
    bench_free(self->rows);
}

static void open_run(shape_run *run, const user_shape *shape)
{
    run->shape = *shape;
    while (strcmp(workload_names[run->workload], shape->workload) != 0)
        run->workload++;
    stage_open(&run->stage, shape->worker_count, true);
    run->attributes = bench_allocate(shape->attribute_count * sizeof(*run->attributes));
    for (uint32_t i = 0; i < shape->attribute_count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "shape:a%u", i);
        run->attributes[i] = stage_token(&run->stage, name);
    }
    pthread_mutex_init(&run->book.mutex, NULL);
    run->book.producer_count = shape->producer_count;
    run->book.submitting = bench_allocate(shape->producer_count * sizeof(*run->book.submitting));
    memset(run->book.submitting, 0xff,
           shape->producer_count * sizeof(*run->book.submitting)); /* nothing */
}

/* ---- result ---- */
static void report(const shape_run *run, const producer *producers, double seconds, double busy)
{
    uint64_t ops = 0, ordinals = 0, times[TIME_BUCKETS] = {0};
    for (uint32_t i = 0; i < run->shape.producer_count; i++) {
        ops += producers[i].ops;
        ordinals += producers[i].ordinals;
        for (int k = 0; k < TIME_BUCKETS; k++)
            times[k] += producers[i].times[k];
    }
    double bytes = run->workload == WORKLOAD_TASKS ? 0 : (double)producers[0].payload.shape[0] * 12;
    printf("%s: %u producers, %u workers, %u prims, %u attributes, %u ordinals ahead, %.1f s\n",
           run->shape.workload, run->shape.producer_count,
           stage_statistics((bench_stage *)(uintptr_t)&run->stage).worker_count,
           run->shape.prim_count, run->shape.attribute_count, run->shape.ordinals_ahead, seconds);
    printf("    ordinals      %12.0f /s\n    ops           %12.0f /s\n", (double)ordinals / seconds,
           (double)ops / seconds);
    printf("    payload       %12.3f GB/s\n", (double)ops * bytes / seconds / 1e9);
    printf("    submit call   %12.0f ns median, %.0f ns 99.9 %%\n", time_percentile(times, 0.5),
           time_percentile(times, 0.999));
    printf("    processors    %12.2f busy\n", busy / seconds);
}

void user_shape_run(const user_shape *shape)
{
    shape_run run = {0};
    open_run(&run, shape);
    producer *producers = bench_allocate(shape->producer_count * sizeof(*producers));
    for (uint32_t i = 0; i < shape->producer_count; i++)
        open_producer(&producers[i], &run, i);
    run.book.given = run.stage.ordinal;
    clock_ticks_per_ns();
    uint64_t start_ns = clock_ns(), cpu_ns = process_cpu_ns();
    run.end_ns = start_ns + (uint64_t)shape->seconds * 1000000000u;
    for (uint32_t i = 0; i < shape->producer_count; i++)
        if (pthread_create(&producers[i].thread, NULL, run_producer, &producers[i]) != 0)
            bench_die("no thread for a producer");
    for (uint32_t i = 0; i < shape->producer_count; i++)
        pthread_join(producers[i].thread, NULL);
    report(&run, producers, (double)(clock_ns() - start_ns) / 1e9,
           (double)(process_cpu_ns() - cpu_ns) / 1e9);
    for (uint32_t i = 0; i < shape->producer_count; i++)
        close_producer(&producers[i]);
    stage_close(&run.stage);
    bench_free(producers);
    bench_free(run.book.submitting);
    bench_free(run.attributes);
}
