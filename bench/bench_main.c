/* The bench: options, the rows in their order, the results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <flyrail/flyrail.h>

#include "bench/report.h"
#include "bench/user_shape.h"
#include "bench/yardsticks.h"

static const bench_theme *const themes[] = {
    &bench_theme_ops,   &bench_theme_exchange,  &bench_theme_columns,   &bench_theme_subset,
    &bench_theme_range, &bench_theme_parallel,  &bench_theme_rows,      &bench_theme_scale,
    &bench_theme_clone, &bench_theme_filter,    &bench_theme_hierarchy, &bench_theme_memory,
    &bench_theme_flat,  &bench_theme_footprint, &bench_theme_spawn,
};
enum { THEME_COUNT = sizeof(themes) / sizeof(themes[0]), MOST_RESULTS = 64 };

static const char help[] =
    "usage: bench [OPTIONS]\n"
    "\n"
    "Measures flyrail beside oneTBB, StarPU, libgomp, libuv, memcpy and plain loops, in turn.\n"
    "\n"
    "  --only TEXT       only the row of that name (--list shows them); if there is none,\n"
    "                    those whose name or theme contains TEXT\n"
    "  --list            the rows\n"
    "  --rounds N        rounds of each row (9)\n"
    "  --workers N       workers of flyrail and threads of the yardsticks (as many as CPUs)\n"
    "  --quick           small sizes and 3 rounds: to see that it runs\n"
    "  --out FOLDER      where results.json and results.svg go (bench-results)\n"
    "  --library FILE    libflyrail.so, for its size (looked for beside this program)\n"
    "\n"
    "A shape of your own instead of the rows:\n"
    "  --workload NAME   full: every attribute of all prims at each ordinal\n"
    "                    subset: every attribute of a 200th of them\n"
    "                    rows: every attribute of one prim\n"
    "                    exchange: as full, each ordinal sealed, waited for and read back\n"
    "                    tasks: empty free tasks, as many at a time as there are attributes\n"
    "  --prims N         prims of each producer (4096)\n"
    "  --attributes N    columns of vec3 (3)\n"
    "  --ordinals N      ordinals that a producer may be ahead of what is complete (4)\n"
    "  --producers N     threads that submit (1)\n"
    "  --seconds N       for how long (3)\n";

typedef struct arguments {
    bench_options options;
    user_shape shape;
    bool list;
} arguments;

static uint32_t read_number(const char *option, const char *text, uint32_t least, uint32_t most)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end || *text == '-' || value < least || value > most)
        bench_die("%s takes a number from %u to %u, not '%s'", option, least, most, text);
    return (uint32_t)value;
}

static bool take_number(arguments *out, const char *option, const char *text)
{
    const struct {
        const char *option;
        uint32_t *value;
        uint32_t least, most;
    } numbers[] = {
        {"--rounds", &out->options.rounds, 1, BENCH_MOST_ROUNDS},
        {"--workers", &out->options.worker_count, 0, 1024},
        {"--prims", &out->shape.prim_count, 1, 100000000},
        {"--attributes", &out->shape.attribute_count, 1, 1000000},
        {"--ordinals", &out->shape.ordinals_ahead, 1, 100000},
        {"--producers", &out->shape.producer_count, 1, 1024},
        {"--seconds", &out->shape.seconds, 1, 86400},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(option, numbers[i].option) != 0)
            continue;
        *numbers[i].value = read_number(option, text, numbers[i].least, numbers[i].most);
        return true;
    }
    return false;
}

static bool take_text(arguments *out, const char *option, const char *text)
{
    if (strcmp(option, "--only") == 0)
        out->options.only = text;
    else if (strcmp(option, "--out") == 0)
        out->options.folder = text;
    else if (strcmp(option, "--library") == 0)
        out->options.library = text;
    else if (strcmp(option, "--workload") == 0)
        out->shape.workload = text;
    else
        return false;
    if (out->shape.workload && !user_workload_known(out->shape.workload))
        bench_die("there is no workload '%s'; there are %s", text, user_workloads);
    return true;
}

static void read_arguments(int argc, char **argv, arguments *out)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *out = (arguments){
        .options = {.worker_count = (uint32_t)cores, .rounds = 9, .folder = "bench-results"},
        .shape = {.prim_count = 4096,
                  .attribute_count = 3,
                  .ordinals_ahead = 4,
                  .producer_count = 1,
                  .seconds = 3},
    };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            exit(EXIT_SUCCESS);
        } else if (strcmp(argv[i], "--list") == 0) {
            out->list = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            out->options.quick = true;
            out->options.rounds = 3;
        } else if (i + 1 < argc && (take_number(out, argv[i], argv[i + 1]) ||
                                    take_text(out, argv[i], argv[i + 1]))) {
            i++;
        } else {
            bench_die("'%s' is no option, or lacks its value; see --help", argv[i]);
        }
    }
    out->shape.worker_count = out->options.worker_count;
}

/* The build puts the library where an installation finds it. */
static const char *find_library(const char *program)
{
    static char path[4096 + 128];
    const char *slash = strrchr(program, '/');
    int folder = slash ? (int)(slash - program) : 0;
    snprintf(path, sizeof(path), "%.*s/../tools/install/libflyrail.so.%d.%d.%d", folder, program,
             FLYRAIL_VERSION_MAJOR, FLYRAIL_VERSION_MINOR, FLYRAIL_VERSION_PATCH);
    return access(path, R_OK) == 0 ? path : NULL;
}

