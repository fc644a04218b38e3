/* How many CPUs this process may use: what a worker count starts from.
 *
 * Owns: reading the affinity mask and the CPU quotas of control groups, version 1 and 2.
 * Threads: any. It reads a few small files, so callers keep the answer. */
#ifndef FR_SCHEDULER_CPU_COUNT_H
#define FR_SCHEDULER_CPU_COUNT_H

#include <stdint.h>

/* min(CPUs in the affinity mask, quota of the control groups rounded up), at least 1. */
uint32_t fr_cpu_count(void);

/* The quota alone, in CPUs rounded up, the smallest of a group and all above it; UINT32_MAX without
 * one. group_list is the file that names the groups (/proc/self/cgroup), mount_root where they are
 * mounted
 * (/sys/fs/cgroup). */
uint32_t fr_cpu_count_quota(const char *group_list, const char *mount_root);

#endif
