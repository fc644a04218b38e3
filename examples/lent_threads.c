/* An engine that has threads of its own: the library starts none, and works on two that the engine
 * lends it. The engine submits up to three frames ahead of the one that it waits for, looks at the
 * newest sealed one meanwhile, and has its event loop told when the last one is there. */
#include <poll.h>
#include <pthread.h>

#include "examples/example.h"

#include <flyrail/flyrail.h>

enum { LENT = 2, AHEAD = 3, FRAMES = 100, BODIES = 500 };

typedef struct frame {
    const struct frame *before;
    float heights[BODIES];
    ovstage_op_id_t stepped, written, sealed;
} frame;

typedef struct engine {
    ovstage_instance_t *stage;
    ovstage_query_handle_t bodies;
    ovx_token_t height;
    frame frames[AHEAD + 1]; /* of frame n: n % (AHEAD + 1); frame 0 is how it begins */
    uint32_t until;
} engine;

static void *lend_thread(void *user)
{
    engine *game = user;
    example_must(flyrail_worker_run(game->stage, &game->until) == OVSTAGE_OK, "worker_run");
    return NULL;
}

static void fall(uint64_t begin, uint64_t end, void *user)
{
    frame *now = user;
    for (uint64_t b = begin; b < end; b++)
        now->heights[b] = now->before->heights[b] - 1;
}

static ovstage_api_status_t step(const flyrail_task_context_t *context, void *user)
{
    return flyrail_parallel_for(context->instance, BODIES, 0, fall, user);
}

static void submit_frame(engine *game, uint64_t number)
{
    frame *now = &game->frames[number % (AHEAD + 1)];
    now->before = &game->frames[(number - 1) % (AHEAD + 1)];
    flyrail_task_desc_t work = {.struct_size = sizeof(work),
                                .fn = step,
                                .user = now,
                                .deps = &now->before->stepped,
                                .dep_count = number > 1,
                                .name = "step"};
    now->stepped = example_accepted(flyrail_submit_task(game->stage, &work), "submit_task");
    flyrail_task_desc_t joint = {.struct_size = sizeof(joint),
                                 .ordered = true,
                                 .ordinal = number,
                                 .deps = &now->stepped,
                                 .dep_count = 1,
                                 .name = "rows are there"};
    example_forget(game->stage, flyrail_submit_task(game->stage, &joint));
    now->written =
        example_write(game->stage, game->bodies, game->height, number, now->heights, BODIES, 1);
    now->sealed = example_seal(game->stage, number);
}

/* From then on the frame's rows may be used again. */
static void finish_frame(engine *game, uint64_t number)
{
    frame *done = &game->frames[number % (AHEAD + 1)];
    example_finish(game->stage, done->stepped);
    example_finish(game->stage, done->written); /* a seal completes even if this has failed */
    example_finish(game->stage, done->sealed);
}

/* The newest sealed frame, whichever that is. A certain one that is behind by more seals than
 * flyrail_config_t.history_versions may be gone. Returns the height of the first body. */
static float look(engine *game, uint64_t *out_number)
{
    flyrail_snapshot_desc_t newest = {.struct_size = sizeof(newest), .newest = true};
    flyrail_snapshot_t snapshot;
    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    example_must(flyrail_snapshot_open(game->stage, &newest, &snapshot, out_number) == OVSTAGE_OK,
                 "snapshot_open");
    example_forget(game->stage, flyrail_snapshot_read(game->stage, snapshot, game->bodies,
                                                      &game->height, 1, &read));
    example_must(flyrail_snapshot_close(game->stage, snapshot) == OVSTAGE_OK, "snapshot_close");
    example_must(ovstage_fetch_read_next(game->stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) ==
                     OVSTAGE_OK,
                 "fetch_read_next");
    float height = ((const float *)group.data.tensors[0].data)[0];
    ovstage_release_group(game->stage, &group);
    example_forget(game->stage, ovstage_release_read(game->stage, read));
    return height;
}

static void run_frames(engine *game)
{
    int wrong = 0;
    for (uint64_t number = 1; number <= FRAMES; number++) {
        if (number > AHEAD + 1) {
            uint64_t seen;
            finish_frame(game, number - (AHEAD + 1));
            float height = look(game, &seen);
            wrong += height != 1000 - (float)seen;
        }
        submit_frame(game, number);
    }

    flyrail_event_t event;
    struct pollfd loop = {.events = POLLIN};
    example_must(flyrail_event_open(game->stage, &event, &loop.fd) == OVSTAGE_OK &&
                     flyrail_event_on_floor(game->stage, event, OVX_INVALID_TOKEN, FRAMES) ==
                         OVSTAGE_OK,
                 "event");
    example_must(poll(&loop, 1, -1) == 1, "poll"); /* lent threads do what is left */
    example_must(flyrail_event_close(game->stage, event) == OVSTAGE_OK, "event_close");
    for (uint64_t number = FRAMES - AHEAD; number <= FRAMES; number++)
        finish_frame(game, number);

    uint64_t seen;
    float height = look(game, &seen);
    printf("frame %llu: at %g; %d looks were wrong\n", (unsigned long long)seen, (double)height,
           wrong);
}

int main(void)
{
    static engine game;
    static char names[BODIES][16];
    static ovx_string_t paths[BODIES];
    flyrail_config_t config = {.struct_size = sizeof(config)};
    example_must(flyrail_get_default_config(&config) == OVSTAGE_OK, "get_default_config");
    config.worker_count = 0;
    example_must(flyrail_create_instance(NULL, &config, &game.stage) == OVSTAGE_OK,
                 "create_instance");
    for (int b = 0; b < BODIES; b++) {
        paths[b].ptr = names[b];
        paths[b].length = (size_t)snprintf(names[b], sizeof(names[b]), "/Body%d", b);
        game.frames[0].heights[b] = 1000;
    }
    game.bodies = example_query(game.stage, paths, BODIES);
    game.height = example_token(game.stage, literal_to_ovx_string("height"));

    pthread_t threads[LENT];
    for (int i = 0; i < LENT; i++)
        example_must(pthread_create(&threads[i], NULL, lend_thread, &game) == 0, "pthread_create");
    run_frames(&game);
    /* All of them watch this word. They are gone before the instance is. */
    example_must(flyrail_worker_stop(game.stage, &game.until) == OVSTAGE_OK, "worker_stop");
    for (int i = 0; i < LENT; i++)
        pthread_join(threads[i], NULL);

    example_forget(game.stage, ovstage_release_query(game.stage, game.bodies));
    example_must(ovstage_destroy_instance(game.stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
