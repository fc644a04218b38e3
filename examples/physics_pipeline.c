/* Rigid body worlds published through the stage while others read: the main example, and a
 * measurement of what it is worth.
 *
 * pipeline.c is the part to learn from. This file reads the options, runs the pipeline in several
 * ways and shows the results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "examples/frame_reader.h"
#include "examples/plain_threads.h"
#include "examples/run_options.h"
#include "examples/run_report.h"
#include "examples/watchers.h"

enum { MOST_ROUNDS = 99 };

/* ---- one run ---- */
/* The last frame is looked at through the stage, and every frame of every world is compared with
 * the reference. */
static bool run_is_right(const pipeline *line, const pipeline *reference)
{
    uint32_t frame, world;
    held_frame last;
    if (frame_hold(line, line->options.frame_count - 1, &last) != FRAME_HELD)
        return false;
    bool whole = frame_is_whole(line, &last);
    frame_let_go(line, &last);
    if (!whole)
        fprintf(stderr,
                "WRONG: the last frame that the stage shows is not the one that was computed\n");
    bool differ = reference && results_differ(line, reference, &frame, &world);
    if (differ)
        fprintf(stderr, "WRONG: world %u differs at frame %u from the run without workers\n", world,
                frame);
    return whole && !differ;
}

/* The caller destroys the pipeline. NULL: it could not be made, or something went wrong. */
static pipeline *run_pipeline(const pipeline_options *options, const pipeline *reference,
                              run_figures *figures)
{
    pipeline *line = pipeline_create(options);
    if (!line)
        return NULL;
    if (pipeline_run(line) && run_figures_take(line, figures) && run_is_right(line, reference))
        return line;
    pipeline_destroy(line);
    return NULL;
}

/* ---- the watched run ---- */
static bool write_text(const char *text, size_t length, void *user)
{
    return fwrite(text, 1, length, user) == length;
}

static bool write_trace(const pipeline *line, flyrail_trace_format_t format, const char *folder,
                        const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        return false;
    }
    ovstage_api_status_t status = flyrail_trace_write(line->instance, format, write_text, file);
    bool fine = fclose(file) == 0 && status == OVSTAGE_OK;
    printf("%s %s\n", fine ? "  wrote" : "  COULD NOT WRITE", path);
    return fine;
}

static bool write_traces(const pipeline *line, const char *folder)
{
    mkdir(folder, 0777); /* when it cannot be made, opening the files says so */
    bool fine = write_trace(line, FLYRAIL_TRACE_PERFETTO_JSON, folder, "physics_pipeline.json");
    fine = write_trace(line, FLYRAIL_TRACE_SVG, folder, "physics_pipeline.svg") && fine;
    printf("  (open the .json at https://ui.perfetto.dev, the .svg in a browser: a row a worker, a "
           "colour an ordinal)\n\n");
    return fine;
}

static bool report_watchers(const watcher_counts *counts)
{
    printf("\nrenderer: held %u frames; %u changed while held, %u were not one whole frame; %u "
           "were gone already\n"
           "monitor:  looked at %u frames\n",
           counts->frames_held, counts->frames_changed, counts->frames_mixed, counts->frames_gone,
           counts->frames_monitored);
    return !counts->failed && counts->frames_changed == 0 && counts->frames_mixed == 0;
}

/* The pipeline with both watchers and the trace on. */
static bool run_watched(const run_options *options, const pipeline *reference, run_figures *figures)
{
    pipeline *line = pipeline_create(&options->pipeline);
    watchers *both = line ? watchers_start(line, &options->watchers) : NULL;
    if (!both) {
        pipeline_destroy(line);
        return false;
    }
    bool fine = flyrail_trace_start(line->instance, 0) == OVSTAGE_OK;
    bool ran = pipeline_run(line);
    watcher_counts counts = watchers_join(both, !ran);
    flyrail_trace_stop(line->instance);
    fine = report_watchers(&counts) && ran && fine;
    fine = fine && run_figures_take(line, figures) && run_is_right(line, reference);
    fine = write_traces(line, options->folder) && fine;
    pipeline_destroy(line);
    return fine;
}

/* ---- comparisons ---- */
/* The ways that are compared, the watchers off, in turn so that what else the machine does hits all
 * of them alike. */
enum { WAY_AHEAD, WAY_ONE_WORKER, WAY_FRAME_BY_FRAME, WAY_WAIT_EACH, WAY_PLAIN_THREADS, WAY_COUNT };

static const char *const way_names[WAY_COUNT] = {
    "running ahead",          "running ahead, one worker",        "frame by frame",
    "waiting after every op", "plain threads, nothing published",
};

