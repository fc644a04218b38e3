#include "examples/run_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: physics_pipeline [OPTIONS]\n"
    "\n"
    "Steps several worlds of rigid bodies on a pool of workers and publishes each frame through "
    "the stage, while a\n"
    "renderer holds the frame before and a monitor looks at the newest. Then it compares ways of "
    "doing so.\n"
    "\n"
    "  --worlds N      worlds, stepped independently of each other (8)\n"
    "  --bodies N      bodies in each world (64)\n"
    "  --frames N      frames to produce (300)\n"
    "  --ahead K       how many frames the producer may be beyond the oldest that is not sealed; "
    "it needs K + 1\n"
    "                  frame buffers. 0: the next frame begins when the last is sealed (4)\n"
    "  --workers N     workers of the pool (as many as CPUs, or the environment variable "
    "FLYRAIL_WORKERS). 0: no threads,\n"
    "                  everything runs inside the waits of the producer\n"
    "  --hold-ms N     how long the renderer holds a frame (8)\n"
    "  --monitor-ms N  pause between two looks of the monitor (50)\n"
    "  --rounds N      rounds of the comparison, its figures are medians. 0: none (3)\n"
    "  --out FOLDER    where the trace files go (demo-results)\n"
    "  --help          this text\n"
    "\n"
    "Each run is compared bit for bit with one that has no workers. The exit code is 0 when all "
    "are equal and the\n"
    "renderer saw nothing change.\n";

typedef struct number_option {
    const char *name;
    uint32_t *value;
    uint32_t least, most;
} number_option;

static bool read_number(const char *text, const number_option *option)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < option->least ||
        value > option->most) {
        fprintf(stderr, "%s takes a number from %u to %u, not '%s'\n", option->name, option->least,
                option->most, text);
        return false;
    }
    *option->value = (uint32_t)value;
    return true;
}

/* The runs of the comparison each have their own worker count, so the variable may only give the
 * default. */
static bool take_environment(const number_option *workers)
{
    const char *text = getenv("FLYRAIL_WORKERS");
    if (!text)
        return true;
    bool fine = read_number(text, workers);
    unsetenv("FLYRAIL_WORKERS");
    return fine;
}

int run_options_read(int argc, char **argv, run_options *out)
{
    *out = (run_options){
        .pipeline = {.world_count = 8,
                     .bodies_per_world = 64,
                     .frame_count = 300,
                     .frames_ahead = 4,
                     .worker_count = FLYRAIL_WORKERS_AUTO},
        .watchers = {.hold_ms = 8, .monitor_ms = 50},
        .rounds = 3,
        .folder = "demo-results",
    };
    const number_option numbers[] = {
        {"--workers", &out->pipeline.worker_count, 0, 1024},
        {"--worlds", &out->pipeline.world_count, 1, 10000},
        {"--bodies", &out->pipeline.bodies_per_world, 1, 10000},
        {"--frames", &out->pipeline.frame_count, 2, 1000000},
        {"--ahead", &out->pipeline.frames_ahead, 0, 1000},
        {"--hold-ms", &out->watchers.hold_ms, 0, 60000},
        {"--monitor-ms", &out->watchers.monitor_ms, 1, 60000},
        {"--rounds", &out->rounds, 0, 99},
    };
    if (!take_environment(&numbers[0]))
        return 2;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return 0;
        }
        const number_option *option = NULL;
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
            option = strcmp(argv[i], numbers[k].name) == 0 ? &numbers[k] : option;
        bool folder = strcmp(argv[i], "--out") == 0;
        if ((!option && !folder) || i + 1 == argc) {
            fprintf(stderr,
                    option || folder ? "%s needs a value\n"
                                     : "there is no option '%s'; see --help\n",
                    argv[i]);
            return 2;
        }
        i++;
        if (folder)
            out->folder = argv[i];
        else if (!read_number(argv[i], option))
            return 2;
    }
    return -1;
}
