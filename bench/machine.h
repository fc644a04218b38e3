/* The machine that the figures belong to. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdint.h>

typedef struct machine_info {
    char processor[128];
    uint32_t usable_cores; /* those of this process's affinity mask */
    char kernel[128];
    char compiler[64];
    double memory_gib;
    double load; /* of the last minute, when the run began: other work makes figures worse */
} machine_info;

machine_info machine_describe(void);

#endif