typedef struct comparison {
    run_figures rounds[WAY_COUNT][MOST_ROUNDS];
    run_figures median[WAY_COUNT];
} comparison;

static bool run_way(const run_options *options, int way, const pipeline *reference,
                    uint32_t thread_count, run_figures *out)
{
    pipeline_options changed = options->pipeline;
    if (way == WAY_PLAIN_THREADS) {
        *out = (run_figures){.run_ns = plain_threads_run(&changed, thread_count),
                             .worker_count = thread_count};
        return out->run_ns != 0;
    }
    changed.worker_count = way == WAY_ONE_WORKER ? 1 : changed.worker_count;
    changed.frames_ahead =
        way == WAY_FRAME_BY_FRAME || way == WAY_WAIT_EACH ? 0 : changed.frames_ahead;
    changed.wait_every_op = way == WAY_WAIT_EACH;
    pipeline *line = run_pipeline(&changed, reference, out);
    pipeline_destroy(line);
    return line != NULL;
}

static int compare_runs(const void *a, const void *b)
{
    uint64_t left = ((const run_figures *)a)->run_ns, right = ((const run_figures *)b)->run_ns;
    return (left > right) - (left < right);
}

static bool run_comparison(const run_options *options, const pipeline *reference, comparison *out)
{
    for (uint32_t round = 0; round < options->rounds; round++) {
        for (int way = 0; way < WAY_COUNT; way++) {
            uint32_t threads = out->rounds[WAY_AHEAD][round].worker_count;
            if (!run_way(options, way, reference, threads > 0 ? threads : 1,
                         &out->rounds[way][round]))
                return false;
        }
        fprintf(stderr, "round %u of %u\n", round + 1, options->rounds);
    }
    for (int way = 0; way < WAY_COUNT; way++) {
        qsort(out->rounds[way], options->rounds, sizeof(out->rounds[way][0]), compare_runs);
        out->median[way] = out->rounds[way][options->rounds / 2];
    }
    return true;
}

static double times_faster(const comparison *done, int way, int than)
{
    return (double)done->median[than].run_ns / (double)done->median[way].run_ns;
}

static void report_comparison(const run_options *options, const comparison *done,
                              const run_figures *watched, const run_figures *reference)
{
    printf("Medians of %u rounds, %u workers.\n\n", options->rounds,
           done->median[WAY_AHEAD].worker_count);
    report_heading();
    report_run("running ahead, renderer and monitor on", &options->pipeline, watched);
    for (int way = 0; way < WAY_COUNT; way++)
        report_run(way_names[way], &options->pipeline, &done->median[way]);
    report_run("no workers (the reference)", &options->pipeline, reference);
    printf("\nRunning ahead is %.2f times as fast as with one worker (%.2f of what as many plain "
           "threads reach),\n"
           "%.2f times as fast as frame by frame, %.2f times as fast as waiting after every op.\n",
           times_faster(done, WAY_AHEAD, WAY_ONE_WORKER),
           times_faster(done, WAY_AHEAD, WAY_PLAIN_THREADS),
           times_faster(done, WAY_AHEAD, WAY_FRAME_BY_FRAME),
           times_faster(done, WAY_AHEAD, WAY_WAIT_EACH));
}

/* ---- main ---- */
static bool run_all(const run_options *options)
{
    static comparison done;
    run_figures reference_figures, watched_figures;
    pipeline_options without_workers = options->pipeline;
    without_workers.worker_count = 0;
    fprintf(stderr, "running without workers, for the reference\n");
    pipeline *reference = run_pipeline(&without_workers, NULL, &reference_figures);
    bool fine = reference && run_watched(options, reference, &watched_figures) &&
                (options->rounds == 0 || run_comparison(options, reference, &done));
    if (fine && options->rounds > 0)
        report_comparison(options, &done, &watched_figures, &reference_figures);
    pipeline_destroy(reference);
    printf("\n%s\n", fine ? "All runs gave the same bits as the run without workers."
                          : "SOMETHING IS WRONG, see above.");
    return fine;
}

int main(int argc, char **argv)
{
    run_options options;
    int exit_code = run_options_read(argc, argv, &options);
    if (exit_code >= 0)
        return exit_code;
    if (!physics_start()) {
        fprintf(stderr, "the physics engine could not be started\n");
        return EXIT_FAILURE;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* in step with stderr, also into a file */
    printf("%u worlds of %u bodies, %u frames, up to %u ahead\n", options.pipeline.world_count,
           options.pipeline.bodies_per_world, options.pipeline.frame_count,
           options.pipeline.frames_ahead);
    bool fine = run_all(&options);
    physics_stop();
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