static bool is_row_name(const char *text)
{
    bool is_name = false;
    for (int i = 0; text && i < THEME_COUNT; i++)
        for (size_t k = 0; k < themes[i]->row_count; k++)
            is_name = is_name || strcmp(themes[i]->rows[k].name, text) == 0;
    return is_name;
}

static void list_rows(void)
{
    for (int i = 0; i < THEME_COUNT; i++)
        for (size_t k = 0; k < themes[i]->row_count; k++)
            printf("%-10s %-12s %s\n", themes[i]->name, themes[i]->rows[k].name,
                   themes[i]->rows[k].what);
}

static bool write_file(const char *folder, const char *name, const machine_info *machine,
                       const bench_options *options, const bench_result *results, size_t count)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        return false;
    }
    bool fine = strstr(name, ".svg") ? report_svg(file, machine, results, count)
                                     : report_json(file, machine, options, results, count);
    fine = fclose(file) == 0 && fine;
    printf("%s %s\n", fine ? "wrote" : "COULD NOT WRITE", path);
    return fine;
}

static bool run_rows(const bench_options *options)
{
    static bench_result results[MOST_RESULTS];
    size_t count = 0;
    machine_info machine = machine_describe();
    report_machine(&machine, options);
    for (int i = 0; i < THEME_COUNT; i++) {
        for (size_t k = 0; k < themes[i]->row_count && count < MOST_RESULTS; k++) {
            if (!bench_row_selected(themes[i], &themes[i]->rows[k], options))
                continue;
            bench_row_run(themes[i], &themes[i]->rows[k], options, &results[count]);
            report_result(&results[count++]);
        }
    }
    if (count == 0)
        bench_die("no row is called '%s'; see --list", options->only);
    report_goals(results, count);
    mkdir(options->folder, 0777); /* when it cannot be made, opening the files says so */
    return write_file(options->folder, "results.json", &machine, options, results, count) &&
           write_file(options->folder, "results.svg", &machine, options, results, count);
}

int main(int argc, char **argv)
{
    static char program[4096];
    arguments given;
    if (argc > 1 && strcmp(argv[1], "--yardstick") == 0)
        return yardstick_child_main(argc, argv);
    read_arguments(argc, argv, &given);
    given.options.only_exact = is_row_name(given.options.only);
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
        bench_die("this program cannot be found");
    given.options.program = program;
    if (!given.options.library)
        given.options.library = find_library(program);
    unsetenv("FLYRAIL_WORKERS"); /* rows choose their own numbers */
    bool fine = true;
    if (given.list)
        list_rows();
    else if (given.shape.workload)
        user_shape_run(&given.shape);
    else
        fine = run_rows(&given.options);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
