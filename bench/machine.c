#include "bench/machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void read_processor(char *text, size_t size_bytes)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(text, size_bytes, "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        snprintf(text, size_bytes, "%s", value + 2);
        text[strcspn(text, "\n")] = '\0';
        break;
    }
    if (file)
        fclose(file);
}

machine_info machine_describe(void)
{
    machine_info machine = {0};
    struct utsname system;
    cpu_set_t cores;
    read_processor(machine.processor, sizeof(machine.processor));
    if (uname(&system) == 0)
        snprintf(machine.kernel, sizeof(machine.kernel), "%.40s %.60s", system.sysname,
                 system.release);
    if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
        machine.usable_cores = (uint32_t)CPU_COUNT(&cores);
#ifdef __clang__
    snprintf(machine.compiler, sizeof(machine.compiler), "clang %s", __clang_version__);
#else
    snprintf(machine.compiler, sizeof(machine.compiler), "gcc %s", __VERSION__);
#endif
    machine.memory_gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 0x1p30;
    if (getloadavg(&machine.load, 1) != 1)
        machine.load = 0;
    return machine;
}
