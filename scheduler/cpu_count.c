#include "scheduler/cpu_count.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FR_CPU_MASK_BITS 16384u /* twice what the largest Linux configuration allows */
#define FR_CPU_LIST_BYTES 4096u
#define FR_CPU_PATH_BYTES 1024u

static uint32_t fr_cpu_count_affinity(void)
{
    unsigned long mask[FR_CPU_MASK_BITS / 8 / sizeof(unsigned long)];
    memset(mask, 0, sizeof(mask));
    if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)(void *)mask) != 0)
        return 1;
    int count = CPU_COUNT_S(sizeof(mask), (cpu_set_t *)(void *)mask);
    return count > 0 ? (uint32_t)count : 1;
}

/* Reads a whole small file as text; false when it cannot be read. */
static bool fr_cpu_read(const char *path, char *text, size_t text_bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t length = 0;
    for (;;) {
        ssize_t got = read(file, text + length, text_bytes - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    close(file);
    text[length] = '\0';
    return length > 0;
}

static uint32_t fr_cpu_divide_up(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return UINT32_MAX;
    long long count = quota / period + (quota % period != 0);
    return count < (long long)UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* Version 2: "max 100000" or "150000 100000". */
static uint32_t fr_cpu_quota_v2(const char *folder)
{
    char path[2 * FR_CPU_PATH_BYTES], text[128];
    snprintf(path, sizeof(path), "%s/cpu.max", folder);
    if (!fr_cpu_read(path, text, sizeof(text)))
        return UINT32_MAX;
    char *rest = text;
    long long quota = strtoll(text, &rest, 10); /* 0 for "max" */
    return fr_cpu_divide_up(quota, strtoll(rest, NULL, 10));
}

/* Version 1: two files; a quota of -1 is none. */
static uint32_t fr_cpu_quota_v1(const char *folder)
{
    char path[2 * FR_CPU_PATH_BYTES], quota[64], period[64];
    snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", folder);
    if (!fr_cpu_read(path, quota, sizeof(quota)))
        return UINT32_MAX;
    snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
    if (!fr_cpu_read(path, period, sizeof(period)))
        return UINT32_MAX;
    return fr_cpu_divide_up(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* The smallest quota of the group and of those above it. Inside a container the path may name
 * folders that are not mounted there; the walk passes over them up to the root, which is the
 * container's own group. */
static uint32_t fr_cpu_quota_walk(const char *mount, const char *group,
                                  uint32_t (*quota_of)(const char *folder))
{
    char folder[FR_CPU_PATH_BYTES];
    int length = snprintf(folder, sizeof(folder), "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof(folder))
        return UINT32_MAX;
    size_t mount_length = strlen(mount);
    uint32_t smallest = UINT32_MAX;
    for (;;) {
        uint32_t count = quota_of(folder);
        if (count < smallest)
            smallest = count;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < mount_length)
            return smallest;
        *slash = '\0';
    }
}

static bool fr_cpu_list_has(const char *list, const char *word)
{
    size_t word_length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, word_length) == 0 && (at[word_length] == ',' || !at[word_length]))
            return true;
    }
    return false;
}

/* One line of the group list: "number:controllers:path"; controllers are empty in version 2. */
static uint32_t fr_cpu_quota_line(char *line, const char *mount_root)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return UINT32_MAX;
    controllers++;
    *group++ = '\0';
    char mount[FR_CPU_PATH_BYTES];
    if (*controllers == '\0') {
        uint32_t unified = fr_cpu_quota_walk(mount_root, group, fr_cpu_quota_v2);
        snprintf(mount, sizeof(mount), "%s/unified", mount_root); /* beside version 1 */
        uint32_t beside = fr_cpu_quota_walk(mount, group, fr_cpu_quota_v2);
        return unified < beside ? unified : beside;
    }
    if (!fr_cpu_list_has(controllers, "cpu"))
        return UINT32_MAX;
    snprintf(mount, sizeof(mount), "%s/cpu",
             mount_root); /* systems that mount "cpu,cpuacct" link it */
    return fr_cpu_quota_walk(mount, group, fr_cpu_quota_v1);
}

uint32_t fr_cpu_count_quota(const char *group_list, const char *mount_root)
{
    char text[FR_CPU_LIST_BYTES];
    if (!fr_cpu_read(group_list, text, sizeof(text)))
        return UINT32_MAX;
    uint32_t smallest = UINT32_MAX;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        uint32_t count = fr_cpu_quota_line(line, mount_root);
        if (count < smallest)
            smallest = count;
    }
    return smallest;
}

uint32_t fr_cpu_count(void)
{
    uint32_t affinity = fr_cpu_count_affinity();
    uint32_t quota = fr_cpu_count_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    return affinity < quota ? affinity : quota;
}
