#include "examples/watchers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "examples/frame_reader.h"

struct watchers {
    const pipeline *line;
    watcher_options options;
    pthread_t renderer, monitor;
    pthread_mutex_t mutex; /* guards stop */
    bool stop;
    watcher_counts renderer_counts, monitor_counts; /* each of its own thread, until it is joined */
};

static bool must_stop(watchers *both)
{
    pthread_mutex_lock(&both->mutex);
    bool stop = both->stop;
    pthread_mutex_unlock(&both->mutex);
    return stop;
}

static void pause_ms(uint32_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* ---- renderer ---- */
static void render_frame(watchers *both, uint32_t frame)
{
    watcher_counts *counts = &both->renderer_counts;
    held_frame held;
    switch (frame_hold(both->line, frame, &held)) {
    case FRAME_GONE:
        counts->frames_gone++;
        return;
    case FRAME_FAILED:
        counts->failed = true;
        return;
    case FRAME_HELD:
        break;
    }
    uint64_t start_ns = flyrail_now_ns(), sum = frame_checksum(both->line, &held);
    counts->frames_held++;
    counts->frames_mixed += !frame_is_whole(both->line, &held);
    pause_ms(both->options.hold_ms);
    counts->frames_changed += frame_checksum(both->line, &held) != sum;
    frame_let_go(both->line, &held);
    flyrail_trace_span(both->line->instance, "render", frame_ordinal(frame), start_ns,
                       flyrail_now_ns());
}

/* Sleeps until something new is sealed; the timeout only lets it notice a stop. */
static void *run_renderer(void *argument)
{
    enum { LOOK_UP_NS = 100000000 };
    watchers *both = argument;
    ovstage_ordinal_t last = frame_ordinal(both->line->options.frame_count - 1), seen = 1;
    physics_prepare_thread(); /* without workers, a wait may run steps */
    while (seen < last && !both->renderer_counts.failed && !must_stop(both)) {
        ovstage_api_status_t status =
            flyrail_wait_floor(both->line->instance, OVX_INVALID_TOKEN, seen + 1, LOOK_UP_NS);
        if (status == OVSTAGE_ERROR_TIMEOUT)
            continue;
        if (status != OVSTAGE_OK || !newest_sealed(both->line->instance, &seen)) {
            both->renderer_counts.failed = true;
            break;
        }
        render_frame(both,
                     (uint32_t)(seen - 2)); /* ordinal seen - 1: the frame before the newest */
    }
    return NULL;
}

/* ---- monitor ---- */
static void show_progress(const watchers *both, const held_frame *held, uint64_t start_ns,
                          bool last)
{
    const pipeline *line = both->line;
    const float *velocity = frame_column(held, COLUMN_VELOCITY);
    double energy = 0; /* all bodies weigh 1 */
    for (uint32_t i = 0; i < 3 * line->body_count; i++)
        energy += 0.5 * (double)velocity[i] * (double)velocity[i];
    double seconds = (double)(flyrail_now_ns() - start_ns) / 1e9;
    bool terminal = isatty(STDERR_FILENO) != 0;
    if (terminal || last)
        fprintf(stderr, "%sframe %u of %u, %.0f frames/s, %.0f J of motion%s", terminal ? "\r" : "",
                held->frame + 1, line->options.frame_count, (held->frame + 1) / seconds, energy,
                last ? "\n" : "   ");
}

static void *run_monitor(void *argument)
{
    watchers *both = argument;
    physics_prepare_thread(); /* as for the renderer */
    uint64_t start_ns = flyrail_now_ns();
    ovstage_ordinal_t last = frame_ordinal(both->line->options.frame_count - 1), newest = 0;
    while (newest < last && !both->monitor_counts.failed && !must_stop(both)) {
        pause_ms(both->options.monitor_ms);
        held_frame held;
        if (!newest_sealed(both->line->instance, &newest)) {
            both->monitor_counts.failed = true;
        } else if (newest > 0) {
            frame_read_result result = frame_hold(both->line, (uint32_t)(newest - 1), &held);
            both->monitor_counts.failed = result == FRAME_FAILED;
            if (result != FRAME_HELD)
                continue;
            both->monitor_counts.frames_monitored++;
            both->monitor_counts.frames_mixed += !frame_is_whole(both->line, &held);
            show_progress(both, &held, start_ns, newest == last);
            frame_let_go(both->line, &held);
        }
    }
    return NULL;
}

/* ---- both ---- */
watchers *watchers_start(const pipeline *line, const watcher_options *options)
{
    watchers *both = calloc(1, sizeof(*both));
    if (!both)
        return NULL;
    both->line = line;
    both->options = *options;
    pthread_mutex_init(&both->mutex, NULL);
    if (pthread_create(&both->renderer, NULL, run_renderer, both) == 0) {
        if (pthread_create(&both->monitor, NULL, run_monitor, both) == 0)
            return both;
        both->stop = true;
        pthread_join(both->renderer, NULL);
    }
    fprintf(stderr, "no thread for the watchers\n");
    free(both);
    return NULL;
}

watcher_counts watchers_join(watchers *both, bool give_up)
{
    pthread_mutex_lock(&both->mutex);
    both->stop = give_up;
    pthread_mutex_unlock(&both->mutex);
    pthread_join(both->renderer, NULL);
    pthread_join(both->monitor, NULL);
    watcher_counts counts = both->renderer_counts;
    counts.frames_monitored = both->monitor_counts.frames_monitored;
    counts.frames_mixed += both->monitor_counts.frames_mixed;
    counts.failed = counts.failed || both->monitor_counts.failed;
    pthread_mutex_destroy(&both->mutex);
    free(both);
    return counts;
}
