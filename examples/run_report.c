#include "examples/run_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/frame_reader.h"

static int compare_times(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* From the end of a frame's last step to the moment that its seal was seen. */
static void take_latencies(const pipeline *line, uint64_t *latencies, run_figures *out)
{
    uint32_t worlds = line->options.world_count, frames = line->options.frame_count;
    for (uint32_t frame = 0; frame < frames; frame++) {
        uint64_t stepped_ns = 0;
        for (uint32_t world = 0; world < worlds; world++) {
            uint64_t end_ns = line->steps[(size_t)frame * worlds + world].end_ns;
            stepped_ns = end_ns > stepped_ns ? end_ns : stepped_ns;
        }
        latencies[frame] = line->sealed_ns[frame] - stepped_ns;
    }
    qsort(latencies, frames, sizeof(*latencies), compare_times);
    out->publish_p50_ns = latencies[frames / 2];
    out->publish_p99_ns = latencies[frames - 1 - frames / 100];
}

static uint32_t frames_sealed_at(const pipeline *line, uint64_t time_ns)
{
    uint32_t low = 0, high = line->options.frame_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (line->sealed_ns[middle] <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void take_ahead(const pipeline *line, run_figures *out)
{
    size_t steps = (size_t)line->options.frame_count * line->options.world_count;
    double sum = 0;
    for (size_t i = 0; i < steps; i++) {
        uint32_t frame = (uint32_t)(i / line->options.world_count);
        uint32_t sealed = frames_sealed_at(line, line->steps[i].start_ns);
        uint32_t ahead = frame > sealed ? frame - sealed : 0;
        sum += ahead;
        out->ahead_most = ahead > out->ahead_most ? ahead : out->ahead_most;
    }
    out->ahead_mean = sum / (double)steps;
}

bool run_figures_take(const pipeline *line, run_figures *out)
{
    flyrail_statistics_t statistics = {.struct_size = sizeof(statistics)};
    uint64_t *latencies = malloc(line->options.frame_count * sizeof(*latencies));
    if (!latencies || flyrail_get_statistics(line->instance, &statistics) != OVSTAGE_OK) {
        free(latencies);
        return false;
    }
    *out = (run_figures){.run_ns = line->run_ns, .worker_count = statistics.worker_count};
    take_latencies(line, latencies, out);
    take_ahead(line, out);
    free(latencies);
    return true;
}

void report_heading(void)
{
    printf("%-40s %9s %10s %8s %21s %16s\n", "", "frames/s", "bodies/s", "MB/s",
           "publish p50 / p99", "ahead mean / most");
}

void report_run(const char *name, const pipeline_options *options, const run_figures *figures)
{
    double frames = options->frame_count / ((double)figures->run_ns / 1e9);
    double bodies = frames * options->world_count * options->bodies_per_world;
    printf("%-40s %9.0f %10.0f", name, frames, bodies);
    if (figures->publish_p50_ns) {
        size_t row_size = 0;
        for (int column = 0; column < COLUMN_COUNT; column++)
            row_size += column_row_sizes[column];
        printf(" %8.1f %8.1f / %7.1f us %11.2f / %u", bodies * (double)row_size / 1e6,
               (double)figures->publish_p50_ns / 1e3, (double)figures->publish_p99_ns / 1e3,
               figures->ahead_mean, figures->ahead_most);
    }
    printf("\n");
}

/* As the stage hands them out, not as the steps made them. */
static bool last_frames_differ(const pipeline *a, const pipeline *b)
{
    uint32_t last = a->options.frame_count - 1;
    held_frame left, right;
    if (frame_hold(a, last, &left) != FRAME_HELD)
        return true;
    bool differ = frame_hold(b, last, &right) != FRAME_HELD;
    for (int column = 0; !differ && column < COLUMN_COUNT; column++)
        differ = memcmp(frame_column(&left, column), frame_column(&right, column),
                        a->body_count * column_row_sizes[column]) != 0;
    frame_let_go(b, &right);
    frame_let_go(a, &left);
    return differ;
}

bool results_differ(const pipeline *a, const pipeline *b, uint32_t *out_frame, uint32_t *out_world)
{
    size_t steps = (size_t)a->options.frame_count * a->options.world_count;
    for (size_t i = 0; i < steps; i++) {
        if (memcmp(a->steps[i].checksums, b->steps[i].checksums, sizeof(a->steps[i].checksums)) !=
            0) {
            *out_frame = (uint32_t)(i / a->options.world_count);
            *out_world = (uint32_t)(i % a->options.world_count);
            return true;
        }
    }
    *out_frame = a->options.frame_count - 1;
    *out_world = 0;
    return last_frames_differ(a, b);
}
