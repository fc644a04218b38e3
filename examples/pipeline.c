#include "examples/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const size_t column_row_sizes[COLUMN_COUNT] = {16 * sizeof(double), 3 * sizeof(float),
                                               3 * sizeof(float)};

/* ---- errors ---- */
static bool report_refusal(const char *what, ovstage_api_status_t status)
{
    ovx_string_t text = ovstage_get_last_error();
    fprintf(stderr, "%s was refused with status %u: %.*s\n", what, (unsigned)status,
            (int)text.length, text.ptr ? text.ptr : "");
    return false;
}

/* Waits for an op, tells what failed, and lets go of its id. */
static bool retire_op(pipeline *line, ovstage_op_id_t *op)
{
    if (*op == OVSTAGE_INVALID_OP_ID)
        return true;
    ovstage_op_wait_result_t result = {0};
    ovstage_api_status_t status =
        ovstage_wait_op(line->instance, *op, OVSTAGE_TIMEOUT_INFINITE, &result);
    if (status != OVSTAGE_OK)
        return report_refusal("a wait", status);
    for (size_t i = 0; i < result.error_op_id_count; i++) {
        ovx_string_t text = ovstage_get_last_op_error(line->instance, result.error_op_ids[i]);
        fprintf(stderr, "op %#llx failed: %.*s\n", (unsigned long long)result.error_op_ids[i],
                (int)text.length, text.ptr ? text.ptr : "");
    }
    bool failed = result.error_op_id_count > 0;
    ovstage_release_op(line->instance, *op);
    *op = OVSTAGE_INVALID_OP_ID;
    return !failed;
}

/* Takes what a submission answered. With wait_every_op this is where the waiting is done; the op
 * stays unreleased. */
static bool take_op(pipeline *line, const char *what, ovstage_enqueue_result_t result,
                    ovstage_op_id_t *op)
{
    *op = result.op_index;
    if (result.status != OVSTAGE_OK)
        return report_refusal(what, result.status);
    if (line->options.wait_every_op)
        return ovstage_wait_op(line->instance, *op, OVSTAGE_TIMEOUT_INFINITE, NULL) == OVSTAGE_OK;
    return true;
}

/* ---- the tasks ---- */
uint64_t rows_checksum(const void *rows, size_t size_bytes)
{
    uint64_t sum = size_bytes;
    for (size_t i = 0; i + 4 <= size_bytes; i += 4) {
        uint32_t word;
        memcpy(&word, (const char *)rows + i, sizeof(word));
        sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
        sum ^= sum >> 29;
    }
    return sum;
}

/* Runs on any worker. Different worlds' steps run at the same time; one world's never do, since
 * each depends on the last. */
static ovstage_api_status_t run_step(const flyrail_task_context_t *context, void *user)
{
    (void)context;
    const step_job *job = user;
    pipeline *line = job->pipeline;
    step_record *record = &line->steps[(size_t)job->frame * line->options.world_count + job->world];
    record->start_ns = flyrail_now_ns();

    const frame_buffer *buffer = &line->buffers[job->frame % line->slot_count];
    size_t first_row = (size_t)job->world * line->options.bodies_per_world;
    void *rows[COLUMN_COUNT] = {buffer->transform + first_row, buffer->velocity + first_row,
                                buffer->angular_velocity + first_row};
    physics_world_step(line->worlds[job->world]);
    physics_world_get_state(line->worlds[job->world], rows[COLUMN_TRANSFORM], rows[COLUMN_VELOCITY],
                            rows[COLUMN_ANGULAR_VELOCITY]);

    for (int column = 0; column < COLUMN_COUNT; column++)
        record->checksums[column] =
            rows_checksum(rows[column], line->options.bodies_per_world * column_row_sizes[column]);
    record->end_ns = flyrail_now_ns();
    /* A free task belongs to no ordinal; this shows in a trace for which frame it worked. */
    flyrail_trace_span(line->instance, "world", frame_ordinal(job->frame), record->start_ns,
                       record->end_ns);
    return OVSTAGE_OK;
}

