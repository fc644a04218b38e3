#include "bench/yardsticks.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const struct {
    const char *name;
    double (*measure)(uint32_t worker_count, size_t count);
} kinds[] = {
    {"starpu-chain", yardstick_starpu_chain},
    {"starpu-tasks", yardstick_starpu_tasks},
    {"gomp-chain", yardstick_gomp_chain},
    {"gomp-tasks", yardstick_gomp_tasks},
};

int yardstick_child_main(int argc, char **argv)
{
    for (size_t i = 0; argc == 5 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(argv[2], kinds[i].name) != 0)
            continue;
        double figure = kinds[i].measure((uint32_t)strtoul(argv[3], NULL, 10),
                                         (size_t)strtoul(argv[4], NULL, 10));
        printf("figure %.3f\n", figure);
        return isnan(figure) ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    fprintf(stderr, "bench: --yardstick NAME WORKERS COUNT is for the bench's own use\n");
    return EXIT_FAILURE;
}

/* The child's standard output; -1: it could not be started. */
static int start_child(const char *program, const char *name, const char *workers,
                       const char *count, pid_t *out_pid)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    char *arguments[] = {(char *)(uintptr_t)program, "--yardstick",
                         (char *)(uintptr_t)name,    (char *)(uintptr_t)workers,
                         (char *)(uintptr_t)count,   NULL};
    int status = posix_spawn(out_pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (status == 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

double yardstick_in_child(const char *program, const char *name, uint32_t worker_count,
                          size_t count)
{
    char workers[16], counted[24], line[128];
    snprintf(workers, sizeof(workers), "%u", worker_count);
    snprintf(counted, sizeof(counted), "%zu", count);
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_WORKERS_NOBIND", "1", 1); /* nobody else's threads are bound either */
    setenv("OMP_WAIT_POLICY", "active", 1);
    pid_t pid;
    int output = start_child(program, name, workers, counted, &pid);
    if (output < 0)
        return NAN;
    double figure = NAN;
    FILE *file = fdopen(output, "r");
    while (file && fgets(line, sizeof(line), file))
        sscanf(line, "figure %lf", &figure);
    if (file)
        fclose(file);
    int status = 0;
    waitpid(pid, &status, 0);
    return status == 0 ? figure : NAN;
}
