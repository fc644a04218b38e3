#include "bench/copy_team.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "bench/bench.h"
#include "scheduler/atomic.h"

typedef struct copy_member {
    copy_team *team;
    pthread_t thread;
    uint32_t index;
    FR_ALIGNED_LINE _Atomic uint64_t done; /* jobs that this member is through with */
} copy_member;

struct copy_team {
    uint32_t member_count;
    bool pinned;
    cpu_set_t allowed; /* to the caller, before it was pinned */
    void (*job)(void *user, uint32_t index);
    void *user;
    _Atomic bool stop;
    FR_ALIGNED_LINE _Atomic uint64_t wanted; /* jobs handed out */
    copy_member members[];
};

/* The index-th CPU of those, from the start again after the last. */
static cpu_set_t cpu_of(const cpu_set_t *allowed, uint32_t index)
{
    uint32_t skip = index % (uint32_t)CPU_COUNT(allowed);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, allowed) || skip-- > 0)
            continue;
        CPU_SET(cpu, &one);
        break;
    }
    return one;
}

static void *run_member(void *argument)
{
    copy_member *self = argument;
    copy_team *team = self->team;
    for (uint64_t done = 0;; done++) {
        /* [team.wanted.look] pairs [team.wanted.publish] : the job that is handed out */
        while (fr_load_acquire(&team->wanted) == done) {
            if (fr_load_relaxed(&team->stop))
                return NULL;
            fr_cpu_pause();
        }
        team->job(team->user, self->index);
        /* [team.done.publish] pairs [team.done.look] : what the job has done */
        fr_store_release(&self->done, done + 1);
    }
}

/* On its CPU from its first instruction on: there it cannot be behind a caller that spins. */
static void start_member(copy_team *team, uint32_t i)
{
    copy_member *member = &team->members[i];
    member->team = team;
    member->index = i + 1;
    const cpu_set_t cpus = team->pinned ? cpu_of(&team->allowed, i + 1) : team->allowed;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus) != 0 ||
        pthread_create(&member->thread, &attributes, run_member, member) != 0)
        bench_die("no thread for a yardstick");
    (void)pthread_attr_destroy(&attributes);
}

copy_team *copy_team_start(uint32_t thread_count, bool pinned)
{
    uint32_t count = thread_count > 1 ? thread_count - 1 : 0;
    copy_team *team = bench_allocate(sizeof(*team) + count * sizeof(team->members[0]));
    team->member_count = count;
    team->pinned = pinned;
    if (sched_getaffinity(0, sizeof(team->allowed), &team->allowed) != 0)
        bench_die("the CPUs of this thread are not to be had");
    for (uint32_t i = 0; i < count; i++)
        start_member(team, i);
    const cpu_set_t first = cpu_of(&team->allowed, 0);
    if (pinned && sched_setaffinity(0, sizeof(first), &first) != 0)
        bench_die("a yardstick's thread cannot be pinned");
    return team;
}

void copy_team_stop(copy_team *team)
{
    fr_store_relaxed(&team->stop, true);
    for (uint32_t i = 0; i < team->member_count; i++)
        pthread_join(team->members[i].thread, NULL);
    if (team->pinned)
        (void)sched_setaffinity(0, sizeof(team->allowed), &team->allowed);
    bench_free(team);
}

void copy_team_run(copy_team *team, void (*job)(void *user, uint32_t index), void *user)
{
    uint64_t wanted = fr_load_relaxed(&team->wanted) + 1;
    team->job = job;
    team->user = user;
    /* [team.wanted.publish] pairs [team.wanted.look] : job and user are those of this number */
    fr_store_release(&team->wanted, wanted);
    job(user, 0);
    for (uint32_t i = 0; i < team->member_count; i++)
        /* [team.done.look] pairs [team.done.publish] : the caller sees what the job has done */
        while (fr_load_acquire(&team->members[i].done) != wanted)
            fr_cpu_pause();
}

/* ---- copying ---- */
void copy_plain(void *to, const void *from, size_t size_bytes)
{
    memcpy(to, from, size_bytes);
}

void copy_past_caches(void *to, const void *from, size_t size_bytes)
{
    size_t done = 0;
#if defined(__x86_64__)
    enum { LINE = 64, PART = 16, AHEAD = 4096 };
    for (; size_bytes - done >= LINE; done += LINE) {
        __m128i parts[LINE / PART];
        __builtin_prefetch((const void *)((uintptr_t)from + done + AHEAD));
        for (size_t part = 0; part < LINE / PART; part++)
            parts[part] = _mm_loadu_si128(
                (const __m128i *)(const void *)((const char *)from + done + part * PART));
        for (size_t part = 0; part < LINE / PART; part++)
            _mm_stream_si128((__m128i *)(void *)((char *)to + done + part * PART), parts[part]);
    }
    _mm_sfence();
#endif
    memcpy((char *)to + done, (const char *)from + done, size_bytes - done);
}

typedef struct copy_job {
    copy_function *copy;
    char *to;
    const char *from;
    size_t size_bytes, part_bytes;
} copy_job;

static void copy_part(void *user, uint32_t index)
{
    const copy_job *job = user;
    size_t begin = job->part_bytes * index;
    if (begin >= job->size_bytes)
        return;
    size_t rest = job->size_bytes - begin;
    job->copy(job->to + begin, job->from + begin, rest < job->part_bytes ? rest : job->part_bytes);
}

void copy_team_copy(copy_team *team, copy_function *copy, void *to, const void *from,
                    size_t size_bytes)
{
    enum { PAGE = 4096 };
    size_t part = size_bytes / (team->member_count + 1) / PAGE * PAGE + PAGE;
    copy_job job = {copy, to, from, size_bytes, part};
    copy_team_run(team, copy_part, &job);
}
