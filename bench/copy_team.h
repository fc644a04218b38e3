/* Plain threads that copy, or do anything else at the same moment: the yardstick of full writes.
 * They spin between two jobs, so that starting one costs next to nothing. */
#ifndef BENCH_COPY_TEAM_H
#define BENCH_COPY_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct copy_team copy_team;

/* thread_count - 1 threads beside the caller. pinned: number i stays on the i-th CPU that the
 * caller may use, and the caller on the first, until the team stops; as pinned workers do. */
copy_team *copy_team_start(uint32_t thread_count, bool pinned);
void copy_team_stop(copy_team *team);
/* Calls job(user, 0 .. thread_count - 1), number 0 on this thread; returns when all are back. */
void copy_team_run(copy_team *team, void (*job)(void *user, uint32_t index), void *user);
typedef void copy_function(void *to, const void *from, size_t size_bytes);
/* A part each. */
void copy_team_copy(copy_team *team, copy_function *copy, void *to, const void *from,
                    size_t size_bytes);
/* memcpy. */
void copy_plain(void *to, const void *from, size_t size_bytes);
/* With stores that go past the caches, where the machine has such. */
void copy_past_caches(void *to, const void *from, size_t size_bytes);

#endif