static ovstage_api_status_t run_note(const flyrail_task_context_t *context, void *user)
{
    (void)context;
    const note_job *job = user;
    job->pipeline->sealed_ns[job->frame] = flyrail_now_ns();
    return OVSTAGE_OK;
}

/* ---- one frame ---- */
static bool submit_steps(pipeline *line, uint32_t frame)
{
    uint32_t slot = frame % line->slot_count;
    for (uint32_t world = 0; world < line->options.world_count; world++) {
        step_job *job = &line->step_jobs[(size_t)slot * line->options.world_count + world];
        *job = (step_job){line, world, frame};
        ovstage_op_id_t previous = line->last_steps[world], step;
        flyrail_task_desc_t task = {
            .struct_size = sizeof(task),
            .fn = run_step,
            .user = job,
            .deps = &previous,
            .dep_count = previous ? 1 : 0,
            .name = "step",
        };
        if (!take_op(line, "a step", flyrail_submit_task(line->instance, &task), &step))
            return false;
        line->last_steps[world] = step;
        if (previous)
            ovstage_release_op(line->instance,
                               previous); /* has served as a dep; lives on until it is complete */
    }
    return true;
}

/* The write of this ordinal must not read the buffer before the steps have filled it: they are free
 * tasks, so something in the ordinal has to wait for them. */
static bool submit_joint(pipeline *line, uint32_t frame, frame_ops *ops)
{
    flyrail_task_desc_t task = {
        .struct_size = sizeof(task),
        .ordered = true,
        .ordinal = frame_ordinal(frame),
        .deps = line->last_steps,
        .dep_count = line->options.world_count,
        .name = "joint",
    };
    return take_op(line, "a joint", flyrail_submit_task(line->instance, &task), &ops->joint);
}

static ovstage_attribute_write_t column_write(ovx_token_t attribute, const DLTensor *tensor,
                                              ovstage_attribute_semantic_t semantic)
{
    ovstage_attribute_write_t write = {0};
    write.attribute.token = attribute;
    write.data.tensors = tensor;
    write.data.tensor_count = 1;
    write.data.semantic = semantic;
    return write;
}

/* The descriptors may go as soon as the call returns; the rows that they point to may not, until
 * the write is complete. */
static bool submit_write(pipeline *line, uint32_t frame, frame_ops *ops)
{
    const frame_buffer *buffer = &line->buffers[frame % line->slot_count];
    const DLDevice cpu = {kDLCPU, 0};
    int64_t shape[1] = {line->body_count};
    const DLTensor tensors[COLUMN_COUNT] = {
        {buffer->transform, cpu, 1, {kDLFloat, 64, 16}, shape, NULL, 0},
        {buffer->velocity, cpu, 1, {kDLFloat, 32, 3}, shape, NULL, 0},
        {buffer->angular_velocity, cpu, 1, {kDLFloat, 32, 3}, shape, NULL, 0},
    };
    const ovstage_attribute_write_t writes[COLUMN_COUNT] = {
        column_write(line->attributes[COLUMN_TRANSFORM], &tensors[0], OVSTAGE_SEMANTIC_MATRIX),
        column_write(line->attributes[COLUMN_VELOCITY], &tensors[1], OVSTAGE_SEMANTIC_VECTOR),
        column_write(line->attributes[COLUMN_ANGULAR_VELOCITY], &tensors[2],
                     OVSTAGE_SEMANTIC_VECTOR),
    };
    ovstage_enqueue_result_t result =
        ovstage_write_attributes(line->instance, line->bodies, writes, COLUMN_COUNT,
                                 frame_ordinal(frame), OVSTAGE_PRIM_MODE_UPSERT);
    return take_op(line, "a write", result, &ops->write);
}

static bool submit_seal(pipeline *line, uint32_t frame, frame_ops *ops)
{
    const ovstage_write_floor_desc_t floor = {.ordinal = frame_ordinal(frame),
                                              .scope = OVSTAGE_SCOPE_ALL};
    return take_op(line, "a seal", ovstage_advance_write_floor(line->instance, &floor), &ops->seal);
}

