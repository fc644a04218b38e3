/* usage: device_bench [--quick] [--seconds N]
 *
 * The rows of rows_device.c on the first device of this machine, in a program that needs nothing
 * but a C compiler. A row is not begun once the time is over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_clock.h"
#include "bench/device.h"
#include "bench/report.h"

int main(int argc, char **argv)
{
    const bench_theme *theme = &bench_theme_device;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bench_options options = {.worker_count = (uint32_t)cores, .rounds = 7};
    uint64_t most_ns = UINT64_MAX, start_ns = clock_ns();
    uint32_t measured = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            options.quick = true;
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            most_ns = strtoull(argv[++i], NULL, 10) * 1000000000u;
        else
            bench_die("'%s' is no option, or lacks its value", argv[i]);
    }
    if (options.quick)
        options.rounds = 3;
    const bench_device *device = device_here();
    machine_info machine = machine_describe();
    report_machine(&machine, &options);
    printf("%s, driver %d%s\n", device->name, device->library.version,
           device->is_simulated ? ": SIMULATED, these figures mean nothing" : "");
    for (size_t k = 0; k < theme->row_count; k++) {
        static bench_result result;
        if (clock_ns() - start_ns > most_ns) {
            printf("\n%s: not run, the time is over\n", theme->rows[k].name);
            continue;
        }
        bench_row_run(theme, &theme->rows[k], &options, &result);
        report_result(&result);
        measured++;
    }
    printf("%u passed, 0 failed, %u not run\n", measured, (uint32_t)theme->row_count - measured);
    return measured > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
