#include "examples/plain_threads.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct plain_thread {
    pthread_t thread;
    const pipeline_options *options;
    physics_world **worlds; /* of all threads; this one steps first, first + stride, ... */
    uint32_t first, stride;
    double (*transform)[16];
    float (*velocity)[3], (*angular_velocity)[3];
    uint64_t checksum; /* keeps the compiler from dropping the work */
} plain_thread;

/* What a step task of the pipeline does, without the pipeline. */
static void *run_plain_thread(void *argument)
{
    plain_thread *self = argument;
    const pipeline_options *options = self->options;
    size_t bodies = options->bodies_per_world;
    physics_prepare_thread();
    for (uint32_t frame = 0; frame < options->frame_count; frame++) {
        for (uint32_t world = self->first; world < options->world_count; world += self->stride) {
            physics_world_step(self->worlds[world]);
            physics_world_get_state(self->worlds[world], self->transform, self->velocity,
                                    self->angular_velocity);
            self->checksum ^= rows_checksum(self->transform, bodies * sizeof(*self->transform));
            self->checksum ^= rows_checksum(self->velocity, bodies * sizeof(*self->velocity));
            self->checksum ^=
                rows_checksum(self->angular_velocity, bodies * sizeof(*self->angular_velocity));
        }
    }
    return NULL;
}

static bool allocate_state(plain_thread *self)
{
    size_t bodies = self->options->bodies_per_world;
    self->transform = malloc(bodies * sizeof(*self->transform));
    self->velocity = malloc(bodies * sizeof(*self->velocity));
    self->angular_velocity = malloc(bodies * sizeof(*self->angular_velocity));
    return self->transform && self->velocity && self->angular_velocity;
}

static bool start_and_join(plain_thread *threads, uint32_t count)
{
    uint32_t started = 0;
    while (started < count &&
           pthread_create(&threads[started].thread, NULL, run_plain_thread, &threads[started]) == 0)
        started++;
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i].thread, NULL);
    return started == count;
}

uint64_t plain_threads_run(const pipeline_options *options, uint32_t thread_count)
{
    physics_world **worlds = calloc(options->world_count, sizeof(*worlds));
    plain_thread *threads = calloc(thread_count, sizeof(*threads));
    bool fine = worlds && threads;
    for (uint32_t i = 0; fine && i < options->world_count; i++)
        fine = (worlds[i] = physics_world_create(i, options->bodies_per_world)) != NULL;
    for (uint32_t i = 0; fine && i < thread_count; i++) {
        threads[i] = (plain_thread){
            .options = options, .worlds = worlds, .first = i, .stride = thread_count};
        fine = allocate_state(&threads[i]);
    }
    uint64_t start_ns = flyrail_now_ns();
    fine = fine && start_and_join(threads, thread_count);
    uint64_t run_ns = flyrail_now_ns() - start_ns;
    for (uint32_t i = 0; threads && i < thread_count; i++) {
        free(threads[i].transform);
        free(threads[i].velocity);
        free(threads[i].angular_velocity);
    }
    for (uint32_t i = 0; worlds && i < options->world_count; i++)
        physics_world_destroy(worlds[i]);
    free(threads);
    free(worlds);
    return fine ? run_ns : 0;
}