static bool submit_note(pipeline *line, uint32_t frame, frame_ops *ops)
{
    note_job *job = &line->note_jobs[frame % line->slot_count];
    *job = (note_job){line, frame};
    flyrail_task_desc_t task = {
        .struct_size = sizeof(task),
        .fn = run_note,
        .user = job,
        .deps = &ops->seal,
        .dep_count = 1,
        .name = "note",
    };
    return take_op(line, "a note", flyrail_submit_task(line->instance, &task), &ops->note);
}

/* Until everything of the frame is done: from then on its slot may be used again. */
static bool retire_frame(pipeline *line, frame_ops *ops)
{
    bool fine = retire_op(line, &ops->note);
    fine = retire_op(line, &ops->seal) && fine;
    fine = retire_op(line, &ops->write) &&
           fine; /* a seal completes even when a write below it failed: ask the write */
    return retire_op(line, &ops->joint) && fine;
}

bool pipeline_run(pipeline *line)
{
    bool fine = true;
    uint64_t start_ns = flyrail_now_ns();
    for (uint32_t frame = 0; frame < line->options.frame_count && fine; frame++) {
        frame_ops *ops = &line->ops[frame % line->slot_count];
        fine = retire_frame(line, ops) && submit_steps(line, frame) &&
               submit_joint(line, frame, ops) && submit_write(line, frame, ops) &&
               submit_seal(line, frame, ops) && submit_note(line, frame, ops);
    }
    /* Also after a failure: tasks that are under way use this pipeline's memory. */
    for (uint32_t i = 0; i < line->slot_count; i++)
        fine = retire_frame(line, &line->ops[i]) && fine;
    for (uint32_t world = 0; world < line->options.world_count; world++)
        fine = retire_op(line, &line->last_steps[world]) && fine;
    line->run_ns = flyrail_now_ns() - start_ns;
    return fine;
}

/* ---- making it ---- */
static void prepare_worker(uint32_t worker_index, void *user)
{
    (void)worker_index;
    (void)user;
    physics_prepare_thread();
}

static bool open_instance(pipeline *line)
{
    flyrail_config_t config = {.struct_size = sizeof(config)};
    flyrail_get_default_config(&config);
    config.worker_count = line->options.worker_count;
    config.own_pool =
        true; /* so that runs with different worker counts can follow each other in one process */
    config.worker_started = prepare_worker;
    ovstage_instance_desc_t desc = {.name = "physics pipeline"};
    ovstage_api_status_t status = flyrail_create_instance(&desc, &config, &line->instance);
    return status == OVSTAGE_OK || report_refusal("the instance", status);
}

/* Error texts of the dictionary belong to the caller. */
static bool interned(path_dictionary_instance_t *dictionary, ovx_api_result_t result)
{
    if (result.status == OVX_API_SUCCESS)
        return true;
    fprintf(stderr, "the path dictionary refused: %.*s\n", (int)result.error.length,
            result.error.ptr);
    path_dictionary_release_error(dictionary, result.error);
    return false;
}

static bool intern_names(pipeline *line, path_dictionary_instance_t *dictionary)
{
    const ovx_string_t names[COLUMN_COUNT] = {
        literal_to_ovx_string("omni:xform"),
        literal_to_ovx_string("physics:velocity"),
        literal_to_ovx_string("physics:angularVelocity"),
    };
    return interned(dictionary, path_dictionary_create_tokens_from_strings(
                                    dictionary, names, COLUMN_COUNT, line->attributes));
}

/* "/World_0/Body_0", "/World_0/Body_1", ... The prims need not exist: the first write makes them.
 */
static bool intern_bodies(pipeline *line, path_dictionary_instance_t *dictionary)
{
    enum { TEXT_SIZE = 48 };
    ovx_string_t *paths = calloc(line->body_count, sizeof(*paths));
    char *texts = malloc((size_t)line->body_count * TEXT_SIZE);
    bool fine = paths && texts;
    for (uint32_t i = 0; fine && i < line->body_count; i++) {
        char *text = texts + (size_t)i * TEXT_SIZE;
        int length =
            snprintf(text, TEXT_SIZE, "/World_%u/Body_%u", i / line->options.bodies_per_world,
                     i % line->options.bodies_per_world);
        paths[i] = (ovx_string_t){text, (size_t)length};
    }
    fine = fine && interned(dictionary, path_dictionary_create_path_list_from_strings(
                                            dictionary, paths, line->body_count, &line->paths));
    free(texts);
    free(paths);
    return fine &&
           ovstage_query_from_path_list(line->instance, line->paths, &line->bodies) == OVSTAGE_OK;
}

