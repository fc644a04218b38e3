/* Shows results: a table while they come, then a JSON file and a chart. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "bench/machine.h"
#include "bench/runner.h"

void report_machine(const machine_info *machine, const bench_options *options);
void report_result(const bench_result *result);
/* How many goals there were, and each that was missed. */
void report_goals(const bench_result *results, size_t count);

/* False when the file could not be written. */
bool report_json(FILE *file, const machine_info *machine, const bench_options *options,
                 const bench_result *results, size_t count);
bool report_svg(FILE *file, const machine_info *machine, const bench_result *results, size_t count);

#endif
