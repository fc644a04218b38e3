/* The pipeline: physics worlds stepped as tasks, each frame published through the stage at an
 * ordinal of its own.
 *
 * Frame f (from 0) is published at ordinal f + 1. What the producer submits for one frame:
 *
 *     step w0 --+                      free tasks, one a world, each after the same world's step of
 * the frame before step w1 --+-> joint              ordered task at the frame's ordinal: ties what
 * follows in this ordinal to the steps step w2 --+     | write              all columns of all
 * bodies; reads the frame's buffer when it runs, so after the steps
 *                     |
 *                    seal              the write floor rises to the ordinal: readers see the frame,
 * whole
 *                     |
 *                    note              free task: notes when the frame was sealed, for the report
 *
 * The producer submits up to `frames_ahead` frames beyond the oldest one that is not sealed. It
 * never waits for a step: a fast world runs on while a slow one is still busy with an earlier
 * frame. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include <flyrail/flyrail.h>
#include <ovx/path_dictionary/path_dictionary.h>

#include "examples/physics_world.h"

/* The columns, in the order of pipeline.attributes and of everything that has one entry a column.
 */
enum { COLUMN_TRANSFORM, COLUMN_VELOCITY, COLUMN_ANGULAR_VELOCITY, COLUMN_COUNT };

typedef struct pipeline_options {
    uint32_t world_count;
    uint32_t bodies_per_world;
    uint32_t frame_count;
    uint32_t frames_ahead;
    uint32_t worker_count; /* FLYRAIL_WORKERS_AUTO: as many as CPUs */
    bool wait_every_op; /* what a client does that cannot have two things going on: wait after each
                           submission */
} pipeline_options;

/* Client tensors must live, unchanged, until their write completes, so frames in flight have a
 * buffer each. */
typedef struct frame_buffer {
    double (*transform)[16];
    float (*velocity)[3];
    float (*angular_velocity)[3];
} frame_buffer;

/* What a step leaves behind, beside the frame's buffer. */
typedef struct step_record {
    uint64_t start_ns, end_ns;
    uint64_t checksums[COLUMN_COUNT]; /* of this world's rows */
} step_record;

/* Ops of one frame that are not yet released. */
typedef struct frame_ops {
    ovstage_op_id_t joint, write, seal, note;
} frame_ops;

typedef struct pipeline pipeline;

/* One world in one frame slot: what its step task is handed. */
typedef struct step_job {
    pipeline *pipeline;
    uint32_t world, frame;
} step_job;

/* One frame slot: what its note task is handed. */
typedef struct note_job {
    pipeline *pipeline;
    uint32_t frame;
} note_job;

struct pipeline {
    pipeline_options options;
    uint32_t body_count; /* of all worlds */
    ovstage_instance_t *instance;
    ovx_primpath_list_t paths;
    ovstage_query_handle_t bodies; /* all bodies, world by world */
    ovx_token_t attributes[COLUMN_COUNT];
    physics_world **worlds;

    uint32_t slot_count; /* frames in flight: frames_ahead + 1. Frame f uses slot f % slot_count of
                            the four below */
    frame_buffer *buffers;
    frame_ops *ops;
    step_job *step_jobs; /* slot * world_count + world */
    note_job *note_jobs;

    ovstage_op_id_t
        *last_steps;     /* a world each: its newest step, not released; 0 before the first */
    step_record *steps;  /* frame * world_count + world */
    uint64_t *sealed_ns; /* a frame each */
    uint64_t run_ns;     /* from the first submission to the last seal */
};

/* NULL, and a line on stderr, when something cannot be had. */
pipeline *pipeline_create(const pipeline_options *options);
void pipeline_destroy(pipeline *line);
/* Produces all frames. Once only. False, and a line on stderr, when an op was refused or failed. */
bool pipeline_run(pipeline *line);

static inline ovstage_ordinal_t frame_ordinal(uint32_t frame)
{
    return (ovstage_ordinal_t)frame + 1;
}

/* The rows of one world in one column of a frame of all bodies; row_size is the size of a row. */
static inline const void *world_rows(const pipeline *line, const void *column, uint32_t world,
                                     size_t row_size)
{
    return (const char *)column + (size_t)world * line->options.bodies_per_world * row_size;
}

extern const size_t column_row_sizes[COLUMN_COUNT];
uint64_t rows_checksum(const void *rows, size_t size_bytes);

#endif