static bool allocate_buffers(pipeline *line)
{
    size_t bodies = line->body_count;
    for (uint32_t i = 0; i < line->slot_count; i++) {
        frame_buffer *buffer = &line->buffers[i];
        buffer->transform = calloc(bodies, sizeof(*buffer->transform));
        buffer->velocity = calloc(bodies, sizeof(*buffer->velocity));
        buffer->angular_velocity = calloc(bodies, sizeof(*buffer->angular_velocity));
        if (!buffer->transform || !buffer->velocity || !buffer->angular_velocity)
            return false;
    }
    return true;
}

static bool allocate_tables(pipeline *line)
{
    const pipeline_options *options = &line->options;
    size_t worlds = options->world_count, slots = line->slot_count, frames = options->frame_count;
    line->worlds = calloc(worlds, sizeof(*line->worlds));
    line->buffers = calloc(slots, sizeof(*line->buffers));
    line->ops = calloc(slots, sizeof(*line->ops));
    line->step_jobs = calloc(slots * worlds, sizeof(*line->step_jobs));
    line->note_jobs = calloc(slots, sizeof(*line->note_jobs));
    line->last_steps = calloc(worlds, sizeof(*line->last_steps));
    line->steps = calloc(frames * worlds, sizeof(*line->steps));
    line->sealed_ns = calloc(frames, sizeof(*line->sealed_ns));
    return line->worlds && line->buffers && line->ops && line->step_jobs && line->note_jobs &&
           line->last_steps && line->steps && line->sealed_ns && allocate_buffers(line);
}

pipeline *pipeline_create(const pipeline_options *options)
{
    pipeline *line = calloc(1, sizeof(*line));
    if (!line)
        return NULL;
    line->options = *options;
    line->slot_count = options->frames_ahead + 1;
    line->body_count = options->world_count * options->bodies_per_world;
    bool fine = allocate_tables(line);
    for (uint32_t i = 0; fine && i < options->world_count; i++)
        fine = (line->worlds[i] = physics_world_create(i, options->bodies_per_world)) != NULL;
    fine = fine && open_instance(line);
    path_dictionary_instance_t *dictionary =
        fine ? ovstage_get_path_dictionary(line->instance) : NULL;
    if (!fine || !intern_names(line, dictionary) || !intern_bodies(line, dictionary)) {
        fprintf(stderr, "the pipeline could not be made\n");
        pipeline_destroy(line);
        return NULL;
    }
    return line;
}

static void close_instance(pipeline *line)
{
    if (!line->instance)
        return;
    if (line->bodies) {
        ovstage_op_id_t op = ovstage_release_query(line->instance, line->bodies).op_index;
        retire_op(line, &op);
    }
    if (line->paths)
        path_dictionary_release_path_list_reference(ovstage_get_path_dictionary(line->instance),
                                                    line->paths);
    ovstage_destroy_instance(line->instance);
}

void pipeline_destroy(pipeline *line)
{
    if (!line)
        return;
    close_instance(line);
    for (uint32_t i = 0; line->worlds && i < line->options.world_count; i++)
        physics_world_destroy(line->worlds[i]);
    for (uint32_t i = 0; line->buffers && i < line->slot_count; i++) {
        free(line->buffers[i].transform);
        free(line->buffers[i].velocity);
        free(line->buffers[i].angular_velocity);
    }
    free(line->worlds);
    free(line->buffers);
    free(line->ops);
    free(line->step_jobs);
    free(line->note_jobs);
    free(line->last_steps);
    free(line->steps);
    free(line->sealed_ns);
    free(line);
}
