/* The engine's own work on the same pool as its exchange: each frame is a task after the frame
 * before, its bodies are stepped in parallel, and what it computed is published when it is done. */
#include "examples/example.h"

#include <flyrail/flyrail.h>

enum { BODIES = 1000, FRAMES = 5 };

typedef struct frame {
    const struct frame *before;
    float heights[BODIES];
    uint64_t number;
    ovstage_op_id_t stepped, written, sealed;
} frame;

static void step_bodies(uint64_t begin, uint64_t end, void *user)
{
    frame *now = user;
    for (uint64_t b = begin; b < end; b++)
        now->heights[b] = now->before->heights[b] - (float)now->number;
}

static ovstage_api_status_t step(const flyrail_task_context_t *context, void *user)
{
    return flyrail_parallel_for(context->instance, BODIES, 64, step_bodies, user);
}

int main(void)
{
    static frame frames[FRAMES + 1];
    static char names[BODIES][16];
    static ovx_string_t paths[BODIES];
    ovstage_instance_t *stage = NULL;
    example_must(ovstage_create_instance(NULL, &stage) == OVSTAGE_OK, "create_instance");
    for (int b = 0; b < BODIES; b++) {
        paths[b].ptr = names[b];
        paths[b].length = (size_t)snprintf(names[b], sizeof(names[b]), "/Body%d", b);
        frames[0].heights[b] = (float)b;
    }
    ovstage_query_handle_t bodies = example_query(stage, paths, BODIES);
    ovx_token_t height = example_token(stage, literal_to_ovx_string("height"));

    /* All is submitted at once. A step is a free task: it waits for the step before. An empty task
     * in the ordinal's lane ties the write behind it to the step, so the rows are read when they
     * are there; the seal comes after both. */
    for (uint64_t f = 1; f <= FRAMES; f++) {
        frame *now = &frames[f];
        now->before = &frames[f - 1];
        now->number = f;
        flyrail_task_desc_t work = {.struct_size = sizeof(work),
                                    .fn = step,
                                    .user = now,
                                    .deps = &frames[f - 1].stepped,
                                    .dep_count = f > 1,
                                    .name = "step"};
        now->stepped = example_accepted(flyrail_submit_task(stage, &work), "submit_task");
        flyrail_task_desc_t joint = {.struct_size = sizeof(joint),
                                     .ordered = true,
                                     .ordinal = f,
                                     .deps = &now->stepped,
                                     .dep_count = 1,
                                     .name = "rows are there"};
        example_forget(stage, flyrail_submit_task(stage, &joint));
        now->written = example_write(stage, bodies, height, f, now->heights, BODIES, 1);
        now->sealed = example_seal(stage, f);
    }
    for (int f = 1; f <= FRAMES; f++) {
        example_finish(stage, frames[f].stepped);
        example_finish(stage, frames[f].written); /* a seal completes even if this has failed */
        example_finish(stage, frames[f].sealed);
    }

    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    ovstage_ordinal_range_t latest = {.end_ordinal = FRAMES};
    example_finish(
        stage, example_accepted(ovstage_read_attributes(stage, bodies, &height, 1, latest, &read),
                                "read_attributes"));
    example_must(ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) ==
                     OVSTAGE_OK,
                 "fetch_read_next");
    const float *values = group.data.tensors[0].data;
    printf("after %d steps: %g %g %g\n", FRAMES, (double)values[0], (double)values[1],
           (double)values[BODIES - 1]);

    ovstage_release_group(stage, &group);
    example_forget(stage, ovstage_release_read(stage, read));
    example_forget(stage, ovstage_release_query(stage, bodies));
    example_must(ovstage_destroy_instance(stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
